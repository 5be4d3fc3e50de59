"""Ways into the graph: what they find, that filters hold on it, and that they agree with plain Python."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import fresh_store
from tests.store.test_store import DIMENSION, corpus, vector
from vgraph.ingest.communities import Writers
from vgraph.ingest.derive import DeriveOptions, derive
from vgraph.ingest.similar import SimilarOptions
from vgraph.models.offline import HashEmbedder
from vgraph.store import Store
from vgraph.types import Filters

ASKED = vector("asked")
RRF = {"leg_k": 50, "rrf_k": 60}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with fresh_store(tmp_path_factory.mktemp("finding")) as opened:
        opened.claim_embedding("text", "hash", DIMENSION)
        for document, camera in (("one", "dock"), ("two", "gate")):
            opened.apply(corpus(document, camera))
        opened.ensure_vector_indexes()
        opened._db.aql.execute("FOR m IN HAS_ENTITY UPDATE m WITH { known_ms: m.end_ms } IN HAS_ENTITY")
        derive(
            opened,
            DeriveOptions(similar=SimilarOptions(0.2, 3), identity=None),
            Writers(HashEmbedder(DIMENSION), None, 2),
        )
        yield opened


def random_filters(seed: int) -> Filters:
    draw = random.Random(seed)
    start = draw.choice([None, draw.randrange(0, 20_000, 250)])
    return Filters(
        draw.choice([None, ("dock",), ("gate",), ("dock", "gate"), ()]),
        draw.choice([None, None, ("one",), ("two",)]),
        start,
        draw.choice([None, draw.randrange(start or 0, 45_000, 250) + 1]),
        draw.choice([None, None, draw.randrange(0, 45_000, 250)]),
    )


FILTERS = [Filters(), *(random_filters(seed) for seed in range(40))]


def chunks(store: Store) -> dict[str, dict[str, Any]]:
    return {record["_key"]: record for name, record in store.export() if name == "chunks"}


def edges(store: Store, kind: str) -> list[dict[str, Any]]:
    return [record for name, record in store.export() if name == kind]


def passing(record: dict[str, Any], f: Filters) -> bool:
    return (
        (f.cameras is None or record["camera"] in f.cameras)
        and (f.documents is None or record["document"] in f.documents)
        and (f.start_ms is None or record["end_ms"] > f.start_ms)
        and (f.end_ms is None or record["start_ms"] < f.end_ms)
        and (f.not_after is None or record["known_ms"] <= f.not_after)
    )


def cosine(record: dict[str, Any]) -> float:
    return float(np.dot(record["embedding"], ASKED))


@pytest.mark.parametrize("hops", [0, 1, 2])
def test_clips_are_walked_from_the_nearest_along_time_and_likeness(store: Store, hops: int) -> None:
    all_chunks = chunks(store)
    for chosen in FILTERS:
        allowed = {key for key, record in all_chunks.items() if passing(record, chosen)}
        near: defaultdict[str, set[str]] = defaultdict(set)
        for kind in ("NEXT_CHUNK", "SIMILAR_TO"):
            for edge in edges(store, kind):
                a, b = (edge[end].removeprefix("chunks/") for end in ("_from", "_to"))
                if kind == "NEXT_CHUNK" or edge["weight"] > 0.4:
                    near[a].add(b)
                    near[b].add(a)
        anchors = sorted(allowed, key=lambda key: -cosine(all_chunks[key]))[:3]
        reached = set(anchors)
        for _ in range(hops):
            reached |= {other for key in reached for other in near[key]} & allowed
        rows = store.finding.clips(ASKED, chosen, anchors=3, hops=hops, eta=0.4, k=1000)
        assert {row["chunk"] for row in rows} == reached
        assert {row["chunk"] for row in rows if row["hop"] == 0} == set(anchors)
        assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)


def test_a_kind_of_edge_can_be_left_out(store: Store) -> None:
    along = store.finding.clips(ASKED, Filters(), anchors=1, hops=1, eta=0.0, kinds=["NEXT_CHUNK"], k=99)
    assert len(along) in (2, 3) and len({row["chunk"][:3] for row in along}) == 1
    alike = store.finding.clips(ASKED, Filters(), anchors=1, hops=1, eta=0.0, kinds=["SIMILAR_TO"], k=99)
    assert {row["chunk"] for row in alike} != {row["chunk"] for row in along}


def test_chunks_are_found_by_the_entities_in_them(store: Store) -> None:
    all_chunks = chunks(store)
    mentions = edges(store, "HAS_ENTITY")
    for chosen in FILTERS:
        rows = store.finding.by_entities(ASKED, "where is person3?", chosen, **RRF, most=1, k=1000)
        named = {row["entities"][0] for row in rows}
        assert len(named) <= 1
        if chosen.not_after is not None:  # an embedding tells of later: only the name counts
            assert named <= {"entities/p3"}
        expected = {m["_from"].removeprefix("chunks/") for m in mentions if m["_to"] in named and passing(m, chosen)}
        assert {row["chunk"] for row in rows} == expected
        assert all(passing(all_chunks[row["chunk"]], chosen) for row in rows)


def test_entities_of_other_types_do_not_count(store: Store) -> None:
    assert store.finding.by_entities(ASKED, "person3", Filters(), types=["vehicle"], **RRF, most=5, k=5) == []


def test_summaries_are_found_and_lead_down_to_chunks(store: Store) -> None:
    all_chunks = chunks(store)
    for chosen in FILTERS:
        found = store.finding.communities(ASKED, "who carries crate 7", chosen, **RRF, k=50)
        for row in found:
            assert chosen.documents is None or row["document"] in chosen.documents
            assert chosen.cameras is None or set(row["cameras"]) & set(chosen.cameras)
        below = store.finding.chunks_of_communities({row["_id"]: row["score"] for row in found}, ASKED, chosen, k=1000)
        assert all(passing(all_chunks[row["chunk"]], chosen) for row in below)
        if chosen == Filters():
            assert {row["chunk"] for row in below} == set(all_chunks)


def test_windows_and_themes_can_be_told_apart(store: Store) -> None:
    kinds = {
        kind: store.finding.communities(ASKED, "crate", Filters(), kind=kind, **RRF, k=50)
        for kind in ("window", "theme")
    }
    assert {row["kind"] for row in kinds["window"]} == {"window"}
    assert {row["kind"] for row in kinds["theme"]} <= {"theme"}


def test_the_graph_around_holds_who_occurs_where_and_who_is_linked(store: Store) -> None:
    for chosen in FILTERS:
        found = store.finding.rank_graph(["chunks/one-0003"], [], chosen, most=5)
        known = any(passing(m, chosen) for m in edges(store, "HAS_ENTITY") if m["_from"] == "chunks/one-0003")
        links = [e for e in edges(store, "LINKS_TO") if passing(e, chosen) and "entities/p3" in (e["_from"], e["_to"])]
        assert sum(times for *_, times in found["links"]) == (len(links) if known else 0)
        per_entity: defaultdict[str, int] = defaultdict(int)
        for _, entity in found["mentions"]:
            per_entity[entity] += 1
        assert all(count <= 5 for count in per_entity.values())


def test_without_vector_indexes_the_same_is_found(tmp_path: Path) -> None:
    with fresh_store(tmp_path) as bare:
        bare.apply(corpus("one", "dock"))
        rows = bare.finding.clips(ASKED, Filters(), anchors=2, hops=1, eta=0.4, k=9)
        assert {row["hop"] for row in rows} == {0, 1}
        bare._db.aql.execute("FOR m IN HAS_ENTITY UPDATE m WITH { known_ms: m.end_ms } IN HAS_ENTITY")
        for chosen in (Filters(), Filters(not_after=90_000)):
            assert bare.finding.by_entities(ASKED, "person1", chosen, **RRF, most=2, k=3)
        assert bare.finding.communities(ASKED, "person1", Filters(), **RRF, k=3) == []
