"""Opens the database a URL names: `embedded:PATH` in-process, `http(s)://host:port` a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from arango.client import ArangoClient
from arango.database import StandardDatabase
from arango.exceptions import DatabaseCreateError
from arango.http import DefaultHTTPClient

from vgraph.errors import NotFoundError, Unavailable, UserError
from vgraph.store.translate import translated

BACKOFF = 0.1
"""Seconds before the second retry of a request nobody answers, doubled with each: a server that is not there is told in two seconds."""


@dataclass(frozen=True, slots=True)
class Connection:
    """An open database and how to let go of it."""

    database: StandardDatabase
    url: str
    close: Callable[[], None]


def connect(
    url: str, name: str, *, username: str = "root", password: str = "", timeout_s: float = 60.0, create: bool = True
) -> Connection:
    """Open database `name` at `url`, creating it when absent (or, with `create=False`, as it is).

    Raises UserError for a URL of another form, NotFoundError for a file that is not there, Unavailable when nobody answers.
    """
    if url.startswith("embedded:"):
        client = _embedded(url.removeprefix("embedded:"), create)
    elif url.startswith(("http://", "https://")):
        client = _server(url, timeout_s)
    else:
        raise UserError(f"VGRAPH_DATABASE__URL={url!r}: use embedded:PATH, http://host:8529 or https://host:8529")
    try:
        with translated(f"open database {name} at {url}"):
            return Connection(_database(client, name, username, password, create), url, client.close)
    except BaseException:
        client.close()
        raise


def _embedded(path: str, create: bool) -> ArangoClient:
    from vgraph.embedded import client

    if not path:
        raise UserError("VGRAPH_DATABASE__URL: embedded: needs a path, for example embedded:vgraph-data/graph.sqlite")
    try:
        file = Path(path).expanduser()
    except RuntimeError:
        raise UserError(f"embedded:{path}: there is no such user's home folder") from None
    if not create and not file.exists():
        raise NotFoundError(f"embedded:{path}: there is no such file")
    with translated(f"open {file}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        return client.open(file)


def _server(url: str, timeout_s: float) -> ArangoClient:
    return ArangoClient(
        hosts=url,
        http_client=DefaultHTTPClient(request_timeout=timeout_s, backoff_factor=BACKOFF),
        serializer=_dumps,
        deserializer=orjson.loads,
    )


def _dumps(value: Any) -> str:
    return orjson.dumps(value).decode()


def _create(system: StandardDatabase, name: str) -> None:
    try:
        system.create_database(name)
    except DatabaseCreateError:
        if not system.has_database(name):  # else somebody else made it meanwhile
            raise


def _database(client: ArangoClient, name: str, username: str, password: str, create: bool) -> StandardDatabase:
    system = client.db("_system", username=username, password=password)
    try:
        if create and name != "_system" and not system.has_database(name):
            _create(system, name)
    except (TypeError, KeyError) as error:  # the driver reads answers of a certain shape
        raise Unavailable("something answers, but it is not ArangoDB") from error
    return client.db(name, username=username, password=password)
