"""When a recording began, from the most trustworthy source that says so: given, beside it, timecode, container, its name."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from vgraph.errors import UserError
from vgraph.media.timecode import timecode_ms
from vgraph.types import StartSource, StartTime, Video

_DATE_TIME = re.compile(
    r"""(?<!\d)(?P<date>(?:19[7-9]\d|20\d\d)(?P<sep>[-_.]?)(?:0[1-9]|1[0-2])(?P=sep)(?:0[1-9]|[12]\d|3[01]))
    (?P<between>T|[-_.\ @]{0,3}|_at_|\ at\ )
    (?P<hour>[01]\d|2[0-3])(?P<colon>[-_.:h]?)(?P<minute>[0-5]\d)[-_.:hm]?(?P<second>[0-5]\d)
    (?P<fraction>[.,]\d{1,6}|\d{3})?(?P<zone>Z|[+-]\d\d:?\d\d)?(?!\d)""",
    re.VERBOSE,
)
_EPOCH = re.compile(r"(?<!\d)(1\d{9})(\d{3})?(?!\d)")
_UTC_NAMES = re.compile(r"^PXL_")
"""Pixel phones name their files by UTC."""


def start_time(flag_ms: int | None, sidecar_ms: int | None, video: Video, tz: str = "UTC") -> StartTime:
    """Time of the first picture, ms: the flag's, else the sidecar's, the timecode's, the container's, the file name's, else 0 (unknown).

    A time in a file name without a zone is in `tz` (an IANA name), the camera's. When the name's time plus the video's
    length is the container's time, the container was stamped at the end: its time less the length is the start.
    Raises UserError for an unknown zone.
    """
    zone = _zone(tz)
    named = name_time(video.path.stem, zone)
    zoneless = named is not None and named != name_time(video.path.stem, _ELSEWHERE)
    written = _container_ms(video, named)
    candidates = (
        (flag_ms, StartSource.flag, None),
        (sidecar_ms, StartSource.sidecar, None),
        (_timecode_ms(video, written, named, zone), StartSource.timecode, None),
        (written, StartSource.container, None),
        (named, StartSource.file_name, tz if zoneless else None),
    )
    return next((StartTime(ms, source, read) for ms, source, read in candidates if ms is not None), _UNKNOWN)


_UNKNOWN = StartTime(0, StartSource.unknown)
_ELSEWHERE = datetime.timezone(datetime.timedelta(hours=-13))
"""No camera's zone: a name whose time differs here from that elsewhere does not say its zone."""
_STAMP_SLACK_MS = 2_000
_NEAR_MS = 120_000
"""A timecode of the time of day is this near to the time that the container or the file's name tells."""


def _container_ms(video: Video, named: int | None) -> int | None:
    created = video.created_ms
    if created is None or named is None or video.duration_ms <= 2 * _STAMP_SLACK_MS:
        return created
    stamped_at_end = abs(created - video.duration_ms - named) <= _STAMP_SLACK_MS
    return created - video.duration_ms if stamped_at_end else created


def _timecode_ms(video: Video, written: int | None, named: int | None, zone: ZoneInfo) -> int | None:
    """The timecode of the first picture as a time of the day that the container or the name tells.

    None where there is no timecode or no day, and where it is nowhere near their time of day: such a timecode counts footage.
    """
    near = written if written is not None else named
    if video.timecode is None or near is None:
        return None
    day_ms = timecode_ms(video.timecode, video.picture.fps)
    return None if day_ms is None else near_time_of_day(day_ms, near, zone)


def near_time_of_day(day_ms: int, near_ms: int, zone: datetime.tzinfo, within_ms: int = _NEAR_MS) -> int | None:
    """The UTC ms at which the zone's clocks showed a time of day, nearest to `near_ms`; None where that is further than `within_ms`."""
    about = datetime.datetime.fromtimestamp(near_ms / 1000, zone)
    days = (about.date() + datetime.timedelta(days=step) for step in (-1, 0, 1))
    found = (_at(day, day_ms, zone) for day in days)
    best = min(found, key=lambda ms: abs(ms - near_ms))
    return best if abs(best - near_ms) <= within_ms else None


def _at(day: datetime.date, day_ms: int, zone: datetime.tzinfo) -> int:
    seconds, thousandths = divmod(day_ms, 1000)
    clock = datetime.time(seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)
    return round(datetime.datetime.combine(day, clock, zone).timestamp()) * 1000 + thousandths


def _zone(tz: str) -> ZoneInfo:
    try:
        return ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UserError(f"time zone {tz!r} is not known: use a name such as Europe/Berlin or UTC") from error


def name_time(name: str, zone: datetime.tzinfo) -> int | None:
    """UTC ms of the first date and time in a file name, else of seconds or ms since 1970; None when there is none.

    20260302_081500, 2026-03-02T08-15-00Z, VID_20191220_170832, cam1-2026-03-02-08-15-00, PXL_20260302_081500123,
    2026-03-02 08.15.00+0100, 1772439300. A time without a zone is in `zone`.
    """
    zone = datetime.UTC if _UTC_NAMES.match(name) else zone
    return next((ms for ms in (*_dated(name, zone), *_counted(name))), None)


def _dated(name: str, zone: datetime.tzinfo) -> Iterator[int]:
    for match in _DATE_TIME.finditer(name):
        digits = re.sub(r"\D", "", match["date"]) + match["hour"] + match["minute"] + match["second"]
        try:
            moment = datetime.datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=_offset(match["zone"]) or zone)
        except ValueError:
            continue  # the 31st of a month that has 30 days
        thousandths = (re.sub(r"\D", "", match["fraction"] or "") + "000")[:3]
        yield int(moment.timestamp()) * 1000 + int(thousandths)


def _offset(text: str | None) -> datetime.tzinfo | None:
    """A zone written after a time; None for what only looks like one, such as a running number."""
    if text is None or text == "Z":
        return datetime.UTC if text else None
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    if minutes % 15 or minutes > 14 * 60:
        return None
    return datetime.timezone(datetime.timedelta(minutes=minutes if text[0] == "+" else -minutes))


def _counted(name: str) -> Iterator[int]:
    for match in _EPOCH.finditer(name):
        yield int(match[1]) * 1000 + int(match[2] or 0)


def name_without_time(name: str) -> str:
    """A file's name without its date and time and what joins them, for the camera's label; the whole name when nothing else is in it.

    `gate-2026-03-02_08-15-00` and `gate-2026-03-02_08-45-00` are both from `gate`.
    """
    rest = _EPOCH.sub(" ", _DATE_TIME.sub(" ", name))
    if rest == name:
        return name
    parts = (part.strip(" -_.@") for part in rest.split(" "))
    return " ".join(part for part in parts if part) or name
