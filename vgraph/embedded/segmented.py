"""What search and vector indexes have in common: in the file a log and segments sealed from it, in memory slots that follow them.

Every write appends a row to ``<table>_log`` inside the document's own transaction: a sequence number, the document's row id, and
what the index keeps of it (NULL for a removal). Documents that are new and written together may be one row: its row id is minus
their number, it takes as many sequence numbers, and the last of them is its own. When the log is long enough the writer seals it
into a segment, in the same transaction; many documents at once become a segment without passing through the log.

Segments are merged eight of about one size at a time, up to some ten thousand documents: every document is written a small
number of times however many there are, and no single write has more to do than to merge one segment of that size.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from vgraph.embedded.arrays import NO_INTS, Growing, Ints, RowMap, pack, unpack

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

FANOUT: Final = 8  # segments of one size before they become one
LEAST: Final = 1024  # documents of a segment of the first level, about
MERGED: Final = 2  # levels that are merged; what is larger stays
PART: Final = 8000  # bytes of a blob in one row, which is a page: a piece of it is read without what stands around

Entry: TypeAlias = tuple[int, int, bytes | None]
"""A row of the log: sequence number; row id, or minus the number of documents; what the index keeps (None: removed)."""


class Listed(NamedTuple):
    """A segment as the file lists it: it covers the sequence numbers from low to high."""

    number: int
    low: int
    high: int
    documents: int


@dataclass(frozen=True, slots=True)
class Sealed:
    """A segment to be stored: its documents in the order of the log, what it removes of older segments, and the index's own blobs."""

    rows: Ints
    removed: Ints
    blobs: Mapping[str, bytes] = field(default_factory=dict)


NOTHING: Final = Sealed(NO_INTS, NO_INTS)


class Content(Protocol):
    """An index behind a log."""

    collection_id: int

    def sealed(self, txn: Transaction, entries: Sequence[Entry]) -> Sealed:
        """A segment of the whole log."""

    def merged(self, txn: Transaction, listed: Sequence[Listed], *, first: bool) -> Sealed:
        """One segment for several; `first`: nothing older remains, so that removals need not be remembered."""


@dataclass(slots=True)
class Writing:
    """A transaction's state in an index: the last number committed before it, the next it gives, what waits to be sealed."""

    base: int
    next: int
    unsealed: int
    sealed: bool = False


