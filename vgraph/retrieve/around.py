"""The event that a question is asked around (`before the van left`): found, turned into the time that it leaves, and not told again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vgraph.retrieve.events import Event
from vgraph.retrieve.facts import Facts
from vgraph.retrieve.ground import Ground, asks_state
from vgraph.retrieve.matching import Pattern
from vgraph.retrieve.naming import Names
from vgraph.retrieve.presence import at, stays
from vgraph.retrieve.understanding import AroundClause, Direction, read
from vgraph.types import EvidenceChunk, Filters, Occurrence

DURING_MS = 2_000
"""How far `while` and `when` reach beyond the event, for clocks and observers are a little off."""


@dataclass(frozen=True, slots=True)
class Found:
    """The event as it was found, and how the question lies to it."""

    how: Direction
    event: Event
    around: AroundClause

    @property
    def occurrence(self) -> Occurrence:
        source = self.event.sources[0]
        told = " ".join(self.event.text.split())
        return Occurrence(self.event.start_ms, self.event.end_ms, source.chunk.camera, source.chunk.id, told[:500])


def event_around(question: str, facts: Facts, filters: Filters) -> Found | None:
    """The event that a question is asked around, the first that is meant; None where none is, or none was found."""
    asked = read(question, Names(facts.known(question, filters)))
    return None if asked.around is None else found_around(asked.around, Ground(facts, filters))


def found_around(around: AroundClause, ground: Ground) -> Found | None:
    event = _stay(around.pattern, ground) if asks_state(around.pattern) else None
    if event is None:
        found = ground.find(around.pattern)
        event = found[0].event if found else None
    return Found(around.how, event, around) if event else None


def _stay(wanted: Pattern, ground: Ground) -> Event | None:
    """The first stay of somebody at a place as an event; None where no one is named, or none was seen there."""
    keys = {key for argument in wanted.mentions if argument.mention for key in argument.mention.keys}
    if not keys or wanted.unknown:
        return None
    seen = [s for s in ground.seen(ground.facts.clips_of(sorted(keys), ground.filters)) if s.who.keys & keys]
    for place in wanted.places:
        seen = at(place, seen)
    if not seen:
        return None
    first = stays(seen)[0]
    sources = [replace(s.source, start_ms=s.start_ms, end_ms=s.end_ms, exact=True) for s in first.sightings]
    telling = {source.line.text: None for source in sources}
    return Event(Counter(["be"]), frozenset(["stay"]), {"agent": (first.who,)}, sources, telling=telling)


def beside(filters: Filters, found: Found) -> Filters:
    """The filters with the time that an event leaves: what is before it, after it, or while it lasts."""
    low, high, event = filters.start_ms, filters.end_ms, found.event
    if found.how == "before":
        return replace(filters, end_ms=event.start_ms if high is None else min(event.start_ms, high))
    if found.how == "after":
        return replace(filters, start_ms=event.end_ms if low is None else max(event.end_ms, low))
    return replace(filters, start_ms=event.start_ms - DURING_MS, end_ms=event.end_ms + DURING_MS)


def without_event(chunks: Sequence[EvidenceChunk], found: Found) -> list[EvidenceChunk]:
    """Chunks without the lines that tell the event itself, unless it is what goes on meanwhile that is asked for."""
    if found.how == "during":
        return list(chunks)
    telling = {(source.chunk.document, source.line.offset_ms, source.line.text) for source in found.event.sources}
    left = [
        replace(
            chunk,
            lines=tuple(line for line in chunk.lines if (chunk.document, line.offset_ms, line.text) not in telling),
        )
        for chunk in chunks
    ]
    return [chunk for chunk in left if chunk.lines]
