"""Walks over stored collections give what they give over the in-memory double; and AQL reaches every kind of walk."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl
from vgraph.embedded.aql import execute
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.graphs import (
    Expander,
    PathSpec,
    TraversalSpec,
    all_shortest_paths,
    edge_sources,
    k_paths,
    k_shortest_paths,
    shortest_path,
    traverse,
)
from vgraph.embedded.graphs.memory import MemoryCollection, MemoryRuntime, MemoryTransaction

VERTICES = 40


def documents() -> dict[str, list[dict[str, Any]]]:
    noise = random.Random(7)

    def edges(count: int) -> list[dict[str, Any]]:
        return [
            {
                "_from": f"v/{noise.randrange(VERTICES)}",
                "_to": f"v/{noise.randrange(VERTICES)}",
                "w": noise.randrange(9),
            }
            for _ in range(count)
        ]

    vertices = [{"_key": str(n), "even": n % 2 == 0} for n in range(VERTICES - 2)]
    return {"e": edges(70), "f": edges(30), "v": vertices}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine.open(Path(tmp_path_factory.mktemp("graphs")) / "graph.db")
    with engine.writing() as txn:
        for name, rows in documents().items():
            ddl.create_collection(txn, name, 2 if name == "v" else 3)
            txn.collection(name, write=True).insert_many(rows)
        graph = {
            "_key": "g",
            "edgeDefinitions": [{"collection": "e", "from": ["v"], "to": ["v"]}],
            "orphanCollections": [],
        }
        txn.collection("_graphs", write=True).insert(graph)
    yield engine
    engine.close()


def in_memory() -> MemoryTransaction:
    return MemoryTransaction(
        MemoryCollection(name, number, 2 if name == "v" else 3, rows)
        for number, (name, rows) in enumerate(documents().items(), 1)
    )


def told(txn: Any, walk: Any) -> list[Any]:
    """What a walk gives, without what only a store adds."""
    found = list(islice(walk(Expander(txn, edge_sources(txn, [("e", None), ("f", "any")], "outbound"))), 300))
    return [_plain(row) for row in found]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if name not in ("_rev", "_id", "_key")}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


SPECS = [
    TraversalSpec(0, 3),
    TraversalSpec(1, 3, order="bfs", unique_vertices="global"),
    TraversalSpec(2, 3, unique_vertices="path"),
    TraversalSpec(1, 4, order="weighted", unique_vertices="global", weight_attribute="w"),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.order + spec.unique_vertices)
def test_traversals_agree(engine: Engine, spec: TraversalSpec) -> None:
    starts = [(n, f"v/{n}") for n in (3, 1, 4, 1, 5)]
    with engine.reading() as txn:
        stored = told(txn, lambda expander: traverse(expander, starts, spec, MemoryRuntime()))
    assert stored == told(in_memory(), lambda expander: traverse(expander, starts, spec, MemoryRuntime()))
    assert stored


@pytest.mark.parametrize("search", [shortest_path, k_shortest_paths, all_shortest_paths, k_paths])
@pytest.mark.parametrize("weighted", [False, True])
def test_paths_agree(engine: Engine, search: Any, weighted: bool) -> None:
    spec = PathSpec(1, 5, weight_attribute="w" if weighted else None)
    for target in (7, 9, 11):
        with engine.reading() as txn:
            stored = told(txn, lambda expander: search(expander, "v/1", f"v/{target}", spec, MemoryRuntime()))
        assert stored == told(
            in_memory(), lambda expander: search(expander, "v/1", f"v/{target}", spec, MemoryRuntime())
        )


@pytest.mark.parametrize(
    "query",
    [
        "FOR v, e, p IN 1..2 OUTBOUND @start GRAPH 'g' RETURN LENGTH(p.edges)",
        "FOR v IN 1..2 ANY @start e, OUTBOUND f OPTIONS {order: 'bfs', uniqueVertices: 'global'} RETURN v._key",
        "FOR v, e IN 1..2 OUTBOUND @start e PRUNE stop = v.even FILTER stop RETURN v.even",
        "FOR v, e, p IN 1..2 OUTBOUND @start e FILTER p.edges[*].w ALL > 1 RETURN p.edges[*].w",
        "FOR v, e IN ANY SHORTEST_PATH @start TO 'v/9' e RETURN [v._key, e.w]",
        "FOR p IN ANY K_SHORTEST_PATHS @start TO 'v/9' e OPTIONS {weightAttribute: 'w'} LIMIT 2 RETURN p.weight",
        "FOR p IN ANY ALL_SHORTEST_PATHS @start TO 'v/9' e RETURN p.vertices[*]._key",
        "FOR p IN 1..4 ANY K_PATHS @start TO 'v/9' e LIMIT 3 RETURN p.edges[*].w",
    ],
)
def test_aql_reaches_every_walk(engine: Engine, query: str) -> None:
    assert execute(engine, "_system", "WITH v " + query, {"start": "v/1"}, {}).all()


@pytest.mark.parametrize(
    ("query", "num"),
    [
        ("FOR v IN OUTBOUND 'v/1' GRAPH 'unknown' RETURN v", 1924),
        ("FOR v IN OUTBOUND 'v/1' v RETURN v", 1218),
        ("FOR v IN OUTBOUND 'v/1' e, INBOUND e RETURN v", 1218),
        ("FOR v IN OUTBOUND 'v/1' e OPTIONS {uniqueVertices: 'global'} RETURN v", 10),
        ("FOR v IN 2..1 OUTBOUND 'v/1' e RETURN v", 1501),
    ],
)
def test_aql_refuses_what_the_server_refuses(engine: Engine, query: str, num: int) -> None:
    with pytest.raises(ArangoError) as error:
        execute(engine, "_system", query, {}, {}).all()
    assert error.value.num == num
