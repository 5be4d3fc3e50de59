"""Pairs of entities worth comparing, without comparing all: those that share a name key, lie near by embedding, were followed where they
were named, or passed one camera after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from vgraph.ingest.identity.decisions import Pair, pair
from vgraph.ingest.identity.facts import Profile
from vgraph.ingest.identity.options import IdentityOptions
from vgraph.ingest.identity.presence import Sites
from vgraph.store.identities import Identities

PROBED = 4
"""How many times `near` are looked at in the index, which finds nearly and not exactly the nearest."""
LISTS = 8
"""So many of the index's lists are looked into: its own number grows with it, and the whole would be all pairs."""
PASSING = 64
"""At most so many tracks of one span of time at one camera are compared with a track."""
LONGEST_MS = 600_000
"""Tracks that began so long before the span in which they would have to end are not looked for."""


def by_name(
    store: Identities, page: Sequence[Profile], name_keys: Iterable[str], options: IdentityOptions
) -> set[Pair]:
    """Pairs with one of the page that share a name key."""
    mine = {one.key for one in page}
    found: set[Pair] = set()
    for members in store.blocks(sorted(name_keys), options.block_max):
        found.update((a, b) for a, b in combinations(members, 2) if a in mine or b in mine)
    return found


def by_meaning(store: Identities, page: Sequence[Profile], options: IdentityOptions) -> set[Pair]:
    """Pairs with one of the page whose embeddings are nearest. The embedding of a bare name says no more than the name does."""
    found: set[Pair] = set()
    for kind in sorted({one.type for one in page}):
        keys = [one.key for one in page if one.type == kind and one.vector and one.words and not one.followed]
        if keys:
            near = store.near(keys, kind, least=options.near_min, probe=PROBED * options.near, lists=LISTS)
            found.update(pair(*couple) for couple in _nearest(near, options.near))
    return found


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
