"""Entities -> candidates -> judgements -> SAME_AS, and clusters with one representative each.

Only entities that changed since the last run are looked at, with whom they may be one with. Every step writes what it found before the
next begins, and marks an entity as resolved last of all: killed anywhere, the next run ends in the same graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from vgraph.ingest.identity import candidates
from vgraph.ingest.identity.clusters import Claim, Outcome, clustered
from vgraph.ingest.identity.decisions import Decision, Pair, Ruling, decision, pair, rulings, standing
from vgraph.ingest.identity.doubts import doubt
from vgraph.ingest.identity.facts import Facts, Profile, facts, profile
from vgraph.ingest.identity.following import by_track, track_evidence
from vgraph.ingest.identity.judge import PRIOR, Court, Evidence, Judgement, appearance, judge, promising, vetoes
from vgraph.ingest.identity.names import name_keys
from vgraph.ingest.identity.options import IdentityOptions
from vgraph.ingest.identity.sites import sites
from vgraph.ingest.keys import content_key, edge_key
from vgraph.store import Store
from vgraph.store.identities import Identities
from vgraph.types import Progress, Record

T = TypeVar("T")
PAGE = 256
MOST_MENTIONS = 5_000
"""So many of an entity's mentions and relations are looked at, the earliest."""
KEPT = 20_000
"""Entities whose facts are kept in memory while others are compared with them."""


@dataclass(frozen=True, slots=True)
class ResolveReport:
    """What a run did: entities looked at, pairs compared, SAME_AS edges by status among them, entities that may be two."""

    entities: int
    compared: int
    confirmed: int
    proposed: int
    rejected: int
    doubts: int


@dataclass(slots=True)
class _Case:
    """One run: what every step needs, what was read so far, and what is counted."""

    store: Identities
    court: Court
    config: str
    log: tuple[Decision, ...]
    ruled: Mapping[Pair, Ruling]
    report: Callable[[Progress], None]
    kept: dict[str, Facts] = field(default_factory=dict)
    judged: set[Pair] = field(default_factory=set)
    statuses: dict[str, str] = field(default_factory=dict)
    doubts: int = 0

    def facts(self, keys: Sequence[str]) -> dict[str, Facts]:
        """Facts of entities by key; those that are not there are left out."""
        if len(self.kept) > KEPT:
            self.kept.clear()
        missing = sorted(set(keys) - self.kept.keys())
        for part in _pages(missing):
            rows = self.store.facts(part, most=MOST_MENTIONS, recent=self.court.options.recent)
            self.kept |= {row["_key"]: facts(row) for row in rows}
        return {key: self.kept[key] for key in keys if key in self.kept}


def resolve(store: Store, options: IdentityOptions, report: Callable[[Progress], None]) -> ResolveReport:
    """Find out which entities are one, as far as they changed since the last run. The same graph gives the same result, and again none."""
    case = _opened(store.identities, options, report)
    _resplit(case)
    touched = case.store.touched(case.config)
    _key_names(case, touched)
    for number, page in enumerate(_pages(touched)):
        report(Progress("entities", "identity", number * PAGE, 2 * len(touched), "entities"))
        _compare(case, page)
    settled: set[str] = set()
    for number, page in enumerate(_pages(touched)):
        report(Progress("entities", "identity", len(touched) + number * PAGE, 2 * len(touched), "entities"))
        _settle(case, page, settled)
    statuses = list(case.statuses.values())
    confirmed, proposed, rejected = (statuses.count(status) for status in ("confirmed", "proposed", "rejected"))
    return ResolveReport(len(touched), len(case.judged), confirmed, proposed, rejected, case.doubts)


def _opened(store: Identities, options: IdentityOptions, report: Callable[[Progress], None]) -> _Case:
    """Where the cameras lie belongs to the configuration: a way that is told later changes what is possible."""
    places = sites(store.sites(), options.uncertainty_ms)
    log = tuple(decision(record) for record in store.decisions())
    told = content_key(options.config, repr(sorted(places.between.items())), repr(sorted(places.wrong.items())))
    return _Case(store, Court(options, places), told, log, rulings(standing(log)), report)


