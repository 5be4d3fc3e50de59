"""Question answering measured from end to end: a world or a local copy of published questions, ingested, asked and summed up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from vgraph import __version__
from vgraph.app import VGraph
from vgraph.evals.cited import Clips
from vgraph.evals.datasets import read_dataset, staged
from vgraph.evals.day import Size, ready_day
from vgraph.evals.metrics import Span
from vgraph.evals.oracle import Oracle, Places
from vgraph.evals.qa import AGENT_SWITCHES, Outcome, Way, ask_all
from vgraph.evals.questions import Question, of_world
from vgraph.evals.summary import Summary, summed_up
from vgraph.settings import Settings
from vgraph.types import Progress

Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Asking:
    """What is to be asked of which graph. Everything lies under `folder`; `notes` say what was left out."""

    name: str
    folder: Path
    settings: Settings
    questions: tuple[Question, ...]
    notes: tuple[str, ...] = ()
    tz: str = "UTC"


def world_asking(settings: Settings, folder: Path, size: Size, *, gated: bool, report: Report) -> Asking:
    """A simulated day, and its questions."""
    day = ready_day(settings, folder, size, report)
    questions = of_world(day.truth, gated=gated)
    return Asking(size.name, day.folder, day.settings, questions, tz=day.truth["tz"])


def dataset_asking(settings: Settings, folder: Path, name: str, root: Path, *, report: Report) -> Asking:
    """A local copy of a published set of questions, its videos brought into a graph under `folder`."""
    found = read_dataset(name, root)
    place = folder / name
    inside = settings.model_copy(
        update={
            "database": settings.database.model_copy(update={"url": f"embedded:{place / 'graph.sqlite'}"}),
            "media": settings.media.model_copy(update={"assets": place / "assets", "roots": ()}),
        }
    )
    with VGraph.open(inside) as graph:
        for _ in graph.ingest(staged(found.videos, place / "videos"), report=report):
            pass
    return Asking(name, place, inside, found.questions, found.notes)


def answered(
    asking: Asking,
    way: Way,
    *,
    oracle: bool = False,
    limit: int | None = None,
    again: bool = False,
    report: Report,
    told: Callable[[Outcome], None],
) -> Summary:
    """Ask the questions (so many of them) and sum up; outcomes of an earlier run of the same way are kept, unless `again`.

    With `oracle` the chat model is one that knows the truth, and answers only what it is shown (evals/oracle.py).
    """
    off = {name: False for name in AGENT_SWITCHES if name in way.without}
    agent = asking.settings.agent.model_copy(update={"record": False, **off})
    with VGraph.open(asking.settings.model_copy(update={"agent": agent})) as graph:
        if oracle:
            graph.use_chat(Oracle(asking.questions, places(graph), asking.tz))
        kept = asking.folder / "answers" / f"{_name(asking, way, graph)}.jsonl"
        if again:
            kept.unlink(missing_ok=True)
        outcomes = []
        for outcome in ask_all(graph, _spread(asking.questions, limit), way, kept=kept, report=report):
            told(outcome)
            outcomes.append(outcome)
    return summed_up(asking.name, outcomes)


def places(graph: VGraph) -> Places:
    """Which camera and time a clip shows, by its key."""
    clips, labels = Clips(graph), {camera["_key"]: str(camera["label"]) for camera in graph.cameras()}

    def place(key: str) -> Span | None:
        chunk = clips.chunk(key)
        return None if chunk is None else Span(labels[chunk["camera"]], chunk["start_ms"], chunk["end_ms"])

    return place


def _spread(questions: Sequence[Question], limit: int | None) -> Sequence[Question]:
    """So many questions, evenly taken, so that every kind is among them."""
    if limit is None or limit >= len(questions):
        return questions
    return [questions[number * len(questions) // limit] for number in range(limit)]


def _name(asking: Asking, way: Way, graph: VGraph) -> str:
    """The same for the same way of asking by the same settings, models and version."""
    used: Mapping[str, Any] = {
        "version": __version__,
        "way": [way.chosen, way.agent, way.without],
        "agent": asking.settings.agent.model_dump(mode="json"),
        "retrieve": asking.settings.retrieve.model_dump(mode="json"),
        "chat": graph.models.chat.name if graph.models.chat else None,
    }
    short = blake2b(orjson.dumps(used, option=orjson.OPT_SORT_KEYS), digest_size=6).hexdigest()
    return "-".join([way.agent or asking.settings.agent.agent, *way.without, short])
