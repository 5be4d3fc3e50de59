"""Fitting clocks: own time at a recording's first frame from readings of its burnt-in clock, and a camera's clock from anchors.

Readings are cut to what the clock shows, so each says that own time lay in an interval. Where most of the intervals meet is where it was
(Marzullo, "Maintaining the time in a distributed system", 1984); readings outside are misread and left out. Rates are Theil-Sen
estimates (the median of the slopes of all pairs), which bear 29 % of outliers (Sen, 1968), and are believed only where they show above
what the points themselves are uncertain by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Final

from vgraph.ingest.burnt_in import Reading
from vgraph.ingest.clock import LARGEST_DRIFT_PPM, Anchor, Span, ordered

LEAST_READINGS: Final = 3
LEAST_SHARE: Final = 0.5
"""Of all readings, those that must agree: else what was read is no clock."""
QUARTZ_PPM: Final = 100.0
"""Clocks drift less than this; what differs more was set anew in between."""
JITTER_MS: Final = 50
"""What two anchors may differ by beyond what they say of themselves."""
MOST_POINTS: Final = 600
"""Points whose pairs are compared; of more, evenly chosen ones."""
LEAST_SPAN_MS: Final = 600_000
"""Readings tell how fast media time runs against the clock only over ten minutes or more."""
MAD: Final = 1.4826
"""Median absolute deviation to standard deviation, of a normal distribution."""


# --- a recording's own time ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Level:
    """From media time `offset_ms` to `end_offset_ms` the clock showed `own_ms` + media time (1 + `drift_ppm` / 10^6), give or take
    `uncertainty_ms`. `used` readings say so."""

    own_ms: int
    drift_ppm: float
    uncertainty_ms: int
    used: int
    offset_ms: int
    end_offset_ms: int


@dataclass(frozen=True, slots=True)
class OwnTime:
    """What a burnt-in clock showed over a recording: one level, or one more for each time it was set anew; `misread` fit none."""

    levels: tuple[Level, ...]
    misread: int


def own_time(readings: Sequence[Reading]) -> OwnTime | None:
    """Own time by readings of the burnt-in clock; None where fewer than three, or than half of them, agree, or it never moved."""
    levels = _levels(sorted(readings, key=lambda r: (r.offset_ms, r.own_ms)))
    used = sum(level.used for level in levels)
    return OwnTime(levels, len(readings) - used) if levels and used >= LEAST_SHARE * len(readings) else None


def _levels(readings: Sequence[Reading]) -> tuple[Level, ...]:
    """The level most readings agree on, and before and after it those of what is left."""
    if len(readings) < LEAST_READINGS:
        return ()
    rate = _rate(readings)
    low, high, members = _meeting(readings, rate)
    if len(members) < LEAST_READINGS or len({readings[m].own_ms for m in members}) < 2:
        return ()
    first, last = readings[members[0]].offset_ms, readings[members[-1]].offset_ms
    own, width = math.floor((low + high) / 2), high - low
    level = Level(own, float(rate) * 1e6, math.ceil(width / 2), len(members), first, last)
    before = [r for r in readings if r.offset_ms < first]
    after = [r for r in readings if r.offset_ms > last]
    return (*_levels(before), level, *_levels(after))


def _rate(readings: Sequence[Reading]) -> Fraction:
    """How much faster than media time the clock ran; 0 where that does not show. To 0.001 ppm, so that it is the same everywhere."""
    offsets = [r.offset_ms for r in readings]
    span = offsets[-1] - offsets[0]
    slope = theil_sen(offsets, [r.own_ms - r.offset_ms for r in readings])
    shows = span >= LEAST_SPAN_MS and abs(slope) * span > 2 * median(r.resolution_ms for r in readings)
    return Fraction(round(slope * 1e9), 10**9) if shows and abs(slope) <= LARGEST_DRIFT_PPM / 1e6 else Fraction(0)


def _meeting(readings: Sequence[Reading], rate: Fraction) -> tuple[Fraction, Fraction, list[int]]:
    """The interval of own time at offset 0 on which most readings agree, and which they are (Marzullo's algorithm)."""
    lows = [r.own_ms - r.offset_ms * (1 + rate) for r in readings]
    highs = [low + r.resolution_ms for low, r in zip(lows, readings, strict=True)]
    edges = sorted([(low, 0) for low in lows] + [(high, 1) for high in highs], key=lambda edge: (edge[0], -edge[1]))
    best, count, begin, end = 0, 0, Fraction(0), Fraction(0)
    for index, (at, closes) in enumerate(edges):
        count += -1 if closes else 1
        if count > best:
            best, begin, end = count, at, edges[index + 1][0]
    members = [i for i, (low, high) in enumerate(zip(lows, highs, strict=True)) if low <= begin and high >= end]
    return begin, end, members


def theil_sen(x: Sequence[float], y: Sequence[float]) -> float:
    """The median slope of all pairs of points with different x; 0 where there is none."""
    import numpy as np

    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
    across, up = np.asarray(x, np.float64)[chosen], np.asarray(y, np.float64)[chosen]
    first, second = np.triu_indices(len(chosen), 1)
    width = across[second] - across[first]
    slopes = (up[second] - up[first])[width != 0] / width[width != 0]
    return float(np.median(slopes)) if len(slopes) else 0.0


# --- a camera's clock ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fitted:
    """Spans of a clock, how far the anchors that were used lie from them (median, ms), and the anchors that fit none."""

    spans: tuple[Span, ...]
    residual_ms: int
    outliers: tuple[Anchor, ...]


def fitted(anchors: Sequence[Anchor]) -> Fitted:
    """A clock through anchors. Raises ValueError without any.

    The clock is taken to have been set anew where two anchors in a row agree with one another and not with those before (further from
    them than 100 ppm, their uncertainty and 50 ms allow); a single one that agrees with none is left out.
    """
    if not anchors:
        raise ValueError("no anchors")
    runs, outliers = _runs(ordered(anchors))
    spans = [_span(run) for run in runs]
    later = [_from(span, run[0].own_ms) for span, run in zip(spans[1:], runs[1:], strict=True)]
    found = (spans[0], *later)
    residuals = [abs(span.true(a.own_ms) - a.true_ms) for span, run in zip(found, runs, strict=True) for a in run]
    return Fitted(found, round(median(residuals)), tuple(outliers))


def _from(span: Span, own_ms: int) -> Span:
    return Span(span.offset_ms, span.drift_ppm, span.uncertainty_ms, span.at_ms, own_ms)


def _runs(anchors: Sequence[Anchor]) -> tuple[list[list[Anchor]], list[Anchor]]:
    """Anchors in runs that agree, and those that agree with none."""
    runs: list[list[Anchor]] = []
    outliers: list[Anchor] = []
    for index, anchor in enumerate(anchors):
        following = anchors[index + 1] if index + 1 < len(anchors) else None
        if runs and _agrees(runs[-1], anchor):
            runs[-1].append(anchor)
        elif following is not None and _agrees([anchor], following):
            runs.append([anchor])
        else:
            outliers.append(anchor)
    if not runs:  # no two agree: the middle one is the least wrong
        middle = sorted(anchors, key=lambda a: a.true_ms - a.own_ms)[len(anchors) // 2]
        return [[middle]], [anchor for anchor in anchors if anchor is not middle]
    return runs, outliers


def _agrees(run: Sequence[Anchor], anchor: Anchor) -> bool:
    line = _span(run)
    apart = min(abs(anchor.own_ms - known.own_ms) for known in run)
    allowed = anchor.uncertainty_ms + median(a.uncertainty_ms for a in run) + JITTER_MS + apart * QUARTZ_PPM / 1e6
    return abs(line.true(anchor.own_ms) - anchor.true_ms) <= allowed


def _span(run: Sequence[Anchor]) -> Span:
    """The line through anchors that agree; level where no drift shows above their uncertainty."""
    own, offsets = [a.own_ms for a in run], [a.true_ms - a.own_ms for a in run]
    at = int(median(own))
    doubt = median(a.uncertainty_ms for a in run)
    slope = theil_sen(own, offsets)
    reach = abs(slope) * (max(own) - min(own))
    drift = round(slope * 1e6, 3) if _shows(reach, doubt, _scatter(own, offsets, at, slope), len(run)) else 0.0
    flat = [offset - (o - at) * drift / 1e6 for o, offset in zip(own, offsets, strict=True)]
    offset = round(median(flat))
    spread = MAD * median(abs(value - offset) for value in flat)
    return Span(offset, drift, math.ceil(doubt / math.sqrt(len(run)) + spread), at)


def _scatter(own: Sequence[int], offsets: Sequence[int], at: int, slope: float) -> float:
    rest = [offset - (o - at) * slope for o, offset in zip(own, offsets, strict=True)]
    middle = median(rest)
    return MAD * median(abs(value - middle) for value in rest)


def _shows(reach_ms: float, doubt_ms: float, scatter_ms: float, count: int) -> bool:
    """Whether a drift moves the ends of a run by more than chance: twice the noise of a point, less the more points there are."""
    return count > 1 and reach_ms > 2 * max(doubt_ms, scatter_ms, 1.0) / math.sqrt(count / 2)
