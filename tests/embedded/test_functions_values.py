"""Numeric, bit, array, set, statistics, vector, object and miscellaneous functions."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded.aql.functions import FUNCTIONS
from vgraph.embedded.aql.runtime import Runtime
from vgraph.embedded.errors import ArangoError


def call(name: str, *args: Any) -> Any:
    return FUNCTIONS[name].impl(Runtime(), *args)


def warned(name: str, *args: Any) -> list[int]:
    rt = Runtime()
    assert FUNCTIONS[name].impl(rt, *args) is None
    return [code for code, _ in rt.warnings.items]


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("FLOOR", (-2.5,), -3),
        ("CEIL", (-2.5,), -2),
        ("ROUND", (2.5,), 3),
        ("ROUND", (-2.5,), -2),
        ("ROUND", (-2.51,), -3),
        ("FLOOR", (None,), 0),
        ("ABS", ("-5",), 5),
        ("SQRT", (-1,), None),
        ("POW", (5, -1), 0.2),
        ("POW", (0, -1), None),
        ("LOG", (0,), None),
        ("LOG2", (1024,), 10),
        ("EXP", (1000,), None),
        ("EXP2", (16,), 65536),
        ("ACOS", (2,), None),
        ("ATAN2", (1, 0), math.pi / 2),
        ("DEGREES", (math.pi,), 180),
        ("RANGE", (1, 4), [1, 2, 3, 4]),
        ("RANGE", (4, 1), [4, 3, 2, 1]),
        ("RANGE", (1.5, 2.5), [1, 2]),
        ("RANGE", (1.5, 2.5, 0.5), [1.5, 2, 2.5]),
        ("RANGE", (-0.75, 1.1, 0.5), [-0.75, -0.25, 0.25, 0.75]),
        ("DECAY_GAUSS", (41, 40, 5, 5, 0.5), 1),
        ("DECAY_LINEAR", ([5, 6, 7], 0, 10, 0, 0.2), [0.6, 0.52, 0.44]),
        ("DECAY_EXP", (2, 0, 10, 0, 0.2), pytest.approx(0.7247796636776955, abs=1e-15)),
        ("BIT_AND", ([255, 127, None, 63],), 63),
        ("BIT_OR", ([1, 4, 8, 16],), 29),
        ("BIT_XOR", (255, 257), 510),
        ("BIT_NEGATE", (446359921, 32), 3848607374),
        ("BIT_TEST", (7, 2), True),
        ("BIT_POPCOUNT", (69399252,), 12),
        ("BIT_SHIFT_LEFT", (878836, 16, 32), 1760821248),
        ("BIT_SHIFT_RIGHT", (878836, 4, 32), 54927),
        ("BIT_CONSTRUCT", ([0, 1, 10, 31],), 2147484675),
        ("BIT_DECONSTRUCT", (273,), [0, 4, 8]),
        ("BIT_TO_STRING", (60, 8), "00111100"),
        ("BIT_FROM_STRING", ("0111",), 7),
        ("LENGTH", (None,), 0),
        ("LENGTH", (False,), 0),
        ("LENGTH", (1234,), 4),
        ("LENGTH", ({"a": 1, "b": 2},), 2),
        ("FIRST", ([],), None),
        ("LAST", ([1, 2],), 2),
        ("NTH", (["a", "b"], -1), None),
        ("FLATTEN", ([1, [2, [3, [4]]]], 2), [1, 2, 3, [4]]),
        ("SLICE", ([1, 2, 3, 4, 5], 1, -1), [2, 3, 4]),
        ("SLICE", ([1, 2, 3, 4, 5], -3, 2), [3, 4]),
        ("SLICE", ([1, 2, 3], 5, 2), []),
        ("POSITION", ([2, 4, {"a": None}], {}, True), 2),
        ("PUSH", (None, 1), [1]),
        ("PUSH", ([1, 2], 2.0, True), [1, 2]),
        ("UNSHIFT", ([1], 0), [0, 1]),
        ("APPEND", ([1, 2, 3], [3, 4, 5, 2, 9], True), [1, 2, 3, 4, 5, 9]),
        ("APPEND", (None, 4), [4]),
        ("APPEND", ([1, 2, 2, 5], None, True), [1, 2, 5]),
        ("APPEND", (None, [1, 2, 2], True), [1, 2]),
        ("POP", ([1],), []),
        ("SHIFT", ([1, 2],), [2]),
        ("REMOVE_VALUE", (["a", "b", "a", "a"], "a", 2), ["b", "a"]),
        ("REMOVE_VALUES", ([1, 2, 3], [2, 3.0]), [1]),
        ("REMOVE_NTH", (["a", "b", "c"], -2), ["a", "c"]),
        ("REMOVE_NTH", (["a"], 5), ["a"]),
        ("REPLACE_NTH", (["a", "b", "c"], 6, "z", "y"), ["a", "b", "c", "y", "y", "y", "z"]),
        ("REPLACE_NTH", (["a", "b", "c"], -9, "z"), ["z", "b", "c"]),
        ("INTERLEAVE", ([1], [2, 2], [3, 3, 3]), [1, 2, 3, 2, 3, 3]),
        ("UNIQUE", ([1, 1.0, True, "1", [1], [1, None]],), [1, True, "1", [1]]),
        ("SORTED", ([{}, "b", 2, None, [1], True, "a"],), [None, True, 2, "a", "b", [1], {}]),
        ("SORTED_UNIQUE", ([3, 1, 3],), [1, 3]),
        ("COUNT_DISTINCT", ([1, 1, 2],), 2),
        ("UNION", ([1], [1, 2]), [1, 1, 2]),
        ("UNION_DISTINCT", ([1], [1, 2]), [1, 2]),
        ("INTERSECTION", ([1, 2, 3], [3, 2], [2]), [2]),
        ("MINUS", ([1, 2, 3, 1], [3], [2]), [1]),
        ("OUTERSECTION", ([1, 2], [2, 3]), [1, 3]),
        ("JACCARD", ([], []), 1),
        ("JACCARD", ([1, 1, 2, 2, 2, 3], [2, 2, 3, 4]), 0.5),
        ("MIN", ([5, 9, -2, None, 1],), -2),
        ("MAX", ([None, None],), None),
        ("MAX", ([1, "a", [0]],), [0]),
        ("SUM", ([],), 0),
        ("SUM", ([1, None, "a"],), None),
        ("SUM", ([None, -5, 6],), 1),
        ("PRODUCT", ([],), 1),
        ("AVERAGE", ([None],), None),
        ("AVERAGE", ([5, 2, 9, 2],), 4.5),
        ("MEDIAN", ([4, 2, 3, 1],), 2.5),
        ("PERCENTILE", ([1, 2, 3, 4], 50), 2),
        ("PERCENTILE", ([1, 2, 3, 4], 50, "interpolation"), 2.5),
        ("PERCENTILE", ([], 50), None),
        ("VARIANCE_POPULATION", ([1, 3, 6, 5, 2],), 3.4400000000000004),
        ("VARIANCE_SAMPLE", ([1, 3, 6, 5, 2],), 4.300000000000001),
        ("STDDEV_POPULATION", ([1, 3, 6, 5, 2],), 1.854723699099141),
        ("STDDEV_SAMPLE", ([1, 3, 6, 5, 2],), 2.0736441353327724),
        ("STDDEV_SAMPLE", ([1],), None),
        ("COSINE_SIMILARITY", ([-1, 0], [1, 0]), -1),
        ("COSINE_SIMILARITY", ([[0, 1], [1, 0]], [1, 0]), [0, 1]),
        ("L1_DISTANCE", ([[1, 2, 3], [-1, -2, -3], [3, 4, 5], [-5, 2, 1]], [1, 1, 1]), [3, 9, 9, 7]),
        ("L2_DISTANCE", ([1, 1], [5, 2]), 4.123105625617661),
        ("HAS", ({"a": None}, "a"), True),
        ("HAS", (5, "a"), False),
        ("ATTRIBUTES", ({"foo": 1, "_key": 2},), ["_key", "foo"]),
        ("ATTRIBUTES", ({"foo": 1, "_key": 2, "a": 3}, True, True), ["a", "foo"]),
        ("VALUES", ({"_id": 1, "name": "Jane"}, True), ["Jane"]),
        ("ENTRIES", ({"a": 1},), [["a", 1]]),
        ("VALUE", ({"foo": [{"bar": "baz"}]}, ["foo", 0, "bar"]), "baz"),
        ("VALUE", ({"foo": 1}, ["foo", "x"]), None),
        ("VALUE", ({"foo": 1}, []), None),
        ("REPLACE_NTH", (["a"], 3, "z", None), ["a", None, None, "z"]),
        ("RANGE", (3.4, 8.9, 1.2), [3.4, 4.6, 5.8, 7, 8.2]),
        ("MERGE", ({"a": 1, "b": 2}, {"b": {"c": 3}}), {"a": 1, "b": {"c": 3}}),
        ("MERGE", ([{"a": 1}, {"b": 2}],), {"a": 1, "b": 2}),
        ("MERGE_RECURSIVE", ({"a": {"b": 1}}, {"a": {"c": 2}}), {"a": {"b": 1, "c": 2}}),
        ("UNSET", ({"a": 1, "b": 2, "c": 3}, "a", ["b"]), {"c": 3}),
        ("KEEP", ({"a": 1, "b": 2}, ["a", "x"]), {"a": 1}),
        ("UNSET_RECURSIVE", ({"a": {"b": 1, "c": 2}, "b": 3}, "b"), {"a": {"c": 2}}),
        ("KEEP_RECURSIVE", ({"a": {"a": 1, "b": 2}, "b": 3}, "a"), {"a": {"a": 1}}),
        ("TRANSLATE", (42, {"42": True}), True),
        ("TRANSLATE", (42, {"a": 1}), 42),
        ("TRANSLATE", (42, {"a": 1}, None), None),
        ("ZIP", (["a", "b", "a"], [1, 2, 3]), {"a": 1, "b": 2}),
        ("MATCHES", ({"test": 1}, [{"test": 1, "foo": "bar"}, {"test": 1}], True), 1),
        ("MATCHES", ({"a": 1}, {"b": None}), True),
        ("NOT_NULL", (None, False, 1), False),
        ("FIRST_LIST", (1, [2]), [2]),
        ("FIRST_DOCUMENT", (1, [2]), None),
        ("PARSE_IDENTIFIER", ("users/1",), {"collection": "users", "key": "1"}),
        ("PARSE_KEY", ({"_id": "users/1"},), "1"),
        ("PARSE_COLLECTION", ("users/1",), "users"),
        ("IS_SAME_COLLECTION", ("users", {"_id": "users/1"}), True),
        ("DECODE_REV", ("_YU0HOEG---",), {"date": "2019-03-11T16:15:05.314Z", "count": 0}),
        ("IN_RANGE", ("fox", "fo", "fp", True, False), True),
        ("IN_RANGE", (3, 3, 5, False, True), False),
        ("CALL", ("substring", "this is a test", 0, 4), "this"),
        ("APPLY", ("SUBSTRING", ["this is a test", 0, 7]), "this is"),
        ("WARN", (1, "no"), True),
        ("ASSERT", (1, "no"), True),
        ("CHECK_DOCUMENT", (5,), False),
        ("SCHEMA_VALIDATE", ({}, None), {"valid": True}),
        ("TYPENAME", ({},), "object"),
        ("IS_DATESTRING", ("2015-02",), True),
        ("IS_DATESTRING", ("never",), False),
    ],
)
def test_results(name: str, args: tuple[Any, ...], expected: Any):
    found = call(name, *args)
    assert found == expected
    assert isinstance(found, bool) is isinstance(expected, bool)


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("FIRST", (5,), 1563),
        ("UNIQUE", (None,), 1563),
        ("SUM", ("a",), 1563),
        ("MEDIAN", (["a"],), 1561),
        ("UNION", ([1], None), 1542),
        ("PUSH", ("a", 1), 1542),
        ("REVERSE", (5,), 1563),
        ("IN_RANGE", (1, 0, 2, 1, True), 1542),
        ("BIT_AND", ("foo",), 1542),
        ("BIT_OR", ([1, -1],), 1542),
        ("RANGE", (1, 5, -1), 1542),
        ("DECAY_EXP", (1, 0, 0, 0, 0.5), 1504),
        ("PERCENTILE", ([1], 101), 1542),
        ("COSINE_SIMILARITY", ([1], [1, 2]), 1542),
        ("COSINE_SIMILARITY", ([1, "a"], [1, 2]), 1542),
        ("COSINE_SIMILARITY", ([0, 0], [1, 2]), 1561),
        ("MERGE", ({"a": 1}, 5), 1542),
        ("UNSET", (5, "a"), 1542),
        ("ZIP", (["a"], []), 1542),
        ("ATTRIBUTES", ([],), 1542),
        ("PARSE_KEY", ("nokey",), 1542),
        ("DECODE_REV", (5,), 1542),
        ("SLEEP", ("a",), 1542),
    ],
)
def test_wrong_arguments_give_null_and_a_warning(name: str, args: tuple[Any, ...], code: int):
    assert warned(name, *args) == [code]


@pytest.mark.parametrize(
    ("name", "args", "num"),
    [
        ("FAIL", ("no",), 1569),
        ("ASSERT", (0, "no"), 1593),
        ("CALL", ("NOSUCH",), 1540),
        ("CALL", (123, "a"), 1542),
        ("CALL", ("COLLECTION_COUNT", "c"), 1578),
        ("APPLY", ("CALL", ["NOSUCH"]), 1540),
        ("CALL", ("UPPER",), 1541),
        ("APPROX_NEAR_L2", ([1], [2]), 1554),
        ("V8", (1,), 9),
        ("REPLACE_NTH", (["x"], None, 1), 1542),
        ("REPLACE_NTH", ([1], 5, 2), 1542),
        ("SCHEMA_VALIDATE", ({}, {"level": "strict"}), 1621),
    ],
)
def test_errors(name: str, args: tuple[Any, ...], num: int):
    with pytest.raises(ArangoError) as caught:
        call(name, *args)
    assert caught.value.num == num


def test_warn_warns():
    rt = Runtime()
    assert FUNCTIONS["WARN"].impl(rt, False, "careful") is False
    assert rt.warnings.items == [(1594, "careful")]


def test_every_function_survives_every_type():
    """Whatever the arguments, an answer or an ArangoError, and the arguments as they were."""
    values: list[Any] = [None, True, -1, 0.5, "", "a b", [], [1, "x", None], {}, {"a": [1]}]
    of_data = {"DOCUMENT", "COLLECTION_COUNT", "COLLECTIONS", "CURRENT_DATABASE", "SCHEMA_GET", "FULLTEXT"}
    skipped = {"SLEEP", *of_data}
    for name, function in FUNCTIONS.items():
        if name in skipped:
            continue
        for value in values:
            most = function.min_args + 2 if function.max_args is None else function.max_args
            for count in range(function.min_args, most + 1):
                before = repr(value)
                with suppress(ArangoError):
                    function.impl(Runtime(), *[value] * count)
                assert repr(value) == before, name


ITEMS = st.lists(st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text("ab", max_size=2)), max_size=6)


@given(ITEMS, ITEMS)
def test_set_functions_agree_with_each_other(left: list[Any], right: list[Any]):
    both = call("INTERSECTION", left, right)
    only = call("MINUS", left, right)
    assert len(both) + len(only) == call("COUNT_DISTINCT", left)
    union = call("UNION_DISTINCT", left, right)
    assert len(union) == len(both) + len(only) + len(call("MINUS", right, left))
    assert call("SORTED_UNIQUE", call("UNION", left, right)) == call("SORTED", union)


@given(st.lists(st.integers(-100, 100), min_size=1))
def test_statistics_agree_with_their_definitions(values: list[int]):
    mean = call("AVERAGE", values)
    assert mean == pytest.approx(math.fsum(values) / len(values))
    assert call("VARIANCE", values) == pytest.approx(
        math.fsum((value - mean) ** 2 for value in values) / len(values), abs=1e-9
    )
    assert call("MIN", values) <= call("MEDIAN", values) <= call("MAX", values)
    assert call("PERCENTILE", values, 50) in values


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_bit_functions_agree_with_each_other(left: int, right: int):
    assert call("BIT_AND", left, right) + call("BIT_OR", left, right) == left + right
    assert call("BIT_CONSTRUCT", call("BIT_DECONSTRUCT", left)) == left
    assert call("BIT_FROM_STRING", call("BIT_TO_STRING", left, 32)) == left