def _pages(items: Sequence[T], size: int = PAGE) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]


# --- splits -------------------------------------------------------------------------------------------------------------


def _resplit(case: _Case) -> None:
    """What was split is split again where its document came again, and one again where the split was undone."""
    splits = [entry for entry in case.log if entry.kind == "split"]
    if not splits:
        return
    standing_now = {entry.number for entry in standing(case.log)}
    touched = set(case.store.touched(case.config))
    for source in dict.fromkeys(entry.entities[0] for entry in splits):
        family = [entry for entry in splits if entry.entities[0] == source]
        if touched & {source, *(entry.product for entry in family)}:
            case.store.split(source, _products(family, standing_now))


def _products(family: Sequence[Decision], standing_now: set[int]) -> list[tuple[str, dict[str, Any]]]:
    """Each product once, by the last decision that makes it: the same split can be made, undone and made again."""
    found: dict[str, dict[str, Any]] = {}
    for entry in family:
        chosen = entry.selection
        active = entry.number in standing_now
        if active or entry.product not in found:
            found[entry.product] = {
                "documents": chosen.documents, "chunks": chosen.chunks, "tracks": chosen.tracks, "name": entry.name,
                "active": active,
            }  # fmt: skip
    return list(found.items())


# --- candidates and judgements ------------------------------------------------------------------------------------------


def _key_names(case: _Case, touched: Sequence[str]) -> None:
    """Give every touched entity its name keys first, so that they find one another whatever their order."""
    options = case.court.options
    for page in _pages(touched):
        changed = []
        for row in case.store.profiles(page):
            names = () if row["followed"] or not options.names else (row["name"], *row["aliases"])
            keys = name_keys(row["type"], names, row["description"], options.phonetic) if names else []
            if keys != (row.get("name_keys") or []):
                changed.append({"_key": row["_key"], "name_keys": keys or None})
        if changed:
            case.store.write(entities=changed)


def _compare(case: _Case, page: Sequence[str]) -> None:
    """Judge the candidates of a page and put what is likely enough as proposals; what no longer is goes."""
    rows = case.store.profiles(page)
    known = {edge["_key"]: edge for edge in case.store.edges(page)}
    more = _followed(case, page) if case.court.options.cooccurrence else {}
    pairs = {*_candidates(case, rows), *more, *map(_ends, known.values()), *_decided(case, set(page))}
    pairs = {couple for couple in pairs if couple not in case.judged}
    sides = case.facts(sorted({key for couple in pairs for key in couple}))
    judged = [
        judge(sides[a], sides[b], case.court, more.get((a, b), ()))
        for a, b in sorted(pairs)
        if a in sides and b in sides and sides[a].profile.type == sides[b].profile.type
    ]
    case.judged |= pairs
    edges = [edge for one in judged if (edge := _edge(case, one, known)) is not None]
    kept = {edge["_key"] for edge in edges}
    gone = [key for key, edge in known.items() if _ends(edge) in pairs and key not in kept]
    case.store.write(edges=[edge for edge in edges if edge != known.get(edge["_key"])], gone=gone)


def _candidates(case: _Case, rows: Sequence[Mapping[str, Any]]) -> set[Pair]:
    """Pairs that names or embeddings bring together and whose vertices are alike enough, and those that appearance may bring together."""
    options, page = case.court.options, [profile(row) for row in rows]
    found: set[Pair] = set()
    if options.names:
        found |= candidates.by_name(
            case.store, page, {key for row in rows for key in row.get("name_keys") or ()}, options
        )
    if options.embedding:
        found |= candidates.by_meaning(case.store, page, options)
    found = _promising(case, page, found - case.judged)
    return found | candidates.by_passing(case.store, page, case.court.sites) if options.appearance else found


