"""What is refused before a request is looked at: bodies that are too long, and web pages that reach for a server on loopback.

A server on loopback without a token trusts whoever can connect to it, and a browser connects for any page it shows. Two things give such
a page away: the name it asked for (`Host`), where its own was made to lead to 127.0.0.1 (DNS rebinding), and where it comes from, `Origin`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def is_loopback(host: str) -> bool:
    """Whether a name or address leads to this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        name = host.lower().rstrip(".")
        return name == "localhost" or name.endswith(".localhost")


def name_of(authority: str) -> str:
    """The host of `host:port`, without the brackets of an IPv6 address; empty when it is malformed."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


class Gate:
    """Answers only requests to a loopback name, from no page or from one of the same origin."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        if refusal is None:
            await self.app(scope, receive, send)
        else:
            await problem(*refusal)(scope, receive, send)


def _refusal(headers: Headers) -> tuple[int, str, str] | None:
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_loopback(name_of(host)):
        return 421, "Misdirected", "this server answers to loopback names only, or with a token"
    if origin is not None and urlsplit(origin).netloc != host:
        return 403, "Forbidden", "pages of another origin are not answered without a token"
    return None


class Limit:
    """Refuses bodies longer than `most` bytes, by what they announce and by what comes."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if _announced(Headers(scope=scope).getlist("content-length")) > self.most:
            return await self._refuse(scope, receive, send)
        messages = await self._read(receive)
        if messages is None:
            return await self._refuse(scope, receive, send)
        await self.app(scope, _replay(messages, receive), send)
        return None

    async def _read(self, receive: Receive) -> list[Message] | None:
        """The whole body, None when it is too long. At most `most` bytes are held."""
        messages, size, more = [], 0, True
        while more:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            more = bool(message.get("more_body")) and message["type"] == "http.request"
            if size > self.most:
                return None
        return messages

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        text = f"the body is longer than {self.most} bytes"
        await problem(413, "TooLarge", text)(scope, receive, send)


def _announced(lengths: Iterable[str]) -> int:
    return max((int(length) for length in lengths if length.isdecimal()), default=0)


def _replay(messages: list[Message], receive: Receive) -> Receive:
    waiting = iter(messages)

    async def replayed() -> Message:
        return next(waiting, None) or await receive()

    return replayed


def problem(status: int, kind: str, error: str) -> JSONResponse:
    """{error, kind}, and the connection is closed: what else comes over it was not read."""
    return JSONResponse({"error": error, "kind": kind}, status, {"Connection": "close"})
