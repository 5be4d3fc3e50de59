"""The SEARCH condition: from AQL's syntax tree to a tree of what an index can answer.

`compile_search` reads the expression once for a plan; `CompiledSearch.bind` evaluates what does not depend on the
searched document and gives a `Condition`. What no index answers (``doc.a == doc.b``) becomes an `Expression`, evaluated
for every document that the rest leaves, as ArangoSearch does. Semantics: "ArangoSearch functions in AQL" and
"SEARCH operation in AQL" of the ArangoDB documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from vgraph.embedded.aql import nodes as ast
from vgraph.embedded.errors import ArangoError, unsupported

from .analyzers import BUILTIN, Analyzer
from .segments import BOOL, NULL, NUMBER

Row: TypeAlias = Any
Closure: TypeAlias = Callable[[Any, Any], Any]  # (row, runtime) -> value

# ------------------------------------------------------------------------------------------- bound conditions


@dataclass(frozen=True, slots=True)
class Every:
    """All documents."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No document."""


@dataclass(frozen=True, slots=True)
class Terms:
    """At least `minimum` of the values are terms of the field."""

    path: str
    analyzer: str
    values: tuple[str, ...]
    minimum: int
    boost: float


@dataclass(frozen=True, slots=True)
class Values:
    """Numbers (or booleans, nulls, by `mark`) of the field in a range."""

    path: str
    mark: str
    low: float
    high: float
    include_low: bool
    include_high: bool


@dataclass(frozen=True, slots=True)
class Strings:
    """Terms of the field in a range, in byte order."""

    path: str
    analyzer: str
    low: str | None
    high: str | None
    include_low: bool
    include_high: bool
    boost: float


@dataclass(frozen=True, slots=True)
class Prefixes:
    """At least `minimum` of the prefixes begin a term; `limit` terms of each are scored."""

    path: str
    analyzer: str
    prefixes: tuple[str, ...]
    minimum: int
    limit: int
    boost: float


@dataclass(frozen=True, slots=True)
class Like:
    """A term fits a pattern with % and _."""

    path: str
    analyzer: str
    pattern: str
    boost: float


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """A term within an edit distance of prefix + target; the `limit` most similar ones count (0 = all)."""

    path: str
    analyzer: str
    target: str
    distance: int
    transpositions: bool
    limit: int
    prefix: str
    boost: float


@dataclass(frozen=True, slots=True)
class Ngrams:
    """A share of the target's n-grams occurs in order."""

    path: str
    analyzer: str
    target: str
    threshold: float
    boost: float


@dataclass(frozen=True, slots=True)
class PhrasePart:
    """One part of a phrase: `skip` tokens may stand before it. `kind` "text" is analysed, the others are not."""

    skip: int
    kind: str
    value: Any


@dataclass(frozen=True, slots=True)
class Phrase:
    path: str
    analyzer: str
    parts: tuple[PhrasePart, ...]
    boost: float


@dataclass(frozen=True, slots=True)
class Exists:
    """The attribute is indexed with any value, or with one of a type (or analyzer)."""

    path: str
    kind: str | None
    analyzer: str | None


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Condition, ...]
    minimum: int = 1


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition


@dataclass(frozen=True, slots=True)
class Expression:
    """Whatever only the document itself can tell: `matches(document)`."""

    matches: Callable[[dict[str, Any]], bool]


Condition: TypeAlias = (
    Every
    | Nothing
    | Terms
    | Values
    | Strings
    | Prefixes
    | Like
    | Fuzzy
    | Ngrams
    | Phrase
    | Exists
    | AllOf
    | AnyOf
    | Not
    | Expression
)


def all_of(parts: Sequence[Condition]) -> Condition:
    """AND with what is always or never true folded."""
    kept: list[Condition] = []
    for part in parts:
        if isinstance(part, Nothing):
            return part
        if isinstance(part, AllOf):
            kept.extend(part.parts)
        elif not isinstance(part, Every):
            kept.append(part)
    return Every() if not kept else kept[0] if len(kept) == 1 else AllOf(tuple(kept))


