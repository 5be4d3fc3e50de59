"""How fast a graph is written, durably, with all its indexes and the search view, at several sizes of one corpus.

    OMP_NUM_THREADS=1 python bench/ingest.py [10000 100000] [1000000] [--only chunks|graph] [--folder FOLDER]

`plain` is SQLite's executemany of the same JSON in the same transactions: what a file costs without keys, indexes, postings
and vectors. `aql` and `import` write chunks with their embeddings in requests of a thousand, `graph` everything (two entities,
three mentions, six relations and a link for every chunk) through `Store.apply`. `LightRAG` takes the same chunks, entities
and relations with `ainsert_custom_kg`, if it is installed (`pip install lightrag-hku`). Rates are of wall-clock time, and of
CPU time in brackets (other programs lengthen the former); `late` is the rate of the last tenth, `slowest` the longest a single
request took. A run of many minutes tells how far it is: one that is silent has been ended by somebody.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import logging
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from corpus import BATCH, DIMENSION, Part, captions, chunk, embeddings, parts, questions
from peers import LightRag, stop
from peers import graph as knowledge

from vgraph.store import Store, connect
from vgraph.types import Filters, GraphDelta

SINGLES = 1000
TOLD = 200
"""Blocks after which it is told how far things are."""
EVERYTHING = Filters()
INSERT = "FOR chunk IN @chunks INSERT chunk INTO chunks"


class Clock:
    """Wall-clock and CPU seconds of the blocks it is put around, and how many things they did."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, float, float]] = []

    @contextmanager
    def around(self, things: int) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.blocks.append((things, time.perf_counter() - wall, time.process_time() - cpu))
        if len(self.blocks) % TOLD == 0:
            print(f"    {len(self.blocks) * BATCH:>9,} chunks: {self}", flush=True)

    def rate(self, share: float = 1.0) -> tuple[float, float]:
        """Things a second of the last `share` of the blocks, by wall clock and by CPU."""
        blocks = self.blocks[-max(1, int(share * len(self.blocks))) :]
        things, wall, cpu = (sum(column) for column in zip(*blocks, strict=True))
        return things / wall, things / cpu

    def __str__(self) -> str:
        wall, cpu = self.rate()
        late_wall, late_cpu = self.rate(0.1)
        slowest = max(block[1] for block in self.blocks)
        return f"{wall:>9,.0f}/s ({cpu:>9,.0f}), late {late_wall:>9,.0f}/s ({late_cpu:>9,.0f}), slowest {slowest:.2f} s"


# -- what is written ------------------------------------------------------------------------------------------------


