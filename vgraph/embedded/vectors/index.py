"""The vector index of a collection: its log and segments in the file, its hooks, its search.

The log holds the float32 vectors of documents written one by one, and of a block of documents their row ids and sign bits.
Segments hold sign bits only: the vectors stand with the documents. A transaction sees its own writes and otherwise the state
its snapshot has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakKeyDictionary

import numpy as np
import orjson

from vgraph.embedded import externals
from vgraph.embedded.arrays import NO_INTS, Array, Floats, Ints, pack, unpack
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.indexes import Index
from vgraph.embedded.segmented import Entry, Listed, Sealed, SegmentedLog

from .codes import NO_CODES, Codes, block_rows, sealed, vectors_of
from .definition import as_vector, document_vector, normalise
from .memory import VectorMemory, stored_coder
from .nearest import Accept, Changes, Nearest
from .signs import Coder

if TYPE_CHECKING:
    from vgraph.embedded.bulk import Block
    from vgraph.embedded.documents import Collection
    from vgraph.embedded.engine import Transaction

SEAL: Final = 4096  # documents in the log before the writer seals them
BUILD: Final = 16_384  # documents of a segment when an index is built over existing ones
LEAST: Final = 16  # documents of a block in the log; fewer stand one by one


class VectorIndex(Index):
    """Nearest documents by one attribute. `metric` is "cosine", "l2" or "innerProduct"."""

    type: ClassVar[str] = "vector"

    def __init__(self, index_id: int, collection_id: int, spec: dict[str, Any]) -> None:
        super().__init__(index_id, collection_id, spec)
        self.attribute: str = spec["fields"][0]
        self.path = tuple(self.attribute.split("."))
        self.metric: str = spec["params"]["metric"]
        self.dimension: int = spec["params"]["dimension"]
        self.log = SegmentedLog(f"vx{index_id}", self)
        self.memory = VectorMemory(self.log, self.metric, self.dimension)
        self._last: tuple[dict[str, Any] | None, Floats | None] = (None, None)
        self._private: WeakKeyDictionary[Transaction, tuple[tuple[Any, ...], VectorMemory]] = WeakKeyDictionary()

    @classmethod
    def normalise(cls, definition: dict[str, Any]) -> dict[str, Any]:
        return normalise(definition)

    @cached_property
    def attributes(self) -> frozenset[str] | None:
        return frozenset(self.path[:1])

    def definition(self) -> dict[str, Any]:
        return {"id": str(self.id), **self.spec, "trainingState": "ready"}

    def selectivity(self, txn: Transaction) -> float:
        return 1.0

    # ------------------------------------------------------------------------------------------------- hooks

    def create(self, txn: Transaction) -> None:
        self.log.create(txn)
        txn.sql(f"CREATE TABLE {self.log.table}_code (centre BLOB)")

    def drop(self, txn: Transaction) -> None:
        self.log.drop(txn)
        txn.sql(f"DROP TABLE IF EXISTS {self.log.table}_code")

    def truncate(self, txn: Transaction) -> None:
        self.log.truncate(txn)

    def build(self, txn: Transaction, collection: Collection) -> None:
        for rows, matrix in self._existing(txn, collection):
            codes = Codes(rows, *self._coder(txn, matrix).encode(matrix))
            self.log.add(txn, len(rows), _segment(codes, NO_INTS), merge=False)

    def _existing(self, txn: Transaction, collection: Collection) -> Iterator[tuple[Ints, Floats]]:
        """Rows and vectors that are there already; those kept outside the JSON are read without it."""
        external = collection.external(self.attribute)
        documents = collection.scan(self.attributes)
        if external is not None:
            odd = externals.of_another_width(txn, external.table, self.dimension)
            if odd is not None:
                [document] = collection.fetch([odd])
                self._vector(document or {})  # raises
            yield from externals.singles(txn, external.table, self.dimension, BUILD)
            others = externals.without(txn, collection.info.table, external.table)
            documents = ((row, orjson.loads(body)) for row, body in others)
        found = ((row, self._vector(document)) for row, document in documents)
        living = ((row, vector) for row, vector in found if vector is not None)
        while batch := list(islice(living, BUILD)):
            yield np.array([row for row, _ in batch], np.int64), np.stack([vector for _, vector in batch])

    def check(self, txn: Transaction, doc: dict[str, Any], rowid: int | None) -> None:
        self._vector(doc)

    def _vector(self, document: dict[str, Any]) -> Floats | None:
        """A document's vector. The last one read is kept, as a document is checked and then inserted."""
        document_read, vector = self._last
        if document_read is not document:
            vector = document_vector(document, self.path, self.dimension, sparse=self.sparse)
            self._last = document, vector
        return vector

    def insert(self, txn: Transaction, rowid: int, doc: dict[str, Any]) -> None:
        vector = self._vector(doc)
        self._last = (None, None)  # the caller may change the document from here on
        if vector is not None:
            self._put(txn, rowid, vector)

    def remove(self, txn: Transaction, rowid: int, doc: dict[str, Any]) -> None:
        self._put(txn, rowid, None)

    def update(self, txn: Transaction, rowid: int, old: dict[str, Any], new: dict[str, Any]) -> None:
        vector = self._vector(new)
        self._last = (None, None)
        self._put(txn, rowid, vector)

    def _put(self, txn: Transaction, row: int, vector: Floats | None) -> None:
        self.log.append(txn, row, None if vector is None else vector.astype("<f4", copy=False).tobytes(), 1, SEAL)

    def refused(self, txn: Transaction, block: Block) -> set[int]:
        return set() if self._matrix(block) is not None else super().refused(txn, block)

    def _matrix(self, block: Block) -> Floats | None:
        """The vectors of a block whose documents all have one, None for any other block."""
        matrix = block.matrix(self.path[0]) if len(self.path) == 1 else None
        if matrix is None or matrix.shape[1] != self.dimension:
            return None
        with np.errstate(over="ignore"):
            return matrix.astype(np.float32)

    def insert_many(self, txn: Transaction, block: Block) -> None:
        matrix = self._matrix(block)
        coder = self._known_coder(txn) if matrix is not None and len(matrix) >= LEAST else None
        if matrix is None or coder is None:
            super().insert_many(txn, block)
            return
        codes = Codes(np.array(block.rowids, np.int64), *coder.encode(matrix))
        self.log.append(txn, -len(matrix), codes.to_bytes(), len(matrix), SEAL)

    # ----------------------------------------------------------------------------------------------- sealing

    def sealed(self, txn: Transaction, entries: Sequence[Entry]) -> Sealed:
        vectors = vectors_of(entries, self.dimension)
        coder = self._coder(txn, vectors) if len(vectors) else self._known_coder(txn)
        return _segment(*sealed(entries, vectors, coder))

    def merged(self, txn: Transaction, listed: Sequence[Listed], *, first: bool) -> Sealed:
        parts: list[Codes] = []
        removed: list[Ints] = []
        gone = NO_INTS
        for entry in reversed(listed):
            rows, dropped = (unpack(self.log.blob(txn, entry.number, name)) for name in ("rows", "removed"))
            removed.append(dropped[~np.isin(dropped, gone)])
            alive = ~np.isin(rows, gone)
            if alive.any():
                bits, radii = (unpack(self.log.blob(txn, entry.number, name)) for name in ("bits", "radii"))
                parts.append(Codes(rows[alive], bits.reshape(-1, len(rows))[:, alive], radii[alive]))
            gone = np.concatenate([gone, rows, dropped])
        codes = Codes.joined(parts[::-1]) if parts else NO_CODES
        return _segment(codes, NO_INTS if first else np.concatenate(removed))

    def _known_coder(self, txn: Transaction) -> Coder | None:
        """The index's coder, if vectors have been sealed."""
        return stored_coder(txn, self.log.table, self.metric, self.dimension)

    def _coder(self, txn: Transaction, matrix: Floats) -> Coder:
        """The index's coder; learned from these vectors if there is none yet."""
        known = self._known_coder(txn)
        if known is not None:
            return known
        coder = Coder.learn(self.metric, matrix)
        txn.sql(f"INSERT INTO {self.log.table}_code VALUES (?)", (pack(coder.centre),))
        return coder

    # --------------------------------------------------------------------------------------------- searching

    def search(
        self,
        txn: Transaction,
        query: Any,
        k: int,
        *,
        n_probe: int | None = None,
        candidates: Ints | None = None,
        accept: Accept | None = None,
    ) -> tuple[Ints, Array]:
        """Row ids and scores of the k nearest documents, best first; 1542 for a query that is not such a vector.

        Scores are cosine similarities, inner products or Euclidean distances. `candidates`: row ids allowed.
        `accept` is asked for batches of row ids, best first, until k have passed or none are left. `n_probe` is
        accepted for the sake of the server's query options and has no effect.
        """
        vector = as_vector(query, self.dimension)
        if vector is None:
            raise ArangoError(1542, f"invalid argument type: the query must be an array of {self.dimension} numbers")
        memory = self.memory
        with memory.lock:
            memory, changes = self._view(txn, memory)
            return Nearest(memory, vector, changes, self._loader(txn, memory)).search(k, candidates, accept)

    def count(self, txn: Transaction) -> int:
        """Documents in the index."""
        with self.memory.lock:
            memory, changes = self._view(txn, self.memory)
            return memory.count - len(changes.hidden) + len(changes.revived) + len(changes.own_rows)

    def _catch_up(self, txn: Transaction, memory: VectorMemory, limit: int | None = None) -> None:
        if memory.process != os.getpid():  # the mapped file is the parent's
            memory.process = os.getpid()
            memory.reset()
        if memory.folder is None:
            path = getattr(txn.engine, "path", None)
            memory.folder = Path(path).parent if path else None
            memory.cache.place(memory.folder)
        memory.catch_up(txn, limit)

    def _view(self, txn: Transaction, memory: VectorMemory) -> tuple[VectorMemory, Changes]:
        """The memory to search, and how it differs from what `txn` sees."""
        writing = self.log.writing(txn)
        if writing is not None:
            if writing.sealed:
                return self._own_memory(txn), _same(self.dimension)
            self._catch_up(txn, memory, writing.base)
            return memory, self._own_changes(txn, memory, writing.base)
        self._catch_up(txn, memory)
        head = max(self.log.head(txn))
        if head >= memory.applied:
            return memory, _same(self.dimension)
        if head < memory.sealed:
            return self._fresh(txn), _same(self.dimension)
        later = [(born, died) for seq, born, died in memory.recent if seq > head]
        born = {slot for slot, _ in later if slot >= 0}
        died = [slot for _, slot in later if slot >= 0 and slot not in born]
        hidden = np.array(sorted(slot for slot in born if memory.live.view[slot]), np.int64)
        none = _same(self.dimension)
        return memory, Changes(hidden, np.array(died, np.int64), none.own_rows, none.own_vectors)

    def _own_changes(self, txn: Transaction, memory: VectorMemory, base: int) -> Changes:
        living: dict[int, bool] = {}
        for _, row, blob in self.log.entries(txn, base, 1 << 62):
            if row < 0 and blob is not None:
                living |= dict.fromkeys(block_rows(blob, -row), True)
            else:
                living[row] = blob is not None
        slots = memory.by_row.get_many(np.array(list(living), np.int64)).astype(np.int64)
        kept = [row for row, lives in living.items() if lives]
        own = np.array(kept, np.int64)
        return Changes(slots[slots >= 0], NO_INTS, own, self.read(txn, own))

    def _fresh(self, txn: Transaction) -> VectorMemory:
        fresh = VectorMemory(self.log, self.metric, self.dimension)
        self._catch_up(txn, fresh)
        return fresh

    def _own_memory(self, txn: Transaction) -> VectorMemory:
        """What a transaction sees that has sealed its own writes: built for it alone."""
        # not by what was written: a savepoint may have taken that back
        seen = (
            *txn.sql(f"SELECT max(seq), count(*) FROM {self.log.table}_log").fetchone(),
            *txn.sql(f"SELECT max(id), max(high), count(*) FROM {self.log.table}_seg").fetchone(),
        )
        known = self._private.get(txn)
        if known is None or known[0] != seen:
            known = self._private[txn] = seen, self._fresh(txn)
        return known[1]

    # ------------------------------------------------------------------------------------- vectors in the file

    def _loader(self, txn: Transaction, memory: VectorMemory) -> Any:
        def load(slots: Ints) -> Floats:
            return self.read(txn, memory.rows.view[slots])

        return load

    def read(self, txn: Transaction, rows: Ints) -> Floats:
        """The float32 vectors of documents, from where the collection keeps them; zeros for one without."""
        collection = txn.collection_by_id(self.collection_id)
        found = np.zeros((len(rows), self.dimension), np.float32)
        missing = np.ones(len(rows), np.bool_)
        external = collection.external(self.attribute)
        if external is not None:
            order = np.argsort(rows, kind="stable")
            ordered = rows[order]
            for ids, matrix in externals.singles_of(txn, external.table, rows):
                places = order[np.searchsorted(ordered, ids)]
                found[places] = matrix
                missing[places] = False
        others = np.flatnonzero(missing)
        for place, document in zip(
            others.tolist(), collection.fetch(rows[others].tolist(), self.attributes), strict=True
        ):
            vector = None if document is None else document_vector(document, self.path, self.dimension, sparse=True)
            if vector is not None:
                found[place] = vector
        return found


def _same(dimension: int) -> Changes:
    return Changes(NO_INTS, NO_INTS, NO_INTS, np.empty((0, dimension), np.float32))


def _segment(codes: Codes, removed: Ints) -> Sealed:
    blobs = {"radii": pack(codes.radii), "bits": pack(codes.bits.ravel())} if len(codes.rows) else {}
    return Sealed(codes.rows, removed, blobs)
