"""The whole retrieval of vgraph through AQL and python-arango, and its operators, at several sizes of one corpus.

    OMP_NUM_THREADS=1 python bench/retrieval.py [10000 100000 1000000] [--cache FOLDER] [--rounds 60] [--again]

Corpora are built once in the cache folder (a million chunks take some minutes and about ten gigabytes). `plain` is the same
retrieval without AQL, plans, cursors and driver: the vector index and the view asked directly, SQL with one IN a hop, orjson.
`product` is one numpy product over the vectors, which says how fast the machine is. Wall-clock milliseconds, p50 / p95, and
CPU milliseconds (a busy machine lengthens the former). Retrievals are measured in turn, so that what slows the machine down
slows all of them, and every question is asked once: what a call finds in memory, others left there.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from corpus import CAMERAS, CHUNK_MS, DIMENSION, Question, embeddings, filled, questions

from vgraph.embedded.batches import marks, pad
from vgraph.embedded.engine import Engine, Transaction
from vgraph.embedded.search import BM25, Top
from vgraph.embedded.search.conditions import Terms
from vgraph.retrieve import retrieve
from vgraph.store import Store, connect
from vgraph.types import Filters

K, LEG, RRF, HOPS, ENTITIES, RELATIONS = 10, 20, 60, 2, 12, 60
EVERYTHING = Filters()
QUERIES = 60
WARM, TURN = 5, 10


@dataclass(frozen=True, slots=True)
class Spent:
    """Milliseconds of the calls of one thing."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def p50(self) -> float:
        return statistics.median(self.wall)

    @property
    def p95(self) -> float:
        return sorted(self.wall)[int(0.95 * len(self.wall))]

    @property
    def cpu50(self) -> float:
        return statistics.median(self.cpu)


def measured(call: Callable[[int], object], rounds: int) -> Spent:
    """A call that is given its number, after some for warmth."""
    return in_turn({"": call}, rounds)[""]


def in_turn(calls: Mapping[str, Callable[[int], object]], rounds: int) -> dict[str, Spent]:
    """Several calls, a few rounds of one and then of the next, again and again; the first rounds of each are for warmth."""
    wall: dict[str, list[float]] = {name: [] for name in calls}
    cpu: dict[str, list[float]] = {name: [] for name in calls}
    for start in range(0, WARM + rounds, TURN):
        for name, call in calls.items():
            for number in range(start, min(start + TURN, WARM + rounds)):
                began, began_cpu = time.perf_counter(), time.process_time()
                call(number)
                wall[name].append(1000 * (time.perf_counter() - began))
                cpu[name].append(1000 * (time.process_time() - began_cpu))
    return {name: Spent(tuple(wall[name][WARM:]), tuple(cpu[name][WARM:])) for name in calls}


# -- through the product --------------------------------------------------------------------------------------------


def hybrid(store: Store, question: Question, filters: Filters) -> list[str]:
    hits = store.hybrid_chunks(question.vector, question.text, filters, k=K, leg_k=LEG, rrf_k=RRF)
    return [hit.chunk for hit in hits]


def expand(store: Store, keys: Sequence[str], filters: Filters) -> dict[str, Any]:
    return store.expand_entities(keys, filters, hops=HOPS, entity_limit=ENTITIES, relation_limit=RELATIONS)


def stitch(store: Store, keys: Sequence[str], filters: Filters) -> list[dict[str, Any]]:
    return store.stitch_chunks(keys, filters, neighbours=1)


def evidence_keys(keys: Iterable[str], around: Iterable[dict[str, Any]], graph: dict[str, Any]) -> list[str]:
    found = [*keys, *(row["chunk"] for row in around), *(relation["chunk"] for relation in graph["relations"])]
    return list(dict.fromkeys(found))


