"""The door to PyAV: opens files, reads packets past damage, decodes, and turns timestamps into media time.

Only local files are opened: every other protocol is off, playlists and scripts that name further files are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from vgraph.errors import MediaError

if TYPE_CHECKING:
    from av import Packet
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.rational import AVRational
    from av.stream import Stream
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

Warn = Callable[[str], None]

VIDEO_FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,m4v,h264,hevc,av1,obu,ivf,vc1,flv,asf,ogg,mxf,"
    "nut,wtv,rm,dv,dhav,gxf,yuv4mpegpipe,mjpeg,amv,nsv,gif,apng"
)
AUDIO_FORMATS = "wav,mp3,flac,aac,ac3,eac3,aiff,au,amr,caf,w64,ape,wv,tta,dts"
IMAGE_FORMATS = (
    "jpeg_pipe,png_pipe,bmp_pipe,webp_pipe,gif_pipe,tiff_pipe,j2k_pipe,jpegxl_pipe,jpegls_pipe,psd_pipe,"
    "ppm_pipe,pgm_pipe,pbm_pipe,pam_pipe,qoi_pipe,exr_pipe,hdr_pipe,sgi_pipe,svg_pipe,dds_pipe,ico"
)
DAMAGED_IN_A_ROW = 64
"""Unreadable packets in a row after which the rest of a file is given up."""


def ignore(_: str) -> None:
    """A warning nobody asked for."""


@contextmanager
def opened(path: Path) -> Iterator[InputContainer]:
    """An open container. What PyAV raises inside the block leaves it as a MediaError naming the file."""
    import av

    try:
        container = av.open(f"file:{path}", container_options=_options(), metadata_errors="replace")
        with container:
            yield container
    except (av.FFmpegError, UnicodeEncodeError) as error:
        raise MediaError(f"{path}: {_reason(path, error)}", path=str(path)) from error


def _options() -> dict[str, str]:
    """For the container only: PyAV hands general options to streams too, and some demuxers find those later."""
    return {
        "protocol_whitelist": "file",
        "format_whitelist": f"{VIDEO_FORMATS},{AUDIO_FORMATS},{IMAGE_FORMATS}",
    }


def _reason(path: Path, error: Exception) -> str:
    import av

    if isinstance(error, av.error.EOFError):
        return "ends before its first picture: of zero length, or cut off"
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror})"
    if isinstance(error, av.error.InvalidDataError) and _starts_like_mp4(path):
        return "its index (the moov box) is missing or damaged: the recording was cut off or is still being written"
    return f"not a video that can be opened ({getattr(error, 'strerror', None) or error})"


def _starts_like_mp4(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8)[4:] in {b"ftyp", b"mdat", b"wide", b"free", b"skip"}


def picture_stream(container: InputContainer) -> VideoStream | None:
    """The largest picture stream that is not a cover image."""
    from av.stream import Disposition

    moving = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
    return max(moving, key=_area, default=None)


def _area(stream: VideoStream) -> int:
    return stream.width * stream.height if decodable(stream) else -1


def sound_stream(container: InputContainer) -> AudioStream | None:
    """The default sound stream, else the first, among those that can be decoded."""
    from av.stream import Disposition

    usable = [s for s in container.streams.audio if decodable(s)]
    return min(usable, key=lambda s: not s.disposition & Disposition.default, default=None)


def decodable(stream: Stream) -> bool:
    """Whether this build has a decoder for the stream."""
    return stream.codec_context is not None


def packets(container: InputContainer, streams: Iterable[Stream], warn: Warn = ignore) -> Iterator[Packet[Stream]]:
    """Packets with data, in file order. Damaged ones are stepped over; a hopeless rest is given up, with a warning."""
    import av

    chosen, failures, problem = tuple(streams), 0, ""
    while failures < DAMAGED_IN_A_ROW:
        try:
            for packet in container.demux(*chosen):
                if packet.size:  # an empty one would tell the decoder that the stream has ended
                    failures = 0
                    yield packet
        except (av.FFmpegError, IndexError) as error:  # IndexError: a stream that damage made up
            failures, problem = failures + 1, str(getattr(error, "strerror", None) or "unknown stream")
            continue
        break
    if problem:
        warn(f"damaged packets in the file ({problem})")


def decode_pictures(stream: VideoStream, packet: Packet[Stream] | None) -> list[VideoFrame] | None:
    """Pictures that a packet completes (None drains the decoder); None when the packet is damaged."""
    import av

    try:
        return stream.decode(packet)
    except av.error.EOFError:
        return []
    except av.FFmpegError:
        return None


def decode_sound(stream: AudioStream, packet: Packet[Stream] | None) -> list[AudioFrame] | None:
    """As decode_pictures, for sound."""
    import av

    try:
        return stream.decode(packet)
    except av.error.EOFError:
        return []
    except av.FFmpegError:
        return None


def fraction(value: Fraction | AVRational | None) -> Fraction | None:
    """A rate or time base as the standard library's fraction; PyAV has types of its own, by version."""
    return Fraction(value.numerator, value.denominator) if value else None


def rounded(value: Fraction) -> int:
    """To the nearest whole number, halves up: a frame stored a tick early still counts as on time."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def frame_rate(stream: VideoStream) -> Fraction:
    """Frames a second as the stream declares it, 25 where it declares nothing (as FFmpeg does)."""
    raw = stream.average_rate if stream.start_time is not None else stream.guessed_rate
    return fraction(raw or stream.guessed_rate or stream.average_rate) or Fraction(25)


class Clock:
    """Media time of a picture stream: the first decoded picture is 0.

    A picture without a timestamp follows the one before it at the nominal rate.
    """

    def __init__(self, stream: VideoStream) -> None:
        self._base = (fraction(stream.time_base) or Fraction(1, 1000)) * 1000
        self.step_ms = 1000 / frame_rate(stream)
        """Nominal distance of pictures."""
        self._now: Fraction | None = None
        self.origin_ms: Fraction | None = None
        """The first picture's own timestamp in ms; None until seen, or when pictures carry none."""

    def offset(self, pts: int | None) -> int:
        """Media time in ms of the next picture in order of presentation, from its timestamp."""
        guess = Fraction(0) if self._now is None else self._now + self.step_ms
        if pts is not None and self.origin_ms is None:
            self.origin_ms = pts * self._base - guess
        self._now = guess if pts is None or self.origin_ms is None else pts * self._base - self.origin_ms
        return rounded(self._now)

    def at(self, ticks: int) -> int:
        """Media time in ms of a timestamp."""
        return rounded(ticks * self._base - (self.origin_ms or 0))

    def length(self, ticks: int | None) -> int:
        """A duration in ticks as ms; one frame at the nominal rate when it is not given."""
        return rounded(ticks * self._base if ticks else self.step_ms)

    def ticks(self, offset_ms: int) -> int:
        """The timestamp at, or the last before, a media time in ms."""
        return int((offset_ms + (self.origin_ms or 0)) // self._base)


def first_picture(path: Path) -> tuple[Clock, VideoFrame] | None:
    """The first picture of a file that can be decoded, and the clock it sets; None when there is none."""
    with opened(path) as container:
        stream = picture_stream(container)
        if stream is None or not decodable(stream):
            return None
        clock = Clock(stream)
        for packet in to_end(packets(container, [stream])):
            for picture in decode_pictures(stream, packet) or ():
                clock.offset(picture.pts)
                return clock, picture
    return None


def to_end(items: Iterator[Packet[Stream]]) -> Iterator[Packet[Stream] | None]:
    """Packets, then the None that drains a decoder."""
    yield from items
    yield None
