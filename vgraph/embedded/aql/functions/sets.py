"""Set operations on arrays (ArangoDB documentation, "Array functions in AQL"). The server gives no order; here it is
that of first occurrence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..operators import ELEMENT
from ..values import hashable, number
from .arrays import distinct
from .registry import Table, Value, ticking, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()


def _arrays(values: tuple[Value, ...]) -> bool:
    return all(type(value) is list for value in values)


@TABLE.add("UNION", args=(2, None))
def union(rt: Runtime, *arrays: Value) -> Value:
    if not _arrays(arrays):
        return wrong_type(rt, "UNION")
    rt.afford(sum(map(len, arrays)) * ELEMENT)
    return [item for array in arrays for item in array]


@TABLE.add("UNION_DISTINCT", args=(2, None))
def union_distinct(rt: Runtime, *arrays: Value) -> Value:
    if not _arrays(arrays):
        return wrong_type(rt, "UNION_DISTINCT")
    rt.afford(sum(map(len, arrays)) * ELEMENT)
    return distinct([item for array in arrays for item in ticking(rt, array)])


@TABLE.add("INTERSECTION", args=(2, None))
def intersection(rt: Runtime, *arrays: Value) -> Value:
    if not _arrays(arrays):
        return wrong_type(rt, "INTERSECTION")
    others = [{hashable(item) for item in ticking(rt, array)} for array in arrays[1:]]
    return [item for item in distinct(arrays[0]) if all(hashable(item) in other for other in others)]


@TABLE.add("MINUS", args=(2, None))
def minus(rt: Runtime, *arrays: Value) -> Value:
    if not _arrays(arrays):
        return wrong_type(rt, "MINUS")
    gone = {hashable(item) for array in arrays[1:] for item in ticking(rt, array)}
    return [item for item in distinct(arrays[0]) if hashable(item) not in gone]


@TABLE.add("OUTERSECTION", args=(2, None))
def outersection(rt: Runtime, *arrays: Value) -> Value:
    """What occurs once in all arrays together."""
    if not _arrays(arrays):
        return wrong_type(rt, "OUTERSECTION")
    count: dict[object, int] = {}
    items = [(hashable(item), item) for array in arrays for item in ticking(rt, array)]
    for key, _ in items:
        count[key] = count.get(key, 0) + 1
    return [item for key, item in items if count[key] == 1]


@TABLE.add("JACCARD", args=(2, 2))
def jaccard(rt: Runtime, first: Value, second: Value) -> Value:
    """Size of the intersection over that of the union; 1 for two empty arrays."""
    if not _arrays((first, second)):
        return wrong_type(rt, "JACCARD")
    left, right = ({hashable(item) for item in array} for array in (first, second))
    return number(len(left & right) / len(left | right)) if left or right else 1
