"""/_api/cursor: run a query, and hand its results out in batches."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from vgraph.embedded import aql
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http import caches
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer

routes = Routes()

BATCH: Final = 1000
TTL: Final = 30.0  # seconds a cursor lives after it was last asked
_TOP_LEVEL: Final = ("memoryLimit", "cache", "fullCount")
_PHASES: Final = (  # of a profile; plans come from a cache, so most phases last as long as finding the plan there
    "initializing",
    "parsing",
    "optimizing ast",
    "loading collections",
    "instantiating plan",
    "optimizing plan",
    "instantiating executors",
    "executing",
    "finalizing",
)


# -- cursors that wait to be asked ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Cursor:
    """Results not handed out yet. A stream is computed as it is asked for, inside `stream_id` when it has a transaction."""

    id: str
    database: str
    batch_size: int
    ttl: float
    retry: bool
    stream_id: str | None
    result: aql.Result
    pending: list[Any]
    batches: Iterator[list[Any]]
    count: int | None
    extra: dict[str, Any]
    user: str
    marks: dict[str, Any] = field(default_factory=dict)
    batch: int = 1
    last: dict[str, Any] | None = None
    deadline: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_batch(self) -> tuple[list[Any], bool]:
        """(results, whether there are more)."""
        size = self.batch_size
        while len(self.pending) <= size:
            more = next(self.batches, None)
            if more is None:
                break
            self.pending += more
        taken = self.pending[:size]
        del self.pending[:size]
        return taken, bool(self.pending)


class Cursors:
    """The open cursors of an engine; those that nobody has asked for longer than their time to live are closed."""

    def __init__(self) -> None:
        self._open: dict[str, Cursor] = {}
        self._ids = itertools.count(int(time.time() * 1000))
        self._lock = threading.Lock()

    def next_id(self) -> str:
        return str(next(self._ids))

    def add(self, cursor: Cursor) -> None:
        cursor.deadline = time.monotonic() + cursor.ttl
        with self._lock:
            self._open[cursor.id] = cursor

    def collect(self) -> None:
        """Close what has outlived its time."""
        if not self._open:
            return
        now = time.monotonic()
        with self._lock:
            expired = [cursor for cursor in self._open.values() if cursor.deadline < now]
            for cursor in expired:
                del self._open[cursor.id]
        for cursor in expired:
            cursor.result.close()

    @contextmanager
    def use(self, name: str, context: Context) -> Iterator[Cursor]:
        """A cursor of this user and database for one request; 1600, 1601 while another request has it."""
        self.collect()
        cursor = self._open.get(name)
        if cursor is None or (cursor.database, cursor.user) != (context.database, context.user):
            raise ArangoError(1600)
        if not cursor.lock.acquire(blocking=False):
            raise ArangoError(1601)
        try:
            yield cursor
        finally:
            cursor.deadline = time.monotonic() + cursor.ttl
            cursor.lock.release()

    def forget(self, cursor: Cursor) -> None:
        with self._lock:
            self._open.pop(cursor.id, None)
        cursor.result.close()

    def close(self) -> None:
        """Close all of them."""
        while self._open:
            self._open.popitem()[1].result.close()


# -- endpoints ------------------------------------------------------------------------------------------------------


@routes.on("POST", "/_api/cursor")
def create(context: Context) -> Answer:
    body = context.request.json_object()
    text, binds, options = query_of(body)
    size = _batch_size(body)
    context.app.cursors.collect()
    with context.app.queries.track(context, text, binds, options):
        result, marks = _run(context, text, binds, options, bool(body.get("count")))
        try:
            return _first_answer(context, result, body, options, size, marks)
        except BaseException:
            result.close(abort=True)
            raise


def _run(
    context: Context, text: str, binds: dict[str, Any], options: dict[str, Any], count: bool
) -> tuple[aql.Result, dict[str, Any]]:
    """A query's result, from the results cache if it is to come from there, and what the answer says of caches."""
    app = context.app
    key = app.results.key(context, text, binds, options, count)
    kept = None if key is None else app.results.find(context, key)
    if kept is not None:
        return _Finished(kept.rows.copy(), kept.stats, []), {"cached": True}
    result = _execute(context, text, binds, options)
    marks = app.plans.use(context, text, binds, options, result.sources)
    stamp = None if key is None else caches.stamp_before(result)
    if key is None or stamp is None:
        return result, marks
    finished = _finished(result)
    if not finished.warnings:
        app.results.keep(caches.Kept.make(key, context.database, text, binds, finished, stamp))
    return finished, marks


