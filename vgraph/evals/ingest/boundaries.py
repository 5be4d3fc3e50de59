"""Where segments begin, against when what is in view truly changes: boundary F1 of every way to cut a video."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vgraph.app import VGraph
from vgraph.evals.ingest.topic import GIVEN, Topic, Variant
from vgraph.evals.world import Picture, World

ROWS = 1_000_000
TOLERANCE_MS = 3_000
"""A boundary is found by one no further away."""

PAUSE_MS = 5_000
"""True boundaries closer than this are one."""


@dataclass(frozen=True, slots=True)
class BoundaryScores:
    """Boundaries of all recordings: how many of those made are true, how many true ones were found, each matched at most once.

    chance: the F1 that as many boundaries placed anywhere would be expected to have. seconds: the mean length of a segment.
    """

    made: int
    true: int
    precision: float
    recall: float
    f1: float
    chance: float
    seconds: float


LONGEST_S = 3600
"""No cuts for their length alone."""


def measure(world: World, graph: VGraph) -> BoundaryScores:
    cuts = _cuts(graph)
    durations = {stem: max(end for _, end in spans) for stem, spans in cuts.items()}
    made = {stem: sorted(start for start, _ in spans if start > 0) for stem, spans in cuts.items()}
    true = {stem: boundaries(world, stem, durations[stem]) for stem in cuts}
    return scored(made, true, durations)


def scored(
    made: Mapping[str, Sequence[int]],
    true: Mapping[str, Sequence[int]],
    durations: Mapping[str, int],
    tolerance_ms: int = TOLERANCE_MS,
) -> BoundaryScores:
    """Scores of boundaries (media ms) by recording."""
    found = sum(matched(made[stem], true[stem], tolerance_ms) for stem in durations)
    counts = sum(map(len, made.values())), sum(map(len, true.values()))
    whole = sum(durations.values())
    by_chance = sum(covered(true[stem], tolerance_ms, durations[stem]) for stem in durations) / whole * counts[0]
    segments = counts[0] + len(durations)
    return BoundaryScores(
        *counts,
        *_rates(found, *counts),
        _rates(min(by_chance, counts[1]), *counts)[2],
        round(whole / segments / 1000, 1),
    )


def _rates(found: float, made: int, true: int) -> tuple[float, float, float]:
    """Precision, recall and F1; where nothing was to be found and nothing was made, both are whole."""
    precision, recall = found / made if made else 1.0, found / true if true else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return round(precision, 3), round(recall, 3), round(f1, 3)


def matched(made: Sequence[int], true: Sequence[int], tolerance_ms: int) -> int:
    """How many pairs of a boundary made and a true one lie within the tolerance, each used once (both sorted)."""
    count = index = 0
    for boundary in made:
        while index < len(true) and true[index] < boundary - tolerance_ms:
            index += 1
        if index < len(true) and true[index] <= boundary + tolerance_ms:
            count, index = count + 1, index + 1
    return count


def covered(true: Sequence[int], tolerance_ms: int, duration_ms: int) -> int:
    """Milliseconds that lie within the tolerance of a true boundary."""
    total, done = 0, 0
    for boundary in true:
        start, end = max(boundary - tolerance_ms, done, 0), min(boundary + tolerance_ms, duration_ms)
        total, done = total + max(0, end - start), max(done, end)
    return total


def boundaries(world: World, stem: str, duration_ms: int) -> list[int]:
    """When somebody or something comes into a recording's view or leaves it, in media ms; those within PAUSE_MS are one."""
    start_ms = next(r.start_ms for _, r in world.script.recordings() if r.stem == stem)
    spells = [spell for found in world.scene.presence[stem].values() for spell in found]
    edges = sorted({edge - start_ms for spell in spells for edge in (spell.start_ms, spell.end_ms)})
    found: list[int] = []
    for edge in edges:
        if 0 < edge < duration_ms and (not found or edge - found[-1] >= PAUSE_MS):
            found.append(edge)
    return found


def _cuts(graph: VGraph) -> dict[str, list[tuple[int, int]]]:
    """(start, end) of every segment, by recording."""
    found: dict[str, list[tuple[int, int]]] = {}
    rows: list[Any] = graph.aql(CUTS, limit=ROWS).rows
    for stem, start, end in rows:
        found.setdefault(stem, []).append((start, end))
    return found


CUTS = """
WITH documents
FOR c IN chunks
  SORT c.document, c.index
  LET uri = DOCUMENT("documents", c.document).uri
  RETURN [FIRST(SPLIT(LAST(SPLIT(uri, "/")), ".mp4")), c.offset_ms, c.end_offset_ms]
"""

TOPIC = Topic(
    name="boundaries",
    title="Boundaries of segments",
    measure=measure,
    variants=(
        Variant("events (PELT)", {"media": {"segmenter": "event"}}),
        Variant("events, penalty 1", {"media": {"segmenter": "event", "event_penalty": 1}}),
        Variant("content scenes", {"media": {"segmenter": "scene"}}),
        Variant("along subtitles", {"media": {"segmenter": "subtitle", "window_s": 15}}),
        Variant("windows of 30 s"),
        Variant("windows of 15 s", {"media": {"window_s": 15}}),
    ),
    minutes=6.0,
    picture=Picture(width=320, height=180),
    settings={**GIVEN, "identity": {"enabled": False}, "media": {"event_max_s": LONGEST_S, "scene_max_s": LONGEST_S}},
)
