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


def located(cited: Sequence[Span], truth: Sequence[Moment], within_ms: int = 2_000, least: float = 0.9) -> bool:
    """Whether every true moment is told where it is: a citation begins and ends within 2 s of it, or has an IoU above 0.9 (OmAgent)."""
    return bool(truth) and all(
        any(_locates(span, true, within_ms, least) for span in cited for true in moment) for moment in truth
    )


def _locates(span: Span, true: Span, within_ms: int, least: float) -> bool:
    near = max(abs(span.start_ms - true.start_ms), abs(span.end_ms - true.end_ms)) <= within_ms
    return span.camera == true.camera and (near or iou(_interval(span), _interval(true)) > least)


def best_iou(cited: Sequence[Span], truth: Sequence[Moment]) -> float:
    """Over the true moments the mean of the best IoU a citation has with one of its spans; 0 without either."""
    best = [
        max((iou(_interval(s), _interval(t)) for s in cited for t in moment if s.camera == t.camera), default=0.0)
        for moment in truth
    ]
    return sum(best) / len(best) if best else 0.0


def _interval(span: Span) -> Interval:
    return span.start_ms, span.end_ms


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

    The value is a time of day (UTC ms, read in `tz`) for `when`, a length for `how_long`. What is empty or None is not asked. None of
    `rivals` may stand in a right answer (an answer that names everybody names nobody), and where a number is asked, no other number but
    those within `neutral` (names of things) and in the words of the question, `asked`.
    """

    kind: str
    accepted: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    in_order: tuple[str, ...] = ()
    value_ms: int | None = None
    tolerance_ms: int = 0
    tz: str = "UTC"
    rivals: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    asked: str = ""

    @classmethod
    def of(
        cls, question: Mapping[str, Any], tz: str, *, rivals: Iterable[str] = (), neutral: Iterable[str] = ()
    ) -> Expected:
        """From a question of a world's truth."""
        return cls(
            question["kind"],
            tuple(question["accepted"]),
            tuple(question["all_of"]),
            tuple(question["in_order"]),
            question["value_ms"],
            question["tolerance_ms"] or 0,
            tz,
            tuple(rivals),
            tuple(neutral),
            question["text"],
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
    """Whether an answer is right, and says nothing else: see Expected."""
    checks = [
        not expected.accepted or any(contains(text, form) for form in expected.accepted),
        all(contains(text, name) for name in expected.all_of),
        in_order(text, expected.in_order),
        expected.value_ms is None or _near(text, expected),
        not _names_a_rival(text, expected),
        expected.kind != "how_many" or _counts(text, expected) <= _numbers(expected.accepted),
    ]
    return all(checks)


def in_order(text: str, names: Sequence[str]) -> bool:
    """Whether the first mentions of the names follow one another in the text."""
    padded = f" {normalised(text)} "
    places = [padded.find(f" {normalised(name)} ") for name in names]
    return -1 not in places and places == sorted(places)


MOST_OTHERS = 2
"""Values an answer may name beside the one it begins with, such as when something ended."""


def _names_a_rival(text: str, expected: Expected) -> bool:
    """Longer names are read first: the "dock" within "loading dock" is none of its own."""
    right = {normalised(name) for name in (*expected.accepted, *expected.all_of)}
    rest = text
    for name in sorted(right | {normalised(name) for name in expected.rivals}, key=len, reverse=True):
        if name not in right and contains(rest, name):
            return True
        rest = without(rest, (name,))
    return False


def without(text: str, names: Iterable[str]) -> str:
    """The normalised text without the names, longest first; a bar stands where one was."""
    padded = f" {normalised(text)} "
    for name in sorted({normalised(name) for name in names} - {""}, key=len, reverse=True):
        while f" {name} " in padded:
            padded = padded.replace(f" {name} ", " | ")
    return padded


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w* \d{4}")


def _counts(text: str, expected: Expected) -> set[int]:
    """Whole numbers an answer states, but those of dates, lengths of time, names and the question; "one" is too common a word to count."""
    plain = _LENGTH.sub(" ", _DATE.sub(" ", text))
    words = without(plain, (*expected.neutral, *expected.accepted)).split()
    return {n for n in map(_number, words) if n is not None and n != 1} - _numbers(normalised(expected.asked).split())


def _numbers(words: Iterable[str]) -> set[int]:
    return {number for number in map(_number, words) if number is not None}


def _number(word: str) -> int | None:
    return int(word) if word.isdecimal() else _NUMBERS.index(word) if word in _NUMBERS else None


def _near(text: str, expected: Expected) -> bool:
    """The first value the answer names is right, and few others are named that are not; times of the question may be said again."""
    assert expected.value_ms is not None
    value, slack = expected.value_ms, expected.tolerance_ms
    if expected.kind == "when":
        echoed = set(clock_times(expected.asked, value, expected.tz))
        times = [time for time in clock_times(text, value, expected.tz) if time not in echoed]
        near = [low - slack < value < high + slack for low, high in times]
    else:
        near = [abs(length - value) <= slack for length in lengths(text)]
    return bool(near) and near[0] and near.count(False) <= MOST_OTHERS


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


def choice_of(text: str, choices: Sequence[str]) -> int | None:
    """The one choice an answer settles on: by the letter it begins with or names alone, else by the only choice whose words it holds.

    None when it settles on none, or names several.
    """
    lettered = _lettered(text, len(choices))
    if lettered:
        return lettered.pop() if len(lettered) == 1 else None
    held = [place for place, choice in enumerate(choices) if contains(text, choice)]
    outermost = [p for p in held if not any(p != q and contains(choices[q], choices[p]) for q in held)]
    return outermost[0] if len(outermost) == 1 else None


_ALONE = re.compile(r"^\W*([A-J])\W*$", re.IGNORECASE)
_LEADING = re.compile(r"^\s*\(?([A-J])[.):]", re.MULTILINE)
_BRACKETED = re.compile(r"\(([A-J])\)")
_SAID = re.compile(
    r"(?i:\b(?:answer|choice|option)s?(?:\s+is|:)?)\s+\(?([A-J])(?=[).,:;]|\s*$|\s+because\b)", re.MULTILINE
)


def _lettered(text: str, number: int) -> set[int]:
    """The choices named by their letters: "b", "B. Black", "the answer is B", "(B)"; not the article of "A man"."""
    alone = _ALONE.match(text)
    letters = {alone[1].upper()} if alone else {m for form in (_LEADING, _BRACKETED, _SAID) for m in form.findall(text)}
    return {place for place in (ord(letter) - ord("A") for letter in letters) if place < number}
