"""Ways a question enters the graph. Each gives chunks with a score, best first, under the same filters; what follows is the same for all.

chunks      chunks by meaning and words, fused by reciprocal rank: what happened when
entities    the entities most like the question, then the chunks they occur in: who, what, where
clips       the clips nearest to the question, and those around them along time and likeness (VideoStir, section "retrieval")
summaries   summaries of windows and themes first, then down to the chunks they rest on: questions about hours and days
rank        random walks from the question's entities and the chunks found, over who occurs where and who is linked to whom
relations   relations of who the question names, strict ones first (cascade.py), fused with what `chunks` finds
graph       chunks as by `chunks` and the entities most like the question, and the subgraph around them (payload.py)
auto        one of them, by the kind of question
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, get_args

from vgraph.errors import UserError
from vgraph.retrieve.cascade import ENOUGH, Form
from vgraph.retrieve.intent import question_kind
from vgraph.retrieve.payload import Around, subgraph
from vgraph.retrieve.relations import related
from vgraph.retrieve.trace import is_traced, stage
from vgraph.retrieve.walks import page_rank
from vgraph.store import Store
from vgraph.types import EvidenceRelation, EvidenceSummary, Filters, Hit, Subgraph

Way = Literal["chunks", "entities", "clips", "summaries", "rank", "relations", "graph", "auto"]
WAYS: tuple[Way, ...] = get_args(Way)
Fusion = Literal["rrf", "weighted"]
IntentBy = Literal["none", "frames", "captions"]
Order = Literal["time", "score"]
PackForm = Literal["text", "json", "messages"]
WIDE = re.compile(
    r"\b(?:summar\w*|overview|overall|in general|main(?:ly)?|topics?|themes?|what (?:all )?(?:happened|went on|was going on)"
    r"|(?:whole|entire|all) (?:day|week|month))\b",
    re.IGNORECASE,
)
LONG_MS = 2 * 3_600_000
"""`auto` asks summaries about any longer span than this when nothing more special is asked."""
MENTIONS = 50
"""Chunks of one entity that a walk may visit."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How retrieval goes. way: see above; k: chunks returned; leg_k: candidates of each search; rrf_k: constant of reciprocal rank
    fusion; hops: of relations, 0 to 4; neighbours: chunks before and after; entities, summaries: how many of them lead to chunks;
    anchors, clip_hops, eta, clip_edges: of the clip graph (VideoStir: N=3, L=2, eta=0.4); vector_weight, text_weight: of meaning and
    words among chunks;
    utterance_weight, entity_weight, summary_weight, frame_weight: of further legs, each leading to chunks (0: off);
    fusion: of all legs, by rank or by score; rerank: how many candidates a reranker reads, where there is one;
    mmr: relevance against novelty (1: relevance alone), None: no diversifying; cascade, enough: of the search for relations;
    graph_edges, graph_nodes: of the subgraph; intent: what a rater looks at, intent_threshold: what it keeps, from 1 to 5,
    intent_frames: how many frames of a clip it sees; order and pack: of the evidence's text.
    """

    k: int = 10
    leg_k: int = 30
    rrf_k: int = 60
    hops: int = 2
    neighbours: int = 1
    token_budget: int = 6000
    way: Way = "chunks"
    entities: int = 5
    summaries: int = 4
    anchors: int = 3
    clip_hops: int = 2
    eta: float = 0.4
    clip_edges: tuple[str, ...] = ("NEXT_CHUNK", "SIMILAR_TO")
    vector_weight: float = 0.5
    text_weight: float = 1.0
    utterance_weight: float = 0.0
    entity_weight: float = 0.0
    summary_weight: float = 0.0
    frame_weight: float = 0.0
    fusion: Fusion = "weighted"
    rerank: int = 50
    mmr: float | None = None
    cascade: Form = "window"
    enough: int = ENOUGH
    graph_edges: tuple[str, ...] = ("NEXT_CHUNK", "SIMILAR_TO", "HAS_ENTITY", "LINKS_TO", "IN_SUMMARY")
    graph_nodes: int = 500
    intent: IntentBy = "none"
    intent_threshold: float = 3.25
    intent_frames: int = 4
    order: Order = "time"
    pack: PackForm = "text"


class How(TypedDict, total=False):
    """What a caller may choose for one question; what is left out, or None, is as the settings (`retrieve.*`) say. See Profile."""

    k: int | None
    profile: Way | None
    leg_k: int | None
    rrf_k: int | None
    hops: int | None
    neighbours: int | None
    token_budget: int | None
    entities: int | None
    summaries: int | None
    anchors: int | None
    clip_hops: int | None
    eta: float | None
    clip_edges: tuple[str, ...] | None
    vector_weight: float | None
    text_weight: float | None
    utterance_weight: float | None
    entity_weight: float | None
    summary_weight: float | None
    frame_weight: float | None
    fusion: Fusion | None
    rerank: int | None
    mmr: float | None
    cascade: Form | None
    enough: int | None
    graph_edges: tuple[str, ...] | None
    graph_nodes: int | None
    intent: IntentBy | None
    intent_threshold: float | None
    intent_frames: int | None
    order: Order | None
    pack: PackForm | None


@dataclass(frozen=True, slots=True)
class Found:
    """Where a question entered: by which way, the chunks, and what it came by: summaries, relations with the levels asked, a subgraph."""

    way: Way
    hits: tuple[Hit, ...]
    summaries: tuple[EvidenceSummary, ...] = ()
    relations: tuple[EvidenceRelation, ...] = ()
    levels: tuple[str, ...] = ()
    graph: Subgraph | None = None


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    vector: Sequence[float]
    filters: Filters
    profile: Profile
    store: Store
    pool: int
    tz: str
    within: Filters
    picture: Picture | None = None


Picture = Callable[[str], Sequence[float]]
"""The vector of a text in the space of pictures."""


def enter(
    question: str, vector: Sequence[float], filters: Filters, profile: Profile, store: Store, *, pool: int = 0, tz: str = "UTC",
    within: Filters | None = None, picture: Picture | None = None,
) -> Found:  # fmt: skip
    """The chunks a profile enters the graph by: k of them, or `pool` where that is more. `tz` is the zone in which days are meant.

    A search for relations may relax the span of `filters`, but nothing comes back that is not `within` these.
    """
    asked = _Question(
        question,
        vector,
        filters,
        profile,
        store,
        max(profile.k, pool),
        tz,
        filters if within is None else within,
        picture,
    )
    way = chosen(question, filters) if profile.way == "auto" else profile.way
    with stage(f"enter by {way}") as tell:
        found = _FOUND[way](asked) if way in _FOUND else Found(way, _WAYS[way](asked))
        tell(lambda: map(_told, found.hits))
    return found


def _told(hit: Hit) -> Mapping[str, Any]:
    level = {"level": hit.level} if hit.level else {}
    return {"chunk": hit.chunk, "score": hit.score, "ranks": dict(hit.ranks), "scores": dict(hit.scores), **level}


def chosen(question: str, filters: Filters) -> Way:
    """The way for a kind of question: summaries for wide ones, else chunks, which find most of all others (README, "Evaluation")."""
    kind = question_kind(question)
    long = filters.start_ms is not None and filters.end_ms is not None and filters.end_ms - filters.start_ms > LONG_MS
    if WIDE.search(question) and (kind == "what" or long):
        return "summaries"
    return "chunks"


def _chunks(asked: _Question) -> tuple[Hit, ...]:
    """What the two legs found, fused. Where it is traced, all that either found is told, and the best are taken of it."""
    with stage(f"legs, fused by {asked.profile.fusion}") as tell:
        hits = _fused(asked, max(asked.pool, 2 * asked.profile.leg_k) if is_traced() else asked.pool)
        tell(lambda: map(_told, hits))
    return hits[: asked.pool]


def _fused(asked: _Question, k: int) -> tuple[Hit, ...]:
    """What all legs found, joined."""
    hits = _by_chunks(asked, k)
    for leg, (weight, find) in _LEGS.items():
        if share := weight(asked.profile):
            hits = _joined(_hits(find(asked), leg), hits, asked.profile, share)
    return hits[:k]


def _by_chunks(asked: _Question, k: int) -> tuple[Hit, ...]:
    """By meaning and by words of the chunks themselves."""
    p, weights = asked.profile, (asked.profile.vector_weight, asked.profile.text_weight)
    leg_k = max(p.leg_k, asked.pool)
    if p.fusion == "weighted":
        return asked.store.weighted_chunks(asked.vector, asked.text, asked.filters, k=k, leg_k=leg_k, weights=weights)
    return asked.store.hybrid_chunks(
        asked.vector, asked.text, asked.filters, k=k, leg_k=leg_k, rrf_k=p.rrf_k, weights=weights
    )


def _entities(asked: _Question) -> tuple[Hit, ...]:
    p = asked.profile
    rows = asked.store.finding.by_entities(
        asked.vector, asked.text, asked.filters, leg_k=p.leg_k, rrf_k=p.rrf_k, most=p.entities, k=asked.pool
    )
    return _hits(rows, "entities")


def _clips(asked: _Question) -> tuple[Hit, ...]:
    p = asked.profile
    rows = asked.store.finding.clips(
        asked.vector, asked.filters, anchors=p.anchors, hops=p.clip_hops, eta=p.eta, kinds=p.clip_edges, k=asked.pool
    )
    return _hits(rows, "clips")


def _summaries(asked: _Question) -> Found:
    p, finding = asked.profile, asked.store.finding
    above = finding.communities(asked.vector, asked.text, asked.filters, leg_k=p.leg_k, rrf_k=p.rrf_k, k=p.summaries)
    scores = {row["_id"]: row["score"] for row in above}
    below = finding.chunks_of_communities(scores, asked.vector, asked.filters, k=asked.pool) if scores else []
    found = tuple(_summary(row) for row in above)
    return Found("summaries", _hits(below, "summaries"), found) if below else Found("chunks", _chunks(asked), found)


def _relations(asked: _Question) -> Found:
    """Chunks of relations, fused with what the legs found as a third leg; where no level finds any, the legs alone count."""
    p = asked.profile
    found = related(
        asked.text, asked.vector, asked.filters, asked.store, form=p.cascade, enough=p.enough, tz=asked.tz, within=asked.within,
        by_words=lambda filters: by_words(asked.text, asked.vector, filters, asked.store, p.k),
    )  # fmt: skip
    hits = _joined(found.hits, _chunks(asked), p) if found.hits else _chunks(asked)
    return Found("relations" if found.hits else "chunks", hits[: asked.pool], (), found.relations, found.asked)


def _joined(related: Sequence[Hit], legs: Sequence[Hit], profile: Profile, weight: float = 1.0) -> tuple[Hit, ...]:
    """Hits of both, each with its rank in every leg; what `related` ranks counts as a leg of a weight does."""

    def share(place: int) -> float:
        return weight * (1 / (profile.rrf_k + place) if profile.fusion == "rrf" else 1 - (place - 1) / len(related))

    joined = {hit.chunk: hit for hit in legs}
    for place, hit in enumerate(related, 1):
        other = joined.get(hit.chunk, Hit(hit.chunk, 0.0, {}))
        joined[hit.chunk] = Hit(
            hit.chunk,
            other.score + share(place),
            {**other.ranks, **hit.ranks},
            {**other.scores, **hit.scores},
            hit.level,
        )
    return tuple(sorted(joined.values(), key=lambda hit: (-hit.score, hit.chunk)))


def _said(asked: _Question) -> list[dict[str, Any]]:
    return asked.store.finding.by_utterances(asked.text, asked.filters, k=asked.profile.leg_k)


def _named(asked: _Question) -> list[dict[str, Any]]:
    p = asked.profile
    return asked.store.finding.by_entities(
        asked.vector, asked.text, asked.filters, leg_k=p.leg_k, rrf_k=p.rrf_k, most=p.entities, k=p.leg_k
    )


def _summed(asked: _Question) -> list[dict[str, Any]]:
    p, finding = asked.profile, asked.store.finding
    above = finding.communities(asked.vector, asked.text, asked.filters, leg_k=p.leg_k, rrf_k=p.rrf_k, k=p.summaries)
    scores = {row["_id"]: row["score"] for row in above}
    return finding.chunks_of_communities(scores, asked.vector, asked.filters, k=p.leg_k) if scores else []


def _pictured(asked: _Question) -> list[dict[str, Any]]:
    """Chunks of the pictures nearest to the question, each once. Raises UserError where no model finds pictures by text."""
    if asked.picture is None:
        raise UserError(
            "retrieve.frame_weight needs pictures that can be found by text: set VGRAPH_MODELS__IMAGE_EMBED and ingest with it, "
            "or set VGRAPH_RETRIEVE__FRAME_WEIGHT=0"
        )
    rows = asked.store.finding.frames(asked.picture(asked.text), asked.filters, k=asked.profile.leg_k)
    best: dict[str, dict[str, Any]] = {}
    for row in rows:
        best.setdefault(row["chunk"], row)
    return list(best.values())


_LEGS: Mapping[str, tuple[Callable[[Profile], float], Callable[[_Question], list[dict[str, Any]]]]] = {
    "utterances": (lambda p: p.utterance_weight, _said),
    "entities": (lambda p: p.entity_weight, _named),
    "summaries": (lambda p: p.summary_weight, _summed),
    "frames": (lambda p: p.frame_weight, _pictured),
}
"""Legs beside those over the chunks themselves: their weight in a profile, and the chunks they lead to, best first."""


def by_words(text: str, vector: Sequence[float], filters: Filters, store: Store, k: int) -> list[str]:
    """Keys of the chunks found by words alone, the best first."""
    return [hit.chunk for hit in store.hybrid_chunks(vector, text, filters, k=k, leg_k=k, rrf_k=60, weights=(0.0, 1.0))]


def _graph(asked: _Question) -> Found:
    """The chunks as by `chunks`, and the subgraph around the best k of them and the entities most like the question."""
    p, hits = asked.profile, _chunks(asked)
    anchors = {f"chunks/{hit.chunk}": hit.score for hit in hits[: p.k]} | _entity_anchors(asked)
    around = Around(p.hops, p.graph_edges, p.eta, p.graph_nodes)
    made = subgraph(asked.text, asked.vector, anchors, asked.filters, asked.store, around)
    return Found("graph", hits, graph=made)


def _entity_anchors(asked: _Question) -> dict[str, float]:
    """The entities most like the question that occur where the filters allow, each as good as its place."""
    p = asked.profile
    rows = asked.store.finding.by_entities(
        asked.vector, asked.text, asked.filters, leg_k=p.leg_k, rrf_k=p.rrf_k, most=p.entities, k=p.k
    )
    found = dict.fromkeys(entity for row in rows for entity in row["entities"])
    return {entity: 1 / (p.rrf_k + place) for place, entity in enumerate(found, 1)}


def _summary(row: Mapping[str, Any]) -> EvidenceSummary:
    return EvidenceSummary(
        row["_key"], row["kind"], row["level"], row["title"], row["summary"], row["method"], tuple(row["cameras"]), row["start_ms"],
        row["end_ms"],
    )  # fmt: skip


def _rank(asked: _Question) -> tuple[Hit, ...]:
    """A walker begins at the chunks found and at the entities most like the question, each as often as it was found."""
    p, finding = asked.profile, asked.store.finding
    begun = {f"chunks/{hit.chunk}": hit.score for hit in _chunks(replace(asked, pool=p.k))}
    rows = finding.by_entities(
        asked.vector, asked.text, asked.filters, leg_k=p.leg_k, rrf_k=p.rrf_k, most=p.entities, k=p.k
    )
    named = {entity: 1 / p.rrf_k for row in rows for entity in row["entities"]}
    around = finding.rank_graph(list(begun), list(named), asked.filters, most=MENTIONS)
    edges = [(chunk, entity, 1.0) for chunk, entity in around["mentions"]] + [
        (a, b, float(n)) for a, b, n in around["links"]
    ]
    ranks = page_rank(edges, begun | named)
    best = sorted(
        ((rank, name) for name, rank in ranks.items() if name.startswith("chunks/")), key=lambda r: (-r[0], r[1])
    )
    return _hits([{"chunk": name.removeprefix("chunks/"), "score": rank} for rank, name in best[: asked.pool]], "rank")


def _hits(rows: Sequence[Mapping[str, Any]], leg: str) -> tuple[Hit, ...]:
    return tuple(Hit(row["chunk"], row["score"], {leg: rank}) for rank, row in enumerate(rows, 1))


_WAYS: Mapping[Way, Callable[[_Question], tuple[Hit, ...]]] = {
    "chunks": _chunks, "entities": _entities, "clips": _clips, "rank": _rank,
}  # fmt: skip
_FOUND: Mapping[Way, Callable[[_Question], Found]] = {"summaries": _summaries, "relations": _relations, "graph": _graph}
