"""Evidence within a token budget, as text, JSON or chat messages: every line with its chunk, camera, wall-clock time and media offset.

What is told twice (segments may overlap) is told once. Tokens are estimated from above (models/tokens.py), in the form that is given out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

from vgraph.models.tokens import tokens_in
from vgraph.retrieve.words import content_words
from vgraph.types import EvidenceChunk, EvidenceRelation, Line

Form = Literal["text", "json", "messages"]
Order = Literal["time", "score"]

RELATION_SHARE = 0.3
"""This part of the budget is kept for relations; chunks get it too when the relations do not need it."""


AROUND = 3
"""Tokens of a comma between two objects of an array, or of its brackets."""
LINE_SHARE = 0.25
"""At most this part of the budget goes to one line; a longer one is cut."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What fitted: chunks (best first) with the lines that did, relations, all of it in one form, and its tokens."""

    chunks: tuple[EvidenceChunk, ...]
    relations: tuple[EvidenceRelation, ...]
    text: str
    tokens: int


def pack(
    chunks: Sequence[EvidenceChunk], relations: Sequence[EvidenceRelation], budget: int, *, question: str = "",
    order: Order = "time", form: Form = "text",
) -> Packed:  # fmt: skip
    """Keep the best (first) chunks that fit, the last cut to the lines that do and share words with the question, then their relations.

    `order` is that in which chunks are told: by time, or the best first. No line takes more than LINE_SHARE of the budget: one endless
    caption does not hide everything else. In the form `messages` the question stands last, and counts.
    """
    room = budget - _frame(form, question)
    chunks = _told_once([_shortened(chunk, int(room * LINE_SHARE)) for chunk in chunks])
    kept, spent = _fitting_chunks(chunks, int(room * (1 - RELATION_SHARE)), form, question)
    at_hand = {chunk.id: chunk for chunk in kept}
    told = [(r, _relation_cost(r, at_hand[r.chunk], form)) for r in relations if r.chunk in at_hand]
    kept_relations, spent = _fitting_relations(told, room, spent)
    if len(kept_relations) == len(told):
        more, spent = _fitting_chunks([c for c in chunks if c.id not in at_hand], room - spent, form, question, spent)
        kept = [*kept, *more]
    text = rendered(kept, kept_relations, question=question, order=order, form=form)
    return Packed(tuple(kept), tuple(kept_relations), text, spent + _frame(form, question))


# --- forms --------------------------------------------------------------------------------------------------------------


def rendered(
    chunks: Iterable[EvidenceChunk], relations: Iterable[EvidenceRelation], *, question: str = "", order: Order = "time",
    form: Form = "text",
) -> str:  # fmt: skip
    """Chunks (best first) and relations they tell, in one form.

    text: a line each. json: an array of objects, a line each. messages: an array of chat messages (OpenAI's form), one a chunk, one for
    the relations, the question last.
    """
    chunks = list(chunks)
    ordered = sorted(chunks, key=lambda chunk: (chunk.start_ms, chunk.id)) if order == "time" else chunks
    at_hand = {chunk.id: chunk for chunk in chunks}
    told = [(relation, at_hand[relation.chunk]) for relation in relations]
    match form:
        case "text":
            return "\n".join([*map(chunk_text, ordered), *(relation_text(*each) for each in told)])
        case "json":
            lines = [line_json(line, chunk) for chunk in ordered for line in chunk.lines]
            return _json([*lines, *(relation_json(*each) for each in told)])
        case "messages":
            return _json([_message(text) for text in (*map(chunk_text, ordered), *_together(told), question) if text])


def _together(told: Sequence[tuple[EvidenceRelation, EvidenceChunk]]) -> tuple[str, ...]:
    return ("\n".join(relation_text(*each) for each in told),) if told else ()


