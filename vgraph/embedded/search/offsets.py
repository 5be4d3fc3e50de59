"""OFFSET_INFO: where in a document the terms of a SEARCH condition stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .conditions import AllOf, AnyOf, Condition, Fuzzy, Like, Ngrams, Phrase, Prefixes, Strings, Terms
from .evaluate import Evaluator, Member, Statistics
from .inverted import TextField


def matched_offsets(
    member: Member, condition: Condition, ordinal: int, paths: Sequence[str], limits: Sequence[int] | int
) -> list[dict[str, Any]]:
    """For each path the byte ranges [start, length] of what matched, at most `limits` of them (10 by default).

    They come in the order of the conditions, those of one in the order of the text.
    """
    found = []
    for at, path in enumerate(paths):
        limit = limits if isinstance(limits, int) else limits[at]
        ranges = list(
            dict.fromkeys(s for part in _leaves(condition) for s in sorted(_spans(member, part, ordinal, path)))
        )
        found.append({"name": path.split("."), "offsets": [[a, b - a] for a, b in ranges[:limit]]})
    return found


def _leaves(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, AllOf | AnyOf):
        for part in condition.parts:
            yield from _leaves(part)
    else:
        yield condition


def _spans(member: Member, condition: Condition, ordinal: int, path: str) -> Iterator[tuple[int, int]]:
    if not isinstance(condition, Terms | Strings | Prefixes | Like | Fuzzy | Ngrams | Phrase) or condition.path != path:
        return
    field = member.field(condition.path, condition.analyzer)
    if field is None:
        return
    if isinstance(condition, Phrase):
        yield from _phrase_spans(member, field, condition, ordinal)
        return
    for term in _terms(member, field, condition):
        for _, start, end in field.offsets(term, ordinal):
            yield start, end


def _terms(member: Member, field: TextField, condition: Condition) -> list[str]:
    evaluator = Evaluator(member, Statistics([member]), ())
    match condition:
        case Terms(values=values):
            return list(values)
        case Strings():
            return evaluator.string_terms(condition)
        case Prefixes(prefixes=prefixes):
            return [term for prefix in prefixes for term in field.with_prefix(prefix)]
        case Like(path, analyzer, pattern, _):
            return evaluator.like_terms(path, analyzer, pattern)
        case Fuzzy():
            return [term for term, _ in evaluator.similar_terms(condition)]
        case Ngrams(path, analyzer, target, _, _):
            return member.analyze(path, analyzer, target)
        case _:
            return []


def _phrase_spans(member: Member, field: TextField, condition: Phrase, ordinal: int) -> Iterator[tuple[int, int]]:
    slots = Evaluator(member, Statistics([member]), ()).slots(field, condition)
    places: list[dict[int, tuple[int, int]]] = []
    for at, terms in slots:
        places.append(
            {place - at: (start, end) for term in terms for place, start, end in field.offsets(term, ordinal)}
        )
    if not places:
        return
    for origin in sorted(set(places[0]).intersection(*places[1:])):
        yield min(entry[origin][0] for entry in places), max(entry[origin][1] for entry in places)
