"""Tools over intervals: who was where, when, with whom and for how long (see retrieve/analytics.py)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from vgraph.agents.tools.scope import Cameras, End, Found, Name, Names, Scope, Start, Types
from vgraph.agents.tools.telling import of_rows
from vgraph.errors import UserError
from vgraph.retrieve.analytics import ALLEN

Limit = Annotated[int, Field(ge=1, le=100)]
Seconds = Annotated[float, Field(ge=0, le=1e9)]
Camera = Annotated[str, Field(description="A camera by label or key.")]


def timeline(
    scope: Scope, entities: Names, cameras: Cameras = None, start: Start = None, end: End = None, limit: Limit = 60
) -> Found:
    """Where and when people or things stayed, in order of time."""
    filters = scope.within(cameras, start, end)
    return of_rows(scope, scope.sources.analytics.timeline(entities, filters), filters, limit=limit)


def journeys(
    scope: Scope, entities: Names, cameras: Cameras = None, start: Start = None, end: End = None, limit: Limit = 60
) -> Found:
    """The way of people or things from camera to camera, and whether each step is feasible."""
    filters = scope.within(cameras, start, end)
    return of_rows(scope, scope.sources.analytics.journeys(entities, filters), filters, limit=limit)


def absences(
    scope: Scope,
    name: Name,
    least_seconds: Seconds = 1.0,
    cameras: Cameras = None,
    start: Start = None,
    end: End = None,
) -> Found:
    """When no camera saw somebody or something, and whether the cameras were recording then."""
    filters = scope.within(cameras, start, end)
    return of_rows(scope, scope.sources.analytics.absences(name, filters, least_ms=_ms(least_seconds)), filters)


def present_while(
    scope: Scope,
    name: Name,
    types: Types = None,
    cameras: Cameras = None,
    start: Start = None,
    end: End = None,
    limit: Limit = 30,
) -> Found:
    """Who and what else was at a camera while somebody or something stayed there, and how long together."""
    filters = scope.within(cameras, start, end)
    return of_rows(scope, scope.sources.analytics.present_while(name, filters, types=types, limit=limit), filters)


def said_while(
    scope: Scope, name: Name, cameras: Cameras = None, start: Start = None, end: End = None, limit: Limit = 60
) -> Found:
    """What was said at a camera while somebody or something stayed there."""
    filters = scope.within(cameras, start, end)
    return of_rows(scope, scope.sources.analytics.said_while(name, filters, limit=limit), filters)


def co_presence(
    scope: Scope, types: Types = None, least_seconds: Seconds = 1.0, cameras: Cameras = None, start: Start = None, end: End = None,
    limit: Limit = 30,
) -> Found:  # fmt: skip
    """Pairs that were at the same camera at the same time, the longest together first."""
    filters = scope.within(cameras, start, end)
    rows = scope.sources.analytics.co_presence(filters, types=types, least_ms=max(1, _ms(least_seconds)), limit=limit)
    return of_rows(scope, rows, filters)


def seen_then(
    scope: Scope, first: Camera, then: Camera, within_seconds: Annotated[float, Field(gt=0, le=1e6)] = 300.0, types: Types = None,
    start: Start = None, end: End = None, limit: Limit = 30,
) -> Found:  # fmt: skip
    """Who was seen by one camera and then by another within a time."""
    filters = scope.within([first, then], start, end)
    left, came = scope.sources.camera(first), scope.sources.camera(then)
    if filters.cameras is None or not {left, came} <= set(filters.cameras):
        raise UserError("one of these cameras is outside of what may be looked at")
    rows = scope.sources.analytics.seen_then(
        left, came, filters, within_ms=_ms(within_seconds), types=types, limit=limit
    )
    return of_rows(scope, rows, filters)


def dwell(
    scope: Scope, types: Types = None, cameras: Cameras = None, start: Start = None, end: End = None, limit: Limit = 30
) -> Found:
    """How long everybody stayed at each camera, and how often; the longest first."""
    filters = scope.within(cameras, start, end)
    return of_rows(scope, scope.sources.analytics.dwell(filters, types=types, limit=limit), filters)


def first_last_seen(
    scope: Scope, types: Types = None, cameras: Cameras = None, start: Start = None, end: End = None, limit: Limit = 60
) -> Found:
    """When and where everybody was first and last seen; who came first stands first."""
    filters = scope.within(cameras, start, end)
    return of_rows(scope, scope.sources.analytics.first_last_seen(filters, types=types, limit=limit), filters)


def counts_per_interval(
    scope: Scope, every_seconds: Annotated[float, Field(ge=1, le=1e7)] = 600.0, types: Types = None, cameras: Cameras = None,
    start: Start = None, end: End = None, limit: Limit = 60,
) -> Found:  # fmt: skip
    """How many different people or things each camera saw in each interval."""
    filters = scope.within(cameras, start, end)
    rows = scope.sources.analytics.counts(
        filters, bucket_ms=_ms(every_seconds), origin_ms=filters.start_ms or 0, types=types
    )
    return of_rows(scope, rows, filters, limit=limit)


def busiest(
    scope: Scope, every_seconds: Annotated[float, Field(ge=1, le=1e7)] = 600.0, types: Types = None, cameras: Cameras = None,
    start: Start = None, end: End = None, limit: Limit = 10,
) -> Found:  # fmt: skip
    """The intervals in which most different people or things were about, the busiest first."""
    filters = scope.within(cameras, start, end)
    origin = filters.start_ms or 0
    rows = scope.sources.analytics.busiest(
        filters, bucket_ms=_ms(every_seconds), origin_ms=origin, types=types, limit=limit
    )
    return of_rows(scope, rows, filters)


def interactions(
    scope: Scope,
    relations: Annotated[list[str] | None, Field(max_length=20)] = None,
    types: Types = None,
    cameras: Cameras = None,
    start: Start = None,
    end: End = None,
    limit: Limit = 30,
) -> Found:
    """Who had to do with whom, in what way, how often and how long."""
    filters = scope.within(cameras, start, end)
    rows = scope.sources.analytics.interactions(filters, relations=relations, types=types, limit=limit)
    return of_rows(scope, rows, filters)


def difference(
    scope: Scope, first_start: str, first_end: str, then_start: str, then_end: str, types: Types = None, cameras: Cameras = None,
    limit: Limit = 60,
) -> Found:  # fmt: skip
    """What changed from one span to another: who was there in one of them only, and how much longer or shorter the others stayed."""
    filters = scope.within(cameras)
    spans = [_span(scope, cameras, first_start, first_end), _span(scope, cameras, then_start, then_end)]
    rows = scope.sources.analytics.difference(spans[0], spans[1], filters, types=types, limit=limit)
    return of_rows(scope, rows, filters)


def _span(scope: Scope, cameras: list[str] | None, start: str, end: str) -> tuple[int, int]:
    """A span cut to what may be looked at."""
    cut = scope.within(cameras, start, end)
    assert cut.start_ms is not None and cut.end_ms is not None
    return cut.start_ms, max(cut.start_ms, cut.end_ms)


Relation = Literal[
    "before", "meets", "overlaps", "starts", "during", "finishes", "equals",
    "after", "met_by", "overlapped_by", "started_by", "contains", "finished_by",
]  # fmt: skip


def interval_relations(
    scope: Scope, left: Name, right: Name,
    relations: Annotated[list[Relation] | None, Field(description="Allen's relations; leave out for all.")] = None,
    within_seconds: Annotated[float | None, Field(ge=0, description="For before and after: at most this between.")] = None,
    same_camera: bool = False, cameras: Cameras = None, start: Start = None, end: End = None, limit: Limit = 60,
) -> Found:  # fmt: skip
    """How the stays of one person or thing lie in time to those of another: before, during, overlaps and the others of Allen."""
    filters = scope.within(cameras, start, end)
    ask = scope.sources.analytics
    options: dict[str, Any] = {"within_ms": None if within_seconds is None else _ms(within_seconds)}
    rows = ask.relations(
        ask.selection([left]), ask.selection([right]), filters, relations=relations or ALLEN, same_camera=same_camera, limit=limit,
        **options,
    )  # fmt: skip
    return of_rows(scope, rows, filters)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
