"""How well detections are joined into tracks: IDF1 on synthetic worlds, by the distance between looks.

    python bench/tracking.py

Boxes are those of the world's people and vehicles, shaken by up to 3 pixels, 8 % missed, 15 % unsure (confidence 0.2 to 0.4), and a
tenth of a false person a look. IDF1 (Ristani et al. 2016): tracks are paired with true ones so that most detections agree.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from vgraph.evals.world import World
from vgraph.evals.world.detections import CLASSES
from vgraph.models.tracking import track
from vgraph.types import Box, Detection

SEEDS, MINUTES = (1, 2, 190), 3
LOOKS_MS = (100, 200, 500, 1000)
Labelled = list[tuple[Detection, str | None]]


def labelled(world: World, every_ms: int) -> Iterator[Labelled]:
    """Detections of each recording with the true object of each; None for a false one."""
    for camera, recording in world.script.recordings():
        rng = random.Random(recording.stem)
        spells = [spell for found in world.scene.presence[recording.stem].values() for spell in found]
        found: Labelled = []
        for at in range(recording.start_ms, recording.end_ms, every_ms):
            for spell in spells:
                if spell.start_ms <= at < spell.end_ms and rng.random() >= 0.08:
                    item = world.script.named[spell.id]
                    x, y, width, height = world.picture.box(camera.area, spell.at(at), item)
                    shake = [rng.randint(-3, 3) for _ in range(4)]
                    box = Box(
                        max(0, x + shake[0]), max(0, y + shake[1]), max(2, width + shake[2]), max(2, height + shake[3])
                    )
                    confidence = rng.uniform(0.2, 0.4) if rng.random() < 0.15 else rng.uniform(0.5, 0.98)
                    label = CLASSES.get(getattr(item, "kind", ""), "person")
                    seen = Detection(at - recording.start_ms, label, box, confidence, "bench")
                    found.append((seen, f"{spell.id} {spell.start_ms}"))
            if rng.random() < 0.1:
                box = Box(rng.uniform(0, 600), rng.uniform(0, 300), 30, 60)
                found.append((Detection(at - recording.start_ms, "person", box, rng.uniform(0.2, 0.6), "bench"), None))
        yield found


def idf1(pairs: Sequence[tuple[str | None, str | None]]) -> float:
    """Of (true object, track) of every detection, None where there is none."""
    shared = Counter((true, made) for true, made in pairs if true and made)
    trues, mades = sorted({true for true, _ in shared}), sorted({made for _, made in shared})
    matrix = np.zeros((len(trues), len(mades)))
    for (true, made), count in shared.items():
        matrix[trues.index(true), mades.index(made)] = count
    right = matrix[linear_sum_assignment(-matrix)].sum()
    claimed = sum(made is not None for _, made in pairs) + sum(true is not None for true, _ in pairs)
    return float(2 * right / claimed)


def followed(found: Labelled) -> list[tuple[str | None, str | None]]:
    owner = {
        (seen.offset_ms, seen.box, seen.confidence): one.id
        for one in track(d for d, _ in found)
        for seen in one.detections
    }
    return [(true, owner.get((seen.offset_ms, seen.box, seen.confidence))) for seen, true in found]


def main() -> None:
    worlds = [World.generate(seed, minutes=MINUTES) for seed in SEEDS]
    for every_ms in LOOKS_MS:
        recordings = [found for world in worlds for found in labelled(world, every_ms)]
        begun = time.perf_counter()
        scores = [idf1(followed(found)) for found in recordings if found]
        count = sum(map(len, recordings))
        spent = time.perf_counter() - begun
        print(
            f"a look every {every_ms:4d} ms: IDF1 {sum(scores) / len(scores):.3f}, {count / spent:,.0f} detections a second"
        )


if __name__ == "__main__":
    main()
