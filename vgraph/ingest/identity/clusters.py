"""From pairs to clusters: unions by score, best first, none against a decision, a veto, or an equal claim of somebody else.

A cluster is never wider than its evidence: whatever two of its members forbid, forbids the union that would bring them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vgraph.ingest.identity.decisions import Pair, Ruling, pair

Status = Literal["proposed", "confirmed", "rejected"]
MARGIN = 1.5
"""Two claims on one entity are equal when their odds differ by less than this (natural logarithm)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Two entities (keys, the smaller first) that may be one; `odds` is the sum of its weights."""

    first: str
    second: str
    odds: float
    confirmable: bool

    @property
    def pair(self) -> Pair:
        return self.first, self.second


Forbids = Callable[[Sequence[str], Sequence[str]], str | None]
"""Why two clusters of entities cannot be one, or None."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status` of each pair, why where it is less than its score deserves, and each entity's representative, the smallest key."""

    status: Mapping[Pair, Status]
    reasons: Mapping[Pair, str]
    canonical: Mapping[str, str]


def clustered(claims: Iterable[Claim], ruled: Mapping[Pair, Ruling], forbids: Forbids) -> Outcome:
    """Decide pairs. Decisions come first, in their order; then claims, those of highest odds first, ties by key."""
    work = _Clusters(ruled, forbids)
    for couple, ruling in sorted(ruled.items(), key=lambda item: item[1].number):
        work.status[couple] = "confirmed" if ruling.same else "rejected"
        if ruling.same:
            work.join(couple)
    ordered = sorted((c for c in claims if c.pair not in ruled), key=lambda c: (-c.odds, c.pair))
    rivals: dict[str, list[Claim]] = {}
    for claim in ordered:
        for key in claim.pair:
            rivals.setdefault(key, []).append(claim)
    for claim in ordered:
        work.take(claim, rivals)
    return Outcome(work.status, work.reasons, work.canonical())


class _Clusters:
    """Sets of entities that are one, as they grow."""

    def __init__(self, ruled: Mapping[Pair, Ruling], forbids: Forbids) -> None:
        self._ruled, self._forbids = ruled, forbids
        self._members: dict[str, list[str]] = {}
        self._root: dict[str, str] = {}
        self.status: dict[Pair, Status] = {}
        self.reasons: dict[Pair, str] = {}

    def root(self, key: str) -> str:
        return self._root.get(key, key)

    def members(self, key: str) -> list[str]:
        return self._members.get(self.root(key), [key])

    def join(self, couple: Pair) -> None:
        one, other = sorted(map(self.root, couple))
        if one == other:
            return
        joined = sorted([*self.members(one), *self.members(other)])
        self._members.pop(other, None)
        self._members[one] = joined
        self._root.update(dict.fromkeys(joined, one))

    def take(self, claim: Claim, rivals: Mapping[str, Sequence[Claim]]) -> None:
        why = self._objection(claim, rivals) if claim.confirmable else None
        self.status[claim.pair] = "confirmed" if claim.confirmable and why is None else "proposed"
        if why:
            self.reasons[claim.pair] = why
        elif claim.confirmable:
            self.join(claim.pair)

    def _objection(self, claim: Claim, rivals: Mapping[str, Sequence[Claim]]) -> str | None:
        if self.root(claim.first) == self.root(claim.second):
            return None
        return self._barred(claim.first, claim.second) or self._rivalled(claim, rivals)

    def _barred(self, one: str, other: str) -> str | None:
        """Why the clusters of two entities cannot become one."""
        ours, theirs = self.members(one), self.members(other)
        for a in ours:
            for b in theirs:
                ruling = self._ruled.get(pair(a, b))
                if ruling and not ruling.same:
                    return f"would join what decision {ruling.number} holds apart"
        return self._forbids(ours, theirs)

    def _rivalled(self, claim: Claim, rivals: Mapping[str, Sequence[Claim]]) -> str | None:
        """Somebody who can claim one of the two as well, and cannot be one with the other: nobody gets it."""
        for shared, mine in (claim.pair, claim.pair[::-1]):
            for rival in rivals[shared]:
                third = rival.first if rival.second == shared else rival.second
                near = rival.odds > claim.odds - MARGIN and self.root(third) != self.root(mine)
                if near and self._barred(mine, third) and not self._barred(shared, third):
                    return f"{third} has as good a claim to {shared} as {mine}"
        return None

    def canonical(self) -> dict[str, str]:
        return {key: root for root, members in self._members.items() for key in members}
