"""Comparisons in SEARCH: an indexed path against a value, and what binding a condition needs for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from vgraph.embedded.aql.values import to_integer
from vgraph.embedded.errors import ArangoError

from .analyzer_base import Analyzer
from .analyzers import BUILTIN
from .conditions import AnyOf, Condition, Every, Nothing, Strings, Terms, Values, all_of, any_of, negation
from .segments import BOOL, NULL, NUMBER

Row: TypeAlias = Any
Closure: TypeAlias = Callable[[Any, Any], Any]  # (row, runtime) -> value

MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE = {"!=": "==", "NOT IN": "IN"}


@dataclass(frozen=True, slots=True)
class Scope:
    """What holds at a place of the condition when it is bound: row, runtime, ANALYZER and BOOST around it."""

    row: Row
    rt: Any
    analyzer: str = "identity"
    boost: float = 1.0


Bound: TypeAlias = Callable[[Scope], Condition]
Path: TypeAlias = Callable[[Scope], str]
Closure1: TypeAlias = Callable[[Scope], Any]


def truthy(value: Any) -> bool:
    return not (value is None or value is False or value == "" or (value == 0 and not isinstance(value, list | dict)))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def analyzer_of(name: str, scope: Scope) -> Analyzer | None:
    found: Analyzer | None = BUILTIN.get(name) or scope.rt.txn.analyzer(name)
    return found


def argument_error(name: str, position: int, expected: str) -> ArangoError:
    return ArangoError(10, f"'{name}' AQL function: argument {position} must be {expected}")


def analyzer_name(value: Any, name: str, position: int, scope: Scope) -> str:
    if not isinstance(value, str):
        raise argument_error(name, position, "the name of an analyzer")
    txn = getattr(scope.rt, "txn", None)
    if txn is not None and txn.analyzer(value) is None:
        raise ArangoError(10, f"'{name}' AQL function: unable to load requested analyzer '{value}'")
    return value.rpartition("::")[2]


def compared(path: Path, op: str, value: Closure) -> Bound:
    if op in _OPPOSITE:
        inner = compared(path, _OPPOSITE[op], value)
        return lambda scope: negation(inner(scope))
    if op == "IN":
        return lambda scope: _among(path(scope), value(scope.row, scope.rt), scope)
    return lambda scope: _one(path(scope), op, value(scope.row, scope.rt), scope)


def _one(path: str, op: str, value: Any, scope: Scope) -> Condition:
    if op == "==":
        return _equal(path, value, scope)
    if op in ("<", "<="):
        return between(path, ..., value, True, op == "<=", scope)
    if op in (">", ">="):
        return between(path, value, ..., op == ">=", True, scope)
    return negation(_equal(path, value, scope))


def _equal(path: str, value: Any, scope: Scope) -> Condition:
    if isinstance(value, str):
        return Terms(path, scope.analyzer, (value,), 1, scope.boost)
    return between(path, value, value, True, True, scope)


def between(path: str, low: Any, high: Any, include_low: bool, include_high: bool, scope: Scope) -> Condition:
    """A range; an open end is ``...``. Both ends have to be of one type, as values of another are not compared."""
    known = high if low is ... else low
    if isinstance(known, str) and all(end is ... or isinstance(end, str) for end in (low, high)):
        first = None if low is ... else low
        last = None if high is ... else high
        return Strings(path, scope.analyzer, first, last, include_low, include_high, scope.boost)
    for mark, fits in ((NULL, _is_null), (BOOL, _is_bool), (NUMBER, is_number)):
        if fits(known):
            if not all(end is ... or fits(end) for end in (low, high)):
                return Nothing()
            bounds = [-math.inf if low is ... else float(low or 0), math.inf if high is ... else float(high or 0)]
            return Values(path, mark, bounds[0], bounds[1], include_low, include_high)
    raise ArangoError(10, "unsupported SEARCH condition: arrays and objects cannot be compared with an attribute")


def _is_null(value: Any) -> bool:
    return value is None


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _among(path: str, values: Any, scope: Scope) -> Condition:
    if not isinstance(values, list | range):
        return Nothing()
    texts = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    parts: list[Condition] = [Terms(path, scope.analyzer, texts, 1, scope.boost)] if texts else []
    parts += [_equal(path, value, scope) for value in values if not isinstance(value, str)]
    return any_of(parts)


def quantify(path: str, quantifier: str, op: str, values: Closure, least: Closure | None, scope: Scope) -> Condition:
    given = values(scope.row, scope.rt)
    if not isinstance(given, list | range):
        return Nothing()
    parts = [_one(path, op, value, scope) for value in given]
    match quantifier:
        case "ALL":
            return all_of(parts)
        case "ANY":
            return any_of(parts)
        case "NONE":
            return negation(any_of(parts))
        case _:
            assert least is not None
            return at_least(parts, max(to_integer(least(scope.row, scope.rt)), 0))


def at_least(parts: Sequence[Condition], minimum: int) -> Condition:
    """At least so many of the parts; constant ones are counted at once."""
    certain = sum(isinstance(part, Every) for part in parts)
    rest = tuple(part for part in parts if not isinstance(part, Every | Nothing))
    minimum -= certain
    if minimum <= 0:
        return any_of([Every(), *rest])
    if minimum > len(rest):
        return Nothing()
    return any_of(rest) if minimum == 1 else AnyOf(rest, minimum)