def any_of(parts: Sequence[Condition]) -> Condition:
    """OR, likewise folded."""
    kept: list[Condition] = []
    for part in parts:
        if isinstance(part, Every):
            return part
        if isinstance(part, AnyOf) and part.minimum == 1:
            kept.extend(part.parts)
        elif not isinstance(part, Nothing):
            kept.append(part)
    return Nothing() if not kept else kept[0] if len(kept) == 1 else AnyOf(tuple(kept))


def negation(part: Condition) -> Condition:
    match part:
        case Every():
            return Nothing()
        case Nothing():
            return Every()
        case Not(inner):
            return inner
        case _:
            return Not(part)


# ------------------------------------------------------------------------------------------------ compilation


@dataclass(frozen=True, slots=True)
class Scope:
    """What holds at a place of the condition when it is bound: row, runtime, ANALYZER and BOOST around it."""

    row: Row
    rt: Any
    analyzer: str = "identity"
    boost: float = 1.0


Bound: TypeAlias = Callable[[Scope], Condition]
Path: TypeAlias = Callable[[Scope], str]
Closure1: TypeAlias = Callable[[Scope], Any]


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
    compiler = _Compiler(variable, compile_expr, slot)
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


_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE = {"!=": "==", "NOT IN": "IN"}


class _Compiler:
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
                return self._comparison(node) or self._expression(node)
            case ast.Quantified():
                return self._quantified(node) or self._expression(node)
            case ast.Call(name=name):
                function = _FUNCTIONS.get(name)
                return function(self, node) if function else self._expression(node)
            case _:
                return self._expression(node)

    def _concerns(self, node: ast.Node) -> bool:
        return any(found == self._variable for found in ast.walk(node) if isinstance(found, ast.Variable))

    def _constant(self, node: ast.Expr) -> Bound:
        value = self._compile(node)
        return lambda scope: Every() if _truthy(value(scope.row, scope.rt)) else Nothing()

    def _expression(self, node: ast.Expr) -> Bound:
        if self._slot is None:
            raise unsupported("SEARCH condition over an attribute that no index answers")
        value, slot = self._compile(node), self._slot
        places = self._geo_paths(node)

        def build(scope: Scope) -> Condition:
            row = list(scope.row)

            def matches(document: dict[str, Any]) -> bool:
                row[slot] = document
                return _truthy(value(row, scope.rt))

            # a geo function is null without a location, and null is less than every distance
            return all_of([*(_located(path(scope), scope) for path in places), Expression(matches)])

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
                inner = _Compiler(current, self._compile, None)._base(value)
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
        if op not in _MIRROR and op not in ("IN", "NOT IN"):
            return None
        path = self.path(left)
        if path is None or self._concerns(right):
            if op not in _MIRROR or self._concerns(left):
                if op in ("IN", "NOT IN") and not self._concerns(left):
                    return self._contained(op, left, right)
                return None
            path, op, right = self.path(right), _MIRROR[op], left
            if path is None:
                return None
        if isinstance(right, ast.Range):
            return self._within(path, right, negated=op == "NOT IN") if op in ("IN", "NOT IN") else None
        value = self._compile(right)
        return _compared(path, op, value)

    def _within(self, path: Path, node: ast.Range, *, negated: bool) -> Bound:
        low, high = self._compile(node.low), self._compile(node.high)

        def build(scope: Scope) -> Condition:
            found = _between(path(scope), low(scope.row, scope.rt), high(scope.row, scope.rt), True, True, scope)
            return negation(found) if negated else found

        return build

    def _contained(self, op: str, left: ast.Expr, right: ast.Expr) -> Bound | None:
        """``value IN doc.array``: stored arrays are alternatives, so one of them equals the value."""
        path = self.path(right)
        if path is None:
            return None
        return _compared(path, "==" if op == "IN" else "!=", self._compile(left))

    def _quantified(self, node: ast.Quantified) -> Bound | None:
        """``[..] ALL|ANY|NONE|AT LEAST (n) op doc.attribute``; with the attribute on the left only ANY."""
        path = self.path(node.right)
        if path is not None and not self._concerns(node.left):
            return self._every_value(node, path)
        path = self.path(node.left)
        if path is not None and node.quantifier == "ANY" and not self._concerns(node.right):
            return _compared(path, node.op, self._compile(node.right)) if node.op not in ("!=", "NOT IN") else None
        return None

    def _every_value(self, node: ast.Quantified, path: Path) -> Bound:
        op = {"IN": "==", "NOT IN": "!="}.get(node.op) or _MIRROR[node.op]
        values = self._compile(node.left)
        least = self._compile(node.count) if node.count is not None else None
        return lambda scope: _quantify(path(scope), node.quantifier, op, values, least, scope)

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


