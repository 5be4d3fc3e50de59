"""Two hops from ten starts (about 300 vertices), as a ratio to plain SQL over the same tables in the same run.

    python bench/graphs.py [--vertices 10000 100000] [--rounds 200]

Goal: a traversal of depths 1..2 that filters 300 vertex documents in at most 4 ms at 100,000 vertices.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vgraph.embedded import ddl
from vgraph.embedded.aql import execute
from vgraph.embedded.batches import marks, pad
from vgraph.embedded.engine import Engine, Transaction
from vgraph.embedded.graphs import ALL, Expander, TraversalSpec, Wants, edge_sources, traverse
from vgraph.embedded.graphs.memory import MemoryRuntime

DEGREE = 5
STARTS = 10
QUERIES = {
    "aql_ids": "WITH v FOR s IN @starts FOR v IN 1..2 OUTBOUND s e RETURN v._id",
    "aql_documents": "WITH v FOR s IN @starts FOR v IN 1..2 OUTBOUND s e RETURN v",
    "aql_filter": "WITH v FOR s IN @starts FOR v IN 1..2 OUTBOUND s e FILTER v.kind == 'person' RETURN v.name",
    "aql_prune_path": (
        "WITH v FOR s IN @starts FOR v, e, p IN 1..2 OUTBOUND s e PRUNE v.kind == 'place' "
        "FILTER p.edges[0].w > 0.2 RETURN p.edges[*].w"
    ),
    "aql_bfs_global": (
        "WITH v FOR s IN @starts FOR v IN 1..2 OUTBOUND s e OPTIONS {order: 'bfs', uniqueVertices: 'global'} RETURN v.name"
    ),
}


def filled(path: Path, vertices: int) -> Engine:
    """A random graph of five outgoing edges a vertex; vertex documents of about 300 bytes."""
    noise = random.Random(1)
    engine = Engine.open(path)
    with engine.writing() as txn:
        ddl.create_collection(txn, "v", 2)
        ddl.create_collection(txn, "e", 3)
        kinds = ["person", "object", "place"]
        txn.collection("v", write=True).insert_many(
            [
                {"_key": str(n), "name": f"entity {n}", "kind": noise.choice(kinds), "description": "words " * 40}
                for n in range(vertices)
            ]
        )
        txn.collection("e", write=True).insert_many(
            [
                {"_from": f"v/{n}", "_to": f"v/{noise.randrange(vertices)}", "w": noise.random()}
                for n in range(vertices)
                for _ in range(DEGREE)
            ]
        )
    return engine


def plain_sql(txn: Transaction, starts: list[str]) -> int:
    """One IN per depth over the covering index of edges, then the vertices' documents, undecoded."""
    table, found, level = f"eout{txn.collection('e').id}", 0, starts
    documents = f"d{txn.collection('v').id}"
    keys: list[str] = []
    for _ in range(2):
        rows = []
        for chunk in pad(list(dict.fromkeys(level))):
            sql = f"SELECT v, id, o FROM {table} WHERE v IN ({marks(len(chunk))}) ORDER BY v, id"
            rows += txn.sql(sql, chunk).fetchall()
        level = [row[2] for row in rows]
        keys += [vertex[2:] for vertex in level]
        found += len(rows)
    for chunk in pad(list(dict.fromkeys(keys))):
        txn.sql(f"SELECT id, key, body FROM {documents} WHERE key IN ({marks(len(chunk))})", chunk).fetchall()
    return found


def walked(txn: Transaction, starts: list[str], wants: Wants) -> int:
    """The walk alone, without AQL."""
    expander = Expander(txn, edge_sources(txn, ["e"], "outbound"))
    return sum(
        1
        for _ in traverse(
            expander, [(None, start) for start in starts], TraversalSpec(1, 2), MemoryRuntime(), wants=wants
        )
    )


def timed(action: Callable[[list[str]], Any], choices: list[list[str]]) -> float:
    """The median, in milliseconds."""
    for starts in choices[:10]:
        action(starts)
    taken = []
    for starts in choices:
        began = time.perf_counter()
        action(starts)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def measured(vertices: int, rounds: int) -> dict[str, Any]:
    """Medians of every way to do it, and their ratios to plain SQL."""
    noise = random.Random(2)
    choices = [[f"v/{noise.randrange(vertices)}" for _ in range(STARTS)] for _ in range(rounds)]
    with tempfile.TemporaryDirectory() as folder:
        engine = filled(Path(folder) / "graph.db", vertices)
        with engine.reading() as txn:
            medians = {
                "plain_sql": timed(lambda starts: plain_sql(txn, starts), choices),
                "walk_ids": timed(lambda starts: walked(txn, starts, Wants()), choices),
                "walk_documents": timed(lambda starts: walked(txn, starts, Wants(vertex=ALL)), choices),
            }
        for name, query in QUERIES.items():

            def run(starts: list[str], query: str = query) -> Any:
                return execute(engine, "_system", query, {"starts": starts}, {}).all()

            medians[name] = timed(run, choices)
        engine.close()
    base = medians["plain_sql"]
    return {
        "vertices": vertices,
        "ms": {name: round(value, 3) for name, value in medians.items()},
        "x_plain_sql": {name: round(value / base, 2) for name, value in medians.items()},
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--vertices", type=int, nargs="+", default=[10_000, 100_000])
    options.add_argument("--rounds", type=int, default=200)
    chosen = options.parse_args()
    for vertices in chosen.vertices:
        print(json.dumps(measured(vertices, chosen.rounds)))


if __name__ == "__main__":
    main()
