"""/_api/explain and /_api/query: plans, syntax trees, and the queries that run."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from vgraph.embedded import aql
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.cursors import query_of
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer

routes = Routes()

_PROPERTIES: Final[dict[str, Any]] = {
    "enabled": True,
    "trackSlowQueries": True,
    "trackBindVars": True,
    "maxSlowQueries": 64,
    "slowQueryThreshold": 10,
    "slowStreamingQueryThreshold": 10,
    "maxQueryStringLength": 4096,
}
_KEPT: Final = 1 << 16  # bytes of a request whose bind variables are remembered


@dataclass(slots=True)
class Running:
    """A query between its start and its first answer."""

    id: str
    context: Context | None
    database: str
    user: str
    text: str
    binds: dict[str, Any]
    stream: bool
    started: float
    finished: float | None = None
    result: aql.Result | None = None
    killed: bool = False
    modifies: bool = False
    warned: int = 0

    def look(self) -> None:
        """Note what the result knows of the query by now."""
        if self.result is not None:
            self.modifies, self.warned = self.result.modifies, len(self.result.warnings)

    def end(self) -> None:
        """Keep of a query that has run what lists show, and not its request, nor the documents that a write was given."""
        self.look()
        if self.context is not None and self.context.request.size > _KEPT:
            self.binds = {}
        self.finished, self.context, self.result = time.time(), None, None


class RunningQueries:
    """The queries that run now, and those that took long."""

    def __init__(self) -> None:
        self.properties = dict(_PROPERTIES)
        self._ids = itertools.count(int(time.time() * 1000))
        self._running: dict[str, Running] = {}
        self._slow: deque[dict[str, Any]] = deque(maxlen=64)
        self._finished: deque[Running] = deque(maxlen=64)
        self._lock = threading.Lock()

    @contextmanager
    def track(self, context: Context, text: str, binds: dict[str, Any], options: dict[str, Any]) -> Iterator[None]:
        """Be listed for a block."""
        name, streams = str(next(self._ids)), bool(options.get("stream"))
        entry = Running(name, context, context.database, context.user, text, binds, streams, time.time())
        self._running[entry.id] = entry
        entry.killed = context.cancelled
        try:
            yield
        finally:
            del self._running[entry.id]
            entry.end()
            self._finished.append(entry)
            if (
                self.properties["trackSlowQueries"]
                and time.time() - entry.started >= self.properties["slowQueryThreshold"]
            ):
                self._slow.append(self._shape(entry, "finished"))

    def running(self, context: Context, result: aql.Result) -> None:
        """Note what `kill` has to stop."""
        with self._lock:
            for entry in self._running.values():
                if entry.context is context:
                    entry.result = result
                    if entry.killed:
                        result.kill()

    def kill(self, name: str, database: str) -> None:
        """Stop a query; 1591."""
        entry = self._running.get(name)
        if entry is None or entry.database != database:
            raise ArangoError(1591)
        self._stop(entry)

    def kill_of(self, context: Context) -> None:
        """Stop the query of a request, also one that has yet to begin."""
        context.cancelled = True
        for entry in list(self._running.values()):
            if entry.context is context:
                self._stop(entry)

    def _stop(self, entry: Running) -> None:
        with self._lock:
            entry.killed = True
            if entry.result is not None:
                entry.result.kill()

    def current(self, database: str | None) -> list[dict[str, Any]]:
        """What runs in a database, or in all of them."""
        entries = list(self._running.values())
        return [self._shape(entry, "executing") for entry in entries if database in (None, entry.database)]

    def history(self) -> list[dict[str, Any]]:
        """The latest queries that have run, of all databases."""
        return [self._shape(entry, "finished") for entry in list(self._finished)]

    def slow(self, database: str | None) -> list[dict[str, Any]]:
        """What took long."""
        return [entry for entry in self._slow if database in (None, entry["database"])]

    def clear_slow(self, database: str | None) -> None:
        """Forget what took long."""
        kept = [entry for entry in self._slow if database not in (None, entry["database"])]
        self._slow.clear()
        self._slow.extend(kept)

    def _shape(self, entry: Running, state: str) -> dict[str, Any]:
        entry.look()
        return {
            "id": entry.id,
            "database": entry.database,
            "user": entry.user,
            "query": shortened(entry.text, self.properties["maxQueryStringLength"]),
            "bindVars": entry.binds if self.properties["trackBindVars"] else {},
            "started": datetime.fromtimestamp(entry.started, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "runTime": (entry.finished or time.time()) - entry.started,
            "peakMemoryUsage": 0,
            "state": state,
            "stream": entry.stream,
            "modificationQuery": entry.modifies,
            "warnings": entry.warned,
        }


def shortened(text: str, most: int) -> str:
    """A query's text within so many bytes, whole characters only, and how many bytes it is without."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= most:
        return text
    kept = data[:most].decode("utf-8", "ignore")
    return f"{kept}... ({len(data) - len(kept.encode())})"


def _listed(context: Context) -> str | None:
    """All databases with ?all=true, else the request's own."""
    if not context.request.flag("all"):
        return context.database
    context.need_system()
    return None


@routes.on("POST", "/_api/explain")
def explain(context: Context) -> Answer:
    text, binds, options = query_of(context.request.json_object())
    with context.reading() as txn:
        return done(200, **aql.explain(txn, context.database, text, binds, options))


@routes.on("POST", "/_api/query")
def parse(context: Context) -> Answer:
    text, _, _ = query_of(context.request.json_object())
    return done(200, **aql.parse(text))


@routes.on("GET", "/_api/query/rules")
def rules(context: Context) -> Answer:
    return json_answer(aql.rule_descriptions())


@routes.on("GET", "/_api/query/current")
def current(context: Context) -> Answer:
    return json_answer(context.app.queries.current(_listed(context)))


@routes.on("GET", "/_admin/server/aql-queries")
def history(context: Context) -> Answer:
    context.need_system()
    return done(200, result={"queries": context.app.queries.history()})


@routes.on("GET", "/_api/query/slow")
def slow(context: Context) -> Answer:
    return json_answer(context.app.queries.slow(_listed(context)))


@routes.on("DELETE", "/_api/query/slow")
def clear_slow(context: Context) -> Answer:
    context.app.queries.clear_slow(_listed(context))
    return done(200)


@routes.on("DELETE", "/_api/query/{query}")
def kill(context: Context, query: str) -> Answer:
    context.app.queries.kill(query, context.database)
    return done(200)


@routes.on("GET", "/_api/query/properties")
def properties(context: Context) -> Answer:
    return done(200, **context.app.queries.properties)


@routes.on("PUT", "/_api/query/properties")
def change_properties(context: Context) -> Answer:
    held = context.app.queries.properties
    _change(held, context.request.json_object())
    return done(200, **held)


def _change(held: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        if name in held:
            kinds = (
                (bool,)
                if isinstance(held[name], bool)
                else (int, float)
                if isinstance(held[name], int | float)
                else (str,)
            )
            if not isinstance(value, kinds):
                raise ArangoError(10, f"invalid value for '{name}'")
            held[name] = value
