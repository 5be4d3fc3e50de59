"""Entities that are one are one in evidence: found by any of their names, with the relations of all of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ingest.identity.graph import OPTIONS, Graph
from vgraph.ingest.identity import Identification
from vgraph.store import Store
from vgraph.types import Filters


@pytest.fixture
def joined(store: Store) -> dict[str, str]:
    """Maria at the dock is the boss at the gate; who is greeted there is also called two ways."""
    graph = Graph()
    keys = {
        "maria": graph.seen("Maria Lopez", "dock", 0, 10, description="wears a red jacket"),
        "boss": graph.seen("the Boss", "gate", 600, 610),
        "jonas": graph.seen("Jonas Weber", "gate", 600, 610),
        "driver": graph.seen("the Driver", "yard", 900, 910),
        "crate": graph.seen("crate 74", "dock", 0, 10, type="object"),
    }
    graph.seen("Jonas Weber", "yard", 900, 910)
    graph.link(keys["maria"], "lifts", keys["crate"], "dock", 1)
    graph.link(keys["boss"], "greets", keys["jonas"], "gate", 601)
    graph.link(keys["driver"], "honks at", keys["jonas"], "yard", 901)
    graph.write(store)
    people = Identification(store, OPTIONS, lambda progress: None)
    people.merge(keys["maria"], keys["boss"])
    return keys


def expanded(store: Store, **filters: Any) -> dict[str, Any]:
    return store.expand_entities(["dock-1-0000000000"], Filters(**filters), hops=2, entity_limit=10, relation_limit=20)


def names(found: dict[str, Any]) -> set[str]:
    return {entity["name"] for entity in found["entities"]}


def told(found: dict[str, Any]) -> set[tuple[str, str, str]]:
    name = {entity["_id"]: entity["name"] for entity in found["entities"]}
    return {(name[r["_from"]], r["relation"], name[r["_to"]]) for r in found["relations"]}


def test_a_chunk_that_names_one_of_them_leads_to_the_relations_of_all(store: Store, joined: dict[str, str]) -> None:
    found = expanded(store)
    assert ("the Boss", "greets", "Jonas Weber") in told(found) or ("Maria Lopez", "greets", "Jonas Weber") in told(
        found
    )
    assert len({source for source, relation, _ in told(found) if relation in ("lifts", "greets")}) == 1
    hops = {relation["relation"]: relation["hop"] for relation in found["relations"]}
    assert hops == {"lifts": 1, "greets": 1, "honks at": 2}


def test_the_cluster_is_one_entity_with_the_times_and_cameras_of_all(store: Store, joined: dict[str, str]) -> None:
    found = expanded(store)
    root = f"entities/{min(joined['maria'], joined['boss'])}"
    [entity] = [entity for entity in found["entities"] if entity["_id"] == root]
    assert (entity["first_ms"], entity["last_ms"], entity["cameras"]) == (0, 610_000, ["dock", "gate"])
    assert entity["description"] == "wears a red jacket"
    assert root in found["anchors"] and [m["chunks"] for m in found["mentions"] if m["entity"] == root] == [
        ["chunks/dock-1-0000000000"]
    ]
    assert len([entity for entity in found["entities"] if entity["type"] == "person"]) == 3
    assert {r["_from"] for r in found["relations"] if r["relation"] in ("lifts", "greets")} == {root}


def test_partners_that_are_one_are_one_too(store: Store, joined: dict[str, str]) -> None:
    Identification(store, OPTIONS, lambda progress: None).merge(joined["jonas"], joined["driver"])
    assert len([entity for entity in expanded(store)["entities"] if entity["type"] == "person"]) == 2


def test_a_question_of_then_may_not_know_what_was_found_out_later(store: Store, joined: dict[str, str]) -> None:
    found = expanded(store, not_after=60_000)
    assert names(found) <= {"Maria Lopez", "crate 74"}
    assert told(found) <= {("Maria Lopez", "lifts", "crate 74")}


def test_filters_hold_on_relations_of_every_member(store: Store, joined: dict[str, str]) -> None:
    assert {relation["relation"] for relation in expanded(store, cameras=("dock",))["relations"]} == {"lifts"}
    assert {relation["relation"] for relation in expanded(store, start_ms=0, end_ms=60_000)["relations"]} == {"lifts"}


def test_after_an_undo_they_are_two_again(store: Store, joined: dict[str, str]) -> None:
    Identification(store, OPTIONS, lambda progress: None).undo()
    found = expanded(store)
    assert {relation["relation"] for relation in found["relations"]} == {"lifts"}
    assert names(found) == {"Maria Lopez", "crate 74"}
