"""Random queries against plain Python: an index, a rule or a batch must never change what a query means."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vgraph.embedded.aql.values import compare, hashable, sort_key

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, -1.5, 2.0]),
    st.sampled_from(["", "a", "b", "ab"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from("xy"), SCALARS, max_size=2))
ATTRIBUTES = ("a", "b", "c")
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda x, y: compare(x, y) == 0,
    "!=": lambda x, y: compare(x, y) != 0,
    "<": lambda x, y: compare(x, y) < 0,
    "<=": lambda x, y: compare(x, y) <= 0,
    ">": lambda x, y: compare(x, y) > 0,
    ">=": lambda x, y: compare(x, y) >= 0,
    "IN": lambda x, y: isinstance(y, list) and any(compare(x, item) == 0 for item in y),
}
COUNT = 150


Database = Any  # of conftest.py


@pytest.fixture(scope="module", autouse=True)
def collections(db: Database) -> None:
    """The same documents with different indexes."""
    indexes: Any
    for name, indexes in (
        ("plain", []),
        ("one", [{"type": "persistent", "fields": ["a"]}]),
        (
            "two",
            [{"type": "persistent", "fields": ["a", "b"]}, {"type": "persistent", "fields": ["c"], "sparse": True}],
        ),
        ("three", [{"type": "persistent", "fields": ["c", "a", "b"]}, {"type": "persistent", "fields": ["b"]}]),
        ("sparse", [{"type": "persistent", "fields": ["a", "b"], "sparse": True}]),
    ):
        db.collection(name, documents(), indexes=indexes)


def documents() -> list[dict[str, Any]]:
    """The same mixed documents in every collection, some attributes missing."""
    chooser = random.Random(7)
    pool = [None, True, False, 0, 1, 2, 3, -1, 0.5, 2.0, "", "a", "b", "ab", [], [1], ["a", None], {}, {"x": 1}]
    return [
        {"_key": str(number), **{name: chooser.choice(pool) for name in ATTRIBUTES if chooser.random() < 0.9}}
        for number in range(COUNT)
    ]


@st.composite
def condition(draw: st.DrawFn, binds: dict[str, Any], depth: int = 2) -> tuple[str, Callable[[dict[str, Any]], bool]]:
    """A condition as AQL and as Python."""
    kind = draw(st.sampled_from(["compare", "compare", "and", "or", "not"] if depth else ["compare"]))
    if kind == "compare":
        name, operator = draw(st.sampled_from(ATTRIBUTES)), draw(st.sampled_from(list(OPERATORS)))
        value = draw(st.lists(SCALARS, max_size=3) if operator == "IN" else VALUES)
        bind = f"v{len(binds)}"
        binds[bind] = value
        test = OPERATORS[operator]
        return f"d.{name} {operator} @{bind}", lambda d: test(d.get(name), value)
    left_text, left = draw(condition(binds, depth - 1))
    if kind == "not":
        return f"NOT ({left_text})", lambda d: not left(d)
    right_text, right = draw(condition(binds, depth - 1))
    if kind == "and":
        return f"({left_text} AND {right_text})", lambda d: left(d) and right(d)
    return f"({left_text} OR {right_text})", lambda d: left(d) or right(d)


COLLECTIONS = ("plain", "one", "two", "three", "sparse")
SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@SETTINGS
@given(data=st.data())
def test_filters_find_the_same_documents_through_every_index(db: Database, data: st.DataObject) -> None:
    binds: dict[str, Any] = {}
    text, test = data.draw(condition(binds))
    expected = sorted(document["_key"] for document in documents() if test(document))
    for name in COLLECTIONS:
        found = db.run(f"FOR d IN {name} FILTER {text} RETURN d._key", binds)
        assert sorted(found) == expected, (name, text, binds)


@SETTINGS
@given(data=st.data())
def test_sort_and_limit_give_the_same_keys_through_every_index(db: Database, data: st.DataObject) -> None:
    binds: dict[str, Any] = {}
    text, test = data.draw(condition(binds, 1))
    names = data.draw(st.lists(st.sampled_from(ATTRIBUTES), min_size=1, max_size=2, unique=True))
    directions = [data.draw(st.booleans()) for _ in names]
    offset, count = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 40))

    def order(left: dict[str, Any], right: dict[str, Any]) -> int:
        for name, ascending in zip(names, directions, strict=True):
            found = compare(left.get(name), right.get(name))
            if found:
                return found if ascending else -found
        return 0

    rows = sorted((d for d in documents() if test(d)), key=cmp_to_key(order))[offset : offset + count]
    expected = [[sort_key(row.get(name)) for name in names] for row in rows]
    keys = ", ".join(f"d.{name} {'ASC' if up else 'DESC'}" for name, up in zip(names, directions, strict=True))
    for name in COLLECTIONS:
        query = f"FOR d IN {name} FILTER {text} SORT {keys} LIMIT @offset, @count RETURN d"
        found = db.run(query, {**binds, "offset": offset, "count": count})
        assert [[sort_key(row.get(n)) for n in names] for row in found] == expected, (name, query, binds)


@SETTINGS
@given(data=st.data())
def test_collect_groups_and_aggregates_as_python_does(db: Database, data: st.DataObject) -> None:
    binds: dict[str, Any] = {}
    text, test = data.draw(condition(binds, 1))
    names = data.draw(st.lists(st.sampled_from(ATTRIBUTES), min_size=1, max_size=2, unique=True))
    groups: dict[Any, list[dict[str, Any]]] = {}
    for document in documents():
        if test(document):
            groups.setdefault(tuple(hashable(document.get(name)) for name in names), []).append(document)
    expected = sorted(
        (
            [sort_key(members[0].get(name)) for name in names],
            len(members),
            sorted(member["_key"] for member in members),
        )
        for members in groups.values()
    )
    keys = ", ".join(f"g{number} = d.{name}" for number, name in enumerate(names))
    values = ", ".join(f"g{number}" for number in range(len(names)))
    for name in COLLECTIONS:
        query = (
            f"FOR d IN {name} FILTER {text} COLLECT {keys} AGGREGATE n = COUNT(), k = PUSH(d._key) "
            f"RETURN [[{values}], n, SORTED(k)]"
        )
        found = [([sort_key(value) for value in row[0]], row[1], row[2]) for row in db.run(query, binds)]
        assert found == expected, (name, query, binds)


@SETTINGS
@given(names=st.lists(st.sampled_from(ATTRIBUTES), min_size=1, max_size=2, unique=True))
def test_counts_from_an_index_are_the_counts_of_the_documents(db: Database, names: list[str]) -> None:
    keys = ", ".join(f"g{number} = d.{name}" for number, name in enumerate(names))
    values = ", ".join(f"g{number}" for number in range(len(names)))
    results = [db.run(f"FOR d IN {name} COLLECT {keys} WITH COUNT INTO n RETURN [{values}, n]") for name in COLLECTIONS]
    assert all(
        [[sort_key(v) for v in row] for row in result] == [[sort_key(v) for v in row] for row in results[0]]
        for result in results
    )


@SETTINGS
@given(keys=st.lists(st.one_of(st.integers(0, COUNT + 5).map(str), SCALARS), max_size=30), limit=st.integers(1, 3))
def test_joins_and_subqueries_in_batches_are_those_of_one_row_at_a_time(
    db: Database, keys: list[Any], limit: int
) -> None:
    known = {document["_key"]: document for document in documents()}
    query = """
        FOR k IN @keys
          LET same = (FOR d IN two FILTER d._key == k RETURN d.a)
          LET near = (FOR d IN two FILTER d.a == k SORT d._key LIMIT @limit RETURN d._key)
          LET first = FIRST(FOR d IN plain FILTER d.b == k RETURN d._key)
          RETURN [same, near, first != null, LENGTH(FOR d IN one FILTER d.a == k RETURN 1), DOCUMENT(one, k)._key]
    """
    expected = []
    for key in keys:
        like = sorted(d["_key"] for d in known.values() if compare(d.get("a"), key) == 0)
        first = any(compare(d.get("b"), key) == 0 for d in known.values())
        found = known.get(key) if isinstance(key, str) else None
        expected.append(
            [[found.get("a")] if found else [], like[:limit], first, len(like), found["_key"] if found else None]
        )
    assert db.run(query, {"keys": keys, "limit": limit}) == expected


class Writer:
    """Writes random queries of several statements; every LIMIT stands behind a SORT that leaves no ties."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.names = 0

    def pick(self, items: Any) -> Any:
        return self.draw(st.sampled_from(list(items)))

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def query(self, scope: list[str], depth: int) -> str:
        scope = list(scope)
        lines = [self.loop(scope, depth)]
        kinds = ["loop", "let", "filter", "filter", "page", "collect"]
        lines += [getattr(self, self.pick(kinds))(scope, depth) for _ in range(self.draw(st.integers(0, 4)))]
        return "\n".join([*lines, f"RETURN [{', '.join(self.value(scope) for _ in range(2))}]"])

    def value(self, scope: list[str]) -> str:
        variable = self.pick(scope)
        return self.pick([variable, f"{variable}.a", f"{variable}.b", f"{variable}._key"])

    def loop(self, scope: list[str], depth: int) -> str:
        name = self.name("d")
        source = self.pick(["few_plain", "few_indexed", "1..3", "[1, 'a', null]", *scope, "(sub)"])
        if source == "(sub)":
            source = f"({self.query(scope, depth - 1)})" if depth else "[{a: 1}]"
        elif source in scope:
            source = f"TO_ARRAY({source}.c)"
        scope.append(name)
        text = f"FOR {name} IN {source}"
        return f"{text} FILTER {self.condition(scope, name)}" if self.draw(st.booleans()) else text

    def condition(self, scope: list[str], name: str) -> str:
        other = self.pick(["1", "'a'", "2", "null", "[1, 'a']", self.value(scope)])
        text = f"{name}.{self.pick(['a', 'b', '_key'])} {self.pick(['==', '==', 'IN', '<', '>=', '!='])} {other}"
        return self.pick([text, text, f"({text} OR {name}.a == 2)", f"({text} AND {name}.b != 'a')"])

    def let(self, scope: list[str], depth: int) -> str:
        name = self.name("x")
        value = self.pick([self.value(scope), "1 + 1", "sub", "first", "count", "lazy"])
        if value in ("sub", "first", "count", "lazy"):
            query = f"({self.query(scope, depth - 1)})" if depth else "[1, 2]"
            shapes = {"sub": query, "first": f"FIRST(SORTED({query}))", "count": f"LENGTH({query})"}
            value = shapes.get(value, f"{self.value(scope)} == 1 ? {query} : 0")
        scope.append(name)
        return f"LET {name} = {value}"

    def filter(self, scope: list[str], depth: int) -> str:
        return f"FILTER {self.condition(scope, self.pick(scope))}"

    def page(self, scope: list[str], depth: int) -> str:
        keys = ", ".join(f"{name} {self.pick(['ASC', 'DESC'])}" for name in scope)
        return f"SORT {self.value(scope)}, {keys} LIMIT {self.pick([0, 1])}, {self.pick([1, 3, 10])}"

    def collect(self, scope: list[str], depth: int) -> str:
        key, group, count = self.name("k"), self.name("g"), self.name("n")
        value = self.value(scope)
        form = self.pick(
            [f"INTO {group} = {self.value(scope)}", f"AGGREGATE {count} = COUNT()", f"WITH COUNT INTO {count}"]
        )
        scope[:] = [key, group if group in form else count]
        return f"COLLECT {key} = {value} {form}"


