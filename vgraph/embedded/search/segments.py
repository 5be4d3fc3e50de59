"""Sealed segments of a search index: immutable columns built from the log, merged as they grow in number.

Documents of a segment have ordinals 0, 1, … in log order; `rows` gives their row ids, `removed` the row ids that the log
removed and did not write again. A later segment's rows and removals supersede those of earlier ones. Every field is a block:

* `TextBlock`: sorted terms; for every term ordinals, frequencies and (when the analyzer keeps them) positions and byte
  offsets; for every document with the field its number of tokens;
* `ValueBlock`: numbers (and booleans, nulls) sorted by value, with ordinals.

In the file every column is a blob of plain values, so that the postings of one term are read without those of the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from vgraph.embedded.arrays import NO_INTS, Array, Ints, narrow, ranges

Read: TypeAlias = Callable[[str, int, int], bytes]
"""Bytes of a named blob, from one place to another; fewer when the blob is not (or no longer) there."""

TEXT = "\x01"  # field name: path + TEXT + analyzer; the others end with the mark
NUMBER = "\x02"
BOOL = "\x03"
NULL = "\x04"
NESTED = "\x05"  # how many objects an array holds whose attributes are indexed together

# what a document brings to a text field: its terms, or terms with positions and (start, end) byte offsets
TextPayload: TypeAlias = "list[str] | dict[str, Any]"
Payload: TypeAlias = dict[str, Any]
Fields: TypeAlias = dict[str, tuple[list[int], list[Any]]]
"""For every field ordinals, ascending, and what the document brings to it."""


class StaleSnapshotError(Exception):
    """The reader's snapshot no longer holds (or does not yet hold) a segment."""


class Column:
    """An array in the file; `column[a:b]` reads that piece of it."""

    __slots__ = ("_dtype", "_read", "_size")

    def __init__(self, dtype: str, size: int, read: Callable[[int, int], bytes]) -> None:
        self._dtype = np.dtype(dtype)
        self._size = size
        self._read = read

    def __getitem__(self, where: slice) -> Array:
        start, stop, _ = where.indices(self._size)
        if stop <= start:
            return np.empty(0, self._dtype)
        width = self._dtype.itemsize
        raw = self._read(start * width, stop * width)
        if len(raw) != (stop - start) * width:
            raise StaleSnapshotError
        return np.frombuffer(raw, self._dtype)


class Same:
    """A column of one value again and again, or of 0, 1, 2, …: as often as `size` says."""

    __slots__ = ("_size", "_value")

    def __init__(self, value: Any, size: int) -> None:
        self._value = value
        self._size = size

    def __getitem__(self, where: slice) -> Array:
        start, stop, _ = where.indices(self._size)
        return np.arange(start, stop) if self._value is None else np.full(max(0, stop - start), self._value)


Values: TypeAlias = "Array | Column | Same"


@dataclass(slots=True)
class TextBlock:
    words: bytes  # the terms' UTF-8 in byte order, one after the other
    word_ends: Array  # n + 1 boundaries in `words`
    starts: Array  # n + 1 boundaries in `ords` and `tfs`
    ords: Values
    tfs: Values
    heads: Values  # n + 1 boundaries in `positions`
    doc_ords: Values
    doc_lens: Values
    positions: Values | None = None
    offsets: Values | None = None  # two values for each position

    def __len__(self) -> int:
        return len(self.starts) - 1

    def term(self, at: int) -> bytes:
        return self.words[self.word_ends[at] : self.word_ends[at + 1]]

    def lower_bound(self, term: bytes) -> int:
        """Index of the first term >= `term` in byte order."""
        low, high = 0, len(self)
        words, ends = self.words, self.word_ends.data  # a view of bytes that gives Python's integers, and faster
        while low < high:
            middle = (low + high) >> 1
            if words[ends[middle] : ends[middle + 1]] < term:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, term: bytes) -> int:
        """Index of a term, -1 when absent."""
        at = self.lower_bound(term)
        return at if at < len(self) and self.term(at) == term else -1

    def positions_of(self, at: int) -> Array | None:
        if self.positions is None:
            return None
        first, last = self.heads[at : at + 2].tolist()
        return self.positions[first:last]

    def offsets_of(self, at: int) -> Array | None:
        if self.offsets is None:
            return None
        first, last = self.heads[at : at + 2].tolist()
        return self.offsets[2 * first : 2 * last]

    def terms(self, low: int = 0, high: int | None = None) -> list[bytes]:
        ends = self.word_ends[low : (len(self) if high is None else high) + 1].tolist()
        return [self.words[a:b] for a, b in pairwise(ends)]


@dataclass(slots=True)
class ValueBlock:
    values: Array  # float64, ascending
    ords: Array


Block: TypeAlias = TextBlock | ValueBlock


