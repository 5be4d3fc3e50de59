"""How well questions are answered: right, wrong or abstained, what the answers cite, what they cost, and what they should not have seen.

An answer is judged by what is known of the truth (evals/metrics.py), never by a model. Each outcome is written down as it is there, so that
an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import orjson

from vgraph.app import Agent, FinalAnswer, Step, VGraph
from vgraph.errors import Stopped, UserError, VGraphError
from vgraph.evals.cited import Clips, later
from vgraph.evals.metrics import (
    Span,
    answer_matches,
    best_iou,
    choice_of,
    citation_precision,
    located,
    wrong_camera_rate,
)
from vgraph.evals.questions import LETTERS, Question
from vgraph.types import Answer, AnswerStatus, Filters, Progress

Verdict = Literal["right", "wrong", "abstained", "unjudged", "failed"]

SWITCHES: Mapping[str, Mapping[str, Any]] = {
    "vectors": {"vector_weight": 0.0},
    "words": {"text_weight": 0.0},
    "hops": {"hops": 0},
    "stitching": {"neighbours": 0},
    "graph": {"hops": 0, "neighbours": 0, "clip_hops": 0, "profile": "chunks"},
    "spatial": {"clip_edges": ("NEXT_CHUNK",)},
    "temporal": {"clip_edges": ("SIMILAR_TO",)},
    "rerank": {"rerank": 0},
    "mmr": {"mmr": None},
}
"""What can be switched off of retrieval, and the settings that do it."""

AGENT_SWITCHES = ("verify", "route")
"""What can be switched off of an agent: settings of that name."""


@dataclass(frozen=True, slots=True)
class Way:
    """How questions are asked: `how` chooses among the settings of retrieval, `agent` is how a model goes about it, as in `VGraph.ask`."""

    how: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    agent: Agent | None = None

    @property
    def chosen(self) -> dict[str, Any]:
        unknown = [part for part in self.without if part not in (*SWITCHES, *AGENT_SWITCHES)]
        if unknown:
            known = ", ".join((*SWITCHES, *AGENT_SWITCHES))
            raise UserError(f"nothing is called {', '.join(unknown)} to be without; there are: {known}")
        off = {name: value for part in self.without for name, value in SWITCHES.get(part, {}).items()}
        return {**self.how, **off}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, asked. `cited` is the number of citations; `precision`, `iou` and `wrong_camera` are of them, None where nothing is
    known of the true moments, or nothing is cited. `lost` are citations that lead nowhere, `future` what is from after the question.
    """

    id: str
    digest: str
    kind: str
    answerable: bool
    verdict: Verdict
    status: str
    method: str
    text: str
    cited: int = 0
    precision: float | None = None
    iou: float | None = None
    located: bool | None = None
    wrong_camera: float | None = None
    lost: tuple[str, ...] = ()
    future: tuple[str, ...] = ()
    gated: bool = False
    exact: bool = False
    """Whether the status is the true one: not recorded differs from not found."""
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    partial: bool = False
    """Whether the budget was spent before the work was done."""
    error: str = ""


