"""A chat model's server that misbehaves while a video is ingested: no chunk is lost, and once it is well the graph is whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina

from tests.conftest import MakeVideo, fresh_store
from tests.ingest.test_pipeline import beside
from tests.models.conftest import Request, Response, Server
from vgraph.ingest import Asked, Options, Site, Tools, ingest
from vgraph.media.assets import Assets
from vgraph.models.endpoint import Endpoint
from vgraph.models.offline import HashEmbedder
from vgraph.models.openai import OpenAIChat
from vgraph.store import Store
from vgraph.types import IngestReport

OPTIONS = Options(window_ms=2_000, frame_width=64, entity_types=("person", "object"))
FOUND = {
    "entities": [{"name": "Carla", "type": "person", "description": ""}],
    "relations": [
        {"source": "Carla", "relation": "watches", "target": "Ana", "note": 1, "supporting_text": "while Carla watches", "confidence": 0.9}
    ],
}  # fmt: skip
WRONG = {**FOUND["relations"][0], "source": "Ana hands crate 25 to Bob while Carla watches.", "note": 99}
SENTENCES = {"sentences": []}
INTERVALS = {"intervals": []}


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    with stamina.set_testing(True, attempts=2, cap=True):
        yield made
    made.close()


def said(text: str | None, finish: str = "stop", **message: Any) -> Response:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    return Response({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})


def well(request: Request) -> Response:
    """What a good model answers to each of the three questions."""
    asked = request.json["response_format"]["json_schema"]["schema"]["properties"]
    value = FOUND if "entities" in asked else SENTENCES if "sentences" in asked else INTERVALS
    return said(json.dumps(value))


FAULTS: dict[str, Response] = {
    "rate limit": Response({"error": {"message": "slow down"}}, 429, {"retry-after": "0"}),
    "server error": Response({"error": {"message": "boom"}}, 500),
    "bad gateway": Response(b"<html>502</html>", 502),
    "no JSON": Response(b"\x00\xff\xfe not json at all"),
    "connection cut": Response({"choices": []}, short=True),
    "time-out": Response(hang=True),
    "empty": said(""),
    "null": said(None),
    "no choices": Response({"choices": []}),
    "refusal": said(None, refusal="I can't help with that."),
    "content filter": said("", "content_filter"),
    "prose": said("I'm sorry, but as a language model I cannot do that."),
    "wrong schema": said('{"people": ["Ana"], "links": 3}'),
    "wrong types": said('{"entities": {"name": "Ana"}, "relations": "none"}'),
    "array": said("[1, 2, 3]"),
    "truncated": said('{"entities": [{"name": "Carla", "type": "per', "length"),
    "deep": said("[" * 60_000),
    "tool call": said(
        None, tool_calls=[{"id": "1", "type": "function", "function": {"name": "rm", "arguments": "{}"}}]
    ),
    "too long": Response({"error": {"message": "This model's maximum context length is 10 tokens."}}, 400),
    "unknown type": said('{"entities": [{"name": "Ana", "type": "weapon", "description": ""}], "relations": []}'),
}
LASTING = ("truncated", "too long")
"""What the same question to the same model always meets: it is done without, told, and not asked again."""
BAD_BUT_USABLE: dict[str, str] = {
    "surrogates": json.dumps({"entities": [{"name": "Carla\ud800", "type": "person", "description": "\udfff"}], "relations": []}),
    "prose around": "Sure! Here it is:\n```json\n" + json.dumps(FOUND) + "\n```\nHope this helps!",
    "broken JSON": str(FOUND),
    "thoughts": "<think>{'entities': []}</think>" + json.dumps(FOUND),
    "thousands": json.dumps({"entities": [{"name": f"x{n}", "type": "object", "description": ""} for n in range(5_000)], "relations": []}),
    "wrong spans": json.dumps({"entities": [], "relations": [WRONG]}),
}  # fmt: skip


@pytest.fixture
def video(make_video: MakeVideo) -> Path:
    """Four windows, a caption with structure in the first and one without in the third."""
    made = make_video(seconds=8)
    first = {
        "start": 0.0, "end": 2.0, "text": "Ana hands crate 25 to Bob while Carla watches.",
        "entities": [{"name": "Ana", "type": "person"}, {"name": "Bob", "type": "person"}, {"name": "crate 25", "type": "object"}],
        "relations": [{"source": "Ana", "relation": "hands over", "target": "crate 25", "start": 0.5, "end": 1.5}],
    }  # fmt: skip
    beside(made, [first, {"start": 4.5, "end": 5.5, "text": "Carla leaves."}])
    made.with_suffix(".vtt").write_text(
        "WEBVTT\n\n00:00.500 --> 00:01.500\n<v Ana>Here you are.</v>\n", encoding="utf-8"
    )
    return made


def run(video: Path, store: Store, server: Server, folder: Path) -> IngestReport:
    chat = OpenAIChat(Endpoint(base_url=server.url, timeout_s=0.5, retries=1), "m")
    store.claim_embedding("text", "hash", 64)
    return ingest(video, Site(store, Tools(HashEmbedder(), chat=chat), Assets(folder / "assets"), OPTIONS), Asked())


def chunks(store: Store) -> list[dict[str, Any]]:
    return store.aql("FOR c IN chunks SORT c.index RETURN KEEP(c, 'extraction', 'warnings', 'text', 'fused')").rows


def links(store: Store) -> set[tuple[str, str]]:
    return {(r[0], r[1]) for r in store.aql("FOR l IN LINKS_TO RETURN [l.relation, l.method]").rows}


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in LASTING])
def test_no_chunk_is_lost_and_the_next_run_completes_the_graph(
    fault: str, video: Path, server: Server, tmp_path: Path, store: Store
) -> None:
    server.script = [FAULTS[fault]]
    report = run(video, store, server, tmp_path)
    found = chunks(store)
    assert len(found) == report.chunks == 4
    assert all(c["extraction"] == "structured" for c in found)
    assert any("extraction: " in w for w in found[0]["warnings"]) and any("fusion: " in w for w in found[0]["warnings"])
    assert links(store) == {("hands over", "structured")}
    assert store.documents()[0]["state"] == "partial"

    server.script = [well]
    run(video, store, server, tmp_path)
    assert store.documents()[0]["state"] == "complete"
    assert ("watches", "model:openai:m") in links(store)
    with fresh_store(tmp_path / "other") as undisturbed:
        run(video, undisturbed, server, tmp_path)
        kept = ("chunks", "entities", "HAS_ENTITY", "LINKS_TO", "utterances", "NEXT_CHUNK")
        assert [r for r in store.export() if r[0] in kept] == [r for r in undisturbed.export() if r[0] in kept]


@pytest.mark.parametrize("fault", LASTING)
def test_what_is_beyond_the_model_is_told_and_asked_once(
    fault: str, video: Path, server: Server, tmp_path: Path, store: Store
) -> None:
    server.script = [FAULTS[fault]]
    run(video, store, server, tmp_path)
    found, count = chunks(store), len(server.requests)
    assert len(found) == 4 and any("extraction: " in w for w in found[0]["warnings"])
    assert links(store) == {("hands over", "structured")} and store.documents()[0]["state"] == "complete"
    assert run(video, store, server, tmp_path).outcome == "unchanged" and len(server.requests) == count


@pytest.mark.parametrize("reply", BAD_BUT_USABLE)
def test_what_can_be_repaired_is_no_failure(
    reply: str, video: Path, server: Server, tmp_path: Path, store: Store
) -> None:
    def answer(request: Request) -> Response:
        asked = request.json["response_format"]["json_schema"]["schema"]["properties"]
        return said(BAD_BUT_USABLE[reply]) if "entities" in asked else well(request)

    server.script = [answer]
    run(video, store, server, tmp_path)
    assert store.documents()[0]["state"] == "complete"
    assert chunks(store)[0]["extraction"] == "model:openai:m"
    names = set(store.aql("FOR e IN entities RETURN e.name").rows)
    assert {"Ana", "Bob", "crate 25"} <= names <= {"Ana", "Bob", "crate 25", "Carla"}
    assert all(name.encode() for name in names)


def test_faults_that_come_and_go_leave_every_chunk_whole(
    video: Path, server: Server, tmp_path: Path, store: Store
) -> None:
    script: list[Response | Callable[[Request], Response]] = []
    for name in ("server error", "truncated", "wrong schema", "empty", "surrogates"):
        script += [FAULTS.get(name) or said(BAD_BUT_USABLE[name]), well]
    server.script = [*script, well]
    run(video, store, server, tmp_path)
    assert len(chunks(store)) == 4 and ("hands over", "structured") in links(store)
