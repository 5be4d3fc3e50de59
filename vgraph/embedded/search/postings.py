"""Postings of one search index: a log and sealed segments in the file, a cache of both in memory.

Every write appends a row to ``sx<id>_log`` inside the document's own transaction (the payload holds the analysed
terms, NULL a removal). When the log is long enough the writer seals it into a segment, and merges segments of one size,
in the same transaction. In memory `Postings` attaches the segments and keeps what the log has beyond them as a delta;
`catch_up` reads what was committed since, by this or another process. Searches see committed data only, as on a server.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import orjson

from . import segments as sealed
from .arrays import NO_INTS, Array, Bools, Floats, Growing, Ints, RowMap, distinct, unpack
from .segments import TEXT, Load, Payload, Segment, TextBlock, ValueBlock

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

SEAL: Final = 4096  # log rows before the writer seals them
BUILD: Final = 65_536  # documents of a segment when an index is built over existing ones
FANOUT: Final = 8  # segments of one size before they become one
_PART: Final = 1 << 20  # bytes of a blob in one row
_CACHE: Final = 96 << 20  # bytes of materialised postings


class StaleSnapshotError(Exception):
    """The caller's snapshot no longer holds (or does not yet hold) a segment that is attached here."""


@dataclass(slots=True, eq=False)
class TermPostings:
    """Documents of a term, ascending; `tfs` and `lengths` (tokens of the field in the document) beside them."""

    ords: Ints
    tfs: Floats
    lengths: Floats
    impacts: tuple[Any, Floats, float] | None = None  # scoring's cache: its parameters, contributions, their maximum


EMPTY = TermPostings(NO_INTS, np.empty(0, np.float32), np.empty(0, np.float32))


class _Delta:
    """A term's postings in the log beyond the last segment."""

    __slots__ = ("offsets", "ords", "positions", "tfs")

    def __init__(self) -> None:
        self.ords: list[int] = []
        self.tfs: list[int] = []
        self.positions: list[int] = []
        self.offsets: list[int] = []