@pytest.fixture(scope="module")
def few(db: Database) -> Database:
    few = [document for document in documents() if int(document["_key"]) % 12 == 0]
    db.collection("few_plain", few)
    db.collection("few_indexed", few, indexes=[{"type": "persistent", "fields": ["a", "b"]}])
    return db


def normal(value: Any) -> Any:
    """Results without the order nobody promised: arrays as multisets."""
    if isinstance(value, list):
        return sorted((normal(item) for item in value), key=repr)
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items() if key != "_rev"}
    return value


@settings(SETTINGS, max_examples=150)
@given(data=st.data())
def test_rules_do_not_change_results(few: Database, data: st.DataObject) -> None:
    query = Writer(data.draw).query([], 2)
    if few.plan(query)["estimatedNrItems"] > 1e7:
        return
    expected = few.run(query, optimizer={"rules": ["-all"]}, maxRuntime=20)
    assert normal(few.run(query, maxRuntime=20)) == normal(expected), query


@pytest.fixture(scope="module")
def graph(db: Database) -> Database:
    chooser = random.Random(3)
    db.collection("v", [{"_key": str(n), "x": n % 3} for n in range(9)])
    ends = [(chooser.randrange(10), chooser.randrange(9)) for _ in range(22)]
    edges = [{"_from": f"v/{a}", "_to": f"v/{b}", "w": n % 4, "k": "ab"[n % 2]} for n, (a, b) in enumerate(ends)]
    db.collection("e", edges, edges=True)
    return db


