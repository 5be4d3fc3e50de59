"""The way into the graph by relations: what is made of a question, which level leads to which chunk, and what fills up behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.conftest import fresh_store
from tests.retrieve.test_rerank import VECTORS, _placed
from tests.store.test_store import DIMENSION
from vgraph.retrieve import Profile, retrieve
from vgraph.retrieve.cascade import RelationQuery
from vgraph.retrieve.relations import relation_query
from vgraph.store import Store
from vgraph.types import Filters

BOTH = "Who did person3 pass person4 to?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with fresh_store(tmp_path_factory.mktemp("relations")) as opened:
        opened.claim_embedding("text", "hash", DIMENSION)
        for document, camera in (("one", "dock"), ("two", "gate")):
            opened.apply(_placed(document, camera))
        opened.ensure_vector_indexes()
        yield opened


@pytest.mark.parametrize(
    ("question", "query"),
    [
        (BOTH, RelationQuery("person3", "person4", ("passes",), either_way=True)),
        ("What happened between Person4 and person3?", RelationQuery("person4", "person3", None, either_way=True)),
        ("Whom did person1 pass?", RelationQuery("person1", None, ("passes",), either_way=True)),
        ("Who carried crate 9?", None),
        ("Where was person33?", None),
    ],
)
def test_a_question_names_ends_in_its_order_and_relations_by_their_words(
    store: Store, question: str, query: RelationQuery | None
) -> None:
    assert relation_query(question, Filters(), store) == query


def test_who_was_not_known_yet_is_not_named(store: Store) -> None:
    assert relation_query("Whom did person4 pass?", Filters(not_after=3_000), store) is None
    assert relation_query("Whom did person4 pass?", Filters(not_after=6_000), store) is not None


@pytest.mark.parametrize("form", ["window", "days"])
def test_hits_and_relations_carry_the_level_that_found_them(store: Store, form: str) -> None:
    found = retrieve(BOTH, store, VECTORS, Filters(), Profile(way="relations", k=6, cascade=form))  # type: ignore[arg-type]
    assert found.way == "relations" and found.levels == ("exact",) and len(found.hits) == 6
    assert found.hits[0].level == "exact" and found.hits[0].ranks["relations"]
    exact = [relation for relation in found.relations if relation.level == "exact"]
    assert exact and all((r.source, r.target) == ("entities/p3", "entities/p4") for r in exact)
    assert {hit.chunk[-1] for hit in found.hits if hit.level} <= {"3", "8"}
    assert all(bool(hit.level) == ("relations" in hit.ranks) for hit in found.hits)


def test_the_time_of_a_question_may_be_relaxed_but_never_what_the_caller_allows(store: Store) -> None:
    asked = f"{BOTH[:-1]} at 0:00:02 on 1970-01-01?"
    loose = retrieve(asked, store, VECTORS, Filters(), Profile(way="relations", k=6, neighbours=0))
    assert loose.levels[-1] != "exact" and any(hit.level not in ("", "exact") for hit in loose.hits)
    bounds = Filters(("gate",), None, 20_000, 30_000)
    held = retrieve(BOTH, store, VECTORS, bounds, Profile(way="relations", k=6))
    assert held.hits and all(chunk.camera == "gate" and 19_000 < chunk.start_ms < 30_000 for chunk in held.chunks)
    assert all(relation.camera == "gate" and 19_000 < relation.start_ms < 30_000 for relation in held.relations)


@pytest.mark.parametrize("fusion", ["rrf", "weighted"])
def test_relations_are_a_leg_beside_meaning_and_words(store: Store, fusion: str) -> None:
    span = Filters(None, None, 3_000, 9_000)
    profile = Profile(way="relations", k=8, fusion=fusion)  # type: ignore[arg-type]
    found = retrieve(BOTH, store, VECTORS, span, profile)
    legs = retrieve(BOTH, store, VECTORS, span, replace(profile, way="chunks", k=12))
    plain = {hit.chunk: hit.score for hit in legs.hits}
    count = sum("relations" in hit.ranks for hit in found.hits)
    assert count and len(found.hits) == 8
    for hit in found.hits:
        place = hit.ranks.get("relations")
        more = 0.0 if place is None else 1 / (60 + place) if fusion == "rrf" else None
        if more is not None:
            assert hit.score == pytest.approx(plain[hit.chunk] + more)
        else:
            assert plain[hit.chunk] <= hit.score <= plain[hit.chunk] + 1
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


def test_where_nobody_is_named_the_other_legs_answer_and_say_so(store: Store) -> None:
    found = retrieve("Who carried crate 9?", store, VECTORS, Filters(), Profile(way="relations", k=5))
    assert (found.way, found.levels, len(found.hits)) == ("chunks", (), 5)


def test_where_every_level_is_empty_too(store: Store) -> None:
    nowhere = Filters(not_after=2_500)
    found = retrieve("Whom did person1 pass?", store, VECTORS, nowhere, Profile(way="relations", k=2))
    same = retrieve("Whom did person1 pass?", store, VECTORS, nowhere, Profile(way="relations", k=2))
    assert found == same and all(chunk.end_ms <= 2_500 for chunk in found.chunks)
