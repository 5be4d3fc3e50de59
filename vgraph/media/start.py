"""When a recording began, from the most trustworthy source that says so."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from vgraph.errors import UserError
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
    """UTC ms of the first picture: the flag's, else the sidecar's, the container's, the file name's, else 0 (unknown).

    A time in a file name without a zone is in `tz` (an IANA name), the camera's. When the name's time plus the video's
    length is the container's time, the container was stamped at the end: its time less the length is the start.
    Raises UserError for an unknown zone.
    """
    zone = _zone(tz)
    named = name_time(video.path.stem, zone)
    candidates = (
        (flag_ms, StartSource.flag),
        (sidecar_ms, StartSource.sidecar),
        (_container_ms(video, named), StartSource.container),
        (named, StartSource.file_name),
    )
    return next((StartTime(ms, source) for ms, source in candidates if ms is not None), _UNKNOWN)


_UNKNOWN = StartTime(0, StartSource.unknown)
_STAMP_SLACK_MS = 2_000


def _container_ms(video: Video, named: int | None) -> int | None:
    created = video.created_ms
    if created is None or named is None or video.duration_ms <= 2 * _STAMP_SLACK_MS:
        return created
    stamped_at_end = abs(created - video.duration_ms - named) <= _STAMP_SLACK_MS
    return created - video.duration_ms if stamped_at_end else created


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
