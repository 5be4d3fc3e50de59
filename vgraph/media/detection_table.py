"""What readers of detections share: frame numbers as media time, boxes that lie in the picture, and the table that holds what was read."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, overload

from vgraph.media.text import Warnings
from vgraph.types import Box, Detection, VideoTrack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ORIGIN = "given"


class FrameTimes:
    """Media time (ms) of frame numbers, from 0; that they are approximate where the rate varies is told once."""

    def __init__(self, picture: VideoTrack, warnings: Warnings) -> None:
        self._picture, self._warnings, self._told = picture, warnings, not picture.variable_rate

    def at(self, frame: int) -> int:
        if not self._told:
            self._warnings.note("counts frames, and the video's frame rate varies: times are approximate")
            self._told = True
        return round(frame * 1000 / self._picture.fps)


def checked(box: Box, picture: VideoTrack, warnings: Warnings, number: int) -> Box | None:
    """The box, or None where it is empty or outside the picture, which is told for line `number`."""
    right, bottom = box.x + box.width, box.y + box.height
    if (
        box.width > 0
        and box.height > 0
        and box.x < picture.width
        and box.y < picture.height
        and right > 0
        and bottom > 0
    ):
        return box
    sides = [box.x, box.y, box.width, box.height]
    warnings.skipped(number, f"box {sides} is empty or outside the {picture.width}x{picture.height} picture")
    return None


class Detections(Sequence[Detection]):
    """Detections in order of time, held as columns: a day of them takes some 60 bytes each. All are of the origin `given`.

    Two are equal when they hold equal detections; `repr` is short, and differs where what they hold does.
    """

    def __init__(self, found: Iterable[Detection] = ()) -> None:
        import numpy as np

        times, sides, names = array("q"), array("d"), array("q")
        labels: dict[str, int] = {}
        tracks: dict[str | None, int] = {}
        for seen in found:
            box = seen.box
            times.append(seen.offset_ms)
            sides.extend((box.x, box.y, box.width, box.height, seen.confidence))
            names.extend((labels.setdefault(seen.label, len(labels)), tracks.setdefault(seen.track, len(tracks))))
        order = np.argsort(np.frombuffer(times, np.int64), kind="stable") if times else np.zeros(0, np.intp)
        self._times = np.frombuffer(times, np.int64)[order] if times else np.zeros(0, np.int64)
        self._sides = np.frombuffer(sides, np.float64).reshape(-1, 5)[order] if sides else np.zeros((0, 5))
        self._names = np.frombuffer(names, np.int64).reshape(-1, 2)[order] if names else np.zeros((0, 2), np.int64)
        self._labels, self._tracks = tuple(labels), tuple(tracks)

    def before(self, end_ms: int) -> Detections:
        """Those that begin before a media time."""
        import numpy as np

        count = int(np.searchsorted(self._times, end_ms))
        return self if count == len(self) else self._rows(slice(count))

    def _rows(self, rows: slice) -> Detections:
        made = Detections.__new__(Detections)
        made._times, made._sides, made._names = self._times[rows], self._sides[rows], self._names[rows]
        made._labels, made._tracks = self._labels, self._tracks
        return made

    def __len__(self) -> int:
        return len(self._times)

    @overload
    def __getitem__(self, index: int) -> Detection: ...

    @overload
    def __getitem__(self, index: slice) -> Detections: ...

    def __getitem__(self, index: int | slice) -> Detection | Detections:
        if isinstance(index, slice):
            return self._rows(index)
        return self._made(self._times[index], self._sides[index], self._names[index])

    def __iter__(self) -> Iterator[Detection]:
        return map(self._made, self._times, self._sides, self._names)

    def _made(self, offset_ms: Any, sides: NDArray[np.float64], names: NDArray[np.int64]) -> Detection:
        x, y, width, height, confidence = sides.tolist()
        label, track = names.tolist()
        box = Box(x, y, width, height)
        return Detection(int(offset_ms), self._labels[label], box, confidence, ORIGIN, self._tracks[track])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        digest = blake2b(repr((self._labels, self._tracks)).encode(errors="replace"), digest_size=12)
        for column in (self._times, self._sides, self._names):
            digest.update(column.tobytes())
        return f"<{len(self)} detections {digest.hexdigest()}>"
