"""Write H.264 in MP4: the synthetic world and the tests make their videos here.

The file appears under its name only when it is whole: it is written as `.<name>.part` beside it and renamed on close.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from vgraph.errors import MediaError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TICKS = 90_000
"""Ticks a second of the picture's time base: exact for 24, 25, 29.97, 30, 50 and 60 Hz, and for whole ms."""

KEY_FRAME_S = 2
AAC_FRAME = 1024

_UNIT, _MINUS, _W = 1 << 16, -(1 << 16) & 0xFFFFFFFF, 1 << 30
_MATRICES = {  # ISO/IEC 14496-12, tkhd: a b u c d v x y w, by the clockwise turn a player has to make
    0: (_UNIT, 0, 0, 0, _UNIT, 0, 0, 0, _W),
    90: (0, _UNIT, 0, _MINUS, 0, 0, 0, 0, _W),
    180: (_MINUS, 0, 0, 0, _MINUS, 0, 0, 0, _W),
    270: (0, _MINUS, 0, _UNIT, 0, 0, 0, 0, _W),
}


class Mp4Writer:
    """Writes RGB frames, and mono sound when `audio_rate` is given, as H.264 and AAC; a key frame every two seconds.

    `fps` sets the distance of frames written without a time and the length of the last one; a frame may carry any
    later time in ms instead (variable rate). `creation_ms` (UTC) goes into the container, to the second. `rotation`
    (0, 90, 180 or 270 degrees clockwise) is how a player must turn the picture. Leaving the `with` block by an error
    leaves no file. Raises MediaError.
    """

    def __init__(
        self,
        path: Path | str,
        width: int,
        height: int,
        fps: float | Fraction,
        audio_rate: int | None = None,
        creation_ms: int | None = None,
        rotation: int = 0,
        *,
        quality: int = 26,
        preset: str = "veryfast",
    ) -> None:
        self.path = Path(path)
        self.width, self.height, self.rotation = width, height, rotation
        self._part = self.path.with_name(f".{self.path.name}.part")
        self._check(Fraction(fps))
        self._step = round(TICKS / Fraction(fps))
        self._last, self._key_due = -1, 0
        self._samples = 0
        with self._translated():
            self._open(Fraction(fps).limit_denominator(1001), audio_rate, creation_ms, quality, preset)

    def _check(self, fps: Fraction) -> None:
        if self.width < 2 or self.height < 2 or self.width % 2 or self.height % 2:
            raise self._error(f"a picture of {self.width}x{self.height} cannot be coded: width and height must be even")
        if not self.path.parent.is_dir():
            raise self._error(f"there is no folder {self.path.parent}")
        if fps <= 0:
            raise self._error(f"{fps} frames a second: must be above 0")
        if self.rotation not in _MATRICES:
            raise self._error(f"rotation {self.rotation}: must be 0, 90, 180 or 270")

    def _open(self, fps: Fraction, audio_rate: int | None, creation_ms: int | None, quality: int, preset: str) -> None:
        import av
        import numpy as np

        # "file:" keeps a name with a colon from being read as a network protocol
        self._container: Any = av.open(f"file:{self._part}", "w", format="mp4", options={"movflags": "+faststart"})
        if creation_ms is not None:
            self._container.metadata["creation_time"] = _iso(creation_ms)
        picture: Any = self._container.add_stream("libx264", rate=fps)
        picture.width, picture.height, picture.pix_fmt = self.width, self.height, "yuv420p"
        picture.time_base = picture.codec_context.time_base = Fraction(1, TICKS)
        picture.codec_context.gop_size = max(1, round(KEY_FRAME_S * fps))
        picture.codec_context.thread_count = 1
        picture.options = {"preset": preset, "crf": str(quality)}
        self._picture = picture
        self._sound: Any = None
        if audio_rate is not None:
            self._sound = self._container.add_stream("aac", rate=audio_rate, layout="mono")
            self._pending: NDArray[np.float32] = np.zeros(0, np.float32)

    def write(self, image: NDArray[np.uint8], at_ms: float | None = None) -> None:
        """Add a frame, uint8 RGB (height, width, 3), at a media time in ms (default: one frame after the last)."""
        import av

        if image.shape != (self.height, self.width, 3):
            raise self._error(f"a frame has shape {image.shape}, the video {(self.height, self.width, 3)}")
        pts = self._next() if at_ms is None else round(at_ms * TICKS / 1000)
        if pts <= self._last:
            raise self._error(f"a frame at {pts * 1000 // TICKS} ms does not follow the one before it")
        with self._translated():
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base, frame.duration = pts, Fraction(1, TICKS), self._step
            if pts >= self._key_due:
                frame.pict_type = av.video.frame.PictureType.I
                self._key_due = pts + KEY_FRAME_S * TICKS
            self._mux(self._picture, frame)
        self._last = pts

    def _next(self) -> int:
        return 0 if self._last < 0 else self._last + self._step

    def write_audio(self, samples: NDArray[np.float32]) -> None:
        """Add mono samples in [-1, 1] after those written before."""
        import numpy as np

        if self._sound is None:
            raise self._error("no sound track was asked for: give audio_rate")
        self._pending = np.concatenate([self._pending, np.clip(samples, -1, 1).astype(np.float32)])
        whole = len(self._pending) // AAC_FRAME * AAC_FRAME
        with self._translated():
            for start in range(0, whole, AAC_FRAME):
                self._write_sound(self._pending[start : start + AAC_FRAME])
        self._pending = self._pending[whole:]

    def _write_sound(self, samples: NDArray[np.float32]) -> None:
        import av

        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = self._sound.rate, self._samples
        frame.time_base = Fraction(1, self._sound.rate)
        self._samples += len(samples)
        self._mux(self._sound, frame)

    def _mux(self, stream: Any, frame: Any) -> None:
        for packet in stream.encode(frame):
            self._container.mux(packet)

    def close(self) -> None:
        """Finish the file and give it its name."""
        if self._last < 0:
            self.discard()
            raise self._error("no frame was written")
        with self._translated():
            if self._sound is not None and len(self._pending):
                self._write_sound(self._pending)
            for stream in filter(None, (self._picture, self._sound)):
                self._mux(stream, None)
            self._container.close()
            if self.rotation:
                _turn(self._part, self.rotation)
            self._part.replace(self.path)

    def discard(self) -> None:
        """Give up: no file is left."""
        with self._translated():
            try:
                self._container.close()
            finally:
                self._part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _error(self, message: str) -> MediaError:
        return MediaError(f"cannot write {self.path}: {message}", path=str(self.path), codec="h264")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        import av

        try:
            yield
        except (av.FFmpegError, OSError, ValueError) as error:
            raise self._error(str(error)) from error


def _iso(ms: int) -> str:
    moment = datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}000Z"


def _turn(path: Path, rotation: int) -> None:
    """Set the matrix of the picture's track header; the muxer offers no way to."""
    with path.open("r+b") as file:
        for kind, start, end in _boxes(file, 0, path.stat().st_size):
            if kind == b"moov":
                track = next(box for box in _boxes(file, start, end) if box[0] == b"trak")
                header = next(box for box in _boxes(file, *track[1:]) if box[0] == b"tkhd")
                file.seek(header[1])
                matrix = header[1] + (52 if file.read(1) == b"\1" else 40)
                file.seek(matrix)
                file.write(struct.pack(">9I", *_MATRICES[rotation]))
                return


def _boxes(file: BinaryIO, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The boxes of an MP4 between two positions: kind, start and end of the content."""
    while start + 8 <= end:
        file.seek(start)
        size, kind = struct.unpack(">I4s", file.read(8))
        head = 8
        if size == 1:
            size, head = struct.unpack(">Q", file.read(8))[0], 16
        yield kind, start + head, start + size
        start += size
