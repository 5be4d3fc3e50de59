"""Float32 vectors by slot, in memory that the system may take back.

The file holds them with the documents; this is a read-through copy in an unlinked temporary file beside the database,
mapped into memory, so that it counts as page cache and not as memory of the process.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from ..search.arrays import Array, Bools, Floats, Growing, Ints


class VectorCache:
    """A growing matrix whose rows are filled when first needed."""

    def __init__(self, dimension: int, folder: Path | None) -> None:
        self._dimension = dimension
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._rows: Floats = np.empty((0, dimension), np.float32)
        self._filled = Growing(np.bool_)

    def place(self, folder: Path | None) -> None:
        """Where the temporary file goes, if there is none yet."""
        self._folder = folder

    def resize(self, count: int) -> None:
        self._filled.resize(count)
        if count > len(self._rows):
            self._grow(max(count, 2 * len(self._rows), 1024))

    def _grow(self, capacity: int) -> None:
        size = capacity * self._dimension * 4
        known = len(self._rows)
        rows: Array
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, prefix=".vectors-")  # noqa: SIM115
            self._file.truncate(size)
            rows = np.frombuffer(mmap.mmap(self._file.fileno(), size), np.float32).reshape(capacity, self._dimension)
        except OSError:  # a read-only folder, a file system without mapping
            rows = np.empty((capacity, self._dimension), np.float32)
            rows[:known] = self._rows
        self._rows = rows

    def put(self, slot: int, vector: Floats) -> None:
        self._rows[slot] = vector
        self._filled.view[slot] = True

    def get(self, slots: Ints, load: Callable[[Ints], Floats]) -> Floats:
        """The vectors of slots; `load` is asked for those not seen before."""
        missing = slots[~self._filled.view[slots]]
        if len(missing):
            missing = np.unique(missing)
            self._rows[missing] = load(missing)
            self._filled.view[missing] = True
        return self._rows[slots]

    def all(self, count: int, slots: Ints, load: Callable[[Ints], Floats]) -> Floats:
        """The first `count` rows as one matrix, of which `slots` are filled."""
        self.get(slots[~self.filled(slots)], load)
        return self._rows[:count]

    def filled(self, slots: Ints) -> Bools:
        found: Bools = self._filled.view[slots]
        return found
