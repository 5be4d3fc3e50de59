"""A search index in the file: what its log holds (the analysed terms of documents), and what segments are made of it.

Searches see committed data only, as on a server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import orjson

from vgraph.embedded.arrays import NO_INTS, Ints, unpack
from vgraph.embedded.segmented import Entry, Listed, Sealed, SegmentedLog

from . import segments
from .postings import Postings
from .segments import Fields, Payload, Segment

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

SEAL: Final = 512  # documents in the log before the writer seals them
DIRECT: Final = 256  # documents written together that become a segment without passing through the log
BUILD: Final = 65_536  # documents of a segment when an index is built over existing ones


class PostingsStore:
    """The file's side of an index, and the postings that this process holds of it."""

    def __init__(self, index_id: int, collection_id: int, keep_positions: Callable[[str], bool]) -> None:
        self.collection_id = collection_id
        self.log = SegmentedLog(f"sx{index_id}", self)
        self.postings = Postings(self.log, keep_positions)
        self._keep_positions = keep_positions

    # -- reading --------------------------------------------------------------------------------------------------

    def source(self, txn: Transaction, stack: ExitStack) -> Transaction:
        """The transaction to read committed postings with: `txn`, unless it has sealed the log it found."""
        writing = self.log.writing(txn)
        if writing is None or not writing.sealed:
            return txn
        return stack.enter_context(txn.engine.reading(txn.database))

    def snapshot(self, source: Transaction) -> Postings:
        """The postings as far as they are committed for `source`. The caller holds `postings.lock`."""
        return self._caught_up(self.postings, source)

    def private(self, source: Transaction) -> Postings:
        """Postings built from this snapshot alone, for a reader older than a merge."""
        return self._caught_up(Postings(self.log, self._keep_positions), source)

    def _caught_up(self, postings: Postings, source: Transaction) -> Postings:
        writing = self.log.writing(source)
        postings.catch_up(source, writing.base if writing else None)
        return postings

    # -- writing --------------------------------------------------------------------------------------------------

    def put(self, txn: Transaction, row: int, payload: Payload | None) -> None:
        """Log what a document brings now; None when it is gone (or brings nothing any more)."""
        self.log.append(txn, row, None if payload is None else orjson.dumps(payload), 1, SEAL)

    def put_many(self, txn: Transaction, documents: list[tuple[int, Payload]]) -> None:
        """Log what a few new documents bring, as one block."""
        if documents:
            self.log.append(txn, -len(documents), orjson.dumps(documents), len(documents), SEAL)

    def takes_at_once(self, count: int) -> bool:
        """Whether so many new documents make a segment of their own."""
        return count >= DIRECT

    def put_fields(self, txn: Transaction, rows: Ints, fields: Fields) -> None:
        """A segment of what many new documents bring, field by field; of those that bring anything."""
        present = np.zeros(len(rows), np.bool_)
        for ords, _ in fields.values():
            present[ords] = True
        if not present.all():
            renumbered = (np.cumsum(present) - 1).tolist()
            fields = {name: ([renumbered[at] for at in ords], values) for name, (ords, values) in fields.items()}
        if fields:
            blocks = segments.build_blocks(fields, self._keep_positions)
            self.log.add(txn, int(present.sum()), _stored(Segment(rows[present], NO_INTS, blocks)))

    def build(self, txn: Transaction, documents: Iterable[tuple[int, Payload]]) -> None:
        """Segments for documents that exist already."""
        found = iter(documents)
        while batch := list(islice(found, BUILD)):
            self.log.add(txn, len(batch), self._segment(batch), merge=False)

    # -- what the log is made into --------------------------------------------------------------------------------

    def sealed(self, txn: Transaction, entries: Sequence[Entry]) -> Sealed:
        return self._segment(document for _, row, blob in entries for document in segments.logged(row, blob))

    def merged(self, txn: Transaction, listed: Sequence[Listed], *, first: bool) -> Sealed:
        return _stored(segments.merge([self._load(txn, entry) for entry in listed], first=first))

    def _segment(self, documents: Iterable[tuple[int, Payload | None]]) -> Sealed:
        return _stored(segments.build(documents, self._keep_positions))

    def _load(self, txn: Transaction, entry: Listed) -> Segment:
        rows, removed, fields = (self.log.blob(txn, entry.number, name) for name in ("rows", "removed", "fields"))
        blocks = segments.decode(fields, partial(self.log.piece, txn, entry.number))
        return Segment(unpack(rows), unpack(removed), {name: load() for name, load in blocks.items()})


def _stored(segment: Segment) -> Sealed:
    return Sealed(segment.rows, segment.removed, segments.encode(segment))
