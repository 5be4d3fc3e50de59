"""Steps that work row by row: calculations, filters, limits, subqueries, loops over lists and scans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from vgraph.embedded.errors import ArangoError

from ..batchwise import Passing, Spread, Values
from ..values import type_name
from .rows import Batch, Closure, Row, Rows, Run, Sizes, chunks, demand

if TYPE_CHECKING:
    from .run import Program

Demand = tuple[Closure | None, Closure] | None


@dataclass(slots=True)
class Calculate:
    slot: int
    values: Values

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        slot = self.slot
        for batch in source:
            for row, value in zip(batch, self.values(batch, rt), strict=True):
                row[slot] = value
            yield batch


@dataclass(slots=True)
class Filter:
    passing: Passing

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        for batch in source:
            kept = self.passing(batch, rt)
            rt.stats.filtered += len(batch) - len(kept)
            if kept:
                yield kept


@dataclass(slots=True)
class NoResults:
    """Ends the rows here. What comes before is not even started, unless it modifies."""

    drains: bool = False

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        if self.drains:
            for _ in source:
                pass
        return iter(())


@dataclass(slots=True)
class Limit:
    """`last`: the last LIMIT of the main query, which goes on counting what would have come with option fullCount.

    `drains`: what comes before modifies, and must do all it has to whether its rows are wanted or not.
    """

    offset: Closure | None
    count: Closure
    last: bool = False
    drains: bool = False

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        skip = limit_value(self.offset, rt, seed, "offset")
        wanted = limit_value(self.count, rt, seed, "count", none=NO_LIMIT)
        seen = 0
        counting = self.last and rt.full_count
        goes_on = counting or self.drains
        if wanted == 0 and not goes_on:
            return
        for batch in source:
            first = max(0, skip - seen)
            last = max(0, skip + wanted - seen)
            seen += len(batch)
            kept = batch if first == 0 and last >= len(batch) else batch[first:last]
            if kept:
                yield kept
            if seen >= skip + wanted and not goes_on:
                break
        if counting:
            rt.stats.full_count = seen


NO_LIMIT = 2**62
"""LIMIT 0, null: all there are."""


def limit_value(closure: Closure | None, rt: Run, seed: Row, what: str, none: int = 0) -> int:
    """The number in a LIMIT, `none` for null; anything but a number from 0 is an error, as on the server."""
    value = 0 if closure is None else closure(seed, rt)
    if value is None:
        return none
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArangoError(1504, f"LIMIT {what} value is not a number")
    if value < 0:
        raise ArangoError(1504, f"LIMIT {what} value is negative")
    return int(value)


@dataclass(slots=True)
class EnumerateList:
    source: Closure
    spread: Spread
    demand: Demand

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        """What short lists of several rows give goes on together."""
        sizes = Sizes(demand(self.demand, rt, seed))
        for batch in source:
            size = sizes.take()
            found: Batch = []
            for row in batch:
                items = iter(self.items(row, rt))
                while chunk := list(islice(items, max(size - len(found), min(size, LEAST)))):
                    rt.check()
                    kept = self.spread(chunk, row, rt)
                    rt.stats.filtered += len(chunk) - len(kept)
                    found += kept
                    if len(found) >= size:
                        yield found
                        size, found = sizes.take(), []
            if found:
                yield found

    def items(self, row: Row, rt: Run) -> Iterable[Any]:
        items = self.source(row, rt)
        if isinstance(items, list | range):
            return items
        raise ArangoError(
            1563,
            f"collection or array expected as operand to FOR loop; you provided a value of type '{type_name(items)}'",
        )


LEAST = 64
"""Items looked at together, also when fewer rows are missing."""

KEPT = 20_000
"""Documents of an inner loop that are kept for the next row of the outer one; larger collections are read again."""


@dataclass(slots=True)
class EnumerateCollection:
    """A scan; inside a loop the documents are kept for the next rows of the batch."""

    collection: str
    projection: frozenset[str] | None
    spread: Spread
    produces: bool
    demand: Demand

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        sizes = Sizes(demand(self.demand, rt, seed))
        kept: list[Any] | None = None
        small = rt.txn.collection(self.collection).count() <= KEPT
        for batch in source:
            for row in batch:
                if kept is None and len(batch) > 1 and small:
                    kept = list(self.documents(rt))
                    rt.charge(len(kept), 16)
                items = self.documents(rt) if kept is None else kept
                yield from self.expand(row, items, rt, sizes)

    def expand(self, row: Row, items: Iterable[Any], rt: Run, sizes: Sizes) -> Rows:
        for chunk in chunks(items, sizes):
            rt.check()
            rt.stats.scanned_full += len(chunk)
            kept = self.spread(chunk, row, rt)
            rt.stats.filtered += len(chunk) - len(kept)
            if kept:
                yield kept

    def documents(self, rt: Run) -> Iterator[Any]:
        collection = rt.txn.collection(self.collection)
        if not self.produces:
            return (None for _ in collection.rowids())
        return (document for _, document in collection.scan(self.projection))


@dataclass(slots=True)
class Subquery:
    """Puts a subquery's results into a register, for a whole batch of rows at once where that is the same."""

    slot: int
    program: Program

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        for batch in source:
            rt.check()
            results = self.program.results(batch, rt)
            rt.charge(sum(map(len, results)))
            for row, result in zip(batch, results, strict=True):
                row[self.slot] = result
            yield batch


