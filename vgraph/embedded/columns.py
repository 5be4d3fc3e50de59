"""A sorted index as numpy columns: large candidate sets for a vector search, without reading the index row by row.

Columns are made from the index's table when enough has been read of it to have paid for that, and are good for one state
of the collection (its revision); a transaction that sees another state, or has written itself, reads the table. Only numbers
have columns: an index is held as one part when its first field is a number everywhere, and otherwise as one part for each
value of the first field, as long as the other fields are numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from vgraph.embedded import keycodec

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Interval = tuple[Any, bool, Any, bool]
"""low, whether it is itself within, high, whether it is; `...` leaves a side open."""

OPEN: Final = (..., True, ..., True)

_WIDTH: Final = 9  # bytes of a number below 2**53 in a key: a tag and a double
_TAG: Final = 0x30
_BATCH: Final = 50_000
_MOST_PARTS: Final = 200
_EXACT: Final = 2**53
_SIGN: Final = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of an index below one prefix, in its order, with the numbers of its further fields."""

    rows: Ints
    columns: tuple[Floats, ...]

    def within(self, intervals: Sequence[Interval]) -> Ints:
        """The rows whose numbers lie within the intervals, one for each column or fewer."""
        first, last = _place(self.columns[0], intervals[0]) if intervals else (0, len(self.rows))
        rows = self.rows[first:last]
        tests = [
            _inside(column[first:last], interval)
            for column, interval in zip(self.columns[1:], intervals[1:], strict=False)
            if interval != OPEN
        ]
        return rows[np.logical_and.reduce(tests)] if tests else rows


def _is_number(bound: Any) -> bool:
    """Whether a bound is open, or a number that columns hold exactly."""
    return bound is ... or (type(bound) in (int, float) and -_EXACT < bound < _EXACT)


def _place(column: Floats, interval: Interval) -> tuple[int, int]:
    low, with_low, high, with_high = interval
    first = 0 if low is ... else int(np.searchsorted(column, low, "left" if with_low else "right"))
    last = len(column) if high is ... else int(np.searchsorted(column, high, "right" if with_high else "left"))
    return first, max(first, last)


def _inside(column: Floats, interval: Interval) -> npt.NDArray[np.bool_]:
    low, with_low, high, with_high = interval
    kept = np.ones(len(column), np.bool_)
    if low is not ...:
        kept &= column >= low if with_low else column > low
    if high is not ...:
        kept &= column <= high if with_high else column < high
    return kept


@dataclass(frozen=True, slots=True)
class _State:
    """What the columns of one revision are; `parts` None: the index has none."""

    revision: int
    parts: dict[bytes, Part] | None
    numbers: bool


class Columns:
    """The columns of one index in this process."""

    def __init__(self, table: str, collection_id: int, fields: int) -> None:
        self._table = table
        self._collection_id = collection_id
        self._fields = fields
        self._state: _State | None = None
        self._seen = (-1, 0)  # a revision, and how many rows were read of the table since
        self._lock = threading.Lock()

    def find(self, txn: Transaction, prefix: Sequence[Any], intervals: Sequence[Interval]) -> Ints | None:
        """The rows whose first field equals `prefix` (one value or none) and whose next ones lie within intervals of numbers.

        None where the columns cannot tell; then `note` what was read instead.
        """
        revision = self.revision(txn)
        state = self._state
        if revision is None or state is None or state.revision != revision or state.parts is None:
            return None
        if len(prefix) > 1 or not all(_is_number(bound) for item in intervals for bound in (item[0], item[2])):
            return None
        if state.numbers:
            equal = [(value, True, value, True) for value in prefix]
            return state.parts[b""].within([*equal, *intervals]) if all(map(_is_number, prefix)) else None
        if not prefix:
            return None
        part = state.parts.get(keycodec.encode(prefix))
        return np.empty(0, np.int64) if part is None else part.within(intervals)

    def note(self, txn: Transaction, count: int) -> None:
        """Count rows read of the table; as many as there are pay for the columns."""
        revision = self.revision(txn)
        if revision is None:
            return
        if not self._lock.acquire(blocking=False):  # somebody is at it
            return
        try:
            seen = self._seen[1] + count + 1 if self._seen[0] == revision else count + 1
            self._seen = revision, seen
            if self._state is None or self._state.revision != revision:
                [entries] = txn.sql("SELECT documents FROM collections WHERE id = ?", (self._collection_id,)).fetchone()
                if seen >= entries:
                    self._state = self._load(txn, revision)
        finally:
            self._lock.release()

    def revision(self, txn: Transaction) -> int | None:
        """The state of the collection that a transaction sees; None when it has written to it."""
        if txn.has_written(self._collection_id):
            return None
        row = txn.sql("SELECT revision FROM collections WHERE id = ?", (self._collection_id,)).fetchone()
        return None if row is None else int(row[0])

    # -- making columns ---------------------------------------------------------------------------------------------

    def _load(self, txn: Transaction, revision: int) -> _State:
        whole = self._part(txn, b"", keycodec.HIGH)
        if whole is not None:
            return _State(revision, {b"": whole}, True)
        parts = self._parts(txn) if self._fields > 1 else None
        return _State(revision, parts, False)

    def _parts(self, txn: Transaction) -> dict[bytes, Part] | None:
        """A part for each value of the first field."""
        parts: dict[bytes, Part] = {}
        start = b""
        while row := txn.sql(f"SELECT k FROM {self._table} WHERE k >= ? ORDER BY k LIMIT 1", (start,)).fetchone():
            value = keycodec.encode(keycodec.decode(row[0])[:1])
            part = self._part(txn, value, value + keycodec.HIGH)
            if part is None or len(parts) == _MOST_PARTS:
                return None
            parts[value] = part
            start = value + keycodec.HIGH
        return parts

    def _part(self, txn: Transaction, start: bytes, end: bytes) -> Part | None:
        """The entries from `start` to `end`; None unless all fields behind the prefix are numbers."""
        skip, count = len(start), self._fields - bool(start)
        cursor = txn.sql(f"SELECT k, id FROM {self._table} WHERE k >= ? AND k < ? ORDER BY k", (start, end))
        rows, tables = [], []
        while entries := cursor.fetchmany(_BATCH):
            table = _numbers([key for key, _ in entries], skip, count)
            if table is None:
                return None
            tables.append(table)
            rows.append(np.array([row for _, row in entries], np.int64))
        if not rows:
            return Part(np.empty(0, np.int64), tuple(np.empty(0) for _ in range(count)))
        joined = np.concatenate(tables)
        return Part(np.concatenate(rows), tuple(np.ascontiguousarray(joined[:, place]) for place in range(count)))


def _numbers(keys: Sequence[bytes], skip: int, count: int) -> Floats | None:
    """The numbers in keys behind `skip` bytes, a row for each key; None when anything else stands there."""
    width = skip + count * _WIDTH
    raw = b"".join(keys)
    if len(raw) != width * len(keys) or any(len(key) != width for key in keys):
        return None
    table = np.frombuffer(raw, np.uint8).reshape(len(keys), width)[:, skip:].reshape(len(keys), count, _WIDTH)
    if not (table[:, :, 0] == _TAG).all():
        return None
    ordered = np.ascontiguousarray(table[:, :, 1:]).view(">u8")[:, :, 0].astype(np.uint64)
    bits = np.where(ordered & _SIGN, ordered & ~_SIGN, ~ordered)
    numbers: Floats = bits.view(np.float64)
    return numbers if bool((np.abs(numbers) < 2.0**53).all()) else None
