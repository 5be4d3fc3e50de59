"""Planning, routing and grading (EGAgent, E11, E12 and E15): what to look into, by which sense, and whether it is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vgraph.agents import showing
from vgraph.agents.steps import Grade, Plan, Route, Subtask
from vgraph.agents.working import Run, Unanswered
from vgraph.errors import UserError
from vgraph.prompts import quoted
from vgraph.retrieve.words import content_words

_TEXT: Final = {"type": "string"}
CALL: Final[Mapping[str, Any]] = {"tool": _TEXT, "arguments": {"type": "object"}}
SENSES: Final = ("entity_graph_search", "visual_search", "transcript_search")
"""The tools of the three senses: graph, sight and hearing."""
JUDGED_COST: Final = 9
MEMORY_TOKENS: Final = 3_000


def form(**properties: Any) -> dict[str, Any]:
    """A JSON Schema of an object that has all of these, and nothing else."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


PLANNED: Final = form(subtasks={"type": "array", "items": form(task=_TEXT, **CALL)})
ROUTED: Final = form(routes={"type": "array", "items": form(**CALL)}, reason=_TEXT)
GRADED: Final = form(enough={"type": "boolean"}, missing=_TEXT)


# --- the plan -----------------------------------------------------------------------------------------------------------


def plan(run: Run) -> tuple[Subtask, ...]:
    """The subtasks of a question, noted; none where no usable plan comes."""
    most = run.kit.options.subtasks
    try:
        value = run.ask(
            "planner", PLANNED, check=lambda found: _check_plan(run, found, most), most=most, timezone=run.zone,
            bounds=showing.bounds(run), tools=showing.tools(run.toolbox), question=quoted(run.question),
        )  # fmt: skip
    except Unanswered as fault:
        run.warnings.append(str(fault))
        return ()
    subtasks = tuple(Subtask(item["task"], item["tool"], item["arguments"]) for item in value["subtasks"])
    run.note(Plan(subtasks))
    return subtasks


def _check_plan(run: Run, value: Mapping[str, Any], most: int) -> None:
    """Raise UserError for a plan that cannot be followed: every fault, so that all are mended at once."""
    subtasks = value["subtasks"]
    if not 1 <= len(subtasks) <= most:
        raise UserError(f"{len(subtasks)} subtasks: there must be one to {most}")
    faults = [
        f"subtask {number}: {fault}" for number, item in enumerate(subtasks, 1) if (fault := call_fault(run, item))
    ]
    if faults:
        raise UserError("; ".join(faults))


def call_fault(run: Run, call: Mapping[str, Any]) -> str:
    """What is wrong with a call, in words for the model; empty where nothing is."""
    try:
        run.toolbox.tool(call["tool"]).checked(call["arguments"])
    except UserError as error:
        return str(error)
    return ""


# --- the route ----------------------------------------------------------------------------------------------------------


def route(run: Run, subtask: Subtask) -> tuple[Subtask, ...]:
    """The calls for a subtask, the cheapest first. What is planned for no sense is asked as it is planned."""
    if not run.toolbox.tool(subtask.tool).family or not run.kit.options.route:
        return (subtask,)
    senses = [name for name in SENSES if name in run.toolbox.names]
    try:
        value = run.ask(
            "router", ROUTED, check=lambda found: _check_routes(run, found, senses), timezone=run.zone,
            tools=showing.tools(run.toolbox, senses), task=quoted(f"{subtask.task}\nplanned: {subtask.tool} {dict(subtask.arguments)}"),
        )  # fmt: skip
    except Unanswered as fault:
        run.warnings.append(str(fault))
        return (subtask,)
    chosen = [Subtask(subtask.task, item["tool"], item["arguments"]) for item in value["routes"]] or [subtask]
    calls = tuple(sorted(chosen, key=lambda call: cost(run, call)))
    run.note(Route(subtask.task, calls, value["reason"]))
    return calls


def _check_routes(run: Run, value: Mapping[str, Any], senses: Sequence[str]) -> None:
    for item in value["routes"]:
        if item["tool"] not in senses:
            raise UserError(f"{item['tool']!r} is none of {', '.join(senses)}")
        if fault := call_fault(run, item):
            raise UserError(fault)


def cost(run: Run, call: Subtask) -> int:
    """How dear a call is; speech read by a model is the dearest."""
    if call.arguments.get("mode") == "judged":
        return JUDGED_COST
    return run.toolbox.tool(call.tool).cost


def fallbacks(run: Run, task: str) -> tuple[Subtask, ...]:
    """Searches for a task in its own words, the cheapest first: what is asked when everything planned found nothing."""
    phrases = keywords(task)
    calls = (
        Subtask(task, "clip_search", {"question": task[:500]}),
        Subtask(task, "visual_search", {"queries": phrases}),
        Subtask(task, "transcript_search", {"queries": phrases}),
    )
    return tuple(call for call in calls if call.tool in run.toolbox.names)


def keywords(text: str, most: int = 3) -> list[str]:
    """The words of a text that say most, in its order: names and numbers first, then the longest."""
    words = [word for raw in text.split() if (word := raw.strip(".,;:!?\"'()[]“”„«»"))]
    telling = list(dict.fromkeys(word for word in words if content_words(word)))
    ranked = sorted(telling, key=lambda word: (not (word[:1].isupper() or word[:1].isdigit()), -len(word)))[:most]
    return [word for word in telling if word in ranked] or [text[:300]]


# --- the grade ----------------------------------------------------------------------------------------------------------


def grade(run: Run) -> Grade:
    """Whether memory is enough, noted. Nothing is never enough, and no model is asked for that."""
    if not run.memory:
        made = Grade(False, "nothing was found yet")
    else:
        try:
            told = showing.memory(run.memory, MEMORY_TOKENS)
            value = run.ask("grader", GRADED, question=quoted(run.question), memory=told)
            made = Grade(value["enough"], value["missing"])
        except Unanswered as fault:
            run.warnings.append(str(fault))
            made = Grade(False, "the grader gave no usable reply")
    run.note(made)
    return made
