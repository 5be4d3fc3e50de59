"""Fields of a search index in memory: terms with their documents, and numbers, over segments and fresh log rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vgraph.embedded.arrays import NO_INTS, Array, Bools, Floats, Growing, Ints, distinct

from . import segments as sealed
from .segments import TEXT, Block, TextBlock, ValueBlock

if TYPE_CHECKING:
    from .postings import Postings

_CACHE: Final = 192 << 20  # bytes of materialised postings
_NO_FLOATS: Final = np.empty(0, np.float32)
_WIDE: Final = 4  # a range of more than one document in 2**4 is tested on all of them
_POSTING: Final = 24  # bytes of one: ordinal, frequency, length, impact


class TermPostings:
    """Documents of a term, ascending; `tfs` and `lengths` (tokens of the field in the document) beside them.

    They are kept from one search to the next: new documents are put at the end, dead ones taken out.
    """

    __slots__ = ("_columns", "deaths", "impacts", "size", "upto")

    def __init__(self, ords: Ints = NO_INTS, tfs: Floats = _NO_FLOATS, lengths: Floats = _NO_FLOATS) -> None:
        self._columns: list[Array] = [ords, tfs, lengths]
        self.size = len(ords)
        self.upto = 0  # the ordinals below are taken in
        self.deaths = 0  # and so many deaths
        self.impacts: Impacts | None = None  # scoring's

    @property
    def ords(self) -> Ints:
        return self._columns[0][: self.size]

    @property
    def tfs(self) -> Floats:
        return self._columns[1][: self.size]

    @property
    def lengths(self) -> Floats:
        return self._columns[2][: self.size]

    def extend(self, *columns: Array) -> None:
        """More documents: ordinals, frequencies, lengths."""
        size = self.size + len(columns[0])
        self._columns = [grown(known, self.size, fresh) for known, fresh in zip(self._columns, columns, strict=True)]
        self.size = size

    def cut(self, upto: int) -> None:
        """Forget the ordinals from `upto` on."""
        if self.upto > upto:
            self.upto = upto
            self.size = int(np.searchsorted(self.ords, upto))
            if self.impacts is not None:
                self.impacts.cut(self.size)

    def bury(self, dead: Ints) -> None:
        """Take dead documents out."""
        if not self.size or not len(dead):
            return
        places = np.searchsorted(self.ords, dead)
        inside = places < self.size
        places = places[inside]
        places = places[self.ords[places] == dead[inside]]
        if len(places):
            kept = np.ones(self.size, np.bool_)
            kept[places] = False
            self._columns = [column[: self.size][kept] for column in self._columns]
            if self.impacts is not None:
                self.impacts.keep(kept)
            self.size = len(self._columns[0])


EMPTY = TermPostings()


class Impacts:
    """What documents of a term contribute by one scorer and one state of the field; `top` is no less than the largest."""

    __slots__ = ("_values", "scorer", "size", "stats", "top")

    def __init__(self, scorer: Any, stats: Any) -> None:
        self.scorer = scorer
        self.stats = stats
        self.size = 0
        self.top = 0.0
        self._values: Floats = np.empty(0, np.float32)

    @property
    def values(self) -> Floats:
        return self._values[: self.size]

    def extend(self, values: Floats) -> None:
        if len(values):
            self._values = grown(self._values, self.size, values)
            self.size += len(values)
            self.top = max(self.top, float(values.max()))

    def cut(self, size: int) -> None:
        self.size = min(self.size, size)

    def keep(self, kept: Bools) -> None:
        """`kept` is of all documents; the last ones may not be here."""
        self._values = self.values[kept[: self.size]]
        self.size = len(self._values)


def grown(known: Array, size: int, more: Array) -> Array:
    """An array whose first `size` values are followed by others, with some room behind them when it has to move."""
    if not size:
        return more
    if size + len(more) > len(known):
        room = np.empty(size + len(more) + (size >> 3) + 16, known.dtype)
        room[:size] = known[:size]
        known = room
    known[size : size + len(more)] = more
    return known


class _Delta:
    """A term's postings in the log beyond the last segment."""

    __slots__ = ("offsets", "ords", "positions", "tfs")

    def __init__(self) -> None:
        self.ords: list[int] = []
        self.tfs: list[int] = []
        self.positions: list[int] = []
        self.offsets: list[int] = []


