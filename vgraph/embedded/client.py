"""The engine behind python-arango: its own extension point for HTTP, answered in this process.

    client = open("embedded:/data/site.vgraph")
    db = client.db("_system")

Each file has one engine per process, shared by all clients that name it, and closed with the last of them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from arango.client import ArangoClient
from arango.http import HTTPClient
from arango.response import Response

from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http import App, Request
from vgraph.embedded.http.wire import failure
from vgraph.embedded.passing import Passed, serialized

SCHEME: Final = "embedded:"
_HOST: Final = "embedded://localhost"


def path_of(url: str) -> Path:
    """The file an `embedded:PATH` URL names; `embedded://PATH` is the same."""
    if not url.startswith(SCHEME):
        raise ArangoError(10, f"{url}: expected embedded:PATH")
    path = url.removeprefix(SCHEME)
    path = path.removeprefix("//") if path.startswith("//") else path
    if not path:
        raise ArangoError(10, f"{url}: names no file")
    return Path(path)


def is_embedded(url: str) -> bool:
    """Whether a URL names a file instead of a server."""
    return url.startswith(SCHEME)


# -- engines of this process ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Shared:
    app: App
    users: int


_engines: dict[tuple[int, str], _Shared] = {}
_engines_lock = threading.Lock()


def _acquire(path: Path) -> App:
    # a forked child opens its own: the process id is part of the key
    key = os.getpid(), os.path.realpath(path)
    with _engines_lock:
        shared = _engines.get(key)
        if shared is None:
            shared = _engines[key] = _Shared(App(Engine.open(key[1])), 0)
        shared.users += 1
        return shared.app


def _release(app: App) -> None:
    with _engines_lock:
        for key, shared in list(_engines.items()):
            if shared.app is app:
                shared.users -= 1
                if shared.users:
                    return
                del _engines[key]
    if app.engine.opened_here:
        app.close()
        app.engine.close()


# -- python-arango's extension point --------------------------------------------------------------------------------


class _Session:
    """What python-arango takes for a requests session. It holds the engine while it is open; pickled, it opens the file anew."""

    verify = False

    def __init__(self, path: Path, app: App | None = None) -> None:
        self.path = path
        self._shared = app is None
        self._app: App | None = _acquire(path) if app is None else app

    @property
    def app(self) -> App:
        """The API; 30 once the session is closed."""
        if self._app is None:
            raise ArangoError(30, "the embedded engine is closed")
        return self._app

    def close(self) -> None:
        """Give the engine back; harmless when done twice."""
        app, self._app = self._app, None
        if app is not None and self._shared:
            _release(app)

    def __reduce__(self) -> tuple[type[_Session], tuple[Path]]:
        return _Session, (self.path,)


class EmbeddedHTTPClient(HTTPClient):
    """Answers python-arango's requests from a file. Pass it to `ArangoClient(hosts="embedded://…", http_client=…)`.

    With `app` it talks to an API that somebody else opened and will close.
    """

    def __init__(self, path: str | os.PathLike[str], *, app: App | None = None) -> None:
        self.path = Path(path)
        self.request_timeout: float | None = None  # set by ArangoClient; nothing here waits on a network
        self._app = app

    def create_session(self, host: str) -> Any:
        """Open the file, or join those in this process that have it open."""
        return _Session(self.path, self._app)

    def send_request(
        self,
        session: Any,
        method: str,
        url: str,
        headers: MutableMapping[str, str] | None = None,
        params: MutableMapping[str, str] | None = None,
        data: Any = None,
        auth: tuple[str, str] | None = None,
    ) -> Response:
        """Answer a request; errors are answers, as from a server."""
        if data is not None and not isinstance(data, str | bytes | Passed):
            data = data.to_string()
        start = url.find("/_", url.find("://") + 3)
        sent = {name.lower(): str(value) for name, value in headers.items()} if headers else {}
        try:
            request = Request.make(method, url[start:], dict(params) if params else None, sent, data, auth)
        except ArangoError as error:
            answer = failure(error)
        else:
            answer = session.app.handle(request)
        return Response(
            method=method,
            url=url,
            headers=answer.headers,
            status_code=answer.status,
            status_text=answer.reason,
            raw_body=answer.body.decode("utf-8", "surrogatepass"),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_app": None}


def open(url: str | os.PathLike[str], **options: Any) -> ArangoClient:
    """An ArangoClient for `embedded:PATH` (or a path); `options` go to ArangoClient. Close it with `client.close()`."""
    path = path_of(url) if isinstance(url, str) and is_embedded(url) else Path(url)
    options.setdefault("serializer", serialized)
    options.setdefault("deserializer", orjson.loads)
    return ArangoClient(hosts=_HOST, http_client=EmbeddedHTTPClient(path), **options)
