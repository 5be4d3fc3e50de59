"""Unions by score, best first; none against a decision, a veto, or an equal claim of somebody else."""

from __future__ import annotations

import random
from collections.abc import Sequence

from vgraph.ingest.identity.clusters import Claim, Outcome, clustered
from vgraph.ingest.identity.decisions import Pair, Ruling


def none(ours: Sequence[str], theirs: Sequence[str]) -> str | None:
    return None


def apart(*pairs: tuple[str, str]):  # type: ignore[no-untyped-def]
    """Forbids what would bring two together that are not one."""
    forbidden = {frozenset(pair) for pair in pairs}

    def forbids(ours: Sequence[str], theirs: Sequence[str]) -> str | None:
        return "two places" if any(frozenset((a, b)) in forbidden for a in ours for b in theirs) else None

    return forbids


def run(claims: Sequence[tuple[str, str, float]], forbids=none, ruled: dict[Pair, Ruling] | None = None) -> Outcome:  # type: ignore[no-untyped-def]
    return clustered([Claim(a, b, odds, odds > 3) for a, b, odds in claims], ruled or {}, forbids)


def test_claims_above_the_bar_join_and_the_smallest_key_stands_for_all() -> None:
    found = run([("b", "c", 5.0), ("a", "c", 4.0), ("c", "d", 1.0)])
    assert found.canonical == {"a": "a", "b": "a", "c": "a"}
    assert found.status == {("b", "c"): "confirmed", ("a", "c"): "confirmed", ("c", "d"): "proposed"}


def test_whatever_two_members_forbid_forbids_the_union_that_would_bring_them_together() -> None:
    found = run([("a", "b", 8.0), ("b", "c", 4.0)], apart(("a", "c")))
    assert found.canonical == {"a": "a", "b": "a"}
    assert found.status[("b", "c")] == "proposed"
    assert found.reasons[("b", "c")] == "two places"


def test_of_two_equal_claims_that_exclude_each_other_neither_wins() -> None:
    found = run([("a", "x", 5.0), ("b", "x", 4.9)], apart(("a", "b")))
    assert found.canonical == {}
    assert set(found.status.values()) == {"proposed"}
    assert "as good a claim" in found.reasons[("a", "x")]


def test_a_clearly_better_claim_wins() -> None:
    assert run([("a", "x", 8.0), ("b", "x", 4.0)], apart(("a", "b"))).canonical == {"a": "a", "x": "a"}


def test_a_decision_stands_above_scores_and_vetoes() -> None:
    ruled = {("a", "b"): Ruling(True, 1, "merge"), ("c", "d"): Ruling(False, 2, "reject")}
    found = run([("a", "b", -4.0), ("c", "d", 9.0)], apart(("a", "b")), ruled)
    assert found.canonical == {"a": "a", "b": "a"}
    assert found.status == {("a", "b"): "confirmed", ("c", "d"): "rejected"}


def test_what_is_held_apart_is_not_joined_by_way_of_a_third() -> None:
    found = run([("a", "x", 9.0), ("b", "x", 5.0)], none, {("a", "b"): Ruling(False, 1, "reject")})
    assert found.canonical == {"a": "a", "x": "a"}
    assert found.reasons[("b", "x")] == "would join what decision 1 holds apart"


def test_the_order_in_which_claims_come_changes_nothing() -> None:
    chance = random.Random(3)
    keys = [f"k{n:02d}" for n in range(30)]
    claims = [(*sorted(chance.sample(keys, 2)), chance.uniform(0, 9)) for _ in range(80)]
    forbids = apart(*((f"k{n:02d}", f"k{n + 1:02d}") for n in range(0, 30, 3)))
    first = run(claims, forbids)
    for _ in range(5):
        chance.shuffle(claims)
        assert run(claims, forbids) == first


def test_members_of_a_cluster_are_never_of_those_that_exclude_each_other() -> None:
    chance = random.Random(4)
    keys = [f"k{n:02d}" for n in range(40)]
    excluded = [tuple(sorted(chance.sample(keys, 2))) for _ in range(60)]
    claims = [(*sorted(chance.sample(keys, 2)), chance.uniform(3.1, 9)) for _ in range(200)]
    found = run(claims, apart(*excluded)).canonical
    assert len(set(found.values())) < len(keys)
    assert not [pair for pair in excluded if found.get(pair[0], pair[0]) == found.get(pair[1], pair[1])]
