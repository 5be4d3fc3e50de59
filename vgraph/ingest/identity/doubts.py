"""One entity that was in two places at once is two: which documents to split off is proposed, and nothing is split without being asked."""

from __future__ import annotations

from typing import Any

from vgraph.ingest.identity.facts import Facts
from vgraph.ingest.identity.presence import Conflict, Presence, Sites, conflict


def doubt(entity: Facts, sites: Sites) -> dict[str, Any] | None:
    """What speaks against an entity being one: {documents: those to split off, hard, evidence}; None where nothing does."""
    by_document: dict[str, list[Presence]] = {}
    for one in entity.presences:
        by_document.setdefault(one.document, []).append(one)
    kept: list[str] = []
    apart: list[str] = []
    conflicts: list[Conflict] = []
    for document, presences in by_document.items():
        against = [found for other in kept if (found := conflict(presences, by_document[other], sites))]
        (apart if against else kept).append(document)
        conflicts += against
    if not apart:
        return None
    evidence = [
        {
            "kind": "two places",
            "speaks": "against",
            "veto": c.hard,
            "text": str(c),
            "chunks": [c.first.chunk, c.second.chunk],
        }
        for c in conflicts[:3]
    ]
    return {"documents": sorted(apart), "hard": any(c.hard for c in conflicts), "evidence": evidence}
