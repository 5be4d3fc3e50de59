"""What a question by rules stands on: the clips that can hold its answer, read once, and the events in them that it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vgraph.retrieve.clauses import Argument, Mention
from vgraph.retrieve.events import Event, events
from vgraph.retrieve.facts import MOST_CLIPS, Covered, Facts, Told
from vgraph.retrieve.matching import ALIKE, Match, Pattern, all_or_any, matches, verb_score
from vgraph.retrieve.presence import Sighting, is_at, sightings
from vgraph.retrieve.verbs import STATES
from vgraph.types import Evidence, EvidenceChunk, Filters

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
NEAR = 0.6
"""Least cosine of two verb phrases, of which one is in no list, to be taken for each other."""
LONGEST_MS = 6 * 3_600_000
"""Without an entity to look for, a span up to this long is read whole; a longer one by what search finds in it."""
NEXT_MS = 12_000
"""How far the captions next to an event are from it."""
CLOCK_MS = 500
"""How much earlier than the asked time an event may be told to begin: clocks and observers are a little off."""


@dataclass(slots=True)
class Ground:
    """The graph as one question may see it. `search` finds evidence by meaning and words, where nothing named leads there."""

    facts: Facts
    filters: Filters
    evidence: Evidence | None = None
    similarity: Similarity | None = None
    search: Callable[[str, Filters], Evidence] | None = None
    cameras: Sequence[Mapping[str, Any]] = ()
    read: dict[str, EvidenceChunk] = field(default_factory=dict)
    complete: bool = True
    _told: dict[tuple[tuple[str, ...], Filters], Told] = field(default_factory=dict)

    def within(self, **changes: Any) -> Ground:
        """The same ground under other filters."""
        return replace(self, filters=replace(self.filters, **changes))

    @property
    def places(self) -> dict[str, str]:
        """Cameras (key) by where they look."""
        return {camera["_key"]: camera["place"] or camera["label"] for camera in self.cameras}

    @property
    def zone(self) -> str:
        """The zone of the cameras, UTC where they have several."""
        zones = {camera["tz"] for camera in self.cameras}
        return zones.pop() if len(zones) == 1 else "UTC"

    # --- events -----------------------------------------------------------------------------------------------------------

    def find(self, wanted: Pattern) -> list[Match]:
        """The events that are meant, in order of time: those by their very verb or sense alone where there are any."""
        told = self.told(self.clips_for(wanted))
        if wanted.senses:
            found = matches(wanted, events(told, lambda event: verb_score(wanted, event, {})))
        else:
            every = events(told)
            found = matches(wanted, every, self._near(wanted, every))
        found = [match for match in found if self._in_time(match.event) and self._there(wanted, match.event)]
        plain = [match for match in found if verb_score(wanted, match.event, {}) >= ALIKE]
        return plain or found

    def _in_time(self, event: Event) -> bool:
        """Whether an event began in the asked time; one that only a caption tells of, whether the middle of that lies in it."""
        low, high = self.filters.start_ms, self.filters.end_ms
        begun = event.start_ms if event.exact else (event.start_ms + event.end_ms) // 2
        return (low is None or begun >= low - CLOCK_MS) and (high is None or begun < high)

    def _there(self, wanted: Pattern, event: Event) -> bool:
        """Of an event whose place no sentence tells, where those who take part are told to stand decides before what a camera sees."""
        places = [place for place in wanted.places if place.mention and place.mention.type != "camera"]
        if not places or any(filler.type == "location" for filler in event.roles.get("place", ())):
            return True
        stood = self.stood(event)
        return stood is None or all_or_any(places, lambda place: is_at(place, stood))

    def stood(self, event: Event) -> Sighting | None:
        """Where somebody of an event is told to be in the captions next to it; None where none tells."""
        keys = {key for role in ("agent", "with") for filler in event.roles.get(role, ()) for key in filler.keys}
        near = [
            s for s in self.seen([source.chunk.id for source in event.sources])
            if s.said and s.who.keys & keys and s.start_ms < event.end_ms + NEXT_MS and s.end_ms > event.start_ms - NEXT_MS
        ]  # fmt: skip
        middle = (event.start_ms + event.end_ms) // 2
        return min(near, key=lambda s: abs((s.start_ms + s.end_ms) // 2 - middle), default=None)

    def every(self, wanted: Pattern | None) -> list[Event]:
        """All events in the clips of whom and what a pattern names."""
        return events(self.told(self.clips_for(wanted)))

    def _near(self, wanted: Pattern, told: Iterable[Event]) -> dict[str, float]:
        """Verbs of events that are near in meaning to one that no list knows."""
        verbs = sorted({verb for event in told for verb in event.verbs})
        if self.similarity is None or not verbs:
            return {}
        return {verb: score / NEAR for verb, score in zip(verbs, self.similarity(wanted.verb, verbs), strict=True)}

    def clips_for(self, wanted: Pattern | None) -> tuple[str, ...]:
        """Chunks (keys) in which an event can be told: those of a thing that is named, else of the people, else of the time."""
        mentions = [a.mention for a in wanted.mentions if a.mention] if wanted else []
        things = [m for m in mentions if m.type != "person" and not m.several]
        people = [m for m in mentions if m.type == "person"]
        several = [m for m in mentions if m.type != "person" and m.several]
        if things and any(a.alternative for a in wanted.mentions if a.mention in things):  # type: ignore[union-attr]
            return tuple(dict.fromkeys(key for m in things for key in self._clips(m)))
        if things:
            return min((self._clips(m) for m in things), key=len)
        if people:
            return tuple(dict.fromkeys(key for m in people for key in self._clips(m)))
        if several:
            return min((self._clips(m) for m in several), key=len)
        return self.clips_of_time(wanted)

    def _clips(self, mention: Mention) -> tuple[str, ...]:
        return self.facts.clips_of(sorted(mention.keys), self.filters)

    def clips_of_time(self, wanted: Pattern | None = None) -> tuple[str, ...]:
        """Chunks of the asked time, where it is not too long; else those that search finds for the question."""
        start, end = self.filters.start_ms, self.filters.end_ms
        if start is not None and end is not None and end - start <= LONGEST_MS:
            return self.facts.clips_between(self.filters)
        places = [a.mention for a in wanted.places if a.mention] if wanted else []
        named = [key for mention in places for key in mention.keys if not key.startswith("cameras/")]
        if named:
            telling = self.facts.clips_of(named, self.filters)
            looking = self.cameras_of(wanted.places) if wanted else None
            shown = self.facts.clips_between(replace(self.filters, cameras=looking)) if looking else ()
            return tuple(dict.fromkeys((*telling, *(shown if len(shown) <= MOST_CLIPS else ()))))
        every = self.facts.clips_between(self.filters)
        if len(every) <= MOST_CLIPS:
            return every
        self.complete = False
        return tuple(chunk.id for chunk in self.evidence.chunks) if self.evidence else every[:MOST_CLIPS]

    def told(self, clips: Sequence[str]) -> Told:
        key = (tuple(clips), self.filters)
        if key not in self._told:
            told = self._told[key] = self.facts.told(clips, self.filters)
            self.read.update({chunk.id: chunk for chunk in told.chunks})
            self.complete = self.complete and told.complete
        return self._told[key]

    # --- presence ---------------------------------------------------------------------------------------------------------

    def seen(self, clips: Sequence[str]) -> list[Sighting]:
        return sightings(self.told(clips), self.places)

    # --- coverage ---------------------------------------------------------------------------------------------------------

    def cameras_of(self, places: Iterable[Argument]) -> tuple[str, ...] | None:
        """Cameras (keys) that look at the places named, None where no camera is known to."""
        keys = [
            key.removeprefix("cameras/")
            for a in places
            if a.mention
            for key in a.mention.keys
            if key.startswith("cameras/")
        ]
        return tuple(dict.fromkeys(keys)) or None

    def covered(self, cameras: Sequence[str] | None = None) -> Covered:
        """What was recorded of the asked time by some cameras, or by all that may be looked at."""
        chosen = self.filters if cameras is None else replace(self.filters, cameras=tuple(cameras))
        return self.facts.covered(chosen)


def asks_state(wanted: Pattern | None) -> bool:
    """Whether a clause tells of being somewhere and not of doing something."""
    if wanted is None or asks_sight(wanted):
        return False
    return wanted.verb == "be" or (bool(wanted.senses) and wanted.senses <= STATES)


def asks_sight(wanted: Pattern) -> bool:
    """Whether a clause tells who saw something, which is not the same as who was there."""
    roles = {*wanted.roles, *((wanted.asked.role,) if wanted.asked else ())}
    return wanted.senses == {"see"} and {"agent", "theme"} <= roles


def digits(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w*\d\w*", text))