def _message(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def line_json(line: Line, chunk: EvidenceChunk) -> dict[str, Any]:
    """A line with all that it takes to find it; `time` is its wall-clock time (ISO 8601, in the camera's zone), null where unknown."""
    at = chunk.start_ms - chunk.offset_ms + line.offset_ms
    return _place(chunk, at) | {"offset_ms": line.offset_ms, "modality": line.modality, "text": _flat(line.text)}


def relation_json(relation: EvidenceRelation, chunk: EvidenceChunk) -> dict[str, Any]:
    """A relation as `line_json` gives lines; its modality is `relation`."""
    zero = chunk.start_ms - chunk.offset_ms
    text = _flat(f"{relation.source_name} {relation.relation} {relation.target_name}")
    support = _support(relation, chunk)
    said = {"supporting_text": support} if support else {}
    placed = _place(chunk, relation.start_ms) | {"offset_ms": max(0, relation.start_ms - zero)}
    return placed | {"modality": "relation", "text": text, **said}


def _place(chunk: EvidenceChunk, at_ms: int) -> dict[str, Any]:
    time = (
        datetime.fromtimestamp(at_ms / 1000, ZoneInfo(chunk.tz)).isoformat(timespec="seconds")
        if chunk.clock_known
        else None
    )
    return {"chunk": chunk.id, "camera": chunk.camera, "camera_label": chunk.camera_label, "time": time}


# --- what fits ----------------------------------------------------------------------------------------------------------


def _frame(form: Form, question: str) -> int:
    """Tokens of what stands around the lines."""
    match form:
        case "text":
            return 0
        case "json":
            return AROUND
        case "messages":
            return AROUND + (tokens_in(_json(_message(question))) + AROUND if question else 0)


def _line_cost(line: Line, chunk: EvidenceChunk, form: Form) -> int:
    if form == "json":
        return tokens_in(_json(line_json(line, chunk))) + AROUND
    return tokens_in(_escaped(line_text(line, chunk), form)) + 1


def _relation_cost(relation: EvidenceRelation, chunk: EvidenceChunk, form: Form) -> int:
    if form == "json":
        return tokens_in(_json(relation_json(relation, chunk))) + AROUND
    return tokens_in(_escaped(relation_text(relation, chunk), form)) + _chunk_cost(form) + 1


def _chunk_cost(form: Form) -> int:
    """Tokens of what stands around the lines of one chunk."""
    return tokens_in(_json(_message(""))) + AROUND if form == "messages" else 0


def _escaped(text: str, form: Form) -> str:
    return _json(text) if form == "messages" else text


def _told_once(chunks: Iterable[EvidenceChunk]) -> list[EvidenceChunk]:
    """The chunks without lines that a better one has told: the same words of the same stretch of the same recording."""
    told: set[tuple[object, ...]] = set()
    left = []
    for chunk in chunks:
        lines = []
        for line in chunk.lines:
            sign = (chunk.document, line.offset_ms, line.end_offset_ms, line.modality, line.text)
            if sign not in told:
                told.add(sign)
                lines.append(line)
        if lines:
            left.append(chunk if len(lines) == len(chunk.lines) else replace(chunk, lines=tuple(lines)))
    return left


def _fitting_chunks(
    chunks: Sequence[EvidenceChunk], room: int, form: Form, question: str, spent: int = 0
) -> tuple[list[EvidenceChunk], int]:
    """The first chunks that fit into so much room, and what is spent with them."""
    kept: list[EvidenceChunk] = []
    for chunk in chunks:
        fitted, cost = _fitting(chunk, room, form, question)
        if fitted is not None:
            kept.append(fitted)
            room, spent = room - cost, spent + cost
    return kept, spent


def _fitting_relations(
    told: Sequence[tuple[EvidenceRelation, int]], budget: int, spent: int
) -> tuple[list[EvidenceRelation], int]:
    kept = []
    for relation, cost in told:
        if spent + cost <= budget:
            kept.append(relation)
            spent += cost
    return kept, spent


def _shortened(chunk: EvidenceChunk, most: int) -> EvidenceChunk:
    """The chunk with each of its lines cut to so many tokens."""
    if all(tokens_in(line.text) <= most for line in chunk.lines):
        return chunk
    return replace(chunk, lines=tuple(replace(line, text=_cut(line.text, most)) for line in chunk.lines))


def _cut(text: str, most: int) -> str:
    """The beginning of a text, at most so many tokens of it."""
    if tokens_in(text) <= most:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens_in(text[:middle]) + 1 <= most else (low, middle - 1)
    return text[:low] + "…"


def _fitting(chunk: EvidenceChunk, room: int, form: Form, question: str) -> tuple[EvidenceChunk | None, int]:
    """The chunk with as many of its lines as fit, those that share most words with the question first, and their tokens; None for none."""
    around = _chunk_cost(form)
    costs = [_line_cost(line, chunk, form) for line in chunk.lines]
    if not costs or around + min(costs) > room:
        return None, 0
    if around + sum(costs) <= room:
        return chunk, around + sum(costs)
    words = content_words(question)
    order = sorted(
        range(len(costs)), key=lambda n: (-len(words & content_words(chunk.lines[n].text)) if words else 0, n)
    )
    kept, spent = list[int](), around
    for number in order:
        if spent + costs[number] <= room:
            kept.append(number)
            spent += costs[number]
    return replace(chunk, lines=tuple(chunk.lines[number] for number in sorted(kept))), spent


# --- lines --------------------------------------------------------------------------------------------------------------


def chunk_text(chunk: EvidenceChunk) -> str:
    return "\n".join(line_text(line, chunk) for line in chunk.lines)


def line_text(line: Line, chunk: EvidenceChunk) -> str:
    """`[chunk] camera, wall-clock time, +media offset, sense: text`, on one line whatever the text holds."""
    return f"[{chunk.id}] {_camera(chunk)}, {_when(chunk, line.offset_ms)}, {line.modality}: {_flat(line.text)}"


def _camera(chunk: EvidenceChunk) -> str:
    """The camera by its label, with its key where that is another word."""
    label = _flat(chunk.camera_label)
    return f"camera {label}" if label == chunk.camera else f"camera {label} ({chunk.camera})"


def _when(chunk: EvidenceChunk, offset_ms: int) -> str:
    time = wall(chunk.start_ms - chunk.offset_ms + offset_ms, chunk.tz) if chunk.clock_known else "time unknown"
    return f"{time}, +{offset(offset_ms)}"


def _flat(text: str) -> str:
    """Text on one line: with line breaks in it, it begins no piece of evidence of its own."""
    return " ".join(text.split())


def moment(chunk: EvidenceChunk, offset_ms: int, *, date: bool = True) -> str:
    """A moment of a chunk's recording as wall-clock time, or as media time where nobody knows when it began."""
    if not chunk.clock_known:
        return f"+{offset(offset_ms)}"
    return wall(chunk.start_ms - chunk.offset_ms + offset_ms, chunk.tz, date=date)


def relation_text(relation: EvidenceRelation, chunk: EvidenceChunk) -> str:
    """A relation with the chunk that tells it."""
    zero = chunk.start_ms - chunk.offset_ms
    until = moment(chunk, relation.end_ms - zero, date=False)
    support = _support(relation, chunk)
    said = f' ("{support}")' if support else ""
    return _flat(
        f"[{relation.chunk}] {_camera(chunk)}, {_when(chunk, max(0, relation.start_ms - zero))}, relation: "
        f"{relation.source_name} {relation.relation} {relation.target_name}, until {until}{said}"
    )


def _support(relation: EvidenceRelation, chunk: EvidenceChunk) -> str:
    """The words a relation rests on, unless a line of its chunk says them anyway."""
    text = _flat(relation.supporting_text)
    return "" if any(text in _flat(line.text) for line in chunk.lines) else text


@lru_cache(maxsize=4096)
def wall(ms: int, tz: str, *, date: bool = True) -> str:
    """Wall-clock time in a zone, to the second: `2026-03-02 08:15:00 CET`."""
    moment = datetime.fromtimestamp(ms / 1000, ZoneInfo(tz))
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z" if date else "%H:%M:%S")


def offset(ms: int) -> str:
    """Media time as h:mm:ss."""
    hours, rest = divmod(ms // 1000, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
