"""The corpus that bench/retrieval.py and bench/peers.py ask: chunks of about forty words, twice as many entities, six relations a chunk.

A chunk mentions its two new entities and one that was there shortly before; relations join entities of one time (four in
five) or any two, so that two hops from ten entities reach about 300. Everything is drawn from seeds: the same size gives
the same corpus.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vgraph.store import Store, connect
from vgraph.types import GraphDelta

DIMENSION = 384
WORDS = 20_000
CAMERAS = 16
BATCH = 1000
"""Chunks of one document, and of one transaction."""
WINDOW = 60
"""Entities that one moment's relations join."""
CHUNK_MS = 10_000

Rows = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Question:
    vector: list[float]
    text: str


def embeddings(count: int, seed: int) -> np.ndarray:
    """Unit vectors in groups, near a space of few dimensions, as sentence embeddings are."""
    fixed = np.random.default_rng(0)
    directions = fixed.standard_normal((48, DIMENSION)) / np.sqrt(DIMENSION)
    centres = fixed.standard_normal((400, 48))
    rng = np.random.default_rng(seed)
    inner = centres[rng.integers(0, 400, count)] + 0.7 * rng.standard_normal((count, 48))
    found = inner @ directions + 0.03 * rng.standard_normal((count, DIMENSION))
    return (found / np.linalg.norm(found, axis=1)[:, None]).astype(np.float32)


def captions(count: int, seed: int) -> list[str]:
    """Texts of about forty words whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, WORDS + 1)
    lengths = rng.integers(25, 56, count)
    drawn = rng.choice(WORDS, int(lengths.sum()), p=shares / shares.sum())
    texts, at = [], 0
    for length in lengths.tolist():
        texts.append(" ".join(f"w{word}" for word in drawn[at : at + length].tolist()))
        at += length
    return texts


def questions(count: int, seed: int = 7) -> list[Question]:
    """Vectors of the corpus's kind, and four words of one caption each."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(sorted(set(text.split())), 4, replace=False)) for text in captions(count, seed)]
    vectors = embeddings(count, seed).tolist()
    return [Question(vector, text) for vector, text in zip(vectors, texts, strict=True)]


def chunk_key(number: int) -> str:
    return f"d{number // BATCH}-{number % BATCH:04d}"


def entity_key(number: int) -> str:
    return f"e{number:07d}"


def camera_of(document: int) -> str:
    return f"cam{document % CAMERAS}"


