"""Evaluation of a bound SEARCH condition over the postings of a view's collections.

Every condition gives the ordinals of its documents, ascending, and for every scorer what it adds to their scores (None
where it adds nothing: numbers, NOT, EXISTS). Statistics (idf, average length) are those of all collections together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

import numpy as np

from vgraph.embedded.aql.functions.patterns import like_parts
from vgraph.embedded.arrays import NO_INTS, Bools, Floats, Ints, distinct, distinct_counts, member

from .analyzer_base import Analyzer
from .conditions import (
    AllOf,
    AnyOf,
    Condition,
    Every,
    Exists,
    Expression,
    Fuzzy,
    Like,
    Located,
    Nested,
    Ngrams,
    Not,
    Nothing,
    Phrase,
    PhrasePart,
    Prefixes,
    Strings,
    Terms,
    Values,
)
from .fields import FieldRule
from .fuzzy import similar_terms
from .geo_analyzers import GeoPoint, changed_at
from .inverted import EMPTY, TermPostings, TextField, ValueField
from .nested import nested_hits
from .postings import Postings
from .scoring import FieldStats, Scored, Scorer, impacts, scored, top_terms
from .segments import BOOL, NESTED, NULL, NUMBER, TEXT

Scores: TypeAlias = "list[Floats | None]"
Documents: TypeAlias = Callable[[Ints], Sequence["dict[str, Any] | None"]]


@dataclass(slots=True)
class Hits:
    ords: Ints
    scores: Scores


class Member:
    """One collection of a view while it is searched."""

    def __init__(
        self,
        postings: Postings,
        resolve: Callable[[str, str], str],
        analyzer: Callable[[str], Analyzer | None],
        existing: Callable[[str], bool],
        documents: Documents,
        nested: Callable[[str], FieldRule | None],
    ) -> None:
        self.postings = postings
        self.resolve = resolve  # (path, analyzer asked for) -> the analyzer the field is indexed with
        self.analyzer = analyzer
        self.existing = existing  # whether EXISTS sees a path
        self.documents = documents
        self.nested = nested  # how the objects in the array at a path are indexed

    def field(self, path: str, analyzer: str) -> TextField | None:
        return self.postings.text(_flat(path), self.resolve(_flat(path), analyzer))

    def analyzer_named(self, name: str) -> Analyzer:
        """An analyzer that the index uses."""
        found = self.analyzer(name)
        assert found is not None
        return found

    def known(self, path: str, analyzer: str) -> Analyzer | None:
        """The analyzer a path is indexed with, where a query asks for one."""
        return self.analyzer(self.resolve(_flat(path), analyzer))

    def analyze(self, path: str, analyzer: str, text: str) -> list[str]:
        found = self.known(path, analyzer)
        return found.terms(text) if found else []


def _flat(path: str) -> str:
    """Array expansions do not show in indexed paths: the elements are alternative values."""
    return path.replace("[*]", "")


class Statistics:
    """Field and term statistics over all members, computed once for a search."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._fields: dict[tuple[str, str], FieldStats] = {}

    def field(self, path: str, analyzer: str) -> FieldStats:
        key = path, analyzer
        if key not in self._fields:
            found = [field for member in self._members if (field := member.field(path, analyzer))]
            features: tuple[str, ...] = ()
            for member in self._members:
                known = member.known(path, analyzer)
                features = known.features if known else features
            self._fields[key] = FieldStats(
                sum(field.documents for field in found),
                sum(field.tokens for field in found),
                "frequency" in features,
                "norm" in features,
            )
        return self._fields[key]

    def frequency(self, path: str, analyzer: str, term: str) -> int:
        fields = (member.field(path, analyzer) for member in self._members)
        return sum(len(field.postings(term).ords) for field in fields if field)


