"""The temporal pass (EGAgent E5): a second call dates the relations, each with one or more intervals, a confidence and a reason.

Only times that stand in front of a note count, and only where a note of that time names an end of the relation. A relation for which none
is left keeps the interval of the statement it rests on: its whole window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vgraph.errors import BadReply
from vgraph.ingest.extract import schemas
from vgraph.ingest.extract.notes import Note, Notes, is_too_much, shown
from vgraph.ingest.extract.plan import Plan
from vgraph.ingest.extract.reading import LONGEST_TEXT, LeftOut, Stated, items, sure, tidy
from vgraph.ingest.extract.wording import Wording
from vgraph.models import ChatModel
from vgraph.prompts import prompt, quoted
from vgraph.types import Message, Relation

BATCH: Final = 40
"""Relations dated by one call."""
MOST: Final = 50
"""Intervals of one relation."""
STEP_MS: Final = 100
"""Times are shown to models in tenths of a second."""


@dataclass(frozen=True, slots=True)
class Interval:
    offset_ms: int
    end_offset_ms: int
    confidence: float
    reason: str


def dated(relations: Sequence[Stated], notes: Notes, chat: ChatModel, plan: Plan, left: LeftOut) -> list[Stated]:
    """One relation for each interval in which it held. Raises ModelError when the model fails."""
    batches = (relations[begin : begin + BATCH] for begin in range(0, len(relations), BATCH))
    return [stated for batch in batches for stated in _dated(batch, notes, chat, plan, left)]


def _dated(batch: Sequence[Stated], notes: Notes, chat: ChatModel, plan: Plan, left: LeftOut) -> Iterator[Stated]:
    """All at once; where that is too much for the model, half of them after the other."""
    try:
        value = _asked(batch, notes, chat, plan)
    except BadReply as error:
        if len(batch) < 2 or not is_too_much(error):
            raise
        for half in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
            yield from _dated(half, notes, chat, plan, left)
        return
    for stated, intervals in zip(batch, intervals_in(value, batch, notes, left), strict=True):
        yield from _spread(stated, intervals, notes, plan.wording)


def _asked(batch: Sequence[Stated], notes: Notes, chat: ChatModel, plan: Plan) -> Mapping[str, Any]:
    listed = "\n".join(f"{number}. {_told(stated.relation)}" for number, stated in enumerate(batch, 1))
    question = prompt("intervals", relations=quoted(listed), notes=quoted(shown(notes)))
    asked = [Message("user", question)]
    value: Mapping[str, Any] = chat.complete(asked, schema=schemas.INTERVALS, max_tokens=plan.reply_tokens).value
    return value


def _told(relation: Relation) -> str:
    return f"{relation.source} | {relation.relation} | {relation.target} ({relation.supporting_text})"


def intervals_in(
    value: Mapping[str, Any], batch: Sequence[Stated], notes: Notes, left: LeftOut
) -> list[list[Interval]]:
    """For each relation of the batch its intervals, in order and apart from one another."""
    times = {round(ms / STEP_MS): ms for note in notes for ms in (note.line.offset_ms, note.line.end_offset_ms)}
    found: list[list[Interval]] = [[] for _ in batch]
    for item in items(value, "intervals"):
        number = item.get("relation")
        if type(number) is not int or not 0 < number <= len(batch):
            left.add("an interval of no relation", number)
        elif interval := _interval(item, times):
            found[number - 1].append(interval)
        else:
            left.add("a time that stands in no note", f"{item.get('start')} to {item.get('end')}")
    return [_apart(intervals) for intervals in found]


def _interval(item: Mapping[str, Any], times: Mapping[int, int]) -> Interval | None:
    start, end = (_time(item.get(side), times) for side in ("start", "end"))
    confidence = sure(item.get("confidence"))
    if start is None or end is None or start > end or confidence is None:
        return None
    return Interval(start, end, confidence, tidy(item.get("reason"))[:LONGEST_TEXT])


def _time(value: object, times: Mapping[int, int]) -> int | None:
    """The exact time that was shown as these seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        return None
    return times.get(round(value * 1000 / STEP_MS))


def _apart(intervals: Sequence[Interval]) -> list[Interval]:
    """Those that overlap are one, with the confidence and the reason of the surer."""
    kept: list[Interval] = []
    for each in sorted(intervals, key=lambda i: (i.offset_ms, i.end_offset_ms)):
        if kept and each.offset_ms < kept[-1].end_offset_ms:
            surer = max(kept[-1], each, key=lambda i: i.confidence)
            end = max(kept[-1].end_offset_ms, each.end_offset_ms)
            kept[-1] = Interval(kept[-1].offset_ms, end, surer.confidence, surer.reason)
        else:
            kept.append(each)
    return kept[:MOST]


def _spread(stated: Stated, intervals: Sequence[Interval], notes: Notes, wording: Wording) -> Iterator[Stated]:
    found = [made for each in intervals if (made := _at(stated, each, notes, wording))]
    yield from found or [stated]


def _at(stated: Stated, at: Interval, notes: Notes, wording: Wording) -> Stated | None:
    """The relation at an interval, resting on its own note where that is of the time, else on one that names one of its ends then."""
    relation, note = stated.relation, stated.note
    text = relation.supporting_text
    if not _meets(note, at):
        names = [wording.name(relation.source), wording.name(relation.target)]
        other = next((n for n in notes if _meets(n, at) and any(n.names(name) for name in names)), None)
        if other is None:
            return None
        note, text = other, other.text[:LONGEST_TEXT]
    changed = replace(
        relation, offset_ms=at.offset_ms, end_offset_ms=at.end_offset_ms, supporting_text=text,
        time_confidence=at.confidence, time_reason=at.reason,
    )  # fmt: skip
    return Stated(changed, note)


def _meets(note: Note, at: Interval) -> bool:
    end = max(note.line.end_offset_ms, note.line.offset_ms + 1)
    return note.line.offset_ms < max(at.end_offset_ms, at.offset_ms + 1) and end > at.offset_ms
