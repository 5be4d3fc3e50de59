"""Documents kept between transactions: always those of the snapshot that asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl
from vgraph.embedded.engine import Engine
from vgraph.embedded.recent import Recent, Shelf


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = Engine.open(tmp_path / "site.vgraph")
    with opened.writing() as txn:
        ddl.create_collection(txn, "things")
        txn.collection("things").insert_many([{"_key": key, "size": 1} for key in ("a", "b", "c")])
    yield opened
    opened.close()


def read(engine: Engine, *keys: str) -> list[Any]:
    """The sizes by key, and the same by row."""
    with engine.reading() as txn:
        things = txn.collection("things")
        by_key = [document and document["size"] for document in things.get_many(keys)]
        rows = [row if row is not None else -1 for row in things.rowids_of(keys)]
        assert [document and document["size"] for document in things.fetch(rows)] == by_key
        return by_key


def test_a_document_is_decoded_once(engine: Engine) -> None:
    with engine.reading() as txn:
        [first] = txn.collection("things").get_many(["a"])
    with engine.reading() as txn:
        [again] = txn.collection("things").get_many(["a"])
    assert first is again


def test_writes_are_seen_and_what_is_removed_is_gone(engine: Engine) -> None:
    assert read(engine, "a", "b", "c", "d") == [1, 1, 1, None]
    with engine.writing() as txn:
        txn.collection("things", write=True).update("a", {"size": 2})
    assert read(engine, "a", "b") == [2, 1]
    with engine.writing() as txn:
        txn.collection("things", write=True).remove("b")
    assert read(engine, "a", "b") == [2, None]
    with engine.writing() as txn:
        txn.collection("things", write=True).insert({"_key": "b", "size": 3})
    assert read(engine, "a", "b") == [2, 3]
    with engine.writing() as txn:
        txn.collection("things", write=True).truncate()
    assert read(engine, "a", "b") == [None, None]


def test_an_older_snapshot_goes_on_seeing_what_it_saw(engine: Engine) -> None:
    with engine.reading() as old:
        with engine.writing() as txn:
            txn.collection("things", write=True).update("a", {"size": 2})
        assert read(engine, "a") == [2]
        [document] = old.collection("things").get_many(["a"])
        assert document is not None and document["size"] == 1
        assert read(engine, "a") == [2]


def test_what_another_process_wrote_is_seen(engine: Engine) -> None:
    assert read(engine, "a", "b") == [1, 1]
    other = Engine.open(engine.path)
    with other.writing() as txn:
        txn.collection("things", write=True).update("a", {"size": 5})
        txn.collection("things", write=True).remove("b")
    other.close()
    assert read(engine, "a", "b") == [5, None]


def test_a_writer_sees_its_own_writes_and_an_abort_leaves_nothing_behind(engine: Engine) -> None:
    assert read(engine, "a") == [1]
    txn = engine.begin()
    things = txn.collection("things", write=True)
    things.update("a", {"size": 7})
    assert [document and document["size"] for document in things.get_many(["a"])] == [7]
    txn.abort()
    assert read(engine, "a") == [1]


def test_a_renamed_collection_gives_documents_their_new_ids(engine: Engine) -> None:
    assert read(engine, "a") == [1]
    with engine.writing() as txn:
        ddl.rename_collection(txn, "things", "objects")
    with engine.reading() as txn:
        [document] = txn.collection("objects").get_many(["a"])
    assert document is not None and document["_id"] == "objects/a"


def test_no_more_is_kept_than_is_allowed() -> None:
    recent = Recent(limit=1000)
    shelf = Shelf(recent, (1, 1), (1, 1))
    recent._shelves[1, "id"] = shelf
    hot = {"n": "hot"}
    shelf.keep([(-1, hot, 50)])
    for number in range(200):
        shelf.keep([(number, {"n": number}, 50)])
        assert shelf.find([-1]) == [hot]  # asked for again and again: it stays
    assert shelf.find([199]) == [{"n": 199}]
    assert sum(document is not None for document in shelf.find(range(200))) <= 1000 // 50


def test_large_documents_are_not_kept() -> None:
    shelf = Shelf(Recent(), (1, 1), (1, 1))
    shelf.keep([(1, {}, 1 << 20)])
    assert shelf.find([1]) == [None]


def test_edges_of_vertices_are_those_of_the_snapshot(engine: Engine) -> None:
    with engine.writing() as txn:
        ddl.create_collection(txn, "links", ddl.EDGE)
        txn.collection("links", write=True).insert({"_key": "one", "_from": "things/a", "_to": "things/b"})

    def ends(direction: Any) -> list[list[str]]:
        with engine.reading() as txn:
            found = txn.collection("links").neighbours(direction, ["things/a", "things/b"])
            return [[other for _, other in edges] for edges in found]

    assert (ends("out"), ends("in")) == ([["things/b"], []], [[], ["things/a"]])
    with engine.writing() as txn:
        txn.collection("links", write=True).insert({"_key": "two", "_from": "things/a", "_to": "things/c"})
        txn.collection("links", write=True).remove("one")
    assert (ends("out"), ends("in")) == ([["things/c"], []], [[], []])