def _execute(context: Context, text: str, binds: dict[str, Any], options: dict[str, Any]) -> aql.Result:
    def started(result: aql.Result) -> None:
        context.app.queries.running(context, result)

    stream = context.stream_id
    if stream is None:
        return aql.execute(context.engine, context.database, text, binds, options, started=started)
    with context.app.transactions.use(context, stream) as txn:
        if aql.prepare(text).modifies:
            txn.start_writing()
        result = aql.execute(txn, context.database, text, binds, options, started=started)
        return result if options.get("stream") else _finished(result)


class _Finished(aql.Result):
    """A result computed to its end, so that it does not need its transaction any more."""

    def __init__(self, rows: list[Any], stats: dict[str, Any], warnings: list[dict[str, Any]]) -> None:
        self._found = rows
        self._stats = stats
        self._warnings = warnings

    def __next__(self) -> list[Any]:
        raise StopIteration

    def all(self) -> list[Any]:
        return self._found

    def close(self, *, abort: bool = False) -> None:
        """Nothing is open."""

    def kill(self) -> None:
        """Nothing runs."""

    @property
    def stats(self) -> dict[str, Any]:
        return self._stats

    @property
    def warnings(self) -> list[dict[str, Any]]:
        return self._warnings


def _finished(result: aql.Result) -> _Finished:
    rows = result.all()
    finished = _Finished(rows, result.stats, result.warnings)
    finished.variant = result.variant
    return finished


def _first_answer(
    context: Context,
    result: aql.Result,
    body: dict[str, Any],
    options: dict[str, Any],
    size: int,
    marks: dict[str, Any],
) -> Answer:
    streams = bool(options.get("stream")) and not isinstance(result, _Finished) and not result.modifies
    rows = [] if streams else result.all()
    retry = bool(options.get("allowRetry"))
    if not streams and len(rows) <= size and not retry:
        fields: dict[str, Any] = {"result": rows, "hasMore": False}
        if body.get("count"):
            fields["count"] = len(rows)
        fields |= {"cached": False, **marks, "extra": _extra(context, result, body, options)}
        return json_answer({**fields, "error": False, "code": 201}, 201)
    cursor = Cursor(
        id=context.app.cursors.next_id(),
        database=context.database,
        batch_size=size,
        ttl=_ttl(body),
        retry=retry,
        stream_id=context.stream_id,
        result=result,
        pending=rows,
        batches=iter(result) if streams else iter(()),
        count=len(rows) if body.get("count") and not streams else None,
        extra={} if streams else _extra(context, result, body, options),
        user=context.user,
        marks=marks,
    )
    return _batch_answer(context, cursor, 201)


def _batch_answer(context: Context, cursor: Cursor, status: int) -> Answer:
    with _inside(context, cursor):
        rows, more = cursor.next_batch()
    fields: dict[str, Any] = {"result": rows, "hasMore": more}
    if more:
        fields["id"] = cursor.id
    if cursor.count is not None:
        fields["count"] = cursor.count
    extra = cursor.extra or {"warnings": cursor.result.warnings, "stats": cursor.result.stats}
    fields |= {"extra": extra, "cached": False, **cursor.marks}
    if more:
        fields["nextBatchId"] = str(cursor.batch + 1)
    cursor.last = fields
    if more or cursor.retry:
        context.app.cursors.add(cursor)
    else:
        context.app.cursors.forget(cursor)
    return json_answer({**fields, "error": False, "code": status}, status)


