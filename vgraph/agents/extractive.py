"""An answer without a chat model: the statements of the evidence that cover the question best, word for word, each cited.

A statement is a sentence of a chunk's line, or a relation with its supporting text, and the camera it was seen on. Its coverage is
the share of the question's content words it holds, weighted by how rare they are in the evidence, so that a word nothing has (the
thing asked about was never seen) weighs most. Below COVERED nothing is claimed; nor is it when the statement lacks a number or an
entity that the question names. One that names all of them may cover less (NAMED): "gives the crate to Ana" tells who handed it to her.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from vgraph.agents.cite import cite
from vgraph.retrieve.pack import moment
from vgraph.retrieve.times import without_times
from vgraph.retrieve.words import content_words, without_words
from vgraph.types import Claim, Evidence, EvidenceChunk, EvidenceRelation, Line

COVERED = 0.6
NAMED = 0.45
NEAR_BEST = 0.9
MOST_CLAIMS = 3
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")
MEANING = 0.5
RANK = 0.02

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""Cosine of a question with each of some texts, in [-1, 1]."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A line to be cited, and the words that count for it (a relation's names stand beside its supporting text)."""

    chunk: EvidenceChunk
    line: Line
    words: frozenset[str]
    place: int


def extract_claims(evidence: Evidence, similarity: Similarity | None = None) -> tuple[Claim, ...]:
    """Up to three claims, best first; none when no statement covers the question."""
    best = _ranked(evidence, similarity)
    near = [statement for statement, score in best if score >= NEAR_BEST * best[0][1]]
    return tuple(_claim(statement) for statement in _distinct(near)[:MOST_CLAIMS])


def _claim(statement: Statement) -> Claim:
    """When, on which camera, and what the evidence says there."""
    citation = cite(statement.chunk, statement.line)
    when = moment(statement.chunk, citation.offset_ms)
    return Claim(f"{when}, {citation.camera_label}: {statement.line.text}", (citation,))


def _ranked(evidence: Evidence, similarity: Similarity | None) -> list[tuple[Statement, float]]:
    asked = without_times(evidence.question)
    question = content_words(asked)
    statements = [*_lines(evidence), *_relations(evidence)]
    if not question or not statements:
        return []
    weights = _weights(question, statements)
    required = _required(evidence)
    least = NAMED if len(required) > 1 else COVERED
    coverage = [sum(w for word, w in weights.items() if word in s.words) for s in statements]
    kept = [(s, c) for s, c in zip(statements, coverage, strict=True) if c >= least and required <= s.words]
    likeness = _likeness(asked, [s.line.text for s, _ in kept], required, similarity)
    scored = [(s, c + MEANING * like + RANK / (1 + s.place)) for (s, c), like in zip(kept, likeness, strict=True)]
    return sorted(scored, key=lambda item: (-item[1], item[0].chunk.start_ms, item[0].line.offset_ms))


def _likeness(
    asked: str, texts: Sequence[str], required: frozenset[str], similarity: Similarity | None
) -> Sequence[float]:
    """How near in meaning the rest of each statement is to the rest of the question, beside the names both have: `lifts` to `pick up`."""
    if similarity is None or not texts:
        return [0.0] * len(texts)
    return similarity(without_words(asked, required), [without_words(text, required) for text in texts])


def _lines(evidence: Evidence) -> Iterator[Statement]:
    """Sentences, each with the interval of its line."""
    for place, chunk in enumerate(evidence.chunks):
        for line in chunk.lines:
            for sentence in _SENTENCE_END.split(line.text):
                words = content_words(f"{sentence} {chunk.camera_label}")
                yield Statement(chunk, replace(line, text=sentence), words, place)


def _relations(evidence: Evidence) -> Iterator[Statement]:
    """Relations of the chunks at hand, each with its own interval."""
    places = {chunk.id: (place, chunk) for place, chunk in enumerate(evidence.chunks)}
    for relation in evidence.relations:
        if relation.chunk in places:
            place, chunk = places[relation.chunk]
            zero = chunk.start_ms - chunk.offset_ms
            text = f"{relation.source_name} {relation.relation} {relation.target_name}"
            line = Line(relation.start_ms - zero, relation.end_ms - zero, "caption", text, "relation")
            yield Statement(chunk, line, content_words(f"{text} {_telling(relation)} {chunk.camera_label}"), place)


def _telling(relation: EvidenceRelation) -> str:
    """The sentences of the supporting text that name both ends; the others tell of something else."""
    ends = content_words(relation.source_name) | content_words(relation.target_name)
    return " ".join(s for s in _SENTENCE_END.split(relation.supporting_text) if ends <= content_words(s))


def _weights(question: frozenset[str], statements: Sequence[Statement]) -> dict[str, float]:
    """Inverse document frequency of the question's words among the statements, summing to 1."""
    counts = Counter(word for statement in statements for word in question & statement.words)
    raw = {word: math.log(1 + (len(statements) + 1) / (counts[word] + 0.5)) for word in question}
    total = sum(raw.values())
    return {word: weight / total for word, weight in raw.items()}


def _required(evidence: Evidence) -> frozenset[str]:
    """Words no statement may lack: numbers, and the names of entities that stand whole in the question."""
    question = content_words(without_times(evidence.question))
    names = [content_words(entity.name) for entity in evidence.entities]
    named = {word for name in names if name and name <= question for word in name}
    return frozenset({word for word in question if any(c.isdigit() for c in word)} | named)


def _distinct(statements: Sequence[Statement]) -> list[Statement]:
    """One of each fact, the one that says most of it: overlapping windows repeat lines, and a relation repeats the line that tells it."""
    kept: list[Statement] = []
    for statement in statements:
        twin = next((place for place, other in enumerate(kept) if _same(statement, other)), None)
        if twin is None:
            kept.append(statement)
        else:
            kept[twin] = max(kept[twin], statement, key=lambda one: len(one.line.text))
    return kept


def _same(one: Statement, other: Statement) -> bool:
    """Of one recording, at one time, and neither says what the other does not."""
    together = one.line.offset_ms <= other.line.end_offset_ms and other.line.offset_ms <= one.line.end_offset_ms
    alike = one.words <= other.words or other.words <= one.words
    return one.chunk.document == other.chunk.document and together and alike
