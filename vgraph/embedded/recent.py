"""What was read lately of collections, for the transactions after the one that read it: documents, keys, the edges of vertices.

A document that is found here costs neither a row of SQLite nor decoding, which is most of what a small read costs. A shelf
holds what one kind of read gave of one collection in one state (the catalog's version and the collection's revision, which
every write moves); only a snapshot that sees this very state uses it, so that other processes, writers and older snapshots
are never told anything that is not in their file. Documents are shared: nobody changes what a read returned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

LIMIT: Final = 48 << 20
"""Bytes of JSON whose documents are kept at most; decoded they take about four times as much."""
_LARGEST: Final = 1 << 15  # bytes of one document
_MOST: Final = 2048  # documents of one read; what reads more goes through a collection and will not come back

State = tuple[int, int]


class Shelf:
    """Documents, or the like, by name in two generations: what nobody asked for since the last rotation goes with the next."""

    __slots__ = ("_mean", "_old", "_recent", "_size", "_young", "snapshot", "state")

    def __init__(self, recent: Recent, state: State, snapshot: State) -> None:
        self.state = state
        self.snapshot = snapshot
        self._recent = recent
        self._young: dict[Any, Any] = {}
        self._old: dict[Any, Any] = {}
        self._size = 0
        self._mean = 0

    def find(self, names: Sequence[Any]) -> list[Any]:
        """What is here, in the order asked for, None for the others."""
        found: list[Any] = list(map(self._young.get, names))
        if self._old and None in found:
            self._look_back(names, found)
        return found

    def _look_back(self, names: Sequence[Any], found: list[Any]) -> None:
        """Fill in what the older generation has, which makes it young again."""
        young, old, moved = self._young, self._old, 0
        for place, document in enumerate(found):
            if document is None and (document := old.get(names[place])) is not None:
                found[place] = young[names[place]] = document
                moved += 1
        self._grow(moved * self._mean)

    def keep(self, read: Sequence[tuple[Any, Any, int]]) -> None:
        """Take in what was just read: name, document, bytes."""
        if len(read) > _MOST:
            return
        young, size = self._young, 0
        for name, document, length in read:
            if length <= _LARGEST:
                young[name] = document
                size += length
        self._grow(size)

    def _grow(self, size: int) -> None:
        self._size += size
        self._recent.grown(size)

    def rotate(self) -> bool:
        """Let go of what nobody asked for; whether anything is left."""
        self._mean = self._size // (len(self._young) or 1)
        self._old, self._young, self._size = self._young, {}, 0
        return bool(self._old)


class Recent:
    """The shelves of one engine. Thread-safe."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._shelves: dict[tuple[int, str], Shelf] = {}
        self._lock = threading.Lock()

    def read(
        self,
        txn: Transaction,
        collection: int,
        kind: str,
        names: Sequence[Any],
        load: Callable[[Sequence[Any]], list[tuple[Any, Any, int]]],
    ) -> list[Any]:
        """What belongs to each name, None where there is nothing. `load` reads (name, found, bytes) of names that are not here."""
        shelf = self.shelf(txn, collection, kind)
        if shelf is None:
            read = {name: item for name, item, _ in load(names)}
            return [read.get(name) for name in names]
        found = shelf.find(names)
        if None in found:
            rows = load([name for name, item in zip(names, found, strict=True) if item is None])
            shelf.keep(rows)
            read = {name: item for name, item, _ in rows}
            found = [read.get(name) if item is None else item for name, item in zip(names, found, strict=True)]
        return found

    def shelf(self, txn: Transaction, collection: int, kind: str) -> Shelf | None:
        """What a snapshot may use of a collection; None where that is nothing."""
        if not txn.read_only:
            return None
        shelf = self._shelves.get((collection, kind))
        if shelf is not None and shelf.snapshot == txn.state:
            return shelf
        row = txn.sql("SELECT revision FROM collections WHERE id = ?", (collection,)).fetchone()
        return None if row is None else self._renewed((collection, kind), (txn.schema_version, row[0]), txn.state)

    def _renewed(self, name: tuple[int, str], state: State, snapshot: State) -> Shelf | None:
        """The shelf of a state, begun anew when the one that is here is older; None when it is newer."""
        with self._lock:
            shelf = self._shelves.get(name)
            if shelf is None or shelf.state < state:
                shelf = self._shelves[name] = Shelf(self, state, snapshot)
            elif shelf.state > state:
                return None
            shelf.snapshot = max(shelf.snapshot, snapshot)
            return shelf

    def grown(self, size: int) -> None:
        """Note what was taken in; at half of what is allowed, what is older goes."""
        self._size += size
        if 2 * self._size > self._limit:
            with self._lock:
                self._size = 0
                self._shelves = {name: shelf for name, shelf in self._shelves.items() if shelf.rotate()}