@dataclass(slots=True)
class Segment:
    rows: Ints
    removed: Ints
    blocks: dict[str, Block] = field(default_factory=dict)


# -------------------------------------------------------------------------------------------------- building


def text_parts(value: TextPayload) -> tuple[list[str], list[int] | None, list[int] | None]:
    """Terms, positions (None = 0, 1, 2, …) and flat byte offsets of a payload."""
    if isinstance(value, list):
        return value, None, None
    return value["t"], value.get("p"), value.get("o")


def logged(row: int, blob: bytes | None) -> list[tuple[int, Payload | None]]:
    """(row id, payload or None for a removal) of one row of the log, which may hold a block of documents."""
    if row >= 0:
        return [(row, None if blob is None else orjson.loads(blob))]
    assert blob is not None
    found: list[tuple[int, Payload | None]] = orjson.loads(blob)
    return found


def build(entries: Iterable[tuple[int, Payload | None]], keep_positions: Callable[[str], bool]) -> Segment:
    """A segment of log entries in order."""
    last: dict[int, Payload | None] = {}
    for row, payload in entries:
        last.pop(row, None)
        last[row] = payload
    removed = [row for row, payload in last.items() if payload is None]
    living = {row: payload for row, payload in last.items() if payload is not None}
    fields: Fields = defaultdict(lambda: ([], []))
    for ordinal, payload in enumerate(living.values()):
        for name, value in payload.items():
            ords, values = fields[name]
            ords.append(ordinal)
            values.append(value)
    return Segment(np.array(list(living), np.int64), np.array(removed, np.int64), build_blocks(fields, keep_positions))


def build_blocks(fields: Fields, keep_positions: Callable[[str], bool]) -> dict[str, Block]:
    """The blocks of a segment."""
    return {
        name: _text_block(ords, values, keep_positions(name)) if TEXT in name else _value_block(ords, values)
        for name, (ords, values) in fields.items()
    }


def _value_block(ords: list[int], values: list[list[float]]) -> ValueBlock:
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    flat = np.fromiter(chain.from_iterable(values), np.float64, int(lengths.sum()))
    repeated = np.repeat(np.array(ords, np.uint32), lengths)
    order = np.argsort(flat, kind="stable")
    return ValueBlock(flat[order], narrow(repeated[order]))


def _text_block(ords: list[int], values: Sequence[TextPayload], keep_positions: bool) -> TextBlock:
    ids: defaultdict[str, int] = defaultdict(count().__next__)
    parts = [text_parts(value) for value in values]
    lengths = np.fromiter((len(terms) for terms, _, _ in parts), np.int64, len(parts))
    total = int(lengths.sum())
    tokens = np.fromiter(map(ids.__getitem__, chain.from_iterable(terms for terms, _, _ in parts)), np.int64, total)
    encoded = [term.encode("utf-8", "surrogatepass") for term in ids]
    by_bytes = sorted(range(len(encoded)), key=encoded.__getitem__)
    # 16-bit keys sort by radix, several times faster
    rank = np.empty(len(encoded), np.uint16 if len(encoded) < 1 << 16 else np.uint32)
    rank[by_bytes] = np.arange(len(encoded))
    keys = rank[tokens]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    documents = np.repeat(np.array(ords, np.uint32), lengths)[order]
    fresh = np.ones(total, np.bool_)
    fresh[1:] = (keys[1:] != keys[:-1]) | (documents[1:] != documents[:-1])
    firsts = np.flatnonzero(fresh)
    tfs = np.diff(np.append(firsts, total))
    words = [encoded[at] for at in by_bytes]
    bounds = np.arange(len(words) + 1)
    present = lengths > 0
    block = TextBlock(
        words=b"".join(words),
        word_ends=np.concatenate(([0], np.cumsum([len(word) for word in words], dtype=np.uint32))).astype(np.uint32),
        starts=np.searchsorted(keys[firsts], bounds).astype(np.uint32),
        ords=narrow(documents[firsts]),
        tfs=narrow(tfs),
        heads=np.searchsorted(keys, bounds).astype(np.uint32),
        doc_ords=narrow(np.array(ords, np.uint32)[present]),
        doc_lens=narrow(lengths[present]),
    )
    if keep_positions:
        default = ranges(np.zeros(len(lengths), np.int64), lengths)
        if any(given is not None for _, given, _ in parts):
            for at, start, size in zip(range(len(parts)), np.cumsum(lengths) - lengths, lengths, strict=True):
                given = parts[at][1]
                if given is not None:
                    default[start : start + size] = given
        block.positions = narrow(default[order])
        if any(offsets is not None for _, _, offsets in parts):
            flat = np.fromiter(
                chain.from_iterable(offsets or [0] * (2 * len(terms)) for terms, _, offsets in parts),
                np.uint32,
                2 * total,
            )
            block.offsets = flat.reshape(-1, 2)[order].ravel()
    return block


