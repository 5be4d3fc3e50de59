"""Postings of one search index in memory: the sealed segments of its file, and what the log has beyond them.

`Postings.catch_up` takes in what was committed since it was last called, by this or another process.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from . import segments as sealed
from .arrays import Bools, Floats, Growing, Ints, RowMap, unpack
from .inverted import TextField, ValueField
from .segments import TEXT, Load, Segment

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction


class StaleSnapshotError(Exception):
    """The caller's snapshot no longer holds (or does not yet hold) a segment that is attached here."""


class Postings:
    """What one search index holds, in memory. Hold `lock` while reading."""

    def __init__(self, index_id: int, keep_positions: Any) -> None:
        self.lock = threading.RLock()
        self.table = f"sx{index_id}"
        self.keep_positions = keep_positions
        self.generation = 0
        self._segments: dict[int, Segment] = {}
        self._reset()

    def _reset(self) -> None:
        self.generation += 1
        self.cached = 0
        self._zeros: list[Floats] = [np.empty(0, np.float32)] * 2
        self.applied = 0
        self.sealed = 0
        self.deaths = 0
        self.rows = Growing(np.int64)
        self.live = Growing(np.bool_)
        self.by_row = RowMap()
        self.fields: dict[str, TextField | ValueField] = {}

    @property
    def size(self) -> int:
        """Ordinals in use, dead ones included."""
        return self.rows.size

    def zeros(self, number: int = 0) -> Floats:
        """Zeros, one for each ordinal. The caller leaves them as they were: fresh pages cost more than a search."""
        known = self._zeros[number]
        if len(known) < self.size:
            known = self._zeros[number] = np.zeros(max(self.size, 2 * len(known)), np.float32)
        return known[: self.size]

    def shrink_caches(self) -> None:
        for found in self.fields.values():
            if isinstance(found, TextField):
                found.shrink_cache()

    def alive(self) -> Ints:
        return np.flatnonzero(self.live.view)

    def text(self, path: str, analyzer: str) -> TextField | None:
        found = self.fields.get(path + TEXT + analyzer)
        return found if isinstance(found, TextField) else None

    def value(self, path: str, mark: str) -> ValueField | None:
        found = self.fields.get(path + mark)
        return found if isinstance(found, ValueField) else None

    # ------------------------------------------------------------------------------------------- catching up

    def catch_up(self, txn: Transaction, limit: int | None = None) -> None:
        """Take in what `txn` sees and this cache does not, up to a sequence number."""
        top = 1 << 62 if limit is None else limit
        high = txn.sql(f"SELECT max(high) FROM {self.table}_seg WHERE high <= ?", (top,)).fetchone()[0] or 0
        if high > self.sealed:
            self._attach(txn, top)
        query = f"SELECT seq, row, terms FROM {self.table}_log WHERE seq > ? AND seq <= ? ORDER BY seq"
        for seq, logged_row, blob in txn.sql(query, (self.applied, top)):
            for row, payload in sealed.logged(logged_row, blob):
                self._apply(row, payload)
            self.applied = seq

    def _attach(self, txn: Transaction, top: int) -> None:
        """Start over from the segments of the file; those attached before are not read again."""
        wanted = txn.sql(
            f"SELECT id, low, high FROM {self.table}_seg WHERE high <= ? ORDER BY high, id", (top,)
        ).fetchall()
        known = self._segments
        self._segments = {
            number: known[number] if number in known else self.read(txn, number, low, high)
            for number, low, high in wanted
        }
        self._reset()
        for segment in self._segments.values():
            self._add_segment(segment)
        self.sealed = self.applied = wanted[-1][2] if wanted else 0

    def read(self, txn: Transaction, number: int, low: int, high: int) -> Segment:
        names = [name for (name,) in txn.sql(f"SELECT DISTINCT name FROM {self.table}_blob WHERE seg = ?", (number,))]
        blobs = {name: self.blob(txn, number, name) for name in names if not sealed.lazy_names(name)}

        def lazy(name: str) -> Load | None:
            return (lambda: unpack(self._late_blob(number, name))) if name in names else None

        return sealed.decode(low, high, blobs, lazy)

    def blob(self, txn: Transaction, number: int, name: str) -> bytes:
        parts = txn.sql(f"SELECT data FROM {self.table}_blob WHERE seg = ? AND name = ? ORDER BY part", (number, name))
        return b"".join(part for (part,) in parts)

    reader: Transaction | None = None  # whose snapshot serves blobs that are read late; set for the time of a search

    def _late_blob(self, number: int, name: str) -> bytes:
        if self.reader is None:
            raise StaleSnapshotError
        blob = self.blob(self.reader, number, name)
        if not blob:
            raise StaleSnapshotError
        return blob

    def _add_segment(self, segment: Segment) -> None:
        self._kill_many(segment.removed)
        self._kill_many(segment.rows)
        base = self.size
        count = len(segment.rows)
        self.rows.extend(segment.rows)
        self.live.extend(np.ones(count, np.bool_))
        self.by_row.set_many(segment.rows, np.arange(base, base + count, dtype=np.int32))
        for name, block in segment.blocks.items():
            field = self._field(name)
            field.attach(base, block)  # type: ignore[arg-type]

    def _field(self, name: str) -> TextField | ValueField:
        field = self.fields.get(name)
        if field is None:
            field = self.fields[name] = TextField(self, name) if TEXT in name else ValueField(self)
        return field

    def _kill_many(self, rows: Ints) -> None:
        ords = self.by_row.get_many(rows).astype(np.int64)
        ords = ords[ords >= 0]
        if not len(ords):
            return
        self.live.view[ords] = False
        self.deaths += len(ords)
        for field in self.fields.values():
            if isinstance(field, TextField):
                field.forget_many(ords)
        self.by_row.set_many(self.rows.view[ords], np.full(len(ords), -1, np.int32))

    def _kill(self, row: int) -> None:
        ordinal = self.by_row.get(row)
        if ordinal < 0:
            return
        self.live.view[ordinal] = False
        self.deaths += 1
        for field in self.fields.values():
            if isinstance(field, TextField):
                field.forget(ordinal)
        self.by_row.set(row, -1)

    def _apply(self, row: int, payload: sealed.Payload | None) -> None:
        self._kill(row)
        if payload is None:
            return
        ordinal = self.size
        self.rows.append(row)
        self.live.append(True)
        self.by_row.set(row, ordinal)
        for name, value in payload.items():
            self._field(name).add(ordinal, value)

    def mask(self, ords: Ints) -> Bools:
        found = np.zeros(self.size, np.bool_)
        found[ords] = True
        return found