PATH_CONDITIONS = st.sampled_from(
    [
        "p.edges[*].w ALL < 3", "p.edges[*].w NONE == 2", "p.edges[*].w ANY == 1", "p.edges[*].k ALL IN ['a']",
        "p.edges[0].w == 1", "p.edges[0].w != 1", "p.edges[1].w < 2", "p.edges[1].k == 'a'", "p.edges[-1].w == 0",
        "p.vertices[1].x == 1", "p.vertices[*].x ALL != 2", "p.vertices[0].x == 0", "p.vertices[2].x == null",
        "e.w > 0", "v.x == 1", "LENGTH(p.edges) < 3", "v.x == s.x", "p.edges[0].w == s.x", "p.edges[1].w == p.edges[0].w",
    ]
)  # fmt: skip


@settings(SETTINGS, max_examples=120)
@given(
    conditions=st.lists(PATH_CONDITIONS, max_size=3),
    depths=st.sampled_from(["1..1", "1..2", "0..2", "2..3"]),
    direction=st.sampled_from(["OUTBOUND", "INBOUND", "ANY"]),
    options=st.sampled_from(
        [
            "{}",
            "{order: 'bfs'}",
            "{uniqueVertices: 'path'}",
            "{order: 'bfs', uniqueVertices: 'global'}",
            "{uniqueEdges: 'none'}",
        ]
    ),
    prune=st.sampled_from(["", "PRUNE v.x == 2", "PRUNE stop = e.w == 1"]),
)
def test_conditions_inside_a_walk_change_nothing(
    graph: Database, conditions: list[str], depths: str, direction: str, options: str, prune: str
) -> None:
    filters = "\n".join(f"FILTER {condition}" for condition in conditions)
    query = f"""
        FOR s IN v
          FOR v, e, p IN {depths} {direction} s e {prune} OPTIONS {options}
            {filters}
            RETURN [s._key, v._key, e._key, p.edges[*]._key, {"stop" if "stop" in prune else "null"}]
    """
    if "global" in options and "p." in filters:
        return  # which path reaches a vertex first depends on the conditions inside the walk, as on the server
    assert graph.run(query) == graph.run(query, optimizer={"rules": ["-all"]}), query
