"""Compiled expressions, held against a plain walk of the syntax tree."""

from __future__ import annotations

from math import fmod, isfinite
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgraph.embedded.aql import batchwise
from vgraph.embedded.aql import nodes as n
from vgraph.embedded.aql.expressions import (
    CompileEnv,
    Runtime,
    compile,
    compile_condition,
    compile_source,
    is_constant_closure,
)
from vgraph.embedded.aql.parser import parse
from vgraph.embedded.errors import ArangoError, Warnings

# ------------------------------------------------------------------------------------------------- the oracle


class Walk:
    """Evaluates a tree node by node, by the rules as documented and without shortcuts; no functions, no subqueries."""

    def __init__(self, binds: dict[str, Any]) -> None:
        self.binds = binds

    def __call__(self, node: Any, scope: dict[int, Any]) -> Any:
        return getattr(self, type(node).__name__.lower())(node, scope)

    def literal(self, node: n.Literal, scope: dict[int, Any]) -> Any:
        return result(node.value) if isinstance(node.value, float) else node.value

    def bind(self, node: n.Bind, scope: dict[int, Any]) -> Any:
        return self.binds[node.name]

    def variable(self, node: n.Variable, scope: dict[int, Any]) -> Any:
        return scope[node.id]

    def attribute(self, node: n.Attribute, scope: dict[int, Any]) -> Any:
        base = self(node.base, scope)
        return base.get(node.name) if isinstance(base, dict) else None

    def index(self, node: n.Index, scope: dict[int, Any]) -> Any:
        return element(self(node.base, scope), self(node.index, scope))

    def unary(self, node: n.Unary, scope: dict[int, Any]) -> Any:
        value = self(node.operand, scope)
        if node.op == "NOT":
            return not is_true(value)
        return result(as_number(value) * (1 if node.op == "+" else -1))

    def binary(self, node: n.Binary, scope: dict[int, Any]) -> Any:
        left = self(node.left, scope)
        if node.op in ("AND", "OR"):
            return self(node.right, scope) if is_true(left) is (node.op == "AND") else left
        return operate(node.op, left, self(node.right, scope))

    def quantified(self, node: n.Quantified, scope: dict[int, Any]) -> bool:
        left, right = self(node.left, scope), self(node.right, scope)
        if not isinstance(left, list) or (node.op in ("IN", "NOT IN") and not isinstance(right, list)):
            return False
        least = 0 if node.count is None else max(0, whole(self(node.count, scope)))
        return enough(node.quantifier, sum(operate(node.op, item, right) for item in left), len(left), least, 0)

    def ternary(self, node: n.Ternary, scope: dict[int, Any]) -> Any:
        value = self(node.condition, scope)
        if is_true(value):
            return value if node.then is None else self(node.then, scope)
        return self(node.otherwise, scope)

    def range(self, node: n.Range, scope: dict[int, Any]) -> list[int]:
        low, high = whole(self(node.low, scope)), whole(self(node.high, scope))
        return list(range(low, high + 1)) if low <= high else list(range(low, high - 1, -1))

    def arrayliteral(self, node: n.ArrayLiteral, scope: dict[int, Any]) -> list[Any]:
        return [self(item, scope) for item in node.items]

    def objectliteral(self, node: n.ObjectLiteral, scope: dict[int, Any]) -> dict[str, Any]:
        return {str(entry.key): self(entry.value, scope) for entry in node.entries}

    def expansion(self, node: n.Expansion, scope: dict[int, Any]) -> list[Any]:
        items = self(node.base, scope)
        if not isinstance(items, list):
            return []
        for _ in range(node.levels - 1):
            items = [inner for item in items for inner in (item if isinstance(item, list) else [item])]
        inner = [{**scope, node.current.id: item} for item in items]
        if node.filter is not None:
            inner = [each for each in inner if is_true(self(node.filter, each))]
        if node.count is not None:
            skip = 0 if node.offset is None else whole(self(node.offset, scope))
            count = whole(self(node.count, scope))
            inner = inner[skip : skip + count] if skip >= 0 and count > 0 else []
        return [self(node.value, each) for each in inner]

    def arraymatch(self, node: n.ArrayMatch, scope: dict[int, Any]) -> bool:
        items = self(node.base, scope)
        if not isinstance(items, list):
            return False
        matched = len(items)
        if node.filter is not None:
            matched = sum(is_true(self(node.filter, {**scope, node.current.id: item})) for item in items)
        low = 0 if node.low is None else whole(self(node.low, scope))
        high = low if node.high is None else whole(self(node.high, scope))
        return enough(node.quantifier, matched, len(items), low, high)


