"""/_api/edges: the edges at a vertex."""

from __future__ import annotations

from typing import Any, Final

from vgraph.embedded import keys
from vgraph.embedded.documents import Collection
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done

routes = Routes()

_SIDES: Final[dict[str, tuple[Any, ...]]] = {"out": ("out",), "in": ("in",), "any": ("out", "in")}


@routes.on("GET", "/_api/edges/{collection}")
def read(context: Context, collection: str) -> Answer:
    return _answer(context, collection, [context.request.query.get("vertex")])


@routes.on("POST", "/_api/edges/{collection}")
def read_many(context: Context, collection: str) -> Answer:
    vertices = context.request.json()
    if not isinstance(vertices, list):
        raise ArangoError(400, "expected a JSON array of vertex identifiers")
    return _answer(context, collection, vertices)


def _answer(context: Context, name: str, vertices: list[Any]) -> Answer:
    direction = context.request.query.get("direction", "any")
    if direction not in _SIDES:
        raise ArangoError(400, "<direction> must by any, in, or out, not: " + direction)
    with context.reading() as txn:
        edges = txn.collection(name)
        for vertex in vertices:
            if not keys.is_id(vertex):
                raise ArangoError(1205)
        found = edges.fetch(_rows(edges, _SIDES[direction], vertices))
    stats = {
        **_STATS,
        "documentLookups": len(found),
        "scannedIndex": len(found),
        "cursorsCreated": len(_SIDES[direction]),
    }
    return done(200, edges=found, stats=stats)


def _rows(edges: Collection, sides: tuple[Any, ...], vertices: list[str]) -> list[int]:
    rows: dict[int, None] = {}
    for side in sides:
        for _, rowid, _ in edges.edges(side, vertices):
            rows[rowid] = None
    return list(rows)


_STATS: Final = {
    "writesExecuted": 0,
    "writesIgnored": 0,
    "documentLookups": 0,
    "seeks": 0,
    "scannedFull": 0,
    "scannedIndex": 0,
    "searchParallelism": 1,
    "cursorsCreated": 0,
    "cursorsRearmed": 0,
    "cacheHits": 0,
    "cacheMisses": 0,
    "filtered": 0,
    "httpRequests": 0,
    "executionTime": 0.0,
    "peakMemoryUsage": 0,
    "intermediateCommits": 0,
}
