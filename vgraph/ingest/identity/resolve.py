"""Entities -> candidates -> judgements -> SAME_AS, and clusters with one representative each.

Only entities that changed since the last run are looked at, with whom they may be one with. Every step writes what it found before the
next begins, and marks an entity as resolved last of all: killed anywhere, the next run ends in the same graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from vgraph.ingest.identity import candidates
from vgraph.ingest.identity.clusters import Claim, Outcome, clustered
from vgraph.ingest.identity.decisions import Decision, Pair, Ruling, decision, pair, rulings, standing
from vgraph.ingest.identity.doubts import doubt
from vgraph.ingest.identity.facts import Caption, Facts, Profile, facts, profile
from vgraph.ingest.identity.following import by_track, named_as
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
"""Entities of which all that was read is kept in memory while others are compared with them."""
KNOWN = 200_000
"""Entities of which what their vertices say is kept: candidates are told from strangers by it, about a kilobyte each."""


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
    known: dict[str, Profile] = field(default_factory=dict)
    judged: set[Pair] = field(default_factory=set)
    told: dict[str, frozenset[Caption]] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    doubts: int = 0
    names: candidates.Names | None = None
    meanings: candidates.Meanings | None = None

    def facts(self, keys: Sequence[str]) -> dict[str, Facts]:
        """Facts of entities by key; those that are not there are left out."""
        for old in list(islice(self.kept, max(0, len(self.kept) - KEPT))):
            del self.kept[old]
        missing = sorted(set(keys) - self.kept.keys())
        for part in _pages(missing):
            rows = self.store.facts(part, most=MOST_MENTIONS, recent=self.court.options.recent)
            self.kept |= {row["_key"]: facts(row) for row in rows}
        return {key: self.kept[key] for key in keys if key in self.kept}

    def profiles(self, page: Sequence[Profile], keys: set[str]) -> Mapping[str, Profile]:
        """Profiles of entities by key, and those of the page."""
        if len(self.known) > KNOWN:
            self.known.clear()
        self.known |= {one.key: one for one in page}
        for part in _pages(sorted(keys - self.known.keys())):
            self.known |= {row["_key"]: profile(row) for row in self.store.profiles(part)}
        return self.known

    def captions(self, documents: Sequence[str]) -> frozenset[Caption]:
        """All captions of documents that name anything."""
        missing = [key for key in documents if key not in self.told]
        found: dict[str, set[Caption]] = {key: set() for key in missing}
        for document, start, end in self.store.captions(missing) if missing else ():
            found[document].add((document, start, end))
        self.told |= {key: frozenset(captions) for key, captions in found.items()}
        return frozenset().union(*(self.told[key] for key in documents))


def resolve(store: Store, options: IdentityOptions, report: Callable[[Progress], None]) -> ResolveReport:
    """Find out which entities are one, as far as they changed since the last run. The same graph gives the same result, and again none.

    Names come to followed objects last: by then the tracks that look alike are one object, and the spellings of a name one name.
    """
    if options.embedding:
        store.ensure_vector_indexes()
    case = _opened(store.identities, options, report)
    _resplit(case)
    touched = case.store.touched(case.config)
    case.meanings = candidates.Meanings(case.store, options, _key_names(case, touched))
    case.names = candidates.Names(case.store, options, frozenset(touched))
    for page in _told(case, touched, "compare"):
        _compare(case, page)
    _settle_all(case, touched, False)
    named: set[str] = set()
    if options.cooccurrence:
        for page in _told(case, touched, "name"):
            named |= _name_followed(case, page)
    _settle_all(case, sorted({*touched, *named}), True)
    statuses = list(case.statuses.values())
    confirmed, proposed, rejected = (statuses.count(status) for status in ("confirmed", "proposed", "rejected"))
    return ResolveReport(len(touched), len(case.judged), confirmed, proposed, rejected, case.doubts)


def _told(case: _Case, keys: Sequence[str], stage: str) -> Iterator[Sequence[str]]:
    """Pages, the progress told before each."""
    for number, page in enumerate(_pages(keys)):
        case.report(Progress("entities", f"identity: {stage}", number * PAGE, len(keys), "entities"))
        yield page


def _settle_all(case: _Case, keys: Sequence[str], last: bool) -> None:
    """Decide all pairs of these entities; only the `last` time are they marked as resolved."""
    settled: set[str] = set()
    for page in _told(case, keys, "decide"):
        _settle(case, page, settled, last)


def _opened(store: Identities, options: IdentityOptions, report: Callable[[Progress], None]) -> _Case:
    """Where the cameras lie belongs to the configuration: a way that is told later changes what is possible."""
    places = sites(store.sites(), options.uncertainty_ms)
    log = tuple(decision(record) for record in store.decisions())
    told = content_key(options.config, repr(sorted(places.between.items())), repr(sorted(places.wrong.items())))
    return _Case(store, Court(options, places), told, log, rulings(standing(log)), report)


def _pages(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), PAGE):
        yield items[begin : begin + PAGE]


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


def _key_names(case: _Case, touched: Sequence[str]) -> Mapping[str, int]:
    """Give every touched entity its name keys first, so that they find one another whatever their order.

    How many there are of each type whose embeddings tell something.
    """
    options, told = case.court.options, Counter[str]()
    for page in _pages(touched):
        changed = []
        for row in case.store.profiles(page):
            names = () if row["followed"] or not options.names else (row["name"], *row["aliases"])
            keys = name_keys(row["type"], names, row["description"], options.phonetic) if names else []
            if keys != (row["name_keys"] or []):
                changed.append({"_key": row["_key"], "name_keys": keys or None})
            told[row["type"]] += candidates.is_told(profile(row))
        if changed:
            case.store.write(entities=changed)
    return told


def _compare(case: _Case, page: Sequence[str]) -> None:
    """Judge the candidates of a page and put what is likely enough as proposals; what no longer is goes."""
    rows = case.store.profiles(page)
    known = {edge["_key"]: edge for edge in case.store.edges(page)}
    before = {_ends(edge) for edge in known.values() if edge["config"] == case.config}
    pairs = {*_candidates(case, rows), *before, *_decided(case, set(page))} - case.judged
    kept = _put(case, dict.fromkeys(pairs, ()), known | _edges_beside(case, set(page), pairs))
    case.judged |= pairs
    gone = [key for key, edge in known.items() if key not in kept and not _judged_already(case, edge, pairs)]
    case.store.write(gone=gone)


def _edges_beside(case: _Case, page: set[str], pairs: set[Pair]) -> dict[str, dict[str, Any]]:
    """The edges that pairs of others than the page have by now."""
    beside = sorted({one for one, other in pairs if one not in page and other not in page})
    return {edge["_key"]: edge for part in _pages(beside) for edge in case.store.edges(part)}


def _put(case: _Case, pairs: Mapping[Pair, tuple[Evidence, ...]], known: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Judge pairs, each with what was found on the way to it, and write the edges that come of it; their keys."""
    sides = case.facts(sorted({key for couple in pairs for key in couple}))
    judged = [
        judge(sides[a], sides[b], case.court, more)
        for (a, b), more in sorted(pairs.items())
        if a in sides and b in sides and sides[a].profile.type == sides[b].profile.type
    ]
    edges = [edge for one in judged if (edge := _edge(case, one, known)) is not None]
    case.store.write(edges=[edge for edge in edges if not edge.items() <= known.get(edge["_key"], {}).items()])
    return {edge["_key"] for edge in edges}


