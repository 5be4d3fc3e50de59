"""An answer without a chat model: the lines of the evidence that cover the question best, word for word, each cited.

A line's coverage is the share of the question's content words it holds, weighted by how rare they are in the evidence, so that a word
no line has (the thing asked about was never seen) weighs most. Below COVERED nothing is claimed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vgraph.agents.cite import cite
from vgraph.retrieve.words import content_words
from vgraph.types import Claim, Evidence, EvidenceChunk, Line

COVERED = 0.6
NEAR_BEST = 0.9
MOST_CLAIMS = 3
MEANING = 0.25
RANK = 0.1

Similarity = Callable[[str, Sequence[str]], Sequence[float]]
"""Cosine of a question with each of some texts, in [-1, 1]."""


@dataclass(frozen=True, slots=True)
class Candidate:
    chunk: EvidenceChunk
    line: Line
    coverage: float
    score: float


def extract_claims(evidence: Evidence, similarity: Similarity | None) -> tuple[Claim, ...]:
    """Up to three claims, best first; none when no line covers the question."""
    best = _ranked(evidence, similarity)
    if not best:
        return ()
    chosen = [c for c in best if c.score >= NEAR_BEST * best[0].score][:MOST_CLAIMS]
    return tuple(Claim(c.line.text, (cite(c.chunk, c.line),)) for c in _distinct(chosen))


def _ranked(evidence: Evidence, similarity: Similarity | None) -> list[Candidate]:
    question = content_words(evidence.question)
    lines = [(chunk, line) for chunk in evidence.chunks for line in chunk.lines]
    if not question or not lines:
        return []
    weights = _weights(question, [line for _, line in lines])
    likeness = similarity(evidence.question, [line.text for _, line in lines]) if similarity else [0.0] * len(lines)
    places = {chunk.id: number for number, chunk in enumerate(evidence.chunks)}
    candidates = [
        _candidate(chunk, line, weights, like, places[chunk.id])
        for (chunk, line), like in zip(lines, likeness, strict=True)
    ]
    covered = [candidate for candidate in candidates if candidate.coverage >= COVERED]
    return sorted(covered, key=lambda c: (-c.score, c.chunk.start_ms, c.line.offset_ms))


def _weights(question: frozenset[str], lines: Sequence[Line]) -> dict[str, float]:
    """Inverse document frequency of the question's words among the lines, summing to 1."""
    counts = Counter(word for line in lines for word in question & content_words(line.text))
    raw = {word: math.log(1 + (len(lines) + 1) / (counts[word] + 0.5)) for word in question}
    total = sum(raw.values())
    return {word: weight / total for word, weight in raw.items()}


def _candidate(chunk: EvidenceChunk, line: Line, weights: dict[str, float], likeness: float, place: int) -> Candidate:
    coverage = sum(weight for word, weight in weights.items() if word in content_words(line.text))
    return Candidate(chunk, line, coverage, coverage + MEANING * likeness + RANK / (1 + place))


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """One of each statement: overlapping windows repeat lines."""
    found: dict[tuple[str, str, int], Candidate] = {}
    for candidate in candidates:
        key = (candidate.line.text, candidate.chunk.document, candidate.line.offset_ms)
        found.setdefault(key, candidate)
    return list(found.values())
