"""What filters mean for the records of the graph. Part of Store as `store.narrowing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vgraph.store import schema
from vgraph.store.run import one, run

TERMS: Final = ("tags", "entity_types", "relation_types", "speakers")
"""Filters whose values are words that the graph itself holds."""


class Narrowing:
    """The narrowing part of a Store."""

    def __init__(self, db: schema.Database) -> None:
        self._db = db

    def unknown(self, terms: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Of values of TERMS, by name, those that nothing in the graph bears."""
        binds: dict[str, Any] = {name: list(terms.get(name, ())) for name in TERMS}
        return one(run(self._db, "unknown_terms", **binds))