def _judged_already(case: _Case, edge: Mapping[str, Any], pairs: set[Pair]) -> bool:
    """Whether an earlier page of this run has written the edge."""
    return _ends(edge) in case.judged and _ends(edge) not in pairs


def _candidates(case: _Case, rows: Sequence[Mapping[str, Any]]) -> set[Pair]:
    """Pairs that names or embeddings bring together and whose vertices are alike enough, and those that appearance may bring together."""
    options, page = case.court.options, [profile(row) for row in rows]
    found: set[Pair] = set()
    if options.names and case.names:
        found |= case.names.of(key for row in rows for key in row["name_keys"] or ())
    if options.embedding and case.meanings:
        found |= case.meanings.of(page)
    found = _promising(case, page, found - case.judged)
    return found | candidates.by_passing(case.store, page, case.court.sites, options) if options.appearance else found


def _promising(case: _Case, page: Sequence[Profile], pairs: set[Pair]) -> set[Pair]:
    known = case.profiles(page, {key for couple in pairs for key in couple})
    return {(a, b) for a, b in pairs if a in known and b in known and promising(known[a], known[b], case.court)}


def _name_followed(case: _Case, page: Sequence[str]) -> set[str]:
    """Judge which names the followed objects bear that were seen where somebody of the page was named; their representatives."""
    tracks = sorted({row["followed"] for row in case.store.together(page)})
    objects = _grouped(case, tracks)
    named = by_track(row for part in _pages(sorted(objects)) for row in case.store.together(part))
    names = _grouped(case, sorted({key for keys in named.values() for key in keys}))
    groups: dict[str, list[str]] = {}
    for key, root in sorted(objects.items()):
        groups.setdefault(root, []).append(key)
    for root, members in groups.items():
        _name(
            case,
            root,
            members,
            sorted({names[key] for key in members for key in named.get(key, ()) if key in names}),
            names,
        )
    return set(groups)


