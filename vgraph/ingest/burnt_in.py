"""Clocks burnt into the picture: texts that OCR read, as moments of the camera's own time.

Read are dates as `2026-03-02`, `2026/3/2`, `2026.03.02`, `20260302`, `2026年3月2日`, `02.03.2026`, `02/03/2026`, `2 Mar 2026`,
`March 2, 2026`, times as `08:15:00`, `08:15:00.123`, `8:15:00 PM`, `08.15.00`, `08:15`, on one line or on two, a weekday between or
none, and digits that OCR takes for letters (O for 0, l or I for 1). Where day and month can be mistaken for one another (`02/03/2026`),
`order` or the day that is nearest to what else is known of the recording decides; where neither can, the text is left out.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal
from zoneinfo import ZoneInfo

from vgraph.media.start import near_time_of_day

Order = Literal["dmy", "mdy"]

_YEAR, _MONTH, _DAY = r"(?P<year>(?:19[7-9]|20\d)\d)", r"(?P<month>0?[1-9]|1[0-2])", r"(?P<day>0?[1-9]|[12]\d|3[01])"
_TWO: Final = r"(?P<first>0?[1-9]|[12]\d|3[01])(?P<sep>[-/. ])(?P<second_>0?[1-9]|[12]\d|3[01])(?P=sep)"
_NAME: Final = r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d){_YEAR}\s?(?P<sep>[-/.])\s?{_MONTH}\s?(?P=sep)\s?(?P<day>0[1-9]|[12]\d|3[01]|[1-9](?!\d))",
        rf"(?<!\d){_YEAR}\s?年\s?{_MONTH}\s?月\s?{_DAY}\s?日",
        r"(?<!\d)(?P<year>20\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?!\d{9})",
        rf"(?<!\d){_TWO}(?P<year>(?:19[7-9]|20\d)\d)",
        rf"(?<![\da-z]){_DAY}[-/. ]?\s?{_NAME}[-/., ]?\s?{_YEAR}",
        rf"(?<![a-z]){_NAME}[-/. ]?\s?{_DAY},?\s?{_YEAR}",
    )
)
_TIME: Final = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])(?P<colon>[:;.])\s?(?P<minute>[0-5]\d)(?:[:;.]\s?(?P<second>[0-5]\d)(?P<fraction>[.,]\d{1,3})?)?"
    r"(?!\d)\s?(?P<half>[ap]\.?m\b)?",
    re.IGNORECASE,
)
_GLUED: Final = re.compile(r"[ T_]?(?P<hour>[01]\d|2[0-3])[:;.]?(?P<minute>[0-5]\d)[:;.]?(?P<second>[0-5]\d)(?!\d)")
"""A time that follows the date at once, the space between them or its colons perhaps lost."""
_MISREAD: Final = str.maketrans("OoQDlI|SB", "000011158")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True, slots=True)
class Reading:
    """At media time `offset_ms` the clock in the picture showed `own_ms`, or up to `resolution_ms` more that it does not show."""

    offset_ms: int
    own_ms: int
    resolution_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class Shown:
    """What a text tells of a clock: the dates it may mean, the time of the day in ms, and what that is cut to."""

    dates: tuple[datetime.date, ...] = ()
    day_ms: int | None = None
    resolution_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class Text:
    """A text in view from `offset_ms` to `end_offset_ms` of media time."""

    offset_ms: int
    end_offset_ms: int
    text: str


def readings(
    texts: Iterable[Text], tz: str, *, order: Order | None = None, near_ms: int | None = None
) -> tuple[Reading, ...]:
    """Moments of own time, UTC ms in the camera's zone `tz`, in order of media time. Other texts are passed over.

    A date that stands in a text of its own goes with the times seen while it was in view. `near_ms` is the own time of the first
    frame as far as anything else tells: it decides between dates, and lends its day to clocks that show none.
    """
    seen = sorted(
        ((text, shown_by(text.text, order)) for text in texts), key=lambda pair: (pair[0].offset_ms, pair[0].text)
    )
    dates = [(text, shown.dates) for text, shown in seen if shown.dates and shown.day_ms is None]
    zone, found = ZoneInfo(tz), set()
    for text, shown in seen:
        if shown.day_ms is None:
            continue
        days = shown.dates or _in_view(dates, text)
        for offset_ms in {text.offset_ms, text.end_offset_ms}:
            own = _own(days, shown.day_ms, zone, None if near_ms is None else near_ms + offset_ms)
            if own is not None:
                found.add(Reading(offset_ms, own, shown.resolution_ms))
    ordered = sorted(found, key=lambda reading: (reading.offset_ms, reading.resolution_ms, reading.own_ms))
    return tuple(_finest(ordered))


def _finest(found: Sequence[Reading]) -> Iterator[Reading]:
    """Of several readings of one frame those that show most: `08:15` may be half of `08:15:07`."""
    for _, group in groupby(found, key=lambda reading: reading.offset_ms):
        same = list(group)
        yield from (reading for reading in same if reading.resolution_ms == same[0].resolution_ms)


def _in_view(dates: Iterable[tuple[Text, tuple[datetime.date, ...]]], text: Text) -> tuple[datetime.date, ...]:
    """The dates of the text that was in view at the same time."""
    shared = (
        days for other, days in dates if other.offset_ms <= text.end_offset_ms and text.offset_ms <= other.end_offset_ms
    )
    return next(shared, ())


def _own(days: Sequence[datetime.date], day_ms: int, zone: ZoneInfo, near_ms: int | None) -> int | None:
    if not days:
        return None if near_ms is None else near_time_of_day(day_ms, near_ms, zone, within_ms=43_200_000)
    if near_ms is None and len(days) > 1:
        return None
    moments = [_moment(day, day_ms, zone) for day in days]
    return min(moments, key=lambda ms: abs(ms - (near_ms or 0)))


def _moment(day: datetime.date, day_ms: int, zone: ZoneInfo) -> int:
    seconds, thousandths = divmod(day_ms, 1000)
    clock = datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60)
    return round(datetime.datetime.combine(day, clock, zone).timestamp()) * 1000 + thousandths


# --- one text -----------------------------------------------------------------------------------------------------------


def shown_by(text: str, order: Order | None = None) -> Shown:
    """What a text says of date and time; nothing of either where it is no clock."""
    best = _shown(text, order)
    if best.day_ms is None or not best.dates:
        mended = _shown(text.translate(_MISREAD), order)
        if _told(mended) > _told(best):
            return mended
    return best


def _told(shown: Shown) -> int:
    return bool(shown.dates) + (shown.day_ms is not None)


def _shown(text: str, order: Order | None) -> Shown:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            if dates := _dates(match, order):
                rest = text[match.end() :]
                glued = _GLUED.match(rest)
                day_ms, resolution = _time_of(glued) if glued else _time(f"{text[: match.start()]} {rest}")
                return Shown(dates, day_ms, resolution)
    return Shown((), *_time(text))


def _dates(match: re.Match[str], order: Order | None) -> tuple[datetime.date, ...]:
    """The days a date may mean, without those that no calendar has."""
    parts = match.groupdict()
    year = int(parts["year"])
    if parts.get("first"):
        pair = int(parts["first"]), int(parts["second_"])
        forms = {"dmy": [pair[::-1]], "mdy": [pair], None: [pair[::-1], pair]}[order]
    else:
        name = parts.get("name")
        forms = [(_MONTHS.index(name.lower()) + 1 if name else int(parts["month"]), int(parts["day"]))]
    return tuple(dict.fromkeys(day for month, number in forms if (day := _day(year, month, number))))


def _day(year: int, month: int, day: int) -> datetime.date | None:
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def _time(text: str) -> tuple[int | None, int]:
    for match in _TIME.finditer(text):
        if match["second"] or match["colon"] == ":":  # `12.30` alone is a number
            return _time_of(match)
    return None, 1_000


def _time_of(match: re.Match[str]) -> tuple[int | None, int]:
    parts = match.groupdict()
    hour, half = int(parts["hour"]), (parts.get("half") or "").lower()[:1]
    if half and not 1 <= hour <= 12:
        return None, 1_000
    hour = hour % 12 + 12 * (half == "p") if half else hour
    digits = (parts.get("fraction") or "")[1:]
    seconds = (hour * 60 + int(parts["minute"])) * 60 + int(parts["second"] or 0)
    resolution = 10 ** (3 - len(digits)) if parts["second"] else 60_000
    return seconds * 1000 + int(f"{digits:0<3}"), resolution
