"""What the graph tells without a search: entities by their words, and all that is stated in some clips.

Part of Store as `store.telling`; each method runs one query of `arango/queries`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vgraph.store import schema
from vgraph.store.run import one, run
from vgraph.types import Filters


class Telling:
    """The telling part of a Store. Rows are those the query's header states."""

    def __init__(self, db: schema.Database) -> None:
        self._db = db

    def entities_of_words(self, text: str, *, limit: int) -> list[dict[str, Any]]:
        """Entities whose names or descriptions share words with a text: {key, id, name, type, aliases, description}."""
        return list(run(self._db, "entities_of_words", text=text, limit=limit))

    def told_by_chunks(self, chunks: Sequence[str], filters: Filters) -> dict[str, Any]:
        """What chunks (keys) state and mention: {relations, mentions, entities}."""
        ids = [f"chunks/{key}" for key in chunks]
        return one(run(self._db, "told_by_chunks", chunks=ids, filters=filters))