def _truthy(value: Any) -> bool:
    return not (value is None or value is False or value == "" or (value == 0 and not isinstance(value, list | dict)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _located(path: str, scope: Scope) -> Condition:
    """The attribute is indexed by the geo analyzer around the condition."""
    analyzer = _analyzer_of(scope.analyzer, scope)
    return Terms(path, scope.analyzer, ("",), 1, 0.0) if analyzer is not None and analyzer.whole else Nothing()


def _analyzer_of(name: str, scope: Scope) -> Analyzer | None:
    found: Analyzer | None = BUILTIN.get(name) or scope.rt.txn.analyzer(name)
    return found


# ----------------------------------------------------------------------------------- conditions over one value


def _compared(path: Path, op: str, value: Closure) -> Bound:
    if op in _OPPOSITE:
        inner = _compared(path, _OPPOSITE[op], value)
        return lambda scope: negation(inner(scope))
    if op == "IN":
        return lambda scope: _among(path(scope), value(scope.row, scope.rt), scope)
    return lambda scope: _one(path(scope), op, value(scope.row, scope.rt), scope)


def _one(path: str, op: str, value: Any, scope: Scope) -> Condition:
    if op == "==":
        return _equal(path, value, scope)
    if op in ("<", "<="):
        return _between(path, ..., value, True, op == "<=", scope)
    if op in (">", ">="):
        return _between(path, value, ..., op == ">=", True, scope)
    return negation(_equal(path, value, scope))


def _equal(path: str, value: Any, scope: Scope) -> Condition:
    if isinstance(value, str):
        return Terms(path, scope.analyzer, (value,), 1, scope.boost)
    return _between(path, value, value, True, True, scope)


def _between(path: str, low: Any, high: Any, include_low: bool, include_high: bool, scope: Scope) -> Condition:
    """A range; an open end is ``...``. Both ends have to be of one type, as values of another are not compared."""
    known = high if low is ... else low
    if isinstance(known, str) and all(end is ... or isinstance(end, str) for end in (low, high)):
        first = None if low is ... else low
        last = None if high is ... else high
        return Strings(path, scope.analyzer, first, last, include_low, include_high, scope.boost)
    for mark, fits in ((NULL, _is_null), (BOOL, _is_bool), (NUMBER, _is_number)):
        if fits(known):
            if not all(end is ... or fits(end) for end in (low, high)):
                return Nothing()
            bounds = [-math.inf if low is ... else float(low or 0), math.inf if high is ... else float(high or 0)]
            return Values(path, mark, bounds[0], bounds[1], include_low, include_high)
    raise ArangoError(10, "unsupported SEARCH condition: arrays and objects cannot be compared with an attribute")


def _is_null(value: Any) -> bool:
    return value is None


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _among(path: str, values: Any, scope: Scope) -> Condition:
    if not isinstance(values, list | range):
        return Nothing()
    texts = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    parts: list[Condition] = [Terms(path, scope.analyzer, texts, 1, scope.boost)] if texts else []
    parts += [_equal(path, value, scope) for value in values if not isinstance(value, str)]
    return any_of(parts)


def _quantify(path: str, quantifier: str, op: str, values: Closure, least: Closure | None, scope: Scope) -> Condition:
    given = values(scope.row, scope.rt)
    if not isinstance(given, list | range):
        return Nothing()
    parts = [_one(path, op, value, scope) for value in given]
    match quantifier:
        case "ALL":
            return all_of(parts)
        case "ANY":
            return any_of(parts)
        case "NONE":
            return negation(any_of(parts))
        case _:
            assert least is not None
            return _minimum(parts, max(int(least(scope.row, scope.rt)), 0))


def _minimum(parts: Sequence[Condition], minimum: int) -> Condition:
    """At least so many of the parts; constant ones are counted at once."""
    certain = sum(isinstance(part, Every) for part in parts)
    rest = tuple(part for part in parts if not isinstance(part, Every | Nothing))
    minimum -= certain
    if minimum <= 0:
        return any_of([Every(), *rest])
    if minimum > len(rest):
        return Nothing()
    return any_of(rest) if minimum == 1 else AnyOf(rest, minimum)


# --------------------------------------------------------------------------------------------------- functions


def _argument_error(name: str, position: int, expected: str) -> ArangoError:
    return ArangoError(10, f"'{name}' AQL function: argument {position} must be {expected}")


def _analyzer_name(value: Any, name: str, position: int, scope: Scope) -> str:
    if not isinstance(value, str):
        raise _argument_error(name, position, "the name of an analyzer")
    txn = getattr(scope.rt, "txn", None)
    if txn is not None and txn.analyzer(value) is None:
        raise ArangoError(10, f"'{name}' AQL function: unable to load requested analyzer '{value}'")
    return value.rpartition("::")[2]


def _analyzer(compiler: _Compiler, node: ast.Call) -> Bound:
    condition, named = compiler.arguments(node, 2, 2)
    inner, name = compiler.condition(condition), compiler.value(named)

    def build(scope: Scope) -> Condition:
        analyzer = _analyzer_name(name(scope.row, scope.rt), "ANALYZER", 2, scope)
        return inner(Scope(scope.row, scope.rt, analyzer, scope.boost))

    return build


def _boost(compiler: _Compiler, node: ast.Call) -> Bound:
    condition, amount = compiler.arguments(node, 2, 2)
    inner, value = compiler.condition(condition), compiler.value(amount)

    def build(scope: Scope) -> Condition:
        factor = value(scope.row, scope.rt)
        if not _is_number(factor):
            raise _argument_error("BOOST", 2, "a number")
        return inner(Scope(scope.row, scope.rt, scope.analyzer, scope.boost * float(factor)))

    return build


_EXISTS_TYPES = {"bool": BOOL, "boolean": BOOL, "numeric": NUMBER, "null": NULL, "string": "string", "nested": "nested"}


def _exists(compiler: _Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 1, 3)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        values = [option(scope.row, scope.rt) for option in options]
        if not values:
            return Exists(path(scope), None, None)
        if values[0] == "analyzer":
            name = _analyzer_name(values[1], "EXISTS", 3, scope) if len(values) > 1 else scope.analyzer
            return Exists(path(scope), "analyzer", name)
        if not isinstance(values[0], str) or values[0] not in _EXISTS_TYPES:
            raise _argument_error("EXISTS", 2, "one of analyzer, bool, boolean, nested, null, numeric, string, type")
        return Exists(path(scope), _EXISTS_TYPES[values[0]], None)

    return build


def _in_range(compiler: _Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 3, 5)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        low, high, *inclusive = (option(scope.row, scope.rt) for option in options)
        if not all(isinstance(flag, bool) for flag in inclusive):
            raise _argument_error("IN_RANGE", 4, "a boolean")
        include_low, include_high = (*inclusive, False, False)[:2] if inclusive else (False, False)
        return _between(path(scope), low, high, include_low, include_high, scope)

    return build


def _min_match(compiler: _Compiler, node: ast.Call) -> Bound:
    *conditions, count = compiler.arguments(node, 2)
    parts, least = [compiler.condition(part) for part in conditions], compiler.value(count)

    def build(scope: Scope) -> Condition:
        minimum = least(scope.row, scope.rt)
        if not _is_number(minimum) or minimum < 0:
            raise _argument_error("MIN_MATCH", len(parts) + 1, "a non-negative number")
        return _minimum([part(scope) for part in parts], int(minimum))

    return build


def _starts_with(compiler: _Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 2, 4)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        prefix, *numbers = (option(scope.row, scope.rt) for option in options)
        if not all(_is_number(number) and number >= 0 for number in numbers):
            raise _argument_error("STARTS_WITH", 3, "a non-negative number")
        if isinstance(prefix, str):
            limit = int(numbers[0]) if numbers else 128
            return Prefixes(path(scope), scope.analyzer, (prefix,), 1, limit, scope.boost)
        if not isinstance(prefix, list) or not all(isinstance(item, str) for item in prefix):
            raise _argument_error("STARTS_WITH", 2, "a string or an array of strings")
        minimum = int(numbers[0]) if numbers else 1
        limit = int(numbers[1]) if len(numbers) > 1 else 128
        if minimum == 0:
            return Every()
        if minimum > len(prefix):
            return Nothing()
        return Prefixes(path(scope), scope.analyzer, tuple(prefix), minimum, limit, scope.boost)

    return build


def _like(compiler: _Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 2, 3)
    if len(args) == 3:
        return compiler._expression(node)
    path = compiler.path(args[0])
    if path is None:
        return compiler._expression(node)
    pattern = compiler.value(args[1])

    def build(scope: Scope) -> Condition:
        text = pattern(scope.row, scope.rt)
        if not isinstance(text, str):
            raise _argument_error("LIKE", 2, "a string")
        return Like(path(scope), scope.analyzer, text, scope.boost)

    return build


def _levenshtein(compiler: _Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 3, 6)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        return _fuzzy(path(scope), [option(scope.row, scope.rt) for option in options], scope)

    return build


def _fuzzy(path: str, values: list[Any], scope: Scope) -> Fuzzy:
    target, distance, *rest = values
    defaults: list[Any] = [True, 64, ""]
    transpositions, limit, prefix = rest + defaults[len(rest) :]
    if not isinstance(target, str):
        raise _argument_error("LEVENSHTEIN_MATCH", 2, "a string")
    if not isinstance(transpositions, bool):
        raise _argument_error("LEVENSHTEIN_MATCH", 4, "a boolean")
    if not _is_number(distance) or not 0 <= distance <= (3 if transpositions else 4):
        raise _argument_error("LEVENSHTEIN_MATCH", 3, f"a number between 0 and {3 if transpositions else 4}")
    if not _is_number(limit) or limit < 0:
        raise _argument_error("LEVENSHTEIN_MATCH", 5, "a non-negative number")
    if not isinstance(prefix, str):
        raise _argument_error("LEVENSHTEIN_MATCH", 6, "a string")
    return Fuzzy(path, scope.analyzer, target, int(distance), transpositions, int(limit), prefix, scope.boost)


def _ngram_match(compiler: _Compiler, node: ast.Call) -> Bound:
    """NGRAM_MATCH(path, target, threshold, analyzer) and NGRAM_MATCH(path, target, analyzer)."""
    args = compiler.arguments(node, 2, 4)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        target, *rest = (option(scope.row, scope.rt) for option in options)
        if not isinstance(target, str):
            raise _argument_error("NGRAM_MATCH", 2, "a string")
        threshold: Any = 0.7
        analyzer = scope.analyzer
        if rest and isinstance(rest[-1], str):
            analyzer = _analyzer_name(rest.pop(), "NGRAM_MATCH", len(options) + 1, scope)
        if rest:
            threshold = rest[0]
        if not _is_number(threshold) or not 0 < threshold <= 1:
            raise _argument_error("NGRAM_MATCH", 3, "a number in (0, 1]")
        return Ngrams(path(scope), analyzer, target, float(threshold), scope.boost)

    return build


def _minhash_match(compiler: _Compiler, node: ast.Call) -> Bound:
    """MINHASH_MATCH(path, target, threshold, analyzer): that share of the target's signature occurs."""
    args = compiler.arguments(node, 3, 4)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        target, threshold, *named = (option(scope.row, scope.rt) for option in options)
        if not isinstance(target, str):
            raise _argument_error("MINHASH_MATCH", 2, "a string")
        if not _is_number(threshold) or not 0 < threshold <= 1:
            raise _argument_error("MINHASH_MATCH", 3, "a number in (0, 1]")
        name = _analyzer_name(named[0], "MINHASH_MATCH", 4, scope) if named else scope.analyzer
        analyzer = _analyzer_of(name, scope)
        terms = tuple(dict.fromkeys(analyzer.terms(target))) if analyzer else ()
        if not terms:
            return Nothing()
        return Terms(path(scope), name, terms, max(1, math.ceil(threshold * len(terms) - 1e-9)), scope.boost)

    return build


def _phrase(compiler: _Compiler, node: ast.Call) -> Bound:
    args = compiler.arguments(node, 2)
    path = compiler.attribute(node)
    options = [compiler.value(arg) for arg in args[1:]]

    def build(scope: Scope) -> Condition:
        values = [option(scope.row, scope.rt) for option in options]
        analyzer = scope.analyzer
        if len(values) % 2 == 0:  # parts and skips alternate, so an even number ends with the analyzer
            analyzer = _analyzer_name(values.pop(), "PHRASE", len(options) + 1, scope)
        parts: list[PhrasePart] = []
        skip = 0
        for position, value in enumerate(values):
            if position % 2:
                skip = _skip(value, position + 2)
            else:
                _add_parts(parts, value, skip, position + 2)
                skip = 0
        return Phrase(path(scope), analyzer, tuple(parts), scope.boost) if parts else Nothing()

    return build


def _skip(value: Any, position: int) -> int:
    if not _is_number(value) or value < 0:
        raise _argument_error("PHRASE", position, "a non-negative number of tokens to skip")
    return int(value)


def _add_parts(parts: list[PhrasePart], value: Any, skip: int, position: int) -> None:
    if not isinstance(value, list):
        parts.append(_part(value, skip, position))
        return
    for item in value:
        if _is_number(item):
            skip += _skip(item, position)
        else:
            parts.append(_part(item, skip, position))
            skip = 0


def _part(value: Any, skip: int, position: int) -> PhrasePart:
    if isinstance(value, str):
        return PhrasePart(skip, "text", value)
    if isinstance(value, dict) and len(value) == 1:
        ((name, given),) = value.items()
        kind = name.upper()
        if kind in ("TERM", "WILDCARD", "STARTS_WITH") and isinstance(given, list) and len(given) == 1:
            given = given[0]
        if kind in ("TERM", "WILDCARD", "STARTS_WITH") and isinstance(given, str):
            return PhrasePart(skip, kind, given)
        if kind == "TERMS" and isinstance(given, list) and all(isinstance(item, str) for item in given):
            return PhrasePart(skip, kind, tuple(given))
        if kind == "LEVENSHTEIN_MATCH" and isinstance(given, list) and 2 <= len(given) <= 5:
            return PhrasePart(skip, kind, _fuzzy("", given, Scope(None, None)))
        if kind == "IN_RANGE" and isinstance(given, list) and 2 <= len(given) <= 4:
            low, high, *flags = given
            if isinstance(low, str) and isinstance(high, str):
                return PhrasePart(skip, kind, (low, high, *(*flags, False, False)[:2]))
    raise _argument_error("PHRASE", position, "a string, an array, or an object that describes one token")


_FUNCTIONS: dict[str, Callable[[_Compiler, ast.Call], Bound]] = {
    "ANALYZER": _analyzer,
    "BOOST": _boost,
    "EXISTS": _exists,
    "IN_RANGE": _in_range,
    "LEVENSHTEIN_MATCH": _levenshtein,
    "LIKE": _like,
    "MINHASH_MATCH": _minhash_match,
    "MIN_MATCH": _min_match,
    "NGRAM_MATCH": _ngram_match,
    "PHRASE": _phrase,
    "STARTS_WITH": _starts_with,
}
