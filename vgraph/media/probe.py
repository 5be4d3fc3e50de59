"""What a file holds: a pass over its packets tells duration, frame distances and damage; one picture is decoded."""

from __future__ import annotations

import datetime
import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from vgraph.errors import MediaError
from vgraph.media.container import (
    AUDIO_FORMATS,
    Clock,
    decodable,
    first_picture,
    fraction,
    frame_rate,
    opened,
    packets,
    picture_stream,
    rounded,
    sound_stream,
)
from vgraph.media.orientation import Orientation, orientation
from vgraph.types import AudioTrack, Video, VideoTrack

if TYPE_CHECKING:
    from av import Packet
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.stream import Stream
    from av.video.stream import VideoStream

REORDER = 64
"""Packets arrive in decoding order; none is further than this from its place in order of presentation."""

STILL_BRANDS = {"heic", "heix", "mif1", "avif", "miaf"}
LEAP_MS = 10_000
"""A packet this far from all before it is doubted."""

DAY_MS = 86_400_000
LONGEST_MS = 31 * DAY_MS

UNSET_YEAR = 1971
"""Clocks that were never set count from 1904 (MP4) or 1970."""

HEADER_FORMATS = {"mov", "matroska", "avi", "asf"}
"""Containers whose header declares a duration, rather than one guessed from size and bit rate."""


def probe(path: Path) -> Video:
    """The facts of a recording; its bytes are read twice in a stream (packets, then SHA-256), nothing is held.

    Width and height are those displayed, rotation (clockwise degrees) applied. Duration, frame count, rate and its
    variability are counted from the packets, not believed from the header; what disagrees, and missing sound, is in
    `warnings`. Raises MediaError for a file that is missing, empty, unreadable, not media, without pictures, only
    sound, only an image, of damaged times, or of which not one picture can be decoded; the message says which.
    """
    path = Path(path)
    size = _size(path)
    with opened(path) as container:
        stream = _pictures_of(container, path)
        found = first_picture(path)
        if found is None:
            raise _nothing_decoded(container, stream, path)
        clock, picture = found
        scan = _scan(container, stream, clock)
        if _still(container, scan):
            raise _refused(path, f"is an image ({stream.codec_context.name}), not a video")
        if scan.duration_ms > LONGEST_MS:
            raise _refused(path, f"would last {scan.duration_ms // DAY_MS} days by its packets: its times are damaged")
        sound = sound_stream(container)
        return Video(
            path=path,
            content_hash=_content_hash(path),
            size=size,
            container=container.format.name,
            duration_ms=scan.duration_ms,
            picture=_track(stream, scan, orientation(picture)),
            audio=_audio(sound) if sound else None,
            created_ms=_created(container, stream, scan.duration_ms),
            warnings=tuple(_warnings(scan, container, stream, sound)),
            timecode=_timecode(container, stream),
        )


def _nothing_decoded(container: InputContainer, stream: VideoStream, path: Path) -> MediaError:
    codec = stream.codec_context.name
    if any(True for _ in packets(container, [stream])):
        return _refused(path, f"not one of its pictures can be decoded ({codec}): damaged or cut off", codec)
    return _refused(path, f"holds no pictures: a {codec} track of zero length", codec)


