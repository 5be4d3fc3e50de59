"""A long world without pictures: what its sidecars tell is all there is to see, so that a day of eight cameras is written in a minute.

Captions, subtitles, detections and clocks are those of the synthetic world; the videos are small and black, a picture every ten seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vgraph.app import VGraph
from vgraph.evals.world import World, WorldFiles
from vgraph.media.encode import Mp4Writer
from vgraph.settings import Settings
from vgraph.types import Progress

SEED = 7
PICTURE_EVERY_MS = 10_000
DETECT_EVERY_MS = 10_000
DENSITY = 0.1
WRITTEN_QUESTIONS = 16
"""In the truth beside the videos: the same whatever is asked, so that another number of questions leaves the folder as it is."""

HALF_HOUR_MIN = 30.0
"""Worlds up to this long, in minutes, are busy ones, so that they hold enough to ask about."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of a world there is. A fifth of the questions, and at least four, cannot be answered."""

    hours: float = 24.0
    cameras: int = 8
    questions: int = 250
    seed: int = SEED

    @property
    def name(self) -> str:
        return f"day-{self.hours:g}h-{self.cameras}c-seed{self.seed}"


@dataclass(frozen=True, slots=True)
class Day:
    """A day that stands in a graph: its folder, its truth, and the settings that open the graph."""

    folder: Path
    truth: Mapping[str, Any]
    settings: Settings


def day_world(*, hours: float = 24.0, cameras: int = 8, questions: int = 250, seed: int = SEED) -> World:
    density = 1.0 if hours * 60 <= HALF_HOUR_MIN else DENSITY
    return World.generate(seed, cameras=cameras, minutes=hours * 60, density=density, questions=questions)


def write_day(
    world: World, folder: Path, progress: Callable[[str, float], None] = lambda text, share: None
) -> WorldFiles:
    """Write the world's files; those that are there already are kept."""
    files = world.write(folder, detect_every_ms=DETECT_EVERY_MS, video=False, progress=progress)
    for (_, recording), file in zip(world.script.recordings(), files.videos, strict=True):
        if not file.video.exists():
            _black(file.video, recording.end_ms - recording.start_ms)
    return files


def ready_day(settings: Settings, folder: Path, size: Size, report: Callable[[Progress], None]) -> Day:
    """A day written and brought into a graph under `folder`. Both are kept for the next time, and an interrupted run goes on from there."""
    place = folder / size.name

    def world(questions: int) -> World:
        return day_world(hours=size.hours, cameras=size.cameras, questions=questions, seed=size.seed)

    def told(_text: str, share: float) -> None:
        report(Progress("world", "write", round(share * 100), 100, "%"))

    files = write_day(world(WRITTEN_QUESTIONS), place / "videos", told)
    inside = _inside(settings, place)
    with VGraph.open(inside) as graph:
        for _ in graph.ingest([video.video for video in files.videos], report=report):
            pass
    return Day(place, world(size.questions).truth(), inside)


def _inside(settings: Settings, folder: Path) -> Settings:
    """The caller's settings, with the graph in the folder and few frames kept."""
    database = settings.database.model_copy(update={"url": f"embedded:{folder / 'graph.sqlite'}"})
    media = settings.media.model_copy(update={"assets": folder / "assets", "roots": (), "frame_every_s": 60.0})
    return settings.model_copy(update={"database": database, "media": media})


def _black(path: Path, length_ms: int) -> None:
    import numpy as np

    picture = np.zeros((36, 64, 3), np.uint8)
    with Mp4Writer(path, 64, 36, 1000 / PICTURE_EVERY_MS, preset="ultrafast") as file:
        for at_ms in range(0, length_ms, PICTURE_EVERY_MS):
            file.write(picture, at_ms)
