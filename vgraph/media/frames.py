"""Pictures of a video at a steady distance in media time, decoded as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vgraph.errors import MediaError, UserError
from vgraph.media.container import Clock, Warn, decode_pictures, first_picture, ignore, opened, packets, picture_stream
from vgraph.media.orientation import orientation, upright
from vgraph.types import Frame, Segment, Video

if TYPE_CHECKING:
    import numpy as np
    from av import Packet
    from av.container import InputContainer
    from av.stream import Stream
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream
    from numpy.typing import NDArray

HELD_PACKETS, HELD_BYTES = 512, 32 << 20
"""At most this much of a stream waits undecoded for a key frame that makes decoding it unnecessary."""

BEYOND_MS = 1_000
"""Pictures may end this much after the probed duration; anything later has a damaged time."""

FIRST_STEP_BACK_MS = 2_000


def frames(
    video: Video,
    every_ms: int,
    *,
    start_ms: int = 0,
    end_ms: int | None = None,
    width: int | None = None,
    warn: Warn = ignore,
) -> Iterator[Frame]:
    """The first picture at or after each of start, start + every, start + 2 every … before end, each picture once.

    Times are media ms by presentation timestamp (0: the first picture). `width` in pixels shrinks, never enlarges, the
    picture as displayed. Nothing but the current picture is held. Stretches that are shown before the next picture
    asked for are not decoded where a key frame allows it; the pictures chosen are the same. A damaged stretch is passed
    over and told to `warn`. Raises UserError for a wrong distance, width or span, MediaError when the file cannot be
    read or none of it can be decoded.
    """
    if every_ms < 1 or start_ms < 0 or (end_ms is not None and end_ms < start_ms) or (width is not None and width < 1):
        raise UserError(
            f"frames every {every_ms} ms from {start_ms} to {end_ms} ms, width {width}: "
            "the distance and the width must be 1 or more, the start 0 or more, the end not before the start"
        )
    return _frames(video, Due(every_ms, start_ms, end_ms, video.duration_ms), width, warn)


def distance_ms(segment: Segment, every_ms: int, most: int) -> int:
    """How far apart a segment's pictures are taken: `every_ms`, and for a scene so far that `most` of them are spread over it (OmAgent)."""
    if segment.boundary != "scene":
        return every_ms
    return max(every_ms, -(-(segment.end_offset_ms - segment.offset_ms) // most))


class Due:
    """The media time (ms) of the next picture wanted. Times after `last_ms` are damage, and not the end of the span."""

    def __init__(self, every_ms: int, start_ms: int, end_ms: int | None, duration_ms: int) -> None:
        self.every_ms, self.start_ms, self.last_ms = every_ms, start_ms, duration_ms + BEYOND_MS
        self.end_ms = self.last_ms if end_ms is None else min(end_ms, self.last_ms)
        self.ms = start_ms

    def took(self, offset_ms: int) -> None:
        self.ms = offset_ms - (offset_ms - self.start_ms) % self.every_ms + self.every_ms

    def over(self, offset_ms: int) -> bool:
        return self.end_ms <= offset_ms <= self.last_ms

    def now(self, offset_ms: int) -> bool:
        return self.ms <= offset_ms < self.end_ms


class _Missed(Exception):  # noqa: N818 - a turn in the reading, not an error
    """The decoder came up only after the picture wanted: no true key frame, so reading starts again further back."""


def _frames(video: Video, due: Due, width: int | None, warn: Warn) -> Iterator[Frame]:
    back_ms = 0
    while due.ms < min(due.end_ms, video.duration_ms):
        try:
            yield from _read(video, due, width, back_ms, warn)
            return
        except _Missed:
            back_ms = max(FIRST_STEP_BACK_MS, back_ms * 4)


def _read(video: Video, due: Due, width: int | None, back_ms: int, warn: Warn) -> Iterator[Frame]:
    with opened(video.path) as container:
        stream = picture_stream(container)
        if stream is None:
            raise MediaError(f"{video.path}: holds no pictures any more", path=str(video.path))
        reader = Reader(container, stream, due, back_ms, warn)
        reader.seek(video)
        for offset_ms, picture in reader:
            if due.over(offset_ms):
                break
            if due.now(offset_ms):
                yield Frame(offset_ms, _image(picture, width))
                due.took(offset_ms)
        reader.report(video)


def _image(picture: VideoFrame, width: int | None) -> NDArray[np.uint8]:
    turn = orientation(picture)
    across, down = picture.width, picture.height
    shown = down if turn.transpose else across
    if width is not None and width < shown:
        across, down = max(1, round(across * width / shown)), max(1, round(down * width / shown))
    pixels: Any = picture.to_ndarray(format="rgb24", width=across, height=down)
    return upright(pixels, turn)


class Reader:
    """Decoded pictures of a stream with their media times, in order; skips what `due` makes unnecessary."""

    def __init__(self, container: InputContainer, stream: VideoStream, due: Due, back_ms: int, warn: Warn) -> None:
        self._container, self._stream, self._due, self._back_ms, self._warn = container, stream, due, back_ms, warn
        self._clock = Clock(stream)
        self._skips = back_ms == 0 and timestamps_are_sound(container, stream)
        self._jumped = False
        self._fed = self._damaged = self._decoded = self._held_bytes = 0
        stream.thread_type = "AUTO"

    def seek(self, video: Video) -> None:
        """Go to the last key frame before what is due, where timestamps can be trusted; else stay at the front."""
        import av

        target = self._due.ms - self._back_ms
        if target <= 0 or not timestamps_are_sound(self._container, self._stream):
            return
        found = first_picture(video.path)
        if found is None or found[0].origin_ms is None:
            return
        clock, _ = found
        try:
            self._container.seek(clock.ticks(target), stream=self._stream)
        except av.FFmpegError:
            return  # this container cannot seek, and still stands at the front
        self._clock.origin_ms = clock.origin_ms
        self._jumped = True

    def __iter__(self) -> Iterator[tuple[int, VideoFrame]]:
        for packet in self._needed():
            self._fed += 1
            pictures = decode_pictures(self._stream, packet)
            self._damaged += pictures is None
            for picture in pictures or ():
                yield self._timed(picture), picture
        if self._jumped:  # landed where no picture can be decoded any more
            raise _Missed

    def _timed(self, picture: VideoFrame) -> int:
        offset_ms = self._clock.offset(picture.pts)
        if self._jumped and offset_ms > self._due.ms:
            raise _Missed
        self._jumped = False
        self._decoded += 1
        return offset_ms

    def _needed(self) -> Iterator[Packet[Stream] | None]:
        """Packets to decode, then None to drain. Those before a key frame not after what is due are dropped."""
        held: list[Packet[Stream]] = []
        for packet in packets(self._container, [self._stream], self._warn):
            time = packet.dts if packet.dts is not None else packet.pts
            if time is not None and self._clock.origin_ms is not None and self._due.over(self._clock.at(time)):
                break
            if held or self._fed:
                held = self._dropped(held, packet)
            held.append(packet)
            self._held_bytes += packet.size
            if not self._may_wait(held, time):
                yield from held
                held, self._held_bytes = [], 0
        yield from held
        yield None

    def _dropped(self, held: list[Packet[Stream]], packet: Packet[Stream]) -> list[Packet[Stream]]:
        if not self._starts_afresh(packet):
            return held
        self._stream.codec_context.flush_buffers()
        self._jumped, self._held_bytes = True, 0
        return []

    def _starts_afresh(self, packet: Packet[Stream]) -> bool:
        known = self._skips and packet.is_keyframe and packet.pts is not None and self._clock.origin_ms is not None
        return known and self._clock.at(packet.pts or 0) <= self._due.ms

    def _may_wait(self, held: list[Packet[Stream]], time: int | None) -> bool:
        if not self._skips or time is None or self._clock.origin_ms is None or self._clock.at(time) >= self._due.ms:
            return False
        return len(held) < HELD_PACKETS and self._held_bytes < HELD_BYTES

    def report(self, video: Video) -> None:
        """Tell of damage; MediaError when packets were there and none gave a picture."""
        where = f"{video.path} from {self._due.start_ms} ms"
        if self._damaged and not self._decoded:
            raise MediaError(
                f"{where}: no picture can be decoded ({video.picture.codec})",
                path=str(video.path),
                offset_ms=self._due.start_ms,
                codec=video.picture.codec,
            )
        if self._damaged:
            self._warn(f"{where}: {self._damaged} damaged packets were passed over")


def timestamps_are_sound(container: InputContainer, stream: VideoStream) -> bool:
    """Whether packets carry presentation times: not in raw streams, nor in AVI when pictures are reordered."""
    if stream.start_time is None:
        return False
    return container.format.name != "avi" or not stream.codec_context.has_b_frames
