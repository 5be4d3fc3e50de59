"""What the graph tells of entities, places and times, read without a search: the ground on which questions are answered by rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vgraph.retrieve.naming import Known, cameras_known, known_of
from vgraph.retrieve.search import asked_of, evidence_chunks, time_named
from vgraph.retrieve.times import with_time
from vgraph.store import Store
from vgraph.types import EvidenceChunk, Filters

NAMES_READ = 200
"""Entities that are looked at for the names in a question."""
MOST_CLIPS = 1_500
"""Clips that one question may read."""
NEXT_MS = 30_000
JOIN_MS = 2_000
"""Gaps between recordings that count as none."""


@dataclass(frozen=True, slots=True)
class Told:
    """Clips, with the relations they state, whom and what they mention, and those entities as they are called there."""

    chunks: tuple[EvidenceChunk, ...] = ()
    relations: tuple[Mapping[str, Any], ...] = ()
    mentions: tuple[Mapping[str, Any], ...] = ()
    known: tuple[Known, ...] = ()
    complete: bool = True
    """False where there was more than may be read."""


@dataclass(frozen=True, slots=True)
class Covered:
    """What of the asked time the asked cameras recorded: seconds of each, and whether none, some or all of it."""

    recorded: tuple[tuple[str, int, int], ...]
    gaps: tuple[tuple[str, int, int], ...]


class Facts:
    """Reads the graph for questions; the filters hold in all that is read."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def cameras(self, filters: Filters) -> tuple[Mapping[str, Any], ...]:
        """Cameras that may be looked at: {_key, label, place, tz}."""
        return tuple(camera for camera in self._store.camera_names() if asked_of(camera, filters))

    def timed(self, question: str, filters: Filters) -> Filters:
        """The filters with the time that a question names, unless the caller gave one."""
        return with_time(filters, time_named(question, self._store, filters, self.cameras(filters)))

    def known(self, text: str, filters: Filters) -> tuple[Known, ...]:
        """Whom and what a text may name: entities that share words with it, and cameras. Of what `not_after` hides, nothing is known."""
        rows = self._store.telling.entities_of_words(text, limit=NAMES_READ)
        found = known_of(rows)
        if filters.not_after is not None and found:
            seen = {
                row["entity"] for row in self._stays([one.key for one in found], Filters(not_after=filters.not_after))
            }
            found = tuple(one for one in found if one.key in seen)
        return (*found, *cameras_known(self.cameras(filters)))

    def clips_of(self, keys: Iterable[str], filters: Filters) -> tuple[str, ...]:
        """Chunks (keys) that mention any of these entities, in order of time."""
        rows = self._stays(list(keys), filters)
        return tuple(dict.fromkeys(chunk.removeprefix("chunks/") for row in rows for chunk in row["chunks"]))

    def clips_between(self, filters: Filters) -> tuple[str, ...]:
        """Chunks (keys) of the cameras and the time of the filters, in order of time."""
        return tuple(self._store.chunks_during(filters, limit=MOST_CLIPS + 1))

    def told(self, chunks: Sequence[str], filters: Filters) -> Told:
        """All that chunks (keys) tell, as far as they pass the filters."""
        kept = list(chunks)[:MOST_CLIPS]
        rows = self._store.read_chunks(kept, filters)
        read = evidence_chunks([(key, "rule", 0.0) for key in kept], rows, filters)
        if not read:
            return Told(complete=len(chunks) <= MOST_CLIPS)
        told = self._store.telling.told_by_chunks([chunk.id for chunk in read], filters)
        relations = tuple(row for row in told["relations"] if _within(row, filters))
        mentions = tuple(row for row in told["mentions"] if _within(row, filters))
        return Told(tuple(read), relations, mentions, _known(told), len(chunks) <= MOST_CLIPS)

    def covered(self, filters: Filters) -> Covered:
        """What the cameras of the filters recorded in their time, and where in it they did not."""
        cameras = tuple(camera["_key"] for camera in self.cameras(filters))
        last = filters.not_after
        end_ms = filters.end_ms if last is None else min(last, filters.end_ms if filters.end_ms is not None else last)
        asked = replace(filters, cameras=cameras, end_ms=end_ms)
        if not self._store.coverage(asked):  # of the documents and times of day that may be looked at
            return Covered((), ())
        rows = self._store.clocks.coverage(asked, join_ms=JOIN_MS)
        recorded = tuple((row["camera"], s["start_ms"], s["end_ms"]) for row in rows for s in row["stretches"])
        gaps = tuple((row["camera"], g["start_ms"], g["end_ms"]) for row in rows for g in row["gaps"])
        return Covered(recorded, gaps)

    def last_recorded(self, cameras: Sequence[str]) -> int | None:
        return self._store.last_recorded(cameras)

    def _stays(self, keys: Sequence[str], filters: Filters) -> list[dict[str, Any]]:
        groups = self._store.analytics.groups([key for key in keys if not key.startswith("cameras/")])
        return self._store.analytics.stays(groups, filters) if groups else []


def _within(row: Mapping[str, Any], filters: Filters) -> bool:
    """Whether a row tells of the asked time or of what is next to it: whether an event began in time is seen by all that tells of it."""
    return (filters.start_ms is None or row["end_ms"] > filters.start_ms - NEXT_MS) and (
        filters.end_ms is None or row["start_ms"] < filters.end_ms + NEXT_MS
    )


def _known(told: Mapping[str, Any]) -> tuple[Known, ...]:
    """Entities as the clips call and describe them: what is known of them elsewhere or later does not count."""
    called: dict[str, dict[str, None]] = defaultdict(dict)
    looks: dict[str, dict[str, None]] = defaultdict(dict)
    for row in told["mentions"]:
        called[row["entity"]][row["mention"]] = None
        if row["description"]:
            looks[row["entity"]][row["description"]] = None
    found: dict[str, Mapping[str, Any]] = {row["key"]: row for row in told["entities"]}
    return tuple(
        Known(key, row["name"], row["type"], tuple(dict.fromkeys((row["name"], *called[key]))), " ".join(looks[key]))
        for key, row in sorted(found.items())
    )