def retrieval(store: Store, question: Question, filters: Filters) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `vgraph.retrieve` asks of the store for one question."""
    keys = hybrid(store, question, filters)
    around, graph = stitch(store, keys, filters), expand(store, keys, filters)
    return graph, store.read_chunks(evidence_keys(keys, around, graph), filters)


# -- the same without AQL -------------------------------------------------------------------------------------------


class Plain:
    """Retrieval by hand over the same file: operators called directly, SQL, orjson."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        with self.reading() as txn:
            names = ("chunks", "entities", "documents", "cameras", "HAS_ENTITY", "LINKS_TO", "NEXT_CHUNK")
            self.ids = {name: txn.collection(name).id for name in names}

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        txn = self.engine.begin("vgraph", read_only=True)
        try:
            yield txn
        finally:
            txn.abort()

    def __call__(self, question: Question) -> tuple[list[Any], list[Any]]:
        with self.reading() as txn:
            hits = [f"chunks/{key}" for key in self.hybrid(txn, question)]
            mentions = list(self.edges(txn, "HAS_ENTITY", "out", hits))
            anchors = list(dict.fromkeys(entity for _, _, entity in mentions))[:ENTITIES]
            seen, relations = self.hops(txn, anchors)
            links = self.read(txn, "LINKS_TO", "id", list(relations)[:RELATIONS])
            around = [other for way in ("out", "in") for _, _, other in self.edges(txn, "NEXT_CHUNK", way, hits)]
            ends = {end for link in links for end in (link["_from"], link["_to"])} | set(anchors)
            entities = self.read(txn, "entities", "key", [end.partition("/")[2] for end in ends & seen])
            wanted = dict.fromkeys([id_.partition("/")[2] for id_ in (*hits, *around)] + [e["chunk"] for e in links])
            chunks = self.read(txn, "chunks", "key", list(wanted))
            self.read(txn, "documents", "key", list({chunk["document"] for chunk in chunks}))
            self.read(txn, "cameras", "key", list({chunk["camera"] for chunk in chunks}))
            return entities, chunks

    def hybrid(self, txn: Transaction, question: Question) -> list[str]:
        near = vector_index(txn).search(txn, question.vector, LEG)[0].tolist()
        words = txn.view("vgraph_search").search(
            txn, word_condition(question), scorers=(BM25(),), top=Top(0, True, LEG), collections={"chunks"}
        )
        scores: dict[int, float] = {}
        for leg in (near, words.rowids.tolist()):
            for rank, row in enumerate(leg, 1):
                scores[row] = scores.get(row, 0.0) + 1 / (RRF + rank)
        best = sorted(scores, key=lambda row: -scores[row])[:K]
        return [key for key in txn.collection("chunks").keys_of(best) if key is not None]

    def hops(self, txn: Transaction, anchors: list[str]) -> tuple[set[str], dict[int, None]]:
        seen, relations, border = set(anchors), dict[int, None](), anchors
        for _ in range(HOPS):
            found = [edge for way in ("out", "in") for edge in self.edges(txn, "LINKS_TO", way, border)]
            relations.update((row, None) for _, row, _ in found)
            border = list({other for _, _, other in found} - seen)
            seen.update(border)
        return seen, relations

    def edges(self, txn: Transaction, name: str, way: str, vertices: Sequence[str]) -> Iterable[tuple[str, int, str]]:
        for chunk in pad(vertices):
            statement = f"SELECT v, id, o FROM e{way}{self.ids[name]} WHERE v IN ({marks(len(chunk))})"
            yield from txn.sql(statement, chunk).fetchall()

    def read(self, txn: Transaction, name: str, column: str, wanted: Sequence[Any]) -> list[Any]:
        found = []
        for chunk in pad(wanted):
            statement = f"SELECT body FROM d{self.ids[name]} WHERE {column} IN ({marks(len(chunk))})"
            found += [orjson.loads(body) for (body,) in txn.sql(statement, chunk).fetchall()]
        return found


def vector_index(txn: Transaction) -> Any:
    return next(index for index in txn.collection("chunks").indexes if index.type == "vector")


def word_condition(question: Question) -> Any:
    return Terms("text", "vgraph_text", tuple(question.text.split()), 1, 1.0)


# -- operators through AQL ------------------------------------------------------------------------------------------

