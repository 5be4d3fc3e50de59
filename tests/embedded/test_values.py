"""AQL's values: order, equality, truth, casts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded.aql import values as v

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-2, 2, allow_nan=False).map(lambda x: round(x, 1)),
    st.text("ab", max_size=2),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)),
    max_leaves=8,
)


def rank(value: Any) -> int:
    kinds: list[Any] = [type(None), bool, (int, float), str, list, dict]
    return next(position for position, kind in enumerate(kinds) if isinstance(value, kind))


def order(left: Any, right: Any) -> int:
    """The order in the documentation's words, as an oracle."""
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


@given(VALUES, VALUES)
def test_compare_is_the_documented_order(left: Any, right: Any):
    assert v.compare(left, right) == order(left, right)


@given(VALUES, VALUES)
def test_sort_keys_order_as_compare_does(left: Any, right: Any):
    a, b = v.sort_key(left), v.sort_key(right)
    assert (a > b) - (a < b) == order(left, right)


@given(VALUES, VALUES)
def test_equal_and_hashable_agree_with_compare(left: Any, right: Any):
    same = order(left, right) == 0
    assert v.equal(left, right) is same
    assert (v.hashable(left) == v.hashable(right)) is same
    assert not same or hash(v.hashable(left)) == hash(v.hashable(right))


def test_types_come_in_order():
    ascending = [None, False, True, -1, 0, 0.5, 1, "", "A", "a", "b", [], [1], [1, 0], {}, {"b": 1}, {"a": 1}]
    descending = ascending[::-1]
    assert sorted(descending, key=v.sort_key) == ascending


def test_missing_attributes_and_elements_are_null():
    assert v.equal({}, {"a": None})
    assert v.equal([1], [1, None])
    assert not v.equal(1, True) and not v.equal(0, False) and v.equal(1, 1.0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, False), (0, False), ("", False), (False, False), ([], True), ({}, True), (0.1, True), ("0", True)],
)
def test_truth(value: Any, expected: bool):
    assert v.truthy(value) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 0),
        (True, 1),
        ("", 0),
        (" 12 ", 12),
        ("-1.5e1", -15),
        ("12x", 0),
        ("1_000", 0),
        ("inf", 0),
        ("nan", 0),
        ([], 0),
        (["7"], 7),
        ([[3]], 3),
        ([1, 2], 0),
        ({"a": 1}, 0),
    ],
)
def test_to_number(value: Any, expected: float):
    assert v.to_number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "true"),
        (123, "123"),
        (-1.23, "-1.23"),
        (0.0000002, "2e-7"),
        (0.001234, "0.001234"),
        (1e21, "1e+21"),
        (1.2345e22, "1.2345e+22"),
        (123456789012345680000.0, "123456789012345680000"),
        ([1, 2, 3], "[1,2,3]"),
        ({"foo": "bar", "baz": None}, '{"foo":"bar","baz":null}'),
    ],
)
def test_to_string(value: Any, expected: str):
    assert v.to_string(value) == expected


def test_to_array():
    assert [v.to_array(value) for value in (None, 1, [1], {"a": 1, "b": [2]})] == [[], [1], [1], [1, [2]]]


def test_arithmetic_results_are_integers_where_they_print_as_such():
    assert (v.number(2.0), type(v.number(2.0))) == (2, int)
    assert v.number(2.5) == 2.5
    assert v.number(float("inf")) is None and v.number(float("nan")) is None
    assert type(v.number(2.0**60)) is float


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_from_its_text(value: float):
    assert float(v.number_text(value)) == value
