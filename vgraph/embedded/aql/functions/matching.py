"""String matching that SEARCH has too, for use outside of it (ArangoDB documentation, "ArangoSearch functions in AQL").

Inside SEARCH the planner hands these calls to the search engine; here they are plain functions of values.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...errors import ArangoError
from ..values import to_integer, truthy
from .registry import Table, Value, wrong_type
from .strings import damerau

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()
_CELLS: Final = 100_000


@TABLE.add("STARTS_WITH", args=(2, 4))
def starts_with(rt: Runtime, text: Value, prefixes: Value, least: Value = 1, scored: Value = 128) -> Value:
    """Whether so many of the prefixes fit; how many terms to score matters in SEARCH only."""
    if type(text) is not str:
        return wrong_type(rt, "STARTS_WITH")
    if type(prefixes) is str:
        return text.startswith(prefixes)
    if type(prefixes) is not list or any(type(prefix) is not str for prefix in prefixes):
        return wrong_type(rt, "STARTS_WITH")
    needed = to_integer(least)
    if needed < 0:
        return wrong_type(rt, "STARTS_WITH")
    return sum(text.startswith(prefix) for prefix in prefixes) >= needed


@TABLE.add("MIN_MATCH", args=(2, None))
def min_match(rt: Runtime, *args: Value) -> bool:
    return sum(truthy(condition) for condition in args[:-1]) >= to_integer(args[-1])


@TABLE.add("LEVENSHTEIN_MATCH", args=(3, 6))
def levenshtein_match(
    rt: Runtime,
    text: Value,
    target: Value,
    distance: Value,
    transpositions: Value = True,
    max_terms: Value = 64,
    prefix: Value = "",
) -> Value:
    """Whether two strings are at most `distance` edits apart; `prefix` must stand before the target."""
    with_swaps = truthy(transpositions)
    if type(text) is not str or type(target) is not str or type(prefix) is not str:
        return wrong_type(rt, "LEVENSHTEIN_MATCH")
    most = to_integer(distance)
    if type(distance) not in (int, float) or not 0 <= most <= (3 if with_swaps else 4):
        return wrong_type(rt, "LEVENSHTEIN_MATCH")
    if not text.startswith(prefix):
        return False
    rest = text[len(prefix) :]
    return abs(len(rest) - len(target)) <= most and damerau(rest, target, with_swaps) <= most


def _grams(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(len(text) - size + 1)]


def _single(value: float) -> float:
    """A result as the single-precision number it is on the server."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def ngram_similarity(
    first: list[str], second: list[str], partial: bool, check: Callable[[], None] = lambda: None
) -> float:
    """The longest common sequence of n-grams, over the target's number of them (Kondrak 2005).

    With `partial`, n-grams that differ count by their equal positions, and the larger number divides. `check` is called
    now and then for long texts.
    """
    if not first or not second:
        return 0.0
    best = [0.0] * (len(second) + 1)
    for number, gram in enumerate(first, 1):
        if number * len(second) > _CELLS:
            check()
        diagonal = 0.0
        for at, other in enumerate(second, 1):
            above = best[at]
            if partial:
                gain = sum(a == b for a, b in zip(gram, other, strict=True)) / len(gram)
            else:
                gain = 1.0 if gram == other else 0.0
            best[at] = max(above, best[at - 1], diagonal + gain)
            diagonal = above
    return best[-1] / (max(len(first), len(second)) if partial else len(second))


def _similarity(rt: Runtime, name: str, args: tuple[Value, Value, Value], partial: bool) -> Value:
    text, target, size = args
    if type(text) is not str or type(target) is not str or type(size) not in (int, float):
        return wrong_type(rt, name)
    length = to_integer(size)
    if length < 1:
        rt.warnings.add(10, f"in function '{name}()': the size of n-grams must be a positive number")
        return None
    if text == target:
        return 1
    if min(len(text), len(target)) < length:
        equal = sum(a == b for a, b in zip(text, target, strict=False))
        return _whole(equal / max(len(text), len(target))) if partial else 0
    return _whole(ngram_similarity(_grams(text, length), _grams(target, length), partial, rt.check))


