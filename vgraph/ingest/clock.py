"""A camera's clock: what it shows, what the time truly was, and how sure that is; and where a recording stands in true time.

Own time is what a camera's clock says, read as UTC ms in the camera's zone. True time is UTC. Between them lie an offset and a drift,
which hold over a span of own time; a clock that was set anew, or that runs at another rate by day than by night, has several spans.
Media time runs at the rate of the camera's own oscillator, so drift moves moments within a recording, too: 20 ppm is 1.7 s a day.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal
from zoneinfo import ZoneInfo

from vgraph.ingest.keys import content_key
from vgraph.types import StartSource, StartTime

ClockSource = Literal["none", "sidecar", "reset", "set", "fit"]
"""Who said so: nobody, the `.meta.json` beside a video, the operator (that it is right, or how it is wrong), a fit to readings."""

Drift = tuple[tuple[int, int], ...]
"""From which media offset on a recording's time runs fast by how many parts in 10^9."""

LARGEST_DRIFT_PPM = 1_000.0
"""Quartz clocks stay within 100 ppm; beyond ten times that it was no drift but a clock set anew."""
OWN = (StartSource.sidecar, StartSource.timecode, StartSource.container, StartSource.burnt_in, StartSource.file_name)
"""Sources that tell the camera's own time. A start given by `flag` is true time already."""


@dataclass(frozen=True, slots=True)
class Span:
    """true = own + offset_ms + (own - at_ms) * drift_ppm / 10^6, from `from_ms` of own time on (None: from ever)."""

    offset_ms: int = 0
    drift_ppm: float = 0.0
    uncertainty_ms: int | None = None
    at_ms: int = 0
    from_ms: int | None = None

    @property
    def ppb(self) -> int:
        return round(self.drift_ppm * 1000)

    def true(self, own_ms: int) -> int:
        return own_ms + self.offset_ms + _rounded((own_ms - self.at_ms) * self.ppb)

    def own(self, true_ms: int) -> int:
        return self.at_ms + round(Fraction((true_ms - self.offset_ms - self.at_ms) * 10**9, 10**9 + self.ppb))


@dataclass(frozen=True, slots=True)
class Anchor:
    """When the camera's clock showed `own_ms` it truly was `true_ms`, give or take `uncertainty_ms`."""

    own_ms: int
    true_ms: int
    uncertainty_ms: int = 0


@dataclass(frozen=True, slots=True)
class Clock:
    """`spans` in order of own time, the first from ever on. `anchors` are what it is fitted to, kept so that more can join them."""

    spans: tuple[Span, ...] = (Span(),)
    source: ClockSource = "none"
    anchors: tuple[Anchor, ...] = ()

    def span(self, own_ms: int) -> Span:
        """The span that holds at a moment of own time; where a clock was set back and showed it twice, the later one."""
        return next(s for s in reversed(self.spans) if s.from_ms is None or s.from_ms <= own_ms)

    def true(self, own_ms: int) -> int:
        return self.span(own_ms).true(own_ms)

    def own(self, true_ms: int) -> int:
        """The own time shown at a true time, to the millisecond; of two the later."""
        guess = true_ms
        for span in reversed(self.spans):
            guess = span.own(true_ms)
            if span.from_ms is None or guess >= span.from_ms:
                return guess
        return guess

    def drift(self, own_start_ms: int) -> Drift:
        """How the media time of a recording that began at `own_start_ms` drifts.

        Rates change with the spans, but time does not jump within a recording: a clock that is set anew moves what it shows, not
        the pictures.
        """
        begun = self.span(own_start_ms)
        later = [s for s in self.spans if s.from_ms is not None and s.from_ms > own_start_ms]
        rates = [(0, begun.ppb), *((s.from_ms - own_start_ms, s.ppb) for s in later if s.from_ms is not None)]
        changes = [rates[0], *(after for before, after in pairwise(rates) if after[1] != before[1])]
        return tuple(changes) if any(ppb for _, ppb in changes) else ()


UNKNOWN = Clock()
FORGOTTEN = Clock(source="reset")
BY_HAND = ("reset", "set", "fit")


def _rounded(parts: int) -> int:
    """Parts in 10^9 of a millisecond to whole ones, halves up; exact, so that every machine agrees."""
    return (parts + 500_000_000) // 1_000_000_000


def drifted(offset_ms: int, drift: Drift) -> int:
    """Media time with its drift: how long after the first frame a moment truly was."""
    parts = 0
    for index, (begin, ppb) in enumerate(drift):
        end = drift[index + 1][0] if index + 1 < len(drift) else offset_ms
        parts += (max(begin, min(offset_ms, end)) - begin) * ppb
    return offset_ms + _rounded(parts)


# --- where a recording stands -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Timeline:
    """When a recording's first frame was taken, UTC, and how its media time drifts from there."""

    start_ms: int
    drift: Drift = ()
    uncertainty_ms: int | None = None

    def at(self, offset_ms: int) -> int:
        return self.start_ms + drifted(offset_ms, self.drift)

    @property
    def fingerprint(self) -> str:
        """Tells whether records were timed by this timeline."""
        return content_key("timeline", self.start_ms, repr(self.drift), repr(self.uncertainty_ms))