def _size(path: Path) -> int:
    try:
        if not path.exists():
            raise _refused(path, "does not exist")
        if not path.is_file():
            raise _refused(path, "is a folder or a device, not a file")
        with path.open("rb"):
            size = path.stat().st_size
    except (OSError, ValueError) as error:
        raise _refused(path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if size == 0:
        raise _refused(path, "is empty (0 bytes)")
    return size


def _refused(path: Path, why: str, codec: str | None = None) -> MediaError:
    return MediaError(f"{path}: {why}", path=str(path), codec=codec)


def _content_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _refused(path, f"cannot be read ({error.strerror})") from error


def _pictures_of(container: InputContainer, path: Path) -> VideoStream:
    name = container.format.name
    if name.endswith("_pipe"):
        raise _refused(path, f"is an image ({_codec(container)}), not a video")
    stream = picture_stream(container)
    if stream is None:
        only_sound = container.streams.audio or name in AUDIO_FORMATS.split(",")
        raise _refused(path, "holds only sound, no pictures" if only_sound else "holds no pictures")
    if not decodable(stream):
        raise _refused(path, "its pictures are in a codec that cannot be decoded here, or its header is cut off")
    return stream


def _codec(container: InputContainer) -> str:
    first = next(iter(container.streams.video), None)
    return first.codec_context.name if first is not None and decodable(first) else container.format.name


@dataclass
class _Distances:
    """Distances of neighbouring pictures in ms, from times that come in decoding order."""

    shortest: int | None = None
    longest: int = 0
    first: int | None = None
    last: int | None = None
    waiting: list[int] = field(default_factory=list)

    def add(self, offset_ms: int) -> None:
        heapq.heappush(self.waiting, offset_ms)
        if len(self.waiting) > REORDER:
            self._pass(heapq.heappop(self.waiting))

    def finish(self) -> None:
        while self.waiting:
            self._pass(heapq.heappop(self.waiting))

    def _pass(self, offset_ms: int) -> None:
        if self.last is None:
            self.first = offset_ms
        else:
            distance = offset_ms - self.last
            self.shortest = distance if self.shortest is None else min(self.shortest, distance)
            self.longest = max(self.longest, distance)
        self.last = offset_ms

    @property
    def span(self) -> int:
        return (self.last or 0) - (self.first or 0)


@dataclass
class _Times:
    """Times of one stream's packets; one that leaps ahead is believed when the next one follows it there."""

    end_ms: int = 0
    disbelieved: int = 0
    distances: _Distances = field(default_factory=_Distances)
    _doubted: tuple[int, int] | None = None

    def add(self, start_ms: int, end_ms: int) -> None:
        if self._doubted is not None:
            self._settle(start_ms >= self._doubted[0] - LEAP_MS)
        if start_ms > self.end_ms + LEAP_MS:
            self._doubted = (start_ms, end_ms)
        elif start_ms < -LEAP_MS:
            self.disbelieved += 1
        else:
            self._believe(start_ms, end_ms)

    def finish(self, declared_ms: int) -> None:
        """After the last packet: a leap then is believed when the header says that the recording is so long."""
        if self._doubted is not None:
            self._settle(self._doubted[0] <= declared_ms)
        self.distances.finish()

    def _settle(self, believed: bool) -> None:
        doubted, self._doubted = self._doubted, None
        if believed and doubted is not None:
            self._believe(*doubted)
        else:
            self.disbelieved += 1

    def _believe(self, start_ms: int, end_ms: int) -> None:
        self.distances.add(start_ms)
        self.end_ms = max(self.end_ms, end_ms)


@dataclass
class _Scan:
    """What the packets of a file say; times in ms of media time."""

    clock: Clock
    count: int = 0
    pictures: _Times = field(default_factory=_Times)
    sound: _Times = field(default_factory=_Times)
    problems: list[str] = field(default_factory=list)

    @property
    def duration_ms(self) -> int:
        """End of the pictures; of the sound where that goes on for more than a second."""
        longer = self.sound.end_ms > self.pictures.end_ms + 1000
        return self.sound.end_ms if longer else self.pictures.end_ms

    @property
    def variable(self) -> bool:
        """Whether distances differ by more than whole-ms rounding and a twentieth of their mean."""
        distances = self.pictures.distances
        mean = distances.span / max(1, self.count - 1)
        return distances.longest - (distances.shortest or 0) > max(2, mean / 20)

    def add_picture(self, packet: Packet[Stream]) -> None:
        self.count += 1
        if packet.pts is None:
            self.pictures.end_ms = rounded(self.count * self.clock.step_ms)
            return
        offset_ms = self.clock.at(packet.pts)
        self.pictures.add(offset_ms, offset_ms + self.clock.length(packet.duration))

    def add_sound(self, packet: Packet[Stream]) -> None:
        base = fraction(packet.time_base)
        if packet.pts is not None and base is not None:
            start = packet.pts * base * 1000 - (self.clock.origin_ms or 0)
            self.sound.add(rounded(start), rounded(start + (packet.duration or 0) * base * 1000))

    def finish(self, declared_ms: int) -> None:
        self.pictures.finish(declared_ms)
        self.sound.finish(declared_ms)
        disbelieved = self.pictures.disbelieved + self.sound.disbelieved
        if disbelieved:
            self.problems.append(f"{disbelieved} packets with times far out of place were not believed")


def _scan(container: InputContainer, stream: VideoStream, clock: Clock) -> _Scan:
    scan, sound = _Scan(clock), sound_stream(container)
    for packet in packets(container, [stream, sound] if sound else [stream], scan.problems.append):
        if packet.is_discard:
            continue  # before the cut that the container's edit list makes
        if packet.stream_index == stream.index:
            scan.add_picture(packet)
        else:
            scan.add_sound(packet)
    scan.finish(_declared_ms(container, stream))
    return scan


def _still(container: InputContainer, scan: _Scan) -> bool:
    brand = container.metadata.get("major_brand", "").strip()
    return scan.count <= 1 and (container.format.name in {"gif", "apng"} or brand in STILL_BRANDS)


def _track(stream: VideoStream, scan: _Scan, turn: Orientation) -> VideoTrack:
    across, down = stream.width, stream.height
    return VideoTrack(
        codec=stream.codec_context.name,
        width=down if turn.transpose else across,
        height=across if turn.transpose else down,
        rotation=turn.clockwise,
        fps=_fps(stream, scan),
        variable_rate=scan.variable,
        frames=scan.count,
    )


def _fps(stream: VideoStream, scan: _Scan) -> float:
    """The declared rate where the packets bear it out within one in a hundred, else what they average."""
    declared = float(frame_rate(stream))
    if scan.count < 2 or scan.pictures.distances.span <= 0:
        return declared
    counted = (scan.count - 1) * 1000 / scan.pictures.distances.span
    return declared if abs(counted - declared) <= declared / 100 else counted


def _audio(stream: AudioStream) -> AudioTrack:
    return AudioTrack(stream.codec_context.name, stream.sample_rate, stream.channels, stream.language)


def _warnings(scan: _Scan, container: InputContainer, stream: VideoStream, sound: AudioStream | None) -> Iterator[str]:
    yield from scan.problems
    declared, found = _declared_ms(container, stream), max(scan.pictures.end_ms, scan.sound.end_ms)
    if declared - found > max(1000, declared // 50):
        yield f"ends after {found / 1000:.1f} s of the {declared / 1000:.1f} s its header declares: cut off?"
    if sound is None:
        yield "sound track in a codec that cannot be decoded here" if container.streams.audio else "no sound track"
    elif scan.duration_ms > scan.pictures.end_ms:
        yield f"pictures end at {scan.pictures.end_ms / 1000:.1f} s, sound goes on to {scan.duration_ms / 1000:.1f} s"


def _declared_ms(container: InputContainer, stream: VideoStream) -> int:
    """The length by the header: its duration, or its count of frames (which AVI keeps when it is cut); 0: none given."""
    if not set(container.format.name.split(",")) & HEADER_FORMATS:
        return 0
    return max((container.duration or 0) // 1000, rounded(stream.frames * 1000 / frame_rate(stream)))


def _timecode(container: InputContainer, stream: VideoStream) -> str | None:
    """The timecode that the picture's stream, a timecode track (`tmcd`) or the container tells."""
    held = [stream.metadata, *(data.metadata for data in container.streams.data), container.metadata]
    return next((tag for tags in held if (tag := tags.get("timecode"))), None)


def _created(container: InputContainer, stream: VideoStream, duration_ms: int) -> int | None:
    """When recording began by the container's metadata, UTC ms. Android writes the end of recording: corrected here."""
    tags = {name.lower(): value for name, value in (*stream.metadata.items(), *container.metadata.items())}
    exact = created_ms(tags.get("com.apple.quicktime.creationdate", ""))
    if exact is not None:
        return exact
    written = created_ms(tags.get("creation_time", ""))
    android = any(name.startswith("com.android.") for name in tags)
    return written - duration_ms if written is not None and android else written


def created_ms(text: str) -> int | None:
    """A creation time as UTC ms; None where it says nothing: absent, unreadable, or an unset clock (1904, 1970)."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    ms = rounded(Fraction(moment.timestamp()) * 1000)
    return ms if moment.year > UNSET_YEAR else None
