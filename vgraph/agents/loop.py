"""One loop for all agents: a generator of steps, whose last is the final answer.

direct   retrieve once, answer
plan     up to five subtasks, each routed to the cheapest sense that may tell, distilled, graded; ends as soon as it is enough (EGAgent)
divide   a tree of tasks, conquered, divided, rescued; concluded over the whole of it (OmAgent)
auto     by the question: direct, then plan where that leaves it open; divide for comparisons and accounts of many steps

Whatever way is taken, it is held to the budget: when that is spent, one last answer is given from what was seen, marked partial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from vgraph.agents.analyzer import analyze
from vgraph.agents.answer import chosen_by_words, without
from vgraph.agents.budget import OutOfBudget
from vgraph.agents.conclude import conclude
from vgraph.agents.divide import divide
from vgraph.agents.follow import Turn, standalone
from vgraph.agents.planner import cost, fallbacks, grade, plan, route
from vgraph.agents.rescue import NOTHING_FOUND, attempt, rescued
from vgraph.agents.steps import Asked, FinalAnswer, Resolved, Step, Subtask, Way
from vgraph.agents.verify import verified
from vgraph.agents.working import ByRules, Kit, Run
from vgraph.retrieve.profiles import WIDE
from vgraph.types import Answer, AnswerStatus, Usage

STEPWISE: Final = re.compile(
    r"\b(?:compare|comparison|difference between|differ(?:s|ed)? from|step by step|one after (?:the|an)other|every(?:thing|body|one)"
    r"|list (?:all|every)|all (?:the )?(?:people|persons|vehicles|things)|in (?:what|which) order)\b",
    re.IGNORECASE,
)
"""Questions that need an account of many steps: `auto` divides them."""


def run(asked: Asked, kit: Kit, turns: Sequence[Turn] = ()) -> Iterator[Step]:
    """The steps of a run, as they are made; `turns` are those of the conversation that it goes on with.

    Raises ModelError when a model is not there at all, StoreError when the database is not; whatever a model replies raises nothing.
    """
    work = Run(asked, kit)
    work.note(asked)
    for _ in _worked(work, turns):
        yield from work.news()
    yield from work.news()


def _worked(work: Run, turns: Sequence[Turn]) -> Iterator[None]:
    yield
    answer = yield from _answer_to(work, turns)
    work.note(FinalAnswer(answer))


def _answer_to(work: Run, turns: Sequence[Turn]) -> Generator[None, None, Answer]:
    try:
        _resolve(work, turns)
        yield
        if work.kit.chat is None:
            return (yield from _by_rules(work, work.kit.by_rules))
        work.first = work.kit.search(work.question, work.asked.filters)
        if not work.first.recorded:
            return _accounted(work, without(AnswerStatus.not_recorded, work.first, f"model:{work.kit.chat.name}"))
        for way in ways(work.asked):
            work.way = way
            yield from WAYS[way](work)
            answer = yield from _concluded(work)
            if answer.status is AnswerStatus.answered:
                break
        return answer
    except OutOfBudget as end:
        work.note(end.step)
        work.partial = True
    yield
    return (yield from _concluded(work))


def _resolve(work: Run, turns: Sequence[Turn]) -> None:
    question = standalone(work, turns)
    if question != work.question:
        work.asked = replace(work.asked, question=question)
        work.note(Resolved(question))


def _concluded(work: Run) -> Generator[None, None, Answer]:
    """The answer from what was seen, looked at again."""
    if work.first is None:  # the budget was spent before anything was looked at
        work.first = work.kit.search(work.question, work.asked.filters)
    answer = conclude(work)
    yield
    for looked in verified(work, answer):
        answer = looked or answer
        yield
    return _accounted(work, answer)


def _accounted(work: Run, answer: Answer) -> Answer:
    """The answer with what the run cost, and what went wrong on the way."""
    total, warnings = work.budget.total, dict.fromkeys([*answer.warnings, *work.warnings])
    usage = Usage(total.input_tokens, total.output_tokens)
    return replace(answer, usage=usage, spent=work.budget.spent, warnings=tuple(warnings))


def _by_rules(work: Run, by_rules: ByRules) -> Generator[None, None, Answer]:
    """Without a chat model the same tools are asked by rules."""
    answer = by_rules(work.question, work.toolbox.watched(work.note), work.asked.filters, work.asked.choices)
    yield
    if work.asked.choices and answer.choice is None and answer.status is AnswerStatus.answered:
        answer = replace(answer, choice=chosen_by_words(work.asked.choices, [claim.text for claim in answer.claims]))
    return replace(answer, question=work.question)


def ways(asked: Asked) -> tuple[Way, ...]:
    """The ways an agent takes, one after the other while the answer stays open; `auto` tries first what is cheap.

    It divides comparisons, and accounts of many steps; anything else is answered directly, and planned where that leaves it open.
    """
    if asked.agent != "auto":
        return (asked.agent,)
    return ("divide",) if STEPWISE.search(asked.question) or WIDE.search(asked.question) else ("direct", "plan")


# --- ways ---------------------------------------------------------------------------------------------------------------


def _direct(work: Run) -> Iterator[None]:
    """What retrieval found is all there is to it."""
    assert work.first is not None
    work.seen |= {chunk.id: chunk for chunk in work.first.chunks}
    yield


def _plan(work: Run) -> Iterator[None]:
    """Subtask by subtask until it is enough; then routes that were left, then the question's own words."""
    left: list[Subtask] = []
    for subtask in plan(work):
        yield
        calls = route(work, subtask)
        yield
        left += yield from _looked_into(work, calls)
        if grade(work).enough:
            return
        yield
    left.sort(key=lambda call: cost(work, call))
    yield from _on_until_enough(work, left)
    if not work.memory:
        yield from _on_until_enough(work, fallbacks(work, work.question))


def _looked_into(work: Run, calls: Sequence[Subtask]) -> Generator[None, None, Sequence[Subtask]]:
    """Ask from the cheapest on until one tells something; the calls that were not needed."""
    for number, call in enumerate(calls):
        kept, error = attempt(work, call)
        if kept is None and not error.startswith(NOTHING_FOUND):
            kept, _ = rescued(work, call, error)
        yield
        if kept is not None:
            return calls[number + 1 :]
    return ()


def _on_until_enough(work: Run, calls: Sequence[Subtask]) -> Iterator[None]:
    for call in calls:
        found = work.call(call.tool, call.arguments)
        yield
        if not found.error and analyze(work, call.task, found) is not None and grade(work).enough:
            return
        yield


def _divide(work: Run) -> Iterator[None]:
    yield from divide(work)
    if not work.memory:
        yield from _on_until_enough(work, fallbacks(work, work.question))


WAYS: Final[Mapping[Way, Callable[[Run], Iterator[None]]]] = {"direct": _direct, "plan": _plan, "divide": _divide}
