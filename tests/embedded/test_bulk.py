"""Documents written together: the outcome, row by row and entry by entry, is that of writing them one by one."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from vgraph.embedded import aql, bulk, ddl, externals, garbage, segmented, view_store
from vgraph.embedded.documents import Collection, Written
from vgraph.embedded.engine import Engine, Transaction
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http import App, Request
from vgraph.embedded.search import store
from vgraph.embedded.search.conditions import Terms
from vgraph.embedded.vectors import index as vector_index

INDEXES = (
    {"type": "persistent", "name": "u", "fields": ["u"], "unique": True, "sparse": True},
    {"type": "persistent", "fields": ["a", "b"]},
    {"type": "persistent", "fields": ["tags[*]"]},
    {"type": "persistent", "fields": ["b"], "sparse": True},
    {"type": "ttl", "fields": ["a"], "expireAfter": 10},
    {"type": "vector", "fields": ["e"], "sparse": True, "params": {"metric": "cosine", "dimension": 3, "nLists": 1}},
)
LINK = {"fields": {"text": {"analyzers": ["text_en"]}, "a": {}}}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr(vector_index, "SEAL", 20)
    monkeypatch.setattr(vector_index, "LEAST", 2)
    monkeypatch.setattr(store, "DIRECT", 30)
    monkeypatch.setattr(segmented, "LEAST", 20)
    engine = Engine.open(tmp_path / "a.db")
    with engine.writing() as txn:
        for name in ("alone", "together"):
            ddl.create_collection(txn, name)
            for index in INDEXES:
                ddl.create_index(txn, name, dict(index))
            view_store.create_view(txn, f"v_{name}", "arangosearch", {"links": {name: LINK}})
            ddl.create_collection(txn, f"{name}_edges", 3)
    yield engine
    engine.close()


def document(draw: random.Random) -> Any:
    """Now and then something that is refused, or a key or a value that was there before."""
    if draw.random() < 0.03:
        return draw.choice([7, None, "text", [1]])
    doc: dict[str, Any] = {"_key": draw.choice([f"k{draw.randrange(40)}", f"n{draw.randrange(10**6)}"])}
    if draw.random() < 0.05:
        doc["_key"] = draw.choice(["", "a/b", 3, False])
    if draw.random() < 0.3:
        doc["u"] = draw.randrange(30)
    doc |= {"a": draw.choice([None, True, 1, 1.5, "x", "y", [1], {"z": 1}, 2**60]), "b": draw.randrange(-5, 5)}
    doc["tags"] = [draw.choice("abc") for _ in range(draw.randrange(3))]
    doc["text"] = draw.choice(["one dog", "two dogs", "", None, "a cat"])
    if draw.random() < 0.9:
        doc["e"] = [draw.random(), draw.random(), 1.0]
    if draw.random() < 0.05:
        doc["e"] = draw.choice([[1.0, 2.0], [1, 2, 3], [True, 1.0, 0.0], None, "e", [0.1, 0.2, 0.3]])
    return doc


def edge(draw: random.Random) -> Any:
    ends = ["alone/1", "alone/2", "x/y"] if draw.random() < 0.95 else ["bad", "a/b/c", 5, None]
    return {
        "_key": f"k{draw.randrange(1000)}",
        "_from": draw.choice(ends),
        "_to": draw.choice(ends),
        "n": draw.random(),
    }


def outcome(result: Written | ArangoError) -> Any:
    if isinstance(result, ArangoError):
        return result.num, result.message
    documents = [
        None if doc is None else {k: v for k, v in doc.items() if k not in ("_rev", "_id")}
        for doc in (result.old, result.new)
    ]
    return result.key, result.rowid, result.ignored, documents


def one_by_one(collection: Collection, docs: list[Any], **options: Any) -> list[Any]:
    found: list[Any] = []
    for doc in docs:
        try:
            found.append(collection.insert(doc, **options))
        except ArangoError as error:
            found.append(error)
    return found


def contents(txn: Transaction, name: str) -> list[Any]:
    """Everything the file holds of a collection, without revisions; index tables under the index's place in the list."""
    collection = txn.collection(name)
    found: list[Any] = [collection.count()]
    found += [(row, {k: v for k, v in doc.items() if k not in ("_rev", "_id")}) for row, doc in collection.scan()]
    for index in collection.indexes:
        if index.type in ("persistent", "ttl"):
            found.append(txn.sql(f"SELECT * FROM i{index.id} ORDER BY 1, 2").fetchall())
        if index.type == "edge":
            found += [
                txn.sql(f"SELECT * FROM e{way}{collection.id} ORDER BY v, id").fetchall() for way in ("out", "in")
            ]
        if isinstance(index, vector_index.VectorIndex):
            rows, scores = index.search(txn, [0.5, 0.1, 1.0], 1000)
            found.append(sorted(zip(rows.tolist(), np.round(scores, 5).tolist(), strict=True)))
    return found


