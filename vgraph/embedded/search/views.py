"""Views and the indexes behind them.

An arangosearch view has one `ViewLink` per collection, a search-alias view refers to `InvertedIndex`es; both keep their
postings with the documents, in the same transaction. A search sees everything that is committed, which is more than a
server promises (its views lag by `commitIntervalMsec` unless waitForSync is asked for), and nothing that its own
transaction has written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as Container
from contextlib import ExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vgraph.embedded.arrays import NO_INTS, Array, Ints
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.indexes import Index

from .analyzer_base import Analyzer
from .analyzers import BUILTIN
from .conditions import Condition, Every
from .definitions import link_rule
from .evaluate import Evaluator, Member, Statistics
from .fields import Collector, Columns, FieldRule
from .inverted_definitions import analyzer_key, by_path, inverted_rules, normalise_inverted, with_features
from .offsets import matched_offsets
from .postings import Postings
from .scoring import Scorer
from .segments import TEXT, Payload, StaleSnapshotError
from .store import PostingsStore

if TYPE_CHECKING:
    from vgraph.embedded.bulk import Block
    from vgraph.embedded.documents import Collection
    from vgraph.embedded.engine import Transaction

JSON = dict[str, Any]


class Top(NamedTuple):
    """Only the `k` best rows by one of the scorers."""

    scorer: int
    descending: bool
    k: int


class SearchResult:
    """Rows that match, with one array of scores for each scorer.

    `collections` are names, `source` says for each row which of them, `rowids` which document of it.
    """

    def __init__(self, collections: list[str], source: Array, rowids: Ints, scores: list[Array]) -> None:
        self.collections = collections
        self.source = source
        self.rowids = rowids
        self.scores = scores
        self.find_offsets: Callable[[int, Sequence[str], Sequence[int] | int], list[JSON]] | None = None

    def __len__(self) -> int:
        return len(self.rowids)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for source, row in zip(self.source.tolist(), self.rowids.tolist(), strict=True):
            yield self.collections[source], row

    def take(self, places: Ints) -> SearchResult:
        """Some of the rows."""
        scores = [values[places] for values in self.scores]
        taken = SearchResult(self.collections, self.source[places], self.rowids[places], scores)
        find = self.find_offsets
        if find is not None:
            taken.find_offsets = lambda row, paths, limits: find(int(places[row]), paths, limits)
        return taken

    def offsets(self, row: int, paths: Sequence[str], limits: Sequence[int] | int = 10) -> list[JSON]:
        """OFFSET_INFO of a row: [{"name": path as array, "offsets": [[first byte, length], …]}]."""
        if self.find_offsets is None:
            raise ArangoError(10, "OFFSET_INFO() needs a search that was asked for offsets")
        return self.find_offsets(row, paths, limits)


class SearchIndex(Index):
    """What links and inverted indexes share."""

    def __init__(self, index_id: int, collection_id: int, spec: JSON) -> None:
        super().__init__(index_id, collection_id, spec)
        self._analyzers: dict[str, Analyzer] = {}
        self.store = PostingsStore(index_id, collection_id, self._keeps_positions)

    def _keeps_positions(self, field: str) -> bool:
        return "position" in self._analyzers[field.split(TEXT)[1]].features

    def analyzer_names(self) -> set[str]:
        raise NotImplementedError

    def collect(self, document: JSON, collector: Collector) -> None:
        raise NotImplementedError

    def collect_many(self, documents: Sequence[JSON], columns: Columns) -> None:
        """What `collect` gathers, of many documents."""
        for ordinal, document in enumerate(documents):
            collector = Collector(columns.lookup)
            self.collect(document, collector)
            columns.add(ordinal, collector.payload)

    def resolve(self, path: str, asked: str) -> str:
        """The analyzer under which a path is indexed, where a query asks for another."""
        raise NotImplementedError

    def existing(self, path: str) -> bool:
        """Whether EXISTS can see a path."""
        raise NotImplementedError

    def nested(self, path: str) -> FieldRule | None:
        """How the objects in the array at a path are indexed."""
        raise NotImplementedError

    def analyzers(self, txn: Transaction) -> dict[str, Analyzer]:
        """The analyzers used, by name; error 10 when one does not exist (any more)."""
        if not self._analyzers:
            self._analyzers = {name: find_analyzer(txn, name) for name in self.analyzer_names()}
        return self._analyzers

    def _payload(self, txn: Transaction, document: JSON) -> Payload:
        collector = Collector(self.analyzers(txn).__getitem__)
        self.collect(document, collector)
        return collector.payload

    # ------------------------------------------------------------------------------------------ index hooks

    def create(self, txn: Transaction) -> None:
        self.analyzers(txn)
        self.store.log.create(txn)

    def drop(self, txn: Transaction) -> None:
        self.store.log.drop(txn)

    def truncate(self, txn: Transaction) -> None:
        self.store.log.truncate(txn)

    def build(self, txn: Transaction, collection: Collection) -> None:
        projection = self.attributes
        found = ((row, self._payload(txn, document)) for row, document in collection.scan(projection))
        self.store.build(txn, ((row, payload) for row, payload in found if payload))

    def insert(self, txn: Transaction, rowid: int, doc: JSON) -> None:
        payload = self._payload(txn, doc)
        if payload:
            self.store.put(txn, rowid, payload)

    def insert_many(self, txn: Transaction, block: Block) -> None:
        if self.store.takes_at_once(len(block.documents)):
            columns = Columns(self.analyzers(txn).__getitem__)
            self.collect_many(block.documents, columns)
            self.store.put_fields(txn, np.array(block.rowids, np.int64), columns.fields)
            return
        found = ((row, self._payload(txn, doc)) for row, doc in zip(block.rowids, block.documents, strict=True))
        self.store.put_many(txn, [(row, payload) for row, payload in found if payload])

    def remove(self, txn: Transaction, rowid: int, doc: JSON) -> None:
        self.analyzers(txn)
        self.store.put(txn, rowid, None)

    def update(self, txn: Transaction, rowid: int, old: JSON, new: JSON) -> None:
        payload = self._payload(txn, new)
        if payload != self._payload(txn, old):
            self.store.put(txn, rowid, payload or None)

    def selectivity(self, txn: Transaction) -> float:
        return 1.0

    # -------------------------------------------------------------------------------------------- searching

    def search(
        self,
        txn: Transaction,
        condition: Condition | None,
        *,
        scorers: Sequence[Scorer] = (),
        top: tuple[int, bool, int] | None = None,
        offsets: bool = False,
    ) -> SearchResult:
        """Search this index alone (FILTER with a forced index hint)."""
        collection = txn.collection_by_id(self.collection_id)
        return _search(txn, [(collection, self)], condition, scorers, top, offsets=offsets)

    def member(self, txn: Transaction, collection: Collection, postings: Postings) -> Member:
        known = dict(self.analyzers(txn))
        documents = partial(_documents, collection)
        return Member(postings, self.resolve, known.get, self.existing, documents, self.nested)


def _documents(collection: Collection, rows: Ints) -> Sequence[JSON | None]:
    return collection.fetch(rows.tolist())


def find_analyzer(txn: Transaction, key: str) -> Analyzer:
    """A built-in or stored analyzer, with features of its own or those the key says."""
    name, features = with_features(key)
    found = BUILTIN.get(name) or txn.analyzer(name)
    if found is None:
        raise ArangoError(10, f"analyzer '{name}' not found")
    assert isinstance(found, Analyzer)
    return found if features is None else found.with_features(features)


class ViewLink(SearchIndex):
    """The link of an arangosearch view to one collection: a hidden index on it."""

    type = "arangosearch"

    def __init__(self, index_id: int, collection_id: int, spec: JSON) -> None:
        super().__init__(index_id, collection_id, spec)
        self.view_id = spec["view"]
        self.rule = link_rule(spec["link"])

    @classmethod
    def normalise(cls, definition: JSON) -> JSON:
        return definition

    @cached_property
    def attributes(self) -> frozenset[str] | None:
        return None if self.rule.include_all else frozenset(self.rule.fields)

    def definition(self) -> JSON:
        return {**self.spec["link"], "id": str(self.id), "type": self.type, "view": str(self.view_id)}

    def analyzer_names(self) -> set[str]:
        return self.rule.analyzer_names()

    def collect(self, document: JSON, collector: Collector) -> None:
        collector.attributes(document, "", self.rule)

    def collect_many(self, documents: Sequence[JSON], columns: Columns) -> None:
        if self.rule.include_all or any("." in name or "[" in name for name in self.rule.fields):
            super().collect_many(documents, columns)  # two attributes may come to one path
        else:
            columns.attributes(documents, self.rule)

    def resolve(self, path: str, asked: str) -> str:
        return asked

    def existing(self, path: str) -> bool:
        rule = self.rule
        for name in path.split("."):
            below = rule.fields.get(name.partition("[")[0])
            if below is None:
                return rule.stored and rule.include_all
            rule = below
        return rule.stored

    def nested(self, path: str) -> FieldRule | None:
        rule = self.rule.at(path)
        return None if rule is None else rule.nested


class InvertedIndex(SearchIndex):
    """An inverted index: paths with one analyzer each."""

    type = "inverted"

    def __init__(self, index_id: int, collection_id: int, spec: JSON) -> None:
        super().__init__(index_id, collection_id, spec)
        self.rules, self.rest = inverted_rules(spec)
        self.default = analyzer_key(spec["analyzer"], spec["features"])
        self._by_path = {path: below for rule in self.rules for path, below in by_path(rule.path, rule.rule)}

    @classmethod
    def normalise(cls, definition: JSON) -> JSON:
        return normalise_inverted(definition)

    @cached_property
    def attributes(self) -> frozenset[str] | None:
        return None if self.rest else frozenset(rule.steps[0][0] for rule in self.rules)

    def definition(self) -> JSON:
        return {"id": str(self.id), **self.spec}

    def analyzer_names(self) -> set[str]:
        rest = set() if self.rest is None else self.rest.analyzer_names()
        return rest.union(*(rule.rule.analyzer_names() for rule in self.rules))

    def collect(self, document: JSON, collector: Collector) -> None:
        for rule in self.rules:
            rule.collect(document, collector)
        if self.rest:
            listed = {rule.steps[0][0] for rule in self.rules}
            others = {name: value for name, value in document.items() if name not in listed}
            collector.attributes(others, "", self.rest)

    def resolve(self, path: str, asked: str) -> str:
        while path:
            rule = self._by_path.get(path)
            if rule is not None:
                return rule.analyzers[0]
            path = path.rpartition(".")[0]
        return self.default

    def existing(self, path: str) -> bool:
        return True

    def nested(self, path: str) -> FieldRule | None:
        rule = self._by_path.get(path)
        return None if rule is None else rule.nested


class View:
    """A view as the catalog knows it."""

    def __init__(self, view_id: int, database: str, name: str, type: str, properties: JSON) -> None:
        self.id = view_id
        self.database = database
        self.name = name
        self.type = type
        self.properties = properties

    def members(
        self, txn: Transaction, collections: Container[str] | None = None
    ) -> list[tuple[Collection, SearchIndex]]:
        """Collections of the view (only those named, when given) with the index that serves each."""
        if self.type == "search-alias":
            wanted = [(entry["collection"], entry["index"]) for entry in self.properties["indexes"]]
        else:
            wanted = [(name, None) for name in self.properties["links"]]
        found: list[tuple[Collection, SearchIndex]] = []
        for name, index_name in wanted:
            if collections is not None and name not in collections:
                continue
            collection = txn.collection(name)
            for index in collection.indexes:
                if not isinstance(index, SearchIndex):
                    continue
                mine = index.view_id == self.id if isinstance(index, ViewLink) else index.name == index_name
                if mine:
                    found.append((collection, index))
        return found

    def search(
        self,
        txn: Transaction,
        condition: Condition | None,
        *,
        scorers: Sequence[Scorer] = (),
        top: tuple[int, bool, int] | None = None,
        collections: Container[str] | None = None,
        offsets: bool = False,
    ) -> SearchResult:
        """Documents that match (all, without a condition) in index order, or the best of them: `top` is a `Top`.

        Rows that another transaction has deleted since `txn` began are not found.
        """
        return _search(txn, self.members(txn, collections), condition, scorers, top, offsets=offsets)

    def count(self, txn: Transaction, condition: Condition | None, collections: Container[str] | None = None) -> int:
        return len(self.search(txn, condition, collections=collections))


# -------------------------------------------------------------------------------------------------- searching


def _search(
    txn: Transaction,
    members: Sequence[tuple[Collection, SearchIndex]],
    condition: Condition | None,
    scorers: Sequence[Scorer],
    top: tuple[int, bool, int] | None,
    *,
    offsets: bool,
) -> SearchResult:
    condition = Every() if condition is None else condition
    best = None if top is None else Top(*top)
    ordered = sorted(members, key=lambda member: member[1].id)
    with ExitStack() as stack:
        for _, index in ordered:
            # always in order of ids, so that two searches cannot wait for each other
            stack.enter_context(index.store.postings.lock)
        sources = [index.store.source(txn, stack) for _, index in ordered]
        opened = list(zip(ordered, sources, strict=True))
        try:
            found = [index.store.snapshot(source) for (_, index), source in opened]
            return _run(txn, ordered, found, sources, condition, scorers, best, offsets=offsets)
        except StaleSnapshotError:
            found = [index.store.private(source) for (_, index), source in opened]
            return _run(txn, ordered, found, sources, condition, scorers, best, offsets=offsets)


def _run(
    txn: Transaction,
    members: Sequence[tuple[Collection, SearchIndex]],
    postings: Sequence[Postings],
    sources: Sequence[Transaction],
    condition: Condition,
    scorers: Sequence[Scorer],
    top: Top | None,
    *,
    offsets: bool,
) -> SearchResult:
    for entry, source in zip(postings, sources, strict=True):
        entry.reader = source
    try:
        searched = [
            index.member(txn, collection, entry) for (collection, index), entry in zip(members, postings, strict=True)
        ]
        statistics = Statistics(searched)
        evaluators = [Evaluator(member, statistics, scorers) for member in searched]
        names = [collection.name for collection, _ in members]
        result = _rows(evaluators, names, condition, scorers, top)
        if offsets:
            _keep_offsets(result, searched, sources, condition)
        return result
    finally:
        for entry in postings:
            entry.reader = None


def _rows(
    evaluators: Sequence[Evaluator], names: list[str], condition: Condition, scorers: Sequence[Scorer], top: Top | None
) -> SearchResult:
    ords: list[Ints] = []
    scores: list[list[Array]] = []
    pruned = top is not None and top.descending and len(scorers) == 1
    for evaluator in evaluators:
        best = evaluator.top(condition, top.k) if top is not None and pruned and top.k > 0 else None
        if best is not None:
            ords.append(best[0])
            scores.append([best[1]])
            continue
        hits = evaluator.hits(condition)
        ords.append(hits.ords)
        scores.append([np.zeros(len(hits.ords), np.float32) if score is None else score for score in hits.scores])
    source = np.repeat(np.arange(len(ords)), [len(part) for part in ords])
    rows = [evaluator.postings.rows.view[part] for evaluator, part in zip(evaluators, ords, strict=True)]
    rowids = np.concatenate(rows) if rows else NO_INTS
    found = [
        np.concatenate([part[at] for part in scores]).astype(np.float64) if scores else np.empty(0)
        for at in range(len(scorers))
    ]
    if top is not None:
        chosen = _order(found[top.scorer], top)
        source, rowids = source[chosen], rowids[chosen]
        found = [score[chosen] for score in found]
    return SearchResult(names, source, rowids, found)


def _order(scores: Array, top: Top) -> Array:
    """The k best positions, ties in index order."""
    keys = -scores if top.descending else scores
    candidates: Array = np.arange(len(keys))
    if len(keys) > 4 * top.k and top.k > 0:
        edge = np.partition(keys, top.k - 1)[top.k - 1]
        candidates = np.flatnonzero(keys <= edge)
    chosen: Array = candidates[np.argsort(keys[candidates], kind="stable")[: top.k]]
    return chosen


def _keep_offsets(
    result: SearchResult, members: Sequence[Member], sources: Sequence[Transaction], condition: Condition
) -> None:
    """Offsets are looked up when asked for; by row id, as ordinals change when segments are attached anew."""

    def find(row: int, paths: Sequence[str], limits: Sequence[int] | int) -> list[JSON]:
        which = int(result.source[row])
        postings = members[which].postings
        with postings.lock:
            postings.reader = sources[which]
            try:
                ordinal = postings.by_row.get(int(result.rowids[row]))
                return matched_offsets(members[which], condition, ordinal, paths, limits)
            finally:
                postings.reader = None

    result.find_offsets = find