def start_of(number: int) -> int:
    """Documents of the cameras run beside each other in time."""
    document, index = divmod(number, BATCH)
    return (document // CAMERAS * BATCH + index) * CHUNK_MS


@dataclass(frozen=True, slots=True)
class Part:
    """One document's worth of everything."""

    chunks: Rows
    entities: Rows
    mentions: Rows
    relations: Rows
    chain: Rows
    document: dict[str, Any]
    camera: dict[str, Any]

    @property
    def items(self) -> int:
        return sum(map(len, (self.chunks, self.entities, self.mentions, self.relations, self.chain))) + 2

    def delta(self) -> GraphDelta:
        return GraphDelta(
            {
                "documents": (self.document,),
                "cameras": (self.camera,),
                "chunks": self.chunks,
                "entities": self.entities,
            },
            {"HAS_ENTITY": self.mentions, "LINKS_TO": self.relations, "NEXT_CHUNK": self.chain},
        )


def parts(size: int) -> Iterator[Part]:
    """The corpus of `size` chunks, a document at a time."""
    for first in range(0, size, BATCH):
        yield part(first, min(first + BATCH, size), size)


def part(first: int, last: int, size: int) -> Part:
    document = first // BATCH
    texts, vectors = captions(last - first, first + 1), embeddings(last - first, first + 1).tolist()
    rng = np.random.default_rng(first + 2)
    chunks, entities, mentions, relations = [], [], [], []
    for number in range(first, last):
        chunks.append(chunk(number, document, texts[number - first], vectors[number - first]))
        entities += [entity(2 * number + second, number) for second in (0, 1)]
        earlier = max(0, 2 * number - int(rng.integers(1, WINDOW)))
        mentions += [mention(number, document, other) for other in {2 * number, 2 * number + 1, earlier}]
        relations += [relation(number, document, place, rng, size) for place in range(6)]
    chain = tuple(following(number, document) for number in range(first, last - 1))
    return Part(
        tuple(chunks), tuple(entities), tuple(mentions), tuple(relations), chain, video(document),
        {"_key": camera_of(document), "label": camera_of(document), "tz": "UTC", "place": ""},
    )  # fmt: skip


def chunk(number: int, document: int, text: str, vector: list[float]) -> dict[str, Any]:
    start, offset = start_of(number), number % BATCH * CHUNK_MS
    return {
        "_key": chunk_key(number), "document": f"d{document}", "camera": camera_of(document), "index": number % BATCH,
        "start_ms": start, "end_ms": start + CHUNK_MS, "offset_ms": offset, "end_offset_ms": offset + CHUNK_MS,
        "known_ms": start + CHUNK_MS,
        "text": text, "lines": [[0, CHUNK_MS, "caption", "given", text]], "frames": [], "origins": {}, "embedding": vector,
    }  # fmt: skip


def entity(number: int, chunk: int) -> dict[str, Any]:
    start = start_of(chunk)
    return {
        "_key": entity_key(number), "type": ("person", "object", "place")[number % 3], "name": f"entity {number}",
        "aliases": [f"entity {number}"], "description": f"entity {number} was first seen at {start}",
        "first_ms": start, "last_ms": start + CHUNK_MS, "cameras": [camera_of(chunk // BATCH)],
    }  # fmt: skip


def mention(number: int, document: int, entity: int) -> dict[str, Any]:
    start = start_of(number)
    return {
        "_key": f"h{number}-{entity}", "_from": f"chunks/{chunk_key(number)}", "_to": f"entities/{entity_key(entity)}",
        "document": f"d{document}", "camera": camera_of(document), "start_ms": start, "end_ms": start + CHUNK_MS,
        "modality": "caption", "confidence": 1.0, "known_ms": start + CHUNK_MS,
    }  # fmt: skip


def relation(number: int, document: int, place: int, rng: np.random.Generator, size: int) -> dict[str, Any]:
    """Ends among the entities of about the same time, one in five times anywhere: degrees are as even as chance makes them."""
    start = start_of(number)
    near = [max(0, min(2 * size - 1, 2 * number + int(rng.integers(-WINDOW // 2, WINDOW // 2)))) for _ in range(2)]
    ends = near if rng.random() < 0.8 else [near[0], int(rng.integers(2 * size))]
    source, target = (f"entities/{entity_key(end)}" for end in ends)
    return {
        "_key": f"l{number}-{place}", "_from": source, "_to": target, "relation": "talks to", "document": f"d{document}",
        "camera": camera_of(document), "chunk": chunk_key(number), "start_ms": start, "end_ms": start + CHUNK_MS,
        "supporting_text": "one talks to the other", "confidence": 1.0, "recorded_ms": start,
        "known_ms": start + CHUNK_MS,
    }  # fmt: skip


def following(number: int, document: int) -> dict[str, Any]:
    return {
        "_key": f"n{number}", "_from": f"chunks/{chunk_key(number)}", "_to": f"chunks/{chunk_key(number + 1)}",
        "document": f"d{document}", "camera": camera_of(document), "gap_ms": 0,
    }  # fmt: skip


def video(document: int) -> dict[str, Any]:
    start = start_of(document * BATCH)
    return {
        "_key": f"d{document}", "camera": camera_of(document), "kind": "video", "uri": f"/videos/{document}.mp4",
        "start_ms": start, "end_ms": start + BATCH * CHUNK_MS, "duration_ms": BATCH * CHUNK_MS, "state": "ready",
    }  # fmt: skip


def filled(size: int, folder: Path, *, again: bool = False) -> Path:
    """The file of a corpus, built unless it is there: tells the rate."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"corpus-{size}.sqlite"
    done = folder / f"corpus-{size}.done"
    if done.exists() and not again:
        return path
    for name in (path, f"{path}-wal", f"{path}-shm", done):
        Path(name).unlink(missing_ok=True)
    spent = 0.0
    items = 0
    with Store.open(connect(f"embedded:{path}", "vgraph")) as store:
        store.claim_embedding("text", "bench", DIMENSION)
        for made in parts(size):
            delta = made.delta()
            begun = time.perf_counter()
            store.apply(delta)
            spent += time.perf_counter() - begun
            items += made.items
        begun = time.perf_counter()
        store.ensure_vector_indexes()
        indexed = time.perf_counter() - begun
    print(
        f"{size:,} chunks, {items:,} items: {size / spent:,.0f} chunks/s, vector index in {indexed:.1f} s", flush=True
    )
    done.touch()
    return path
