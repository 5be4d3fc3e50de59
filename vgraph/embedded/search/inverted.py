"""Fields of a search index in memory: terms with their documents, and numbers, over segments and fresh log rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from . import segments as sealed
from .arrays import NO_INTS, Array, Floats, Growing, Ints, distinct
from .segments import TEXT, TextBlock, ValueBlock

if TYPE_CHECKING:
    from .postings import Postings

_CACHE: Final = 192 << 20  # bytes of materialised postings
_POSTING: Final = 24  # bytes of one: ordinal, frequency, length, impact


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
        if cached is not None:
            self._uncache(term)
        self._cache[term] = version, found
        self.owner.cached += _POSTING * len(found.ords)
        if self.owner.cached > _CACHE:
            self.owner.shrink_caches()
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

    def _uncache(self, term: str) -> None:
        self.owner.cached -= _POSTING * len(self._cache.pop(term)[1].ords)

    def shrink_cache(self) -> None:
        """Forget the half that has been here longest."""
        for term in list(self._cache)[: (len(self._cache) + 1) // 2]:
            self._uncache(term)

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
        if (every[1:] > every[:-1]).all():  # times, and whatever else grows as documents come in
            return every[self.owner.live.view[every]] if self.owner.deaths else every
        if len(every) > total >> 6:
            mask = np.zeros(total, np.bool_)
            mask[every] = True
            if self.owner.deaths:
                mask &= self.owner.live.view
            return np.flatnonzero(mask)
        every = distinct(every)
        return every[self.owner.live.view[every]] if self.owner.deaths else every
