"""Date functions. A date is a number (milliseconds since 1970 in UTC) or an ISO 8601 string.

A date that cannot be read, or lies outside the years 0 to 9999, gives null and warning 1572; an argument of a wrong
type null and warning 1542; an unknown time zone is an error. Source: ArangoDB documentation, "Date functions in AQL".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from .. import instants, zones
from ..instants import DAY, HOUR, MINUTE, SECOND, WEEK, Civil, to_civil
from ..values import to_number
from .registry import Table, Value, warn, wrong_type

if TYPE_CHECKING:
    from ..expressions import Runtime

TABLE = Table()

INVALID_DATE: Final = 1572

_UNITS: Final = {
    alias: unit
    for unit, aliases in {
        "year": ("years", "year", "y"),
        "month": ("months", "month", "m"),
        "week": ("weeks", "week", "w"),
        "day": ("days", "day", "d"),
        "hour": ("hours", "hour", "h"),
        "minute": ("minutes", "minute", "i"),
        "second": ("seconds", "second", "s"),
        "millisecond": ("milliseconds", "millisecond", "f"),
    }.items()
    for alias in aliases
}
_LENGTHS: Final = {"week": WEEK, "day": DAY, "hour": HOUR, "minute": MINUTE, "second": SECOND, "millisecond": 1}
_MEAN_YEAR: Final = 365.2425 * DAY
_FIELDS: Final = ("year", "month", "day", "hour", "minute", "second", "millisecond")


class _NullError(Exception):
    """The call's result is null; the warning's number, or 0 when it was given already."""

    def __init__(self, num: int) -> None:
        self.num = num


def _date_function(
    name: str, args: tuple[int, int | None], *, deterministic: bool = True
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Declares a function that may give up with `_NullError`."""

    def declare(impl: Callable[..., Value]) -> Callable[..., Value]:
        def call(rt: Runtime, *values: Value) -> Value:
            try:
                return impl(rt, *values)
            except _NullError as null:
                if null.num == 1542:
                    wrong_type(rt, name)
                else:
                    warn(rt, null.num, name)
                return None

        call.__name__ = call.__qualname__ = impl.__name__
        call.__doc__ = impl.__doc__
        TABLE.add(name, args=args, deterministic=deterministic)(call)
        return call

    return declare


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _instant(value: Value) -> int:
    if isinstance(value, str):
        parsed = instants.parse_date(value)
        if parsed is None:
            raise _NullError(INVALID_DATE)
        return parsed
    if not _is_number(value):
        raise _NullError(1542)
    instant = int(value)
    if not instants.in_range(instant):
        raise _NullError(INVALID_DATE)
    return instant


def _zone(value: Value) -> zones.Zone:
    if not isinstance(value, str):
        raise _NullError(1542)
    return zones.zone(value)


def _unit(value: Value, failure: int = INVALID_DATE) -> str:
    unit = _UNITS.get(value.lower()) if isinstance(value, str) else None
    if unit is None:
        raise _NullError(failure)
    return unit


def _string(value: Value) -> str:
    if not isinstance(value, str):
        raise _NullError(1542)
    return value


def _iso(instant: int) -> str:
    text = instants.format_iso(instant)
    if text is None:
        raise _NullError(INVALID_DATE)
    return text


# ------------------------------------------------------------------------------------------------ now, making, reading


@TABLE.add("DATE_NOW", args=(0, 0), deterministic=False)
def date_now(rt: Runtime) -> Value:
    """The present time as a timestamp."""
    return rt.now_ms


def _from_parts(values: tuple[Value, ...]) -> int:
    """From one date, or from year, month, day and up to four parts of the clock; every part may overflow."""
    if len(values) == 1:
        return _instant(values[0])
    if len(values) == 2 or not all(isinstance(value, str) or _is_number(value) for value in values):
        raise _NullError(1542)
    parts = [int(to_number(value)) for value in values]
    if min(parts) < 0 or parts[0] > 9999:
        raise _NullError(INVALID_DATE)
    if len(parts) == 7:
        parts[6] = min(parts[6], 999)
    return instants.from_civil(Civil(*parts))


@_date_function("DATE_TIMESTAMP", (1, 7))
def date_timestamp(rt: Runtime, *values: Value) -> Value:
    """Milliseconds since 1970."""
    return _from_parts(values)


