"""Running queries and transactions: the only ways to the database that Store and its parts know."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

from vgraph.errors import StoreError
from vgraph.store import schema
from vgraph.store.resources import query
from vgraph.store.translate import translated
from vgraph.types import Filters

T = TypeVar("T")
CONFLICT = 1200
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


def run(db: schema.Database, name: str, /, *, stream: bool = False, **binds: Any) -> Iterable[Any]:
    """Run a query of `arango/queries` by name. Reading errors of a lazy cursor are translated too."""
    file = query(name)
    named = {f"@{bind}" if f"@@{bind}" in file.binds else bind: value for bind, value in binds.items()}
    with translated(name):
        cursor = db.aql.execute(file.text, bind_vars=named, stream=stream, batch_size=1000)
    if stream:
        return _rows(name, cursor)
    with translated(name):
        return list(cursor)


def one(rows: Iterable[Any]) -> dict[str, Any]:
    """The only row of a query that returns one."""
    (row,) = rows
    return dict(row)


def _rows(name: str, cursor: Any) -> Iterator[Any]:
    with translated(name):
        yield from cursor


def filter_binds(filters: Filters) -> dict[str, Any]:
    """The bind variables every retrieving query shares."""
    return {
        "cameras": None if filters.cameras is None else list(filters.cameras),
        "documents": None if filters.documents is None else list(filters.documents),
        "start_ms": filters.start_ms,
        "end_ms": filters.end_ms,
        "not_after": filters.not_after,
    }


def until_undisturbed(write: Callable[[], T]) -> T:
    """Run a transaction, again when it lost a race with another writer."""
    for _ in range(ATTEMPTS - 1):
        try:
            return write()
        except StoreError as error:
            if error.number != CONFLICT:
                raise
    return write()