SOURCE_UNCERTAINTY_MS: Mapping[StartSource, int | None] = {
    StartSource.flag: 0,
    StartSource.sidecar: 0,
    StartSource.timecode: 40,
    StartSource.container: 1_000,
    StartSource.burnt_in: 1_000,
    StartSource.arrival: 1_000,
    StartSource.file_name: 1_000,
    StartSource.unknown: None,
}
"""How far a start may be off by its source alone: what is written to the second may be a second off, a timecode a frame."""


def timeline(start: StartTime, tz: str, clock: Clock) -> Timeline:
    """The timeline of a recording that began at `start`, by its camera's zone and clock.

    Own time is put right by the clock; a start given as true time is taken as it is, and only drifts; one that nobody knows does
    neither, nor does a stream, whose media time is held to the time of arrival.
    """
    doubt = SOURCE_UNCERTAINTY_MS[start.source] if start.uncertainty_ms is None else start.uncertainty_ms
    if start.source in (StartSource.unknown, StartSource.arrival):
        return Timeline(start.ms, (), doubt)
    if start.source is StartSource.flag:
        return Timeline(start.ms, _sped(clock.drift(clock.own(start.ms)), start.drift_ppm), doubt)
    own = zoned(start.ms, start.tz, tz)
    believed = clock.span(own).uncertainty_ms
    return Timeline(
        clock.true(own),
        _sped(clock.drift(own), start.drift_ppm),
        None if believed is None or doubt is None else believed + doubt,
    )


def _sped(drift: Drift, ppm: float) -> Drift:
    """A drift of which every rate is so much higher."""
    more = round(ppm * 1000)
    return tuple((begin, ppb + more) for begin, ppb in drift or ((0, 0),)) if more else drift


def told_start(document: Mapping[str, Any]) -> StartTime:
    """The start that a document's vertex keeps."""
    return StartTime(
        document["own_start_ms"],
        StartSource(document["start_source"]),
        document["own_tz"],
        document["own_uncertainty_ms"],
        document["own_drift_ppm"],
    )


def document_timeline(document: Mapping[str, Any], camera: Mapping[str, Any]) -> Timeline:
    """The timeline of a document's vertex under its camera's zone and clock as they are now."""
    return timeline(told_start(document), camera["tz"], clock_of(camera))


def zoned(own_ms: int, read_in: str | None, tz: str) -> int:
    """A wall-clock time that was read in one zone, read in another; `read_in` None: it named its zone itself, and stays."""
    if read_in is None or read_in == tz:
        return own_ms
    moment = datetime.datetime.fromtimestamp(own_ms / 1000, ZoneInfo(read_in)).replace(tzinfo=ZoneInfo(tz))
    return round(moment.timestamp() * 1000)


# --- as stored ----------------------------------------------------------------------------------------------------------


def clock_record(clock: Clock) -> dict[str, Any]:
    """A clock as a camera's vertex keeps it: the first span flat, later ones in `spans`."""
    first = clock.spans[0]
    return {
        "offset_ms": first.offset_ms,
        "drift_ppm": first.drift_ppm,
        "uncertainty_ms": first.uncertainty_ms,
        "at_ms": first.at_ms,
        "spans": [asdict(span) for span in clock.spans[1:]],
        "anchors": [[a.own_ms, a.true_ms, a.uncertainty_ms] for a in clock.anchors],
        "source": clock.source,
    }


def clock_of(camera: Mapping[str, Any] | None) -> Clock:
    """The clock that a camera's vertex keeps; one that tells the true time where there is none."""
    kept = (camera or {}).get("clock")
    if not kept:
        return UNKNOWN
    first = Span(kept["offset_ms"], kept["drift_ppm"], kept["uncertainty_ms"], kept.get("at_ms", 0))
    spans = (first, *(Span(**span) for span in kept.get("spans", ())))
    return Clock(spans, kept.get("source", "none"), tuple(Anchor(*row) for row in kept.get("anchors", ())))


def told(clock: Clock, offset_ms: int | None) -> Clock:
    """The clock after a sidecar has told an offset; None: it told nothing. What the operator decided is not undone by a file."""
    if offset_ms is None or clock.source in BY_HAND:
        return clock
    return Clock((Span(offset_ms),), "sidecar", clock.anchors)


def with_span(clock: Clock, span: Span) -> Clock:
    """The clock with a span set by the operator: all of it where the span is from ever on, else from there until the next span."""
    if span.from_ms is None:
        return Clock((span,), "set", clock.anchors)
    others = [s for s in clock.spans if s.from_ms != span.from_ms]
    return replace(clock, spans=tuple(sorted((*others, span), key=_begin)), source="set")


def _begin(span: Span) -> tuple[bool, int]:
    return span.from_ms is not None, span.from_ms or 0


def with_anchor(clock: Clock, anchor: Anchor) -> Clock:
    """The clock with one more anchor; one at the same own time is replaced."""
    others: Iterator[Anchor] = (known for known in clock.anchors if known.own_ms != anchor.own_ms)
    return replace(clock, anchors=ordered((*others, anchor)))


def ordered(anchors: Sequence[Anchor]) -> tuple[Anchor, ...]:
    return tuple(sorted(anchors, key=lambda a: (a.true_ms, a.own_ms)))
