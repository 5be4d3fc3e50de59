"""Neighbours, edge documents and vertex documents, fetched for many at once.

An edge is known by a token, one integer made of the edge collection's number and the row id: cheap to hash and to
compare, and ordered by collection and insertion. Vertices are known by their `_id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vgraph.embedded.errors import ArangoError

Direction = Literal["outbound", "inbound", "any"]
Projection = frozenset[str] | None
Document = dict[str, Any]
Neighbours = list[tuple[int, str]]
"""(edge token, id of the vertex at the other end), in the order in which the edges were inserted."""

VERTEX_NOT_FOUND = 1202
_CACHED_DOCUMENTS = 20_000
_CACHED_EDGES = 300_000
_NO_NEIGHBOURS: Neighbours = []


@dataclass(frozen=True, slots=True)
class EdgeSource:
    """An edge collection (documents.Collection) and the direction in which its edges are followed."""

    collection: Any
    direction: Direction


def edge_sources(
    txn: Any, collections: Iterable[str | tuple[str, Direction | None]], default: Direction
) -> list[EdgeSource]:
    """Opens edge collections by name; (name, direction) overrides the traversal's own direction.

    A collection named twice counts once. Errors: 1203 unknown, 1218 when the collection holds documents or is given two
    directions, 1652 when a stream transaction did not declare it.
    """
    directions: dict[str, Direction] = {}
    for entry in collections:
        name, own = (entry, None) if isinstance(entry, str) else entry
        direction = own or default
        if directions.setdefault(name, direction) != direction:
            raise ArangoError(1218, f"conflicting directions specified for collection '{name}'")
    return [EdgeSource(_edge_collection(txn, name), direction) for name, direction in directions.items()]


def _edge_collection(txn: Any, name: str) -> Any:
    collection = txn.collection(name)
    if collection.type != 3:
        raise ArangoError(1218, f"collection type invalid for collection '{name}': expecting collection type 'edge'")
    return collection


class _Edges:
    """What an expander and its reverse share: the edge collections by number and their documents."""

    def __init__(self, collections: list[Any]) -> None:
        self.collections = collections
        self.count = len(collections)
        self.documents: dict[Projection, dict[int, Document | None]] = {}

    def fetch(self, tokens: Iterable[int], projection: Projection) -> dict[int, Document | None]:
        known = self.documents.setdefault(projection, {})
        missing = [token for token in dict.fromkeys(tokens) if token not in known]
        if len(known) + len(missing) > _CACHED_DOCUMENTS:
            known = self.documents[projection] = {}
            missing = list(dict.fromkeys(tokens))
        if not missing:
            return known
        if self.count == 1:
            known.update(zip(missing, self.collections[0].fetch(missing, projection), strict=True))
            return known
        for number, collection in enumerate(self.collections):
            own = [token for token in missing if token % self.count == number]
            if own:
                rowids = [token // self.count for token in own]
                known.update(zip(own, collection.fetch(rowids, projection), strict=True))
        return known


class _Vertices:
    """Vertex documents by id; a vertex of a collection that does not exist is error 1203, as on the server."""

    def __init__(self, txn: Any) -> None:
        self.txn = txn
        self.collections: dict[str, Any] = {}
        self.documents: dict[Projection, dict[str, Document | None]] = {}

    def fetch(self, ids: Iterable[str], projection: Projection) -> dict[str, Document | None]:
        known = self.documents.setdefault(projection, {})
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in known]
        if len(known) + len(missing) > _CACHED_DOCUMENTS:
            known = self.documents[projection] = {}
            missing = list(dict.fromkeys(ids))
        keys_of: dict[str, list[str]] = {}
        for id_ in missing:
            name, _, key = id_.partition("/")
            keys_of.setdefault(name, []).append(key)
        for name, keys in keys_of.items():
            found = self._collection(name).fetch_keys(keys, projection)
            known.update(zip((f"{name}/{key}" for key in keys), found, strict=True))
        return known

    def _collection(self, name: str) -> Any:
        if name not in self.collections:
            self.collections[name] = self.txn.collection(name)
        return self.collections[name]


class Expander:
    """Neighbours in the order of the sources (for `any` first out, then in), kept for the run of one plan node."""

    def __init__(self, txn: Any, sources: Sequence[EdgeSource]) -> None:
        self.sources = list(sources)
        self._edges = _Edges([source.collection for source in self.sources])
        self._vertices = _Vertices(txn)
        self._lookups = [
            (number, source.collection, way)
            for number, source in enumerate(self.sources)
            for way in _ways(source.direction)
        ]
        self._neighbours: dict[str, Neighbours] = {}
        self._held = 0

    def reverse(self) -> Expander:
        """The same graph walked against its directions; documents are shared."""
        flipped = Expander.__new__(Expander)
        flipped.sources, flipped._edges, flipped._vertices = self.sources, self._edges, self._vertices
        flipped._lookups = [
            (number, source.collection, _AGAINST[way])
            for number, source in enumerate(self.sources)
            for way in _ways(source.direction)
        ]
        flipped._neighbours, flipped._held = {}, 0
        return flipped

    def restricted(self, names: frozenset[str] | None) -> Expander:
        """The expander over the named edge collections only."""
        if names is None or all(source.collection.name in names for source in self.sources):
            return self
        return Expander(self._vertices.txn, [source for source in self.sources if source.collection.name in names])

    def prefetch(self, vertices: Iterable[str]) -> None:
        """Looks up the neighbours of the vertices not yet known, one statement per edge collection and direction."""
        known = self._neighbours
        if self._held > _CACHED_EDGES:
            known.clear()
            self._held = 0
        missing = [vertex for vertex in dict.fromkeys(vertices) if vertex not in known]
        if not missing:
            return
        for vertex in missing:
            known[vertex] = _NO_NEIGHBOURS
        count = self._edges.count
        for number, collection, way in self._lookups:
            for vertex, ends in zip(missing, collection.neighbours(way, missing), strict=True):
                if ends:
                    found = [(rowid * count + number, other) for rowid, other in ends]
                    known[vertex] = [*known[vertex], *found] if known[vertex] else found
        self._held += sum(len(known[vertex]) for vertex in missing)

    def knows(self, vertex: str) -> bool:
        """Whether the vertex's neighbours need no lookup."""
        return vertex in self._neighbours

    def neighbours(self, vertex: str) -> Neighbours:
        """The edges at one vertex; use `prefetch` first where more than one will be asked."""
        if vertex not in self._neighbours:
            self.prefetch((vertex,))
        return self._neighbours[vertex]

    def vertices(self, ids: Iterable[str], projection: Projection) -> dict[str, Document | None]:
        """A mapping that holds (at least) the given vertices' documents; None for a vertex that does not exist."""
        return self._vertices.fetch(ids, projection)

    def recency(self, token: int) -> tuple[int, int]:
        """Sorts edges from the youngest to the oldest."""
        number, rowid = token % self._edges.count, token // self._edges.count
        return -self._edges.collections[number].id, -rowid

    def edges(self, tokens: Iterable[int], projection: Projection) -> dict[int, Document | None]:
        """A mapping that holds (at least) the given edges' documents."""
        return self._edges.fetch(tokens, projection)


_AGAINST: dict[str, str] = {"out": "in", "in": "out"}


def _ways(direction: Direction) -> tuple[str, ...]:
    return {"outbound": ("out",), "inbound": ("in",), "any": ("out", "in")}[direction]
