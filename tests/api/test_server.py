"""The HTTP API: what it answers, how it refuses, whom it lets in; in this process, and over a real socket with `vgraph.client`."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import COMMAND, write_video
from vgraph import Settings, VGraph
from vgraph.api import create, run
from vgraph.api.gate import is_loopback, name_of
from vgraph.api.server import MAX_BODY, _events
from vgraph.app import Step
from vgraph.client import Client
from vgraph.errors import ModelError, NotFoundError, StoreError, Unavailable, UserError, VGraphError

LOCAL = "http://127.0.0.1:8000"
CAPTION = {
    "start": 1, "end": 3, "text": "Ana hands crate 25 to Bob.",
    "entities": [{"name": "Ana", "type": "person"}, {"name": "crate 25", "type": "object"}],
    "relations": [{"source": "Ana", "relation": "hands over", "target": "crate 25"}],
}  # fmt: skip
QUESTION = {"question": "Who hands over crate 25?"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of one captioned video of the camera `dock`."""
    folder = tmp_path_factory.mktemp("api")
    video = write_video(folder / "dock.mp4", seconds=4)
    video.with_suffix(".captions.jsonl").write_text(json.dumps(CAPTION))
    video.with_suffix(".meta.json").write_text('{"start": "2026-03-03T08:00:00Z"}')
    with VGraph.open(settings_of(folder)) as graph:
        assert [report.outcome for report in graph.ingest([video])] == ["ingested"]
    return folder


def settings_of(folder: Path) -> Settings:
    return Settings.load(database={"url": f"embedded:{folder / 'graph.sqlite'}"}, media={"assets": folder / "assets"})


@pytest.fixture(scope="module")
def graph(folder: Path) -> Iterator[VGraph]:
    with VGraph.open(settings_of(folder)) as opened:
        yield opened


@pytest.fixture(scope="module")
def web(graph: VGraph) -> Iterator[TestClient]:
    with TestClient(create(graph, local=True), base_url=LOCAL, raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"time_of_day": "07:00-09:00", "weekdays": ["tue"]}, True),  # 2026-03-03 is a Tuesday
        ({"time_of_day": "09:00-07:00"}, False),
        ({"weekdays": ["mon", 3, "7"]}, False),
        ({"modalities": ["caption"]}, True),
        ({"modalities": ["speech"]}, False),
        ({"as_of": "2026-03-02T00:00:00Z"}, False),  # recorded then, and ingested today
        ({"as_of": "2126-03-02T00:00:00Z"}, True),
        ({"not_after": "2026-03-03T07:00:00Z"}, False),
    ],
)  # fmt: skip
def test_filters_of_a_question_hold(web: TestClient, filters: dict[str, Any], found: bool) -> None:
    answer = web.post("/search", json={"question": "Who hands over?", **filters})
    assert answer.status_code == 200 and bool(answer.json()["chunks"]) == found == bool(answer.json()["hits"])


@pytest.mark.parametrize(
    ("filters", "status", "told"),
    [
        ({"time_of_day": "late"}, 422, "22:00-06:00"),
        ({"weekdays": ["someday"]}, 422, "monday or mon"),
        ({"modalities": ["smell"]}, 422, "caption, speech"),
        ({"places": ["Mars"]}, 404, "no camera's place is 'Mars'"),
        ({"tags": ["night"]}, 404, "tag 'night'"),
        ({"entities": ["Nobody"]}, 404, "no entity 'Nobody'"),
        ({"entity_types": ["dragon"]}, 404, "entity type 'dragon'"),
        ({"relation_types": ["eats"]}, 404, "relation type 'eats'"),
        ({"speakers": ["Nobody"]}, 404, "speaker 'Nobody'"),
        ({"as_of": "yesterday-ish"}, 422, "ISO 8601"),
    ],
)  # fmt: skip
def test_a_filter_that_cannot_be_is_told_with_what_can(
    web: TestClient, filters: dict[str, Any], status: int, told: str
) -> None:
    answer = web.post("/search", json={"question": "Who?", **filters})
    assert answer.status_code == status and told in answer.json()["error"]


# --- answers ------------------------------------------------------------------------------------------------------------


def test_health_tells_the_versions(web: TestClient) -> None:
    answer = web.get("/health").json()
    assert answer["status"] == "ok" and set(answer) == {"status", "version", "arangodb"}


