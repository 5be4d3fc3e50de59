"""One question being answered: what it may use and spend, what it has seen, and its steps as they come.

Workers (planner, analyzer, …) are functions of a Run: they ask the model and the tools through it, so that every call is counted, noted as
a step, and held to the budget and the filters.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vgraph.agents.budget import Budget, Limits
from vgraph.agents.steps import (
    NOTHING,
    Asked,
    Item,
    Memory,
    Observation,
    Picture,
    Reply,
    Retry,
    Step,
    ToolCall,
    Way,
    Worker,
    plain,
)
from vgraph.agents.tools import Toolbox
from vgraph.agents.tools.rewinder import Rewound
from vgraph.errors import BadReply, UserError
from vgraph.models import Captioner, ChatModel
from vgraph.models.meter import metered
from vgraph.models.tokens import tokens_in
from vgraph.prompts import plain as shown
from vgraph.prompts import prompt, quoted
from vgraph.types import Answer, Caption, Completion, Evidence, EvidenceChunk, Filters, Mark, Message, Segment, Usage

LONGEST_FAULT = 2_000
"""Characters of what is wrong with a reply: it may repeat what the reply says."""
IMAGE_TOKENS = 1_000
"""What a picture is expected to cost, for the budget."""
REPLY_TOKENS = 1_024
ANSWER_TOKENS = 2_048


@dataclass(frozen=True, slots=True)
class Options:
    """How agents work. subtasks: of a plan or division; depth: of the task tree; tries: of a rescuer, and of a reply that is not usable;
    verify: hold claims against what they cite; frames: pictures shown to whoever answers; evidence_tokens: text shown to them;
    route: let a model choose among the senses for a subtask.
    """

    subtasks: int = 5
    depth: int = 5
    tries: int = 3
    verify: bool = True
    frames: int = 50
    evidence_tokens: int = 6_000
    route: bool = True


ByRules = Callable[[str, Toolbox, Filters, Sequence[str]], Answer]
"""Answers a question with tools alone, without a language model."""


@dataclass(frozen=True, slots=True)
class Kit:
    """What a run works with. `chat` plans and answers; None: answers come `by_rules`. `see` is a chat model that is shown pictures."""

    toolbox: Toolbox
    search: Callable[[str, Filters], Evidence]
    chat: ChatModel | None
    by_rules: ByRules
    see: ChatModel | None = None
    picture: Callable[[str], bytes | None] = lambda asset: None
    limits: Limits = field(default_factory=Limits)
    options: Options = field(default_factory=Options)


class Unanswered(Exception):  # noqa: N818 - a turn in the run: what a worker does then is its own affair
    """A model gave no usable reply, however often it was asked."""


class Run:
    """The state of one run; all that anybody may know of it afterwards is in its steps."""

    def __init__(self, asked: Asked, kit: Kit, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.asked, self.kit = asked, kit
        reserve = Usage(kit.options.evidence_tokens + 1_000, ANSWER_TOKENS) if kit.chat else NOTHING
        self.budget = Budget(kit.limits, reserve=reserve, clock=clock)
        self.memory: list[Memory] = []
        self.seen: dict[str, EvidenceChunk] = {}
        self.items: dict[str, Item] = {}
        self.pictures: dict[tuple[str, int], tuple[Picture, bytes | None]] = {}
        self.first: Evidence | None = None
        """What retrieval finds for the question as it is; agents of tools take of it only what was recorded at all."""
        self.way: Way = "direct"
        self.partial = False
        self.warnings: list[str] = []
        self.outline = ""
        """What a task tree came to, for whoever concludes over it."""
        self._steps: list[Step] = []
        self._told = 0
        self._called: dict[tuple[str, str], int] = {}
        scope = kit.toolbox.scope
        rewinder = scope.rewinder and replace(
            scope.rewinder,
            keep=self._keep,
            describe=scope.rewinder.describe and _Counted(scope.rewinder.describe, self),
        )
        self.toolbox = kit.toolbox.inside(
            replace(scope, filters=asked.filters, judge=self._judge if kit.chat else None, rewinder=rewinder)
        )

    @property
    def question(self) -> str:
        return self.asked.question

    @property
    def zone(self) -> str:
        """The zone times are told in."""
        return self.toolbox.scope.sources.zone(self.asked.filters)

    # --- steps ------------------------------------------------------------------------------------------------------------

    def note(self, step: Step) -> None:
        self._steps.append(step)

    def news(self) -> Iterator[Step]:
        """The steps that were not told yet."""
        while self._told < len(self._steps):
            self._told += 1
            yield self._steps[self._told - 1]

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps)

    # --- models -----------------------------------------------------------------------------------------------------------

    def ask(
        self, worker: Worker, schema: Mapping[str, Any], /, *, check: Callable[[Any], None] = lambda value: None,
        model: ChatModel | None = None, images: Sequence[bytes] = (), max_tokens: int = REPLY_TOKENS, last: bool = False, **values: object,
    ) -> Any:  # fmt: skip
        """The value of a model's reply to the prompt named like the worker, valid against the schema and passed by `check`.

        A reply that is not is asked for again with the fault named. Raises Unanswered when that does not help, OutOfBudget when there is
        no room for a call, ModelError when the model is not there. `check` raises UserError.
        """
        asked = Message("user", prompt(worker, **values), images=tuple(images))
        messages, fault = [asked], ""
        for _ in range(max(1, self.kit.options.tries)):
            if fault:
                self.note(Retry(worker, fault))
            reply, said = self._complete(worker, model or self._chat, messages, schema, max_tokens, last)
            fault = reply.fault
            if not fault:
                fault = _fault(check, reply.value)
                if not fault:
                    return reply.value
            again = Message("user", prompt("again", fault=shown(fault)[:LONGEST_FAULT]))
            messages = [asked, *([Message("assistant", said)] if said else []), again]
        raise Unanswered(f"the {worker}'s model gave no usable reply: {fault}")

    @property
    def _chat(self) -> ChatModel:
        assert self.kit.chat is not None
        return self.kit.chat

    def _complete(
        self, worker: Worker, model: ChatModel, messages: Sequence[Message], schema: Mapping[str, Any], max_tokens: int, last: bool
    ) -> tuple[Reply, str]:  # fmt: skip
        """A reply with its cost, and its text."""
        pictures = sum(len(message.images) for message in messages)
        size = sum(tokens_in(message.text) for message in messages) + pictures * IMAGE_TOKENS
        self.budget.take(Usage(size, max_tokens), last=last)
        begun = time.perf_counter()
        try:
            done = model.complete(messages, schema=schema, max_tokens=max_tokens)
        except BadReply as error:
            done, fault = Completion("", usage=error.usage or NOTHING, model=error.model), str(error)
            said = error.said
        else:  # as it will be read from the graph, should the run be run again
            done = replace(done, value=plain(done.value))
            fault, said = "", done.text or json.dumps(done.value)
        seconds = time.perf_counter() - begun
        reply = self.budget.paid(Reply(worker, model.name, done.value, fault, done.usage, seconds))
        self.note(reply)
        return reply, said

    def spend(self, worker: Worker, name: str, value: Any, usage: Usage, seconds: float) -> None:
        """Count and note a call that was made outside of `ask`."""
        self.note(self.budget.paid(Reply(worker, name, value, "", usage, seconds)))

    def _judge(self, question: str, items: Sequence[Item]) -> Sequence[str]:
        """The ids of what bears on a question; of a page nobody can judge, all: a later look is cheaper than a loss."""
        ids = [item.id for item in items]
        text = "\n".join(f"[{item.id}] {item.text}" for item in items)
        try:
            value = self.ask("judge", JUDGED, question=quoted(question), evidence=quoted(text))
        except Unanswered:
            return ids
        named = {bare(each) for each in value["relevant"]}
        return [each for each in ids if each in named]

    # --- tools ------------------------------------------------------------------------------------------------------------

    def call(self, tool: str, arguments: Mapping[str, Any], *, node: int | None = None) -> Observation:
        """What a tool finds, within the filters of the run; a call that was made before is told so, and not made again."""
        self.budget.take()
        self.note(ToolCall(tool, dict(arguments), node))
        mark = (tool, json.dumps(arguments, sort_keys=True, default=str))
        if mark in self._called:
            observation = Observation(tool, dict(arguments), error=REPEATED)
        else:
            observation = self._named(self.toolbox.call(tool, arguments, self.asked.filters))
        self._called[mark] = self._called.get(mark, 0) + 1
        self.note(observation)
        self._remember(observation)
        return observation

    def _named(self, observation: Observation) -> Observation:
        """Lines that are no chunks get ids of their own in this run: `o3r1` is the first row of the third call."""
        number = len(self._called) + 1
        items = tuple(
            item if item.id in item.chunks else replace(item, id=f"o{number}{item.id}") for item in observation.items
        )
        return replace(observation, items=items)

    def _remember(self, observation: Observation) -> None:
        self.seen |= {chunk.id: chunk for chunk in observation.chunks}
        self.items |= {item.id: item for item in observation.items}
        for picture in observation.pictures:
            self.pictures.setdefault((picture.chunk, picture.offset_ms), (picture, None))

    def _keep(self, picture: Rewound) -> None:
        told = Picture(picture.chunk.id, picture.chunk.camera, picture.at_ms, picture.offset_ms, None, picture.text)
        self.pictures[picture.chunk.id, picture.offset_ms] = (told, picture.image)


REPEATED = "this was asked before, with the same arguments: its result is in memory; ask something else"
JUDGED: Mapping[str, Any] = {
    "type": "object",
    "properties": {"relevant": {"type": "array", "items": {"type": "string"}}},
    "required": ["relevant"],
    "additionalProperties": False,
}


class _Counted:
    """A captioner whose calls are held to the run's budget and noted."""

    def __init__(self, captioner: Captioner, run: Run) -> None:
        self.name, self._captioner, self._run = captioner.name, captioner, run

    def caption(
        self, segment: Segment, frames: Sequence[tuple[int, bytes]], transcript: str, marks: Sequence[Mark] = ()
    ) -> tuple[Caption, ...]:
        self._run.budget.take(Usage(IMAGE_TOKENS * len(frames) + REPLY_TOKENS, REPLY_TOKENS))
        begun = time.perf_counter()
        with metered() as meter:
            captions = self._captioner.caption(segment, frames, transcript, marks)
        told = [caption.text for caption in captions]
        self._run.spend("rewinder", self.name, told, meter.usage, time.perf_counter() - begun)
        return captions


def bare(identifier: str) -> str:
    """An id as results give it, however a model wrote it."""
    return identifier.strip().strip("[]").removeprefix("chunks/")


def _fault(check: Callable[[Any], None], value: Any) -> str:
    try:
        check(value)
    except UserError as error:
        return str(error)
    return ""
