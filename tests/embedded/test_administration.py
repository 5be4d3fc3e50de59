"""Access tokens, log levels, options, and user-defined functions."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import user_functions, users
from vgraph.embedded.engine import Engine
from vgraph.embedded.http import App
from vgraph.embedded.http.wire import Answer, Request


@pytest.fixture
def app(tmp_path: Path):
    engine = Engine.open(tmp_path / "x.db")
    with engine.writing() as txn:
        users.create(txn, {"user": "ann", "passwd": "secret"})
        users.create(txn, {"user": "bob", "passwd": "other"})
        users.grant(txn, "ann", "_system", None, "ro")
        users.grant(txn, "bob", "_system", None, "ro")
    app = App(engine, authenticate=True)
    yield app
    app.close()
    engine.close()


def send(app: App, method: str, path: str, body: Any = None, auth: tuple[str, str] = ("root", "")) -> Answer:
    raw = None if body is None else json.dumps(body)
    basic = base64.b64encode(":".join(auth).encode()).decode()
    return app.handle(Request.make(method, path, headers={"authorization": f"Basic {basic}"}, body=raw))


ANN = ("ann", "secret")


def made(app: App, name: str, seconds: int = 60) -> dict[str, Any]:
    body = {"name": name, "valid_until": int(time.time()) + seconds}
    answer = send(app, "POST", "/_api/token/ann", body, ANN)
    assert answer.status == 200
    token: dict[str, Any] = answer.json()
    return token


def test_a_token_stands_for_a_password(app: App):
    token = made(app, "laptop")
    assert token["active"] and token["fingerprint"] == f"v1...{token['token'][-6:]}"
    for name, status in (("ann", 200), ("", 200), ("bob", 401), ("root", 401)):
        assert send(app, "GET", "/_api/version", auth=(name, token["token"])).status == status
    body = {"username": "ann", "password": token["token"]}
    assert "jwt" in send(app, "POST", "/_open/auth", body).json()
    assert "jwt" in send(app, "POST", "/_open/auth", {"password": token["token"]}).json()
    assert send(app, "POST", "/_open/auth", {**body, "username": "bob"}).status == 401


def test_tokens_end(app: App):
    token, late = made(app, "one"), made(app, "late", -1)
    assert not late["active"] and send(app, "GET", "/_api/version", auth=("ann", late["token"])).status == 401
    assert send(app, "DELETE", f"/_api/token/ann/{token['id']}", auth=ANN).status == 200
    assert send(app, "GET", "/_api/version", auth=("ann", token["token"])).status == 401
    assert send(app, "DELETE", f"/_api/token/ann/{token['id']}", auth=ANN).status == 404
    assert send(app, "DELETE", "/_api/token/ann/x", auth=ANN).status == 404
    other = made(app, "other")
    assert send(app, "DELETE", "/_api/user/ann").status == 202
    assert send(app, "GET", "/_api/version", auth=("", other["token"])).status == 401


def test_tokens_are_good_for_a_year_unless_they_say_until_when(app: App):
    token = send(app, "POST", "/_api/token/ann", {"name": "x"}, ANN).json()
    assert token["active"] and token["valid_until"] - token["created_at"] == 365 * 24 * 3600


def test_tokens_are_listed_without_themselves(app: App):
    token = made(app, "laptop")
    del token["token"]
    assert send(app, "GET", "/_api/token/ann", auth=ANN).json() == {"tokens": [token]}
    assert send(app, "GET", "/_api/token/ann").json() == {"tokens": [token]}
    assert send(app, "GET", "/_api/token/bob").json() == {"tokens": []}


def test_tokens_refused(app: App):
    made(app, "laptop")
    body = {"name": "laptop", "valid_until": 1}
    assert send(app, "POST", "/_api/token/ann", body, ANN).status == 409
    assert send(app, "POST", "/_api/token/bob", body, ANN).status == 403
    assert send(app, "POST", "/_api/token/nobody", body).status == 404
    assert send(app, "POST", "/_api/token/ann", {"name": 1, "valid_until": 1}, ANN).status == 400
    assert send(app, "GET", "/_api/version", auth=("ann", "v1.7b7d.00")).status == 401


def test_log_levels_by_topic(app: App):
    found = send(app, "PUT", "/_admin/log/level", {"queries": "debug"}).json()
    assert found["queries"] == "DEBUG" and "general" in found
    assert send(app, "PUT", "/_admin/log/level", {"queries": "loud"}).json()["errorNum"] == 10
    assert "global" in send(app, "GET", "/_admin/log/level?withAppenders=true").json()
    assert send(app, "DELETE", "/_admin/log/level").json()["queries"] != "DEBUG"
    assert send(app, "PUT", "/_admin/log/structured", {"url": True}).json() == {"url": True}
    assert send(app, "PUT", "/_admin/log/structured", {"url": False}).json() == {}


def test_the_latest_requests(app: App):
    send(app, "GET", "/_api/version")
    calls = send(app, "GET", "/_admin/server/api-calls").json()["result"]["calls"]
    assert [(call["requestType"], call["path"], call["database"]) for call in calls[:2]] == [
        ("GET", "/_admin/server/api-calls", "_system"),
        ("GET", "/_api/version", "_system"),
    ]


def test_options_tell_what_holds(app: App):
    options = send(app, "GET", "/_admin/options").json()
    assert options["server.authentication"] is True
    described = send(app, "GET", "/_admin/options-description").json()
    assert described.keys() == options.keys() and described["server.authentication"]["type"] == "boolean"
    assert "database.directory" not in send(app, "GET", "/_admin/options-public").json()
    assert send(app, "GET", "/_admin/license").json()["diskUsage"]["bytesUsed"] > 0
    assert send(app, "GET", "/_admin/support-info").json()["deployment"] == {"type": "single"}
    assert send(app, "GET", "/_admin/server/tls").json()["result"] == {}


def test_a_script_of_a_constant_is_answered_and_no_other(app: App):
    def run(script: str) -> Any:
        request = Request.make("POST", "/_admin/execute", headers={}, body=script, auth=("root", ""))
        return app.handle(request).json()

    assert [run(script) for script in ("return 1", 'return {"a": [2]};', "1")] == [1, {"a": [2]}, None]
    assert run("") == {"error": False, "code": 200}
    assert run("return require('fs')")["errorNum"] == 9


CODE = "function (celsius) { return celsius * 1.8 + 32; }"


def test_functions_are_registered(app: App):
    body = {"name": "temperature::to_f", "code": CODE, "isDeterministic": True}
    assert [send(app, "POST", "/_api/aqlfunction", body).json()["isNewlyCreated"] for _ in range(2)] == [True, False]
    send(app, "POST", "/_api/aqlfunction", {"name": "other::f", "code": CODE})
    assert send(app, "GET", "/_api/aqlfunction?namespace=temperature").json()["result"] == [body]
    assert len(send(app, "GET", "/_api/aqlfunction").json()["result"]) == 2
    assert send(app, "POST", "/_api/cursor", {"query": "RETURN temperature::to_f(1)"}).json()["errorNum"] == 1582
    assert send(app, "DELETE", "/_api/aqlfunction/temperature::to_f").json()["deletedCount"] == 1
    assert send(app, "DELETE", "/_api/aqlfunction/temperature::to_f").json()["errorNum"] == 1582
    assert send(app, "DELETE", "/_api/aqlfunction/other?group=true").json()["deletedCount"] == 1
    assert send(app, "DELETE", "/_api/aqlfunction/other?group=true").json()["deletedCount"] == 0


def test_functions_refused(app: App):
    assert send(app, "POST", "/_api/aqlfunction", {"name": "f", "code": CODE}).json()["errorNum"] == 1580
    assert send(app, "POST", "/_api/aqlfunction", {"name": "a::f", "code": "1"}).json()["errorNum"] == 1581


@pytest.mark.parametrize("code", [CODE, "(x) => x", "async function f() {\n  let a = 'b c'\n  return a // d\n}"])
def test_code_that_may_be_a_function(code: str):
    assert user_functions.is_function(code)


@pytest.mark.parametrize("code", ["", "function (x) { invalid syntax }", "function () { ( }", "function () { 'a' 1 }"])
def test_code_that_is_none(code: str):
    assert not user_functions.is_function(code)


def test_thresholds_of_slow_queries_may_be_fractions(app: App):
    for seconds in (0.1, 5, 0.5):
        found = send(app, "PUT", "/_api/query/properties", {"slowQueryThreshold": seconds}).json()
        assert found["slowQueryThreshold"] == seconds
    assert send(app, "PUT", "/_api/query/properties", {"slowQueryThreshold": "1"}).json()["errorNum"] == 10


def test_explain_fails_on_warnings_where_it_is_asked_to(app: App):
    body = {"query": "FOR i IN 1..10 RETURN 1 / 0"}
    assert [w["code"] for w in send(app, "POST", "/_api/explain", body).json()["warnings"]] == [1562]
    body["options"] = {"failOnWarning": True}
    assert send(app, "POST", "/_api/explain", body).json()["errorNum"] == 1562


def test_running_queries_tell_whether_they_modify(app: App):
    for query in ("RETURN 1 / 0", "INSERT {} INTO c"):
        send(app, "POST", "/_api/collection", {"name": "c"})
        send(app, "POST", "/_api/cursor", {"query": query})
    found = [(entry["modificationQuery"], entry["warnings"]) for entry in app.queries.history()]
    assert found == [(False, 1), (True, 0)]
