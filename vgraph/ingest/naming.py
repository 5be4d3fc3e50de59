"""Whom people confirmed tracks to be, for captioners to be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vgraph.ingest.identity.decisions import Pair, decision, rulings, standing
from vgraph.store import Store


def confirmed_names(store: Store, document: str) -> dict[str, str]:
    """Track id -> name, for the tracks of a document whose entity somebody confirmed to be one with an entity that has a name.

    Only what people decided counts: what was found out by itself changes as the graph grows, and captions would with it.
    """
    log = standing([decision(record) for record in store.identities.decisions()])
    same = [couple for couple, ruling in rulings(log).items() if ruling.same]
    if not same:
        return {}
    shown = {row["track"]: row["entity"] for row in store.identities.shown(document)}
    family = {key: group for group in _groups(same) for key in group}
    members = sorted({key for entity in shown.values() for key in family.get(entity, ())})
    names = {row["_key"]: row["name"] for row in store.identities.profiles(members) if not row["followed"]}
    found = {track: _name(family.get(entity, ()), names) for track, entity in shown.items()}
    return {track: name for track, name in sorted(found.items()) if name}


def _name(group: Sequence[str], names: Mapping[str, str]) -> str:
    return next((names[key] for key in group if key in names), "")


def _groups(pairs: Iterable[Pair]) -> list[tuple[str, ...]]:
    """Entities that pairs join, in order of key."""
    leader: dict[str, str] = {}

    def of(key: str) -> str:
        while leader.setdefault(key, key) != key:
            leader[key] = key = leader[leader[key]]
        return key

    for one, other in sorted(pairs):
        leader[max(of(one), of(other))] = min(of(one), of(other))
    found: dict[str, list[str]] = {}
    for key in sorted(leader):
        found.setdefault(of(key), []).append(key)
    return [tuple(group) for group in found.values()]
