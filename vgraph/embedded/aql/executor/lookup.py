"""Documents through indexes, for a batch of rows at once: no statement per row for keys, edges and equal prefixes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any, Final

import numpy as np

from ..batchwise import Placed
from ..values import compare, hashable, rank, sort_key
from .rows import Batch, Closure, Row, Rows, Run, Sizes, chunks, demand
from .steps import Demand

Bounds = tuple[tuple[Closure, bool], ...]
"""Limits of a range, each with whether it leaves its own value out."""

NUMBER, STRING = 2, 3
"""`rank` of numbers and of strings."""

ENDS = frozenset(("_from", "_to"))
"""The attributes of an edge that the edge index holds."""

MOST_SKIPS = 200
"""Values of the first field of an index that are gone through for a range on the second."""

_LAST_KEYS: Final = object()
_LAST_ROWIDS: Final = object()

Pair = tuple[int, int]
"""A row's position in its batch, and the rowid of a document found for it."""


@dataclass(slots=True)
class Probe:
    """A compiled `plan.Lookup`: which rowids it gives for the rows of a batch."""

    kind: str
    index: int
    field: str
    equal: tuple[tuple[Closure, bool], ...]
    lows: Bounds
    highs: Bounds
    condition: Closure | None
    slot: int
    sparse: bool
    ranges: tuple[tuple[Bounds, Bounds], ...] = ()

    def pairs(self, collection: Any, batch: Batch, rt: Run, *, reverse: bool = False) -> Iterator[Pair]:
        """All matches, in the order of the rows; within a row in the order of the index."""
        if self.kind == "primary":
            return self.primary(collection, batch, rt)
        if self.kind == "edge":
            return self.edge(collection, batch, rt)
        if self.kind == "key":
            return self.by_key(collection, batch, rt, reverse)
        if self.kind == "box":
            return self.box(collection, batch, rt)
        return self.sorted(collection, batch, rt, reverse)

    # -- _key and _id

    def keys(self, collection: Any, row: Row, rt: Run) -> list[str]:
        """The keys asked for; those of the last list are kept, as one list is often looked through more than once."""
        closure, any_of = self.equal[0]
        value = closure(row, rt)
        if not any_of:
            return keys_among([value], self.field, collection.name)
        if not isinstance(value, list | range):
            return []
        known = rt.cache.get(_LAST_KEYS)
        if known is not None and known[0] is value and known[1] == (self.field, collection.name):
            return known[2]  # type: ignore[no-any-return]
        found = keys_among(sorted_unique(value), self.field, collection.name)
        rt.cache[_LAST_KEYS] = value, (self.field, collection.name), found
        return found

    def primary(self, collection: Any, batch: Batch, rt: Run) -> Iterator[Pair]:
        wanted = [self.keys(collection, row, rt) for row in batch]
        keys = list(dict.fromkeys(key for row in wanted for key in row))
        rowids = dict(zip(keys, collection.rowids_of(keys), strict=True))
        for position, row_keys in enumerate(wanted):
            for key in row_keys:
                rowid = rowids[key]
                if rowid is not None:
                    yield position, rowid

    def rowids_of_keys(self, collection: Any, row: Row, rt: Run) -> Any:
        """The rows of the keys asked for; those of the last list are kept, as both ways of a search look for the same."""
        keys = self.keys(collection, row, rt)
        known = rt.cache.get(_LAST_ROWIDS)
        if known is not None and known[0] is keys:
            return known[1]
        found = [rowid for rowid in collection.rowids_of(keys) if rowid is not None]
        rowids = np.array(found, dtype=np.int64)
        rt.cache[_LAST_ROWIDS] = keys, rowids
        return rowids

    def by_key(self, collection: Any, batch: Batch, rt: Run, reverse: bool) -> Iterator[Pair]:
        """A range of keys; a bound that is no string lets all keys through, or none."""
        for position, row in enumerate(batch):
            low, strict_low = self.tightest(self.lows, row, rt, 1)
            high, strict_high = self.tightest(self.highs, row, rt, -1)
            if (low is not ... and rank(low) > STRING) or (high is not ... and rank(high) < STRING):
                continue
            rowids = collection.rowids_by_key(
                low if isinstance(low, str) else None,
                high if isinstance(high, str) else None,
                strict_low=strict_low,
                strict_high=strict_high,
                reverse=reverse,
            )
            for rowid in rowids:
                yield position, rowid

    # -- _from and _to

    def edge(self, collection: Any, batch: Batch, rt: Run) -> Iterator[Pair]:
        return ((position, rowid) for position, _, rowid, _ in self.edges(collection, batch, rt))

    def edges(self, collection: Any, batch: Batch, rt: Run) -> Iterator[tuple[int, str, int, str]]:
        """(position, vertex asked, rowid of the edge, vertex at its other end)."""
        wanted = [[v for v in self.values(0, row, rt) if isinstance(v, str)] for row in batch]
        vertices = list(dict.fromkeys(chain.from_iterable(wanted)))
        ends = collection.neighbours("out" if self.field == "_from" else "in", vertices)
        found = dict(zip(vertices, ends, strict=True))
        for position, row_vertices in enumerate(wanted):
            for vertex in row_vertices:
                for rowid, other in found[vertex]:
                    yield position, vertex, rowid, other

    def ends(self, collection: Any, batch: Batch, rt: Run) -> Iterator[tuple[int, dict[str, str]]]:
        """(position, {_from, _to}): what the edge index knows of edges without reading them."""
        outward = self.field == "_from"
        for position, vertex, _, other in self.edges(collection, batch, rt):
            yield position, {"_from": vertex, "_to": other} if outward else {"_from": other, "_to": vertex}

    # -- multi-dimensional indexes

    def box(self, collection: Any, batch: Batch, rt: Run) -> Iterator[Pair]:
        index = index_by_id(collection, self.index)
        for position, row in enumerate(batch):
            sides = [self.side(lows, highs, row, rt) for lows, highs in self.ranges]
            if None not in sides:
                prefix = [closure(row, rt) for closure, _ in self.equal]
                for rowid in index.lookup_box(rt.txn, sides, prefix):
                    yield position, rowid

    def side(self, lows: Bounds, highs: Bounds, row: Row, rt: Run) -> tuple[float | None, float | None] | None:
        """The interval of numbers within the bounds; None when no number is."""
        low, _ = self.tightest(lows, row, rt, 1)
        high, _ = self.tightest(highs, row, rt, -1)
        if (low is not ... and rank(low) > NUMBER) or (high is not ... and rank(high) < NUMBER):
            return None
        return (
            low if low is not ... and rank(low) == NUMBER else None,
            high if high is not ... and rank(high) == NUMBER else None,
        )

    # -- persistent indexes

    def sorted(self, collection: Any, batch: Batch, rt: Run, reverse: bool) -> Iterator[Pair]:
        index = index_by_id(collection, self.index)
        if len(batch) > 1 and not self.lows and not self.highs:
            yield from self.many(collection, index, batch, rt)
            return
        for position, row in enumerate(batch):
            for rowid in self.one(collection, index, row, rt, reverse):
                yield position, rowid

    def many(self, collection: Any, index: Any, batch: Batch, rt: Run) -> Iterator[Pair]:
        prefixes: list[tuple[Any, ...]] = []
        owners: list[int] = []
        fallbacks: dict[int, list[int]] = {}
        for position, row in enumerate(batch):
            for prefix in self.prefixes(row, rt):
                if self.unanswerable(prefix):
                    fallbacks[position] = list(self.scan(collection, row, rt))
                    continue
                prefixes.append(prefix)
                owners.append(position)
        found: dict[int, list[int]] = fallbacks
        for number, rowid in index.lookup_many(rt.txn, prefixes):
            found.setdefault(owners[number], []).append(rowid)
        for position in range(len(batch)):
            for rowid in dict.fromkeys(found.get(position, ())):
                yield position, rowid

    def one(self, collection: Any, index: Any, row: Row, rt: Run, reverse: bool) -> Iterable[int]:
        low, strict_low = self.tightest(self.lows, row, rt, 1)
        high, strict_high = self.tightest(self.highs, row, rt, -1)
        prefixes = self.prefixes(row, rt)
        ranged = low is not ... or high is not ...
        if self.sparse and ranged and (low is ... or (low is None and not strict_low)):
            return self.scan(collection, row, rt)
        if any(self.unanswerable(prefix) for prefix in prefixes):
            return self.scan(collection, row, rt)
        found = (
            index.lookup(rt.txn, prefix, low, high, not strict_low, not strict_high, reverse)
            for prefix in (reversed(prefixes) if reverse else prefixes)
        )
        rowids = (rowid for rowids in found for rowid in rowids)
        return iter(dict.fromkeys(rowids)) if len(prefixes) > 1 or "[*]" in self.field else rowids

    def rowids(self, collection: Any, row: Row, rt: Run) -> Any:
        """All matches for one row as an array, in no order, perhaps more than once; None = not worth looking up."""
        if self.kind == "primary":
            return self.rowids_of_keys(collection, row, rt)
        pairs = (rowid for _, rowid in self.pairs(collection, [row], rt))
        if self.kind not in ("sorted", "skip") or self.sparse:
            return np.fromiter(pairs, dtype=np.int64)
        index = index_by_id(collection, self.index)
        prefixes = self.prefixes(row, rt)
        if self.kind == "skip":
            values = index.first_values(rt.txn, MOST_SKIPS)
            if values is None:
                return None
            prefixes = [(value,) for value in values]
        intervals = [self.interval(*bounds, row, rt) for bounds in ((self.lows, self.highs), *self.ranges)]
        found = [index.candidates(rt.txn, prefix, intervals) for prefix in prefixes]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def interval(self, lows: Bounds, highs: Bounds, row: Row, rt: Run) -> tuple[Any, bool, Any, bool]:
        low, strict_low = self.tightest(lows, row, rt, 1)
        high, strict_high = self.tightest(highs, row, rt, -1)
        return low, not strict_low, high, not strict_high

    def count(self, collection: Any, row: Row, rt: Run) -> int:
        """How many matches there are for one row in a sorted index that is not sparse."""
        low, strict_low = self.tightest(self.lows, row, rt, 1)
        high, strict_high = self.tightest(self.highs, row, rt, -1)
        index = index_by_id(collection, self.index)
        return sum(
            index.count(rt.txn, prefix, low, high, not strict_low, not strict_high) for prefix in self.prefixes(row, rt)
        )

    def prefixes(self, row: Row, rt: Run) -> list[tuple[Any, ...]]:
        if not self.equal:
            return [()]
        return list(product(*(self.values(number, row, rt) for number in range(len(self.equal)))))

    def unanswerable(self, prefix: tuple[Any, ...]) -> bool:
        return self.sparse and any(value is None for value in prefix)

    def scan(self, collection: Any, row: Row, rt: Run) -> Iterator[int]:
        """What a sparse index does not hold: documents whose attribute is null."""
        scratch = row.copy()
        assert self.condition is not None
        for rowid, document in collection.scan():
            rt.stats.scanned_full += 1
            scratch[self.slot] = document
            if self.condition(scratch, rt):
                yield rowid

    @staticmethod
    def tightest(bounds: Bounds, row: Row, rt: Run, sign: int) -> tuple[Any, bool]:
        """The bound that lets the fewest through (`...` when there is none); `sign` 1 for lower bounds."""
        best: Any = ...
        strict = False
        for closure, bound_strict in bounds:
            value = closure(row, rt)
            order = 1 if best is ... else compare(value, best) * sign
            if order > 0 or (order == 0 and bound_strict):
                best, strict = value, bound_strict
        return best, strict

    def values(self, number: int, row: Row, rt: Run) -> list[Any]:
        """The values field `number` may have; those of IN sorted and each once, as the server does."""
        closure, any_of = self.equal[number]
        value = closure(row, rt)
        if not any_of:
            return [value]
        return sorted_unique(value) if isinstance(value, list | range) else []


