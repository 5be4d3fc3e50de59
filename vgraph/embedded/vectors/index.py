"""The vector index of a collection: its log and segments in the file, its hooks, its search.

A write appends the row id and the float32 vector to ``vx<id>_log`` in the document's transaction. A block of n documents
written together is one row of number -n with their row ids and sign bits, and takes n sequence numbers. When the log is
long enough the writer seals it: sign bits go to a segment and the log's vectors away, as the document holds them too. A
transaction sees its own writes and otherwise the state its snapshot has.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakKeyDictionary

import numpy as np

from vgraph.embedded.errors import ArangoError
from vgraph.embedded.indexes import Index

from ..search.arrays import NO_INTS, Array, Floats, Ints, distinct, pack, unpack
from .codes import Codes, block_rows, sealed, vectors_of
from .definition import as_vector, document_vector, normalise
from .memory import VectorMemory, segment_blobs
from .nearest import Accept, Changes, Nearest
from .signs import Coder

if TYPE_CHECKING:
    from vgraph.embedded.bulk import Block
    from vgraph.embedded.documents import Collection
    from vgraph.embedded.engine import Transaction

SEAL: Final = 4096  # log rows before the writer seals them
FANOUT: Final = 8  # segments of one size before they become one
BUILD: Final = 8192
LEAST: Final = 16  # documents of a block in the log; fewer stand one by one
_LOOKUP: Final = 500  # rows read with one statement


@dataclass(slots=True)
class _Writing:
    """A transaction's state in this index."""

    base: int
    next: int
    unsealed: int
    sealed: bool = False
    private: tuple[tuple[Any, ...], VectorMemory] | None = field(default=None)


