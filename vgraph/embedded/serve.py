"""One file served over real HTTP, so that drivers of other languages and other machines reach it as they reach a server.

    serve("graph.sqlite", port=8529)                    # until SIGINT or SIGTERM
    with serving("graph.sqlite", port=0) as url: ...    # in a thread of its own

Users and passwords are those of the file; root has none at first, which is good enough on loopback only.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import uvicorn

from vgraph.embedded import users
from vgraph.embedded.asgi import MAX_BODY, Gate, is_loopback
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http import App

PORT: Final = 8529
FILE: Final = "graph.sqlite"  # inside a folder that is given instead of a file
_KEEP_ALIVE: Final = 300  # seconds, as on a server
_GRACE: Final = 30  # seconds that open requests get when the server stops
_MAX_HEADERS: Final = 1 << 20
_BACKLOG: Final = 1024
_SWITCH: Final = 0.001  # seconds after which a thread gives way to another


def serve(
    data: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    password: str | None = None,
    jwt_secret: str | None = None,
    max_body: int = MAX_BODY,
    listening: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until SIGINT or SIGTERM; what is being written then is finished and answered.

    password: root's from now on. jwt_secret: what tokens are signed with, instead of the file's own. `listening` is told the URL.

    Raises ArangoError: 10 for an address that others can reach while a user has no password, 2 when the port cannot be had, 1100 for a file
    that is not ours.
    """
    with (
        _opened(data, host, port, password, jwt_secret, max_body) as (server, bound, url),
        _prompt(),
        _stopped_by(server, signal.SIGINT, signal.SIGTERM),
    ):
        listening(url)
        server.run(sockets=[bound])


@contextmanager
def serving(
    data: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    password: str | None = None,
    jwt_secret: str | None = None,
    max_body: int = MAX_BODY,
) -> Iterator[str]:
    """Serve from a thread while the block runs; gives the URL. Port 0 is any free one."""
    with _opened(data, host, port, password, jwt_secret, max_body) as (server, bound, url):
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="embedded-serve")
        thread.start()
        try:
            yield url
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def _opened(
    data: str | os.PathLike[str], host: str, port: int, password: str | None, jwt_secret: str | None, max_body: int
) -> Iterator[tuple[uvicorn.Server, socket.socket, str]]:
    path = Path(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    engine = Engine.open(path / FILE if path.is_dir() else path)
    try:
        engine.secret = jwt_secret or engine.secret
        _secure(engine, host, password)
        bound = _bind(host, port)
        app = App(engine, authenticate=True)
        gate = Gate(app, loopback=is_loopback(host), max_body=max_body)
        try:
            yield _server(gate), bound, _url(bound)
        finally:
            bound.close()
            _stop(gate, app)
    finally:
        engine.close()


def _stop(gate: Gate, app: App) -> None:
    """Queries that outlived the grace are stopped; background jobs were acknowledged and are done first."""
    if gate.busy:
        for query in app.queries.current(None):
            with suppress(ArangoError):  # it has ended by itself
                app.queries.kill(query["id"], query["database"])
    gate.close()
    app.jobs.wait()
    app.close()


# -- who may come in -------------------------------------------------------------------------------------------------


def _secure(engine: Engine, host: str, password: str | None) -> None:
    """Give root the password; an address beyond this machine needs every user to have one; 10."""
    if password:
        with engine.reading() as txn:
            known = users.check_password(txn, users.ROOT, password)
        if not known:
            with engine.writing() as txn:
                users.change(txn, users.ROOT, {"passwd": password}, replace=False)
    if is_loopback(host):
        return
    with engine.reading() as txn:
        names = [user["user"] for user in users.listed(txn)]
        open_to_all = [name for name in names if users.check_password(txn, name, "")]
    if open_to_all:
        raise ArangoError(
            10,
            f"{host} can be reached from outside, and user {open_to_all[0]} has no password: give one, or serve on 127.0.0.1",
        )


# -- the socket ------------------------------------------------------------------------------------------------------


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches off the delay of small packets only for sockets that name their protocol; with it, every answer takes 40 ms
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        bound.close()
        raise ArangoError(2, f"cannot listen on {host} port {port}: {error}") from error
    return bound


def _url(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _server(gate: Gate) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            gate,
            http="h11",  # takes any method and any size of header; the time of a request is spent in the engine
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_GRACE,
            h11_max_incomplete_event_size=_MAX_HEADERS,
        )
    )


@contextmanager
def _prompt() -> Iterator[None]:
    """Let short requests have their turn sooner: with four long queries computing, a short one then takes 25 ms instead of 115."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _stopped_by(server: uvicorn.Server, *signals: signal.Signals) -> Iterator[None]:
    """Signals that come before uvicorn listens to them stop it too; and those it raises again once it has stopped do no harm."""

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