class TextField:
    """One analysed attribute: its terms over all segments and the delta."""

    def __init__(self, owner: Postings, name: str) -> None:
        self.owner = owner
        self.path, self.analyzer = name.split(TEXT)
        self.parts: list[tuple[int, TextBlock]] = []
        self.delta: dict[str, _Delta] = {}
        self.lengths = Growing(np.uint32)  # by ordinal, 0 = document without the field
        self.documents = 0
        self.tokens = 0
        self._cache: dict[str, tuple[tuple[int, int, int], TermPostings]] = {}

    def attach(self, base: int, block: TextBlock) -> None:
        self.parts.append((base, block))
        if len(block.doc_ords):
            ords = block.doc_ords.astype(np.int64) + base
            self.lengths.resize(max(self.lengths.size, int(ords[-1]) + 1))
            self.lengths.view[ords] = block.doc_lens
            self.documents += len(ords)
            self.tokens += int(block.doc_lens.sum(dtype=np.int64))

    def add(self, ordinal: int, value: sealed.TextPayload) -> None:
        terms, positions, offsets = sealed.text_parts(value)
        if not terms:
            return
        self.lengths.resize(ordinal + 1)
        self.lengths.view[ordinal] = len(terms)
        self.documents += 1
        self.tokens += len(terms)
        delta = self.delta
        for at, term in enumerate(terms):
            entry = delta.get(term)
            if entry is None:
                entry = delta[term] = _Delta()
            if entry.ords and entry.ords[-1] == ordinal:
                entry.tfs[-1] += 1
            else:
                entry.ords.append(ordinal)
                entry.tfs.append(1)
            entry.positions.append(at if positions is None else positions[at])
            if offsets is not None:
                entry.offsets += offsets[2 * at : 2 * at + 2]

    def forget(self, ordinal: int) -> None:
        if ordinal < self.lengths.size:
            length = int(self.lengths.view[ordinal])
            if length:
                self.documents -= 1
                self.tokens -= length
                self.lengths.view[ordinal] = 0

    def forget_many(self, ords: Ints) -> None:
        ords = ords[ords < self.lengths.size]
        lengths = self.lengths.view[ords]
        self.documents -= int(np.count_nonzero(lengths))
        self.tokens -= int(lengths.sum(dtype=np.int64))
        self.lengths.view[ords] = 0

    # -------------------------------------------------------------------------------------------- reading

    def postings(self, term: str) -> TermPostings:
        """Living documents of a term."""
        entry = self.delta.get(term)
        version = (self.owner.generation, self.owner.deaths, len(entry.ords) if entry else 0)
        cached = self._cache.get(term)
        if cached is not None and cached[0] == version:
            return cached[1]
        found = self._gather(term, entry)
        if self.owner.cached > _CACHE:
            self.owner.clear_caches()
        self._cache[term] = version, found
        self.owner.cached += 16 * len(found.ords)
        return found

    def _gather(self, term: str, entry: _Delta | None) -> TermPostings:
        ords: list[Array] = []
        tfs: list[Array] = []
        encoded = term.encode("utf-8", "surrogatepass")
        for base, block in self.parts:
            at = block.find(encoded)
            if at >= 0:
                low, high = int(block.starts[at]), int(block.starts[at + 1])
                ords.append(block.ords[low:high].astype(np.int64) + base)
                tfs.append(block.tfs[low:high].astype(np.float32))
        if entry is not None:
            ords.append(np.array(entry.ords, np.int64))
            tfs.append(np.array(entry.tfs, np.float32))
        if not ords:
            return EMPTY
        every, frequency = np.concatenate(ords), np.concatenate(tfs)
        if self.owner.deaths:
            keep = self.owner.live.view[every]
            every, frequency = every[keep], frequency[keep]
        return TermPostings(every, frequency, self.lengths.view[every].astype(np.float32))

    def clear_cache(self) -> None:
        self._cache.clear()

    def terms(self, low: str = "", high: str | None = None) -> list[str]:
        """Terms of living or dead documents with low <= term < high in UTF-8 byte order, sorted."""
        first = low.encode("utf-8", "surrogatepass")
        last = None if high is None else high.encode("utf-8", "surrogatepass")
        found: set[bytes] = set()
        for _, block in self.parts:
            start = block.lower_bound(first) if first else 0
            end = len(block) if last is None else block.lower_bound(last)
            found.update(block.terms(start, end) if end > start else ())
        # strings compare by code point, which is the order of their UTF-8
        found.update(
            term.encode("utf-8", "surrogatepass")
            for term in self.delta
            if term >= low and (high is None or term < high)
        )
        return [term.decode("utf-8", "surrogatepass") for term in sorted(found)]

    def with_prefix(self, prefix: str) -> list[str]:
        return [term for term in self.terms(prefix, _successor(prefix)) if term.startswith(prefix)]

    def positions(self, term: str) -> tuple[Ints, Ints] | None:
        """(ordinal, position) of every occurrence in living documents; None when the field keeps no positions."""
        ords: list[Array] = []
        found: list[Array] = []
        encoded = term.encode("utf-8", "surrogatepass")
        for base, block in self.parts:
            at = block.find(encoded)
            if at < 0:
                continue
            positions = block.positions_of(at)
            if positions is None:
                return None
            low, high = int(block.starts[at]), int(block.starts[at + 1])
            ords.append(np.repeat(block.ords[low:high].astype(np.int64) + base, block.tfs[low:high]))
            found.append(positions.astype(np.int64))
        entry = self.delta.get(term)
        if entry is not None:
            ords.append(np.repeat(np.array(entry.ords, np.int64), entry.tfs))
            found.append(np.array(entry.positions, np.int64))
        if not ords:
            return NO_INTS, NO_INTS
        every, places = np.concatenate(ords), np.concatenate(found)
        if self.owner.deaths:
            keep = self.owner.live.view[every]
            every, places = every[keep], places[keep]
        return every, places

    def offsets(self, term: str, ordinal: int) -> list[tuple[int, int, int]]:
        """(position, first byte, byte after the last) of a term in one document."""
        entry = self.delta.get(term)
        if entry is not None and ordinal in entry.ords:
            at = entry.ords.index(ordinal)
            start = sum(entry.tfs[:at])
            stop = start + entry.tfs[at]
            flat = entry.offsets[2 * start : 2 * stop]
            return list(zip(entry.positions[start:stop], flat[::2], flat[1::2], strict=False))
        for base, block in self.parts:
            at = block.find(term.encode("utf-8", "surrogatepass"))
            if at < 0:
                continue
            low, high = int(block.starts[at]), int(block.starts[at + 1])
            where = np.flatnonzero(block.ords[low:high] == ordinal - base)
            positions, offsets = block.positions_of(at), block.offsets_of(at)
            if len(where) and positions is not None and offsets is not None:
                start = int(block.tfs[low : low + int(where[0])].sum(dtype=np.int64))
                stop = start + int(block.tfs[low + int(where[0])])
                return list(
                    zip(
                        positions[start:stop].tolist(),
                        offsets[2 * start : 2 * stop : 2].tolist(),
                        offsets[2 * start + 1 : 2 * stop : 2].tolist(),
                        strict=True,
                    )
                )
        return []

    def present(self) -> Ints:
        return np.flatnonzero(self.lengths.view)


