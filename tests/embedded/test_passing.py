"""What is passed to the engine as a value is what JSON would have made of it."""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded import client
from vgraph.embedded.passing import Passed, copied, serialized

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(), st.just(-0.0), st.just(1.0)
)
EMBEDDED = {"e": [0.5] * 64}
PLAIN = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner), st.dictionaries(st.text(), inner), st.lists(st.floats(), min_size=14, max_size=20)
    ),
    max_leaves=40,
)


def alike(a: Any, b: Any) -> bool:
    """Equal, also in types and in the sign of zero."""
    if type(a) is not type(b):
        return False
    if type(a) is list:
        return len(a) == len(b) and all(map(alike, a, b))
    if type(a) is dict:
        return list(a) == list(b) and all(map(alike, a.values(), b.values()))
    return bool(a == b) and (type(a) is not float or math.copysign(1, a) == math.copysign(1, b))


@given(PLAIN)
def test_a_copy_is_what_the_text_gives(value: Any) -> None:
    try:
        text = orjson.dumps(value)
    except TypeError:
        with pytest.raises(Exception, match=""):
            copied(value)
        return
    assert alike(copied(value), orjson.loads(text))


def test_nothing_that_can_change_is_shared() -> None:
    value = [{"a": {"b": [[1], {"c": 2}]}, "e": [0.5] * 20}]
    found = copied(value)
    found[0]["a"]["b"][0].append(2)
    found[0]["a"]["b"][1]["c"] = 3
    found[0]["e"][0] = 1.0
    assert value == [{"a": {"b": [[1], {"c": 2}]}, "e": [0.5] * 20}]


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "odd",
    [(1, 2), datetime(2026, 1, 1), np.array([1.0, 2.0]), np.arange(3), Colour.RED, OrderedDict(a=1), [np.arange(3)]],
)
def test_what_the_text_would_change_goes_as_text(odd: Any) -> None:
    documents = [{"a": odd, **EMBEDDED}] * 20
    found = serialized(documents)
    assert isinstance(found, bytes)
    assert orjson.loads(found) == orjson.loads(orjson.dumps(documents, option=orjson.OPT_SERIALIZE_NUMPY))


@pytest.mark.parametrize("odd", [2**64, -(2**63) - 1, "\ud800", {1: 2}, {"\ud800": 1}, {1, 2}, b"x", 1j, object()])
def test_what_the_text_would_refuse_is_refused(odd: Any) -> None:
    with pytest.raises(TypeError):
        serialized([{"a": odd, **EMBEDDED}] * 20)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = [EMBEDDED] * 20
    value[0] = {"a": value}
    with pytest.raises(TypeError):
        serialized(value)


@pytest.mark.parametrize(
    "value",
    [
        {"query": "RETURN 1"},
        [{"a": 1}] * 100,
        [[1.5] * 100] * 100,
        [EMBEDDED],
        {"bindVars": {"a": [0.5] * 20}},
        {"bindVars": {"a": ["x"] * 384}},
        {"bindVars": [EMBEDDED] * 20},
        "text",
        None,
        7,
    ],
)
def test_requests_without_embeddings_go_as_text(value: Any) -> None:
    assert serialized(value) == orjson.dumps(value)


def test_size_is_about_that_of_the_text() -> None:
    documents = [{"_key": str(n), "e": [n / 7, 0.5] * 40} for n in range(100)]
    found = serialized({"query": "RETURN @d", "bindVars": {"d": documents}})
    assert isinstance(found, Passed)
    assert found.size == pytest.approx(len(orjson.dumps(documents)), rel=0.3)


def test_documents_that_are_passed_are_not_those_of_the_caller(tmp_path: Path) -> None:
    opened = client.open(f"embedded:{tmp_path}/a.db")
    db = opened.db("_system")
    collection: Any = db.create_collection("c")
    documents = [{"_key": str(n), "n": n, "nested": {"a": [n]}, "nan": math.nan, **EMBEDDED} for n in range(50)]
    before = orjson.dumps(documents)
    collection.insert_many(documents[:20])
    collection.import_bulk(documents[20:40])
    list(db.aql.execute("FOR d IN @docs INSERT d INTO c", bind_vars={"docs": documents[40:]}))  # type: ignore[union-attr,arg-type]
    assert orjson.dumps(documents) == before
    assert collection.count() == 50
    found = {doc["_key"]: doc for doc in collection.all()}
    assert all(found[str(n)]["nested"] == {"a": [n]} and found[str(n)]["nan"] is None for n in range(50))
    opened.close()


def test_the_vector_of_a_question_goes_as_a_value() -> None:
    request = {"query": "RETURN @a", "bindVars": {"a": [0.5, math.nan] * 100, "b": "ü"}}
    found = serialized(request)
    assert isinstance(found, Passed) and 1000 < found.size < 10_000
    assert alike(found.take(), orjson.loads(orjson.dumps(request)))
