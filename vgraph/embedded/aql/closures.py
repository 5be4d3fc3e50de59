"""Closures of operators: the general form of each, and faster ones for what is common in queries.

A constant closure shows its value as `.value`; `fold` makes one of what has constant parts only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import NoneType
from typing import Any, Final

from ..errors import ArangoError
from . import operators
from .runtime import Closure, Row, Runtime
from .values import EXACT, compare, equal, hashable, number, to_number

_HALF: Final = EXACT // 2  # the sum of two integers below is exact as a double
_ROOT: Final = 2**26  # so is their product
_FOLD_SECONDS: Final = 0.05
_FOLD_BYTES: Final = 1 << 20
_SHORT: Final = 8  # elements that are looked through one by one
_NO_LIST: Final = (None, None)

# -------------------------------------------------------------------------------------------------- constants


def is_constant_closure(closure: Closure) -> bool:
    """Whether a closure gives the same value always, without looking at row or runtime."""
    return hasattr(closure, "value")


def constant(value: Any) -> Closure:
    """A closure of one value, which it shows as `.value`."""

    def always(row: Row, rt: Runtime) -> Any:
        return value

    always.value = value  # type: ignore[attr-defined]
    return always


def plain(value: Any) -> Any:
    return number(value) if type(value) is float else value


def value_of(closure: Closure) -> Any:
    return closure.value  # type: ignore[attr-defined]


def fold(closure: Closure, *parts: Closure) -> Closure:
    """The closure, or its value if all its parts are constant. A warning is kept and given once in every run.

    What takes long or becomes large is left for the run, which has limits of its own.
    """
    for part in parts:
        if not hasattr(part, "value"):
            return closure
    probe = Runtime(deadline=time.monotonic() + _FOLD_SECONDS)
    probe.memory_limit = _FOLD_BYTES
    try:
        value = closure([], probe)
    except ArangoError:
        return closure
    if not probe.warnings.items:
        return constant(value)
    items = tuple(probe.warnings.items)

    def warned(row: Row, rt: Runtime) -> Any:
        if warned not in rt.cache:
            rt.cache[warned] = True
            for num, message in items:
                rt.warnings.add(num, message)
        return value

    return warned


# ------------------------------------------------------------------------------------------ logic and arithmetic


def both_true(left: Closure, right: Closure) -> Closure:
    def both(row: Row, rt: Runtime) -> Any:
        value = left(row, rt)
        return right(row, rt) if value or type(value) is list or type(value) is dict else value

    return both


def either_true(left: Closure, right: Closure) -> Closure:
    def either(row: Row, rt: Runtime) -> Any:
        value = left(row, rt)
        return value if value or type(value) is list or type(value) is dict else right(row, rt)

    return either


def _add(left: Closure, right: Closure) -> Closure:
    def add(row: Row, rt: Runtime) -> Any:
        a, b = left(row, rt), right(row, rt)
        if type(a) is int and type(b) is int and -_HALF < a < _HALF and -_HALF < b < _HALF:
            return a + b
        return number(float(to_number(a)) + to_number(b))

    return add


def _subtract(left: Closure, right: Closure) -> Closure:
    def subtract(row: Row, rt: Runtime) -> Any:
        a, b = left(row, rt), right(row, rt)
        if type(a) is int and type(b) is int and -_HALF < a < _HALF and -_HALF < b < _HALF:
            return a - b
        return number(float(to_number(a)) - to_number(b))

    return subtract


def _multiply(left: Closure, right: Closure) -> Closure:
    def multiply(row: Row, rt: Runtime) -> Any:
        a, b = left(row, rt), right(row, rt)
        if type(a) is int and type(b) is int and -_ROOT < a < _ROOT and -_ROOT < b < _ROOT:
            return a * b
        return number(float(to_number(a)) * to_number(b))

    return multiply


def _divide(left: Closure, right: Closure) -> Closure:
    return lambda row, rt: operators.divide(left(row, rt), right(row, rt), rt)


def _modulo(left: Closure, right: Closure) -> Closure:
    return lambda row, rt: operators.modulo(left(row, rt), right(row, rt), rt)


ARITHMETIC: Final[dict[str, Callable[[Closure, Closure], Closure]]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _modulo,
}


# ----------------------------------------------------------------------------------------------------- comparison


def equals_constant(a: Closure, slot: int, name: str | None, value: Any, positive: bool) -> Closure:
    """``a == value``, or ``!=``; with `name`, `a` is the attribute of that name of the register `slot`."""
    kind = type(value)
    if kind is list or kind is dict:
        return lambda row, rt: equal(a(row, rt), value) is positive
    if name is not None:
        return _attribute_equals(slot, name, value, positive)
    if kind is NoneType or kind is bool:
        return lambda row, rt: (a(row, rt) is value) is positive
    if kind is str:
        return lambda row, rt: (a(row, rt) == value) is positive

    def is_number(row: Row, rt: Runtime) -> bool:
        found = a(row, rt)
        return (found == value and type(found) is not bool) is positive

    return is_number


def _attribute_equals(slot: int, name: str, value: Any, positive: bool) -> Closure:
    """``variable.attribute == scalar`` without an inner call."""
    kind = type(value)
    if kind is NoneType or kind is bool:

        def is_value(row: Row, rt: Runtime) -> bool:
            document = row[slot]
            return ((document.get(name) if type(document) is dict else None) is value) is positive

        return is_value
    if kind is str:

        def is_text(row: Row, rt: Runtime) -> bool:
            document = row[slot]
            return (type(document) is dict and document.get(name) == value) is positive

        return is_text

    def is_number(row: Row, rt: Runtime) -> bool:
        document = row[slot]
        found = document.get(name) if type(document) is dict else None
        return (found == value and type(found) is not bool) is positive

    return is_number


def order_constant(op: str, a: Closure, slot: int, name: str | None, value: Any) -> Closure:
    """``a op constant``: numbers and strings compare at once when the types agree."""
    kind = type(value)
    test = operators.COMPARE[op]
    if kind is not int and kind is not float and kind is not str:
        return lambda row, rt: test(a(row, rt), value)
    other = float if kind is int else (int if kind is float else str)
    if name is not None:
        return _order_attribute(op, slot, name, value, kind, other)
    if op == "<":

        def less(row: Row, rt: Runtime) -> bool:
            found = a(row, rt)
            return found < value if type(found) is kind or type(found) is other else test(found, value)

        return less
    if op == "<=":

        def at_most(row: Row, rt: Runtime) -> bool:
            found = a(row, rt)
            return found <= value if type(found) is kind or type(found) is other else test(found, value)

        return at_most
    if op == ">":

        def more(row: Row, rt: Runtime) -> bool:
            found = a(row, rt)
            return found > value if type(found) is kind or type(found) is other else test(found, value)

        return more

    def at_least(row: Row, rt: Runtime) -> bool:
        found = a(row, rt)
        return found >= value if type(found) is kind or type(found) is other else test(found, value)

    return at_least


def _order_attribute(op: str, slot: int, name: str, value: Any, kind: type, other: type) -> Closure:
    """``variable.attribute op constant`` without an inner call."""
    test = operators.COMPARE[op]
    if op == "<":

        def less(row: Row, rt: Runtime) -> bool:
            document = row[slot]
            found = document.get(name) if type(document) is dict else None
            return found < value if type(found) is kind or type(found) is other else test(found, value)

        return less
    if op == "<=":

        def at_most(row: Row, rt: Runtime) -> bool:
            document = row[slot]
            found = document.get(name) if type(document) is dict else None
            return found <= value if type(found) is kind or type(found) is other else test(found, value)

        return at_most
    if op == ">":

        def more(row: Row, rt: Runtime) -> bool:
            document = row[slot]
            found = document.get(name) if type(document) is dict else None
            return found > value if type(found) is kind or type(found) is other else test(found, value)

        return more

    def at_least(row: Row, rt: Runtime) -> bool:
        document = row[slot]
        found = document.get(name) if type(document) is dict else None
        return found >= value if type(found) is kind or type(found) is other else test(found, value)

    return at_least


def general_comparison(op: str, a: Closure, b: Closure) -> Closure:
    if op in ("==", "!="):
        positive = op == "=="

        def same(row: Row, rt: Runtime) -> bool:
            x, y = a(row, rt), b(row, rt)
            kind = type(x)
            if kind is type(y) and (kind is str or kind is int):
                return (x == y) is positive
            return equal(x, y) is positive

        return same
    if op == "<":

        def less(row: Row, rt: Runtime) -> bool:
            x, y = a(row, rt), b(row, rt)
            kind = type(x)
            return x < y if kind is type(y) and (kind is int or kind is str or kind is float) else compare(x, y) < 0

        return less
    if op == "<=":

        def at_most(row: Row, rt: Runtime) -> bool:
            x, y = a(row, rt), b(row, rt)
            kind = type(x)
            return x <= y if kind is type(y) and (kind is int or kind is str or kind is float) else compare(x, y) <= 0

        return at_most
    if op == ">":

        def more(row: Row, rt: Runtime) -> bool:
            x, y = a(row, rt), b(row, rt)
            kind = type(x)
            return x > y if kind is type(y) and (kind is int or kind is str or kind is float) else compare(x, y) > 0

        return more

    def at_least(row: Row, rt: Runtime) -> bool:
        x, y = a(row, rt), b(row, rt)
        kind = type(x)
        return x >= y if kind is type(y) and (kind is int or kind is str or kind is float) else compare(x, y) >= 0

    return at_least


# ----------------------------------------------------------------------------------------------------- membership


def in_set(a: Closure, members: frozenset[Any], positive: bool) -> Closure:
    def member(row: Row, rt: Runtime) -> bool:
        value = a(row, rt)
        if type(value) is not str and type(value) is not int:
            value = hashable(value)
        return (value in members) is positive

    return member


def fixed_members(items: list[Any]) -> frozenset[Any]:
    """A constant list as a set of `hashable` values."""
    return frozenset(map(hashable, items))


def bound_members(name: str, rt: Runtime) -> frozenset[Any] | None:
    """The list of a bind as a set, made once per run; None when it is no list."""
    key = ("set of bind", name)
    members: frozenset[Any] | None = rt.cache.get(key)
    if members is None and type(items := rt.binds[name]) is list:
        members = rt.cache[key] = frozenset(map(hashable, items))
    return members


def in_bind(a: Closure, name: str, positive: bool) -> Closure:
    """``x IN @list``."""

    def member(row: Row, rt: Runtime) -> bool:
        members = bound_members(name, rt)
        if members is None:
            return False
        value = a(row, rt)
        if type(value) is not str and type(value) is not int:
            value = hashable(value)
        return (value in members) is positive

    return member


def strings_of(items: Any) -> frozenset[str] | None:
    """The strings in a list, for whoever looks for one again and again; None where it is no list, or a short one."""
    if type(items) is not list or len(items) < _SHORT:
        return None
    return frozenset([item for item in items if type(item) is str])


def list_member(positive: bool) -> Callable[[Any, Any, Runtime], bool]:
    """``value IN items``: of a list that comes again, row after row, the strings are made a set."""
    key = object()

    def member(items: Any, value: Any, rt: Runtime) -> bool:
        if type(value) is not str or type(items) is not list or len(items) < _SHORT:
            return operators.contains(items, value, positive)
        last, strings = rt.cache.get(key, _NO_LIST)
        if last is not items:
            rt.cache[key] = items, None
            return (value in items) is positive
        if strings is None:
            strings = frozenset([item for item in items if type(item) is str])
            rt.cache[key] = items, strings
        return (value in strings) is positive

    return member


def in_list(a: Closure, b: Closure, positive: bool) -> Closure:
    member = list_member(positive)
    return lambda row, rt: member(b(row, rt), a(row, rt), rt)
