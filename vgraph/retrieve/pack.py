"""Evidence as text within a token budget: every chunk and relation with its id, camera, wall-clock time and media offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from vgraph.models.tokens import tokens_in
from vgraph.types import EvidenceChunk, EvidenceRelation, Line

RELATION_SHARE = 0.3
"""This part of the budget is kept for relations; chunks get it too when the relations do not need it."""


LINE_SHARE = 0.25
"""At most this part of the budget goes to one line; a longer one is cut."""


def pack(
    chunks: Sequence[EvidenceChunk], relations: Sequence[EvidenceRelation], budget: int
) -> tuple[tuple[EvidenceChunk, ...], tuple[EvidenceRelation, ...], str, int]:
    """Keep the best (first) chunks that fit, the last cut to the lines that do, then relations told by those chunks; in order of time.

    No line takes more than LINE_SHARE of the budget: one endless caption does not hide everything else.
    """
    chunks = [_shortened(chunk, int(budget * LINE_SHARE)) for chunk in chunks]
    kept, spent = _fitting_chunks(chunks, int(budget * (1 - RELATION_SHARE)))
    at_hand = {chunk.id: chunk for chunk in kept}
    told = [(r, relation_text(r, at_hand[r.chunk])) for r in relations if r.chunk in at_hand]
    kept_relations, lines, spent = _fitting_relations(told, budget, spent)
    if len(kept_relations) == len(told):
        more, spent = _fitting_chunks([c for c in chunks if c.id not in at_hand], budget - spent, spent)
        kept = [*kept, *more]
    ordered = sorted(kept, key=lambda chunk: (chunk.start_ms, chunk.id))
    text = "\n".join([*(chunk_text(chunk) for chunk in ordered), *lines])
    return tuple(kept), tuple(kept_relations), text, spent


def _fitting_chunks(chunks: Sequence[EvidenceChunk], room: int, spent: int = 0) -> tuple[list[EvidenceChunk], int]:
    """The first chunks that fit into so much room, and what is spent with them."""
    kept: list[EvidenceChunk] = []
    for chunk in chunks:
        fitted = _fitting(chunk, room)
        if fitted is None:
            continue
        kept.append(fitted)
        cost = tokens_in(chunk_text(fitted))
        room, spent = room - cost, spent + cost
    return kept, spent


def _fitting_relations(
    told: Sequence[tuple[EvidenceRelation, str]], budget: int, spent: int
) -> tuple[list[EvidenceRelation], list[str], int]:
    kept, lines = [], []
    for relation, text in told:
        cost = tokens_in(text)
        if spent + cost <= budget:
            kept.append(relation)
            lines.append(text)
            spent += cost
    return kept, lines, spent


def _shortened(chunk: EvidenceChunk, most: int) -> EvidenceChunk:
    """The chunk with each of its lines cut to so many tokens."""
    if all(tokens_in(line.text) <= most for line in chunk.lines):
        return chunk
    return replace(chunk, lines=tuple(replace(line, text=_cut(line.text, most)) for line in chunk.lines))


def _cut(text: str, most: int) -> str:
    if tokens_in(text) <= most:
        return text
    return text.encode("utf-8", "surrogatepass")[: 3 * most - 3].decode("utf-8", "ignore") + "…"


def _fitting(chunk: EvidenceChunk, room: int) -> EvidenceChunk | None:
    """The chunk with as many of its lines as fit, or None when not even one does."""
    lines: list[Line] = []
    spent = tokens_in(_head(chunk)) + 1
    for line in chunk.lines:
        spent += tokens_in(_line(line, chunk)) + 1
        if spent > room:
            break
        lines.append(line)
    if spent <= room or lines:
        return replace(chunk, lines=tuple(lines))
    return None


def chunk_text(chunk: EvidenceChunk) -> str:
    return "\n".join([_head(chunk), *(_line(line, chunk) for line in chunk.lines)])


def _head(chunk: EvidenceChunk) -> str:
    return f"[{chunk.id}] camera {chunk.camera_label} ({chunk.camera}), {_when(chunk)}"


def _when(chunk: EvidenceChunk) -> str:
    at = f"at {offset(chunk.offset_ms)} of the recording"
    if not chunk.clock_known:
        return f"time unknown, {at}"
    return f"{wall(chunk.start_ms, chunk.tz)} to {wall(chunk.end_ms, chunk.tz, date=False)}, {at}"


def _line(line: Line, chunk: EvidenceChunk) -> str:
    return f"  {moment(chunk, line.offset_ms, date=False)} {line.modality}: {line.text}"


def moment(chunk: EvidenceChunk, offset_ms: int, *, date: bool = True) -> str:
    """A moment of a chunk's recording as wall-clock time, or as media time where nobody knows when it began."""
    if not chunk.clock_known:
        return f"+{offset(offset_ms)}"
    return wall(chunk.start_ms - chunk.offset_ms + offset_ms, chunk.tz, date=date)


def relation_text(relation: EvidenceRelation, chunk: EvidenceChunk) -> str:
    """A relation with the chunk that tells it."""
    zero = chunk.start_ms - chunk.offset_ms
    span = f"{moment(chunk, relation.start_ms - zero)} to {moment(chunk, relation.end_ms - zero, date=False)}"
    said = f' ("{relation.supporting_text}")' if relation.supporting_text else ""
    text = (
        f"[{relation.chunk}] {relation.source_name} {relation.relation} {relation.target_name}, "
        f"camera {relation.camera}, {span}{said}"
    )
    return " ".join(text.split())  # a name with line breaks in it begins no piece of evidence of its own


@lru_cache(maxsize=4096)
def wall(ms: int, tz: str, *, date: bool = True) -> str:
    """Wall-clock time in a zone, to the second: `2026-03-02 08:15:00 CET`."""
    moment = datetime.fromtimestamp(ms / 1000, ZoneInfo(tz))
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z" if date else "%H:%M:%S")


def offset(ms: int) -> str:
    """Media time as h:mm:ss."""
    hours, rest = divmod(ms // 1000, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
