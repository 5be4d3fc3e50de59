"""Pairs of entities worth comparing, without comparing all: those that share a name key, lie near by embedding, were followed where they
were named, or passed one camera after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from vgraph.ingest.identity.decisions import Pair, pair
from vgraph.ingest.identity.facts import Profile
from vgraph.ingest.identity.options import IdentityOptions
from vgraph.ingest.identity.presence import Sites
from vgraph.store.identities import Identities

PROBED = 4
"""How many times `near` are looked at in the index, which finds nearly and not exactly the nearest."""
PASSING = 32
"""At most so many tracks of one span of time at one camera are compared with a track."""


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
    """Pairs with one of the page whose embeddings are nearest; a followed object's name means nothing."""
    found: set[Pair] = set()
    for kind in sorted({one.type for one in page}):
        keys = [one.key for one in page if one.type == kind and one.embedding is not None and not one.followed]
        if keys:
            near = store.near(keys, kind, least=options.near_min, probe=PROBED * options.near)
            found.update(pair(*couple) for couple in _nearest(near, options.near))
    return found


def _nearest(rows: Iterable[Sequence[str]], most: int) -> Iterator[tuple[str, str]]:
    """The first so many of each entity: rows come nearest first."""
    counts: dict[str, int] = {}
    for key, other in rows:
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= most:
            yield key, other


def by_passing(store: Identities, page: Sequence[Profile], sites: Sites) -> set[Pair]:
    """Pairs with one of the page whose tracks follow one another within the time that the way between their cameras takes."""
    spans = [span for track in store.tracks([one.key for one in page]) for span in _spans(track, sites)]
    return {pair(*couple) for couple in store.passing(spans, PASSING)} if spans else set()


def _spans(track: Mapping[str, int | str], sites: Sites) -> Iterator[dict[str, int | str]]:
    """When a track that ends here may begin on the cameras next to this one."""
    camera, end = str(track["camera"]), int(track["end_ms"])
    for couple, way in sorted(sites.between.items()):
        if camera in couple and way.max_ms is not None:
            other = couple[0] if couple[1] == camera else couple[1]
            slack = sites.slack(camera, other)
            begin = int(track["start_ms"]) if way.overlapping else end + way.min_ms
            yield {
                "entity": track["entity"], "camera": other, "class": track["class"],
                "from_ms": begin - slack, "to_ms": end + way.max_ms + slack + 1,
            }  # fmt: skip
