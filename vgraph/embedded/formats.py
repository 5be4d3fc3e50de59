"""Files of an earlier format are brought to the present one when they are opened.

1: search and vector indexes had logs and segments of their own shapes. They are made anew from the documents.
2: their blobs were stored in parts of 64 KiB. They are cut anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vgraph.embedded.documents import Collection
    from vgraph.embedded.engine import Engine, Transaction
    from vgraph.embedded.indexes import Index

PRESENT: Final = 3


def bring_up(engine: Engine) -> None:
    """Bring a file up to the present format. One that was interrupted at it is of the old format still, and begins again."""
    with engine.reading() as txn:
        [version] = txn.sql("PRAGMA user_version").fetchone()
        names = list(txn.catalog.databases)
    for name in names:
        with engine.writing(name) as txn:
            for info in txn.collections():
                for index in info.indexes:
                    _bring_index_up(txn, txn.collection(info.name), index, version)
    with engine.writing() as txn:
        txn.sql(f"PRAGMA user_version = {PRESENT}")


def _bring_index_up(txn: Transaction, collection: Collection, index: Index, version: int) -> None:
    from vgraph.embedded.search.views import SearchIndex  # only files of earlier formats need them here
    from vgraph.embedded.vectors import VectorIndex

    if not isinstance(index, SearchIndex | VectorIndex):
        return
    if version > 1:
        log = index.log if isinstance(index, VectorIndex) else index.store.log
        log.cut_anew(txn)
        return
    index.drop(txn)
    index.create(txn)
    index.build(txn, collection)
