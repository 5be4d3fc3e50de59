"""One SQLite file as an ArangoDB deployment: connections, snapshots, transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vgraph.embedded.documents import Collection


class Engine:
    @staticmethod
    def open(path: str | PathLike[str], *, create: bool = True) -> Engine:
        raise NotImplementedError

    def begin(
        self,
        database: str = "_system",
        *,
        read: Sequence[str] = (),
        write: Sequence[str] = (),
        exclusive: Sequence[str] = (),
        read_only: bool = False,
        lock_timeout: float = 8.0,
    ) -> Transaction:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Transaction:
    database: str
    read_only: bool
    schema_version: int

    def collection(self, name: str, *, write: bool = False) -> Collection:
        raise NotImplementedError

    def collections(self) -> list[Any]:
        raise NotImplementedError

    def graph(self, name: str) -> dict[str, Any]:
        raise NotImplementedError

    def view(self, name: str) -> Any:
        raise NotImplementedError

    def analyzer(self, name: str) -> Any:
        raise NotImplementedError

    def sql(self, statement: str, params: Sequence[Any] = ()) -> sqlite3.Cursor:
        raise NotImplementedError

    def savepoint(self) -> str:
        raise NotImplementedError

    def rollback_to(self, savepoint: str) -> None:
        raise NotImplementedError

    def commit(self) -> None:
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError
