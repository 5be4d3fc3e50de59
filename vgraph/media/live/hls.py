"""HLS (RFC 8216): a playlist that is asked for again and again, its segments read one after the other as one stream of bytes.

The segments are fetched here and not by FFmpeg, so that a playlist can lead to nothing but its own host. Encrypted segments and
byte ranges are not read.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urljoin, urlsplit

from vgraph.errors import MediaError
from vgraph.media.live.http import READ, Body, get

KINDS: Final = {"application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl"}
MARK: Final = "#EXTM3U"
BEHIND: Final = 3
"""A live playlist is begun so many segments before its end (RFC 8216, section 6.3.3)."""
SEGMENTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class MediaSegment:
    """A segment of a media playlist: its number in the stream, where it lies, how long it is, when it was recorded if that is told."""

    number: int
    url: str
    seconds: float
    at_ms: int | None
    breaks: bool
    start_with: str | None


@dataclass(frozen=True, slots=True)
class Playlist:
    segments: tuple[MediaSegment, ...]
    ended: bool
    target_s: float


def best_variant(text: str, url: str) -> str | None:
    """The address of the media playlist with the highest bandwidth that a master playlist names; None for a media playlist."""
    found: list[tuple[int, str]] = []
    bandwidth: int | None = None
    for line in text.splitlines():
        if line.startswith("#EXT-X-STREAM-INF:"):
            match = re.search(r"(?<![A-Z-])BANDWIDTH=(\d+)", line)
            bandwidth = int(match[1]) if match else 0
        elif line.strip() and not line.startswith("#") and bandwidth is not None:
            found.append((bandwidth, urljoin(url, line.strip())))
            bandwidth = None
    return max(found)[1] if found else None


def parsed(text: str, url: str) -> Playlist:
    """A media playlist. Raises MediaError for what is none, and for encryption and byte ranges, which are not read."""
    if not text.lstrip("\ufeff").startswith(MARK):
        raise MediaError(f"{_shown(url)}: is no playlist", path=_shown(url))
    number, target, seconds = 0, 10.0, 0.0
    at_ms: int | None = None
    breaks, ended, begin = False, False, None
    segments: list[MediaSegment] = []
    for line in map(str.strip, text.splitlines()):
        name, _, value = line.partition(":")
        match name:
            case "#EXT-X-MEDIA-SEQUENCE":
                number = _whole(value)
            case "#EXT-X-TARGETDURATION":
                target = max(0.5, _number(value))
            case "#EXTINF":
                seconds = _number(value.partition(",")[0])
            case "#EXT-X-PROGRAM-DATE-TIME":
                at_ms = _moment(value)
            case "#EXT-X-DISCONTINUITY":
                breaks = True
            case "#EXT-X-ENDLIST":
                ended = True
            case "#EXT-X-MAP":
                begin = _attribute(value, "URI", url)
            case "#EXT-X-KEY" if "METHOD=NONE" not in value:
                raise MediaError(f"{_shown(url)}: its segments are encrypted, which is not read", path=_shown(url))
            case "#EXT-X-BYTERANGE":
                raise MediaError(f"{_shown(url)}: its segments are byte ranges, which are not read", path=_shown(url))
            case _ if line and not line.startswith("#") and len(segments) < SEGMENTS:
                segments.append(MediaSegment(number, urljoin(url, line), seconds, at_ms, breaks, begin))
                number, breaks, at_ms = number + 1, False, None
    return Playlist(tuple(segments), ended, target)


def _attribute(value: str, name: str, url: str) -> str | None:
    match = re.search(rf'{name}="([^"]*)"', value)
    return urljoin(url, match[1]) if match else None


def _whole(text: str) -> int:
    return int(text) if text.strip().isdigit() else 0


def _number(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 3600.0)
    except ValueError:
        return 0.0


def _moment(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


class HlsStream:
    """The segments of a playlist as one stream of bytes, from where it is live until it ends or one is missing.

    `at_ms` is when the first picture was recorded (UTC), where the playlist tells. `last` is the number of the segment read last, from
    which another stream goes on (`after`); `ended` says that nothing follows it, `error` what broke the stream off.
    """

    def __init__(
        self, url: str, text: str, allowed: Sequence[str], timeout_s: float, stop: threading.Event, after: int | None
    ) -> None:
        self._allowed, self._timeout_s, self._stop = allowed, timeout_s, stop
        self._host = frozenset({urlsplit(url).hostname or ""})
        self._url = url
        variant = best_variant(text, url)
        if variant is not None:
            self._url, text = variant, self._fetched(variant)
        self._playlist = parsed(text, self._url)
        self.last, self.ended = after, False
        self.at_ms: int | None = None
        self.error: MediaError | None = None
        self._body: Body | None = None
        self._pending: list[MediaSegment] = []
        self._begun, self._began_with = False, ""
        self._open()

    def read(self, size: int = READ) -> bytes:
        """The next bytes; none when the stream has ended, is broken off or is to stop."""
        try:
            return self._read(size)
        except (
            MediaError
        ) as error:  # FFmpeg asks for these bytes: it is told of an end, whoever asked FFmpeg of the reason
            self.error = error
            return b""

    def _read(self, size: int) -> bytes:
        while not self._stop.is_set() and self._body is not None:
            if data := self._body.read(size):
                return data
            self._body.close()
            self._body = None
            self._open()
        return b""

    def _open(self) -> None:
        """Open the next segment, or what it must begin with; nothing where none follows."""
        segment = self._following()
        if segment is None:
            return
        if segment.start_with is not None and segment.start_with != self._began_with:
            self._began_with = segment.start_with
            self._body = self._got(segment.start_with)
            return
        self._pending.pop(0)
        self._body = self._got(segment.url)
        if not self._begun:
            self._begun, self.at_ms = True, segment.at_ms
        self.last = segment.number

    def _following(self) -> MediaSegment | None:
        """The next segment, if it joins on to the last one: else another stream begins with it."""
        if not self._pending and not self._more():
            return None
        segment = self._pending[0]
        joins = segment.number == (self.last or 0) + 1 and not segment.breaks
        return segment if joins or not self._begun else None

    def _more(self) -> bool:
        """Ask for the playlist until it names a segment that was not read yet; False when there will be none."""
        while True:
            known = self._playlist.segments
            if self.last is None:
                self._pending = list(known if self._playlist.ended else known[-BEHIND:])
            else:
                self._pending = [segment for segment in known if segment.number > self.last]
            if self._pending:
                return True
            self.ended = self._playlist.ended
            if self.ended or self._stop.wait(self._playlist.target_s / 2):
                return False
            self._playlist = parsed(self._fetched(self._url), self._url)

    def _got(self, url: str) -> Body:
        return get(url, self._allowed, self._timeout_s, hosts=self._host)

    def _fetched(self, url: str) -> str:
        body = self._got(url)
        try:
            return body.text()
        finally:
            body.close()

    def close(self) -> None:
        if self._body is not None:
            self._body.close()


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{parts.path}"
