"""Expressions compiled to closures, built once per plan: ``closure(row, rt) -> value``.

`row` is the list of registers, `rt` the `Runtime` of one run; bind values are read from it, so that a plan can run
again with others. Constant parts are evaluated when compiled. What is common in queries (an attribute of a variable,
a comparison with a constant, IN over a constant list) has a closure of its own; the general form stands beside it.
A closure's value is never changed in place by anyone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..errors import ArangoError
from . import operators
from .closures import (
    ARITHMETIC,
    both_true,
    constant,
    either_true,
    equals_constant,
    fixed_members,
    fold,
    general_comparison,
    in_bind,
    in_list,
    in_set,
    is_constant_closure,
    order_constant,
    plain,
    value_of,
)
from .functions import FUNCTIONS
from .generated import object_of
from .nodes import (
    ArrayLiteral,
    ArrayMatch,
    Attribute,
    Binary,
    Bind,
    BoundAttribute,
    Call,
    Collection,
    CollectionBind,
    Expansion,
    Expr,
    Index,
    Literal,
    ObjectLiteral,
    Quantified,
    Range,
    Subquery,
    Ternary,
    Unary,
    Variable,
)
from .runtime import Closure, Condition, Row, Runtime
from .values import to_integer, to_number, to_string, truthy

__all__ = [
    "CompileEnv",
    "Runtime",
    "compile",
    "compile_condition",
    "compile_source",
    "constant",
    "evaluate",
    "is_constant_closure",
]

_MAX_FOLDED: Final = 1000  # elements of a constant range that is kept with the plan
_MANY: Final = 3  # attributes in an object from which generated code pays
_COMPARISONS: Final = frozenset(["==", "!=", "<", "<=", ">", ">="])
_MIRROR: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class CompileEnv:
    """What a closure needs from the plan it stands in; the planner passes its own functions.

    `slot` gives a variable's register, making one if need be; `subquery` compiles a subquery; `call` may take over a
    call (scorers, vector distances) and returns None for all others.
    """

    def __init__(
        self,
        slot: Callable[[Variable], int],
        subquery: Callable[[Any], Closure] | None = None,
        call: Callable[[Call], Closure | None] | None = None,
    ) -> None:
        self.slot = slot
        self._subquery = subquery
        self._call = call

    def subquery(self, query: Any) -> Closure:
        """What runs ``Subquery.query``, which the planner may have replaced by a plan."""
        if self._subquery is None:
            raise ArangoError(1501, "a subquery cannot be used here")
        return self._subquery(query)

    def call(self, node: Call) -> Closure | None:
        return self._call(node) if self._call is not None else None


# ------------------------------------------------------------------------------------------------ entry points


def compile(expr: Expr, env: CompileEnv) -> Closure:
    """The closure of an expression; constant ones are evaluated here."""
    if isinstance(expr, Literal):
        return constant(plain(expr.value))
    return _COMPILERS[type(expr)](expr, env)


def compile_condition(expr: Expr, env: CompileEnv) -> Condition:
    """A closure for filters: its result is only good for `if`."""
    if isinstance(expr, Binary):
        if expr.op in ("AND", "OR"):
            left, right = compile_condition(expr.left, env), compile_condition(expr.right, env)
            if expr.op == "AND":
                return lambda row, rt: left(row, rt) and right(row, rt)
            return lambda row, rt: left(row, rt) or right(row, rt)
        if expr.op in _COMPARISONS or expr.op in ("IN", "NOT IN"):
            return compile(expr, env)
    if isinstance(expr, Unary) and expr.op == "NOT":
        condition = compile_condition(expr.operand, env)
        return lambda row, rt: not condition(row, rt)
    value = compile(expr, env)
    if isinstance(expr, Quantified | ArrayMatch):
        return value

    def is_true(row: Row, rt: Runtime) -> bool:
        found = value(row, rt)
        return bool(found) or type(found) is list or type(found) is dict

    return is_true


def compile_source(expr: Expr, env: CompileEnv) -> Closure:
    """As `compile`, but a range stays a Python `range`: for FOR only."""
    if not isinstance(expr, Range):
        return compile(expr, env)
    low, high = compile(expr.low, env), compile(expr.high, env)
    return lambda row, rt: operators.lazy_range(low(row, rt), high(row, rt))


def evaluate(expr: Expr, binds: Mapping[str, Any] | None = None, rt: Runtime | None = None) -> Any:
    """The value of an expression without variables."""

    def no_slot(variable: Variable) -> int:
        slots.setdefault(variable.id, len(slots))
        return slots[variable.id]

    slots: dict[int, int] = {}
    closure = compile(expr, CompileEnv(no_slot))
    return closure([None] * len(slots), rt if rt is not None else Runtime(binds))


# ------------------------------------------------------------------------------------------- names and accessors


def _variable(expr: Variable, env: CompileEnv) -> Closure:
    slot = env.slot(expr)
    return lambda row, rt: row[slot]


def _bind(expr: Bind, env: CompileEnv) -> Closure:
    name = expr.name
    return lambda row, rt: rt.binds[name]


def _collection(expr: Collection | CollectionBind, env: CompileEnv) -> Closure:
    raise ArangoError(1568, f"collection '{expr.name}' used as expression operand")


def _attribute(expr: Attribute, env: CompileEnv) -> Closure:
    name, base = expr.name, expr.base
    if isinstance(base, Variable):
        return _slot_attribute(env.slot(base), name)
    if isinstance(base, Attribute) and isinstance(base.base, Variable):
        return _slot_path(env.slot(base.base), base.name, name)
    inner = compile(base, env)

    def attribute(row: Row, rt: Runtime) -> Any:
        value = inner(row, rt)
        return value.get(name) if type(value) is dict else None

    return fold(attribute, inner)


def _slot_attribute(slot: int, name: str) -> Closure:
    def attribute(row: Row, rt: Runtime) -> Any:
        value = row[slot]
        return value.get(name) if type(value) is dict else None

    return attribute


def _slot_path(slot: int, first: str, second: str) -> Closure:
    def path(row: Row, rt: Runtime) -> Any:
        value = row[slot]
        if type(value) is dict:
            value = value.get(first)
            if type(value) is dict:
                return value.get(second)
        return None

    return path


def _bound_attribute(expr: BoundAttribute, env: CompileEnv) -> Closure:
    inner, name = compile(expr.base, env), expr.bind.name
    return lambda row, rt: operators.bound_attribute(inner(row, rt), rt.binds[name], name)


def _index(expr: Index, env: CompileEnv) -> Closure:
    base, index = compile(expr.base, env), compile(expr.index, env)
    if is_constant_closure(index) and type(position := value_of(index)) is int:

        def element(row: Row, rt: Runtime) -> Any:
            value = base(row, rt)
            if type(value) is list:
                return value[position] if -len(value) <= position < len(value) else None
            return operators.index(value, position)

        return fold(element, base)
    return fold(lambda row, rt: operators.index(base(row, rt), index(row, rt)), base, index)


# ------------------------------------------------------------------------------------------------------ operators


def _unary(expr: Unary, env: CompileEnv) -> Closure:
    operand = compile(expr.operand, env)
    if expr.op == "NOT":
        return fold(lambda row, rt: not truthy(operand(row, rt)), operand)
    if expr.op == "+":
        return fold(lambda row, rt: to_number(operand(row, rt)), operand)
    return fold(lambda row, rt: operators.negate(operand(row, rt)), operand)


def _binary(expr: Binary, env: CompileEnv) -> Closure:
    op = expr.op
    if op in _COMPARISONS:
        return _comparison(op, expr.left, expr.right, env)
    if op == "IN":
        return _membership(expr, env, True)
    if op == "NOT IN":
        return _membership(expr, env, False)
    left, right = compile(expr.left, env), compile(expr.right, env)
    if op == "AND":
        return fold(both_true(left, right), left, right)
    if op == "OR":
        return fold(either_true(left, right), left, right)
    return fold(ARITHMETIC[op](left, right), left, right)


def _comparison(op: str, left: Expr, right: Expr, env: CompileEnv) -> Closure:
    a, b = compile(left, env), compile(right, env)
    if is_constant_closure(a) and not is_constant_closure(b):
        op, left, right, a, b = _MIRROR[op], right, left, b, a
    if is_constant_closure(b):
        value = value_of(b)
        if is_constant_closure(a):
            return constant(operators.COMPARE[op](value_of(a), value))
        slot, name = _simple_attribute(left, env)
        if op in ("==", "!="):
            return equals_constant(a, slot, name, value, op == "==")
        return order_constant(op, a, slot, name, value)
    return general_comparison(op, a, b)


def _simple_attribute(expr: Expr, env: CompileEnv) -> tuple[int, str | None]:
    """The register and attribute name of ``variable.attribute``."""
    if isinstance(expr, Attribute) and isinstance(expr.base, Variable):
        return env.slot(expr.base), expr.name
    return -1, None


def _membership(expr: Binary, env: CompileEnv, positive: bool) -> Closure:
    a = compile(expr.left, env)
    if isinstance(expr.right, Range):
        low, high = compile(expr.right.low, env), compile(expr.right.high, env)
        return fold(
            lambda row, rt: operators.in_range(a(row, rt), low(row, rt), high(row, rt)) is positive, a, low, high
        )
    b = compile(expr.right, env)
    if is_constant_closure(b):
        items = value_of(b)
        if type(items) is not list:
            return constant(False)
        return fold(in_set(a, fixed_members(items), positive), a)
    if isinstance(expr.right, Bind):
        return in_bind(a, expr.right.name, positive)
    return in_list(a, b, positive)


def _quantified(expr: Quantified, env: CompileEnv) -> Closure:
    left, right = compile(expr.left, env), compile(expr.right, env)
    count = compile(expr.count, env) if expr.count is not None else constant(None)
    quantifier, op = expr.quantifier, expr.op
    return fold(
        lambda row, rt: operators.quantified(quantifier, op, left(row, rt), right(row, rt), count(row, rt)),
        left,
        right,
        count,
    )


def _ternary(expr: Ternary, env: CompileEnv) -> Closure:
    otherwise = compile(expr.otherwise, env)
    if expr.then is None:
        value = compile(expr.condition, env)
        return fold(either_true(value, otherwise), value, otherwise)
    then = compile(expr.then, env)
    condition = compile(expr.condition, env)
    if is_constant_closure(condition):
        return then if truthy(value_of(condition)) else otherwise
    return lambda row, rt: then(row, rt) if truthy(condition(row, rt)) else otherwise(row, rt)


def _range(expr: Range, env: CompileEnv) -> Closure:
    low, high = compile(expr.low, env), compile(expr.high, env)

    def elements(row: Row, rt: Runtime) -> list[int]:
        return operators.full_range(low(row, rt), high(row, rt), rt)

    fixed = is_constant_closure(low) and is_constant_closure(high)
    if fixed and operators.range_size(value_of(low), value_of(high)) > _MAX_FOLDED:
        return elements
    return fold(elements, low, high)


# ---------------------------------------------------------------------------------------------- arrays and objects


def _array(expr: ArrayLiteral, env: CompileEnv) -> Closure:
    items = tuple(compile(item, env) for item in expr.items)
    return fold(lambda row, rt: [item(row, rt) for item in items], *items)


def _object(expr: ObjectLiteral, env: CompileEnv) -> Closure:
    if not all(isinstance(entry.key, str) for entry in expr.entries):
        return _computed_object(expr, env)
    pairs = tuple((str(entry.key), compile(entry.value, env)) for entry in expr.entries)
    attributes = [_simple_attribute(entry.value, env) for entry in expr.entries]
    if sum(name is not None for _, name in attributes) >= _MANY:
        return object_of(
            [
                (key, value if name is None else (slot, name))
                for (key, value), (slot, name) in zip(pairs, attributes, strict=True)
            ]
        )
    return fold(lambda row, rt: {key: value(row, rt) for key, value in pairs}, *(value for _, value in pairs))


def _computed_object(expr: ObjectLiteral, env: CompileEnv) -> Closure:
    """An object of which some keys are computed; the first of equal keys counts."""
    entries = []
    for entry in expr.entries:
        key = constant(entry.key) if isinstance(entry.key, str) else compile(entry.key, env)
        entries.append((key, compile(entry.value, env), entry.key.name if isinstance(entry.key, Bind) else None))

    def computed(row: Row, rt: Runtime) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value, bind in entries:
            name = key(row, rt)
            if bind is not None and type(name) is not str:
                raise ArangoError(1553, f"bind parameter '{bind}' has an invalid value or type")
            found.setdefault(to_string(name), value(row, rt))
        return found

    return fold(computed, *(part for key, value, _ in entries for part in (key, value)))


def _expansion(expr: Expansion, env: CompileEnv) -> Closure:
    base = compile(expr.base, env)
    levels = expr.levels - 1
    if expr.filter is None and expr.count is None and not levels:
        simple = _simple_expansion(expr, base)
        if simple is not None:
            return fold(simple, base)
    slot = env.slot(expr.current)
    condition = compile_condition(expr.filter, env) if expr.filter is not None else None
    value = compile(expr.value, env)
    offset = compile(expr.offset, env) if expr.offset is not None else constant(0)
    count = compile(expr.count, env) if expr.count is not None else None

    def expand(row: Row, rt: Runtime) -> list[Any]:
        items = base(row, rt)
        if type(items) is not list:
            return []
        if levels:
            items = operators.flatten(items, levels)
        skip, most = 0, -1
        if count is not None:
            skip, most = to_integer(offset(row, rt)), to_integer(count(row, rt))
            if skip < 0 or most <= 0:
                return []
        found: list[Any] = []
        for item in items:
            row[slot] = item
            if condition is not None and not condition(row, rt):
                continue
            if skip:
                skip -= 1
                continue
            found.append(value(row, rt))
            if len(found) == most:
                break
        return found

    return expand


def _simple_expansion(expr: Expansion, base: Closure) -> Closure | None:
    """``x[*]`` and ``x[*].name``."""
    value = expr.value
    if value == expr.current:

        def elements(row: Row, rt: Runtime) -> list[Any]:
            items = base(row, rt)
            return items if type(items) is list else []

        return elements
    if isinstance(value, Attribute) and value.base == expr.current:
        name = value.name

        def attributes(row: Row, rt: Runtime) -> list[Any]:
            items = base(row, rt)
            if type(items) is not list:
                return []
            return [item.get(name) if type(item) is dict else None for item in items]

        return attributes
    return None


def _array_match(expr: ArrayMatch, env: CompileEnv) -> Closure:
    base = compile(expr.base, env)
    slot = env.slot(expr.current)
    condition = compile_condition(expr.filter, env) if expr.filter is not None else None
    low = compile(expr.low, env) if expr.low is not None else constant(None)
    high = compile(expr.high, env) if expr.high is not None else None
    quantifier = expr.quantifier

    def matches(row: Row, rt: Runtime) -> bool:
        items = base(row, rt)
        if type(items) is not list:
            return False
        matched = len(items)
        if condition is not None:
            matched = 0
            for item in items:
                row[slot] = item
                if condition(row, rt):
                    matched += 1
        least = low(row, rt)
        most = least if high is None else high(row, rt)
        return operators.enough(quantifier, matched, len(items), least, most)

    return matches


# ------------------------------------------------------------------------------------------------------------ calls


def _call(expr: Call, env: CompileEnv) -> Closure:
    special = env.call(expr)
    if special is not None:
        return special
    function = FUNCTIONS.get(expr.name)
    if function is None:
        raise ArangoError(1540, f"usage of unknown function '{expr.name}()'")
    args = tuple(_argument(arg, position in function.collections, env) for position, arg in enumerate(expr.args))
    closure = _apply(function.impl, args)
    return fold(closure, *args) if function.deterministic else closure


def _argument(arg: Expr, may_be_collection: bool, env: CompileEnv) -> Closure:
    if may_be_collection and isinstance(arg, Collection):
        return constant(arg.name)
    if may_be_collection and isinstance(arg, CollectionBind):
        name = "@" + arg.name
        return lambda row, rt: rt.binds[name]
    return compile(arg, env)


def _apply(impl: Callable[..., Any], args: tuple[Closure, ...]) -> Closure:
    match args:
        case (first, *others) if len(others) > 1 and all(map(is_constant_closure, others)):
            rest = [value_of(argument) for argument in others]
            return lambda row, rt: impl(rt, first(row, rt), *rest)
        case ():
            return lambda row, rt: impl(rt)
        case (first,):
            return lambda row, rt: impl(rt, first(row, rt))
        case (first, second):
            return lambda row, rt: impl(rt, first(row, rt), second(row, rt))
        case (first, second, third):
            return lambda row, rt: impl(rt, first(row, rt), second(row, rt), third(row, rt))
    return lambda row, rt: impl(rt, *[arg(row, rt) for arg in args])


def _subquery(expr: Subquery, env: CompileEnv) -> Closure:
    return env.subquery(expr.query)


_COMPILERS: Final[dict[type, Callable[[Any, CompileEnv], Closure]]] = {
    Variable: _variable,
    Bind: _bind,
    Collection: _collection,
    CollectionBind: _collection,
    Attribute: _attribute,
    BoundAttribute: _bound_attribute,
    Index: _index,
    Unary: _unary,
    Binary: _binary,
    Quantified: _quantified,
    Ternary: _ternary,
    Range: _range,
    ArrayLiteral: _array,
    ObjectLiteral: _object,
    Expansion: _expansion,
    ArrayMatch: _array_match,
    Call: _call,
    Subquery: _subquery,
}
