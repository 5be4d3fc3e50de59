"""The event that a question is asked around (`before the van left`): found, turned into the time that it leaves, and not told again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vgraph.retrieve.events import Event
from vgraph.retrieve.facts import Facts
from vgraph.retrieve.ground import Ground
from vgraph.retrieve.naming import Names
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
    found = ground.find(around.pattern)
    return Found(around.how, found[0].event, around) if found else None


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