def test_documents_and_cameras_are_listed(web: TestClient) -> None:
    assert [d["camera_label"] for d in web.get("/documents").json()] == ["dock"]
    assert [c["label"] for c in web.get("/cameras").json()] == ["dock"]


def test_an_answer_cites_a_clip_and_a_picture_that_is_served(web: TestClient) -> None:
    answer = web.post("/ask", json=QUESTION).json()
    claim = answer["claims"][0]
    citation = claim["citations"][0]
    assert answer["status"] == "answered" and "Ana" in claim["text"]
    assert (citation["camera"], citation["offset_ms"], citation["end_offset_ms"]) == ("dock", 1_000, 3_000)
    picture = web.get(f"/frames/{citation['frame']}")
    assert picture.headers["content-type"] == "image/jpeg" and picture.content.startswith(b"\xff\xd8")


def test_search_gives_evidence_within_filters(web: TestClient) -> None:
    found = web.post("/search", json={**QUESTION, "cameras": ["dock"], "k": 1}).json()
    assert len(found["chunks"]) == 1 and found["relations"][0]["relation"] == "hands over"
    later = {**QUESTION, "start": "2026-03-04T00:00:00Z"}
    assert web.post("/search", json=later).json()["chunks"] == []
    assert web.post("/ask", json=later).json()["status"] == "not_recorded"


# --- refusals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("GET", "/nowhere", None, 404, "NotFound"),
        ("GET", "/ask", None, 405, "MethodNotAllowed"),
        ("POST", "/ask", {}, 422, "UserError"),
        ("POST", "/ask", {"question": ""}, 422, "UserError"),
        ("POST", "/ask", {"question": "  "}, 422, "UserError"),
        ("POST", "/ask", {"question": "x", "camera": "dock"}, 422, "UserError"),
        ("POST", "/ask", {"question": "x", "k": 0}, 422, "UserError"),
        ("POST", "/ask", {"question": "x", "k": True}, 422, "UserError"),
        ("POST", "/ask", {"question": "x", "start": "yesterday"}, 422, "UserError"),
        ("POST", "/ask", {"question": "x" * 10_001}, 422, "UserError"),
        ("POST", "/ask", {"question": "x", "cameras": ["moon"]}, 404, "NotFoundError"),
        ("POST", "/ask", {"question": "x", "documents": ["none"]}, 404, "NotFoundError"),
        ("GET", "/frames/none/0000/0000000000.jpg", None, 404, "NotFoundError"),
        ("GET", "/frames/..%2f..%2fetc/passwd", None, 422, "UserError"),
        ("GET", "/frames//etc/passwd", None, 422, "UserError"),
    ],
)
def test_what_is_wrong_is_told_as_json_with_its_status(
    method: str, path: str, body: Any, status: int, kind: str, web: TestClient
) -> None:
    answer = web.request(method, path, json=body)
    assert (answer.status_code, answer.json()["kind"]) == (status, kind)
    assert set(answer.json()) == {"error", "kind"} and answer.json()["error"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"question": "\\ud800"}'])
def test_a_body_that_is_no_question_is_refused(content: bytes, web: TestClient) -> None:
    answer = web.post("/ask", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422) and set(answer.json()) == {"error", "kind"}


def test_a_body_that_does_not_say_it_is_json_is_told_how(web: TestClient) -> None:
    answer = web.post("/ask", content=json.dumps(QUESTION), headers={"Content-Type": "text/plain"})
    assert answer.status_code == 422 and "Content-Type: application/json" in answer.json()["error"]


