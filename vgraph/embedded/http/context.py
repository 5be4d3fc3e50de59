"""What a function behind an endpoint works with: the request, and the transaction it runs in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from vgraph.embedded.engine import Engine, Guard, Transaction
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.wire import SYSTEM, Request

if TYPE_CHECKING:
    from vgraph.embedded.http.access import Access
    from vgraph.embedded.http.app import App


class GuardedEngine:
    """An engine whose transactions ask first; all that running a query needs of one."""

    __slots__ = ("_engine", "_guard")

    def __init__(self, engine: Engine, guard: Guard) -> None:
        self._engine = engine
        self._guard = guard

    def begin(self, database: str = SYSTEM, **options: Any) -> Transaction:
        """Start a transaction as Engine.begin does."""
        return self._engine.begin(database, guard=self._guard, **options)


class Context:
    """One request on its way through the engine."""

    __slots__ = ("access", "app", "cancelled", "request", "user")

    def __init__(self, app: App, request: Request, user: str) -> None:
        self.app = app
        self.request = request
        self.user = user
        self.access: Access | None = None  # None: nothing is forbidden
        self.cancelled = False

    @property
    def database(self) -> str:
        """The database the request is addressed to."""
        return self.request.database

    @property
    def owner(self) -> tuple[str, str]:
        """Whom what outlives the request belongs to: database and user."""
        return self.request.database, self.user

    def need_system(self) -> None:
        """Some endpoints exist in _system only; 1230."""
        if self.request.database != SYSTEM:
            raise ArangoError(1230)

    @property
    def guard(self) -> Guard | None:
        """What transactions of this request have to ask before they use a collection."""
        return None if self.access is None else self.access.check_collection

    @property
    def engine(self) -> Engine:
        """The engine as far as the user may use it; only good for beginning transactions."""
        engine, guard = self.app.engine, self.guard
        return engine if guard is None else cast(Engine, GuardedEngine(engine, guard))

    @property
    def stream_id(self) -> str | None:
        """The stream transaction the request belongs to."""
        return self.request.headers.get("x-arango-trx-id")

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction to read in: the stream transaction, or a snapshot of its own."""
        stream = self.stream_id
        if stream is None:
            txn = self.app.engine.begin(self.request.database, read_only=True, guard=self.guard)
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
            txn = self.app.engine.begin(self.request.database, guard=self.guard)
            try:
                yield txn
            except BaseException:
                txn.abort()
                raise
            txn.commit()
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
