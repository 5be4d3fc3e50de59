"""Postings of one search index in memory: the sealed segments of its file, and what the log has beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vgraph.embedded.arrays import Bools, Floats, Ints
from vgraph.embedded.segmented import Entry, Follower, Listed, SegmentedLog

from . import segments as sealed
from .inverted import TextField, ValueField
from .segments import TEXT, Payload, StaleSnapshotError

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction


class Postings(Follower):
    """What one search index holds, in memory; ordinals are slots. Fields are read from the file when they are first asked for."""

    def __init__(self, log: SegmentedLog, keep_positions: Callable[[str], bool]) -> None:
        self.keep_positions = keep_positions
        self.reader: Transaction | None = None  # whose snapshot serves what is read late; set for the time of a search
        super().__init__(log)

    def reset(self) -> None:
        super().reset()
        self.cached = 0
        self._zeros: list[Floats] = [np.empty(0, np.float32)] * 2
        self.fields: dict[str, TextField | ValueField] = {}

    def zeros(self, number: int = 0) -> Floats:
        """Zeros, one for each ordinal. The caller leaves them as they were: fresh pages cost more than a search."""
        known = self._zeros[number]
        if len(known) < self.size:
            known = self._zeros[number] = np.zeros(self.size + (self.size >> 3) + 64, np.float32)
        return known[: self.size]

    def mask(self, ords: Ints) -> Bools:
        """Which ordinals are among some."""
        found = np.zeros(self.size, np.bool_)
        found[ords] = True
        return found

    def shrink_caches(self) -> None:
        """Forget half of the postings kept for terms asked before."""
        for found in self.fields.values():
            if isinstance(found, TextField):
                found.shrink_cache()

    def text(self, path: str, analyzer: str) -> TextField | None:
        """The field of an attribute as an analyzer sees it."""
        found = self.fields.get(path + TEXT + analyzer)
        return found if isinstance(found, TextField) else None

    def value(self, path: str, mark: str) -> ValueField | None:
        """The numbers, booleans or nulls of an attribute."""
        found = self.fields.get(path + mark)
        return found if isinstance(found, ValueField) else None

    # -- catching up ----------------------------------------------------------------------------------------------

    def attach(self, txn: Transaction, segment: Listed, start: int, known: int) -> None:
        if known:
            for field in self.fields.values():
                field.detach(start)

        def read(name: str, first: int, last: int) -> bytes:
            if self.reader is None:
                raise StaleSnapshotError
            return self.log.piece(self.reader, segment.number, name, first, last)

        for name, load in sealed.decode(self.log.blob(txn, segment.number, "fields"), read).items():
            self._field(name).attach(start, segment.documents, load)

    def apply(self, entries: Sequence[Entry]) -> None:
        for _, logged_row, blob in entries:
            for row, payload in sealed.logged(logged_row, blob):
                self.kill(row)
                if payload is not None:
                    self.put(row, payload)

    def put(self, row: int, payload: Payload) -> None:
        """A document behind the others, with what it brings."""
        ordinal = self.add_row(row)
        for name, value in payload.items():
            self._field(name).add(ordinal, value)

    def shrink(self, size: int) -> None:
        for field in self.fields.values():
            field.shrink(size)

    def buried(self, slots: Ints) -> None:
        for field in self.fields.values():
            if isinstance(field, TextField):
                field.forget(slots)

    def _field(self, name: str) -> TextField | ValueField:
        field = self.fields.get(name)
        if field is None:
            field = self.fields[name] = TextField(self, name) if TEXT in name else ValueField(self)
        return field