class SegmentedLog:
    """The file's side of an index, written inside the caller's transaction."""

    def __init__(self, table: str, content: Content) -> None:
        self.table = table
        self._content = content
        self._writing: WeakKeyDictionary[Transaction, Writing] = WeakKeyDictionary()

    # -- life -----------------------------------------------------------------------------------------------------

    def create(self, txn: Transaction) -> None:
        txn.sql(f"CREATE TABLE {self.table}_log (seq INTEGER PRIMARY KEY, row INTEGER NOT NULL, data BLOB)")
        txn.sql(
            f"CREATE TABLE {self.table}_seg (id INTEGER PRIMARY KEY AUTOINCREMENT, low INTEGER, high INTEGER, documents INTEGER)"
        )
        txn.sql(
            f"CREATE TABLE {self.table}_blob (seg INTEGER, name TEXT, part INTEGER, data BLOB, PRIMARY KEY (seg, name, part))"
        )

    def drop(self, txn: Transaction) -> None:
        for part in ("log", "seg", "blob"):
            txn.sql(f"DROP TABLE IF EXISTS {self.table}_{part}")

    def truncate(self, txn: Transaction) -> None:
        """Forget everything. An empty segment tells every process that what it holds is gone."""
        writing = self.begin(txn)
        for part in ("log", "seg", "blob"):
            txn.sql(f"DELETE FROM {self.table}_{part}")
        writing.unsealed = 0
        self._store(txn, writing.next, writing.next, NOTHING)
        writing.next += 1
        writing.sealed = True

    # -- writing --------------------------------------------------------------------------------------------------

    def writing(self, txn: Transaction) -> Writing | None:
        """The state of a transaction that has written to the index."""
        return self._writing.get(txn)

    def begin(self, txn: Transaction) -> Writing:
        """The state of a transaction that is about to write."""
        writing = self._writing.get(txn)
        if writing is None:
            logged, high = self.head(txn)
            base = max(logged, high)
            writing = self._writing[txn] = Writing(base, base + 1, base - high)
        return writing

    def head(self, txn: Transaction) -> tuple[int, int]:
        """The last sequence numbers that a transaction sees: of the log, of the segments."""
        logged = txn.sql(f"SELECT max(seq) FROM {self.table}_log").fetchone()[0] or 0
        high = txn.sql(f"SELECT max(high) FROM {self.table}_seg").fetchone()[0] or 0
        return logged, high

    def append(self, txn: Transaction, row: int, data: bytes | None, count: int, limit: int) -> None:
        """Log a document (or a block of `count`), and seal the log when it holds `limit` documents."""
        writing = self.begin(txn)
        last = writing.next + count - 1
        txn.sql(f"INSERT INTO {self.table}_log VALUES (?, ?, ?)", (last, row, data))
        writing.next = last + 1
        writing.unsealed += count
        if writing.unsealed >= limit:
            self._seal(txn, writing)
            self._merge(txn)

    def add(self, txn: Transaction, count: int, segment: Sealed, *, merge: bool = True) -> None:
        """Store a segment of `count` writes that do not pass through the log."""
        writing = self.begin(txn)
        if writing.unsealed:
            self._seal(txn, writing)
        self._store(txn, writing.next, writing.next + count - 1, segment)
        writing.next += count
        writing.sealed = True
        if merge:
            self._merge(txn)

    def _seal(self, txn: Transaction, writing: Writing) -> None:
        entries: list[Entry] = txn.sql(f"SELECT seq, row, data FROM {self.table}_log ORDER BY seq").fetchall()
        if entries:  # a savepoint may have taken all of it back
            self._store(txn, entries[0][0], entries[-1][0], self._content.sealed(txn, entries))
            txn.sql(f"DELETE FROM {self.table}_log")
        writing.unsealed = 0
        writing.sealed = True

    def _store(self, txn: Transaction, low: int, high: int, segment: Sealed) -> None:
        number = txn.sql(
            f"INSERT INTO {self.table}_seg (low, high, documents) VALUES (?, ?, ?)", (low, high, len(segment.rows))
        ).lastrowid
        self._insert_blobs(txn, number, {"rows": pack(segment.rows), "removed": pack(segment.removed), **segment.blobs})

    def _insert_blobs(self, txn: Transaction, number: int | None, blobs: Mapping[str, bytes]) -> None:
        parts = [
            (number, name, part, blob[start : start + PART])
            for name, blob in blobs.items()
            for part, start in enumerate(range(0, len(blob) or 1, PART))
        ]
        txn.insert_rows(f"{self.table}_blob", parts)

    def cut_anew(self, txn: Transaction) -> None:
        """Store the blobs in parts of the present size."""
        for number, name in txn.sql(f"SELECT DISTINCT seg, name FROM {self.table}_blob").fetchall():
            blob = self.blob(txn, number, name)
            txn.sql(f"DELETE FROM {self.table}_blob WHERE seg = ? AND name = ?", (number, name))
            self._insert_blobs(txn, number, {name: blob})

    # -- merging --------------------------------------------------------------------------------------------------

    def _merge(self, txn: Transaction) -> None:
        """While the last segments are eight of about one size, make one of them; all, when most documents are dead."""
        while True:
            listed = self.listed(txn)
            tail = listed[-FANOUT:]
            level = _level(tail[-1].documents)
            if len(tail) < FANOUT or level >= MERGED or max(_level(entry.documents) for entry in tail) > level:
                return
            if self._mostly_dead(txn, listed):
                tail = listed
            self._replace(txn, tail, first=len(listed) == len(tail))

    def _mostly_dead(self, txn: Transaction, listed: Sequence[Listed]) -> bool:
        """Whether fewer than half of the segments' documents can still be living."""
        [living] = txn.sql("SELECT documents FROM collections WHERE id = ?", (self._content.collection_id,)).fetchone()
        living += txn.count_delta(self._content.collection_id)
        return sum(entry.documents for entry in listed) > 2 * int(living) + 4 * LEAST

    def _replace(self, txn: Transaction, listed: Sequence[Listed], *, first: bool) -> None:
        merged = self._content.merged(txn, listed, first=first)
        # under a number never used before: segments that processes hold are recognised by it
        self._store(txn, listed[0].low, listed[-1].high, merged)
        for number, *_ in listed:
            txn.sql(f"DELETE FROM {self.table}_seg WHERE id = ?", (number,))
            txn.sql(f"DELETE FROM {self.table}_blob WHERE seg = ?", (number,))

    # -- reading --------------------------------------------------------------------------------------------------

    def newest(self, txn: Transaction, top: int) -> int:
        """The number of the newest segment up to a sequence number."""
        return int(txn.sql(f"SELECT max(id) FROM {self.table}_seg WHERE high <= ?", (top,)).fetchone()[0] or 0)

    def listed(self, txn: Transaction, top: int = 1 << 62) -> list[Listed]:
        """The segments up to a sequence number, in order."""
        found = txn.sql(
            f"SELECT id, low, high, documents FROM {self.table}_seg WHERE high <= ? ORDER BY high, id", (top,)
        )
        return list(map(Listed._make, found))

    def entries(self, txn: Transaction, after: int, top: int) -> list[Entry]:
        """The log between two sequence numbers."""
        statement = f"SELECT seq, row, data FROM {self.table}_log WHERE seq > ? AND seq <= ? ORDER BY seq"
        return txn.sql(statement, (after, top)).fetchall()

    def blob(self, txn: Transaction, number: int, name: str) -> bytes:
        """A blob of a segment; empty when the transaction does not see it."""
        parts = txn.sql(f"SELECT data FROM {self.table}_blob WHERE seg = ? AND name = ? ORDER BY part", (number, name))
        return b"".join([part for (part,) in parts])

    def piece(self, txn: Transaction, number: int, name: str, start: int, end: int) -> bytes:
        """Some bytes of a blob, from `start` to `end`; fewer when the transaction does not see it."""
        first, last = start // PART, (end - 1) // PART
        if first == last:
            statement = f"SELECT data FROM {self.table}_blob WHERE seg = ? AND name = ? AND part = ?"
            found = txn.sql(statement, (number, name, first)).fetchone()
            return found[0][start - first * PART : end - first * PART] if found else b""
        statement = (
            f"SELECT data FROM {self.table}_blob WHERE seg = ? AND name = ? AND part >= ? AND part <= ? ORDER BY part"
        )
        raw = b"".join([part for (part,) in txn.sql(statement, (number, name, first, last))])
        return raw[start - first * PART : end - first * PART]


