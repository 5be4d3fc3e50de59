"""Float32 vectors by slot, in memory that the system may take back.

The file holds them with the documents; this is a read-through copy in an unlinked temporary file beside the database,
mapped into memory, so that it counts as page cache and not as memory of the process.
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

_SMALL: Final = 8 << 20  # bytes; below, ordinary memory will do


class VectorCache:
    """A growing matrix whose rows are filled when first needed."""

    def __init__(self, dimension: int, folder: Path | None) -> None:
        self._dimension = dimension
        self._folder = folder
        self._file: int | None = None
        self._in_file = False
        self._rows: Floats = np.empty((0, dimension), np.float32)
        self._squares = Growing(np.float32, np.nan)  # of their lengths; NaN: not read yet

    def place(self, folder: Path | None) -> None:
        """Where the temporary file goes, if there is none yet."""
        self._folder = folder

    def resize(self, count: int) -> None:
        self._squares.resize(count)
        if count > len(self._rows):
            self._grow(max(count, 2 * len(self._rows), 1024))

    def _grow(self, capacity: int) -> None:
        size = capacity * self._dimension * 4
        rows: Floats | None = self._mapped(capacity, size) if size > _SMALL else None
        if rows is None:
            rows = np.empty((capacity, self._dimension), np.float32)
        if self._file is None or not self._in_file:
            rows[: len(self._rows)] = self._rows
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
        self._rows[slot] = vector
        self._squares.view[slot] = squares(vector[None])[0]

    def ensure(self, slots: Ints, load: Callable[[Ints], Floats]) -> None:
        """Ask `load` for the vectors of slots that were not needed before."""
        missing = slots[np.isnan(self._squares.view[slots])]
        if len(missing):
            missing = distinct(missing)
            self._rows[missing] = vectors = load(missing)
            self._squares.view[missing] = squares(vectors)

    def rows(self, slots: Ints) -> Floats:
        """A copy of vectors that are here."""
        found: Floats = self._rows[slots]
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
