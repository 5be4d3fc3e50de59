"""A search index in the file: a log, and segments sealed from it.

Every write appends a row to ``sx<id>_log`` inside the document's own transaction (the payload holds the analysed
terms, NULL a removal). A block of n documents written together is one row: its number is -n, its payload a list of [row,
payload], and it takes n sequence numbers. When the log is long enough the writer seals it into a segment, and merges
segments of one size, in the same transaction. Searches see committed data only, as on a server.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import orjson

from . import segments as sealed
from .arrays import NO_INTS, distinct, unpack
from .postings import Postings
from .segments import Payload, Segment

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

SEAL: Final = 4096  # log rows before the writer seals them
BUILD: Final = 65_536  # documents of a segment when an index is built over existing ones
FANOUT: Final = 8  # segments of one size before they become one
_PART: Final = 1 << 20  # bytes of a blob in one row


@dataclass(slots=True)
class _Writing:
    """A transaction's state in this index: what was committed before it, what it writes."""

    base: int
    next: int
    unsealed: int
    sealed: bool = False


class PostingsStore:
    """The file's side of an index: log and segments, written inside the caller's transaction."""

    def __init__(self, index_id: int, keep_positions: Any) -> None:
        self.table = f"sx{index_id}"
        self.keep_positions = keep_positions
        self.postings = Postings(index_id, keep_positions)
        self._writing: WeakKeyDictionary[Transaction, _Writing] = WeakKeyDictionary()

    def create(self, txn: Transaction) -> None:
        txn.sql(f"CREATE TABLE {self.table}_log (seq INTEGER PRIMARY KEY, row INTEGER NOT NULL, terms BLOB)")
        txn.sql(
            f"CREATE TABLE {self.table}_seg "
            "(id INTEGER PRIMARY KEY AUTOINCREMENT, low INTEGER, high INTEGER, docs INTEGER)"
        )
        txn.sql(
            f"CREATE TABLE {self.table}_blob (seg INTEGER, name TEXT, part INTEGER, data BLOB, PRIMARY KEY (seg, name, part))"
        )

    def drop(self, txn: Transaction) -> None:
        for part in ("log", "seg", "blob"):
            txn.sql(f"DROP TABLE IF EXISTS {self.table}_{part}")

    def truncate(self, txn: Transaction) -> None:
        writing = self._begin(txn)
        for part in ("log", "seg", "blob"):
            txn.sql(f"DELETE FROM {self.table}_{part}")
        # an empty segment tells every process that what it has attached is gone
        self._store(txn, Segment(writing.next, writing.next, NO_INTS, NO_INTS))
        writing.next += 1
        writing.unsealed = 0
        writing.sealed = True

    def source(self, txn: Transaction, stack: ExitStack) -> Transaction:
        """The transaction to read committed postings with: `txn`, unless it has sealed the log it found."""
        writing = self._writing.get(txn)
        if writing is None or not writing.sealed:
            return txn
        return stack.enter_context(txn.engine.reading(txn.database))

    def snapshot(self, source: Transaction) -> Postings:
        """The postings as far as they are committed for `source`. The caller holds `postings.lock`."""
        writing = self._writing.get(source)
        self.postings.catch_up(source, writing.base if writing else None)
        return self.postings

    def private(self, source: Transaction) -> Postings:
        """Postings built from this snapshot alone, for a reader older than a merge."""
        fresh = Postings(0, self.keep_positions)
        fresh.table = self.table
        writing = self._writing.get(source)
        fresh.catch_up(source, writing.base if writing else None)
        return fresh

    # ----------------------------------------------------------------------------------------------- writing

    def _begin(self, txn: Transaction) -> _Writing:
        writing = self._writing.get(txn)
        if writing is None:
            logged = txn.sql(f"SELECT max(seq) FROM {self.table}_log").fetchone()[0] or 0
            high = txn.sql(f"SELECT max(high) FROM {self.table}_seg").fetchone()[0] or 0
            base = max(logged, high)
            writing = self._writing[txn] = _Writing(base, base + 1, base - high)
        return writing

    def put(self, txn: Transaction, row: int, payload: Payload | None) -> None:
        """Log what a document brings now; None when it is gone (or brings nothing any more)."""
        self._log(txn, row, None if payload is None else orjson.dumps(payload), 1)

    def put_many(self, txn: Transaction, documents: list[tuple[int, Payload]]) -> None:
        """Log what new documents bring, as one block."""
        if documents:
            self._log(txn, -len(documents), orjson.dumps(documents), len(documents))

    def _log(self, txn: Transaction, row: int, blob: bytes | None, count: int) -> None:
        writing = self._begin(txn)
        last = writing.next + count - 1
        txn.sql(f"INSERT INTO {self.table}_log VALUES (?, ?, ?)", (last, row, blob))
        writing.next = last + 1
        writing.unsealed += count
        if writing.unsealed >= SEAL:
            self._seal(txn, writing)

    def build(self, txn: Transaction, documents: Iterable[tuple[int, Payload]]) -> None:
        """Segments for documents that exist already."""
        writing = self._begin(txn)
        found = iter(documents)
        while batch := list(islice(found, BUILD)):
            low, writing.next = writing.next, writing.next + len(batch)
            self._store(txn, sealed.build(low, writing.next - 1, batch, self.keep_positions))
        writing.sealed = True

    def _seal(self, txn: Transaction, writing: _Writing) -> None:
        writing.sealed = True
        [low, high] = txn.sql(f"SELECT min(seq), max(seq) FROM {self.table}_log").fetchone()
        entries = txn.sql(f"SELECT row, terms FROM {self.table}_log ORDER BY seq")
        documents = (document for row, blob in entries for document in sealed.logged(row, blob))
        self._store(txn, sealed.build(low, high, documents, self.keep_positions))
        txn.sql(f"DELETE FROM {self.table}_log")
        writing.unsealed = 0
        self._merge(txn)

    def _store(self, txn: Transaction, segment: Segment) -> None:
        cursor = txn.sql(
            f"INSERT INTO {self.table}_seg (low, high, docs) VALUES (?, ?, ?)",
            (segment.low, segment.high, len(segment.rows)),
        )
        number = cursor.lastrowid
        for name, blob in sealed.encode(segment).items():
            for part, start in enumerate(range(0, len(blob) or 1, _PART)):
                txn.sql(
                    f"INSERT INTO {self.table}_blob VALUES (?, ?, ?, ?)",
                    (number, name, part, blob[start : start + _PART]),
                )

    def _merge(self, txn: Transaction) -> None:
        """While the last segments are eight of about one size, make one of them; all, when most documents are dead."""
        while True:
            listed = txn.sql(f"SELECT id, low, high, docs FROM {self.table}_seg ORDER BY high, id").fetchall()
            if len(listed) > 1 and listed[-1][0] % FANOUT == 0 and self._mostly_dead(txn, listed):
                self._replace(txn, listed, first=True)
                return
            tail = listed[-FANOUT:]
            if len(tail) < FANOUT or max(_level(entry[3]) for entry in tail) > _level(tail[-1][3]):
                return
            self._replace(txn, tail, first=len(listed) == len(tail))

    def _mostly_dead(self, txn: Transaction, listed: list[tuple[int, int, int, int]]) -> bool:
        """Whether fewer than half of the segments' documents can still be living."""
        reader = Postings(0, self.keep_positions)
        reader.table = self.table
        rows, removed = (
            distinct(np.concatenate([unpack(reader.blob(txn, number, name)) for number, *_ in listed]))
            for name in ("rows", "removed")
        )
        return sum(entry[3] for entry in listed) > 2 * (len(rows) - len(removed)) + 4 * SEAL

    def _replace(self, txn: Transaction, listed: list[tuple[int, int, int, int]], *, first: bool) -> None:
        reader = Postings(0, self.keep_positions)
        reader.table = self.table
        reader.reader = txn
        merged = sealed.merge([reader.read(txn, number, low, high) for number, low, high, _ in listed], first=first)
        # under a number never used before: attached segments are recognised by it
        self._store(txn, merged)
        for number, *_ in listed:
            txn.sql(f"DELETE FROM {self.table}_seg WHERE id = ?", (number,))
            txn.sql(f"DELETE FROM {self.table}_blob WHERE seg = ?", (number,))


def _level(documents: int) -> int:
    """Segments of one level hold about the same number of documents."""
    level = 0
    while documents >= 3 * SEAL * FANOUT // 4:
        documents //= FANOUT
        level += 1
    return level
