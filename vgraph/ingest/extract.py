"""Entities and relations of a chunk: by a chat model with configurable types, or from the structured signals alone, stated as such."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vgraph.ingest.chunks import MOTION, ChunkText, Signals, clip_track
from vgraph.ingest.keys import content_key, normal_name
from vgraph.models import ChatModel
from vgraph.prompts import prompt, quoted
from vgraph.types import Caption, Extraction, Line, Mention, Message, Relation

STRUCTURED = "structured"


def structured(signals: Signals, known: Mapping[str, Mention]) -> Extraction:
    """What the signals say without a model: entities and relations of captions, speakers, whom they mention, read labels.

    `known` maps normalised names to the one entity of the document that bears them, so that a speaker and a captioned person are one.
    """
    captioned = [resolve(m, known) for caption in signals.captions for m in caption.entities]
    speakers = [resolve(Mention(u.speaker, "person"), known) for u in signals.utterances if u.speaker]
    labels = [
        resolve(Mention(r.text, "label", confidence=r.confidence), known) for r in signals.reads if is_label(r.text)
    ]
    relations = [*_captioned_relations(signals, known), *_spoken_mentions(signals, known)]
    return Extraction(_unique((*captioned, *speakers, *labels)), tuple(relations), STRUCTURED)


def names_of(captions: Iterable[Caption]) -> dict[str, Mention]:
    """Normalised name -> mention, for names that mean one entity only; two identities of one name are left out."""
    seen: dict[str, set[tuple[str, str | None]]] = {}
    mentions: dict[str, Mention] = {}
    for caption in captions:
        for mention in caption.entities:
            name = normal_name(mention.name)
            seen.setdefault(name, set()).add((mention.type, mention.id))
            mentions.setdefault(name, mention)
    return {name: mention for name, mention in mentions.items() if len(seen[name]) == 1}


def resolve(mention: Mention, known: Mapping[str, Mention]) -> Mention:
    """A mention without identity takes that of the only entity of its name."""
    found = known.get(normal_name(mention.name))
    if found is None or mention.id is not None:
        return mention
    return Mention(found.name, found.type, found.id, mention.description or found.description, mention.confidence)


def is_label(text: str) -> bool:
    """Worth an entity: some letters, not a ticking clock or a lone number."""
    letters = sum(character.isalpha() for character in text)
    return letters >= 3 and not re.search(r"\d{1,2}:\d{2}", text)


def _captioned_relations(signals: Signals, known: Mapping[str, Mention]) -> Iterator[Relation]:
    """A caption's relations, each told by the chunk its start lies in, so that a caption across two chunks tells it once."""
    for caption in signals.captions:
        named = {normal_name(m.name): resolve(m, known) for m in caption.entities}
        for relation in caption.relations:
            start = caption.offset_ms if relation.offset_ms is None else relation.offset_ms
            end = caption.end_offset_ms if relation.end_offset_ms is None else relation.end_offset_ms
            if _starts_here(start, signals):
                text = relation.supporting_text or caption.text
                yield Relation(
                    relation.source,
                    relation.target,
                    relation.relation,
                    start,
                    max(start, end),
                    text,
                    relation.confidence,
                    (named.get(normal_name(relation.source)), named.get(normal_name(relation.target))),
                )


def _spoken_mentions(signals: Signals, known: Mapping[str, Mention]) -> Iterator[Relation]:
    """speaker -mentions-> entity where an utterance contains the entity's whole name."""
    for utterance in signals.utterances:
        if not utterance.speaker or not _starts_here(utterance.offset_ms, signals):
            continue
        spoken = " " + normal_name(re.sub(r"\W+", " ", utterance.text)) + " "
        for name, mention in known.items():
            if name != normal_name(utterance.speaker) and f" {name} " in spoken:
                yield Relation(
                    utterance.speaker,
                    mention.name,
                    "mentions",
                    utterance.offset_ms,
                    utterance.end_offset_ms,
                    utterance.text,
                )


def _starts_here(offset_ms: int, signals: Signals) -> bool:
    return signals.segment.offset_ms <= offset_ms < signals.segment.end_offset_ms


def _unique(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    found: dict[tuple[str, str, str | None], Mention] = {}
    for mention in mentions:
        found.setdefault(identity(mention), mention)
    return tuple(found.values())


def identity(mention: Mention) -> tuple[str, str, str | None]:
    """What tells one mention of a chunk from another."""
    return mention.type, normal_name(mention.name), mention.id


# --- by a chat model ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The entity and relation types a model may use; no relation types means any."""

    entity_types: tuple[str, ...]
    relation_types: tuple[str, ...] = ()


def by_model(
    chat: ChatModel,
    text: ChunkText,
    signals: Signals,
    known: Mapping[str, Mention],
    vocabulary: Vocabulary,
    camera: str,
) -> Extraction:
    """The model's entities and relations united with the structured ones. Raises ModelError when the model fails."""
    base = structured(signals, known)
    completion = chat.complete(
        [Message("user", _request(text, signals, vocabulary, camera))], schema=schema(vocabulary)
    )
    entities = _unique((*base.entities, *_found_entities(completion.value, known, vocabulary)))
    relations, warnings = _found_relations(completion.value, entities, text, signals, vocabulary)
    return Extraction(entities, (*base.relations, *relations), f"model:{chat.name}", tuple(warnings))


def _request(text: ChunkText, signals: Signals, vocabulary: Vocabulary, camera: str) -> str:
    rule = (
        f"one of: {', '.join(vocabulary.relation_types)}."
        if vocabulary.relation_types
        else "a short verb phrase in the present tense."
    )
    notes = "\n".join(
        f"[{_seconds(line.offset_ms)} to {_seconds(line.end_offset_ms)}] {line.modality}: {line.text}"
        for line in text.lines
    )
    return prompt(
        "extract",
        camera=camera,
        start=_seconds(signals.segment.offset_ms),
        end=_seconds(signals.segment.end_offset_ms),
        entity_types=", ".join(vocabulary.entity_types),
        relation_rule=rule,
        notes=quoted(notes),
    )


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f}"


