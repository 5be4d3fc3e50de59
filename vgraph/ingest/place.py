"""Where a recording stands in time: its start by the best source there is, put right by its camera's clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vgraph.ingest.burnt_in import readings
from vgraph.ingest.clock import clock_of, timeline, told_start
from vgraph.ingest.clock_pictures import looked_at
from vgraph.ingest.fit import own_time
from vgraph.ingest.graph import Place
from vgraph.media.start import start_time
from vgraph.models import Reader
from vgraph.types import Record, Sidecars, StartSource, StartTime, Video

LASTING = (StartSource.flag, StartSource.burnt_in)
"""Starts that stay with a document until another is given: no file tells them again."""


def start_of(known: Mapping[str, Any] | None, flag_ms: int | None, meta: Sidecars, video: Video, tz: str) -> StartTime:
    """When the first frame was recorded. `known` is the document's vertex, `flag_ms` the time that the caller gave (UTC)."""
    if flag_ms is None and known and known["start_source"] in LASTING:
        return told_start(known)
    return start_time(flag_ms, meta.start_ms, video, tz)


def seen_start(video: Video, tz: str, reader: Reader) -> StartTime | None:
    """When the first frame was recorded by the clock in the picture; None where none agrees with itself. Raises ModelError."""
    texts = looked_at(video, reader)
    own = own_time(readings(texts, tz, near_ms=video.created_ms))
    if own is None:
        return None
    level = own.levels[0]
    return StartTime(level.own_ms, StartSource.burnt_in, tz, level.uncertainty_ms, round(level.drift_ppm, 3))


def place_of(document: str, camera: Record, start: StartTime) -> Place:
    """The document's place by its camera's clock as it is now."""
    stands = timeline(start, camera["tz"], clock_of(camera))
    return Place(document, camera["_key"], stands.start_ms, stands.drift, stands.uncertainty_ms)
