"""Row ids with the sign bits and radii of their vectors: what a block of the log holds, and what sealing makes of the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vgraph.embedded.arrays import NO_INTS, Array, Bools, Floats, Ints
from vgraph.embedded.segmented import Entry

from .signs import Coder


@dataclass(frozen=True, slots=True)
class Codes:
    """`bits` has a column for each row id."""

    rows: Ints
    bits: Array
    radii: Floats

    def to_bytes(self) -> bytes:
        parts = (self.rows.astype("<i8"), self.radii.astype("<f4"), self.bits.astype("<u8"))
        return b"".join(part.tobytes() for part in parts)

    @classmethod
    def from_bytes(cls, blob: bytes, count: int, words: int) -> Codes:
        return cls(
            np.frombuffer(blob, "<i8", count),
            np.frombuffer(blob, "<u8", count * words, 12 * count).reshape(words, count),
            np.frombuffer(blob, "<f4", count, 8 * count),
        )

    @classmethod
    def joined(cls, parts: Sequence[Codes]) -> Codes:
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.bits for part in parts], axis=1),
            np.concatenate([part.radii for part in parts]),
        )

    def take(self, places: Ints) -> Codes:
        return Codes(self.rows[places], self.bits[:, places], self.radii[places])


NO_CODES: Final = Codes(NO_INTS, np.empty((0, 0), np.uint64), np.empty(0, np.float32))


def block_rows(blob: bytes, count: int) -> list[int]:
    """The row ids of a block."""
    rows: list[int] = np.frombuffer(blob, "<i8", count).tolist()
    return rows


def vectors_of(entries: Iterable[Entry], dimension: int) -> Floats:
    """The vectors that stand in the log one by one, in its order."""
    blobs = [blob for _, row, blob in entries if row >= 0 and blob is not None]
    return np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), dimension)


def sealed(entries: Sequence[Entry], vectors: Floats, coder: Coder | None) -> tuple[Codes, Ints]:
    """What the log comes to: codes of the rows it leaves living, and the rows it leaves removed.

    Without a coder nothing but removals can be in it.
    """
    words = coder.words if coder else 0
    singles, living = _singles([entry for entry in entries if entry[1] >= 0], vectors, coder)
    blocks = [(seq, Codes.from_bytes(blob, -row, words)) for seq, row, blob in entries if row < 0 and blob is not None]
    codes = Codes.joined([singles, *(block for _, block in blocks)])
    alive = np.ones(len(codes.rows), np.bool_)
    alive[: len(living)] = living
    numbers = [seq for seq, row, _ in entries if row >= 0]
    sequence = np.concatenate([np.array(numbers, np.int64), *(np.full(len(b.rows), seq) for seq, b in blocks)])
    order = np.argsort(sequence, kind="stable")
    last = order[_last_of_each(codes.rows[order])]
    return codes.take(last[alive[last]]), codes.rows[last[~alive[last]]]


def _singles(entries: Sequence[Entry], vectors: Floats, coder: Coder | None) -> tuple[Codes, Bools]:
    """Codes of the log's single rows, zeros for removals, and which are none."""
    living = np.array([blob is not None for _, _, blob in entries], np.bool_)
    bits = np.zeros((coder.words if coder else 0, len(entries)), np.uint64)
    radii = np.zeros(len(entries), np.float32)
    if coder is not None and len(vectors):
        bits[:, living], radii[living] = coder.encode(vectors)
    return Codes(np.array([row for _, row, _ in entries], np.int64), bits, radii), living


def _last_of_each(rows: Ints) -> Ints:
    """Where each row id occurs last, in order."""
    _, first = np.unique(rows[::-1], return_index=True)
    return np.sort(len(rows) - 1 - first)
