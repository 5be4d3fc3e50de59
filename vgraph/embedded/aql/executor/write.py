"""Steps that modify: INSERT, UPDATE, REPLACE, REMOVE, UPSERT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vgraph.embedded.errors import ArangoError

from ..plan import Options
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
        selector = self.key(row, rt)
        try:
            return collection.remove(
                key_of(selector), rev=revision_of(selector, self.target), whole=self.target.old is not None
            )
        except ArangoError as error:
            return error


@dataclass(slots=True)
class Upsert:
    """For each row in turn: what earlier rows wrote is found."""

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
        for batch in self.target.rows(source):
            kept: Batch = []
            for row in batch:
                rt.check()
                if self.target.finish(row, self.write(collection, row, rt), rt):
                    kept.append(row)
            if kept:
                yield kept

    def write(self, collection: Any, row: Row, rt: Run) -> Any:
        found = next(self.matches(row, rt), None)
        row[self.old] = row[self.found] = found
        try:
            document = (self.insert if found is None else self.update)(row, rt)
            if not isinstance(document, dict):
                raise ArangoError(1227)
            if found is None:
                return collection.insert(document)
            return write_over(collection, found["_key"], document, self)
        except ArangoError as error:
            return error

    def matches(self, row: Row, rt: Run) -> Iterator[Any]:
        return iter(self.find.results([row], rt)[0])
