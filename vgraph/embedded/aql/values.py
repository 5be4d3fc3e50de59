"""AQL's values: order, equality, truth and casts (ArangoDB documentation, "Type and value order in AQL").

null < bool < number < string < array < object. Numbers compare by value whether int or float; strings by code point;
arrays element by element as if padded with null; objects attribute by attribute over the sorted union of their names,
a missing one being null. A float that is a whole number below 2^53 is kept as an int, as it is printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from types import NoneType
from typing import Any, Final, TypeAlias

import orjson

Value: TypeAlias = Any

EXACT: Final = 2**53  # integers below are exact as doubles
_NUMBER: Final = re.compile(r"[ \t\r\n\f\v]*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[ \t\r\n\f\v]*")
_RANKS: Final[dict[type, int]] = {NoneType: 0, bool: 1, int: 2, float: 2, str: 3, list: 4, range: 4, dict: 5}
_TYPE_NAMES: Final = ("null", "bool", "number", "string", "array", "object")


# --------------------------------------------------------------------------------------------------- order


def rank(value: Value) -> int:
    """0 null, 1 bool, 2 number, 3 string, 4 array, 5 object."""
    return _RANKS[type(value)]


def type_name(value: Value) -> str:
    return _TYPE_NAMES[_RANKS[type(value)]]


def _array_key(value: Any) -> tuple[Any, ...]:
    keys = [sort_key(item) for item in value]
    while keys and keys[-1] == _NULL_KEY:
        keys.pop()
    return (4, keys)


def _object_key(value: dict[str, Any]) -> tuple[Any, ...]:
    """Attributes by name; the object whose next name comes first is the greater one, for the other has null there."""
    return (5, [(_backwards(name), sort_key(value[name])) for name in sorted(value) if value[name] is not None])


def _backwards(name: str) -> tuple[int, ...]:
    """A key that sorts names in reverse."""
    return (*(-ord(char) for char in name), 1)


_NULL_KEY: Final[tuple[Any, ...]] = (0,)
_SORT_KEYS: Final[dict[type, Callable[[Any], tuple[Any, ...]]]] = {
    NoneType: lambda value: _NULL_KEY,
    bool: lambda value: (1, value),
    int: lambda value: (2, value),
    float: lambda value: (2, value),
    str: lambda value: (3, value),
    list: _array_key,
    range: _array_key,
    dict: _object_key,
}


def sort_key(value: Value) -> tuple[Any, ...]:
    """A key whose Python order is AQL's order."""
    return _SORT_KEYS[type(value)](value)


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1."""
    a, b = _RANKS[type(left)], _RANKS[type(right)]
    if a != b:
        return -1 if a < b else 1
    if a == 0:
        return 0
    if a > 3:
        left, right = sort_key(left), sort_key(right)
    return 0 if left == right else (-1 if left < right else 1)


def equal(left: Value, right: Value) -> bool:
    """Whether two values are the same in AQL: 1 == 1.0, 1 != true, {} == {a: null}."""
    a, b = type(left), type(right)
    if a is b:
        if a is list:
            return _equal_arrays(left, right)
        if a is dict:
            return _equal_objects(left, right)
        return bool(left == right)
    if _RANKS[a] != _RANKS[b]:
        return False
    return _equal_arrays(left, right) if _RANKS[a] == 4 else bool(left == right)


def _equal_arrays(left: Any, right: Any) -> bool:
    shared = min(len(left), len(right))
    for index in range(shared):
        if not equal(left[index], right[index]):
            return False
    return all(item is None for item in left[shared:]) and all(item is None for item in right[shared:])


def _equal_objects(left: dict[str, Any], right: dict[str, Any]) -> bool:
    for name, value in left.items():
        if not equal(value, right.get(name)):
            return False
    return all(value is None or name in left for name, value in right.items())


class _Bool:
    """Stands for a bool in `hashable`, where True would equal 1."""

    __slots__ = ()


_TRUE: Final = _Bool()
_FALSE: Final = _Bool()


def hashable(value: Value) -> Any:
    """Something to put in a set or dict: equal exactly when the values are equal."""
    kind = type(value)
    if kind is str or kind is int or kind is float or value is None:
        return value
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is dict:
        return frozenset((name, hashable(item)) for name, item in value.items() if item is not None)
    items = [hashable(item) for item in value]
    while items and items[-1] is None:
        items.pop()
    return tuple(items)


# ---------------------------------------------------------------------------------------------------- casts


def truthy(value: Value) -> bool:
    """Empty arrays and objects are true; null, false, 0 and "" are not."""
    return bool(value) or type(value) is list or type(value) is dict


def to_bool(value: Value) -> bool:
    return truthy(value)


def number(value: float) -> Value:
    """A result of arithmetic: null unless finite, an int where it prints as one."""
    if value.is_integer():
        return int(value) if -EXACT < value < EXACT else value
    return value if isfinite(value) else None


def parse_number(text: str) -> float | int | None:
    """The number a string spells, blanks around it ignored; None when it spells none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    if not isfinite(value):
        return None
    return int(value) if value.is_integer() and -EXACT < value < EXACT else value


def to_number(value: Value) -> float | int:
    """TO_NUMBER's cast; what cannot be cast is 0."""
    kind = type(value)
    if kind is int or kind is float:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return 1 if value else 0
    if kind is str:
        return parse_number(value) or 0
    if kind is list and len(value) == 1:
        return to_number(value[0])
    return 0


def to_integer(value: Value) -> int:
    """A number cut to a whole one (array positions, range bounds)."""
    found = to_number(value)
    return int(max(-(2.0**63), min(2.0**63, found))) if isinstance(found, float) else found


def number_text(value: float | int) -> str:
    """How the server prints a number: the shortest digits that read back the same, very long ones as 1.5e+21."""
    if type(value) is int:
        return str(value)
    exact = Decimal(repr(float(value)))
    _, digits, last = exact.as_tuple()
    assert isinstance(last, int)
    power = last + len(digits) - 1
    if (last >= 0 and power < len(digits) + 7) or (last < 0 and (last > -7 or abs(power) < 4)):
        return f"{exact:f}".removesuffix(".0")
    text = "".join(map(str, digits)).rstrip("0")
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{'-' if value < 0 else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power)}"


def to_string(value: Value) -> str:
    """TO_STRING's cast: null is "", arrays and objects are compact JSON."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if value is None:
        return ""
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is float:
        return number_text(value)
    return to_json(value)


def to_json(value: Value) -> str:
    """Compact JSON text."""
    if type(value) is range:
        value = list(value)
    return orjson.dumps(value, default=str).decode()


def to_array(value: Value) -> list[Value]:
    """TO_ARRAY's cast: null is [], an object its values, a scalar an array of one."""
    if type(value) is list:
        return value
    if value is None:
        return []
    if type(value) is dict:
        return list(value.values())
    if type(value) is range:
        return list(value)
    return [value]
