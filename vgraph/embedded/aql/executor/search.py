"""Steps that search: views with their scorers, and vector indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vgraph.embedded.errors import ArangoError

from ..values import truthy
from .lookup import Probe, index_by_id
from .rows import Batch, Closure, Row, Rows, Run, Sizes, demand
from .steps import NO_LIMIT, Demand, limit_value

EVERYTHING = 2**62
"""A top-k of all there is: the option fullCount wants to know how many."""


@dataclass(slots=True)
class ScorerStep:
    slot: int
    function: str
    arguments: tuple[Closure, ...]

    def scorer(self, row: Row, rt: Run) -> Any:
        from vgraph.embedded import search

        arguments = [argument(row, rt) for argument in self.arguments]
        if self.function == "BM25":
            return search.BM25(*(_number(argument) for argument in arguments))
        if self.function == "BOOST_SCORE":
            return search.BoostScore()
        return search.TFIDF(*(truthy(argument) for argument in arguments))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArangoError(1542, "invalid argument type in call to function 'BM25()'")
    return float(value)


@dataclass(slots=True)
class TopStep:
    scorer: int
    descending: bool
    offset: Closure | None
    count: Closure
    ties: bool

    def wanted(self, row: Row, rt: Run) -> tuple[int, bool, int]:
        if rt.full_count:
            return self.scorer, self.descending, EVERYTHING
        total = limit_value(self.offset, rt, row, "offset") + limit_value(self.count, rt, row, "count", none=NO_LIMIT)
        return self.scorer, self.descending, total


@dataclass(slots=True)
class EnumerateView:
    """Documents a view finds. A condition that uses nothing of the row is bound and searched once."""

    slot: int
    view: str
    condition: Any
    varies: bool
    collections: frozenset[str] | None
    scorers: tuple[ScorerStep, ...]
    offsets: tuple[tuple[int, Closure, Closure | None], ...]
    top: TopStep | None
    projection: frozenset[str] | None
    inverted: tuple[str, int] | None
    within: tuple[Probe, ...]
    demand: Demand

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        result: Any = None
        sizes = Sizes(demand(self.demand, rt, seed))
        for batch in source:
            for row in batch:
                rt.check()
                if result is None or self.varies:
                    result = self.search(row, rt)
                yield from self.rows(row, result, rt, sizes)

    def search(self, row: Row, rt: Run) -> Any:
        options: dict[str, Any] = {"scorers": [step.scorer(row, rt) for step in self.scorers]}
        if self.top is not None and not self.top.ties:
            options["top"] = self.top.wanted(row, rt)
        if self.collections is not None:
            options["collections"] = self.collections
        if self.offsets:
            options["offsets"] = True
        condition = None if self.condition is None else self.condition.bind(row, rt)
        result = self.searched(rt).search(rt.txn, condition, **options)
        for probe in self.within:
            result = narrowed(result, probe, row, rt)
        return result if self.top is None or not self.top.ties else best_with_ties(result, *self.top.wanted(row, rt))

    def searched(self, rt: Run) -> Any:
        if self.inverted is not None:
            return index_by_id(rt.txn.collection(self.inverted[0]), self.inverted[1])
        return rt.txn.view(self.view)

    def rows(self, row: Row, result: Any, rt: Run, sizes: Sizes) -> Rows:
        end = 0
        while end < len(result):
            rt.check()
            start, end = end, min(end + sizes.take(), len(result))
            rt.stats.scanned_index += end - start
            kept = self.filled(row, result, start, end, self.documents(result, start, end, rt), rt)
            if kept:
                yield kept

    def documents(self, result: Any, start: int, end: int, rt: Run) -> Sequence[Any]:
        """One fetch for each collection in the slice."""
        if self.projection is not None and not self.projection:
            return [{}] * (end - start)
        source, rowids = result.source[start:end], result.rowids[start:end]
        if len(result.collections) == 1:
            found: Sequence[Any] = rt.txn.collection(result.collections[0]).fetch(rowids.tolist(), self.projection)
            return found
        documents: list[Any] = [None] * (end - start)
        for number, name in enumerate(result.collections):
            positions = np.flatnonzero(source == number)
            if len(positions):
                found = rt.txn.collection(name).fetch(rowids[positions].tolist(), self.projection)
                for position, document in zip(positions.tolist(), found, strict=True):
                    documents[position] = document
        return documents

    def filled(self, row: Row, result: Any, start: int, end: int, documents: Sequence[Any], rt: Run) -> Batch:
        scores = [scores[start:end].tolist() for scores in result.scores]
        kept: Batch = []
        for number, document in enumerate(documents):
            if document is None:
                continue
            new = row.copy()
            new[self.slot] = document
            for step, values in zip(self.scorers, scores, strict=True):
                new[step.slot] = values[number]
            for slot, paths, limit in self.offsets:
                given = paths(new, rt)
                most = limit(new, rt) if limit is not None else 10
                new[slot] = result.offsets(start + number, given if isinstance(given, list) else [given], most)
            kept.append(new)
        return kept


def narrowed(result: Any, probe: Probe, row: Row, rt: Run) -> Any:
    """The rows that a lookup of keys finds as well."""
    kept = np.zeros(len(result), np.bool_)
    for number, name in enumerate(result.collections):
        rowids = probe.rowids(rt.txn.collection(name), row, rt)
        kept |= (result.source == number) & np.isin(result.rowids, rowids)
    return result.take(np.flatnonzero(kept))


def best_with_ties(result: Any, scorer: int, descending: bool, count: int) -> Any:
    """The rows that no `count` others surpass: those that a SORT by the score, and then by something else, may need."""
    if count == 0 or count >= len(result):
        return result
    order = -result.scores[scorer] if descending else result.scores[scorer]
    return result.take(np.flatnonzero(order <= np.partition(order, count - 1)[count - 1]))


@dataclass(slots=True)
class NearVector:
    """The nearest documents: candidates from indexes first, then the rest of the filter, best first."""

    slot: int
    distance: int
    collection: str
    index: int
    query: Closure
    offset: Closure | None
    count: Closure
    search_options: Closure | None
    probes: tuple[Probe, ...]
    filter: Closure | None
    filter_projection: frozenset[str] | None
    projection: frozenset[str] | None

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        collection = rt.txn.collection(self.collection)
        index = index_by_id(collection, self.index)
        for batch in source:
            for row in batch:
                rt.check()
                kept = self.nearest(collection, index, row, rt)
                if kept:
                    yield kept

    def nearest(self, collection: Any, index: Any, row: Row, rt: Run) -> Batch:
        wanted = limit_value(self.offset, rt, row, "offset") + limit_value(self.count, rt, row, "count", none=NO_LIMIT)
        if wanted == 0:
            return []
        rowids, scores = index.search(
            rt.txn,
            self.query(row, rt),
            wanted,
            n_probe=self.n_probe(row, rt),
            candidates=self.candidates(collection, row, rt),
            accept=self.accept(collection, row, rt) if self.filter is not None else None,
        )
        found = rowids.tolist()
        rt.stats.scanned_index += len(found)
        rt.stats.document_lookups += len(found)
        kept: Batch = []
        for document, score in zip(self.documents(collection, found), scores.tolist(), strict=True):
            if document is not None:
                new = row.copy()
                new[self.slot] = document
                new[self.distance] = score
                kept.append(new)
        return kept

    def documents(self, collection: Any, rowids: list[int]) -> Sequence[Any]:
        if self.projection is not None and not self.projection:
            return [{}] * len(rowids)
        found: Sequence[Any] = collection.fetch(rowids, self.projection)
        return found

    def n_probe(self, row: Row, rt: Run) -> int | None:
        options = None if self.search_options is None else self.search_options(row, rt)
        if options is None:
            return None
        probes = options.get("nProbe") if isinstance(options, dict) else 0
        if probes is None:
            return None
        if isinstance(probes, bool) or not isinstance(probes, int | float) or probes < 1:
            raise ArangoError(1542, "invalid argument type in call to function: nProbe must be a number from 1")
        return int(probes)

    def candidates(self, collection: Any, row: Row, rt: Run) -> Any:
        if not self.probes:
            return None
        found = [probe.rowids(collection, row, rt) for probe in self.probes]
        if found[0] is None:
            return None
        rowids = found[0] if len(found) == 1 else np.unique(np.concatenate(found))
        rt.stats.scanned_index += len(rowids)
        return rowids

    def accept(self, collection: Any, row: Row, rt: Run) -> Callable[[Any], Any]:
        scratch = row.copy()
        condition = self.filter
        assert condition is not None

        def accepted(rowids: Any) -> Any:
            rt.check()
            passed = np.zeros(len(rowids), dtype=bool)
            for number, document in enumerate(collection.fetch(rowids.tolist(), self.filter_projection)):
                scratch[self.slot] = document
                passed[number] = document is not None and condition(scratch, rt)
            rt.stats.filtered += int(len(rowids) - passed.sum())
            return passed

        return accepted
