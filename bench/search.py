"""Full-text search: p50 of BM25 top-20 over four terms at 10k and 100k captions, alone and with filters in SEARCH.

    OMP_NUM_THREADS=1 python bench/search.py [count ...]

The ratio is to a plain numpy product of that many 384-d vectors, which says how fast the machine is.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vgraph.embedded import ddl, view_store
from vgraph.embedded.engine import Engine
from vgraph.embedded.search import BM25, Top
from vgraph.embedded.search.conditions import AllOf, Phrase, PhrasePart, Prefixes, Terms, Values
from vgraph.embedded.search.segments import NUMBER

WORDS = 20_000
QUERIES = 100


def p50(call: Callable[[int], object], repeats: int = QUERIES) -> float:
    """Median milliseconds of a call that is given its number."""
    call(0)
    spent = []
    for number in range(repeats):
        start = time.perf_counter()
        call(number)
        spent.append(1000 * (time.perf_counter() - start))
    return statistics.median(spent)


def captions(count: int, seed: int) -> list[str]:
    """Texts of about 40 words whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, WORDS + 1)
    lengths = rng.integers(25, 56, count)
    drawn = rng.choice(WORDS, int(lengths.sum()), p=shares / shares.sum())
    texts, at = [], 0
    for length in lengths.tolist():
        texts.append(" ".join(f"w{word}" for word in drawn[at : at + length].tolist()))
        at += length
    return texts


def fill(engine: Engine, texts: list[str]) -> float:
    """Insert captions with camera and time in transactions of 1000; documents a second."""
    with engine.writing() as txn:
        ddl.create_collection(txn, "c")
        fields = {"text": {"analyzers": ["text_en"]}, "camera": {}, "start_ms": {}}
        view_store.create_view(txn, "v", "arangosearch", {"links": {"c": {"fields": fields}}})
    start = time.perf_counter()
    for first in range(0, len(texts), 1000):
        with engine.writing() as txn:
            collection = txn.collection("c", write=True)
            for number, text in enumerate(texts[first : first + 1000], first):
                document: dict[str, Any] = {"text": text, "camera": f"cam{number % 16}", "start_ms": 1000 * number}
                collection.insert({"_key": str(number), **document}, whole=False)
    return len(texts) / (time.perf_counter() - start)


def queries(texts: list[str]) -> list[Terms]:
    """Four words of one caption each, as a question has them."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(QUERIES):
        words = sorted(set(texts[int(rng.integers(len(texts)))].split()))
        chosen = rng.choice(words, 4, replace=False).tolist()
        found.append(Terms("text", "text_en", tuple(chosen), 1, 1.0))
    return found


def measure(count: int) -> None:
    texts = captions(count, 1)
    asked = queries(texts)
    vectors = np.random.default_rng(0).standard_normal((count, 384)).astype(np.float32)
    product = p50(lambda n: vectors @ vectors[n], 20)
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine.open(Path(folder) / "a.db")
        rate = fill(engine, texts)
        engine.close()
        start = time.perf_counter()
        engine = Engine.open(Path(folder) / "a.db")
        txn = engine.begin(read_only=True)
        view = txn.view("v")

        def best(condition: Any) -> None:
            view.search(txn, condition, scorers=(BM25(),), top=Top(0, True, 20))

        best(asked[0])
        opened = time.perf_counter() - start
        cold = p50(lambda n: best(asked[n]), QUERIES // 2)
        for query in asked:
            best(query)
        plain = p50(lambda n: best(asked[n]))
        span = Values("start_ms", NUMBER, 100.0 * count, 200.0 * count, True, True)
        camera = Terms("camera", "identity", ("cam3", "cam5"), 1, 1.0)
        filtered = p50(lambda n: best(AllOf((asked[n], span, camera))))
        phrase = p50(lambda n: best(Phrase("text", "text_en", (PhrasePart(0, "text", f"w{n} w{n + 1}"),), 1.0)), 30)
        prefix = p50(lambda n: best(Prefixes("text", "text_en", (f"w{n + 100}",), 1, 128, 1.0)), 30)
        count_only = p50(lambda n: view.count(txn, span), 30)
        txn.abort()
        with engine.writing() as writer:
            writer.collection("c", write=True).insert({"text": texts[0], "camera": "cam1", "start_ms": 5})
        txn = engine.begin(read_only=True)
        start = time.perf_counter()
        best(asked[0])
        fresh = 1000 * (time.perf_counter() - start)
        txn.abort()
        engine.close()
    print(
        f"{count:>9,} captions: insert {rate:,.0f}/s, open and first search {1000 * opened:.0f} ms, "
        f"top-20 of 4 terms {plain:.2f} ms ({plain / product:.2f} x a product of {product:.2f} ms), first time {cold:.2f} ms, "
        f"with camera and time {filtered:.2f} ms, phrase {phrase:.2f} ms, prefix {prefix:.2f} ms, "
        f"count of a time range {count_only:.2f} ms, after one insert {fresh:.2f} ms"
    )


if __name__ == "__main__":
    for size in [int(argument) for argument in sys.argv[1:]] or [10_000, 100_000]:
        measure(size)
