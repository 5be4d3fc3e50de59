"""Who is heard when: lines of speech with their speakers, and how long a conversation goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vgraph.retrieve.events import Event, Source
from vgraph.retrieve.ground import Ground
from vgraph.retrieve.words import content_words
from vgraph.types import EvidenceChunk, Line

_SPEAKER = re.compile(r"^(?P<speaker>[^:]{1,80}):\s+(?P<text>.+)$", re.DOTALL)
AROUND_MS = 30_000
"""How far beyond the caption that tells of it a conversation is listened to."""
PAUSE_MS = 2_500
"""A longer silence ends a conversation."""


@dataclass(frozen=True, slots=True)
class Said:
    speaker: str
    text: str
    chunk: EvidenceChunk
    line: Line

    @property
    def source(self) -> Source:
        zero = self.chunk.start_ms - self.chunk.offset_ms
        return Source(self.chunk, self.line, zero + self.line.offset_ms, zero + self.line.end_offset_ms, exact=True)


def lines(chunks: Sequence[EvidenceChunk]) -> Iterator[Said]:
    """Speech, each line once."""
    seen = set()
    for chunk in chunks:
        for line in chunk.lines:
            key = (chunk.document, line.offset_ms, line.text)
            if line.modality == "speech" and key not in seen:
                seen.add(key)
                named = _SPEAKER.match(line.text)
                yield Said(named["speaker"] if named else "", named["text"] if named else line.text, chunk, line)


def conversation(event: Event, ground: Ground) -> tuple[int, int] | None:
    """From when to when those who talk in an event are heard, without a long silence; None where they are not."""
    talking = [content_words(filler.guess or filler.text) for filler in event.roles.get("with", ())]
    wide = replace(
        ground.filters, start_ms=event.start_ms - AROUND_MS, end_ms=event.end_ms + AROUND_MS, cameras=event.cameras
    )
    if ground.filters.not_after is not None:
        wide = replace(wide, end_ms=min(event.end_ms + AROUND_MS, ground.filters.not_after))
    found = ground.facts.told(ground.facts.clips_between(wide), wide)
    spans = sorted(
        (said.source.start_ms, said.source.end_ms)
        for said in lines(found.chunks)
        if any(name and content_words(said.speaker) & name for name in talking)
    )
    joined = _joined(spans)
    met = [span for span in joined if span[0] < event.end_ms and span[1] > event.start_ms]
    return max(met, key=lambda span: span[1] - span[0]) if met else None


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1] + PAUSE_MS:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
