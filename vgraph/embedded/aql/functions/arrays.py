"""Array functions (ArangoDB documentation, "Array functions in AQL"). Arguments are never changed in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...errors import ArangoError
from ..operators import MAX_RANGE
from ..operators import flatten as flatten_items
from ..values import equal, hashable, number_text, sort_key, to_integer, to_number, truthy
from .registry import Table, Value, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()


def array_expected(rt: Runtime) -> None:
    """Warning 1563; the function's result is then null."""
    rt.warnings.add(1563)


@TABLE.add("LENGTH", "COUNT", args=(1, 1))
def length(rt: Runtime, value: Value) -> int:
    """Elements, attributes or characters; null and false are 0, true is 1."""
    kind = type(value)
    if kind is list or kind is dict or kind is str:
        return len(value)
    if value is None or kind is bool:
        return 1 if value else 0
    return len(number_text(value))


@TABLE.add("FIRST", args=(1, 1))
def first(rt: Runtime, items: Value) -> Value:
    if type(items) is not list:
        return array_expected(rt)
    return items[0] if items else None


@TABLE.add("LAST", args=(1, 1))
def last(rt: Runtime, items: Value) -> Value:
    if type(items) is not list:
        return array_expected(rt)
    return items[-1] if items else None


@TABLE.add("NTH", args=(2, 2))
def nth(rt: Runtime, items: Value, position: Value) -> Value:
    if type(items) is not list:
        return array_expected(rt)
    at = to_integer(position)
    return items[at] if 0 <= at < len(items) else None


@TABLE.add("FLATTEN", args=(1, 2))
def flatten(rt: Runtime, items: Value, depth: Value = 1) -> Value:
    if type(items) is not list:
        return array_expected(rt)
    levels = to_integer(depth)
    return flatten_items(items, levels) if levels > 0 else items


@TABLE.add("REVERSE", args=(1, 1))
def reverse(rt: Runtime, value: Value) -> Value:
    return value[::-1] if type(value) is list or type(value) is str else array_expected(rt)


@TABLE.add("SLICE", args=(2, 3))
def slice_items(rt: Runtime, items: Value, start: Value, count: Value = None) -> Value:
    """`count` elements, or with a negative one all up to that position from the end."""
    if type(items) is not list:
        return array_expected(rt)
    first_at = to_integer(start)
    if first_at < 0:
        first_at = max(len(items) + first_at, 0)
    if count is None:
        return items[first_at:]
    size = to_integer(count)
    end = first_at + size if size >= 0 else len(items) + size
    return items[first_at : max(end, first_at)]


@TABLE.add("POSITION", "CONTAINS_ARRAY", args=(2, 3))
def position(rt: Runtime, items: Value, search: Value, return_index: Value = False) -> Value:
    if type(items) is not list:
        return array_expected(rt)
    found = _place(items, search)
    return found if truthy(return_index) else found >= 0


def _place(items: list[Value], value: Value) -> int:
    """The position of the first element equal to a value, -1 when there is none."""
    if type(value) is not str:  # a string equals nothing but itself in Python as well
        return next((at for at, item in enumerate(items) if equal(item, value)), -1)
    try:
        return items.index(value)
    except ValueError:
        return -1


def _holds(items: list[Value], value: Value) -> bool:
    return _place(items, value) >= 0


@TABLE.add("PUSH", args=(2, 3))
def push(rt: Runtime, items: Value, value: Value, unique: Value = False) -> Value:
    if items is None:
        return [value]
    if type(items) is not list:
        return wrong_type(rt, "PUSH")
    return items if truthy(unique) and _holds(items, value) else [*items, value]


@TABLE.add("UNSHIFT", args=(2, 3))
def unshift(rt: Runtime, items: Value, value: Value, unique: Value = False) -> Value:
    if items is None:
        return [value]
    if type(items) is not list:
        return wrong_type(rt, "UNSHIFT")
    return items if truthy(unique) and _holds(items, value) else [value, *items]


@TABLE.add("APPEND", args=(2, 3))
def append(rt: Runtime, items: Value, values: Value, unique: Value = False) -> Value:
    """The elements of both; `unique` drops every duplicate."""
    if items is None and values is None:
        return None
    if items is not None and type(items) is not list:
        return wrong_type(rt, "APPEND")
    added = [] if values is None else (values if type(values) is list else [values])
    both = [*(items or ()), *added]
    return distinct(both) if truthy(unique) else both