NEAR = "FOR c IN chunks LET s = APPROX_NEAR_COSINE(c.embedding, @vector) SORT s DESC LIMIT 20 RETURN c._key"
WORDS = (
    'FOR c IN vgraph_search SEARCH ANALYZER(c.text IN TOKENS(@text, "vgraph_text"), "vgraph_text") '
    'OPTIONS { collections: ["chunks"] } SORT BM25(c) DESC LIMIT 20 RETURN c._key'
)
WALK = 'WITH entities FOR s IN @starts FOR v IN 1..2 ANY s LINKS_TO FILTER v.type == "person" RETURN v.name'
COLLECT = "FOR c IN chunks COLLECT camera = c.camera WITH COUNT INTO n RETURN {camera, n}"


def operators(store: Store, engine: Engine, asked: Sequence[Question], starts: Sequence[list[str]]) -> dict[str, Any]:
    """Calls by name, each given a number; goals in milliseconds stand at 100k."""
    aql: Any = store._db.aql

    def run(text: str, /, **binds: Any) -> list[Any]:
        return list(aql.execute(text, bind_vars=binds))

    def get(number: int) -> None:
        txn = engine.begin("vgraph", read_only=True)
        try:
            collection = txn.collection("entities")
            for place in range(100):
                collection.get(f"e{(number * 97 + place * 7) % 10_000:07d}")
        finally:
            txn.abort()

    return {
        "BM25 top 20": (lambda n: run(WORDS, text=asked[n % QUERIES].text), 1.0),
        "APPROX_NEAR top 20": (lambda n: run(NEAR, vector=asked[n % QUERIES].vector), 2.0),
        "traversal 1..2, filtered": (lambda n: run(WALK, starts=starts[n % QUERIES]), 4.0),
        "COLLECT by an index": (lambda n: run(COLLECT), 6.0),
        "100 point gets": (get, 5.0),
    }


# -- one size -------------------------------------------------------------------------------------------------------


def recall(engine: Engine, size: int, asked: Sequence[Question]) -> float:
    """Share of the true twenty nearest that the vector index finds."""
    txn = engine.begin("vgraph", read_only=True)
    try:
        index = vector_index(txn)
        queries = np.array([question.vector for question in asked], np.float32)
        best: list[list[tuple[float, int]]] = [[] for _ in asked]
        for first in range(0, size, 50_000):
            rows = np.arange(first + 1, min(first + 50_000, size) + 1)
            scores = index.read(txn, rows) @ queries.T
            for number in range(len(asked)):
                top = np.argpartition(scores[:, number], -20)[-20:]
                best[number] += [(float(scores[at, number]), int(rows[at])) for at in top]
        found = 0
        for question, ranked in zip(asked, best, strict=True):
            wanted = {row for _, row in sorted(ranked)[-20:]}
            found += len(wanted & set(index.search(txn, question.vector, 20)[0].tolist()))
        return found / (20 * len(asked))
    finally:
        txn.abort()


def product(size: int) -> Spent:
    """One numpy product over as many vectors."""
    vectors = embeddings(size, 1)
    return measured(lambda n: vectors @ vectors[n], 20)