def searched(txn: Transaction, name: str) -> list[int]:
    return sorted(row for _, row in txn.view(f"v_{name}").search(txn, Terms("text", "text_en", ("dog",), 1, 1.0)))


@pytest.mark.parametrize("mode", [None, "conflict", "ignore", "replace", "update"])
@pytest.mark.parametrize("seed", range(6))
def test_inserting_many_is_inserting_each(engine: Engine, seed: int, mode: Any) -> None:
    draw = random.Random(seed)
    options = {"overwrite_mode": mode, "keep_null": draw.random() < 0.5}
    for _ in range(5):
        docs = [document(draw) for _ in range(draw.choice([1, 2, 60]))]
        with engine.writing() as txn:
            alone = one_by_one(txn.collection("alone", write=True), orjson.loads(orjson.dumps(docs)), **options)
            together = txn.collection("together", write=True).insert_many(docs, **options)
            assert list(map(outcome, together)) == list(map(outcome, alone))
            assert contents(txn, "together") == contents(txn, "alone")  # in the transaction that wrote it
        with engine.reading() as txn:
            assert contents(txn, "together") == contents(txn, "alone")
            assert searched(txn, "together") == searched(txn, "alone")


@pytest.mark.parametrize("seed", range(6))
def test_edges_too(engine: Engine, seed: int) -> None:
    draw = random.Random(seed)
    docs = [edge(draw) for _ in range(200)]
    with engine.writing() as txn:
        alone = one_by_one(txn.collection("alone_edges", write=True), docs)
        together = txn.collection("together_edges", write=True).insert_many(docs)
        assert list(map(outcome, together)) == list(map(outcome, alone))
        assert contents(txn, "together_edges") == contents(txn, "alone_edges")


def test_generated_keys_and_those_given_go_together(engine: Engine) -> None:
    with engine.writing() as txn:
        collection = txn.collection("together", write=True)
        written = collection.insert_many([{"n": n} | ({"_key": "5"} if n == 3 else {}) for n in range(2500)])
        assert len({item.key for item in written if isinstance(item, Written)}) == collection.count() == 2500


def test_a_null_key_is_refused_or_left_out_as_it_is_alone(engine: Engine) -> None:
    docs: list[Any] = [{"_key": "a"}, {"_key": None}, {"_key": "b"}]
    with engine.writing() as txn:
        collection = txn.collection("together", write=True)
        left_out = collection.insert_many(docs, keep_null=False)
        refused = collection.insert_many(docs, keep_null=False, overwrite_mode="replace")
        assert [isinstance(item, Written) for item in left_out + refused] == [True, True, True, True, False, True]


def test_what_json_cannot_hold_is_an_error_in_its_place(engine: Engine) -> None:
    with engine.writing() as txn:
        found = txn.collection("together", write=True).insert_many([{"n": 1}, {"n": 2**70}, {"n": 3}])
        assert [item.num if isinstance(item, ArangoError) else 0 for item in found] == [0, 10, 0]


def test_a_block_taken_back_is_gone_from_every_index(engine: Engine) -> None:
    draw = random.Random(1)
    with engine.writing() as txn:
        collection = txn.collection("together", write=True)
        collection.insert_many([document(draw) for _ in range(100)])
        before = contents(txn, "together")
        savepoint = txn.savepoint()
        collection.insert_many([document(draw) for _ in range(100)])
        txn.rollback_to(savepoint)
        assert contents(txn, "together") == before
    with engine.reading() as txn:
        assert contents(txn, "together") == before


def test_another_engine_sees_blocks(engine: Engine) -> None:
    with Opened(engine.path) as other, other.reading() as txn:
        contents(txn, "together")  # its memory is there before the block is
    for size in (15, 15, 15):
        with engine.writing() as txn:
            docs = [{"e": [float(n), 1.0, 0.5], "text": "a dog"} for n in range(size)]
            txn.collection("together", write=True).insert_many(docs)
    with engine.reading() as txn, Opened(engine.path) as other, other.reading() as theirs:
        assert contents(theirs, "together") == contents(txn, "together")
        assert searched(theirs, "together") == searched(txn, "together") and len(searched(txn, "together")) == 45


class Opened:
    def __init__(self, path: Path) -> None:
        self.engine = Engine.open(path)

    def __enter__(self) -> Engine:
        return self.engine

    def __exit__(self, *_: Any) -> None:
        self.engine.close()


