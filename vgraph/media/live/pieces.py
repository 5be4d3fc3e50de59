"""A growing recording taken down in pieces: packets are copied, not decoded, into files that begin at a key frame."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from vgraph.errors import MediaError
from vgraph.media.container import decodable, fraction, picture_stream, sound_stream
from vgraph.media.live.source import Connection, Limits, Source, connected
from vgraph.media.start import name_time

if TYPE_CHECKING:
    from av import Packet
    from av.container import OutputContainer
    from av.stream import Stream

LEAP_MS: Final = 5_000
"""Presentation times that leap so far from the clock on the wall begin another stretch."""
SETTLED_S: Final = 2.0
"""A file in a folder is whole when nothing was written to it for so long."""
ENDINGS: Final = frozenset([".mp4", ".mkv", ".mov", ".avi", ".webm", ".m4v", ".ts", ".mts", ".mpg", ".mpeg", ".flv"])


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a growing recording as a video file. `start_ms` is the UTC time of its first picture.

    `kept`: the file is the user's own and stays where it is; else it was written here.
    """

    path: Path
    start_ms: int
    kept: bool = False


@dataclass(slots=True)
class Recording:
    """What happens while a source is taken down: `told` is called with faults as they come (a lost connection, a file that is none)."""

    stop: threading.Event
    told: Any = lambda text: None


def pieces(
    source: Source, folder: Path, limits: Limits, recording: Recording, *, begin_ms: int | None = None, done: frozenset[str] = frozenset(),
    tz: str = "UTC",
) -> Iterator[Piece]:  # fmt: skip
    """Pieces as they are finished, until the source has ended or `recording.stop` is set; a lost connection is made anew.

    `begin_ms` is when a file began that tells no time; `done` are paths of a folder's files that were taken before. Raises UserError for
    an address that may not be reached; what passes is told to `recording.told` and tried again after a pause.
    """
    if source.kind == "folder":
        yield from _of_folder(source, recording, done, tz)
        return
    position: int | None = None
    pause = limits.backoff_s
    while not recording.stop.is_set():
        over = False
        try:
            with connected(source, limits, recording.stop, position) as connection:
                for piece in _of_connection(connection, source, folder, limits, recording, begin_ms):
                    pause = limits.backoff_s
                    yield piece
                over, position = connection.over(), connection.position()
                if fault := connection.fault():
                    recording.told(fault)
        except MediaError as error:
            recording.told(str(error))
        if over or recording.stop.wait(pause):
            return
        pause = min(2 * pause, limits.longest_backoff_s)


def _of_connection(
    connection: Connection, source: Source, folder: Path, limits: Limits, recording: Recording, begin_ms: int | None
) -> Iterator[Piece]:
    picture = picture_stream(connection.container)
    if picture is None or not decodable(picture):
        raise MediaError(f"{source.identity}: holds no pictures that can be decoded", path=source.identity)
    sound = sound_stream(connection.container)
    known = connection.at_ms if connection.at_ms is not None else begin_ms
    writer = _Writer(folder, [picture, *([sound] if sound else [])], picture.index, known)
    try:
        for packet in _packets(connection, [picture, *([sound] if sound else [])]):
            if recording.stop.is_set():
                break
            yield from writer.add(packet, limits.piece_ms, follows_clock=source.is_wall_clock and known is None)
        yield from writer.finish()
    finally:
        writer.discard()


def _packets(connection: Connection, streams: list[Any]) -> Iterator[Packet[Stream]]:
    """Packets with a time; a connection that breaks off ends them."""
    import av

    try:
        for packet in connection.container.demux(streams):
            if packet.size and packet.pts is not None and packet.dts is not None:
                yield packet
    except av.FFmpegError as error:
        reason = f"broke off ({error.strerror or error})"
        connection.fault = lambda: reason


