"""From a question to an answer by rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vgraph.agents.extractive import extract_claims
from vgraph.agents.rules import telling
from vgraph.agents.rules.choices import chosen
from vgraph.agents.rules.forms import FORMS, NOTHING, Asking, Result
from vgraph.agents.rules.spoken import about_speech, heard, said
from vgraph.agents.tools import Toolbox
from vgraph.retrieve.around import Found, beside, found_around
from vgraph.retrieve.events import Event
from vgraph.retrieve.ground import Ground
from vgraph.retrieve.matching import Pattern
from vgraph.retrieve.naming import Names
from vgraph.retrieve.pack import wall
from vgraph.retrieve.understanding import Question, read, wordless
from vgraph.retrieve.unread import is_english, unread
from vgraph.types import Answer, AnswerStatus, Claim, EvidenceChunk, Filters, Meant

RULES, EXTRACTIVE = "rules", "extractive"
SPOKEN = frozenset(["where", "when", "who", "what", "how_many"])
"""Forms that may be answered by what was said."""
NOT_FOUND = "Not found: nothing that was recorded answers this."
NOT_ENGLISH = "Not found: rules read English, and most words of this question are none that they know."
NO_DENIAL = "Not found: rules do not read what this question denies."
NOT_RECORDED = "Not recorded: no camera asked about covers that time."


def answer_by_rules(text: str, toolbox: Toolbox, filters: Filters, choices: Sequence[str] = ()) -> Answer:
    """The answer to a question; its first claim is the value, the others show what it rests on.

    Of `choices` the one that it supports is chosen; where it supports none, or several, nothing is answered.
    """
    sources = toolbox.scope.sources
    evidence, asked = sources.search(text, filters), sources.facts.timed(text, filters)
    cameras = sources.facts.cameras(filters)
    ground = Ground(sources.facts, asked, evidence, sources.similarity, sources.search, cameras)
    if wordless(text):
        return _without(ground, AnswerStatus.not_found, "Nothing was asked: the question has no word in it.")
    question = read(text, Names(ground.facts.known(text, asked)))
    answer = replace(_answered(question, ground), question=text)
    return _with_choice(answer, question, choices) if choices else answer


def _answered(question: Question, ground: Ground) -> Answer:
    if question.form == "why":
        return _understood(_why(ground), question, None)
    if question.denial == "unread" or (question.denial and question.form != "yes_no"):
        return _understood(_without(ground, AnswerStatus.not_found, NO_DENIAL), question, None)
    found: Found | None = None
    if question.around is not None:
        found = found_around(question.around, ground)
        if found is None:
            missing = f"Not found: nothing that was recorded tells that {question.around.text}."
            return _understood(_nothing(question, ground, missing), question, None)
        ground = replace(ground, filters=beside(ground.filters, found))
    result = _result(question, ground, found.event if found else None)
    answer = (
        _with(question, ground, result) if result.claims else _nothing(question, ground, _missing(question, result))
    )
    return _understood(answer, question, found)


def _missing(question: Question, result: Result) -> str:
    """Why nothing was found: what a form says, else what is asked about and is not known by any name."""
    wanted = question.pattern
    words = [a.text for a in wanted.unknown] if wanted else []
    if not result.why and wanted and wanted.asked and not wanted.asked.argument.mention:
        words.extend(wanted.asked.argument.words)
    known = f"Not found: nothing that was recorded is known as {telling.listed(words)}." if words else NOT_FOUND
    return result.why or _unread(question) or known


def _unread(question: Question) -> str:
    """What was not read of a question, where that is why nothing is answered."""
    if not is_english(question):
        return NOT_ENGLISH
    left = unread(question) if question.pattern is not None and question.form in FORMS else ()
    told = ", ".join(f"“{word}”" for word in left)
    return f"Not found: rules cannot check {told} in this question, and do not answer without it." if left else ""


def _understood(answer: Answer, question: Question, found: Found | None) -> Answer:
    """The answer with how the question was read."""
    read_ = answer.evidence.understood
    if read_ is None:
        return answer
    wanted = question.pattern
    meant = replace(
        read_,
        form=question.form,
        verb=wanted.verb if wanted else "",
        senses=tuple(sorted(wanted.senses)) if wanted else (),
        named=tuple(Meant(m.text, m.name, m.type, tuple(sorted(m.keys))) for m in question.mentions),
        unknown=tuple(a.text for a in wanted.unknown) if wanted else (),
        asked=_kind_asked(wanted),
        event=found.occurrence if found else read_.event,
    )
    return replace(answer, evidence=replace(answer.evidence, understood=meant))


def _kind_asked(wanted: Pattern | None) -> str:
    return "" if wanted is None or wanted.asked is None else wanted.asked.argument.text or wanted.asked.argument.kind


def _with_choice(answer: Answer, question: Question, choices: Sequence[str]) -> Answer:
    if answer.status is not AnswerStatus.answered or not answer.claims:
        return answer
    choice = chosen(choices, question.form, answer.claims[0].text)
    if choice is None:
        text = f"Not found: what was recorded supports none of the choices alone. {answer.text}"
        return replace(answer, status=AnswerStatus.not_found, text=text, claims=(), confidence=None)
    return replace(answer, choice=choice)


def _result(question: Question, ground: Ground, event: Event | None) -> Result:
    if about_speech(question):
        return said(question, ground)
    result = NOTHING
    if question.form in FORMS and (question.pattern is not None or question.form == "happenings"):
        result = FORMS[question.form](Asking(question, ground, event))
    if result.claims and unread(question):
        result = NOTHING
    if not result.claims and question.form in SPOKEN and _unseen(question):
        result = heard(question, ground)
    return result


def _unseen(question: Question) -> bool:
    """Whether what is asked about is nothing that is known by sight: then it may have been spoken of."""
    return question.pattern is None or bool(question.pattern.unknown)


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
    text = "\n".join(claim.text for claim in result.claims)
    answer = _answer(ground, AnswerStatus.answered, text, result.claims, RULES, notes)
    return replace(answer, confidence=round(result.sure, 2))


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
    assert ground.evidence is not None
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
    assert ground.evidence is not None
    cited = {citation.chunk for claim in claims for citation in claim.citations}
    shown = [ground.read[key] for key in ground.read if key in cited]
    evidence = replace(ground.evidence, chunks=_first(shown, ground.evidence.chunks))
    return Answer(ground.evidence.question, status, text, claims, method, evidence, tuple(notes))


def _first(shown: Sequence[EvidenceChunk], others: Sequence[EvidenceChunk]) -> tuple[EvidenceChunk, ...]:
    """The clips that the claims rest on, then what else was found."""
    ids = {chunk.id for chunk in shown}
    return (*shown, *(chunk for chunk in others if chunk.id not in ids))
