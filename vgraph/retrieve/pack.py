"""Evidence as text within a token budget: every chunk and relation with its id, camera, wall-clock time and media offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from vgraph.types import EvidenceChunk, EvidenceRelation, Line

RELATION_SHARE = 0.3
"""At most this part of the budget goes to relations, the rest to chunks."""


def tokens_in(text: str) -> int:
    """An upper estimate of a model's tokens: one for every three UTF-8 bytes, which holds for any script."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


def pack(
    chunks: Sequence[EvidenceChunk], relations: Sequence[EvidenceRelation], budget: int
) -> tuple[tuple[EvidenceChunk, ...], tuple[EvidenceRelation, ...], str, int]:
    """Keep the best (first) chunks and relations that fit, a chunk's lines cut where it does not fit whole; text in order of time."""
    kept_relations, spent = _fitting_relations(relations, int(budget * RELATION_SHARE), {c.id: c for c in chunks})
    kept: list[EvidenceChunk] = []
    for chunk in chunks:
        fitted = _fitting(chunk, budget - spent)
        if fitted is None:
            break
        kept.append(fitted)
        spent += tokens_in(chunk_text(fitted))
    ordered = sorted(kept, key=lambda chunk: (chunk.start_ms, chunk.id))
    zone = {chunk.camera: chunk.tz for chunk in chunks}
    parts = [
        *(chunk_text(chunk) for chunk in ordered),
        *(relation_text(r, zone.get(r.camera, "UTC")) for r in kept_relations),
    ]
    return tuple(kept), tuple(kept_relations), "\n".join(parts), spent


def _fitting_relations(
    relations: Sequence[EvidenceRelation], budget: int, chunks: dict[str, EvidenceChunk]
) -> tuple[list[EvidenceRelation], int]:
    kept, spent = [], 0
    for relation in relations:
        zone = chunks[relation.chunk].tz if relation.chunk in chunks else "UTC"
        cost = tokens_in(relation_text(relation, zone))
        if spent + cost <= budget:
            kept.append(relation)
            spent += cost
    return kept, spent


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
    start, end = wall(chunk.start_ms, chunk.tz), wall(chunk.end_ms, chunk.tz, date=False)
    return f"[{chunk.id}] camera {chunk.camera_label} ({chunk.camera}), {start} to {end}, at {offset(chunk.offset_ms)} of the recording"


def _line(line: Line, chunk: EvidenceChunk) -> str:
    at = wall(chunk.start_ms - chunk.offset_ms + line.offset_ms, chunk.tz, date=False)
    return f"  {at} {line.modality}: {line.text}"


def relation_text(relation: EvidenceRelation, tz: str) -> str:
    start, end = wall(relation.start_ms, tz), wall(relation.end_ms, tz, date=False)
    said = f' ("{relation.supporting_text}")' if relation.supporting_text else ""
    return (
        f"[{relation.chunk}] {relation.source_name} {relation.relation} {relation.target_name}, camera {relation.camera}, "
        f"{start} to {end}{said}"
    )


def wall(ms: int, tz: str, *, date: bool = True) -> str:
    """Wall-clock time in a zone, to the second: `2026-03-02 08:15:00 CET`."""
    moment = datetime.fromtimestamp(ms / 1000, ZoneInfo(tz))
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z" if date else "%H:%M:%S")


def offset(ms: int) -> str:
    """Media time as h:mm:ss."""
    hours, rest = divmod(ms // 1000, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
