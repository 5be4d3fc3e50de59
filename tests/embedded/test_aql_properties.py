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
