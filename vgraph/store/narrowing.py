"""What filters mean for the records of the graph: the bind variables that every query which finds something shares.

What a record says of itself it is held against: its camera, document, time, when it was known (`known_ms`) and when the graph learnt it
(`recorded_ms`). What it does not say is resolved beforehand, so that it holds in every leg and every hop without a join:

places               the cameras there
tags                 the documents that bear one
time of day, weekday spans of UTC, by zone and day (`hours`, `zones`), so that a changed clock or zone holds at once
entities             all records of them; under `not_after` or `as_of` those only that were one by then
entities, entity and relation types
                     the chunks that mention or state one (`within`, ids), by a mention or relation that itself passes

A chunk passes that passes by itself and is `within`; modalities and speakers are its own attributes. A mention passes whose chunk is
`within`, that passes by itself, and whose entity is of the types. A relation passes that does so, and whose type, one end and both ends'
types are those asked for. An entity leaves with what mentions that pass tell of it; a summary passes that rests on a chunk that does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from vgraph.types import Filters

DAY_MS: Final = 86_400_000
DAY_MINUTES: Final = 1440
EVERY_DAY: Final = (1, 2, 3, 4, 5, 6, 7)
HOUR_MS: Final = 3_600_000
MINUTE_MS: Final = 60_000
BINDS: Final = (
    "cameras", "documents", "start_ms", "end_ms", "not_after", "as_of", "hours", "zones", "modalities", "speakers", "entities",
    "entity_types", "relation_types", "within",
)  # fmt: skip
LISTS: Final = ("cameras", "documents", "modalities", "speakers", "entity_types", "relation_types")
OPEN: Final[Mapping[str, Any]] = {**dict.fromkeys(BINDS), "plain": True, "deep": False}
"""The bind variables of no filter at all. `plain` says that there is none, `deep` that there is one of DEEP."""
DEEP: Final = ("hours", "modalities", "speakers", "within")
"""Those that a summary cannot be held against but by the chunks beneath it."""
FEW: Final = 20_000
"""As many chunks as this are compared one by one with a question before an index is asked."""

NONE: Final = Filters()

Ask = Callable[..., Iterable[Any]]
"""Runs a query by name with bind variables."""
Span = tuple[int, int]


def bounds(filters: Filters, ask: Ask) -> Mapping[str, Any]:
    """The bind variables of BINDS, with `plain` and `deep`."""
    if filters == NONE:
        return OPEN
    filters = replace(filters, cameras=_cameras(filters, ask), documents=_documents(filters, ask))
    found: dict[str, Any] = {
        **OPEN, "start_ms": filters.start_ms, "end_ms": filters.end_ms, "not_after": filters.not_after, "as_of": filters.as_of,
        **{name: _list(getattr(filters, name)) for name in LISTS},
    }  # fmt: skip
    if filters.time_of_day is not None or filters.weekdays is not None:
        found |= _hours(filters, ask)
    if filters.entities is not None:
        found["entities"] = _entities(filters, ask)
    if any(found[name] is not None for name in ("entities", "entity_types", "relation_types")):
        binds = {name: found[name] for name in BINDS if name not in ("modalities", "speakers", "within")}
        found["within"] = list(ask("passing_chunks", **binds))
    return {**found, "plain": False, "deep": any(found[name] is not None for name in DEEP)}


def _list(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def _cameras(filters: Filters, ask: Ask) -> tuple[str, ...] | None:
    """The cameras that are asked for and stand at a place that is."""
    if filters.places is None:
        return filters.cameras
    places = {place.casefold() for place in filters.places}
    there = [camera["_key"] for camera in ask("name_cameras") if camera["place"].casefold() in places]
    return tuple(key for key in there if filters.cameras is None or key in filters.cameras)


def _documents(filters: Filters, ask: Ask) -> tuple[str, ...] | None:
    """The documents that are asked for and bear a tag that is."""
    if filters.tags is None:
        return filters.documents
    tagged = ask("tagged_documents", tags=list(filters.tags))
    return tuple(key for key in tagged if filters.documents is None or key in filters.documents)


def _entities(filters: Filters, ask: Ask) -> list[str]:
    """Ids of the entities asked for and of all that were one with them."""
    ids = [f"entities/{key.removeprefix('entities/')}" for key in filters.entities or ()]
    return list(ask("entity_records", ids=ids, not_after=filters.not_after, as_of=filters.as_of))


# --- times of day ---------------------------------------------------------------------------------------------------------


def _hours(filters: Filters, ask: Ask) -> dict[str, Any]:
    """`zones`: camera -> zone; `hours`: zone -> day since 1970 UTC -> spans of UTC, of the days that were recorded."""
    zones: dict[str, str] = {}
    days: dict[str, Span] = {}
    for row in ask("recorded_days", cameras=_list(filters.cameras), start_ms=filters.start_ms, end_ms=filters.end_ms):
        zones[row["camera"]] = zone = row["tz"]
        first, last = days.get(zone, (row["first_day"], row["last_day"]))
        days[zone] = min(first, row["first_day"]), max(last, row["last_day"])
    minutes = filters.time_of_day or (0, DAY_MINUTES)
    weekdays = EVERY_DAY if filters.weekdays is None else filters.weekdays
    hours = {zone: open_days(zone, minutes, weekdays, first - 1, last + 1) for zone, (first, last) in days.items()}
    return {"zones": zones, "hours": hours}


@lru_cache(maxsize=64)
def open_days(
    zone: str, minutes: tuple[int, int], weekdays: tuple[int, ...], first: int, last: int
) -> Mapping[str, list[list[int]]]:
    """By day since 1970 UTC, the spans [start, end) in which a zone's clocks show minutes of the day [from, to) of a weekday.

    Each day has those that overlap it and the next one after: whatever begins on it overlaps one of these, or none at all.
    """
    spans = open_spans(zone, minutes, weekdays, first * DAY_MS, (last + 2) * DAY_MS)
    ends = [end for _, end in spans]
    found: dict[str, list[list[int]]] = {}
    for day in range(first, last + 1):
        from_, to = bisect_right(ends, day * DAY_MS), bisect_right(ends, (day + 1) * DAY_MS - 1)
        found[str(day)] = [list(span) for span in spans[from_ : to + 1]]
    return found


def open_spans(zone: str, minutes: tuple[int, int], weekdays: Sequence[int], start_ms: int, end_ms: int) -> list[Span]:
    """The spans of UTC within [start_ms, end_ms), in order, in which a zone's clocks show such a time of such a day."""
    from_, to = minutes
    parts = [(from_, to)] if from_ < to else [(0, to), (from_, DAY_MINUTES)]
    found: list[Span] = []
    for begun, ended, offset in _offsets(ZoneInfo(zone), start_ms, end_ms):
        for day in range((begun + offset) // DAY_MS, (ended - 1 + offset) // DAY_MS + 1):
            if (day + 3) % 7 + 1 in weekdays:  # 1970 began on a Thursday
                for a, b in parts:
                    start = max(day * DAY_MS + a * MINUTE_MS - offset, begun)
                    end = min(day * DAY_MS + b * MINUTE_MS - offset, ended)
                    if start < end:
                        found.append((start, end))
    return list(_joined(found))


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans in order, those that touch as one."""
    last: Span | None = None
    for start, end in spans:
        if last is not None and start <= last[1]:
            last = last[0], max(last[1], end)
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last


def _offsets(zone: ZoneInfo, start_ms: int, end_ms: int) -> Iterator[tuple[int, int, int]]:
    """(start, end, offset from UTC) in ms: the stretches between changes of a zone's clocks, which are whole minutes apart."""
    begun, offset = start_ms, _offset(zone, start_ms)
    for hour in range(start_ms, end_ms, HOUR_MS):
        later = min(hour + HOUR_MS, end_ms)
        if (changed := _offset(zone, later)) != offset:
            low, high = hour, later
            while high - low > MINUTE_MS:
                middle = (low + high) // 2 // MINUTE_MS * MINUTE_MS
                low, high = (middle, high) if _offset(zone, middle) == offset else (low, middle)
            yield begun, high, offset
            begun, offset = high, changed
    if begun < end_ms:
        yield begun, end_ms, offset


def _offset(zone: ZoneInfo, ms: int) -> int:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    return round((moment.astimezone(zone).utcoffset() or timedelta()).total_seconds() * 1000)
