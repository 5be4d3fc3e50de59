"""From a question to an answer by rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vgraph.agents.extractive import extract_claims
from vgraph.agents.rules.forms import DURING_MS, FORMS, NOTHING, Asking, Result
from vgraph.agents.rules.ground import Ground
from vgraph.agents.rules.spoken import about_speech, heard, said
from vgraph.agents.tools import Toolbox
from vgraph.retrieve.events import Event
from vgraph.retrieve.naming import Names
from vgraph.retrieve.pack import wall
from vgraph.retrieve.understanding import Question, read, wordless
from vgraph.types import Answer, AnswerStatus, Claim, EvidenceChunk, Filters

RULES, EXTRACTIVE = "rules", "extractive"
SPOKEN = frozenset(["where", "when", "who", "what", "how_many"])
"""Forms that may be answered by what was said."""
NOT_FOUND = "Not found: nothing that was recorded answers this."
NOT_RECORDED = "Not recorded: no camera asked about covers that time."


def answer_by_rules(text: str, toolbox: Toolbox, filters: Filters) -> Answer:
    """The answer to a question; its first claim is the value, the others show what it rests on."""
    sources = toolbox.scope.sources
    evidence = sources.search(text, filters)
    cameras = sources.facts.cameras(filters)
    return answered(
        text, Ground(sources.facts, evidence.filters, evidence, sources.similarity, sources.search, cameras)
    )


def answered(text: str, ground: Ground) -> Answer:
    """The answer to a question on a ground."""
    if wordless(text):
        return _without(ground, AnswerStatus.not_found, "Nothing was asked: the question has no word in it.")
    names = Names(ground.facts.known(text, ground.filters))
    question = read(text, names)
    if question.form == "why":
        return _why(ground)
    event: Event | None = None
    if question.around is not None:
        event, ground = _around(question, ground)
        if event is None:
            return _nothing(
                question, ground, f"Not found: nothing that was recorded tells that {question.around.text}."
            )
    result = _result(question, ground, event)
    if not result.claims:
        return _nothing(question, ground, NOT_FOUND)
    return _with(question, ground, result)


def _result(question: Question, ground: Ground, event: Event | None) -> Result:
    if about_speech(question):
        return said(question, ground)
    result = NOTHING
    if question.form in FORMS and (question.pattern is not None or question.form == "happenings"):
        result = FORMS[question.form](Asking(question, ground, event))
    if not result.claims and question.form in SPOKEN and _unseen(question):
        result = heard(question, ground)
    return result


def _unseen(question: Question) -> bool:
    """Whether what is asked about is nothing that is known by sight: then it may have been spoken of."""
    return question.pattern is None or bool(question.pattern.unknown)


def _around(question: Question, ground: Ground) -> tuple[Event | None, Ground]:
    """The event that is asked around, and the ground with the time that it leaves."""
    around = question.around
    assert around is not None
    found = [match.event for match in ground.find(around.pattern)]
    if not found:
        return None, ground
    event = found[0]
    low, high = ground.filters.start_ms, ground.filters.end_ms
    if around.how == "before":
        return event, ground.within(end_ms=_least(event.start_ms, high))
    if around.how == "after":
        return event, ground.within(start_ms=_most(event.end_ms, low))
    return event, ground.within(start_ms=event.start_ms - DURING_MS, end_ms=event.end_ms + DURING_MS)


def _least(value: int, bound: int | None) -> int:
    return value if bound is None else min(value, bound)


def _most(value: int, bound: int | None) -> int:
    return value if bound is None else max(value, bound)


# --- answers --------------------------------------------------------------------------------------------------------------


def _with(question: Question, ground: Ground, result: Result) -> Answer:
    notes = []
    if result.counted:
        notes.append(f"counted: {result.counted}")
    gaps = _gaps(question, ground)
    if gaps and question.form in ("how_many", "how_often", "how_long", "present", "yes_no"):
        notes.append(f"as far as it was recorded: {gaps}")
    if not ground.complete:
        notes.append("there was more than could be read: the answer rests on a part of it")
    return _answer(ground, AnswerStatus.answered, "\n".join(c.text for c in result.claims), result.claims, RULES, notes)


def _nothing(question: Question, ground: Ground, text: str) -> Answer:
    cameras = ground.cameras_of(question.pattern.places) if question.pattern else None
    if not ground.covered(cameras).recorded:
        return _without(ground, AnswerStatus.not_recorded, NOT_RECORDED)
    gaps = _gaps(question, ground)
    return _without(ground, AnswerStatus.not_found, f"{text} As far as it was recorded: {gaps}." if gaps else text)


def _gaps(question: Question, ground: Ground) -> str:
    """Where in the asked time cameras asked about did not record."""
    if ground.filters.start_ms is None or ground.filters.end_ms is None:
        return ""
    cameras = ground.cameras_of(question.pattern.places) if question.pattern else None
    zones = {camera["_key"]: camera["tz"] for camera in ground.cameras}
    gaps = ground.covered(cameras).gaps
    told = [
        f"{camera} not from {wall(start, zones.get(camera, 'UTC'), date=False)} to {wall(end, zones.get(camera, 'UTC'), date=False)}"
        for camera, start, end in gaps
    ]
    return "; ".join(told[:4])


def _why(ground: Ground) -> Answer:
    claims = extract_claims(ground.evidence, ground.similarity)
    told = "Rules cannot answer why something happened."
    if not claims:
        return _without(ground, AnswerStatus.not_found, told)
    text = "\n".join([f"{told} These lines tell most about it:", *(claim.text for claim in claims)])
    return _answer(ground, AnswerStatus.unsupported, text, claims, EXTRACTIVE)


def _without(ground: Ground, status: AnswerStatus, text: str) -> Answer:
    return _answer(ground, status, text, (), RULES)


def _answer(
    ground: Ground, status: AnswerStatus, text: str, claims: tuple[Claim, ...], method: str, notes: Sequence[str] = ()
) -> Answer:
    cited = {citation.chunk for claim in claims for citation in claim.citations}
    shown = [ground.read[key] for key in ground.read if key in cited]
    evidence = replace(ground.evidence, chunks=_first(shown, ground.evidence.chunks))
    return Answer(ground.evidence.question, status, text, claims, method, evidence, tuple(notes))


def _first(shown: Sequence[EvidenceChunk], others: Sequence[EvidenceChunk]) -> tuple[EvidenceChunk, ...]:
    """The clips that the claims rest on, then what else was found."""
    ids = {chunk.id for chunk in shown}
    return (*shown, *(chunk for chunk in others if chunk.id not in ids))
