"""Functions of an array of numbers (ArangoDB documentation, "Numeric functions in AQL"). Null elements are left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from ..values import number, sort_key
from .arrays import array_expected
from .registry import Table, Value, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()


def numbers_of(items: list[Value]) -> list[Any] | None:
    """The numbers of an array, None if it holds anything else but null."""
    found = [item for item in items if item is not None]
    return found if all(type(item) is int or type(item) is float for item in found) else None


def _numbers(rt: Runtime, items: Value) -> list[Any] | None:
    """As `numbers_of`, with the warnings: 1563 for no array, 1561 for no number."""
    if type(items) is not list:
        array_expected(rt)
        return None
    found = numbers_of(items)
    if found is None:
        rt.warnings.add(1561)
    return found


def total(values: list[Any]) -> float:
    """A sum of doubles, in order."""
    found = 0.0
    for value in values:
        found += value
    return found


@TABLE.add("MIN", args=(1, 1))
def minimum(rt: Runtime, items: Value) -> Value:
    if type(items) is not list:
        return array_expected(rt)
    return min((item for item in items if item is not None), key=sort_key, default=None)


@TABLE.add("MAX", args=(1, 1))
def maximum(rt: Runtime, items: Value) -> Value:
    if type(items) is not list:
        return array_expected(rt)
    return max((item for item in items if item is not None), key=sort_key, default=None)


@TABLE.add("SUM", args=(1, 1))
def summed(rt: Runtime, items: Value) -> Value:
    """0 for an empty array; null as soon as an element is no number."""
    if type(items) is not list:
        return array_expected(rt)
    values = numbers_of(items)
    return None if values is None else number(total(values))


@TABLE.add("PRODUCT", args=(1, 1))
def product(rt: Runtime, items: Value) -> Value:
    if type(items) is not list:
        return array_expected(rt)
    values = numbers_of(items)
    if values is None:
        return None
    found = 1.0
    for value in values:
        found *= value
    return number(found)


@TABLE.add("AVERAGE", "AVG", args=(1, 1))
def average(rt: Runtime, items: Value) -> Value:
    if type(items) is not list:
        return array_expected(rt)
    values = numbers_of(items)
    return number(total(values) / len(values)) if values else None


@TABLE.add("MEDIAN", args=(1, 1))
def median(rt: Runtime, items: Value) -> Value:
    values = _numbers(rt, items)
    if not values:
        return None
    values.sort()
    middle = len(values) // 2
    return number(float(values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2))


@TABLE.add("PERCENTILE", args=(2, 3))
def percentile(rt: Runtime, items: Value, share: Value, method: Value = "rank") -> Value:
    if type(items) is not list:
        return array_expected(rt)
    if type(share) not in (int, float) or method not in ("rank", "interpolation"):
        return wrong_type(rt, "PERCENTILE")
    if not 0 <= share <= 100:
        return wrong_type(rt, "PERCENTILE")
    values = _numbers(rt, items)
    if not values:
        return None
    values.sort()
    if method == "rank":
        at = math.ceil(share / 100 * len(values)) - 1
        return values[max(0, min(at, len(values) - 1))]
    place = share / 100 * (len(values) + 1)
    low = math.floor(place)
    if low < 1:
        return values[0]
    if low >= len(values):
        return values[-1]
    return number(float(values[low - 1] + (place - low) * (values[low] - values[low - 1])))


def variance(values: list[Any], sample: bool) -> float | None:
    """Welford's running variance (1962); None when there are too few values."""
    mean, squares = 0.0, 0.0
    for count, value in enumerate(values, 1):
        delta = value - mean
        mean += delta / count
        squares += delta * (value - mean)
    if len(values) < (2 if sample else 1):
        return None
    return squares / (len(values) - (1 if sample else 0))


def _spread(rt: Runtime, items: Value, sample: bool, root: bool) -> Value:
    values = _numbers(rt, items)
    found = variance(values, sample) if values is not None else None
    if found is None or not found >= 0:  # too large for a double
        return None
    return number(float(math.sqrt(found) if root else found))


@TABLE.add("VARIANCE_POPULATION", "VARIANCE", args=(1, 1))
def variance_population(rt: Runtime, items: Value) -> Value:
    return _spread(rt, items, sample=False, root=False)


@TABLE.add("VARIANCE_SAMPLE", args=(1, 1))
def variance_sample(rt: Runtime, items: Value) -> Value:
    return _spread(rt, items, sample=True, root=False)


@TABLE.add("STDDEV_POPULATION", "STDDEV", args=(1, 1))
def stddev_population(rt: Runtime, items: Value) -> Value:
    return _spread(rt, items, sample=False, root=True)


@TABLE.add("STDDEV_SAMPLE", args=(1, 1))
def stddev_sample(rt: Runtime, items: Value) -> Value:
    return _spread(rt, items, sample=True, root=True)
