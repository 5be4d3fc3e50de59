"""Indexes: lookups in AQL's order against a plain filter of the documents, uniqueness, definitions, building over what is there."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl, expiry
from vgraph.embedded.documents import Collection
from vgraph.embedded.engine import Engine, Transaction
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.indexes import MdiIndex, PersistentIndex, TtlIndex
from vgraph.embedded.keycodec import encode_value


@pytest.fixture
def txn(tmp_path: Path) -> Iterator[Transaction]:
    engine = Engine.open(tmp_path / "indexes.db")
    with engine.writing() as txn:
        ddl.create_collection(txn, "c")
        yield txn
    engine.close()


def add(txn: Transaction, **definition: Any) -> Any:
    index, is_new = ddl.create_index(txn, "c", {"type": "persistent", **definition})
    assert is_new
    return index


def c(txn: Transaction) -> Collection:
    return txn.collection("c", write=True)


VALUES: list[Any] = [
    None,
    False,
    True,
    -1,
    0,
    1,
    1.5,
    2**60,
    "",
    "a",
    "ab",
    "b",
    "ä",
    [],
    [1],
    [1, 2],
    {},
    {"a": 1},
    {"b": 1},
]


def fill(txn: Transaction, count: int = 400) -> dict[int, dict[str, Any]]:
    rng = random.Random(2)
    docs = {}
    for _ in range(count):
        doc = {name: rng.choice(VALUES) for name in "abz" if rng.random() < 0.9}
        docs[c(txn).insert(doc).rowid] = doc
    return docs


# -- lookups --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("early", [True, False], ids=["built while filled", "built afterwards"])
def test_lookups_agree_with_a_filter(txn: Transaction, early: bool) -> None:
    index = add(txn, fields=["a", "b"]) if early else None
    docs = fill(txn)
    index = index or add(txn, fields=["a", "b"])
    assert isinstance(index, PersistentIndex)
    order = lambda row: (encode_value(docs[row].get("a")), encode_value(docs[row].get("b")), row)  # noqa: E731
    assert list(index.lookup(txn)) == sorted(docs, key=order)
    assert list(index.lookup(txn, reverse=True)) == sorted(docs, key=order, reverse=True)
    for a in VALUES:
        same = [row for row in sorted(docs, key=order) if encode_value(docs[row].get("a")) == encode_value(a)]
        assert list(index.lookup(txn, [a])) == same and index.count(txn, [a]) == len(same)
        for b in VALUES:
            key = encode_value(b)
            below = [row for row in same if encode_value(docs[row].get("b")) < key]
            upto = [row for row in same if encode_value(docs[row].get("b")) <= key]
            assert list(index.lookup(txn, [a], high=b, include_high=False)) == below
            assert list(index.lookup(txn, [a], high=b)) == upto
            assert list(index.lookup(txn, [a], low=b, include_low=False)) == [row for row in same if row not in upto]
            assert list(index.lookup(txn, [a], low=b)) == [row for row in same if row not in below]


def test_batched_lookups_and_groups(txn: Transaction) -> None:
    index = add(txn, fields=["a", "b"])
    docs = fill(txn)
    pairs = [(a, b) for a in VALUES for b in VALUES]
    expected = [(n, row) for n, pair in enumerate(pairs) for row in index.lookup(txn, pair)]
    assert list(index.lookup_many(txn, pairs)) == expected
    assert list(index.lookup_many(txn, [(a,) for a in VALUES])) == [
        (n, r) for n, a in enumerate(VALUES) for r in index.lookup(txn, (a,))
    ]
    assert sum(count for _, count in index.groups(txn, 2)) == len(docs)
    for [a], count in index.groups(txn, 1):
        assert count == index.count(txn, [a])
    assert 0 < index.selectivity(txn) <= 1


def test_entries_follow_updates_and_removals(txn: Transaction) -> None:
    index = add(txn, fields=["a"])
    row = c(txn).insert({"_key": "k", "a": 1}).rowid
    c(txn).update("k", {"a": True})
    assert list(index.lookup(txn, [1])) == [] and list(index.lookup(txn, [True])) == [row]
    c(txn).update("k", {"b": 1})
    c(txn).replace("k", {})
    assert list(index.lookup(txn, [None])) == [row]
    c(txn).remove("k")
    assert list(index.lookup(txn)) == []
    c(txn).insert({"a": 1})
    c(txn).truncate()
    assert list(index.lookup(txn)) == []


def test_sparse_indexes_leave_nulls_out(txn: Transaction) -> None:
    index = add(txn, fields=["a", "b"], sparse=True)
    rows = [c(txn).insert(doc).rowid for doc in ({"a": 1, "b": 1}, {"a": 1}, {"a": None, "b": 1}, {})]
    assert list(index.lookup(txn)) == rows[:1]


def test_nested_paths_and_array_elements(txn: Transaction) -> None:
    nested, tags, names = (
        add(txn, fields=["a.b"]),
        add(txn, fields=["tags[*]"]),
        add(txn, fields=["tags[*].name", "a.b"]),
    )
    one = c(txn).insert({"a": {"b": 5}, "tags": ["x", "y", "x"]}).rowid
    two = c(txn).insert({"a": 1, "tags": [{"name": "n"}, 3]}).rowid
    three = c(txn).insert({"tags": "no list"}).rowid
    assert list(nested.lookup(txn, [5])) == [one] and list(nested.lookup(txn, [None])) == [two, three]
    assert list(tags.lookup(txn, ["x"])) == [one] and list(tags.lookup(txn, [3])) == [two]
    assert list(names.lookup(txn, ["n", None])) == [two]
    assert tags.expands and not nested.expands


# -- uniqueness -----------------------------------------------------------------------------------------------------


def test_unique_violations_in_the_servers_words(txn: Transaction) -> None:
    index = add(txn, fields=["a", "b"], unique=True)
    first = c(txn).insert({"_key": "first", "a": 1, "b": 2})
    message = (
        f"unique constraint violated - in index {index.name} of type persistent over 'a, b'; conflicting key: first"
    )
    c(txn).insert({"_key": "second", "a": 1, "b": 3})
    for write in (
        lambda: c(txn).insert({"a": 1, "b": 2}),
        lambda: c(txn).update("second", {"b": 2}),
        lambda: c(txn).replace("second", {"a": 1.0, "b": 2}),
    ):
        with pytest.raises(ArangoError) as error:
            write()
        assert (error.value.num, error.value.message) == (1210, message)
    assert c(txn).update("first", {"a": 1}).rowid == first.rowid
    assert c(txn).count() == 2 and len(list(index.lookup(txn))) == 2


def test_unique_counts_nulls_unless_sparse(txn: Transaction) -> None:
    add(txn, fields=["a"], unique=True, sparse=True)
    c(txn).insert({})
    c(txn).insert({})
    add(txn, fields=["b"], unique=True, sparse=True)
    with pytest.raises(ArangoError) as error:
        add(txn, fields=["z"], unique=True)
    assert error.value.num == 1210


def test_unique_array_elements(txn: Transaction) -> None:
    add(txn, fields=["tags[*]"], unique=True)
    c(txn).insert({"tags": ["a", "a"]})
    with pytest.raises(ArangoError):
        c(txn).insert({"tags": ["b", "a"]})
    ddl.create_index(txn, "c", {"type": "persistent", "fields": ["strict[*]"], "unique": True, "deduplicate": False})
    with pytest.raises(ArangoError):
        c(txn).insert({"strict": ["a", "a"]})


# -- other kinds ----------------------------------------------------------------------------------------------------


def test_multi_dimensional_indexes_find_boxes(txn: Transaction) -> None:
    index = add(txn, type="mdi", fields=["x", "y"], fieldValueTypes="double")
    assert isinstance(index, MdiIndex)
    rng = random.Random(3)
    docs = {}
    for _ in range(300):
        doc = {"x": rng.randrange(100), "y": rng.random() * 100}
        docs[c(txn).insert(doc).rowid] = doc
    found = set(index.lookup_box(txn, [(None, 50), (25.5, None)]))
    assert found == {row for row, doc in docs.items() if doc["x"] <= 50 and doc["y"] >= 25.5}
    with pytest.raises(ArangoError) as error:
        c(txn).insert({"x": "1", "y": 2})
    assert error.value.num == 1561


def test_prefixed_multi_dimensional_indexes(txn: Transaction) -> None:
    index = add(txn, type="mdi-prefixed", fields=["x", "y"], prefixFields=["camera"], fieldValueTypes="double")
    rows = [c(txn).insert({"camera": camera, "x": n, "y": n + 5}).rowid for camera in "ab" for n in range(10)]
    assert list(index.lookup_box(txn, [(None, 3), (7, None)], ["b"])) == rows[12:14]


def test_expired_documents_go(tmp_path: Path) -> None:
    engine, now = Engine.open(tmp_path / "ttl.db"), time.time()
    with engine.writing() as txn:
        ddl.create_collection(txn, "c")
        index = add(txn, type="ttl", fields=["at"], expireAfter=60)
        assert isinstance(index, TtlIndex)
        for key, at in (
            ("old", now - 61),
            ("new", now),
            ("iso", "2001-01-01T00:00:00Z"),
            ("never", "some day"),
            ("none", None),
        ):
            c(txn).insert({"_key": key, "at": at})
    assert expiry.sweep(engine) == 2
    with engine.reading() as txn:
        assert [doc["_key"] for _, doc in txn.collection("c").scan()] == ["new", "never", "none"]
    engine.close()


# -- definitions ----------------------------------------------------------------------------------------------------


def test_the_same_definition_is_the_same_index(txn: Transaction) -> None:
    index = add(txn, fields=["a"], name="mine")
    again, is_new = ddl.create_index(txn, "c", {"type": "persistent", "fields": ["a"], "name": "yours"})
    assert again is index and not is_new
    with pytest.raises(ArangoError) as error:
        add(txn, fields=["b"], name="mine")
    assert error.value.num == 1207
    assert ddl.find_index(txn, txn.info("c"), "mine") is index is ddl.find_index(txn, txn.info("c"), str(index.id))


@pytest.mark.parametrize(
    ("definition", "num"),
    [
        ({"type": "nonsense", "fields": ["a"]}, 10),
        ({"type": None}, 10),
        ({"type": "primary", "fields": ["_key"]}, 11),
        ({"type": "persistent"}, 10),
        ({"type": "persistent", "fields": []}, 10),
        ({"type": "persistent", "fields": [""]}, 10),
        ({"type": "persistent", "fields": ["a", "a"]}, 10),
        ({"type": "persistent", "fields": ["_id"]}, 10),
        ({"type": "persistent", "fields": ["a[*].b[*]"]}, 10),
        ({"type": "persistent", "fields": ["a[0]"]}, 1220),
        ({"type": "edge", "fields": ["_from", "_to"]}, 11),
        ({"type": "arangosearch"}, 10),
        ({"type": "fulltext", "fields": ["a"], "minLength": "four"}, 10),
        ({"type": "ttl", "fields": ["a"]}, 10),
        ({"type": "ttl", "fields": ["a", "b"], "expireAfter": 1}, 10),
        ({"type": "mdi", "fields": ["a", "b"]}, 10),
    ],
)
def test_wrong_definitions_are_refused(txn: Transaction, definition: dict[str, Any], num: int) -> None:
    with pytest.raises(ArangoError) as error:
        ddl.create_index(txn, "c", definition)
    assert error.value.num == num
    assert len(txn.info("c").indexes) == 1


def test_dropped_indexes_are_gone(txn: Transaction) -> None:
    index = add(txn, fields=["a"], unique=True)
    c(txn).insert({"a": 1})
    ddl.drop_index(txn, txn.info("c"), index)
    c(txn).insert({"a": 1})
    with pytest.raises(ArangoError) as error:
        ddl.find_index(txn, txn.info("c"), index.name)
    assert error.value.num == 1212
    with pytest.raises(ArangoError):
        ddl.drop_index(txn, txn.info("c"), txn.info("c").indexes[0])
    assert txn.sql("SELECT count(*) FROM sqlite_master WHERE name = ?", (f"i{index.id}",)).fetchone() == (0,)


def test_instances_outlive_other_changes_of_the_catalog(txn: Transaction) -> None:
    index = add(txn, fields=["a"])
    ddl.create_collection(txn, "other")
    assert txn.info("c").indexes[1] is index