@dataclass(slots=True)
class _Part:
    """A segment's block: its documents have the ordinals from `base` to `end`. It is loaded when it is first needed."""

    base: int
    end: int
    load: Callable[[], Any]
    block: Any = None


class TextField:
    """One analysed attribute: its terms over all segments and the delta."""

    def __init__(self, owner: Postings, name: str) -> None:
        self.owner = owner
        self.path, self.analyzer = name.split(TEXT)
        self.delta: dict[str, _Delta] = {}
        self._parts: list[_Part] = []
        self._waiting: list[_Part] = []  # parts to be loaded
        self._lengths = Growing(np.uint32)  # by ordinal, 0 = document without the field
        self._documents = 0
        self._tokens = 0
        self._cache: dict[str, TermPostings] = {}

    # -- following the file ---------------------------------------------------------------------------------------

    def attach(self, base: int, size: int, load: Callable[[], Block]) -> None:
        part = _Part(base, base + size, load)
        self._parts.append(part)
        self._waiting.append(part)

    def detach(self, base: int) -> None:
        """Another segment takes the place of those from `base` on, with the same documents."""
        self._parts = [part for part in self._parts if part.base < base]
        self._waiting = [part for part in self._waiting if part.base < base]
        self._forget_lengths(base)

    def shrink(self, size: int) -> None:
        """The documents from `size` on, which came from the log, are no more."""
        self.delta.clear()
        self._forget_lengths(size)
        for cached in self._cache.values():
            self.owner.cached -= _POSTING * cached.size
            cached.cut(size)
            self.owner.cached += _POSTING * cached.size

    def _forget_lengths(self, base: int) -> None:
        if base < self._lengths.size:
            self.forget(np.arange(base, self._lengths.size))
            self._lengths.resize(base)

    def forget(self, ords: Ints) -> None:
        """Documents that are dead no longer count."""
        ords = ords[ords < self._lengths.size]
        lengths = self._lengths.view[ords]
        self._documents -= int(np.count_nonzero(lengths))
        self._tokens -= int(lengths.sum(dtype=np.int64))
        self._lengths.view[ords] = 0

    def add(self, ordinal: int, value: sealed.TextPayload) -> None:
        """A document of the log."""
        terms, positions, offsets = sealed.text_parts(value)
        if not terms:
            return
        self._lengths.resize(max(self._lengths.size, ordinal + 1))
        self._lengths.view[ordinal] = len(terms)
        self._documents += 1
        self._tokens += len(terms)
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

    # -- reading --------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> list[tuple[int, TextBlock]]:
        """Blocks with their first ordinals."""
        while self._waiting:
            part = self._waiting[-1]
            part.block = part.load()
            self._count(part)
            self._waiting.pop()
        return [(part.base, part.block) for part in self._parts]

    def _count(self, part: _Part) -> None:
        """Take in how long a block's documents are, unless they have died meanwhile."""
        ords, lengths = part.block.doc_ords[:].astype(np.int64) + part.base, part.block.doc_lens[:]
        alive = self.owner.live.view[ords]
        ords, lengths = ords[alive], lengths[alive]
        if len(ords):
            self._lengths.resize(max(self._lengths.size, int(ords[-1]) + 1))
            self._lengths.view[ords] = lengths
            self._documents += len(ords)
            self._tokens += int(lengths.sum(dtype=np.int64))

    @property
    def lengths(self) -> Growing:
        """Tokens by ordinal."""
        _ = self.parts
        return self._lengths

    @property
    def documents(self) -> int:
        """Living documents with the field."""
        _ = self.parts
        return self._documents

    @property
    def tokens(self) -> int:
        """Tokens of the field in all living documents."""
        _ = self.parts
        return self._tokens

    def postings(self, term: str) -> TermPostings:
        """Living documents of a term."""
        found = self._cache.get(term)
        if found is None:
            found = TermPostings()
        before = found.size if term in self._cache else 0
        self._update(term, found)
        self._cache[term] = found
        self.owner.cached += _POSTING * (found.size - before)
        if self.owner.cached > _CACHE:
            self.owner.shrink_caches()
        return found

    def _update(self, term: str, known: TermPostings) -> None:
        """Take in what has come and gone since the last time."""
        owner = self.owner
        if known.size:
            known.bury(owner.died.view[known.deaths :])
        if known.upto < owner.size:
            ords, tfs = self._gather(term, known.upto)
            if owner.died.size:
                alive = owner.live.view[ords]
                ords, tfs = ords[alive], tfs[alive]
            if len(ords):
                known.extend(ords, tfs, self.lengths.view[ords].astype(np.float32))
            known.upto = owner.size
        known.deaths = owner.died.size

    def _gather(self, term: str, first: int) -> tuple[Ints, Floats]:
        """Ordinals from `first` on and frequencies."""
        ords: list[Array] = [NO_INTS]
        tfs: list[Array] = [np.empty(0, np.float32)]
        encoded = term.encode("utf-8", "surrogatepass")
        for base, block in self._parts_beyond(first):
            at = block.find(encoded)
            if at >= 0:
                low, high = int(block.starts[at]), int(block.starts[at + 1])
                ords.append(block.ords[low:high].astype(np.int64) + base)
                tfs.append(block.tfs[low:high].astype(np.float32))
        entry = self.delta.get(term)
        if entry is not None:
            ords.append(np.array(entry.ords, np.int64))
            tfs.append(np.array(entry.tfs, np.float32))
        every, frequency = np.concatenate(ords), np.concatenate(tfs)
        start = int(np.searchsorted(every, first))
        return every[start:], frequency[start:]

    def _parts_beyond(self, first: int) -> list[tuple[int, TextBlock]]:
        return [found for found, part in zip(self.parts, self._parts, strict=True) if part.end > first]

    def shrink_cache(self) -> None:
        """Forget the half that has been here longest."""
        for term in list(self._cache)[: (len(self._cache) + 1) // 2]:
            self.owner.cached -= _POSTING * self._cache.pop(term).size

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
            ords.append(np.repeat(block.ords[low:high].astype(np.int64) + base, block.tfs[low:high].astype(np.int64)))
            found.append(positions.astype(np.int64))
        entry = self.delta.get(term)
        if entry is not None:
            ords.append(np.repeat(np.array(entry.ords, np.int64), entry.tfs))
            found.append(np.array(entry.positions, np.int64))
        if not ords:
            return NO_INTS, NO_INTS
        every, places = np.concatenate(ords), np.concatenate(found)
        if self.owner.dead:
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
                stop = start + int(block.tfs[low + int(where[0]) : high][0])
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
        self._parts: list[_Part] = []
        self._values = Growing(np.float64)
        self._ords = Growing(np.int64)
        self._column = Growing(np.float64, np.nan)  # the values by ordinal, for wide ranges
        self._in_column = 0, 0  # parts, and values of the log, that are in it
        self._single = True  # whether no document has two values

    def attach(self, base: int, size: int, load: Callable[[], Block]) -> None:
        self._parts.append(_Part(base, base + size, load))

    def detach(self, base: int) -> None:
        """Another segment takes the place of those from `base` on."""
        self._parts = [part for part in self._parts if part.base < base]
        self._cut_column(base)

    def shrink(self, size: int) -> None:
        """The documents from `size` on, which came from the log, are no more."""
        self._values.resize(0)
        self._ords.resize(0)
        self._cut_column(size)

    def _cut_column(self, size: int) -> None:
        self._column.resize(min(size, self._column.size))
        self._in_column = min(self._in_column[0], len(self._parts)), 0

    @property
    def parts(self) -> list[tuple[int, ValueBlock]]:
        """Blocks with their first ordinals."""
        for part in self._parts:
            if part.block is None:
                part.block = part.load()
        return [(part.base, part.block) for part in self._parts]

    def add(self, ordinal: int, values: list[float]) -> None:
        for value in values:
            self._values.append(value)
            self._ords.append(ordinal)

    def between(self, low: float, high: float, include_low: bool = True, include_high: bool = True) -> Ints:
        """Living documents with a value in the range, ascending, each once."""
        found = []
        for base, block in self.parts:
            start, stop = _within(block.values, low, high, include_low, include_high)
            if stop > start:
                found.append(block.ords[start:stop].astype(np.int64) + base)
        if self._values.size:
            found.append(self._in_log(low, high, include_low, include_high))
        return self._distinct(found)

    def _in_log(self, low: float, high: float, include_low: bool, include_high: bool) -> Ints:
        values = self._values.view
        above = values >= low if include_low else values > low
        below = values <= high if include_high else values < high
        found: Ints = self._ords.view[above & below]
        return found

    def mask(self, low: float, high: float, include_low: bool, include_high: bool) -> Bools:
        """Which living documents have a value in the range, by ordinal."""
        total = self.owner.size
        bounds = [_within(block.values, low, high, include_low, include_high) for _, block in self.parts]
        wide = sum(stop - start for start, stop in bounds) > total >> _WIDE
        column = self._by_ordinal() if wide else None
        if column is None:
            found = np.zeros(total, np.bool_)
            for (base, block), (start, stop) in zip(self.parts, bounds, strict=True):
                found[block.ords[start:stop].astype(np.int64) + base] = True
            found[self._in_log(low, high, include_low, include_high)] = True
        else:
            found = column >= low if include_low else column > low
            if high < np.inf or not include_high:
                found &= column <= high if include_high else column < high
        if self.owner.dead:
            found &= self.owner.live.view
        return found

    def _by_ordinal(self) -> Array | None:
        """The values by ordinal, NaN where there is none; None when a document has several."""
        parts, logged = self._in_column
        self._column.resize(self.owner.size)
        column = self._column.view
        for base, block in self.parts[parts:]:
            self._place(column, block.ords.astype(np.int64) + base, block.values)
        self._place(column, self._ords.view[logged:], self._values.view[logged:])
        self._in_column = len(self._parts), self._values.size
        return column if self._single else None

    def _place(self, column: Array, ords: Ints, values: Array) -> None:
        if self._single and len(ords):
            self._single = bool(np.isnan(column[ords]).all()) and len(distinct(ords)) == len(ords)
            column[ords] = values

    def present(self) -> Ints:
        return self.between(-np.inf, np.inf)

    def _distinct(self, found: list[Array]) -> Ints:
        if not found:
            return NO_INTS
        every = np.concatenate(found) if len(found) > 1 else found[0]
        total = self.owner.size
        if (every[1:] > every[:-1]).all():  # times, and whatever else grows as documents come in
            return every[self.owner.live.view[every]] if self.owner.dead else every
        if len(every) > total >> 6:
            mask = np.zeros(total, np.bool_)
            mask[every] = True
            if self.owner.dead:
                mask &= self.owner.live.view
            return np.flatnonzero(mask)
        every = distinct(every)
        return every[self.owner.live.view[every]] if self.owner.dead else every


def _within(values: Array, low: float, high: float, include_low: bool, include_high: bool) -> tuple[int, int]:
    """Where the values of a range stand among ascending ones."""
    start = int(np.searchsorted(values, low, "left" if include_low else "right"))
    stop = int(np.searchsorted(values, high, "right" if include_high else "left"))
    return start, max(start, stop)