# --------------------------------------------------------------------------------------------------- merging


def merge(segments: Sequence[Segment], *, first: bool) -> Segment:
    """One segment for several consecutive ones; superseded documents are dropped.

    `first`: nothing older remains, so that removals need not be remembered.
    """
    dead_after: set[int] = set()
    alive: list[Array] = []
    removed: set[int] = set()
    for segment in reversed(segments):
        rows = segment.rows.tolist()
        alive.append(np.fromiter((row not in dead_after for row in rows), np.bool_, len(rows)))
        removed.update(row for row in segment.removed.tolist() if row not in dead_after)
        dead_after.update(rows)
        dead_after.update(segment.removed.tolist())
    alive.reverse()
    renumbered = []
    base = 0
    for mask in alive:
        new = np.cumsum(mask) - 1 + base
        new[~mask] = -1
        renumbered.append(new.astype(np.int64))
        base += int(mask.sum())
    blocks: dict[str, Block] = {}
    for name in sorted({name for segment in segments for name in segment.blocks}):
        found = [(s.blocks[name], new) for s, new in zip(segments, renumbered, strict=True) if name in s.blocks]
        blocks[name] = (
            _merge_text([(block, new) for block, new in found if isinstance(block, TextBlock)])
            if TEXT in name
            else _merge_values([(block, new) for block, new in found if isinstance(block, ValueBlock)])
        )
    return Segment(
        np.concatenate([s.rows[mask] for s, mask in zip(segments, alive, strict=True)]),
        NO_INTS if first else np.array(sorted(removed), np.int64),
        blocks,
    )


def _merge_values(blocks: list[tuple[ValueBlock, Array]]) -> ValueBlock:
    values = np.concatenate([block.values[:] for block, _ in blocks])
    ords = np.concatenate([new[block.ords[:]] for block, new in blocks])
    values, ords = values[ords >= 0], ords[ords >= 0]
    order = np.argsort(values, kind="stable")
    return ValueBlock(values[order], narrow(ords[order].astype(np.uint32)))


@dataclass(slots=True)
class _Part:
    """One block of a merge: the numbers of its terms among all terms, and what it holds of living documents."""

    terms: Array
    counts: Array  # postings for each term
    ords: Array
    tfs: Array
    tokens: Array  # occurrences for each term
    positions: Array | None
    offsets: Array | None


def _merge_text(blocks: list[tuple[TextBlock, Array]]) -> TextBlock:
    every = [block.terms() for block, _ in blocks]
    words = sorted(set(chain.from_iterable(every)))
    number = {word: at for at, word in enumerate(words)}
    parts = [
        _living_part(block, new, np.fromiter(map(number.__getitem__, terms), np.int64, len(terms)))
        for (block, new), terms in zip(blocks, every, strict=True)
    ]
    counts = np.zeros(len(words), np.int64)
    for part in parts:
        counts[part.terms] += part.counts
    # terms that only superseded documents had go
    renumbered = np.cumsum(counts > 0) - 1
    words = [words[at] for at in np.flatnonzero(counts).tolist()]
    for part in parts:
        kept = part.counts > 0
        part.terms, part.counts, part.tokens = renumbered[part.terms[kept]], part.counts[kept], part.tokens[kept]
    starts, places = _places([(part.terms, part.counts) for part in parts], len(words))
    heads, token_places = _places([(part.terms, part.tokens) for part in parts], len(words))
    doc_ords = np.concatenate([new[block.doc_ords[:]] for block, new in blocks])
    doc_lens = np.concatenate([block.doc_lens[:].astype(np.uint32) for block, _ in blocks])[doc_ords >= 0]
    merged = TextBlock(
        words=b"".join(words),
        word_ends=np.concatenate(([0], np.cumsum([len(word) for word in words], dtype=np.uint64))).astype(np.uint32),
        starts=starts.astype(np.uint32),
        ords=narrow(_scattered([part.ords for part in parts], places, np.uint32)),
        tfs=narrow(_scattered([part.tfs for part in parts], places, np.uint32)),
        heads=heads.astype(np.uint32),
        doc_ords=narrow(doc_ords[doc_ords >= 0].astype(np.uint32)),
        doc_lens=narrow(doc_lens),
    )
    positions = [part.positions for part in parts]
    if all(values is not None for values in positions):
        merged.positions = narrow(_scattered([v for v in positions if v is not None], token_places, np.uint32))
    offsets = [part.offsets for part in parts]
    if all(values is not None for values in offsets):
        pairs = [v.reshape(-1, 2) for v in offsets if v is not None]
        columns = [_scattered([pair[:, at] for pair in pairs], token_places, np.uint32) for at in (0, 1)]
        merged.offsets = np.stack(columns, axis=1).ravel()
    return merged


