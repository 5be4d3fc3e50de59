"""Time zones of the IANA database, with the period an instant lies in (`zoneinfo` tells offsets only).

Files are read in the TZif format (RFC 9636) from the package tzdata; beyond the last transition its POSIX rule goes on.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from functools import cache, lru_cache
from importlib import import_module, resources
from pathlib import Path
from typing import NamedTuple

from ..errors import ArangoError
from .instants import days_from_civil, to_civil


class Period(NamedTuple):
    """A time during which a zone's clocks keep one offset. Seconds since 1970 in UTC; None: no bound."""

    begin: int | None
    end: int | None
    offset: int
    dst: bool
    name: str

    def holds(self, second: int) -> bool:
        return (self.begin is None or self.begin <= second) and (self.end is None or second < self.end)


class Zone:
    """The periods of one zone."""

    def __init__(self, transitions: list[int], types: list[int], kinds: list[tuple[int, bool, str]], rule: str) -> None:
        self._transitions = transitions
        self._kinds = [kinds[0], *(kinds[index] for index in types)]
        self._rule = _Rule.parse(rule)

    def period(self, second: int) -> Period:
        """The period that holds an instant (seconds)."""
        at = bisect_right(self._transitions, second)
        if at == len(self._transitions) and self._rule is not None:
            return self._rule.period(second, self._transitions[-1] if self._transitions else None)
        begin = self._transitions[at - 1] if at else None
        end = self._transitions[at] if at < len(self._transitions) else None
        return Period(begin, end, *self._kinds[at])

    def to_local(self, instant: int) -> int:
        """The zone's clock at an instant, as if it were UTC (milliseconds)."""
        return instant + self.period(instant // 1000).offset * 1000

    def to_utc(self, local: int) -> int:
        """The instant at which the zone's clock shows a time; an error when it never or twice does, as on the server."""
        second = local // 1000
        around = {self.period(second + shift) for shift in (-86400, 0, 86400)}
        found = sorted({period.offset for period in around if period.holds(second - period.offset)})
        if len(found) != 1:
            raise ArangoError(4, f"local time is {'ambiguous' if found else 'nonexistent'} in the given timezone")
        return local - found[0] * 1000


class _Rule(NamedTuple):
    """A POSIX TZ rule: standard time, and when daylight saving begins and ends each year."""

    standard: tuple[int, bool, str]
    daylight: tuple[int, bool, str] | None
    begins: tuple[str, int]
    ends: tuple[str, int]

    @classmethod
    def parse(cls, text: str) -> _Rule | None:
        match = _POSIX.fullmatch(text)
        if match is None:
            return None
        offset = -_clock(match["standard_offset"])
        standard = (offset, False, match["standard"].strip("<>"))
        if not match["daylight"]:
            return cls(standard, None, ("", 0), ("", 0))
        saving = -_clock(match["daylight_offset"]) if match["daylight_offset"] else offset + 3600
        daylight = (saving, True, match["daylight"].strip("<>"))
        begins, ends = (
            (day, _clock(time) if time else 7200)
            for day, _, time in (match[name].partition("/") for name in ("begins", "ends"))
        )
        return cls(standard, daylight, begins, ends)

    def period(self, second: int, since: int | None) -> Period:
        if self.daylight is None:
            return Period(since, None, *self.standard)
        year = to_civil(second * 1000).year
        changes = sorted(change for near in (year - 1, year, year + 1) for change in self._changes(near))
        at = bisect_right([when for when, _ in changes], second)
        begin = changes[at - 1][0] if since is None or changes[at - 1][0] >= since else since
        return Period(begin, changes[at][0], *changes[at - 1][1])

    def _changes(self, year: int) -> list[tuple[int, tuple[int, bool, str]]]:
        assert self.daylight is not None
        return [
            (_day(year, self.begins[0]) * 86400 + self.begins[1] - self.standard[0], self.daylight),
            (_day(year, self.ends[0]) * 86400 + self.ends[1] - self.daylight[0], self.standard),
        ]


_POSIX = re.compile(
    r"(?P<standard><[^>]+>|[A-Za-z]+)(?P<standard_offset>[+-]?[\d:]+)"
    r"(?:(?P<daylight><[^>]+>|[A-Za-z]+)(?P<daylight_offset>[+-]?[\d:]+)?,(?P<begins>[^,]+),(?P<ends>[^,]+))?"
)


def _clock(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = (int(part) for part in (*text.lstrip("+-").split(":"), "0", "0")[:3])
    return sign * (hours * 3600 + minutes * 60 + seconds)


def _day(year: int, rule: str) -> int:
    """Days since 1970 of "Mm.w.d" (weekday d of week w, 5 = last), "Jn" (day n, never February 29th) or "n" (from 0)."""
    if rule.startswith("J"):
        number = int(rule[1:])
        leap = days_from_civil(year, 3, 1) - days_from_civil(year, 2, 1) == 29
        return days_from_civil(year, 1, 1) + number - 1 + (leap and number >= 60)
    if not rule.startswith("M"):
        return days_from_civil(year, 1, 1) + int(rule)
    month, week, weekday = (int(part) for part in rule[1:].split("."))
    first = days_from_civil(year, month, 1)
    day = first + (weekday - (first + 4)) % 7 + (week - 1) * 7
    while day >= days_from_civil(year, month + 1, 1):
        day -= 7
    return day


@lru_cache(maxsize=64)
def zone(name: str) -> Zone:
    """A zone by its IANA name; an error when there is none."""
    if name not in names():
        raise ArangoError(4, f"{name} not found in timezone database")
    return _read(resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes())


def _read(data: bytes) -> Zone:
    """The 64-bit block of a TZif file."""
    start = _end_of_block(data, 0, 4) if data[4:5] >= b"2" else 0
    width, code = (8, "q") if start else (4, "l")
    _, _, _, times, types, _ = _counts(data, start)
    at = start + 44
    transitions = list(struct.unpack_from(f">{times}{code}", data, at))
    at += times * width
    indexes = list(data[at : at + times])
    at += times
    names_at = at + types * 6
    kinds = []
    for kind in range(types):
        offset, dst, abbreviation = struct.unpack_from(">lBB", data, at + kind * 6)
        end = data.index(b"\0", names_at + abbreviation)
        kinds.append((offset, bool(dst), data[names_at + abbreviation : end].decode("ascii")))
    rule = data[_end_of_block(data, start, width) :].strip(b"\n").decode("ascii") if start else ""
    return Zone(transitions, indexes, kinds, rule)


def _counts(data: bytes, start: int) -> tuple[int, ...]:
    return struct.unpack_from(">6l", data, start + 20)


def _end_of_block(data: bytes, start: int, width: int) -> int:
    utc, standard, leaps, times, types, characters = _counts(data, start)
    return start + 44 + times * (width + 1) + types * 6 + characters + leaps * (width + 4) + standard + utc


@cache
def names() -> frozenset[str]:
    """All names, links included."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("ascii").split())


@cache
def version() -> str:
    """The database's release, such as "2026a"."""
    return str(import_module("tzdata").IANA_VERSION)


@cache
def local_name() -> str:
    """The name of this machine's zone; Etc/UTC when it does not say."""
    try:
        target = str(Path("/etc/localtime").readlink())
    except OSError:
        return "Etc/UTC"
    name = target.partition("zoneinfo/")[2]
    return name if name in names() else "Etc/UTC"
