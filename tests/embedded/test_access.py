"""An App that authenticates: who gets in, and what grants allow, by any way to the data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl, users
from vgraph.embedded.engine import Engine
from vgraph.embedded.http import Answer, App, Request


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    engine = Engine.open(tmp_path / "access.db")
    with engine.writing() as txn:
        users.change(txn, "root", {"passwd": "top"}, replace=False)
        ddl.create_database(txn, "d", {})
        for name, level in (("writer", "rw"), ("reader", "ro"), ("nobody", None)):
            users.create(txn, {"user": name, "passwd": name})
            if level:
                users.grant(txn, name, "d", None, level)
        users.grant(txn, "writer", "d", "secret", "none")
        users.grant(txn, "writer", "d", "fixed", "ro")
    with engine.writing("d") as txn:
        for name in ("open", "secret", "fixed"):
            ddl.create_collection(txn, name)
            txn.collection(name, write=True).insert({"_key": "a"})
    app = App(engine, authenticate=True)
    yield app
    app.close()
    engine.close()


def ask(app: App, user: str, method: str, path: str, body: Any = None, database: str = "d", **headers: str) -> Answer:
    password = "top" if user == "root" else user
    raw = None if body is None else json.dumps(body)
    return app.handle(Request.make(method, f"/_db/{database}{path}", None, headers, raw, (user, password)))


def query(app: App, user: str, text: str, **headers: str) -> int:
    return ask(app, user, "POST", "/_api/cursor", {"query": text}, **headers).status


def test_a_password_or_a_token_is_needed(app: App) -> None:
    assert app.handle(Request.make("GET", "/_db/d/_api/version")).status == 401
    assert app.handle(Request.make("GET", "/_api/version", auth=("root", "wrong"))).status == 401
    assert ask(app, "root", "GET", "/_api/version").status == 200
    body = json.dumps({"username": "reader", "password": "reader"})
    answer = app.handle(Request.make("POST", "/_open/auth", body=body))
    header = {"authorization": f"bearer {answer.json()['jwt']}"}
    assert app.handle(Request.make("GET", "/_db/d/_api/collection", headers=header)).status == 200
    assert app.handle(Request.make("GET", "/_api/collection", headers={"authorization": "bearer a.b.c"})).status == 401
    assert ask(app, "root", "DELETE", "/_api/user/reader", database="_system").status == 202
    assert app.handle(Request.make("GET", "/_db/d/_api/collection", headers=header)).status == 401


def test_databases_that_are_not_granted_are_closed(app: App) -> None:
    assert ask(app, "nobody", "GET", "/_api/collection").status == 401
    assert ask(app, "writer", "GET", "/_api/collection", database="_system").status == 401


def test_who_may_read_may_not_write_by_any_way(app: App) -> None:
    assert ask(app, "reader", "GET", "/_api/document/open/a").status == 200
    assert query(app, "reader", "FOR d IN open RETURN d") == 201
    for method, path, body in (
        ("POST", "/_api/document/open", {}),
        ("PATCH", "/_api/document/open/a", {}),
        ("DELETE", "/_api/document/open/a", None),
        ("POST", "/_api/import?collection=open&type=list", []),
        ("PUT", "/_api/collection/open/truncate", None),
        ("POST", "/_api/collection", {"name": "new"}),
        ("POST", "/_api/index?collection=open", {"type": "persistent", "fields": ["a"]}),
        ("POST", "/_api/gharial", {"name": "g"}),
        ("POST", "/_api/cursor", {"query": "INSERT {} INTO open"}),
        ("POST", "/_api/transaction/begin", {"collections": {"write": ["open"]}}),
    ):
        assert ask(app, "reader", method, path, body).status == 403, path
    with app.engine.reading("d") as txn:
        assert txn.collection("open").count() == 1


def test_collections_have_grants_of_their_own(app: App) -> None:
    assert query(app, "writer", "INSERT {} INTO open") == 201
    assert query(app, "writer", "FOR d IN fixed RETURN d") == 201
    assert query(app, "writer", "INSERT {} INTO fixed") == 403
    assert ask(app, "writer", "POST", "/_api/document/fixed", {}).status == 403
    for text in ("FOR d IN secret RETURN d", "RETURN DOCUMENT('secret/a')", "RETURN LENGTH(secret)"):
        assert query(app, "writer", text) == 403, text
    for path in ("/_api/document/secret/a", "/_api/collection/secret/count", "/_api/index?collection=secret"):
        assert ask(app, "writer", "GET", path).status == 403, path


def test_stream_transactions_are_guarded_too(app: App) -> None:
    begun = ask(app, "writer", "POST", "/_api/transaction/begin", {"collections": {"write": ["open"]}})
    name = begun.json()["result"]["id"]
    trx = {"x-arango-trx-id": name}
    assert query(app, "writer", "INSERT {} INTO open", **trx) == 201
    assert query(app, "writer", "FOR d IN secret RETURN d", **trx) == 403
    assert ask(app, "root", "GET", f"/_api/transaction/{name}").status == 404
    assert ask(app, "writer", "PUT", f"/_api/transaction/{name}").status == 200


def test_administration_needs_the_system_database(app: App) -> None:
    assert ask(app, "writer", "POST", "/_api/user", {"user": "mine"}).status == 403
    assert ask(app, "writer", "PUT", "/_api/user/writer/database/_system", {"grant": "rw"}).status == 403
    assert ask(app, "writer", "GET", "/_api/user/reader").status == 403
    assert ask(app, "writer", "POST", "/_api/database", {"name": "e"}, database="_system").status == 401
    assert ask(app, "root", "POST", "/_api/database", {"name": "e"}, database="_system").status == 201


def test_everyone_may_change_his_own_password(app: App) -> None:
    assert ask(app, "reader", "PATCH", "/_api/user/reader", {"passwd": "new"}).status == 200
    assert ask(app, "reader", "GET", "/_api/user/reader").status == 401
    assert app.handle(Request.make("GET", "/_db/d/_api/user/reader", auth=("reader", "new"))).status == 200


def test_cursors_and_jobs_belong_to_their_user(app: App) -> None:
    body = {"query": "FOR i IN 1..10 RETURN i", "batchSize": 2}
    cursor = ask(app, "writer", "POST", "/_api/cursor", body).json()["id"]
    assert ask(app, "reader", "POST", f"/_api/cursor/{cursor}").status == 404
    assert ask(app, "writer", "POST", f"/_api/cursor/{cursor}").status == 200
    job = ask(app, "writer", "GET", "/_api/version", **{"x-arango-async": "store"}).headers["x-arango-async-id"]
    app.jobs.wait()
    assert ask(app, "reader", "PUT", f"/_api/job/{job}").status == 404
    assert ask(app, "writer", "PUT", f"/_api/job/{job}").status == 200


def test_a_list_of_collections_shows_those_that_may_be_read(app: App) -> None:
    def names(user: str, database: str = "d") -> set[str]:
        found = ask(app, user, "GET", "/_api/collection", database=database).json()["result"]
        return {collection["name"] for collection in found}

    assert {"open", "fixed"} <= names("writer") and "secret" not in names("writer")
    assert {"open", "fixed", "secret"} <= names("reader")
    assert "_users" not in names("root", "_system") and "_graphs" in names("root", "_system")


def test_some_system_collections_have_one_permission_for_everybody(app: App) -> None:
    def level(user: str, database: str, collection: str) -> str:
        path = f"/_api/user/{user}/database/{database}/{collection}"
        return str(ask(app, "root", "GET", path, database="_system").json()["result"])

    assert [level("root", "_system", name) for name in ("_users", "_queues", "_frontend", "_graphs")] == [
        "none",
        "ro",
        "rw",
        "rw",
    ]
    assert level("reader", "d", "_graphs") == "ro" and level("nobody", "d", "_frontend") == "rw"


def test_a_token_is_renewed_for_its_owner(app: App) -> None:
    body = json.dumps({"username": "reader", "password": "reader"})
    header = {"authorization": f"bearer {app.handle(Request.make('POST', '/_open/auth', body=body)).json()['jwt']}"}
    renewed = app.handle(Request.make("POST", "/_db/d/_open/auth/renew", headers=header)).json()["jwt"]
    header = {"authorization": f"bearer {renewed}"}
    assert app.handle(Request.make("GET", "/_db/d/_api/collection", headers=header)).status == 200
    assert app.handle(Request.make("POST", "/_open/auth/renew")).status == 401
