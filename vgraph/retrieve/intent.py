"""Time phrases and places of a question, by rules: clock times, spans and dates in the cameras' zone, cameras that are named.

Understood: `at 14:10`, `around 2 pm`, `between 14:00 and 14:10`, `from 9:00 to 9:30`, `before/until 9:00`, `after/since 9:00`, each with
or without a date (`2026-03-02`, `2 March 2026`, `March 2, 2026`). A clock time without a date means the last recorded day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from vgraph.types import Filters

_CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?!\d)(?:\s*([ap])\.?m\b\.?)?|(\d{1,2})\s*([ap])\.?m\b\.?"
_TIME = rf"(?:{_CLOCK})"
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = "|".join(f"{month}|{month[:3]}" for month in _MONTHS)
_DATE = re.compile(
    rf"\b(?P<y>\d{{4}})-(?P<m>\d{{2}})-(?P<d>\d{{2}})\b"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<m2>{_MONTH})\.?,?\s+(?P<y2>\d{{4}})\b"
    rf"|\b(?P<m3>{_MONTH})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}})\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w+")
_BETWEEN = re.compile(rf"\b(?:between|from)\s+(?P<a>{_TIME})\s+(?:and|to|until|till)\s+(?P<b>{_TIME})", re.IGNORECASE)
_AROUND = re.compile(rf"\b(?:around|about|circa)\s+(?P<a>{_TIME})", re.IGNORECASE)
_BEFORE = re.compile(rf"\b(?:before|until|till|by)\s+(?P<a>{_TIME})", re.IGNORECASE)
_AFTER = re.compile(rf"\b(?:after|since|from)\s+(?P<a>{_TIME})", re.IGNORECASE)
_AT = re.compile(rf"(?:\bat\s+)?\b(?P<a>{_TIME})", re.IGNORECASE)
AROUND = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The span a question names, UTC ms, either side open; `phrase` is what was read."""

    start_ms: int | None
    end_ms: int | None
    phrase: str


def time_span(question: str, tz: str, last_ms: int | None) -> TimeSpan | None:
    """The span named in a question, or None. `last_ms` (end of the last recording) gives the day of a time without a date."""
    found = _DATE.search(question)
    zone = ZoneInfo(tz)
    rest = _DATE.sub(" ", question)
    try:
        day = _day(found, zone, last_ms)
        if day is None:
            return None
        return _clock_span(rest, day, zone) or (_whole_day(day, zone, found.group()) if found else None)
    except (OverflowError, ValueError):  # the first or last day of the calendar
        return None


def without_times(question: str) -> str:
    """The question without its dates and clock times: what it asks about."""
    rest = _DATE.sub(" ", question)
    for pattern in (_BETWEEN, _AROUND, _BEFORE, _AFTER, _AT):
        rest = pattern.sub(" ", rest)
    return " ".join(rest.split())


def with_time(filters: Filters, span: TimeSpan | None) -> Filters:
    """The filters narrowed by a span; sides that the caller gave stay as they are."""
    if span is None or filters.start_ms is not None or filters.end_ms is not None:
        return filters
    return replace(filters, start_ms=span.start_ms, end_ms=span.end_ms)


def _day(found: re.Match[str] | None, zone: ZoneInfo, last_ms: int | None) -> date | None:
    if found:
        try:
            return _date(found)
        except ValueError:
            return None
    return None if last_ms is None else datetime.fromtimestamp((last_ms - 1) / 1000, zone).date()


def _date(found: re.Match[str]) -> date:
    year, month, day = (found[f"{part}2"] or found[f"{part}3"] for part in "ymd")
    if found["y"]:
        return date(int(found["y"]), int(found["m"]), int(found["d"]))
    number = next(n for n, name in enumerate(_MONTHS, 1) if name.startswith(month.lower()))
    return date(int(year), number, int(day))


def cameras_named(question: str, cameras: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Keys of the cameras whose label or place stands in the question as whole words."""
    words = f" {' '.join(_WORDS.findall(question.casefold()))} "
    return tuple(camera["_key"] for camera in cameras if any(f" {name} " in words for name in _names(camera)))


def _names(camera: Mapping[str, Any]) -> list[str]:
    found = (" ".join(_WORDS.findall(str(camera[part]).casefold())) for part in ("label", "place"))
    return [name for name in found if name]


def _clock_span(text: str, day: date, zone: ZoneInfo) -> TimeSpan | None:
    for pattern, spread in (
        (_BETWEEN, _between),
        (_AROUND, _around),
        (_BEFORE, _before),
        (_AFTER, _after),
        (_AT, _minute),
    ):
        match = pattern.search(text)
        if match and (span := spread(match, day, zone)):
            return span
    return None


def _between(match: re.Match[str], day: date, zone: ZoneInfo) -> TimeSpan | None:
    start, end = _moment(match["a"], day, zone), _moment(match["b"], day, zone)
    if start is None or end is None:
        return None
    return TimeSpan(_ms(start), _ms(end if end > start else end + timedelta(days=1)), match.group())


def _around(match: re.Match[str], day: date, zone: ZoneInfo) -> TimeSpan | None:
    moment = _moment(match["a"], day, zone)
    return None if moment is None else TimeSpan(_ms(moment - AROUND), _ms(moment + AROUND), match.group())


def _before(match: re.Match[str], day: date, zone: ZoneInfo) -> TimeSpan | None:
    moment = _moment(match["a"], day, zone)
    return None if moment is None else TimeSpan(None, _ms(moment), match.group())


def _after(match: re.Match[str], day: date, zone: ZoneInfo) -> TimeSpan | None:
    moment = _moment(match["a"], day, zone)
    return None if moment is None else TimeSpan(_ms(moment), None, match.group())


def _minute(match: re.Match[str], day: date, zone: ZoneInfo) -> TimeSpan | None:
    """A clock time to the minute means that minute, to the second that second."""
    moment = _moment(match["a"], day, zone)
    length = timedelta(seconds=1) if match["a"].count(":") == 2 else timedelta(minutes=1)
    return None if moment is None else TimeSpan(_ms(moment), _ms(moment + length), match.group())


def _moment(text: str, day: date, zone: ZoneInfo) -> datetime | None:
    match = re.fullmatch(_CLOCK, text.strip(), re.IGNORECASE)
    if match is None:
        return None
    hour, minute, second, half, lone, lone_half = match.groups()
    half = half or lone_half
    number = int(hour or lone)
    if half:
        number = number % 12 + (12 if half.lower() == "p" else 0)
    if number > 23 or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    return datetime(day.year, day.month, day.day, number, int(minute or 0), int(second or 0), tzinfo=zone)


def _whole_day(day: date, zone: ZoneInfo, phrase: str) -> TimeSpan:
    start = datetime(day.year, day.month, day.day, tzinfo=zone)
    return TimeSpan(_ms(start), _ms(start + timedelta(days=1)), phrase)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
