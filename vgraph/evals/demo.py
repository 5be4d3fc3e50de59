"""The demo: a synthetic site rendered on several cameras, ingested, and asked about; answers are judged by the script's truth."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vgraph.app import VGraph
from vgraph.evals.metrics import Span, answer_matches, citation_precision, moments
from vgraph.evals.questions import expected_of
from vgraph.evals.world import DEMO_SEED, World
from vgraph.settings import Settings
from vgraph.types import Answer, IngestReport, Progress


@dataclass(frozen=True, slots=True)
class Rendered:
    folder: Path
    seed: int
    videos: int
    cameras: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ingested:
    report: IngestReport


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer.

    `right`: the first claim (or, where nothing is to be found, the status) is the script's; `cited`: a cited clip shows the true moment.
    """

    question: str
    kind: str
    answer: Answer
    expected_status: str
    expected: str
    right: bool
    cited: bool
    zones: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """What the run took and made. Peak memory is that of the whole process, in MiB."""

    counts: Mapping[str, int]
    seconds: Mapping[str, float]
    total_seconds: float
    peak_mib: int
    asked: int
    right: int
    answerable: int
    cited: int
    cameras_cited: int


DemoStep = Rendered | Ingested | Asked | Figures


def run_demo(
    settings: Settings,
    folder: Path,
    *,
    seed: int | None = None,
    minutes: float = 3.0,
    report: Callable[[Progress], None],
) -> Iterator[DemoStep]:
    """The steps of the demo as they are done. Everything goes under `folder`; run again, it goes on from what is there."""
    begun = time.perf_counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    seed = DEMO_SEED if seed is None else seed
    world = World.generate(seed, minutes=minutes)
    files = world.write(folder / "videos", progress=_told(report))
    seconds["render"] = time.perf_counter() - begun
    cameras = len({video.camera for video in files.videos})
    yield Rendered(folder, seed, len(files.videos), cameras, files.notes)
    with VGraph.open(_inside(settings, folder)) as graph:
        for done in graph.ingest([video.video for video in files.videos], report=report):
            for stage, spent in done.seconds.items():
                seconds[stage] += spent
            yield Ingested(done)
        asked = []
        truth: dict[str, Any] = json.loads(files.truth.read_text(encoding="utf-8"))
        for question in truth["questions"]:
            started = time.perf_counter()
            step = _ask(graph, question, truth)
            seconds["ask"] += time.perf_counter() - started
            asked.append(step)
            yield step
        yield _figures(graph, asked, seconds, time.perf_counter() - begun)


def _told(report: Callable[[Progress], None]) -> Callable[[str, float], None]:
    return lambda text, share: report(Progress("world", "render", round(share * 100), 100, "%"))


def _inside(settings: Settings, folder: Path) -> Settings:
    """The caller's settings, with the graph and its frames in the demo's folder."""
    database = settings.database.model_copy(update={"url": f"embedded:{folder / 'graph.sqlite'}"})
    media = settings.media.model_copy(update={"assets": folder / "assets", "roots": ()})
    agent = settings.agent.model_copy(update={"record": False})  # run again, it changes nothing
    return settings.model_copy(update={"database": database, "media": media, "agent": agent})


def _ask(graph: VGraph, question: Mapping[str, Any], truth: Mapping[str, Any]) -> Asked:
    answer = graph.ask(question["text"])
    cited = [Span(c.camera, c.start_ms, c.end_ms + 1) for claim in answer.claims for c in claim.citations]
    answered = question["status"] == "answered"
    first = answer.claims[0].text if answer.claims else answer.text
    right = answer.status == question["status"] and (
        not answered or answer_matches(first, expected_of(question, truth))
    )
    shown = answered and citation_precision(cited, moments(question)) > 0
    return Asked(
        question["text"], question["kind"], answer, question["status"], question["answer"], right, shown, graph.zones()
    )


def _figures(graph: VGraph, asked: list[Asked], seconds: Mapping[str, float], total: float) -> Figures:
    cameras = {c.camera for step in asked if step.cited for claim in step.answer.claims for c in claim.citations}
    return Figures(
        counts=graph.info()["counts"],
        seconds=dict(seconds),
        total_seconds=total,
        peak_mib=_peak_mib(),
        asked=len(asked),
        right=sum(step.right for step in asked),
        answerable=sum(step.expected_status == "answered" for step in asked),
        cited=sum(step.cited for step in asked),
        cameras_cited=len(cameras),
    )


def _peak_mib() -> int:
    """Linux counts in KiB, macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1 << 20 if sys.platform == "darwin" else 1 << 10)