def _living_part(block: TextBlock, new: Array, terms: Array) -> _Part:
    ords, tfs = new[block.ords[:]], block.tfs[:]
    alive = ords >= 0
    positions = None if block.positions is None else block.positions[:]
    offsets = None if block.offsets is None else block.offsets[:]
    counts: Array = np.diff(block.starts.astype(np.int64))
    tokens = np.diff(block.heads[:].astype(np.int64))
    if alive.all():
        return _Part(terms, counts, ords, tfs, tokens, positions, offsets)
    owners = np.repeat(np.arange(len(terms)), counts)[alive]
    kept = np.repeat(alive, tfs.astype(np.int64))
    tfs = tfs[alive]
    return _Part(
        terms,
        np.bincount(owners, minlength=len(terms)),
        ords[alive],
        tfs,
        np.bincount(owners, tfs, minlength=len(terms)).astype(np.int64),
        None if positions is None else positions[kept],
        None if offsets is None else offsets.reshape(-1, 2)[kept].ravel(),
    )


def _places(parts: list[tuple[Array, Array]], size: int) -> tuple[Array, list[Array]]:
    """Where the values of (terms, counts) parts go when each term's values are put together, part after part."""
    totals = np.zeros(size, np.int64)
    for terms, counts in parts:
        totals[terms] += counts
    starts = np.concatenate(([0], np.cumsum(totals)))
    free = starts[:-1].copy()
    places = []
    for terms, counts in parts:
        places.append(ranges(free[terms], counts))
        free[terms] += counts
    return starts, places


def _scattered(parts: list[Array], places: list[Array], dtype: npt.DTypeLike) -> Array:
    found = np.empty(sum(map(len, places)), dtype)
    for values, where in zip(parts, places, strict=True):
        found[where] = values
    return found


# ------------------------------------------------------------------------------------------- to and from bytes


_TEXT_COLUMNS = ("words", "word_ends", "starts", "ords", "tfs", "heads", "doc_ords", "doc_lens", "positions", "offsets")
_VALUE_COLUMNS = ("values", "ords")


def encode(segment: Segment) -> dict[str, bytes]:
    """The segment's blocks as named blobs: `fields` tells of every column its type and size, others hold the values.

    A column that a short description stands for ([None, size] = 0, 1, 2, …; [value, size] = the same again and again) has no blob.
    """
    blobs: dict[str, bytes] = {}
    fields: dict[str, dict[str, Any]] = {}
    for at, (name, block) in enumerate(segment.blocks.items()):
        fields[name] = {}
        for part in _TEXT_COLUMNS if isinstance(block, TextBlock) else _VALUE_COLUMNS:
            values = getattr(block, part)
            if values is None:
                continue
            column = np.frombuffer(values, np.uint8) if part == "words" else values[:]
            fields[name][part] = described = _described(column)
            if isinstance(described[0], str):
                blobs[f"{at}.{part}"] = column.astype(described[0], copy=False).tobytes()
    return {"fields": orjson.dumps(fields), **blobs}


def _described(column: Array) -> list[Any]:
    size = len(column)
    if column.dtype.kind == "u" and size:
        first = int(column[0])
        if int(column[-1]) == first and (column == first).all():
            return [first, size]
        if first == 0 and int(column[-1]) == size - 1 and (column == np.arange(size)).all():
            return [None, size]
    return [column.dtype.newbyteorder("<").str, size]


def decode(fields: bytes, read: Read) -> dict[str, Callable[[], Block]]:
    """How to load the blocks of a segment that `encode` made: terms and boundaries at once, other columns as they are needed."""
    described = orjson.loads(fields) if fields else {}
    return {name: _Stored(name, str(at), columns, read) for at, (name, columns) in enumerate(described.items())}


@dataclass(frozen=True, slots=True)
class _Stored:
    """A block in the file; called, it loads."""

    name: str
    prefix: str
    columns: dict[str, list[Any]]
    read: Read

    def __call__(self) -> Block:
        columns = {part: self._column(part, described) for part, described in self.columns.items()}
        if TEXT not in self.name:
            return ValueBlock(columns["values"][:], columns["ords"][:])
        whole = {part: columns.pop(part)[:] for part in ("word_ends", "starts")}
        return TextBlock(words=columns.pop("words")[:].astype(np.uint8).tobytes(), **whole, **columns)  # type: ignore[arg-type]

    def _column(self, part: str, described: list[Any]) -> Column | Same:
        kind, size = described
        blob = f"{self.prefix}.{part}"
        return Column(kind, size, partial(self.read, blob)) if isinstance(kind, str) else Same(kind, size)
