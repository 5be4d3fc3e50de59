"""Tracks and names: which of the named entities a followed object is, by when each of them was there (co-occurrence).

A track that is before the camera whenever captions name somebody, and at no time when they name nobody or somebody else alone, shows
that somebody. Where two names fit about as well, neither does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vgraph.ingest.identity.facts import Facts
from vgraph.ingest.identity.judge import Evidence
from vgraph.ingest.identity.presence import Presence

COVERED = 0.8
MARGIN = 0.5
OFTEN = 3


def track_evidence(track: Facts, named: Sequence[Facts]) -> dict[str, Evidence]:
    """For the names that fit a followed entity best, key -> what speaks for it; none where two fit about as well."""
    spans = _spans(track.presences)
    total = sum(end - start for start, end in spans)
    documents = {p.document for p in track.presences}
    if not total:
        return {}
    fits = {side.key: _told(side.presences, documents) for side in named}
    shares = sorted(((_overlap(spans, _spans(told)) / total, key) for key, told in fits.items()), reverse=True)
    best, second = shares[0], shares[1][0] if len(shares) > 1 else 0.0
    if best[0] < COVERED or best[0] - second < MARGIN:
        return {}
    seen = [p for p in fits[best[1]] if _overlap(spans, [(p.start_ms, p.end_ms)]) > 0]
    weight = 6.0 if len(seen) > OFTEN and best[0] >= 0.9 and second < 0.25 else 4.5
    chunks = tuple(dict.fromkeys(p.chunk for p in seen))[:3]
    text = (
        f"{best[0]:.0%} of the track lie where {len(seen)} captions name this one, {second:.0%} where they name another"
    )
    return {best[1]: Evidence("co-occurrence", weight, text, chunks)}


def _told(presences: Iterable[Presence], documents: set[str]) -> list[Presence]:
    return [p for p in presences if p.document in documents and p.sense != "detection"]


Spans = Sequence[tuple[int, int]]


def _spans(presences: Iterable[Presence]) -> list[tuple[int, int]]:
    """Their time, in order, without overlaps."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted((p.start_ms, p.end_ms) for p in presences):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _overlap(a: Spans, b: Spans) -> int:
    return sum(max(0, min(e, f) - max(s, t)) for s, e in a for t, f in b)


def by_track(rows: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    """Rows of identity_together.aql as followed entity -> named ones."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["followed"], []).append(row["named"])
    return {key: sorted(set(named)) for key, named in sorted(found.items())}
