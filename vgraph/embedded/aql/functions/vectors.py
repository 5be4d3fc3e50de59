"""Distances between vectors (ArangoDB documentation, "Numeric functions in AQL", "Vector search functions in AQL")."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from ...errors import ArangoError
from ..values import number
from .registry import Table, Value, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()
_NUMBERS: Final = frozenset([int, float])
Vector: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Measure: TypeAlias = Callable[[Vector, Vector], float | None]


def _vector(value: Value) -> Vector | None:
    """An array of numbers as doubles, None for anything else."""
    if type(value) is not list or not _NUMBERS.issuperset(map(type, value)):
        return None
    return np.fromiter(value, np.float64, len(value))


def _remembered(rt: Runtime, place: str, value: Value) -> Vector | None:
    """As `_vector`; one of the two arguments is mostly the same list row after row."""
    known = rt.cache.get(place)
    if known is None or known[0] is not value:
        known = rt.cache[place] = (value, _vector(value))
    return known[1]


def _measure(rt: Runtime, name: str, first: Value, second: Value, measure: Measure) -> Value:
    """Of two vectors, or of every row of a matrix and a vector; anything else is null and one warning."""
    if type(first) is list and first and type(first[0]) is list:
        return _rows(rt, name, first, second, measure)
    if type(second) is list and second and type(second[0]) is list:
        return _rows(rt, name, second, first, measure)
    left, right = _remembered(rt, "first vector", first), _remembered(rt, "second vector", second)
    if left is None or right is None or len(left) != len(right) or not len(left):
        return wrong_type(rt, name)
    with np.errstate(over="ignore", invalid="ignore"):
        return _result(rt, measure(left, right))


def _result(rt: Runtime, found: float | None) -> Value:
    if found is None:
        rt.warnings.add(1561)
        return None
    return number(float(found))


def _rows(rt: Runtime, name: str, matrix: list[Value], vector: Value, measure: Measure) -> Value:
    right = _remembered(rt, "second vector", vector)
    rows = [_vector(row) for row in matrix]
    if right is None or any(row is None or len(row) != len(right) for row in rows):
        return wrong_type(rt, name)
    with np.errstate(over="ignore", invalid="ignore"):
        found = [_result(rt, measure(row, right)) for row in rows if row is not None]
    return None if None in found else found


def cosine(first: Vector, second: Vector) -> float | None:
    """Within -1 and 1; None if a vector has no direction."""
    norm = sqrt(first @ first) * sqrt(second @ second)
    return max(-1.0, min(1.0, float(first @ second) / norm)) if 0 < norm < inf else None


def manhattan(first: Vector, second: Vector) -> float:
    return float(np.abs(first - second).sum())


def euclidean(first: Vector, second: Vector) -> float:
    difference = first - second
    return sqrt(difference @ difference)


@TABLE.add("COSINE_SIMILARITY", args=(2, 2))
def cosine_similarity(rt: Runtime, first: Value, second: Value) -> Value:
    return _measure(rt, "COSINE_SIMILARITY", first, second, cosine)


@TABLE.add("L1_DISTANCE", args=(2, 2))
def l1_distance(rt: Runtime, first: Value, second: Value) -> Value:
    return _measure(rt, "L1_DISTANCE", first, second, manhattan)


@TABLE.add("L2_DISTANCE", args=(2, 2))
def l2_distance(rt: Runtime, first: Value, second: Value) -> Value:
    return _measure(rt, "L2_DISTANCE", first, second, euclidean)


@TABLE.add("APPROX_NEAR_COSINE", "APPROX_NEAR_L2", "APPROX_NEAR_INNER_PRODUCT", args=(2, 3), deterministic=False)
def approx_near(rt: Runtime, *args: Value) -> Value:
    """Only the planner answers these, from a vector index."""
    raise ArangoError(1554)
