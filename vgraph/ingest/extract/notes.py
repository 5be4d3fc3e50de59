"""The statements of consecutive chunks as numbered notes that a model is shown, and their division where they are too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from vgraph.errors import BadReply, MissingDependency, ModelError
from vgraph.ingest.extract.wording import Wording, among
from vgraph.models.tokens import tokens_in
from vgraph.prompts import plain
from vgraph.types import Line

T = TypeVar("T")
LONGEST: Final = 6_000
"""Characters of a statement shown as one note; a longer one is shown in pieces, so that a unit can always be halved."""

PATIENCE: Final = 3
"""A model that fails at so many parts in a row will not do better at the next one."""


@dataclass(frozen=True, slots=True)
class Note:
    """A statement, or a piece of a very long one. `chunk` is the place of its chunk in the unit, `words` the text to be searched."""

    chunk: int
    line: Line
    text: str
    words: str = field(repr=False)

    def names(self, name: str) -> bool:
        """Whether a name, as Wording.name has it, stands in the note."""
        return among(name, self.words)


Notes = tuple[Note, ...]


def notes_of(statements: Sequence[Sequence[Line]], wording: Wording) -> Notes:
    """Notes of the chunks' statements; what several chunks share is told once, by the first of them."""
    told: set[Line] = set()
    notes: list[Note] = []
    for chunk, lines in enumerate(statements):
        for line in lines:
            if line not in told:
                told.add(line)
                notes += [Note(chunk, line, text, wording.padded(text)) for text in _pieces(plain(line.text))]
    return tuple(notes)


def _pieces(text: str) -> Iterator[str]:
    """At most LONGEST characters each, cut between words where there are any."""
    while len(text) > LONGEST:
        cut = text.rfind(" ", LONGEST // 2, LONGEST) + 1 or LONGEST
        yield text[:cut].rstrip()
        text = text[cut:]
    if text.strip():
        yield text


def shown(notes: Iterable[Note]) -> str:
    """One note a line: its number from 1, its time in seconds of media time, its sense, its text."""
    return "\n".join(f"[{number}] {_shown(note)}" for number, note in enumerate(notes, 1))


def _shown(note: Note) -> str:
    line = note.line
    text = " ".join(note.text.split())
    return f"{seconds(line.offset_ms)} to {seconds(line.end_offset_ms)}, {line.modality}: {text}"


def seconds(ms: int) -> str:
    return f"{ms / 1000:.1f}"


def in_parts(notes: Notes, ask: Callable[[Notes], T], room: int) -> Iterator[tuple[Notes, T | ModelError]]:
    """Ask about all notes at once; where that is too much for the model (before or after asking), about each half of them.

    `room` is what fits, in tokens; parts as long as one that was too much are not tried again. Yields each part with its answer, or with
    the error where the model failed for good; after PATIENCE failures one after the other the rest is not asked any more.
    """
    waiting, failures, too_many = [notes], 0, len(notes) + 1
    answer: T | ModelError = ModelError("nothing was asked")
    while waiting:
        part = waiting.pop()
        halves = halved(part)
        if halves and (len(part) >= too_many or tokens_in(shown(part)) > room):
            waiting += reversed(halves)
            continue
        if failures < PATIENCE:
            answer = _asked(part, ask)
        if halves and failures < PATIENCE and is_too_much(answer):
            too_many = len(part)
            waiting += reversed(halves)
            continue
        failures = failures + 1 if isinstance(answer, ModelError) else 0
        yield part, answer


def _asked(notes: Notes, ask: Callable[[Notes], T]) -> T | ModelError:
    try:
        return ask(notes)
    except MissingDependency:
        raise
    except ModelError as error:
        return error


def is_too_much(answer: object) -> bool:
    """Whether a model was asked more than it can take in or say: asking the same again can not help."""
    return isinstance(answer, BadReply) and answer.kind in ("truncated", "too_long")


def halved(notes: Notes) -> tuple[Notes, Notes] | None:
    """Two parts, cut at the chunk's bound nearest to the middle, within a single chunk in the middle; None for one note."""
    if len(notes) < 2:
        return None
    middle = len(notes) // 2
    bounds = [i for i in range(1, len(notes)) if notes[i].chunk != notes[i - 1].chunk] or [middle]
    cut = min(bounds, key=lambda bound: abs(bound - middle))
    return notes[:cut], notes[cut:]
