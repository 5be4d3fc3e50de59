"""The engine's HTTP API as an ASGI application: what a socket adds to `App`, which any ASGI server can then run.

Percent-encoded paths, chunked and compressed bodies, size limits, and which pages a browser may call it from.
Every request runs in a thread of its own, so that a slow one never holds up another.
"""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import quote

from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http import Answer, App, Request
from vgraph.embedded.http.wire import failure

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY: Final = 1 << 30  # a server's own limit
BODY_SECONDS: Final = 120.0  # how long the next piece of a body may take
_DRAIN_SECONDS: Final = 2.0
_THREADS: Final = 256
_MAX_ANONYMOUS_BODY: Final = 1 << 16  # enough to log in
_COMPRESS_FROM: Final = 4096  # bytes; below, headers and time cost more than they save
_METHODS: Final = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
_HEADERS: Final = {
    "server": "vgraph",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache, no-store",
    "content-security-policy": "frame-ancestors 'none'; form-action 'none'",
}
_CHALLENGES: Final = ('Basic realm="ArangoDB"', 'Bearer token_type="JWT", realm="ArangoDB"')
_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))


class Gate:
    """The ASGI application over an `App`.

    loopback: answer only those who call it by a loopback name, so that no web page reaches it through a domain of its own (DNS rebinding).
    """

    def __init__(self, app: App, *, loopback: bool, max_body: int = MAX_BODY) -> None:
        self._app = app
        self._loopback = loopback
        self._max_body = max_body
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="embedded-request")
        # what ends others (a commit, a kill) must get through even when all threads wait for what it ends
        self._enders = ThreadPoolExecutor(16, thread_name_prefix="embedded-end")
        self._running = 0
        self._counting = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        try:
            self._check_caller(headers)
            limit = self._limit(headers)
        except ArangoError as error:
            if "expect" not in headers:
                await _drain(receive)
            await _send(send, scope["method"], _last_answer(error))
            return
        try:
            body = await _body(receive, limit)
        except ArangoError as error:
            await _send(send, scope["method"], _last_answer(error))
            return
        if body is None:
            return
        answer = await self._answered(scope, headers, body)
        await _send(send, scope["method"], answer)

    @property
    def busy(self) -> bool:
        """Whether requests are being answered."""
        return self._running > 0

    def close(self) -> None:
        """Come back when every request has been answered."""
        self._threads.shutdown()
        self._enders.shutdown()

    # -- in ----------------------------------------------------------------------------------------------------------

    def _check_caller(self, headers: dict[str, str]) -> None:
        """Browsers send pages' requests too: a page of another origin is refused, and on loopback any name but a loopback one."""
        host = headers.get("host", "")
        if self._loopback and not is_loopback(_host_name(host)):
            raise ArangoError(11, f"the Host header names {host or 'nobody'}: only loopback names are answered here")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise ArangoError(11, f"requests from pages of {origin} are not answered")

    def _limit(self, headers: dict[str, str]) -> int:
        """How large the body may be; 413 when it says itself that it is larger."""
        limit = self._max_body if "authorization" in headers else min(self._max_body, _MAX_ANONYMOUS_BODY)
        announced = headers.get("content-length", "")
        _check_size(int(announced) if announced.isdigit() else 0, limit)
        return limit

    async def _answered(self, scope: Scope, headers: dict[str, str], body: bytes) -> Answer:
        method, path = scope["method"], scope["raw_path"].decode("latin-1")
        if method == "OPTIONS":
            return Answer(200, b"", {"allow": _METHODS})
        pool = self._enders if _ends_something(method, path) else self._threads
        url = f"{path}?{scope['query_string'].decode('latin-1')}"
        near = is_loopback((scope.get("client") or ("",))[0])
        loop, arrived = asyncio.get_running_loop(), time.monotonic()
        return await loop.run_in_executor(pool, self._handle, method, url, headers, body, near, arrived)

    def _handle(
        self, method: str, url: str, headers: dict[str, str], body: bytes, near: bool, arrived: float
    ) -> Answer:
        waited = time.monotonic() - arrived
        with self._counted():
            try:
                body = _unpacked(body, headers.pop("content-encoding", "identity"), self._max_body)
            except ArangoError as error:
                return failure(error)
            answer = self._app.handle(Request.make(method, url, None, headers, body))
        answer.headers["x-arango-queue-time-seconds"] = f"{waited:.6f}"
        if answer.status == 401 and "x-omit-www-authenticate" not in headers:
            answer.headers["www-authenticate"] = ", ".join(_CHALLENGES)
        _pack(answer, headers.get("accept-encoding", ""), near)
        return answer

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._counting:
            self._running += 1
        try:
            yield
        finally:
            with self._counting:
                self._running -= 1


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only be this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _host_name(host: str) -> str:
    """A Host header without its port, an IPv6 address without its brackets."""
    name, _, port = host.rpartition(":")
    name = name if name and port.isdigit() else host
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


