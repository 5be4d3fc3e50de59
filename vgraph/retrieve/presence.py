"""Who and what was where and when, as it is told: by a sentence that says so, or else by the camera that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from vgraph.retrieve.clauses import Argument
from vgraph.retrieve.events import Event, Filler, Source, anonymous, events
from vgraph.retrieve.facts import Told
from vgraph.types import Line

GAP_MS = 15_000
"""Sightings this near at one place are one stay: captions come every few seconds, and observers miss some."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Somebody or something at a place for a time. `places` are its entities and cameras; `said` that a sentence names it."""

    who: Filler
    places: frozenset[str]
    place: str
    start_ms: int
    end_ms: int
    source: Source
    said: bool


@dataclass(frozen=True, slots=True)
class Stay:
    """Sightings of one at one place, with no more than a gap between them."""

    who: Filler
    place: str
    start_ms: int
    end_ms: int
    sightings: tuple[Sighting, ...]

    @property
    def length_ms(self) -> int:
        return self.end_ms - self.start_ms


def sightings(told: Told, places: dict[str, str]) -> list[Sighting]:
    """All that is told of who was where. `places` names cameras (key) by where they look."""
    found = [*_told(events(told), places), *_shown(told, places)]
    said = {(key, s.source.chunk.document, s.source.line.offset_ms) for s in found if s.said for key in s.who.keys}
    return sorted(
        (
            s
            for s in found
            if s.said or not any((key, s.source.chunk.document, s.source.line.offset_ms) in said for key in s.who.keys)
        ),
        key=lambda s: (s.start_ms, s.end_ms),
    )


def _told(found: Iterable[Event], places: dict[str, str]) -> Iterator[Sighting]:
    for event in found:
        named = [filler for filler in event.roles.get("place", ()) if filler.type == "location"]
        if event.negated or event.senses & {"leave", "say", "ask"}:
            continue
        for filler in event.fillers():
            if filler.keys and filler.type != "location":
                for source in event.sources:
                    yield _sighting(filler, source, named, places)


def _sighting(filler: Filler, source: Source, named: Sequence[Filler], places: dict[str, str]) -> Sighting:
    camera = source.chunk.camera
    if named:
        keys = frozenset(key for one in named for key in one.keys)
        return Sighting(filler, keys, named[0].text, source.start_ms, source.end_ms, source, True)
    return Sighting(
        filler,
        frozenset([f"cameras/{camera}"]),
        places.get(camera, camera),
        source.start_ms,
        source.end_ms,
        source,
        False,
    )


def _shown(told: Told, places: dict[str, str]) -> Iterator[Sighting]:
    """Whoever a caption or a detector names, where no sentence tells of them."""
    chunks = {chunk.id: chunk for chunk in told.chunks}
    known = {one.key: one for one in told.known}
    for row in told.mentions:
        chunk, one = chunks.get(row["chunk"]), known.get(row["entity"])
        if chunk is None or one is None or one.type == "location" or row["modality"] in ("speech", "extraction"):
            continue
        zero = chunk.start_ms - chunk.offset_ms
        near = [
            line
            for line in chunk.lines
            if zero + line.offset_ms < row["end_ms"] and zero + line.end_offset_ms > row["start_ms"]
        ]
        naming = [line for line in near if row["mention"].casefold() in line.text.casefold()]
        line = (naming or near or [Line(row["start_ms"] - zero, row["end_ms"] - zero, "detection", one.name, "graph")])[
            0
        ]
        source = Source(chunk, line, row["start_ms"], row["end_ms"], exact=True)
        filler = Filler(frozenset([one.key]), one.name, one.type)
        yield _sighting(filler, source, (), places)


def at(place: Argument, seen: Iterable[Sighting]) -> list[Sighting]:
    """Sightings at a place, a camera, or anywhere."""
    if place.mention is None:
        return list(seen)
    return [sighting for sighting in seen if is_at(place, sighting)]


def is_at(place: Argument, sighting: Sighting) -> bool:
    if place.mention is None:
        return True
    if place.mention.type == "camera":
        return f"cameras/{sighting.source.chunk.camera}" in place.mention.keys
    return bool(sighting.places & place.mention.keys)


def stays(seen: Sequence[Sighting], gap_ms: int = GAP_MS) -> list[Stay]:
    """Sightings joined into stays, by who and place."""
    open_: dict[tuple[str, str], Stay] = {}
    done: list[Stay] = []
    for sighting in sorted(seen, key=lambda s: s.start_ms):
        key = (_who(sighting.who), sighting.place)
        stay = open_.get(key)
        if stay is not None and sighting.start_ms <= stay.end_ms + gap_ms:
            open_[key] = replace(stay, end_ms=max(stay.end_ms, sighting.end_ms), sightings=(*stay.sightings, sighting))
        else:
            if stay is not None:
                done.append(stay)
            open_[key] = Stay(sighting.who, sighting.place, sighting.start_ms, sighting.end_ms, (sighting,))
    return sorted([*done, *open_.values()], key=lambda s: (s.start_ms, s.end_ms))


@dataclass(frozen=True, slots=True)
class Meeting:
    """A time in which several were at one place, with a stay of each."""

    start_ms: int
    end_ms: int
    stays: tuple[Stay, ...]


def meetings(parties: Sequence[Sequence[Sighting]]) -> list[Meeting]:
    """When all parties were at one place at one time, each time once."""
    found: list[Meeting] = []
    for own in product(*(stays(seen) for seen in parties)):
        start, end = max(stay.start_ms for stay in own), min(stay.end_ms for stay in own)
        if start < end and _at_one_place(own):
            found.append(Meeting(start, end, own))
    return _without_overlap(found)


def _at_one_place(own: Sequence[Stay]) -> bool:
    """By what is said of all of them, or else by the camera that shows them."""
    said = all(any(s.said for s in stay.sightings) for stay in own)
    return bool(frozenset.intersection(*(_places(stay) if said else _cameras(stay) for stay in own)))


def _places(stay: Stay) -> frozenset[str]:
    return frozenset(place for s in stay.sightings for place in s.places)


def _cameras(stay: Stay) -> frozenset[str]:
    return frozenset(s.source.chunk.camera for s in stay.sightings)


def _without_overlap(found: Sequence[Meeting]) -> list[Meeting]:
    kept: list[Meeting] = []
    for meeting in sorted(found, key=lambda m: (m.start_ms, m.end_ms)):
        if kept and meeting.start_ms <= kept[-1].end_ms:
            kept[-1] = replace(kept[-1], end_ms=max(kept[-1].end_ms, meeting.end_ms))
        else:
            kept.append(meeting)
    return kept


def _who(filler: Filler) -> str:
    return filler.guess or filler.text


def people(seen: Iterable[Sighting]) -> dict[str, list[Sighting]]:
    """Persons by name, with their sightings; those told by looks alone last, for they may be one of the others."""
    found: dict[str, list[Sighting]] = {}
    for sighting in seen:
        if sighting.who.type == "person":
            found.setdefault(_who(sighting.who), []).append(sighting)
    return dict(sorted(found.items(), key=lambda item: anonymous(item[0], "person")))
