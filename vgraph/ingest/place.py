"""Where a recording stands in time: its start by the best source there is, put right by its camera's clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vgraph.ingest.clock import clock_of, timeline, told_start
from vgraph.ingest.graph import Place
from vgraph.media.start import start_time
from vgraph.types import Record, Sidecars, StartSource, StartTime, Video

LASTING = (StartSource.flag, StartSource.burnt_in)
"""Starts that stay with a document until another is given: no file tells them again."""


def start_of(known: Mapping[str, Any] | None, flag_ms: int | None, meta: Sidecars, video: Video, tz: str) -> StartTime:
    """When the first frame was recorded. `known` is the document's vertex, `flag_ms` the time that the caller gave (UTC)."""
    if flag_ms is None and known and known["start_source"] in LASTING:
        return told_start(known)
    return start_time(flag_ms, meta.start_ms, video, tz)


def place_of(document: str, camera: Record, start: StartTime) -> Place:
    """The document's place by its camera's clock as it is now."""
    stands = timeline(start, camera["tz"], clock_of(camera))
    return Place(document, camera["_key"], stands.start_ms, stands.drift, stands.uncertainty_ms)
