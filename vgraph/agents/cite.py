"""Claims point at what they rest on: a line of a chunk, hence a clip, a camera, a wall-clock time and a media offset."""

from __future__ import annotations

from vgraph.retrieve.words import content_words
from vgraph.types import Citation, EvidenceChunk, Line


def cite(chunk: EvidenceChunk, line: Line | None) -> Citation:
    """A citation of one line, or of the whole chunk when none is given."""
    start = chunk.offset_ms if line is None else line.offset_ms
    end = chunk.end_offset_ms if line is None else max(line.end_offset_ms, line.offset_ms)
    zero = chunk.start_ms - chunk.offset_ms
    return Citation(
        chunk=chunk.id,
        document=chunk.document,
        camera=chunk.camera,
        camera_label=chunk.camera_label,
        start_ms=zero + start,
        end_ms=zero + end,
        offset_ms=max(0, start - chunk.base_ms),
        end_offset_ms=max(0, end - chunk.base_ms),
        uri=chunk.uri,
        frame=_frame(chunk, start, end),
        quote="" if line is None else line.text,
        clock_known=chunk.clock_known,
    )


def best_line(chunk: EvidenceChunk, claim: str) -> Line | None:
    """The line that shares most content words with a claim; None when no line shares any."""
    words = content_words(claim)
    shared = [(len(words & content_words(line.text)), -number) for number, line in enumerate(chunk.lines)]
    count, place = max(shared, default=(0, 0))
    return chunk.lines[-place] if count else None


def _frame(chunk: EvidenceChunk, start: int, end: int) -> str | None:
    """The stored frame nearest the middle of the interval."""
    middle = (start + end) // 2
    nearest = min(chunk.frames, key=lambda frame: abs(frame[0] - middle), default=None)
    return nearest[1] if nearest else None
