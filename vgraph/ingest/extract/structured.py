"""What the signals of a chunk say without a model: entities and relations of captions, speakers, whom they mention, labels read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from vgraph.ingest.chunks import Signals
from vgraph.ingest.extract.vocabulary import PRESETS, Vocabulary
from vgraph.ingest.keys import normal_name
from vgraph.types import Caption, Extraction, Mention, Relation, Utterance

STRUCTURED: Final = "structured"
LABEL: Final = "label"
"""The entity type of a text that was read."""


def structured(
    signals: Signals, known: Mapping[str, Mention], vocabulary: Vocabulary = PRESETS["general"]
) -> Extraction:
    """Entities and relations as they were given; the vocabulary's synonyms hold for them, its types do not restrict them.

    `known` maps normalised names to the one entity of the document that bears them, so that a speaker and a captioned person are one.
    """
    captioned = [resolve(m, known) for caption in signals.captions for m in caption.entities]
    speakers = [resolve(Mention(u.speaker, "person"), known) for u in signals.utterances if u.speaker]
    labels = [
        resolve(Mention(r.text, LABEL, confidence=r.confidence), known) for r in signals.reads if is_label(r.text)
    ]
    names = [(_words(name), name, mention) for name, mention in known.items()] if signals.utterances else []
    spoken = [(u, mention) for u in signals.utterances for mention in _spoken(u, names)]
    found = (*_captioned_relations(signals, known), *_spoken_mentions(spoken, signals))
    named = [replace(mention, description="") for _, mention in spoken]
    entities = unique((*captioned, *speakers, *labels, *named))
    by_name = {normal_name(mention.name): mention for mention in entities}
    return Extraction(entities, tuple(_stated(relation, by_name, vocabulary) for relation in found), STRUCTURED)


def _stated(relation: Relation, by_name: Mapping[str, Mention], vocabulary: Vocabulary) -> Relation:
    """In the vocabulary's form, between entities: of two with one name, where the source does not say which, the last that was named."""
    source, target = (
        meant or by_name.get(normal_name(name))
        for meant, name in zip(relation.ends, (relation.source, relation.target), strict=True)
    )
    named = vocabulary.relation(relation.relation)
    return replace(relation, relation=named, ends=(source, target), method=STRUCTURED, sources=(STRUCTURED,))


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
    return replace(mention, name=found.name, type=found.type, id=found.id)


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


def _spoken(utterance: Utterance, names: Iterable[tuple[str, str, Mention]]) -> Iterator[Mention]:
    """The entities whose whole name an utterance contains, but for the one who speaks."""
    said = _words(utterance.text)
    speaker = normal_name(utterance.speaker or "")
    return (mention for words, name, mention in names if words in said and name != speaker)


@lru_cache(maxsize=16_384)
def _words(text: str) -> str:
    plain = re.sub(r"\W+", " ", text)
    return f" {normal_name(plain)} "


def _spoken_mentions(spoken: Iterable[tuple[Utterance, Mention]], signals: Signals) -> Iterator[Relation]:
    """speaker -mentions-> entity, told by the chunk in which the utterance begins."""
    for said, mention in spoken:
        if said.speaker and _starts_here(said.offset_ms, signals):
            yield Relation(
                said.speaker, mention.name, "mentions", said.offset_ms, said.end_offset_ms, said.text, ends=(None, mention)
            )  # fmt: skip


def _starts_here(offset_ms: int, signals: Signals) -> bool:
    return signals.segment.offset_ms <= offset_ms < signals.segment.end_offset_ms


def unique(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """The first mention of each identity."""
    found: dict[tuple[str, str, str | None], Mention] = {}
    for mention in mentions:
        found.setdefault(identity(mention), mention)
    return tuple(found.values())


def identity(mention: Mention) -> tuple[str, str, str | None]:
    """What tells one mention of a chunk from another."""
    return mention.type, normal_name(mention.name), mention.id
