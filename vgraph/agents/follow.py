"""Follow-up questions: what `she`, `it`, `there` and `then` mean, out of the turns before; by a chat model, else by rules.

The rules put in the last person for a person's pronoun, the last other thing for `it`, the last camera for `there`, and the time of the
last answer for `then`; a word for which the turns have nothing stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vgraph.agents.planner import form
from vgraph.agents.working import Run, Unanswered
from vgraph.errors import UserError
from vgraph.prompts import quoted
from vgraph.retrieve.pack import wall

REWRITTEN: Final = form(question={"type": "string"})
LAST_TURNS: Final = 6
_PERSON: Final = re.compile(r"\b(he|she|him|they|them)\b", re.IGNORECASE)
_PERSONS: Final = re.compile(r"\b(his|their|theirs)\b", re.IGNORECASE)
_HER: Final = re.compile(r"\b(hers|her)\b", re.IGNORECASE)
_THING: Final = re.compile(r"\b(it)\b(?!\s+(?:rain|snow|is\s+(?:raining|snowing)))", re.IGNORECASE)
_THINGS: Final = re.compile(r"\b(its)\b", re.IGNORECASE)
_THERE: Final = re.compile(
    r"\bthere\b(?=\s*(?:[?.!,]|$))|(?<!\bis )(?<!\bwas )(?<!\bwere )(?<!\bare )\bthere\b(?!\s+(?:is|was|are|were)\b)",
    re.IGNORECASE,
)
_THITHER: Final = re.compile(
    r"(?<=\bget )there\b|(?<=\bgot )there\b|(?<=\bgo )there\b|(?<=\bwent )there\b|(?<=\bcome )there\b|(?<=\bcame )there\b",
    re.IGNORECASE,
)
_THEN: Final = re.compile(r"\b(?:at that (?:time|moment)|back then|then)\b(?=\s*[?.!]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of the conversation and what was answered. `entities` are (name, type), the latest named first; times UTC ms."""

    question: str
    answer: str
    entities: tuple[tuple[str, str], ...] = ()
    camera: str = ""
    start_ms: int | None = None
    end_ms: int | None = None
    tz: str = "UTC"


def standalone(run: Run, turns: Sequence[Turn]) -> str:
    """The question of the run as it stands by itself, after these turns (the latest last)."""
    question = run.question
    if not turns:
        return question
    if run.kit.chat is None:
        return resolved(question, turns)
    told = "\n".join(f"question: {turn.question}\nanswer: {turn.answer}" for turn in turns[-LAST_TURNS:])
    try:
        value = run.ask("rewriter", REWRITTEN, check=_check, turns=quoted(told), question=quoted(question))
    except Unanswered as fault:
        run.warnings.append(f"{fault}; pronouns were resolved by rules")
        return resolved(question, turns)
    return str(value["question"]).strip()


def _check(value: dict[str, str]) -> None:
    if not value["question"].strip():
        raise UserError("`question` is empty")


def resolved(question: str, turns: Sequence[Turn]) -> str:
    """The question with its pronouns replaced by what the latest turn that has it named last."""
    person = _person(turns)
    thing = _thing(turns)
    told = question
    if person:
        told = _PERSONS.sub(f"{person}'s", _PERSON.sub(person, told))
        told = _HER.sub(lambda found: _her(told, found, person), told)
    if thing:
        told = _THINGS.sub(f"{thing}'s", _THING.sub(thing, told))
    last = turns[-1] if turns else None
    if last and last.camera:
        told = _THITHER.sub(f"to the {last.camera}", told)
        told = _THERE.sub(f"at the {last.camera}", told)
    if last and last.start_ms is not None:
        told = _THEN.sub(_span(last), told)
    return told


def _her(text: str, found: re.Match[str], person: str) -> str:
    """`her` before a noun is whose, else whom."""
    follows = text[found.end() :].lstrip()
    before_noun = bool(re.match(r"[a-z]+", follows)) and not _NO_NOUN.match(follows)
    owns = found.group().lower() == "hers" or before_noun
    return f"{person}'s" if owns else person


_NO_NOUN: Final = re.compile(
    r"(?:at|on|in|to|with|from|by|after|before|while|when|and|or|the|a|an|then|there|again)\b", re.IGNORECASE
)


def _latest(turns: Sequence[Turn], *, persons: bool) -> str:
    for turn in reversed(turns):
        for name, kind in turn.entities:
            if (kind == "person") is persons:
                return name
    return ""


def _person(turns: Sequence[Turn]) -> str:
    """Whoever the last answer that names a person gives for an answer (`Maria.`), else the person named last."""
    latest = next((turn for turn in reversed(turns) if any(kind == "person" for _, kind in turn.entities)), None)
    people = [name for name, kind in latest.entities if kind == "person"] if latest else []
    answered = (name for name in people if latest and re.match(rf"{re.escape(name)}\s*[.,(]", latest.answer))
    return next(answered, people[0] if people else "")


def _thing(turns: Sequence[Turn]) -> str:
    """The thing that was asked about, else the thing named last; a place only where no thing was named."""
    for turn in reversed(turns):
        things = [name for name, kind in turn.entities if kind not in ("person", "location")]
        asked = (name for name in things if name.casefold() in turn.question.casefold())
        if things:
            return next(asked, things[0])
    return _latest(turns, persons=False)


def _span(turn: Turn) -> str:
    """The time of an answer as questions name one."""
    start, end = turn.start_ms or 0, turn.end_ms or (turn.start_ms or 0)
    first, last = (wall(ms, turn.tz).split(" ") for ms in (start, max(end, start + 1_000)))
    return f"on {first[0]} between {first[1]} and {last[1]}"
