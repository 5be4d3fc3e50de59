"""Who was where, when, with whom and for how long: intervals of appearances, utterances and tracks compared in AQL.

Part of Store as `store.analytics`; each method runs one query of `arango/queries`, which can be pasted elsewhere with the same binds. All
times are UTC ms, intervals half open. Appearances are the mentions of an entity merged where no more than `gap_ms` lies between them, for
chunks cut what was one stay. Filters hold on every mention, relation, utterance and track that is counted (narrowing.py); those of
`entities` say who is counted, where a query is about everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vgraph.errors import UserError
from vgraph.store import schema
from vgraph.store.run import filter_binds, run
from vgraph.types import Filters

ALLEN: Final = (
    "before", "meets", "overlaps", "starts", "during", "finishes", "equals",
    "after", "met_by", "overlapped_by", "started_by", "contains", "finished_by",
)  # fmt: skip
"""The relations of two intervals (Allen 1983, "Maintaining knowledge about temporal intervals"); the last six mirror the first."""
GAP_MS: Final = 2_000
SHORTEST_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Group:
    """An entity (key of its representative) with the ids of all records that are confirmed to be it."""

    key: str
    ids: tuple[str, ...]
    name: str = ""
    type: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Intervals to compare: appearances of entities, utterances of speakers, tracks of detector classes; any of them together."""

    groups: tuple[Group, ...] = ()
    speakers: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    @property
    def bind(self) -> dict[str, Any]:
        return {"groups": _bound(self.groups), "speakers": list(self.speakers), "classes": list(self.classes)}


