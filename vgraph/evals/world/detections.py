"""Detections with track ids, as a good detector would give them: boxes jittered, frames missed, tracks that break."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from vgraph.evals.world.scene import Picture, Presence, Scene
from vgraph.evals.world.script import Camera, Recording

MISSED, BROKEN, JITTER_PX = 0.05, 0.01, 2
CLASSES = {"van": "truck", "car": "car", "forklift": "truck"}


def detections(scene: Scene, camera: Camera, recording: Recording, picture: Picture, every_ms: int) -> Iterator[Any]:
    """Objects of the sidecar form, in order of time. A track ends when its object leaves, and sometimes before."""
    return (found for found, _ in detected(scene, camera, recording, picture, every_ms))


def detected(
    scene: Scene, camera: Camera, recording: Recording, picture: Picture, every_ms: int
) -> Iterator[tuple[Any, str]]:
    """Detections, each with the true id of what it shows: for measuring only."""
    rng = random.Random(f"vgraph world {scene.script.seed} detections {recording.stem}")  # noqa: S311
    waiting = sorted((s for each in scene.presence[recording.stem].values() for s in each), key=lambda s: -s.start_ms)
    tracks: dict[Presence, int] = {}
    count = 0
    for at in range(recording.start_ms, recording.end_ms, every_ms):
        while waiting and waiting[-1].start_ms <= at:
            count += 1
            tracks[waiting.pop()] = count
        for spell in [spell for spell in tracks if spell.end_ms <= at]:
            del tracks[spell]
        for spell in tracks:
            if rng.random() < BROKEN / 5:
                count += 1
                tracks[spell] = count
            if rng.random() >= MISSED:
                yield _detection(scene, camera, recording, picture, spell, tracks[spell], at, rng), spell.id


def _detection(
    scene: Scene,
    camera: Camera,
    recording: Recording,
    picture: Picture,
    spell: Presence,
    track: int,
    at: int,
    rng: random.Random,
) -> Any:
    item = scene.script.named[spell.id]
    x, y, width, height = picture.box(camera.area, spell.at(at), item)
    shake = [rng.randint(-JITTER_PX, JITTER_PX) for _ in range(4)]
    return {
        "time": (at - recording.start_ms) / 1000,
        "track": track,
        "class": CLASSES.get(getattr(item, "kind", ""), "person"),
        "box": [max(0, x + shake[0]), max(0, y + shake[1]), max(2, width + shake[2]), max(2, height + shake[3])],
        "confidence": rng.randrange(60, 99) / 100,
    }
