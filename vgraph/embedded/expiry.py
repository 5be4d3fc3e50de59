"""Documents whose TTL index says that their time has passed, removed now and then (ArangoDB documentation, "TTL Indexes")."""

from __future__ import annotations

import threading
import time
from typing import Final

from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.indexes import TtlIndex

INTERVAL: Final = 30.0  # seconds between two sweeps
_AT_ONCE: Final = 10_000  # documents of one index in one sweep
_PATIENCE: Final = 0.05  # seconds to wait for the writer's place; the next sweep is soon


class Sweeper:
    """Sweeps along with requests, not more often than every half minute: there is no thread to start or to stop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next = time.monotonic() + INTERVAL
        self._lock = threading.Lock()

    def pass_by(self) -> None:
        """Sweep if it is time."""
        if time.monotonic() < self._next or not self._lock.acquire(blocking=False):
            return
        try:
            self._next = time.monotonic() + INTERVAL
            sweep(self._engine)
        except ArangoError as error:
            if error.num != 1200:  # somebody writes; later
                raise
        finally:
            self._lock.release()


def sweep(engine: Engine, now: float | None = None) -> int:
    """Remove what has expired; how many documents that were."""
    now = time.time() if now is None else now
    with engine.reading() as txn:
        concerned = [
            (info.database, info.name, index)
            for info in txn.catalog.collections.values()
            for index in info.indexes
            if isinstance(index, TtlIndex) and index.expired(txn, now, 1)
        ]
    removed = 0
    for database, collection, index in concerned:
        txn = engine.begin(database, lock_timeout=_PATIENCE)
        try:
            target = txn.collection(collection, write=True)
            for key in target.keys_of(index.expired(txn, now, _AT_ONCE)):
                if key is not None:
                    target.remove(key, whole=False)
                    removed += 1
            txn.commit()
        finally:
            txn.abort()
    return removed
