"""Chunks as vertices and edges: the records of design.md, keyed by content, in one GraphDelta."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from vgraph.ingest.chunks import Chunk, clip_track
from vgraph.ingest.clock import Drift, Timeline, clock_of, clock_record, drifted, told
from vgraph.ingest.extract import followed, identity
from vgraph.ingest.keys import chunk_key, content_key, edge_key, entity_key, normal_name
from vgraph.types import (
    Box,
    CameraInfo,
    Detection,
    GraphDelta,
    Line,
    Mention,
    Record,
    Relation,
    Segment,
    StartTime,
    Track,
    Utterance,
    Video,
    Word,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Clip:
    """The file in which a stretch of a growing document lies: `base_ms` is the document's media time at its first picture.

    `asset` is its name in the assets folder, empty for a file that is the user's own.
    """

    uri: str
    base_ms: int
    asset: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when a document's records stand: added to every one of them. `start_ms` is the UTC time of media offset 0."""

    document: str
    camera: str
    start_ms: int
    drift: Drift = ()
    uncertainty_ms: int | None = None
    clip: Clip | None = None

    @property
    def timeline(self) -> Timeline:
        return Timeline(self.start_ms, self.drift, self.uncertainty_ms)

    def at(self, offset_ms: int) -> int:
        return self.start_ms + drifted(offset_ms, self.drift)


# --- cameras and documents ----------------------------------------------------------------------------------------------


def camera_record(key: str, info: CameraInfo, known: Mapping[str, Any] | None) -> Record:
    """What is known of a camera: a fact given now replaces an older one, silence does not."""
    given = {
        "label": info.label,
        "place": info.place or None,
        "tz": info.tz,
        "position": list(info.position) if info.position else None,
        "clock": clock_record(told(clock_of(known), info.clock_offset_ms)),
    }
    default = {
        "label": info.label,
        "place": "",
        "tz": "UTC",
        "position": None,
    }
    old = {name: value for name, value in (known or {}).items() if not name.startswith("_")}
    return {"_key": key, **default, **old, **{name: value for name, value in given.items() if value is not None}}


def document_record(
    place: Place, video: Video, start: StartTime, *, title: str, uri: str, state: str, facts: Mapping[str, Any]
) -> Record:
    """`own_start_ms` is what the start's source said, in the zone `own_tz`, from which a clock that is fitted anew moves `start_ms`."""
    return {
        "_key": place.document,
        "camera": place.camera,
        "kind": "video",
        "title": title,
        "uri": uri,
        "content_hash": video.content_hash,
        "media": media_facts(video),
        "start_ms": place.start_ms,
        "start_source": str(start.source),
        "own_start_ms": start.ms,
        "own_tz": start.tz,
        "own_uncertainty_ms": start.uncertainty_ms,
        "own_drift_ppm": start.drift_ppm,
        "uncertainty_ms": place.uncertainty_ms,
        "timed": place.timeline.fingerprint,
        "end_ms": place.at(video.duration_ms),
        "duration_ms": video.duration_ms,
        "state": state,
        **facts,
    }


def media_facts(video: Video) -> dict[str, Any]:
    return {
        "container": video.container,
        "size": video.size,
        "picture": asdict(video.picture),
        "audio": asdict(video.audio) if video.audio else None,
        "created_ms": video.created_ms,
        "timecode": video.timecode,
    }


def document_delta(place: Place, camera: Record, document: Record) -> GraphDelta:
    """The camera, the document and the edge between them."""
    edge = _edge("RECORDED_BY", f"documents/{place.document}", f"cameras/{place.camera}", place)
    return GraphDelta({"cameras": (camera,), "documents": (document,)}, {"RECORDED_BY": (edge,)})


# --- what was said and followed ----------------------------------------------------------------------------------------


def utterance_record(place: Place, utterance: Utterance) -> Record:
    return {
        "_key": utterance_key(place, utterance),
        "document": place.document,
        "camera": place.camera,
        "speaker": utterance.speaker,
        "text": utterance.text,
        "language": utterance.language,
        "confidence": utterance.confidence,
        "origin": utterance.origin,
        "words": [[w.text, w.offset_ms, w.end_offset_ms, w.confidence] for w in utterance.words],
        **_span(place, utterance.offset_ms, utterance.end_offset_ms),
    }