class Analytics:
    """The analysing part of a Store. Rows are those the query's header states."""

    def __init__(self, db: schema.Database) -> None:
        self._db = db

    def groups(self, keys: Sequence[str]) -> tuple[Group, ...]:
        """Entities by the key of any of their records."""
        rows = run(self._db, "entity_groups", keys=list(keys))
        return tuple(Group(row["key"], tuple(row["ids"]), row["name"], row["type"]) for row in rows)

    # --- one or some entities -------------------------------------------------------------------------------------------

    def stays(self, groups: Sequence[Group], filters: Filters, *, gap_ms: int = GAP_MS) -> list[dict[str, Any]]:
        """Where and when entities were, in order of time."""
        return list(run(self._db, "stays", groups=_bound(groups), gap_ms=gap_ms, **filter_binds(filters)))

    def journeys(self, groups: Sequence[Group], filters: Filters, *, gap_ms: int = GAP_MS) -> list[dict[str, Any]]:
        """The ways of entities from camera to camera, and whether each step is feasible by what is known of the ways."""
        return list(run(self._db, "journeys", groups=_bound(groups), gap_ms=gap_ms, **filter_binds(filters)))

    def absences(self, group: Group, filters: Filters, *, least_ms: int = 0) -> list[dict[str, Any]]:
        """When no camera saw an entity, and whether the cameras were recording then."""
        return list(run(self._db, "absences", ids=list(group.ids), least_ms=least_ms, **filter_binds(filters)))

    def present_while(
        self, group: Group, filters: Filters, *, types: Sequence[str] | None = None, gap_ms: int = GAP_MS, least_ms: int = 1,
        limit: int = 100,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Who else was at a camera while an entity stayed there."""
        binds: dict[str, Any] = {"types": _or_none(types), "gap_ms": gap_ms, "least_ms": least_ms, "limit": limit}
        return list(run(self._db, "present_while", ids=list(group.ids), **binds, **filter_binds(filters)))

    def said_while(
        self, group: Group, filters: Filters, *, gap_ms: int = GAP_MS, limit: int = 100
    ) -> list[dict[str, Any]]:
        """What was said at a camera while an entity stayed there."""
        return list(
            run(self._db, "said_while", ids=list(group.ids), gap_ms=gap_ms, limit=limit, **filter_binds(filters))
        )

    def allen(
        self, left: Selection, right: Selection, filters: Filters, *, relations: Sequence[str] = ALLEN, gap_ms: int = GAP_MS,
        slack_ms: int = 0, within_ms: int | None = None, least_overlap_ms: int = 0, same_camera: bool = False, limit: int = 1000,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Pairs of intervals, one of each selection, that stand in one of the relations. Raises UserError for an unknown relation.

        `slack_ms`: ends this near count as the same. `within_ms`: at most this between them (before, after). `least_overlap_ms`: at least
        this in common.
        """
        if unknown := sorted(set(relations) - set(ALLEN)):
            raise UserError(f"relation {unknown[0]!r} is not one of {', '.join(ALLEN)}")
        binds: dict[str, Any] = {
            "left": left.bind, "right": right.bind, "relations": list(relations), "gap_ms": gap_ms, "slack_ms": slack_ms,
            "within_ms": within_ms, "least_overlap_ms": least_overlap_ms, "same_camera": same_camera, "limit": limit,
        }  # fmt: skip
        return list(run(self._db, "allen_relations", **binds, **filter_binds(filters)))

    # --- everybody ------------------------------------------------------------------------------------------------------

    def co_presence(
        self,
        filters: Filters,
        *,
        types: Sequence[str] | None = None,
        gap_ms: int = GAP_MS,
        least_ms: int = 1,
        limit: int = 100,
    ) -> list[dict[str, Any]]:
        """Pairs that were at the same camera at the same time."""
        binds: dict[str, Any] = {"types": _or_none(types), "gap_ms": gap_ms, "least_ms": least_ms, "limit": limit}
        return list(run(self._db, "co_presence", **binds, **filter_binds(filters)))

    def seen_then(
        self, first: str, then: str, filters: Filters, *, within_ms: int, types: Sequence[str] | None = None, gap_ms: int = GAP_MS,
        limit: int = 100,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Who left one camera's view and came into another's within a time. The cameras of the filters are not looked at."""
        if first == then:
            raise UserError(f"from {first!r} to {then!r}: name two cameras")
        binds: dict[str, Any] = {
            "first": first,
            "then": then,
            "types": _or_none(types),
            "gap_ms": gap_ms,
            "within_ms": within_ms,
            "limit": limit,
        }
        return list(run(self._db, "seen_then", **binds, **filter_binds(replace(filters, cameras=None, places=None))))

    def dwell(
        self, filters: Filters, *, types: Sequence[str] | None = None, gap_ms: int = GAP_MS, limit: int = 100
    ) -> list[dict[str, Any]]:
        """How long everybody stayed at each camera."""
        return list(run(self._db, "dwell", types=_or_none(types), gap_ms=gap_ms, limit=limit, **filter_binds(filters)))

    def first_last_seen(
        self, filters: Filters, *, types: Sequence[str] | None = None, limit: int = 100
    ) -> list[dict[str, Any]]:
        """When and where everybody was first and last seen."""
        return list(run(self._db, "first_last_seen", types=_or_none(types), limit=limit, **filter_binds(filters)))

    def counts(
        self, filters: Filters, *, bucket_ms: int, origin_ms: int = 0, types: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """How many different entities each camera saw in each interval of `bucket_ms`, one of which begins at `origin_ms`."""
        binds: dict[str, Any] = {"types": _or_none(types), "bucket_ms": _bucket(bucket_ms), "origin_ms": origin_ms}
        return list(run(self._db, "counts_per_interval", **binds, **filter_binds(filters)))

    def busiest(
        self,
        filters: Filters,
        *,
        bucket_ms: int,
        origin_ms: int = 0,
        types: Sequence[str] | None = None,
        limit: int = 10,
    ) -> list[dict[str, Any]]:
        """The intervals in which most different entities were about."""
        binds: dict[str, Any] = {
            "types": _or_none(types),
            "bucket_ms": _bucket(bucket_ms),
            "origin_ms": origin_ms,
            "limit": limit,
        }
        return list(run(self._db, "busiest_intervals", **binds, **filter_binds(filters)))

    def interactions(
        self,
        filters: Filters,
        *,
        relations: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        limit: int = 100,
    ) -> list[dict[str, Any]]:
        """Who had to do with whom, how and for how long."""
        binds: dict[str, Any] = {"relations": _or_none(relations), "types": _or_none(types), "limit": limit}
        return list(run(self._db, "interactions", **binds, **filter_binds(filters)))

    def difference(
        self, before: tuple[int, int], after: tuple[int, int], filters: Filters, *, types: Sequence[str] | None = None,
        gap_ms: int = GAP_MS, limit: int = 100,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Who was there in one of two spans (start, end) only, and how much longer or shorter the others stayed."""
        binds: dict[str, Any] = {
            "before": {"start_ms": before[0], "end_ms": before[1]}, "after": {"start_ms": after[0], "end_ms": after[1]},
            "types": _or_none(types), "gap_ms": gap_ms, "limit": limit, **filter_binds(filters),
        }  # fmt: skip
        return list(run(self._db, "difference", **binds))


def _bound(groups: Sequence[Group]) -> list[dict[str, Any]]:
    return [{"key": group.key, "ids": list(group.ids)} for group in groups]


def _or_none(items: Sequence[str] | None) -> list[str] | None:
    return None if items is None else list(items)


def _bucket(ms: int) -> int:
    """Shorter intervals than a second would only tell the same again and again, in as many rows."""
    if ms < SHORTEST_MS:
        raise UserError(f"an interval of {ms} ms: it must be a second or more")
    return ms
