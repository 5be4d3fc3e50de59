"""What verbs mean alike, so that `lifts` answers for `picked up` and `receives` for `was given`.

A sense is written (english.toml) as its members: a verb's lemma, its particle, `@` prepositions one of which must follow, with the kind of
what they lead, and `#` the kind of its object. `get @into|in:vehicle` is "get" with "into" or "in" before a vehicle. What is of no known
kind may be any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from vgraph.retrieve.english import listed, named, words

SENSES = listed("senses")
NOUNS = named("nouns")
"""Nouns that name an event, as the verb that tells it."""
MIRRORED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "receive": ("give", {"agent": "to", "from": "agent"}),
    "buy": ("sell", {"agent": "to", "from": "agent"}),
}
"""The same event told from its other end: the sense it is kept under, and what its roles are called there."""
MUTUAL = frozenset({"talk", "meet", "fight", "hug", "greet"})
"""What two do with one another: who is named first tells nothing of who did what."""
WIDER = listed("wider")
"""What a looser verb takes in."""
STATES = frozenset({"stay", "see"})
"""Verbs that ask where somebody was rather than what they did."""
PARTICLES = words("particles")
LIGHT = words("light")
"""Verbs that give way to the one after them: `spent talking`, `was seen picking up`, `did it take to load`."""


@dataclass(frozen=True, slots=True)
class _Member:
    sense: str
    verb: str
    particle: str
    prepositions: frozenset[str]
    led: str
    kind: str


def _members() -> dict[str, list[_Member]]:
    found: dict[str, list[_Member]] = {}
    for sense, text in SENSES.items():
        for written in text:
            member = _member(sense, written.split())
            found.setdefault(member.verb, []).append(member)
    return found


def _member(sense: str, parts: Sequence[str]) -> _Member:
    kind = next((part[1:] for part in parts if part.startswith("#")), "")
    prepositions, _, led = next((part[1:] for part in parts if part.startswith("@")), "").partition(":")
    verb, *particle = [part for part in parts if part[0] not in "@#"]
    return _Member(sense, verb, " ".join(particle), frozenset(prepositions.split("|")) - {""}, led, kind)


_MEMBERS = _members()
VERBS = frozenset(_MEMBERS)
"""Lemmas that are known as verbs."""


@lru_cache(maxsize=8192)
def senses(verb: str, particle: str, leads: frozenset[tuple[str, str]], theme: str | None) -> frozenset[str]:
    """What a verb may mean with its particle, the prepositions after it with the kinds they lead, and the kind of its object.

    A kind that is not known is empty, the theme's is None where there is no object. The closest readings count alone: who takes a box out
    of a van picks nothing up.
    """
    scored = [(_closeness(member, particle, leads, theme), member.sense) for member in _MEMBERS.get(verb, ())]
    best = max((score for score, _ in scored), default=-1.0)
    return frozenset(sense for score, sense in scored if score == best >= 0)


def _closeness(member: _Member, particle: str, leads: Collection[tuple[str, str]], theme: str | None) -> float:
    """How much of what a member asks for is there; -1 where something is not."""
    if member.particle != particle and (member.particle or particle in _particles(member.verb)):
        return -1  # a particle that no member has is one of place: `walks through` walks
    led = [kind for preposition, kind in leads if preposition in member.prepositions]
    if member.prepositions and not any(not member.led or kind in ("", member.led) for kind in led):
        return -1
    if member.kind and (theme is None or theme not in ("", member.kind)):
        return -1
    known = bool(member.kind and theme) + 1.5 * bool(member.led and member.led in led)
    return 2 * bool(member.prepositions) + 2 * bool(member.particle) + 2 * known + 1 - (bool(member.kind) and not theme)


def _particles(verb: str) -> set[str]:
    return {member.particle for member in _MEMBERS[verb]}


def takes_particle(verb: str, particle: str) -> bool:
    return verb in _MEMBERS and particle in _particles(verb)


def widened(found: Iterable[str]) -> frozenset[str]:
    """Senses with those that they take in."""
    kept = frozenset(found)
    return kept | {more for sense in kept for more in WIDER.get(sense, ())}