def utterance_key(place: Place, utterance: Utterance) -> str:
    return content_key("utterance", place.document, utterance.offset_ms, utterance.speaker or "", utterance.text)


def utterance_of(record: Record) -> Utterance:
    return Utterance(
        record["offset_ms"], record["end_offset_ms"], record["text"], record["origin"], record["speaker"], record["language"],
        record["confidence"], tuple(Word(*word) for word in record["words"]),
    )  # fmt: skip


def track_record(place: Place, track: Track) -> Record:
    """`boxes` holds one row a detection: [offset_ms, x, y, width, height, confidence], pixels; `number` is what pictures show it by."""
    boxes = [[d.offset_ms, d.box.x, d.box.y, d.box.width, d.box.height, d.confidence] for d in track.detections]
    return {
        "_key": track_key(place.document, track.id),
        "document": place.document,
        "camera": place.camera,
        "track": track.id,
        "number": track.number,
        "class": track.label,
        "confidence": round(track.confidence, 4),
        "origin": track.detections[0].origin,
        "boxes": boxes,
        **({} if track.embedding is None else {"embedding": list(track.embedding)}),
        **_span(place, track.offset_ms, track.end_offset_ms),
    }


def track_of(record: Record) -> Track:
    label, origin, track = record["class"], record["origin"], record["track"]
    detections = tuple(
        Detection(int(at), label, Box(x, y, width, height), confidence, origin, track)
        for at, x, y, width, height, confidence in record["boxes"]
    )
    look = record.get("embedding")
    return Track(track, label, detections, None if look is None else tuple(look), record["number"])


def track_key(document: str, track: str) -> str:
    return content_key("track", document, track)


# --- chunks -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Vectors:
    """Embeddings of a batch, rows in the order of its chunks, entities and frames; None where no model makes them."""

    chunks: NDArray[np.float32]
    entities: NDArray[np.float32]
    frames: NDArray[np.float32] | None


def chunks_delta(
    place: Place,
    chunks: Sequence[Chunk],
    after: Segment | None,
    vectors: Vectors,
    recorded_ms: int,
    ledger: tuple[Record, ...],
) -> GraphDelta:
    """Everything a batch of chunks adds, with the ledger entry that says it is done. `after` is the segment before the batch."""
    entities = batch_entities(place, chunks)
    vertices = {
        "chunks": tuple(_chunk(place, c, v, recorded_ms) for c, v in zip(chunks, vectors.chunks, strict=True)),
        "frames": tuple(_frames(place, chunks, vectors.frames, recorded_ms)),
        "entities": tuple(embedded(e, v) for e, v in zip(entities, vectors.entities, strict=True)),
        "ledger": ledger,
    }
    edges = {
        "PART_OF": tuple(_edge("PART_OF", _id(place, c), f"documents/{place.document}", place) for c in chunks),
        "NEXT_CHUNK": tuple(_chain(place, [*([after] if after else []), *(c.signals.segment for c in chunks)])),
        "HAS_ENTITY": tuple(_unique(edge for c in chunks for edge in _mentions(place, c, recorded_ms))),
        "LINKS_TO": tuple(_unique(edge for c in chunks for edge in _links(place, c, recorded_ms))),
        "SEEN_IN": tuple(edge for c in chunks for edge in _seen(place, c)),
        "DEPICTS": tuple(_unique(edge for c in chunks for edge in _depicts(place, c))),
    }
    return GraphDelta(vertices, edges)


def _key(place: Place, chunk: Chunk) -> str:
    return chunk_key(place.document, chunk.signals.segment.offset_ms)


def _id(place: Place, chunk: Chunk) -> str:
    return f"chunks/{_key(place, chunk)}"


def senses(chunk: Chunk) -> dict[str, list[str]]:
    """What filters ask of a chunk and of the edges that rest on it: in which modalities it says something, and who speaks in it."""
    lines = (*chunk.text.lines, *chunk.text.fused)
    return {
        "modalities": sorted({str(line.modality) for line in lines}),
        "speakers": sorted({u.speaker for u in chunk.signals.utterances if u.speaker}),
    }


