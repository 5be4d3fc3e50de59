"""A unit of consecutive chunks understood together, so that "she" and "the driver" of one chunk are somebody of another (EGAgent E3).

What the signals say by themselves is united with what a chat model reads out of the statements of all senses, and out of speech alone
(E7). Every entity and relation goes back to the chunk that its words stand in. Where the model fails, a chunk keeps the rest, and tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vgraph.errors import BadReply, MissingDependency, ModelError
from vgraph.ingest.chunks import ChunkText, Signals
from vgraph.ingest.extract import schemas
from vgraph.ingest.extract.found import Finding, with_found
from vgraph.ingest.extract.intervals import dated
from vgraph.ingest.extract.notes import Note, Notes, in_parts, is_too_much, notes_of, seconds, shown
from vgraph.ingest.extract.plan import Plan
from vgraph.ingest.extract.reading import Cast, LeftOut, Stated, entities_in, of_source, relations_in
from vgraph.ingest.extract.structured import LABEL, STRUCTURED, identity, structured, unique
from vgraph.ingest.extract.union import resolved
from vgraph.ingest.extract.wording import among, joined
from vgraph.ingest.keys import normal_name
from vgraph.models import ChatModel
from vgraph.models.replies import Malformed, parsed
from vgraph.prompts import prompt, quoted
from vgraph.types import Extraction, Line, Mention, Message, Relation, Segment

Part = tuple[Signals, ChunkText]
Identity = tuple[str, str, str | None]


def units(segments: Sequence[Segment], unit_ms: int) -> list[tuple[Segment, ...]]:
    """Consecutive segments, as many as begin within `unit_ms` of the first one's begin."""
    found: list[list[Segment]] = []
    for segment in segments:
        if found and segment.offset_ms - found[-1][0].offset_ms < unit_ms:
            found[-1].append(segment)
        else:
            found.append([segment])
    return [tuple(unit) for unit in found]


def extract_unit(
    parts: Sequence[Part],
    known: Mapping[str, Mention],
    chat: ChatModel | None,
    plan: Plan,
    camera: str,
    finding: Finding | None = None,
) -> tuple[Extraction, ...]:
    """Entities and relations of each chunk of a unit, in order. `known` are the entities of given captions by normalised name.

    Without a chat model names are found by `finding`, where there is one.

    A model that fails does not stop it: the chunks concerned tell so (`warnings`, `failed`). Raises MissingDependency only.
    """
    bases = [structured(signals, known, plan.vocabulary) for signals, _ in parts]
    if chat is None and finding is not None:
        return with_found(
            bases, [signals for signals, _ in parts], {**_names(bases), **known}, plan.vocabulary, finding
        )
    if chat is None:
        return tuple(bases)
    unit = _Unit(tuple(parts), tuple(bases), {**_names(bases), **known}, plan, camera)
    passes = [_read(unit, chat, source, lines) for source, lines in _graphs(unit)]
    given = [_given(relation, chunk) for chunk, base in enumerate(bases) for relation in base.relations]
    stated = resolved([*given, *(each for found in passes for each in found.relations)], plan.wording)
    mentions = [mention for found in passes for mention in found.mentions]
    told = _Told.of(unit)
    timed = [told.known(each) for each in stated]
    return tuple(_chunk(unit, chunk, told, mentions, timed, passes) for chunk in range(len(parts)))


@dataclass(frozen=True, slots=True)
class _Unit:
    """The chunks of a unit, what their signals say by themselves, and which entity a name means in it."""

    parts: tuple[Part, ...]
    bases: tuple[Extraction, ...]
    names: Mapping[str, Mention]
    plan: Plan
    camera: str

    @property
    def begin_ms(self) -> int:
        """Where what the unit tells begins: what reaches into it from the one before was told there."""
        first = self.parts[0][0].segment
        return first.offset_ms if first.index else 0

    def known_ms(self, chunk: int) -> int:
        """When all that a chunk tells had been recorded."""
        signals, text = self.parts[chunk]
        return max(signals.segment.end_offset_ms, *(line.end_offset_ms for line in text.lines), 0)


