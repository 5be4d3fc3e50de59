"""Test double: graphs in memory behind the few methods of the storage that graph walks call; it counts the lookups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vgraph.embedded.errors import ArangoError, Warnings

Projection = frozenset[str] | None


class MemoryCollection:
    """Documents and edges in lists; row ids count from 1."""

    def __init__(self, name: str, id_: int, type_: int, documents: Iterable[dict[str, Any]]) -> None:
        self.name, self.id, self.type = name, id_, type_
        self.rows = [{"_key": str(n), "_id": f"{name}/{n}", **doc} for n, doc in enumerate(documents)]
        self.by_key = {row["_key"]: row for row in self.rows}
        self.lookups: list[int] = []

    def neighbours(self, direction: str, vertices: Sequence[str]) -> list[list[tuple[int, str]]]:
        self.lookups.append(len(vertices))
        mine, other = ("_from", "_to") if direction == "out" else ("_to", "_from")
        found: dict[str, list[tuple[int, str]]] = {vertex: [] for vertex in vertices}
        for number, row in enumerate(self.rows, 1):
            if row[mine] in found:
                found[row[mine]].append((number, row[other]))
        return [found[vertex] for vertex in vertices]

    def fetch(self, rowids: Sequence[int], projection: Projection = None) -> list[dict[str, Any] | None]:
        return [_projected(self.rows[rowid - 1], projection) for rowid in rowids]

    def fetch_keys(self, keys: Sequence[str], projection: Projection = None) -> list[dict[str, Any] | None]:
        return [_projected(self.by_key.get(key), projection) for key in keys]


def _projected(row: dict[str, Any] | None, projection: Projection) -> dict[str, Any] | None:
    if row is None or projection is None:
        return row
    return {name: value for name, value in row.items() if name in projection}


class MemoryTransaction:
    """Collections by name and named graphs."""

    def __init__(self, collections: Iterable[MemoryCollection], graphs: Iterable[dict[str, Any]] = ()) -> None:
        self._collections = {collection.name: collection for collection in collections}
        self._graphs = {graph["name"]: graph for graph in graphs}

    @classmethod
    def of_dataset(cls, dataset: dict[str, Any]) -> MemoryTransaction:
        collections = [
            MemoryCollection(entry["name"], number, entry["type"], entry["docs"])
            for number, entry in enumerate(dataset["collections"], 1)
        ]
        return cls(collections, [dataset["graph"]] if dataset["graph"] else [])

    def collection(self, name: str, *, write: bool = False) -> MemoryCollection:
        if name not in self._collections:
            raise ArangoError(1203, f"collection or view not found: {name}")
        return self._collections[name]

    def graph(self, name: str) -> dict[str, Any]:
        if name not in self._graphs:
            raise ArangoError(1924, f"graph '{name}' not found")
        return self._graphs[name]


class MemoryRuntime:
    """What walks use of a query's run."""

    def __init__(self) -> None:
        self.warnings = Warnings()

    def check(self) -> None:
        pass
