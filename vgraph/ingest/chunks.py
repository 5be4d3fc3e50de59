"""Fuses what was seen, said and read in a segment into one chunk text whose lines keep their own times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from vgraph.types import Caption, Extraction, Line, Modality, Segment, StoredFrame, TextRead, Track, Utterance

MOTION = "motion"


class Spanned(Protocol):
    @property
    def offset_ms(self) -> int: ...

    @property
    def end_offset_ms(self) -> int: ...


S = TypeVar("S", bound=Spanned)


@dataclass(frozen=True, slots=True)
class Signals:
    """All that is known of one segment before extraction."""

    segment: Segment
    captions: tuple[Caption, ...] = ()
    utterances: tuple[Utterance, ...] = ()
    reads: tuple[TextRead, ...] = ()
    tracks: tuple[Track, ...] = ()
    frames: tuple[StoredFrame, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk's lines in order of time and the text made of them, which is embedded and searched.

    `fused`: statements in which a model joined what several senses tell; the text is made of them where there are any, while `lines`
    stay what was sensed. `failed`: a model was asked to and gave nothing usable.
    """

    lines: tuple[Line, ...]
    caption: str
    transcript: str
    ocr: str
    text: str
    origins: dict[str, str] = field(default_factory=dict)
    fused: tuple[Line, ...] = ()
    warnings: tuple[str, ...] = ()
    failed: bool = False

    @property
    def statements(self) -> tuple[Line, ...]:
        """What extraction reads."""
        return self.fused or self.lines


@dataclass(frozen=True, slots=True)
class Chunk:
    """A segment made ready for the graph."""

    signals: Signals
    text: ChunkText
    extraction: Extraction

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.signals.warnings, *self.text.warnings, *self.extraction.warnings)

    @property
    def failed(self) -> bool:
        """Whether a language model failed, so that a later run may give more."""
        return self.text.failed or self.extraction.failed

    @property
    def known_offset_ms(self) -> int:
        """When all that the chunk says had happened: its end, or that of a statement that reaches beyond it."""
        return max(self.signals.segment.end_offset_ms, *(line.end_offset_ms for line in self.text.lines), 0)


def overlapping(items: Iterable[S], segment: Segment) -> tuple[S, ...]:
    """What shares time with the segment; a moment (start = end) counts where it lies."""
    return tuple(item for item in items if _shares(item, segment))


def _shares(item: Spanned, segment: Segment) -> bool:
    end = max(item.end_offset_ms, item.offset_ms + 1)
    return item.offset_ms < segment.end_offset_ms and end > segment.offset_ms


def compose(signals: Signals) -> ChunkText:
    """Lines of every modality, in order of time. Read texts and detections become one line each, saying how often."""
    lines = sorted(
        (*_caption_lines(signals), *_speech_lines(signals), *_read_lines(signals), *_detection_lines(signals)),
        key=lambda line: (line.offset_ms, line.end_offset_ms, line.modality, line.text),
    )
    return ChunkText(
        lines=tuple(lines),
        caption=_joined(lines, "caption"),
        transcript=_joined(lines, "speech"),
        ocr=_joined(lines, "ocr"),
        text="\n".join(line.text for line in lines),
        origins={line.modality: line.origin for line in lines},
    )


def _caption_lines(signals: Signals) -> list[Line]:
    return [_line(c, "caption", c.text, c.origin) for c in signals.captions if c.text.strip()]


def _speech_lines(signals: Signals) -> list[Line]:
    return [_line(u, "speech", _said(u), u.origin) for u in signals.utterances if u.text.strip()]


def _said(utterance: Utterance) -> str:
    return f"{utterance.speaker}: {utterance.text.strip()}" if utterance.speaker else utterance.text.strip()


def _line(item: Spanned, modality: Modality, text: str, origin: str) -> Line:
    """A statement keeps its own interval, also where it reaches beyond its chunk: that is where a citation must lead."""
    return Line(item.offset_ms, max(item.end_offset_ms, item.offset_ms), modality, " ".join(text.split()), origin)


def _read_lines(signals: Signals) -> list[Line]:
    """One line a distinct text: `Sign reads: DOCK 2`. Clocks that tick give many texts; those seen once are kept too."""
    spans: dict[str, tuple[int, int, str]] = {}
    for read in signals.reads:
        text = " ".join(read.text.split())
        first, _, origin = spans.get(text, (read.offset_ms, 0, read.origin))
        spans[text] = (first, read.offset_ms, origin)
    return [
        Line(first, last, "ocr", f"Text in view: {text}", origin)
        for text, (first, last, origin) in spans.items()
        if text
    ]


def _detection_lines(signals: Signals) -> list[Line]:
    if not signals.tracks:
        return []
    clipped = [clip_track(track, signals.segment) for track in signals.tracks]
    start, end = min(t.offset_ms for t in clipped), max(t.end_offset_ms for t in clipped)
    return [Line(start, end, "detection", _counted(clipped), clipped[0].detections[0].origin)]


def _counted(tracks: Sequence[Track]) -> str:
    """What was followed: `Detected: 2 person, 1 truck`; things of which only motion is known are said to move."""
    counts = Counter(track.label for track in tracks)
    moving = counts.pop(MOTION, 0)
    seen = [f"{count} {label}" for label, count in sorted(counts.items())]
    return "Detected: " + ", ".join([*seen, f"{moving} moving, motion of something"] if moving else seen)


def clip_track(track: Track, segment: Segment) -> Track:
    """The part of a track inside the segment; the whole track when no single detection lies inside."""
    inside = tuple(d for d in track.detections if segment.offset_ms <= d.offset_ms < segment.end_offset_ms)
    return replace(track, detections=inside) if inside else track


def _joined(lines: Sequence[Line], modality: str) -> str:
    return "\n".join(line.text for line in lines if line.modality == modality)
