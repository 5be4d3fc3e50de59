"""What a growing recording comes from, and a connection to it: rtsp, udp, http (plain or HLS), a file that is written to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from vgraph.errors import MediaError, UserError
from vgraph.media.live.addresses import checked_address, is_address
from vgraph.media.live.hls import KINDS, MARK, HlsStream
from vgraph.media.live.http import Body, get
from vgraph.media.paths import checked_path

if TYPE_CHECKING:
    from av.container import InputContainer

Kind = Literal["rtsp", "udp", "http", "file", "folder"]
STREAMED: Final = "mpegts,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,flv,mpeg,h264,hevc,mjpeg,ogg,avi,nut"
"""Formats that can be read from a stream of bytes which names no other file."""
PROBED: Final = 1 << 20
POLL_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Limits:
    """Where streams may lead, and how long to wait. `idle_s`: nothing came for so long, then the connection is made anew (a file has
    ended); pauses between attempts double from `backoff_s` to `longest_backoff_s`."""

    allowed_hosts: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()
    connect_s: float = 10.0
    idle_s: float = 15.0
    backoff_s: float = 1.0
    longest_backoff_s: float = 60.0
    piece_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class Source:
    """A checked source. `identity` is what its document is known by: the address without secrets, or the path."""

    kind: Kind
    place: str
    identity: str

    @property
    def is_wall_clock(self) -> bool:
        """Whether pictures arrive when they are recorded."""
        return self.kind in ("rtsp", "udp", "http")


def source_of(text: str, limits: Limits) -> Source:
    """The source that an address or a path names. Raises UserError for one that may not be read, MediaError for one that is not there."""
    if is_address(text):
        address = checked_address(text, limits.allowed_hosts)
        kind: Kind = "rtsp" if address.scheme.startswith("rtsp") else "udp" if address.scheme == "udp" else "http"
        return Source(kind, text, address.plain)
    path = checked_path(text, limits.roots)
    if not path.exists():
        raise MediaError(f"{path}: does not exist", path=str(path))
    return Source("folder" if path.is_dir() else "file", str(path), str(path.resolve()))


@dataclass(slots=True)
class Connection:
    """An open source. `at_ms` is when its first picture was recorded, where the source tells; `position` where another one goes on.

    `over` says, after its packets have ended, whether nothing more will ever come; `fault` what broke it off.
    """

    container: InputContainer
    at_ms: int | None = None
    over: Callable[[], bool] = lambda: False
    fault: Callable[[], str] = lambda: ""
    position: Callable[[], int | None] = lambda: None


@contextmanager
def connected(source: Source, limits: Limits, stop: threading.Event, position: int | None) -> Iterator[Connection]:
    """Open a source; addresses are checked anew. What PyAV raises inside leaves as a MediaError."""
    import av

    try:
        match source.kind:
            case "rtsp" | "udp":
                with _network(source, limits) as container:
                    yield Connection(container)
            case "http":
                with _over_http(source, limits, stop, position) as connection:
                    yield connection
            case "file":
                with _growing(source, limits, stop) as connection:
                    yield connection
            case _:
                raise UserError(f"{source.identity}: a folder is read file by file")
    except av.FFmpegError as error:
        raise MediaError(f"{source.identity}: {error.strerror or error}", path=source.identity) from error


def _network(source: Source, limits: Limits) -> InputContainer:
    """FFmpeg at the checked number; it may speak no protocol that reads files or asks other hosts."""
    import av

    address = checked_address(source.place, limits.allowed_hosts)
    if source.kind == "rtsp":
        options = {
            "rtsp_transport": "tcp",
            "protocol_whitelist": "rtsp,rtsps,tcp,tls,rtp,udp",
            "format_whitelist": "rtsp,rtp,sdp",
        }
        return av.open(
            address.pinned,
            container_options=options,
            timeout=(limits.connect_s, limits.idle_s),
            metadata_errors="replace",
        )
    options = {
        "protocol_whitelist": "udp",
        "format_whitelist": "mpegts",
        "fifo_size": "100000",
        "overrun_nonfatal": "1",
    }
    return av.open(
        address.pinned,
        format="mpegts",
        container_options=options,
        timeout=(limits.connect_s, limits.idle_s),
        metadata_errors="replace",
    )


@contextmanager
def _over_http(source: Source, limits: Limits, stop: threading.Event, position: int | None) -> Iterator[Connection]:
    body = get(source.place, limits.allowed_hosts, limits.idle_s)
    try:
        first = body.read()
        if body.kind in KINDS or first.lstrip(b"\xef\xbb\xbf").startswith(MARK.encode()):
            text = first.decode("utf-8", "replace") + body.text()
            with _playlist(
                HlsStream(body.url, text, limits.allowed_hosts, limits.idle_s, stop, position)
            ) as connection:
                yield connection
        else:
            reader = _Plain(first, body, stop)
            with _read_from(reader) as container:
                yield Connection(container, over=lambda: reader.ended, fault=lambda: reader.fault)
    finally:
        body.close()


@contextmanager
def _playlist(stream: HlsStream) -> Iterator[Connection]:
    try:
        with _read_from(stream) as container:
            yield Connection(
                container,
                stream.at_ms,
                over=lambda: stream.ended,
                fault=lambda: str(stream.error or ""),
                position=lambda: stream.last,
            )
    finally:
        stream.close()


class _Plain:
    """A reply's body as FFmpeg reads it: the bytes looked at already come first."""

    def __init__(self, first: bytes, body: Body, stop: threading.Event) -> None:
        self._first, self._body, self._stop = first, body, stop
        self.fault, self.ended = "", False

    def read(self, size: int) -> bytes:
        if self._first:
            part, self._first = self._first[:size], self._first[size:]
            return part
        try:
            data = b"" if self._stop.is_set() else self._body.read(size)
        except MediaError as error:
            self.fault = str(error)
            return b""
        self.ended = not data and self._body.is_whole
        return data


class _Growing:
    """A file that is written to: at its end more is waited for, until nothing has come for a while."""

    def __init__(self, path: Path, idle_s: float, stop: threading.Event) -> None:
        self._file = path.open("rb")
        self._idle_s, self._stop = idle_s, stop
        self._ended = False

    def read(self, size: int) -> bytes:
        waited = 0.0
        while not self._ended and not (data := self._file.read(size)):
            self._ended = waited >= self._idle_s or self._stop.wait(POLL_S)
            waited += POLL_S
        return b"" if self._ended else data

    def close(self) -> None:
        self._file.close()


@contextmanager
def _growing(source: Source, limits: Limits, stop: threading.Event) -> Iterator[Connection]:
    reader = _Growing(Path(source.place), limits.idle_s, stop)
    try:
        with _read_from(reader) as container:
            yield Connection(container, over=lambda: True)
    finally:
        reader.close()


def _read_from(reader: Any) -> InputContainer:
    """A container over a stream of bytes, in a format that names no other file; one that asks for another is refused."""
    import av

    options = {"format_whitelist": STREAMED, "protocol_whitelist": "", "probesize": str(PROBED)}
    container: InputContainer = av.open(reader, container_options=options, io_open=_refused, metadata_errors="replace")
    return container


def _refused(url: str, flags: int, options: dict[str, str]) -> Any:
    raise PermissionError(f"a stream may not open {url!r}")
