"""Inserting many documents at once: every table gets a block of rows with one statement, every index a block of documents.

What a block cannot take (a key that exists, a value an index refuses, a second document of one key) goes through
`Collection.insert`, in its place between blocks: errors, order and results are those of documents inserted one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import orjson

from vgraph.embedded import externals, keys
from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.documents import Collection, Document, Written
    from vgraph.embedded.externals import Matrix, Packed

LARGEST: Final = 1000  # documents of a block


class Block:
    """New documents that are written together; `rowids` are known once they are. Indexes keep in `memo` what they work out twice."""

    __slots__ = ("_columns", "documents", "memo", "rowids")

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents
        self.rowids: Sequence[int] = ()
        self.memo: dict[Any, Any] = {}
        self._columns: dict[str, list[Any]] = {}

    def once(self, name: Any, compute: Callable[[], Any]) -> Any:
        """What `compute` gives, worked out at the first call for this name."""
        if name not in self.memo:
            self.memo[name] = compute()
        return self.memo[name]

    def column(self, attribute: str) -> list[Any]:
        """The values of a top-level attribute, None where it is missing; not to be changed."""
        if attribute not in self._columns:
            self._columns[attribute] = [document.get(attribute) for document in self.documents]
        return self._columns[attribute]

    def matrix(self, attribute: str) -> Matrix | None:
        """The lists of floats of an attribute that all documents have, as one matrix; None when they are anything else."""
        found: Matrix | None = self.once(attribute, lambda: externals.doubles(self.column(attribute)))
        return found


def insert(
    collection: Collection, docs: Sequence[Any], insert_one: Callable[[Any], Written | ArangoError], *, keep_null: bool
) -> list[Written | ArangoError]:
    """Insert documents; `insert_one` takes those that a block cannot."""
    collection.notice(docs[0])
    drafts = _drafts(collection, docs, keep_null)
    block = Block([draft for draft in drafts if draft is not None])
    places = [place for place, draft in enumerate(drafts) if draft is not None]
    for position in _refused(collection, block):
        drafts[places[position]] = None
    if all(draft is not None for draft in drafts):
        return _written(collection, block) or [insert_one(doc) for doc in docs]
    results: list[Written | ArangoError] = []
    for alone, group in groupby(range(len(docs)), lambda place: drafts[place] is None):
        run = list(group)
        written = None if alone else _run(collection, [draft for place in run if (draft := drafts[place])])
        results += written or [insert_one(docs[place]) for place in run]
    return results


def _run(collection: Collection, drafts: list[Document]) -> list[Written | ArangoError] | None:
    """Write documents that stand beside others which went alone, and which may have taken a unique value meanwhile."""
    block = Block(drafts)
    if any(index.refused(collection.txn, block) for index in collection.secondary):
        return None
    return _written(collection, block)


def _drafts(collection: Collection, docs: Sequence[Any], keep_null: bool) -> list[Document | None]:
    """Documents with their system attributes, None for those that are none or whose keys or ends are not allowed."""
    if keep_null and set(map(type, docs)) == {dict}:
        names = [doc.get("_key") for doc in docs]
        if collection.ends_are_ids(docs) and keys.accept_all(collection.txn, collection.info, names):
            return [*collection.all_with_system_attributes(names, docs)]
    return [_draft(collection, doc, keep_null) for doc in docs]


def _draft(collection: Collection, doc: Any, keep_null: bool) -> Document | None:
    """A document with its system attributes, None when it is none or its key or its ends are not allowed."""
    if type(doc) is not dict or ("_key" in doc and doc["_key"] is None):
        return None
    if not keep_null:
        doc = without_nulls(doc)
    txn, info = collection.txn, collection.info
    try:
        key = keys.accept(txn, info, doc["_key"]) if "_key" in doc else keys.generate(txn, info)
        return collection.with_system_attributes(key, doc)
    except ArangoError:
        return None


def without_nulls(doc: Document) -> Document:
    """Without null attributes, also of objects inside; lists are left alone."""
    return {
        name: without_nulls(value) if type(value) is dict else value for name, value in doc.items() if value is not None
    }


def _refused(collection: Collection, block: Block) -> set[int]:
    """Positions of documents whose key is taken, in the collection or by one before, or that an index refuses."""
    wanted = block.column("_key")
    seen = {key for key, rowid in zip(wanted, collection.rowids_of(wanted), strict=True) if rowid is not None}
    refused: set[int] = set()
    for position, key in enumerate(wanted):
        if key in seen:
            refused.add(position)
        seen.add(key)
    for index in collection.secondary:
        refused |= index.refused(collection.txn, block)
    return refused


def _written(collection: Collection, block: Block) -> list[Written | ArangoError] | None:
    """Write a block that nothing speaks against; None when a document holds what JSON cannot."""
    from vgraph.embedded.documents import Written

    packed = {item: _packed(block, item.attribute) for item in collection.info.externals}
    try:
        bodies = _bodies(block, {item.attribute: values for item, values in packed.items()})
    except TypeError:
        return None
    txn, documents = collection.txn, block.documents
    block.rowids = _next_rowids(collection, len(documents))
    txn.insert_rows(collection.info.table, list(zip(block.rowids, block.column("_key"), bodies, strict=True)))
    for index in collection.secondary:
        index.insert_many(txn, block)
    for item, values in packed.items():
        rows = [(rowid, *value) for rowid, value in zip(block.rowids, values, strict=True) if value is not None]
        txn.insert_rows(item.table, rows)
    collection.counted(len(documents))
    return [
        Written(doc["_id"], doc["_key"], doc["_rev"], rowid, new=doc)
        for rowid, doc in zip(block.rowids, documents, strict=True)
    ]


def _packed(block: Block, attribute: str) -> list[Packed | None]:
    """What goes outside the JSON, None where the value stays inside."""
    matrix = block.matrix(attribute)
    return externals.pack_matrix(matrix) if matrix is not None else list(map(externals.pack, block.column(attribute)))


def _bodies(block: Block, packed: dict[str, list[Packed | None]]) -> list[bytes]:
    if not packed:
        return list(map(orjson.dumps, block.documents))
    bodies = [document.copy() for document in block.documents]
    for attribute, values in packed.items():
        for body, value in zip(bodies, values, strict=True):
            if value is not None:
                body[attribute] = None
    return list(map(orjson.dumps, bodies))


def _next_rowids(collection: Collection, count: int) -> range:
    """The rows that AUTOINCREMENT would give."""
    newest = collection.txn.sql("SELECT seq FROM sqlite_sequence WHERE name = ?", (collection.info.table,)).fetchone()
    first = newest[0] + 1 if newest else 1
    return range(first, first + count)
