"""Pairs of entities worth comparing, without comparing all: those that share a name key, lie near by embedding, were followed where they
were named, or passed one camera after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, Final

from vgraph.ingest.identity.decisions import Pair, pair
from vgraph.ingest.identity.facts import Profile
from vgraph.ingest.identity.nearest import Neighbours, neighbours
from vgraph.ingest.identity.options import IdentityOptions
from vgraph.ingest.identity.presence import Sites
from vgraph.store.identities import Identities

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHARE: Final = 8
READ: Final = 1_000
PROBED = 4
"""How many times `near` are looked at in the index, which finds nearly and not exactly the nearest."""
LISTS = 8
"""So many of the index's lists are looked into: its own number grows with it, and the whole would be all pairs."""
PASSING = 64
"""At most so many tracks of one span of time at one camera are compared with a track."""
LONGEST_MS = 600_000
"""Tracks that began so long before the span in which they would have to end are not looked for."""


@dataclass(slots=True)
class Names:
    """Who shares a name key with one of those `touched` in this run. A key that several share is looked at once in a run."""

    store: Identities
    options: IdentityOptions
    touched: Set[str]
    seen: set[str] = field(default_factory=set)

    def of(self, name_keys: Iterable[str]) -> set[Pair]:
        """Pairs with one of the touched that share one of these keys, as far as none was told of before."""
        blocks = self.store.blocks(sorted(set(name_keys) - self.seen), self.options.block_max)
        self.seen |= blocks.keys()
        found: set[Pair] = set()
        for members in blocks.values():
            found.update((a, b) for a, b in combinations(members, 2) if a in self.touched or b in self.touched)
        return found


def is_told(one: Profile) -> bool:
    """Whether an entity's embedding says more than its name does."""
    return one.vector and bool(one.words) and not one.followed


@dataclass(slots=True)
class Meanings:
    """Who is near by embedding: `many` holds how many entities of a type are looked for in this run.

    Few ask the vector index, one by one. Where they are one in `SHARE` of all entities it costs less to read the whole type and compare
    it among itself (nearest.py), for the index takes the longer for each the more there are.
    """

    store: Identities
    options: IdentityOptions
    many: Mapping[str, int]
    found: dict[str, Neighbours | None] = field(default_factory=dict)

    def of(self, page: Sequence[Profile]) -> set[Pair]:
        """Pairs with one of the page whose embeddings are nearest."""
        found: set[Pair] = set()
        for kind in sorted({one.type for one in page}):
            keys = [one.key for one in page if one.type == kind and is_told(one)]
            if keys:
                found.update(pair(*couple) for couple in self._of(keys, kind))
        return found

    def _of(self, keys: Sequence[str], kind: str) -> Iterable[tuple[str, str]]:
        together = self._together(kind)
        if together is not None:
            return ((key, other) for key in keys for other in together.of(key))
        probe = PROBED * self.options.near
        near = self.store.near(keys, kind, least=self.options.near_min, probe=probe, lists=LISTS)
        return _nearest(near, self.options.near)

    def _together(self, kind: str) -> Neighbours | None:
        """All of a type compared among themselves, where that is worth it."""
        if kind not in self.found:
            many = self.many.get(kind, 0) * SHARE >= self.store.count()
            self.found[kind] = _compared(self.store, kind, self.options) if many else None
        return self.found[kind]


def _compared(store: Identities, kind: str, options: IdentityOptions) -> Neighbours:
    """About a kilobyte an entity is held while a run lasts."""
    import numpy as np

    keys: list[str] = []
    pages: list[NDArray[np.float32]] = []
    rows = store.vectors(kind, keyed=options.names)
    while batch := list(islice(rows, READ)):
        keys += [key for key, _ in batch]
        pages.append(np.asarray([vector for _, vector in batch], np.float32))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    vectors = np.concatenate(pages)[order] if pages else np.zeros((0, 1), np.float32)
    return neighbours([keys[number] for number in order], vectors, options.near, options.near_min)


def _nearest(rows: Iterable[Sequence[str]], most: int) -> Iterator[tuple[str, str]]:
    """The first so many of each entity: rows come nearest first."""
    counts: dict[str, int] = {}
    for key, other in rows:
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= most:
            yield key, other


def by_passing(store: Identities, page: Sequence[Profile], sites: Sites, options: IdentityOptions) -> set[Pair]:
    """Pairs with one of the page whose tracks are before one camera, or two, within the time that the way between them takes."""
    spans = [s for track in store.tracks([one.key for one in page]) for s in _spans(track, sites, options.again_ms)]
    return {pair(*couple) for couple in store.passing(spans, PASSING)} if spans else set()


def _spans(track: Mapping[str, Any], sites: Sites, again_ms: int) -> Iterator[dict[str, Any]]:
    """When a track that is the same object may be before this camera and those next to it, before this track or after it."""
    camera = track["camera"]
    reach = {camera: again_ms}
    for couple, way in sorted(sites.between.items()):
        if camera in couple:
            other = couple[0] if couple[1] == camera else couple[1]
            reach[other] = way.max_ms if way.max_ms is not None else 0 if way.overlapping else again_ms
    for other, most in sorted(reach.items()):
        margin = most + sites.slack(camera, other)
        begin = track["start_ms"] - margin
        yield {
            "entity": track["entity"], "camera": other, "class": track["class"], "from_ms": begin - LONGEST_MS,
            "ended_ms": begin, "to_ms": track["end_ms"] + margin + 1,
        }  # fmt: skip
