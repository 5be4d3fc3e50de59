"""Questions that were asked, kept in the graph: what was done, what was claimed, and the clips each claim cites."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from vgraph.store import schema
from vgraph.store.run import KEY, Transaction, run, until_undisturbed
from vgraph.types import Record


class Runs:
    """The asking part of a Store; `writing` is the lock that all writers of this process take their turn by."""

    def __init__(self, db: schema.Database, writing: threading.RLock) -> None:
        self._db, self._writing = db, writing

    def write(self, record: Record, citations: Sequence[Record]) -> None:
        """Keep a run with the edges to what it cites; whole or not at all."""
        with self._writing:
            until_undisturbed(lambda: self._written(record, citations))

    def _written(self, record: Record, citations: Sequence[Record]) -> None:
        with Transaction(self._db, ("answers", "CITES")) as db:
            run(db, "write_records", records=[dict(record)], collection="answers")
            if citations:
                run(db, "write_records", records=[dict(edge) for edge in citations], collection="CITES")

    def listed(self, limit: int) -> list[dict[str, Any]]:
        """The latest runs, without their steps."""
        return list(run(self._db, "list_runs", limit=limit))

    def read(self, key: str) -> dict[str, Any] | None:
        """A run whole: {run, cited}; None where there is none."""
        if not KEY.fullmatch(key):
            return None
        return next(iter(run(self._db, "read_run", key=key)), None)
