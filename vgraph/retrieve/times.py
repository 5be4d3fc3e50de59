"""Time phrases of a question, by rules: what span they mean, in a zone and as of a moment, and the question without them.

Understood are dates (`2026-03-02`, `2 March 2026`, `March 2, 2026`), days told from the moment asked about (`today`, `yesterday`, `last
Tuesday`, `on Tuesday`, `three days ago`), weeks (`this week`, `last week`), parts of a day (`this morning`, `yesterday evening`, `at noon`,
`last night`), clock times (`at 14:10`, `around 2 pm`, `between 14:00 and 14:10`, `before 9:00`, `after 9:00`), any of these together (`last
Tuesday around noon`), and spans that end now (`in the last ten minutes`, `half an hour ago`). A clock time alone means the last time it
was that o'clock: the day asked about, or the day before where that is still to come.
The moment asked about is the end of the last recording, or `not_after`: to a recording, nothing later is `today`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from vgraph.types import Filters

AROUND = timedelta(minutes=5)
"""How far `around 14:10` reaches to either side."""
AROUND_PART = timedelta(minutes=30)
"""How far `around noon` does."""
PARTS = {
    "morning": (6, 12),
    "afternoon": (12, 18),
    "evening": (18, 23),
    "night": (22, 30),
    "noon": (12, 12),
    "midday": (12, 12),
    "midnight": (0, 0),
}
"""Parts of a day: hours from and to, beyond 24 the next day's."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
NUMBERS = {
    word: number
    for number, words in enumerate(
        ("zero", "one a an", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for word in words.split()
} | {
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "sixty": 60,
    "ninety": 90,
    "half an": 0.5,
    "half a": 0.5,
    "couple of": 2,
    "few": 3,
}
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}

_CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?!\d)(?:\s*([ap])\.?m\b\.?)?|(\d{1,2})\s*([ap])\.?m\b\.?"
_TIME = rf"(?:{_CLOCK})"
_MONTH = "|".join(f"{month}|{month[:3]}" for month in MONTHS)
_DATE = re.compile(
    rf"\b(?:on\s+)?(?:(?P<y>\d{{4}})-(?P<m>\d{{2}})-(?P<d>\d{{2}})"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<m2>{_MONTH})\.?,?\s+(?P<y2>\d{{4}})"
    rf"|(?P<m3>{_MONTH})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}}))\b",
    re.IGNORECASE,
)
_NUMBER = rf"\d+(?:\.\d+)?|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"
_UNIT = "|".join(UNITS)
_AGO = re.compile(rf"\b(?:(?:about|around|some)\s+)?(?P<n>{_NUMBER})\s+(?P<u>{_UNIT})s?\s+ago\b", re.IGNORECASE)
_LAST = re.compile(
    rf"\b(?:in|within|during|over|for)\s+the\s+(?:last|past)\s+(?:(?P<n>{_NUMBER})\s+)?(?P<u>{_UNIT})s?\b",
    re.IGNORECASE,
)
_WEEK = re.compile(r"\b(?:(?P<last>last)|this)\s+week\b", re.IGNORECASE)
_DAY = re.compile(
    rf"\b(?:(?P<before>(?:on\s+)?the\s+day\s+before\s+yesterday)|(?P<yesterday>yesterday)|(?P<today>today|this\s+(?=(?:{'|'.join(PARTS)})\b)|tonight)"
    rf"|(?P<lastnight>last\s+night)|(?:(?P<which>last|this|on)\s+)?(?P<weekday>{'|'.join(WEEKDAYS)}))\b",
    re.IGNORECASE,
)
_PART = re.compile(
    rf"\b(?:(?P<how>around|about|at|in|during|by|before|after|until|since)\s+)?(?:the\s+)?(?P<part>{'|'.join(PARTS)})\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(rf"\b(?:between|from)\s+(?P<a>{_TIME})\s+(?:and|to|until|till)\s+(?P<b>{_TIME})", re.IGNORECASE)
_AROUND = re.compile(rf"\b(?:around|about|circa)\s+(?P<a>{_TIME})", re.IGNORECASE)
_BEFORE = re.compile(rf"\b(?:before|until|till|by)\s+(?P<a>{_TIME})", re.IGNORECASE)
_AFTER = re.compile(rf"\b(?:after|since|from)\s+(?P<a>{_TIME})", re.IGNORECASE)
_AT = re.compile(rf"(?:\bat\s+)?\b(?P<a>{_TIME})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The span a question names, UTC ms, either side open; `phrase` is what was read."""

    start_ms: int | None
    end_ms: int | None
    phrase: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A day or stretch that was read, half open, and the words it stood in; `whole` is no day, and takes no clock time."""

    start: datetime
    end: datetime
    phrase: str
    whole: bool = False


def time_span(question: str, tz: str, last_ms: int | None) -> TimeSpan | None:
    """The span named in a question, or None. `last_ms` is the moment asked about: without one, only dates mean anything."""
    zone = ZoneInfo(tz)
    try:
        now = None if last_ms is None else datetime.fromtimestamp((last_ms - 1) / 1000, zone)
        day = _stretch(question, zone, now)
        if day is not None and day.whole:
            return _span(day.start, day.end, day.phrase)
        rest = question if day is None else question.replace(day.phrase, " ", 1)
        start = day.start.date() if day else (now.date() if now else None)
        if start is None:
            return None
        found = _clock_or_part(rest, start, zone, named=day is not None)
        if day is None and found and last_ms is not None and (found.start_ms or 0) >= last_ms:
            found = _clock_or_part(rest, start - timedelta(days=1), zone, named=False)
        return found or (_span(day.start, day.end, day.phrase) if day else None)
    except (OverflowError, ValueError):  # the first or last day of the calendar
        return None


def _clock_or_part(text: str, day: date, zone: ZoneInfo, *, named: bool) -> TimeSpan | None:
    part = _part_of(text, day, zone, named=named)
    return _clock_span(text, day, zone) or part


def without_times(question: str) -> str:
    """The question without its time phrases: what it asks about."""
    rest = question
    for pattern in (_DATE, _AGO, _LAST, _WEEK, _BETWEEN, _AROUND, _BEFORE, _AFTER, _AT, _DAY):
        rest = pattern.sub(" ", rest)
    return " ".join(_PART.sub(lambda found: " " if found["how"] else found.group(), rest).split())


def with_time(filters: Filters, span: TimeSpan | None) -> Filters:
    """The filters narrowed by a span; sides that the caller gave stay as they are."""
    if span is None or filters.start_ms is not None or filters.end_ms is not None:
        return filters
    return replace(filters, start_ms=span.start_ms, end_ms=span.end_ms)


# --- days and stretches ---------------------------------------------------------------------------------------------------


def _stretch(text: str, zone: ZoneInfo, now: datetime | None) -> _Read | None:
    if (found := _DATE.search(text)) and (day := _date(found)):
        return _whole_day(day, zone, found.group())
    if now is None:
        return None
    readers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime, ZoneInfo], _Read | None]], ...] = (
        (_AGO, _ago), (_LAST, _lately), (_WEEK, _week), (_DAY, _named_day),
    )  # fmt: skip
    for pattern, read in readers:
        if (found := pattern.search(text)) and (stretch := read(found, now, zone)):
            return stretch
    return None


def _date(found: re.Match[str]) -> date | None:
    year, month, day = (found[f"{part}2"] or found[f"{part}3"] for part in "ymd")
    try:
        if found["y"]:
            return date(int(found["y"]), int(found["m"]), int(found["d"]))
        number = next(n for n, name in enumerate(MONTHS, 1) if name.startswith(month.lower()))
        return date(int(year), number, int(day))
    except ValueError:
        return None


def _whole_day(day: date, zone: ZoneInfo, phrase: str) -> _Read:
    return _Read(_midnight(day, zone), _midnight(day + timedelta(days=1), zone), phrase)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone)


def _ago(found: re.Match[str], now: datetime, zone: ZoneInfo) -> _Read:
    """Days and weeks ago are days; anything shorter is that moment, give or take a tenth of how long ago, at least a minute."""
    length = timedelta(seconds=_number(found["n"]) * UNITS[found["u"].lower()])
    if UNITS[found["u"].lower()] >= UNITS["day"]:
        return _whole_day((now - length).date(), zone, found.group())
    about = max(length / 10, timedelta(minutes=1))
    return _Read(now - length - about, now - length + about, found.group(), whole=True)


def _lately(found: re.Match[str], now: datetime, zone: ZoneInfo) -> _Read:
    length = timedelta(seconds=_number(found["n"] or "one") * UNITS[found["u"].lower()])
    return _Read(now - length, now + timedelta(milliseconds=1), found.group(), whole=True)


def _number(text: str) -> float:
    word = " ".join(text.lower().split())
    return NUMBERS[word] if word in NUMBERS else float(word)


def _week(found: re.Match[str], now: datetime, zone: ZoneInfo) -> _Read:
    """From Monday to Sunday."""
    monday = now.date() - timedelta(days=now.weekday() + (7 if found["last"] else 0))
    return _Read(_midnight(monday, zone), _midnight(monday + timedelta(days=7), zone), found.group(), whole=True)


def _named_day(found: re.Match[str], now: datetime, zone: ZoneInfo) -> _Read:
    today, phrase = now.date(), found.group()
    if found["lastnight"]:
        start = datetime.combine(today - timedelta(days=1), datetime.min.time(), zone).replace(hour=18)
        return _Read(start, _midnight(today, zone).replace(hour=6), phrase, whole=True)
    if phrase.lower() == "tonight":
        start = _midnight(today, zone).replace(hour=18)
        return _Read(start, _midnight(today + timedelta(days=1), zone).replace(hour=6), phrase, whole=True)
    if found["weekday"]:
        return _whole_day(_weekday(found, today), zone, phrase)
    back = 2 if found["before"] else 1 if found["yesterday"] else 0
    return _whole_day(today - timedelta(days=back), zone, phrase)


def _weekday(found: re.Match[str], today: date) -> date:
    """The latest of that name up to today; with `last`, before today; with `this`, of today's week."""
    number = WEEKDAYS.index(found["weekday"].lower())
    which = (found["which"] or "").lower()
    if which == "this":
        return today + timedelta(days=number - today.weekday())
    back = (today.weekday() - number) % 7
    return today - timedelta(days=back or (7 if which == "last" else 0))


# --- parts of a day, and clock times --------------------------------------------------------------------------------------


def _part_of(text: str, day: date, zone: ZoneInfo, *, named: bool) -> TimeSpan | None:
    """`yesterday morning`, `in the evening`, `around noon`; a bare `morning` without a day or a word before it is a greeting."""
    found = _PART.search(text)
    if found is None or not (named or found["how"]):
        return None
    first, last = (_hours(day, hours, zone) for hours in PARTS[found["part"].lower()])
    match (found["how"] or "in").lower():
        case "before" | "by" | "until":
            return _span(None, first, found.group())
        case "after" | "since":
            return _span(last, None, found.group())
        case "around" | "about":
            return _span(first - AROUND_PART, last + AROUND_PART, found.group())
        case _ if first == last:
            return _span(first - AROUND, last + AROUND, found.group())
        case _:
            return _span(first, last, found.group())


def _hours(day: date, hours: int, zone: ZoneInfo) -> datetime:
    return _midnight(day + timedelta(days=hours // 24), zone).replace(hour=hours % 24)


def _clock_span(text: str, day: date, zone: ZoneInfo) -> TimeSpan | None:
    return next((span for span in _clock_spans(text, day, zone) if span), None)


def _clock_spans(text: str, day: date, zone: ZoneInfo) -> Iterator[TimeSpan | None]:
    if found := _BETWEEN.search(text):
        yield _between(found, day, zone)
    for pattern, before, after in (
        (_AROUND, AROUND, AROUND),
        (_BEFORE, None, timedelta()),
        (_AFTER, timedelta(), None),
    ):
        if (found := pattern.search(text)) and (moment := _moment(found["a"], day, zone)):
            yield _span(
                None if before is None else moment - before, None if after is None else moment + after, found.group()
            )
    if (found := _AT.search(text)) and (moment := _moment(found["a"], day, zone)):
        # a clock time to the minute means that minute, to the second that second
        length = timedelta(seconds=1) if found["a"].count(":") == 2 else timedelta(minutes=1)
        yield _span(moment, moment + length, found.group())


def _between(found: re.Match[str], day: date, zone: ZoneInfo) -> TimeSpan | None:
    start, end = _moment(found["a"], day, zone), _moment(found["b"], day, zone)
    if start is None or end is None:
        return None
    return _span(start, end if end > start else end + timedelta(days=1), found.group())


def _moment(text: str, day: date, zone: ZoneInfo) -> datetime | None:
    found = re.fullmatch(_CLOCK, text.strip(), re.IGNORECASE)
    if found is None:
        return None
    hour, minute, second, half, lone, lone_half = found.groups()
    half = half or lone_half
    number = int(hour or lone)
    if half:
        number = number % 12 + (12 if half.lower() == "p" else 0)
    if number > 23 or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    return datetime(day.year, day.month, day.day, number, int(minute or 0), int(second or 0), tzinfo=zone)


def _span(start: datetime | None, end: datetime | None, phrase: str) -> TimeSpan:
    return TimeSpan(None if start is None else _ms(start), None if end is None else _ms(end), phrase)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
