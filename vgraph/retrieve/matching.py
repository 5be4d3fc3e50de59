"""Which of the events that were told a clause means: the same in sense, with everybody and everything it names in their roles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from vgraph.retrieve.clauses import Argument, Clause
from vgraph.retrieve.events import Event, Filler, ordered
from vgraph.retrieve.naming import singular
from vgraph.retrieve.verbs import MUTUAL, VERBS, widened
from vgraph.retrieve.words import content_words

SAME, ALIKE, WIDE, NEAR = 1.0, 0.95, 0.8, 0.6
"""How well an event's verb is the one asked for: that verb, one of its sense, one that it takes in, one near in meaning."""
_NEXT = {
    "to": ("to", "into"),
    "into": ("into", "to", "place"),
    "place": ("place", "into"),
    "theme": ("theme", "with"),
    "from": ("from", "agent"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The slot a question asks for: its role, the kind of what stands in it, the entities it is one of."""

    role: str
    argument: Argument


@dataclass(frozen=True, slots=True)
class Pattern:
    """What an event must be to be meant. `places` are where it must have been; `words` must stand in what is told of it."""

    verb: str
    senses: frozenset[str]
    roles: Mapping[str, tuple[Argument, ...]]
    places: tuple[Argument, ...]
    asked: Asked | None
    lead: tuple[str, ...] = ()
    negated: bool = False

    @property
    def mentions(self) -> Iterable[Argument]:
        """Arguments that name entities which are no places."""
        return (a for found in self.roles.values() for a in found if a.mention is not None and not a.asked)

    @property
    def unknown(self) -> tuple[Argument, ...]:
        """What is named by words that nothing is called by."""
        return tuple(
            a
            for found in (*self.roles.values(), self.places)
            for a in found
            if a.words and not a.mention and not a.asked
        )


def pattern(clause: Clause) -> Pattern:
    roles = ordered(clause)
    asked = next((Asked(role, a) for role, found in roles.items() for a in found if a.asked), None)
    kept = {role: tuple(a for a in found if not a.asked) for role, found in roles.items() if role != "place"}
    places = tuple(a for a in roles.get("place", ()) if not a.asked)
    verb = f"{clause.verb} {clause.particle}".strip()
    return Pattern(
        verb, clause.senses, {r: f for r, f in kept.items() if f}, places, asked, clause.lead, clause.negated
    )


# --- matching -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """An event that is meant, and how surely: the verb's share and how plainly everybody is named."""

    event: Event
    score: float


def matches(wanted: Pattern, told: Iterable[Event], near: Mapping[str, float] | None = None) -> list[Match]:
    """The events that are meant, in order of time. `near`: how near in meaning verbs are to the one asked for."""
    found = []
    for event in told:
        score = verb_score(wanted, event, near or {})
        if score and event.negated == wanted.negated and fits(wanted, event):
            found.append(Match(event, score * plainly(wanted, event)))
    return sorted(found, key=lambda match: (match.event.start_ms, match.event.end_ms))


def verb_score(wanted: Pattern, event: Event, near: Mapping[str, float]) -> float:
    if wanted.verb in event.verbs:
        return SAME
    if wanted.senses & event.senses:
        return ALIKE
    if widened(wanted.senses) & event.senses:
        return WIDE
    if not wanted.senses or wanted.verb.split()[0] not in VERBS:
        return max((NEAR for verb in event.verbs if near.get(verb, 0.0) >= 1.0), default=0.0)
    return 0.0


def fits(wanted: Pattern, event: Event) -> bool:
    """Whether everybody and everything that is named stands in the event, in the role that is asked for."""
    for role, arguments in wanted.roles.items():
        if not all_or_any(arguments, lambda argument, role=role: _stands(role, argument, event)):  # type: ignore[misc]
            return False
    return all_or_any(wanted.places, lambda place: happened_at(place, event))


def all_or_any(arguments: Sequence[Argument], holds: Callable[[Argument], bool]) -> bool:
    """Whether something holds of all arguments, or of any of those that an `or` joins."""
    alternatives = [a for a in arguments if a.alternative]
    return all(holds(a) for a in arguments if not a.alternative) and (
        not alternatives or any(holds(a) for a in alternatives)
    )


def _stands(role: str, argument: Argument, event: Event) -> bool:
    if argument.open:
        return True
    fillers = [filler for name in _NEXT.get(role, (role,)) for filler in event.roles.get(name, ())]
    if role == "with" or (role == "agent" and event.senses & MUTUAL):
        fillers = list(event.roles.get("with", ()))
    if argument.mention is not None:
        return any(filler.keys & argument.mention.keys for filler in fillers) or (
            role not in ("agent", "theme", "to", "from", "into", "with") and mentioned(argument, event)
        )
    return said_of(argument.words, event)


def mentioned(argument: Argument, event: Event) -> bool:
    keys = argument.mention.keys if argument.mention else frozenset()
    return any(filler.keys & keys for filler in event.fillers())


def said_of(words: Sequence[str], event: Event) -> bool:
    """Whether words that name nothing known stand in what is told of the event."""
    wanted = content_words(" ".join(words)) or frozenset(words)
    return wanted <= content_words(event.text)


def happened_at(place: Argument, event: Event) -> bool:
    """Whether an event took place there: as it is told, or else by the camera that saw it."""
    if place.mention is None:
        return place.open or said_of(place.words, event)
    told = event.roles.get("place", ())
    keys = place.mention.keys
    if any(filler.keys & keys for filler in (*told, *event.roles.get("into", ()), *event.roles.get("from", ()))):
        return True
    if place.mention.type == "camera":
        return any(f"cameras/{camera}" in keys for camera in event.cameras)
    if any(filler.type == "location" for filler in told):
        return False
    return any(f"cameras/{camera}" in keys for camera in event.cameras)


def plainly(wanted: Pattern, event: Event) -> float:
    """Less where somebody is only taken for who is asked for, by looks."""
    guessed = [
        f for f in event.fillers() if f.guess and any(a.mention and f.keys & a.mention.keys for a in wanted.mentions)
    ]
    return 0.8 if guessed else 1.0


def answers(asked: Asked, event: Event) -> list[Filler]:
    """Who or what stands in the slot that is asked for."""
    roles: tuple[str, ...] = (asked.role,)
    if event.senses & MUTUAL and asked.role in ("agent", "to", "with", "theme"):
        roles = ("with",)
    elif asked.role in ("to", "theme", "into", "from"):
        roles = _NEXT.get(asked.role, roles)
    for role in roles:
        found = [filler for filler in event.roles.get(role, ()) if of_kind(filler, asked.argument)]
        if found:
            return found
    return []


def of_kind(filler: Filler, argument: Argument) -> bool:
    """Whether a filler is of the kind, or one of those, asked for."""
    if argument.mention is not None:
        return bool(filler.keys & argument.mention.keys)
    if argument.kind == "person":
        return filler.type in ("", "person")
    if argument.kind == "object":
        return filler.type not in ("person", "location")
    if argument.kind and filler.type not in ("", argument.kind):
        return False
    wanted = {singular(word) for word in argument.words}
    return not wanted or wanted <= {singular(w) for w in re.findall(r"\w+", f"{filler.text} {filler.type}".casefold())}
