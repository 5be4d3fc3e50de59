"""One SQLite file as an ArangoDB deployment: connections, snapshots, transactions.

The file is in WAL mode with synchronous=FULL: readers see a snapshot and never block, one writer at a time, and what was
acknowledged is on disk. All that one request writes (documents, index entries, postings, counters) is one SQLite
transaction.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from vgraph.embedded import formats, process, revisions
from vgraph.embedded.batches import insert_statement, rows_of_statements
from vgraph.embedded.catalog import (
    TABLES,
    Catalog,
    CatalogLoader,
    CollectionInfo,
    DatabaseInfo,
    ViewInfo,
)
from vgraph.embedded.documents import Collection
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.recent import Recent, State

APPLICATION_ID: Final = 0x76475241  # "vGRA"
LOCK_TIMEOUT: Final = 8.0  # seconds a writer waits for the writer before it
_PAUSE: Final = 0.002  # seconds between two looks at whether another process has finished writing
SYSTEM: Final = "_system"
_PAGE_SIZE: Final = 8192
_IDLE: Final = 8  # connections kept open while nobody uses them
Guard = Callable[[str, str, bool], None]  # (database, collection, to be written); raises what forbids it
_HEADER: Final = b"SQLite format 3\x00"


class Engine:
    """An open file. Thread-safe; any number of processes may have the same file open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.server_id = ""
        self.secret = ""
        self._pid = process.current()
        self._pool: deque[sqlite3.Connection] = deque()
        self._writer = threading.Lock()
        self.recent = Recent()
        self._loader = CatalogLoader()
        self._catalog: Catalog | None = None
        self._catalog_lock = threading.Lock()
        self._closed = False

    @staticmethod
    def open(path: str | os.PathLike[str], *, create: bool = True) -> Engine:
        """Open or create the file. A file that is not ours, newer than we know or damaged is refused and left as it is."""
        file = Path(path)
        if file.is_dir():
            raise ArangoError(1100, f"{file}: is a directory, not a database file")
        if file.exists() and file.stat().st_size:
            _refuse_foreign(file)
        elif not create:
            raise ArangoError(1228, f"{file}: no such database file")
        engine = Engine(file)
        try:
            engine._prepare_patiently()
        except sqlite3.Error as error:
            engine.close()
            raise ArangoError(1100, f"{file}: {error}") from error
        return engine

    def _prepare_patiently(self) -> None:
        """Others may be creating the very file, and SQLite does not wait for every lock that takes."""
        latest = time.monotonic() + LOCK_TIMEOUT
        while True:
            connection = self._connect()
            try:
                self._prepare(connection)
                return
            except sqlite3.OperationalError as error:
                connection.close()
                if "locked" not in str(error) or time.monotonic() > latest:
                    raise
            except BaseException:
                connection.close()
                raise
            time.sleep(0.02)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            self._create(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        self.server_id, self.secret = connection.execute("SELECT server, secret FROM state").fetchone()
        self._pool.append(connection)
        with self.reading() as txn:
            fresh = SYSTEM not in txn.catalog.databases
        if fresh:
            self._create_system()
        if connection.execute("PRAGMA user_version").fetchone()[0] < formats.PRESENT:
            formats.bring_up(self)

    def _create(self, connection: sqlite3.Connection) -> None:
        """Lay the file out in one transaction, before it becomes WAL, so that its header names us from the first byte on."""
        connection.execute("BEGIN EXCLUSIVE")
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:  # another process may have been faster
            for statement in TABLES:
                connection.execute(statement)
            server = secrets.token_hex(6).upper()
            connection.execute("INSERT INTO state VALUES (1, 1, 100, 0, ?, ?)", (server, secrets.token_hex(32)))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {formats.PRESENT}")
        connection.execute("COMMIT")

    def _create_system(self) -> None:
        from vgraph.embedded import ddl, users

        with self.writing(SYSTEM, missing_ok=True) as txn:
            if SYSTEM not in txn.catalog.databases:
                ddl.create_database(txn, SYSTEM, {})
                users.ensure_root(txn)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=LOCK_TIMEOUT, isolation_level=None, check_same_thread=False, cached_statements=512
        )
        for pragma in (
            f"page_size = {_PAGE_SIZE}",
            "synchronous = FULL",
            "cache_size = -65536",
            "mmap_size = 2147418112",  # the most SQLite takes
            "temp_store = MEMORY",
            "wal_autocheckpoint = 4000",
            "journal_size_limit = 67108864",  # after a large merge the log shrinks again
            "trusted_schema = OFF",
            "secure_delete = OFF",  # else every page that a merge or a removal frees is written once more, as zeros
        ):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    # -- transactions ---------------------------------------------------------------------------------------------

    def begin(
        self,
        database: str = SYSTEM,
        *,
        read: Sequence[str] = (),
        write: Sequence[str] = (),
        exclusive: Sequence[str] = (),
        read_only: bool = False,
        lazy: bool = False,
        lock_timeout: float = LOCK_TIMEOUT,
        missing_ok: bool = False,
        guard: Guard | None = None,
    ) -> Transaction:
        """Start a transaction.

        read_only: a snapshot. Otherwise the writer's place is taken at once, or with `lazy` at the first write (1200
        when somebody else wrote since). When `read`, `write` or `exclusive` name collections, only those of `write`
        and `exclusive` may be written (1652). A `guard` is asked about every collection that is used.
        """
        txn = Transaction(self, self._take(), database, read_only=read_only, lock_timeout=lock_timeout)
        txn.guard = guard
        try:
            txn.start(lazy=lazy, missing_ok=missing_ok)
            txn.declare(read, (*write, *exclusive))
        except BaseException:
            txn.abort()
            raise
        return txn

    @contextmanager
    def reading(self, database: str = SYSTEM, *, missing_ok: bool = True) -> Iterator[Transaction]:
        """A snapshot for a block."""
        txn = self.begin(database, read_only=True, missing_ok=missing_ok)
        try:
            yield txn
        finally:
            txn.abort()

    @contextmanager
    def writing(self, database: str = SYSTEM, *, missing_ok: bool = False) -> Iterator[Transaction]:
        """A transaction for a block: committed at its end, aborted when it raises."""
        txn = self.begin(database, missing_ok=missing_ok)
        try:
            yield txn
        except BaseException:
            txn.abort()
            raise
        txn.commit()

    def _take(self) -> sqlite3.Connection:
        if self._closed:
            raise ArangoError(30, "the embedded engine is closed")
        if self._pid != process.current():  # a forked child must not touch its parent's connections
            self._pid, self._pool, self._writer = process.current(), deque(), threading.Lock()
        try:
            return self._pool.pop()
        except IndexError:
            return self._connect()

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Return a connection whose transaction has ended."""
        if self._closed or len(self._pool) >= _IDLE:
            connection.close()
        else:
            self._pool.append(connection)

    def lock(self, timeout: float) -> None:
        """Take the writer's place in this process; 1200 when it does not become free in time."""
        if not self._writer.acquire(timeout=timeout):
            raise busy()

    def unlock(self) -> None:
        """Leave the writer's place."""
        self._writer.release()

    def catalog(self, connection: sqlite3.Connection, version: int) -> Catalog:
        """The catalog at a version, for a connection whose snapshot is at that version."""
        catalog = self._catalog
        if catalog is not None and catalog.version == version:
            return catalog
        with self._catalog_lock:
            loaded = self._loader.load(connection, version)
            if self._catalog is None or self._catalog.version < version:
                self._catalog = loaded
            return loaded

    def publish(self, catalog: Catalog) -> None:
        """Share the catalog of a transaction that has just committed it."""
        with self._catalog_lock:
            if self._catalog is None or self._catalog.version < catalog.version:
                self._catalog = catalog

    def load_uncommitted(self, connection: sqlite3.Connection, version: int) -> Catalog:
        """The catalog a transaction sees after changing it; not shared before commit."""
        with self._catalog_lock:
            return self._loader.load(connection, version)

    @property
    def opened_here(self) -> bool:
        """Whether this process opened the engine, not the one it was forked from."""
        return self._pid == process.current()

    def close(self) -> None:
        """Close every idle connection; transactions still open end with theirs."""
        self._closed = True
        while self._pool:
            self._pool.pop().close()