def _promising(case: _Case, page: Sequence[Profile], pairs: set[Pair]) -> set[Pair]:
    known = {one.key: one for one in page}
    for part in _pages(sorted({key for couple in pairs for key in couple} - known.keys())):
        known |= {row["_key"]: profile(row) for row in case.store.profiles(part)}
    return {(a, b) for a, b in pairs if a in known and b in known and promising(known[a], known[b], case.court)}


def _followed(case: _Case, page: Sequence[str]) -> dict[Pair, tuple[Evidence, ...]]:
    """Followed objects and the names that fit them, judged by all the names that were there."""
    tracks = sorted({row["followed"] for row in case.store.together(page)})
    found: dict[Pair, tuple[Evidence, ...]] = {}
    for part in _pages(tracks):
        named = by_track(case.store.together(part))
        sides = case.facts(sorted({*named, *(key for keys in named.values() for key in keys)}))
        for track, keys in named.items():
            if track in part and track in sides and sides[track].followed:
                others = [sides[key] for key in keys if key in sides and not sides[key].followed]
                if others:
                    found |= {pair(track, key): (e,) for key, e in track_evidence(sides[track], others).items()}
    return found


def _decided(case: _Case, page: set[str]) -> set[Pair]:
    return {couple for couple, ruling in case.ruled.items() if ruling.kind != "split" and page & set(couple)}


def _ends(edge: Mapping[str, Any]) -> Pair:
    return edge["_from"].partition("/")[2], edge["_to"].partition("/")[2]


def _edge(case: _Case, judged: Judgement, known: Mapping[str, Mapping[str, Any]]) -> Record | None:
    """The SAME_AS edge of a judgement; None for what is neither likely nor decided. Its status is settled later and kept till then."""
    couple = judged.first, judged.second
    ruling = case.ruled.get(couple)
    decided = ruling is not None and ruling.kind != "split"
    if not decided and (judged.vetoed or judged.score < case.court.options.propose or ruling):
        return None
    first, second = (f"entities/{key}" for key in couple)
    key = edge_key(first, "SAME_AS", second)
    before = known.get(key, {})
    return {
        "_key": key, "_from": first, "_to": second, "score": judged.score, "method": "decision" if decided else judged.method,
        "evidence": [item.record() for item in judged.evidence], "status": before.get("status", "proposed"),
        "reason": before.get("reason"), "decision": ruling.number if ruling and decided else None,
    }  # fmt: skip


# --- clusters -----------------------------------------------------------------------------------------------------------


def _settle(case: _Case, page: Sequence[str], settled: set[str]) -> None:
    """Decide all the pairs that hang together with a page, name each cluster's representative, and mark the page as resolved."""
    seeds = [key for key in page if key not in settled]
    members, edges = _component(case, seeds)
    settled |= members
    outcome = clustered(_claims(case, edges), _ruled(case, members), _forbids(case, members, edges))
    rows = {row["_key"]: row for row in case.store.profiles(sorted({*members, *page}))}
    doubted = _doubts(case, [row for key, row in rows.items() if key in set(page)])
    entities = [
        record for key, row in rows.items() if (record := _resolved(case, row, outcome, members, set(page), doubted))
    ]
    case.store.write(edges=[edge for edge in edges.values() if _decide(case, edge, outcome)], entities=entities)


def _component(case: _Case, seeds: Sequence[str]) -> tuple[set[str], dict[str, dict[str, Any]]]:
    """Entities that may be one with the seeds, directly or by others, were one with them before, and all the edges of these."""
    members, edges, frontier = set(seeds), {}, list(seeds)
    while frontier:
        reached: set[str] = set(_family(case, frontier))
        for part in _pages(frontier):
            for edge in case.store.edges(part):
                edges[edge["_key"]] = edge
                if _joins(case, edge):
                    reached |= set(_ends(edge))
        frontier = sorted(reached - members)
        members |= reached
    return members, edges