def _level(documents: int) -> int:
    """Segments of one level hold about the same number of documents."""
    level = 0
    while documents >= 3 * LEAST * FANOUT // 4:
        documents //= FANOUT
        level += 1
    return level


# -- in memory ------------------------------------------------------------------------------------------------------


class Follower(ABC):
    """What a process holds of such an index: its documents in slots, in the order in which they were written.

    Hold `lock` while reading. A segment that is new in the file is put behind those that are here; one that was merged from
    some of them takes their place when it has the same documents, so that slots, and all that is remembered by slot, stay.
    """

    def __init__(self, log: SegmentedLog) -> None:
        self.log = log
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.newest = 0  # the number of the newest segment here
        self.sealed = 0  # the last sequence number of the segments here
        self.applied = 0  # the last one here at all
        self.rows = Growing(np.int64)
        self.live = Growing(np.bool_)
        self.by_row = RowMap()
        self.died = Growing(np.int64)  # slots in the order in which they died
        self._attached: list[tuple[Listed, int]] = []  # with their first slots
        self._settled = 0, 0  # slots and deaths when the last segment was attached

    @property
    def size(self) -> int:
        """Slots in use, dead ones included."""
        return self.rows.size

    @property
    def dead(self) -> int:
        """Slots that are dead."""
        return self.died.size

    def alive(self) -> Ints:
        """The living slots."""
        return np.flatnonzero(self.live.view)

    # -- catching up ----------------------------------------------------------------------------------------------

    def catch_up(self, txn: Transaction, limit: int | None = None) -> None:
        """Take in what `txn` sees and this memory does not, up to a sequence number."""
        top = 1 << 62 if limit is None else limit
        newest = self.log.newest(txn, top)
        if newest > self.newest:
            self._follow(txn, self.log.listed(txn, top))
            self.newest = newest
        entries = self.log.entries(txn, self.applied, top)
        if entries:
            self.apply(entries)
            self.applied = entries[-1][0]

    def _follow(self, txn: Transaction, listed: Sequence[Listed]) -> None:
        """Take in segments, those that are here already as they are where that is possible."""
        same = 0
        while same < min(len(listed), len(self._attached)) and listed[same] == self._attached[same][0]:
            same += 1
        gone, fresh = self._attached[same:], listed[same:]
        if not self._shed() or (gone and not (fresh and self._continues(txn, gone, fresh[0]))):
            self.reset()
            gone, fresh = [], listed
        self._attached = self._attached[: len(self._attached) - len(gone)]
        self.reserve(self.size + sum(segment.documents for segment in fresh))
        for place, segment in enumerate(fresh):
            start = gone[0][1] if gone and not place else self.size
            self._attach(txn, segment, start)
        self.sealed = self.applied = listed[-1].high if listed else 0

    def _shed(self) -> bool:
        """Take back what came from the log, as a segment brings it anew; False when it has left its mark on older slots."""
        size, deaths = self._settled
        if self.died.size != deaths:
            return False
        if self.size > size:
            rows = self.rows.view[size:]
            self.by_row.set_many(rows, np.full(len(rows), -1, np.int32))
            self.rows.resize(size)
            self.live.resize(size)
            self.shrink(size)
        return True

    def _continues(self, txn: Transaction, gone: Sequence[tuple[Listed, int]], segment: Listed) -> bool:
        """Whether a segment was merged from others that are here and holds the same documents, and perhaps more behind them."""
        if segment.low != gone[0][0].low or segment.high < gone[-1][0].high:
            return False
        held = self.rows.view[gone[0][1] :]
        rows = unpack(self.log.blob(txn, segment.number, "rows"))
        return len(rows) >= len(held) and bool((rows[: len(held)] == held).all())

    def _attach(self, txn: Transaction, segment: Listed, start: int) -> None:
        rows = unpack(self.log.blob(txn, segment.number, "rows"))
        known = self.size - start
        self.kill_many(unpack(self.log.blob(txn, segment.number, "removed")))
        self.kill_many(rows[known:])
        self.add_rows(rows[known:])
        self.attach(txn, segment, start, known)
        self._attached.append((segment, start))
        self._settled = self.size, self.died.size

    # -- slots ----------------------------------------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        """Room for as many slots."""
        if size > 2 * self.size:  # else room is made as it is needed, and some more
            self.rows.reserve(size)
            self.live.reserve(size)

    def add_rows(self, rows: Ints) -> None:
        """Slots for new documents."""
        base = self.size
        self.rows.extend(rows)
        self.live.extend(np.ones(len(rows), np.bool_))
        self.by_row.set_many(rows, np.arange(base, base + len(rows), dtype=np.int32))

    def add_row(self, row: int) -> int:
        """A slot for a new document."""
        slot = self.size
        self.rows.append(row)
        self.live.append(True)
        self.by_row.set(row, slot)
        return slot

    def kill_many(self, rows: Ints) -> Ints:
        """The slots the rows had; they are dead."""
        slots = self.by_row.get_many(rows).astype(np.int64)
        slots = slots[slots >= 0]
        if len(slots):
            self.live.view[slots] = False
            self.died.extend(slots)
            self.by_row.set_many(self.rows.view[slots], np.full(len(slots), -1, np.int32))
            self.buried(slots)
        return slots

    def kill(self, row: int) -> int:
        """The slot a row had, which is dead; -1 when it had none."""
        slot = self.by_row.get(row)
        if slot >= 0:
            self.live.view[slot] = False
            self.died.append(slot)
            self.by_row.set(row, -1)
            self.buried(np.array([slot]))
        return slot

    # -- what an index keeps beside -------------------------------------------------------------------------------

    @abstractmethod
    def attach(self, txn: Transaction, segment: Listed, start: int, known: int) -> None:
        """Take in a segment whose first slot is `start`; the first `known` of its documents are here, from segments it replaces."""

    @abstractmethod
    def apply(self, entries: Sequence[Entry]) -> None:
        """Take in rows of the log."""

    @abstractmethod
    def shrink(self, size: int) -> None:
        """Forget the slots from `size` on; they came from the log."""

    def buried(self, slots: Ints) -> None:  # noqa: B027 - not every index wants to know
        """Slots have died."""
