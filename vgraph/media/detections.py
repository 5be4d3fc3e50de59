"""Objects that another tool found in a video: `<stem>.tracks.jsonl`, one object a line, and `<stem>.mot.csv`.

    {"frame": 10, "track": 3, "class": "person", "box": [x, y, width, height], "confidence": 0.9}

`"time"` (seconds) may stand for `"frame"` (from 0); boxes are pixels of the displayed picture. MOT rows are
`frame,id,left,top,width,height,confidence,class,visibility` (frame from 1, no header; the last two may be missing).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from vgraph.media.detection_table import ORIGIN, FrameTimes, checked
from vgraph.media.lines import Pixels, Seconds, Share, Text, json_lines
from vgraph.media.text import Warnings, read_lines
from vgraph.types import Box, Detection, VideoTrack

UNKNOWN = "object"
MOT_CLASSES = {
    1: "person",
    2: "person",
    3: "car",
    4: "bicycle",
    5: "motorcycle",
    6: "vehicle",
    7: "person",
    8: "distractor",
    9: "occluder",
    10: "occluder",
    11: "occluder",
    12: "reflection",
}
"""Classes of the MOT16 benchmark (arXiv 1603.00831, table 4): pedestrian, person on vehicle, car, bicycle, motorbike, non
motorised vehicle, static person, distractor, occluders, reflection."""

MOT_IGNORED = {8, 9, 10, 11, 12}


class _Line(BaseModel):
    frame: Annotated[int, Field(ge=0, le=10**9)] | None = None
    time: Seconds | None = None
    track: int | str | None = None
    label: Text = Field(alias="class")
    box: tuple[Pixels, Pixels, Pixels, Pixels]
    confidence: Share = 1.0

    @model_validator(mode="after")
    def _timed(self) -> Self:
        if (self.frame is None) == (self.time is None):
            raise ValueError("give either frame or time")
        return self


def read_tracks(path: Path, picture: VideoTrack, warnings: Warnings) -> Iterator[Detection]:
    """Detections of a tracks JSONL as they stand there; broken lines are told to `warnings`. Raises SidecarError."""
    times = FrameTimes(picture, warnings)
    for number, line in json_lines(path, _Line, warnings):
        offset_ms = round(line.time * 1000) if line.time is not None else times.at(line.frame or 0)
        track = None if line.track is None else str(line.track)
        if box := checked(Box(*line.box), picture, warnings, number):
            yield Detection(offset_ms, line.label, box, line.confidence, ORIGIN, track)


def read_mot(path: Path, picture: VideoTrack, warnings: Warnings) -> Iterator[Detection]:
    """Detections of a MOT CSV as they stand there; broken rows are told to `warnings`. Raises SidecarError.

    Rows that the benchmark marks as not to be counted (confidence 0, occluders, reflections) are left out.
    """
    times = FrameTimes(picture, warnings)
    for number, line in read_lines(path, warnings):
        try:
            row = _row(line.split(","))
        except (ValueError, OverflowError) as error:
            warnings.skipped(number, f"not a MOT row ({error})")
            continue
        if row is not None and (box := checked(Box(*row.box), picture, warnings, number)):
            yield Detection(times.at(row.frame - 1), row.label, box, row.confidence, ORIGIN, row.track)


class _Row(BaseModel):
    frame: int
    track: str | None
    box: tuple[float, float, float, float]
    confidence: float
    label: str


def _row(cells: list[str]) -> _Row | None:
    """A row's values; None for one that is not to be counted. Raises ValueError."""
    if len(cells) < 6:
        raise ValueError(f"{len(cells)} columns, at least 6 are needed")
    frame, track = int(float(cells[0])), int(float(cells[1]))
    if not 1 <= frame <= 10**9:
        raise ValueError(f"frame {frame}: frames count from 1")
    left, top, width, height = (float(cell) for cell in cells[2:6])
    confidence = float(cells[6]) if len(cells) > 6 else 1.0
    kind = cells[7].strip() if 8 <= len(cells) <= 9 else ""
    if confidence == 0 or (kind.isdigit() and int(kind) in MOT_IGNORED):
        return None
    return _Row(
        frame=frame,
        track=None if track < 0 else str(track),
        box=(left, top, width, height),
        confidence=1.0 if confidence < 0 else min(1.0, confidence),
        label=_label(kind),
    )


def _label(kind: str) -> str:
    if kind.isdigit():
        return MOT_CLASSES.get(int(kind), UNKNOWN)
    return kind if kind and kind != "-1" else UNKNOWN
