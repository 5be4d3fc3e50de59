"""A real HTTP server that speaks (and misspeaks) OpenAI's API, real weights where they were fetched, tiny random ones where none exist."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

import av
import pytest
import stamina

from vgraph.types import Frame


@dataclass
class Response:
    """What the server answers: JSON, or raw bytes; `hang` never answers; `short` promises more bytes than come;
    `drip` sends spaces, one after the other, without an end; `filler` sends so many MiB of them."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    short: bool = False
    drip: bool = False
    filler: int = 0

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


class Server:
    """Answers requests with the script, in order; a callable in it sees the request. The last entry repeats."""

    def __init__(self) -> None:
        self.script: list[Response | Callable[[Request], Response]] = []
        self.requests: list[Request] = []
        self._over = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def answer(self, request: Request) -> Response:
        self.requests.append(request)
        entry = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return entry(request) if callable(entry) else entry

    def close(self) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers.get("content-length", 0)))
                response = server.answer(
                    Request(self.path, {name.lower(): value for name, value in self.headers.items()}, content)
                )
                if response.hang:
                    server._over.wait()
                    return
                if response.drip or response.filler:
                    self._endless(response)
                    return
                self.send_response(response.status)
                headers = {"content-type": "application/json", **response.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(response.content) + 100 * response.short))
                self.end_headers()
                self.wfile.write(response.content)

            def _endless(self, response: Response) -> None:
                self.send_response(response.status)
                self.end_headers()
                piece = b" " if response.drip else b" " * (1 << 20)
                with suppress(OSError):
                    for _ in range(response.filler or 10_000):
                        self.wfile.write(piece)
                        if response.drip and server._over.wait(0.02):
                            return

            do_GET = do_POST

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _retries_do_not_wait() -> Iterator[None]:
    with stamina.set_testing(True, attempts=10, cap=True):
        yield


@pytest.fixture
def weights() -> Callable[[str], Path]:
    """Real weights, footage or speech by path inside the fixtures' folder; the test is skipped where they were not fetched."""
    folder = Path(os.environ.get("VGRAPH_FIXTURES", Path(__file__).parents[2] / ".fixtures"))

    def find(name: str) -> Path:
        if not (folder / name).exists():
            pytest.skip(f"{name} is not in {folder}: run `make fixtures`")
        return folder / name

    return find


@pytest.fixture
def street(weights: Callable[[str], Path]) -> Callable[..., list[Frame]]:
    """Every n-th frame of a street camera's footage."""

    def frames(every: int, count: int) -> list[Frame]:
        with av.open(str(weights("vtest.avi"))) as container:
            chosen = islice(container.decode(video=0), 0, every * count, every)
            return [Frame(round(frame.time * 1000), frame.to_ndarray(format="rgb24")) for frame in chosen]

    return frames
