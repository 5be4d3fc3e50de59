"""Index keys order as AQL orders values."""

from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded import keycodec

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)


def rank(value: Any) -> int:
    for position, kinds in enumerate(((type(None),), (bool,), (int, float), (str,), (list,), (dict,))):
        if type(value) in kinds:
            return position
    raise TypeError(value)


def compare(a: Any, b: Any) -> int:
    """AQL's order, written as the documentation tells it."""
    if rank(a) != rank(b):
        return -1 if rank(a) < rank(b) else 1
    if isinstance(a, list):
        return next((c for c in map(compare, pad(a, b), pad(b, a)) if c), 0)
    if isinstance(a, dict):
        return next((c for name in sorted({*a, *b}) if (c := compare(a.get(name), b.get(name)))), 0)
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return 0 if a is None or a == b else -1 if a < b else 1


def pad(a: list[Any], b: list[Any]) -> list[Any]:
    return a + [None] * (len(b) - len(a))


@given(st.lists(values, min_size=2, max_size=12))
def test_bytes_order_as_values(items: list[Any]) -> None:
    for a, b in pairwise(sorted(items, key=cmp_to_key(compare))):
        left, right = keycodec.encode_value(a), keycodec.encode_value(b)
        assert (left > right) - (left < right) == compare(a, b)


@given(st.lists(scalars, max_size=5))
def test_scalars_come_back(items: list[Any]) -> None:
    assert keycodec.decode(keycodec.encode(items)) == items


@given(values)
def test_values_come_back_equal_in_aql(value: Any) -> None:
    [back] = keycodec.decode(keycodec.encode([value]))
    assert compare(back, value) == 0


@given(values, values)
def test_keys_are_prefix_free(a: Any, b: Any) -> None:
    left, right = keycodec.encode_value(a), keycodec.encode_value(b)
    assert left == right or not right.startswith(left)
    assert left < left + keycodec.HIGH
