"""Points in time as milliseconds since 1970 in UTC: calendar arithmetic, ISO 8601 dates and durations.

The calendar is the proleptic Gregorian one; years run from 0 to 9999, days and months overflow (February 30th is March 1st or
2nd). Source: ArangoDB documentation, "Date functions in AQL".
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

SECOND: Final = 1000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY

FIRST: Final = -62167219200000
"""0000-01-01T00:00:00.000Z"""
LAST: Final = 253402300799999
"""9999-12-31T23:59:59.999Z"""

_DATE = re.compile(
    r"\+?(?P<year>[0-9]+)(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2}))?)?"
    r"(?:[ T](?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]+))?)?)?"
    r"(?:[zZ]|(?P<sign>[+-])(?P<zone_hour>[0-9]{1,2}):(?P<zone_minute>[0-9]{1,2}))?"
)
_DURATION = re.compile(
    r"P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:[.,]([0-9]{1,3}))?S)?)?"
)


class Civil(NamedTuple):
    """A point in time by calendar and clock."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0
    millisecond: int = 0


class Duration(NamedTuple):
    """A calendar part and a part of fixed length."""

    months: int
    milliseconds: int


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01; month and day may lie outside their ranges."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """(year, month, day) of a number of days since 1970-01-01."""
    days += 719468
    era = days // 146097
    day_of_era = days - era * 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def from_civil(civil: Civil) -> int:
    """The milliseconds of a civil time; every part may overflow."""
    clock = civil.hour * HOUR + civil.minute * MINUTE + civil.second * SECOND + civil.millisecond
    return days_from_civil(civil.year, civil.month, civil.day) * DAY + clock


def to_civil(instant: int) -> Civil:
    """The civil time of an instant."""
    days, clock = divmod(instant, DAY)
    hour, clock = divmod(clock, HOUR)
    minute, clock = divmod(clock, MINUTE)
    second, millisecond = divmod(clock, SECOND)
    return Civil(*civil_from_days(days), hour, minute, second, millisecond)


def in_range(instant: int) -> bool:
    """Whether the instant lies in the years 0 to 9999."""
    return FIRST <= instant <= LAST


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    return days_from_civil(year, month + 1, 1) - days_from_civil(year, month, 1)


def day_of_week(instant: int) -> int:
    """0 is Sunday."""
    return (instant // DAY + 4) % 7


def day_of_year(instant: int) -> int:
    """1 is January 1st."""
    days = instant // DAY
    return days - days_from_civil(civil_from_days(days)[0], 1, 1) + 1


def iso_week(instant: int) -> tuple[int, int]:
    """(year, week) by ISO 8601: a week belongs to the year of its Thursday."""
    days = instant // DAY
    thursday = days - (days + 3) % 7 + 3
    year = civil_from_days(thursday)[0]
    return year, (thursday - days_from_civil(year, 1, 1)) // 7 + 1


def parse_date(text: str) -> int | None:
    """The instant of an ISO 8601 date, or None; what is missing is the least possible, a missing zone is UTC."""
    match = _DATE.fullmatch(text.strip(" \t\r\n"))
    if match is None:
        return None
    part = match.groupdict()
    civil = Civil(
        int(part["year"]),
        int(part["month"] or 1),
        int(part["day"] or 1),
        int(part["hour"] or 0),
        int(part["minute"] or 0),
        int(part["second"] or 0),
        int((part["fraction"] or "0")[:3].ljust(3, "0")),
    )
    if not (civil.year <= 9999 and 1 <= civil.month <= 12 and 1 <= civil.day <= 31):
        return None
    if civil.hour > 23 or civil.minute > 59 or civil.second > 59:
        return None
    instant = from_civil(civil)
    if part["sign"]:
        hour, minute = int(part["zone_hour"]), int(part["zone_minute"])
        if hour > 23 or minute > 59:
            return None
        offset = hour * HOUR + minute * MINUTE
        instant += offset if part["sign"] == "-" else -offset
    return instant if in_range(instant) else None


def format_iso(instant: int, *, utc: bool = True) -> str | None:
    """YYYY-MM-DDTHH:MM:SS.mmmZ (without Z for a local time); None outside the years 0 to 9999."""
    if not in_range(instant):
        return None
    year, month, day, hour, minute, second, millisecond = to_civil(instant)
    zone = "Z" if utc else ""
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}{zone}"


def parse_duration(text: str) -> Duration | None:
    """An ISO 8601 duration such as P1Y2M3DT4H5M6.789S, or None."""
    match = _DURATION.fullmatch(text)
    if match is None or len(text) < 2:
        return None
    years, months, weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:7])
    fraction = int((match[8] or "0").ljust(3, "0"))
    clock = hours * HOUR + minutes * MINUTE + seconds * SECOND + fraction
    return Duration(years * 12 + months, weeks * WEEK + days * DAY + clock)


def add_duration(instant: int, duration: Duration, sign: int = 1) -> int:
    """The instant later (or with sign -1 earlier) by first the calendar part, then the rest."""
    return add_months(instant, sign * duration.months) + sign * duration.milliseconds


def add_months(instant: int, months: int) -> int:
    """The same day and clock in another month; a day that month lacks runs over into the next."""
    if not months:
        return instant
    days, clock = divmod(instant, DAY)
    year, month, day = civil_from_days(days)
    return days_from_civil(year, month + months, day) * DAY + clock
