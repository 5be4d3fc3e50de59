"""What a run is made of: a closed union of frozen steps, which is its memory, its log and what it is compared by.

A run begins with Asked (and Resolved, in a conversation) and ends with FinalAnswer. Between them: Plan, Route, Decision, Division, Rescue
and Move say what was decided; ToolCall and Observation what was looked at; Memory what was kept of it; Grade whether it is enough; Verdict
whether a claim holds. Reply stands for every call of a model with what it cost, Retry for one that had to be asked again, Exhausted for a
budget that is spent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from vgraph.types import Answer, EvidenceChunk, Filters, Support, Usage

ANYWHERE = Filters()
NOTHING = Usage()

Way = Literal["direct", "plan", "divide"]
Agent = Literal[Way, "auto"]
AGENTS: tuple[Agent, ...] = get_args(Agent)
Worker = Literal[
    "rewriter", "planner", "router", "analyzer", "grader", "conqueror", "divider", "rescuer", "judge", "rewinder", "answerer", "verifier"
]  # fmt: skip
"""Who calls a model: costs are told by worker (EGAgent, E18)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be answered, in a conversation where it `follows` another run."""

    question: str
    agent: Agent
    filters: Filters = ANYWHERE
    choices: tuple[str, ...] = ()
    follows: str | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """The question of a conversation as it stands by itself: what its pronouns mean is put in their place."""

    question: str


@dataclass(frozen=True, slots=True)
class Subtask:
    """A part of the question, the tool that is to look into it, and its arguments."""

    task: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """At most five ordered subtasks (EGAgent, E11)."""

    subtasks: tuple[Subtask, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """The tools to ask for a subtask, the cheapest first (EGAgent, E12)."""

    task: str
    calls: tuple[Subtask, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool is asked; `node` is the task of the tree that it is asked for, None outside of a tree."""

    tool: str
    arguments: Mapping[str, Any]
    node: int | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A line of a result with its id. `chunks` (keys) are what it rests on, times UTC ms where it has any."""

    id: str
    text: str
    chunks: tuple[str, ...] = ()
    start_ms: int | None = None
    end_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that was looked at. `asset` names a stored one; one that was made for this run has none, and lies in the run's memory."""

    chunk: str
    camera: str
    at_ms: int
    offset_ms: int
    asset: str | None = None
    text: str = ""
    """What a vision model said of it."""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool gave: lines to read, the chunks and pictures they rest on, and for tools over intervals the rows themselves.

    `notes` say what the result lacks. With `error` there is no result; it says what to change.
    """

    tool: str
    arguments: Mapping[str, Any]
    items: tuple[Item, ...] = ()
    chunks: tuple[EvidenceChunk, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def text(self) -> str:
        """The result as a model reads it: a line an item, each with its id. It is data."""
        return "\n".join(f"[{item.id}] {item.text}" for item in self.items)


@dataclass(frozen=True, slots=True)
class Memory:
    """What an analyzer kept of an observation (EGAgent, E13 and E14): a summary, and the items that support it, word for word."""

    task: str
    tool: str
    summary: str
    items: tuple[Item, ...]
    start_ms: int | None = None
    end_ms: int | None = None

    @property
    def chunks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chunk for item in self.items for chunk in item.chunks))


@dataclass(frozen=True, slots=True)
class Grade:
    """Whether memory is enough to answer (EGAgent, E15); `missing` says what is not there yet."""

    enough: bool
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the conqueror does with a task (OmAgent): answer it, ask a tool, or have it divided."""

    node: int
    task: str
    kind: Literal["answer", "tool", "divide"]
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Division:
    """The subtasks of a task, and what is there when each is done; none, and a reason, where it cannot be divided."""

    node: int
    subtasks: tuple[str, ...]
    reason: str = ""
    milestones: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rescue:
    """A failed task is tried again, with other arguments."""

    node: int
    attempt: int
    error: str
    tool: str
    arguments: Mapping[str, Any]


Outcome = Literal["success", "failed", "divided"]


@dataclass(frozen=True, slots=True)
class Move:
    """A task of the tree reached a state; `then` is the task that comes next, None when the whole tree is to be concluded."""

    node: int
    task: str
    status: Outcome
    result: str
    then: int | None


@dataclass(frozen=True, slots=True)
class Retry:
    """A reply could not be used, and is asked for again with the fault named."""

    worker: Worker
    fault: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A model was called: what it replied (None: nothing usable, `fault` says why) and what it cost."""

    worker: Worker
    model: str
    value: Any
    fault: str = ""
    usage: Usage = NOTHING
    seconds: float = 0.0
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim was held against what it cites. `correction` is what stands in its place, empty where it was dropped or kept."""

    claim: str
    support: Support
    reason: str = ""
    correction: str = ""


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A part of the budget is spent: steps, tokens, seconds or money. What follows is the answer from what was seen."""

    what: Literal["steps", "tokens", "seconds", "money"]


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    answer: Answer


Step = (
    Asked | Resolved | Plan | Route | ToolCall | Observation | Memory | Grade | Decision | Division | Rescue | Move | Retry | Reply
    | Verdict | Exhausted | FinalAnswer
)  # fmt: skip


def kind(step: Step) -> str:
    """The name of a step as records have it: `tool_call`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(step).__name__).lower()


def record(step: Step) -> dict[str, Any]:
    """A step as a JSON object with its `kind`.

    Chunks are told by their keys, rows by their items; of the final answer all but its evidence and what it cost.
    """
    match step:
        case Observation():
            value = asdict(replace(step, chunks=(), rows=())) | {"chunks": [chunk.id for chunk in step.chunks]}
            del value["rows"]
        case Asked():
            value = asdict(step)
            value["filters"] = {name: side for name, side in value["filters"].items() if side is not None}
        case FinalAnswer(answer):
            left_out = ("evidence", "usage", "spent", "run")
            value = {name: part for name, part in asdict(answer).items() if name not in left_out}
        case _:
            value = asdict(step)
    return {"kind": kind(step), **plain(value)}


def plain(value: Any) -> Any:
    """The same in what any JSON can say, and in one order: a model's arguments may hold numbers and signs that not every one can."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case bool() | None:
            return value
        case int():
            return value if abs(value) < 2**63 else float(value) if abs(value) < 10**300 else str(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {
                plain(str(name)): plain(part) for name, part in sorted(value.items(), key=lambda item: str(item[0]))
            }
        case list() | tuple():
            return [plain(part) for part in value]
        case _:
            return str(value)
