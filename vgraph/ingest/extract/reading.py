"""What a model made of notes, taken item by item: what stands in the notes is kept, the rest is left out and told.

A reply is not trusted: names must stand in the notes, types and relations in the vocabulary, and every relation rests on a text that
stands in a note. So whatever a text talks a model into, it can at most say what some note says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rapidfuzz import fuzz

from vgraph.ingest.extract.notes import Note, Notes
from vgraph.ingest.extract.structured import identity, resolve
from vgraph.ingest.extract.vocabulary import Vocabulary
from vgraph.ingest.extract.wording import Wording, among, joined
from vgraph.prompts import plain
from vgraph.types import Mention, Relation

LONGEST_NAME: Final = 12
LONGEST_RELATION: Final = 8
"""Words: what is longer is a sentence, and small models put those anywhere."""
LONGEST_TEXT: Final = 500
ALIKE: Final = 90.0
"""Of 100: so much of a quotation must stand in a note where it was not copied exactly."""
MOST_A_NOTE: Final = 20
"""Entities, and relations, kept a note: more is a model that runs on."""


@dataclass(slots=True)
class LeftOut:
    """What of a reply was not kept: reason -> what, for the warnings of a chunk."""

    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, what: object) -> None:
        self.found.setdefault(reason, []).append(str(what)[:60])

    def warnings(self) -> tuple[str, ...]:
        return tuple(f"extraction: left out {_some(items)}: {reason}" for reason, items in self.found.items())


def _some(items: Sequence[str]) -> str:
    named = ", ".join(map(repr, items[:3]))
    return named if len(items) <= 3 else f"{named} and {len(items) - 3} more"


@dataclass(frozen=True, slots=True)
class Stated:
    """A relation and the note it rests on."""

    relation: Relation
    note: Note


@dataclass(frozen=True, slots=True)
class Cast:
    """The entities that may stand in relations: by compared name, each with the chunks (places in the unit) that have it of their own."""

    named: Mapping[str, tuple[tuple[Mention, frozenset[int]], ...]]

    @classmethod
    def of(cls, mentions: Iterable[tuple[Mention, frozenset[int]]], wording: Wording) -> Cast:
        named: dict[str, dict[tuple[str, str, str | None], tuple[Mention, frozenset[int]]]] = {}
        for mention, chunks in mentions:
            known = named.setdefault(wording.name(mention.name), {})
            first, before = known.get(identity(mention), (mention, frozenset()))
            known[identity(mention)] = first, before | chunks
        return cls({name: tuple(found.values()) for name, found in named.items() if name})

    def who(self, name: str, chunk: int) -> Mention | None:
        """The one of this name, before all the one that its chunk has of its own; None where it may be either of two."""
        found = self.named.get(name, ())
        here = [mention for mention, chunks in found if chunk in chunks]
        return here[0] if len(here) == 1 else found[0][0] if len(found) == 1 else None

    def within(self, words: str, chunk: int) -> Mention | None:
        """The only one whose name stands in some words."""
        names = [name for name in self.named if among(name, f" {words} ")]
        return self.who(names[0], chunk) if len(names) == 1 else None


# --- entities -----------------------------------------------------------------------------------------------------------


def entities_in(
    value: Mapping[str, Any], notes: Notes, known: Mapping[str, Mention], vocabulary: Vocabulary, wording: Wording, left: LeftOut
) -> list[Mention]:  # fmt: skip
    """The entities of a reply whose names stand in the notes, under the type and identity that is known of them."""
    text = joined((note.text for note in notes), wording)
    kept: dict[tuple[str, str, str | None], Mention] = {}
    types = {kind.casefold(): kind for kind in vocabulary.entity_types}
    end = max(note.line.end_offset_ms for note in notes)
    for item in items(value, "entities"):
        name = tidy(item.get("name"))
        kind = types.get(tidy(item.get("type")).casefold(), "")
        reason = _refusal(wording.name(name), kind, text)
        if reason:
            left.add(reason, f"{name} ({tidy(item.get('type'))})")
        elif len(kept) < MOST_A_NOTE * len(notes):
            description = _described(tidy(item.get("description")), text, wording)
            mention = resolve(Mention(name, kind, description=description, described_offset_ms=end), known)
            kept.setdefault(identity(mention), mention)
        else:
            left.add("more entities than the notes can hold", name)
    return list(kept.values())


def _refusal(name: str, kind: str, text: str) -> str:
    """Why an entity is none; empty when it is one."""
    if not name or len(name.split()) > LONGEST_NAME:
        return "a sentence is no entity" if name else "an entity has a name"
    if not kind:
        return "no type that is configured"
    return "" if among(name, text) else "no note names it"


def _described(description: str, text: str, wording: Wording) -> str:
    """A description, unless it has names or numbers that stand in no note."""
    short = description[:LONGEST_TEXT]
    return "" if wording.novel(short, text) else short


# --- relations ----------------------------------------------------------------------------------------------------------


def relations_in(
    value: Mapping[str, Any], notes: Notes, cast: Cast, vocabulary: Vocabulary, wording: Wording, left: LeftOut
) -> list[Stated]:
    """The relations of a reply between entities, each with the note that says so and the words of it."""
    kept: list[Stated] = []
    for item in items(value, "relations"):
        stated = _stated(item, notes, cast, vocabulary, wording)
        if isinstance(stated, str):
            left.add(stated, " - ".join(tidy(item.get(part)) for part in ("source", "relation", "target")))
        elif len(kept) < MOST_A_NOTE * len(notes):
            kept.append(stated)
        else:
            left.add("more relations than the notes can hold", stated.relation.relation)
    return kept


def _stated(
    item: Mapping[str, Any], notes: Notes, cast: Cast, vocabulary: Vocabulary, wording: Wording
) -> Stated | str:
    """The relation, or why it is none."""
    relation = vocabulary.relation(tidy(item.get("relation")))
    if not relation or len(relation.split()) > LONGEST_RELATION or not vocabulary.permits(relation):
        return "no relation that is configured"
    confidence = sure(item.get("confidence"))
    if confidence is None:
        return "its confidence is no number"
    found = _support(item, notes, wording)
    if found is None:
        return "no note says so"
    note, text, exact = found
    ends = tuple(_end(item.get(side), cast, note.chunk, wording) for side in ("source", "target"))
    source, target = ends
    if source is None or target is None:
        return "its ends are no entities of the notes, or may be either of two"
    if identity(source) == identity(target):
        return "it leads back to itself"
    made = Relation(
        source.name, target.name, relation, note.line.offset_ms, note.line.end_offset_ms, text,
        confidence if exact else confidence / 2, (source, target),
    )  # fmt: skip
    return Stated(made, note)


def _end(value: object, cast: Cast, chunk: int, wording: Wording) -> Mention | None:
    """The entity an end names; of a longer text, the only entity in it."""
    name = wording.name(tidy(value))
    return cast.who(name, chunk) or cast.within(name, chunk)


def _support(item: Mapping[str, Any], notes: Notes, wording: Wording) -> tuple[Note, str, bool] | None:
    """The note that says so, its words, and whether they were copied: from the note that is named, else from any.

    Where nothing of the kind was said, the note that is named serves if it names both ends, and then any that does.
    """
    number = item.get("note")
    first = notes[number - 1] if isinstance(number, int) and 0 < number <= len(notes) else None
    ordered = [first, *(note for note in notes if note is not first)] if first else list(notes)
    quotation = tidy(item.get("supporting_text"))
    words = " ".join(wording.words(quotation))
    if note := next((note for note in ordered if _quotes(words, note)), None):
        return note, _own_words(quotation, note.text)[:LONGEST_TEXT], True
    if note := next((note for note in ordered if _resembles(words, note)), None):
        return note, note.text[:LONGEST_TEXT], True
    names = [wording.name(tidy(item.get(side))) for side in ("source", "target")]
    note = next((note for note in ordered if all(note.names(name) for name in names)), None)
    return (note, note.text[:LONGEST_TEXT], False) if note else None


def _own_words(quotation: str, text: str) -> str:
    """The words of a text that were quoted, as the text has them; all of it where they were not copied letter by letter."""
    at = text.lower().find(quotation.lower())
    return text[at : at + len(quotation)] if at >= 0 and len(text.lower()) == len(text) else text


def _quotes(words: str, note: Note) -> bool:
    return among(words, note.words) and (" " in words or note.words.strip() == words)


def _resembles(words: str, note: Note) -> bool:
    return len(words.split()) > 3 and len(words) <= len(note.words) and fuzz.partial_ratio(words, note.words) >= ALIKE


# --- values -------------------------------------------------------------------------------------------------------------


def items(value: Any, name: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list in a reply; whatever else stands there is passed over."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return (item for item in (found if isinstance(found, list) else ()) if isinstance(item, Mapping))


def tidy(value: object) -> str:
    """Text on one line without signs nobody sees; anything else is none."""
    return " ".join(plain(value).replace("\ufffd", " ").split()) if isinstance(value, str) else ""


def sure(value: object) -> float | None:
    """A confidence between 0 and 1; None for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(min(max(value, 0), 1))


def of_source(stated: Stated, method: str, source: str) -> Stated:
    """A relation that says which model and which graph state it."""
    return replace(stated, relation=replace(stated.relation, method=method, sources=(source,)))
