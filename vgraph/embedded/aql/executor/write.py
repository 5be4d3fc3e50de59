"""Steps that modify: INSERT, UPDATE, REPLACE, REMOVE, UPSERT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vgraph.embedded.errors import ArangoError

from ..plan import Options
from .lookup import IndexScan, Probe
from .rows import Batch, Closure, Row, Rows, Run
from .steps import flatten

if TYPE_CHECKING:
    from .run import Program


@dataclass(frozen=True, slots=True)
class Target:
    """Where a modification goes and what becomes of its result.

    `materialise`: the plan reads the collection too, so that all rows must be there before the first write.
    """

    collection: str
    ignore_errors: bool
    ignore_revs: bool
    old: int | None
    new: int | None
    materialise: bool

    def rows(self, source: Rows) -> Rows:
        return iter([flatten(source)]) if self.materialise else source

    def finish(self, row: Row, written: Any, rt: Run) -> bool:
        """Put a result into its row; False when the row goes no further. `written` is an `ArangoError` or a `Written`."""
        if isinstance(written, ArangoError):
            if not self.ignore_errors:
                raise written
            rt.stats.writes_ignored += 1
            return self.old is None and self.new is None
        if written.ignored:
            rt.stats.writes_ignored += 1
        else:
            rt.stats.writes_executed += 1
        if self.old is not None:  # overwriteMode "ignore" shows neither
            row[self.old] = None if written.ignored and written.new is None else written.old
        if self.new is not None:
            row[self.new] = written.new
        return True


def insert_options(options: Options, *, whole: bool) -> dict[str, Any]:
    mode = options.get("overwriteMode")
    if mode is None and options.get("overwrite"):
        mode = "replace"
    chosen = {"overwrite_mode": None if mode == "conflict" else mode}
    return {**chosen, **update_options(options, whole=whole)}


def update_options(options: Options, *, whole: bool) -> dict[str, Any]:
    """`whole`: the old or new document is read later, with everything in it."""
    return {
        "whole": whole,
        "keep_null": bool(options.get("keepNull", True)),
        "merge_objects": bool(options.get("mergeObjects", True)),
        "version_attribute": options.get("versionAttribute"),
    }


@dataclass(slots=True)
class Insert:
    target: Target
    document: Closure
    options: dict[str, Any]

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        collection = rt.txn.collection(self.target.collection, write=True)
        for batch in self.target.rows(source):
            rt.check()
            documents = [self.document(row, rt) for row in batch]
            results = self.insert(collection, documents)
            kept = [row for row, written in zip(batch, results, strict=True) if self.target.finish(row, written, rt)]
            if kept:
                yield kept

    def insert(self, collection: Any, documents: Sequence[Any]) -> Sequence[Any]:
        results: Sequence[Any] = collection.insert_many(documents, **self.options)
        return results


def key_of(value: Any) -> str:
    """The key a modification is about: a string, or the `_key` of an object."""
    if isinstance(value, dict):
        value = value.get("_key")
        if value is None:
            raise ArangoError(1226)
    elif not isinstance(value, str):
        raise ArangoError(1227)
    if not isinstance(value, str):
        raise ArangoError(1221)
    return value


def revision_of(value: Any, target: Target) -> str | None:
    """The revision to insist on: only with ignoreRevs: false."""
    if target.ignore_revs or not isinstance(value, dict):
        return None
    revision = value.get("_rev")
    return revision if isinstance(revision, str) else None


@dataclass(slots=True)
class Update:
    """UPDATE and REPLACE."""

    target: Target
    key: Closure | None
    document: Closure
    replaces: bool
    options: dict[str, Any]

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        collection = rt.txn.collection(self.target.collection, write=True)
        for batch in self.target.rows(source):
            rt.check()
            kept = [row for row in batch if self.target.finish(row, self.write(collection, row, rt), rt)]
            if kept:
                yield kept

    def write(self, collection: Any, row: Row, rt: Run) -> Any:
        rt.check()
        document = self.document(row, rt)
        selector = self.key(row, rt) if self.key is not None else document
        try:
            if not isinstance(document, dict):
                raise ArangoError(1227)
            return write_over(collection, key_of(selector), document, self, revision_of(selector, self.target))
        except ArangoError as error:
            return error


def write_over(collection: Any, key: str, document: Any, step: Update | Upsert, revision: str | None = None) -> Any:
    write = collection.replace if step.replaces else collection.update
    return write(key, document, rev=revision, **step.options)


@dataclass(slots=True)
class Remove:
    target: Target
    key: Closure

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        collection = rt.txn.collection(self.target.collection, write=True)
        for batch in self.target.rows(source):
            rt.check()
            kept = [row for row in batch if self.target.finish(row, self.remove(collection, row, rt), rt)]
            if kept:
                yield kept

    def remove(self, collection: Any, row: Row, rt: Run) -> Any:
        rt.check()
        selector = self.key(row, rt)
        try:
            return collection.remove(
                key_of(selector), rev=revision_of(selector, self.target), whole=self.target.old is not None
            )
        except ArangoError as error:
            return error


@dataclass(slots=True)
class Upsert:
    """For each row in turn: what earlier rows wrote is found.

    Rows that are looked for by `_key` are looked up together, and new documents written together; `UpsertBatch` sees to
    it that nobody can tell.
    """

    target: Target
    find: Program
    found: int
    old: int
    insert: Closure
    update: Closure
    replaces: bool
    options: dict[str, Any]

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        collection = rt.txn.collection(self.target.collection, write=True)
        probe = self.probe()
        for batch in self.target.rows(source):
            rt.check()
            results = self.results(collection, probe, batch, rt)
            kept = [row for row in batch if self.target.finish(row, next(results), rt)]
            if kept:
                yield kept

    def results(self, collection: Any, probe: Probe | None, batch: Batch, rt: Run) -> Iterator[Any]:
        if probe is None or len(batch) == 1:
            return (self.write(collection, row, rt) for row in batch)
        return iter(UpsertBatch(self, collection, probe, rt).write(batch))

    def probe(self) -> Probe | None:
        """How the documents are looked for when that is by `_key` alone, and nothing else in the query reads the collection."""
        first = self.find.steps[0].operator
        if self.target.materialise or not self.find.together or not isinstance(first, IndexScan):
            return None
        [probe, *others] = first.probes
        return probe if not others and (probe.kind, probe.field) == ("primary", "_key") else None

    def write(self, collection: Any, row: Row, rt: Run) -> Any:
        rt.check()
        found = next(iter(self.find.results([row], rt)[0]), None)
        try:
            document = self.document(row, found, rt)
            return collection.insert(document) if found is None else self.change(collection, found, document)
        except ArangoError as error:
            return error

    def document(self, row: Row, found: Any, rt: Run) -> Any:
        """What to insert or to update with."""
        row[self.old] = row[self.found] = found
        document = (self.insert if found is None else self.update)(row, rt)
        if not isinstance(document, dict):
            raise ArangoError(1227)
        return document

    def change(self, collection: Any, found: Any, document: Any) -> Any:
        return write_over(collection, found["_key"], document, self)


class UpsertBatch:
    """A batch of rows: documents that exist are changed at once, new ones wait and are inserted together.

    They wait until a row looks for a key written before it, or until a change of another could meet a unique index first.
    """

    def __init__(self, step: Upsert, collection: Any, probe: Probe, rt: Run) -> None:
        self.step, self.collection, self.probe, self.rt = step, collection, probe, rt
        self.ordered = any(index.unique for index in collection.secondary)
        self.written: set[Any] = set()
        self.waiting: list[tuple[int, Any]] = []
        self.results: list[Any] = []

    def write(self, batch: Batch) -> list[Any]:
        self.results = [None] * len(batch)
        every = self.step.find.results(batch, self.rt)
        for number, (row, found) in enumerate(zip(batch, every, strict=True)):
            self.results[number] = self.take(number, row, next(iter(found), None))
        self.flush()
        return self.results

    def take(self, number: int, row: Row, found: Any) -> Any:
        """The result of a row, None when it waits."""
        self.rt.check()
        if not self.written.isdisjoint(self.probe.keys(self.collection, row, self.rt)):
            self.flush()
            result = self.step.write(self.collection, row, self.rt)
            self.note(getattr(result, "key", None))
            return result
        try:
            document = self.step.document(row, found, self.rt)
            if found is None:
                self.note(document.get("_key"))
                self.waiting.append((number, document))
                return None
            self.note(found["_key"])
            if self.ordered:
                self.flush()
            return self.step.change(self.collection, found, document)
        except ArangoError as error:
            return error

    def note(self, key: Any) -> None:
        """Remember a key that later rows find, or find changed."""
        if isinstance(key, str):
            self.written.add(key)

    def flush(self) -> None:
        """Insert what waits."""
        waiting, self.waiting = self.waiting, []
        written = self.collection.insert_many(document for _, document in waiting)
        for (number, _), result in zip(waiting, written, strict=True):
            self.results[number] = result