def _successor(prefix: str) -> str | None:
    """The least string above every string with the prefix, None when there is none."""
    for at in range(len(prefix) - 1, -1, -1):
        point = ord(prefix[at])
        if point < 0x10FFFF:
            return prefix[:at] + chr(point + 1)
    return None


class ValueField:
    """Numbers, booleans or nulls of one attribute."""

    def __init__(self, owner: Postings) -> None:
        self.owner = owner
        self.parts: list[tuple[int, ValueBlock]] = []
        self._values = Growing(np.float64)
        self._ords = Growing(np.int64)

    def attach(self, base: int, block: ValueBlock) -> None:
        self.parts.append((base, block))

    def add(self, ordinal: int, values: list[float]) -> None:
        for value in values:
            self._values.append(value)
            self._ords.append(ordinal)

    def between(self, low: float, high: float, include_low: bool = True, include_high: bool = True) -> Ints:
        """Living documents with a value in the range, ascending, each once."""
        found = []
        for base, block in self.parts:
            start = int(np.searchsorted(block.values, low, "left" if include_low else "right"))
            stop = int(np.searchsorted(block.values, high, "right" if include_high else "left"))
            if stop > start:
                found.append(block.ords[start:stop].astype(np.int64) + base)
        values = self._values.view
        if len(values):
            above = values >= low if include_low else values > low
            below = values <= high if include_high else values < high
            found.append(self._ords.view[above & below])
        return self._distinct(found)

    def present(self) -> Ints:
        return self.between(-np.inf, np.inf)

    def _distinct(self, found: list[Array]) -> Ints:
        if not found:
            return NO_INTS
        every = np.concatenate(found) if len(found) > 1 else found[0]
        total = self.owner.size
        if len(every) > total >> 6:
            mask = np.zeros(total, np.bool_)
            mask[every] = True
            if self.owner.deaths:
                mask &= self.owner.live.view
            return np.flatnonzero(mask)
        every = distinct(every)
        return every[self.owner.live.view[every]] if self.owner.deaths else every


