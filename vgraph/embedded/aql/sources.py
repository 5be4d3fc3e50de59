"""Python source for expressions, so that one function does for a batch of rows what closures do row by row.

`Source.value` writes an expression for `row` and `rt`; what is not written out here is a call of its closure. What is written
gives the same value as the closures of `expressions`, warns the same, and evaluates in the same order. A variable's
attributes share one look at what the variable is: `get3` is the `get` of the object in register 3. A list in a register
that is there again in the next row becomes a set: `list3`, with its strings in `strings3`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from . import operators
from .closures import bound_members, fixed_members, list_member, plain, strings_of
from .functions import FUNCTIONS
from .generated import nothing
from .nodes import (
    ArrayLiteral,
    Attribute,
    Binary,
    Bind,
    BoundAttribute,
    Call,
    Collection,
    CollectionBind,
    Expr,
    Literal,
    ObjectLiteral,
    Subquery,
    Ternary,
    Unary,
    Variable,
    walk,
)
from .runtime import Closure
from .values import EXACT, compare, equal, hashable, number, to_number

if TYPE_CHECKING:
    from .expressions import CompileEnv

_DEEPEST: Final = 25  # nested operators; what lies deeper is a closure
_HALF: Final = EXACT // 2  # the sum of two integers below is exact as a double
_CONSTANTS: Final = (bool, int, str, type(None))
_SCALARS: Final = (int, float, str)
_COMPARISONS: Final = frozenset(["==", "!=", "<", "<=", ">", ">="])
_TESTS: Final = _COMPARISONS | {"IN", "NOT IN"}
_VARYING: Final = (Variable, Bind, BoundAttribute)
_MIRROR: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Source:
    """Source under construction: the names it uses, and the lines that go around the loop and before each row.

    `local`: the register that the loop fills from a variable of Python's, and that variable's name.
    """

    def __init__(
        self,
        env: CompileEnv,
        compile: Callable[[Expr, CompileEnv], Closure],
        local: tuple[int, str] | None = None,
    ) -> None:
        self.names: dict[str, Any] = {
            "nothing": nothing,
            "equal": equal,
            "compare": compare,
            "hashable": hashable,
            "contains": operators.contains,
            "strings_of": strings_of,
            "number": number,
            "divide": operators.divide,
            "modulo": operators.modulo,
            "plus": _add,
            "minus": _subtract,
        }
        self._env = env
        self._compile = compile
        self._once: list[str] = []
        self._binds: dict[str, str] = {}
        self._registers: dict[int, None] = {}
        self._lists: dict[int, str] = {}
        self._register_names = {} if local is None else {local[0]: local[1]}
        self._count = 0

    def before_all(self) -> list[str]:
        """Lines that run once for a batch."""
        held = [f"list{at}, strings{at} = rt.cache.get({key}, (None, None))" for at, key in self._lists.items()]
        return [*self._once, *held]

    def after_all(self) -> list[str]:
        """Lines that run once behind the loop."""
        return [f"rt.cache[{key}] = list{at}, strings{at}" for at, key in self._lists.items()]

    def before_each(self) -> list[str]:
        """Lines that run once for a row."""
        found = []
        for register in self._registers:
            base = self._register_names.get(register)
            if base is None:
                base = "base"
                found.append(f"base = row[{register}]")
            found.append(f"get{register} = {base}.get if type({base}) is dict else nothing")
        for register in self._lists:
            found.append(f"items = {self._register(register)}")
            found.append(f"if items is not list{register}: list{register}, strings{register} = items, None")
            found.append(f"elif strings{register} is None: strings{register} = strings_of(items)")
        return found

    def _register(self, register: int) -> str:
        return self._register_names.get(register, f"row[{register}]")

    def name(self, value: Any) -> str:
        """A name for a value of the program."""
        self._count += 1
        name = f"given{self._count}"
        self.names[name] = value
        return name

    def _local(self) -> str:
        self._count += 1
        return f"x{self._count}"

    # -- values

    def value(self, expr: Expr, depth: int = 0) -> str:
        """An expression as Python."""
        match expr:
            case Variable():
                return self._register(self._env.slot(expr))
            case Literal(value=value):
                return repr(value) if type(value) in _CONSTANTS else self.name(plain(value))
            case Bind(name=name):
                return self._bind(name)
            case Collection() | CollectionBind() | BoundAttribute():
                return self._closure(expr)
        if depth == _DEEPEST or not any(isinstance(item, _VARYING) for item in walk(expr)):
            return self._closure(expr)
        return self._written(expr, depth + 1)

    def _written(self, expr: Expr, depth: int) -> str:
        match expr:
            case Attribute():
                return self._attribute(expr, depth)
            case Binary():
                return self._binary(expr, depth)
            case Unary(op="NOT", operand=operand):
                return f"(not {self.condition(operand, depth)})"
            case Ternary():
                return self._ternary(expr, depth)
            case ArrayLiteral(items=items):
                return f"[{', '.join(self.value(item, depth) for item in items)}]"
            case ObjectLiteral():
                return self._object(expr, depth)
            case Call():
                return self._call(expr, depth)
            case _:
                return self._closure(expr)

    def _closure(self, expr: Expr) -> str:
        return f"{self.name(self._compile(expr, self._env))}(row, rt)"

    def _bind(self, name: str) -> str:
        local = self._binds.get(name)
        if local is None:
            local = self._binds[name] = self._local()
            self._once.append(f"{local} = rt.binds[{name!r}]")
        return local

    def _attribute(self, expr: Attribute, depth: int) -> str:
        if isinstance(expr.base, Variable):
            register = self._env.slot(expr.base)
            self._registers[register] = None
            return f"get{register}({expr.name!r})"
        local = self._local()
        base = self.value(expr.base, depth)
        return f"({local}.get({expr.name!r}) if type({local} := {base}) is dict else None)"

    def _ternary(self, expr: Ternary, depth: int) -> str:
        otherwise = self.value(expr.otherwise, depth)
        if expr.then is None:
            return self._either(expr.condition, otherwise, depth)
        return f"({self.value(expr.then, depth)} if {self.condition(expr.condition, depth)} else {otherwise})"

    def _object(self, expr: ObjectLiteral, depth: int) -> str:
        keys = [entry.key for entry in expr.entries]
        if len(set(keys)) < len(keys) or not all(isinstance(key, str) for key in keys):
            return self._closure(expr)
        return f"{{{', '.join(f'{entry.key!r}: {self.value(entry.value, depth)}' for entry in expr.entries)}}}"

    def _call(self, expr: Call, depth: int) -> str:
        function = FUNCTIONS.get(expr.name)
        special = any(isinstance(argument, Collection | CollectionBind) for argument in expr.args)
        if function is None or special or self._env.call(expr) is not None:
            return self._closure(expr)
        arguments = ", ".join(self.value(argument, depth) for argument in expr.args)
        return f"{self.name(function.impl)}(rt, {arguments})"

    # -- operators

    def _binary(self, expr: Binary, depth: int) -> str:
        op = expr.op
        if op in _COMPARISONS:
            return self._comparison(op, expr.left, expr.right, depth)
        if op in ("IN", "NOT IN"):
            return self._membership(expr, depth)
        if op == "AND":
            local = self._local()
            left, right = self.value(expr.left, depth), self.value(expr.right, depth)
            return f"({right} if ({local} := {left}) or type({local}) is list or type({local}) is dict else {local})"
        if op == "OR":
            return self._either(expr.left, self.value(expr.right, depth), depth)
        left, right = self.value(expr.left, depth), self.value(expr.right, depth)
        if op in "+-":
            return self._sum(op, left, right)
        if op == "/":
            return f"divide({left}, {right}, rt)"
        if op == "%":
            return f"modulo({left}, {right}, rt)"
        return self._closure(expr)

    def _either(self, left: Expr, right: str, depth: int) -> str:
        local = self._local()
        value = self.value(left, depth)
        return f"({local} if ({local} := {value}) or type({local}) is list or type({local}) is dict else {right})"

    def _sum(self, op: str, left: str, right: str) -> str:
        """Two integers whose sum a double holds at once, all else by function; both sides are evaluated first."""
        a, b = self._local(), self._local()
        whole = f"(type({a} := {left}) is int) & (type({b} := {right}) is int)"
        small = f"-{_HALF} < {a} < {_HALF} and -{_HALF} < {b} < {_HALF}"
        other = "plus" if op == "+" else "minus"
        return f"({a} {op} {b} if {whole} and {small} else {other}({a}, {b}))"

    def _comparison(self, op: str, left: Expr, right: Expr, depth: int) -> str:
        if isinstance(left, Literal):
            op, left, right = _MIRROR.get(op, op), right, left
        if isinstance(right, Literal):
            return self._against(op, self.value(left, depth), right)
        a, b = self._local(), self._local()
        x, y = self.value(left, depth), self.value(right, depth)
        if op in ("==", "!="):
            same = f"type({a} := {x}) is type({b} := {y}) and (type({a}) is str or type({a}) is int)"
            found = f"({a} == {b} if {same} else equal({a}, {b}))"
            return found if op == "==" else f"(not {found})"
        kinds = f"(type({a}) is int or type({a}) is str or type({a}) is float)"
        same = f"type({a} := {x}) is type({b} := {y}) and {kinds}"
        return f"({a} {op} {b} if {same} else compare({a}, {b}) {op} 0)"

    def _against(self, op: str, value: str, literal: Literal) -> str:
        """A comparison with a constant."""
        constant = plain(literal.value)
        kind, local = type(constant), self._local()
        if op in ("==", "!="):
            positive = op == "=="
            if kind is bool or constant is None:
                return f"({value} is {'' if positive else 'not '}{constant!r})"
            if kind is str:
                return f"({value} {op} {constant!r})"
            if kind is int or kind is float:
                found = f"(({local} := {value}) == {self.name(constant)} and type({local}) is not bool)"
            else:
                found = f"equal({value}, {self.name(constant)})"
            return found if positive else f"(not {found})"
        given = self.name(constant)
        if kind not in _SCALARS:
            return f"(compare({value}, {given}) {op} 0)"
        kinds = "str" if kind is str else "int"
        same = f"type({local} := {value}) is {kinds}" + ("" if kind is str else f" or type({local}) is float")
        return f"({local} {op} {given} if {same} else compare({local}, {given}) {op} 0)"

    def _membership(self, expr: Binary, depth: int) -> str:
        positive, word = expr.op == "IN", "in" if expr.op == "IN" else "not in"
        match expr.right:
            case Literal(value=list() as items):
                return f"({self._plain(expr.left, depth)} {word} {self.name(fixed_members(items))})"
            case Bind(name=name):
                local = self._local()
                self._once.append(f"{local} = {self.name(bound_members)}({name!r}, rt)")
                return f"({local} is not None and {self._plain(expr.left, depth)} {word} {local})"
            case Variable():
                return self._among(self._env.slot(expr.right), expr.left, positive, depth)
            case Attribute():
                right, left = self.value(expr.right, depth), self.value(expr.left, depth)
                return f"{self.name(list_member(positive))}({right}, {left}, rt)"
            case _:
                return self._closure(expr)

    def _among(self, register: int, value: Expr, positive: bool, depth: int) -> str:
        """Whether a value is in the list of a register, or is not."""
        self._lists.setdefault(register, self.name(object()))
        local, word = self._local(), "in" if positive else "not in"
        known = f"type({local} := {self.value(value, depth)}) is str and strings{register} is not None"
        return f"({local} {word} strings{register} if {known} else contains(list{register}, {local}, {positive}))"

    def _plain(self, expr: Expr, depth: int) -> str:
        """A value as members of sets are."""
        local = self._local()
        value = self.value(expr, depth)
        return f"({local} if type({local} := {value}) is str or type({local}) is int else hashable({local}))"

    # -- conditions

    def condition(self, expr: Expr, depth: int = 0) -> str:
        """An expression that is only good for `if`."""
        match expr:
            case Binary(op="AND" | "OR" as op) if depth < _DEEPEST:
                left, right = self.condition(expr.left, depth + 1), self.condition(expr.right, depth + 1)
                return f"({left} {op.lower()} {right})"
            case Binary(op=op) if op in _TESTS:
                return self.value(expr, depth)
            case Unary(op="NOT"):
                return self.value(expr, depth)
        local = self._local()
        return f"(({local} := {self.value(expr, depth)}) or type({local}) is list or type({local}) is dict)"


def can_be_written(expr: Expr) -> bool:
    """Whether an expression may be compiled a second time: a subquery has registers of its own."""
    return not any(isinstance(item, Subquery) or type(item).__name__ == "Plan" for item in walk(expr))


def _add(left: Any, right: Any) -> Any:
    return number(float(to_number(left)) + to_number(right))


def _subtract(left: Any, right: Any) -> Any:
    return number(float(to_number(left)) - to_number(right))