def _chunk(place: Place, chunk: Chunk, vector: NDArray[np.float32], recorded_ms: int) -> Record:
    signals, text = chunk.signals, chunk.text
    segment = signals.segment
    return {
        "_key": _key(place, chunk),
        "document": place.document,
        "camera": place.camera,
        "index": segment.index,
        "boundary": segment.boundary,
        "caption": text.caption,
        "dimensions": {name: said for caption in signals.captions for name, said in caption.dimensions},
        "transcript": text.transcript,
        "ocr": text.ocr,
        "text": text.text,
        "lines": [line_row(line) for line in text.lines],
        "fused": [line_row(line) for line in text.fused],
        "origins": text.origins,
        "extraction": chunk.extraction.method,
        "frames": [[frame.offset_ms, frame.asset] for frame in signals.frames],
        "warnings": list(chunk.warnings),
        "utterances": [utterance_key(place, utterance) for utterance in signals.utterances],
        **senses(chunk),
        "recorded_ms": recorded_ms,
        "embedding": vector.tolist(),
        **({"clip": asdict(place.clip)} if place.clip else {}),
        **_known(place, chunk.known_offset_ms),
        **_span(place, segment.offset_ms, segment.end_offset_ms),
    }


def line_row(line: Line) -> list[Any]:
    """A line as stored: [offset_ms, end_offset_ms, modality, origin, text]."""
    return [line.offset_ms, line.end_offset_ms, line.modality, line.origin, line.text]


def _frames(
    place: Place, chunks: Sequence[Chunk], vectors: NDArray[np.float32] | None, recorded_ms: int
) -> Iterator[Record]:
    number = 0
    for chunk in chunks:
        told = senses(chunk)
        for frame in chunk.signals.frames:
            record = {
                "_key": f"{place.document}-f{frame.offset_ms:010d}",
                "document": place.document,
                "camera": place.camera,
                "chunk": _key(place, chunk),
                "at_ms": place.at(frame.offset_ms),
                "offset_ms": frame.offset_ms,
                "asset": frame.asset,
                "width": frame.width,
                "height": frame.height,
                **told,
                "recorded_ms": recorded_ms,
            }
            yield record if vectors is None else {**record, "embedding": vectors[number].tolist()}
            number += 1


def _chain(place: Place, segments: Sequence[Segment]) -> Iterator[Record]:
    for earlier, later in pairwise(segments):
        start, end = (f"chunks/{chunk_key(place.document, segment.offset_ms)}" for segment in (earlier, later))
        yield _edge("NEXT_CHUNK", start, end, place, {"gap_ms": later.offset_ms - earlier.end_offset_ms})


# --- entities and relations ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Appearance:
    """An entity in a chunk: when, by which sense, under which name. `known_offset_ms`: when it was known that this is meant."""

    mention: Mention
    modality: str
    offset_ms: int
    end_offset_ms: int
    known_offset_ms: int


def batch_entities(place: Place, chunks: Sequence[Chunk]) -> list[Record]:
    """One record an entity of the batch, its times and cameras those of its appearances; order of first appearance."""
    found: dict[str, dict[str, Any]] = {}
    for chunk in chunks:
        for seen in _appearances(place, chunk):
            key = entity_key(seen.mention)
            first, last = place.at(seen.offset_ms), place.at(seen.end_offset_ms)
            record = found.setdefault(key, _entity(key, seen.mention, place, first, last))
            record["first_ms"], record["last_ms"] = min(record["first_ms"], first), max(record["last_ms"], last)
            record["aliases"] = sorted({*record["aliases"], seen.mention.name})
            _told_by(record, seen.mention, f"{_key(place, chunk)}-{seen.offset_ms:010d}")
    return list(found.values())


def _told_by(record: dict[str, Any], mention: Mention, where: str) -> None:
    """Name and description are those of the first mention that gives one, by document, chunk and time: in whatever order they come.

    `named` and `described` say which mention that is.
    """
    if not record["named"] or where < record["named"]:
        record["name"], record["named"] = mention.name, where
    if mention.description and (not record["described"] or where < record["described"]):
        record["description"], record["described"] = mention.description, where