class _Writer:
    """Writes packets into pieces; `start_ms` of a piece is that of the stretch and the presentation times since."""

    def __init__(self, folder: Path, streams: list[Any], picture: int, begin_ms: int | None) -> None:
        self._folder, self._streams, self._picture = folder, streams, picture
        self._begin_ms = begin_ms
        self._origin: Fraction | None = None
        self._file: OutputContainer | None = None
        self._out: dict[int, Any] = {}
        self._last: dict[int, int] = {}
        self._path = folder
        self._start = Fraction(0)
        self._pictures = 0

    def add(self, packet: Packet[Stream], piece_ms: int, *, follows_clock: bool) -> Iterator[Piece]:
        at = packet.pts * (fraction(packet.time_base) or Fraction(1, 1000)) * 1000  # type: ignore[operator]
        if packet.stream_index == self._picture and packet.is_keyframe:
            leapt = follows_clock and self._leapt(at)
            if self._file is None or leapt or at - self._start >= piece_ms:
                yield from self.finish()
                self._open(at, leapt)
        if self._file is not None:
            self._write(packet)

    def _leapt(self, at: Fraction) -> bool:
        return self._origin is not None and abs(self._wall(at) - _now_ms()) > LEAP_MS

    def _wall(self, at: Fraction) -> int:
        return (self._begin_ms or 0) + round(at - (self._origin or 0))

    def _open(self, at: Fraction, leapt: bool) -> None:
        if self._origin is None or leapt:
            self._origin = at
            self._begin_ms = _now_ms() if self._begin_ms is None or leapt else self._begin_ms
        import av

        self._folder.mkdir(parents=True, exist_ok=True)
        self._path = self._folder / f".{self._wall(at)}.part"
        self._file = av.open(str(self._path), "w", format="matroska")
        self._out = {stream.index: self._file.add_stream_from_template(stream) for stream in self._streams}
        self._last, self._start, self._pictures = {}, at, 0

    def _write(self, packet: Packet[Stream]) -> None:
        """A packet from before the piece, or out of order, is left out: it would not be shown."""
        base = fraction(packet.time_base) or Fraction(1, 1000)
        shift = round(self._start / 1000 / base)
        dts, pts = packet.dts - shift, packet.pts - shift  # type: ignore[operator]
        index = packet.stream_index
        if pts < 0 or dts <= self._last.get(index, -(1 << 62)):
            return
        self._last[index] = dts
        packet.dts, packet.pts = dts, pts
        packet.stream = self._out[index]
        self._pictures += index == self._picture
        assert self._file is not None
        self._file.mux(packet)

    def finish(self) -> Iterator[Piece]:
        """Close the piece that is open, if it holds pictures."""
        if self._file is None:
            return
        self._file.close()
        self._file = None
        start_ms = self._wall(self._start)
        if not self._pictures:
            self._path.unlink(missing_ok=True)
            return
        whole = self._folder / f"{start_ms}.mkv"
        self._path.replace(whole)
        yield Piece(whole, start_ms)

    def discard(self) -> None:
        """Leave nothing half written."""
        if self._file is not None:
            with suppress(OSError, ValueError):
                self._file.close()
            self._file = None
            self._path.unlink(missing_ok=True)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


# --- a folder that fills ---------------------------------------------------------------------------------------------------


def _of_folder(source: Source, recording: Recording, done: frozenset[str], tz: str) -> Iterator[Piece]:
    """Files of a folder, each when it is whole, in order of name; a file without a time in its name began when it was first written to."""
    taken = set(done)
    while not recording.stop.is_set():
        for path in sorted(Path(source.place).iterdir()):
            if path.suffix.lower() in ENDINGS and str(path) not in taken and _is_whole(path):
                taken.add(str(path))
                yield Piece(path, _began(path, tz), kept=True)
            if recording.stop.is_set():
                return
        recording.stop.wait(SETTLED_S / 4)


def _is_whole(path: Path) -> bool:
    try:
        return path.is_file() and time.time() - path.stat().st_mtime >= SETTLED_S
    except OSError:
        return False


def _began(path: Path, tz: str) -> int:
    named = name_time(path.stem, ZoneInfo(tz) if tz != "UTC" else UTC)
    return named if named is not None else -1
