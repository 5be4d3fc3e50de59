"""vgraph's retrieval beside LightRAG (hybrid) and nano-graphrag (local), on one corpus and in one process; those that are installed.

    pip install lightrag-hku nano-graphrag
    OMP_NUM_THREADS=1 python bench/peers.py [--size 10000] [--cache FOLDER] [--rounds 40]

All hold the same chunks, entities and relations; embeddings are looked up, keywords given, no language model is called. Tokens
are tiktoken's, the peers' default, where its tables are at hand (litellm brings them), otherwise words, which cost less. vgraph
starts at as many entities and returns as many relations and chunks as the peer does: one hop from them as the peers walk, and
two as vgraph does by itself.
Goals: ten times as fast as LightRAG's hybrid, twice as fast as nano-graphrag's local.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import gc
import importlib.util
import io
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from corpus import BATCH, DIMENSION, Question, embeddings, filled, parts, questions
from retrieval import EVERYTHING, HOPS, LEG, RRF, K, Spent, evidence_keys, in_turn, stitch

from vgraph.store import Store, connect

TOP = 20
Vectors = dict[str, np.ndarray]


class Words:
    """A tokenizer that needs no download: one token a word."""

    def encode(self, content: str) -> list[int]:
        return [len(word) for word in content.split()]

    def decode(self, tokens: list[int]) -> str:
        return " ".join("x" * token for token in tokens)


def tokenizer() -> Words | None:
    """None when tiktoken, the peers' own choice, has its tables."""
    litellm = importlib.util.find_spec("litellm")
    if litellm is not None and litellm.origin is not None:
        tables = Path(litellm.origin).parent / "litellm_core_utils" / "tokenizers"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(tables))
    try:
        import tiktoken

        tiktoken.encoding_for_model("gpt-4o")
    except Exception:  # noqa: BLE001  whatever a missing network raises
        return Words()
    return None


def description(name: str) -> str:
    return f"{name} was seen"


def graph(size: int) -> tuple[list[dict[str, Any]], list[str], list[tuple[str, str, str]]]:
    """Chunks, names of entities, and (source, target, chunk) of the relations that join two different entities."""
    chunks: list[dict[str, Any]] = []
    names: list[str] = []
    relations: dict[tuple[str, str], str] = {}
    for made in parts(size):
        chunks += made.chunks
        names += [entity["_key"] for entity in made.entities]
        for relation in made.relations:
            source, target = (relation[end].partition("/")[2] for end in ("_from", "_to"))
            if source != target:
                relations.setdefault((min(source, target), max(source, target)), relation["chunk"])
    return chunks, names, [(source, target, chunk) for (source, target), chunk in relations.items()]


def known_vectors(size: int, names: list[str], asked: list[Question]) -> Vectors:
    """Vectors by text: the questions' own, and for entities ones of the corpus's kind."""
    found = {question.text: np.array(question.vector, np.float32) for question in asked}
    found.update(zip(names, embeddings(len(names), 5), strict=True))
    for first in range(0, size, BATCH):
        made = embeddings(min(BATCH, size - first), first + 1)
        found.update((f"chunk {first + number}", vector) for number, vector in enumerate(made))
    return found


def embedder(known: Vectors, texts: dict[str, str]) -> Callable[[list[str]], Any]:
    """Looks a text up as it is, by what it begins with (an entity's text begins with its name), or draws one from its hash."""

    def vector(text: str) -> np.ndarray:
        for name in (text, texts.get(text, ""), text.partition("\n")[0], text.partition(" ")[0]):
            if name in known:
                return known[name]
        drawn = np.random.default_rng(abs(hash(text))).standard_normal(DIMENSION).astype(np.float32)
        return drawn / np.linalg.norm(drawn)

    async def embed(batch: list[str], **_: Any) -> np.ndarray:
        return np.stack([vector(text) for text in batch])

    return embed


async def no_model(*_: Any, **__: Any) -> str:
    raise RuntimeError("no language model is asked here")


