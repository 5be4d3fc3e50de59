"""Questions about times and places that need no search: entities by name or key, answered by interval queries over the graph.

Every row names cameras, UTC ms and, where one exists, the chunk it rests on. See store/analytics.py for what is measured and how.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from vgraph.errors import NotFoundError, UserError
from vgraph.store import Store
from vgraph.store.analytics import ALLEN, GAP_MS, Group, Selection
from vgraph.types import Filters

__all__ = ["ALLEN", "GAP_MS", "Analytics", "Selection"]

ANYWHERE = Filters()


class Analytics:
    """Interval queries by name. Where several entities bear a name, all are meant; rows tell them apart by `entity`, their key."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def groups(self, names: Iterable[str]) -> tuple[Group, ...]:
        """Entities of names or keys. Raises NotFoundError for one that nobody bears."""
        keys: list[str] = []
        for name in names:
            found = self._store.identities.find(name)
            if not found:
                raise NotFoundError(f"no entity {name!r}; `vgraph entities list` shows who there is")
            keys += [row["_key"] for row in found]
        return self._store.analytics.groups(keys)

    def selection(
        self, names: Iterable[str] = (), *, speakers: Iterable[str] = (), classes: Iterable[str] = ()
    ) -> Selection:
        """Intervals to compare: appearances of entities, utterances of speakers, tracks of detector classes."""
        chosen = Selection(self.groups(names), tuple(speakers), tuple(classes))
        if chosen == Selection():
            raise UserError("nothing to compare: name an entity, a speaker or a class of tracks")
        return chosen

    def timeline(
        self, names: Iterable[str], filters: Filters = ANYWHERE, *, gap_ms: int = GAP_MS
    ) -> list[dict[str, Any]]:
        """Stays in order of time: {entity, name, camera, start_ms, end_ms, mentions, chunks, modalities}."""
        groups = self.groups(names)
        called = {group.key: group.name for group in groups}
        rows = self._store.analytics.stays(groups, filters, gap_ms=gap_ms)
        return [{"entity": row["entity"], "name": called[row["entity"]], **row} for row in rows]

    def journeys(
        self, names: Iterable[str], filters: Filters = ANYWHERE, *, gap_ms: int = GAP_MS
    ) -> list[dict[str, Any]]:
        """Steps from camera to camera: {entity, name, camera, start_ms, end_ms, chunks, travel_ms, feasible}, by entity and time."""
        groups = self.groups(names)
        called = {group.key: group.name for group in groups}
        rows = self._store.analytics.journeys(groups, filters, gap_ms=gap_ms)
        return [
            {"entity": row["entity"], "name": called[row["entity"]], **stay} for row in rows for stay in row["stays"]
        ]

    def absences(self, name: str, filters: Filters = ANYWHERE, *, least_ms: int = 0) -> list[dict[str, Any]]:
        """When no camera saw the entities of a name: {entity, name, start_ms, end_ms, recorded_ms, state}."""
        return self._each(name, lambda group: self._store.analytics.absences(group, filters, least_ms=least_ms))

    def present_while(
        self,
        name: str,
        filters: Filters = ANYWHERE,
        *,
        types: Sequence[str] | None = None,
        gap_ms: int = GAP_MS,
        limit: int = 100,
    ) -> list[dict[str, Any]]:
        """Who was there while an entity stayed: {of, entity, name, type, together_ms, cameras, first_ms, last_ms, chunks}."""
        found = self._store.analytics.present_while
        return [
            {"of": group.name, **row}
            for group in self.groups([name])
            for row in found(group, filters, types=types, gap_ms=gap_ms, limit=limit)
        ]

    def said_while(
        self, name: str, filters: Filters = ANYWHERE, *, gap_ms: int = GAP_MS, limit: int = 100
    ) -> list[dict[str, Any]]:
        """What was said where an entity stayed: {entity, name, utterance, speaker, text, camera, document, start_ms, end_ms, offset_ms}."""
        return self._each(
            name, lambda group: self._store.analytics.said_while(group, filters, gap_ms=gap_ms, limit=limit)
        )

    def _each(self, name: str, query: Any) -> list[dict[str, Any]]:
        return [
            {"entity": group.key, "name": group.name, **row} for group in self.groups([name]) for row in query(group)
        ]

    def relations(
        self, left: Selection, right: Selection, filters: Filters = ANYWHERE, **options: Any
    ) -> list[dict[str, Any]]:
        """Pairs of intervals by Allen's relations: {relation, overlap_ms, between_ms, a, b}, the ends with their `name`.

        Options as of store.analytics.allen.
        """
        called = {group.key: group.name for group in (*left.groups, *right.groups)}
        rows = self._store.analytics.allen(left, right, filters, **options)
        return [
            row | {end: {"name": called.get(row[end]["of"], row[end]["of"]), **row[end]} for end in "ab"}
            for row in rows
        ]

    def co_presence(self, filters: Filters = ANYWHERE, **options: Any) -> list[dict[str, Any]]:
        """Pairs that were together; options `types`, `gap_ms`, `least_ms`, `limit`."""
        return self._store.analytics.co_presence(filters, **options)

    def seen_then(self, first: str, then: str, filters: Filters = ANYWHERE, **options: Any) -> list[dict[str, Any]]:
        """Who went from one camera (key) to another; options `within_ms`, `types`, `gap_ms`, `limit`."""
        return self._store.analytics.seen_then(first, then, filters, **options)

    def dwell(self, filters: Filters = ANYWHERE, **options: Any) -> list[dict[str, Any]]:
        """How long everybody stayed at each camera; options `types`, `gap_ms`, `limit`."""
        return self._store.analytics.dwell(filters, **options)

    def first_last_seen(self, filters: Filters = ANYWHERE, **options: Any) -> list[dict[str, Any]]:
        """When and where everybody was first and last seen; options `types`, `limit`."""
        return self._store.analytics.first_last_seen(filters, **options)

    def counts(self, filters: Filters = ANYWHERE, **options: Any) -> list[dict[str, Any]]:
        """How many entities each camera saw in each interval; options `bucket_ms`, `origin_ms`, `types`."""
        return self._store.analytics.counts(filters, **options)

    def busiest(self, filters: Filters = ANYWHERE, **options: Any) -> list[dict[str, Any]]:
        """The busiest intervals; options `bucket_ms`, `origin_ms`, `types`, `limit`."""
        return self._store.analytics.busiest(filters, **options)

    def interactions(self, filters: Filters = ANYWHERE, **options: Any) -> list[dict[str, Any]]:
        """Who had to do with whom; options `relations`, `types`, `limit`."""
        return self._store.analytics.interactions(filters, **options)

    def difference(
        self, before: tuple[int, int], after: tuple[int, int], filters: Filters = ANYWHERE, **options: Any
    ) -> list[dict[str, Any]]:
        """What changed from one span to another; options `types`, `gap_ms`, `limit`."""
        return self._store.analytics.difference(before, after, filters, **options)
