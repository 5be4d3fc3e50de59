"""BM25 and TF-IDF as ArangoSearch computes them, in single precision.

A term's contribution is a weight (idf, boost, k + 1) times an impact (its frequency in the document, damped by the
document's length). Formulas: "ArangoSearch functions in AQL", scoring functions; BM25 takes the raw length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from vgraph.embedded.arrays import NO_INTS, Bools, Floats, Ints, distinct

from .inverted import EMPTY, Impacts, TermPostings


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

    def alike(self, one: FieldStats, other: FieldStats) -> float:
        """How far impacts under two states of a field may be apart, as a share of themselves."""
        if one.norm != other.norm:
            return math.inf
        if self.b == 0 or not one.norm or one == other:
            return 0.0
        if not one.tokens or not other.tokens:
            return math.inf
        return abs(one.tokens * other.documents / (one.documents * other.tokens) - 1)


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

    def alike(self, one: FieldStats, other: FieldStats) -> float:
        return 0.0 if one.norm == other.norm else math.inf


Scorer: TypeAlias = BM25 | TFIDF


@dataclass(frozen=True, slots=True)
class BoostScore:
    """BOOST_SCORE: only what BOOST() gave, summed over the matching parts."""

    def weight(self, stats: FieldStats, frequencies: Sequence[int], boost: float) -> float:
        return boost

    def impact(self, stats: FieldStats, tfs: Floats, lengths: Floats) -> Floats:
        return np.ones(len(tfs), np.float32)

    def alike(self, one: FieldStats, other: FieldStats) -> float:
        return 0.0


def impacts(scorer: Scorer, stats: FieldStats, postings: TermPostings) -> Floats:
    """Impacts of a term's documents."""
    return _kept(scorer, stats, postings, 0.0).values


def _kept(scorer: Scorer, stats: FieldStats, postings: TermPostings, tolerance: float) -> Impacts:
    """Impacts remembered with the postings, as long as they are no further from the right ones than the tolerance allows."""
    known = postings.impacts
    if known is None or known.scorer != scorer or scorer.alike(known.stats, stats) > tolerance:
        known = postings.impacts = Impacts(scorer, stats)
    if known.size < postings.size:
        known.extend(scorer.impact(known.stats, postings.tfs[known.size :], postings.lengths[known.size :]))
    return known


# ------------------------------------------------------------------------------------------------------- top k

_NEAR: Final = (
    1e-3  # share of an impact by which its estimate may be wrong: one more document does not make all of them void
)
_ROUNDING: Final = 1e-5  # of sums in single precision


@dataclass(slots=True)
class Scored:
    """A term with its weight under one scorer; `estimates` are about the impacts, `bound` is no less than any contribution."""

    postings: TermPostings
    scorer: Scorer
    stats: FieldStats
    weight: float
    estimates: Floats
    bound: float

    def at(self, places: Ints) -> Floats:
        """What the documents at some places of the postings contribute, exactly."""
        found = self.scorer.impact(self.stats, self.postings.tfs[places], self.postings.lengths[places])
        return found * np.float32(self.weight)


def scored(scorer: Scorer, stats: FieldStats, postings: TermPostings, weight: float) -> Scored:
    """A term ready for `top_terms`."""
    if postings is EMPTY or not postings.size:
        return Scored(EMPTY, scorer, stats, 0.0, np.empty(0, np.float32), 0.0)
    kept = _kept(scorer, stats, postings, _NEAR)
    return Scored(postings, scorer, stats, weight, kept.values, weight * kept.top * (1 + _NEAR))


def top_terms(
    terms: Sequence[Scored], k: int, sums: Floats, mask: Bools | None = None, extra: Floats | None = None
) -> tuple[Ints, Floats]:
    """The k documents with the largest sum over the terms, best first (ties by ordinal), by max-score pruning.

    `sums`: zeros, one for each ordinal, and zeros again afterwards. `mask`: documents allowed. `extra` (with `mask`):
    what other parts of the condition add to each. Every document returned has at least one of the terms.

    Sums are of estimates while documents are sorted out, with as much slack as those may be wrong on both sides.
    """
    order = sorted((term for term in terms if term.postings.size), key=lambda term: -term.bound)
    left = sum(term.bound for term in order)
    slack = 2 * (_NEAR + _ROUNDING) * left
    top_extra = float(extra.max()) if extra is not None and len(extra) else 0.0
    threshold = -math.inf
    seen: list[Ints] = []
    at = 0
    while at < len(order) and not (left + top_extra < threshold):
        term = order[at]
        ords, found = term.postings.ords, term.estimates
        if mask is not None:
            keep = mask[ords]
            ords, found = ords[keep], found[keep]
        sums[ords] += found * np.float32(term.weight)
        seen.append(ords)
        at += 1
        left = sum(term.bound for term in order[at:])
        if len(ords) >= k and at < len(order):
            now = sums[ords] if extra is None else sums[ords] + extra[ords]
            threshold = max(threshold, float(np.partition(now, len(now) - k)[len(now) - k]) - slack)
    candidates = _candidates(seen, sums, extra, threshold - left)
    for term in order[at:]:
        places, hit = _places(term, candidates)
        sums[candidates[hit]] += term.estimates[places] * np.float32(term.weight)
        left -= term.bound
        now = sums[candidates] if extra is None else sums[candidates] + extra[candidates]
        candidates = candidates[now >= threshold - max(left, 0.0)]
    best = _best(candidates, sums, extra, terms, k, slack)
    for ords in seen:
        sums[ords] = 0
    return best


def _places(term: Scored, candidates: Ints) -> tuple[Ints, Bools]:
    """Where candidates stand in a term's postings, and which of them do."""
    ords = term.postings.ords
    where = np.searchsorted(ords, candidates)
    where[where == len(ords)] = 0
    hit = ords[where] == candidates
    return where[hit], hit


def _candidates(seen: list[Ints], sums: Floats, extra: Floats | None, floor: float) -> Ints:
    kept = []
    for ords in seen:
        now = sums[ords] if extra is None else sums[ords] + extra[ords]
        kept.append(ords[now >= floor] if floor > -math.inf else ords)
    if not kept:
        return NO_INTS
    return distinct(np.concatenate(kept)) if len(kept) > 1 else kept[0]


def _best(
    candidates: Ints, sums: Floats, extra: Floats | None, terms: Sequence[Scored], k: int, slack: float
) -> tuple[Ints, Floats]:
    now = sums[candidates] if extra is None else sums[candidates] + extra[candidates]
    if len(candidates) > 4 * k:
        floor = float(np.partition(now, len(now) - k)[len(now) - k])
        candidates = candidates[now >= floor - slack]
    exact = sum_in_order(candidates, terms)
    if extra is not None:
        exact += extra[candidates]
    order = np.argsort(-exact, kind="stable")[:k]
    return candidates[order], exact[order]


def sum_in_order(candidates: Ints, terms: Sequence[Scored]) -> Floats:
    """Scores added in the order of the query, so that they do not depend on how they were found."""
    exact = np.zeros(len(candidates), np.float32)
    for term in terms:
        if term.postings.size:
            places, hit = _places(term, candidates)
            exact[hit] += term.at(places)
    return exact


__all__ = ["BM25", "TFIDF", "BoostScore", "FieldStats", "Scored", "Scorer", "impacts", "scored", "top_terms"]
