"""Motion by OpenCV background subtraction: finds that something moves, and where, without knowing what it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from vgraph.models.boxes import iou, merged
from vgraph.models.loading import translated
from vgraph.types import Box, Detection, Frame

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LABEL: Final = "motion"
_WIDTH: Final = 320
_WARM_UP: Final = 5
_MOVING: Final = 200  # MOG2 marks shadows 127 and what moves 255


class MotionDetector:
    """Detections labelled "motion". Confidence is the share of a box that really moves.

    A box must have one like it in the frame before, and takes half of that one's place: flicker is dropped, edges do not jump.
    When most of the picture changes at once (a lamp, an exposure step, a moving camera), nothing is reported.
    `least_area`, `most_area` are shares of the picture; `join` is how near, as a share of its width, parts count as one thing.
    """

    name = "motion:mog2"

    def __init__(self, *, least_area: float = 0.001, most_area: float = 0.6, join: float = 0.02) -> None:
        self._least_area, self._most_area, self._join = least_area, most_area, join

    def detect(self, frames: Iterable[Frame]) -> Iterator[Detection]:
        import cv2

        background: Any = cv2.createBackgroundSubtractorMOG2(history=200, varThreshold=25, detectShadows=True)
        before: Sequence[Box] = ()
        for number, frame in enumerate(frames):
            with translated("detect", self.name):
                mask, scale = self._mask(background, frame, learn_fast=number < _WARM_UP)
                found = [] if number < _WARM_UP else self._boxes(mask)
            before, stable = found, [_settled(box, before) for box in found]
            for box in filter(None, stable):
                yield Detection(frame.offset_ms, LABEL, _scaled(box, scale), _filled(mask, box), self.name)

    def _mask(self, background: Any, frame: Frame, *, learn_fast: bool) -> tuple[NDArray[np.uint8], float]:
        """What moves, cleaned of specks and holes, in a small picture; and the factor back to the frame's pixels."""
        import cv2
        import numpy as np

        height, width = frame.image.shape[:2]
        scale = max(width / _WIDTH, 1.0)
        small = cv2.resize(
            frame.image, (round(width / scale), max(round(height / scale), 1)), interpolation=cv2.INTER_AREA
        )
        moving = background.apply(cv2.GaussianBlur(small, (3, 3), 0), learningRate=0.2 if learn_fast else -1)
        mask: Any = np.where(moving > _MOVING, 255, 0).astype(np.uint8)
        mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
        whole: Any = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
        return whole, float(scale)

    def _boxes(self, mask: NDArray[np.uint8]) -> list[Box]:
        import cv2

        size = mask.size
        if (mask > 0).sum() > self._most_area * size:
            return []
        _, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
        parts = [Box(*map(float, row[:4])) for row in stats[1:] if row[4] >= self._least_area * size / 4]
        joined = merged(parts, gap=self._join * mask.shape[1])
        return [box for box in joined if box.width * box.height >= self._least_area * size]


def _settled(box: Box, before: Sequence[Box]) -> Box | None:
    """The box drawn halfway to the one it most overlaps in the frame before; None when there is none."""
    nearest = max(before, key=lambda other: iou(box, other), default=None)
    if nearest is None or iou(box, nearest) < 0.2:
        return None
    halves = ((a + b) / 2 for a, b in zip(_sides(box), _sides(nearest), strict=True))
    return Box(*halves)


def _sides(box: Box) -> tuple[float, float, float, float]:
    return box.x, box.y, box.width, box.height


def _scaled(box: Box, scale: float) -> Box:
    return Box(*(side * scale for side in _sides(box)))


def _filled(mask: NDArray[np.uint8], box: Box) -> float:
    left, top = round(box.x), round(box.y)
    inside = mask[top : top + max(round(box.height), 1), left : left + max(round(box.width), 1)]
    return float((inside > 0).mean()) if inside.size else 0.0
