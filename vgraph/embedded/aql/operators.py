"""What AQL's operators do with values (ArangoDB documentation, "Operators")."""

from __future__ import annotations

from collections.abc import Callable
from math import fmod
from typing import TYPE_CHECKING, Any, Final

from ..errors import ArangoError
from .values import compare, equal, number, parse_number, to_integer, to_number, to_string

if TYPE_CHECKING:
    from .runtime import Runtime

MAX_RANGE: Final = 10_000_000  # elements of a range that becomes an array
SMALL: Final = 10_000  # elements that nobody counts
ELEMENT: Final = 16  # bytes counted for one

COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
}


def negate(value: Any) -> Any:
    found = to_number(value)
    return -found if type(found) is int else number(-found)


def divide(left: Any, right: Any, rt: Runtime) -> Any:
    """Division as doubles; by zero null and warning 1562."""
    divisor = to_number(right)
    if divisor == 0:
        rt.warnings.add(1562)
        return None
    return number(_quotient(float(to_number(left)), float(divisor)))


def _quotient(left: float, right: float) -> float:
    try:
        return left / right
    except OverflowError:
        return float("inf")


def modulo(left: Any, right: Any, rt: Runtime) -> Any:
    """The remainder, with the sign of the left operand; by zero null and warning 1562."""
    divisor = to_number(right)
    if divisor == 0:
        rt.warnings.add(1562)
        return None
    return number(fmod(float(to_number(left)), float(divisor)))


def index(base: Any, position: Any) -> Any:
    """``base[position]``."""
    kind = type(base)
    if kind is list:
        at = _position(position)
        return base[at] if at is not None and -len(base) <= at < len(base) else None
    if kind is dict:
        if type(position) is str:
            return base.get(position)
        if type(position) is int or type(position) is float:
            return base.get(str(to_integer(position)))
    return None


def _position(value: Any) -> int | None:
    if type(value) is int:
        return value
    if type(value) is float:
        return to_integer(value)
    if type(value) is str:
        found = parse_number(value)
        return None if found is None else to_integer(found)
    return None


def bound_attribute(base: Any, path: Any, bind: str) -> Any:
    """``base.@bind``: a name, or an array of names that leads inwards."""
    names = [path] if type(path) is str else path
    if type(names) is not list or not names or not all(type(name) is str and name for name in names):
        raise ArangoError(1553, f"bind parameter '{bind}' has an invalid value or type")
    for name in names:
        base = base.get(name) if type(base) is dict else None
    return base


def lazy_range(low: Any, high: Any) -> range:
    """``low..high`` as a Python range; it runs down when high is smaller."""
    first, last = to_integer(low), to_integer(high)
    return range(first, last + 1) if first <= last else range(first, last - 1, -1)


def full_range(low: Any, high: Any, rt: Runtime | None = None) -> list[int]:
    """The range as an array; 32 when it is too large."""
    found = lazy_range(low, high)
    size = range_size(low, high)
    if size > MAX_RANGE:
        raise ArangoError(32, "range size exceeds the maximum for materialization")
    if rt is not None and size > SMALL:
        rt.afford(size * ELEMENT)
    return list(found)


def range_size(low: Any, high: Any) -> int:
    """How many elements ``low..high`` has."""
    return abs(to_integer(high) - to_integer(low)) + 1


def in_range(value: Any, low: Any, high: Any) -> bool:
    """``value IN low..high`` without making the array."""
    if type(value) is not int and type(value) is not float:
        return False
    first, last = to_integer(low), to_integer(high)
    return min(first, last) <= value <= max(first, last) and value == int(value)


def contains(items: Any, value: Any, positive: bool) -> bool:
    """IN and NOT IN; both false when there is no array."""
    if type(items) is not list:
        return False
    kind = type(value)
    if kind is str or value is None:
        return (value in items) is positive
    return any(equal(item, value) for item in items) is positive


def quantified(quantifier: str, op: str, left: Any, right: Any, count: Any) -> bool:
    """``left ALL|ANY|NONE|AT LEAST (count) op right``; false when left is no array."""
    if type(left) is not list:
        return False
    if op == "IN" or op == "NOT IN":
        if type(right) is not list:
            return False
        positive = op == "IN"
        results = (contains(right, item, positive) for item in left)
    else:
        test = COMPARE[op]
        results = (test(item, right) for item in left)
    if quantifier == "ALL":
        return all(results)
    if quantifier == "ANY":
        return any(results)
    if quantifier == "NONE":
        return not any(results)
    return sum(results) >= max(0, to_integer(count))


def enough(quantifier: str, matched: int, total: int, low: Any, high: Any) -> bool:
    """Whether ``[? quantifier FILTER …]`` is satisfied by the number of matches."""
    if quantifier == "ANY":
        return matched > 0
    if quantifier == "ALL":
        return matched == total
    if quantifier == "NONE":
        return matched == 0
    if quantifier == "AT LEAST":
        return matched >= max(0, to_integer(low))
    return to_integer(low) <= matched <= to_integer(high)


def flatten(items: list[Any], levels: int) -> list[Any]:
    """Inner arrays replaced by their elements, `levels` times."""
    found: list[Any] = []
    for item in items:
        if type(item) is list:
            found.extend(flatten(item, levels - 1) if levels > 1 else item)
        else:
            found.append(item)
    return found


def concatenate(values: Any) -> str:
    """CONCAT's text of some values: null adds nothing."""
    return "".join([value if type(value) is str else to_string(value) for value in values])