class Postings:
    """What one search index holds, in memory. Hold `lock` while reading."""

    def __init__(self, index_id: int, keep_positions: Any) -> None:
        self.lock = threading.RLock()
        self.table = f"sx{index_id}"
        self.keep_positions = keep_positions
        self.generation = 0
        self._segments: dict[int, Segment] = {}
        self._reset()

    def _reset(self) -> None:
        self.generation += 1
        self.cached = 0
        self.applied = 0
        self.sealed = 0
        self.deaths = 0
        self.rows = Growing(np.int64)
        self.live = Growing(np.bool_)
        self.by_row = RowMap()
        self.fields: dict[str, TextField | ValueField] = {}

    @property
    def size(self) -> int:
        """Ordinals in use, dead ones included."""
        return self.rows.size

    def clear_caches(self) -> None:
        self.cached = 0
        for found in self.fields.values():
            if isinstance(found, TextField):
                found.clear_cache()

    def alive(self) -> Ints:
        return np.flatnonzero(self.live.view)

    def text(self, path: str, analyzer: str) -> TextField | None:
        found = self.fields.get(path + TEXT + analyzer)
        return found if isinstance(found, TextField) else None

    def value(self, path: str, mark: str) -> ValueField | None:
        found = self.fields.get(path + mark)
        return found if isinstance(found, ValueField) else None

    # ------------------------------------------------------------------------------------------- catching up

    def catch_up(self, txn: Transaction, limit: int | None = None) -> None:
        """Take in what `txn` sees and this cache does not, up to a sequence number."""
        top = 1 << 62 if limit is None else limit
        high = txn.sql(f"SELECT max(high) FROM {self.table}_seg WHERE high <= ?", (top,)).fetchone()[0] or 0
        if high > self.sealed:
            self._attach(txn, top)
        query = f"SELECT seq, row, terms FROM {self.table}_log WHERE seq > ? AND seq <= ? ORDER BY seq"
        for seq, row, payload in txn.sql(query, (self.applied, top)):
            self._apply(row, payload)
            self.applied = seq

    def _attach(self, txn: Transaction, top: int) -> None:
        """Start over from the segments of the file; those attached before are not read again."""
        wanted = txn.sql(
            f"SELECT id, low, high FROM {self.table}_seg WHERE high <= ? ORDER BY high, id", (top,)
        ).fetchall()
        known = self._segments
        self._segments = {
            number: known[number] if number in known else self.read(txn, number, low, high)
            for number, low, high in wanted
        }
        self._reset()
        for segment in self._segments.values():
            self._add_segment(segment)
        self.sealed = self.applied = wanted[-1][2] if wanted else 0

    def read(self, txn: Transaction, number: int, low: int, high: int) -> Segment:
        names = [name for (name,) in txn.sql(f"SELECT DISTINCT name FROM {self.table}_blob WHERE seg = ?", (number,))]
        blobs = {name: self.blob(txn, number, name) for name in names if not sealed.lazy_names(name)}

        def lazy(name: str) -> Load | None:
            return (lambda: unpack(self._late_blob(number, name))) if name in names else None

        return sealed.decode(low, high, blobs, lazy)

    def blob(self, txn: Transaction, number: int, name: str) -> bytes:
        parts = txn.sql(f"SELECT data FROM {self.table}_blob WHERE seg = ? AND name = ? ORDER BY part", (number, name))
        return b"".join(part for (part,) in parts)

    reader: Transaction | None = None  # whose snapshot serves blobs that are read late; set for the time of a search

    def _late_blob(self, number: int, name: str) -> bytes:
        if self.reader is None:
            raise StaleSnapshotError
        blob = self.blob(self.reader, number, name)
        if not blob:
            raise StaleSnapshotError
        return blob

    def _add_segment(self, segment: Segment) -> None:
        self._kill_many(segment.removed)
        self._kill_many(segment.rows)
        base = self.size
        count = len(segment.rows)
        self.rows.extend(segment.rows)
        self.live.extend(np.ones(count, np.bool_))
        self.by_row.set_many(segment.rows, np.arange(base, base + count, dtype=np.int32))
        for name, block in segment.blocks.items():
            field = self._field(name)
            field.attach(base, block)  # type: ignore[arg-type]

    def _field(self, name: str) -> TextField | ValueField:
        field = self.fields.get(name)
        if field is None:
            field = self.fields[name] = TextField(self, name) if TEXT in name else ValueField(self)
        return field

    def _kill_many(self, rows: Ints) -> None:
        ords = self.by_row.get_many(rows).astype(np.int64)
        ords = ords[ords >= 0]
        if not len(ords):
            return
        self.live.view[ords] = False
        self.deaths += len(ords)
        for field in self.fields.values():
            if isinstance(field, TextField):
                field.forget_many(ords)
        self.by_row.set_many(self.rows.view[ords], np.full(len(ords), -1, np.int32))

    def _kill(self, row: int) -> None:
        ordinal = self.by_row.get(row)
        if ordinal < 0:
            return
        self.live.view[ordinal] = False
        self.deaths += 1
        for field in self.fields.values():
            if isinstance(field, TextField):
                field.forget(ordinal)
        self.by_row.set(row, -1)

    def _apply(self, row: int, payload: bytes | None) -> None:
        self._kill(row)
        if payload is None:
            return
        ordinal = self.size
        self.rows.append(row)
        self.live.append(True)
        self.by_row.set(row, ordinal)
        for name, value in orjson.loads(payload).items():
            self._field(name).add(ordinal, value)

    def mask(self, ords: Ints) -> Bools:
        found = np.zeros(self.size, np.bool_)
        found[ords] = True
        return found