def _family(case: _Case, keys: Sequence[str]) -> Iterator[str]:
    canonicals = {
        row["canonical"] for part in _pages(keys) for row in case.store.profiles(part) if row.get("canonical")
    }
    if canonicals:
        yield from case.store.family(sorted(canonicals))


def _joins(case: _Case, edge: Mapping[str, Any]) -> bool:
    ruling = case.ruled.get(_ends(edge))
    return ruling.same if ruling else edge["score"] >= case.court.options.confirm or edge["status"] == "confirmed"


def _claims(case: _Case, edges: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    bar = case.court.options.confirm
    return [Claim(*_ends(edge), _odds(edge), edge["score"] >= bar) for edge in edges.values()]


def _odds(edge: Mapping[str, Any]) -> float:
    return PRIOR + sum(float(item["weight"]) for item in edge["evidence"])


def _ruled(case: _Case, members: set[str]) -> dict[Pair, Ruling]:
    return {couple: ruling for couple, ruling in case.ruled.items() if members & set(couple)}


def _forbids(
    case: _Case, members: set[str], edges: Mapping[str, Mapping[str, Any]]
) -> Callable[[Sequence[str], Sequence[str]], str | None]:
    """What any two members of two clusters forbid. Facts are read at once, and only where something could be confirmed."""
    confirmable = any(_joins(case, edge) for edge in edges.values())
    needed = {*members, *(key for edge in edges.values() for key in _ends(edge))} if confirmable else set()
    sides = case.facts(sorted(needed))

    def forbids(ours: Sequence[str], theirs: Sequence[str]) -> str | None:
        one, other = ([sides[key] for key in keys if key in sides] for keys in (ours, theirs))
        for a in one:
            for b in other:
                if found := vetoes(a, b, case.court):
                    return found.text
        return _unlike(case, one, other)

    return forbids


def _unlike(case: _Case, ours: Sequence[Facts], theirs: Sequence[Facts]) -> str | None:
    """GEB's rule holds for the recent references of the whole cluster, and not only for the two that met."""
    options = case.court.options
    if not options.appearance:
        return None
    looks = [
        sorted((look for side in sides for look in side.looks), key=lambda look: -look.start_ms)
        for sides in (ours, theirs)
    ]
    found = appearance(looks[0], looks[1], options)
    return found.text if found and found.weight < 0 else None


def _decide(case: _Case, edge: dict[str, Any], outcome: Outcome) -> bool:
    """Settle an edge; whether that changed it."""
    couple = _ends(edge)
    before = edge["status"], edge["reason"]
    edge["status"], edge["reason"] = outcome.status[couple], outcome.reasons.get(couple)
    case.statuses[edge["_key"]] = edge["status"]
    return before != (edge["status"], edge["reason"])


def _doubts(case: _Case, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Entities that were in two places at once, with what was decided of that."""
    options = case.court.options
    moving = [r for r in rows if r["type"] in options.one_place and len(r["cameras"]) > 1 and not r["followed"]]
    if not options.veto:
        return {}
    found: dict[str, dict[str, Any]] = {}
    dismissed = {e.entities[0] for e in standing(case.log) if e.kind == "reject" and len(e.entities) == 1}
    for key, side in case.facts([row["_key"] for row in moving]).items():
        if told := doubt(side, case.court.sites):
            found[key] = {"status": "rejected" if key in dismissed else "proposed", **told}
    case.doubts += sum(one["status"] == "proposed" for one in found.values())
    return found


def _resolved(
    case: _Case, row: Mapping[str, Any], outcome: Outcome, members: set[str], page: set[str], doubted: Mapping[str, Any]
) -> Record | None:
    """What changes of an entity: its representative, and for one of the page its doubts and that it is resolved."""
    key = row["_key"]
    now: dict[str, Any] = {"canonical": outcome.canonical.get(key)} if key in members else {}
    if key in page:
        return {"_key": key, **now, "doubt": doubted.get(key), "resolved": case.config}
    changed = "canonical" in now and now["canonical"] != row.get("canonical")
    return {"_key": key, **now} if changed else None
