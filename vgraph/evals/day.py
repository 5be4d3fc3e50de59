"""A long world without pictures: what its sidecars tell is all there is to see, so that a day of eight cameras is written in a minute.

Captions, subtitles, detections and clocks are those of the synthetic world; the videos are small and black, a picture every ten seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vgraph.evals.world import World, WorldFiles
from vgraph.media.encode import Mp4Writer

SEED = 7
PICTURE_EVERY_MS = 10_000
DETECT_EVERY_MS = 10_000
DENSITY = 0.1


def day_world(*, hours: float = 24.0, cameras: int = 8, questions: int = 240, seed: int = SEED) -> World:
    return World.generate(seed, cameras=cameras, minutes=hours * 60, density=DENSITY, questions=questions)


def write_day(
    world: World, folder: Path, progress: Callable[[str, float], None] = lambda text, share: None
) -> WorldFiles:
    """Write the world's files; those that are there already are kept."""
    files = world.write(folder, detect_every_ms=DETECT_EVERY_MS, video=False, progress=progress)
    for (_, recording), file in zip(world.script.recordings(), files.videos, strict=True):
        if not file.video.exists():
            _black(file.video, recording.end_ms - recording.start_ms)
    return files


def _black(path: Path, length_ms: int) -> None:
    import numpy as np

    picture = np.zeros((36, 64, 3), np.uint8)
    with Mp4Writer(path, 64, 36, 1000 / PICTURE_EVERY_MS, preset="ultrafast") as file:
        for at_ms in range(0, length_ms, PICTURE_EVERY_MS):
            file.write(picture, at_ms)