def chunk_blocks(size: int) -> Iterator[list[dict[str, Any]]]:
    """The corpus's chunks, a thousand at a time."""
    for first in range(0, size, BATCH):
        last = min(first + BATCH, size)
        texts, vectors = captions(last - first, first + 1), embeddings(last - first, first + 1).tolist()
        yield [chunk(n, n // BATCH, texts[n - first], vectors[n - first]) for n in range(first, last)]


def records(part: Part) -> dict[str, tuple[dict[str, Any], ...]]:
    return {**part.delta().vertices, **part.delta().edges}


# -- who writes it --------------------------------------------------------------------------------------------------


def plainly(blocks: Iterable[dict[str, Any]], folder: Path) -> Clock:
    """Keys and JSON into SQLite, one table a collection, one durable transaction a block."""
    clock = Clock()
    connection = sqlite3.connect(folder / "plain.sqlite", isolation_level=None)
    connection.executescript("PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
    for block in blocks:
        for name in block:
            connection.execute(f"CREATE TABLE IF NOT EXISTS {name} (key TEXT PRIMARY KEY, body BLOB)")
        with clock.around(sum(map(len, block.values()))):
            connection.execute("BEGIN IMMEDIATE")
            for name, rows in block.items():
                pairs = [(row["_key"], orjson.dumps(row)) for row in rows]
                connection.executemany(f"INSERT OR REPLACE INTO {name} VALUES (?, ?)", pairs)
            connection.execute("COMMIT")
    connection.close()
    return clock


def opened(path: Path) -> Store:
    store = Store.open(connect(f"embedded:{path}", "vgraph"))
    store.claim_embedding("text", "bench", DIMENSION)
    return store


def chunks_through(write: Callable[[Any, list[dict[str, Any]]], object], size: int, path: Path) -> Clock:
    """Chunks in requests of a thousand; the vector index is made when the first are there, as vgraph makes it."""
    clock = Clock()
    with opened(path) as store:
        for number, block in enumerate(chunk_blocks(size)):
            with clock.around(len(block)):
                write(store._db, block)
            if not number:
                store.ensure_vector_indexes()
    return clock


def by_aql(db: Any, block: list[dict[str, Any]]) -> None:
    list(db.aql.execute(INSERT, bind_vars={"chunks": block}))


def by_import(db: Any, block: list[dict[str, Any]]) -> None:
    db.collection("chunks").import_bulk(block)


def graph(size: int, path: Path) -> Clock:
    clock = Clock()
    with opened(path) as store:
        for number, part in enumerate(parts(size)):
            delta = part.delta()
            with clock.around(part.items):
                store.apply(delta)
            if not number:
                store.ensure_vector_indexes()
    return clock


# -- afterwards -----------------------------------------------------------------------------------------------------


def seen_after(path: Path, size: int) -> tuple[list[float], list[float]]:
    """Milliseconds, and those of CPU time, from writing one chunk to finding it by its vector and six of its words, sorted."""
    walls, cpus = [], []
    texts, vectors = captions(SINGLES, 99), embeddings(SINGLES, 99).tolist()
    with opened(path) as store:
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            made = chunk(size + number, size // BATCH + 1000, text, vector)
            begun, begun_cpu = time.perf_counter(), time.process_time()
            store.apply(GraphDelta({"chunks": (made,)}))
            words = " ".join(text.split()[:6])
            found = store.hybrid_chunks(vector, words, EVERYTHING, k=10, leg_k=20, rrf_k=60)
            walls.append(1000 * (time.perf_counter() - begun))
            cpus.append(1000 * (time.process_time() - begun_cpu))
            assert any(hit.chunk == made["_key"] for hit in found), "a chunk that was written is not found"
    return sorted(walls), sorted(cpus)


def reopened(path: Path) -> None:
    """Open the file, ask it, and tell the seconds to the first answer and the private memory after sixty."""
    asked = questions(60)
    begun = time.perf_counter()
    with opened(path) as store:
        ready = time.perf_counter() - begun
        for number, question in enumerate(asked):
            store.hybrid_chunks(question.vector, question.text, EVERYTHING, k=10, leg_k=20, rrf_k=60)
            if not number:
                first = time.perf_counter() - begun
        print(
            f"    open {ready:.2f} s, with the first answer {first:.2f} s, private memory {private_megabytes():,.0f} MB"
        )


def private_megabytes() -> float:
    """Memory of this process that no file backs."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
    return sizes["Anonymous"] / 1024


def spread(spent: list[float]) -> str:
    return f"p50 {statistics.median(spent):.1f}, p95 {spent[int(0.95 * SINGLES)]:.1f}, longest {spent[-1]:.1f} ms"


def afterwards(path: Path, size: int) -> None:
    walls, cpus = seen_after(path, size)
    print(f"    one chunk written and found: {spread(walls)}, of CPU time {spread(cpus)}")
    subprocess.run([sys.executable, __file__, "--reopen", str(path)], check=True)
    disk = sum(file.stat().st_size for file in path.parent.glob(path.name + "*"))
    connection = sqlite3.connect(path)
    (free,), (pages,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("freelist_count", "page_count"))
    connection.close()
    print(
        f"    disk {disk / 2**30:.2f} GiB, {disk / size / 1000:.2f} GB per million chunks, {100 * free / pages:.0f} % of it free",
        flush=True,
    )


# -- LightRAG -------------------------------------------------------------------------------------------------------


def lightrag(size: int, folder: Path) -> Clock:
    """The same knowledge through LightRAG's default stores, embeddings drawn at no cost."""
    rng = np.random.default_rng(0)

    async def embed(texts: list[str], **_: Any) -> np.ndarray:
        return rng.standard_normal((len(texts), DIMENSION), np.float32)

    logging.disable(logging.WARNING)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    peer = LightRag(str(folder), embed, loop)
    chunks, names, relations = knowledge(size)
    clock = Clock()
    with clock.around(len(chunks) + len(names) + len(relations)):
        peer.fill(chunks, names, relations)
    stop(loop)
    return clock


# -- the report -----------------------------------------------------------------------------------------------------


def told(name: str, clock: Clock, base: Clock) -> None:
    print(f"  {name:<8} {clock}  {clock.rate()[0] / base.rate()[0]:.2f} x plain", flush=True)


def measure_chunks(size: int, folder: Path) -> None:
    print(f"{size:,} chunks alone, with embeddings", flush=True)
    base = plainly(({"chunks": block} for block in chunk_blocks(size)), folder)
    told("plain", base, base)
    for name, write in (("aql", by_aql), ("import", by_import)):
        path = folder / f"{name}.sqlite"
        told(name, chunks_through(write, size, path), base)
        if name == "import":
            afterwards(path, size)


def measure_graph(size: int, folder: Path) -> None:
    print(f"{size:,} chunks with their graph, in items", flush=True)
    base = plainly(map(records, parts(size)), folder)
    told("plain", base, base)
    ours = graph(size, folder / "graph.sqlite")
    told("graph", ours, base)
    afterwards(folder / "graph.sqlite", size)
    if size <= 10_000 and importlib.util.find_spec("lightrag"):
        theirs = lightrag(size, folder / "lightrag")
        wall, cpu = (mine / other for mine, other in zip(ours.rate(), theirs.rate(), strict=True))
        print(f"  LightRAG {theirs}: vgraph writes {wall:.1f} (CPU {cpu:.1f}) times as many items a second")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--only", choices=("chunks", "graph"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--reopen", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.reopen:
        reopened(asked.reopen)
        return
    for size in asked.sizes:
        for name, measure in (("chunks", measure_chunks), ("graph", measure_graph)):
            if asked.only in (None, name):
                with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
                    measure(size, Path(folder))


if __name__ == "__main__":
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", tempfile.gettempdir())
    main()
