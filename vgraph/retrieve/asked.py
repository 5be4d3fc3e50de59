"""Filters as people write them, read: times of day, weekdays, modalities. Whatever cannot be read is told with the accepted form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, get_args

from vgraph.errors import UserError
from vgraph.store.narrowing import DAY_MINUTES, EVERY_DAY, open_spans
from vgraph.types import Filters, Modality

MODALITIES: Final[tuple[str, ...]] = get_args(Modality)
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_SHORTEST = 2
"""Letters of a weekday's name that tell it."""


def time_of_day(text: str | Sequence[int]) -> tuple[int, int]:
    """Minutes of the day [from, to) of `22:00-06:00`, or of the pair itself; `to` may be 24:00. Raises UserError."""
    start, end = _minutes(text) if isinstance(text, str) else _pair(text)
    if not (0 <= start < DAY_MINUTES and 0 <= end <= DAY_MINUTES):
        raise _no_time_of_day(text)
    if start == end:
        raise UserError(f"time of day {text!r}: nothing lies between; a whole day is 00:00-24:00")
    return start, end


def _minutes(text: str) -> tuple[int, int]:
    found = _OF_DAY.fullmatch(text.strip())
    if found is None or int(found[2]) > 59 or int(found[4]) > 59:
        raise _no_time_of_day(text)
    return int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])


def _pair(given: Sequence[int]) -> tuple[int, int]:
    if len(given) != 2 or not all(isinstance(minute, int) for minute in given):
        raise _no_time_of_day(given)
    return given[0], given[1]


def _no_time_of_day(given: object) -> UserError:
    return UserError(f"time of day {given!r}: write from-to in 24 hours, such as 22:00-06:00")


def weekdays(given: Iterable[str | int]) -> tuple[int, ...]:
    """ISO weekdays, 1 (Monday) to 7, of names, their beginnings (`mon`) or numbers; in order. Raises UserError."""
    return tuple(sorted({_weekday(day) for day in given}))


def _weekday(day: str | int) -> int:
    word = str(day).strip().casefold()
    if word.isdecimal() and 1 <= int(word) <= len(WEEKDAYS):
        return int(word)
    found = [number for number, name in enumerate(WEEKDAYS, 1) if len(word) >= _SHORTEST and name.startswith(word)]
    if not found:
        raise UserError(f"weekday {day!r}: use a name such as monday or mon, or 1 (Monday) to 7 (Sunday)")
    return found[0]


def modalities(given: Iterable[str]) -> tuple[str, ...]:
    """The modalities as they are written in the graph. Raises UserError for one that there is not."""
    named = tuple(dict.fromkeys(given))
    for name in named:
        if name not in MODALITIES:
            raise UserError(f"modality {name!r} is not one of {', '.join(MODALITIES)}")
    return named


def in_time(filters: Filters, tz: str, start_ms: int, end_ms: int) -> bool:
    """Whether [start_ms, end_ms), or the moment where that is empty, overlaps the span, time of day and weekdays asked for."""
    end_ms = max(end_ms, start_ms + 1)
    if filters.start_ms is not None and end_ms <= filters.start_ms:
        return False
    if filters.end_ms is not None and start_ms >= filters.end_ms:
        return False
    if filters.time_of_day is None and filters.weekdays is None:
        return True
    days = EVERY_DAY if filters.weekdays is None else filters.weekdays
    return bool(open_spans(tz, filters.time_of_day or (0, DAY_MINUTES), days, start_ms, end_ms))
