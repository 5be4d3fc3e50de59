"""What a function behind an endpoint works with: the request, and the transaction it runs in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vgraph.embedded.engine import Transaction
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.wire import SYSTEM, Request

if TYPE_CHECKING:
    from vgraph.embedded.http.app import App


class Context:
    """One request on its way through the engine."""

    __slots__ = ("app", "request", "user")

    def __init__(self, app: App, request: Request, user: str) -> None:
        self.app = app
        self.request = request
        self.user = user

    @property
    def database(self) -> str:
        """The database the request is addressed to."""
        return self.request.database

    def need_system(self) -> None:
        """Some endpoints exist in _system only; 1230."""
        if self.request.database != SYSTEM:
            raise ArangoError(1230)

    @property
    def stream_id(self) -> str | None:
        """The stream transaction the request belongs to."""
        return self.request.headers.get("x-arango-trx-id")

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction to read in: the stream transaction, or a snapshot of its own."""
        stream = self.stream_id
        if stream is None:
            txn = self.app.engine.begin(self.request.database, read_only=True)
            try:
                yield txn
            finally:
                txn.abort()
            return
        with self.app.transactions.use(self, stream) as txn:
            yield txn

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction to write in: committed at the end of the block, or part of the stream transaction.

        When the block raises, all it has written is taken back in either case.
        """
        stream = self.stream_id
        if stream is None:
            with self.app.engine.writing(self.request.database) as txn:
                yield txn
            return
        with self.app.transactions.use(self, stream) as txn:
            txn.start_writing()
            savepoint = txn.savepoint()
            try:
                yield txn
            except BaseException:
                if not txn.ended:
                    txn.rollback_to(savepoint)
                raise
            txn.release(savepoint)
