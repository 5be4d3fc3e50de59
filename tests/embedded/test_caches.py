"""The results cache and the plan cache, as the HTTP API shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded.engine import Engine
from vgraph.embedded.http import App
from vgraph.embedded.http.wire import Request


@pytest.fixture
def app(tmp_path: Path):
    engine = Engine.open(tmp_path / "x.db")
    app = App(engine)
    for name in ("c", "other"):
        send(app, "POST", "/_api/collection", {"name": name})
    send(app, "POST", "/_api/document/c", [{"_key": str(n), "n": n} for n in range(5)])
    yield app
    app.close()
    engine.close()


def send(app: App, method: str, path: str, body: Any = None) -> Any:
    raw = None if body is None else json.dumps(body)
    return app.handle(Request.make(method, path, headers={}, body=raw)).json()


def ask(app: App, query: str, binds: Any = None, **options: Any) -> Any:
    answer = send(app, "POST", "/_api/cursor", {"query": query, "bindVars": binds or {}, "options": options})
    assert not answer["error"], answer
    return answer


def mode(app: App, value: str) -> None:
    send(app, "PUT", "/_api/query-cache/properties", {"mode": value})


ALL = "FOR d IN c SORT d.n RETURN d.n"


def test_a_result_is_kept_until_its_collection_changes(app: App):
    mode(app, "on")
    assert [ask(app, ALL)["cached"] for _ in range(2)] == [False, True]
    send(app, "POST", "/_api/document/other", {})
    assert ask(app, ALL)["cached"]
    send(app, "DELETE", "/_api/document/c/0")
    answer = ask(app, ALL)
    assert (answer["result"], answer["cached"]) == ([1, 2, 3, 4], False)
    ask(app, "UPDATE '1' WITH {n: 7} IN c")
    assert ask(app, ALL)["result"] == [2, 3, 4, 7]


def test_modes_and_the_cache_option(app: App):
    assert [ask(app, ALL, cache=True)["cached"] for _ in range(2)] == [False, False]
    mode(app, "demand")
    assert [ask(app, ALL)["cached"] for _ in range(2)] == [False, False]
    assert [ask(app, ALL, cache=True)["cached"] for _ in range(2)] == [False, True]
    mode(app, "on")
    assert [ask(app, ALL, cache=False)["cached"] for _ in range(2)] == [False, False]
    answer = send(app, "PUT", "/_api/query-cache/properties", {"mode": "sometimes"})
    assert (answer["code"], answer["errorNum"]) == (400, 10)


@pytest.mark.parametrize(
    "query",
    [
        "RETURN DATE_NOW()",
        "RETURN RAND()",
        "FOR d IN c RETURN DOCUMENT('c/1')",
        "RETURN 1 / 0",  # warns
        "INSERT {} INTO other",
        "FOR v IN 1..1 OUTBOUND 'c/1' other RETURN v",  # may read any collection
    ],
)
def test_what_may_not_be_kept(app: App, query: str):
    if "other" in query and "FOR v" in query:
        send(app, "DELETE", "/_api/collection/other")
        send(app, "POST", "/_api/collection", {"name": "other", "type": 3})
    mode(app, "on")
    assert [ask(app, query)["cached"] for _ in range(2)] == [False, False]


def test_binds_and_batches_of_a_kept_result(app: App):
    mode(app, "on")
    text, body = "FOR d IN @@c FILTER d.n >= @least RETURN d.n", {"batchSize": 2, "count": True}
    for expected in (False, True):
        query = {"query": text, "bindVars": {"@c": "c", "least": 1}, **body}
        answer = send(app, "POST", "/_api/cursor", query)
        assert (answer["count"], answer["cached"], answer["hasMore"]) == (4, expected, True)
        more = send(app, "POST", f"/_api/cursor/{answer['id']}")
        assert len(more["result"]) == 2
    assert not ask(app, text, {"@c": "c", "least": 2})["cached"]
    entries = send(app, "GET", "/_api/query-cache/entries")
    assert [(entry["query"], entry["results"], entry["hits"], entry["dataSources"]) for entry in entries] == [
        (text, 4, 1, ["c"]),
        (text, 3, 0, ["c"]),
    ]
    send(app, "DELETE", "/_api/query-cache")
    assert send(app, "GET", "/_api/query-cache/entries") == []


def test_the_cache_is_bounded(app: App):
    send(app, "PUT", "/_api/query-cache/properties", {"mode": "on", "maxResults": 3, "maxEntrySize": 100})
    for n in range(6):
        ask(app, "RETURN @n", {"n": n})
    ask(app, "RETURN @n", {"n": "x" * 200})
    assert [entry["bindVars"]["n"] for entry in send(app, "GET", "/_api/query-cache/entries")] == [3, 4, 5]


def test_plans_that_were_asked_to_be_kept_are_listed(app: App):
    query = "FOR d IN @@c FILTER d.n == @n RETURN d"
    first = ask(app, query, {"@c": "c", "n": 1}, usePlanCache=True)
    again = ask(app, query, {"@c": "c", "n": 2}, usePlanCache=True)
    ask(app, ALL)
    [entry] = send(app, "GET", "/_api/query-plan-cache")
    assert "planCacheKey" not in first and again["planCacheKey"] == entry["hash"]
    assert (entry["query"], entry["bindVars"], entry["dataSources"], entry["hits"]) == (query, {"@c": "c"}, ["c"], 1)
    assert entry["fullCount"] is False
    send(app, "POST", "/_api/index?collection=c", {"type": "persistent", "fields": ["n"]})
    assert send(app, "GET", "/_api/query-plan-cache") == []
    ask(app, query, {"@c": "c", "n": 1}, usePlanCache=True)
    assert send(app, "DELETE", "/_api/query-plan-cache")["code"] == 200
    assert send(app, "GET", "/_api/query-plan-cache") == []