def rank(value: Any) -> int:
    kinds: list[Any] = [type(None), bool, (int, float), str, list, dict]
    return next(position for position, kind in enumerate(kinds) if isinstance(value, kind))


def order(left: Any, right: Any) -> int:
    if rank(left) != rank(right):
        return -1 if rank(left) < rank(right) else 1
    if isinstance(left, list):
        size = max(len(left), len(right))
        pairs = zip(left + [None] * (size - len(left)), right + [None] * (size - len(right)), strict=True)
    elif isinstance(left, dict):
        pairs = ((left.get(name), right.get(name)) for name in sorted({*left, *right}))
    else:
        return 0 if left == right else (-1 if left < right else 1)
    return next((found for a, b in pairs if (found := order(a, b))), 0)


def is_true(value: Any) -> bool:
    return isinstance(value, list | dict) or bool(value)


def as_number(value: Any) -> float:
    if isinstance(value, list):
        return as_number(value[0]) if len(value) == 1 else 0
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return 0
    return value if isinstance(value, int | float) else 0


def whole(value: Any) -> int:
    return int(as_number(value))


def result(value: float) -> Any:
    if not isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def element(base: Any, index: Any) -> Any:
    if isinstance(base, dict):
        name = str(int(index)) if rank(index) == 2 else index
        return base.get(name) if isinstance(name, str) else None
    if not isinstance(base, list):
        return None
    if isinstance(index, str):
        try:
            index = float(index)
        except ValueError:
            return None
    return base[int(index)] if rank(index) == 2 and -len(base) <= int(index) < len(base) else None


def operate(op: str, left: Any, right: Any) -> Any:
    a, b = float(as_number(left)), float(as_number(right))
    match op:
        case "+":
            return result(a + b)
        case "-":
            return result(a - b)
        case "*":
            return result(a * b)
        case "/":
            return result(a / b) if b else None
        case "%":
            return result(fmod(a, b)) if b else None
        case "IN":
            return isinstance(right, list) and any(order(left, item) == 0 for item in right)
        case "NOT IN":
            return isinstance(right, list) and all(order(left, item) != 0 for item in right)
    found = order(left, right)
    return {"==": found == 0, "!=": found != 0, "<": found < 0, "<=": found <= 0, ">": found > 0, ">=": found >= 0}[op]


def enough(quantifier: str, matched: int, total: int, low: int, high: int) -> bool:
    return {
        "ALL": matched == total,
        "ANY": matched > 0,
        "NONE": matched == 0,
        "AT LEAST": matched >= low,
        "BETWEEN": low <= matched <= high,
    }[quantifier]


# ------------------------------------------------------------------------------------------------- random trees

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 4),
    st.sampled_from([0.5, -1.5, 2.25]),
    st.sampled_from(["", "a", "b", "2", "ab"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["a", "b", "2"]), inner, max_size=3)
    ),
    max_leaves=8,
)
X, Y, CURRENT = n.Variable("x", 0), n.Variable("y", 1), n.Variable("CURRENT", 2)
BINARY = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "IN", "NOT IN", "AND", "OR"]
QUANTIFIED = ["==", "!=", "<", "<=", ">", ">=", "IN", "NOT IN"]


