"""Question -> Hit -> Evidence: one hybrid query, the entities around it, neighbours along time, packed."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from vgraph.errors import UserError
from vgraph.models import Embedder, Rater, Reranker
from vgraph.retrieve.asked import in_time
from vgraph.retrieve.intent import around as event_named
from vgraph.retrieve.intent import cameras_named, understood
from vgraph.retrieve.pack import pack
from vgraph.retrieve.profiles import Found, Profile, enter
from vgraph.retrieve.relevance import Look, Picture, Rated, by_captions, by_frames
from vgraph.retrieve.rerank import diversified, reranked
from vgraph.retrieve.times import TimeSpan, time_span, with_time, without_times
from vgraph.retrieve.trace import stage
from vgraph.store import Store
from vgraph.store.run import resolving_once
from vgraph.types import Evidence, EvidenceChunk, EvidenceEntity, EvidenceRelation, Filters, Hit, Line, Occurrence

ENTITY_LIMIT = 12
RELATION_LIMIT = 60
EVERYTHING = Filters()
SOME_MS = 86_400_000
"""Any moment, to see whether a question names a time at all."""


class QueryVectors:
    """Embeds questions, keeping the last ones: a query embedding can cost more than the retrieval."""

    def __init__(self, embedder: Embedder, size: int = 256) -> None:
        self._embedder, self._size = embedder, size
        self._kept: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, text: str) -> list[float]:
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
                return self._kept[text]
        vector: list[float] = self._embedder.embed([text], query=True)[0].tolist()
        with self._lock:
            self._kept[text] = vector
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return vector

    def similarity(self, question: str, texts: Sequence[str]) -> list[float]:
        """Cosine of a question with each of some texts."""
        import numpy as np

        scores: list[float] = (self._embedder.embed(texts) @ np.asarray(self(question), dtype=np.float32)).tolist()
        return scores


@dataclass(frozen=True, slots=True)
class Aids:
    """Models that may better what was found, how to see pictures of a chunk, and the vector of a text among pictures; None: left out."""

    reranker: Reranker | None = None
    picture: Callable[[str], Sequence[float]] | None = field(default=None, kw_only=True)
    rater: Rater | None = None
    look: Look | None = None


NO_AIDS = Aids()


def retrieve(
    question: str, store: Store, vectors: QueryVectors, filters: Filters = EVERYTHING, profile: Profile | None = None,
    aids: Aids = NO_AIDS,
) -> Evidence:  # fmt: skip
    """Evidence for a question. A time the question names becomes a filter unless the caller gave one; filters hold in every step.

    Raises ModelError where a reranker or a rater that was asked for fails.
    """
    with resolving_once():
        return _retrieved(question, store, vectors, filters, profile or Profile(), aids)


def _retrieved(
    question: str, store: Store, vectors: QueryVectors, filters: Filters, profile: Profile, aids: Aids
) -> Evidence:
    cameras = [c for c in store.camera_names() if asked_of(c, filters)]
    span = time_named(question, store, filters, cameras)
    within, filters = filters, with_time(filters, span)
    event = _event_around(question, store, filters)
    if event is not None:
        filters = within = event.filters
    found = entered(
        question, vectors(question), filters, profile, store, aids.reranker, _zone(cameras), within, aids.picture
    )
    if any(hit.level for hit in found.hits):
        filters = within  # a looser level may reach beyond the time that the question names, never beyond what the caller allows
    keys = [hit.chunk for hit in found.hits]
    with stage("neighbours") as tell:
        around = store.stitch_chunks(keys, filters, neighbours=profile.neighbours)
        tell(lambda: around)
    with stage("hops") as tell:
        graph = _expanded(keys, store, filters, profile)
        tell(lambda: _by_hop(graph))
    reached = _reached(found.hits, around, graph["relations"])
    chunks = evidence_chunks(reached, store.read_chunks([key for key, _, _ in reached], filters), filters)
    chunks = chunks if event is None else event.others(chunks)
    relations = _with_levels(found.relations, _relations(graph))
    entities = _entities(graph)
    packed = pack(chunks, relations, profile.token_budget, question=question, order=profile.order, form=profile.pack)
    rated = _rated(packed.chunks, question, profile, aids, filters)
    if rated.ratings:
        left = {chunk.id for chunk in rated.chunks}
        packed = pack(
            rated.chunks, [r for r in relations if r.chunk in left], profile.token_budget, question=question,
            order=profile.order, form=profile.pack,
        )  # fmt: skip
    return Evidence(
        question, filters, found.hits, packed.chunks, entities, packed.relations, packed.text, packed.tokens, profile.token_budget,
        _coverage(question, store, filters, cameras),
        replace(understood(question, cameras, (e.name for e in entities), span), event=None if event is None else event.occurrence),
        found.summaries, found.way, found.levels, rated.ratings, found.graph, rated.warnings,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Beside:
    """The event that a question is asked around, the filters that it leaves, and chunks without the lines that tell of it."""

    occurrence: Occurrence
    filters: Filters
    others: Callable[[Sequence[EvidenceChunk]], list[EvidenceChunk]]


def _event_around(question: str, store: Store, filters: Filters) -> _Beside | None:
    """The event that a question is asked around, if it is asked around one that the graph tells of."""
    if event_named(without_times(question)) is None:
        return None
    from vgraph.retrieve import around as beside  # it reads chunks as this module does
    from vgraph.retrieve.facts import Facts

    found = beside.event_around(question, Facts(store), filters)
    if found is None:
        return None
    return _Beside(found.occurrence, beside.beside(filters, found), lambda chunks: beside.without_event(chunks, found))


def asked_of(camera: Mapping[str, Any], filters: Filters) -> bool:
    """Whether the filters let look at a camera."""
    there = filters.places is None or camera["place"].casefold() in {place.casefold() for place in filters.places}
    return there and (filters.cameras is None or camera["_key"] in filters.cameras)


def entered(
    question: str, vector: Sequence[float], filters: Filters, profile: Profile, store: Store, reranker: Reranker | None, tz: str = "UTC",
    within: Filters = EVERYTHING, picture: Callable[[str], Sequence[float]] | None = None,
) -> Found:  # fmt: skip
    """The k chunks a question enters by, in their last order: of more candidates where a reranker reads them or they are to differ."""
    reader = reranker if profile.rerank else None
    pool = max(profile.rerank if reader else 0, profile.leg_k if profile.mmr is not None else 0)
    found = enter(question, vector, filters, profile, store, pool=pool, tz=tz, within=within, picture=picture)
    hits: Sequence[Hit] = found.hits
    if reader is not None:
        hits = reranked(hits, question, _texts(hits[: profile.rerank], store, filters), reader, profile.rerank)
    if profile.mmr is not None:
        hits = diversified(hits, store.chunk_embeddings([hit.chunk for hit in hits]), profile.k, profile.mmr)
    return replace(found, hits=tuple(hits[: profile.k]))


def _texts(hits: Sequence[Hit], store: Store, filters: Filters) -> dict[str, str]:
    """What chunks say in the time asked, by key."""
    rows = store.read_chunks([hit.chunk for hit in hits], filters)
    chunks = evidence_chunks([(hit.chunk, "hit", hit.score) for hit in hits], rows, filters)
    return {chunk.id: "\n".join(line.text for line in chunk.lines) for chunk in chunks}


def _rated(chunks: tuple[EvidenceChunk, ...], question: str, profile: Profile, aids: Aids, filters: Filters) -> Rated:
    """The chunks that would be told, less those that a rater finds to have nothing to do with the question."""
    if profile.intent == "none":
        return Rated(chunks, ())
    if aids.rater is None:
        raise UserError(
            f"retrieve.intent={profile.intent} needs a rater: set VGRAPH_MODELS__INTENT (auto, openai:MODEL, transformers:MODEL)"
        )
    threshold = profile.intent_threshold
    if profile.intent == "captions":
        return by_captions(chunks, question, aids.rater, threshold=threshold)

    def look(chunk: EvidenceChunk, most: int) -> list[Picture]:
        zero = chunk.start_ms - chunk.offset_ms
        seen = aids.look(chunk, most) if aids.look else ()
        return [picture for picture in seen if in_time(filters, chunk.tz, zero + picture[0], zero + picture[0])]

    return by_frames(chunks, question, aids.rater, look, threshold=threshold, frames=profile.intent_frames)


def _zone(cameras: Sequence[Mapping[str, Any]]) -> str:
    """The zone of the cameras; UTC where they have several."""
    zones = {camera["tz"] for camera in cameras}
    return str(zones.pop()) if len(zones) == 1 else "UTC"


def _by_hop(graph: Mapping[str, Any]) -> list[dict[str, Any]]:
    hops = Counter(relation["hop"] for relation in graph["relations"])
    return [
        {"hop": 0, "entities": len(graph["anchors"])},
        *({"hop": hop, "relations": hops[hop]} for hop in sorted(hops)),
    ]


def _with_levels(strict: Sequence[EvidenceRelation], around: Sequence[EvidenceRelation]) -> list[EvidenceRelation]:
    """Relations of a search for relations, each with its level, then the others that were reached."""
    known = {relation.id for relation in strict}
    return [*strict, *(relation for relation in around if relation.id not in known)]


def time_named(question: str, store: Store, filters: Filters, cameras: Sequence[Mapping[str, Any]]) -> TimeSpan | None:
    """The time the question names, read in the zone of the cameras asked about (UTC where they have several).

    The moment it is asked from is the end of the last recording that may influence the result.
    """
    named = cameras_named(question, cameras)
    asked = [camera for camera in cameras if camera["_key"] in named] or cameras
    zones = {camera["tz"] for camera in asked}
    zone = zones.pop() if len(zones) == 1 else "UTC"
    if time_span(question, zone, SOME_MS) is None:  # most questions name no time: nothing needs to be looked up
        return None
    last = store.last_recorded([camera["_key"] for camera in asked])
    if last is not None and filters.not_after is not None:
        last = min(last, filters.not_after)
    return time_span(question, zone, last)


def _coverage(
    question: str, store: Store, filters: Filters, cameras: Sequence[Mapping[str, Any]]
) -> tuple[tuple[str, int, int], ...]:
    """What was recorded of the time asked by the cameras the question names, or by all it may look at."""
    named = cameras_named(question, cameras)
    asked = replace(filters, cameras=named) if named else filters
    last = filters.not_after
    if last is not None:
        asked = replace(asked, end_ms=last if asked.end_ms is None else min(asked.end_ms, last))
    return tuple(
        (row["camera"], row["start_ms"], row["end_ms"] if last is None else min(row["end_ms"], last))
        for row in store.coverage(asked)
    )


def _expanded(keys: Sequence[str], store: Store, filters: Filters, profile: Profile) -> dict[str, Any]:
    if not keys:
        return {"anchors": [], "relations": [], "entities": [], "mentions": []}
    return store.expand_entities(
        keys, filters, hops=profile.hops, entity_limit=ENTITY_LIMIT, relation_limit=RELATION_LIMIT
    )


def _reached(
    hits: Sequence[Hit], around: Iterable[Mapping[str, Any]], relations: Iterable[Mapping[str, Any]]
) -> list[tuple[str, str, float]]:
    """(chunk key, how it was reached, score), best first: hits in their order, chunks of relations one hop away, neighbours, the rest."""
    reached: dict[str, tuple[str, str, float]] = {hit.chunk: (hit.chunk, "hit", hit.score) for hit in hits}
    scores = {hit.chunk: hit.score for hit in hits}
    for relation in relations:
        reached.setdefault(relation["chunk"], (relation["chunk"], f"hop:{relation['hop']}", 0.0))
    for row in around:
        score = scores.get(row["of"].removeprefix("chunks/"), 0.0) / (1 + row["distance"])
        reached.setdefault(row["chunk"], (row["chunk"], "neighbour", score))
    order = {"hit": 0, "hop:1": 1, "neighbour": 2}
    return sorted(reached.values(), key=lambda item: (order.get(item[1], 3), 0.0 if item[1] == "hit" else -item[2]))


def evidence_chunks(
    reached: Iterable[tuple[str, str, float]], rows: Mapping[str, Mapping[str, Any]], filters: Filters, *, silent: bool = False
) -> list[EvidenceChunk]:  # fmt: skip
    """Chunks with the lines that lie in the asked time; one of which no line does says nothing about it, and is kept only if `silent`."""
    found = [_evidence_chunk(rows[key], via, score, filters) for key, via, score in reached if key in rows]
    return [chunk for chunk in found if chunk.lines or silent]


def _evidence_chunk(row: Mapping[str, Any], via: str, score: float, filters: Filters) -> EvidenceChunk:
    """A chunk with the lines and pictures of the asked time, and the lines of the asked modalities; its text is that of these."""
    zero, tz = row["start_ms"] - row["offset_ms"], row["tz"]
    lines = tuple(
        Line(start, end, modality, text, origin)
        for start, end, modality, origin, text in row["lines"]
        if (filters.modalities is None or modality in filters.modalities)
        and in_time(filters, tz, zero + start, zero + end)
    )
    whole = len(lines) == len(row["lines"])
    frames = tuple((at, asset) for at, asset in row["frames"] if in_time(filters, tz, zero + at, zero + at))
    return EvidenceChunk(
        id=row["_key"], document=row["document"], camera=row["camera"], camera_label=row["camera_label"], index=row["index"],
        start_ms=row["start_ms"], end_ms=row["end_ms"], offset_ms=row["offset_ms"], end_offset_ms=row["end_offset_ms"],
        text=row["text"] if whole else "\n".join(line.text for line in lines), lines=lines, frames=frames, uri=row["uri"], tz=tz,
        clock_known=row["clock_known"],
        score=score, via=via, origins=row["origins"], base_ms=row["base_ms"],
    )  # fmt: skip


def _entities(graph: Mapping[str, Any]) -> tuple[EvidenceEntity, ...]:
    """Entities in the order of the anchors."""
    chunks = {row["entity"]: tuple(c.removeprefix("chunks/") for c in row["chunks"]) for row in graph["mentions"]}
    place = {entity: number for number, entity in enumerate(graph["anchors"])}
    known = (e for e in graph["entities"] if e["last_ms"] is not None)  # others no mention tells of yet
    found = [_entity(e, chunks.get(e["_id"], ())) for e in known]
    return tuple(sorted(found, key=lambda entity: (place.get(entity.id, len(place)), entity.name)))


def _entity(record: Mapping[str, Any], chunks: tuple[str, ...]) -> EvidenceEntity:
    return EvidenceEntity(
        record["_id"], record["name"], record["type"], record["description"], record["first_ms"], record["last_ms"],
        tuple(record["cameras"]), chunks,
    )  # fmt: skip


def _relations(graph: Mapping[str, Any]) -> list[EvidenceRelation]:
    names = {entity["_id"]: entity["name"] for entity in graph["entities"] if entity["name"] is not None}
    return [
        EvidenceRelation(
            r["_id"], r["_from"], names.get(r["_from"], r["_from"]), r["_to"], names.get(r["_to"], r["_to"]), r["relation"],
            r["start_ms"], r["end_ms"], r["camera"], r["chunk"], r["supporting_text"], r["confidence"], r["hop"],
        )
        for r in graph["relations"]
    ]  # fmt: skip
