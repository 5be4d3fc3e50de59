"""How far recordings stand from the true time: by what the camera wrote into the file, by the clock in its pictures, and by anchors.

The world's cameras have wrong clocks, which stand in the container (to the second) and in the picture (to the second). No `.meta.json` is
given. Readings of the burnt-in clock tell when own time began, anchors what own time is worth. A day of a simulated clock that drifts and
is set anew at noon shows the fit of spans.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from vgraph.app import Anchor, Timekeeping, VGraph
from vgraph.errors import UserError
from vgraph.evals.ingest.topic import GIVEN, Topic, Variant
from vgraph.evals.world import World

ANCHORS: Final = (0.2, 0.8)
"""Where in a recording somebody knows the true time, as a share of its length."""
KNOWN_MS: Final = 100
"""How well."""
DAY_MS: Final = 86_400_000
OFFSET_MS, DRIFT_PPM, STEP_MS, ANCHOR_MS = 2_300, 45.0, -90_000, 250
"""The simulated clock: slow by so much, losing so much, set back at noon by a minute and a half; its anchors are this far off at most."""


@dataclass(frozen=True, slots=True)
class ClockScores:
    """Mean distances, ms. Of what is taken for the camera's own time at the first frame: by the container, and by the clock in the picture
    (None: nothing here reads text). Of recordings' starts from the true time: by the container alone, and with a clock fitted to anchors;
    then the largest, and the share of recordings that lie within the uncertainty told of them. `day_ms`: median error over a simulated
    day of drift with a step (between the step and the next anchor nobody can know); `day_outliers`: anchors left out of it.
    """

    recordings: int
    own_container_ms: float
    own_picture_ms: float | None
    container_ms: float
    anchors_ms: float
    worst_ms: int
    within: float
    day_ms: float
    day_outliers: int


def measure(world: World, graph: VGraph) -> ClockScores:
    clocks, truth = graph.clocks(), world.truth()
    names = [camera["id"] for camera in truth["cameras"]]
    day, outliers = _day(clocks, names[0])
    container, own = _errors(graph, truth), _own_errors(graph, truth)
    anchored = _anchored(clocks, graph, truth, names)
    return ClockScores(
        recordings=len(container),
        own_container_ms=_mean(own),
        own_picture_ms=_mean(_read(clocks, graph, truth, names)) if graph.models.read else None,
        container_ms=_mean(container),
        anchors_ms=_mean(anchored),
        worst_ms=max(abs(error) for error, _ in anchored),
        within=_share_within(anchored),
        day_ms=day,
        day_outliers=outliers,
    )


Errors = list[tuple[int, int | None]]
"""How far each recording's start is from the truth, and how far it is said to be at most; ms."""


def _errors(graph: VGraph, truth: Mapping[str, Any]) -> Errors:
    starts = {r["stem"]: r["start_ms"] for camera in truth["cameras"] for r in camera["recordings"]}
    found = graph.documents()
    return [(d["start_ms"] - starts[Path(d["uri"]).stem], d["uncertainty_ms"]) for d in found]


def _own_errors(graph: VGraph, truth: Mapping[str, Any]) -> Errors:
    """The same of what the camera's own clock is taken to have shown at the first frame."""
    shown = {
        r["stem"]: r["start_ms"] - camera["clock_offset_ms"]
        for camera in truth["cameras"]
        for r in camera["recordings"]
    }
    found = graph.documents()
    return [(d["own_start_ms"] - shown[Path(d["uri"]).stem], d["own_uncertainty_ms"]) for d in found]


def _mean(errors: Errors) -> float:
    return round(fmean(abs(error) for error, _ in errors), 1)


def _share_within(errors: Errors) -> float:
    return round(fmean(said is not None and abs(error) <= said for error, said in errors), 3)


def _read(clocks: Timekeeping, graph: VGraph, truth: Mapping[str, Any], names: list[str]) -> Errors:
    """Own time from the clock in the picture; what it is worth, nobody says."""
    for name in names:
        clocks.reset(name)
        clocks.fit(name, look=True)
    return _own_errors(graph, truth)


def _anchored(clocks: Timekeeping, graph: VGraph, truth: Mapping[str, Any], names: list[str]) -> Errors:
    """Clocks fitted to anchors, which say what the starts known so far are worth."""
    for name in names:
        _anchor(clocks, graph, name, truth)
        clocks.fit(name, burnt_in=False)
    return _errors(graph, truth)


def _anchor(clocks: Timekeeping, graph: VGraph, name: str, truth: Mapping[str, Any]) -> None:
    """Two moments of every recording whose true time somebody knows, give or take a tenth of a second."""
    rng = random.Random(f"vgraph clocks {name}")  # noqa: S311
    documents = {Path(d["uri"]).stem: d for d in graph.documents()}
    camera = next(c for c in truth["cameras"] if c["id"] == name)
    for recording in camera["recordings"]:
        length = recording["end_ms"] - recording["start_ms"]
        for share in ANCHORS:
            offset = round(length * share)
            known = recording["start_ms"] + offset + rng.randint(-KNOWN_MS, KNOWN_MS)
            clocks.anchor_in(name, documents[recording["stem"]]["_key"], offset, known, KNOWN_MS)


# --- a day of drift --------------------------------------------------------------------------------------------------------


def _day(clocks: Timekeeping, camera: str) -> tuple[float, int]:
    """Median error, ms, of a clock fitted to an anchor every two hours, one of them an hour off; and how many anchors were left out."""
    clocks.reset(camera)
    for anchor in _day_anchors():
        clocks.anchor(camera, anchor)
    found = clocks.fit(camera, burnt_in=False, dry_run=True)
    clocks.reset(camera)
    errors = [abs(found.true(_shown(at)) - at) for at in range(0, DAY_MS, 600_000)]
    return round(median(errors), 1), len(found.outliers)


def _shown(true_ms: int) -> int:
    """What the simulated clock shows at a true time since its day began."""
    slow = OFFSET_MS + true_ms * DRIFT_PPM / 1e6
    return round(true_ms - slow + (STEP_MS if true_ms >= DAY_MS // 2 else 0))


def _day_anchors() -> Iterator[Anchor]:
    rng = random.Random("vgraph clock of a day")  # noqa: S311
    for number, at in enumerate(range(1_800_000, DAY_MS, 7_200_000)):
        wrong = 3_600_000 if number == 3 else rng.randint(-ANCHOR_MS, ANCHOR_MS)
        yield Anchor(_shown(at), at + wrong, ANCHOR_MS)


# --- the world without what its operator knows -------------------------------------------------------------------------------


def ingest(world: World, folder: Path, graph: VGraph) -> None:
    """The world's videos and captions, without the `.meta.json` that tells their clocks."""
    files = world.write(folder)
    bare = folder / "without-clocks"
    bare.mkdir(exist_ok=True)
    for video in files.videos:
        for path in (video.video, *(s for s in video.sidecars if not s.name.endswith(".meta.json"))):
            shutil.copyfile(path, bare / path.name)
        for report in graph.ingest([bare / video.video.name], camera=video.camera, tz=world.script.tz):
            if report.outcome == "unchanged":
                raise UserError(f"{video.video}: was in the graph already; what is measured must begin without clocks")


TOPIC: Final = Topic(
    name="clock",
    title="Clocks: how far recordings stand from the true time (ms)",
    measure=measure,
    variants=(Variant("container, pictures, anchors"),),
    settings={**GIVEN, "models": {**GIVEN["models"], "read": "auto"}, "ingest": {"read_every_s": 86_400.0}},
    ingest=ingest,
)