@contextmanager
def _inside(context: Context, cursor: Cursor) -> Iterator[None]:
    """A stream inside a stream transaction may only run while it has the transaction to itself."""
    if cursor.stream_id is None:
        yield
        return
    with context.app.transactions.use(context, cursor.stream_id):
        yield


@routes.on("POST PUT", "/_api/cursor/{cursor}")
def advance(context: Context, cursor: str) -> Answer:
    with context.app.cursors.use(cursor, context) as found:
        if found.last is not None and not found.last["hasMore"]:
            raise ArangoError(1600)
        found.batch += 1
        return _batch_answer(context, found, 200)


@routes.on("POST", "/_api/cursor/{cursor}/{batch}")
def repeat_or_advance(context: Context, cursor: str, batch: str) -> Answer:
    with context.app.cursors.use(cursor, context) as found:
        if found.last is not None and batch == str(found.batch):
            return json_answer({**found.last, "error": False, "code": 200})
        if found.last is not None and found.last["hasMore"] and batch == str(found.batch + 1):
            found.batch += 1
            return _batch_answer(context, found, 200)
    raise ArangoError(1600)


@routes.on("DELETE", "/_api/cursor/{cursor}")
def delete(context: Context, cursor: str) -> Answer:
    with context.app.cursors.use(cursor, context) as found:
        context.app.cursors.forget(found)
    return done(202, id=cursor)


@routes.on("PUT", "/_api/cursor")
def missing_cursor(context: Context) -> Answer:
    raise ArangoError(400, "expecting POST /_api/cursor/<cursor-id>")


# -- the body of a query --------------------------------------------------------------------------------------------


def query_of(body: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """(text, bind values, options) of a request body; 1502, 400. Options may stand at the top level as well."""
    text = body.get("query")
    if not isinstance(text, str) or not text.strip():
        raise ArangoError(1502)
    binds = body.get("bindVars")
    if binds is None:
        binds = {}
    if not isinstance(binds, dict):
        raise ArangoError(400, "expecting object for <bindVars>")
    options = body.get("options")
    if options is not None and not isinstance(options, dict):
        raise ArangoError(400, "expecting object for <options>")
    options = dict(options or {})
    for name in _TOP_LEVEL:
        if name in body:
            options.setdefault(name, body[name])
    return text, binds, options


def _batch_size(body: dict[str, Any]) -> int:
    size = body.get("batchSize")
    if size is None:
        return BATCH
    if isinstance(size, bool) or not isinstance(size, int | float) or size < 1:
        raise ArangoError(17, "expecting non-zero value for <batchSize>")
    return int(size)


def _ttl(body: dict[str, Any]) -> float:
    ttl = body.get("ttl")
    if ttl is not None and (isinstance(ttl, bool) or not isinstance(ttl, int | float)):
        raise ArangoError(17, "expecting a number for <ttl>")
    return float(ttl or TTL)


def _profile(text: str, stats: dict[str, Any]) -> dict[str, float]:
    started = time.perf_counter()
    aql.prepare(text)
    looked_up = time.perf_counter() - started
    return {**dict.fromkeys(_PHASES, looked_up), "executing": stats.get("executionTime", 0.0)}


def _extra(context: Context, result: aql.Result, body: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    extra: dict[str, Any] = {"warnings": result.warnings, "stats": result.stats}
    level = options.get("profile")
    if level:
        extra["profile"] = _profile(body["query"], extra["stats"])
    if isinstance(level, int) and level >= 2:
        text, binds, _ = query_of(body)
        extra["plan"] = aql.explain(context.app.engine, context.database, text, binds, options)["plan"]
    return extra
