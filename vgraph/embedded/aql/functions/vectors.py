"""Distances between vectors (ArangoDB documentation, "Numeric functions in AQL", "Vector search functions in AQL")."""

from __future__ import annotations

from collections.abc import Callable
from math import dist, sqrt
from operator import mul
from typing import TYPE_CHECKING, Final

from ...errors import ArangoError
from ..values import number
from .registry import Table, Value, wrong_type

if TYPE_CHECKING:
    from ..expressions import Runtime

TABLE: Final = Table()
_NUMBERS: Final = frozenset([int, float])
_Measure = Callable[[list[float], list[float]], float | None]


def _is_vector(value: Value) -> bool:
    return type(value) is list and _NUMBERS.issuperset(map(type, value))


def _measure(rt: Runtime, name: str, first: Value, second: Value, measure: _Measure) -> Value:
    """Of two vectors, or of every row of a matrix and a vector; anything else is null and one warning."""
    if type(first) is not list or type(second) is not list:
        return wrong_type(rt, name)
    if first and type(first[0]) is list:
        return _rows(rt, name, first, second, measure)
    if second and type(second[0]) is list:
        return _rows(rt, name, second, first, measure)
    if len(first) != len(second) or not _is_vector(first) or not _is_vector(second):
        return wrong_type(rt, name)
    found = measure(first, second)
    if found is None:
        rt.warnings.add(1561)
        return None
    return number(float(found))


def _rows(rt: Runtime, name: str, matrix: list[Value], vector: Value, measure: _Measure) -> Value:
    if not _is_vector(vector):
        return wrong_type(rt, name)
    found = []
    for row in matrix:
        if not _is_vector(row) or len(row) != len(vector):
            return wrong_type(rt, name)
        value = measure(row, vector)
        if value is None:
            rt.warnings.add(1561)
            return None
        found.append(number(float(value)))
    return found


def cosine(first: list[float], second: list[float]) -> float | None:
    """Within -1 and 1; None if a vector has no direction."""
    norm = sqrt(sum(map(mul, first, first))) * sqrt(sum(map(mul, second, second)))
    return max(-1.0, min(1.0, sum(map(mul, first, second)) / norm)) if norm else None


def manhattan(first: list[float], second: list[float]) -> float:
    return sum(abs(a - b) for a, b in zip(first, second, strict=True))


@TABLE.add("COSINE_SIMILARITY", args=(2, 2))
def cosine_similarity(rt: Runtime, first: Value, second: Value) -> Value:
    return _measure(rt, "COSINE_SIMILARITY", first, second, cosine)


@TABLE.add("L1_DISTANCE", args=(2, 2))
def l1_distance(rt: Runtime, first: Value, second: Value) -> Value:
    return _measure(rt, "L1_DISTANCE", first, second, manhattan)


@TABLE.add("L2_DISTANCE", args=(2, 2))
def l2_distance(rt: Runtime, first: Value, second: Value) -> Value:
    return _measure(rt, "L2_DISTANCE", first, second, dist)


@TABLE.add("APPROX_NEAR_COSINE", "APPROX_NEAR_L2", "APPROX_NEAR_INNER_PRODUCT", args=(2, 3), deterministic=False)
def approx_near(rt: Runtime, *args: Value) -> Value:
    """Only the planner answers these, from a vector index."""
    raise ArangoError(1554)
