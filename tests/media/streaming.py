"""Real sources of growing recordings, made here: MPEG-TS in pieces, an HTTP and HLS server, a sender of UDP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
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