def private_memory() -> float:
    """Megabytes of this process that are not files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def tenth(size: int) -> Filters:
    """A tenth of the time of all cameras."""
    end = max(1, size // CAMERAS) * CHUNK_MS
    return Filters(start_ms=int(end * 0.4), end_ms=int(end * 0.5))


def growth(sizes: Sequence[int], folder: Path, rounds: int) -> None:
    """How much longer the same questions take of larger corpora."""
    asked = questions(WARM + rounds, seed=9)
    stores = {str(size): Store.open(connect(f"embedded:{filled(size, folder)}", "vgraph")) for size in sizes}
    calls = {
        size: partial(lambda store, n: retrieval(store, asked[n], EVERYTHING), store) for size, store in stores.items()
    }
    found = in_turn(calls, rounds)
    for smaller, larger in itertools.pairwise(map(str, sizes)):
        ratio, cpu = found[larger].p50 / found[smaller].p50, found[larger].cpu50 / found[smaller].cpu50
        print(f"\nt({int(larger):,}) / t({int(smaller):,}) = {ratio:.1f} (cpu {cpu:.1f})")
    for store in stores.values():
        store.close()


def measure(size: int, folder: Path, rounds: int, *, again: bool) -> None:
    path = filled(size, folder, again=again)
    asked = questions(QUERIES)
    before, began = private_memory(), time.perf_counter()
    store = Store.open(connect(f"embedded:{path}", "vgraph"))
    opened = time.perf_counter() - began
    keys = hybrid(store, asked[0], EVERYTHING)
    first = time.perf_counter() - began
    connection: Any = store._db.conn  # type: ignore[attr-defined]
    engine: Engine = connection._sessions[0].app.engine
    graphs = [retrieval(store, question, EVERYTHING) for question in asked]
    hits = [hybrid(store, question, EVERYTHING) for question in asked]
    starts = [graph["anchors"][:10] for graph, _ in graphs]
    plain = Plain(engine)
    narrow, cameras = tenth(size), Filters(cameras=("cam3", "cam5"))
    fresh = questions(WARM + rounds, seed=8)
    whole: dict[str, tuple[Callable[[int], object], float | None]] = {
        "retrieval": (lambda n: retrieval(store, fresh[n], EVERYTHING), 7.5 if size <= 100_000 else 25.0),
        "  plain": (lambda n: plain(fresh[n]), None),
        "retrieval, a tenth of the time": (lambda n: retrieval(store, fresh[n], narrow), 10.0),
        "retrieval, two cameras": (lambda n: retrieval(store, fresh[n], cameras), 10.0),
        "vgraph.retrieve": (lambda n: retrieve(fresh[n].text, store, lambda _: fresh[n].vector), None),
    }
    parts: dict[str, tuple[Callable[[int], object], float | None]] = {
        "  hybrid_chunks": (lambda n: hybrid(store, asked[n % QUERIES], EVERYTHING), None),
        "  expand_entities": (lambda n: expand(store, hits[n % QUERIES], EVERYTHING), None),
        "  stitch_chunks": (lambda n: stitch(store, hits[n % QUERIES], EVERYTHING), None),
        "  read_chunks": (lambda n: store.read_chunks(list(graphs[n % QUERIES][1]), EVERYTHING), None),
        **operators(store, engine, asked, starts),
    }
    calls = {**whole, **parts}
    found = in_turn({name: call for name, (call, _) in whole.items()}, rounds)
    found |= {name: measured(call, rounds) for name, (call, _) in parts.items()}
    held = private_memory() - before
    found["numpy product"] = product(min(size, 100_000))
    print(f"\n{size:,} chunks ({path.stat().st_size / 1e9:.2f} GB on disk, {held:.0f} MB private memory; ", end="")
    print(f"open {opened:.2f} s, first answer {first:.2f} s; {len(keys)} hits, ", end="")
    sizes = [(len(graph["relations"]), len(graph["entities"]), len(chunks)) for graph, chunks in graphs]
    relations, entities, chunks = (statistics.mean(column) for column in zip(*sizes, strict=True))
    print(f"{relations:.0f} relations, {entities:.0f} entities, {chunks:.0f} chunks)")
    print(f"recall of APPROX_NEAR top 20: {recall(engine, size, asked[:30]):.4f}")
    print(f"{'':32}{'p50':>8}{'p95':>8}{'cpu':>8}{'goal':>7}")
    for name, spent in found.items():
        goal = calls[name][1] if name in calls else None
        print(f"{name:32}{spent.p50:8.2f}{spent.p95:8.2f}{spent.cpu50:8.2f}{goal or '':>7}")
    ratio = found["retrieval"].p50 / found["  plain"].p50
    print(
        f"retrieval is {ratio:.1f} x plain; p95 {found['retrieval'].p95 / found['  plain'].p50:.1f} x plain (goals 3, 5)"
    )
    store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "vgraph-bench")
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--again", action="store_true", help="build the corpora again")
    given = parser.parse_args()
    assert DIMENSION == 384
    for size in given.sizes:
        measure(size, given.cache, given.rounds, again=given.again)
    growth(given.sizes, given.cache, given.rounds)


if __name__ == "__main__":
    main()
