"""Float32 vectors that were needed, in memory that the system may take back once they are many.

The file holds them with the documents; this is a read-through copy. Vectors stand in it in the order in which they were first
needed. When they no longer fit into a little ordinary memory they move to an unlinked temporary file beside the database that
is mapped, so that they count as page cache and not as memory of the process.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from vgraph.embedded.arrays import Floats, Growing, Ints, distinct

from .signs import squares

_SMALL: Final = 64 << 20  # bytes; below, ordinary memory will do


class VectorCache:
    """Vectors by slot, read when first needed."""

    def __init__(self, dimension: int, folder: Path | None) -> None:
        self._dimension = dimension
        self._folder = folder
        self._file: int | None = None
        self._in_file = False
        self._rows: Floats = np.empty((0, dimension), np.float32)
        self._used = 0
        self._places = Growing(np.int32, -1)  # by slot, among the rows; -1: not here
        self._squares = Growing(np.float32)  # by slot, of their lengths

    def place(self, folder: Path | None) -> None:
        """Where the temporary file goes, if there is none yet."""
        self._folder = folder

    def resize(self, count: int) -> None:
        """So many slots; those beyond are forgotten."""
        fewer = count < self._places.size
        self._places.resize(count)
        self._squares.resize(count)
        if fewer:
            self._used = int(self._places.view.max(initial=-1)) + 1

    def _reserve(self, count: int) -> None:
        needed = self._used + count
        if needed > len(self._rows):
            self._grow(max(needed, 2 * len(self._rows), 1024))

    def _grow(self, capacity: int) -> None:
        size = capacity * self._dimension * 4
        rows: Floats | None = self._mapped(capacity, size) if size > _SMALL else None
        if rows is None:
            rows = np.empty((capacity, self._dimension), np.float32)
        if self._file is None or not self._in_file:
            rows[: self._used] = self._rows[: self._used]
        self._in_file = self._file is not None
        self._rows = rows

    def _mapped(self, capacity: int, size: int) -> Floats | None:
        """The temporary file at a new size; None where there can be none (read-only folder, no mapping)."""
        try:
            if self._file is None:
                self._file = _unlinked_file(self._folder)
                weakref.finalize(self, os.close, self._file)
            os.ftruncate(self._file, size)
            return np.frombuffer(mmap.mmap(self._file, size), np.float32).reshape(capacity, self._dimension)
        except OSError:
            self._file = None
            return None

    def put(self, slot: int, vector: Floats) -> None:
        """The vector of a slot that has none."""
        self._add(np.array([slot]), vector[None])

    def ensure(self, slots: Ints, load: Callable[[Ints], Floats]) -> None:
        """Ask `load` for the vectors of slots that were not needed before."""
        missing = slots[self._places.view[slots] < 0]
        if len(missing):
            missing = distinct(missing)
            self._add(missing, load(missing))

    def _add(self, slots: Ints, vectors: Floats) -> None:
        self._reserve(len(slots))
        end = self._used + len(slots)
        self._rows[self._used : end] = vectors
        self._squares.view[slots] = squares(vectors)
        self._places.view[slots] = np.arange(self._used, end, dtype=np.int32)
        self._used = end

    def rows(self, slots: Ints) -> Floats:
        """A copy of vectors that are here."""
        found: Floats = self._rows[self._places.view[slots]]
        return found

    def squares(self, slots: Ints) -> Floats:
        """The squares of their lengths."""
        found: Floats = self._squares.view[slots]
        return found


def _unlinked_file(folder: Path | None) -> int:
    """A descriptor of a new file that no name leads to, so that nothing stays behind."""
    descriptor, name = tempfile.mkstemp(prefix=".vectors-", dir=folder)
    try:
        Path(name).unlink()
    except OSError:
        os.close(descriptor)
        Path(name).unlink(missing_ok=True)
        raise
    return descriptor
