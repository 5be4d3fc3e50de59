"""Documents of a collection inside a transaction: read, scan, fetch, insert, update, replace, remove, edges.

A document is one row (rowid, key, JSON body); the body holds the system attributes too, in the server's order, so that reading is decoding.
Everything that can refuse a write (keys, edges, schema, unique and vector indexes) is asked before the first row is written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import orjson

from vgraph.embedded import bulk, externals, keys
from vgraph.embedded.batches import marks, pad
from vgraph.embedded.bulk import without_nulls
from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.catalog import CollectionInfo, External
    from vgraph.embedded.engine import Transaction
    from vgraph.embedded.indexes import Index

Document = dict[str, Any]
Projection = frozenset[str] | None
Neighbours = Sequence[tuple[int, str]]
OverwriteMode = Literal["conflict", "ignore", "replace", "update"]

_IDENTITY: Final = frozenset(("_key", "_id"))
_EDGE: Final = 3
_BATCHES: Final = (32, 256, 2048)  # a scan reads little first, for the sake of LIMIT
_SMALL: Final = 60  # bytes counted for a key or an end of an edge that is kept
_LARGE: Final = 1 << 16  # bytes of a document; a scan takes fewer of such at a time
_BATCH_BYTES: Final = 1 << 25


@dataclass(slots=True)
class Written:
    """What a write did: `old`/`new` are whole documents (None where there is none), `ignored` when nothing was written."""

    id: str
    key: str
    rev: str
    rowid: int
    old_rev: str | None = None
    old: Document | None = None
    new: Document | None = None
    ignored: bool = False


class WriteOptions(NamedTuple):
    """Options of updates and replaces, also of inserts that may become one.

    whole: `old` and `new` of the answer carry vectors kept outside the JSON as well.
    """

    rev: str | None = None
    ignore_revs: bool = True
    keep_null: bool = True
    merge_objects: bool = True
    version_attribute: str | None = None
    whole: bool = True


class _Statements(NamedTuple):
    """The SQL of one collection."""

    get: str
    rowid: str
    insert: str
    update: str
    delete: str
    scan: str
    rowids: str
    newest: str


@lru_cache(maxsize=4096)
def _statements(collection_id: int) -> _Statements:
    table = f"d{collection_id}"
    return _Statements(
        get=f"SELECT id, body FROM {table} WHERE key = ?",
        rowid=f"SELECT id FROM {table} WHERE key = ?",
        insert=f"INSERT INTO {table} (key, body) VALUES (?, ?)",
        update=f"UPDATE {table} SET body = ? WHERE id = ?",
        delete=f"DELETE FROM {table} WHERE id = ?",
        scan=f"SELECT id, body FROM {table} WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
        rowids=f"SELECT id FROM {table} WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
        newest=f"SELECT max(id) FROM {table}",
    )


def create_table(txn: Transaction, collection_id: int) -> None:
    """The table of a new collection. Rows are never used again: logs of search and vector indexes name them."""
    columns = "id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, body BLOB NOT NULL"
    txn.sql(f"CREATE TABLE d{collection_id} ({columns})")


def _without_ends(document: Document) -> None:
    """Take out the names of an edge's ends: documents of other collections keep nothing under them."""
    document.pop("_from", None)
    document.pop("_to", None)


