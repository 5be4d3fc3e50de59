"""A call that failed is tried in other ways (OmAgent's rescuer), a limited number of times; what the way out finds is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vgraph.agents import showing
from vgraph.agents.analyzer import analyze
from vgraph.agents.planner import CALL, call_fault, form
from vgraph.agents.steps import Memory, Rescue, Subtask
from vgraph.agents.working import Run, Unanswered
from vgraph.errors import UserError
from vgraph.prompts import quoted

RESCUED: Final = form(**CALL, reason={"type": "string"})
NOTHING_FOUND: Final = "nothing that bears on the task was found"


def attempt(run: Run, call: Subtask, *, node: int | None = None) -> tuple[Memory | None, str]:
    """What a call gave for memory, or why it gave nothing: its error, or that nothing bears on the task."""
    found = run.call(call.tool, call.arguments, node=node)
    if found.error:
        return None, found.error
    kept = analyze(run, call.task, found)
    return kept, "" if kept else "; ".join([NOTHING_FOUND, *found.notes])


def rescued(run: Run, call: Subtask, error: str, *, node: int = 0) -> tuple[Memory | None, str]:
    """What other calls found instead, tried up to `tries` times; or the last error."""
    tried = [f"{call.tool} {dict(call.arguments)}: {error}"]
    for number in range(1, run.kit.options.tries + 1):
        other = _other(run, call.task, tried, error)
        if other is None:
            break
        run.note(Rescue(node, number, error, other.tool, other.arguments))
        kept, error = attempt(run, other, node=node)
        if kept is not None:
            return kept, ""
        tried.append(f"{other.tool} {dict(other.arguments)}: {error}")
    return None, error


def _other(run: Run, task: str, tried: list[str], error: str) -> Subtask | None:
    """Another call for the task; None where the model sees none."""
    try:
        value = run.ask(
            "rescuer", RESCUED, check=lambda found: _check(run, found), timezone=run.zone, bounds=showing.bounds(run),
            tools=showing.tools(run.toolbox), task=quoted(task), tried=quoted("\n".join(tried)), error=quoted(error),
        )  # fmt: skip
    except Unanswered as fault:
        run.warnings.append(str(fault))
        return None
    return Subtask(task, value["tool"], value["arguments"]) if value["tool"].strip() else None


def _check(run: Run, value: Mapping[str, Any]) -> None:
    if value["tool"].strip() and (fault := call_fault(run, value)):
        raise UserError(fault)
