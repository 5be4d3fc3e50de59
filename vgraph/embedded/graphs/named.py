"""Named graphs: edge definitions and orphan collections, as `_graphs` documents hold them."""

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
    """A graph's definition; collection names in the order a traversal visits them."""

    name: str
    definitions: tuple[EdgeDefinition, ...]
    orphans: tuple[str, ...] = ()

    @property
    def edge_collections(self) -> tuple[str, ...]:
        """Edge collections in the order in which traversals look them up."""
        raise NotImplementedError

    @property
    def vertex_collections(self) -> tuple[str, ...]:
        """All vertex collections, orphans included, sorted."""
        raise NotImplementedError

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> NamedGraph:
        """From the `_graphs` document {name | _key, edgeDefinitions: [{collection, from, to}], orphanCollections}."""
        raise NotImplementedError


def resolve_graph(txn: Any, name: str) -> NamedGraph:
    """The named graph of the transaction's database; 1924 when there is none."""
    raise NotImplementedError