class VectorIndex(Index):
    """Nearest documents by one attribute. `metric` is "cosine", "l2" or "innerProduct"."""

    type: ClassVar[str] = "vector"

    def __init__(self, index_id: int, collection_id: int, spec: dict[str, Any]) -> None:
        super().__init__(index_id, collection_id, spec)
        self.attribute: str = spec["fields"][0]
        self.path = tuple(self.attribute.split("."))
        self.metric: str = spec["params"]["metric"]
        self.dimension: int = spec["params"]["dimension"]
        self.table = f"vx{index_id}"
        self.memory = VectorMemory(self.table, self.metric, self.dimension)
        self._last: tuple[dict[str, Any] | None, Floats | None] = (None, None)
        self._writing: WeakKeyDictionary[Transaction, _Writing] = WeakKeyDictionary()

    @classmethod
    def normalise(cls, definition: dict[str, Any]) -> dict[str, Any]:
        return normalise(definition)

    @cached_property
    def attributes(self) -> frozenset[str] | None:
        return frozenset(self.path[:1])

    def definition(self) -> dict[str, Any]:
        return {"id": str(self.id), **self.spec, "trainingState": "ready"}

    def selectivity(self, txn: Transaction) -> float:
        return 1.0

    # ------------------------------------------------------------------------------------------------- hooks

    def create(self, txn: Transaction) -> None:
        txn.sql(f"CREATE TABLE {self.table}_log (seq INTEGER PRIMARY KEY, row INTEGER NOT NULL, vec BLOB)")
        txn.sql(
            f"CREATE TABLE {self.table}_seg "
            "(id INTEGER PRIMARY KEY AUTOINCREMENT, low INTEGER, high INTEGER, vectors INTEGER)"
        )
        txn.sql(f"CREATE TABLE {self.table}_blob (seg INTEGER, name TEXT, data BLOB, PRIMARY KEY (seg, name))")
        txn.sql(f"CREATE TABLE {self.table}_code (centre BLOB)")

    def drop(self, txn: Transaction) -> None:
        for part in ("log", "seg", "blob", "code"):
            txn.sql(f"DROP TABLE IF EXISTS {self.table}_{part}")

    def truncate(self, txn: Transaction) -> None:
        writing = self._begin(txn)
        for part in ("log", "seg", "blob"):
            txn.sql(f"DELETE FROM {self.table}_{part}")
        # an empty segment tells every process that what it holds is gone
        self._store(txn, writing.next, writing.next, NO_INTS, NO_INTS, None, np.empty(0, np.float32))
        writing.next += 1
        writing.unsealed = 0
        writing.sealed = True

    def build(self, txn: Transaction, collection: Collection) -> None:
        writing = self._begin(txn)
        rows: list[int] = []
        vectors: list[Floats] = []
        for row, document in collection.scan(self.attributes):
            vector = self._vector(document)
            if vector is not None:
                rows.append(row)
                vectors.append(vector)
            if len(rows) >= BUILD:
                self._seal_rows(txn, writing, rows, vectors)
                rows, vectors = [], []
        if rows:
            self._seal_rows(txn, writing, rows, vectors)
        writing.sealed = True

    def _seal_rows(self, txn: Transaction, writing: _Writing, rows: list[int], vectors: list[Floats]) -> None:
        matrix = np.stack(vectors)
        bits, radii = self._coder(txn, matrix).encode(matrix)
        high = writing.next + len(rows) - 1
        self._store(txn, writing.next, high, np.array(rows, np.int64), NO_INTS, bits, radii)
        writing.next = high + 1

    def check(self, txn: Transaction, doc: dict[str, Any], rowid: int | None) -> None:
        self._vector(doc)

    def _vector(self, document: dict[str, Any]) -> Floats | None:
        """A document's vector. The last one read is kept, as a document is checked and then inserted."""
        document_read, vector = self._last
        if document_read is not document:
            vector = document_vector(document, self.path, self.dimension, sparse=self.sparse)
            self._last = document, vector
        return vector

    def insert(self, txn: Transaction, rowid: int, doc: dict[str, Any]) -> None:
        vector = self._vector(doc)
        self._last = (None, None)  # the caller may change the document from here on
        if vector is not None:
            self._put(txn, rowid, vector)

    def remove(self, txn: Transaction, rowid: int, doc: dict[str, Any]) -> None:
        self._put(txn, rowid, None)

    def update(self, txn: Transaction, rowid: int, old: dict[str, Any], new: dict[str, Any]) -> None:
        vector = self._vector(new)
        self._last = (None, None)
        self._put(txn, rowid, vector)

    def _begin(self, txn: Transaction) -> _Writing:
        writing = self._writing.get(txn)
        if writing is None:
            logged = txn.sql(f"SELECT max(seq) FROM {self.table}_log").fetchone()[0] or 0
            high = txn.sql(f"SELECT max(high) FROM {self.table}_seg").fetchone()[0] or 0
            base = max(logged, high)
            writing = self._writing[txn] = _Writing(base, base + 1, base - high)
        return writing

    def _put(self, txn: Transaction, row: int, vector: Floats | None) -> None:
        self._log(txn, row, None if vector is None else vector.astype("<f4", copy=False).tobytes(), 1)

    def _log(self, txn: Transaction, row: int, blob: bytes | None, count: int) -> None:
        writing = self._begin(txn)
        last = writing.next + count - 1
        txn.sql(f"INSERT INTO {self.table}_log VALUES (?, ?, ?)", (last, row, blob))
        writing.next = last + 1
        writing.unsealed += count
        if writing.unsealed >= SEAL:
            self._seal(txn, writing)

    def refused(self, txn: Transaction, block: Block) -> set[int]:
        return set() if self._matrix(block) is not None else super().refused(txn, block)

    def _matrix(self, block: Block) -> Floats | None:
        """The vectors of a block whose documents all have one, None for any other block."""
        matrix = block.matrix(self.path[0]) if len(self.path) == 1 else None
        if matrix is None or matrix.shape[1] != self.dimension:
            return None
        with np.errstate(over="ignore"):
            return matrix.astype(np.float32)

    def insert_many(self, txn: Transaction, block: Block) -> None:
        matrix = self._matrix(block)
        coder = self._known_coder(txn) if matrix is not None and len(matrix) >= LEAST else None
        if matrix is None or coder is None:
            super().insert_many(txn, block)
            return
        codes = Codes(np.array(block.rowids, np.int64), *coder.encode(matrix))
        self._log(txn, -len(matrix), codes.to_bytes(), len(matrix))

    # ----------------------------------------------------------------------------------------------- sealing

    def _seal(self, txn: Transaction, writing: _Writing) -> None:
        writing.sealed = True
        entries = txn.sql(f"SELECT seq, row, vec FROM {self.table}_log ORDER BY seq").fetchall()
        vectors = vectors_of(entries, self.dimension)
        coder = self._coder(txn, vectors) if len(vectors) else self._known_coder(txn)
        codes, removed = sealed(entries, vectors, coder)
        bits = codes.bits if len(codes.rows) else None
        self._store(txn, entries[0][0], entries[-1][0], codes.rows, removed, bits, codes.radii)
        txn.sql(f"DELETE FROM {self.table}_log")
        writing.unsealed = 0
        self._merge(txn)

    def _known_coder(self, txn: Transaction) -> Coder | None:
        """The index's coder, if vectors have been sealed."""
        found = txn.sql(f"SELECT centre FROM {self.table}_code").fetchone()
        return Coder(self.metric, self.dimension, unpack(found[0])) if found else None

    def _coder(self, txn: Transaction, matrix: Floats) -> Coder:
        """The index's coder; learned from these vectors if there is none yet."""
        known = self._known_coder(txn)
        if known is not None:
            return known
        coder = Coder.learn(self.metric, matrix)
        txn.sql(f"INSERT INTO {self.table}_code VALUES (?)", (pack(coder.centre),))
        return coder

    def _store(
        self, txn: Transaction, low: int, high: int, rows: Ints, removed: Ints, bits: Array | None, radii: Floats
    ) -> None:
        cursor = txn.sql(f"INSERT INTO {self.table}_seg (low, high, vectors) VALUES (?, ?, ?)", (low, high, len(rows)))
        for name, blob in segment_blobs(rows, removed, bits, radii).items():
            txn.sql(f"INSERT INTO {self.table}_blob VALUES (?, ?, ?)", (cursor.lastrowid, name, blob))

    def _merge(self, txn: Transaction) -> None:
        """While the last segments are eight of about one size, make one of them; all, when most vectors are dead."""
        while True:
            listed = txn.sql(f"SELECT id, low, high, vectors FROM {self.table}_seg ORDER BY high, id").fetchall()
            tail = listed[-FANOUT:]
            if len(listed) > 1 and listed[-1][0] % FANOUT == 0 and self._mostly_dead(txn, listed):
                tail = listed
            elif len(tail) < FANOUT or max(_level(entry[3]) for entry in tail) > _level(tail[-1][3]):
                return
            self._replace(txn, tail, first=len(listed) == len(tail))
            if tail is listed:
                return

    def _mostly_dead(self, txn: Transaction, listed: Sequence[tuple[int, int, int, int]]) -> bool:
        """Whether fewer than half of the segments' vectors can still be living."""
        blobs = f"SELECT data FROM {self.table}_blob WHERE name = ?"
        rows, removed = (
            distinct(np.concatenate([unpack(data) for (data,) in txn.sql(blobs, (name,))]))
            for name in ("rows", "removed")
        )
        return sum(entry[3] for entry in listed) > 2 * (len(rows) - len(removed)) + 4 * SEAL

    def _replace(self, txn: Transaction, listed: Sequence[tuple[int, int, int, int]], *, first: bool) -> None:
        rows, radii, removed = [], [], []
        columns: list[Array] = []
        gone = NO_INTS
        for number, *_ in reversed(listed):
            parts = dict(txn.sql(f"SELECT name, data FROM {self.table}_blob WHERE seg = ?", (number,)).fetchall())
            mine, dropped = unpack(parts["rows"]), unpack(parts["removed"])
            alive = ~np.isin(mine, gone)
            removed.append(dropped[~np.isin(dropped, gone)])
            if alive.any():
                rows.append(mine[alive])
                radii.append(unpack(parts["radii"])[alive])
                columns.append(unpack(parts["bits"]).reshape(-1, len(mine))[:, alive])
            gone = np.concatenate([gone, mine, dropped])
        bits = np.concatenate(columns[::-1], axis=1) if columns else None
        self._store(
            txn,
            listed[0][1],
            listed[-1][2],
            _joined(rows[::-1], np.int64),
            NO_INTS if first else _joined(removed, np.int64),
            bits,
            _joined(radii[::-1], np.float32),
        )
        for number, *_ in listed:
            txn.sql(f"DELETE FROM {self.table}_seg WHERE id = ?", (number,))
            txn.sql(f"DELETE FROM {self.table}_blob WHERE seg = ?", (number,))

    # --------------------------------------------------------------------------------------------- searching

    def search(
        self,
        txn: Transaction,
        query: Any,
        k: int,
        *,
        n_probe: int | None = None,
        candidates: Ints | None = None,
        accept: Accept | None = None,
    ) -> tuple[Ints, Array]:
        """Row ids and scores of the k nearest documents, best first; 1542 for a query that is not such a vector.

        Scores are cosine similarities, inner products or Euclidean distances. `candidates`: row ids allowed.
        `accept` is asked for batches of row ids, best first, until k have passed or none are left. `n_probe` is
        accepted for the sake of the server's query options and has no effect.
        """
        vector = as_vector(query, self.dimension)
        if vector is None:
            raise ArangoError(1542, f"invalid argument type: the query must be an array of {self.dimension} numbers")
        memory = self.memory
        with memory.lock:
            memory, changes = self._view(txn, memory)
            return Nearest(memory, vector, changes, self._loader(txn, memory)).search(k, candidates, accept)

    def count(self, txn: Transaction) -> int:
        """Documents in the index."""
        with self.memory.lock:
            memory, changes = self._view(txn, self.memory)
            return memory.count - len(changes.hidden) + len(changes.revived) + len(changes.own_rows)

    def _catch_up(self, txn: Transaction, memory: VectorMemory, limit: int | None = None) -> None:
        if memory.process != os.getpid():  # the mapped file is the parent's
            memory.process = os.getpid()
            memory.reset()
        if memory.folder is None:
            path = getattr(txn.engine, "path", None)
            memory.folder = Path(path).parent if path else None
            memory.cache.place(memory.folder)
        memory.catch_up(txn, limit)

    def _view(self, txn: Transaction, memory: VectorMemory) -> tuple[VectorMemory, Changes]:
        """The memory to search, and how it differs from what `txn` sees."""
        writing = self._writing.get(txn)
        if writing is not None:
            if writing.sealed:
                return self._own_memory(txn, writing), _same(self.dimension)
            self._catch_up(txn, memory, writing.base)
            return memory, self._own_changes(txn, memory, writing)
        self._catch_up(txn, memory)
        head = max(
            txn.sql(f"SELECT max(seq) FROM {self.table}_log").fetchone()[0] or 0,
            txn.sql(f"SELECT max(high) FROM {self.table}_seg").fetchone()[0] or 0,
        )
        if head >= memory.applied:
            return memory, _same(self.dimension)
        if head < memory.sealed:
            return self._fresh(txn), _same(self.dimension)
        later = [(born, died) for seq, born, died in memory.recent if seq > head]
        born = {slot for slot, _ in later if slot >= 0}
        died = [slot for _, slot in later if slot >= 0 and slot not in born]
        hidden = np.array(sorted(slot for slot in born if memory.live.view[slot]), np.int64)
        none = _same(self.dimension)
        return memory, Changes(hidden, np.array(died, np.int64), none.own_rows, none.own_vectors)

    def _own_changes(self, txn: Transaction, memory: VectorMemory, writing: _Writing) -> Changes:
        living: dict[int, bool] = {}
        for row, blob in txn.sql(f"SELECT row, vec FROM {self.table}_log WHERE seq > ? ORDER BY seq", (writing.base,)):
            if row < 0 and blob is not None:
                living |= dict.fromkeys(block_rows(blob, -row), True)
            else:
                living[row] = blob is not None
        slots = memory.by_row.get_many(np.array(list(living), np.int64)).astype(np.int64)
        kept = [row for row, lives in living.items() if lives]
        return Changes(slots[slots >= 0], NO_INTS, np.array(kept, np.int64), self.read(txn, kept))

    def _fresh(self, txn: Transaction) -> VectorMemory:
        fresh = VectorMemory(self.table, self.metric, self.dimension)
        self._catch_up(txn, fresh)
        return fresh

    def _own_memory(self, txn: Transaction, writing: _Writing) -> VectorMemory:
        """What a transaction sees that has sealed its own writes: built for it alone."""
        # not by what was written: a savepoint may have taken that back
        seen = (
            *txn.sql(f"SELECT max(seq), count(*) FROM {self.table}_log").fetchone(),
            *txn.sql(f"SELECT max(id), max(high), count(*) FROM {self.table}_seg").fetchone(),
        )
        if writing.private is None or writing.private[0] != seen:
            writing.private = seen, self._fresh(txn)
        return writing.private[1]

    # ------------------------------------------------------------------------------------- vectors in the file

    def _loader(self, txn: Transaction, memory: VectorMemory) -> Any:
        def load(slots: Ints) -> Floats:
            return self.read(txn, memory.rows.view[slots].tolist())

        return load

    def read(self, txn: Transaction, rows: Sequence[int]) -> Floats:
        """The float32 vectors of documents, from where the collection keeps them; zeros for one without."""
        collection = txn.collection_by_id(self.collection_id)
        found: dict[int, Floats] = {}
        external = collection.external(self.attribute)
        if external is not None:
            for start in range(0, len(rows), _LOOKUP):
                found.update(_stored(txn, external.table, rows[start : start + _LOOKUP]))
        missing = [row for row in rows if row not in found]
        if missing:
            for row, document in zip(missing, collection.fetch(missing, self.attributes), strict=True):
                vector = None if document is None else document_vector(document, self.path, self.dimension, sparse=True)
                if vector is not None:
                    found[row] = vector
        blank = np.zeros(self.dimension, np.float32)
        return np.stack([found.get(row, blank) for row in rows]) if rows else np.empty((0, self.dimension), np.float32)


def _stored(txn: Transaction, table: str, rows: Sequence[int]) -> Iterable[tuple[int, Floats]]:
    marks = ",".join("?" * len(rows))
    for row, kind, raw in txn.sql(f"SELECT id, kind, vec FROM {table} WHERE id IN ({marks})", rows):
        yield row, np.frombuffer(raw, "<f4") if kind == 0 else np.frombuffer(raw, "<f8").astype(np.float32)


def _same(dimension: int) -> Changes:
    return Changes(NO_INTS, NO_INTS, NO_INTS, np.empty((0, dimension), np.float32))


def _joined(parts: Sequence[Array], dtype: Any) -> Array:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _level(vectors: int) -> int:
    """Segments of one level hold about the same number of vectors."""
    level = 0
    while vectors >= 3 * SEAL * FANOUT // 4:
        vectors //= FANOUT
        level += 1
    return level
