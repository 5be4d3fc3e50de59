"""One text a window (EGAgent E2): a model joins what the senses tell into sentences, each on the statements it rests on.

Times are never the model's: a sentence has the interval and the sense of its statements. A sentence with a name or a number that none of
them has is refused, and what no sentence tells, or tells without its names and numbers, is kept as it was sensed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vgraph.errors import ModelError
from vgraph.ingest.chunks import ChunkText, Signals, compose
from vgraph.ingest.extract import schemas
from vgraph.ingest.extract.notes import Note, Notes, in_parts, is_too_much, notes_of, seconds, shown
from vgraph.ingest.extract.plan import Plan
from vgraph.ingest.extract.reading import items, tidy
from vgraph.ingest.extract.wording import Wording, among, joined
from vgraph.models import ChatModel
from vgraph.prompts import prompt, quoted
from vgraph.types import Line, Message

LONGEST: Final = 1_000
"""Characters of a sentence."""
SHARED: Final = 1 / 3
"""At least so many of a sentence's words stand in its notes; a paraphrase keeps more."""
OPENERS: Final = frozenset(
    """
    a after afterwards all also an and another as at before behind both but by during each everybody everyone finally first for from
    he her here his how in inside it its later meanwhile next no nobody nothing now of on once one only other others out over
    people several she simultaneously so some somebody someone something soon still that the their then there these they this those
    three to together two under until when where while who with without
    """.split()  # noqa: SIM905
)
"""Words an English sentence may begin with that are no names."""


def window_text(signals: Signals, chat: ChatModel | None, plan: Plan) -> ChunkText:
    """The text of a window: fused by a model where several senses tell something, else composed of what was sensed.

    A model that fails is told in the text's warnings; MissingDependency is raised.
    """
    text = compose(signals)
    if chat is None or not plan.fuse or len({line.modality for line in text.lines}) < 2:
        return text
    return _fused(text, chat, plan)


def _fused(text: ChunkText, chat: ChatModel, plan: Plan) -> ChunkText:
    notes = notes_of([text.lines], plan.wording)
    sentences: list[Sentence] = []
    failures: list[ModelError] = []
    for part, value in in_parts(notes, lambda some: _asked(some, chat, plan), plan.room):
        if isinstance(value, ModelError):
            failures.append(value)
        else:
            sentences += sentences_of(value, part, f"model:{chat.name}", plan.wording)
    lines = in_order((*(sentence.line for sentence in sentences), *untold(text.lines, sentences, plan.wording)))
    warnings = tuple(dict.fromkeys(f"fusion: {error}" for error in failures))
    whole = "\n".join(line.text for line in lines)
    told = replace(text, warnings=warnings, failed=any(not is_too_much(error) for error in failures))
    return replace(told, fused=lines, text=whole) if sentences or not failures else told


def _asked(notes: Notes, chat: ChatModel, plan: Plan) -> Mapping[str, Any]:
    question = Message("user", prompt("fuse", notes=quoted(shown(notes))))
    value: Mapping[str, Any] = chat.complete(
        [question], schema=schemas.SENTENCES, max_tokens=plan.reply_tokens
    ).value  # fmt: skip
    return value


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a model wrote, and the statements it rests on."""

    line: Line
    told: tuple[Line, ...]


def sentences_of(value: Mapping[str, Any], notes: Notes, origin: str, wording: Wording) -> Iterator[Sentence]:
    """The sentences that say nothing their notes do not name, each with the interval and the sense of its notes."""
    for item in items(value, "sentences"):
        text = tidy(item.get("text"))
        told = _told(item.get("notes"), notes)
        if text and told and len(text) <= LONGEST and _is_told(text, _sources(told, wording), wording):
            yield _sentence(text, tuple(note.line for note in told), origin)


def _is_told(text: str, sources: str, wording: Wording) -> bool:
    """Whether a sentence names nothing new, and speaks at all of what its notes speak of."""
    words = wording.words(text)
    shared = sum(among(word, sources) for word in words)
    return not wording.novel(text, sources, OPENERS) and shared >= SHARED * len(words)


def _told(numbers: object, notes: Notes) -> list[Note]:
    """The notes of some numbers; those that do not exist are none."""
    given = numbers if isinstance(numbers, list) else []
    return [notes[n - 1] for n in dict.fromkeys(given) if type(n) is int and 0 < n <= len(notes)]


def _sources(notes: Iterable[Note], wording: Wording) -> str:
    """What may be named: the notes' words and the times that are shown with them."""
    times = (f"{seconds(note.line.offset_ms)} {seconds(note.line.end_offset_ms)}" for note in notes)
    return joined((*(note.text for note in notes), *times), wording)


def _sentence(text: str, lines: tuple[Line, ...], origin: str) -> Sentence:
    senses = {line.modality for line in lines}
    start, end = min(line.offset_ms for line in lines), max(line.end_offset_ms for line in lines)
    return Sentence(Line(start, end, senses.pop() if len(senses) == 1 else "fused", text, origin), lines)


def untold(lines: Iterable[Line], sentences: Sequence[Sentence], wording: Wording) -> Iterator[Line]:
    """Statements that no sentence rests on, and those with a name or a number that no sentence has."""
    told = {line for sentence in sentences for line in sentence.told}
    whole = joined((sentence.line.text for sentence in sentences), wording)
    return (line for line in lines if line not in told or wording.novel(line.text, whole, OPENERS))


def in_order(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(sorted(lines, key=lambda line: (line.offset_ms, line.end_offset_ms, line.modality, line.text)))
