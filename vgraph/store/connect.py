"""Opens the database a URL names: `embedded:PATH` in-process, `http(s)://host:port` a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from arango.client import ArangoClient
from arango.database import StandardDatabase
from arango.http import DefaultHTTPClient

from vgraph.errors import UserError
from vgraph.store.translate import translated


@dataclass(frozen=True, slots=True)
class Connection:
    """An open database and how to let go of it."""

    database: StandardDatabase
    url: str
    close: Callable[[], None]


def connect(url: str, name: str, *, username: str = "root", password: str = "", timeout_s: float = 60.0) -> Connection:
    """Open database `name` at `url`, creating it when absent.

    Raises UserError for a URL of another form, Unavailable when nobody answers.
    """
    if url.startswith("embedded:"):
        client = _embedded(url.removeprefix("embedded:"))
    elif url.startswith(("http://", "https://")):
        client = _server(url, timeout_s)
    else:
        raise UserError(f"VGRAPH_DATABASE__URL={url!r}: use embedded:PATH, http://host:8529 or https://host:8529")
    try:
        return Connection(_database(client, name, username, password), url, client.close)
    except BaseException:
        client.close()
        raise


def _embedded(path: str) -> ArangoClient:
    from vgraph.embedded import client

    if not path:
        raise UserError("VGRAPH_DATABASE__URL: embedded: needs a path, for example embedded:vgraph-data/graph.sqlite")
    file = Path(path).expanduser()
    with translated(f"open {file}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        return client.open(file)


def _server(url: str, timeout_s: float) -> ArangoClient:
    return ArangoClient(
        hosts=url,
        http_client=DefaultHTTPClient(request_timeout=timeout_s),
        serializer=_dumps,
        deserializer=orjson.loads,
    )


def _dumps(value: Any) -> str:
    return orjson.dumps(value).decode()


def _database(client: ArangoClient, name: str, username: str, password: str) -> StandardDatabase:
    with translated(f"open database {name}"):
        system = client.db("_system", username=username, password=password)
        if name != "_system" and not system.has_database(name):
            system.create_database(name)
        return client.db(name, username=username, password=password)