def ask_all(
    graph: VGraph,
    questions: Sequence[Question],
    way: Way,
    *,
    kept: Path | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Iterator[Outcome]:
    """The outcomes in order of the questions; those that stand in the file `kept` are not asked again.

    A question whose answer fails counts as failed; when nothing but failures comes, the error is raised.
    """
    known = _known(kept) if kept else {}
    clips, failed = Clips(graph), 0
    for number, question in enumerate(questions):
        report(Progress("questions", "ask", number, len(questions), "questions"))
        outcome = known.get((question.id, digest(question)))
        if outcome is None:
            outcome, error = _asked(graph, question, way, clips)
            failed = failed + 1 if error else -len(questions)
            if error and failed >= MOST_FAILURES:
                raise error
            if kept and not error:
                _keep(kept, outcome)
        yield outcome


MOST_FAILURES = 5
"""When so many questions have failed and none has been answered, something is wrong with more than the questions."""


def digest(question: Question) -> str:
    """What tells a question from one of the same id that asks something else."""
    return blake2b(repr(question).encode(), digest_size=8).hexdigest()


def _known(file: Path) -> dict[tuple[str, str], Outcome]:
    """Outcomes of an earlier run; a line that was cut short is passed over."""
    found = {}
    for line in file.read_bytes().split(b"\n") if file.exists() else ():
        try:
            value = orjson.loads(line)
            outcome = Outcome(**value | {"lost": tuple(value["lost"]), "future": tuple(value["future"])})
        except (orjson.JSONDecodeError, TypeError, KeyError):
            continue
        found[outcome.id, outcome.digest] = outcome
    return found


def _keep(file: Path, outcome: Outcome) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    cut = file.exists() and not file.read_bytes().endswith(b"\n")
    with file.open("ab") as out:
        out.write((b"\n" if cut else b"") + orjson.dumps(asdict(outcome), option=orjson.OPT_APPEND_NEWLINE))


# --- one question ----------------------------------------------------------------------------------------------------------


def _asked(graph: VGraph, question: Question, way: Way, clips: Clips) -> tuple[Outcome, VGraphError | None]:
    begun = time.perf_counter()
    try:
        steps = list(
            graph.run(question.text, _filters(graph, question), agent=way.agent, choices=question.choices, **way.chosen)
        )
    except Stopped:
        raise
    except VGraphError as error:
        return _failed(question, error, time.perf_counter() - begun), error
    final = steps[-1]
    assert isinstance(final, FinalAnswer)
    return judged(question, final.answer, clips, time.perf_counter() - begun, steps), None


def _filters(graph: VGraph, question: Question) -> Filters:
    cameras = None if question.cameras is None else tuple(graph.camera_key(name) for name in question.cameras)
    return Filters(cameras=cameras, not_after=question.asked_ms)


def _failed(question: Question, error: VGraphError, seconds: float) -> Outcome:
    answerable = question.status is AnswerStatus.answered
    return Outcome(
        question.id, digest(question), question.kind, answerable, "failed", "", "", "",
        seconds=seconds, error=f"{type(error).__name__}: {error}",
    )  # fmt: skip


def judged(
    question: Question, answer: Answer, clips: Clips, seconds: float = 0.0, steps: Sequence[Step] = ()
) -> Outcome:
    """An answer, and the steps that led to it, against what is known of the truth."""
    citations = [citation for claim in answer.claims for citation in claim.citations]
    cited = [Span(c.camera_label, c.start_ms, max(c.end_ms, c.start_ms + 1)) for c in citations]
    true = question.moments if cited else ()
    return Outcome(
        id=question.id,
        digest=digest(question),
        kind=question.kind,
        answerable=question.status is AnswerStatus.answered,
        verdict=verdict(question, answer),
        status=str(answer.status),
        method=answer.method,
        text=answer.text,
        cited=len(cited),
        precision=citation_precision(cited, true) if true else None,
        iou=best_iou(cited, true) if true else None,
        located=located(cited, true) if true else None,
        wrong_camera=wrong_camera_rate(cited, true) if true else None,
        lost=tuple(fault for citation in citations if (fault := clips.fault(citation))),
        future=() if question.asked_ms is None else later(answer, question.asked_ms, clips, steps),
        gated=question.asked_ms is not None,
        exact=answer.status is question.status,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        money=sum(spent.money for spent in answer.spent.values()),
        seconds=seconds,
        steps=len(steps),
        partial=answer.partial,
    )


def verdict(question: Question, answer: Answer) -> Verdict:
    """To abstain is right where there is no answer; an answer there is wrong whatever it says."""
    answered = answer.status is AnswerStatus.answered
    if question.status is not AnswerStatus.answered:
        return "wrong" if answered else "right"
    if not answered:
        return "abstained"
    if not question.judged:
        return "unjudged"
    return "right" if _right(question, answer) else "wrong"


def _right(question: Question, answer: Answer) -> bool:
    text = statement(answer)
    if question.right is None:
        return question.expected is not None and answer_matches(text, question.expected)
    if answer.choice is not None:
        return answer.choice == LETTERS[question.right]
    return choice_of(text, question.choices) == question.right


def statement(answer: Answer) -> str:
    """What is said, without the camera's name before each line that is quoted: it tells who saw it, not what was seen."""
    text = answer.text
    for label in {citation.camera_label for claim in answer.claims for citation in claim.citations}:
        text = text.replace(f", {label}: ", ", ")
    return text
