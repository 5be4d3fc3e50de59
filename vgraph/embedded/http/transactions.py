"""/_api/transaction: stream transactions."""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from vgraph.embedded.engine import LOCK_TIMEOUT, Engine, Transaction
from vgraph.embedded.errors import ArangoError, unsupported
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer

routes = Routes()

IDLE_SECONDS: Final = 60.0
_REMEMBERED: Final = 1000  # how many ended transactions can still be asked for


Owner = tuple[str, str]  # database and user


@dataclass(slots=True)
class _Open:
    txn: Transaction
    owner: Owner
    used: float
    lock: threading.Lock = field(default_factory=threading.Lock)


class StreamTransactions:
    """The transactions that live across requests. One that nobody uses for a minute is aborted."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[str, _Open] = {}
        self._ended: OrderedDict[str, tuple[Owner, str]] = OrderedDict()
        self._ids = itertools.count(int(time.time() * 1000))

    def begin(self, context: Context, body: dict[str, Any]) -> str:
        """Start one; 10, 1203."""
        self.collect()
        collections = body.get("collections")
        if not isinstance(collections, dict):
            raise ArangoError(10, "missing/invalid collections definition for transaction")
        read, write, exclusive = (_names(collections.get(kind)) for kind in ("read", "write", "exclusive"))
        timeout = body.get("lockTimeout")
        for name in (*write, *exclusive):
            if context.access is not None:
                context.access.check_collection(context.database, name, True)
        txn = self._engine.begin(
            context.database,
            read=read,
            write=write,
            exclusive=exclusive,
            lazy=not exclusive,
            guard=context.guard,
            lock_timeout=float(timeout) if isinstance(timeout, int | float) and timeout > 0 else LOCK_TIMEOUT,
        )
        name = str(next(self._ids))
        self._open[name] = _Open(txn, context.owner, time.monotonic())
        return name

    @contextmanager
    def use(self, context: Context, name: str) -> Iterator[Transaction]:
        """A transaction for one request; 1655, 1654 when it was aborted meanwhile."""
        self.collect()
        entry = self._entry(name, context.owner)
        if not entry.lock.acquire(timeout=LOCK_TIMEOUT):
            raise ArangoError(28, "transaction is in use by another request")
        try:
            yield entry.txn
        finally:
            entry.used = time.monotonic()
            entry.lock.release()

    def _entry(self, name: str, owner: Owner) -> _Open:
        entry = self._open.get(name)
        if entry is None or entry.owner != owner:
            ended = self._ended.get(name)
            if ended is not None and ended[0] == owner and ended[1] == "aborted":
                raise ArangoError(1654)
            raise ArangoError(1655, f"transaction '{name}' not found")
        return entry

    def status(self, name: str, owner: Owner) -> str:
        """running, committed or aborted; 1655."""
        self.collect()
        ended = self._ended.get(name)
        if ended is not None and ended[0] == owner:
            return ended[1]
        self._entry(name, owner)
        return "running"

    def end(self, name: str, owner: Owner, *, commit: bool) -> str:
        """Commit or abort; doing the same again is harmless, the opposite is 1653."""
        wanted = "committed" if commit else "aborted"
        ended = self._ended.get(name)
        if ended is not None and ended[0] == owner:
            if ended[1] != wanted:
                raise ArangoError(1653, f"transaction was already {ended[1]}")
            return wanted
        entry = self._entry(name, owner)
        with entry.lock:
            try:
                if commit:
                    entry.txn.commit()
                else:
                    entry.txn.abort()
            finally:
                self._remember(name, "aborted" if entry.txn.ended and not commit else wanted)
        return wanted

    def _remember(self, name: str, state: str) -> None:
        entry = self._open.pop(name, None)
        if entry is not None:
            self._ended[name] = entry.owner, state
            while len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)

    def listed(self, owner: Owner) -> list[dict[str, str]]:
        """Those that a user runs in a database."""
        self.collect()
        return [{"id": name, "state": "running"} for name, entry in self._open.items() if entry.owner == owner]

    def collect(self) -> None:
        """Abort those that were left alone."""
        if not self._open:
            return
        latest = time.monotonic() - IDLE_SECONDS
        for name, entry in list(self._open.items()):
            if entry.used < latest and entry.lock.acquire(blocking=False):
                try:
                    entry.txn.abort()
                    self._remember(name, "aborted")
                finally:
                    entry.lock.release()

    def close(self) -> None:
        """Abort all of them."""
        for name, entry in list(self._open.items()):
            entry.txn.abort()
            self._remember(name, "aborted")


def _names(value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ArangoError(10, "missing/invalid collections definition for transaction")
    return names


@routes.on("POST", "/_api/transaction/begin")
def begin(context: Context) -> Answer:
    name = context.app.transactions.begin(context, context.request.json_object())
    return done(201, result={"id": name, "status": "running"})


@routes.on("GET", "/_api/transaction")
def list_running(context: Context) -> Answer:
    return json_answer({"transactions": context.app.transactions.listed(context.owner)})


@routes.on("GET", "/_api/transaction/{name}")
def status(context: Context, name: str) -> Answer:
    return done(200, result={"id": name, "status": context.app.transactions.status(name, context.owner)})


@routes.on("PUT", "/_api/transaction/{name}")
def commit(context: Context, name: str) -> Answer:
    state = context.app.transactions.end(name, context.owner, commit=True)
    return done(200, result={"id": name, "status": state})


@routes.on("DELETE", "/_api/transaction/{name}")
def abort(context: Context, name: str) -> Answer:
    state = context.app.transactions.end(name, context.owner, commit=False)
    return done(200, result={"id": name, "status": state})


@routes.on("POST", "/_api/transaction")
def run_javascript(context: Context) -> Answer:
    raise unsupported("JavaScript transactions")
