"""HTTP by hand: every connection goes to the checked number of a checked host, redirects included, within limits of time and size."""

from __future__ import annotations

import http.client
import socket
import ssl
from base64 import b64encode
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from vgraph.errors import MediaError, UserError
from vgraph.media.live.addresses import Address, checked_address

REDIRECTS: Final = 5
LARGEST_TEXT: Final = 4 << 20
AGENT: Final = "vgraph"
READ: Final = 64 << 10


class Body:
    """The body of a reply as a file that is read once."""

    def __init__(self, connection: http.client.HTTPConnection, reply: http.client.HTTPResponse, url: str) -> None:
        self._connection, self._reply, self.url = connection, reply, url
        self._length = reply.length
        self.kind = (reply.headers.get_content_type() or "").lower()

    def read(self, size: int = READ) -> bytes:
        """At most so many bytes, as soon as some are there; none at the end. Raises MediaError when nothing comes in time."""
        try:
            return self._reply.read1(size)
        except (OSError, http.client.HTTPException) as error:
            raise MediaError(
                f"{_shown(self.url)}: broke off ({error or type(error).__name__})", path=_shown(self.url)
            ) from error

    @property
    def is_whole(self) -> bool:
        """Whether the reply said how long it was, and all of it came: it is a file, and no stream that broke off."""
        return self._length is not None and self._reply.length in (0, None)

    def text(self) -> str:
        """All of it as text. Raises MediaError when it is longer than a playlist can be."""
        parts, size = [], 0
        while part := self.read():
            parts.append(part)
            size += len(part)
            if size > LARGEST_TEXT:
                raise MediaError(f"{_shown(self.url)}: longer than a playlist can be", path=_shown(self.url))
        return b"".join(parts).decode("utf-8", "replace")

    def close(self) -> None:
        self._reply.close()
        self._connection.close()


def get(url: str, allowed: Sequence[str], timeout_s: float, *, hosts: frozenset[str] | None = None) -> Body:
    """The reply to a GET, after redirects; each step is checked anew. `hosts`: only these may be asked.

    Raises UserError for a user's address that may not be reached, MediaError for one that a server sends on to, and when the answer is
    not 200.
    """
    for step in range(REDIRECTS + 1):
        address = checked_address(url, allowed) if step == 0 and hosts is None else _sent_on(url, allowed)
        if address.scheme not in ("http", "https"):
            raise MediaError(f"{address.plain}: a reply over HTTP may not lead to another protocol", path=address.plain)
        if hosts is not None and address.host not in hosts:
            raise MediaError(f"{address.plain}: a playlist may not lead to another host", path=address.plain)
        connection, reply = _asked(address, timeout_s)
        if reply.status in (301, 302, 303, 307, 308) and reply.headers.get("location"):
            reply.close()
            connection.close()
            url = urljoin(url, str(reply.headers["location"]))
            continue
        if reply.status != 200:
            reply.close()
            connection.close()
            raise MediaError(f"{address.plain}: answered {reply.status}", path=address.plain)
        return Body(connection, reply, url)
    raise MediaError(f"{_shown(url)}: is sent on and on", path=_shown(url))


def _sent_on(url: str, allowed: Sequence[str]) -> Address:
    """An address that a server names."""
    try:
        return checked_address(url, allowed)
    except UserError as error:
        raise MediaError(f"a server sends on to a place that may not be reached: {error}", path=_shown(url)) from None


def _asked(address: Address, timeout_s: float) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = _Pinned(address, timeout_s)
    parts = urlsplit(address.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"User-Agent": AGENT, "Accept": "*/*"}
    if parts.username is not None:
        words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {b64encode(words.encode()).decode()}"
    try:
        connection.request("GET", path, headers=headers)
        return connection, connection.getresponse()
    except (OSError, http.client.HTTPException, ValueError) as error:
        connection.close()
        raise MediaError(
            f"{address.plain}: cannot be reached ({error or type(error).__name__})", path=address.plain
        ) from error


class _Pinned(http.client.HTTPConnection):
    """A connection to the number that was checked, which still names the host it was given for."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        super().__init__(address.host, address.port, timeout=timeout_s)
        self._address = address

    def connect(self) -> None:
        plain = socket.create_connection((self._address.ip, self._address.port), self.timeout)
        if self._address.scheme == "https":
            self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self._address.host)
        else:
            self.sock = plain


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{parts.path}"
