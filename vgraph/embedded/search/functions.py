"""The functions of SEARCH ("ArangoSearch functions in AQL", ArangoDB documentation): each to its condition."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vgraph.embedded.aql import nodes as ast

from .comparisons import Bound, Scope, analyzer_name, analyzer_of, argument_error, at_least, between, is_number
from .conditions import Condition, Every, Exists, Fuzzy, Like, Ngrams, Nothing, Phrase, PhrasePart, Prefixes, Terms
from .segments import BOOL, NULL, NUMBER

if TYPE_CHECKING:
    from .compile import Compiler


def _analyzer(compiler: Compiler, node: ast.Call) -> Bound:
    condition, named = compiler.arguments(node, 2, 2)
    inner, name = compiler.condition(condition), compiler.value(named)

    def build(scope: Scope) -> Condition:
        analyzer = analyzer_name(name(scope.row, scope.rt), "ANALYZER", 2, scope)
        return inner(Scope(scope.row, scope.rt, analyzer, scope.boost))

    return build


def _boost(compiler: Compiler, node: ast.Call) -> Bound:
    condition, amount = compiler.arguments(node, 2, 2)
    inner, value = compiler.condition(condition), compiler.value(amount)

    def build(scope: Scope) -> Condition:
        factor = value(scope.row, scope.rt)
        if not is_number(factor):
            raise argument_error("BOOST", 2, "a number")
        return inner(Scope(scope.row, scope.rt, scope.analyzer, scope.boost * float(factor)))

    return build


_EXISTS_TYPES = {"bool": BOOL, "boolean": BOOL, "numeric": NUMBER, "null": NULL, "string": "string", "nested": "nested"}


def _exists(compiler: Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 1, 3)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        values = [option(scope.row, scope.rt) for option in options]
        if not values:
            return Exists(path(scope), None, None)
        if values[0] == "analyzer":
            name = analyzer_name(values[1], "EXISTS", 3, scope) if len(values) > 1 else scope.analyzer
            return Exists(path(scope), "analyzer", name)
        if not isinstance(values[0], str) or values[0] not in _EXISTS_TYPES:
            raise argument_error("EXISTS", 2, "one of analyzer, bool, boolean, nested, null, numeric, string, type")
        return Exists(path(scope), _EXISTS_TYPES[values[0]], None)

    return build


def _in_range(compiler: Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 3, 5)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        low, high, *inclusive = (option(scope.row, scope.rt) for option in options)
        if not all(isinstance(flag, bool) for flag in inclusive):
            raise argument_error("IN_RANGE", 4, "a boolean")
        include_low, include_high = (*inclusive, False, False)[:2] if inclusive else (False, False)
        return between(path(scope), low, high, include_low, include_high, scope)

    return build


def _min_match(compiler: Compiler, node: ast.Call) -> Bound:
    *conditions, count = compiler.arguments(node, 2)
    parts, least = [compiler.condition(part) for part in conditions], compiler.value(count)

    def build(scope: Scope) -> Condition:
        minimum = least(scope.row, scope.rt)
        if not is_number(minimum) or minimum < 0:
            raise argument_error("MIN_MATCH", len(parts) + 1, "a non-negative number")
        return at_least([part(scope) for part in parts], int(minimum))

    return build


def _starts_with(compiler: Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 2, 4)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        prefix, *numbers = (option(scope.row, scope.rt) for option in options)
        if not all(is_number(number) and number >= 0 for number in numbers):
            raise argument_error("STARTS_WITH", 3, "a non-negative number")
        if isinstance(prefix, str):
            limit = int(numbers[0]) if numbers else 128
            return Prefixes(path(scope), scope.analyzer, (prefix,), 1, limit, scope.boost)
        if not isinstance(prefix, list) or not all(isinstance(item, str) for item in prefix):
            raise argument_error("STARTS_WITH", 2, "a string or an array of strings")
        minimum = int(numbers[0]) if numbers else 1
        limit = int(numbers[1]) if len(numbers) > 1 else 128
        if minimum == 0:
            return Every()
        if minimum > len(prefix):
            return Nothing()
        return Prefixes(path(scope), scope.analyzer, tuple(prefix), minimum, limit, scope.boost)

    return build


def _like(compiler: Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 2, 3)
    if len(args) == 3:
        return compiler.expression(node)
    path = compiler.path(args[0])
    if path is None:
        return compiler.expression(node)
    pattern = compiler.value(args[1])

    def build(scope: Scope) -> Condition:
        text = pattern(scope.row, scope.rt)
        if not isinstance(text, str):
            raise argument_error("LIKE", 2, "a string")
        return Like(path(scope), scope.analyzer, text, scope.boost)

    return build


def _levenshtein(compiler: Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 3, 6)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        return _fuzzy(path(scope), [option(scope.row, scope.rt) for option in options], scope)

    return build


def _fuzzy(path: str, values: list[Any], scope: Scope) -> Fuzzy:
    target, distance, *rest = values
    defaults: list[Any] = [True, 64, ""]
    transpositions, limit, prefix = rest + defaults[len(rest) :]
    if not isinstance(target, str):
        raise argument_error("LEVENSHTEIN_MATCH", 2, "a string")
    if not isinstance(transpositions, bool):
        raise argument_error("LEVENSHTEIN_MATCH", 4, "a boolean")
    if not is_number(distance) or not 0 <= distance <= (3 if transpositions else 4):
        raise argument_error("LEVENSHTEIN_MATCH", 3, f"a number between 0 and {3 if transpositions else 4}")
    if not is_number(limit) or limit < 0:
        raise argument_error("LEVENSHTEIN_MATCH", 5, "a non-negative number")
    if not isinstance(prefix, str):
        raise argument_error("LEVENSHTEIN_MATCH", 6, "a string")
    return Fuzzy(path, scope.analyzer, target, int(distance), transpositions, int(limit), prefix, scope.boost)


def _ngram_match(compiler: Compiler, node: ast.Call) -> Bound:
    """NGRAM_MATCH(path, target, threshold, analyzer) and NGRAM_MATCH(path, target, analyzer)."""
    args = compiler.arguments(node, 2, 4)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        target, *rest = (option(scope.row, scope.rt) for option in options)
        if not isinstance(target, str):
            raise argument_error("NGRAM_MATCH", 2, "a string")
        threshold: Any = 0.7
        analyzer = scope.analyzer
        if rest and isinstance(rest[-1], str):
            analyzer = analyzer_name(rest.pop(), "NGRAM_MATCH", len(options) + 1, scope)
        if rest:
            threshold = rest[0]
        if not is_number(threshold) or not 0 < threshold <= 1:
            raise argument_error("NGRAM_MATCH", 3, "a number in (0, 1]")
        return Ngrams(path(scope), analyzer, target, float(threshold), scope.boost)

    return build


def _minhash_match(compiler: Compiler, node: ast.Call) -> Bound:
    """MINHASH_MATCH(path, target, threshold, analyzer): that share of the target's signature occurs."""
    args = compiler.arguments(node, 3, 4)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        target, threshold, *named = (option(scope.row, scope.rt) for option in options)
        if not isinstance(target, str):
            raise argument_error("MINHASH_MATCH", 2, "a string")
        if not is_number(threshold) or not 0 < threshold <= 1:
            raise argument_error("MINHASH_MATCH", 3, "a number in (0, 1]")
        name = analyzer_name(named[0], "MINHASH_MATCH", 4, scope) if named else scope.analyzer
        analyzer = analyzer_of(name, scope)
        terms = tuple(dict.fromkeys(analyzer.terms(target))) if analyzer else ()
        if not terms:
            return Nothing()
        return Terms(path(scope), name, terms, max(1, math.ceil(threshold * len(terms) - 1e-9)), scope.boost)

    return build


