"""Entity resolution by size: seconds, processor seconds and pairs compared, for graphs of names that are now and then miswritten.

python bench/identity.py [ENTITIES…]        # default: 12500 25000 50000 100000
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from vgraph.ingest.graph import entity_text
from vgraph.ingest.identity import IdentityOptions, resolve
from vgraph.ingest.keys import chunk_key, edge_key, entity_key
from vgraph.models.wordllama import WordLlamaEmbedder
from vgraph.store import Store, connect
from vgraph.types import GraphDelta, Mention

SIZES = (12_500, 25_000, 50_000, 100_000)
BATCH = 2_000
CONSONANTS, VOWELS = "bdfgklmnprstvz", ("a", "e", "i", "o", "u", "an", "el", "in", "or", "us")
COLOURS = ("red", "green", "blue", "black", "white", "grey", "orange", "yellow", "brown", "pink")
SYLLABLES = [first + second for first in CONSONANTS for second in VOWELS]


def name(chance: random.Random) -> str:
    return " ".join(
        "".join(chance.choice(SYLLABLES) for _ in range(chance.randint(2, 3))).capitalize() for _ in range(2)
    )


def slip(chance: random.Random, told: str) -> str:
    place = chance.randrange(1, len(told) - 1)
    return told[:place] + told[place + 1 :] if chance.random() < 0.5 else told[:place] + told[place] + told[place:]


COATS = [
    f"{colour} {kind}" for colour in COLOURS for kind in ("jacket", "coat", "vest", "overall", "shirt", "hat", "helmet")
]


def people(count: int) -> Iterator[tuple[str, str]]:
    """Names and descriptions: two in three are of a person of their own, one in three is a slip of the one before."""
    chance = random.Random(7)
    last, looks = "", ""
    for number in range(count):
        if number % 3 == 2:
            yield slip(chance, last), looks
        else:
            last, looks = (
                name(chance),
                f"wears a {chance.choice(COATS)} and a {chance.choice(COATS)}" if number % 2 else "",
            )
            yield last, looks


def batched(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while batch := list(islice(items, size)):
        yield batch


def fill(store: Store, count: int) -> None:
    embedder = WordLlamaEmbedder()
    store.claim_embedding("text", embedder.name, embedder.dimension)
    found: dict[str, Any] = {"entities": [], "chunks": []}
    edges: list[dict[str, Any]] = []
    texts = (
        (told, looks, entity_text({"name": told, "type": "person", "description": looks}))
        for told, looks in people(count)
    )
    vectors = (
        pair
        for batch in batched(texts, BATCH)
        for pair in zip(batch, embedder.embed([t for _, _, t in batch]), strict=True)
    )
    for number, ((told, looks, _), vector) in enumerate(vectors):
        camera, start = f"camera-{number % 16}", number * 12_000
        document = f"d{number % 16}"
        key, chunk = entity_key(Mention(told, "person")), chunk_key(document, start)
        place = {
            "document": document,
            "camera": camera,
            "start_ms": start,
            "end_ms": start + 10_000,
            "offset_ms": start,
        }
        found["chunks"].append({"_key": chunk, **place, "index": number // 16, "text": ""})
        found["entities"].append(
            {
                "_key": key, "type": "person", "name": told, "aliases": [told], "description": looks, "named": chunk,
                "described": chunk, "first_ms": start, "last_ms": start + 10_000, "cameras": [camera], "embedding": vector.tolist(),
            }
        )  # fmt: skip
        mention = {"modality": "caption", "mention": told, "description": looks}
        ends = f"chunks/{chunk}", f"entities/{key}"
        edges.append(
            {"_key": edge_key(ends[0], "HAS_ENTITY", ends[1]), "_from": ends[0], "_to": ends[1], **place, **mention}
        )
        if len(edges) == BATCH or number == count - 1:
            store.apply(GraphDelta({k: tuple(rows) for k, rows in found.items()}, {"HAS_ENTITY": tuple(edges)}))
            found, edges = {"entities": [], "chunks": []}, []
    store.ensure_vector_indexes()


def measure(count: int) -> tuple[float, float]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(connect(f"embedded:{Path(folder) / 'g.sqlite'}", "vgraph")) as store,
    ):
        fill(store, count)
        wall, cpu = time.perf_counter(), time.process_time()
        found = resolve(store, IdentityOptions(), lambda progress: None)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        begun = time.perf_counter()
        again = resolve(store, IdentityOptions(), lambda progress: None)
        idle = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:7d} entities: {wall:7.1f} s, {cpu:7.1f} s of processor, {1e3 * cpu / count:.2f} ms of it each, "
        f"{found.compared} pairs compared, {found.confirmed} joined, {found.proposed} proposed; "
        f"again, with nothing changed: {idle:.2f} s, {again.entities} entities; peak {peak:.0f} MiB",
        flush=True,
    )
    return wall, cpu


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or list(SIZES)
    found = [measure(size) for size in sizes]
    for (size, (wall, cpu)), (other, (later, later_cpu)) in pairwise(zip(sizes, found, strict=True)):
        times = f"{later / wall:.1f} times as long ({later_cpu / cpu:.1f} of processor)"
        print(f"{other / size:.1f} times the entities take {times}")


if __name__ == "__main__":
    main()