def keys_among(values: Sequence[Any], field: str, collection: str) -> list[str]:
    """The keys that values of `_key` or `_id` name."""
    strings = [value for value in values if isinstance(value, str)]
    if field == "_key":
        return strings
    prefix = collection + "/"
    start = len(prefix)
    return [value[start:] for value in strings if value.startswith(prefix)]


def sorted_unique(values: Iterable[Any]) -> list[Any]:
    if set(map(type, values)) == {str}:
        return sorted(set(values))
    unique = {hashable(value): value for value in values}
    return sorted(unique.values(), key=sort_key)


def index_by_id(collection: Any, index_id: int) -> Any:
    return next(index for index in collection.indexes if index.id == index_id)


@dataclass(slots=True)
class IndexScan:
    """An `IndexNode`: for each row the documents its lookups find."""

    collection: str
    probes: tuple[Probe, ...]
    reverse: bool
    projection: frozenset[str] | None
    placed: Placed
    filters: bool
    demand: Demand

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        sizes = Sizes(demand(self.demand, rt, seed))
        collection = rt.txn.collection(self.collection)
        rt.stats.cursors_created += 1
        for batch in source:
            rt.check()
            if len(self.probes) == 1 and self.probes[0].kind == "primary":
                yield from self.by_key(collection, batch, rt)
                continue
            if self.covered:
                yield from self.ends(collection, batch, rt, sizes)
                continue
            for pairs in chunks(self.pairs(collection, batch, rt), sizes):
                rt.check()
                kept = self.rows(collection, batch, pairs, rt)
                if kept:
                    yield kept

    @property
    def covered(self) -> bool:
        """Whether the edge index holds all that is read."""
        one = len(self.probes) == 1 and self.probes[0].kind == "edge"
        return one and self.projection is not None and self.projection <= ENDS

    def ends(self, collection: Any, batch: Batch, rt: Run, sizes: Sizes) -> Rows:
        for found in chunks(self.probes[0].ends(collection, batch, rt), sizes):
            rt.check()
            rt.stats.scanned_index += len(found)
            kept = self.copies(batch, found, rt)
            if kept:
                yield kept

    def by_key(self, collection: Any, batch: Batch, rt: Run) -> Rows:
        """Keys need no rowids: one statement gives the documents."""
        wanted = [self.probes[0].keys(collection, row, rt) for row in batch]
        keys = wanted[0] if len(wanted) == 1 else list(dict.fromkeys(chain.from_iterable(wanted)))
        documents = dict(zip(keys, collection.get_many(keys, self.projection), strict=True)) if keys else {}
        found = [
            (position, document)
            for position, row_keys in enumerate(wanted)
            for key in row_keys
            if (document := documents[key]) is not None
        ]
        rt.stats.scanned_index += len(found)
        rt.stats.document_lookups += len(found)
        kept = self.copies(batch, found, rt)
        if kept:
            yield kept

    def pairs(self, collection: Any, batch: Batch, rt: Run) -> Iterator[Pair]:
        if len(self.probes) == 1:
            return self.probes[0].pairs(collection, batch, rt, reverse=self.reverse)
        return self.union(collection, batch, rt)

    def union(self, collection: Any, batch: Batch, rt: Run) -> Iterator[Pair]:
        """Alternatives: each document once for each row."""
        found: list[dict[int, None]] = [{} for _ in batch]
        for probe in self.probes:
            if probe.kind == "edge":
                for position, _, rowid, _ in probe.edges(collection, batch, rt):
                    found[position][rowid] = None
                continue
            for position, rowid in probe.pairs(collection, batch, rt):
                found[position][rowid] = None
        for position, rowids in enumerate(found):
            for rowid in rowids:
                yield position, rowid

    def rows(self, collection: Any, batch: Batch, pairs: list[Pair], rt: Run) -> Batch:
        rt.stats.scanned_index += len(pairs)
        if self.projection is not None and not self.projection and not self.filters:
            return self.copies(batch, [(position, {}) for position, _ in pairs], rt)
        rowids = list({rowid: None for _, rowid in pairs})
        rt.stats.document_lookups += len(rowids)
        documents = collection.fetch(rowids, self.projection)
        if len(rowids) == len(pairs):
            found = [
                (pair[0], document) for pair, document in zip(pairs, documents, strict=True) if document is not None
            ]
        else:
            by_rowid = dict(zip(rowids, documents, strict=True))
            found = [(position, by_rowid[rowid]) for position, rowid in pairs if by_rowid[rowid] is not None]
        return self.copies(batch, found, rt)

    def copies(self, batch: Batch, found: Sequence[tuple[int, Any]], rt: Run) -> Batch:
        kept = self.placed(found, batch, rt)
        rt.stats.filtered += len(found) - len(kept)
        return kept


@dataclass(slots=True)
class Count:
    """How many documents a collection has, or how many a lookup would find."""

    slot: int
    collection: str
    probe: Probe | None

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        collection = rt.txn.collection(self.collection)
        total = 0
        for batch in source:
            for row in batch:
                total += collection.count() if self.probe is None else self.probe.count(collection, row, rt)
        counted = seed.copy()
        counted[self.slot] = total
        yield [counted]