def test_a_wrong_field_is_named_and_its_value_not_repeated(web: TestClient) -> None:
    text = web.post("/ask", json={"question": "x", "k": "s3cret"}).json()["error"]
    assert text.startswith("k: ") and "s3cret" not in text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ModelError("timed out"), 502),
        (Unavailable("gone"), 503),
        (StoreError("refused"), 500),
        (VGraphError("other"), 500),
        (RuntimeError("a secret of ours"), 500),
    ],
)
def test_what_fails_inside_is_told_by_whose_fault_it_is(
    error: Exception, status: int, graph: VGraph, web: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(graph, "search", fail)
    answer = web.post("/search", json=QUESTION)
    assert (answer.status_code, answer.json()["kind"]) == (status, type(error).__name__)
    assert "secret" not in answer.text


def test_bodies_are_limited_by_what_they_announce_and_by_what_comes(web: TestClient) -> None:
    long = b"x" * (MAX_BODY + 1)
    assert web.post("/ask", content=long).status_code == 413

    def pieces() -> Iterator[bytes]:
        yield from (b"x" * 65_536 for _ in range(MAX_BODY // 65_536 + 1))

    answer = web.post("/ask", content=pieces())
    assert (answer.status_code, answer.json()["kind"]) == (413, "TooLarge")


# --- who is let in ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:8000", "a.localhost"]
)
def test_loopback_names_are_answered(host: str, web: TestClient) -> None:
    assert web.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1", "[", "", "localhost.x"]
)
def test_a_name_that_was_made_to_lead_here_is_not(host: str, web: TestClient) -> None:
    answer = web.get("/documents", headers={"Host": host})
    assert (answer.status_code, answer.json()["kind"]) == (421, "Misdirected")


def test_pages_of_another_origin_are_not_answered(web: TestClient) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9"):
        assert web.post("/ask", json=QUESTION, headers={"Origin": origin}).status_code == 403
    assert web.post("/ask", json=QUESTION, headers={"Origin": LOCAL}).status_code == 200


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.com", False),
    ],
)
def test_what_is_loopback(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_a_host_is_taken_out_of_its_authority() -> None:
    assert [name_of(text) for text in ("a:1", "[::1]:1", "[", "")] == ["a", "::1", "", ""]


def test_a_token_guards_all_but_health_and_the_description(graph: VGraph) -> None:
    with TestClient(create(graph, "s3cret"), base_url="http://anywhere") as guarded:
        open_paths = ["/health", "/docs", "/openapi.json"]
        assert [guarded.get(path).status_code for path in open_paths] == [200, 200, 200]
        for header in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic s3cret"},
            {"Authorization": "é"},
        ):
            answer = guarded.get("/documents", headers={k: v.encode() for k, v in header.items()})
            assert (answer.status_code, answer.json()["kind"]) == (401, "Unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert guarded.get("/documents", headers={"Authorization": "Bearer s3cret"}).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.com"])
def test_beyond_loopback_a_token_is_needed(host: str, folder: Path) -> None:
    with pytest.raises(UserError, match="VGRAPH_SERVE__TOKEN"):
        run(settings_of(folder), host=host, port=0, listening=lambda url, guarded: None)


def test_an_address_that_is_taken_is_told(folder: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(UserError, match=r"cannot listen on 127\.0\.0\.1"),
    ):
        run(settings_of(folder), port=taken.getsockname()[1], listening=lambda url, guarded: None)


# --- the description ----------------------------------------------------------------------------------------------------


def test_the_description_names_every_path_and_error(web: TestClient) -> None:
    described = web.get("/openapi.json").json()
    assert set(described["paths"]) == {
        "/health", "/documents", "/cameras", "/search", "/ask", "/relations", "/subgraph", "/runs", "/runs/{run}", "/frames/{asset}",
    }  # fmt: skip
    for operations in described["paths"].values():
        for operation in operations.values():
            assert operation["description"] and {"200", "401", "404", "422", "502", "503"} <= set(
                operation["responses"]
            )


WORDS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
TIMES = st.datetimes().map(str) | st.text(max_size=12)
BODIES = st.fixed_dictionaries(
    {"question": st.text(max_size=40)},
    optional={
        "cameras": st.none() | st.lists(st.just("dock") | st.text(max_size=8), max_size=3),
        "documents": st.none() | st.lists(st.text(max_size=8), max_size=2),
        "start": TIMES, "end": TIMES, "not_after": TIMES, "as_of": TIMES,
        "places": st.lists(st.text(max_size=4), max_size=2), "tags": st.lists(st.text(max_size=4), max_size=2),
        "entities": st.lists(st.text(max_size=4), max_size=2), "modalities": st.lists(st.just("speech") | st.text(max_size=4), max_size=2),
        "time_of_day": st.just("22:00-06:00") | st.text(max_size=11), "weekdays": st.lists(st.integers(0, 8) | st.just("mon"), max_size=3),
        "k": st.integers(-1, 300),
    },
)  # fmt: skip


@given(body=BODIES | JSON)
@settings(max_examples=150, deadline=None)
def test_whatever_is_sent_gets_an_answer_of_the_description(web: TestClient, body: Any) -> None:
    answer = web.post("/ask", json=body)
    assert answer.status_code in (200, 404, 422)
    assert answer.status_code == 200 or set(answer.json()) == {"error", "kind"}


# --- over a socket ------------------------------------------------------------------------------------------------------


