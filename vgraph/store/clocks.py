"""Cameras' clocks, the times that hang on them, and what was recorded when. Part of Store as `store.clocks`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from vgraph.store import schema
from vgraph.store.run import Transaction, run, until_undisturbed
from vgraph.types import Filters

TIMED = ("chunks", "frames", "utterances", "tracks", "HAS_ENTITY", "LINKS_TO", "SEEN_IN")
"""Collections whose records stand in time and belong to one document."""
TIMES = {
    "start_ms": "offset_ms",
    "at_ms": "offset_ms",
    "end_ms": "end_offset_ms",
    "known_ms": "known_offset_ms",
    "described_ms": "described_offset_ms",
}
"""Each time of a record with the media offset it is made of."""
BATCH = 1000


class Clocks:
    """Reads what a clock is fitted to, and moves what hangs on it, in transactions of bounded size."""

    def __init__(self, db: schema.Database, writing: threading.RLock) -> None:
        self._db, self._writing = db, writing

    def documents(self, camera: str) -> list[dict[str, Any]]:
        """A camera's documents with what tells when they were recorded."""
        return list(run(self._db, "clock_documents", camera=camera))

    def reads(self, document: str) -> list[dict[str, Any]]:
        """Texts read off a document's pictures: {offset_ms, end_offset_ms, text}."""
        return list(run(self._db, "clock_reads", document=document))

    def write_camera(self, camera: str, values: Mapping[str, Any]) -> None:
        """Replace attributes of a camera."""
        self._write("cameras", "update_camera", key=camera, values=dict(values))

    def write_document(self, document: str, values: Mapping[str, Any]) -> None:
        """Replace attributes of a document."""
        self._write("documents", "update_document", key=document, values=dict(values))

    def _write(self, written: str, query: str, **binds: Any) -> None:
        """One query, one transaction, again when another writer came between."""

        def write() -> None:
            with Transaction(self._db, (written,)) as db:
                run(db, query, **binds)

        with self._writing:
            until_undisturbed(write)

    def move(self, document: str, at: Callable[[int], int], moved: Callable[[int], None] = lambda count: None) -> int:
        """Put the times of a document's records where `at` (media offset to UTC ms) has them; how many were elsewhere.

        Times are made of offsets, never of what they were: interrupted, it can be run again, and then finds less to do. `moved` is told
        of every batch.
        """
        count = 0
        for collection in TIMED:
            stale = self._stale(document, collection, at)
            while batch := list(islice(stale, BATCH)):
                self._write(collection, "update_times", records=batch, collection=collection)
                count += len(batch)
                moved(count)
        return count

    def _stale(self, document: str, collection: str, at: Callable[[int], int]) -> Iterator[dict[str, Any]]:
        for record in run(self._db, "read_times", stream=True, document=document, collection=collection):
            times = {name: at(record[offset]) for name, offset in TIMES.items() if name in record and offset in record}
            if any(record[name] != time for name, time in times.items()):
                yield {"_key": record["_key"], **times}

    def settle(self, document: str) -> None:
        """Bring first and last times of the entities of a document up to where they are seen and heard now."""
        touched = [str(found).partition("/")[2] for found in run(self._db, "entities_of_document", document=document)]
        for begin in range(0, len(touched), BATCH):
            self._write("entities", "settle_times", keys=touched[begin : begin + BATCH])

    def coverage(self, filters: Filters, *, join_ms: int) -> list[dict[str, Any]]:
        """What was recorded and what was not, a row a camera; see coverage_stretches.aql. Gaps up to `join_ms` do not count."""
        return list(run(self._db, "coverage_stretches", filters=filters, join_ms=join_ms))
