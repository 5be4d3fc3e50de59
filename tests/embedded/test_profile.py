"""What a query's profile tells, and jobs that are cancelled before they begin."""

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
    yield app
    app.close()
    engine.close()


def send(app: App, method: str, path: str, body: Any = None, **headers: str) -> Any:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return app.handle(Request.make(method, path, headers=names, body=None if body is None else json.dumps(body)))


def test_profile_counts_what_each_node_did(app: App):
    query = "FOR n IN 1..10 FILTER n > 4 SORT n DESC LIMIT 2 RETURN n"
    extra = send(app, "POST", "/_api/cursor", {"query": query, "options": {"profile": 2}}).json()["extra"]
    plan = {node["id"]: node["type"] for node in extra["plan"]["nodes"]}
    found = {plan[node["id"]]: node for node in extra["stats"]["nodes"] if node["id"] in plan}
    assert [(kind, node["items"], node["filtered"]) for kind, node in found.items()] == [
        ("SingletonNode", 1, 0),
        ("EnumerateListNode", 6, 4),
        ("SortNode", 2, 0),
        ("LimitNode", 2, 0),
        ("ReturnNode", 2, 0),
    ]
    assert all(node["runtime"] >= node["fetching"] >= 0 for node in found.values())
    assert all(seconds > 0 for seconds in extra["profile"].values())


def test_no_profile_no_nodes(app: App):
    extra = send(app, "POST", "/_api/cursor", {"query": "RETURN 1", "options": {"profile": 1}}).json()["extra"]
    assert "nodes" not in extra["stats"] and "plan" not in extra and "parsing" in extra["profile"]


def test_a_job_cancelled_while_it_waits_never_runs(app: App):
    sleeping = {"query": "RETURN SLEEP(60)"}
    jobs = [send(app, "POST", "/_api/cursor", sleeping, x_arango_async="store") for _ in range(6)]
    names = [answer.headers["x-arango-async-id"] for answer in jobs]
    for name in names:
        assert send(app, "PUT", f"/_api/job/{name}/cancel").json() == {"result": True}
    app.jobs.wait()
    answers = [send(app, "PUT", f"/_api/job/{name}") for name in names]
    assert {(answer.status, answer.json()["errorNum"]) for answer in answers} == {(410, 1500)}


def test_all_jobs_can_be_dropped_also_those_that_run(app: App):
    send(app, "POST", "/_api/cursor", {"query": "RETURN SLEEP(60)"}, x_arango_async="store")
    assert len(send(app, "GET", "/_api/job/pending").json()) == 1
    assert send(app, "DELETE", "/_api/job/all").json() == {"result": True}
    assert send(app, "GET", "/_api/job/pending").json() == []
