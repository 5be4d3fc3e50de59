"""Indexes of a collection: what they store, how they are kept up, how they are looked up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from vgraph.embedded.documents import Collection
    from vgraph.embedded.engine import Transaction


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

    @classmethod
    def normalise(cls, definition: dict[str, Any]) -> dict[str, Any]:
        """The definition with every default filled in; ArangoError 10 (or the server's number) when it is wrong."""
        raise NotImplementedError

    @property
    def attributes(self) -> frozenset[str] | None:
        """Top-level attributes whose change concerns the index; None = any change does."""
        raise NotImplementedError

    def definition(self) -> dict[str, Any]:
        """The HTTP shape without the collection prefix of `id`."""
        raise NotImplementedError

    def create(self, txn: Transaction) -> None:
        """Create the tables."""

    def build(self, txn: Transaction, collection: Collection) -> None:
        """Index what the collection already holds."""

    def drop(self, txn: Transaction) -> None:
        """Drop the tables."""

    def truncate(self, txn: Transaction) -> None:
        """Forget everything."""

    def check(self, txn: Transaction, doc: dict[str, Any], rowid: int | None) -> None:
        """Refuse a document before anything is written (1210, 10, 17, …); rowid is its own row when it exists."""

    def insert(self, txn: Transaction, rowid: int, doc: dict[str, Any]) -> None:
        raise NotImplementedError

    def remove(self, txn: Transaction, rowid: int, doc: dict[str, Any]) -> None:
        raise NotImplementedError

    def update(self, txn: Transaction, rowid: int, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Called only when an attribute in `attributes` changed; remove and insert unless overridden."""
        self.remove(txn, rowid, old)
        self.insert(txn, rowid, new)

    def selectivity(self, txn: Transaction) -> float:
        """Distinct keys / entries, in (0, 1]."""
        raise NotImplementedError


class PersistentIndex(Index):
    type = "persistent"

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
        raise NotImplementedError

    def lookup_many(self, txn: Transaction, prefixes: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int]]:
        """(position of the prefix, rowid), batched."""
        raise NotImplementedError

    def groups(self, txn: Transaction, n: int) -> Iterator[tuple[tuple[Any, ...], int]]:
        """((values of the first n fields), count) in index order; not for sparse or array indexes."""
        raise NotImplementedError
