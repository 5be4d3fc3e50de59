"""Captions that come with a video: `<stem>.captions.jsonl`, one object a line.

    {"start": 12.0, "end": 20.5, "text": "…",
     "entities": [{"name": "Maria Lopez", "type": "person", "id": "p1", "description": "…"}],
     "relations": [{"source": "Maria Lopez", "relation": "hands over", "target": "parcel 12",
                    "start": 14.0, "end": 16.0, "confidence": 0.9}]}

Times are seconds of media time, or ISO 8601 with a zone, counted from the document's start.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from vgraph.media.lines import Seconds, Share, Text, iso_ms, json_lines
from vgraph.media.text import Warnings
from vgraph.types import Caption, Mention, Relation

ORIGIN = "given"


class _Entity(BaseModel):
    name: Text
    type: Text = "object"
    id: str | None = None
    description: str = ""
    confidence: Share = 1.0


class _Relation(BaseModel):
    source: Text
    relation: Text
    target: Text
    start: Seconds | str | None = None
    end: Seconds | str | None = None
    confidence: Share = 1.0


class _Line(BaseModel):
    start: Seconds | str
    end: Seconds | str
    text: Text
    entities: tuple[_Entity, ...] = ()
    relations: tuple[_Relation, ...] = ()


def read_captions(path: Path, start_ms: int | None, warnings: Warnings) -> tuple[Caption, ...]:
    """Captions in order of time. `start_ms` (UTC) is the document's start, which lines with ISO times need.

    Lines that are broken, end before they start, or lie before the document's start are told to `warnings`. Raises
    SidecarError when the file cannot be read.
    """
    return tuple(
        sorted(_read(path, start_ms, warnings), key=lambda caption: (caption.offset_ms, caption.end_offset_ms))
    )


def _read(path: Path, start_ms: int | None, warnings: Warnings) -> Iterator[Caption]:
    for number, line in json_lines(path, _Line, warnings):
        try:
            yield _caption(line, start_ms)
        except ValueError as error:
            warnings.skipped(number, str(error))


def _caption(line: _Line, start_ms: int | None) -> Caption:
    offset_ms, end_ms = _span(line.start, line.end, start_ms)
    relations = tuple(_relation(relation, line.text, start_ms) for relation in line.relations)
    mentions = tuple(Mention(e.name, e.type, e.id, e.description, e.confidence) for e in line.entities)
    return Caption(offset_ms, end_ms, line.text, ORIGIN, mentions, relations)


def _relation(line: _Relation, text: str, start_ms: int | None) -> Relation:
    if line.start is None or line.end is None:
        offset_ms, end_ms = None, None
    else:
        offset_ms, end_ms = _span(line.start, line.end, start_ms)
    return Relation(line.source, line.target, line.relation, offset_ms, end_ms, text, line.confidence)


def _span(start: float | str, end: float | str, start_ms: int | None) -> tuple[int, int]:
    offset_ms, end_ms = _offset(start, start_ms), _offset(end, start_ms)
    if offset_ms < 0:
        raise ValueError(f"{start} lies before the video's start")
    if end_ms <= offset_ms:
        raise ValueError(f"the end {end} is not after the start {start}")
    return offset_ms, end_ms


def _offset(time: float | str, start_ms: int | None) -> int:
    if isinstance(time, float):
        return round(time * 1000)
    if start_ms is None:
        raise ValueError(f"the time {time!r} needs the video's start, which is not known")
    return iso_ms(time) - start_ms
