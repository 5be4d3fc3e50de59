"""The ledger of ingests: which stages of a document are finished under which configuration, and what its models answered.

Entries of kind `stage` say that a stage, or a batch of one, is finished; entries of kind `call` hold one model call each.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from vgraph.store import schema
from vgraph.store.run import run
from vgraph.types import Record

PAGE = 500


class Ledgers:
    """The ledger's part of a Store. `writing` is the lock that all writers of this process take their turn by."""

    def __init__(self, db: schema.Database, writing: threading.RLock) -> None:
        self._db, self._writing = db, writing

    def stages(self, document: str) -> dict[str, dict[str, Any]]:
        """What of a document's ingest is finished: entry by stage."""
        return {entry["stage"]: entry for entry in run(self._db, "ledger_stages", document=document)}

    def call_keys(self, document: str | None) -> list[str]:
        """Keys of all remembered calls of a document, or (None) of the whole graph."""
        return list(run(self._db, "ledger_call_keys", document=document))

    def calls(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Remembered calls by key."""
        return {entry["_key"]: entry for entry in run(self._db, "ledger_calls", keys=list(keys))}

    def write(self, entries: Sequence[Record]) -> None:
        """Keep entries, each in place of an older one of its key."""
        with self._writing:
            run(self._db, "write_records", records=[dict(entry) for entry in entries], collection="ledger")

    def forget_calls(self, document: str | None, stages: Sequence[str], used: Sequence[str]) -> None:
        """Let go of a document's calls of some stages that nobody asks any more; `used` (keys) stay."""
        with self._writing:
            run(self._db, "remove_unused_calls", document=document, stages=list(stages), used=list(used))

    def spent(self, document: str | None = None) -> list[dict[str, Any]]:
        """What calls have cost: {document, stage, calls, failed, input_tokens, output_tokens, seconds, money}."""
        return list(run(self._db, "ledger_spent", document=document))

    # --- documents that grow ----------------------------------------------------------------------------------------------

    def pieces(self, document: str) -> list[str]:
        """Files whose pieces of a growing document were taken."""
        return list(run(self._db, "ledger_pieces", document=document))

    def last_chunk(self, document: str) -> dict[str, Any] | None:
        """The last chunk of a document: {index, offset_ms, end_offset_ms, boundary}."""
        return next(iter(run(self._db, "last_chunk", document=document)), None)

    def configured(self, document: str, config: str) -> None:
        """From now on a growing document is made under this configuration."""
        self._set(document, {"config": config, "state": "live"})

    def finished(self, document: str, facts: Mapping[str, Any]) -> None:
        """A growing document has ended, for now."""
        self._set(document, {"state": "complete", **facts})

    def _set(self, document: str, facts: Mapping[str, Any]) -> None:
        with self._writing:
            run(self._db, "update_document", key=document, values=dict(facts))

    def failed_documents(self) -> list[dict[str, Any]]:
        """Documents that a model failed on: {document, uri, camera, failed}."""
        return list(run(self._db, "ledger_failed"))

    def averages(self) -> dict[tuple[str, str], Mapping[str, float]]:
        """What a call has cost so far, by stage and model: {input_tokens, output_tokens, seconds}."""
        return {(row["stage"], row["model"]): row for row in run(self._db, "ledger_averages")}
