"""SEARCH compiled: from AQL's syntax tree to what an index can answer.

`compile_search` reads the expression once for a plan; `CompiledSearch.bind` evaluates what does not depend on the
searched document and gives a `Condition`. What no index answers (``doc.a == doc.b``) becomes an `Expression`, evaluated
for every document that the rest leaves, as ArangoSearch does ("SEARCH operation in AQL", ArangoDB documentation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from vgraph.embedded.aql import nodes as ast
from vgraph.embedded.aql.values import to_integer
from vgraph.embedded.errors import ArangoError, unsupported

from .comparisons import (
    MIRROR,
    Bound,
    Closure,
    Closure1,
    Path,
    Row,
    Scope,
    between,
    compared,
    quantify,
    truthy,
)
from .conditions import Condition, Every, Expression, Located, Nested, Nothing, all_of, any_of, negation
from .functions import FUNCTIONS

UNSUPPORTED: Final = 9


class CompiledSearch:
    """A SEARCH condition ready to be bound. `variables`: those of outer loops and LETs that it uses."""

    def __init__(self, build: Bound, variables: frozenset[ast.Variable]) -> None:
        self._build = build
        self.variables = variables

    def bind(self, row: Row, rt: Any) -> Condition:
        """The condition for the values that `row` and the bind parameters have now."""
        return self._build(Scope(row, rt))


def compile_search(
    condition: ast.Expr,
    variable: ast.Variable,
    compile_expr: Callable[[ast.Expr], Closure],
    slot: int | None = None,
) -> CompiledSearch:
    """Compile the condition of ``FOR variable IN view SEARCH condition``.

    `compile_expr` gives the closure of a sub-expression. `slot`: the register of `variable`; without it, expressions
    over the document that no index answers are refused (9).
    """
    compiler = Compiler(variable, compile_expr, slot)
    build = compiler.condition(condition)
    return CompiledSearch(build, frozenset(ast.variables(condition) - {variable} - _declared(condition)))


def _declared(condition: ast.Expr) -> set[ast.Variable]:
    """Variables that the condition itself binds: CURRENT of expansions, those of subqueries."""
    found: set[ast.Variable] = set()
    for node in ast.walk(condition):
        match node:
            case ast.Expansion(current=variable) | ast.ArrayMatch(current=variable):
                found.add(variable)
            case ast.For(variable=variable) | ast.Let(variable=variable):
                found.add(variable)
            case ast.Assignment(variable=variable) | ast.Aggregate(variable=variable):
                found.add(variable)
            case ast.Traverse():
                found.update(v for v in (node.vertex, node.edge, node.path, node.prune_variable) if v)
            case ast.ShortestPath():
                found.update(v for v in (node.variable, node.edge) if v)
            case ast.Collect():
                found.update(v for v in (node.into, node.count_into) if v)
    return found


class Compiler:
    def __init__(self, variable: ast.Variable, compile_expr: Callable[[ast.Expr], Closure], slot: int | None) -> None:
        self._variable = variable
        self._compile = compile_expr
        self._slot = slot

    def condition(self, node: ast.Expr) -> Bound:
        if not self._concerns(node):
            return self._constant(node)
        match node:
            case ast.Binary(op="AND", left=left, right=right):
                parts = self.condition(left), self.condition(right)
                return lambda scope: all_of([part(scope) for part in parts])
            case ast.Binary(op="OR", left=left, right=right):
                parts = self.condition(left), self.condition(right)
                return lambda scope: any_of([part(scope) for part in parts])
            case ast.Unary(op="NOT", operand=operand):
                inner = self.condition(operand)
                return lambda scope: negation(inner(scope))
            case ast.Binary():
                return self._comparison(node) or self.expression(node)
            case ast.Quantified():
                return self._quantified(node) or self.expression(node)
            case ast.ArrayMatch():
                return self._nested(node) or self.expression(node)
            case ast.Call(name=name):
                function = FUNCTIONS.get(name)
                return function(self, node) if function else self.expression(node)
            case _:
                return self.expression(node)

    def _concerns(self, node: ast.Node) -> bool:
        return any(found == self._variable for found in ast.walk(node) if isinstance(found, ast.Variable))

    def _constant(self, node: ast.Expr) -> Bound:
        value = self._compile(node)
        return lambda scope: Every() if truthy(value(scope.row, scope.rt)) else Nothing()

    def expression(self, node: ast.Expr) -> Bound:
        if self._slot is None:
            raise unsupported("SEARCH condition over an attribute that no index answers")
        value, slot = self._compile(node), self._slot
        places = self._geo_paths(node)

        def build(scope: Scope) -> Condition:
            row = list(scope.row)

            def matches(document: dict[str, Any]) -> bool:
                row[slot] = document
                return truthy(value(row, scope.rt))

            # a geo function is null without a location, and null is less than every distance
            found = tuple(Located(path(scope), scope.analyzer) for path in places)
            return all_of([*found, Expression(matches, found)])

        return build

    def _geo_paths(self, node: ast.Expr) -> list[Path]:
        """Attributes that geo functions in an expression look at."""
        calls = [found for found in ast.walk(node) if isinstance(found, ast.Call) and found.name.startswith("GEO_")]
        paths = (self.path(argument) for call in calls for argument in call.args)
        return [path for path in paths if path is not None]

    # ---------------------------------------------------------------------------------------------- paths

    def path(self, node: ast.Node) -> Path | None:
        """The indexed path of an attribute of the document: "a.b"; array expansions and positions included."""
        match node:
            case ast.Attribute(base=base, name=name):
                return self._step(base, lambda scope: name)
            case ast.BoundAttribute(base=base, bind=bind):
                named = self._compile(bind)
                return self._step(base, lambda scope: _names(named(scope.row, scope.rt)))
            case ast.Index(base=base, index=index) if not self._concerns(index):
                position = self._compile(index)
                outer = self._base(base)
                return _bind_two(_indexed, outer, lambda scope: position(scope.row, scope.rt))
            case ast.Expansion(base=base, levels=1, current=current, filter=None, offset=None, count=None, value=value):
                outer = self._base(base)
                inner = Compiler(current, self._compile, None)._base(value)
                return _bind_two(lambda array, below: _joined(array + "[*]", below), outer, inner)
            case _:
                return None

    def _base(self, node: ast.Node) -> Path | None:
        return (lambda scope: "") if node == self._variable else self.path(node)

    def _step(self, base: ast.Node, name: Path) -> Path | None:
        return _bind_two(_joined, self._base(base), name)

    # ---------------------------------------------------------------------------------------- comparisons

    def _comparison(self, node: ast.Binary) -> Bound | None:
        op, left, right = node.op, node.left, node.right
        if op not in MIRROR and op not in ("IN", "NOT IN"):
            return None
        path = self.path(left)
        if path is None or self._concerns(right):
            if op not in MIRROR or self._concerns(left):
                if op in ("IN", "NOT IN") and not self._concerns(left):
                    return self._contained(op, left, right)
                return None
            path, op, right = self.path(right), MIRROR[op], left
            if path is None:
                return None
        if isinstance(right, ast.Range):
            return self._within(path, right, negated=op == "NOT IN") if op in ("IN", "NOT IN") else None
        value = self._compile(right)
        return compared(path, op, value)

    def _within(self, path: Path, node: ast.Range, *, negated: bool) -> Bound:
        low, high = self._compile(node.low), self._compile(node.high)

        def build(scope: Scope) -> Condition:
            found = between(path(scope), low(scope.row, scope.rt), high(scope.row, scope.rt), True, True, scope)
            return negation(found) if negated else found

        return build

    def _contained(self, op: str, left: ast.Expr, right: ast.Expr) -> Bound | None:
        """``value IN doc.array``: stored arrays are alternatives, so one of them equals the value."""
        path = self.path(right)
        if path is None:
            return None
        return compared(path, "==" if op == "IN" else "!=", self._compile(left))

    def _quantified(self, node: ast.Quantified) -> Bound | None:
        """``[..] ALL|ANY|NONE|AT LEAST (n) op doc.attribute``; with the attribute on the left only ANY."""
        path = self.path(node.right)
        if path is not None and not self._concerns(node.left):
            return self._every_value(node, path)
        path = self.path(node.left)
        if path is not None and node.quantifier == "ANY" and not self._concerns(node.right):
            return compared(path, node.op, self._compile(node.right)) if node.op not in ("!=", "NOT IN") else None
        return None

    def _every_value(self, node: ast.Quantified, path: Path) -> Bound:
        op = {"IN": "==", "NOT IN": "!="}.get(node.op) or MIRROR[node.op]
        values = self._compile(node.left)
        least = self._compile(node.count) if node.count is not None else None
        return lambda scope: quantify(path(scope), node.quantifier, op, values, least, scope)

    def _nested(self, node: ast.ArrayMatch) -> Bound | None:
        """``doc.array[? quantifier FILTER condition]``; None for what only the document can tell."""
        path = self.path(node.base)
        bounds = [bound for bound in (node.low, node.high) if bound is not None]
        if path is None or node.filter is None or any(map(self._concerns, (node.filter, *bounds))):
            return None
        try:
            inner = Compiler(node.current, self._compile, None).condition(node.filter)
        except ArangoError as error:
            if error.num != UNSUPPORTED:
                raise
            return None
        numbers = [self._compile(bound) for bound in bounds]

        def build(scope: Scope) -> Condition:
            limits = [to_integer(number(scope.row, scope.rt)) for number in numbers]
            return _counted(node.quantifier, limits, path(scope), inner(scope))

        return build

    # ------------------------------------------------------------------------------------------- functions

    def arguments(self, node: ast.Call, low: int, high: int | None = None) -> tuple[ast.Expr, ...]:
        count = len(node.args)
        if count < low or (high is not None and count > high):
            raise ArangoError(
                1541,
                f"invalid number of arguments for function '{node.name}()', expected number of arguments: "
                f"minimum: {low}, maximum: {high if high is not None else 'n'}",
            )
        return node.args

    def attribute(self, node: ast.Call) -> Path:
        path = self.path(node.args[0]) if node.args else None
        if path is None:
            raise ArangoError(
                10, f"'{node.name}' AQL function: argument 1 must be an attribute of the searched document"
            )
        return path

    def value(self, node: ast.Expr) -> Closure:
        if self._concerns(node):
            raise ArangoError(10, "unsupported SEARCH condition: an argument depends on the searched document")
        return self._compile(node)


def _counted(quantifier: str, limits: list[int], path: str, inner: Condition) -> Condition:
    match quantifier:
        case "ANY":
            return Nested(path, 1, None, False, inner)
        case "ALL":
            return Nested(path, 0, None, True, inner)
        case "NONE":
            return Nested(path, 0, 0, False, inner)
        case "AT LEAST":
            return Nested(path, max(limits[0], 0), None, False, inner)
        case _:
            return Nested(path, limits[0], limits[-1], False, inner)


def _bind_two(join: Callable[[str, Any], str], outer: Path | None, inner: Closure1 | None) -> Path | None:
    if outer is None or inner is None:
        return None
    first, second = outer, inner
    return lambda scope: join(first(scope), second(scope))


def _names(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return ".".join(value)
    raise ArangoError(1553, "bind parameter of an attribute name must be a string or an array of strings")


def _joined(outer: str, inner: str) -> str:
    return f"{outer}.{inner}" if outer and inner else outer or inner


def _indexed(outer: str, position: Any) -> str:
    if isinstance(position, str):
        return _joined(outer, position)
    if isinstance(position, int) and not isinstance(position, bool):
        return f"{outer}[{position}]"
    raise ArangoError(10, "unsupported SEARCH condition: an index must be a string or an integer")
