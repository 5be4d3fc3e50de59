"""Documents of a collection inside a transaction: read, scan, fetch, insert, update, replace, remove, edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction
    from vgraph.embedded.indexes import Index

Document = dict[str, Any]
Projection = frozenset[str] | None


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


class Collection:
    """A collection bound to a transaction."""

    name: str
    id: int
    type: int
    txn: Transaction

    @property
    def indexes(self) -> list[Index]:
        """Primary first, then edge, then the rest in order of creation."""
        raise NotImplementedError

    def count(self) -> int:
        raise NotImplementedError

    def scan(self, projection: Projection = None) -> Iterator[tuple[int, Document]]:
        """(rowid, document) in insertion order; documents inserted after the call are not seen."""
        raise NotImplementedError

    def rowids(self) -> Iterator[int]:
        raise NotImplementedError

    def get(self, key: str, projection: Projection = None) -> Document | None:
        raise NotImplementedError

    def rowid(self, key: str) -> int | None:
        raise NotImplementedError

    def get_many(self, keys: Sequence[str], projection: Projection = None) -> list[Document | None]:
        """Documents by key in one batched lookup, order kept."""
        raise NotImplementedError

    fetch_keys = get_many

    def rowids_of(self, keys: Sequence[str]) -> list[int | None]:
        raise NotImplementedError

    def keys_of(self, rowids: Sequence[int]) -> list[str | None]:
        raise NotImplementedError

    def fetch(self, rowids: Sequence[int], projection: Projection = None) -> list[Document | None]:
        raise NotImplementedError

    def insert(self, doc: Document, **options: Any) -> Written:
        raise NotImplementedError

    def insert_many(self, docs: Sequence[Any], **options: Any) -> list[Written | ArangoError]:
        raise NotImplementedError

    def update(self, key: str, patch: Document, **options: Any) -> Written:
        raise NotImplementedError

    def replace(self, key: str, doc: Document, **options: Any) -> Written:
        raise NotImplementedError

    def remove(self, key: str, **options: Any) -> Written:
        raise NotImplementedError

    def truncate(self) -> None:
        raise NotImplementedError

    def edges(self, direction: Literal["out", "in"], vertices: Sequence[str]) -> Iterator[tuple[str, int, str]]:
        raise NotImplementedError
