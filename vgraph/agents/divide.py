"""Divide and conquer (OmAgent): a conqueror answers, asks a tool or has the task divided; a rescuer tries again what failed."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any, Final

from vgraph.agents import showing, tree
from vgraph.agents.planner import MEMORY_TOKENS, call_fault, form
from vgraph.agents.rescue import attempt, rescued
from vgraph.agents.steps import Decision, Division, Move, Outcome, Subtask
from vgraph.agents.tree import Task, Tree
from vgraph.agents.working import Run, Unanswered
from vgraph.errors import UserError
from vgraph.prompts import quoted

_TEXT: Final = {"type": "string"}
DECIDED: Final = form(
    kind={"type": "string", "enum": ["answer", "tool", "divide"]}, text=_TEXT, tool=_TEXT, arguments={"type": "object"}
)
DIVIDED: Final = {
    "type": "object",
    "properties": {
        "subtasks": {"type": "array", "items": _TEXT},
        "milestones": {"type": "array", "items": _TEXT},
        "reason": _TEXT,
    },
    "required": ["subtasks", "reason"],
    "additionalProperties": False,
}
DEEPEST: Final = " This task can not be divided any more."


def divide(run: Run) -> Iterator[None]:
    """Work through the tree until every task has ended; its outline is left for whoever concludes. Yields after each step."""
    at = tree.start(run.question, max_depth=run.kit.options.depth)
    while at.current is not None:
        task = at.task
        after = yield from _worked(run, at)
        ended = after.tasks[task.id]
        run.note(Move(task.id, task.text, _outcome(ended), ended.result, after.current))
        at = after
        run.outline = outline(at)
        yield


def _outcome(ended: Task) -> Outcome:
    if ended.divided:
        return "divided"
    return "success" if ended.status == "success" else "failed"


def _worked(run: Run, at: Tree) -> Generator[None, None, Tree]:
    """The tree after its current task was worked on."""
    try:
        decision = _decided(run, at)
    except Unanswered as fault:
        run.warnings.append(str(fault))
        return tree.give_up(tree.fail(at, str(fault)))
    yield
    match decision.kind:
        case "answer":
            return tree.succeed(at, decision.text)
        case "tool":
            return (yield from _asked(run, at, decision))
        case "divide":
            return _divided(run, at, decision.text)


def _asked(run: Run, at: Tree, decision: Decision) -> Generator[None, None, Tree]:
    call = Subtask(decision.task, decision.tool, decision.arguments)
    kept, error = attempt(run, call, node=decision.node)
    if kept is not None:
        return tree.succeed(at, kept.summary)
    at = tree.fail(at, error)
    yield
    kept, error = rescued(run, call, error, node=decision.node)
    return tree.rescue(at, kept.summary) if kept is not None else tree.give_up(at)


def _divided(run: Run, at: Tree, why: str) -> Tree:
    if at.task.depth >= at.max_depth:
        return tree.divide(at, ())
    division = _division(run, at, why)
    run.note(division)
    if not division.subtasks:
        return tree.give_up(tree.fail(at, division.reason or "it cannot be divided"))
    return tree.divide(at, division.subtasks, division.milestones)


def outline(at: Tree) -> str:
    """The whole tree, a line a task, indented by depth."""
    return "".join(
        f"{'  ' * task.depth}- task {task.id} ({task.status}): {task.text}{f' -> {task.result}' if task.result else ''}\n"
        for task in at.outline()
    )


# --- the conqueror ------------------------------------------------------------------------------------------------------


def _decided(run: Run, at: Tree) -> Decision:
    task = at.task
    value = run.ask(
        "conqueror", DECIDED, check=lambda found: _check_decision(run, found), timezone=run.zone, bounds=showing.bounds(run),
        depth=DEEPEST if task.depth >= at.max_depth else "", tools=showing.tools(run.toolbox), question=quoted(run.question),
        task=quoted(_told(task)), memory=showing.memory(run.memory, MEMORY_TOKENS, outline(at)),
    )  # fmt: skip
    kind = value["kind"]
    tool, arguments = (value["tool"], value["arguments"]) if kind == "tool" else ("", {})
    decision = Decision(task.id, task.text, kind, value["text"].strip() if kind != "tool" else "", tool, arguments)
    run.note(decision)
    return decision


def _told(task: Task) -> str:
    """A task, and what is there when it is done."""
    return f"{task.text}\ndone when: {task.milestone}" if task.milestone else task.text


def _check_decision(run: Run, value: Mapping[str, Any]) -> None:
    """Exactly one of answer, tool and divide, and what belongs to it."""
    match value["kind"]:
        case "tool":
            if fault := call_fault(run, value):
                raise UserError(fault)
        case kind:
            if value["tool"].strip():
                raise UserError(f"`kind` is {kind}, but a tool is named: do exactly one of the three")
            if not value["text"].strip():
                raise UserError(f"`kind` is {kind}: `text` must not be empty")


# --- the divider --------------------------------------------------------------------------------------------------------


def _division(run: Run, at: Tree, why: str) -> Division:
    """The subtasks of the current task with their milestones, and why; none where it cannot be divided."""
    try:
        value = run.ask(
            "divider", DIVIDED, check=lambda found: _check_division(run, at, found), most=run.kit.options.subtasks,
            question=quoted(run.question), task=quoted(at.task.text), why=quoted(why), tree=quoted(outline(at)),
        )  # fmt: skip
    except Unanswered as fault:
        run.warnings.append(str(fault))
        return Division(at.task.id, (), str(fault))
    subtasks = tuple(each.strip() for each in value["subtasks"])
    milestones = tuple(each.strip() for each in value.get("milestones", ()))[: len(subtasks)]
    return Division(at.task.id, subtasks, value["reason"].strip(), milestones)


def _check_division(run: Run, at: Tree, value: Mapping[str, Any]) -> None:
    """Raise UserError for subtasks that are too many, empty, alike, or in the tree already."""
    subtasks, most = [_same(each) for each in value["subtasks"]], run.kit.options.subtasks
    if len(subtasks) > most or len(subtasks) == 1:
        raise UserError(f"{len(subtasks)} subtasks: there must be two to {most}, or none")
    if not all(subtasks):
        raise UserError("a subtask is empty")
    known = {_same(task.text) for task in at.tasks}
    again = [each for number, each in enumerate(subtasks) if each in known or each in subtasks[:number]]
    if again:
        raise UserError(f"the task {again[0]!r} is there already: merge it with the other, or leave it out")


def _same(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".?! ")