class Evaluator:
    """A condition over one member."""

    def __init__(self, member: Member, statistics: Statistics, scorers: Sequence[Scorer]) -> None:
        self.member = member
        self.postings = member.postings
        self.statistics = statistics
        self.scorers = scorers
        self._unscored: Scores = [None] * len(scorers)

    def hits(self, condition: Condition) -> Hits:
        match condition:
            case Every():
                return self._plain(self.postings.alive())
            case Nothing():
                return self._plain(NO_INTS)
            case Values():
                return self._plain(self._values(condition))
            case Terms(path, analyzer, values, minimum, boost):
                return self._least([self._term(path, analyzer, value, boost) for value in values], minimum)
            case Strings():
                return self._several(condition, self.string_terms(condition), 128)
            case Prefixes():
                return self._prefixes(condition)
            case Like():
                return self._several(
                    condition, self.like_terms(condition.path, condition.analyzer, condition.pattern), 128
                )
            case Fuzzy():
                return self._fuzzy(condition)
            case Ngrams():
                return self._ngrams(condition)
            case Phrase():
                return self._phrase(condition)
            case Exists():
                return self._plain(self._exists(condition))
            case AllOf(parts):
                return self._all(parts)
            case AnyOf(parts, minimum):
                return self._least([self.hits(part) for part in parts], minimum)
            case Not(part):
                alive = self.postings.alive()
                return self._plain(alive[~member(alive, self.hits(part).ords)])
            case Nested():
                return self._plain(nested_hits(self, condition))
            case Located(path, analyzer):
                return self._plain(self._located(path, analyzer))
            case Expression():
                return self._plain(self._matching(self.postings.alive(), condition))
            case _:
                assert_never(condition)

    def top(self, condition: Condition, k: int) -> tuple[Ints, Floats] | None:
        """The k best by the only scorer, pruned; None when the condition is not a plain choice of terms."""
        found = _split(condition)
        if found is None:
            return None
        words, others = found
        terms = [self._scored(*word) for word in words]
        if any(term.weight < 0 for term in terms):
            return None
        if not others:
            return top_terms(terms, k, self.postings.zeros())
        ranges = [part for part in others if isinstance(part, Values)]
        mask = self._within_all(ranges)
        if len(ranges) == len(others):
            return top_terms(terms, k, self.postings.zeros(), mask)
        rest = self._all([part for part in others if not isinstance(part, Values)])
        if mask is not None:
            kept = mask[rest.ords]
            scores: Scores = [None if score is None else score[kept] for score in rest.scores]
            rest = Hits(rest.ords[kept], scores)
        mask = self.postings.mask(rest.ords)
        if rest.scores[0] is None:
            return top_terms(terms, k, self.postings.zeros(), mask)
        extra = self.postings.zeros(1)
        extra[rest.ords] = rest.scores[0]
        best = top_terms(terms, k, self.postings.zeros(), mask, extra)
        extra[rest.ords] = 0
        return best

    def _within_all(self, ranges: Sequence[Values]) -> Bools | None:
        """Which documents have values in all of some ranges; None where there are none to look at."""
        found: Bools | None = None
        for part in ranges:
            field = self.postings.value(_flat(part.path), part.mark)
            if field is None:
                return np.zeros(self.postings.size, np.bool_)
            mask = field.mask(part.low, part.high, part.include_low, part.include_high)
            found = mask if found is None else np.logical_and(found, mask, out=found)
        return found

    # ------------------------------------------------------------------------------------------------ parts

    def _plain(self, ords: Ints) -> Hits:
        return Hits(ords, self._unscored)

    def _postings(self, path: str, analyzer: str, term: str) -> TermPostings:
        field = self.member.field(path, analyzer)
        return field.postings(term) if field else EMPTY

    def _scored(self, path: str, analyzer: str, term: str, boost: float) -> Scored:
        postings = self._postings(path, analyzer, term)
        stats = self.statistics.field(path, analyzer)
        weight = self.scorers[0].weight(stats, [self.statistics.frequency(path, analyzer, term)], boost)
        return scored(self.scorers[0], stats, postings, weight)

    def _term(self, path: str, analyzer: str, term: str, boost: float) -> Hits:
        postings = self._postings(path, analyzer, term)
        if not self.scorers or not len(postings.ords):
            return self._plain(postings.ords)
        frequency = self.statistics.frequency(path, analyzer, term)
        return Hits(postings.ords, self._score(path, analyzer, postings, [frequency], boost))

    def _score(
        self, path: str, analyzer: str, postings: TermPostings, frequencies: Sequence[int], boost: float
    ) -> Scores:
        stats = self.statistics.field(path, analyzer)
        found: Scores = []
        for scorer in self.scorers:
            weight = scorer.weight(stats, frequencies, boost)
            found.append(impacts(scorer, stats, postings) * np.float32(weight) if weight else None)
        return found

    def _several(self, condition: Strings | Like, terms: list[str], limit: int) -> Hits:
        return self._expanded(condition.path, condition.analyzer, terms, limit, condition.boost)

    def _expanded(self, path: str, analyzer: str, terms: Sequence[str], limit: int, boost: float) -> Hits:
        """Any of the terms; only the `limit` most frequent ones are scored."""
        scored = set(terms)
        if self.scorers and len(terms) > limit:
            by_frequency = sorted(terms, key=lambda term: -self.statistics.frequency(path, analyzer, term))
            scored = set(by_frequency[:limit])
        return self._least(
            [
                self._term(path, analyzer, term, boost)
                if term in scored
                else self._plain(self._postings(path, analyzer, term).ords)
                for term in terms
            ],
            1,
        )

    def string_terms(self, condition: Strings) -> list[str]:
        field = self.member.field(condition.path, condition.analyzer)
        if field is None:
            return []
        high = None if condition.high is None else condition.high + "\0"
        found = field.terms(condition.low or "", high)
        if found and found[0] == condition.low and not condition.include_low:
            found = found[1:]
        if found and found[-1] == condition.high and not condition.include_high:
            found = found[:-1]
        return found

    def _prefixes(self, condition: Prefixes) -> Hits:
        field = self.member.field(condition.path, condition.analyzer)
        if field is None:
            return self._plain(NO_INTS)
        parts = [
            self._expanded(
                condition.path, condition.analyzer, field.with_prefix(prefix), condition.limit, condition.boost
            )
            for prefix in condition.prefixes
        ]
        return self._least(parts, condition.minimum)

    def like_terms(self, path: str, analyzer: str, pattern: str) -> list[str]:
        field = self.member.field(path, analyzer)
        if field is None:
            return []
        prefix, expression = like_pattern(pattern)
        return [term for term in field.with_prefix(prefix) if expression.fullmatch(term)]

    def _fuzzy(self, condition: Fuzzy) -> Hits:
        """The terms share one idf, and a document counts its best term only."""
        field = self.member.field(condition.path, condition.analyzer)
        if field is None:
            return self._plain(NO_INTS)
        found = self.similar_terms(condition)
        postings = [field.postings(term) for term, _ in found]
        if not self.scorers:
            return self._least([self._plain(entry.ords) for entry in postings], 1)
        shared = sum(self.statistics.frequency(condition.path, condition.analyzer, term) for term, _ in found)
        parts = [
            Hits(
                entry.ords,
                self._score(condition.path, condition.analyzer, entry, [shared], condition.boost * similarity),
            )
            for entry, (_, similarity) in zip(postings, found, strict=True)
        ]
        return self._best(parts)

    def similar_terms(self, condition: Fuzzy) -> list[tuple[str, float]]:
        field = self.member.field(condition.path, condition.analyzer)
        return _similar(field, condition) if field else []

    def _values(self, condition: Values) -> Ints:
        field = self.postings.value(_flat(condition.path), condition.mark)
        if field is None:
            return NO_INTS
        return field.between(condition.low, condition.high, condition.include_low, condition.include_high)

    def _exists(self, condition: Exists) -> Ints:
        path = _flat(condition.path)
        if not self.member.existing(path):
            return NO_INTS
        wanted = None
        if condition.kind == "analyzer":
            wanted = {path + TEXT + self.member.resolve(path, condition.analyzer or "identity")}
        elif condition.kind in (BOOL, NUMBER, NULL):
            wanted = {path + condition.kind}
        found = []
        for name, field in self.postings.fields.items():
            own = name[: len(path)] == path and name[len(path) : len(path) + 1] in (TEXT, BOOL, NUMBER, NULL)
            below = name.startswith((path + ".", path + "["))
            if wanted is not None:
                hit = name in wanted
            elif condition.kind == "string":
                hit = own and isinstance(field, TextField)
            elif condition.kind == "nested":
                hit = name == path + NESTED
            else:
                hit = own or below
            if hit:
                found.append(field.present())
        return _union(found, self.postings.size)

    def _located(self, path: str, analyzer: str) -> Ints:
        field, known = self.member.field(path, analyzer), self.member.known(path, analyzer)
        return field.postings("").ords if field is not None and known is not None and known.whole else NO_INTS

    def _matching(self, ords: Ints, condition: Expression) -> Ints:
        kept: list[int] = []
        rows = self.postings.rows.view
        points = [
            (_flat(place.path).split("."), known.place)
            for place in condition.places
            if isinstance(known := self.member.known(place.path, place.analyzer), GeoPoint)
        ]
        for start in range(0, len(ords), 1000):
            part = ords[start : start + 1000]
            for ordinal, document in zip(part.tolist(), self.member.documents(rows[part]), strict=True):
                if document is None:
                    continue
                for path, place in points:
                    document = changed_at(document, path, place)
                if condition.matches(document):
                    kept.append(ordinal)
        return np.array(kept, np.int64)

    # --------------------------------------------------------------------------------- phrases and n-grams

    def _phrase(self, condition: Phrase) -> Hits:
        field = self.member.field(condition.path, condition.analyzer)
        if field is None:
            return self._plain(NO_INTS)
        slots = self.slots(field, condition)
        if not slots or not all(terms for _, terms in slots):
            return self._plain(NO_INTS)
        if len(slots) == 1:
            return self._least(
                [self._term(condition.path, condition.analyzer, t, condition.boost) for t in slots[0][1]], 1
            )
        starts: Ints | None = None
        for at, terms in slots:
            found = [field.positions(term) for term in terms]
            if any(entry is None for entry in found):
                return self._plain(NO_INTS)  # without positions no phrase is known
            keys = [(ords << 32) + (places - at + (1 << 20)) for ords, places in (e for e in found if e)]
            every = distinct(np.concatenate(keys))
            starts = every if starts is None else every[member(every, starts)]
            if not len(starts):
                return self._plain(NO_INTS)
        assert starts is not None
        ords, counts = distinct_counts(starts >> 32)
        postings = TermPostings(ords, counts.astype(np.float32), field.lengths.view[ords].astype(np.float32))
        frequencies = [
            self.statistics.frequency(condition.path, condition.analyzer, term) for _, terms in slots for term in terms
        ]
        return Hits(ords, self._score(condition.path, condition.analyzer, postings, frequencies, condition.boost))

    def slots(self, field: TextField, condition: Phrase) -> list[tuple[int, list[str]]]:
        """(position in the phrase, terms that may stand there); what comes later takes a place that is taken."""
        slots: dict[int, list[str]] = {}
        at = 0
        for part in condition.parts:
            at += part.skip
            if part.kind == "text":
                analyzer = self.member.known(condition.path, condition.analyzer)
                terms, positions = analyzer.positions(part.value) if analyzer else ([], None)
                for place, term in enumerate(terms):
                    slots[at + (place if positions is None else positions[place])] = [term]
                at += len(terms) if positions is None else positions[-1] + 1 if positions else 0
            else:
                slots[at] = self._alternatives(field, part)
                at += 1
        return sorted(slots.items())

    def _alternatives(self, field: TextField, part: PhrasePart) -> list[str]:
        match part.kind:
            case "TERM":
                return [part.value]
            case "TERMS":
                return list(part.value)
            case "STARTS_WITH":
                return field.with_prefix(part.value)
            case "WILDCARD":
                prefix, expression = like_pattern(part.value)
                return [term for term in field.with_prefix(prefix) if expression.fullmatch(term)]
            case "LEVENSHTEIN_MATCH":
                return [term for term, _ in _similar(field, part.value)]
            case _:
                low, high, include_low, include_high = part.value
                return [
                    term
                    for term in field.terms(low, high + "\0")
                    if (include_low or term != low) and (include_high or term != high)
                ]

    def _ngrams(self, condition: Ngrams) -> Hits:
        """Documents where the longest run of the target's n-grams in order has the share asked for."""
        field = self.member.field(condition.path, condition.analyzer)
        grams = self.member.analyze(condition.path, condition.analyzer, condition.target)
        if field is None or not grams:
            return self._plain(NO_INTS)
        needed = max(1, int(np.ceil(len(grams) * condition.threshold - 1e-9)))
        places: dict[int, list[tuple[int, int]]] = {}
        for number, gram in enumerate(grams):
            found = field.positions(gram)
            if found is None:
                return self._plain(NO_INTS)
            for ordinal, place in zip(found[0].tolist(), found[1].tolist(), strict=True):
                places.setdefault(ordinal, []).append((place, number))
        counts = {ordinal: longest for ordinal, where in places.items() if (longest := _longest_run(where)) >= needed}
        ords = np.array(sorted(counts), np.int64)
        if not self.scorers or not len(ords):
            return self._plain(ords)
        postings = TermPostings(ords, np.ones(len(ords), np.float32), field.lengths.view[ords].astype(np.float32))
        frequencies = [self.statistics.frequency(condition.path, condition.analyzer, gram) for gram in grams]
        share = np.array([counts[ordinal] / len(grams) for ordinal in ords.tolist()], np.float32)
        scores = self._score(condition.path, condition.analyzer, postings, frequencies, condition.boost)
        return Hits(ords, [None if score is None else score * share for score in scores])

    # ------------------------------------------------------------------------------------------ combination

    def _all(self, parts: Sequence[Condition]) -> Hits:
        """Intersection; NOT and expressions only look at what the other parts leave."""
        positive = [part for part in parts if not isinstance(part, Not | Expression)]
        found = sorted((self.hits(part) for part in positive), key=lambda hits: len(hits.ords))
        ords = found[0].ords if found else self.postings.alive()
        for hits in found[1:]:
            ords = self._common(ords, hits.ords)
        for part in parts:
            if isinstance(part, Not) and len(ords):
                ords = ords[~self._inside(ords, self.hits(part.part).ords)]
        for part in parts:
            if isinstance(part, Expression) and len(ords):
                ords = self._matching(ords, part)
        return Hits(ords, self._summed(ords, found))

    def _common(self, few: Ints, many: Ints) -> Ints:
        common: Ints = few[self._inside(few, many)]
        return common

    def _inside(self, ords: Ints, others: Ints) -> Any:
        if len(ords) > self.postings.size >> 7:
            return self.postings.mask(others)[ords]
        return member(ords, others)

    def _summed(self, ords: Ints, parts: Sequence[Hits]) -> Scores:
        sums: Scores = []
        for at in range(len(self.scorers)):
            scored = [(part.ords, score) for part in parts if (score := part.scores[at]) is not None]
            if not scored:
                sums.append(None)
                continue
            total = np.zeros(len(ords), np.float32)
            for others, score in scored:
                if len(others):
                    where = np.searchsorted(others, ords)
                    where[where == len(others)] = 0
                    hit = others[where] == ords
                    total[hit] += score[where[hit]]
            sums.append(total)
        return sums

    def _least(self, parts: Sequence[Hits], minimum: int) -> Hits:
        """Documents of at least `minimum` parts, with the sum of what their parts add."""
        parts = [part for part in parts if len(part.ords)]
        if len(parts) < max(minimum, 1):
            return self._plain(NO_INTS)
        if len(parts) == 1:
            return parts[0]
        if minimum == 1:
            ords = _union([part.ords for part in parts], self.postings.size)
        else:
            every, counts = distinct_counts(np.concatenate([part.ords for part in parts]))
            ords = every[counts >= minimum]
        return Hits(ords, self._dense_sum(ords, parts))

    def _dense_sum(self, ords: Ints, parts: Sequence[Hits]) -> Scores:
        if sum(len(part.ords) for part in parts) < self.postings.size >> 5:
            return self._summed(ords, parts)
        sums: Scores = []
        for at in range(len(self.scorers)):
            scored = [(part.ords, score) for part in parts if (score := part.scores[at]) is not None]
            if not scored:
                sums.append(None)
                continue
            total = self.postings.zeros()
            for others, score in scored:
                total[others] += score
            sums.append(total[ords])
            for others, _ in scored:
                total[others] = 0
        return sums

    def _best(self, parts: Sequence[Hits]) -> Hits:
        ords = _union([part.ords for part in parts], self.postings.size)
        best: Scores = []
        for at in range(len(self.scorers)):
            total = np.zeros(len(ords), np.float32)
            for part in parts:
                score = part.scores[at]
                if score is not None:
                    where = np.searchsorted(ords, part.ords)
                    total[where] = np.maximum(total[where], score)
            best.append(total)
        return Hits(ords, best)


