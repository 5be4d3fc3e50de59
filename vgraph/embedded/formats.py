"""Files of an earlier format are brought to the present one when they are opened.

1: search and vector indexes had logs and segments of their own shapes. They are made anew from the documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vgraph.embedded.engine import Engine

PRESENT: Final = 2
_SEGMENTED: Final = ("inverted", "arangosearch", "vector")


def bring_up(engine: Engine) -> None:
    """Bring a file up to the present format. One that was interrupted at it is of the old format still, and begins again."""
    with engine.reading() as txn:
        names = list(txn.catalog.databases)
    for name in names:
        with engine.writing(name) as txn:
            for info in txn.collections():
                for index in info.indexes:
                    if index.type in _SEGMENTED:
                        index.drop(txn)
                        index.create(txn)
                        index.build(txn, txn.collection(info.name))
    with engine.writing() as txn:
        txn.sql(f"PRAGMA user_version = {PRESENT}")
