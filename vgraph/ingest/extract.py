"""Entities and relations of a chunk: by a chat model with configurable types, or from the structured signals alone, stated as such."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vgraph.errors import ModelError
from vgraph.ingest.chunks import MOTION, ChunkText, Signals, clip_track
from vgraph.ingest.keys import content_key, normal_name
from vgraph.models import ChatModel
from vgraph.prompts import prompt
from vgraph.types import Caption, Extraction, Mention, Message, Relation

STRUCTURED = "structured"


def structured(signals: Signals, known: Mapping[str, Mention]) -> Extraction:
    """What the signals say without a model: entities and relations of captions, speakers, whom they mention, read labels.

    `known` maps normalised names to the one entity of the document that bears them, so that a speaker and a captioned person are one.
    """
    captioned = [resolve(m, known) for caption in signals.captions for m in caption.entities]
    speakers = [resolve(Mention(u.speaker, "person"), known) for u in signals.utterances if u.speaker]
    labels = [resolve(Mention(r.text, "label", confidence=r.confidence), known) for r in signals.reads if is_label(r.text)]
    relations = [*_captioned_relations(signals), *_spoken_mentions(signals, known)]
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


def _captioned_relations(signals: Signals) -> Iterator[Relation]:
    """A caption's relations, each told by the chunk its start lies in, so that a caption across two chunks tells it once."""
    for caption in signals.captions:
        for relation in caption.relations:
            start = caption.offset_ms if relation.offset_ms is None else relation.offset_ms
            end = caption.end_offset_ms if relation.end_offset_ms is None else relation.end_offset_ms
            if _starts_here(start, signals):
                text = relation.supporting_text or caption.text
                yield Relation(
                    relation.source, relation.target, relation.relation, start, max(start, end), text, relation.confidence
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
                    utterance.speaker, mention.name, "mentions", utterance.offset_ms, utterance.end_offset_ms, utterance.text
                )


def _starts_here(offset_ms: int, signals: Signals) -> bool:
    return signals.segment.offset_ms <= offset_ms < signals.segment.end_offset_ms


def _unique(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    found: dict[tuple[str, str, str | None], Mention] = {}
    for mention in mentions:
        found.setdefault((mention.type, normal_name(mention.name), mention.id), mention)
    return tuple(found.values())


# --- by a chat model ----------------------------------------------------------------------------------------------------


def by_model(
    chat: ChatModel,
    text: ChunkText,
    signals: Signals,
    known: Mapping[str, Mention],
    *,
    entity_types: Sequence[str],
    relation_types: Sequence[str],
) -> Extraction:
    """The model's entities and relations united with the structured ones; a failing model leaves the structured ones and a warning."""
    base = structured(signals, known)
    if not text.text.strip():
        return base
    try:
        completion = chat.complete(_messages(text, entity_types, relation_types), schema=schema(entity_types, relation_types))
    except ModelError as error:
        return Extraction(base.entities, base.relations, STRUCTURED, (f"extraction: {error}",))
    return _united(base, completion.value, text, signals, known, f"model:{chat.name}", entity_types, relation_types)


def _messages(text: ChunkText, entity_types: Sequence[str], relation_types: Sequence[str]) -> list[Message]:
    relations = ", ".join(relation_types) or "any short verb phrase"
    instructions, data = prompt("extract", entity_types=", ".join(entity_types), relation_types=relations, text=text.text)
    return [Message("system", instructions), Message("user", data)]


def schema(entity_types: Sequence[str], relation_types: Sequence[str]) -> dict[str, Any]:
    """JSON Schema of the reply: only the configured types pass."""
    kind: dict[str, Any] = {"type": "string", "enum": list(relation_types)} if relation_types else {"type": "string"}
    entity = _object(name={"type": "string"}, type={"type": "string", "enum": list(entity_types)}, description={"type": "string"})
    relation = _object(source={"type": "string"}, relation=kind, target={"type": "string"}, quote={"type": "string"})
    return _object(entities={"type": "array", "items": entity}, relations={"type": "array", "items": relation})


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _united(
    base: Extraction,
    value: Mapping[str, Any],
    text: ChunkText,
    signals: Signals,
    known: Mapping[str, Mention],
    method: str,
    entity_types: Sequence[str],
    relation_types: Sequence[str],
) -> Extraction:
    found = [
        resolve(Mention(e["name"].strip(), e["type"], description=e["description"].strip()), known)
        for e in value["entities"]
        if e["name"].strip() and e["type"] in entity_types
    ]
    entities = _unique((*base.entities, *found))
    named = {normal_name(mention.name) for mention in entities}
    relations, warnings = [], []
    for item in value["relations"]:
        missing = [end for end in (item["source"], item["target"]) if normal_name(end) not in named]
        if missing or (relation_types and item["relation"] not in relation_types):
            warnings.append(f"extraction: dropped a relation to {missing or item['relation']}, which is not an allowed entity or type")
            continue
        relations.append(_relation(item, text, signals))
    return Extraction(entities, (*base.relations, *relations), method, tuple(warnings))


def _relation(item: Mapping[str, Any], text: ChunkText, signals: Signals) -> Relation:
    """Timed by the line its quote stands in; a quote that stands nowhere is not evidence, and the whole chunk is its interval."""
    quote = " ".join(item["quote"].split())
    line = next((line for line in text.lines if quote and normal_name(quote) in normal_name(line.text)), None)
    if line is None:
        segment = signals.segment
        return Relation(item["source"], item["target"], item["relation"], segment.offset_ms, segment.end_offset_ms, "", 0.5)
    return Relation(item["source"], item["target"], item["relation"], line.offset_ms, line.end_offset_ms, quote, 0.8)


VEHICLES = frozenset({"bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "van", "forklift", "vehicle"})
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
            mention = Mention(f"{track.label} {track.id}", entity_type(track.label), identity, confidence=part.confidence)
            yield track.id, mention, part.offset_ms, part.end_offset_ms
