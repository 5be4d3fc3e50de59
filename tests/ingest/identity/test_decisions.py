"""The log of decisions: what stands, what is the last word on a pair, what rests on what."""

from __future__ import annotations

from vgraph.ingest.identity.decisions import Decision, Selection, decision, dependents, rulings, standing


def entry(number: int, kind: str, *entities: str, of: int | None = None, documents: tuple[str, ...] = ()) -> Decision:
    return Decision(number, kind, entities, Selection(documents), None, of)  # type: ignore[arg-type]


def test_an_undo_takes_back_and_its_undo_brings_back() -> None:
    log = [entry(1, "merge", "a", "b"), entry(2, "undo", "a", "b", of=1)]
    assert standing(log) == ()
    assert [d.number for d in standing([*log, entry(3, "undo", "a", "b", of=2)])] == [1]
    assert standing([*log, entry(3, "undo", of=2), entry(4, "undo", of=3)]) == ()


def test_decisions_are_undone_in_any_order() -> None:
    log = [entry(1, "merge", "a", "b"), entry(2, "reject", "c", "d"), entry(3, "merge", "e", "f")]
    assert [d.number for d in standing([*log, entry(4, "undo", of=1), entry(5, "undo", of=3)])] == [2]


def test_the_last_word_on_a_pair_counts_whichever_way_round_it_is_named() -> None:
    log = [entry(1, "merge", "b", "a"), entry(2, "reject", "a", "b")]
    assert rulings(standing(log))[("a", "b")].same is False
    assert rulings(standing([*log, entry(3, "undo", of=2)]))[("a", "b")].same is True


def test_a_merge_of_several_is_one_of_the_first_with_each() -> None:
    assert set(rulings([entry(1, "merge", "b", "a", "c")])) == {("a", "b"), ("b", "c")}


def test_a_split_holds_apart_what_it_made_and_the_products_of_two_splits() -> None:
    one, two = entry(1, "split", "a", documents=("x",)), entry(2, "split", "a", documents=("y",))
    held = {pair for pair, ruling in rulings([one, two]).items() if not ruling.same}
    assert held == {tuple(sorted(p)) for p in [("a", one.product), ("a", two.product), (one.product, two.product)]}


def test_the_same_split_makes_the_same_entity_on_every_machine() -> None:
    assert entry(1, "split", "a", documents=("x",)).product == entry(9, "split", "a", documents=("x",)).product
    assert entry(1, "split", "a", documents=("x",)).product == "697a36ec2c07d3a3e488682a"


def test_what_was_decided_of_a_splits_product_rests_on_the_split() -> None:
    made = entry(1, "split", "a", documents=("x",))
    later = entry(2, "merge", made.product, "c")
    assert dependents(1, [made, later]) == (later,)
    assert dependents(2, [made, later]) == ()


def test_a_decision_comes_back_from_its_record_as_it_was() -> None:
    one = Decision(7, "split", ("a",), Selection(("d",), ("t",), ("c",)), "Maria B")
    assert decision(one.record(5)) == one
    assert one.key == "00000007"
