"""BM25 and TF-IDF as ArangoSearch computes them, in single precision.

A term's contribution is a weight (idf, boost, k + 1) times an impact (its frequency in the document, damped by the
document's length). Formulas: "ArangoSearch functions in AQL", scoring functions; BM25 takes the raw length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .arrays import NO_INTS, Bools, Floats, Ints, distinct
from .inverted import TermPostings


@dataclass(frozen=True, slots=True)
class FieldStats:
    """A field over the whole view: documents that have it, its tokens, and what its analyzer keeps."""

    documents: int
    tokens: int
    frequency: bool
    norm: bool


@dataclass(frozen=True, slots=True)
class BM25:
    k: float = 1.2
    b: float = 0.75

    def weight(self, stats: FieldStats, frequencies: Sequence[int], boost: float) -> float:
        """`frequencies`: documents of the term; several for a phrase, whose idf is the sum."""
        if not stats.frequency:
            return 0.0
        idf = sum(math.log(1 + (stats.documents - n + 0.5) / (n + 0.5)) for n in frequencies)
        return float(np.float32(boost * (self.k + 1) * idf))

    def impact(self, stats: FieldStats, tfs: Floats, lengths: Floats) -> Floats:
        if self.b == 0 or not stats.norm or not stats.tokens:
            return tfs / (np.float32(self.k) + tfs)
        constant = np.float32(self.k - self.k * self.b)
        slope = np.float32(self.k * self.b / (stats.tokens / stats.documents))
        damped: Floats = lengths * slope
        damped += constant
        damped += tfs
        return np.divide(tfs, damped, out=damped)

    def key(self, stats: FieldStats) -> tuple[object, ...]:
        """What `impact` depends on besides the postings."""
        return (self, stats.tokens, stats.documents, stats.norm)


@dataclass(frozen=True, slots=True)
class TFIDF:
    norm: bool = False

    def weight(self, stats: FieldStats, frequencies: Sequence[int], boost: float) -> float:
        if not stats.frequency:
            return 0.0
        idf = sum(math.log(1 + (stats.documents + 1) / (n + 1)) for n in frequencies)
        return float(np.float32(boost * idf))

    def impact(self, stats: FieldStats, tfs: Floats, lengths: Floats) -> Floats:
        found: Floats = np.sqrt(tfs)
        if self.norm and stats.norm:
            found /= np.sqrt(lengths)
        return found

    def key(self, stats: FieldStats) -> tuple[object, ...]:
        return (self, stats.norm)


Scorer: TypeAlias = BM25 | TFIDF


@dataclass(frozen=True, slots=True)
class BoostScore:
    """BOOST_SCORE: only what BOOST() gave, summed over the matching parts."""

    def weight(self, stats: FieldStats, frequencies: Sequence[int], boost: float) -> float:
        return boost

    def impact(self, stats: FieldStats, tfs: Floats, lengths: Floats) -> Floats:
        return np.ones(len(tfs), np.float32)

    def key(self, stats: FieldStats) -> tuple[object, ...]:
        return (self,)


def impacts(scorer: Scorer, stats: FieldStats, postings: TermPostings) -> tuple[Floats, float]:
    """Impacts of a term's documents and the largest of them, remembered with the postings."""
    key = scorer.key(stats)
    known = postings.impacts
    if known is not None and known[0] == key:
        return known[1], known[2]
    found = scorer.impact(stats, postings.tfs, postings.lengths)
    top = float(found.max()) if len(found) else 0.0
    postings.impacts = key, found, top
    return found, top


# ------------------------------------------------------------------------------------------------------- top k


@dataclass(slots=True)
class Scored:
    """A term with its weight under one scorer."""

    ords: Ints
    impacts: Floats
    weight: float
    bound: float


def top_terms(
    terms: Sequence[Scored], k: int, sums: Floats, mask: Bools | None = None, extra: Floats | None = None
) -> tuple[Ints, Floats]:
    """The k documents with the largest sum over the terms, best first (ties by ordinal), by max-score pruning.

    `sums`: zeros, one for each ordinal, and zeros again afterwards. `mask`: documents allowed. `extra` (with `mask`):
    what other parts of the condition add to each. Every document returned has at least one of the terms.
    """
    order = sorted((term for term in terms if len(term.ords)), key=lambda term: -term.bound)
    top_extra = float(extra.max()) if extra is not None and len(extra) else 0.0
    threshold = -math.inf
    seen: list[Ints] = []
    at = 0
    left = sum(term.bound for term in order)
    while at < len(order) and not (left + top_extra < threshold):
        term = order[at]
        ords, found = term.ords, term.impacts
        if mask is not None:
            keep = mask[ords]
            ords, found = ords[keep], found[keep]
        sums[ords] += found * np.float32(term.weight)
        seen.append(ords)
        at += 1
        left = sum(term.bound for term in order[at:])
        if len(ords) >= k and at < len(order):
            now = sums[ords] if extra is None else sums[ords] + extra[ords]
            threshold = max(threshold, float(np.partition(now, len(now) - k)[len(now) - k]) * (1 - 1e-5))
    candidates = _candidates(seen, sums, extra, threshold - left)
    for index in range(at, len(order)):
        term = order[index]
        where = np.searchsorted(term.ords, candidates)
        where[where == len(term.ords)] = 0
        hit = term.ords[where] == candidates
        sums[candidates[hit]] += term.impacts[where[hit]] * np.float32(term.weight)
        left -= term.bound
        now = sums[candidates] if extra is None else sums[candidates] + extra[candidates]
        candidates = candidates[now >= threshold - max(left, 0.0) - 1e-4 * abs(threshold)]
    best = _best(candidates, sums, extra, terms, k)
    for ords in seen:
        sums[ords] = 0
    return best


def _candidates(seen: list[Ints], sums: Floats, extra: Floats | None, floor: float) -> Ints:
    kept = []
    for ords in seen:
        now = sums[ords] if extra is None else sums[ords] + extra[ords]
        kept.append(ords[now >= floor] if floor > -math.inf else ords)
    if not kept:
        return NO_INTS
    return distinct(np.concatenate(kept)) if len(kept) > 1 else kept[0]


def _best(candidates: Ints, sums: Floats, extra: Floats | None, terms: Sequence[Scored], k: int) -> tuple[Ints, Floats]:
    now = sums[candidates] if extra is None else sums[candidates] + extra[candidates]
    if len(candidates) > 4 * k:
        # a margin, because sums so far were taken in another order than the one below
        floor = float(np.partition(now, len(now) - k)[len(now) - k])
        candidates = candidates[now >= floor - 1e-4 * abs(floor)]
    exact = sum_in_order(candidates, terms)
    if extra is not None:
        exact += extra[candidates]
    order = np.argsort(-exact, kind="stable")[:k]
    return candidates[order], exact[order]


def sum_in_order(candidates: Ints, terms: Sequence[Scored]) -> Floats:
    """Scores added in the order of the query, so that they do not depend on how they were found."""
    exact = np.zeros(len(candidates), np.float32)
    for term in terms:
        if not len(term.ords):
            continue
        where = np.searchsorted(term.ords, candidates)
        where[where == len(term.ords)] = 0
        hit = term.ords[where] == candidates
        exact[hit] += term.impacts[where[hit]] * np.float32(term.weight)
    return exact


__all__ = ["BM25", "TFIDF", "BoostScore", "FieldStats", "Scored", "Scorer", "impacts", "top_terms"]