@_date_function("DATE_ISO8601", (1, 7))
def date_iso8601(rt: Runtime, *values: Value) -> Value:
    """YYYY-MM-DDTHH:MM:SS.mmmZ"""
    return _iso(_from_parts(values))


def _reader(name: str, read: Callable[[int], Value], arguments: int = 2) -> None:
    @_date_function(name, (1, arguments))
    def reader(rt: Runtime, date: Value, *timezone: Value) -> Value:
        instant = _instant(date)
        return read(_zone(timezone[0]).to_local(instant) if timezone else instant)


def _iso_week_year(instant: int) -> dict[str, int]:
    year, week = instants.iso_week(instant)
    return {"week": week, "year": year}


_reader("DATE_DAYOFWEEK", instants.day_of_week)
_reader("DATE_YEAR", lambda instant: to_civil(instant).year)
_reader("DATE_MONTH", lambda instant: to_civil(instant).month)
_reader("DATE_DAY", lambda instant: to_civil(instant).day)
_reader("DATE_HOUR", lambda instant: to_civil(instant).hour)
_reader("DATE_MINUTE", lambda instant: to_civil(instant).minute)
_reader("DATE_SECOND", lambda instant: to_civil(instant).second, 1)
_reader("DATE_MILLISECOND", lambda instant: to_civil(instant).millisecond, 1)
_reader("DATE_DAYOFYEAR", instants.day_of_year)
_reader("DATE_ISOWEEK", lambda instant: instants.iso_week(instant)[1])
_reader("DATE_ISOWEEKYEAR", _iso_week_year)
_reader("DATE_LEAPYEAR", lambda instant: instants.is_leap(to_civil(instant).year))
_reader("DATE_QUARTER", lambda instant: (to_civil(instant).month + 2) // 3)
_reader("DATE_DAYS_IN_MONTH", lambda instant: instants.days_in_month(*to_civil(instant)[:2]))


# ------------------------------------------------------------------------------------------------ arithmetic


def _within_zone(timezone: Value, change: Callable[[int], int], instant: int) -> str:
    """The ISO date of a change made on a zone's clock, or in UTC without a zone."""
    if timezone is None:
        return _iso(change(instant))
    place = _zone(timezone)
    return _iso(place.to_utc(change(place.to_local(instant))))


@_date_function("DATE_TRUNC", (2, 3))
def date_trunc(rt: Runtime, date: Value, unit: Value, *timezone: Value) -> Value:
    """The date with every part below the unit at its least."""
    instant = _instant(date)
    _string(unit)

    def truncated(instant: int) -> int:
        known = _unit(unit)
        if known == "week":
            raise _NullError(INVALID_DATE)
        kept = to_civil(instant)[: _FIELDS.index(known) + 1]
        return instants.from_civil(Civil(*(*kept, 1, 1)[: max(3, len(kept))]))

    return _within_zone(_optional(timezone), truncated, instant)


def _optional(timezone: tuple[Value, ...]) -> Value:
    """The time zone of a call, None when it has none; null given as one is of a wrong type."""
    if not timezone:
        return None
    return _string(timezone[0])


@_date_function("DATE_ROUND", (3, 4))
def date_round(rt: Runtime, date: Value, amount: Value, unit: Value, *timezone: Value) -> Value:
    """The date rounded to a multiple of a fixed length (days or shorter), towards 1970."""
    instant = _instant(date)
    if not _is_number(amount) or int(amount) <= 0:
        raise _NullError(1542)
    known = _unit(unit, 1542) if unit == _string(unit).lower() else _unit(None, 1542)
    if known in ("year", "month", "week"):
        raise _NullError(1542)
    length = int(amount) * _LENGTHS[known]

    def rounded(instant: int) -> int:
        return instant // length * length if instant >= 0 else -(-instant // length * length)

    return _within_zone(_optional(timezone), rounded, instant)


@_date_function("DATE_ADD", (2, 4))
def date_add(rt: Runtime, date: Value, *rest: Value) -> Value:
    """The date later by an amount of a unit, or by an ISO duration; then a time zone may follow."""
    return _moved(date, rest, 1)


@_date_function("DATE_SUBTRACT", (2, 4))
def date_subtract(rt: Runtime, date: Value, *rest: Value) -> Value:
    """The date earlier by an amount of a unit, or by an ISO duration; then a time zone may follow."""
    return _moved(date, rest, -1)


def _moved(date: Value, rest: tuple[Value, ...], sign: int) -> str:
    instant = _instant(date)
    if len(rest) == 1 or (len(rest) == 2 and isinstance(rest[0], str)):
        duration = instants.parse_duration(_string(rest[0]))
        if duration is None:
            raise _NullError(INVALID_DATE)
        return _within_zone(
            _optional(rest[1:]), lambda instant: instants.add_duration(instant, duration, sign), instant
        )
    amount, unit = rest[0], _string(rest[1])
    if not _is_number(amount):
        raise _NullError(1542)
    return _within_zone(_optional(rest[2:]), lambda instant: _add(instant, sign * amount, _unit(unit)), instant)


def _add(instant: int, amount: float, unit: str) -> int:
    """A fraction of a year counts in months, a fraction of a month in days of which it has 30."""
    if abs(amount) > 1e15:
        raise _NullError(INVALID_DATE)
    if unit == "year":
        amount, years = math.modf(amount)
        instant = instants.add_months(instant, int(years) * 12)
        amount, unit = amount * 12, "month"
    if unit == "month":
        amount, months = math.modf(amount)
        instant = instants.add_months(instant, int(months))
        amount, unit = amount * 30, "day"
    return instant + int(amount * _LENGTHS[unit])


@_date_function("DATE_DIFF", (3, 6))
def date_diff(rt: Runtime, earlier: Value, later: Value, unit: Value, *rest: Value) -> Value:
    """later - earlier in a unit, rounded unless `asFloat`; optional time zones of both or of each."""
    first, second = _instant(earlier), _instant(later)
    _string(unit)
    as_float = False
    if rest and isinstance(rest[0], bool):
        as_float, rest = rest[0], rest[1:]
    if rest:
        first = _zone(rest[0]).to_local(first)
        second = _zone(rest[1] if len(rest) > 1 else rest[0]).to_local(second)
    known = _unit(unit)
    length = {"year": _MEAN_YEAR, "month": _MEAN_YEAR / 12}.get(known) or _LENGTHS[known]
    difference = (second - first) / length
    if as_float:
        return int(difference) if difference.is_integer() else difference
    return int(math.copysign(math.floor(abs(difference) + 0.5), difference))


@_date_function("DATE_COMPARE", (3, 6))
def date_compare(rt: Runtime, left: Value, right: Value, first: Value, *rest: Value) -> Value:
    """Whether two dates agree in the parts from `first` down to the last; optional time zones of both or of each."""
    one, two = _instant(left), _instant(right)
    begin = end = _field(first)
    if rest and isinstance(rest[0], str) and rest[0].lower() in _UNITS:
        end, rest = _field(rest[0]), rest[1:]
    neither = len(rest) == 1 and _string(rest[0]) not in zones.names()  # a unit was meant as likely as a zone
    if neither or len(rest) > 2:
        raise _NullError(1542)
    if rest:
        one = _zone(rest[0]).to_local(one)
        two = _zone(rest[-1]).to_local(two)
    return to_civil(one)[begin : end + 1] == to_civil(two)[begin : end + 1]


def _field(unit: Value) -> int:
    known = _unit(unit, 1542)
    if known == "week":
        raise _NullError(1542)
    return _FIELDS.index(known)


# ------------------------------------------------------------------------------------------------ time zones


@_date_function("DATE_UTCTOLOCAL", (2, 3))
def date_utctolocal(rt: Runtime, date: Value, timezone: Value, *zoneinfo: Value) -> Value:
    """What a zone's clocks show at a UTC date."""
    instant = _instant(date)
    place = _zone(timezone)
    period = place.period(instant // 1000)
    local = instants.format_iso(instant + period.offset * 1000, utc=period.offset == 0 and not period.dst)
    if local is None:
        raise _NullError(INVALID_DATE)
    return _with_details("local", local, period) if _details(zoneinfo) else local


@_date_function("DATE_LOCALTOUTC", (2, 3))
def date_localtoutc(rt: Runtime, date: Value, timezone: Value, *zoneinfo: Value) -> Value:
    """The UTC date at which a zone's clocks show a date."""
    local = _instant(date)
    place = _zone(timezone)
    details = _details(zoneinfo)
    instant = place.to_utc(local)
    return _with_details("utc", _iso(instant), place.period(instant // 1000)) if details else _iso(instant)


def _details(zoneinfo: tuple[Value, ...]) -> bool:
    if zoneinfo and not isinstance(zoneinfo[0], bool):
        raise _NullError(1542)
    return bool(zoneinfo and zoneinfo[0])


def _with_details(key: str, date: str, period: zones.Period) -> dict[str, Any]:
    def bound(second: int | None) -> str | None:
        return None if second is None else instants.format_iso(second * 1000)

    info = {
        "name": period.name,
        "begin": bound(period.begin),
        "end": bound(period.end),
        "dst": period.dst,
        "offset": period.offset,
    }
    return {key: date, "tzdb": zones.version(), "zoneInfo": info}


@TABLE.add("DATE_TIMEZONE", args=(0, 0))
def date_timezone(rt: Runtime) -> Value:
    """The name of this machine's time zone."""
    return zones.local_name()


@TABLE.add("DATE_TIMEZONES", args=(0, 0))
def date_timezones(rt: Runtime) -> Value:
    """All names of time zones."""
    return sorted(zones.names())


# ------------------------------------------------------------------------------------------------ formatting

_MONTHS: Final = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_WEEKDAYS: Final = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

_PLACEHOLDERS: Final[dict[str, Callable[[int, Civil], object]]] = {
    "%&": lambda instant, civil: "",
    "%yyyyyy": lambda instant, civil: f"+{civil.year:06}",
    "%mmmm": lambda instant, civil: _MONTHS[civil.month - 1],
    "%yyyy": lambda instant, civil: f"{civil.year:04}",
    "%wwww": lambda instant, civil: _WEEKDAYS[instants.day_of_week(instant)],
    "%mmm": lambda instant, civil: _MONTHS[civil.month - 1][:3],
    "%www": lambda instant, civil: _WEEKDAYS[instants.day_of_week(instant)][:3],
    "%fff": lambda instant, civil: f"{civil.millisecond:03}",
    "%xxx": lambda instant, civil: f"{instants.day_of_year(instant):03}",
    "%yy": lambda instant, civil: f"{civil.year:02}"[-2:],
    "%mm": lambda instant, civil: f"{civil.month:02}",
    "%dd": lambda instant, civil: f"{civil.day:02}",
    "%hh": lambda instant, civil: f"{civil.hour:02}",
    "%ii": lambda instant, civil: f"{civil.minute:02}",
    "%ss": lambda instant, civil: f"{civil.second:02}",
    "%kk": lambda instant, civil: f"{instants.iso_week(instant)[1]:02}",
    "%t": lambda instant, civil: instant,
    "%z": lambda instant, civil: instants.format_iso(instant) or "",
    "%w": lambda instant, civil: instants.day_of_week(instant),
    "%y": lambda instant, civil: civil.year,
    "%m": lambda instant, civil: civil.month,
    "%d": lambda instant, civil: civil.day,
    "%h": lambda instant, civil: civil.hour,
    "%i": lambda instant, civil: civil.minute,
    "%s": lambda instant, civil: civil.second,
    "%f": lambda instant, civil: civil.millisecond,
    "%x": lambda instant, civil: instants.day_of_year(instant),
    "%k": lambda instant, civil: instants.iso_week(instant)[1],
    "%l": lambda instant, civil: int(instants.is_leap(civil.year)),
    "%q": lambda instant, civil: (civil.month + 2) // 3,
    "%a": lambda instant, civil: instants.days_in_month(civil.year, civil.month),
    "%%": lambda instant, civil: "%",
    "%": lambda instant, civil: "",
}
_PLACEHOLDER: Final = re.compile("|".join(_PLACEHOLDERS))
"""The longest first, so that %mmm is not %mm and an m."""


@_date_function("DATE_FORMAT", (2, 3))
def date_format(rt: Runtime, date: Value, pattern: Value, *timezone: Value) -> Value:
    """The date in a format of %-placeholders."""
    instant = _instant(date)
    pattern = _string(pattern)
    if timezone:
        instant = _zone(timezone[0]).to_local(instant)
    civil = to_civil(instant)
    return _PLACEHOLDER.sub(lambda match: str(_PLACEHOLDERS[match[0]](instant, civil)), pattern)
