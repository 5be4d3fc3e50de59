"""Requests with a wrong type somewhere: an error of the caller (4xx), or as if it had not been given; never an internal one."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded.engine import Engine
from vgraph.embedded.http.app import ROUTES, App
from vgraph.embedded.http.wire import Answer, Request

BODIES: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/_api/cursor", {"query": "FOR d IN c RETURN d", "batchSize": 2, "ttl": 3, "count": True, "bindVars": {}}),
    ("POST", "/_api/cursor", {"query": "RETURN 1", "memoryLimit": 1000000, "options": {"maxRuntime": 1, "profile": 1}}),
    (
        "POST",
        "/_api/cursor",
        {"query": "RETURN 1", "options": {"fullCount": True, "maxWarningCount": 1, "stream": True}},
    ),
    ("POST", "/_api/explain", {"query": "RETURN 1", "bindVars": {}, "options": {"optimizer": {"rules": ["-all"]}}}),
    ("POST", "/_api/query", {"query": "RETURN 1"}),
    (
        "POST",
        "/_api/collection",
        {"name": "n", "type": 2, "keyOptions": {"type": "autoincrement"}, "schema": {"rule": {}}},
    ),
    (
        "POST",
        "/_api/index?collection=c",
        {"type": "persistent", "fields": ["a"], "unique": True, "storedValues": ["b"]},
    ),
    ("POST", "/_api/index?collection=c", {"type": "inverted", "fields": ["a"], "analyzer": "identity"}),
    ("POST", "/_api/index?collection=c", {"type": "ttl", "fields": ["a"], "expireAfter": 3}),
    ("POST", "/_api/view", {"name": "w", "type": "arangosearch", "links": {"c": {"fields": {"a": {}}}}}),
    ("PATCH", "/_api/view/v/properties", {"links": {"c": {"includeAllFields": True}}, "commitIntervalMsec": 10}),
    ("POST", "/_api/analyzer", {"name": "an", "type": "text", "properties": {"locale": "en"}, "features": ["norm"]}),
    ("POST", "/_api/gharial", {"name": "h", "edgeDefinitions": [{"collection": "e", "from": ["c"], "to": ["c"]}]}),
    ("POST", "/_api/gharial/g/edge", {"collection": "e2", "from": ["c"], "to": ["c"]}),
    ("POST", "/_api/transaction/begin", {"collections": {"write": ["c"]}, "lockTimeout": 1}),
    ("POST", "/_api/user", {"user": "u", "passwd": "p", "active": True, "extra": {}}),
    ("PATCH", "/_api/user/root", {"passwd": "", "active": True, "extra": {}}),
    ("POST", "/_api/token/root", {"name": "t", "valid_until": 1}),
    ("PUT", "/_api/user/root/database/_system", {"grant": "rw"}),
    ("POST", "/_api/database", {"name": "d", "users": [{"username": "u", "passwd": "x"}]}),
    ("PUT", "/_api/query-cache/properties", {"mode": "off", "maxResults": 1}),
    ("PUT", "/_api/query/properties", {"slowQueryThreshold": 10, "enabled": True}),
    ("POST", "/_api/document/c", {"_key": "1", "a": 1}),
    ("POST", "/_api/edges/e?direction=any", ["c/1"]),
    ("POST", "/_api/aqlfunction", {"name": "a::b", "code": "function () {}"}),
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    1e308,
    10**18,
    "",
    "x",
    "\ud83d\ude00",
    [],
    [[]],
    [1, "a", None],
    {},
    {"a": {}},
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    engine = Engine.open(tmp_path / "x.db")
    app = App(engine)
    prepare(app)
    yield app
    app.close()
    engine.close()


def prepare(app: App) -> None:
    for name, kind in (("c", 2), ("e", 3)):
        send(app, "POST", "/_api/collection", {"name": name, "type": kind})
    send(app, "POST", "/_api/document/c", [{"a": n} for n in range(4)])
    send(
        app,
        "POST",
        "/_api/gharial",
        {"name": "g", "edgeDefinitions": [{"collection": "e", "from": ["c"], "to": ["c"]}]},
    )
    send(app, "POST", "/_api/view", {"name": "v", "type": "arangosearch", "links": {"c": {}}})


def send(app: App, method: str, path: str, body: Any) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return app.handle(Request.make(method, path, headers={}, body=raw))


def expect_answer(app: App, method: str, path: str, body: Any) -> None:
    answer = send(app, method, path, body)
    said = answer.json() if answer.body and "json" in answer.headers.get("content-type", "") else {}
    assert "internal error" not in str(said), (method, path, body, said)


def changed(body: Any) -> Iterator[Any]:
    """The body with one value after another replaced, at any depth."""
    yield from VALUES
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for name, value in items:
        for other in changed(value):
            yield {**body, name: other} if isinstance(body, dict) else [*body[:name], other, *body[name + 1 :]]


@pytest.mark.parametrize(("method", "path", "body"), BODIES)
def test_a_wrong_type_anywhere_in_a_body(app: App, method: str, path: str, body: Any):
    expect_answer(app, method, path, body)
    for other in changed(body):
        expect_answer(app, method, path, other)


def test_any_route_with_any_names_and_parameters(app: App):
    """Names that exist and names that do not, parameters with values of any kind, bodies that are none."""
    rng = random.Random(7)
    names = [
        "c",
        "e",
        "g",
        "v",
        "1",
        "c/1",
        "_system",
        "root",
        "%C3%BC",
        "%25",
        "..",
        "0",
        "-1",
        "9" * 25,
        "done",
        "all",
        "identity",
    ]
    parameters = ["waitForSync", "overwriteMode", "returnNew", "collection", "type", "details", "onDuplicate", "vertex"]
    parameters += [
        "direction",
        "count",
        "onlyget",
        "full",
        "force",
        "group",
        "namespace",
        "stamp",
        "rev",
        "dropCollections",
    ]
    bodies = [b"", b"{", b"\xff\xfe", b"null", b"[]", b"1", b'"x"', b"[" * 3000, b"\x00", b"a,b\n1,2", b'{"a":1}\n{"b"']
    routes = sorted(
        (method, "/".join(parts))
        for (method, _), entries in ROUTES._by_shape.items()
        for parts, _ in entries
        if "shutdown" not in parts
    )
    for number in range(6000):
        if number % 100 == 0:
            prepare(app)
        method, pattern = rng.choice(routes)
        path = "/" + "/".join(rng.choice(names) if part[:1] == "{" else part for part in pattern.split("/"))
        if rng.random() < 0.5:
            path += f"?{rng.choice(parameters)}={rng.choice([*names, 'true', 'list', 'replace', 'in'])}"
        expect_answer(app, method, path, rng.choice([*bodies, *VALUES]))