# -- UPSERT ---------------------------------------------------------------------------------------------------------

UPSERT = """FOR r IN @rows UPSERT { _key: r._key } INSERT r UPDATE { u: r.u, seen: APPEND(OLD.seen, r.seen), e: r.e } IN @@c
    OPTIONS { ignoreErrors: @@lenient } RETURN [OLD.seen, NEW._key, NEW.seen, NEW.u]"""


@pytest.mark.parametrize("seed", range(8))
def test_upserting_many_is_upserting_each(engine: Engine, seed: int) -> None:
    draw = random.Random(seed)
    text = UPSERT.replace("@@lenient", "true")
    for _ in range(4):
        rows = [doc | {"seen": [n]} for n in range(50) if isinstance(doc := document(draw), dict)]
        together = aql.execute(engine, "_system", text, {"rows": rows, "@c": "together"}).all()
        alone = [aql.execute(engine, "_system", text, {"rows": [row], "@c": "alone"}).all() for row in rows]
        assert together == [result for results in alone for result in results]
        with engine.reading() as txn:
            assert contents(txn, "together") == contents(txn, "alone")


def test_the_first_row_that_fails_is_told(engine: Engine) -> None:
    text = UPSERT.replace("@@lenient", "false")
    rows = [{"_key": "a", "u": 1, "seen": []}, {"_key": "b", "u": 1, "seen": []}, {"_key": "a b", "seen": []}]
    with pytest.raises(ArangoError) as error:
        aql.execute(engine, "_system", text, {"rows": rows, "@c": "together"})
    assert error.value.num == 1210
    with engine.reading() as txn:
        assert txn.collection("together").count() == 0


def test_upsert_finds_what_an_insert_of_another_key_wrote(engine: Engine) -> None:
    text = "FOR r IN @rows UPSERT { _key: r.find } INSERT { _key: r.key, n: 1 } UPDATE { n: OLD.n + 1 } IN together RETURN NEW.n"
    rows = [{"find": "a", "key": "b"}, {"find": "b", "key": "c"}, {"find": "b", "key": "d"}, {"find": "z", "key": "y"}]
    assert aql.execute(engine, "_system", text, {"rows": rows}).all() == [1, 2, 3, 1]


# -- parts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lists",
    [
        [],
        [[]],
        [[1.0], [1.0, 2.0]],
        [[1.0], None],
        [[1, 2.0]],
        [[True]],
        [[1.0], [None]],
        [[[1.0]]],
        ["ab"],
        [[10**30]],
    ],
)
def test_only_floats_of_one_length_are_a_matrix(lists: Any) -> None:
    assert externals.doubles(lists) is None


def test_a_matrix_is_what_the_lists_held() -> None:
    lists = [[0.1, -0.0, 1e300], [float(np.float32(0.1)), 2.0, -3.5]]
    matrix = externals.doubles(lists)
    assert matrix is not None and matrix.tolist() == lists
    assert externals.pack_matrix(matrix) == list(map(externals.pack, lists))


def test_the_collector_is_as_it_was_after_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    states = []
    with garbage.held_back(), garbage.held_back():
        states.append(gc.isenabled())
    states.append(gc.isenabled())
    monkeypatch.setattr(garbage, "LONGEST", -1.0)
    with garbage.held_back():
        with garbage.held_back():
            pass
        states.append(gc.isenabled())  # requests that overlap for long do not keep it off
        with garbage.held_back():
            states.append(gc.isenabled())
    assert states == [False, True, True, False] and gc.isenabled()
    gc.disable()
    try:
        with garbage.held_back():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def ask(engine: Engine) -> Callable[[str, str, Any], Any]:
    app = App(engine)
    return lambda method, url, body: app.handle(Request.make(method, url, body=orjson.dumps(body))).json()


def test_a_list_of_documents_over_http(engine: Engine) -> None:
    docs = [{"_key": "a", "u": 1}, {"_key": "a"}, 5, {"_key": "b", "u": 1}, {"_key": "c"}]
    answer = ask(engine)("POST", "/_api/document/together?returnNew=true", docs)
    assert [item.get("errorNum", item.get("_key")) for item in answer] == ["a", 1210, 1227, 1210, "c"]
    assert answer[4]["new"]["_key"] == "c"
    assert ask(engine)("POST", "/_api/document/together?silent=true", [{}, {"_key": "a"}])[0]["errorNum"] == 1210


def test_blocks_have_a_limit() -> None:
    assert bulk.LARGEST <= 2048  # rows of one IN
