"""Real sources of growing recordings, made here: MPEG-TS in pieces, an HTTP and HLS server, a sender of UDP, a small RTSP server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import av
import numpy as np


def ts_bytes(seconds: float, *, begin: float = 0.0, fps: int = 10, gop: int = 5) -> bytes:
    """MPEG-TS of `seconds` with a key frame every `gop` frames, its times beginning at `begin` seconds; the picture tells the second."""
    buffer = BytesIO()
    with av.open(buffer, "w", format="mpegts") as container:
        write_ts(container, seconds, begin=begin, fps=fps, gop=gop)
    return buffer.getvalue()


def write_ts(
    container: Any, seconds: float, *, begin: float = 0.0, fps: int = 10, gop: int = 5, pace: float = 0.0
) -> None:
    """`pace`: real seconds a second of video takes."""
    stream = container.add_stream("libx264", rate=fps)
    stream.width, stream.height, stream.pix_fmt, stream.gop_size = 64, 48, "yuv420p", gop
    stream.options = {
        "preset": "ultrafast",
        "tune": "zerolatency",
        "x264-params": f"keyint={gop}:scenecut=0:repeat-headers=1",
    }
    for number in range(round(seconds * fps)):
        picture = np.full((48, 64, 3), (int(begin + number / fps) * 37) % 255, np.uint8)
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame.pts = number + round(begin * fps)
        for packet in stream.encode(frame):
            container.mux(packet)
        if pace:
            time.sleep(pace / fps)
    for packet in stream.encode(None):
        container.mux(packet)


@dataclass
class Files:
    """An HTTP server: path -> (kind, bytes), or a function that writes to the connection; `asked` are the paths asked for."""

    files: dict[str, tuple[str, bytes] | Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                found = server.files.get(self.path.split("?")[0])
                if found is None:
                    self.send_error(404)
                elif callable(found):
                    found(self)
                else:
                    kind, content = found
                    self.send_response(200)
                    self.send_header("content-type", kind)
                    self.send_header("content-length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def playlist(
    names: list[str], *, first: int = 0, seconds: float = 1.0, ended: bool = False, at: str | None = None
) -> bytes:
    """A media playlist of segments by name."""
    lines = [
        "#EXTM3U",
        "#EXT-X-VERSION:3",
        f"#EXT-X-TARGETDURATION:{max(1, round(seconds))}",
        f"#EXT-X-MEDIA-SEQUENCE:{first}",
    ]
    if at:
        lines.append(f"#EXT-X-PROGRAM-DATE-TIME:{at}")
    for name in names:
        lines += [f"#EXTINF:{seconds},", name]
    return "\n".join([*lines, *(["#EXT-X-ENDLIST"] if ended else []), ""]).encode()


def grow(path: Path, content: bytes, *, parts: int, pause: float) -> threading.Thread:
    """A thread that appends the content to a file, part by part."""

    def write() -> None:
        size = -(-len(content) // parts)
        with path.open("ab") as file:
            for begin in range(0, len(content), size):
                file.write(content[begin : begin + size])
                file.flush()
                time.sleep(pause)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


class Rtsp:
    """A small RTSP server (RFC 2326) of one H.264 stream over TCP: FFmpeg's packets of RTP, interleaved. `paths` are those asked for."""

    def __init__(self, seconds: float, pace: float = 0.2) -> None:
        self._seconds, self._pace = seconds, pace
        self.paths: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.1)
        self.url = f"rtsp://127.0.0.1:{self._socket.getsockname()[1]}/cam"
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        self._over.set()
        self._socket.close()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while not self._over.is_set():
            with suppress(OSError):
                connection, _ = self._socket.accept()
                thread = threading.Thread(target=self._talk, args=(connection,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines, suppress(OSError):
            while request := self._request(lines):
                method, url, number = request
                self.paths.append(url)
                answer = {
                    "OPTIONS": ("Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN", ""),
                    "DESCRIBE": ("Content-Type: application/sdp", SDP),
                    "SETUP": ("Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 7", ""),
                }.get(method, ("Session: 7", ""))
                head = f"RTSP/1.0 200 OK\r\nCSeq: {number}\r\n{answer[0]}\r\nContent-Length: {len(answer[1])}\r\n\r\n{answer[1]}"
                connection.sendall(head.encode())
                if method == "PLAY":
                    self._play(connection)
                    return

    def _request(self, lines: Any) -> tuple[str, str, str] | None:
        first = lines.readline().decode().split()
        if len(first) < 2:
            return None
        number = "0"
        while (line := lines.readline().decode().strip()) != "":
            if line.lower().startswith("cseq:"):
                number = line.split(":")[1].strip()
        return first[0], first[1], number

    def _play(self, connection: socket.socket) -> None:
        """FFmpeg sends RTP to a port here, whose packets are passed on."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
            port.bind(("127.0.0.1", 0))
            port.settimeout(0.5)
            sender = threading.Thread(target=self._send, args=(port.getsockname()[1],), daemon=True)
            sender.start()
            with suppress(TimeoutError):
                while not self._over.is_set():
                    packet = port.recv(65_536)
                    connection.sendall(b"$\x00" + len(packet).to_bytes(2, "big") + packet)
            sender.join()

    def _send(self, port: int) -> None:
        with av.open(f"rtp://127.0.0.1:{port}?pkt_size=1200", "w", format="rtp") as container:
            write_ts(container, self._seconds, pace=self._pace)


SDP = "\r\n".join(
    ["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=test", "t=0 0", "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000",
     "a=fmtp:96 packetization-mode=1", "a=control:track1", ""]
)  # fmt: skip