def trees(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    small = st.integers(-2, 3).map(n.Literal)
    optional = st.one_of(st.none(), inner)
    return st.one_of(
        st.builds(n.Attribute, inner, st.sampled_from(["a", "b"])),
        st.builds(n.Index, inner, inner),
        st.builds(n.Unary, st.sampled_from(["NOT", "+", "-"]), inner),
        st.builds(n.Binary, st.sampled_from(BINARY), inner, inner),
        st.builds(
            n.Quantified, st.sampled_from(["ALL", "ANY", "NONE"]), st.none(), st.sampled_from(QUANTIFIED), inner, inner
        ),
        st.builds(n.Quantified, st.just("AT LEAST"), inner, st.sampled_from(QUANTIFIED), inner, inner),
        st.builds(n.Ternary, inner, optional, inner),
        st.builds(n.Range, small, small),
        st.builds(n.ArrayLiteral, st.lists(inner, max_size=3).map(tuple)),
        st.builds(
            n.ObjectLiteral,
            st.lists(inner, max_size=2).map(lambda items: tuple(map(n.ObjectEntry, ("a", "b"), items))),
        ),
        st.builds(n.Expansion, inner, st.integers(1, 2), st.just(CURRENT), optional, st.none(), st.none(), inner),
        st.builds(n.Expansion, inner, st.integers(1, 2), st.just(CURRENT), optional, small, small, st.just(CURRENT)),
        st.builds(
            n.ArrayMatch,
            inner,
            st.sampled_from(["ANY", "ALL", "NONE"]),
            st.none(),
            st.none(),
            st.just(CURRENT),
            optional,
        ),
        st.builds(n.ArrayMatch, inner, st.just("BETWEEN"), small, small, st.just(CURRENT), optional),
    )


LEAVES = st.one_of(
    SCALARS.map(n.Literal),
    st.sampled_from([X, Y, CURRENT, n.Bind("p"), n.Attribute(X, "a"), n.Attribute(n.Attribute(X, "b"), "a")]),
)
TREES = st.recursive(LEAVES, trees, max_leaves=12)


@given(TREES, VALUES, VALUES, VALUES)
@settings(max_examples=400, deadline=None)
def test_closures_give_what_a_walk_of_the_tree_gives(tree: Any, x: Any, y: Any, bind: Any):
    binds = {"p": bind}
    expected = Walk(binds)(tree, {0: x, 1: y, 2: None})
    env = CompileEnv(lambda variable: variable.id)
    assert_same(compile(tree, env)([x, y, None], Runtime(binds)), expected)
    assert bool(compile_condition(tree, env)([x, y, None], Runtime(binds))) is is_true(expected)


def written(function: Any) -> Any:
    """The code that a function of many rows is replaced by."""
    return function._write() if hasattr(function, "_write") else function


@given(TREES, VALUES, VALUES, VALUES)
@settings(max_examples=400, deadline=None)
def test_written_code_gives_what_closures_give(tree: Any, x: Any, y: Any, bind: Any):
    binds = {"p": bind}
    env = CompileEnv(lambda variable: variable.id)
    expected = compile(tree, env)([x, y, None], Runtime(binds))
    for found in written(batchwise.values(tree, env))([[x, y, None], [x, y, None]], Runtime(binds)):
        assert_same(found, expected)
    [column, same] = written(batchwise.columns([tree, tree], env))([[x, y, None]], Runtime(binds))
    assert_same(column[0], expected)
    assert_same(same[0], expected)
    kept = bool(compile_condition(tree, env)([x, y, None], Runtime(binds)))
    assert bool(written(batchwise.passing(tree, env))([[x, y, None]], Runtime(binds))) is kept
    assert bool(written(batchwise.placed(0, tree, env))([(0, x)], [[None, y, None]], Runtime(binds))) is kept
    assert bool(written(batchwise.spread(0, tree, env))([x], [None, y, None], Runtime(binds))) is kept


def test_code_is_written_for_many_rows_and_gives_the_same():
    node = parse(
        "FOR d IN [] FILTER d.a IN @few AND d.b - d.a > 1 OR CONCAT(d.c, 'x') == 'yx' RETURN d"
    ).query.statements[1]
    assert isinstance(node, n.Filter)
    passing: Any = batchwise.passing(node.condition, CompileEnv(lambda variable: variable.id))
    rows = [[{"a": number % 7, "b": number % 5, "c": "xyz"[number % 3]}] for number in range(batchwise.MANY)]
    rt = Runtime({"few": [1, 2, 3]})
    assert [passing(rows, rt) for _ in range(3)] == [passing(rows, rt)] * 3
    assert passing._fast is not None


@pytest.mark.parametrize("op", ["IN", "NOT IN"])
def test_a_list_that_comes_again_row_after_row_holds_the_same(op: str):
    """Strings are looked up in a set then: not those of the list before, and values of other types as ever."""
    tree = n.Binary(op, X, Y)
    env = CompileEnv(lambda variable: variable.id)
    closure, passing = compile_condition(tree, env), written(batchwise.passing(tree, env))
    lists: list[Any] = [["a", "b"] * 6, [*"cdefghij", 1, None, [1], True], ["a"], [], "abc", None, {"a": 1}]
    values: list[Any] = ["a", "c", 1, 1.0, True, None, [1], [1, None], "abc"]
    rows = [[x, y, None] for y in [lists[0], lists[1], *lists, lists[1], lists[0]] for x in values]
    rt = Runtime()
    for _ in range(2):  # what was made of the last list is there again in the next batch
        assert passing(rows, rt) == [row for row in rows if closure(row, Runtime())]


def assert_same(found: Any, expected: Any) -> None:
    assert order(found, expected) == 0, (found, expected)
    assert rank(found) == rank(expected)


# ----------------------------------------------------------------------------------------------------- examples


def value_of(text: str, **binds: Any) -> Any:
    return run(text, binds)[0]


def run(text: str, binds: dict[str, Any] | None = None, rt: Runtime | None = None) -> tuple[Any, Runtime]:
    node = parse(f"RETURN {text}").query.statements[0]
    assert isinstance(node, n.Return)
    rt = rt or Runtime(binds or {})
    return compile(node.value, CompileEnv(lambda variable: variable.id))([None] * 20, rt), rt


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + '99'", 100),
        ("3 + []", 3),
        ("24 + [2, 4]", 24),
        ("23 * {}", 0),
        ("24 / '12'", 2),
        ("5 / 2", 2.5),
        ("-7 % 3", -1),
        ("1 || 7", 1),
        ("null || 'foo'", "foo"),
        ("null && true", None),
        ("true && 23", 23),
        ("[] || 1", []),
        ("!''", True),
        ("!{}", False),
        ("1 IN 5", False),
        ("1 NOT IN 5", False),
        ("true IN [1]", False),
        ("1.0 IN [1]", True),
        ("[1, 2, 3] ALL IN [2, 3, 4]", False),
        ("[1, 2, 3] AT LEAST (2) IN [2, 3, 4]", True),
        ("[] ALL == 1", True),
        ("[] ANY == 1", False),
        ("[1] AT LEAST (-5) == 7", True),
        ("'x' ANY == 'x'", False),
        ("[1, 2, 3][-1]", 3),
        ("[1, 2, 3][7]", None),
        ("[1, 2, 3]['1']", 2),
        ("[1, 2, 3][CONCAT('', 1)]", 2),
        ("{a: {b: 1}}.a.b", 1),
        ("{'2': 5}[2]", 5),
        ("[[1, 2], 3, [4, 5], 6][** FILTER CURRENT % 2 == 0]", [2, 4, 6]),
        ("[1, 2, 3, 4][? 2 FILTER CURRENT % 2 == 0]", True),
        ("[1, 2, 3][* LIMIT -1, 2]", []),
        ("@x[*].a", [1, None]),
        ("5..3", [5, 4, 3]),
        ("1.7..3.2", [1, 2, 3]),
        ("2 IN 1..3", True),
        ("2.5 IN 1..3", False),
        ("0 ? 'a' : 'b'", "b"),
        ("0 ? : 'b'", "b"),
        ("{[CONCAT('a', 1)]: 1, @k: 2}", {"a1": 1, "key": 2}),
        ("{[@o.b.c]: 1, [@n]: 2}", {"7": 1, "": 2}),
        ("@o.@path", 7),
        ("@o.@k2", {"c": 7}),
        ("'a' < 'B'", False),
        ("[1] == [1, null]", True),
        ("9007199254740993 - 1", 9007199254740991),
    ],
)
def test_operators(text: str, expected: Any):
    found = value_of(text, x=[{"a": 1}, 2], k="key", o={"b": {"c": 7}}, path=["b", "c"], k2="b", n=None)
    assert found == expected and rank(found) == rank(expected)


