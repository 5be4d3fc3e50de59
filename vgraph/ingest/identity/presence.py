"""Where and when an entity was: stays before cameras, and whether two of them can be those of one thing that is in one place at a time.

A track or a voice is there throughout its interval; a caption says only that whom it names was seen at some moment of it. Intervals are
half open. How wrong the clocks of two cameras may be is taken off whatever would contradict.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

THROUGHOUT = frozenset({"detection", "speech"})
PRESENT = frozenset({"caption", *THROUGHOUT})
"""Senses that show an entity to be there; what is only spoken of, or written on a sign, may be anywhere."""


@dataclass(frozen=True, slots=True)
class Presence:
    """An entity before a camera, UTC ms; `sure` says that it was there throughout, `opens` that this begins with its chunk."""

    camera: str
    document: str
    chunk: str
    start_ms: int
    end_ms: int
    sure: bool
    sense: str = "caption"
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """What lies between two cameras: overlapping views show the same place, otherwise the way takes from min to max ms."""

    overlapping: bool = False
    min_ms: int = 0
    max_ms: int | None = None


APART = Between()


@dataclass(frozen=True, slots=True)
class Sites:
    """How the cameras lie: `between` by the sorted pair of keys, `wrong` the uncertainty of their clocks in ms."""

    between: Mapping[tuple[str, str], Between] = field(default_factory=dict)
    wrong: Mapping[str, int] = field(default_factory=dict)
    uncertainty_ms: int = 1_000

    def way(self, a: str, b: str) -> Between:
        return self.between.get((min(a, b), max(a, b)), APART)

    def known(self, a: str, b: str) -> bool:
        return (min(a, b), max(a, b)) in self.between

    def slack(self, a: str, b: str) -> int:
        return self.wrong.get(a, self.uncertainty_ms) + self.wrong.get(b, self.uncertainty_ms)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two presences that cannot both be of one thing (`hard`), or hardly."""

    first: Presence
    second: Presence
    hard: bool

    def __str__(self) -> str:
        what = "cannot have been" if self.hard else "can hardly have been"
        return f"{what} before {self.first.camera} and {self.second.camera} at once"


def conflict(ours: Sequence[Presence], theirs: Sequence[Presence], sites: Sites) -> Conflict | None:
    """The first hard conflict between two entities' presences, else the first soft one. Both come in order of start."""
    soft: Conflict | None = None
    cameras = {p.camera for p in ours}, {p.camera for p in theirs}
    for one, other in ((a, b) for a in sorted(cameras[0]) for b in sorted(cameras[1])):
        if sites.way(one, other).overlapping:
            continue
        found = _between([p for p in ours if p.camera == one], [p for p in theirs if p.camera == other], sites)
        if found and found.hard:
            return found
        soft = soft or found
    return soft


def _between(ours: Sequence[Presence], theirs: Sequence[Presence], sites: Sites) -> Conflict | None:
    """Conflicts of two cameras: each presence is compared with those that begin about it."""
    soft: Conflict | None = None
    way, slack = sites.way(ours[0].camera, theirs[0].camera), sites.slack(ours[0].camera, theirs[0].camera)
    longest = max(p.end_ms - p.start_ms for p in theirs)
    for one in ours:
        begin = bisect_left(theirs, one.start_ms - longest - way.min_ms, key=lambda p: p.start_ms)
        for other in theirs[begin:]:
            if other.start_ms >= one.end_ms + way.min_ms:
                break
            hard = _excluded(one, other, way, slack)
            if hard:
                return Conflict(one, other, True)
            if soft is None and _unlikely(one, other, slack):
                soft = Conflict(one, other, False)
    return soft


def _excluded(a: Presence, b: Presence, way: Between, slack: int) -> bool:
    if a.camera == b.camera:
        return a.document == b.document and a.sense == b.sense == "detection" and _shared(a, b) > 0
    if a.sure and b.sure:
        return _shared(a, b) > slack or (_shared(a, b) <= 0 and -_shared(a, b) + slack < way.min_ms)
    if a.sure or b.sure:
        sure, moment = (a, b) if a.sure else (b, a)
        room = max(sure.start_ms - moment.start_ms, moment.end_ms - sure.end_ms)
        return room + slack < max(way.min_ms, 1)
    return max(a.end_ms - b.start_ms, b.end_ms - a.start_ms) + slack < way.min_ms


def _unlikely(a: Presence, b: Presence, slack: int) -> bool:
    """Seen at moments of intervals that are for the most part the same."""
    shorter = min(a.end_ms - a.start_ms, b.end_ms - b.start_ms)
    return a.camera != b.camera and 2 * _shared(a, b) > shorter + 2 * slack


def _shared(a: Presence, b: Presence) -> int:
    """The time two presences share; below zero the time between them."""
    return min(a.end_ms, b.end_ms) - max(a.start_ms, b.start_ms)


def stays(presences: Iterable[Presence]) -> list[Presence]:
    """Presences in order of start, with those between the first and the last of an unbroken row made sure.

    Whom one caption after another names on one camera was there from the first to the last of them. A caption that was cut where one
    chunk ends and the next begins is one again: nobody knows in which of its parts the moment lies.
    """
    found: list[Presence] = []
    rows: dict[tuple[str, str], list[Presence]] = {}
    for one in _uncut(sorted(presences, key=_order)):
        row = rows.setdefault((one.camera, one.document), [])
        if row and one.start_ms > max(p.end_ms for p in row) + JOINED_MS:
            found.extend(_row(row))
            row.clear()
        row.append(one)
    for row in rows.values():
        found.extend(_row(row))
    return sorted(found, key=_order)


def _order(one: Presence) -> tuple[int, int, str, str, str]:
    return one.start_ms, one.end_ms, one.camera, one.chunk, one.sense


def _uncut(presences: Iterable[Presence]) -> list[Presence]:
    found: list[Presence] = []
    ends: dict[tuple[str, int], int] = {}
    for one in presences:
        place = ends.get((one.document, one.start_ms)) if not one.sure else None
        if place is not None and one.opens and not found[place].opens:
            found[place] = replace(found[place], end_ms=one.end_ms)
        else:
            place = len(found)
            found.append(one)
        if not one.sure:
            ends[(one.document, one.end_ms)] = place
    return found


JOINED_MS = 1_000
"""Captions follow one another within this; their times are a little wrong."""


def _row(row: Sequence[Presence]) -> list[Presence]:
    guesses = [p for p in row if not p.sure]
    kept = list(row)
    if len(guesses) > 2 and guesses[0].end_ms < guesses[-1].start_ms:
        middle = guesses[1]
        kept.append(
            Presence(middle.camera, middle.document, middle.chunk, guesses[0].end_ms, guesses[-1].start_ms, True)
        )
    return kept