async def _body(receive: Receive, limit: int) -> bytes | None:
    """The body whole, None when the client went away; 413, 408."""
    pieces: list[bytes] = []
    size = 0
    while True:
        try:
            event = await asyncio.wait_for(receive(), BODY_SECONDS)
        except TimeoutError:
            raise ArangoError(400, "the body did not arrive in time", status=408) from None
        if event["type"] == "http.disconnect":
            return None
        piece, more = event.get("body", b""), event.get("more_body", False)
        size += len(piece)
        if size > limit and more:
            await _drain(receive)
        _check_size(size, limit)
        pieces.append(piece)
        if not more:
            return b"".join(pieces)


async def _drain(receive: Receive) -> None:
    """Read on for a moment: a connection closed with unread bytes is reset, and its client never sees the answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while (await receive()).get("more_body"):
                pass


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise ArangoError(400, f"the body is larger than {limit} bytes", status=413)


def _ends_something(method: str, path: str) -> bool:
    kinds = {"PUT": ("transaction", "job"), "DELETE": ("transaction", "job", "query", "cursor")}.get(method, ())
    return any(f"/_api/{kind}/" in path for kind in kinds)


# -- compression -----------------------------------------------------------------------------------------------------


def _unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    """A body as it was before compression; 400, 413, 415."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ArangoError(400, f"content-encoding {encoding}: use gzip or deflate", status=415)
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: the header tells which of the two
    try:
        found = inflater.decompress(body, limit + 1)
    except zlib.error as error:
        raise ArangoError(400, f"the body is not {encoding}: {error}") from None
    _check_size(len(found), limit)
    if not inflater.eof:
        raise ArangoError(400, f"the body's {encoding} stream is cut off")
    return found


def _pack(answer: Answer, accepted: str, near: bool) -> None:
    """Compress an answer for clients that take it.

    Nearly every HTTP library offers all it knows; within one machine that is not worth the time, so there only a client that names
    exactly one encoding is taken at its word. (A server's own default is not to compress.)
    """
    offered = _offered(accepted)
    if len(answer.body) < _COMPRESS_FROM or not offered or (near and len(offered) > 1):
        return
    if "gzip" in offered:
        answer.body, answer.headers["content-encoding"] = gzip.compress(answer.body, 1, mtime=0), "gzip"
    elif "deflate" in offered:
        answer.body, answer.headers["content-encoding"] = zlib.compress(answer.body, 1), "deflate"
    answer.headers["vary"] = "accept-encoding"


def _offered(accepted: str) -> list[str]:
    """The encodings of an Accept-Encoding header, without the refused ones (q=0) and `identity`."""
    found = []
    for item in accepted.lower().split(","):
        name, _, weight = item.replace(" ", "").partition(";q=")
        refused = bool(weight) and not weight.strip("0.")
        if name not in ("", "identity") and not refused:
            found.append(name)
    return found


# -- out -------------------------------------------------------------------------------------------------------------


def _last_answer(error: ArangoError) -> Answer:
    answer = failure(error)
    answer.headers["connection"] = "close"
    return answer


async def _send(send: Send, method: str, answer: Answer) -> None:
    headers = {**_HEADERS, **answer.headers}
    if answer.status >= 200 and answer.status not in (204, 304) and method != "HEAD":
        headers["content-length"] = str(len(answer.body))
    raw = [(name.encode("latin-1"), quote(value, safe=_PRINTABLE).encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})