@pytest.mark.parametrize(("text", "num"), [("1 / 0", 1562), ("1 % 0", 1562), ("@x / 0", 1562)])
def test_division_by_zero_warns(text: str, num: int):
    found, rt = run(text, {"x": 1})
    assert found is None
    assert [code for code, _ in rt.warnings.items] == [num]


def test_a_constant_that_warns_does_so_once_per_run_and_fails_when_asked():
    node = parse("RETURN 1 / 0").query.statements[0]
    assert isinstance(node, n.Return)
    closure = compile(node.value, CompileEnv(lambda variable: 0))
    for _ in range(2):
        rt = Runtime()
        assert [closure([], rt) for _ in range(3)] == [None] * 3
        assert len(rt.warnings.items) == 1
    with pytest.raises(ArangoError, match="1562"):
        closure([], Runtime(warnings=Warnings(fail=True)))


def test_constant_parts_are_computed_once():
    env = CompileEnv(lambda variable: 0)
    node = parse("RETURN [1 + 1, UPPER('x'), {a: 2 * 3}.a]").query.statements[0]
    assert isinstance(node, n.Return)
    closure = compile(node.value, env)
    assert is_constant_closure(closure) and closure([], Runtime()) == [2, "X", 6]
    random = parse("RETURN RAND()").query.statements[0]
    assert isinstance(random, n.Return) and not is_constant_closure(compile(random.value, env))