@TABLE.add("POP", args=(1, 1))
def pop(rt: Runtime, items: Value) -> Value:
    if items is None:
        return None
    return items[:-1] if type(items) is list else array_expected(rt)


@TABLE.add("SHIFT", args=(1, 1))
def shift(rt: Runtime, items: Value) -> Value:
    if items is None:
        return None
    return items[1:] if type(items) is list else array_expected(rt)


@TABLE.add("REMOVE_VALUE", args=(2, 3))
def remove_value(rt: Runtime, items: Value, value: Value, limit: Value = None) -> Value:
    """Without the elements equal to `value`, at most the first `limit` of them."""
    if items is None:
        return []
    if type(items) is not list:
        return wrong_type(rt, "REMOVE_VALUE")
    left = len(items) if limit is None else to_integer(limit)
    found = []
    for item in items:
        if left > 0 and equal(item, value):
            left -= 1
        else:
            found.append(item)
    return found


@TABLE.add("REMOVE_VALUES", args=(2, 2))
def remove_values(rt: Runtime, items: Value, values: Value) -> Value:
    if items is None:
        return []
    if values is None:
        return items
    if type(items) is not list or type(values) is not list:
        return wrong_type(rt, "REMOVE_VALUES")
    gone = {hashable(value) for value in values}
    return [item for item in items if hashable(item) not in gone]


@TABLE.add("REMOVE_NTH", args=(2, 2))
def remove_nth(rt: Runtime, items: Value, at: Value) -> Value:
    if items is None:
        return []
    if type(items) is not list:
        return wrong_type(rt, "REMOVE_NTH")
    place = to_number(at)
    if not -len(items) <= place < len(items):
        return items
    index = int(place if place >= 0 else place + len(items))  # a fraction counts from the front
    return items[:index] + items[index + 1 :]


_BAD_POSITION = "invalid argument type in call to function 'REPLACE_NTH()'"


@TABLE.add("REPLACE_NTH", args=(3, 4))
def replace_nth(rt: Runtime, items: Value, at: Value, value: Value, *filler: Value) -> Value:
    """Positions past the end are filled with `filler`; without one they are an error (except the next), not a warning."""
    if type(items) is not list:
        return wrong_type(rt, "REPLACE_NTH")
    if at is None:
        raise ArangoError(1542, _BAD_POSITION)
    index = to_integer(at)
    if index < 0:
        index = max(len(items) + index, 0)
    if index > len(items) and not filler:
        raise ArangoError(1542, _BAD_POSITION)
    if index > MAX_RANGE:
        raise ArangoError(32, "too many elements")
    found = items + [*filler] * (index - len(items))
    return [*found[:index], value, *found[index + 1 :]]


@TABLE.add("INTERLEAVE", args=(2, None))
def interleave(rt: Runtime, *arrays: Value) -> Value:
    if any(type(array) is not list for array in arrays):
        return wrong_type(rt, "INTERLEAVE")
    longest = max(map(len, arrays))
    return [array[at] for at in range(longest) for array in arrays if at < len(array)]


def distinct(items: list[Value]) -> list[Value]:
    """The first of all equal elements, in order."""
    if set(map(type, items)) == {str}:
        return list(dict.fromkeys(items))
    seen = set()
    found = []
    for item in items:
        key = hashable(item)
        if key not in seen:
            seen.add(key)
            found.append(item)
    return found


@TABLE.add("UNIQUE", args=(1, 1))
def unique(rt: Runtime, items: Value) -> Value:
    return distinct(items) if type(items) is list else array_expected(rt)


@TABLE.add("SORTED", args=(1, 1))
def sorted_items(rt: Runtime, items: Value) -> Value:
    return sorted(items, key=sort_key) if type(items) is list else array_expected(rt)


@TABLE.add("SORTED_UNIQUE", args=(1, 1))
def sorted_unique(rt: Runtime, items: Value) -> Value:
    return sorted(distinct(items), key=sort_key) if type(items) is list else array_expected(rt)


@TABLE.add("COUNT_DISTINCT", "COUNT_UNIQUE", args=(1, 1))
def count_distinct(rt: Runtime, items: Value) -> Value:
    return len({hashable(item) for item in items}) if type(items) is list else array_expected(rt)