@dataclass(slots=True)
class _Pass:
    """What one reading of the unit gave; `warnings`, `read` and `failed` by the chunk's place in the unit."""

    method: str
    mentions: list[Mention] = field(default_factory=list)
    relations: list[Stated] = field(default_factory=list)
    warnings: dict[int, list[str]] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)

    def tell(self, chunks: Iterable[int], warnings: Iterable[str]) -> None:
        told = tuple(warnings)
        for chunk in chunks:
            self.warnings.setdefault(chunk, []).extend(told)


def _names(bases: Iterable[Extraction]) -> dict[str, Mention]:
    """The entity that a name means in the unit, where the signals know one only; a label that is read is a text, and not the thing."""
    found: dict[str, dict[Identity, Mention]] = {}
    for base in bases:
        for mention in base.entities:
            if mention.type != LABEL:
                found.setdefault(normal_name(mention.name), {}).setdefault(identity(mention), mention)
    return {name: next(iter(those.values())) for name, those in found.items() if len(those) == 1}


def _graphs(unit: _Unit) -> Iterator[tuple[str, list[list[Line]]]]:
    """The graphs that are united: statements of all senses, and speech alone where there is something else beside it."""
    fused = [[line for line in text.statements if line.offset_ms >= unit.begin_ms] for _, text in unit.parts]
    spoken = [
        [line for line in text.lines if line.modality == "speech" and line.offset_ms >= unit.begin_ms]
        for _, text in unit.parts
    ]
    only_speech = all(line.modality == "speech" for lines in fused for line in lines)
    yield ("transcript" if only_speech else "fused"), fused
    if unit.plan.union and not only_speech and any(spoken):
        yield "transcript", spoken


# --- one reading ----------------------------------------------------------------------------------------------------------


def _read(unit: _Unit, chat: ChatModel, source: str, statements: Sequence[Sequence[Line]]) -> _Pass:
    """Entities and relations out of statements, by a model: whole, or in as many parts as it takes."""
    plan, found = unit.plan, _Pass(f"model:{chat.name}")
    notes = notes_of(statements, plan.wording)
    if not notes:
        return found
    for part, answer in in_parts(notes, lambda some: _asked(some, unit, chat), plan.room):
        chunks = sorted({note.chunk for note in part})
        if isinstance(answer, ModelError):
            found.tell(chunks, [f"extraction: {answer}"])
            found.failed.update(() if is_too_much(answer) else chunks)
        else:
            found.read.update(chunks)
        _take(_salvaged(answer) if isinstance(answer, ModelError) else answer, part, unit, chat, source, found)
    return found


def _asked(notes: Notes, unit: _Unit, chat: ChatModel) -> Mapping[str, Any]:
    vocabulary = unit.plan.vocabulary
    question = prompt(
        "extract",
        camera=unit.camera,
        start=seconds(min(note.line.offset_ms for note in notes)),
        end=seconds(max(note.line.end_offset_ms for note in notes)),
        entity_types=", ".join(vocabulary.entity_types),
        relation_rule=_rule(unit.plan),
        notes=quoted(shown(notes)),
    )
    schema = schemas.extraction(vocabulary)
    done = chat.complete([Message("user", question)], schema=schema, max_tokens=unit.plan.reply_tokens)
    value: Mapping[str, Any] = done.value
    return value


def _rule(plan: Plan) -> str:
    vocabulary = plan.vocabulary
    if not vocabulary.relations:
        return "a short verb phrase in the present tense."
    listed = ", ".join(vocabulary.relations)
    if vocabulary.is_open:
        return f"a short verb phrase in the present tense that says exactly what is done; where nothing fits better, one of: {listed}."
    return f"one of: {listed}."


def _salvaged(error: ModelError) -> Mapping[str, Any]:
    """What can still be read of the last reply; its parts are checked one by one anyway."""
    if not isinstance(error, BadReply) or error.kind not in ("malformed", "truncated"):
        return {}
    try:
        value: Mapping[str, Any] = parsed(error.said, {"type": "object"})
    except Malformed:
        return {}
    return value