def _union(found: Sequence[Ints], size: int) -> Ints:
    found = [ords for ords in found if len(ords)]
    if not found:
        return NO_INTS
    if len(found) == 1:
        return found[0]
    if sum(map(len, found)) > size >> 6:
        mask = np.zeros(size, np.bool_)
        for ords in found:
            mask[ords] = True
        return np.flatnonzero(mask)
    return distinct(np.concatenate(found))


def _split(condition: Condition) -> tuple[list[tuple[str, str, str, float]], list[Condition]] | None:
    """The one choice of scored terms in a condition and its other conjuncts; None when there is not just one."""
    parts = list(condition.parts) if isinstance(condition, AllOf) else [condition]
    choices = [(part, words) for part in parts if (words := _words(part)) is not None]
    if not choices:
        return None
    part, words = max(choices, key=lambda choice: len(choice[1]))
    return words, [other for other in parts if other is not part]


def _words(condition: Condition) -> list[tuple[str, str, str, float]] | None:
    match condition:
        case Terms(path, analyzer, values, 1, boost):
            return [(path, analyzer, value, boost) for value in values]
        case AnyOf(parts, 1):
            found = [_words(part) for part in parts]
            return None if any(words is None for words in found) else [word for words in found for word in words or ()]
        case _:
            return None


def like_pattern(pattern: str) -> tuple[str, re.Pattern[str]]:
    """Literal beginning and regular expression of a LIKE pattern."""
    prefix, expression = like_parts(pattern, search=True)
    return prefix, re.compile(expression, re.DOTALL)


def _similar(field: TextField, condition: Fuzzy) -> list[tuple[str, float]]:
    """(term, similarity) within the distance, the most similar first."""
    prefix = condition.prefix
    found = similar_terms(
        field.with_prefix(prefix), prefix, condition.target, condition.distance, condition.transpositions
    )
    return found[: condition.limit] if condition.limit else found


def _longest_run(where: list[tuple[int, int]]) -> int:
    """Longest series of n-grams that are in order both in the target and in the document."""
    where.sort()
    ends: dict[int, int] = {}
    best = 0
    for _, number in where:
        length = 1 + max((size for end, size in ends.items() if end < number), default=0)
        ends[number] = max(ends.get(number, 0), length)
        best = max(best, length)
    return best


__all__ = ["Evaluator", "Hits", "Member", "Statistics", "ValueField", "like_pattern"]
