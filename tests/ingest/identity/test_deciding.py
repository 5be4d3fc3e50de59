"""Merge, split, confirm, reject, undo: each in the log, each undone, each still there when its document was deleted and came again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ingest.identity.graph import OPTIONS, Graph, clusters, exported, run, same, status
from vgraph.errors import NotFoundError, UserError
from vgraph.ingest.identity import Identification
from vgraph.store import Store

CHANGED = ("SAME_AS", "entities", "HAS_ENTITY", "DEPICTS", "LINKS_TO")


def deciding(store: Store) -> Identification:
    return Identification(store, OPTIONS, lambda progress: None)


def state(store: Store) -> list[Any]:
    """What decisions change: everything but their own log."""
    return [row for row in exported(store) if row[0] in CHANGED]


def people(store: Store) -> tuple[Graph, str, str, str]:
    """Maria at the dock and in the yard, somebody called the boss at the gate, Jonas at the dock."""
    graph = Graph()
    maria = graph.seen("Maria Lopez", "dock", 0, 10, description="wears a red jacket")
    graph.seen("Maria Lopez", "yard", 100, 110, description="wears a blue jacket")
    boss = graph.seen("the Boss", "gate", 50, 60)
    jonas = graph.seen("Jonas Weber", "dock", 0, 10)
    graph.link(maria, "greets", jonas, "dock", 1)
    graph.link(maria, "leaves", boss, "yard", 101)
    graph.write(store)
    run(store)
    return graph, maria, boss, jonas


def again(store: Store, graph: Graph, *documents: str) -> None:
    """Documents are deleted and ingested anew."""
    for document in documents:
        store.removal.document(document)
    run(store)
    graph.write(store)
    run(store)


# --- merge --------------------------------------------------------------------------------------------------------------


def test_a_merge_joins_and_its_undo_parts(store: Store) -> None:
    _, maria, boss, _ = people(store)
    before = state(store)
    done = deciding(store).merge("Maria Lopez", "the Boss")
    assert status(store, maria, boss) == "confirmed"
    assert clusters(store)[maria] == clusters(store)[boss] == min(maria, boss)
    edge = same(store)[(min(maria, boss), max(maria, boss))]
    assert (edge["method"], edge["decision"]) == ("decision", done.decision.number)
    deciding(store).undo()
    assert state(store) == before


def test_a_merge_survives_the_document_that_goes_and_comes_again(store: Store) -> None:
    graph, maria, boss, _ = people(store)
    deciding(store).merge(maria, boss)
    before = state(store)
    store.removal.document("gate-1")
    run(store)
    assert (same(store), clusters(store)[maria]) == ({}, None)
    graph.write(store)
    run(store)
    assert state(store) == before


def test_types_must_agree_and_entities_be_there(store: Store) -> None:
    graph, _, _, _ = people(store)
    graph.seen("crate 7", "dock", 0, 10, type="object")
    graph.write(store)
    for wrong, error in (
        (("Maria Lopez", "crate 7"), UserError),
        (("Maria Lopez", "nobody"), NotFoundError),
        (("Maria Lopez", "Maria Lopez"), UserError),
    ):
        with pytest.raises(error):
            deciding(store).merge(*wrong)
    assert deciding(store).history() == []


def test_a_name_that_several_bear_has_to_be_told_by_key(store: Store) -> None:
    graph = Graph()
    keys = [graph.seen("Maria Lopez", "dock", 0, 10, id="p1"), graph.seen("Maria Lopez", "gate", 0, 10, id="p2")]
    graph.seen("Jonas Weber", "dock", 0, 10)
    graph.write(store)
    with pytest.raises(UserError, match="2 entities are called 'Maria Lopez'") as told:
        deciding(store).merge("Maria Lopez", "Jonas Weber")
    assert all(key in str(told.value) for key in keys)


# --- confirm and reject -------------------------------------------------------------------------------------------------


def proposed(store: Store) -> tuple[Graph, str, str, str]:
    """Maria and Mario, proposed; the key of the proposal."""
    graph = Graph()
    maria, mario = graph.seen("Maria Lopez", "dock", 0, 10), graph.seen("Mario Lopez", "gate", 100, 110)
    graph.write(store)
    run(store)
    [proposal] = deciding(store).proposals()["merges"]
    return graph, maria, mario, proposal["_key"]


def test_a_proposal_is_confirmed_or_rejected_and_both_are_undone(store: Store) -> None:
    _, maria, mario, key = proposed(store)
    before = state(store)
    for decide, wanted in ((deciding(store).confirm, "confirmed"), (deciding(store).reject, "rejected")):
        decide(key)
        assert status(store, maria, mario) == wanted
        deciding(store).undo()
        assert state(store) == before


def test_a_rejection_is_kept_through_re_ingest_and_nothing_joins_them_by_way_of_a_third(store: Store) -> None:
    graph = Graph()
    one, other = graph.seen("Maria Lopez", "dock", 0, 10), graph.seen("Maria Lopez", "gate", 100, 110, id="p1")
    graph.write(store)
    run(store)
    assert status(store, one, other) == "confirmed"
    deciding(store).reject(one, other)
    assert (status(store, one, other), clusters(store)[one]) == ("rejected", None)
    again(store, graph, "dock-1", "gate-1")
    assert status(store, one, other) == "rejected"
    third = graph.seen("Lopez, Maria", "yard", 200, 210)
    graph.write(store)
    run(store)
    assert clusters(store)[one] is None or clusters(store)[one] != clusters(store)[other]
    assert third in clusters(store)


def test_what_stands_is_not_contradicted_without_being_told_which_decision_to_undo(store: Store) -> None:
    _, maria, boss, jonas = people(store)
    who = deciding(store)
    who.merge(maria, boss)
    who.merge(boss, jonas)
    with pytest.raises(UserError, match="are one by decision 1, 2: undo that first"):
        who.reject(maria, jonas)
    who.undo(1)
    who.reject(maria, jonas)
    with pytest.raises(UserError, match=r"decision 4 holds .* apart.*: undo 4 first"):
        who.merge(maria, boss)


def test_the_last_word_on_a_pair_holds(store: Store) -> None:
    _, maria, boss, _ = people(store)
    who = deciding(store)
    who.merge(maria, boss)
    who.reject(maria, boss)
    assert status(store, maria, boss) == "rejected"
    who.undo(2)
    assert status(store, maria, boss) == "confirmed"


def test_undoing_in_any_order_ends_where_it_began(store: Store) -> None:
    _, maria, boss, jonas = people(store)
    before = state(store)
    who = deciding(store)
    who.merge(maria, boss), who.reject(maria, jonas), who.split(maria, documents=["yard-1"])
    for number in (2, 1, 3):
        who.undo(number)
    assert state(store) == before
    assert [row["stands"] for row in who.history()] == [False] * 3 + [False] * 3


def test_an_undo_is_undone(store: Store) -> None:
    _, maria, boss, _ = people(store)
    who = deciding(store)
    who.merge(maria, boss)
    after = state(store)
    who.undo()
    who.undo(2)
    assert [row for row in state(store) if row[0] != "SAME_AS"] == [row for row in after if row[0] != "SAME_AS"]
    assert status(store, maria, boss) == "confirmed"


def test_there_is_nothing_to_undo_or_nothing_of_that_number(store: Store) -> None:
    people(store)
    with pytest.raises(UserError, match="no decision to undo"):
        deciding(store).undo()
    with pytest.raises(NotFoundError, match="no decision 7"):
        deciding(store).undo(7)
    with pytest.raises(NotFoundError, match="no proposal 'x'"):
        deciding(store).confirm("x")


# --- split --------------------------------------------------------------------------------------------------------------


def mentions(store: Store, key: str) -> set[str]:
    rows = store.aql("FOR m IN HAS_ENTITY FILTER m._to == @id RETURN m.document", {"id": f"entities/{key}"}).rows
    return set(rows)


def test_a_split_gives_a_document_to_another_and_its_undo_gives_it_back(store: Store) -> None:
    _, maria, _, _ = people(store)
    before = state(store)
    product = deciding(store).split("Maria Lopez", documents=["yard-1"], name="Maria of the yard").decision.product
    assert (mentions(store, maria), mentions(store, product)) == ({"dock-1"}, {"yard-1"})
    rows = {r["_key"]: r for r in store.aql("FOR e IN entities RETURN e").rows}
    assert (rows[product]["name"], rows[product]["cameras"], rows[product]["first_ms"]) == (
        "Maria of the yard",
        ["yard"],
        100_000,
    )
    assert (rows[maria]["cameras"], rows[maria]["last_ms"]) == (["dock"], 10_000)
    assert (rows[maria]["description"], rows[product]["description"]) == ("wears a red jacket", "wears a blue jacket")
    links = {(r["_from"], r["relation"]) for r in store.aql("FOR l IN LINKS_TO RETURN l").rows}
    assert links == {(f"entities/{maria}", "greets"), (f"entities/{product}", "leaves")}
    assert status(store, maria, product) is None
    deciding(store).undo()
    assert state(store) == before


def test_a_split_is_there_again_after_its_document_was_ingested_anew(store: Store) -> None:
    graph, maria, _, _ = people(store)
    product = deciding(store).split(maria, documents=["yard-1"]).decision.product
    before = state(store)
    graph.write(store)  # the same document again, as a run that was interrupted writes it
    run(store)
    assert state(store) == before
    again(store, graph, "yard-1")
    assert state(store) == before
    again(store, graph, "dock-1", "yard-1", "gate-1")
    assert state(store) == before
    assert mentions(store, product) == {"yard-1"}


def test_what_was_split_off_can_be_split_merged_and_only_then_is_its_split_undone(store: Store) -> None:
    _, maria, boss, _ = people(store)
    who = deciding(store)
    product = who.split(maria, documents=["yard-1"]).decision.product
    who.merge(product, boss)
    assert clusters(store)[product] == clusters(store)[boss] == min(product, boss)
    with pytest.raises(UserError, match="decision 2 is about what decision 1 made: undo 2 first"):
        who.undo(1)
    who.undo(2), who.undo(1)
    assert product not in clusters(store)


def test_chunks_and_tracks_are_split_off_too(store: Store) -> None:
    graph = Graph()
    maria = graph.seen("Maria Lopez", "dock", 0, 10)
    graph.seen("Maria Lopez", "dock", 60, 70)
    graph.track("1", "dock", 0, 10)
    graph.seen("Maria Lopez", "dock", 90, 100, modality="detection")
    [track] = graph.vertices["tracks"]
    shown = graph.edges["DEPICTS"]
    graph.edges["DEPICTS"] = {key: {**edge, "_to": f"entities/{maria}"} for key, edge in shown.items()}
    graph.seen("Maria Lopez", "dock", 0, 9, modality="detection")
    graph.write(store)
    run(store)
    who = deciding(store)
    by_chunk = who.split(maria, chunks=["dock-1-0000060000"]).decision.product
    assert [
        m["offset_ms"]
        for m in store.aql("FOR m IN HAS_ENTITY FILTER m._to == @id RETURN m", {"id": f"entities/{by_chunk}"}).rows
    ] == [60_000]
    by_track = who.split(maria, tracks=[track]).decision.product
    moved = store.aql("FOR m IN HAS_ENTITY FILTER m._to == @id RETURN m", {"id": f"entities/{by_track}"}).rows
    assert [(m["offset_ms"], m["modality"]) for m in moved] == [(0, "detection")]
    assert store.aql("FOR d IN DEPICTS RETURN d._to").rows == [f"entities/{by_track}"]


@pytest.mark.parametrize(
    ("documents", "why"),
    [
        (["gate-1"], "nothing of that entity"),
        (["dock-1", "yard-1"], "nothing would be left"),
        ([], "name what belongs"),
    ],
)
def test_a_split_that_takes_nothing_or_everything_is_refused(store: Store, documents: list[str], why: str) -> None:
    people(store)
    with pytest.raises(UserError, match=why):
        deciding(store).split("Maria Lopez", documents=documents)


def test_a_proposed_split_is_followed_or_dismissed(store: Store) -> None:
    graph = Graph()
    key = graph.seen("Maria Lopez", "dock", 0, 20)
    graph.seen("Maria Lopez", "gate", 0, 20)
    graph.write(store)
    run(store)
    who = deciding(store)
    assert [entity["_key"] for entity in who.proposals()["splits"]] == [key]
    who.reject(key)
    assert who.proposals()["splits"] == []
    assert [entity["_key"] for entity in who.proposals(status="rejected")["splits"]] == [key]
    who.undo()
    product = who.confirm(key).decision.product
    assert (mentions(store, key), mentions(store, product)) == ({"dock-1"}, {"gate-1"})
    assert who.proposals()["splits"] == []


def test_two_who_decide_at_one_moment_get_two_numbers(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    _, maria, boss, jonas = people(store)
    other = deciding(store)
    decide = type(store.identities).decide
    raced: list[bool] = []

    def overtaken(self: Any, record: Any, touched: Any) -> bool:
        if not raced:
            raced.append(True)
            other.merge(maria, boss)
        return decide(self, record, touched)

    monkeypatch.setattr(type(store.identities), "decide", overtaken)
    deciding(store).reject(jonas, boss)
    assert [(row["number"], row["kind"]) for row in other.history()] == [(1, "merge"), (2, "reject")]


def test_a_decision_that_was_entered_before_a_kill_is_carried_out_by_the_next_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, maria, boss, _ = people(store)
    with monkeypatch.context() as patched:
        patched.setattr(Identification, "resolve", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            deciding(store).merge(maria, boss)
    assert status(store, maria, boss) is None
    run(store)
    assert status(store, maria, boss) == "confirmed"


# --- looking ------------------------------------------------------------------------------------------------------------


def test_entities_that_are_one_are_listed_and_shown_as_one(store: Store) -> None:
    _, maria, boss, jonas = people(store)
    who = deciding(store)
    who.merge(maria, boss)
    rows = {row["_key"]: row for row in who.listed(type="person")}
    both = rows[min(maria, boss)]
    assert (both["name"], both["aliases"], sorted(both["members"])) == (
        "Maria Lopez",
        ["Maria Lopez", "the Boss"],
        sorted((maria, boss)),
    )
    assert (both["mentions"], both["cameras"]) == (3, ["dock", "gate", "yard"])
    assert set(rows) == {min(maria, boss), jonas}
    assert [row["_key"] for row in who.listed(name="boss")] == [min(maria, boss)]
    shown = who.show("the Boss")
    assert sorted(member["_key"] for member in shown["members"]) == sorted((maria, boss))
    assert shown["identities"][0]["status"] == "confirmed"


def test_how_cameras_lie_is_told_replaced_and_forgotten(store: Store) -> None:
    people(store)
    who = deciding(store)
    who.adjoin("yard", "dock", min_ms=5_000, max_ms=60_000)
    who.adjoin("dock", "yard", overlapping=True)
    assert who.adjacent() == [{"a": "dock", "b": "yard", "min_ms": 0, "max_ms": None, "overlapping": True}]
    who.part("yard", "dock")
    assert who.adjacent() == []
    with pytest.raises(UserError, match="not adjacent to itself"):
        who.adjoin("dock", "dock")
    with pytest.raises(UserError, match="shorter than the shortest"):
        who.adjoin("dock", "yard", min_ms=10, max_ms=5)


def test_looks_given_later_join_tracks(store: Store) -> None:
    graph = Graph()
    one, other = graph.track("1", "dock", 0, 20), graph.track("2", "dock", 30, 50)
    graph.write(store)
    run(store)
    assert status(store, one, other) is None
    who = deciding(store)
    who.look((key, [1.0, 0.5]) for key in graph.vertices["tracks"])
    who.resolve()
    assert status(store, one, other) == "confirmed"


def test_what_was_decided_already_is_not_decided_again_and_no_name_is_no_name(store: Store) -> None:
    graph = Graph()
    names = ("Ana Li", "Bo Dee", "Cy Fox")
    one, other, third = (graph.seen(name, "dock", 40 * n, 40 * n + 10) for n, name in enumerate(names))
    graph.write(store)
    entities = Identification(store, OPTIONS, lambda progress: None)
    entities.merge(one, other)
    entities.merge(other, third)
    for again in ((one, other), (one, third), (third, other, one)):
        with pytest.raises(UserError, match="says so already"):
            entities.merge(*again)
    assert [entry["kind"] for entry in entities.history()] == ["merge", "merge"]
    for name in ("", "  "):
        with pytest.raises(UserError, match="--name is empty"):
            entities.split(one, documents=["dock-1"], name=name)
    entities.undo()
    assert entities.merge(one, third).decision.number == 4
