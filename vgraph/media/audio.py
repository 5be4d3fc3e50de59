"""The sound of a video as 16 kHz mono, in pieces, each placed in media time."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from vgraph.errors import UserError
from vgraph.media.container import (
    Warn,
    decode_sound,
    first_picture,
    fraction,
    ignore,
    opened,
    packets,
    rounded,
    sound_stream,
    to_end,
)
from vgraph.types import AudioPiece, Video

if TYPE_CHECKING:
    import numpy as np
    from av.audio.frame import AudioFrame
    from av.audio.resampler import AudioResampler
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from numpy.typing import NDArray

RATE = 16_000
GAP_MS = 60
"""Timestamps may stray this far from the count of samples before sound is taken to be missing."""

BEYOND_MS = 1_000
"""Sound may end this much after the probed duration; anything later has a damaged time."""

LEAD_MS = 1_000
"""Decoding starts this long before the span, so that the decoder and the resampler have settled at its start."""


def audio(
    video: Video, *, piece_ms: int = 30_000, start_ms: int = 0, end_ms: int | None = None, warn: Warn = ignore
) -> Iterator[AudioPiece]:
    """Sound of [start, end) ms of media time in pieces of `piece_ms`, the last of a stretch shorter.

    Media time is that of the pictures: sound before the first picture is left out. Where sound is missing a piece ends
    early and the next begins at its own time, so that offsets hold over gaps; nothing is filled in. A video without
    sound gives no pieces. Damaged packets are passed over and told to `warn`. Raises UserError for a wrong span,
    MediaError when the file cannot be read.
    """
    if piece_ms < 1 or start_ms < 0 or (end_ms is not None and end_ms < start_ms):
        raise UserError(
            f"audio in pieces of {piece_ms} ms from {start_ms} to {end_ms} ms: the piece must be 1 ms or more, "
            "the start 0 or more, the end not before the start"
        )
    return _pieces(video, piece_ms * RATE // 1000, start_ms, end_ms, warn)


def _pieces(video: Video, piece: int, start_ms: int, end_ms: int | None, warn: Warn) -> Iterator[AudioPiece]:
    first, last = start_ms * RATE // 1000, None if end_ms is None else end_ms * RATE // 1000
    cutter = _Cutter(piece)
    for at, samples in _resampled(video, start_ms, end_ms, warn):
        skip = max(0, first - at)
        keep = len(samples) if last is None else max(0, min(len(samples), last - at))
        yield from cutter.add(at + skip, samples[skip:keep])
    yield from cutter.end()


class _Cutter:
    """Joins stretches of samples that touch and cuts them into pieces; positions count samples of media time."""

    def __init__(self, piece: int) -> None:
        self._piece = piece
        self._start = self._length = 0
        self._held: list[NDArray[np.float32]] = []

    def add(self, at: int, samples: NDArray[np.float32]) -> Iterator[AudioPiece]:
        if not len(samples):
            return
        if at != self._start + self._length:
            yield from self.end()
        if not self._held:
            self._start = at
        self._held.append(samples)
        self._length += len(samples)
        while self._length >= self._piece:
            yield self._cut(self._piece)

    def end(self) -> Iterator[AudioPiece]:
        if self._length:
            yield self._cut(self._length)

    def _cut(self, length: int) -> AudioPiece:
        import numpy as np

        joined = np.concatenate(self._held)
        piece = AudioPiece(rounded(Fraction(self._start * 1000, RATE)), joined[:length].copy(), RATE)
        self._start, self._length = self._start + length, self._length - length
        self._held = [joined[length:]] if self._length else []
        return piece


def _resampled(
    video: Video, start_ms: int, end_ms: int | None, warn: Warn
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Stretches of samples with the position of their first; a new resampler after every gap."""
    run: _Run | None = None
    for at_ms, frame in _decoded(video, start_ms, warn):
        if at_ms > video.duration_ms + BEYOND_MS:
            continue  # a damaged time
        if end_ms is not None and at_ms >= end_ms:
            break
        if run is not None and at_ms < run.expected_ms - GAP_MS:
            continue  # sound that was there already: a stream that jumps back
        if run is not None and (at_ms > run.expected_ms + GAP_MS or not run.takes(frame)):
            yield from run.finish()
            run = None
        run = run or _Run(at_ms, frame)
        yield from run.add(frame)
    if run is not None:
        yield from run.finish()


class _Run:
    """Sound of one form without a gap: its position is that of its first frame, then counted in samples."""

    def __init__(self, start_ms: Fraction, frame: AudioFrame) -> None:
        self._form = _form(frame)
        self._position = rounded(start_ms * RATE / 1000)
        self._resampler: AudioResampler = _resampler()
        self.expected_ms = start_ms

    def takes(self, frame: AudioFrame) -> bool:
        return _form(frame) == self._form

    def add(self, frame: AudioFrame) -> Iterator[tuple[int, NDArray[np.float32]]]:
        self.expected_ms += Fraction(frame.samples * 1000, frame.sample_rate)
        frame.pts = None
        yield from self._placed(frame)

    def finish(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        yield from self._placed(None)

    def _placed(self, frame: AudioFrame | None) -> Iterator[tuple[int, NDArray[np.float32]]]:
        for out in self._resampler.resample(frame):
            samples: Any = out.to_ndarray().reshape(-1)
            yield self._position, samples
            self._position += len(samples)


def _form(frame: AudioFrame) -> tuple[int, str, str]:
    return frame.sample_rate, frame.format.name, frame.layout.name


def _resampler() -> AudioResampler:
    from av.audio.resampler import AudioResampler

    return AudioResampler(format="flt", layout="mono", rate=RATE)


def _decoded(video: Video, start_ms: int, warn: Warn) -> Iterator[tuple[Fraction, AudioFrame]]:
    """Frames of sound with their media time in ms, from `start_ms` or a little before."""
    found = first_picture(video.path)
    origin_ms = (found[0].origin_ms or Fraction(0)) if found else Fraction(0)
    with opened(video.path) as container:
        stream = sound_stream(container)
        if stream is None:
            return
        _seek(container, stream, start_ms - LEAD_MS + origin_ms)
        yield from _timed(container, stream, origin_ms, warn)


def _seek(container: InputContainer, stream: AudioStream, to_ms: Fraction) -> None:
    import av

    base = fraction(stream.time_base)
    if to_ms <= 0 or stream.start_time is None or base is None:
        return
    try:
        container.seek(int(to_ms / 1000 / base), stream=stream)
    except av.FFmpegError:
        return  # cannot seek: read from the front


def _timed(
    container: InputContainer, stream: AudioStream, origin_ms: Fraction, warn: Warn
) -> Iterator[tuple[Fraction, AudioFrame]]:
    damaged, next_ms = 0, Fraction(0)
    for packet in to_end(packets(container, [stream], warn)):
        frames = decode_sound(stream, packet)
        damaged += frames is None
        for frame in frames or ():
            if frame.pts is not None and frame.time_base:
                next_ms = frame.pts * (fraction(frame.time_base) or 0) * 1000 - origin_ms
            yield next_ms, frame
            next_ms += Fraction(frame.samples * 1000, frame.sample_rate)
    if damaged:
        warn(f"{container.name}: {damaged} damaged packets of sound were passed over")