def _whole(value: float) -> float | int:
    return int(value) if value in (0.0, 1.0) else _single(value)


@TABLE.add("NGRAM_SIMILARITY", args=(3, 3))
def ngram_similarity_function(rt: Runtime, text: Value, target: Value, size: Value) -> Value:
    return _similarity(rt, "NGRAM_SIMILARITY", (text, target, size), partial=False)


@TABLE.add("NGRAM_POSITIONAL_SIMILARITY", args=(3, 3))
def ngram_positional_similarity(rt: Runtime, text: Value, target: Value, size: Value) -> Value:
    return _similarity(rt, "NGRAM_POSITIONAL_SIMILARITY", (text, target, size), partial=True)


def _analyzer(rt: Runtime, name: Value) -> Any:
    """The analyzer of a name; an unknown one is an error."""
    found = rt.txn.analyzer(name) if type(name) is str and rt.txn is not None else None
    if found is None:
        raise ArangoError(10, f"Unable to load requested analyzer '{name}'")
    return found


@TABLE.add("NGRAM_MATCH", args=(2, 4), deterministic=False, cacheable=True)
def ngram_match(rt: Runtime, text: Value, target: Value, threshold: Value = 0.7, analyzer: Value = "identity") -> Value:
    """Whether the n-grams of both under an analyzer are similar enough; the threshold may be left out."""
    if type(threshold) is str:
        threshold, analyzer = 0.7, threshold
    if type(text) is not str or type(target) is not str or type(threshold) not in (int, float):
        return wrong_type(rt, "NGRAM_MATCH")
    found = _analyzer(rt, analyzer)
    return ngram_similarity(found.terms(text), found.terms(target), partial=False) >= threshold


@TABLE.add("MINHASH_MATCH", args=(3, 4), deterministic=False, cacheable=True)
def minhash_match(rt: Runtime, text: Value, target: Value, threshold: Value, analyzer: Value = "identity") -> Value:
    """Whether the signatures of both under a minhash analyzer overlap enough."""
    if type(text) is not str or type(target) is not str or type(threshold) not in (int, float):
        return wrong_type(rt, "MINHASH_MATCH")
    found = _analyzer(rt, analyzer)
    first, second = set(found.terms(text)), set(found.terms(target))
    return len(first & second) >= math.ceil(threshold * len(first | second))


@TABLE.add("TOKENS", args=(1, 2), deterministic=False, cacheable=True)
def tokens(rt: Runtime, value: Value, analyzer: Value = "identity") -> Value:
    """The terms of a text, nested as the arrays it stands in; objects have none."""
    from ...search.analyzers import tokens as tokens_of

    found = tokens_of(value, _analyzer(rt, analyzer))
    return wrong_type(rt, "TOKENS") if found is None else found


def _only_in_search(rt: Runtime, *args: Value) -> Value:
    raise ArangoError(
        9, "ArangoSearch functions are designed to be used only within a corresponding SEARCH statement of a View"
    )


for _name, _least, _most in (
    ("PHRASE", 2, None),
    ("EXISTS", 1, 4),
    ("NESTED", 2, 2),
):
    TABLE.add(_name, args=(_least, _most), deterministic=False)(_only_in_search)


@TABLE.add("ANALYZER", args=(2, 2), deterministic=False)
def analyzer(rt: Runtime, value: Value, name: Value) -> Value:
    """Outside of SEARCH it changes nothing."""
    return value


@TABLE.add("BOOST", args=(2, 2), deterministic=False)
def boost(rt: Runtime, value: Value, factor: Value) -> Value:
    """Outside of SEARCH it changes nothing."""
    return value


def _only_of_view(rt: Runtime, *args: Value) -> Value:
    raise ArangoError(9, "scorer functions are designed to be used with a variable of a View only")


for _name, _least, _most in (("BM25", 1, 3), ("TFIDF", 1, 2), ("OFFSET_INFO", 2, 3)):
    TABLE.add(_name, args=(_least, _most), deterministic=False)(_only_of_view)
