"""Inverted indexes side by side: which may share a search-alias view, and what a hint to one of them answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.conftest import Database
from vgraph.embedded import ddl, view_store
from vgraph.embedded.errors import ArangoError

WORDS: dict[str, Any] = {"name": "text", "analyzer": "text_en"}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    found = Database(tmp_path / "alias.db")
    for name in ("one", "two"):
        found.collection(name)
    yield found
    found.engine.close()


def index(db: Database, collection: str, name: str, *fields: Any, **more: Any) -> dict[str, str]:
    with db.engine.writing() as txn:
        ddl.create_index(txn, collection, {"type": "inverted", "name": name, "fields": list(fields), **more})
    return {"collection": collection, "index": name}


def view(db: Database, *members: dict[str, str]) -> None:
    with db.engine.writing() as txn:
        view_store.create_view(txn, "v", "search-alias", {"indexes": list(members)})


@pytest.mark.parametrize(
    ("one", "two", "fits"),
    [
        ((["a"], {}), (["a"], {}), True),
        ((["a"], {}), (["b"], {}), True),
        (([WORDS], {}), ([WORDS], {}), True),
        (([WORDS], {}), (["text"], {}), False),
        (([WORDS], {}), (["text[*]"], {}), False),
        ((["a"], {"includeAllFields": True}), (["b"], {}), True),
        ((["a"], {"includeAllFields": True}), ([WORDS], {}), False),
        ((["a"], {"includeAllFields": True}), (["b"], {"includeAllFields": True, "analyzer": "text_en"}), False),
        (([{"name": "a", "searchField": True}], {}), (["a"], {}), False),
        ((["a"], {"storedValues": ["b"]}), (["a"], {}), False),
        ((["a"], {"primarySort": {"fields": [{"field": "a", "direction": "asc"}]}}), (["a"], {}), False),
        (([{"name": "a", "includeAllFields": True}], {}), (["a.b"], {}), True),
        (([{"name": "a", "includeAllFields": True}], {}), ([{"name": "a.b", "analyzer": "text_en"}], {}), False),
    ],
)
def test_fields_are_indexed_in_one_way(db: Database, one: Any, two: Any, fits: bool) -> None:
    members = [index(db, "one", "i", *one[0], **one[1]), index(db, "two", "j", *two[0], **two[1])]
    if fits:
        view(db, *members)
        return
    with pytest.raises(ArangoError) as caught:
        view(db, *members)
    assert caught.value.num == 10


@pytest.mark.parametrize(
    ("fields", "more", "fits"),
    [(["b"], {}, True), (["a[*]"], {}, False), (["b"], {"includeAllFields": True}, False)],
)
def test_a_field_stands_in_one_index_of_a_collection(db: Database, fields: Any, more: Any, fits: bool) -> None:
    members = [index(db, "one", "i", "a"), index(db, "one", "j", *fields, **more)]
    if fits:
        view(db, *members)
        return
    with pytest.raises(ArangoError) as caught:
        view(db, *members)
    assert caught.value.num == 10


def test_what_is_not_there_cannot_be_named(db: Database) -> None:
    member = index(db, "one", "i", "a")
    for members in (
        [member, member],
        [{**member, "operation": "del"}],
        [{**member, "operation": "move"}],
        [{"collection": "three", "index": "i"}],
        [{"collection": "one", "index": "j"}],
    ):
        with pytest.raises(ArangoError) as caught:
            view(db, *members)
        assert caught.value.num == 10


def test_a_path_is_indexed_once(db: Database) -> None:
    with pytest.raises(ArangoError) as caught:
        index(db, "one", "i", "a", "a[*]")
    assert caught.value.num == 10


HINT = "FOR d IN %s OPTIONS {indexHint: 'i'%s} FILTER %s SORT d.n RETURN d.n"


@pytest.mark.parametrize("forced", ["", ", forceIndexHint: true"])
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("d.text == 'fox'", [1, 3]),  # a word of it, which only the index knows
        ("d.text == 'fox' AND d.n > 1", [3]),
        ("d.n > 1 AND (d.n < 3 OR d.n == 3) AND d.text == 'fox'", [3]),
        ("d.text == 'fox' AND IN_RANGE(2, d.low, d.high, true, true)", [1]),
        ("d.text == 'fox' AND LENGTH(d.text) > 3", [3]),
    ],
)
def test_an_index_answers_what_it_knows(db: Database, forced: str, condition: str, expected: list[int]) -> None:
    db.collection(
        "texts",
        [
            {"n": 1, "text": "fox", "low": 1, "high": 4},
            {"n": 2, "text": "dog", "low": 1, "high": 4},
            {"n": 3, "text": "a fox", "low": 3, "high": 4},
        ],
    )
    index(db, "texts", "i", WORDS)
    assert db.run(HINT % ("texts", forced, condition)) == expected


def test_a_hint_that_nothing_comes_of(db: Database) -> None:
    db.collection("texts", [{"n": 1, "text": "fox"}])
    index(db, "texts", "i", WORDS)
    assert db.run(HINT % ("texts", "", "d.n == 1")) == [1]
    with pytest.raises(ArangoError) as caught:
        db.run("FOR d IN texts OPTIONS {indexHint: 'i', forceIndexHint: true} FILTER d.n == 1 RETURN d.n")
    assert caught.value.num == 1577


def test_patterns_of_a_search_drop_escapes(db: Database) -> None:
    db.collection("texts", [{"n": 1, "text": "c"}, {"n": 2, "text": ""}, {"n": 3, "text": "a%"}])
    index(db, "texts", "i", "text")
    query = "FOR d IN texts OPTIONS {indexHint: 'i', forceIndexHint: true} FILTER d.text LIKE @p RETURN d.n"
    assert [db.run(query, {"p": pattern}) for pattern in ("\\c", "\\", "a\\%", "a\\")] == [[1], [2], [3], []]
