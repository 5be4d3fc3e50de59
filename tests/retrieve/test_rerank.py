"""The order of candidates: by a reranker that was scripted, by maximal marginal relevance against plain Python; k stay k."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import fresh_store
from tests.store.test_store import DIMENSION, corpus, edge
from vgraph.errors import ModelError
from vgraph.models.offline import HashEmbedder
from vgraph.retrieve import Profile, retrieve
from vgraph.retrieve.profiles import WAYS
from vgraph.retrieve.rerank import diversified, reranked
from vgraph.retrieve.search import Aids, QueryVectors
from vgraph.retrieve.trace import traced
from vgraph.store import Store
from vgraph.types import Filters, Hit

QUESTION = "who carries crate 7?"


class Scripted:
    """A reranker that loves one text and notes what it read."""

    name = "scripted"

    def __init__(self, loved: str) -> None:
        self.loved, self.read = loved, list[str]()

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        self.read += texts
        return [9.0 if self.loved in text else -float(len(text)) for text in texts]


class Broken:
    name = "broken"

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        raise ModelError("it is broken", stage="rerank", model=self.name)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with fresh_store(tmp_path_factory.mktemp("ranking")) as opened:
        opened.claim_embedding("text", "hash", DIMENSION)
        for document, camera in (("one", "dock"), ("two", "gate")):
            opened.apply(_placed(document, camera))
        opened.ensure_vector_indexes()
        yield opened


def _placed(document: str, camera: str):  # type: ignore[no-untyped-def]
    """The corpus with the camera and the document that evidence is told with."""
    from dataclasses import replace

    delta = corpus(document, camera)
    place = {"_key": camera, "label": camera, "place": "", "tz": "UTC"}
    record = {
        "_key": document, "camera": camera, "title": document, "uri": f"/{document}.mp4", "start_ms": 0, "duration_ms": 40_000,
        "start_source": "flag", "state": "complete", "kind": "video",
    }  # fmt: skip
    edges = dict(delta.edges)
    edges["HAS_ENTITY"] = tuple({**m, "known_ms": m["end_ms"]} for m in edges["HAS_ENTITY"])
    edges["PART_OF"] = tuple(
        edge("part", f"chunks/{chunk['_key']}", f"documents/{document}", document, camera)
        for chunk in delta.vertices["chunks"]
    )
    edges["RECORDED_BY"] = (edge("by", f"documents/{document}", f"cameras/{camera}", document, camera),)
    return replace(delta, vertices={**delta.vertices, "cameras": (place,), "documents": (record,)}, edges=edges)


VECTORS = QueryVectors(HashEmbedder(DIMENSION))


def keys(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk for hit in hits]


# --- reranking ----------------------------------------------------------------------------------------------------------


def hits(*scores: float) -> list[Hit]:
    return [Hit(f"c{number}", score, {"vector": number + 1}) for number, score in enumerate(scores)]


def test_what_was_read_comes_first_in_the_readers_order_and_what_was_not_stays_behind_it() -> None:
    made = reranked(hits(4, 3, 2, 1), "q", {"c0": "a", "c1": "best", "c2": "", "c3": "b"}, Scripted("best"), 3)
    assert keys(made) == ["c1", "c0", "c2", "c3"]
    assert made[0].ranks == {"vector": 2, "rerank": 1} and made[0].scores["rerank"] == 9.0
    assert "rerank" not in made[2].ranks
    assert [hit.score for hit in made] == sorted((hit.score for hit in made), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in made)


def test_equal_scores_keep_the_order_there_was() -> None:
    assert keys(reranked(hits(3, 2, 1), "q", dict.fromkeys(["c0", "c1", "c2"], "same"), Scripted("x"), 9)) == [
        "c0", "c1", "c2",
    ]  # fmt: skip


def test_any_score_has_a_place_between_0_and_1() -> None:
    class Extreme(Scripted):
        def score(self, question: str, texts: Sequence[str]) -> list[float]:
            return [-1e4, 1e4]

    made = reranked(hits(2, 1), "q", {"c0": "a", "c1": "b"}, Extreme(""), 2)
    assert [(hit.chunk, hit.score) for hit in made] == [("c1", 1.0), ("c0", 0.0)]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "auto"])
def test_a_reranker_changes_the_order_of_every_way_but_not_how_many(store: Store, way: str) -> None:
    profile = Profile(way=way, k=6, leg_k=20, rerank=15)  # type: ignore[arg-type]
    plain = retrieve(QUESTION, store, VECTORS, Filters(), profile)
    reader = Scripted("crate 23")
    better = retrieve(QUESTION, store, VECTORS, Filters(), profile, Aids(reader))
    assert len(better.hits) == len(plain.hits) and len(set(keys(better.hits))) == len(better.hits)
    assert len(plain.hits) == 6 or way == "summaries"
    assert len(reader.read) <= 15
    if any("crate 23" in text for text in reader.read):
        assert better.hits[0].chunk.endswith("0023")


def test_a_reranker_reads_what_passes_the_filters_and_finds_beyond_k(store: Store) -> None:
    gate, reader = Filters(("gate",), None, 0, 30_000), Scripted("crate 23")
    found = retrieve(QUESTION, store, VECTORS, gate, Profile(k=3, leg_k=40, rerank=40), Aids(reader))
    assert len(reader.read) == 30 and len(found.hits) == 3
    assert found.hits[0].chunk == "two-0023"
    off = Scripted("crate 23")
    retrieve(QUESTION, store, VECTORS, gate, Profile(k=3, rerank=0), Aids(off))
    assert off.read == []


def test_a_reranker_that_fails_is_an_error_and_no_silence(store: Store) -> None:
    with pytest.raises(ModelError, match="it is broken"):
        retrieve(QUESTION, store, VECTORS, Filters(), Profile(), Aids(Broken()))


# --- MMR ----------------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 360)), min_size=1, max_size=12),
    st.integers(1, 14),
    st.floats(0, 1),
)
def test_mmr_is_what_its_formula_says(things: list[tuple[float, int]], k: int, weight: float) -> None:
    found = [Hit(f"c{n}", score, {}) for n, (score, _) in enumerate(things)]
    vectors = {f"c{n}": [math.cos(math.radians(a)), math.sin(math.radians(a))] for n, (_, a) in enumerate(things)}
    made = diversified(found, vectors, k, weight)
    assert len(made) == min(k, len(found)) == len(set(keys(made)))
    wide = max(h.score for h in found) - min(h.score for h in found)
    relevance = {h.chunk: (h.score - min(x.score for x in found)) / wide if wide else 1.0 for h in found}
    chosen: list[str] = []
    for hit in made:

        def value(key: str) -> float:
            near = max((float(np.dot(vectors[key], vectors[c])) for c in chosen), default=0.0)
            return weight * relevance[key] - (1 - weight) * near

        left = [h.chunk for h in found if h.chunk not in chosen]
        assert value(hit.chunk) >= max(map(value, left)) - 1e-9
        chosen.append(hit.chunk)


def test_relevance_alone_keeps_the_order_and_a_twin_gives_way_to_what_differs() -> None:
    found, vectors = hits(3, 2.9, 1), {"c0": [1.0, 0.0], "c1": [1.0, 0.0], "c2": [0.0, 1.0]}
    assert keys(diversified(found, vectors, 3, 1.0)) == ["c0", "c1", "c2"]
    assert keys(diversified(found, vectors, 2, 0.3)) == ["c0", "c2"]
    assert keys(diversified(found, {}, 3, 0.3)) == ["c0", "c1", "c2"]
    assert diversified([], {}, 3, 0.5) == []


@pytest.mark.parametrize("fusion", ["rrf", "weighted"])
def test_mmr_gives_k_chunks_that_differ_more(store: Store, fusion: str) -> None:
    plain = Profile(k=8, leg_k=40, fusion=fusion)  # type: ignore[arg-type]
    varied = Profile(k=8, leg_k=40, fusion=fusion, mmr=0.2)  # type: ignore[arg-type]
    found = [retrieve(QUESTION, store, VECTORS, Filters(("dock",)), profile) for profile in (plain, varied)]
    assert [len(each.hits) for each in found] == [8, 8]
    assert _likeness(found[1].hits, store) < _likeness(found[0].hits, store)


def _likeness(found: Sequence[Hit], store: Store) -> float:
    vectors = np.array(list(store.chunk_embeddings(keys(found)).values()))
    return float((vectors @ vectors.T)[~np.eye(len(vectors), dtype=bool)].mean())


# --- weighted fusion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.2, 1.0), (1.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("chosen", [Filters(), Filters(("gate",), None, 4_000, 30_000), Filters(not_after=20_000)])
def test_weighted_scores_are_those_of_the_legs_scaled_and_added_up(
    store: Store, weights: tuple[float, float], chosen: Filters
) -> None:
    vector = VECTORS(QUESTION)
    found = store.weighted_chunks(vector, QUESTION, chosen, k=100, leg_k=15, weights=weights)
    legs = {leg: {h.chunk: h.scores[leg] for h in found if leg in h.scores} for leg in ("vector", "text")}
    embeddings = store.chunk_embeddings(keys(found))
    for key, cosine in legs["vector"].items():
        assert cosine == pytest.approx(float(np.dot(embeddings[key], vector)), abs=1e-5)
    scaled = {}
    for (leg, scores), weight in zip(legs.items(), weights, strict=True):
        if weight and len(scores) == 15:  # a leg of weight 0 leaves out what it alone found
            low, wide = min(scores.values()), max(scores.values()) - min(scores.values())
            scaled[leg] = {key: weight * ((s - low) / wide if wide else 1.0) for key, s in scores.items()}
    if all(len(legs[leg]) == 15 or not weight for leg, weight in zip(legs, weights, strict=True)):
        for hit in found:
            assert hit.score == pytest.approx(sum(leg.get(hit.chunk, 0.0) for leg in scaled.values()), abs=1e-5)
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    for leg, weight in zip(("vector", "text"), weights, strict=True):
        if not weight:
            assert all(set(hit.ranks) != {leg} for hit in found)


def test_weighted_fusion_finds_k_where_there_are_k(store: Store) -> None:
    for k in (1, 5, 40, 80):
        found = retrieve(QUESTION, store, VECTORS, Filters(), Profile(k=k, leg_k=max(k, 30), fusion="weighted"))
        assert len(found.hits) == k


# --- told ---------------------------------------------------------------------------------------------------------------


def test_every_step_tells_its_rows_where_somebody_asks_and_finds_the_same(store: Store) -> None:
    profile = Profile(k=4, leg_k=10, rerank=8, mmr=0.5, fusion="rrf")
    silent = retrieve(QUESTION, store, VECTORS, Filters(), profile, Aids(Scripted("crate 23")))
    with traced() as stages:
        told = retrieve(QUESTION, store, VECTORS, Filters(), profile, Aids(Scripted("crate 23")))
    assert told == silent
    rows = {stage.name: stage.rows for stage in stages}
    assert list(rows) == ["legs, fused by rrf", "enter by chunks", "rerank", "mmr", "neighbours", "hops"]
    assert len(rows["legs, fused by rrf"]) > len(rows["enter by chunks"]) >= 8
    assert {row["place"]: row["chunk"] for row in rows["mmr"]} == dict(enumerate(keys(told.hits), 1))
    assert all(row["before"] for row in rows["rerank"])
    assert 1 <= rows["hops"][0]["entities"] <= 5


def test_nothing_is_kept_of_a_search_that_nobody_asked_about(store: Store, tmp_path: Path) -> None:
    with traced() as stages:
        pass
    retrieve(QUESTION, store, VECTORS, Filters(), Profile())
    assert stages == []