class Collection:
    """A collection bound to a transaction."""

    __slots__ = (
        "_edges",
        "_externals",
        "_prefix",
        "_rules",
        "_sql",
        "_whole_indexes",
        "id",
        "info",
        "name",
        "secondary",
        "txn",
        "type",
    )

    def __init__(self, txn: Transaction, info: CollectionInfo) -> None:
        self.txn = txn
        self.bind(info)

    def bind(self, info: CollectionInfo) -> None:
        """Take the collection as a new picture of the catalog shows it."""
        self.info = info
        self.id = info.id
        self.name = info.name
        self.type = info.type
        self._prefix = info.name + "/"
        self._sql = _statements(info.id)
        self._edges = info.type == _EDGE
        self.secondary: tuple[Index, ...] = info.indexes[1:]
        self._externals = info.externals
        self._whole_indexes = bool(info.externals) and any(_reads(index, info.externals) for index in self.secondary)
        self._rules = bool(info.properties.get("schema") or info.properties.get("computedValues"))

    @property
    def indexes(self) -> list[Index]:
        """Primary first, then edge, then the rest in order of creation."""
        return list(self.info.indexes)

    def external(self, attribute: str) -> External | None:
        """Where the lists of an attribute are kept, if outside the JSON."""
        return next((item for item in self._externals if item.attribute == attribute), None)

    # -- reading --------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """The number of documents, from the catalog's counter."""
        [stored] = self.txn.sql("SELECT documents FROM collections WHERE id = ?", (self.id,)).fetchone()
        return int(stored) + self.txn.count_delta(self.id)

    def get(self, key: str, projection: Projection = None) -> Document | None:
        """The document of a key."""
        row = self.txn.sql(self._sql.get, (key,)).fetchone()
        if row is None:
            return None
        document: Document = orjson.loads(row[1])
        if self._externals:
            self._join([row[0]], [document], projection)
        return document

    def get_raw(self, key: str) -> bytes | None:
        """The JSON of a document; fast where nothing stands outside the body."""
        if self._externals:
            document = self.get(key)
            return None if document is None else orjson.dumps(document)
        row = self.txn.sql(self._sql.get, (key,)).fetchone()
        return None if row is None else row[1]

    def rowid(self, key: str) -> int | None:
        """The row of a key."""
        row = self.txn.sql(self._sql.rowid, (key,)).fetchone()
        return None if row is None else row[0]

    def rowids_of(self, wanted: Sequence[str]) -> list[int | None]:
        """The rows of many keys, order kept."""
        found: dict[str, int] = {}
        for chunk in pad(wanted):
            found.update(self.txn.sql(f"SELECT key, id FROM d{self.id} WHERE key IN ({marks(len(chunk))})", chunk))
        return [found.get(key) for key in wanted]

    def keys_of(self, rowids: Sequence[int]) -> list[str | None]:
        """The keys of many rows, order kept."""
        found: dict[int, str] = {}
        for chunk in pad(rowids):
            found.update(self.txn.sql(f"SELECT id, key FROM d{self.id} WHERE id IN ({marks(len(chunk))})", chunk))
        return [found.get(rowid) for rowid in rowids]

    def get_many(self, wanted: Sequence[str], projection: Projection = None) -> list[Document | None]:
        """The documents of many keys in batched lookups, order kept, None where there is none."""
        return self._fetch_by("key", wanted, projection)

    fetch_keys = get_many

    def fetch(self, rowids: Sequence[int], projection: Projection = None) -> list[Document | None]:
        """The documents of many rows in batched lookups, order kept."""
        return self._fetch_by("id", rowids, projection)

    def _fetch_by(self, column: str, wanted: Sequence[Any], projection: Projection) -> list[Document | None]:
        if projection is not None and projection <= _IDENTITY:
            return self._identities(column, wanted)
        if self._externals and any(projection is None or item.attribute in projection for item in self._externals):
            return self._whole(column, wanted, projection)
        recent = self.txn.engine.recent
        return recent.read(self.txn, self.id, column, wanted, lambda names: self._read(column, names))

    def _read(self, column: str, wanted: Sequence[Any]) -> list[tuple[Any, Document, int]]:
        """(row or key, document, bytes) of those there are, in no order."""
        loads = orjson.loads
        found = []
        for chunk in pad(wanted):
            sql = f"SELECT {column}, body FROM d{self.id} WHERE {column} IN ({marks(len(chunk))})"
            found += [(name, loads(body), len(body)) for name, body in self.txn.sql(sql, chunk).fetchall()]
        return found

    def _whole(self, column: str, wanted: Sequence[Any], projection: Projection) -> list[Document | None]:
        """As `_fetch_by`, with the lists kept outside the JSON."""
        found: dict[Any, Document] = {}
        rowids: list[int] = []
        for chunk in pad(wanted):
            sql = f"SELECT id, {column}, body FROM d{self.id} WHERE {column} IN ({marks(len(chunk))})"
            for rowid, name, body in self.txn.sql(sql, chunk).fetchall():
                found[name] = orjson.loads(body)
                rowids.append(rowid)
        self._join(rowids, list(found.values()), projection)
        return [found.get(name) for name in wanted]

    def _identities(self, column: str, wanted: Sequence[Any]) -> list[Document | None]:
        """Documents of `_key` and `_id` only."""
        recent = self.txn.engine.recent
        return recent.read(self.txn, self.id, f"key by {column}", wanted, lambda names: self._keys(column, names))

    def _keys(self, column: str, wanted: Sequence[Any]) -> list[tuple[Any, Document, int]]:
        prefix = self._prefix
        found = []
        for chunk in pad(wanted):
            sql = f"SELECT {column}, key FROM d{self.id} WHERE {column} IN ({marks(len(chunk))})"
            rows = self.txn.sql(sql, chunk).fetchall()
            found += [(name, {"_key": key, "_id": prefix + key}, _SMALL) for name, key in rows]
        return found

    def scan(self, projection: Projection = None) -> Iterator[tuple[int, Document]]:
        """(rowid, document) in insertion order; documents inserted after the start are not seen."""
        loads = orjson.loads
        for rows in self._scan_batches(self._sql.scan):
            batch = [(rowid, loads(body)) for rowid, body in rows]
            if self._externals:
                self._join([row[0] for row in batch], [row[1] for row in batch], projection)
            yield from batch

    def rowids(self) -> Iterator[int]:
        """All rows in insertion order."""
        for rows in self._scan_batches(self._sql.rowids):
            for [rowid] in rows:
                yield rowid

    def rowids_by_key(
        self, low: str | None, high: str | None, *, strict_low: bool, strict_high: bool, reverse: bool
    ) -> Iterator[int]:
        """The rows whose keys lie between two keys (None = open), in order of the keys."""
        conditions, params = [], []
        if low is not None:
            conditions.append("key > ?" if strict_low else "key >= ?")
            params.append(low)
        if high is not None:
            conditions.append("key < ?" if strict_high else "key <= ?")
            params.append(high)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        cursor = self.txn.sql(f"SELECT id FROM d{self.id}{where} ORDER BY key{' DESC' if reverse else ''}", params)
        while rows := cursor.fetchmany(256) if self.txn.read_only else cursor.fetchall():
            for [rowid] in rows:
                yield rowid

    def _scan_batches(self, statement: str) -> Iterator[list[Any]]:
        [newest] = self.txn.sql(self._sql.newest).fetchone()
        if newest is None:
            return
        sizes = iter(_BATCHES)
        size = last = 0
        while last < newest:
            size = next(sizes, size)
            rows = self.txn.sql(statement, (last, newest, size)).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            yield rows
            body = rows[-1][-1]
            if not isinstance(body, int) and len(body) > _LARGE:
                sizes, size = iter(()), max(1, _BATCH_BYTES // len(body))

    def edges(self, direction: Literal["out", "in"], vertices: Sequence[str]) -> Iterator[tuple[str, int, str]]:
        """(vertex, edge rowid, other vertex) of all edges that leave or enter the vertices; per vertex in insertion order."""
        for vertex, found in zip(vertices, self.neighbours(direction, vertices), strict=True):
            for rowid, other in found:
                yield vertex, rowid, other

    def neighbours(self, direction: Literal["out", "in"], vertices: Sequence[str]) -> list[Neighbours]:
        """(edge rowid, other vertex) of the edges that leave or enter each vertex, in insertion order. A vertex is named once."""
        if not self._edges:
            raise ArangoError(1218, f"collection type invalid: {self.name} is not an edge collection")
        recent = self.txn.engine.recent
        return recent.read(self.txn, self.id, direction, vertices, lambda names: self._ends(direction, names))

    def _ends(self, direction: str, vertices: Sequence[str]) -> list[tuple[str, Neighbours, int]]:
        found: dict[str, list[tuple[int, str]]] = {vertex: [] for vertex in vertices}
        for chunk in pad(vertices):
            sql = f"SELECT v, id, o FROM e{direction}{self.id} WHERE v IN ({marks(len(chunk))}) ORDER BY v, id"
            for vertex, rowid, other in self.txn.sql(sql, chunk).fetchall():
                found[vertex].append((rowid, other))
        return [(vertex, tuple(ends), _SMALL * (1 + len(ends))) for vertex, ends in found.items()]

    def _join(self, rowids: Sequence[int], documents: Sequence[Document], projection: Projection) -> None:
        """Put the lists kept outside the JSON back in their places."""
        for item in self._externals:
            attribute = item.attribute
            if projection is not None and attribute not in projection:
                continue
            places = {row: doc for row, doc in zip(rowids, documents, strict=True) if doc.get(attribute, 0) is None}
            for rowid, values in externals.load(self.txn, item.table, list(places)).items():
                places[rowid][attribute] = values

    # -- writing --------------------------------------------------------------------------------------------------

    def notice(self, doc: Any) -> None:
        """Keep long lists of floats outside the JSON from the first document on that has one: embeddings, before any index is there."""
        if type(doc) is not dict:
            return
        for attribute, value in doc.items():
            if type(value) is list and externals.is_long(value) and self.external(attribute) is None:
                externals.declare(self.txn, self.info, attribute)

    def insert(
        self,
        doc: Document,
        *,
        overwrite_mode: OverwriteMode | None = None,
        rev: str | None = None,
        ignore_revs: bool = True,
        keep_null: bool = True,
        merge_objects: bool = True,
        version_attribute: str | None = None,
        whole: bool = True,
    ) -> Written:
        """Insert a document; an existing one of the same key is 1210, or what the overwrite mode says."""
        if type(doc) is not dict:
            raise ArangoError(1227)
        if overwrite_mode and overwrite_mode != "conflict" and "_key" in doc:
            row = self.txn.sql(self._sql.get, (keys.check_key(doc["_key"]),)).fetchone()
            if row is not None:
                options = WriteOptions(rev, ignore_revs, keep_null, merge_objects, version_attribute, whole)
                return self._overwrite(row, doc, overwrite_mode, options)
        return self._insert(doc if keep_null else without_nulls(doc))

    def insert_many(self, docs: Iterable[Any], **options: Any) -> list[Written | ArangoError]:
        """Insert many; a document that is refused gives its error in its place and does not hinder the others."""

        def insert(doc: Any) -> Written | ArangoError:
            try:
                return self.insert(doc, **options)
            except ArangoError as error:
                return error

        results: list[Written | ArangoError] = []
        source = iter(docs)
        while block := list(islice(source, bulk.LARGEST)):
            if self._rules or len(block) == 1:
                results += map(insert, block)
            else:
                results += bulk.insert(self, block, insert, keep_null=options.get("keep_null", True))
        return results

    def _overwrite(self, row: tuple[int, bytes], doc: Document, mode: str, options: WriteOptions) -> Written:
        if mode != "ignore":
            return self._modify(row, doc, options, replace=mode == "replace")
        old = orjson.loads(row[1])
        if options.whole and self._externals:
            self._join([row[0]], [old], None)
        return Written(old["_id"], old["_key"], old["_rev"], row[0], old=old, ignored=True)

    def _insert(self, doc: Document) -> Written:
        self.notice(doc)
        txn = self.txn
        key = keys.accept(txn, self.info, doc["_key"]) if "_key" in doc else keys.generate(txn, self.info)
        stored = self.with_system_attributes(key, doc)
        if self._rules:
            stored = self._apply_rules(stored, None, "insert")
        secondary = self.secondary
        if secondary:
            self._check(stored, secondary, None, key)
        body, packed = self._encode(stored)
        try:
            rowid: int = txn.sql(self._sql.insert, (key, body)).lastrowid  # type: ignore[assignment]
        except sqlite3.IntegrityError:
            raise self._duplicate_key(key) from None
        for index in secondary:
            index.insert(txn, rowid, stored)
        if packed:
            self._store_externals(rowid, packed)
        self.counted(1)
        return Written(stored["_id"], key, stored["_rev"], rowid, new=stored)

    def update(self, key: str, patch: Document, **options: Any) -> Written:
        """Merge `patch` into the document of a key; options as in WriteOptions. 1202, 1200, 1210."""
        return self._modify(self._row(key), patch, WriteOptions(**options), replace=False)

    def replace(self, key: str, doc: Document, **options: Any) -> Written:
        """Put `doc` in the place of the document of a key."""
        return self._modify(self._row(key), doc, WriteOptions(**options), replace=True)

    def remove(self, key: str, *, rev: str | None = None, whole: bool = True) -> Written:
        """Remove the document of a key; 1202, 1200 when `rev` is given and another is stored."""
        rowid, body = self._row(key)
        old: Document = orjson.loads(body)
        _check_rev(old, rev)
        if self._externals and (whole or self._whole_indexes):
            self._join([rowid], [old], None)
        txn = self.txn
        for index in self.secondary:
            index.remove(txn, rowid, old)
        txn.sql(self._sql.delete, (rowid,))
        for item in self._externals:
            externals.forget(txn, item.table, rowid)
        txn.next_revision()  # the collection is in another state
        self.counted(-1)
        return Written(old["_id"], key, old["_rev"], rowid, old=old)

    def truncate(self) -> None:
        """Remove every document."""
        count = self.count()
        for index in self.secondary:
            index.truncate(self.txn)
        self.txn.sql(f"DELETE FROM d{self.id}")
        for item in self._externals:
            self.txn.sql(f"DELETE FROM {item.table}")
        self.txn.next_revision()
        self.counted(-count)

    def _row(self, key: str) -> tuple[int, bytes]:
        row: tuple[int, bytes] | None = self.txn.sql(self._sql.get, (key,)).fetchone()
        if row is None:
            raise ArangoError(1202)
        return row

    def _modify(self, row: tuple[int, bytes], doc: Document, options: WriteOptions, *, replace: bool) -> Written:
        if type(doc) is not dict:
            raise ArangoError(1227)
        rowid, body = row
        old: Document = orjson.loads(body)
        _check_rev(old, options.rev)
        if not options.ignore_revs and "_rev" in doc:
            _check_rev(old, doc["_rev"])
        if options.version_attribute and _is_older(doc, old, options.version_attribute):
            return Written(old["_id"], old["_key"], old["_rev"], rowid, old["_rev"], old, old, ignored=True)
        self.notice(doc)
        outside = frozenset(item.attribute for item in self._externals if old.get(item.attribute, 0) is None)
        if self._externals and (options.whole or self._whole_indexes):
            self._join([rowid], [old], None)
        if replace:
            new = self.with_system_attributes(old["_key"], doc if options.keep_null else without_nulls(doc))
        else:
            new = self._merged(old, doc, options)
        if self._rules:
            new = self._apply_rules(new, old, "replace" if replace else "update")
        moved = {item.attribute for item in self._externals if replace or item.attribute in doc}
        self._write(rowid, old, new, moved, outside - moved)
        return Written(old["_id"], old["_key"], new["_rev"], rowid, old_rev=old["_rev"], old=old, new=new)

    def _write(self, rowid: int, old: Document, new: Document, moved: set[str], kept: frozenset[str]) -> None:
        """Replace the row and bring the indexes up to date that an attribute has changed for.

        `moved`: attributes with lists outside the JSON that are given anew; `kept`: those that stand there and stay as they are.
        """
        txn = self.txn
        concerned = [index for index in self.secondary if _concerns(index, old, new, moved)]
        if concerned:
            self._check(new, concerned, rowid, new["_key"])
        body, packed = self._encode(new, kept)
        txn.sql(self._sql.update, (body, rowid))
        for item in self._externals:
            if item.attribute in moved and item.attribute not in packed:
                externals.forget(txn, item.table, rowid)
        if packed:
            self._store_externals(rowid, packed)
        for index in concerned:
            index.update(txn, rowid, old, new)
        self.counted(0)

    def with_system_attributes(self, key: str, doc: Document) -> Document:
        """A new document with its system attributes first and those given by the caller overruled."""
        identity = self._prefix + key
        rev = self.txn.next_revision()
        if not self._edges:
            stored = {"_key": key, "_id": identity, "_rev": rev, **doc}
            stored["_rev"] = rev
            _without_ends(stored)
        else:
            start, end = doc.get("_from"), doc.get("_to")
            if not (keys.is_id(start) and keys.is_id(end)):
                raise ArangoError(1233)
            stored = {"_key": key, "_id": identity, "_from": start, "_to": end, "_rev": rev, **doc}
            stored["_rev"] = rev
        stored["_key"] = key
        stored["_id"] = identity
        return stored

    def ends_are_ids(self, docs: Sequence[Document]) -> bool:
        """Whether all edges have ends; other documents need none."""
        if not self._edges:
            return True
        return keys.are_ids([doc.get("_from") for doc in docs]) and keys.are_ids([doc.get("_to") for doc in docs])

    def all_with_system_attributes(self, names: Sequence[str], docs: Sequence[Document]) -> list[Document]:
        """`with_system_attributes` of many documents whose keys and ends are known to be right."""
        prefix, revs = self._prefix, self.txn.next_revisions(len(docs))
        rows = zip(names, revs, docs, strict=True)
        if self._edges:
            stored = [
                {"_key": key, "_id": prefix + key, "_from": doc["_from"], "_to": doc["_to"], "_rev": rev, **doc}
                for key, rev, doc in rows
            ]
        else:
            stored = [{"_key": key, "_id": prefix + key, "_rev": rev, **doc} for key, rev, doc in rows]
            for document in stored:
                if "_from" in document or "_to" in document:
                    _without_ends(document)
        if any("_rev" in doc or "_id" in doc for doc in docs):
            for document, key, rev in zip(stored, names, revs, strict=True):
                document["_id"], document["_rev"] = prefix + key, rev
        return stored

    def _merged(self, old: Document, patch: Document, options: WriteOptions) -> Document:
        new = merge(old, patch, keep_null=options.keep_null, merge_objects=options.merge_objects)
        new["_key"], new["_id"] = old["_key"], old["_id"]
        new["_rev"] = self.txn.next_revision()
        if not self._edges:
            _without_ends(new)
        elif not (keys.is_id(new.get("_from")) and keys.is_id(new.get("_to"))):
            raise ArangoError(1233)
        return new

    def _apply_rules(self, new: Document, old: Document | None, operation: str) -> Document:
        from vgraph.embedded import rules  # only collections with a schema or computed values pay for it

        return rules.apply(self, new, old, operation)

    def _check(self, doc: Document, indexes: Sequence[Index], rowid: int | None, key: str) -> None:
        """Ask the indexes whether they can take the document; a taken key is told before any other conflict."""
        try:
            for index in indexes:
                index.check(self.txn, doc, rowid)
        except ArangoError:
            if rowid is None and self.rowid(key) is not None:
                raise self._duplicate_key(key) from None
            raise

    def _duplicate_key(self, key: str) -> ArangoError:
        return ArangoError(
            1210, f"unique constraint violated - in index primary of type primary over '_key'; conflicting key: {key}"
        )

    def _encode(self, doc: Document, keep: frozenset[str] = frozenset()) -> tuple[bytes, dict[str, tuple[int, bytes]]]:
        """The JSON body, and what goes outside it. Attributes of `keep` stay outside as they are."""
        packed: dict[str, tuple[int, bytes]] = {}
        if self._externals:
            body = doc.copy()
            for item in self._externals:
                name = item.attribute
                if name in doc:
                    value = externals.pack(doc[name])
                    if value is not None:
                        body[name] = None
                        if name not in keep:
                            packed[name] = value
            doc = body
        try:
            return orjson.dumps(doc), packed
        except TypeError as error:
            raise ArangoError(10, f"bad parameter: {error}") from error

    def _store_externals(self, rowid: int, packed: dict[str, tuple[int, bytes]]) -> None:
        for item in self._externals:
            if item.attribute in packed:
                externals.store(self.txn, item.table, rowid, packed[item.attribute])

    def counted(self, delta: int) -> None:
        """Note that documents were added, removed (delta < 0) or changed (0)."""
        self.txn.counted(self.id, delta)
        if self.name == "_graphs":
            self.txn.bump_schema()


def merge(old: Document, patch: Document, *, keep_null: bool, merge_objects: bool) -> Document:
    """`patch` over `old`: old attributes keep their places, new ones follow; nulls remove when they are not kept."""
    new = dict(old)
    for name, value in patch.items():
        if value is None and not keep_null:
            new.pop(name, None)
        elif merge_objects and type(value) is dict and type(new.get(name)) is dict:
            new[name] = merge(new[name], value, keep_null=keep_null, merge_objects=True)
        else:
            new[name] = value if keep_null or type(value) is not dict else without_nulls(value)
    return new


def _check_rev(old: Document, rev: Any) -> None:
    if rev is not None and rev != old["_rev"]:
        fields = {"_id": old["_id"], "_key": old["_key"], "_rev": old["_rev"]}
        raise ArangoError(1200, "conflict, _rev values do not match", fields=fields)


def _is_older(doc: Document, old: Document, attribute: str) -> bool:
    """Whether a write is late: both sides have a version and the stored one is not below the given one."""
    given, stored = doc.get(attribute), old.get(attribute)
    return type(given) is int and type(stored) is int and given >= 0 and stored >= given


def _reads(index: Index, kept: Sequence[External]) -> bool:
    """Whether an index other than a vector index looks at attributes kept outside the JSON."""
    if index.type == "vector":
        return False
    attributes = index.attributes
    return attributes is None or any(item.attribute in attributes for item in kept)


def _concerns(index: Index, old: Document, new: Document, moved: set[str]) -> bool:
    attributes = index.attributes
    if attributes is None:
        return True
    return any(name in moved or not _same(old.get(name), new.get(name)) for name in attributes)


def _same(a: Any, b: Any) -> bool:
    """Equal also in type, which == does not tell of True and 1."""
    if type(a) is not type(b):
        return False
    if type(a) in (list, dict):
        return a == b and orjson.dumps(a) == orjson.dumps(b)
    return bool(a == b)
