"""Runs as they are kept in the graph, told as turns of a conversation, run again, and compared.

A run is run again with the replies its models gave (they are part of its steps), in their order, and with the tools asked anew: so what
differs is what the graph, the rules or the code have become. Costs and times are not compared.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from difflib import SequenceMatcher
from typing import Any, Final, Literal

from vgraph.agents.follow import Turn
from vgraph.agents.steps import Asked, FinalAnswer, Observation, Step, record
from vgraph.agents.working import Kit
from vgraph.errors import BadReply
from vgraph.types import (
    Answer,
    Caption,
    Completion,
    EvidenceEntity,
    Filters,
    Mark,
    Message,
    Segment,
    Spent,
    ToolSpec,
    Usage,
)

LONGEST_ITEM: Final = 1_000
"""Characters of a line of a result that are kept in the graph."""
NOT_COMPARED: Final = frozenset(["seconds", "money", "usage", "spent"])


# --- kept ---------------------------------------------------------------------------------------------------------------


def kept(key: str, steps: Sequence[Step], asked_ms: int, seconds: float, models: Mapping[str, str]) -> dict[str, Any]:
    """The record of a run for the collection `answers`. `models` says what served which need."""
    asked, answer = _asked(steps), _answer(steps)
    total = sum(answer.spent.values(), Spent())
    told = {name: value for name, value in record(FinalAnswer(answer)).items() if name != "kind"}
    return {
        "_key": key, "agent": asked.agent, "said": asked.question, "choices": list(asked.choices), "filters": _filters(asked.filters),
        "follows": asked.follows, "asked_ms": asked_ms, "seconds": round(seconds, 3), "tokens": total.input_tokens + total.output_tokens,
        "money": total.money, "cost": {worker: asdict(spent) for worker, spent in answer.spent.items()}, "models": dict(models),
        "entities": [[entity.id, entity.name, entity.type] for entity in named(answer)],
        "zones": sorted({chunk.tz for chunk in answer.evidence.chunks}), "steps": [record(_short(step)) for step in steps], **told,
    }  # fmt: skip


def citations(key: str, answer: Answer) -> list[dict[str, Any]]:
    """CITES edges of a run: an edge for each claim and chunk, with the claim, its number and what looking again said of it."""
    edges: dict[str, dict[str, Any]] = {}
    for number, claim in enumerate(answer.claims):
        for cited in claim.citations:
            mark = hashlib.blake2b(f"{key} {number} {cited.chunk}".encode(), digest_size=12).hexdigest()
            edges[mark] = {
                "_key": mark, "_from": f"answers/{key}", "_to": f"chunks/{cited.chunk}", "claim": number, "text": claim.text,
                "verdict": claim.support, "quote": cited.quote, "document": cited.document, "camera": cited.camera,
                "start_ms": cited.start_ms, "end_ms": cited.end_ms,
            }  # fmt: skip
    return list(edges.values())


def named(answer: Answer) -> list[EvidenceEntity]:
    """Entities that the question or its answer names, the one named last first."""
    text = f"{answer.question} {answer.text}".casefold()
    places = {entity: text.rfind(entity.name.casefold()) for entity in answer.evidence.entities if entity.name.strip()}
    return sorted(
        (entity for entity, place in places.items() if place >= 0), key=lambda entity: (-places[entity], entity.id)
    )


def _short(step: Step) -> Step:
    """A step without what only a run under way needs: long lines are cut."""
    if not isinstance(step, Observation):
        return step
    return replace(step, items=tuple(replace(item, text=item.text[:LONGEST_ITEM]) for item in step.items))


def _filters(filters: Filters) -> dict[str, Any]:
    """The sides that are set."""
    return {name: value for name, value in asdict(filters).items() if value is not None}


def _asked(steps: Sequence[Step]) -> Asked:
    return next(step for step in steps if isinstance(step, Asked))


def _answer(steps: Sequence[Step]) -> Answer:
    return next(step.answer for step in reversed(steps) if isinstance(step, FinalAnswer))


# --- told again ---------------------------------------------------------------------------------------------------------


def turn(kept_run: Mapping[str, Any]) -> Turn:
    """A run as a turn of a conversation."""
    cited = [citation for claim in kept_run["claims"] for citation in claim["citations"]]
    known = [citation for citation in cited if citation["clock_known"]]
    return Turn(
        kept_run["question"],
        kept_run["text"],
        tuple((name, kind) for _, name, kind in kept_run["entities"]),
        cited[0]["camera_label"] if cited else "",
        min((citation["start_ms"] for citation in known), default=None),
        max((citation["end_ms"] for citation in known), default=None),
        kept_run["zones"][0] if len(kept_run["zones"]) == 1 else "UTC",
    )


def asked_again(kept_run: Mapping[str, Any]) -> Asked:
    """What was asked, to be asked again."""
    sides = {field.name for field in fields(Filters)}
    given: dict[str, Any] = {name: _tupled(value) for name, value in kept_run["filters"].items() if name in sides}
    return Asked(kept_run["said"], kept_run["agent"], Filters(**given), tuple(kept_run["choices"]), kept_run["follows"])


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class Recording:
    """What the models of a run replied, to be said again in the same order; what is asked beyond it gets no usable reply."""

    def __init__(self, kept_run: Mapping[str, Any]) -> None:
        self.replies = deque(step for step in kept_run["steps"] if step["kind"] == "reply")
        self.models = {step["worker"]: step["model"] for step in self.replies}

    @property
    def chatted(self) -> bool:
        """Whether a chat model worked on the run at all."""
        return any(worker != "rewinder" for worker in self.models)

    def next(self) -> Mapping[str, Any]:
        if not self.replies:
            raise BadReply("the recorded run asked no more than this", kind="empty", stage="replay")
        reply: Mapping[str, Any] = self.replies.popleft()
        return reply

    def kit(self, kit: Kit) -> Kit:
        """The kit with the recorded models in the place of its own."""
        scope = kit.toolbox.scope
        seer = RecordedCaptioner(self) if "rewinder" in self.models else None
        rewinder = scope.rewinder and replace(scope.rewinder, describe=seer)
        chat = RecordedChat(self) if self.chatted else None
        toolbox = kit.toolbox.inside(replace(scope, rewinder=rewinder))
        return replace(kit, toolbox=toolbox, chat=chat, see=None, limits=replace(kit.limits, seconds=None))


class RecordedChat:
    """A chat model that says what a run's models said."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.name = next((model for worker, model in recording.models.items() if worker != "rewinder"), "recorded")

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, tools: Sequence[ToolSpec] = (),
        max_tokens: int = 1024, temperature: float = 0.0,
    ) -> Completion:  # fmt: skip
        reply = self._recording.next()
        usage = Usage(**reply["usage"])
        if reply["fault"]:
            raise BadReply(reply["fault"], kind="malformed", stage="replay", model=self.name, usage=usage)
        return Completion("", reply["value"], usage=usage, model=self.name)


