"""Running queries and transactions: the only ways to the database that Store and its parts know."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from vgraph.errors import StoreError
from vgraph.store import schema
from vgraph.store.narrowing import FEW, bounds
from vgraph.store.resources import query
from vgraph.store.translate import translated
from vgraph.types import Filters

T = TypeVar("T")
CONFLICT = 1200
NO_VECTOR_INDEX = frozenset({1554, 1555})
"""The database's errors where no vector index fits a query, or it is not ready."""
ATTEMPTS = 5
KEY = re.compile(r"[A-Za-z0-9_\-:.@()+,=;$!*'%]{1,254}")
"""What can be a key at all."""


class Transaction:
    """A stream transaction: committed when the block ends well, aborted otherwise."""

    def __init__(self, db: schema.Database, write: Sequence[str], read: Sequence[str] | None = None) -> None:
        self._db, self._write, self._read = db, list(write), list(read or ())

    def __enter__(self) -> Any:
        with translated("begin a transaction"):
            self._open = self._db.begin_transaction(
                read=self._read, write=self._write, allow_implicit=bool(self._write)
            )
        return self._open

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with translated("end a transaction"):
            if error is None:
                self._open.commit_transaction()
            else:
                self._open.abort_transaction()


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A query as it was run: its name, the AQL with its bind variables (to run again elsewhere), how many rows came and in how long."""

    name: str
    text: str
    binds: Mapping[str, Any]
    rows: int
    ms: float


_NOTED: ContextVar[list[QueryRun] | None] = ContextVar("noted", default=None)


@contextmanager
def noted() -> Iterator[list[QueryRun]]:
    """Note every query that is run inside, in this thread or task; streamed ones are left out."""
    runs: list[QueryRun] = []
    before = _NOTED.set(runs)
    try:
        yield runs
    finally:
        _NOTED.reset(before)


def run(
    db: schema.Database, name: str, /, *, stream: bool = False, filters: Filters | None = None, **binds: Any
) -> Iterable[Any]:
    """Run a query of `arango/queries` by name. Reading errors of a lazy cursor are translated too.

    With `filters` it gets those of their bind variables that it declares.
    """
    file, runs = query(name), _NOTED.get()
    if "@languages" in file.binds:
        binds["languages"] = _languages(db)
    if filters is not None:
        binds |= {bind: value for bind, value in resolved(db, filters).items() if f"@{bind}" in file.binds}
    named = {f"@{bind}" if f"@@{bind}" in file.binds else bind: value for bind, value in binds.items()}
    begun = time.perf_counter()
    with translated(name):
        cursor = db.aql.execute(file.text, bind_vars=named, stream=stream, batch_size=1000)
    if stream:
        return _rows(name, cursor)
    with translated(name):
        rows = list(cursor) if cursor.has_more() else list(cursor.batch() or ())
    if runs is not None:
        runs.append(QueryRun(name, file.text, named, len(rows), (time.perf_counter() - begun) * 1000))
    return rows


def run_by_vector(db: schema.Database, name: str, /, **binds: Any) -> list[Any] | None:
    """The rows of a query that needs a vector index; None where no index can serve, and its exact form has to."""
    try:
        return list(run(db, name, **binds))
    except StoreError as error:
        if error.number in NO_VECTOR_INDEX:
            return None
        raise


def one(rows: Iterable[Any]) -> dict[str, Any]:
    """The only row of a query that returns one."""
    (row,) = rows
    return dict(row)


def _rows(name: str, cursor: Any) -> Iterator[Any]:
    with translated(name):
        yield from cursor


_SPOKEN: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""By database: how many languages its text is stemmed in, which is fixed when it is made."""


def _languages(db: schema.Database) -> int:
    found = _SPOKEN.get(db)
    if found is None:
        with translated("read the schema", schema.META):
            facts = db.collection(schema.META).get("schema") or {}
        found = _SPOKEN[db] = 1 + len(facts.get("languages", ()))
    return found


_RESOLVED: ContextVar[dict[Filters, Mapping[str, Any]] | None] = ContextVar("resolved", default=None)


@contextmanager
def resolving_once() -> Iterator[None]:
    """Inside, in this thread or task, filters are resolved once and hold as they were found then in every query."""
    before = _RESOLVED.set({})
    try:
        yield
    finally:
        _RESOLVED.reset(before)


def resolved(db: schema.Database, filters: Filters) -> Mapping[str, Any]:
    """The bind variables that filters mean (narrowing.py)."""
    kept = _RESOLVED.get()
    if kept is None:
        return bounds(filters, lambda name, **binds: run(db, name, **binds))
    if filters not in kept:
        kept[filters] = bounds(filters, lambda name, **binds: run(db, name, **binds))
    return kept[filters]


def are_few(db: schema.Database, filters: Filters) -> bool:
    """Whether so few chunks can pass that comparing each with a question is quickest."""
    within = resolved(db, filters)["within"]
    return within is not None and len(within) <= FEW


def filter_binds(filters: Filters) -> dict[str, Any]:
    """What every query that finds something is run with: run gives it the bind variables of the filters that it declares."""
    return {"filters": filters}


def now_ms() -> int:
    """The moment at which the graph learns what is written now, UTC."""
    return time.time_ns() // 1_000_000


def until_undisturbed(write: Callable[[], T]) -> T:
    """Run a transaction, again when it lost a race with another writer."""
    for _ in range(ATTEMPTS - 1):
        try:
            return write()
        except StoreError as error:
            if error.number != CONFLICT:
                raise
    return write()