def _entity(key: str, mention: Mention, place: Place, first: int, last: int) -> dict[str, Any]:
    return {
        "_key": key,
        "type": mention.type,
        "name": mention.name,
        "named": "",
        "aliases": [mention.name],
        "description": "",
        "described": "",
        "first_ms": first,
        "last_ms": last,
        "cameras": [place.camera],
    }


def embedded(entity: Record, vector: NDArray[np.float32]) -> Record:
    """An entity with its embedding, and with the hash of the text it was made of: names and descriptions change."""
    return {**entity, "embedding": vector.tolist(), "embedded": content_key(entity_text(entity))}


def entity_text(record: Record) -> str:
    """What is embedded of an entity."""
    return ". ".join(part for part in (record["name"], record["type"], record["description"]) if part)


def _appearances(place: Place, chunk: Chunk) -> Iterator[_Appearance]:
    """Every appearance by every sense; what only the extraction knows of spans the lines that name it, its relations, or the chunk."""
    signals, segment, known = chunk.signals, chunk.signals.segment, chunk.known_offset_ms
    by_name = _by_name(chunk)
    own = {identity(m): m for m in chunk.extraction.entities}
    told: set[tuple[str, str, str | None]] = set()
    for name, modality, start, end, meant in _named_spans(chunk):
        if mention := (own.get(identity(meant)) if meant else None) or by_name.get(normal_name(name)):
            told.add(identity(mention))
            start, end = max(start, segment.offset_ms), min(max(start, end), segment.end_offset_ms)
            yield _Appearance(mention, modality, start, end, known)
    for _, mention, start, end in followed(signals, place.document):
        yield _Appearance(mention, "detection", start, end, known)
    for which, mention in own.items():
        if which not in told:
            yield _Appearance(mention, "extraction", *_extracted(mention, chunk))


def _by_name(chunk: Chunk) -> dict[str, Mention]:
    """Entities of a chunk by normalised name; of two with one name, the one that was named last."""
    return {normal_name(m.name): m for m in chunk.extraction.entities}


def _named_spans(chunk: Chunk) -> Iterator[tuple[str, str, int, int, Mention | None]]:
    """Name, sense, span, and the entity that is meant, where the source tells those of one name apart."""
    signals = chunk.signals
    for caption in signals.captions:
        for mention in caption.entities:
            yield mention.name, "caption", caption.offset_ms, caption.end_offset_ms, mention
    for utterance in signals.utterances:
        if utterance.speaker:
            yield utterance.speaker, "speech", utterance.offset_ms, utterance.end_offset_ms, None
    for read in signals.reads:
        yield read.text, "ocr", read.offset_ms, read.offset_ms, None


def _extracted(mention: Mention, chunk: Chunk) -> tuple[int, int, int]:
    """The span of the lines that name it and when they were known. "She" may be named by a later chunk: then that of its relations."""
    name, known = normal_name(mention.name), chunk.known_offset_ms
    lines = [line for line in (*chunk.text.lines, *chunk.text.fused) if name in normal_name(line.text)]
    if lines:
        return min(line.offset_ms for line in lines), max(line.end_offset_ms for line in lines), known
    own = [relation for relation in chunk.extraction.relations if mention in relation.ends]
    spans = [(*_held(relation, chunk), max(known, relation.known_offset_ms or 0)) for relation in own]
    if not spans:
        return chunk.signals.segment.offset_ms, chunk.signals.segment.end_offset_ms, known
    return min(span[0] for span in spans), max(span[1] for span in spans), min(span[2] for span in spans)


def _mentions(place: Place, chunk: Chunk, recorded_ms: int) -> Iterator[Record]:
    told = senses(chunk)
    for seen in _appearances(place, chunk):
        carries = {
            "type": seen.mention.type,
            "modality": seen.modality,
            **told,
            "recorded_ms": recorded_ms,
            "mention": seen.mention.name,
            "description": seen.mention.description,
            "confidence": seen.mention.confidence,
            **_known(place, seen.known_offset_ms),
            **_described(place, seen),
            **_span(place, seen.offset_ms, seen.end_offset_ms),
        }
        stamp = f"{seen.offset_ms}-{seen.modality}"
        yield _edge("HAS_ENTITY", _id(place, chunk), _entity_id(seen.mention), place, carries, stamp)


