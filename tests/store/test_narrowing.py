"""Filters: no result outside of them and none missing, in every leg, hop and way, against plain Python."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import fresh_store
from tests.store.narrowed import MINUTE, PEOPLE, WORDS, Oracle, World, made, random_filters, random_sides
from tests.store.test_store import DIMENSION, vector
from vgraph.store import Store
from vgraph.store.analytics import Group
from vgraph.store.narrowing import DAY_MS, open_days, open_spans
from vgraph.types import Filters

ASKED = vector("asked")
ALL = 1_000
PATTERNS, EACH = 40, 25
"""1,000 combinations of filters."""
Case = tuple[Store, World]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    world, delta = made(7)
    with fresh_store(tmp_path_factory.mktemp("narrowing")) as store:
        store.claim_embedding("text", "test", DIMENSION)
        store.apply(delta)
        store.ensure_vector_indexes()
        yield store, world


# --- 1,000 combinations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(PATTERNS))
def test_no_result_lies_outside_of_any_filters_and_none_is_missing(seed: int, case: Case) -> None:
    store, world = case
    draw = random.Random(seed)
    sides = random_sides(draw)
    for number in range(EACH):
        filters = random_filters(draw, world, sides)
        oracle = Oracle(world, filters)
        passing = oracle.chunks()
        found = store.hybrid_chunks(ASKED, "crate gate", filters, k=ALL, leg_k=ALL, rrf_k=60)
        assert {hit.chunk for hit in found} == passing, filters
        few = store.hybrid_chunks(ASKED, "crate gate", filters, k=5, leg_k=5, rrf_k=60)
        assert len(few) == min(5, len(passing)), filters
        WAYS[(seed + number) % len(WAYS)](store, oracle, passing)


def check_weighted(store: Store, oracle: Oracle, passing: set[str]) -> None:
    found = store.weighted_chunks(ASKED, "crate gate", oracle.f, k=ALL, leg_k=ALL)
    assert {hit.chunk for hit in found} == passing, oracle.f


def check_reading(store: Store, oracle: Oracle, passing: set[str]) -> None:
    assert set(store.read_chunks(sorted(oracle.world.chunks), oracle.f)) == passing, oracle.f
    order = sorted(passing, key=lambda key: (oracle.world.chunks[key]["start_ms"], key))
    assert store.chunks_during(oracle.f, limit=3) == order[:3], oracle.f


def check_neighbours(store: Store, oracle: Oracle, passing: set[str]) -> None:
    near = _near(oracle, ("NEXT_CHUNK",))
    for start in sorted(passing)[:3]:
        reached = _around(start, near, 2) - {start}
        rows = store.stitch_chunks([start], oracle.f, neighbours=2)
        assert {row["chunk"] for row in rows} == reached & passing, oracle.f


def check_clips(store: Store, oracle: Oracle, passing: set[str]) -> None:
    near = _near(oracle, ("NEXT_CHUNK", "SIMILAR_TO"))
    rows = store.finding.clips(ASKED, oracle.f, anchors=3, hops=2, eta=0.4, k=ALL)
    anchors = {row["chunk"] for row in rows if row["hop"] == 0}
    assert anchors <= passing and len(anchors) == min(3, len(passing)), oracle.f
    reached = set(anchors)
    for _ in range(2):
        reached |= {other for key in reached for other in near[key]} & passing
    assert {row["chunk"] for row in rows} == reached, oracle.f


def check_entities(store: Store, oracle: Oracle, passing: set[str]) -> None:
    rows = store.finding.by_entities(ASKED, " ".join(PEOPLE), oracle.f, leg_k=ALL, rrf_k=60, most=ALL, k=ALL)
    mentions = oracle.mentions()
    if oracle.f.not_after is not None or oracle.f.as_of is not None:  # by names alone, as they were told by then
        mentions = [m for m in mentions if m["_to"] in _named_then(oracle)]
    expected = defaultdict(set)
    for m in mentions:
        expected[m["_from"].removeprefix("chunks/")].add(m["_to"])
    assert {row["chunk"]: set(row["entities"]) for row in rows} == expected, oracle.f


def _named_then(oracle: Oracle) -> set[str]:
    f = oracle.f
    return {
        m["_to"] for m in oracle.world.mentions
        if (f.not_after is None or m["known_ms"] <= f.not_after) and (f.as_of is None or m["recorded_ms"] <= f.as_of)
    }  # fmt: skip


def check_utterances(store: Store, oracle: Oracle, passing: set[str]) -> None:
    """Chunks in which a passing speaker says anything, by utterances that pass."""
    f, expected = oracle.f, set()
    for key in passing:
        chunk = oracle.world.chunks[key]
        heard = [speaker for speaker in chunk["speakers"] if f.speakers is None or speaker in f.speakers]
        if heard and (f.modalities is None or "speech" in f.modalities):
            expected.add(key)
    rows = store.finding.by_utterances(" ".join(WORDS), f, k=ALL)
    assert {row["chunk"] for row in rows} == expected, f


def check_summaries(store: Store, oracle: Oracle, passing: set[str]) -> None:
    rows = store.finding.communities(ASKED, "crate", oracle.f, leg_k=ALL, rrf_k=60, k=ALL)
    assert {row["_key"] for row in rows} == {k for k, c in oracle.world.communities.items() if oracle.community(c)}, (
        oracle.f
    )
    scores = {f"communities/{key}": 1.0 for key in oracle.world.communities}
    below = store.finding.chunks_of_communities(scores, ASKED, oracle.f, k=ALL)
    assert {row["chunk"] for row in below} == passing, oracle.f


def check_expansion(store: Store, oracle: Oracle, passing: set[str]) -> None:
    """Who is mentioned in chunks that pass, the relations around them hop by hop, and what is told of everybody."""
    f, start = oracle.f, sorted(passing)[:12]
    found = store.expand_entities(start, f, hops=3, entity_limit=ALL, relation_limit=ALL)
    mentions = [m for m in oracle.mentions() if m["_from"].removeprefix("chunks/") in start]
    root = _roots(f)
    assert set(found["anchors"]) == {root(m["_to"]) for m in mentions}, f
    links, level = oracle.links(), _families({root(m["_to"]) for m in mentions}, root)
    reached: dict[str, int] = {}
    seen = set(level)
    for hop in (1, 2, 3):
        new = [x for x in links if x["_key"] not in reached and (x["_from"] in seen or x["_to"] in seen)]
        reached |= {x["_key"]: hop for x in new}
        seen |= {x[end] for x in new for end in ("_from", "_to")}
    assert {row["_id"].removeprefix("LINKS_TO/"): row["hop"] for row in found["relations"]} == reached, f
    ends = {root(x[end]) for x in links if x["_key"] in reached for end in ("_from", "_to")}
    assert {e["_id"] for e in found["entities"]} == ends | set(found["anchors"]), f
    if f != Filters():
        _check_told(found["entities"], oracle, root)


def _check_told(entities: list[dict[str, Any]], oracle: Oracle, root: Callable[[str], str]) -> None:
    told = defaultdict(list)
    for m in oracle.mentions():
        told[root(m["_to"])].append(m)
    for e in entities:
        own = told[e["_id"]]
        if own:
            assert (e["first_ms"], e["last_ms"]) == (min(m["start_ms"] for m in own), max(m["end_ms"] for m in own)), (
                oracle.f
            )
            assert e["cameras"] == sorted({m["camera"] for m in own}), oracle.f
            assert e["name"] == "Ada" or e["name"] in {m["mention"] for m in own}, oracle.f
            assert e["description"] in {"", *(m["description"] for m in own)}, oracle.f
        if oracle.f.not_after is not None:
            limit = oracle.f.not_after
            assert e["description"] in {"", *(m["description"] for m in own if m["described_ms"] <= limit)}, oracle.f


def check_relations(store: Store, oracle: Oracle, passing: set[str]) -> None:
    everybody = [f"entities/{key}" for key in PEOPLE]
    rows = store.match_relations(everybody, None, None, oracle.f, limit=ALL)
    expected = {x["_key"] for x in oracle.links()}
    assert {row["_id"].removeprefix("LINKS_TO/") for row in rows} == expected, oracle.f
    kinds = {x["relation"] for x in oracle.links()}
    assert set(store.relation_kinds(everybody, oracle.f)) == kinds, oracle.f


def check_ranking(store: Store, oracle: Oracle, passing: set[str]) -> None:
    start = sorted(passing)[:6]
    around = store.finding.rank_graph([f"chunks/{key}" for key in start], [], oracle.f, most=ALL)
    mentions, links = oracle.mentions(), [x for x in oracle.links() if x["_from"] != x["_to"]]
    near = {m["_to"] for m in mentions if m["_from"].removeprefix("chunks/") in start}
    linked = [(x["_from"], x["_to"]) for x in links if x["_from"] in near or x["_to"] in near]
    assert {(a, b) for a, b, _ in around["links"]} == set(linked), oracle.f
    reached = near | {end for pair in linked for end in pair}
    assert {(a, b) for a, b in around["mentions"]} == {
        (m["_from"], m["_to"]) for m in mentions if m["_to"] in reached
    }, oracle.f


def check_subgraph(store: Store, oracle: Oracle, passing: set[str]) -> None:
    ids = [*(f"chunks/{k}" for k in oracle.world.chunks), *(f"communities/{k}" for k in oracle.world.communities)]
    ids += [f"entities/{key}" for key in PEOPLE]
    nodes = {row["_id"] for row in store.finding.subgraph_nodes(ids, oracle.f)}
    expected = {f"chunks/{key}" for key in passing}
    expected |= {f"communities/{k}" for k, c in oracle.world.communities.items() if oracle.community(c)}
    expected |= {f"entities/{k}" for k in PEOPLE} if oracle.f == Filters() else {m["_to"] for m in oracle.mentions()}
    assert nodes == expected, oracle.f
    edges = store.finding.subgraph_edges(ids, ["HAS_ENTITY", "LINKS_TO"], oracle.f, eta=0.0, most=ALL)
    found = {row["_id"].partition("/")[2] for row in edges}
    assert found == {r["_key"] for r in (*oracle.mentions(), *oracle.links())}, oracle.f


def check_analytics(store: Store, oracle: Oracle, passing: set[str]) -> None:
    f, mentions = oracle.f, oracle.mentions()
    stays = store.analytics.stays([Group(key, (f"entities/{key}",)) for key in PEOPLE], f, gap_ms=0)
    assert sum(row["mentions"] for row in stays) == len(mentions), f
    counted = [
        m
        for m in mentions
        if f"chunks/{m['_from'].partition('/')[2]}" and oracle.chunk(oracle.world.chunks[m["_from"][7:]])
    ]
    if f.entities is not None:
        counted = [m for m in counted if m["_to"].removeprefix("entities/") in oracle.meant()]
    who = {_person(m["_to"], f) for m in counted}
    seen = store.analytics.first_last_seen(f, limit=ALL)
    assert {row["entity"] for row in seen} == who and sum(row["mentions"] for row in seen) == len(counted), f
    assert {(r["entity"], r["camera"]) for r in store.analytics.dwell(f, limit=ALL)} == {
        (_person(m["_to"], f), m["camera"]) for m in counted
    }, f
    acted = store.analytics.interactions(f, limit=ALL)
    assert sum(row["times"] for row in acted) == len(oracle.links()), f


def check_coverage(store: Store, oracle: Oracle, passing: set[str]) -> None:
    f, expected = oracle.f, 0
    for key, d in oracle.world.documents.items():
        known = f.as_of is None or any(
            c["recorded_ms"] <= f.as_of for c in oracle.world.chunks.values() if c["document"] == key
        )
        record = {
            "document": key,
            "camera": d["camera"],
            "known_ms": 0,
            "recorded_ms": 0,
            "start_ms": d["start_ms"],
            "end_ms": d["end_ms"],
        }
        if known and oracle.itself(record):
            expected += sum(
                MINUTE for at in range(d["start_ms"], d["end_ms"], MINUTE) if oracle.open(d["camera"], at, at + MINUTE)
            )
    rows = store.coverage(f)
    assert sum(row["end_ms"] - row["start_ms"] for row in rows) == expected, f


WAYS = (
    check_weighted, check_reading, check_neighbours, check_clips, check_entities, check_utterances, check_summaries,
    check_expansion, check_relations, check_ranking, check_subgraph, check_analytics, check_coverage, check_expansion,
)  # fmt: skip


def _near(oracle: Oracle, kinds: tuple[str, ...]) -> dict[str, set[str]]:
    near: dict[str, set[str]] = defaultdict(set)
    alike = [x for x in oracle.world.alike if x["weight"] > 0.4] if "SIMILAR_TO" in kinds else []
    for x in (*oracle.world.chain, *alike):
        a, b = (x[end].removeprefix("chunks/") for end in ("_from", "_to"))
        near[a].add(b)
        near[b].add(a)
    return near


def _around(start: str, near: dict[str, set[str]], hops: int) -> set[str]:
    reached = {start}
    for _ in range(hops):
        reached |= {other for key in reached for other in near[key]}
    return reached


def _roots(f: Filters) -> Callable[[str], str]:
    """The representative of an entity (id) as it was known."""
    ada = f.not_after is None and (f.as_of is None or f.as_of >= 5)
    ben = f.not_after is None and f.as_of is not None and 2 <= f.as_of < 7
    roots = ({"entities/adah": "entities/ada"} if ada else {}) | ({"entities/benny": "entities/ben"} if ben else {})
    return lambda entity: roots.get(entity, entity)


def _families(roots: set[str], root: Callable[[str], str]) -> set[str]:
    return {f"entities/{key}" for key in PEOPLE if root(f"entities/{key}") in roots}


def _person(entity: str, f: Filters) -> str:
    """Whom analytics count an entity as: under `as_of` everybody is one for himself."""
    key = entity.removeprefix("entities/")
    return "ada" if key == "adah" and f.as_of is None else key


# --- times of day ---------------------------------------------------------------------------------------------------------


def test_a_filter_that_is_not_set_asks_nothing(case: Case) -> None:
    from vgraph.store.run import noted

    with noted() as runs:
        case[0].hybrid_chunks(ASKED, "crate", Filters(), k=3, leg_k=3, rrf_k=60)
    assert {run.name for run in runs} <= {"hybrid_chunks", "hybrid_chunks_exact"}


@pytest.mark.parametrize(
    ("zone", "day"),
    [("Europe/Berlin", "2026-03-29"), ("Europe/Berlin", "2026-10-25"), ("America/New_York", "2026-03-08"),
     ("Australia/Lord_Howe", "2026-04-05"), ("Asia/Kathmandu", "2026-05-01"), ("Africa/Casablanca", "2026-02-15")],
)  # fmt: skip
@pytest.mark.parametrize("minutes", [(0, 1440), (120, 180), (1320, 360), (150, 151), (1439, 1)])
def test_open_spans_are_the_minutes_a_clock_on_the_wall_shows(zone: str, day: str, minutes: tuple[int, int]) -> None:
    start = datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(days=1)
    begin, weekdays = round(start.timestamp() * 1000), (6, 7)
    spans = open_spans(zone, minutes, weekdays, begin, begin + 3 * DAY_MS)
    for at in range(begin, begin + 3 * DAY_MS, MINUTE):
        local = datetime.fromtimestamp(at / 1000, ZoneInfo(zone))
        minute, (a, b) = local.hour * 60 + local.minute, minutes
        shown = (a <= minute < b if a < b else minute >= a or minute < b) and local.isoweekday() in weekdays
        assert any(s <= at < e for s, e in spans) == shown
    assert all(a[1] < b[0] for a, b in pairwise(spans))


def test_a_day_knows_the_spans_it_overlaps_and_the_next() -> None:
    first = 20_500
    days = open_days("UTC", (600, 660), (1,), first, first + 14)
    spans = open_spans("UTC", (600, 660), (1,), first * DAY_MS, (first + 16) * DAY_MS)
    for day in range(first, first + 8):
        ahead = [list(span) for span in spans if span[1] > day * DAY_MS]
        assert days[str(day)][:1] == ahead[:1]


def test_a_cameras_zone_that_is_changed_holds_at_once(tmp_path: Path) -> None:
    world, delta = made(3)
    with fresh_store(tmp_path) as store:
        store.claim_embedding("text", "test", DIMENSION)
        store.apply(delta)
        night = Filters(cameras=("yard",), documents=("d4",), time_of_day=(0, 120))
        before = set(store.chunks_during(night, limit=ALL))
        assert before == Oracle(world, night).chunks()
        store._db.aql.execute("UPDATE 'yard' WITH { tz: 'Asia/Tokyo' } IN cameras")
        after = set(store.chunks_during(night, limit=ALL))
        assert after != before
