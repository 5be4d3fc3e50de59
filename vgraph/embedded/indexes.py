"""Indexes of a collection: what they store, how they are kept up, how they are looked up.

Entries live in tables named after the index's number, ordered by `keycodec` in AQL's order. Definitions take and give
the shapes of the HTTP API (ArangoDB documentation, "HTTP interfaces for indexes"); inverted and vector indexes and the
links of views come from search and vectors.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from vgraph.embedded import keycodec
from vgraph.embedded.batches import marks, pad
from vgraph.embedded.columns import OPEN, Columns, Interval, Ints
from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.bulk import Block
    from vgraph.embedded.documents import Collection
    from vgraph.embedded.engine import Transaction

Document = dict[str, Any]

_EXPANSION: Final = "[*]"
_MAX_FIELDS: Final = 32
_KEYS: Final = "keys"  # of a field, in the memory of a block: indexes have fields in common
_SAMPLE: Final = 1000
_SAMPLE_SECONDS: Final = 10.0


class Index:
    """An index as the catalog knows it. Instances live as long as the catalog entry and are shared by transactions.

    Subclasses keep their data in tables named after `self.id` and caches on themselves.
    """

    type: ClassVar[str]

    def __init__(self, index_id: int, collection_id: int, spec: dict[str, Any]) -> None:
        self.id = index_id
        self.collection_id = collection_id
        self.spec = spec  # normalised by `normalise`, as stored in the catalog
        self.name: str = spec["name"]
        self.fields: list[Any] = spec["fields"]
        self.unique: bool = spec.get("unique", False)
        self.sparse: bool = spec.get("sparse", False)

    @property
    def hidden(self) -> bool:
        """Whether the HTTP API leaves the index out of its lists: the links of views."""
        return self.spec.get("type") == "arangosearch"

    @classmethod
    def normalise(cls, definition: dict[str, Any]) -> dict[str, Any]:
        """The definition with every default filled in; ArangoError 10 (or the server's number) when it is wrong."""
        raise NotImplementedError

    @cached_property
    def attributes(self) -> frozenset[str] | None:
        """Top-level attributes whose change concerns the index; None = any change does."""
        return frozenset(_top(field) for field in self.fields)

    def definition(self) -> dict[str, Any]:
        """The HTTP shape without the collection prefix of `id`."""
        return {**self.spec, "id": str(self.id)}

    def same_as(self, spec: dict[str, Any]) -> bool:
        """Whether a normalised definition asks for this very index."""
        ignored = ("name", "estimates", "cacheEnabled")
        own, other = ({k: v for k, v in item.items() if k not in ignored} for item in (self.spec, spec))
        return own == other

    def create(self, txn: Transaction) -> None:
        """Create the tables."""

    def build(self, txn: Transaction, collection: Collection) -> None:
        """Index what the collection already holds."""
        for rowid, doc in collection.scan():
            self.check(txn, doc, rowid)
            self.insert(txn, rowid, doc)

    def drop(self, txn: Transaction) -> None:
        """Drop the tables."""

    def truncate(self, txn: Transaction) -> None:
        """Forget everything."""

    def check(self, txn: Transaction, doc: Document, rowid: int | None) -> None:
        """Refuse a document before anything is written (1210, 10, 17, …); rowid is its own row when it exists."""

    def insert(self, txn: Transaction, rowid: int, doc: Document) -> None:
        """Add a document."""

    def refused(self, txn: Transaction, block: Block) -> set[int]:
        """Positions of new documents that `check` would refuse, or might if those before them are written."""
        if type(self).check is Index.check:
            return set()
        if self.unique:
            return set(range(len(block.documents)))
        return {position for position, doc in enumerate(block.documents) if not self._takes(txn, doc)}

    def _takes(self, txn: Transaction, doc: Document) -> bool:
        try:
            self.check(txn, doc, None)
        except ArangoError:
            return False
        return True

    def insert_many(self, txn: Transaction, block: Block) -> None:
        """Add a block of documents."""
        for rowid, doc in zip(block.rowids, block.documents, strict=True):
            self.insert(txn, rowid, doc)

    def remove(self, txn: Transaction, rowid: int, doc: Document) -> None:
        """Take a document out."""

    def update(self, txn: Transaction, rowid: int, old: Document, new: Document) -> None:
        """Called only when an attribute in `attributes` changed; remove and insert unless overridden."""
        self.remove(txn, rowid, old)
        self.insert(txn, rowid, new)

    def selectivity(self, txn: Transaction) -> float:
        """Distinct keys / entries, in (0, 1]; an estimate."""
        return 1.0


class PrimaryIndex(Index):
    """The document table's own key; nothing to keep up."""

    type = "primary"

    def definition(self) -> dict[str, Any]:
        return {
            "fields": ["_key"],
            "id": "0",
            "name": "primary",
            "selectivityEstimate": 1,
            "sparse": False,
            "type": "primary",
            "unique": True,
        }


class EdgeIndex(Index):
    """Both ends of every edge in covering tables: (vertex, edge row, other vertex)."""

    type = "edge"

    def definition(self) -> dict[str, Any]:
        return {
            "fields": ["_from", "_to"],
            "id": "2",
            "name": "edge",
            "selectivityEstimate": 1,
            "sparse": False,
            "type": "edge",
            "unique": False,
        }

    def create(self, txn: Transaction) -> None:
        for direction in ("out", "in"):
            txn.sql(
                f"CREATE TABLE e{direction}{self.collection_id} "
                "(v TEXT NOT NULL, id INTEGER NOT NULL, o TEXT NOT NULL, PRIMARY KEY (v, id)) WITHOUT ROWID"
            )

    def drop(self, txn: Transaction) -> None:
        for direction in ("out", "in"):
            txn.sql(f"DROP TABLE e{direction}{self.collection_id}")

    def truncate(self, txn: Transaction) -> None:
        for direction in ("out", "in"):
            txn.sql(f"DELETE FROM e{direction}{self.collection_id}")

    def insert(self, txn: Transaction, rowid: int, doc: Document) -> None:
        start, end = doc["_from"], doc["_to"]
        txn.sql(f"INSERT INTO eout{self.collection_id} VALUES (?, ?, ?)", (start, rowid, end))
        txn.sql(f"INSERT INTO ein{self.collection_id} VALUES (?, ?, ?)", (end, rowid, start))

    def insert_many(self, txn: Transaction, block: Block) -> None:
        starts, ends = block.column("_from"), block.column("_to")
        out, back = zip(starts, block.rowids, ends, strict=True), zip(ends, block.rowids, starts, strict=True)
        txn.insert_rows(f"eout{self.collection_id}", sorted(out))
        txn.insert_rows(f"ein{self.collection_id}", sorted(back))

    def remove(self, txn: Transaction, rowid: int, doc: Document) -> None:
        txn.sql(f"DELETE FROM eout{self.collection_id} WHERE v = ? AND id = ?", (doc["_from"], rowid))
        txn.sql(f"DELETE FROM ein{self.collection_id} WHERE v = ? AND id = ?", (doc["_to"], rowid))

    def selectivity(self, txn: Transaction) -> float:
        [distinct, total] = txn.sql(
            f"SELECT count(DISTINCT v), count(*) FROM (SELECT v FROM eout{self.collection_id} LIMIT {_SAMPLE})"
        ).fetchone()
        return distinct / total if total else 1.0


class PersistentIndex(Index):
    """A sorted index over one or more attribute paths: unique, sparse, over array elements (`tags[*]`)."""

    type = "persistent"

    def __init__(self, index_id: int, collection_id: int, spec: dict[str, Any]) -> None:
        super().__init__(index_id, collection_id, spec)
        self.deduplicate: bool = spec.get("deduplicate", True)
        self.expands: bool = any(_EXPANSION in field for field in self.fields)
        self._table = f"i{index_id}"
        self._insert = f"INSERT INTO {self._table} VALUES (?, ?)"
        self._readers = [_reader(field) for field in self.fields]
        self._sampled: tuple[float, float] | None = None
        self._columns = Columns(self._table, collection_id, len(self.fields))

    @classmethod
    def normalise(cls, definition: dict[str, Any]) -> dict[str, Any]:
        fields = check_fields(definition, expansion=True)
        spec = {
            "type": definition["type"],
            "fields": fields,
            "unique": bool(definition.get("unique", False)),
            "sparse": bool(definition.get("sparse", False)),
            "deduplicate": bool(definition.get("deduplicate", True)),
            "estimates": bool(definition.get("estimates", True)),
            "cacheEnabled": bool(definition.get("cacheEnabled", False)),
        }
        if definition.get("storedValues"):
            spec["storedValues"] = _check_stored_values(definition["storedValues"], fields)
        return spec

    def definition(self) -> dict[str, Any]:
        shape = {key: self.spec[key] for key in sorted(self.spec) if key != "estimates"}
        shape |= {"id": str(self.id), "estimates": self.spec["estimates"], "selectivityEstimate": 1}
        if not self.spec["estimates"] and not self.unique:
            del shape["selectivityEstimate"]
        return dict(sorted(shape.items()))

    def create(self, txn: Transaction) -> None:
        txn.sql(f"CREATE TABLE {self._table} (k BLOB NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (k, id)) WITHOUT ROWID")

    def build(self, txn: Transaction, collection: Collection) -> None:
        needed = self.attributes
        rows = [(key, rowid) for rowid, doc in collection.scan(needed) for key in self.keys(doc)]
        rows.sort()
        if self.unique:
            for (key, _), (following, rowid) in itertools.pairwise(rows):
                if key == following:
                    raise self._violation(txn, rowid)
        txn.insert_rows(self._table, rows)

    def drop(self, txn: Transaction) -> None:
        txn.sql(f"DROP TABLE {self._table}")

    def truncate(self, txn: Transaction) -> None:
        txn.sql(f"DELETE FROM {self._table}")

    # -- entries --------------------------------------------------------------------------------------------------

    def keys(self, doc: Document) -> list[bytes]:
        """The entries of a document: one, none (sparse) or, over array elements, many."""
        if self.expands:
            return self._expanded_keys(doc)
        values = [read(doc) for read in self._readers]
        if self.sparse and None in values:
            return []
        return [keycodec.encode(values)]

    def _expanded_keys(self, doc: Document) -> list[bytes]:
        choices = [
            _elements(doc, field) if _EXPANSION in field else [read(doc)]
            for field, read in zip(self.fields, self._readers, strict=True)
        ]
        keys = [
            keycodec.encode(values) for values in itertools.product(*choices) if not self.sparse or None not in values
        ]
        return list(dict.fromkeys(keys)) if self.deduplicate or not self.unique else keys

    def check(self, txn: Transaction, doc: Document, rowid: int | None) -> None:
        if not self.unique:
            return
        keys = self.keys(doc)
        for key in keys:
            found = txn.sql(f"SELECT id FROM {self._table} WHERE k = ? LIMIT 1", (key,)).fetchone()
            if found is not None and found[0] != rowid:
                raise self._violation(txn, found[0])
        if len(set(keys)) < len(keys):
            raise ArangoError(1210, f"{self._violated()}; conflicting key: {doc.get('_key')}")

    def insert(self, txn: Transaction, rowid: int, doc: Document) -> None:
        statement = self._insert
        for key in self.keys(doc):
            txn.sql(statement, (key, rowid))

    def refused(self, txn: Transaction, block: Block) -> set[int]:
        if not self.unique:
            return set()
        every = self._keys_of(block)
        wanted = [key for keys in every for key in keys]
        seen = set(self._taken(txn, wanted))
        refused: set[int] = set()
        for position, keys in enumerate(every):
            if len(set(keys)) < len(keys) or not seen.isdisjoint(keys):
                refused.add(position)
            seen.update(keys)
        return refused

    def _taken(self, txn: Transaction, keys: Sequence[bytes]) -> Iterator[bytes]:
        for chunk in pad(keys):
            for [key] in txn.sql(f"SELECT k FROM {self._table} WHERE k IN ({marks(len(chunk))})", chunk):
                yield key

    def insert_many(self, txn: Transaction, block: Block) -> None:
        every = zip(self._keys_of(block), block.rowids, strict=True)
        txn.insert_rows(self._table, sorted((key, rowid) for keys, rowid in every for key in keys))

    def _keys_of(self, block: Block) -> list[list[bytes]]:
        """`keys` of every document, worked out once for a block."""
        found: list[list[bytes]] = block.once(self, lambda: self._compute_keys(block))
        return found

    def _compute_keys(self, block: Block) -> list[list[bytes]]:
        if self.expands:
            return [self.keys(doc) for doc in block.documents]
        columns = [
            [read(doc) for doc in block.documents] if "." in field else block.column(field)
            for field, read in zip(self.fields, self._readers, strict=True)
        ]
        if self.sparse and any(None in column for column in columns):
            return [self.keys(doc) for doc in block.documents]
        encoded = [
            block.once((_KEYS, field), partial(keycodec.encode_column, column))
            for field, column in zip(self.fields, columns, strict=True)
        ]
        return [[key] for key in keycodec.joined(encoded)]

    def remove(self, txn: Transaction, rowid: int, doc: Document) -> None:
        for key in self.keys(doc):
            txn.sql(f"DELETE FROM {self._table} WHERE k = ? AND id = ?", (key, rowid))

    def update(self, txn: Transaction, rowid: int, old: Document, new: Document) -> None:
        before, after = self.keys(old), self.keys(new)
        if before == after:
            return
        for key in before:
            txn.sql(f"DELETE FROM {self._table} WHERE k = ? AND id = ?", (key, rowid))
        for key in after:
            txn.sql(f"INSERT INTO {self._table} VALUES (?, ?)", (key, rowid))

    def _violation(self, txn: Transaction, rowid: int) -> ArangoError:
        [key] = txn.sql(f"SELECT key FROM d{self.collection_id} WHERE id = ?", (rowid,)).fetchone()
        return ArangoError(1210, f"{self._violated()}; conflicting key: {key}")

    def _violated(self) -> str:
        over = ", ".join(self.fields)
        return f"unique constraint violated - in index {self.name} of type {self.spec['type']} over '{over}'"

    # -- lookup ---------------------------------------------------------------------------------------------------

    def lookup(
        self,
        txn: Transaction,
        prefix: Sequence[Any] = (),
        low: Any = ...,
        high: Any = ...,
        include_low: bool = True,
        include_high: bool = True,
        reverse: bool = False,
    ) -> Iterator[int]:
        """Rowids in index order: the first len(prefix) fields equal `prefix`, the next within low..high (... = open)."""
        start, end = self._range(prefix, low, high, include_low, include_high)
        order = "k DESC, id DESC" if reverse else "k, id"
        cursor = txn.sql(f"SELECT id FROM {self._table} WHERE k >= ? AND k < ? ORDER BY {order}", (start, end))
        if not txn.read_only:  # the caller may write to the index while it reads our answer
            for [rowid] in cursor.fetchall():
                yield rowid
            return
        while rows := cursor.fetchmany(256):
            for [rowid] in rows:
                yield rowid

    def lookup_array(
        self,
        txn: Transaction,
        prefix: Sequence[Any] = (),
        low: Any = ...,
        high: Any = ...,
        include_low: bool = True,
        include_high: bool = True,
    ) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The rowids of `lookup` as an array, for large candidate sets: one text out of SQLite instead of many rows."""
        bounds = self._range(prefix, low, high, include_low, include_high)
        [text] = txn.sql(f"SELECT group_concat(id) FROM {self._table} WHERE k >= ? AND k < ?", bounds).fetchone()
        return np.fromstring(text or "", dtype=np.int64, sep=",")

    def candidates(self, txn: Transaction, prefix: Sequence[Any], intervals: Sequence[Interval]) -> Ints:
        """The rowids whose first fields equal `prefix` and whose next one lies within the first interval.

        The other intervals, of the fields that follow, may be heeded: they only save the caller work.
        """
        found = None if self.expands or self.sparse else self._columns.find(txn, prefix, intervals)
        if found is None:
            low, with_low, high, with_high = intervals[0] if intervals else OPEN
            found = self.lookup_array(txn, prefix, low, high, with_low, with_high)
            if not self.expands and not self.sparse:
                self._columns.note(txn, len(found))
        return found

    def count(
        self,
        txn: Transaction,
        prefix: Sequence[Any] = (),
        low: Any = ...,
        high: Any = ...,
        include_low: bool = True,
        include_high: bool = True,
    ) -> int:
        """How many entries `lookup` would give."""
        bounds = self._range(prefix, low, high, include_low, include_high)
        [count] = txn.sql(f"SELECT count(*) FROM {self._table} WHERE k >= ? AND k < ?", bounds).fetchone()
        return int(count)

    def _range(
        self, prefix: Sequence[Any], low: Any, high: Any, include_low: bool, include_high: bool
    ) -> tuple[bytes, bytes]:
        base = keycodec.encode(prefix)
        start, end = base, base + keycodec.HIGH
        if low is not ...:
            start = base + keycodec.encode_value(low)
            if not include_low:
                start += keycodec.HIGH
        if high is not ...:
            end = base + keycodec.encode_value(high)
            if include_high:
                end += keycodec.HIGH
        return start, end

    def lookup_many(self, txn: Transaction, prefixes: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int]]:
        """(position of the prefix, rowid), in order of position, batched when the prefixes are whole keys."""
        if not prefixes or len(prefixes[0]) < len(self.fields):
            for position, prefix in enumerate(prefixes):
                for rowid in self.lookup(txn, prefix):
                    yield position, rowid
            return
        keys = [keycodec.encode(prefix) for prefix in prefixes]
        found: dict[bytes, list[int]] = {}
        for chunk in pad(list(dict.fromkeys(keys))):
            sql = f"SELECT k, id FROM {self._table} WHERE k IN ({marks(len(chunk))}) ORDER BY k, id"
            for key, rowid in txn.sql(sql, chunk).fetchall():
                found.setdefault(key, []).append(rowid)
        for position, key in enumerate(keys):
            for rowid in found.get(key, ()):
                yield position, rowid

    def groups(self, txn: Transaction, n: int) -> Iterator[tuple[tuple[Any, ...], int]]:
        """((values of the first n fields), count) in index order; not for sparse or array indexes."""
        if n == len(self.fields):
            rows = txn.sql(f"SELECT k, count(*) FROM {self._table} GROUP BY k ORDER BY k").fetchall()
            for key, count in rows:
                yield tuple(keycodec.decode(key)), count
            return
        start = b""
        while row := txn.sql(f"SELECT k FROM {self._table} WHERE k >= ? ORDER BY k LIMIT 1", (start,)).fetchone():
            values = keycodec.decode(row[0])[:n]
            yield tuple(values), self.count(txn, values)
            start = keycodec.encode(values) + keycodec.HIGH

    def first_values(self, txn: Transaction, most: int) -> list[Any] | None:
        """The distinct values of the first field, one seek each; None when there are more than `most`."""
        values: list[Any] = []
        start = b""
        while row := txn.sql(f"SELECT k FROM {self._table} WHERE k >= ? ORDER BY k LIMIT 1", (start,)).fetchone():
            if len(values) == most:
                return None
            values.append(keycodec.decode(row[0])[0])
            start = keycodec.encode(values[-1:]) + keycodec.HIGH
        return values

    def selectivity(self, txn: Transaction) -> float:
        if self.unique:
            return 1.0
        now = time.monotonic()
        if self._sampled is None or now - self._sampled[0] > _SAMPLE_SECONDS:
            [distinct, total] = txn.sql(
                f"SELECT count(DISTINCT k), count(*) FROM (SELECT k FROM {self._table} LIMIT {_SAMPLE})"
            ).fetchone()
            self._sampled = now, (distinct / total if total else 1.0)
        return self._sampled[1]


class TtlIndex(Index):
    """When documents may go: a number of seconds since 1970 or an ISO date in one attribute, plus `expireAfter` seconds."""

    type = "ttl"

    def __init__(self, index_id: int, collection_id: int, spec: dict[str, Any]) -> None:
        super().__init__(index_id, collection_id, spec)
        self._table = f"i{index_id}"
        self._read = _reader(self.fields[0])

    @classmethod
    def normalise(cls, definition: dict[str, Any]) -> dict[str, Any]:
        fields = check_fields(definition, most=1)
        after = definition.get("expireAfter")
        if isinstance(after, bool) or not isinstance(after, int | float) or after < 0:
            raise ArangoError(10, "expireAfter attribute must be a non-negative number")
        return {
            "type": "ttl",
            "fields": fields,
            "expireAfter": after,
            "sparse": True,
            "unique": False,
            "estimates": False,
        }

    def definition(self) -> dict[str, Any]:
        return dict(sorted({**self.spec, "id": str(self.id)}.items()))

    def same_as(self, spec: dict[str, Any]) -> bool:
        return all(spec.get(name) == self.spec[name] for name in ("type", "fields", "expireAfter"))

    def create(self, txn: Transaction) -> None:
        txn.sql(f"CREATE TABLE {self._table} (t REAL NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (t, id)) WITHOUT ROWID")

    def drop(self, txn: Transaction) -> None:
        txn.sql(f"DROP TABLE {self._table}")

    def truncate(self, txn: Transaction) -> None:
        txn.sql(f"DELETE FROM {self._table}")

    def insert(self, txn: Transaction, rowid: int, doc: Document) -> None:
        stamp = _timestamp(self._read(doc))
        if stamp is not None:
            txn.sql(f"INSERT INTO {self._table} VALUES (?, ?)", (stamp, rowid))

    def remove(self, txn: Transaction, rowid: int, doc: Document) -> None:
        stamp = _timestamp(self._read(doc))
        if stamp is not None:
            txn.sql(f"DELETE FROM {self._table} WHERE t = ? AND id = ?", (stamp, rowid))

    def expired(self, txn: Transaction, now: float, limit: int) -> list[int]:
        """Rows whose time has passed, oldest first."""
        latest = now - self.spec["expireAfter"]
        rows = txn.sql(f"SELECT id FROM {self._table} WHERE t <= ? ORDER BY t LIMIT ?", (latest, limit)).fetchall()
        return [rowid for [rowid] in rows]


class MdiIndex(Index):
    """Several numeric attributes as columns of one table, after optional prefix fields: boxes and interval overlaps."""

    type = "mdi"

    def __init__(self, index_id: int, collection_id: int, spec: dict[str, Any]) -> None:
        super().__init__(index_id, collection_id, spec)
        self.prefix_fields: list[str] = spec.get("prefixFields", [])
        self._table = f"i{index_id}"
        self._readers = [_reader(field) for field in self.fields]
        self._prefix_readers = [_reader(field) for field in self.prefix_fields]
        self._columns = [f"f{number}" for number in range(len(self.fields))]

    @classmethod
    def normalise(cls, definition: dict[str, Any]) -> dict[str, Any]:
        if definition.get("fieldValueTypes") != "double":
            raise ArangoError(10, "`fieldValueTypes` has to be `double`")
        unique, sparse = bool(definition.get("unique", False)), bool(definition.get("sparse", False))
        spec = {
            "type": definition["type"],
            "fields": check_fields(definition),
            "fieldValueTypes": "double",
            "unique": unique,
            "sparse": sparse,
            "estimates": definition["type"] == "mdi-prefixed",
        }
        if definition["type"] == "mdi-prefixed":
            spec["prefixFields"] = check_fields(definition, name="prefixFields")
        if definition.get("storedValues"):
            spec["storedValues"] = _check_stored_values(definition["storedValues"], spec["fields"])
        return spec

    @cached_property
    def attributes(self) -> frozenset[str] | None:
        return frozenset(_top(field) for field in (*self.prefix_fields, *self.fields))

    def definition(self) -> dict[str, Any]:
        shape = {**self.spec, "id": str(self.id)}
        if self.spec["estimates"] or self.unique:
            shape["selectivityEstimate"] = 1
        return dict(sorted(shape.items()))

    def create(self, txn: Transaction) -> None:
        columns = ", ".join(f"{column} REAL NOT NULL" for column in self._columns)
        order = ", ".join(("p", *self._columns, "id"))
        txn.sql(
            f"CREATE TABLE {self._table} (p BLOB NOT NULL, {columns}, id INTEGER NOT NULL, PRIMARY KEY ({order})) WITHOUT ROWID"
        )
        txn.sql(f"CREATE INDEX {self._table}_id ON {self._table} (id)")

    def drop(self, txn: Transaction) -> None:
        txn.sql(f"DROP TABLE {self._table}")

    def truncate(self, txn: Transaction) -> None:
        txn.sql(f"DELETE FROM {self._table}")

    def check(self, txn: Transaction, doc: Document, rowid: int | None) -> None:
        values = [read(doc) for read in self._readers]
        if self.sparse and None in values:
            return
        if not all(type(value) in (int, float) for value in values):
            raise ArangoError(1561)
        if self.unique:
            same = " AND ".join(("p = ?", *(f"{column} = ?" for column in self._columns)))
            found = txn.sql(
                f"SELECT id FROM {self._table} WHERE {same} LIMIT 1", (self._prefix(doc), *values)
            ).fetchone()
            if found is not None and found[0] != rowid:
                [key] = txn.sql(f"SELECT key FROM d{self.collection_id} WHERE id = ?", found).fetchone()
                over = ", ".join(self.fields)
                raise ArangoError(
                    1210,
                    f"unique constraint violated - in index {self.name} of type {self.spec['type']} over '{over}'; "
                    f"conflicting key: {key}",
                )

    def insert(self, txn: Transaction, rowid: int, doc: Document) -> None:
        values = [read(doc) for read in self._readers]
        if None not in values:
            txn.sql(f"INSERT INTO {self._table} VALUES ({marks(len(values) + 2)})", (self._prefix(doc), *values, rowid))

    def remove(self, txn: Transaction, rowid: int, doc: Document) -> None:
        txn.sql(f"DELETE FROM {self._table} WHERE id = ?", (rowid,))

    def _prefix(self, doc: Document) -> bytes:
        return keycodec.encode([read(doc) for read in self._prefix_readers])

    def lookup_box(
        self, txn: Transaction, bounds: Sequence[tuple[float | None, float | None]], prefix: Sequence[Any] = ()
    ) -> Iterator[int]:
        """Rows inside a box, one (low, high) per field, both inclusive, None = open; all prefix fields must be given."""
        conditions, params = ["p = ?"], [keycodec.encode(prefix)]
        for column, (low, high) in zip(self._columns, bounds, strict=True):
            for operator, bound in ((">=", low), ("<=", high)):
                if bound is not None:
                    conditions.append(f"{column} {operator} ?")
                    params.append(bound)  # type: ignore[arg-type]
        rows = txn.sql(f"SELECT id FROM {self._table} WHERE {' AND '.join(conditions)}", params).fetchall()
        for [rowid] in rows:
            yield rowid


class GeoIndex(Index):
    """Accepted and described; geo functions are evaluated on the documents themselves."""

    type = "geo"

    @classmethod
    def normalise(cls, definition: dict[str, Any]) -> dict[str, Any]:
        fields = check_fields(definition, most=2)
        return {
            "type": "geo",
            "fields": fields,
            "geoJson": bool(definition.get("geoJson", False)) and len(fields) == 1,
            "sparse": True,
            "unique": False,
            "bestIndexedLevel": 17,
            "worstIndexedLevel": 4,
            "maxNumCoverCells": 8,
            "legacyPolygons": bool(definition.get("legacyPolygons", False)),
        }

    def definition(self) -> dict[str, Any]:
        return dict(sorted({**self.spec, "id": str(self.id)}.items()))


class FulltextIndex(Index):
    """Described, as the deprecated type it is; FULLTEXT() reads the documents."""

    type = "fulltext"

    @classmethod
    def normalise(cls, definition: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "fulltext",
            "fields": check_fields(definition, most=1),
            "minLength": _min_length(definition.get("minLength", 2)),
            "sparse": True,
            "unique": False,
        }

    def definition(self) -> dict[str, Any]:
        return dict(sorted({**self.spec, "id": str(self.id)}.items()))


# -- kinds of index -------------------------------------------------------------------------------------------------

_KINDS: Final[dict[str, type[Index]]] = {
    "primary": PrimaryIndex,
    "edge": EdgeIndex,
    "persistent": PersistentIndex,
    "hash": PersistentIndex,
    "skiplist": PersistentIndex,
    "ttl": TtlIndex,
    "mdi": MdiIndex,
    "zkd": MdiIndex,
    "mdi-prefixed": MdiIndex,
    "geo": GeoIndex,
    "fulltext": FulltextIndex,
}
BUILT_IN: Final = ("primary", "edge")


def kind_of(name: Any) -> type[Index]:
    """The class behind an index type; 10."""
    if name in ("inverted", "arangosearch"):
        from vgraph.embedded import search

        return search.InvertedIndex if name == "inverted" else search.ViewLink
    if name == "vector":
        from vgraph.embedded import vectors

        return vectors.VectorIndex
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ArangoError(10, "invalid index type")
    return kind


def make_index(index_id: int, collection_id: int, spec: dict[str, Any]) -> Index:
    """The index of a catalog row."""
    return kind_of(spec["type"])(index_id, collection_id, spec)


# -- attribute paths ------------------------------------------------------------------------------------------------


def check_fields(
    definition: dict[str, Any], *, name: str = "fields", most: int = _MAX_FIELDS, expansion: bool = False
) -> list[str]:
    """The attribute paths of a definition; 10 and 1220 say what is wrong with them."""
    fields = definition.get(name)
    if not isinstance(fields, list) or not 1 <= len(fields) <= most:
        raise ArangoError(10, f"'{name}' attribute must be an array of 1 to {most} attribute paths")
    for field in fields:
        if not isinstance(field, str) or not field:
            raise ArangoError(10, f"index field names should be non-empty strings, in '{name}'")
        if field == "_id" or (field.startswith("_id.") and name == "fields"):
            raise ArangoError(10, "_id attribute cannot be indexed")
        stars = field.count(_EXPANSION)
        if stars and not expansion:
            raise ArangoError(10, f"cannot use [*] expansion for this type of index, in '{field}'")
        if stars > 1:
            raise ArangoError(10, "cannot use multiple [*] expansions for a single index field")
        if "[" in field.replace(_EXPANSION, ""):
            raise ArangoError(1220, f"parsing attribute name definition failed: '{field}'")
    if len(set(fields)) < len(fields):
        raise ArangoError(10, f"duplicate attribute in '{name}'")
    return list(fields)


def _min_length(value: Any) -> int:
    """The least length of a word of a full-text index."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArangoError(10, "'minLength' must be a number")
    return max(int(value), 1)


def _check_stored_values(values: Any, fields: Sequence[str]) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) and value for value in values):
        raise ArangoError(10, "'storedValues' must be an array of attribute paths")
    if set(values) & set(fields) or len(set(values)) < len(values):
        raise ArangoError(10, "'storedValues' must not repeat attributes")
    return list(values)


def _top(field: str) -> str:
    return field.partition(".")[0].removesuffix(_EXPANSION)


def _reader(field: str) -> Callable[[Document], Any]:
    """A function that takes an attribute path out of a document, null where it is missing."""
    names = field.replace(_EXPANSION, "").split(".")
    if len(names) == 1:
        [name] = names
        return lambda doc: doc.get(name)

    def read(doc: Document) -> Any:
        value: Any = doc
        for name in names:
            if type(value) is not dict:
                return None
            value = value.get(name)
        return value

    return read


def _elements(doc: Document, field: str) -> list[Any]:
    """The values of `path[*].rest`; none where the path holds no array."""
    path, _, rest = field.partition(_EXPANSION)
    values = _reader(path)(doc)
    if type(values) is not list:
        return []
    if not rest:
        return values
    read = _reader(rest.lstrip("."))
    return [read(value) if type(value) is dict else None for value in values]


def _timestamp(value: Any) -> float | None:
    """Seconds since 1970 of a number or an ISO date; None when it is neither."""
    if type(value) in (int, float):
        return float(value)
    if type(value) is not str:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
