"""Arithmetic on boxes: overlap, union, joining those that are near, dropping those that say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vgraph.types import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def iou(a: Box, b: Box) -> float:
    """Intersection over union, 0 for boxes apart or empty."""
    width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (a.width * a.height + b.width * b.height - shared)


def union(a: Box, b: Box) -> Box:
    """The smallest box around both."""
    left, top = min(a.x, b.x), min(a.y, b.y)
    right, bottom = max(a.x + a.width, b.x + b.width), max(a.y + a.height, b.y + b.height)
    return Box(left, top, right - left, bottom - top)


def merged(boxes: Sequence[Box], gap: float) -> list[Box]:
    """Boxes that touch, or lie no more than `gap` pixels apart, as one; ordered from left to right, then top to bottom."""
    left = list(boxes)
    done: list[Box] = []
    while left:
        box = left.pop()
        near = [other for other in left if _near(box, other, gap)]
        if near:
            left = [other for other in left if other not in near]
            for other in near:
                box = union(box, other)
            left.append(box)
        else:
            done.append(box)
    return sorted(done, key=lambda box: (box.x, box.y))


def _near(a: Box, b: Box, gap: float) -> bool:
    return (
        a.x - gap <= b.x + b.width
        and b.x - gap <= a.x + a.width
        and a.y - gap <= b.y + b.height
        and b.y - gap <= a.y + a.height
    )


def kept(
    corners: NDArray[np.float32], scores: NDArray[np.float32], classes: NDArray[np.int64], overlap: float
) -> list[int]:
    """Indexes of boxes (left, top, right, bottom) that survive non-maximum suppression within their class, best first."""
    import numpy as np

    areas = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    order = np.argsort(-scores, kind="stable")
    survivors: list[int] = []
    while order.size:
        best, rest = order[0], order[1:]
        survivors.append(int(best))
        sides = np.minimum(corners[best, 2:], corners[rest, 2:]) - np.maximum(corners[best, :2], corners[rest, :2])
        shared = np.prod(np.clip(sides, 0, None), axis=1)
        ratio = shared / np.maximum(areas[best] + areas[rest] - shared, 1e-9)
        order = rest[(ratio <= overlap) | (classes[rest] != classes[best])]
    return survivors