def _phrase(compiler: Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 2)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        values = [option(scope.row, scope.rt) for option in options]
        analyzer = scope.analyzer
        if len(values) % 2 == 0:  # parts and skips alternate, so an even number ends with the analyzer
            analyzer = analyzer_name(values.pop(), "PHRASE", len(options) + 1, scope)
        parts: list[PhrasePart] = []
        skip = 0
        for position, value in enumerate(values):
            if position % 2:
                skip = _skip(value, position + 2)
            else:
                _add_parts(parts, value, skip, position + 2)
                skip = 0
        return Phrase(path(scope), analyzer, tuple(parts), scope.boost) if parts else Nothing()

    return build


def _skip(value: Any, position: int) -> int:
    """Tokens between two parts; a negative number leads back."""
    if not is_number(value):
        raise argument_error("PHRASE", position, "a number of tokens to skip")
    return int(value)


def _add_parts(parts: list[PhrasePart], value: Any, skip: int, position: int) -> None:
    if not isinstance(value, list):
        parts.append(_part(value, skip, position))
        return
    for item in value:
        if is_number(item):
            skip += _skip(item, position)
        else:
            parts.append(_part(item, skip, position))
            skip = 0


def _part(value: Any, skip: int, position: int) -> PhrasePart:
    if isinstance(value, str):
        return PhrasePart(skip, "text", value)
    if isinstance(value, dict) and len(value) == 1:
        ((name, given),) = value.items()
        kind = name.upper()
        if kind in ("TERM", "WILDCARD", "STARTS_WITH") and isinstance(given, list) and len(given) == 1:
            given = given[0]
        if kind in ("TERM", "WILDCARD", "STARTS_WITH") and isinstance(given, str):
            return PhrasePart(skip, kind, given)
        if kind == "TERMS" and isinstance(given, list) and all(isinstance(item, str) for item in given):
            return PhrasePart(skip, kind, tuple(given))
        if kind == "LEVENSHTEIN_MATCH" and isinstance(given, list) and 2 <= len(given) <= 5:
            return PhrasePart(skip, kind, _fuzzy("", given, Scope(None, None)))
        if kind == "IN_RANGE" and isinstance(given, list) and 2 <= len(given) <= 4:
            low, high, *flags = given
            if isinstance(low, str) and isinstance(high, str):
                return PhrasePart(skip, kind, (low, high, *(*flags, False, False)[:2]))
    raise argument_error("PHRASE", position, "a string, an array, or an object that describes one token")


FUNCTIONS: dict[str, Callable[[Compiler, ast.Call], Bound]] = {
    "ANALYZER": _analyzer,
    "BOOST": _boost,
    "EXISTS": _exists,
    "IN_RANGE": _in_range,
    "LEVENSHTEIN_MATCH": _levenshtein,
    "LIKE": _like,
    "MINHASH_MATCH": _minhash_match,
    "MIN_MATCH": _min_match,
    "NGRAM_MATCH": _ngram_match,
    "PHRASE": _phrase,
    "STARTS_WITH": _starts_with,
}
