"""Vector index: p50 of a top-20 search at 10k and 100k vectors, as a ratio to one plain numpy product over them.

OMP_NUM_THREADS=1 python bench/vectors.py [count ...]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vgraph.embedded import ddl
from vgraph.embedded.engine import Engine
from vgraph.embedded.vectors import VectorIndex

DIMENSION = 384
QUERIES = 60


def p50(call: Callable[[int], object], repeats: int = QUERIES) -> float:
    """Median milliseconds of a call that is given its number."""
    call(0)
    spent = []
    for number in range(repeats):
        start = time.perf_counter()
        call(number)
        spent.append(1000 * (time.perf_counter() - start))
    return statistics.median(spent)


def embeddings(count: int, seed: int) -> np.ndarray:
    """Unit vectors in groups, near a space of few dimensions, as sentence embeddings are."""
    fixed = np.random.default_rng(0)
    directions = fixed.standard_normal((48, DIMENSION)) / np.sqrt(DIMENSION)
    centres = fixed.standard_normal((400, 48))
    rng = np.random.default_rng(seed)
    inner = centres[rng.integers(0, 400, count)] + 0.7 * rng.standard_normal((count, 48))
    found = inner @ directions + 0.03 * rng.standard_normal((count, DIMENSION))
    return (found / np.linalg.norm(found, axis=1)[:, None]).astype(np.float32)


def fill(engine: Engine, vectors: np.ndarray) -> float:
    """Insert the vectors in transactions of 1000; documents a second."""
    with engine.writing() as txn:
        ddl.create_collection(txn, "c")
        params = {"metric": "cosine", "dimension": DIMENSION, "nLists": 100}
        ddl.create_index(txn, "c", {"type": "vector", "fields": ["e"], "params": params})
    lists = vectors.tolist()
    start = time.perf_counter()
    for first in range(0, len(lists), 1000):
        with engine.writing() as txn:
            collection = txn.collection("c", write=True)
            for number, vector in enumerate(lists[first : first + 1000], first):
                collection.insert({"_key": str(number), "e": vector, "n": number}, whole=False)
    return len(lists) / (time.perf_counter() - start)


def measure(count: int) -> None:
    vectors, queries = embeddings(count, 1), embeddings(QUERIES, 2)
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine.open(Path(folder) / "a.db")
        rate = fill(engine, vectors)
        engine.close()
        start = time.perf_counter()
        engine = Engine.open(Path(folder) / "a.db")
        txn = engine.begin(read_only=True)
        index = next(index for index in txn.collection("c").indexes if isinstance(index, VectorIndex))
        index.search(txn, queries[0].tolist(), 20)
        opened = time.perf_counter() - start
        cold = p50(lambda n: index.search(txn, queries[n].tolist(), 20), 20)
        for query in queries:
            index.search(txn, query.tolist(), 20)
        search = p50(lambda n: index.search(txn, queries[n].tolist(), 20))
        product = p50(lambda n: np.argpartition(vectors @ queries[n], -20)[-20:])
        tenth = np.arange(1, count + 1, 10)
        filtered = p50(lambda n: index.search(txn, queries[n].tolist(), 20, candidates=tenth))
        hits = 0
        for query in queries:
            wanted = set((np.argsort(-(vectors @ query))[:20] + 1).tolist())
            hits += len(wanted & set(index.search(txn, query.tolist(), 20)[0].tolist()))
        txn.abort()
        engine.close()
    print(
        f"{count:>9,} vectors: insert {rate:,.0f}/s, open and first search {1000 * opened:.0f} ms, "
        f"top-20 {search:.2f} ms ({search / product:.2f} x numpy's {product:.2f} ms), right after opening {cold:.2f} ms, "
        f"10 % filter {filtered:.2f} ms, recall {hits / (20 * len(queries)):.4f}"
    )


if __name__ == "__main__":
    for size in [int(argument) for argument in sys.argv[1:]] or [10_000, 100_000]:
        measure(size)
