"""Small numpy structures that the search and vector indexes share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]
Bools: TypeAlias = npt.NDArray[np.bool_]
Array: TypeAlias = npt.NDArray[Any]

_DENSE = 1 << 27  # row ids above are looked up in a dict; a table of them would be half a gigabyte
NO_INTS: Ints = np.empty(0, np.int64)


class Growing:
    """A one-dimensional array that grows at its end; `[:]` is a view of what is there."""

    def __init__(self, dtype: npt.DTypeLike, fill: Any = 0) -> None:
        self._fill = fill
        self._data: Array = _filled(64, fill, np.dtype(dtype))
        self.size = 0

    def reserve(self, size: int) -> None:
        """Room for as many, so that it need not be made step by step."""
        if size > len(self._data):
            wider = _filled(size, self._fill, self._data.dtype)
            wider[: self.size] = self._data[: self.size]
            self._data = wider

    def resize(self, size: int) -> None:
        if size > len(self._data):
            self.reserve(max(size, 2 * len(self._data)))
        elif size < self.size:
            self._data[size : self.size] = self._fill
        self.size = size

    def append(self, value: Any) -> None:
        self.resize(self.size + 1)
        self._data[self.size - 1] = value

    def extend(self, values: Array) -> None:
        start = self.size
        self.resize(start + len(values))
        self._data[start : self.size] = values

    @property
    def view(self) -> Array:
        return self._data[: self.size]


def _filled(size: int, fill: Any, dtype: np.dtype[Any]) -> Array:
    return np.full(size, fill, dtype) if fill else np.zeros(size, dtype)  # the system gives zeros for nothing


class RowMap:
    """Row id -> slot; -1 where there is none. A table for ordinary row ids, a dict for huge ones."""

    def __init__(self) -> None:
        self._table: Array = np.full(1024, -1, np.int32)
        self._rest: dict[int, int] = {}

    def get(self, row: int) -> int:
        if 0 <= row < len(self._table):
            return int(self._table[row])
        return self._rest.get(row, -1)

    def set(self, row: int, slot: int) -> None:
        if not 0 <= row < _DENSE:
            self._rest[row] = slot
            return
        self._reach(row)
        self._table[row] = slot

    def get_many(self, rows: Ints) -> Array:
        inside = (rows >= 0) & (rows < len(self._table))
        if inside.all():
            return self._table[rows]
        slots = np.full(len(rows), -1, np.int32)
        slots[inside] = self._table[rows[inside]]
        if self._rest:
            for at in np.flatnonzero(~inside).tolist():
                slots[at] = self._rest.get(int(rows[at]), -1)
        return slots

    def set_many(self, rows: Ints, slots: Array) -> None:
        if len(rows) and rows.min() >= 0 and rows.max() < _DENSE:
            self._reach(int(rows.max()))
            self._table[rows] = slots
            return
        for row, slot in zip(rows.tolist(), slots.tolist(), strict=True):
            self.set(row, slot)

    def _reach(self, row: int) -> None:
        if row >= len(self._table):
            wider = np.full(max(row + 1, 2 * len(self._table)), -1, np.int32)
            wider[: len(self._table)] = self._table
            self._table = wider


def narrow(values: Array) -> Array:
    """The same unsigned values in as few bytes each as the largest needs."""
    top = int(values.max()) if len(values) else 0
    dtype: npt.DTypeLike = np.uint8 if top < 1 << 8 else np.uint16 if top < 1 << 16 else np.uint32
    return values.astype(dtype)


def pack(array: Array) -> bytes:
    """An array as bytes: its type code, then the values in little-endian order."""
    return (
        array.dtype.newbyteorder("<").str[1:].encode().ljust(4)
        + array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    )


def unpack(blob: bytes) -> Array:
    """What `pack` made; a read-only view of the bytes."""
    return np.frombuffer(blob, np.dtype("<" + blob[:4].decode().strip()), offset=4)


def ranges(starts: Array, lengths: Array) -> Ints:
    """The concatenation of start, start+1, … (length of them) for every pair."""
    total = int(lengths.sum())
    steps = np.ones(total, np.int64)
    keep = lengths > 0
    starts, lengths = starts[keep].astype(np.int64), lengths[keep].astype(np.int64)
    if not len(starts):
        return NO_INTS
    heads = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    steps[heads] = starts
    steps[heads[1:]] -= starts[:-1] + lengths[:-1] - 1
    return np.cumsum(steps)


def member(values: Ints, sorted_set: Ints) -> Bools:
    """Which values occur in a sorted array."""
    if not len(sorted_set):
        return np.zeros(len(values), np.bool_)
    at = np.searchsorted(sorted_set, values)
    at[at == len(sorted_set)] = 0
    found: Bools = sorted_set[at] == values
    return found


def distinct(values: Array) -> Array:
    """The values ascending, each once. Sorts: np.unique hashes, which is several times slower on row ids."""
    if len(values) < 2:
        return values
    if not (values[1:] > values[:-1]).all():
        values = np.sort(values)
        keep = np.ones(len(values), np.bool_)
        keep[1:] = values[1:] != values[:-1]
        values = values[keep]
    return values


def distinct_counts(values: Array) -> tuple[Array, Array]:
    """The values ascending, each once, and how often each occurs."""
    values = np.sort(values)
    keep = np.ones(len(values), np.bool_)
    keep[1:] = values[1:] != values[:-1]
    firsts = np.flatnonzero(keep)
    return values[firsts], np.diff(np.append(firsts, len(values)))