def schema(vocabulary: Vocabulary) -> dict[str, Any]:
    """JSON Schema of the reply: only the configured types pass."""
    words: dict[str, Any] = {"type": "string"}
    moment: dict[str, Any] = {"type": ["number", "null"]}
    kind = {"type": "string", "enum": list(vocabulary.relation_types)} if vocabulary.relation_types else words
    entity = _object(name=words, type={"type": "string", "enum": list(vocabulary.entity_types)}, description=words)
    relation = _object(
        source=words,
        relation=kind,
        target=words,
        start=moment,
        end=moment,
        supporting_text=words,
        confidence={"type": "number"},
    )
    return _object(entities={"type": "array", "items": entity}, relations={"type": "array", "items": relation})


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _found_entities(value: Mapping[str, Any], known: Mapping[str, Mention], vocabulary: Vocabulary) -> list[Mention]:
    return [
        resolve(Mention(entity["name"].strip(), entity["type"], description=entity["description"].strip()), known)
        for entity in value["entities"]
        if entity["name"].strip() and entity["type"] in vocabulary.entity_types
    ]


def _found_relations(
    value: Mapping[str, Any], entities: Sequence[Mention], text: ChunkText, signals: Signals, vocabulary: Vocabulary
) -> tuple[list[Relation], list[str]]:
    """Relations between known entities; one that invents an end or a type is dropped and told."""
    named = {normal_name(mention.name) for mention in entities}
    kept, warnings = [], []
    for item in value["relations"]:
        unknown = [end for end in (item["source"], item["target"]) if normal_name(end) not in named]
        if vocabulary.relation_types and item["relation"] not in vocabulary.relation_types:
            unknown.append(item["relation"])
        if unknown:
            warnings.append(
                f"extraction: dropped a relation with {', '.join(map(repr, unknown))}, which is no entity or type of this chunk"
            )
        else:
            kept.append(_timed(item, text, signals))
    return kept, warnings


def _timed(item: Mapping[str, Any], text: ChunkText, signals: Signals) -> Relation:
    """The interval of the line the quotation stands in; a quotation that stands nowhere is no evidence, and the chunk is the interval."""
    quotation = " ".join(item["supporting_text"].split())
    line = next((line for line in text.lines if quotation and normal_name(quotation) in normal_name(line.text)), None)
    confidence = min(max(float(item["confidence"]), 0.0), 1.0)
    segment = signals.segment
    if line is None:
        return Relation(
            item["source"],
            item["target"],
            item["relation"],
            segment.offset_ms,
            segment.end_offset_ms,
            "",
            confidence / 2,
        )
    start, end = _told_times(item, line)
    return Relation(item["source"], item["target"], item["relation"], start, end, quotation, confidence)


def _told_times(item: Mapping[str, Any], line: Line) -> tuple[int, int]:
    """The model's times where they lie within the line, else the line's own (EGAgent: only times that stand in the text count)."""
    if item["start"] is None or item["end"] is None:
        return line.offset_ms, line.end_offset_ms
    start, end = round(item["start"] * 1000), round(item["end"] * 1000)
    inside = line.offset_ms <= start <= end <= line.end_offset_ms
    return (start, end) if inside else (line.offset_ms, line.end_offset_ms)


# --- what was followed --------------------------------------------------------------------------------------------------

VEHICLES = frozenset(
    {"bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "van", "forklift", "vehicle"}
)
ANIMALS = frozenset({"bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "animal"})


def entity_type(label: str) -> str:
    """The entity type of a detector's class (COCO names and common ones)."""
    if label == "person":
        return label
    if label in VEHICLES:
        return "vehicle"
    return "animal" if label in ANIMALS else "object"


def followed(signals: Signals, document: str) -> Iterator[tuple[str, Mention, int, int]]:
    """(track id, entity, offsets) for tracks of recognised objects in a segment; each track is its own entity, and bare motion is none."""
    for track in signals.tracks:
        if track.label != MOTION:
            part = clip_track(track, signals.segment)
            identity = content_key("track", document, track.id)
            mention = Mention(
                f"{track.label} {track.id}", entity_type(track.label), identity, confidence=part.confidence
            )
            yield track.id, mention, part.offset_ms, part.end_offset_ms