@dataclass(slots=True)
class Documents:
    """DOCUMENT() for a batch of rows: one lookup for each collection."""

    slot: int
    collection: Closure | None
    key: Closure
    fallback: Closure

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        for batch in source:
            rt.check()
            found = self.fetch(batch, rt)
            for row in batch:
                row[self.slot] = self.value(row, rt, found)
            yield batch

    def fetch(self, batch: Batch, rt: Run) -> dict[str, Any]:
        """Documents by id for every well-formed id in the batch."""
        wanted: dict[str, dict[str, None]] = {}
        for row in batch:
            for identifier in self.identifiers(row, rt):
                name, slash, key = identifier.partition("/")
                if slash:
                    wanted.setdefault(name, {})[key] = None
        found: dict[str, Any] = {}
        for name, keys in wanted.items():
            try:
                documents = rt.txn.collection(name).get_many(list(keys))
            except ArangoError:
                continue
            found.update((f"{name}/{key}", document) for key, document in zip(keys, documents, strict=True))
        return found

    def identifiers(self, row: Row, rt: Run) -> Iterator[str]:
        key = self.key(row, rt)
        for item in key if isinstance(key, list) else (key,):
            identifier = item.get("_id") if isinstance(item, dict) else item
            if isinstance(identifier, str):
                yield self.qualified(identifier, row, rt)

    def qualified(self, identifier: str, row: Row, rt: Run) -> str:
        if self.collection is None or "/" in identifier:
            return identifier
        return f"{self.collection(row, rt)}/{identifier}"

    def value(self, row: Row, rt: Run, found: dict[str, Any]) -> Any:
        key = self.key(row, rt)
        items = key if isinstance(key, list) else [key]
        if not all(isinstance(item, str) and self.qualified(item, row, rt) in found for item in items):
            return self.fallback(row, rt)
        documents = [found[self.qualified(item, row, rt)] for item in items]
        if isinstance(key, list):
            return [document for document in documents if document is not None]
        return documents[0]


@dataclass(slots=True)
class Distinct:
    """RETURN DISTINCT: rows whose value came before are dropped; the value is left in its register."""

    slot: int
    value: Closure

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        from ..values import hashable

        seen: set[Any] = set()
        for batch in source:
            kept = []
            for row in batch:
                value = row[self.slot] = self.value(row, rt)
                key = hashable(value)
                if key not in seen:
                    seen.add(key)
                    kept.append(row)
            rt.charge(len(kept))
            if kept:
                yield kept


def flatten(rows: Rows) -> Batch:
    return list(chain.from_iterable(rows))
