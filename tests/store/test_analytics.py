"""Intervals compared in AQL, against the same done in plain Python over random appearances, utterances and tracks."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import fresh_store
from vgraph.errors import UserError
from vgraph.store import Store
from vgraph.store.analytics import ALLEN, Group, Selection
from vgraph.types import Filters, GraphDelta

CAMERAS = ("dock", "gate", "yard")
PEOPLE = ("ada", "ben", "cid", "dee")
END = 60_000
Span = tuple[int, int]


@dataclass(frozen=True)
class Mention:
    entity: str
    camera: str
    start: int
    end: int
    chunk: str
    known: int


@dataclass(frozen=True)
class World:
    """What is in the graph, as plain values. `ben2` is a second record of `ben`; `van` is no person."""

    mentions: tuple[Mention, ...]
    utterances: tuple[tuple[str, str, int, int], ...]
    tracks: tuple[tuple[str, str, int, int], ...]
    links: tuple[tuple[str, str, str, str, int, int], ...]

    def spans(self, entity: str, filters: Filters, camera: str | None = None) -> list[Span]:
        return [
            (m.start, m.end) for m in self.mentions
            if one(m.entity) == entity and camera in (None, m.camera) and passes(m, filters)
        ]  # fmt: skip


def one(entity: str) -> str:
    return "ben" if entity == "ben2" else entity


def passes(m: Mention, f: Filters) -> bool:
    return (
        (f.cameras is None or m.camera in f.cameras)
        and (f.start_ms is None or m.end > f.start_ms)
        and (f.end_ms is None or m.start < f.end_ms)
        and (f.not_after is None or m.known <= f.not_after)
    )


def merged(spans: Iterable[Span], gap: int) -> list[Span]:
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1] + gap:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)


def made(seed: int) -> tuple[World, GraphDelta]:
    """One document a camera, of chunks of five seconds; the yard records nothing from 20 s to 30 s."""
    draw = random.Random(seed)
    chunks, mentions, vertices, edges = [], [], defaultdict(list), defaultdict(list)
    for camera in CAMERAS:
        vertices["cameras"].append({"_key": camera, "label": camera, "tz": "UTC"})
        vertices["documents"].append({
            "_key": f"d-{camera}", "camera": camera, "start_ms": 0, "end_ms": END, "duration_ms": END, "state": "complete",
            "start_source": "flag", "gaps": [[20_000, 30_000]] if camera == "yard" else [],
        })  # fmt: skip
        for index, start in enumerate(range(0, END, 5_000)):
            key = f"{camera}-{index:03d}"
            chunks.append((key, camera, start, start + 5_000))
            vertices["chunks"].append({
                "_key": key, "document": f"d-{camera}", "camera": camera, "index": index, "start_ms": start,
                "end_ms": start + 5_000, "known_ms": start + 5_000, "text": "", "lines": [],
            })  # fmt: skip
    for entity in (*PEOPLE, "ben2", "van"):
        more = {"canonical": "ben"} if entity in ("ben", "ben2") else {}
        vertices["entities"].append({
            "_key": entity, "type": "vehicle" if entity == "van" else "person", "name": entity.title(), "aliases": [],
            "description": "", "first_ms": 0, "last_ms": 0, "cameras": [], "named": "", "described": "", **more,
        })  # fmt: skip
    for number in range(draw.randint(5, 60)):
        key, camera, start, end = draw.choice(chunks)
        begin = draw.randrange(start, end, 500)
        stop = draw.randrange(begin, end + 1, 500)
        entity = draw.choice((*PEOPLE, "ben2", "van"))
        mentions.append(Mention(entity, camera, begin, stop, f"chunks/{key}", end))
        edges["HAS_ENTITY"].append({
            "_key": f"m{number}", "_from": f"chunks/{key}", "_to": f"entities/{entity}", "document": f"d-{camera}", "camera": camera,
            "start_ms": begin, "end_ms": stop, "known_ms": end, "modality": "caption", "mention": entity, "description": "",
        })  # fmt: skip
    utterances, tracks, links = [], [], []
    for number in range(draw.randint(0, 12)):
        speaker, camera = draw.choice(PEOPLE), draw.choice(CAMERAS)
        start = draw.randrange(0, END - 4_000, 500)
        stop = start + draw.randrange(500, 4_000, 500)
        utterances.append((speaker, camera, start, stop))
        vertices["utterances"].append({
            "_key": f"u{number}", "document": f"d-{camera}", "camera": camera, "speaker": speaker, "text": f"words {number}",
            "start_ms": start, "end_ms": stop, "offset_ms": start,
        })  # fmt: skip
        kind = draw.choice(("truck", "person"))
        tracks.append((kind, camera, start, stop + 500))
        vertices["tracks"].append({
            "_key": f"t{number}", "document": f"d-{camera}", "camera": camera, "class": kind, "start_ms": start, "end_ms": stop + 500,
        })  # fmt: skip
        source, target = draw.sample((*PEOPLE, "ben2", "van"), 2)
        links.append((source, target, draw.choice(("carries", "greets")), camera, start, stop))
        edges["LINKS_TO"].append({
            "_key": f"l{number}", "_from": f"entities/{source}", "_to": f"entities/{target}", "document": f"d-{camera}",
            "camera": camera, "relation": links[-1][2], "chunk": f"{camera}-{start // 5000:03d}", "start_ms": start, "end_ms": stop,
            "known_ms": stop, "retracted_ms": None, "supporting_text": "", "confidence": 1.0, "recorded_ms": 1,
        })  # fmt: skip
    edges["ADJACENT_TO"].append({
        "_key": "w", "_from": "cameras/dock", "_to": "cameras/gate", "min_travel_ms": 2_000, "max_travel_ms": 9_000,
    })  # fmt: skip
    delta = GraphDelta({k: tuple(v) for k, v in vertices.items()}, {k: tuple(v) for k, v in edges.items()})
    return World(tuple(mentions), tuple(utterances), tuple(tracks), tuple(links)), delta


@pytest.fixture(scope="module", params=range(3))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, World]]:
    world, delta = made(request.param)
    with fresh_store(tmp_path_factory.mktemp("analytics")) as store:
        store.apply(delta)
        yield store, world


def filters(seed: int) -> Filters:
    draw = random.Random(seed)
    start = draw.choice([None, draw.randrange(0, END // 2, 500)])
    end = draw.choice([None, draw.randrange(END // 2, END + 500, 500)])
    cameras = draw.choice([None, tuple(draw.sample(CAMERAS, draw.randint(1, 3)))])
    return Filters(cameras, None, start, end, draw.choice([None, None, draw.randrange(0, END, 500)]))


FILTERS = [Filters(), *(filters(seed) for seed in range(6))]
BEN = Group("ben", ("entities/ben", "entities/ben2"))


def group(key: str) -> Group:
    return BEN if key == "ben" else Group(key, (f"entities/{key}",))


def test_records_that_are_one_make_one_group(case: tuple[Store, World]) -> None:
    assert case[0].analytics.groups(["ben2", "ada"]) == (
        Group("ada", ("entities/ada",), "Ada", "person"), Group("ben", BEN.ids, "Ben", "person"),
    )  # fmt: skip


@pytest.mark.parametrize("gap", [0, 1_000, 7_000])
@pytest.mark.parametrize("chosen", FILTERS)
def test_stays_are_mentions_merged_by_camera(case: tuple[Store, World], chosen: Filters, gap: int) -> None:
    store, world = case
    rows = store.analytics.stays([group(key) for key in PEOPLE], chosen, gap_ms=gap)
    expected = sorted(
        (start, camera, who, end)
        for who in PEOPLE for camera in CAMERAS for start, end in merged(world.spans(who, chosen, camera), gap)
    )  # fmt: skip
    assert [(r["start_ms"], r["camera"], r["entity"], r["end_ms"]) for r in rows] == expected
    assert sum(r["mentions"] for r in rows) == sum(len(world.spans(who, chosen)) for who in PEOPLE)


@pytest.mark.parametrize("chosen", FILTERS)
def test_dwell_adds_up_the_stays_of_everybody(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    rows = store.analytics.dwell(chosen, types=["person"], gap_ms=1_000)
    expected = {}
    for who, camera in itertools.product(PEOPLE, CAMERAS):
        if stays := merged(world.spans(who, chosen, camera), 1_000):
            expected[who, camera] = (len(stays), length(stays), max(e - s for s, e in stays), stays[0][0])
    assert {
        (r["entity"], r["camera"]): (r["visits"], r["total_ms"], r["longest_ms"], r["first_ms"]) for r in rows
    } == expected
    assert [r["total_ms"] for r in rows] == sorted((r["total_ms"] for r in rows), reverse=True)


@pytest.mark.parametrize("chosen", FILTERS)
def test_first_and_last_seen(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    rows = {r["entity"]: r for r in store.analytics.first_last_seen(chosen)}
    expected = {who: world.spans(who, chosen) for who in (*PEOPLE, "van")}
    assert {who: (r["first"]["at_ms"], r["last"]["at_ms"], r["mentions"]) for who, r in rows.items()} == {
        who: (min(s for s, _ in spans), max(e for _, e in spans), len(spans)) for who, spans in expected.items() if spans
    }  # fmt: skip


def clipped(m: Mention, f: Filters) -> Span:
    return max(m.start, f.start_ms or 0), min(m.end, END if f.end_ms is None else f.end_ms)


@pytest.mark.parametrize("chosen", FILTERS)
def test_counts_by_interval_and_the_busiest(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    seen: dict[tuple[int, str], set[str]] = defaultdict(set)
    for m in world.mentions:
        if passes(m, chosen):
            start, end = clipped(m, chosen)
            for bucket in range((start - 1_500) // 4_000, (max(end - 1, start) - 1_500) // 4_000 + 1):
                seen[1_500 + bucket * 4_000, m.camera].add(one(m.entity))
    rows = store.analytics.counts(chosen, bucket_ms=4_000, origin_ms=1_500)
    assert {(r["start_ms"], r["camera"]): r["entities"] for r in rows} == {k: len(v) for k, v in seen.items()}
    every: dict[int, set[str]] = defaultdict(set)
    for (start, _), who in seen.items():
        every[start] |= who
    busiest = store.analytics.busiest(chosen, bucket_ms=4_000, origin_ms=1_500, limit=3)
    assert [r["entities"] for r in busiest] == sorted(map(len, every.values()), reverse=True)[:3]
    assert all(r["entities"] == len(every[r["start_ms"]]) for r in busiest)


def test_an_interval_of_no_length_is_refused(case: tuple[Store, World]) -> None:
    with pytest.raises(UserError, match="a second or more"):
        case[0].analytics.counts(Filters(), bucket_ms=999)


def shared(a: Sequence[Span], b: Sequence[Span]) -> list[Span]:
    return [(max(s, t), min(e, f)) for (s, e), (t, f) in itertools.product(a, b) if t < e and f > s]


@pytest.mark.parametrize("chosen", FILTERS)
def test_who_was_together(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    expected = {}
    for a, b in itertools.combinations(sorted((*PEOPLE, "van")), 2):
        together = [
            span for camera in CAMERAS
            for span in shared(merged(world.spans(a, chosen, camera), 1_000), merged(world.spans(b, chosen, camera), 1_000))
        ]  # fmt: skip
        if together and length(together) >= 500:
            expected[a, b] = (length(together), len(together))
    rows = store.analytics.co_presence(chosen, gap_ms=1_000, least_ms=500)
    assert {(r["a"]["entity"], r["b"]["entity"]): (r["together_ms"], r["times"]) for r in rows} == expected


@pytest.mark.parametrize("chosen", FILTERS)
def test_who_was_there_while_somebody_stayed(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    gate = Filters(not_after=chosen.not_after)
    expected = {}
    for who in (*PEOPLE, "van"):
        together = [
            merged(shared(merged(world.spans("ben", chosen, camera), 1_000), world.spans(who, gate, camera)), 0)
            for camera in CAMERAS
        ]
        if who != "ben" and (total := sum(map(length, together))):
            expected[who] = total
    rows = store.analytics.present_while(BEN, chosen, gap_ms=1_000)
    assert {r["entity"]: r["together_ms"] for r in rows} == expected


@pytest.mark.parametrize("chosen", FILTERS)
def test_seen_by_one_camera_then_by_another(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    times = Filters(None, None, chosen.start_ms, chosen.end_ms, chosen.not_after)
    expected = set()
    for who in (*PEOPLE, "van"):
        later = merged(world.spans(who, times, "gate"), 1_000)
        for _, end in merged(world.spans(who, times, "dock"), 1_000):
            came = [start for start, _ in later if end <= start <= end + 8_000]
            expected |= {(who, end, min(came), 2_000 <= min(came) - end <= 9_000)} if came else set()
    rows = store.analytics.seen_then("dock", "gate", chosen, within_ms=8_000, gap_ms=1_000)
    assert {(r["entity"], r["left_ms"], r["came_ms"], r["feasible"]) for r in rows} == expected
    unknown = store.analytics.seen_then("dock", "yard", chosen, within_ms=8_000, gap_ms=1_000)
    assert {r["feasible"] for r in unknown} <= {None}


@pytest.mark.parametrize("chosen", FILTERS)
def test_journeys_go_from_camera_to_camera(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    for row in store.analytics.journeys([group(key) for key in PEOPLE], chosen, gap_ms=1_000):
        stays = sorted(
            (start, end, camera)
            for camera in CAMERAS
            for start, end in merged(world.spans(row["entity"], chosen, camera), 1_000)
        )
        assert [(s["start_ms"], s["end_ms"], s["camera"]) for s in row["stays"]] == stays
        for before, after in itertools.pairwise(row["stays"]):
            moved = before["camera"] != after["camera"]
            travel = after["start_ms"] - before["end_ms"]
            assert after["travel_ms"] == (travel if moved else None)
            known = moved and {before["camera"], after["camera"]} == {"dock", "gate"}
            assert after["feasible"] == (2_000 <= travel <= 9_000 if known else None)


def recorded(gap: Span, chosen: Filters) -> int:
    takes = [(0, END) for camera in CAMERAS[:2] if chosen.cameras is None or camera in chosen.cameras]
    if chosen.cameras is None or "yard" in chosen.cameras:
        takes += [(0, 20_000), (30_000, END)]
    return length(merged(shared([gap], takes), 0))


@pytest.mark.parametrize(
    "chosen", [*FILTERS, Filters(("yard",)), Filters(("yard",), None, 0, END), Filters(None, None, -5_000, 0)]
)
def test_not_seen_differs_from_not_recorded(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    bounds = [(t, t) for t in (chosen.start_ms, chosen.end_ms) if t is not None]
    present = merged([*world.spans("ben", chosen), *bounds], 0)
    expected = []
    for (_, start), (end, _) in itertools.pairwise(present):
        if end - start >= 500:
            known = recorded((start, end), chosen)
            state = "not_recorded" if known == 0 else "partly_recorded" if known < end - start else "not_seen"
            expected.append((start, end, known, state))
    rows = store.analytics.absences(BEN, chosen, least_ms=500)
    assert [(r["start_ms"], r["end_ms"], r["recorded_ms"], r["state"]) for r in rows] == expected


@pytest.mark.parametrize("chosen", FILTERS)
def test_who_had_to_do_with_whom(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    told: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for source, target, relation, camera, start, end in world.links:
        if relation == "greets" and passes(Mention("", camera, start, end, "", end), chosen):
            told[one(source), one(target)].append((start, end))
    rows = store.analytics.interactions(chosen, relations=["greets"])
    assert {(r["source"]["entity"], r["target"]["entity"]): (r["times"], r["total_ms"]) for r in rows} == {
        pair: (len(spans), length(merged(spans, 0))) for pair, spans in told.items()
    }


def test_what_differs_between_two_spans(case: tuple[Store, World]) -> None:
    store, world = case
    spans = ((0, 25_000), (30_000, 55_000))
    rows = store.analytics.difference(*spans, Filters(), gap_ms=0)
    expected = {}
    for who in (*PEOPLE, "van"):
        parts = [world.spans(who, Filters(None, None, *span)) for span in spans]
        lengths = [
            length(merged([(max(s, begin), min(e, stop)) for s, e in part], 0))
            for part, (begin, stop) in zip(parts, spans, strict=True)
        ]
        if any(parts):
            expected[who] = (*lengths, "both" if all(parts) else "gone" if parts[0] else "new")
    assert {r["entity"]: (r["before_ms"], r["after_ms"], r["state"]) for r in rows} == expected


@pytest.mark.parametrize("chosen", FILTERS)
def test_what_was_said_while_somebody_was_there(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    expected = sorted(
        (start, end, camera) for _, camera, start, end in world.utterances
        if shared(merged(world.spans("ben", chosen, camera), 1_000), [(start, end)])
        and (chosen.not_after is None or end <= chosen.not_after)
        and (chosen.start_ms is None or end > chosen.start_ms) and (chosen.end_ms is None or start < chosen.end_ms)
    )  # fmt: skip
    rows = store.analytics.said_while(BEN, chosen, gap_ms=1_000)
    assert sorted((r["start_ms"], r["end_ms"], r["camera"]) for r in rows) == expected


# --- Allen's relations --------------------------------------------------------------------------------------------------


def allen(a: Span, b: Span) -> str:
    """By the definitions, one after the other."""
    (s, e), (t, f) = a, b
    found = {
        "equals": s == t and e == f, "meets": e == t, "met_by": s == f, "before": e < t, "after": s > f,
        "starts": s == t and e < f, "started_by": s == t and e > f, "finishes": e == f and s > t, "finished_by": e == f and s < t,
        "during": s > t and e < f, "contains": s < t and e > f, "overlaps": s < t < e < f, "overlapped_by": t < s < f < e,
    }  # fmt: skip
    return next(name for name, holds in found.items() if holds)


@pytest.mark.parametrize("chosen", FILTERS)
def test_the_relations_of_allen(case: tuple[Store, World], chosen: Filters) -> None:
    store, world = case
    left = [("ben", camera, span) for camera in CAMERAS for span in merged(world.spans("ben", chosen, camera), 1_000)]
    right = [("ada", camera, span) for camera in CAMERAS for span in merged(world.spans("ada", chosen, camera), 1_000)]
    for kind, items in (("cid", world.utterances), ("truck", world.tracks)):
        right += [
            (name, camera, (start, end)) for name, camera, start, end in items
            if name == kind and passes(Mention("", camera, start, end, "", end), chosen)
        ]  # fmt: skip
    expected = sorted(
        (allen(a, b), who, a, b) for (_, c, a), (who, d, b) in itertools.product(left, right) if c == d
    )  # fmt: skip
    rows = store.analytics.allen(
        Selection((BEN,)), Selection((group("ada"),), ("cid",), ("truck",)), chosen, gap_ms=1_000, same_camera=True
    )
    assert expected == sorted(
        (r["relation"], r["b"]["of"], (r["a"]["start_ms"], r["a"]["end_ms"]), (r["b"]["start_ms"], r["b"]["end_ms"]))
        for r in rows
    )


def test_every_relation_is_told_apart(tmp_path: Path) -> None:
    spans = [(s, e) for s in range(0, 7_000, 1_000) for e in range(s + 1_000, 8_000, 1_000)]
    tracks = tuple(
        {"_key": f"t{n}", "class": kind, "camera": "dock", "start_ms": s, "end_ms": e}
        for n, (kind, (s, e)) in enumerate([("car", (2_000, 5_000)), *(("bus", span) for span in spans)])
    )
    with fresh_store(tmp_path) as store:
        store.apply(GraphDelta({"tracks": tracks}))
        car, bus = Selection(classes=("car",)), Selection(classes=("bus",))
        rows = store.analytics.allen(car, bus, Filters())
        assert {r["relation"] for r in rows} == set(ALLEN)
        for row in rows:
            assert row["relation"] == allen((2_000, 5_000), (row["b"]["start_ms"], row["b"]["end_ms"]))
        mirrored = store.analytics.allen(bus, car, Filters())
        assert sorted(MIRROR[r["relation"]] for r in mirrored) == sorted(r["relation"] for r in rows)


MIRROR = {
    "before": "after", "meets": "met_by", "overlaps": "overlapped_by", "starts": "started_by", "during": "contains",
    "finishes": "finished_by", "equals": "equals",
}  # fmt: skip
MIRROR |= {there: here for here, there in MIRROR.items()}


def test_near_ends_are_the_same_and_far_ones_are_left_out(tmp_path: Path) -> None:
    spans = {"car": (2_000, 5_000), "bus": (5_100, 6_000), "van": (1_900, 5_050), "cab": (9_000, 9_500)}
    tracks = tuple({"_key": k, "class": k, "camera": "dock", "start_ms": s, "end_ms": e} for k, (s, e) in spans.items())
    with fresh_store(tmp_path) as store:
        store.apply(GraphDelta({"tracks": tracks}))

        def found(**options: Any) -> dict[str, str]:
            others = Selection(classes=("bus", "van", "cab"))
            return {
                r["b"]["of"]: r["relation"]
                for r in store.analytics.allen(Selection(classes=("car",)), others, Filters(), **options)
            }

        assert found() == {"bus": "before", "van": "during", "cab": "before"}
        assert found(slack_ms=100) == {"bus": "meets", "van": "equals", "cab": "before"}
        assert found(within_ms=1_000) == {"bus": "before", "van": "during"}
        assert found(least_overlap_ms=1) == {"van": "during"}
        assert found(relations=["before"], within_ms=1_000) == {"bus": "before"}


def test_an_unknown_relation_is_refused(case: tuple[Store, World]) -> None:
    with pytest.raises(UserError, match="'near' is not one of before, meets"):
        case[0].analytics.allen(Selection(), Selection(), Filters(), relations=["near"])
