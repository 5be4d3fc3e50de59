"""A picture as numbers without a learned model: colours and edges, by place. It knows that a picture changes, not what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from vgraph.models.loading import translated
from vgraph.models.vectors import normalised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZE: Final = 160
"""Pixels of the square that a picture is shrunk to."""
GRID: Final = 8
"""Cells across and down, each described by itself, so that what moves from one to another is seen."""
COLOURS: Final = (8, 3, 3)
"""Bins of hue, saturation and brightness."""
DIRECTIONS: Final = 8
"""Bins of the direction of edges, weighed by their strength."""


class PictureDescriptor:
    """Histograms of colour (hue, saturation, brightness) and of edge directions in each cell of a grid, as one vector of length 1.

    The square roots of the shares are taken, so that products of vectors are Bhattacharyya coefficients. It stands in for an
    image embedder where pictures are only compared with each other (event boundaries); it can not be asked with a text.
    """

    name = "descriptor:colour-edges"
    dimension = GRID * GRID * (COLOURS[0] * COLOURS[1] * COLOURS[2] + DIRECTIONS)

    def embed_images(self, images: Sequence[bytes]) -> NDArray[np.float32]:
        """Rows of shape (n, dimension) for pictures as JPEG bytes; ModelError for bytes that are no picture."""
        import numpy as np

        with translated("describe a picture", self.name):
            rows = [_described(image) for image in images]
        return normalised(np.array(rows, np.float32).reshape(len(images), self.dimension))


def _described(jpeg: bytes) -> NDArray[np.float64]:
    import cv2
    import numpy as np

    decoded = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if decoded is None:
        raise ValueError("these bytes are no picture")
    small = cv2.resize(decoded, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
    colours = cv2.cvtColor(small, cv2.COLOR_BGR2HSV).reshape(SIZE, SIZE, 3)
    grey = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY).astype(np.float32)
    across, down = cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1)
    strength, direction = np.hypot(across, down), np.arctan2(down, across)
    cell = SIZE // GRID
    cells = [np.s_[y : y + cell, x : x + cell] for y in range(0, SIZE, cell) for x in range(0, SIZE, cell)]
    return np.concatenate(
        [part for at in cells for part in (_colours(colours[at]), _directions(direction[at], strength[at]))]
    )


def _colours(pixels: NDArray[Any]) -> NDArray[np.float64]:
    import numpy as np

    ranges = ((0, 180), (0, 256), (0, 256))
    counts, _ = np.histogramdd(pixels.reshape(-1, 3).astype(np.float64), bins=COLOURS, range=ranges)
    shares: NDArray[np.float64] = np.sqrt(counts.reshape(-1) / counts.sum())
    return shares


def _directions(direction: NDArray[Any], strength: NDArray[Any]) -> NDArray[np.float64]:
    import numpy as np

    weighed, _ = np.histogram(direction, bins=DIRECTIONS, range=(-np.pi, np.pi), weights=strength)
    shares: NDArray[np.float64] = np.sqrt(weighed / max(float(weighed.sum()), 1e-9))
    return shares
