"""What a finder of names takes from captions and speech where no chat model reads them: entities of the vocabulary's types, no relations.

A bare noun ("a man") names somebody of its recording only, a described one ("white van") is known by its description as in any caption.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from vgraph.errors import MissingDependency, ModelError
from vgraph.ingest.chunks import Signals
from vgraph.ingest.extract.structured import resolve, unique
from vgraph.ingest.extract.tracked import ANIMALS, VEHICLES
from vgraph.ingest.extract.vocabulary import Vocabulary
from vgraph.ingest.keys import content_key, normal_name
from vgraph.models import EntityFinder
from vgraph.types import Extraction, Mention, Named

DATE: Final = "date"
"""The entity type of a day that is named; as a label that is read, it belongs to no domain."""
PEOPLE: Final = frozenset((
    "person", "people", "man", "woman", "boy", "girl", "child", "kid", "baby", "adult", "worker", "driver", "guard", "officer",
    "policeman", "policewoman", "pedestrian", "passenger", "customer", "shopper", "cashier", "cyclist", "visitor", "colleague",
    "employee", "manager", "guest", "lady", "gentleman", "guy", "crowd", "team", "courier", "operator", "staff", "stranger",
))  # fmt: skip
MORE_VEHICLES: Final = frozenset(
    ("lorry", "tram", "motorbike", "scooter", "ambulance", "taxi", "trailer", "tractor", "bike", "wagon")
)
PLACES: Final = frozenset((
    "office", "hall", "yard", "dock", "gate", "street", "road", "room", "building", "warehouse", "station", "platform", "corridor",
    "entrance", "exit", "lot", "floor", "kitchen", "garden", "park", "shop", "store", "crossing", "junction", "intersection",
    "pavement", "sidewalk", "bridge", "garage", "lobby", "aisle", "square", "house", "lane", "stairs", "staircase", "area",
))  # fmt: skip
PACKAGES: Final = frozenset(
    ("package", "parcel", "box", "crate", "carton", "pallet", "case", "container", "envelope", "bag")
)
IDLE: Final = frozenset((
    "way", "time", "side", "front", "back", "left", "right", "top", "bottom", "middle", "moment", "morning", "afternoon", "evening",
    "night", "day", "hour", "minute", "second", "scene", "camera", "view", "picture", "image", "video", "background", "foreground",
    "part", "thing", "number", "kind", "direction", "distance", "hand", "head", "arm", "end", "beginning", "something", "lot",
))  # fmt: skip
"""Nouns that name nothing one could meet again."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Who finds names, and the document in which he does."""

    finder: EntityFinder
    document: str


def with_found(
    bases: Sequence[Extraction], signals: Sequence[Signals], known: Mapping[str, Mention], vocabulary: Vocabulary, finding: Finding
) -> tuple[Extraction, ...]:  # fmt: skip
    """What is structured, with what is found in the texts beside. A finder that fails leaves what is structured, and is told."""
    finder = finding.finder
    try:
        texts = [list(_texts(one, finder.language)) for one in signals]
        named = iter(finder.find([text for chunk in texts for text in chunk]))
    except MissingDependency:
        raise
    except ModelError as error:
        return tuple(replace(base, warnings=(*base.warnings, f"entities: {error}"), failed=True) for base in bases)
    found = [[one for _ in chunk for one in next(named)] for chunk in texts]
    return tuple(
        _extended(base, told, known, vocabulary, finding) if chunk else base
        for base, chunk, told in zip(bases, texts, found, strict=True)
    )


def _texts(signals: Signals, language: str) -> Iterator[str]:
    """Captions that tell no entities themselves, and what is said in the finder's language, or in one that nobody told."""
    yield from (caption.text for caption in signals.captions if caption.text.strip() and not caption.entities)
    for said in signals.utterances:
        if said.text.strip() and (said.language is None or said.language.partition("-")[0] == language):
            yield said.text


def _extended(
    base: Extraction, found: Sequence[Named], known: Mapping[str, Mention], vocabulary: Vocabulary, finding: Finding
) -> Extraction:
    own = {normal_name(mention.name) for mention in base.entities}
    mentions = [mention for one in found if (mention := _mention(one, vocabulary, finding.document))]
    told = (resolve(mention, known) for mention in mentions if normal_name(mention.name) not in own)
    return replace(base, entities=unique((*base.entities, *told)), method=finding.finder.name)


def _mention(named: Named, vocabulary: Vocabulary, document: str) -> Mention | None:
    kind = kind_of(named, vocabulary)
    if kind is None:
        return None
    bare = not named.label and len(named.words) == 1
    identity = content_key("noun", document, kind, normal_name(named.text)) if bare else None
    return Mention(named.text, kind, identity)


def kind_of(named: Named, vocabulary: Vocabulary) -> str | None:
    """The vocabulary's type of what is named; None where it has none for it, and for nouns that tell nothing."""
    if named.label == DATE:
        return DATE
    if named.label:
        return named.label if named.label in vocabulary.entity_types else None
    if named.words[-1] in IDLE:
        return None
    types = [kind for kind in _kinds(named) if kind in vocabulary.entity_types]
    kind = next(iter(types), None)
    bare_thing = len(named.words) == 1 and kind not in ("person", "vehicle", "animal")
    return None if bare_thing else kind


def _kinds(named: Named) -> Iterator[str]:
    """What a noun may be, the surest first: the last of its words that is known says it."""
    yield named.words[-1]
    for word in reversed(named.words):
        for kind, words in _NOUNS.items():
            if word in words:
                yield kind
    yield "object"
    yield "product"


_NOUNS: Final = {
    "person": PEOPLE,
    "vehicle": VEHICLES | MORE_VEHICLES,
    "animal": ANIMALS,
    "package": PACKAGES,
    "location": PLACES,
}