class Served:
    """`vgraph serve` as a process of its own."""

    def __init__(self, folder: Path, **environment: str) -> None:
        at = {
            "VGRAPH_DATABASE__URL": f"embedded:{folder / 'graph.sqlite'}",
            "VGRAPH_MEDIA__ASSETS": str(folder / "assets"),
        }
        command = [*COMMAND, "serve", "--port", "0"]
        self.process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **at, **environment}, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        self.line = self.process.stderr.readline()
        found = re.search(r"http://\S+", self.line)
        assert found, self.line + self.process.stderr.read()
        self.url = found[0]

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        _, told = self.process.communicate(timeout=30)
        return self.process.returncode, told


def test_steps_come_as_server_sent_events_the_answer_last(web: TestClient) -> None:
    with web.stream("POST", "/ask", json=QUESTION, headers={"Accept": "text/event-stream"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [line.removeprefix("event: ") for line in answer.iter_lines() if line.startswith("event: ")]
    assert events[0] == "step" and events[-1] == "answer" and "error" not in events


def test_an_error_nobody_foresaw_ends_the_stream_as_an_event() -> None:
    def steps() -> Iterator[Step]:
        raise ZeroDivisionError("a secret")
        yield

    events = _events(steps())
    assert b"event: error" in (told := next(events)) and b"ZeroDivisionError" in told and b"secret" not in told
    with pytest.raises(ZeroDivisionError):
        next(events)


def test_what_is_wrong_with_a_question_is_told_before_the_stream_begins(web: TestClient) -> None:
    answer = web.post("/ask", json={**QUESTION, "follow": "nobody"}, headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.json()["kind"]) == (404, "NotFoundError")


def test_runs_are_listed_and_read(web: TestClient) -> None:
    key = web.post("/ask", json=QUESTION).json()["run"]
    assert web.get("/runs", params={"limit": 1}).json()[0]["_key"] == key
    whole = web.get(f"/runs/{key}").json()
    assert whole["run"]["question"] == QUESTION["question"]
    assert whole["cited"] and all(cited["there"] for cited in whole["cited"])
    assert web.get("/runs/nobody").status_code == 404


def test_a_server_says_where_it_listens_answers_and_stops_quietly(folder: Path) -> None:
    served = Served(folder)
    try:
        assert "without a token" in served.line and f"{served.url}/docs" in served.line
        with Client(served.url) as client:
            assert client.health()["status"] == "ok"
            assert [d["camera"] for d in client.documents()] == [c["_key"] for c in client.cameras()] == ["dock"]
            citation = client.ask("Who hands over crate 25?", cameras=["dock"])["claims"][0]["citations"][0]
            assert client.frame(citation["frame"]).startswith(b"\xff\xd8")
            assert client.search("crate 25", k=1)["chunks"]
            *steps, (name, answer) = client.run("Who hands over crate 25?", agent="plan")
            assert {kind for kind, _ in steps} == {"step"} and (name, answer["status"]) == ("answer", "answered")
            assert client.runs(1)[0]["_key"] == answer["run"] and client.read_run(answer["run"])["cited"]
            with pytest.raises(NotFoundError, match="no run 'nobody'"):
                list(client.run("And then?", follow="nobody"))
            with pytest.raises(NotFoundError, match="no camera 'moon'"):
                client.search("crate 25", cameras=["moon"])
            with pytest.raises(UserError, match="later: Extra inputs"):
                client.search("crate 25", later="x")
    finally:
        code, told = served.stop()
    assert (code, told) == (0, "")


def test_many_ask_at_once_and_get_the_same(folder: Path) -> None:
    served = Served(folder, VGRAPH_SERVE__TOKEN="s3cret")
    try:
        with Client(served.url) as stranger, pytest.raises(UserError, match="HTTP 401"):
            stranger.documents()
        with Client(served.url, "s3cret") as client, ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda number: client.ask("Who hands over crate 25?"), range(48)))
        runs = {answer.pop("run") for answer in answers}
        assert len(runs) == 48
        assert len({json.dumps(answer) for answer in answers}) == 1
    finally:
        code, told = served.stop()
    assert (code, told) == (0, "")


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with (
            Client(f"http://127.0.0.1:{unused.getsockname()[1]}") as client,
            pytest.raises(Unavailable, match="no answer"),
        ):
            client.health()


def test_an_address_that_is_none_is_the_callers_fault() -> None:
    for address in ("http://host:port", "nonsense", "ftp://host", ""):
        with pytest.raises(UserError, match="is not the address of a server"), Client(address) as client:
            client.health()