def test_a_plan_runs_again_with_other_binds():
    node = parse("LET x = 2 RETURN x IN @list").query.statements[1]
    assert isinstance(node, n.Return)
    closure = compile(node.value, CompileEnv(lambda variable: 0))
    assert [closure([2], Runtime({"list": items})) for items in ([1, 2], [3], "x")] == [True, False, False]


def test_a_collection_is_no_value_but_an_argument():
    with pytest.raises(ArangoError, match="1568"):
        run("users + 1")
    assert run("IS_SAME_COLLECTION(users, 'users/1')")[0] is True


def test_a_loop_over_a_range_makes_no_array():
    node = parse("FOR x IN 1..1000000000 RETURN x").query.statements[0]
    assert isinstance(node, n.For)
    assert compile_source(node.source, CompileEnv(lambda variable: 0))([], Runtime()) == range(1, 1000000001)
    with pytest.raises(ArangoError, match="32"):
        run("1..1000000000")


def test_a_killed_or_late_query_stops():
    rt = Runtime(deadline=0.0)
    with pytest.raises(ArangoError, match="1500"):
        rt.check()
    rt = Runtime()
    rt.check()
    rt.killed = True
    with pytest.raises(ArangoError, match="1500"):
        rt.check()


def test_deep_expressions_evaluate():
    assert run("+".join(["@x"] * 450), {"x": 1})[0] == 450
    assert run("(" * 450 + "1" + ")" * 450)[0] == 1


def test_closures_find_what_the_walk_finds():
    query = parse(
        "FOR d IN [] FILTER d.camera == 'c3' OR d.confidence > 0.2 FILTER d.start_ms >= 5000 AND d.start_ms < 900000 "
        "FILTER d.meta.kind IN ['x', 'y', 'q'] FILTER d.confidence * 2 + 1 > 1.1 RETURN d"
    ).query
    conditions = [s.condition for s in query.statements if isinstance(s, n.Filter)]
    rows = [
        {"camera": f"c{i % 7}", "start_ms": i * 1000, "confidence": i % 10 / 10, "meta": {"kind": "xyz"[i % 3]}}
        for i in range(1000)
    ]
    env = CompileEnv(lambda variable: variable.id)
    compiled = [compile_condition(condition, env) for condition in conditions]
    walk, rt, row = Walk({}), Runtime(), [None]

    def by_closures() -> list[Any]:
        found = []
        for document in rows:
            row[0] = document
            if all(condition(row, rt) for condition in compiled):
                found.append(document)
        return found

    def by_walk() -> list[Any]:
        return [d for d in rows if all(is_true(walk(condition, {0: d})) for condition in conditions)]

    assert by_closures() == by_walk()
