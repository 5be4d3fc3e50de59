"""Followed objects and names: which of the named entities a track, or several tracks that are one, shows (co-occurrence).

Each caption of the time in which the object was in the picture is a trial. Whoever the object is should be named in most of them, anybody
else about as often as in captions at large. The logarithms of these likelihood ratios add up over captions; two names that fit about as
well fit neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from math import log

from vgraph.ingest.identity.facts import Caption, Facts
from vgraph.ingest.identity.judge import Evidence
from vgraph.ingest.identity.presence import Presence

NAMED = 0.8
"""How often a caption names somebody whom it shows."""
RARE = 0.05
"""Nobody is thought to be named less often than this at large, nor more often than the rest."""
MARGIN = 3.0
"""By so much (natural logarithm) the best name has to fit better than the next."""
MOST = 7.0
"""Captions are not independent of one another: so much and no more they can say together."""


def named_as(
    tracks: Sequence[Facts], named: Mapping[str, Sequence[Facts]], captions: Set[Caption]
) -> tuple[str, Evidence] | None:
    """Which of the named (by representative) the tracks of one object show, and what speaks for it; None where nobody stands out.

    `captions` are all those of the documents in which the tracks are.
    """
    told = {
        key: {c: chunk for side in sides for c, chunk in side.captions.items()} for key, sides in sorted(named.items())
    }
    shown = _shown([p for side in tracks for p in side.presences], captions)
    if not shown or not told:
        return None
    ranked = sorted(((_fit(shown, found.keys(), captions), key) for key, found in told.items()), reverse=True)
    (best, key), second = ranked[0], ranked[1][0] if len(ranked) > 1 else 0.0
    if best <= 0 or best - max(second, 0.0) < MARGIN:
        return None
    hits = sorted((caption for caption in shown if caption in told[key]), key=lambda c: c[1:])
    chunks = tuple(dict.fromkeys(told[key][caption] for caption in hits))[:3]
    text = f"{len(hits)} of the {len(shown)} captions of the time in which it is followed name this one"
    return key, Evidence("captions", min(best, MOST), text, chunks)


def _shown(presences: Sequence[Presence], captions: Iterable[Caption]) -> set[Caption]:
    """Captions during at least half of which one of the tracks was in the picture."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for one in presences:
        spans.setdefault(one.document, []).append((one.start_ms, one.end_ms))
    return {c for c in captions if 2 * _overlap(c, spans.get(c[0], ())) >= c[2] - c[1] > 0}


def _overlap(caption: Caption, spans: Iterable[tuple[int, int]]) -> int:
    """Tracks of one object do not overlap."""
    return sum(max(0, min(end, caption[2]) - max(start, caption[1])) for start, end in spans)


def _fit(shown: set[Caption], named: Set[Caption], captions: Set[Caption]) -> float:
    """The log-likelihood ratio of being the one who is named, against being anybody."""
    rate = min(max(len(named & captions) / len(captions), RARE), 1 - RARE)
    hits = len(shown & named)
    return hits * log(NAMED / rate) + (len(shown) - hits) * log((1 - NAMED) / (1 - rate))


def by_track(rows: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    """Rows of identity_together.aql as followed entity -> named ones."""
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["followed"], set()).add(row["named"])
    return {key: sorted(named) for key, named in sorted(found.items())}
