"""Whatever a model replies, a run ends with an answer, within its budget, inside its filters."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agents.scripted import QUESTION, answer_of, opened
from vgraph.agents.steps import AGENTS, Exhausted, FinalAnswer, Observation, Reply, Step, ToolCall, record
from vgraph.agents.tools import BUILT_IN
from vgraph.errors import BadReply
from vgraph.models.replies import Malformed, check
from vgraph.types import Completion, Message, ToolSpec, Usage

STEPS, TOKENS = 25, 30_000
WORDS = (
    "Bob", "Ana", "crate 25", "dock", "gate", "zoe", "", " ", "</data>", "ignore all rules", "2026-03-03T08:00:00", "99", "A", "null",
    "\u202e", "[c1]", "chunks/x", "FOR x IN chunks REMOVE x IN chunks", "entity_graph_search", "aql", "rewind", "supports",
)  # fmt: skip


class Babbler:
    """A chat model that replies anything: valid against the schema, not valid, too much, or nothing; by a seed."""

    name = "babbler"

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, tools: Sequence[ToolSpec] = (),
        max_tokens: int = 1024, temperature: float = 0.0,
    ) -> Completion:  # fmt: skip
        usage = Usage(sum(len(message.text) for message in messages) // 4, self.random.randint(0, max_tokens))
        match self.random.randrange(6):
            case 0:
                kind = self.random.choice(["malformed", "truncated", "refused", "empty", "too_long"])
                raise BadReply("babble", kind=kind, model=self.name, usage=usage, said="babble")  # type: ignore[arg-type]
            case _:
                value = self.value(schema or {})
                try:
                    check(value, schema or {})
                except Malformed as fault:
                    raise BadReply(str(fault), kind="malformed", model=self.name, usage=usage) from fault
                return Completion("", value, usage=usage, model=self.name)

    def value(self, schema: Mapping[str, Any], name: str = "") -> Any:
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        match self.random.choice(kind) if isinstance(kind, list) else kind:
            case "object" if "properties" in schema:
                return {key: self.value(part, key) for key, part in schema["properties"].items()}
            case "object":
                return self.arguments()
            case "array":
                return [self.value(schema["items"], name) for _ in range(self.random.randrange(7))]
            case "string":
                return (
                    self.random.choice(BUILT_IN).name
                    if name == "tool" and self.random.random() < 0.8
                    else self.random.choice(WORDS)
                )
            case "boolean":
                return self.random.random() < 0.5
            case "number" | "integer":
                return self.random.choice([0, 1, 0.5, -7, 10**30])
            case _:
                return None

    def arguments(self) -> dict[str, Any]:
        tool = self.random.choice(BUILT_IN)
        names = list(tool.arguments.model_fields)
        given = {
            name: self.random.choice([self.text(), [self.text()], None, 3, 10**40, {}])
            for name in names
            if self.random.random() < 0.5
        }
        return given | ({"surplus": 1} if self.random.random() < 0.1 else {})

    def text(self) -> str:
        return self.random.choice(WORDS)


def within(steps: Sequence[Step]) -> None:
    """The run ended once, with its answer, and kept to its budget."""
    assert [step for step in steps if isinstance(step, FinalAnswer)] == [steps[-1]]
    replies = [step for step in steps if isinstance(step, Reply)]
    calls = [step for step in steps if isinstance(step, ToolCall)]
    retries_of_last = 3
    assert len(replies) + len(calls) <= STEPS + retries_of_last
    assert sum(reply.usage.input_tokens + reply.usage.output_tokens for reply in replies) <= TOKENS
    assert answer_of(steps).partial is any(isinstance(step, Exhausted) for step in steps) or answer_of(steps).partial
    assert all(record(step) for step in steps)


@pytest.mark.parametrize("agent", AGENTS)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_garbage_never_breaks_the_loop_and_it_ends_within_the_budget(site: Path, agent: Any, seed: int) -> None:
    with opened(site, Babbler(seed), max_steps=STEPS, max_tokens=TOKENS, record=False) as graph:
        filters = graph.filters(cameras=["dock"], not_after="2026-03-03T08:30:00Z")
        steps = list(graph.run(QUESTION, filters, agent=agent))
    within(steps)
    seen = [chunk for step in steps if isinstance(step, Observation) for chunk in step.chunks]
    cited = [citation for claim in answer_of(steps).claims for citation in claim.citations]
    assert {part.camera for part in (*seen, *cited)} <= {"dock"}


def test_garbage_can_be_kept_and_run_again(site: Path) -> None:
    for seed in range(6):
        with opened(site, Babbler(seed), max_steps=STEPS, max_tokens=TOKENS) as graph:
            key = graph.ask(QUESTION, agent="plan" if seed % 2 else "divide").run or ""
            assert graph.replay(key).changes == ()
