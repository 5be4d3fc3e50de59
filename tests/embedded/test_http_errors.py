"""Numbers and statuses of requests that name too little, too much or the wrong thing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl
from vgraph.embedded.engine import Engine
from vgraph.embedded.http import App, Request


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    engine = Engine.open(tmp_path / "errors.db")
    with engine.writing() as txn:
        ddl.create_collection(txn, "c")
        ddl.create_collection(txn, "e", 3)
        txn.collection("c", write=True).insert({"_key": "k"})
    yield App(engine)
    engine.close()


def ask(app: App, method: str, path: str, body: Any = b"", **headers: str) -> tuple[int, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = app.handle(
        Request.make(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()}, body=raw)
    )
    return answer.status, answer.json()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "num"),
    [
        ("POST", "/_api/document", {}, 400, 1204),
        ("GET", "/_api/document", b"", 404, 1203),
        ("GET", "/_api/document/c", b"", 404, 1203),
        ("GET", "/_api/document//c", b"", 404, 1203),
        ("PUT", "/_api/document", {}, 400, 400),
        ("PATCH", "/_api/document/c", {}, 400, 1227),
        ("PATCH", "/_api/document/c/none", [], 400, 1227),
        ("PUT", "/_api/document/c/k", "text", 400, 1227),
        ("DELETE", "/_api/document", b"", 400, 400),
        ("DELETE", "/_api/document/c", b"", 400, 400),
        ("POST", "/_api/document/c", b'{"a": 1, "b": 2, "a": 3}', 400, 600),
        ("POST", "/_api/document/c", b'{"a" : {"b" : 1, "b" : 2}}', 400, 600),
        ("POST", "/_api/document/c", b'{"a" : 1, "b": 2, "a": 3}', 400, 600),
        ("POST", "/_api/collection", b"null", 400, 1208),
        ("POST", "/_api/database", {}, 400, 1208),
        ("POST", "/_api/database", {"name": "_x"}, 400, 1208),
        ("GET", "/_api/edges/e", b"", 400, 1205),
        ("GET", "/_api/edges/none?vertex=c/k", b"", 404, 1203),
        ("POST", "/_api/import?type=documents", b"", 400, 1204),
        ("POST", "/_api/import?collection=c&type=rows", b"[]", 400, 10),
        ("POST", "/_api/view", {"type": "arangosearch"}, 400, 10),
        ("PATCH", "/_api/view/v", {}, 400, 10),
        ("POST", "/_api/user/nobody", {"passwd": "x"}, 404, 1703),
        ("POST", "/_api/cursor", {"query": "INSERT {} INTO v"}, 400, 1237),
    ],
)
def test_errors(app: App, method: str, path: str, body: Any, status: int, num: int) -> None:
    ask(app, "POST", "/_api/view", {"name": "v", "type": "arangosearch"})
    found, answer = ask(app, method, path, body)
    assert (found, answer["errorNum"], answer["error"]) == (status, num, True)


def test_malformed_json_is_told_as_a_server_tells_it(app: App) -> None:
    _, answer = ask(app, "POST", "/_api/document/c", b"{ a: 1 }")
    assert answer["errorMessage"] == "VPackError error: Expecting '\"' or '}'"


@pytest.mark.parametrize(
    "body", [b'{"a":"\\":","b":"x"}', b'{"a" : "\\u0022:", "b": [{"a":1},{"a":2}]}', b'{"a\\\\":1}']
)
def test_names_that_only_look_repeated(app: App, body: bytes) -> None:
    assert ask(app, "POST", "/_api/document/c", body)[0] == 202


def test_revisions_may_stand_in_single_quotes(app: App) -> None:
    _, document = ask(app, "GET", "/_api/document/c/k")
    assert ask(app, "PATCH", "/_api/document/c/k", {"a": 1}, if_match="'other'")[0] == 412
    assert ask(app, "PATCH", "/_api/document/c/k", {"a": 1}, if_match=f"'{document['_rev']}'")[0] == 202


def test_silence_about_many_documents(app: App) -> None:
    assert ask(app, "POST", "/_api/document/c?silent=true", [{"_key": "x"}, {"_key": "y"}]) == (202, {})
    _, answer = ask(app, "POST", "/_api/document/c?silent=true", [{"_key": "x"}, {"_key": "z"}])
    assert [item["errorNum"] for item in answer] == [1210]


def test_documents_of_a_collection_named_by_a_parameter(app: App) -> None:
    status, [answer] = ask(app, "PATCH", "/_api/document?collection=c", [{"_key": "k", "a": 5}])
    assert (status, answer["_key"]) == (202, "k")


def test_a_password_is_checked(app: App) -> None:
    ask(app, "POST", "/_api/user", {"user": "ann", "passwd": "secret"})
    assert ask(app, "POST", "/_api/user/ann", {"passwd": "secret"})[1]["result"] is True
    assert ask(app, "POST", "/_api/user/ann", {"passwd": "other"})[1]["errorNum"] == 1703


def test_graphs_and_what_is_not_in_them(app: App) -> None:
    definition = {"collection": "e", "from": ["c"], "to": ["c"]}
    status, _ = ask(app, "POST", "/_api/gharial?waitForSync=true", {"name": "g", "edgeDefinitions": [definition]})
    assert status == 201
    ask(app, "POST", "/_api/collection", {"name": "other"})
    for kind, num in (("vertex", 1949), ("edge", 1930)):
        for name in ("other", "missing"):
            assert ask(app, "GET", f"/_api/gharial/g/{kind}/{name}/k")[1]["errorNum"] == num
            assert ask(app, "POST", f"/_api/gharial/g/{kind}/{name}", {})[1]["errorNum"] == num
    assert ask(app, "DELETE", "/_api/gharial/g/vertex/missing")[1]["errorNum"] == 1928
    assert ask(app, "PUT", "/_api/gharial/g/edge/e/none", {"_from": "1", "_to": "2"})[1]["errorNum"] == 1233
    assert ask(app, "POST", "/_api/gharial/g/vertex?waitForSync=true", {"collection": "other"})[0] == 202


def test_long_queries_are_shortened_in_lists(app: App) -> None:
    app.queries.properties["maxQueryStringLength"] = 10
    app.queries.properties["slowQueryThreshold"] = 0
    ask(app, "POST", "/_api/cursor", {"query": "RETURN 'äöü'"})
    [entry] = ask(app, "GET", "/_api/query/slow")[1]
    assert entry["query"] == "RETURN 'ä... (5)"


def test_only_edges_have_ends(app: App) -> None:
    ends = {"_from": "c/k", "_to": "c/k", "_other": 1}
    ask(app, "POST", "/_api/document/c", {"_key": "one", **ends})
    ask(app, "POST", "/_api/document/c", [{"_key": "two", **ends}, {"_key": "three"}])
    ask(app, "PATCH", "/_api/document/c/three", ends)
    ask(app, "PUT", "/_api/document/c/k", ends)
    ask(app, "POST", "/_api/cursor", {"query": "INSERT {_key: 'four', _from: 'c/k', _to: 'c/k', _other: 1} INTO c"})
    for key in ("one", "two", "three", "four", "k"):
        assert sorted(ask(app, "GET", f"/_api/document/c/{key}")[1]) == ["_id", "_key", "_other", "_rev"]
    ask(app, "POST", "/_api/document/e", {"_key": "one", **ends})
    assert ask(app, "GET", "/_api/document/e/one")[1]["_from"] == "c/k"


def test_what_is_kept_of_users(app: App) -> None:
    ask(app, "POST", "/_api/user", {"user": "ann", "extra": {"a": {"b": 1}, "c": 1}})
    assert ask(app, "PATCH", "/_api/user/ann", {"extra": {"a": {"d": 2}}})[1]["extra"] == {
        "a": {"b": 1, "d": 2},
        "c": 1,
    }
    assert ask(app, "PUT", "/_api/user/ann/database/later", {"grant": "ro"})[0] == 200
    assert ask(app, "GET", "/_api/user/ann/database/later")[1]["result"] == "ro"
    assert ask(app, "PUT", "/_api/user/ann/database/later/things", {"grant": "ro"})[0] == 404
    assert ask(app, "DELETE", "/_api/user")[1]["errorNum"] == 400


def test_users_of_a_new_database(app: App) -> None:
    assert ask(app, "POST", "/_api/database", {"name": "d1", "users": [{}]})[0] == 400
    assert ask(app, "POST", "/_api/database", {"name": "d1", "users": [{"username": ""}]})[0] == 201


def test_documents_that_a_new_index_cannot_hold(app: App) -> None:
    ask(app, "POST", "/_api/document/c", [{"n": 1}, {"n": 1}])
    status, answer = ask(
        app, "POST", "/_api/index?collection=c", {"type": "persistent", "fields": ["n"], "unique": True}
    )
    assert (status, answer["code"], answer["errorNum"]) == (400, 400, 1210)


def test_collections_are_bound_by_number_too(app: App) -> None:
    number = ask(app, "GET", "/_api/collection/c")[1]["id"]
    query = {"query": "FOR d IN @@c RETURN d._key", "bindVars": {"@c": number}}
    assert ask(app, "POST", "/_api/cursor", query)[1]["result"] == ["k"]