@dataclass(slots=True)
class _Writing:
    """A transaction's state in this index: what was committed before it, what it writes."""

    base: int
    next: int
    unsealed: int
    sealed: bool = False


class PostingsStore:
    """The file's side of an index: log and segments, written inside the caller's transaction."""

    def __init__(self, index_id: int, keep_positions: Any) -> None:
        self.table = f"sx{index_id}"
        self.keep_positions = keep_positions
        self.postings = Postings(index_id, keep_positions)
        self._writing: WeakKeyDictionary[Transaction, _Writing] = WeakKeyDictionary()

    def create(self, txn: Transaction) -> None:
        txn.sql(f"CREATE TABLE {self.table}_log (seq INTEGER PRIMARY KEY, row INTEGER NOT NULL, terms BLOB)")
        txn.sql(
            f"CREATE TABLE {self.table}_seg "
            "(id INTEGER PRIMARY KEY AUTOINCREMENT, low INTEGER, high INTEGER, docs INTEGER)"
        )
        txn.sql(
            f"CREATE TABLE {self.table}_blob (seg INTEGER, name TEXT, part INTEGER, data BLOB, PRIMARY KEY (seg, name, part))"
        )

    def drop(self, txn: Transaction) -> None:
        for part in ("log", "seg", "blob"):
            txn.sql(f"DROP TABLE IF EXISTS {self.table}_{part}")

    def truncate(self, txn: Transaction) -> None:
        writing = self._begin(txn)
        for part in ("log", "seg", "blob"):
            txn.sql(f"DELETE FROM {self.table}_{part}")
        # an empty segment tells every process that what it has attached is gone
        self._store(txn, Segment(writing.next, writing.next, NO_INTS, NO_INTS))
        writing.next += 1
        writing.unsealed = 0
        writing.sealed = True

    def source(self, txn: Transaction, stack: ExitStack) -> Transaction:
        """The transaction to read committed postings with: `txn`, unless it has sealed the log it found."""
        writing = self._writing.get(txn)
        if writing is None or not writing.sealed:
            return txn
        return stack.enter_context(txn.engine.reading(txn.database))

    def snapshot(self, source: Transaction) -> Postings:
        """The postings as far as they are committed for `source`. The caller holds `postings.lock`."""
        writing = self._writing.get(source)
        self.postings.catch_up(source, writing.base if writing else None)
        return self.postings

    def private(self, source: Transaction) -> Postings:
        """Postings built from this snapshot alone, for a reader older than a merge."""
        fresh = Postings(0, self.keep_positions)
        fresh.table = self.table
        writing = self._writing.get(source)
        fresh.catch_up(source, writing.base if writing else None)
        return fresh

    # ----------------------------------------------------------------------------------------------- writing

    def _begin(self, txn: Transaction) -> _Writing:
        writing = self._writing.get(txn)
        if writing is None:
            logged, rows = txn.sql(f"SELECT max(seq), count(*) FROM {self.table}_log").fetchone()
            high = txn.sql(f"SELECT max(high) FROM {self.table}_seg").fetchone()[0]
            base = max(logged or 0, high or 0)
            writing = self._writing[txn] = _Writing(base, base + 1, rows)
        return writing

    def put(self, txn: Transaction, row: int, payload: Payload | None) -> None:
        """Log what a document brings now; None when it is gone (or brings nothing any more)."""
        writing = self._begin(txn)
        blob = None if payload is None else orjson.dumps(payload)
        txn.sql(f"INSERT INTO {self.table}_log VALUES (?, ?, ?)", (writing.next, row, blob))
        writing.next += 1
        writing.unsealed += 1
        if writing.unsealed >= SEAL:
            self._seal(txn, writing)

    def build(self, txn: Transaction, documents: Iterable[tuple[int, Payload]]) -> None:
        """Segments for documents that exist already."""
        writing = self._begin(txn)
        found = iter(documents)
        while batch := list(islice(found, BUILD)):
            entries = [
                (seq, row, orjson.dumps(payload)) for seq, (row, payload) in enumerate(batch, start=writing.next)
            ]
            writing.next += len(batch)
            self._store(txn, sealed.build(entries, self.keep_positions))
        writing.sealed = True

    def _seal(self, txn: Transaction, writing: _Writing) -> None:
        writing.sealed = True
        entries = txn.sql(f"SELECT seq, row, terms FROM {self.table}_log ORDER BY seq").fetchall()
        self._store(txn, sealed.build(entries, self.keep_positions))
        txn.sql(f"DELETE FROM {self.table}_log")
        writing.unsealed = 0
        self._merge(txn)

    def _store(self, txn: Transaction, segment: Segment) -> None:
        cursor = txn.sql(
            f"INSERT INTO {self.table}_seg (low, high, docs) VALUES (?, ?, ?)",
            (segment.low, segment.high, len(segment.rows)),
        )
        number = cursor.lastrowid
        for name, blob in sealed.encode(segment).items():
            for part, start in enumerate(range(0, len(blob) or 1, _PART)):
                txn.sql(
                    f"INSERT INTO {self.table}_blob VALUES (?, ?, ?, ?)",
                    (number, name, part, blob[start : start + _PART]),
                )

    def _merge(self, txn: Transaction) -> None:
        """While the last segments are eight of about one size, make one of them; all, when most documents are dead."""
        while True:
            listed = txn.sql(f"SELECT id, low, high, docs FROM {self.table}_seg ORDER BY high, id").fetchall()
            if len(listed) > 1 and listed[-1][0] % FANOUT == 0 and self._mostly_dead(txn, listed):
                self._replace(txn, listed, first=True)
                return
            tail = listed[-FANOUT:]
            if len(tail) < FANOUT or max(_level(entry[3]) for entry in tail) > _level(tail[-1][3]):
                return
            self._replace(txn, tail, first=len(listed) == len(tail))

    def _mostly_dead(self, txn: Transaction, listed: list[tuple[int, int, int, int]]) -> bool:
        """Whether fewer than half of the segments' documents can still be living."""
        reader = Postings(0, self.keep_positions)
        reader.table = self.table
        rows, removed = (
            distinct(np.concatenate([unpack(reader.blob(txn, number, name)) for number, *_ in listed]))
            for name in ("rows", "removed")
        )
        return sum(entry[3] for entry in listed) > 2 * (len(rows) - len(removed)) + 4 * SEAL

    def _replace(self, txn: Transaction, listed: list[tuple[int, int, int, int]], *, first: bool) -> None:
        reader = Postings(0, self.keep_positions)
        reader.table = self.table
        reader.reader = txn
        merged = sealed.merge([reader.read(txn, number, low, high) for number, low, high, _ in listed], first=first)
        # under a number never used before: attached segments are recognised by it
        self._store(txn, merged)
        for number, *_ in listed:
            txn.sql(f"DELETE FROM {self.table}_seg WHERE id = ?", (number,))
            txn.sql(f"DELETE FROM {self.table}_blob WHERE seg = ?", (number,))


def _level(documents: int) -> int:
    """Segments of one level hold about the same number of documents."""
    level = 0
    while documents >= 3 * SEAL * FANOUT // 4:
        documents //= FANOUT
        level += 1
    return level
