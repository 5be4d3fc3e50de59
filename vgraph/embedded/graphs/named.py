"""Named graphs: edge definitions and orphan collections, as the documents of `_graphs` hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EdgeDefinition:
    """One edge collection and the vertex collections its edges may leave and enter."""

    collection: str
    from_: tuple[str, ...]
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """A graph's definition; the checks of its parts are the HTTP interface's."""

    name: str
    definitions: tuple[EdgeDefinition, ...]
    orphans: tuple[str, ...] = ()

    @property
    def edge_collections(self) -> tuple[str, ...]:
        """Edge collections in the order in which traversals look them up: by name, whatever the definitions' order."""
        return tuple(sorted({definition.collection for definition in self.definitions}))

    @property
    def vertex_collections(self) -> tuple[str, ...]:
        """All vertex collections, orphans included, by name."""
        names = set(self.orphans)
        for definition in self.definitions:
            names.update(definition.from_, definition.to)
        return tuple(sorted(names))

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> NamedGraph:
        """From the `_graphs` document {name | _key, edgeDefinitions: [{collection, from, to}], orphanCollections}."""
        return cls(
            name=str(definition.get("name") or definition.get("_key")),
            definitions=tuple(
                EdgeDefinition(entry["collection"], tuple(entry.get("from", ())), tuple(entry.get("to", ())))
                for entry in definition.get("edgeDefinitions", ())
            ),
            orphans=tuple(definition.get("orphanCollections", ())),
        )


def resolve_graph(txn: Any, name: str) -> NamedGraph:
    """The named graph of the transaction's database; 1924 when there is none."""
    return NamedGraph.from_definition(txn.graph(name))