def _links(place: Place, chunk: Chunk, recorded_ms: int) -> Iterator[Record]:
    """Relations whose both ends are entities of this chunk."""
    by_name = _by_name(chunk)
    for relation in chunk.extraction.relations:
        source, target = (
            meant or by_name.get(normal_name(name))
            for meant, name in zip(relation.ends, (relation.source, relation.target), strict=True)
        )
        if source and target:
            yield _link(place, chunk, relation, (source, target), recorded_ms)


def _link(place: Place, chunk: Chunk, relation: Relation, ends: tuple[Mention, Mention], recorded_ms: int) -> Record:
    start, end = _held(relation, chunk)
    carries = {
        "relation": relation.relation,
        "types": [mention.type for mention in ends],
        **senses(chunk),
        "chunk": _key(place, chunk),
        "supporting_text": relation.supporting_text,
        "confidence": relation.confidence,
        "method": relation.method or chunk.extraction.method,
        "sources": list(relation.sources),
        "time_confidence": relation.time_confidence,
        "time_reason": relation.time_reason,
        **_known(place, max(chunk.known_offset_ms, end, relation.known_offset_ms or 0)),
        "recorded_ms": recorded_ms,
        "retracted_ms": None,
        **_span(place, start, end),
    }
    stamp = f"{relation.relation}-{start}-{place.document}"
    return _edge("LINKS_TO", _entity_id(ends[0]), _entity_id(ends[1]), place, carries, stamp)


def _held(relation: Relation, chunk: Chunk) -> tuple[int, int]:
    segment = chunk.signals.segment
    start = segment.offset_ms if relation.offset_ms is None else relation.offset_ms
    return start, segment.end_offset_ms if relation.end_offset_ms is None else relation.end_offset_ms


def _known(place: Place, offset_ms: int) -> dict[str, int]:
    """When all that a record says had been recorded: before that, no question may be answered from it."""
    return {"known_ms": place.at(offset_ms), "known_offset_ms": offset_ms}


def _described(place: Place, seen: _Appearance) -> dict[str, int]:
    """The same of a mention's description: a model may have made it of a whole unit."""
    offset = max(seen.known_offset_ms, seen.mention.described_offset_ms or 0)
    return {"described_ms": place.at(offset), "described_offset_ms": offset}


def _seen(place: Place, chunk: Chunk) -> Iterator[Record]:
    for track in chunk.signals.tracks:
        part = clip_track(track, chunk.signals.segment)
        carries = {
            "boxes": len(part.detections),
            "confidence": round(part.confidence, 4),
            **_span(place, part.offset_ms, part.end_offset_ms),
        }
        yield _edge("SEEN_IN", _track_id(place, track.id), _id(place, chunk), place, carries)


def _depicts(place: Place, chunk: Chunk) -> Iterator[Record]:
    for track, mention, _, _ in followed(chunk.signals, place.document):
        yield _edge("DEPICTS", _track_id(place, track), _entity_id(mention), place, {"confidence": 1.0})


def _entity_id(mention: Mention) -> str:
    return f"entities/{entity_key(mention)}"


def _track_id(place: Place, track: str) -> str:
    return f"tracks/{track_key(place.document, track)}"


# --- edges --------------------------------------------------------------------------------------------------------------

NOTHING: Mapping[str, Any] = {}


def _edge(
    kind: str, start: str, end: str, place: Place, carries: Mapping[str, Any] = NOTHING, stamp: str = ""
) -> Record:
    """An edge with the document and camera it rests on, so that filters and deletion find it by index.

    `stamp` tells apart edges of one kind between the same two vertices.
    """
    key = edge_key(start, kind, end, stamp)
    return {"_key": key, "_from": start, "_to": end, "document": place.document, "camera": place.camera, **carries}


def _span(place: Place, start: int, end: int) -> dict[str, int]:
    return {"start_ms": place.at(start), "end_ms": place.at(end), "offset_ms": start, "end_offset_ms": end}


def _unique(records: Iterable[Record]) -> Iterator[Record]:
    """The first of each key: one statement told twice in a batch is one edge."""
    return iter({record["_key"]: record for record in reversed(list(records))}.values())
