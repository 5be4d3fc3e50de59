"""What a process keeps of a vector index: sign bits by slot, and their vectors on demand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vgraph.embedded.arrays import Array, Floats, Growing, Ints, unpack
from vgraph.embedded.segmented import Entry, Follower, Listed, SegmentedLog

from .codes import Codes
from .signs import Coder, is_even
from .store import VectorCache

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction


class VectorMemory(Follower):
    """Slots in log order, with what ranks them."""

    def __init__(self, log: SegmentedLog, metric: str, dimension: int) -> None:
        self.metric = metric
        self.dimension = dimension
        self.folder: Path | None = None
        self.process = os.getpid()
        super().__init__(log)

    def reset(self) -> None:
        super().reset()
        self.coder: Coder | None = None
        self.radii = Growing(np.float32)
        self.bits: list[Growing] = []
        self.recent: list[
            tuple[int, int, int]
        ] = []  # (sequence number, slot born or -1, slot died or -1) since `sealed`
        self.cache = VectorCache(self.dimension, self.folder)
        self._derived: tuple[tuple[int, int], Ints, bool] | None = None

    @property
    def count(self) -> int:
        """Living slots."""
        return self.size - self.dead

    # ------------------------------------------------------------------------------------------- catching up

    def attach(self, txn: Transaction, segment: Listed, start: int, known: int) -> None:
        self.recent = []
        self.coder = self.coder or stored_coder(txn, self.log.table, self.metric, self.dimension)
        self.cache.resize(self.size)
        if segment.documents > known:
            assert self.coder is not None
            bits = unpack(self.log.blob(txn, segment.number, "bits")).reshape(self.coder.words, segment.documents)
            radii = unpack(self.log.blob(txn, segment.number, "radii"))
            self._extend_codes(bits[:, known:], radii[known:])

    def reserve(self, size: int) -> None:
        super().reserve(size)
        if size > 2 * self.size:
            for column in (self.radii, *self.bits):
                column.reserve(size)

    def shrink(self, size: int) -> None:
        self.cache.resize(size)
        self.radii.resize(min(size, self.radii.size))
        for column in self.bits:
            column.resize(min(size, column.size))

    def _extend_codes(self, bits: Array, radii: Floats) -> None:
        if not self.bits:
            self.bits = [Growing(np.uint64) for _ in range(len(bits))]
        for column, words in zip(self.bits, bits, strict=True):
            column.extend(words)
        self.radii.extend(radii)

    def apply(self, entries: Sequence[Entry]) -> None:
        """Codes are made of many vectors at once, and before those of a block."""
        fresh: list[Floats] = []
        for seq, row, blob in entries:
            if row < 0 and blob is not None:
                self._encode(fresh)
                fresh = []
                self._apply_block(seq, -row, blob)
                continue
            died, born = self.kill(row), -1
            if blob is not None:
                vector = np.frombuffer(blob, "<f4")
                born = self.add_row(row)
                self.cache.resize(self.size)
                self.cache.put(born, vector)
                fresh.append(vector)
            self.recent.append((seq, born, died))
        self._encode(fresh)

    def _encode(self, vectors: list[Floats]) -> None:
        if vectors and self.coder is not None:
            self._extend_codes(*self.coder.encode(np.stack(vectors)))

    def _apply_block(self, seq: int, count: int, blob: bytes) -> None:
        """Documents written together: they are new, and their vectors are read when they are needed."""
        assert self.coder is not None
        codes = Codes.from_bytes(blob, count, self.coder.words)
        base = self.size
        self.add_rows(codes.rows)
        self.cache.resize(self.size)
        self._extend_codes(codes.bits, codes.radii)
        self.recent += [(seq, slot, -1) for slot in range(base, self.size)]

    # ----------------------------------------------------------------------------------------------- reading

    def derived(self) -> tuple[Ints, bool]:
        """Dead slots, and whether all vectors are as far from the centre; worked out once for a state."""
        key = (self.applied, self.size)
        if self._derived is None or self._derived[0] != key:
            self._derived = key, np.flatnonzero(~self.live.view), is_even(self.radii.view)
        return self._derived[1], self._derived[2]

    def columns(self) -> list[Array]:
        return [column.view for column in self.bits]


def stored_coder(txn: Transaction, table: str, metric: str, dimension: int) -> Coder | None:
    """The coder of an index, if vectors have been sealed."""
    found = txn.sql(f"SELECT centre FROM {table}_code").fetchone()
    return Coder(metric, dimension, unpack(found[0])) if found else None