def _name(case: _Case, root: str, members: Sequence[str], candidates: Sequence[str], names: Mapping[str, str]) -> None:
    """Put an edge between a followed object and the name that fits it best, and judge anew those it had before."""
    sides = case.facts(members)
    tracks = [sides[key] for key in members if key in sides and sides[key].followed]
    known = {edge["_key"]: edge for edge in case.store.edges(members)}
    pairs: dict[Pair, tuple[Evidence, ...]] = {_ends(edge): () for edge in known.values() if _by_captions(edge)}
    wanted = [key for key, other in names.items() if other in candidates]
    found = case.facts(wanted)
    told = {one: [found[key] for key in wanted if names[key] == one and key in found] for one in candidates}
    named = {one: sides for one, sides in told.items() if any(not side.followed for side in sides)}
    best = named_as(tracks, named, case.captions(sorted({p.document for side in tracks for p in side.presences})))
    if best and tracks:
        pairs[pair(min(side.key for side in tracks), best[0])] = (best[1],)
    kept = _put(case, pairs, known)
    case.store.write(gone=[key for key, edge in known.items() if _ends(edge) in pairs and key not in kept])


def _by_captions(edge: Mapping[str, Any]) -> bool:
    return any(item["kind"] == "captions" for item in edge["evidence"])


def _grouped(case: _Case, keys: Sequence[str]) -> dict[str, str]:
    """Entities and all that are one with them by now: key -> representative."""
    roots = {row["_key"]: row["canonical"] or row["_key"] for part in _pages(keys) for row in case.store.clusters(part)}
    return roots | case.store.family(sorted(set(roots.values())))


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
        "reason": before.get("reason"), "decision": ruling.number if ruling and decided else None, "config": case.config,
    }  # fmt: skip


# --- clusters -----------------------------------------------------------------------------------------------------------


def _settle(case: _Case, page: Sequence[str], settled: set[str], last: bool) -> None:
    """Decide all the pairs that hang together with a page, name each cluster's representative, and at last mark the page as resolved."""
    seeds = [key for key in page if key not in settled]
    members, edges = _component(case, seeds)
    settled |= members
    outcome = clustered(_claims(case, edges), _ruled(case, members, edges), _forbids(case, members, edges))
    rows = {row["_key"]: row for part in _pages(sorted({*members, *page})) for row in case.store.clusters(part)}
    called = _called(case, outcome.canonical)
    now = {key: {"canonical": outcome.canonical.get(key), "called": called.get(key)} for key in members if key in rows}
    changes: dict[str, dict[str, Any]] = {
        key: {**cluster, "regrouped": True}
        for key, cluster in now.items()
        if any(value != rows[key].get(name) for name, value in cluster.items())
    }
    if last:
        doubted = _doubts(case, case.store.profiles(page))
        for key in page:
            if key in rows:
                changes.setdefault(key, {}).update(doubt=doubted.get(key), resolved=case.config)
    records = [{"_key": key, **_still(rows[key], now)} for key, now in sorted(changes.items())]
    case.store.write(edges=[edge for edge in edges.values() if _decide(case, edge, outcome)], entities=records)


def _called(case: _Case, canonical: Mapping[str, str]) -> dict[str, str]:
    """What each cluster's members are called together: the name most often mentioned, of those that are names."""
    sides = case.facts(sorted(canonical))
    best: dict[str, tuple[tuple[bool, int, int, str], str]] = {}
    for key, root in canonical.items():
        if key in sides:
            side, name = sides[key], sides[key].profile.name
            rank = (not side.followed, len(side.chunks), len(name), name)
            best[root] = max(best.get(root, (rank, name)), (rank, name))
    return {key: best[root][1] for key, root in canonical.items() if root in best}


def _still(row: Mapping[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """An entity that was resolved stays so while only its cluster changes: nothing of its own did."""
    return {"resolved": row["resolved"], **now} if row.get("resolved") else now


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
    canonicals = {row["canonical"] for part in _pages(keys) for row in case.store.clusters(part) if row["canonical"]}
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


def _ruled(case: _Case, members: set[str], edges: Mapping[str, Mapping[str, Any]]) -> dict[Pair, Ruling]:
    """Decisions about the members; what was joined with an entity that is gone waits until it comes again."""
    there = {_ends(edge) for edge in edges.values()}
    about = ((couple, ruling) for couple, ruling in case.ruled.items() if members & set(couple))
    return {couple: ruling for couple, ruling in about if couple in there or not ruling.same}


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