class RecordedCaptioner:
    """A captioner that says what a run's captioner said."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.name = recording.models["rewinder"]

    def caption(
        self, segment: Segment, frames: Sequence[tuple[int, bytes]], transcript: str, marks: Sequence[Mark] = ()
    ) -> tuple[Caption, ...]:
        told = self._recording.next()["value"] or []
        return tuple(Caption(segment.offset_ms, segment.end_offset_ms, text, self.name) for text in told)


# --- compared -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """Steps that one run has and the other has not, or has otherwise: `at` is the number of the first in either run, from 1."""

    kind: Literal["only in the first", "only in the second", "differs"]
    at: tuple[int, int]
    first: tuple[Mapping[str, Any], ...]
    second: tuple[Mapping[str, Any], ...]


def difference(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> tuple[Change, ...]:
    """What differs between the steps of two runs; nothing where they did and found the same."""
    left, right = ([comparable(step) for step in steps] for steps in (first, second))
    return tuple(_changes(left, right))


def _changes(left: Sequence[Mapping[str, Any]], right: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    texts = [[json.dumps(step, sort_keys=True) for step in side] for side in (left, right)]
    for tag, a, b, c, d in SequenceMatcher(None, texts[0], texts[1], autojunk=False).get_opcodes():
        match tag:
            case "delete":
                yield Change("only in the first", (a + 1, c + 1), tuple(left[a:b]), ())
            case "insert":
                yield Change("only in the second", (a + 1, c + 1), (), tuple(right[c:d]))
            case "replace":
                yield Change("differs", (a + 1, c + 1), tuple(left[a:b]), tuple(right[c:d]))


def comparable(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step's record without what no two runs have in common: costs and times of working."""
    return {name: value for name, value in step.items() if name not in NOT_COMPARED}