def _take(value: Mapping[str, Any], part: Notes, unit: _Unit, chat: ChatModel, source: str, found: _Pass) -> None:
    plan, left = unit.plan, LeftOut()
    mentions = entities_in(value, part, unit.names, plan.vocabulary, plan.wording, left)
    stated = relations_in(value, part, _cast(unit, mentions), plan.vocabulary, plan.wording, left)
    first = part[0].chunk
    if plan.temporal and stated:
        try:
            stated = dated(stated, part, chat, plan, left)
        except MissingDependency:
            raise
        except ModelError as error:
            found.tell([first], [f"dating of relations: {error}"])
            found.failed.update(() if is_too_much(error) else [first])
    found.mentions += mentions
    found.relations += [of_source(each, found.method, source) for each in stated]
    found.tell([first], left.warnings())


def _cast(unit: _Unit, mentions: Sequence[Mention]) -> Cast:
    """Whom relations may be between. A label is a text: where there is a thing of its name, the thing is meant."""
    things = {unit.plan.wording.name(mention.name) for mention in mentions}
    own = [
        (mention, frozenset({chunk}))
        for chunk, base in enumerate(unit.bases)
        for mention in base.entities
        if mention.type != LABEL or unit.plan.wording.name(mention.name) not in things
    ]
    return Cast.of([*own, *((mention, frozenset[int]()) for mention in mentions)], unit.plan.wording)


# --- back to the chunks -----------------------------------------------------------------------------------------------------


def _given(relation: Relation, chunk: int) -> Stated:
    text = relation.supporting_text
    line = Line(relation.offset_ms or 0, relation.end_offset_ms or 0, "caption", text, "given")
    return Stated(relation, Note(chunk, line, text, ""))


@dataclass(frozen=True, slots=True)
class _Told:
    """The words of each chunk, when each was known, and with them when a name was first told."""

    unit: _Unit
    words: tuple[str, ...]
    known_ms: tuple[int, ...]
    first: dict[Identity, int] = field(default_factory=dict)

    @classmethod
    def of(cls, unit: _Unit) -> _Told:
        wording = unit.plan.wording
        words = (joined((line.text for line in (*text.lines, *text.fused)), wording) for _, text in unit.parts)
        return cls(unit, tuple(words), tuple(unit.known_ms(chunk) for chunk in range(len(unit.parts))))

    def names(self, mention: Mention, chunk: int) -> bool:
        """Whether a chunk's own words, or its signals, tell of an entity."""
        name = self.unit.plan.wording.name(mention.name)
        own = (identity(each) for each in self.unit.bases[chunk].entities)
        return among(name, self.words[chunk]) or identity(mention) in own

    def named_ms(self, mention: Mention) -> int:
        """When the first chunk that names it was known."""
        if identity(mention) not in self.first:
            chunks = range(len(self.words))
            told = (self.known_ms[chunk] for chunk in chunks if self.names(mention, chunk))
            self.first[identity(mention)] = min(told, default=max(self.known_ms))
        return self.first[identity(mention)]

    def known(self, stated: Stated) -> Stated:
        """The relation with the time at which all it rests on had been recorded: a name may have been told later than the deed.

        So has a relation in words that its statement does not have: the whole unit may have led to them.
        """
        relation, chunk = stated.relation, stated.note.chunk
        if STRUCTURED in relation.sources:
            return stated
        wording = self.unit.plan.wording
        said = set(wording.words(relation.relation)) <= set(wording.words(relation.supporting_text))
        free = not said and relation.relation not in self.unit.plan.vocabulary.relations
        times = [self.named_ms(end) for end in relation.ends if end is not None]
        whole = max(self.known_ms) if free else 0
        latest = max(self.known_ms[chunk], relation.end_offset_ms or 0, whole, *times)
        return replace(stated, relation=replace(relation, known_offset_ms=latest))


def _chunk(
    unit: _Unit, chunk: int, told: _Told, mentions: Sequence[Mention], stated: Sequence[Stated], passes: Sequence[_Pass]
) -> Extraction:
    """What of the unit's entities and relations stands in one of its chunks."""
    base = unit.bases[chunk]
    relations = tuple(each.relation for each in stated if each.note.chunk == chunk)
    named = [mention for mention in mentions if told.names(mention, chunk)]
    ends = [end for relation in relations for end in relation.ends if end is not None]
    return Extraction(
        unique((*base.entities, *named, *ends)),
        relations,
        next((found.method for found in passes if chunk in found.read), STRUCTURED),
        tuple(dict.fromkeys(w for found in passes for w in found.warnings.get(chunk, ()))),
        any(chunk in found.failed for found in passes),
    )
