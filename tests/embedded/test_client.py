"""The engine through python-arango, as a user has it: no server, the same calls."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from arango.client import ArangoClient
from arango.exceptions import (
    AQLQueryExecuteError,
    CursorNextError,
    DocumentInsertError,
    DocumentRevisionError,
    TransactionCommitError,
)

from vgraph.embedded import client as embedded
from vgraph.embedded.errors import ArangoError


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"embedded:{tmp_path / 'client.db'}"


@pytest.fixture
def client(url: str) -> Iterator[ArangoClient]:
    client = embedded.open(url)
    yield client
    client.close()


@pytest.fixture
def db(client: ArangoClient) -> Any:
    return client.db("_system")


def test_urls() -> None:
    assert embedded.path_of("embedded:data/x.db") == Path("data/x.db") == embedded.path_of("embedded://data/x.db")
    assert embedded.is_embedded("embedded:x") and not embedded.is_embedded("http://x")
    for wrong in ("http://localhost", "embedded:"):
        with pytest.raises(ArangoError):
            embedded.path_of(wrong)


def test_documents(db: Any) -> None:
    col = db.create_collection("c")
    meta = col.insert({"_key": "a", "x": 1}, return_new=True)
    assert meta["new"] == col.get("a") and "a" in col and col.count() == 1
    assert [type(item) for item in col.insert_many([{"_key": "b"}, {"_key": "a"}])] == [dict, DocumentInsertError]
    col.update({"_key": "a", "y": 2})
    with pytest.raises(DocumentRevisionError):
        col.replace({"_key": "a", "_rev": meta["_rev"]}, check_rev=True)
    assert col.import_bulk([{"_key": str(n)} for n in range(50)], on_duplicate="error")["created"] == 50
    assert col.get("missing") is None and col.delete("missing", ignore_missing=True) is False
    assert sorted(doc["_key"] for doc in col.get_many(["a", "b", "none"])) == ["a", "b"]
    assert col.truncate() is True and col.count() == 0


def test_queries_come_in_batches(db: Any) -> None:
    cursor = db.aql.execute("FOR i IN 1..@n RETURN i", bind_vars={"n": 2500}, batch_size=1000, count=True)
    assert cursor.count() == 2500 and cursor.has_more()
    assert list(cursor) == list(range(1, 2501))
    streamed = db.aql.execute("FOR i IN 1..2500 RETURN i", batch_size=700, stream=True)
    assert list(streamed) == list(range(1, 2501))


def test_a_batch_can_be_asked_for_again(db: Any) -> None:
    cursor = db.aql.execute("FOR i IN 1..5 RETURN i", batch_size=2, allow_retry=True)
    cursor.batch().clear()
    assert cursor.fetch()["batch"] == [3, 4]
    cursor._next_batch_id = "2"  # as a client does whose answer was lost
    assert cursor.fetch()["batch"] == [3, 4]
    assert cursor.fetch()["batch"] == [5]


def test_cursors_end(db: Any) -> None:
    cursor = db.aql.execute("FOR i IN 1..5 RETURN i", batch_size=2, ttl=1)
    other = db.aql.execute("FOR i IN 1..5 RETURN i", batch_size=2)
    assert other.close() is True
    time.sleep(1.1)
    cursor.batch().clear()
    with pytest.raises(CursorNextError) as error:
        cursor.next()
    assert error.value.error_code == 1600


def test_errors_carry_the_servers_numbers(db: Any) -> None:
    for query, code, status in (
        ("RETURN", 1501, 400),
        ("FOR d IN nowhere RETURN d", 1203, 404),
        ("RETURN @x", 1551, 400),
    ):
        with pytest.raises(AQLQueryExecuteError) as error:
            db.aql.execute(query)
        assert (error.value.error_code, error.value.http_code) == (code, status)


def test_stream_transactions(db: Any) -> None:
    db.create_collection("c")
    txn = db.begin_transaction(write="c")
    txn.collection("c").insert({"_key": "a"})
    list(txn.aql.execute("INSERT {_key: 'b'} INTO c"))
    assert txn.collection("c").count() == 2 and db.collection("c").count() == 0
    assert txn.transaction_status() == "running" and txn.commit_transaction()
    assert db.collection("c").count() == 2 and txn.transaction_status() == "committed"
    txn = db.begin_transaction(write="c")
    txn.collection("c").delete("a")
    txn.abort_transaction()
    assert "a" in db.collection("c")
    with pytest.raises(TransactionCommitError):
        txn.commit_transaction()


def test_a_failed_write_leaves_the_transaction_as_it_was(db: Any) -> None:
    db.create_collection("c")
    txn = db.begin_transaction(write="c")
    txn.collection("c").insert({"_key": "a"})
    with pytest.raises(AQLQueryExecuteError):
        txn.aql.execute("FOR k IN ['x', 'y', 'a'] INSERT {_key: k} INTO c")
    txn.commit_transaction()
    assert [doc["_key"] for doc in db.collection("c").all()] == ["a"]


def test_jobs_run_in_the_background(db: Any) -> None:
    job = db.begin_async_execution().aql.execute("RETURN SLEEP(0.1) OR 42")
    while job.status() != "done":
        time.sleep(0.02)
    assert list(job.result()) == [42]


def test_graphs(db: Any) -> None:
    definition = {"edge_collection": "knows", "from_vertex_collections": ["p"], "to_vertex_collections": ["p"]}
    graph = db.create_graph("g", edge_definitions=[definition])
    people, knows = graph.vertex_collection("p"), graph.edge_collection("knows")
    for key in "abc":
        people.insert({"_key": key})
    knows.link("p/a", "p/b")
    knows.link("p/b", "p/c")
    assert list(db.aql.execute("FOR v IN 1..2 OUTBOUND 'p/a' GRAPH 'g' RETURN v._key")) == ["b", "c"]
    people.delete("b")
    assert knows.count() == 0


def test_databases_and_users(client: ArangoClient, db: Any) -> None:
    db.create_database("two", users=[{"username": "u", "password": "p", "active": True}])
    two = client.db("two", username="u", password="p", auth_method="jwt")
    assert two.properties()["name"] == "two" and db.has_database("two")
    assert db.permission("u", "two") == "rw"
    db.delete_database("two")


def test_clients_of_one_file_share_an_engine(url: str, client: ArangoClient, db: Any) -> None:
    db.create_collection("c").insert({"_key": "a"})
    again = embedded.open(url)
    assert again.db("_system").collection("c").get("a") is not None
    again.close()
    again.close()
    assert db.collection("c").count() == 1


def test_closing_is_clean(tmp_path: Path) -> None:
    for _ in range(3):
        client = embedded.open(tmp_path / "x.db")
        db = client.db("_system")
        if not db.has_collection("c"):
            db.create_collection("c")
        db.begin_transaction(write="c").collection("c").insert({})
        db.aql.execute("FOR i IN 1..10000 RETURN i", batch_size=10, stream=True)
        client.close()
        assert [path.name for path in tmp_path.iterdir()] == ["x.db"]
    with pytest.raises(Exception, match="closed"):
        db.collections()


def test_a_client_can_be_pickled(client: ArangoClient, db: Any) -> None:
    db.create_collection("c")
    other = pickle.loads(pickle.dumps(client))
    assert other.db("_system").has_collection("c")
    other.close()


def _insert_in_child(url: str) -> None:
    client = embedded.open(url)
    client.db("_system").collection("c").insert({"_key": f"child{os.getpid()}"})
    client.close()


def test_other_processes_use_the_same_file(url: str, db: Any) -> None:
    db.create_collection("c")
    child = get_context("spawn").Process(target=_insert_in_child, args=(url,))
    child.start()
    child.join(60)
    assert child.exitcode == 0 and db.collection("c").count() == 1


def test_vectors_come_back_as_they_were_given(db: Any) -> None:
    col = db.create_collection("c")
    exact = [n / 64 for n in range(8)]
    docs = [{"_key": str(n), "embedding": [(n * i % 7 + 1) / 64 for i in range(8)]} for n in range(200)]
    col.insert_many(docs)
    col.add_index(
        {"type": "vector", "fields": ["embedding"], "params": {"metric": "cosine", "dimension": 8, "nLists": 2}}
    )
    col.insert({"_key": "x", "embedding": exact, "after": 1})
    col.update({"_key": "x", "more": 2})
    assert col.get("x")["embedding"] == exact
    near = "FOR d IN c SORT APPROX_NEAR_COSINE(d.embedding, @q) DESC LIMIT 1 RETURN d"
    [best] = db.aql.execute(near, bind_vars={"q": exact})
    assert best["_key"] == "x" and best["embedding"] == exact
