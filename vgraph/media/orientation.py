"""How a decoded picture has to be turned to be shown upright: the container's display matrix."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from av.video.frame import VideoFrame
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Orientation:
    """Swap the axes, mirror left-right, mirror top-bottom: the eight ways a picture can be turned by quarters."""

    transpose: bool = False
    mirror_x: bool = False
    mirror_y: bool = False

    @property
    def clockwise(self) -> int:
        """Degrees of clockwise turn (0, 90, 180, 270); a mirrored picture gives the turn after mirroring left-right."""
        turns = (
            {(False, False): 0, (True, True): 180} if not self.transpose else {(True, False): 90, (False, True): 270}
        )
        plain = turns.get((self.mirror_x, self.mirror_y))
        return plain if plain is not None else Orientation(self.transpose, not self.mirror_x, self.mirror_y).clockwise


def orientation(picture: VideoFrame) -> Orientation:
    """The orientation a decoded picture carries; upright when it carries none.

    The matrix (ISO/IEC 14496-12, track header) sends (x, y) to (a x + c y, b x + d y). Off-axis turns go to the
    nearest axis.
    """
    data: Any = picture.side_data.get("DISPLAYMATRIX")
    if data is None or data.buffer_size < 36:
        return Orientation()
    a, b, _, c, d, *_ = struct.unpack("=9i", bytes(data)[:36])
    if abs(b) > abs(a):
        return Orientation(True, c < 0, b < 0)
    return Orientation(False, a < 0, d < 0)


def upright(image: NDArray[np.uint8], turn: Orientation) -> NDArray[np.uint8]:
    """The picture (height, width, 3) as it is to be shown."""
    import numpy as np

    if turn.transpose:
        image = image.transpose(1, 0, 2)
    step_y, step_x = -1 if turn.mirror_y else 1, -1 if turn.mirror_x else 1
    return np.ascontiguousarray(image[::step_y, ::step_x])
