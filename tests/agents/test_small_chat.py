"""A real chat model of 135 million parameters answers questions: what it says is nonsense, and the loop survives it within budget.

Nothing is claimed of its answers. It sees the last so many tokens of a prompt, as servers with a small context show them; its replies
are short. VGRAPH_TEST_QUESTIONS says how many are asked (nine take about a minute; fifty were asked before a release).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models.conftest import Request, Response, Server, server, weights  # noqa: F401 - fixtures
from tests.models.test_small_chat import MODEL, SmolLM2
from vgraph.app import FinalAnswer, VGraph
from vgraph.evals.answering import world_asking
from vgraph.evals.cited import Clips
from vgraph.evals.day import Size
from vgraph.evals.questions import Question
from vgraph.models.endpoint import Endpoint
from vgraph.models.openai import OpenAIChat
from vgraph.settings import Settings
from vgraph.types import Filters

QUESTIONS = int(os.environ.get("VGRAPH_TEST_QUESTIONS", "9"))
CONTEXT, REPLY = 96, 12
"""Tokens it sees of a prompt, and tokens of its replies: a call takes about a second on one core."""
STEPS, SECONDS = 6, 120.0
AGENTS = ("direct", "plan", "divide")


class Shortsighted(SmolLM2):
    """The same model on a server with a small context."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        whole = self.tokenizer.apply_chat_template

        def last(*arguments: Any, **options: Any) -> Any:
            asked = whole(*arguments, **options)
            return {name: tensor[:, -CONTEXT:] for name, tensor in asked.items()}

        self.tokenizer.apply_chat_template = last

    def __call__(self, request: Request) -> Response:
        body = request.json
        if "response_format" not in body:
            body["max_tokens"] = min(body.get("max_tokens") or REPLY, REPLY)
        asked = Request(request.path, request.headers, json.dumps(body).encode())
        return super().__call__(asked)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[VGraph, tuple[Question, ...]]]:
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        limits = {"record": False, "max_steps": STEPS, "max_seconds": SECONDS, "max_tokens": 20_000}
        settings = Settings.load(agent=limits)
        asking = world_asking(settings, folder, Size(0.1, 4, QUESTIONS, 3), gated=False, report=lambda progress: None)
        with VGraph.open(asking.settings) as graph:
            yield graph, asking.questions


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch and transformers while they load
def test_the_loop_survives_every_question_within_its_budget(
    asked: tuple[VGraph, tuple[Question, ...]],
    server: Server,  # noqa: F811
    weights: Callable[[str], Path],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = Shortsighted(weights(f"smollm2/{MODEL}").parent)
    server.script = [model]
    graph, questions = asked
    graph.use_chat(OpenAIChat(Endpoint(base_url=server.url, timeout_s=300.0, retries=0), "smollm2"))
    clips, counts = Clips(graph), Counter[str]()
    assert len(questions) >= QUESTIONS * 0.9
    for number, question in enumerate(questions):
        agent = AGENTS[number % len(AGENTS)]
        steps = list(graph.run(question.text, Filters(), agent=agent))  # type: ignore[arg-type]
        final = steps[-1]
        assert isinstance(final, FinalAnswer)
        answer = final.answer
        calls = [step for step in steps if type(step).__name__ in ("Reply", "ToolCall")]
        assert len(calls) <= STEPS + 4, calls  # one last answer, which may be asked for again
        assert answer.usage.input_tokens + answer.usage.output_tokens <= 20_000
        assert (
            answer.text and [clips.fault(c) for claim in answer.claims for c in claim.citations if clips.fault(c)] == []
        )
        exhausted = any(type(step).__name__ == "Exhausted" for step in steps)
        assert answer.partial == exhausted or answer.warnings
        faults = sum(bool(getattr(step, "fault", "")) for step in steps)
        counts += Counter(
            {agent: 1, f"{agent}: {answer.status}": 1, "calls": len(calls), "faults": faults, "partial": answer.partial}
        )
    assert counts["faults"] > 0, "a model of this size makes mistakes: none were met"
    for name, count in sorted(counts.items()):
        record_property(name, count)
    print(dict(sorted(counts.items())))
