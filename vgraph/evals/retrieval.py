"""How well retrieval finds what answers a question, on a world whose truth is known, by profile and with each part switched off.

Every true moment of every answerable question counts, also of those for which nothing was found (EGAgent's recall@W counts less); how much
footage was selected and how much of it shows a true moment stand beside it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vgraph.app import VGraph
from vgraph.evals.day import Size, ready_day
from vgraph.evals.metrics import RECALL_WINDOWS, Span, moments, precision, recall_at, reciprocal_rank, selected_seconds
from vgraph.settings import Settings
from vgraph.types import Evidence, Progress


@dataclass(frozen=True, slots=True)
class Variant:
    """A way of retrieving: overrides of the `retrieve` settings."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over questions: recall by window (name -> share), precision, seconds selected, reciprocal rank; ms of CPU, median and 95 %."""

    questions: int
    recall: Mapping[str, float]
    precision: float
    seconds: float
    mrr: float
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class Measured:
    variant: str
    scores: Scores


PROFILES = tuple(
    Variant(way, {"profile": way})
    for way in ("chunks", "entities", "clips", "summaries", "rank", "relations", "graph", "auto")
)
PARTS = (
    Variant("chunks, without hops", {"profile": "chunks", "hops": 0}),
    Variant("chunks, without stitching", {"profile": "chunks", "neighbours": 0}),
    Variant("chunks, without words", {"profile": "chunks", "text_weight": 0.0}),
    Variant("chunks, without vectors", {"profile": "chunks", "vector_weight": 0.0}),
    Variant("chunks, fused by rank", {"profile": "chunks", "fusion": "rrf"}),
    Variant("chunks, MMR 0.7", {"profile": "chunks", "mmr": 0.7}),
    Variant("clips, without spatial edges", {"profile": "clips", "clip_edges": ("NEXT_CHUNK",)}),
    Variant("clips, without temporal edges", {"profile": "clips", "clip_edges": ("SIMILAR_TO",)}),
    Variant("clips, without the graph", {"profile": "clips", "clip_hops": 0, "anchors": 10}),
)


def evaluate(
    settings: Settings, folder: Path, variants: Sequence[Variant], size: Size, *, report: Callable[[Progress], None]
) -> Iterator[Measured]:
    """Write a day, bring it into a graph under `folder` (both are kept for the next time), measure each variant."""
    day = ready_day(settings, folder, size, report)
    asked = [question for question in day.truth["questions"] if question["status"] == "answered"]
    for variant in variants:
        chosen = day.settings.retrieve.model_copy(update=dict(variant.settings))
        with VGraph.open(day.settings.model_copy(update={"retrieve": chosen})) as graph:
            yield Measured(variant.name, measured(graph, asked, _told(variant.name, len(asked), report)))


def _told(subject: str, total: int, report: Callable[[Progress], None]) -> Callable[[int], None]:
    return lambda done: report(Progress(subject, "ask", done, total, "questions"))


def measured(
    graph: VGraph, questions: Sequence[Mapping[str, Any]], told: Callable[[int], None] = lambda done: None
) -> Scores:
    """The scores of answerable questions of a world's truth."""
    rows: list[tuple[dict[str, float], float, float, float]] = []
    spent: list[float] = []
    for number, question in enumerate(questions):
        begun = time.process_time()
        evidence = graph.search(question["text"])
        spent.append((time.process_time() - begun) * 1000)
        rows.append(_scored(evidence, question))
        told(number + 1)
    recalls, precisions, seconds, ranks = zip(*rows, strict=True)
    return Scores(
        len(rows),
        {name: statistics.fmean(recall[name] for recall in recalls) for name in RECALL_WINDOWS},
        statistics.fmean(precisions),
        statistics.fmean(seconds),
        statistics.fmean(ranks),
        statistics.median(spent),
        sorted(spent)[int(0.95 * len(spent))],
    )


def _scored(evidence: Evidence, question: Mapping[str, Any]) -> tuple[dict[str, float], float, float, float]:
    true = moments(question)
    selected = [Span(chunk.camera, chunk.start_ms, chunk.end_ms) for chunk in evidence.chunks]
    recall = {name: recall_at(selected, true, widen_ms) for name, widen_ms in RECALL_WINDOWS.items()}
    return recall, precision(selected, true), selected_seconds(selected), reciprocal_rank(selected, true)