class LightRag:
    """LightRAG with its default stores, filled by `ainsert_custom_kg`, asked by `aquery_data`."""

    name = "LightRAG hybrid"
    package = "lightrag"
    goal = 10.0

    def __init__(self, folder: str, embed: Any, loop: asyncio.AbstractEventLoop) -> None:
        from lightrag import LightRAG, QueryParam
        from lightrag.utils import EmbeddingFunc, Tokenizer

        self.param = QueryParam
        self.loop = loop
        self.rag = LightRAG(
            working_dir=folder,
            embedding_func=EmbeddingFunc(embedding_dim=DIMENSION, func=embed),
            llm_model_func=no_model,
            **({} if (words := tokenizer()) is None else {"tokenizer": Tokenizer("words", words)}),
        )
        loop.run_until_complete(self.rag.initialize_storages())

    def fill(self, chunks: list[dict[str, Any]], names: list[str], relations: list[tuple[str, str, str]]) -> None:
        source = {name: chunks[number // 2]["_key"] for number, name in enumerate(names)}
        given = {
            "chunks": [{"content": c["text"], "source_id": c["_key"], "file_path": c["document"]} for c in chunks],
            "entities": [
                {
                    "entity_name": name,
                    "entity_type": "object",
                    "description": description(name),
                    "source_id": source[name],
                }
                for name in names
            ],
            "relationships": [
                {
                    "src_id": a,
                    "tgt_id": b,
                    "description": "talks to",
                    "keywords": "talk",
                    "weight": 1.0,
                    "source_id": chunk,
                }
                for a, b, chunk in relations
            ],
        }
        self.loop.run_until_complete(self.rag.ainsert_custom_kg(given))

    def ask(self, question: Question) -> tuple[int, int]:
        """How many relations and chunks there were."""
        keywords = {"hl_keywords": [question.text], "ll_keywords": [question.text]}
        param = self.param(mode="hybrid", top_k=TOP, chunk_top_k=TOP, enable_rerank=False, **keywords)
        answer = self.loop.run_until_complete(self.rag.aquery_data(question.text, param))
        return len(answer["data"]["relationships"]), len(answer["data"]["chunks"])


class NanoGraphRag:
    """nano-graphrag with its default stores, filled through them, asked for the context of a local query."""

    name = "nano-graphrag local"
    package = "nano_graphrag"
    goal = 2.0

    def __init__(self, folder: str, embed: Any, loop: asyncio.AbstractEventLoop) -> None:
        import nano_graphrag._utils as utils
        from nano_graphrag import GraphRAG, QueryParam
        from nano_graphrag.base import EmbeddingFunc

        utils.ENCODER = tokenizer()
        self.loop = loop
        self.param = QueryParam(mode="local", only_need_context=True, top_k=TOP)
        self.rag = GraphRAG(
            working_dir=folder,
            embedding_func=EmbeddingFunc(embedding_dim=DIMENSION, max_token_size=8192, func=embed),
            best_model_func=no_model,
            cheap_model_func=no_model,
        )

    def fill(self, chunks: list[dict[str, Any]], names: list[str], relations: list[tuple[str, str, str]]) -> None:
        self.loop.run_until_complete(self._fill(chunks, names, relations))

    async def _fill(self, chunks: list[dict[str, Any]], names: list[str], relations: list[Any]) -> None:
        rag = self.rag
        await rag.text_chunks.upsert(
            {c["_key"]: {"content": c["text"], "tokens": 40, "full_doc_id": c["document"]} for c in chunks}
        )
        for number, name in enumerate(names):
            node = {"entity_type": "OBJECT", "description": description(name), "source_id": chunks[number // 2]["_key"]}
            await rag.chunk_entity_relation_graph.upsert_node(name, node)
        for source, target, chunk in relations:
            edge = {"weight": 1.0, "description": "talks to", "source_id": chunk, "order": 1}
            await rag.chunk_entity_relation_graph.upsert_edge(source, target, edge)
        texts = {name: {"content": f"{name} {description(name)}", "entity_name": name} for name in names}
        await rag.entities_vdb.upsert(texts)

    def ask(self, question: Question) -> tuple[int, int]:
        """How many relations and chunks there were."""
        context = self.loop.run_until_complete(self.rag.aquery(question.text, self.param)) or ""
        return rows_of(context, "Relationships"), rows_of(context, "Sources")


def rows_of(context: str, section: str) -> int:
    table = context.partition(f"-----{section}-----")[2].partition("```csv")[2].partition("```")[0]
    return max(0, sum(1 for _ in csv.reader(io.StringIO(table.strip()))) - 1)


def vgraph_retrieval(store: Store, question: Question, hops: int, relations: int, chunks: int) -> int:
    """The whole retrieval with room for so many relations and chunks; how many relations there were."""
    hits = store.hybrid_chunks(question.vector, question.text, EVERYTHING, k=K, leg_k=LEG, rrf_k=RRF)
    keys = [hit.chunk for hit in hits]
    around = stitch(store, keys, EVERYTHING)
    found = store.expand_entities(keys, EVERYTHING, hops=hops, entity_limit=TOP, relation_limit=relations)
    store.read_chunks(evidence_keys(keys, around, found)[:chunks], EVERYTHING)
    return len(found["relations"])


def told(name: str, spent: Spent, relations: float, chunks: float, extra: str = "") -> None:
    print(
        f"{name:22}{spent.p50:9.2f}{spent.p95:9.2f}{spent.cpu50:9.2f}{relations:11.0f}{chunks:8.0f}   {extra}",
        flush=True,
    )


def compared(peer_type: Any, size: int, store: Store, asked: list[Question], rounds: int) -> None:
    """One peer, and vgraph with as many relations as the peer returns."""
    chunks, names, relations = graph(size)
    texts = {chunk["text"]: f"chunk {number}" for number, chunk in enumerate(chunks)}
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with tempfile.TemporaryDirectory() as folder:
        peer = peer_type(folder, embedder(known_vectors(size, names, asked), texts), loop)
        began = time.perf_counter()
        peer.fill(chunks, names, relations)
        filled_in = time.perf_counter() - began
        gc.freeze()  # what the peer holds is not looked through while others are measured
        returned = [peer.ask(question) for question in asked[:10]]
        relations_, chunks_ = (round(statistics.mean(column)) for column in zip(*returned, strict=True))
        ours = {
            f"vgraph, hops: {hops}": partial(vgraph_retrieval, store, hops=hops, relations=relations_, chunks=chunks_)
            for hops in (1, HOPS)
        }
        ours_returned = {name: [call(question) for question in asked[:10]] for name, call in ours.items()}
        calls: dict[str, Callable[[Question], object]] = {peer_type.name: peer.ask, **ours}
        asking = {name: partial(lambda call, n: call(asked[n % len(asked)]), call) for name, call in calls.items()}
        spent = in_turn(asking, rounds)
        theirs = spent.pop(peer_type.name)
        items = len(chunks) + len(names) + len(relations)
        told(peer_type.name, theirs, relations_, chunks_, f"filled {items:,} items in {filled_in:.1f} s")
        for name, mine in spent.items():
            ratio, cpu = theirs.p50 / mine.p50, theirs.cpu50 / mine.cpu50
            faster = f"{ratio:.1f} x as fast (cpu {cpu:.1f} x, goal {peer_type.goal:.0f} x)"
            told(name, mine, statistics.mean(ours_returned[name]), chunks_, faster)
        stop(loop)


def stop(loop: asyncio.AbstractEventLoop) -> None:
    """End what a peer left running."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def installed() -> Iterator[Any]:
    for peer in (LightRag, NanoGraphRag):
        if importlib.util.find_spec(peer.package):
            yield peer
        else:
            print(f"{peer.name}: not installed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "vgraph-bench")
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    peers = list(installed())
    if not peers:
        return
    asked = questions(20)
    path = filled(given.size, given.cache)
    print("tokens are", "tiktoken's" if tokenizer() is None else "words")
    print(f"{given.size:,} chunks, milliseconds\n{'':22}{'p50':>9}{'p95':>9}{'cpu':>9}{'relations':>11}{'chunks':>8}")
    with Store.open(connect(f"embedded:{path}", "vgraph")) as store:
        for peer in peers:
            compared(peer, given.size, store, asked, given.rounds)


if __name__ == "__main__":
    main()
