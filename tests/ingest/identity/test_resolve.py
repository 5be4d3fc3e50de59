"""Which entities become one, which are proposed, which stay two; and that running it again, in pieces or after a kill, changes nothing."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import fresh_store
from tests.ingest.identity.graph import OPTIONS, Graph, clusters, exported, run, same, status
from vgraph.ingest.identity import Identification, IdentityOptions, resolve
from vgraph.store import Store
from vgraph.store.identities import Identities


def told(store: Store, one: str, other: str) -> list[str]:
    return [item["text"] for item in same(store)[(min(one, other), max(one, other))]["evidence"]]


# --- names --------------------------------------------------------------------------------------------------------------


def test_one_name_with_an_id_and_without_is_one_person(store: Store) -> None:
    graph = Graph()
    one, other = graph.seen("Maria Lopez", "dock", 0, 10), graph.seen("Maria Lopez", "gate", 100, 110, id="p1")
    graph.write(store)
    assert run(store).confirmed == 1
    edge = same(store)[(min(one, other), max(one, other))]
    assert (edge["status"], edge["method"]) == ("confirmed", "name")
    assert edge["score"] >= OPTIONS.confirm
    assert clusters(store)[one] == clusters(store)[other] == min(one, other)
    assert all(chunk for item in edge["evidence"] for chunk in item["chunks"])


def test_types_must_agree(store: Store) -> None:
    graph = Graph()
    one, other = graph.seen("Mercedes", "dock", 0, 10), graph.seen("Mercedes", "gate", 50, 60, type="vehicle")
    graph.write(store)
    run(store)
    assert status(store, one, other) is None


def test_ids_that_sources_give_hold_people_of_one_name_apart(store: Store) -> None:
    graph = Graph()
    one, other = graph.seen("Maria Lopez", "dock", 0, 10, id="p1"), graph.seen("Maria Lopez", "gate", 100, 110, id="p2")
    graph.write(store)
    run(store)
    assert status(store, one, other) is None


def test_a_name_that_two_people_bear_is_given_to_neither(store: Store) -> None:
    graph = Graph()
    one, two = graph.seen("Maria Lopez", "dock", 0, 10, id="p1"), graph.seen("Maria Lopez", "gate", 100, 110, id="p2")
    name = graph.seen("Maria Lopez", "yard", 200, 210)
    graph.write(store)
    run(store)
    assert {status(store, one, name), status(store, two, name)} == {"proposed"}
    assert set(clusters(store).values()) == {None}
    assert "as good a claim" in same(store)[(min(one, name), max(one, name))]["reason"]


def test_a_misheard_name_is_joined_when_more_speaks_for_it_and_else_proposed(store: Store) -> None:
    graph = Graph()
    said = {"modality": "speech", "description": "wears a blue jacket"}
    one, other = (
        graph.seen("Samuel Okoye", "dock", 30, 40, description="wears a blue jacket"),
        graph.seen("Samual Okoye", "gate", 300, 310, **said),
    )
    alone, slip = (
        graph.seen("Lars Nielsen", "dock", 50, 55),
        graph.seen("Lars Neilson", "gate", 400, 410, modality="speech"),
    )
    graph.write(store)
    run(store)
    assert status(store, one, other) == "confirmed"
    assert status(store, alone, slip) == "proposed"
    assert same(store)[(min(one, other), max(one, other))]["method"] == "phonetic"


def test_a_caption_that_names_both_speaks_against_their_being_one(store: Store) -> None:
    graph = Graph()
    one, other = graph.seen("Maria Lopez", "dock", 0, 10), graph.seen("Maria Lopes", "dock", 0, 10)
    graph.write(store)
    run(store)
    assert status(store, one, other) != "confirmed"
    graph.seen("Maria Lopez", "dock", 40, 50), graph.seen("Maria Lopes", "dock", 40, 50)
    graph.write(store)
    run(store)
    assert status(store, one, other) is None


def test_the_same_partners_speak_for_it(store: Store) -> None:
    graph = Graph()
    one, other = graph.seen("Maria Lopez", "dock", 0, 10), graph.seen("Maria Lopes", "gate", 300, 310)
    for number, thing in enumerate(("crate 74", "crate 75", "crate 76")):
        for who, camera, at in ((one, "dock", 1), (other, "gate", 301)):
            graph.link(who, "loads", graph.seen(thing, camera, at, at + 2, type="object"), camera, at + number)
    graph.write(store)
    run(store)
    assert "3 relations to the same partners" in told(store, one, other)
    assert status(store, one, other) == "confirmed"


@pytest.mark.parametrize("name", ["names", "phonetic", "cooccurrence", "veto"])
def test_each_mechanism_can_be_switched_off(store: Store, name: str) -> None:
    graph = Graph()
    heard = graph.seen("Katz Weber", "dock", 0, 10), graph.seen("Cats Weber", "gate", 100, 110, modality="speech")
    twice = (
        graph.seen("Jo Marx", "dock", 0, 60, modality="detection"),
        graph.seen("Jo Marx", "gate", 30, 50, id="j", modality="detection"),
    )
    graph.seen("Jo Marx", "dock", 0, 1), graph.seen("Jo Marx", "gate", 40, 41, id="j")
    listed = graph.seen("Ann Other", "dock", 0, 10), graph.seen("Anne Other", "dock", 0, 10)
    graph.write(store)
    run(store)
    before = [status(store, *pair) for pair in (heard, twice, listed)]
    run(store, replace(OPTIONS, **{name: False}))
    after = [status(store, *pair) for pair in (heard, twice, listed)]
    assert before == ["proposed", None, None]
    expected = {
        "names": [None, None, None],
        "phonetic": [None, None, None],
        "cooccurrence": ["proposed", None, "proposed"],
    }
    assert after == {**expected, "veto": ["proposed", "confirmed", None]}[name]


# --- two places ---------------------------------------------------------------------------------------------------------


def watched(store: Store, **site: Any) -> tuple[str, str]:
    """One name with an id and without, followed on two cameras at once."""
    graph = Graph()
    for camera in ("dock", "gate"):
        graph.camera(camera, uncertainty_ms=site.pop("wrong", 0) if camera == "dock" else 0)
    one, other = graph.seen("Maria Lopez", "dock", 0, 20), graph.seen("Maria Lopez", "gate", 5, 25, id="p1")
    graph.seen("Maria Lopez", "dock", 0, 20, modality="detection")
    graph.seen("Maria Lopez", "gate", 5, 25, id="p1", modality="detection")
    graph.write(store)
    if site:
        Identification(store, OPTIONS, lambda progress: None).adjoin("dock", "gate", **site)
    run(store)
    return one, other


def test_two_people_of_one_name_stay_two_when_seen_in_two_places_at_once(store: Store) -> None:
    assert status(store, *watched(store)) is None


def test_but_not_before_cameras_whose_views_overlap(store: Store) -> None:
    assert status(store, *watched(store, overlapping=True)) == "confirmed"


def test_nor_where_the_clocks_may_be_wrong_by_that_much(store: Store) -> None:
    assert status(store, *watched(store, wrong=15_000)) == "confirmed"


def test_a_way_that_is_told_later_is_taken_into_account(store: Store) -> None:
    graph = Graph()
    one, other = graph.seen("Maria Lopez", "dock", 0, 20), graph.seen("Maria Lopez", "gate", 30, 50, id="p1")
    graph.write(store)
    run(store)
    assert status(store, one, other) == "confirmed"
    Identification(store, OPTIONS, lambda progress: None).adjoin("dock", "gate", min_ms=60_000)
    run(store)
    assert status(store, one, other) is None
    assert clusters(store)[one] is None


def test_one_entity_in_two_places_at_once_is_proposed_to_be_split(store: Store) -> None:
    graph = Graph()
    key = graph.seen("Maria Lopez", "dock", 0, 20)
    graph.seen("Maria Lopez", "gate", 0, 20)
    graph.seen("Jonas Weber", "dock", 0, 20), graph.seen("Jonas Weber", "gate", 40, 60)
    graph.write(store)
    assert run(store).doubts == 1
    [entity] = store.identities.doubts("proposed", 10)
    assert (entity["_key"], entity["doubt"]["documents"]) == (key, ["gate-1"])
    assert all(item["chunks"] for item in entity["doubt"]["evidence"])


def test_places_are_at_many_cameras_at_once(store: Store) -> None:
    graph = Graph()
    graph.seen("depot", "dock", 0, 20, type="location"), graph.seen("depot", "gate", 0, 20, type="location")
    graph.write(store)
    assert run(store).doubts == 0


# --- tracks -------------------------------------------------------------------------------------------------------------

A, B = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
LIKE_A = [0.9, 0.3, 0.3]


def test_tracks_that_look_alike_and_follow_one_another_in_time_are_one(store: Store) -> None:
    graph = Graph()
    graph.camera("dock"), graph.camera("gate")
    one, other = graph.track("1", "dock", 0, 20, A), graph.track("2", "gate", 30, 50, LIKE_A)
    stranger = graph.track("3", "gate", 30, 50, B)
    graph.write(store)
    Identification(store, OPTIONS, lambda progress: None).adjoin("dock", "gate", min_ms=5_000, max_ms=60_000)
    run(store)
    assert status(store, one, other) == "confirmed"
    assert status(store, one, stranger) is None
    assert same(store)[(min(one, other), max(one, other))]["method"] == "appearance"
    assert any("10.0 s from dock to gate" in text for text in told(store, one, other))


def test_a_track_that_came_too_soon_for_the_way_is_another(store: Store) -> None:
    graph = Graph()
    one, other = graph.track("1", "dock", 0, 20, A), graph.track("2", "gate", 22, 50, A)
    graph.write(store)
    Identification(store, OPTIONS, lambda progress: None).adjoin("dock", "gate", min_ms=5_000, max_ms=60_000)
    run(store)
    assert status(store, one, other) is None


def test_a_track_joins_only_who_it_is_like_in_all_recent_pictures(store: Store) -> None:
    """GEB: like one picture of an entity and unlike another, it is not of the entity."""
    graph = Graph()
    first, turned = graph.track("1", "dock", 0, 10, [1.0, 0.0]), graph.track("2", "dock", 12, 20, [0.9483, 0.3173])
    last = graph.track("3", "dock", 22, 30, [0.497, 0.8678])
    graph.write(store)
    run(store)
    assert status(store, first, turned) == "confirmed"
    assert status(store, turned, last) == "proposed"
    assert clusters(store)[last] is None


def test_two_tracks_of_one_moment_are_two_however_alike(store: Store) -> None:
    graph = Graph()
    one, other = graph.track("1", "dock", 0, 20, A), graph.track("2", "dock", 10, 30, A)
    graph.write(store)
    run(store)
    assert status(store, one, other) is None


def test_a_track_gets_the_name_that_captions_give_while_it_is_there(store: Store) -> None:
    graph = Graph()
    track, away = graph.track("1", "dock", 0, 119), graph.track("2", "dock", 120, 240)
    for start in range(0, 120, 10):
        name = graph.seen("Maria Lopez", "dock", start, start + 10)
    for start in range(120, 240, 10):
        other = graph.seen("Jonas Weber", "dock", start, start + 10)
    for start in range(240, 480, 10):
        graph.seen("Samuel Okoye", "dock", start, start + 10)
    graph.write(store)
    run(store)
    assert (status(store, track, name), status(store, away, other)) == ("confirmed", "confirmed")
    assert status(store, track, other) is None
    assert "captions" in told(store, track, name)[-1]


def test_a_track_with_two_who_are_always_named_together_gets_no_name(store: Store) -> None:
    graph = Graph()
    track = graph.track("1", "dock", 0, 100)
    for start in range(0, 200, 10):
        graph.seen("Maria Lopez", "dock", start, start + 10), graph.seen("Jonas Weber", "dock", start, start + 10)
    graph.write(store)
    run(store)
    assert clusters(store)[track] is None


# --- embeddings ---------------------------------------------------------------------------------------------------------


def test_neighbours_by_embedding_are_proposed_and_never_joined_by_it_alone(store: Store) -> None:
    store.claim_embedding("text", "test", 4)
    graph = Graph()
    keys = [
        graph.seen(name, "dock", at, at + 5, type="object")
        for at, name in enumerate(("sack truck", "hand cart", "ladder"))
    ]
    for key, vector in zip(keys, ([1.0, 0, 0, 0], [0.99, 0.14, 0, 0], [0, 0, 1.0, 0]), strict=True):
        graph.vertices["entities"][key]["embedding"] = vector
    graph.write(store)
    store.ensure_vector_indexes()
    run(store, IdentityOptions(propose=0.1))
    assert status(store, keys[0], keys[1]) == "proposed"
    assert status(store, keys[0], keys[2]) is None
    assert set(clusters(store).values()) == {None}


# --- again, in pieces, killed -------------------------------------------------------------------------------------------


def site(number: int, chance: random.Random) -> Graph:
    """People and tracks of one day at the dock, their names now and then short, or wrong."""
    graph = Graph()
    people = ("Maria Lopez", "Jonas Weber", "Samuel Okoye", "Fatma Demir")
    for at in range(0, 300, 10):
        name = chance.choice(people)
        told = chance.choice((name, name, name.split()[0], name.replace("e", "ee", 1)))
        camera = ("dock", "gate", "yard")[(number + at // 60) % 3]
        graph.seen(
            told, camera, at, at + 10, description=f"wears jacket {people.index(name)}", document=f"{camera}-{number}"
        )
    graph.track(str(number), "dock", number * 50, number * 50 + 40, [1.0, number / 10])
    return graph


def test_the_same_run_again_finds_nothing_to_do(store: Store) -> None:
    for number in range(3):
        site(number, random.Random(number)).write(store)
    first = run(store)
    before = exported(store)
    assert first.entities > 0 and first.confirmed > 0
    assert run(store).entities == 0
    assert exported(store) == before


def test_documents_that_come_one_by_one_end_in_the_same_graph(store: Store, tmp_path: Path) -> None:
    for number in range(4):
        site(number, random.Random(number)).write(store)
    run(store)
    with fresh_store(tmp_path / "other") as other:
        for number in (2, 0, 3, 1):
            site(number, random.Random(number)).write(other)
            run(other)
        assert [r for r in exported(other) if r[0] in ("SAME_AS", "entities")] == [
            r for r in exported(store) if r[0] in ("SAME_AS", "entities")
        ]


class Killed(Exception):
    pass


@pytest.mark.parametrize("writes", range(1, 9))
def test_killed_after_any_write_the_next_run_ends_in_the_same_graph(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    for number in range(3):
        site(number, random.Random(number)).write(store)
    with fresh_store(tmp_path / "other") as other:
        for number in range(3):
            site(number, random.Random(number)).write(other)
        run(other)
        wanted = exported(other)
    monkeypatch.setattr(sys.modules["vgraph.ingest.identity.resolve"], "PAGE", 8)
    left = [writes]
    write = Identities.write

    def counted(self: Identities, **what: Any) -> None:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        write(self, **what)

    with monkeypatch.context() as patched:
        patched.setattr(Identities, "write", counted)
        with pytest.raises(Killed):
            run(store)
    run(store)
    assert exported(store) == wanted


def test_a_document_that_goes_leaves_no_trace_of_who_was_only_there(store: Store) -> None:
    graph = Graph()
    keys = sorted(
        (
            graph.seen("Maria Lopez", "dock", 0, 10),
            graph.seen("Maria Lopez", "gate", 100, 110, id="p1"),
            graph.seen("Maria Lopez", "gate", 120, 130),
        )
    )
    graph.write(store)
    run(store)
    assert len([root for root in clusters(store).values() if root]) == 2
    store.removal.document("gate-1")
    run(store)
    assert same(store) == {}
    assert set(clusters(store).values()) == {None}
    assert len(clusters(store)) < len(keys)


def test_progress_is_told(store: Store) -> None:
    site(0, random.Random(0)).write(store)
    steps: list[str] = []
    resolve(store, OPTIONS, lambda progress: steps.append(progress.stage))
    assert {"identity: compare", "identity: decide", "identity: name"} <= set(steps)
