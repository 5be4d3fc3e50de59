"""Measures against known truth: intervals found, answers right, citations that hold. Pure functions of plain values."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

Interval = tuple[int, int]
"""[start, end) in ms."""

RECALL_WINDOWS: Mapping[str, int] = {
    "10 s": 5_000,
    "30 s": 15_000,
    "1 min": 30_000,
    "2 min": 60_000,
    "10 min": 300_000,
    "1 h": 1_800_000,
}
"""recall@W by name: the true interval is widened by so many ms on both sides (EGAgent's evaluation)."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one camera's time, UTC ms."""

    camera: str
    start_ms: int
    end_ms: int


Moment = Sequence[Span]
"""One true event as the cameras that saw it show it: any of its spans proves it."""


# --- intervals -------------------------------------------------------------------------------------------------------------


def overlap(a: Interval, b: Interval) -> int:
    """The length two intervals share."""
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def iou(a: Interval, b: Interval) -> float:
    """Intersection over union; 0 when both are empty."""
    shared = overlap(a, b)
    joined = a[1] - a[0] + b[1] - b[0] - shared
    return shared / joined if joined > 0 else 0.0


def union(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The same time as intervals that neither touch nor overlap, in order."""
    joined: list[Interval] = []
    for start, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return tuple(joined)


def selected_seconds(selected: Iterable[Span]) -> float:
    """How much footage was selected, each camera's time counted once."""
    return sum(end - start for spans in _by_camera(selected).values() for start, end in spans) / 1000


def recall_at(selected: Iterable[Span], truth: Sequence[Moment], widen_ms: int) -> float:
    """The share of true moments that some selected span of a camera that saw it meets, the truth widened on both sides.

    Every moment counts, also those of questions for which nothing was selected. Without a true moment it is 1.
    """
    chosen = list(selected)
    hits = sum(any(_meets(span, true, widen_ms) for true in moment for span in chosen) for moment in truth)
    return hits / len(truth) if truth else 1.0


def precision(selected: Iterable[Span], truth: Sequence[Moment]) -> float:
    """The share of selected time in which a true moment is seen; 0 when nothing was selected."""
    chosen = _by_camera(selected)
    true = _by_camera(span for moment in truth for span in moment)
    total = sum(end - start for spans in chosen.values() for start, end in spans)
    shared = sum(overlap(a, b) for camera, spans in chosen.items() for a in spans for b in true.get(camera, ()))
    return shared / total if total else 0.0


def reciprocal_rank(ranked: Sequence[Span], truth: Sequence[Moment], widen_ms: int = 0) -> float:
    """1 / the place (from 1) of the first span that meets a true moment, else 0."""
    for place, span in enumerate(ranked, 1):
        if any(_meets(span, true, widen_ms) for moment in truth for true in moment):
            return 1 / place
    return 0.0


def citation_precision(cited: Sequence[Span], truth: Sequence[Moment], slack_ms: int = 0) -> float:
    """The share of citations that meet a true moment on the camera they name; 0 when nothing is cited."""
    good = sum(any(_meets(span, true, slack_ms) for moment in truth for true in moment) for span in cited)
    return good / len(cited) if cited else 0.0


def wrong_camera_rate(cited: Sequence[Span], truth: Sequence[Moment]) -> float:
    """The share of citations on cameras that saw no true moment; 0 when nothing is cited."""
    cameras = {span.camera for moment in truth for span in moment}
    return sum(span.camera not in cameras for span in cited) / len(cited) if cited else 0.0


def _meets(span: Span, true: Span, widen_ms: int) -> bool:
    wide = (true.start_ms - widen_ms, true.end_ms + widen_ms)
    return span.camera == true.camera and overlap((span.start_ms, span.end_ms), wide) > 0


def _by_camera(spans: Iterable[Span]) -> dict[str, tuple[Interval, ...]]:
    found: dict[str, list[Interval]] = {}
    for span in spans:
        found.setdefault(span.camera, []).append((span.start_ms, span.end_ms))
    return {camera: union(intervals) for camera, intervals in found.items()}


# --- pairs -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairScores:
    """Pairs of records: `claimed` to be one, `true` ones, and `right`, which are both."""

    claimed: int
    true: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.claimed if self.claimed else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        both = self.claimed + self.true
        return 2 * self.right / both if both else 1.0


def pair_scores(records: Iterable[tuple[str, str]]) -> PairScores:
    """Records as (cluster, truth), compared pair by pair without looking at every pair."""
    cells = Counter(records)
    clusters: Counter[str] = Counter()
    truths: Counter[str] = Counter()
    for (cluster, truth), number in cells.items():
        clusters[cluster] += number
        truths[truth] += number
    return PairScores(*(sum(n * (n - 1) // 2 for n in found.values()) for found in (clusters, truths, cells)))


# --- answers ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expected:
    """What a right answer holds: one of `accepted`, all of `all_of`, `in_order` one after another, and a value near `value_ms`.

    The value is a time of day (UTC ms, read in `tz`) for `when`, a length for `how_long`. What is empty or None is not asked.
    """

    kind: str
    accepted: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    in_order: tuple[str, ...] = ()
    value_ms: int | None = None
    tolerance_ms: int = 0
    tz: str = "UTC"

    @classmethod
    def of(cls, question: Mapping[str, Any], tz: str) -> Expected:
        """From a question of a world's truth."""
        return cls(
            question["kind"],
            tuple(question["accepted"]),
            tuple(question["all_of"]),
            tuple(question["in_order"]),
            question["value_ms"],
            question["tolerance_ms"] or 0,
            tz,
        )


def moments(question: Mapping[str, Any]) -> tuple[tuple[Span, ...], ...]:
    """The true moments of a question of a world's truth."""
    found: dict[int, list[Span]] = {}
    for item in question["evidence"]:
        found.setdefault(item["moment"], []).append(Span(item["camera"], item["start_ms"], item["end_ms"]))
    return tuple(tuple(spans) for _, spans in sorted(found.items()))


def normalised(text: str) -> str:
    """Lower case, no accents, no punctuation but within numbers and times, single spaces."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return " ".join(re.findall(r"\d+(?:[:.,]\d+)*|[^\W_]+", plain))


def contains(text: str, words: str) -> bool:
    """Whether `words` stand in `text` as whole words, both normalised."""
    return bool(normalised(words)) and f" {normalised(words)} " in f" {normalised(text)} "


def answer_matches(text: str, expected: Expected) -> bool:
    """Whether an answer is right."""
    checks = [
        not expected.accepted or any(contains(text, form) for form in expected.accepted),
        all(contains(text, name) for name in expected.all_of),
        in_order(text, expected.in_order),
        expected.value_ms is None or _near(text, expected),
    ]
    return all(checks)


def in_order(text: str, names: Sequence[str]) -> bool:
    """Whether the first mentions of the names follow one another in the text."""
    padded = f" {normalised(text)} "
    places = [padded.find(f" {normalised(name)} ") for name in names]
    return -1 not in places and places == sorted(places)


def _near(text: str, expected: Expected) -> bool:
    assert expected.value_ms is not None
    if expected.kind == "when":
        return any(
            low - expected.tolerance_ms < expected.value_ms < high + expected.tolerance_ms
            for low, high in clock_times(text, expected.value_ms, expected.tz)
        )
    return any(abs(length - expected.value_ms) <= expected.tolerance_ms for length in lengths(text))


def clock_times(text: str, near_ms: int, tz: str) -> tuple[Interval, ...]:
    """Times of day in a text ("9:01", "09:01:23") as the second or minute of UTC they name, on the day of `near_ms`."""
    day = datetime.datetime.fromtimestamp(near_ms / 1000, ZoneInfo(tz))
    found = []
    for hour, minute, second in re.findall(r"(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\d:])", text):
        if int(hour) < 24 and int(minute) < 60 and int(second or 0) < 60:
            at = day.replace(hour=int(hour), minute=int(minute), second=int(second or 0), microsecond=0)
            start = round(at.timestamp() * 1000)
            found.append((start, start + (1_000 if second else 60_000)))
    return tuple(found)


_UNITS = {"ms": 1, "millisecond": 1, "s": 1_000, "sec": 1_000, "second": 1_000, "min": 60_000, "m": 60_000}
_UNITS |= {"minute": 60_000, "h": 3_600_000, "hr": 3_600_000, "hour": 3_600_000}
_LENGTH = re.compile(
    r"(\d+(?:\.\d+)?)\s*-?\s*(" + "|".join(sorted(_UNITS, key=len, reverse=True)) + r")s?\b", re.IGNORECASE
)


def lengths(text: str) -> tuple[int, ...]:
    """Lengths of time in a text in ms; "1 minute and 20 seconds" is one length."""
    found: list[int] = []
    last_end, last_unit = -10, 0
    for match in _LENGTH.finditer(text):
        unit = _UNITS[match[2].lower()]
        value = round(float(match[1]) * unit)
        joins = re.fullmatch(r"[\s,]*(and\s+)?", text[max(last_end, 0) : match.start()]) and unit < last_unit
        if joins and found:
            found[-1] += value
        else:
            found.append(value)
        last_end, last_unit = match.end(), unit
    return tuple(found)