class _Savepoint(NamedTuple):
    """What a transaction knew when it set a savepoint."""

    name: str
    counts: dict[int, int]
    catalog: Catalog
    catalog_changed: bool


class Transaction:
    """One SQLite transaction: a snapshot to read, or the one writer."""

    def __init__(
        self, engine: Engine, connection: sqlite3.Connection, database: str, *, read_only: bool, lock_timeout: float
    ) -> None:
        self.engine = engine
        self.database = database
        self.read_only = read_only
        self.guard: Guard | None = None
        self.catalog: Catalog
        self.schema_version = 0
        self.state: State = (0, 0)
        self._connection: sqlite3.Connection | None = connection
        self._lock_timeout = lock_timeout
        self._locked = False
        self._writing = False
        self._reads = False
        self._catalog_changed = False
        self._tick = 0
        self._hlc = 0
        self._writable: frozenset[str] | None = None
        self._counts: dict[int, int] = {}
        self._last_keys: dict[int, int] = {}
        self._revised: dict[int, int] = {}
        self._handles: dict[str, Collection] = {}
        self._savepoints: list[_Savepoint] = []
        self._on_commit: list[Callable[[], None]] = []
        self._on_abort: list[Callable[[], None]] = []

    # -- life -----------------------------------------------------------------------------------------------------

    def start(self, *, lazy: bool, missing_ok: bool) -> None:
        """Begin in SQLite and load the catalog."""
        if self.read_only or lazy:
            self.sql("BEGIN")
            self._load_state()
        else:
            self._begin_immediate()
        if not missing_ok and self.database not in self.catalog.databases:
            raise ArangoError(1228)

    def _begin_immediate(self) -> None:
        self._lock_file("BEGIN IMMEDIATE")
        self._load_state()
        self._writing = True

    def _lock_file(self, statement: str) -> None:
        """Take the writer's place in this process and then, by a statement that needs it, in the file: 1200 when either stays taken."""
        latest = time.monotonic() + self._lock_timeout
        self.engine.lock(self._lock_timeout)
        self._locked = True
        self.connection.execute(
            "PRAGMA busy_timeout = 0"
        )  # SQLite would not wait for all of it, nor as long as we want
        try:
            while True:
                try:
                    self.connection.execute(statement)
                    return
                except sqlite3.OperationalError as error:
                    self._wait_for_the_file(error, latest)
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {int(1000 * LOCK_TIMEOUT)}")

    def _wait_for_the_file(self, error: sqlite3.OperationalError, latest: float) -> None:
        """Wait a moment for another process that writes, or raise what makes waiting useless."""
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY_SNAPSHOT:
            raise ArangoError(1200, "write-write conflict: the data was changed since the transaction began") from error
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise _storage_error(self.engine.path, error) from error
        if time.monotonic() >= latest:
            raise busy() from error
        time.sleep(_PAUSE)

    def _load_state(self) -> None:
        try:
            row = self.connection.execute("SELECT catalog, tick, hlc FROM state").fetchone()
            version, self._tick, self._hlc = row
        except sqlite3.DatabaseError as error:
            raise ArangoError(1100, f"{self.engine.path}: {error}") from error
        self.schema_version = version
        self.state = version, self._hlc  # of the snapshot: what was committed since moves one of the two
        self.catalog = self.engine.catalog(self.connection, version)

    def start_writing(self) -> None:
        """Make sure that this transaction is the writer: at once unless it was begun lazily."""
        if self._writing:
            return
        if self.read_only:
            raise ArangoError(1004)
        if not self._reads:  # nothing was told to the caller yet: the snapshot may be a newer one
            self.sql("ROLLBACK")
            self._handles.clear()
            self._begin_immediate()
            return
        self._lock_file("UPDATE state SET tick = tick")
        self._writing = True

    def declare(self, read: Sequence[str], write: Sequence[str]) -> None:
        """Name the collections of a stream transaction; those missing are 1203. Reading others stays allowed."""
        for name in (*read, *write):
            self.info(name)
        if read or write:
            self._writable = frozenset(self.info(name).name for name in write)

    def commit(self) -> None:
        """Make everything durable, or abort and raise."""
        if self._connection is None:
            raise ArangoError(1654)
        try:
            if self._writing:
                self._save_counters()
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            self.abort()
            raise _storage_error(self.engine.path, error) from error
        except ArangoError:
            self.abort()
            raise
        if self._catalog_changed:
            self.engine.publish(self.catalog)
        self._finish(self._on_commit)

    def _save_counters(self) -> None:
        self.sql("UPDATE state SET tick = ?, hlc = ?, catalog = ?", (self._tick, self._hlc, self.schema_version))
        for collection_id, delta in self._counts.items():
            if delta:
                self.sql("UPDATE collections SET documents = documents + ? WHERE id = ?", (delta, collection_id))
        for collection_id, last_key in self._last_keys.items():
            self.sql("UPDATE collections SET last_key = ? WHERE id = ?", (last_key, collection_id))
        for collection_id, revision in self._revised.items():
            self.sql("UPDATE collections SET revision = ? WHERE id = ?", (revision, collection_id))

    def abort(self) -> None:
        """Undo everything. Harmless when the transaction has ended already."""
        if self._connection is None:
            return
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        finally:
            self._finish(self._on_abort)

    def _finish(self, hooks: list[Callable[[], None]]) -> None:
        connection, self._connection = self._connection, None
        if self._locked:
            self._locked = False
            self.engine.unlock()
        if connection is not None:
            self.engine.give_back(connection)
        for hook in hooks:
            hook()

    @property
    def is_writing(self) -> bool:
        """Whether this transaction is the writer already."""
        return self._writing

    @property
    def ended(self) -> bool:
        """Whether it was committed or aborted."""
        return self._connection is None

    def on_commit(self, hook: Callable[[], None]) -> None:
        """Call `hook` after a successful commit."""
        self._on_commit.append(hook)

    def on_abort(self, hook: Callable[[], None]) -> None:
        """Call `hook` after an abort."""
        self._on_abort.append(hook)

    def savepoint(self) -> str:
        """Mark a point to go back to, for the writes that follow."""
        self.start_writing()  # a lazy transaction may begin anew for it
        name = f"s{len(self._savepoints)}"
        self.sql(f"SAVEPOINT {name}")
        self._savepoints.append(_Savepoint(name, dict(self._counts), self.catalog, self._catalog_changed))
        return name

    def rollback_to(self, savepoint: str) -> None:
        """Undo what was written since the savepoint, and forget the savepoint."""
        self.sql(f"ROLLBACK TO {savepoint}")
        before = self._forget(savepoint)
        self._counts = before.counts
        if self.catalog is not before.catalog:
            self._catalog_changed, self.schema_version = before.catalog_changed, before.catalog.version
            self._see(before.catalog)
        self.sql(f"RELEASE {savepoint}")

    def release(self, savepoint: str) -> None:
        """Keep what was written since the savepoint, and forget the savepoint."""
        self._forget(savepoint)
        self.sql(f"RELEASE {savepoint}")

    def _forget(self, savepoint: str) -> _Savepoint:
        while self._savepoints:
            found = self._savepoints.pop()
            if found.name == savepoint:
                return found
        raise ArangoError(1650, f"unknown savepoint {savepoint}")

    # -- SQL ------------------------------------------------------------------------------------------------------

    @property
    def connection(self) -> sqlite3.Connection:
        """The SQLite connection; 1654 once the transaction has ended."""
        if self._connection is None:
            raise ArangoError(1654)
        return self._connection

    def sql(self, statement: str, params: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run a statement of an index implementation or of the catalog."""
        if self._connection is None:
            raise ArangoError(1654)
        try:
            return self._connection.execute(statement, params)
        except sqlite3.OperationalError as error:
            raise _storage_error(self.engine.path, error) from error

    def sql_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once per row."""
        try:
            self.connection.executemany(statement, rows)
        except sqlite3.OperationalError as error:
            raise _storage_error(self.engine.path, error) from error

    def insert_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert whole rows, many with one statement: several times faster than running a statement for each."""
        start = 0
        for size in rows_of_statements(len(rows)):
            taken = chain.from_iterable(rows[start : start + size])
            # sqlite3 looks for an adapter of every `bytes`, and takes a `bytearray` as it is
            values = [bytearray(value) if type(value) is bytes else value for value in taken]
            self.sql(insert_statement(table, len(rows[0]), size), values)
            start += size

    # -- catalog --------------------------------------------------------------------------------------------------

    @property
    def database_info(self) -> DatabaseInfo:
        """The database of the transaction; 1228 when it is not there."""
        info = self.catalog.databases.get(self.database)
        if info is None:
            raise ArangoError(1228)
        return info

    def info(self, name: str) -> CollectionInfo:
        """A collection's catalog entry by name or numeric id; 1203."""
        info = self.database_info.collections.get(name)
        if info is None and name.isascii() and name.isdigit():
            info = self.catalog.collections.get(int(name))
            if info is not None and info.database != self.database:
                info = None
        if info is None:
            raise ArangoError(1203, f"collection or view not found: {name}")
        return info

    def collection(self, name: str, *, write: bool = False) -> Collection:
        """A collection bound to this transaction; 1203, 1652 when written but not declared, 1004 when read only."""
        handle = self._handles.get(name)
        if handle is None:
            handle = self._handles[name] = Collection(self, self.info(name))
        if self.guard is not None:
            self.guard(self.database, handle.name, write)
        if write:
            self._check_writable(handle)
            if not self._writing:
                self.start_writing()
                return self.collection(name)
        self._reads = True
        return handle

    def _check_writable(self, handle: Collection) -> None:
        if self.read_only:
            raise ArangoError(1004, f"read only: collection {handle.name}")
        if self._writable is not None and handle.name not in self._writable:
            raise ArangoError(1652, f"unregistered collection used in transaction: {handle.name} [write]")

    def collection_by_id(self, collection_id: int) -> Collection:
        """A collection of any database by its number."""
        info = self.catalog.collections.get(collection_id)
        if info is None:
            raise ArangoError(1203, f"collection or view not found: {collection_id}")
        return self.collection(info.name) if info.database == self.database else Collection(self, info)

    def collections(self) -> list[CollectionInfo]:
        """The database's collections, in order of creation."""
        return list(self.database_info.collections.values())

    def graph(self, name: str) -> dict[str, Any]:
        """The definition of a named graph; 1924."""
        definition = self.collection("_graphs").get(name)
        if definition is None:
            raise ArangoError(1924, f"graph '{name}' not found")
        return {**definition, "name": name}

    def view(self, name: str) -> Any:
        """The view of this name (search.View), or None."""
        info = self.database_info.views.get(name)
        return info.instance if info else None

    def view_info(self, name: str) -> ViewInfo:
        """A view's catalog entry by name or numeric id; 1203."""
        views = self.database_info.views
        info = views.get(name)
        if info is None and name.isascii() and name.isdigit():
            info = next((view for view in views.values() if view.id == int(name)), None)
        if info is None:
            raise ArangoError(1203, f"collection or view not found: {name}")
        return info

    def analyzer(self, name: str) -> Any:
        """The analyzer of this name (own database, `db::name`, or built in) as search.make_analyzer built it, or None."""
        from vgraph.embedded import analyzer_store

        return analyzer_store.find(self, name)

    def catalog_changed(self) -> None:
        """Call after changing catalog tables: gives the transaction the new picture and the file a new version."""
        self.schema_version = self.catalog.version + 1 if not self._catalog_changed else self.schema_version + 1
        self._catalog_changed = True
        self._see(self.engine.load_uncommitted(self.connection, self.schema_version))

    def _see(self, catalog: Catalog) -> None:
        """Take a new picture of the catalog; collections in use are shown it, unless they are gone or have another name."""
        self.catalog = catalog
        for name, handle in list(self._handles.items()):
            info = catalog.collections.get(handle.id)
            if info is None or info.name != handle.name:
                del self._handles[name]
            else:
                handle.bind(info)

    @property
    def catalog_is_private(self) -> bool:
        """Whether the transaction has changed the catalog: its schema version is then nobody else's."""
        return self._catalog_changed

    def bump_schema(self) -> None:
        """A named graph changed: plans made before are stale, the catalog itself is as it was."""
        if not self._catalog_changed:
            self.catalog_changed()

    # -- counters -------------------------------------------------------------------------------------------------

    def next_tick(self) -> int:
        """A number never given out before in this file."""
        self._tick += 1
        return self._tick

    def next_revision(self) -> str:
        """A revision above every other one of the file."""
        self._hlc = stamp = max(self._hlc + 1, int(time.time() * 1000) << 20)
        return revisions.encode(stamp)

    def next_revisions(self, count: int) -> list[str]:
        """As many revisions as `count`, ascending."""
        first = max(self._hlc + 1, int(time.time() * 1000) << 20)
        self._hlc = first + count - 1
        return revisions.encode_run(first, count)

    def count_delta(self, collection_id: int) -> int:
        """How many documents this transaction has added."""
        return self._counts.get(collection_id, 0)

    def counted(self, collection_id: int, delta: int) -> None:
        """Note that documents were added (delta > 0), removed (< 0) or changed (0)."""
        self._counts[collection_id] = self._counts.get(collection_id, 0) + delta
        self._revised[collection_id] = self._hlc

    def has_written(self, collection_id: int) -> bool:
        """Whether this transaction has changed documents of a collection."""
        return collection_id in self._revised

    def forget_collection(self, collection_id: int) -> None:
        """Drop the counters of a collection that is gone."""
        for counters in (self._counts, self._last_keys, self._revised):
            counters.pop(collection_id, None)

    def last_key(self, collection_id: int) -> int:
        """The highest numeric key the collection's generator knows of."""
        last = self._last_keys.get(collection_id)
        if last is None:
            last = self.sql("SELECT last_key FROM collections WHERE id = ?", (collection_id,)).fetchone()[0]
            self._last_keys[collection_id] = last
        return int(last)

    def remember_key(self, collection_id: int, key: int) -> None:
        """Tell the generator of a numeric key."""
        if key > self.last_key(collection_id):
            self._last_keys[collection_id] = key


def busy() -> ArangoError:
    """The error of a writer that waited too long for another one."""
    return ArangoError(1200, "conflict: timed out waiting for another transaction to finish writing")


def _storage_error(path: Path, error: sqlite3.Error) -> ArangoError:
    """What SQLite could not do, in ArangoDB's numbers: disk full, locked by another process, or any other I/O error."""
    text = str(error)
    num = 1104 if "full" in text else 1200 if "locked" in text else 1305
    return ArangoError(num, f"{path}: {text}")


def _refuse_foreign(path: Path) -> None:
    """Judge a file by its header alone, without giving SQLite a chance to touch it."""
    with path.open("rb") as file:
        header = file.read(100)
    if header[:16] != _HEADER:
        raise ArangoError(1100, f"{path}: not a database file of the embedded engine")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise ArangoError(1100, f"{path}: an SQLite file of another application")
    version = int.from_bytes(header[60:64], "big")
    if version > formats.PRESENT:
        raise ArangoError(1100, f"{path}: file format {version}, this engine knows up to {formats.PRESENT}")
    pages, page_size = int.from_bytes(header[28:32], "big"), int.from_bytes(header[16:18], "big")
    cut = pages * page_size > path.stat().st_size
    logs = [path.with_name(path.name + ending) for ending in ("-wal", "-journal")]
    if cut and not any(log.exists() and log.stat().st_size for log in logs):  # else SQLite has yet to complete it
        raise ArangoError(1100, f"{path}: the file is truncated")
