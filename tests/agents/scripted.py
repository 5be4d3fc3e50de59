"""What the tests of agents share: a site of two cameras, and a chat model scripted by worker."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import write_video
from vgraph import Settings, VGraph
from vgraph.agents.steps import FinalAnswer, Step, Worker, kind
from vgraph.errors import BadReply
from vgraph.models.offline import Reply, ScriptedChat
from vgraph.prompts import prompt
from vgraph.types import Answer, Message

DOCK = [
    {
        "start": 1, "end": 3, "text": "Ana hands crate 25 to Bob.",
        "entities": [{"name": "Ana", "type": "person"}, {"name": "Bob", "type": "person"}, {"name": "crate 25", "type": "object"}],
        "relations": [{"source": "Ana", "relation": "hands over", "target": "crate 25"}],
    },
    {"start": 5, "end": 7, "text": "A white van waits.", "entities": [{"name": "white van", "type": "vehicle"}]},
]  # fmt: skip
GATE = [
    {
        "start": 2, "end": 6, "text": "Bob leaves through the gate with crate 25.",
        "entities": [{"name": "Bob", "type": "person"}, {"name": "crate 25", "type": "object"}],
        "relations": [{"source": "Bob", "relation": "carries", "target": "crate 25"}],
    },
]  # fmt: skip
SPEECH = "WEBVTT\n\n00:00:03.000 --> 00:00:04.000\n<v Ana>The forklift is broken.\n"
START, LATER = "2026-03-03T08:00:00Z", "2026-03-03T09:00:00Z"
QUESTION = "Who took crate 25 from Ana?"


def settings_of(folder: Path, **agent: Any) -> Settings:
    return Settings.load(
        database={"url": f"embedded:{folder / 'graph.sqlite'}"}, media={"assets": folder / "assets", "window_s": 4},
        models={"detect": "none", "read": "none", "transcribe": "none", "chat": "none"}, agent=agent,
    )  # fmt: skip


def make_site(folder: Path) -> Path:
    """A graph of the cameras `dock` at eight and `gate` an hour later, eight seconds each."""
    for name, captions, start in (("dock", DOCK, START), ("gate", GATE, LATER)):
        video = write_video(folder / f"{name}.mp4", seconds=8, seed=len(name))
        video.with_suffix(".captions.jsonl").write_text("\n".join(json.dumps(caption) for caption in captions))
        video.with_suffix(".meta.json").write_text(json.dumps({"start": start}))
    (folder / "dock.vtt").write_text(SPEECH)
    with VGraph.open(settings_of(folder)) as graph:
        assert len(list(graph.ingest([folder / "dock.mp4", folder / "gate.mp4"]))) == 2
    return folder


@contextmanager
def opened(folder: Path, chat: Any = None, *, see: Any = None, **agent: Any) -> Iterator[VGraph]:
    """The site's graph, asked with a chat model; `see` describes pictures."""
    with VGraph.open(settings_of(folder, **agent)) as graph:
        graph.__dict__["models"] = dataclasses.replace(graph.models, chat=chat, caption=see)
        yield graph


# --- the model ----------------------------------------------------------------------------------------------------------

WORKERS: tuple[Worker, ...] = (
    "rewriter", "planner", "router", "analyzer", "grader", "conqueror", "divider", "rescuer", "judge", "answerer", "verifier"
)  # fmt: skip


def worker_of(messages: Sequence[Message]) -> str:
    """Whose prompt it is: the first line of each is its own."""
    first = messages[0].text.splitlines()[0]
    return next(worker for worker in WORKERS if _first_line(worker) in first)


def _first_line(worker: str) -> str:
    names = {name: f"${name}" for name in ("most", "timezone", "bounds", "tools", "question", "task", "sentences", "result", "memory",
             "pictures", "choice", "evidence", "depth", "why", "tree", "tried", "error", "claim", "turns")}  # fmt: skip
    return prompt(worker, **names).splitlines()[0].split("$")[0]


class Crew(ScriptedChat):
    """Replies by worker, one after the other, the last one again and again; a function of the prompt's text is called."""

    def __init__(self, **workers: Reply | Sequence[Reply] | Callable[[str], Reply]) -> None:
        self.asked: list[tuple[str, str]] = []
        self._left = {name: list(given) if isinstance(given, list) else [given] for name, given in workers.items()}
        super().__init__(self._reply)

    def _reply(self, messages: Sequence[Message]) -> Reply:
        worker = worker_of(messages)
        self.asked.append((worker, "\n".join(message.text for message in messages)))
        left = self._left.get(worker)
        if not left:
            raise BadReply(f"nobody wrote for the {worker}", kind="empty", stage="chat", model=self.name)
        reply = left.pop(0) if len(left) > 1 else left[0]
        return reply(self.asked[-1][1]) if callable(reply) else reply

    def prompts(self, worker: str) -> list[str]:
        return [text for name, text in self.asked if name == worker]


def plan(*subtasks: tuple[str, str, Mapping[str, Any]]) -> dict[str, Any]:
    return {"subtasks": [{"task": task, "tool": tool, "arguments": dict(given)} for task, tool, given in subtasks]}


def do(tool: str, **arguments: Any) -> dict[str, Any]:
    """A conqueror that asks a tool."""
    return {"kind": "tool", "text": "", "tool": tool, "arguments": arguments}


def enough(missing: str = "") -> dict[str, Any]:
    return {"enough": not missing, "missing": missing}


def supports(verdict: str = "supports", correction: str = "") -> dict[str, Any]:
    return {"verdict": verdict, "reason": "so it says", "correction": correction}


def ids_in(text: str) -> list[str]:
    """The ids that stand in square brackets before the lines of quoted data."""
    import re

    return re.findall(r"^\s*\[([\w-]+)\]", text, re.MULTILINE)


def keep_all(text: str) -> dict[str, Any]:
    """An analyzer that keeps every line."""
    ids = ids_in(text)
    return {"relevant": bool(ids), "summary": "Bob took crate 25.", "evidence": ids}


def cite_all(text: str) -> dict[str, Any]:
    """An answerer that claims one thing and cites every line it is shown."""
    ids = ids_in(text)
    stated = [{"text": "Bob took crate 25 from Ana.", "evidence": ids}] if ids else []
    return {"claims": stated, "choice": None, "confidence": 0.8}


def crew(**workers: Any) -> Crew:
    """Workers that do their work plainly; those given stand in their place."""
    usual: dict[str, Any] = {
        "planner": plan(("find who took it", "entity_graph_search", {"target": "crate 25"})),
        "router": {"routes": [], "reason": "as planned"},
        "analyzer": keep_all, "grader": enough(), "answerer": cite_all, "verifier": supports(),
        "rescuer": {"tool": "", "arguments": {}, "reason": "nothing can help"},
    }  # fmt: skip
    return Crew(**(usual | workers))


# --- what is compared ---------------------------------------------------------------------------------------------------


def kinds(steps: Sequence[Step], *, replies: bool = False) -> list[str]:
    """The names of the steps in order; calls of models are left out unless they are asked for."""
    return [kind(step) for step in steps if replies or kind(step) != "reply"]


def answer_of(steps: Sequence[Step]) -> Answer:
    last = steps[-1]
    assert isinstance(last, FinalAnswer)
    return last.answer
