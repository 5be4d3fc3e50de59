"""What a process keeps of a vector index: sign bits by slot, which slots live, and their vectors on demand."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..search.arrays import NO_INTS, Array, Floats, Growing, Ints, RowMap, pack, unpack
from .codes import Codes, Entry
from .signs import Coder, is_even
from .store import VectorCache

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction


class VectorMemory:
    """Slots in log order. Hold `lock` while reading."""

    def __init__(self, table: str, metric: str, dimension: int) -> None:
        self.table = table
        self.metric = metric
        self.dimension = dimension
        self.lock = threading.RLock()
        self.folder: Path | None = None
        self.process = os.getpid()
        self.reset()

    def reset(self) -> None:
        self.applied = 0
        self.sealed = 0
        self.segments: tuple[int, ...] = ()
        self.coder: Coder | None = None
        self.rows = Growing(np.int64)
        self.live = Growing(np.bool_)
        self.radii = Growing(np.float32)
        self.bits: list[Growing] = []
        self.by_row = RowMap()
        self.dead = 0
        self.recent: list[
            tuple[int, int, int]
        ] = []  # (sequence number, slot born or -1, slot died or -1) since `sealed`
        self.cache = VectorCache(self.dimension, self.folder)
        self._derived: tuple[tuple[int, int], Ints, bool] | None = None

    @property
    def size(self) -> int:
        return self.rows.size

    @property
    def count(self) -> int:
        """Living slots."""
        return self.size - self.dead

    # ------------------------------------------------------------------------------------------- catching up

    def catch_up(self, txn: Transaction, limit: int | None = None) -> None:
        """Take in what `txn` sees and this memory does not, up to a sequence number."""
        top = 1 << 62 if limit is None else limit
        high = txn.sql(f"SELECT max(high) FROM {self.table}_seg WHERE high <= ?", (top,)).fetchone()[0] or 0
        if high > self.sealed:
            self._attach(txn, top)
        statement = f"SELECT seq, row, vec FROM {self.table}_log WHERE seq > ? AND seq <= ? ORDER BY seq"
        entries = txn.sql(statement, (self.applied, top)).fetchall()
        if entries:
            self._apply(entries)

    def _attach(self, txn: Transaction, top: int) -> None:
        """Take in sealed segments: only the new ones when they continue what is here."""
        listed = txn.sql(
            f"SELECT id, low, high FROM {self.table}_seg WHERE high <= ? ORDER BY high, id", (top,)
        ).fetchall()
        ids = tuple(entry[0] for entry in listed)
        known = len(self.segments)
        tail = listed[known:]
        grown = bool(known) and ids[:known] == self.segments and len(tail) == 1 and self.applied >= tail[0][2]
        if grown and self.coder is not None:
            # the log's rows that became this segment are here already, in the same order or dead
            self.segments, self.sealed = ids, tail[0][2]
            self.recent = []
            return
        self.reset()
        self.coder = self._read_coder(txn)
        for number, _, high in listed:
            self._add_segment(txn, number, high)
        self.segments = ids
        self.sealed = self.applied = listed[-1][2] if listed else 0

    def _read_coder(self, txn: Transaction) -> Coder | None:
        found = txn.sql(f"SELECT centre FROM {self.table}_code").fetchone()
        return Coder(self.metric, self.dimension, unpack(found[0])) if found else None

    def _add_segment(self, txn: Transaction, number: int, high: int) -> None:
        parts = dict(txn.sql(f"SELECT name, data FROM {self.table}_blob WHERE seg = ?", (number,)).fetchall())
        rows, removed, radii = unpack(parts["rows"]), unpack(parts["removed"]), unpack(parts["radii"])
        if len(rows):
            assert self.coder is not None
            bits = unpack(parts["bits"]).reshape(self.coder.words, len(rows))
        self._kill_many(removed)
        self._kill_many(rows)
        self._add_rows(rows)
        if len(rows):
            self._extend_codes(bits, radii)

    def _extend_codes(self, bits: Array, radii: Floats) -> None:
        if not self.bits:
            self.bits = [Growing(np.uint64) for _ in range(len(bits))]
        for column, words in zip(self.bits, bits, strict=True):
            column.extend(words)
        self.radii.extend(radii)

    def _apply(self, entries: list[Entry]) -> None:
        """Take in rows of the log; codes are made of many vectors at once, and before those of a block."""
        fresh: list[Floats] = []
        for seq, row, blob in entries:
            if row < 0 and blob is not None:
                self._encode(fresh)
                fresh = []
                self._apply_block(seq, -row, blob)
                continue
            died, born = self._kill(row), -1
            if blob is not None:
                vector = np.frombuffer(blob, "<f4")
                born = self._bear(row, vector)
                fresh.append(vector)
            self.recent.append((seq, born, died))
        self.applied = entries[-1][0]
        self._encode(fresh)

    def _encode(self, vectors: list[Floats]) -> None:
        if vectors and self.coder is not None:
            self._extend_codes(*self.coder.encode(np.stack(vectors)))

    def _kill(self, row: int) -> int:
        """The slot a row had, -1 for none."""
        slot = self.by_row.get(row)
        if slot >= 0:
            self.live.view[slot] = False
            self.dead += 1
            self.by_row.set(row, -1)
        return slot

    def _bear(self, row: int, vector: Floats) -> int:
        slot = self.size
        self.rows.append(row)
        self.live.append(True)
        self.by_row.set(row, slot)
        self.cache.resize(self.size)
        self.cache.put(slot, vector)
        return slot

    def _apply_block(self, seq: int, count: int, blob: bytes) -> None:
        """Documents written together: they are new, and their vectors are read when they are needed."""
        assert self.coder is not None
        codes = Codes.from_bytes(blob, count, self.coder.words)
        base = self.size
        self._add_rows(codes.rows)
        self._extend_codes(codes.bits, codes.radii)
        self.recent += [(seq, slot, -1) for slot in range(base, self.size)]

    def _add_rows(self, rows: Ints) -> None:
        base = self.size
        self.rows.extend(rows)
        self.live.extend(np.ones(len(rows), np.bool_))
        self.by_row.set_many(rows, np.arange(base, base + len(rows), dtype=np.int32))
        self.cache.resize(self.size)

    def _kill_many(self, rows: Ints) -> None:
        slots = self.by_row.get_many(rows).astype(np.int64)
        slots = slots[slots >= 0]
        self.live.view[slots] = False
        self.dead += len(slots)
        self.by_row.set_many(self.rows.view[slots], np.full(len(slots), -1, np.int32))

    # ----------------------------------------------------------------------------------------------- reading

    def derived(self) -> tuple[Ints, bool]:
        """Dead slots, and whether all vectors are as far from the centre; worked out once for a state."""
        key = (self.applied, self.size)
        if self._derived is None or self._derived[0] != key:
            self._derived = key, np.flatnonzero(~self.live.view), is_even(self.radii.view)
        return self._derived[1], self._derived[2]

    def columns(self) -> list[Array]:
        return [column.view for column in self.bits]

    def alive(self) -> Ints:
        return np.flatnonzero(self.live.view)


def segment_blobs(rows: Ints, removed: Ints, bits: Array | None, radii: Floats) -> dict[str, bytes]:
    """A sealed segment as named blobs."""
    blobs: dict[str, Any] = {"rows": pack(rows), "removed": pack(removed), "radii": pack(radii)}
    if bits is not None:
        blobs["bits"] = pack(bits.ravel())
    return blobs


__all__ = ["NO_INTS", "VectorMemory", "segment_blobs"]
