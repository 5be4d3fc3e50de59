"""`vgraph search`, `relations`, `subgraph` and `train label` on a graph of two recordings, and the same over HTTP; a scripted rater."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from tests.conftest import write_video
from tests.models.conftest import Request, Response, Server
from tests.models.test_openai import said
from tests.models.test_rating import position, rated
from vgraph import Settings, VGraph
from vgraph.api import create
from vgraph.cli import app
from vgraph.errors import UserError
from vgraph.models.training import read_examples
from vgraph.retrieve.profiles import How
from vgraph.settings import RetrieveSettings

QUESTION = "Who carries crate 25?"
CAPTIONS = {
    "dock": [("Ana carries crate 25 to the dock.", "Ana", "carries", "crate 25")],
    "gate": [("Bob opens the gate.", "Bob", "opens", "the gate"), ("Bob greets Ana.", "Bob", "greets", "Ana")],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cameras, a recording each, with captions, relations and kept frames."""
    folder = tmp_path_factory.mktemp("ask")
    videos = []
    for number, (camera, captions) in enumerate(CAPTIONS.items()):
        video = write_video(folder / f"{camera}.mp4", seconds=4, seed=number)
        lines = [
            {
                "start": n, "end": n + 1, "text": text, "entities": [{"name": a, "type": "person"}, {"name": b, "type": "object"}],
                "relations": [{"source": a, "relation": relation, "target": b}],
            }
            for n, (text, a, relation, b) in enumerate(captions)
        ]  # fmt: skip
        video.with_suffix(".captions.jsonl").write_text("\n".join(map(json.dumps, lines)))
        video.with_suffix(".meta.json").write_text('{"start": "2026-03-03T08:00:00Z"}')
        videos.append(video)
    with VGraph.open(settings_of(folder)) as graph:
        assert {report.outcome for report in graph.ingest(videos)} == {"ingested"}
    return folder


def settings_of(folder: Path, **models: Any) -> Settings:
    return Settings.load(
        database={"url": f"embedded:{folder / 'graph.sqlite'}"}, media={"assets": folder / "assets"},
        models={"caption": "none", "transcribe": "none", "image_embed": "none", "detect": "none", "embed": "wordllama", **models},
    )  # fmt: skip


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VGRAPH_DATABASE__URL", f"embedded:{folder / 'graph.sqlite'}")
    monkeypatch.setenv("VGRAPH_MEDIA__ASSETS", str(folder / "assets"))
    for name, value in {
        "CAPTION": "none",
        "TRANSCRIBE": "none",
        "IMAGE_EMBED": "none",
        "DETECT": "none",
        "EMBED": "wordllama",
    }.items():
        monkeypatch.setenv(f"VGRAPH_MODELS__{name}", value)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


@pytest.fixture
def rater(inside: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Server]:
    """A vision model that rates by a function of what it is shown: JPEG bytes, or the text of a request without a picture."""
    monkeypatch.setenv("VGRAPH_MODELS__OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("VGRAPH_MODELS__INTENT", "openai:v")
    monkeypatch.setenv("VGRAPH_MODELS__RETRIES", "0")

    def scripted(level_of: Callable[[bytes | str], str]) -> Server:
        def answer(request: Request) -> Response:
            content = request.json["messages"][0]["content"]
            picture = (
                content if isinstance(content, str) else base64.b64decode(content[1]["image_url"]["url"].split(",")[1])
            )
            level = level_of(picture)
            return rated(position(level, **{level: 0.9, "3": 0.1}))

        server.script = [answer]
        return server

    return scripted


def vgraph(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == code, done.output
    return done.output if code else done.stdout


def told(*arguments: str) -> Any:
    return json.loads(vgraph(*arguments, "--json"))


# --- packing ------------------------------------------------------------------------------------------------------------


def test_evidence_is_printed_in_the_form_that_is_asked_for(inside: Path) -> None:
    text = vgraph("search", QUESTION, "--format", "text")
    assert all(line.startswith("[") and " camera " in line and ", +0:00:" in line for line in text.splitlines())
    assert "2026-03-03 08:00:00 UTC, +0:00:00, caption: Ana carries crate 25 to the dock." in text
    lines = json.loads(vgraph("search", QUESTION, "--format", "json"))
    assert {line["modality"] for line in lines} >= {"caption", "relation"}
    assert all({"chunk", "camera", "camera_label", "time", "offset_ms", "text"} <= set(line) for line in lines)
    messages = json.loads(vgraph("search", QUESTION, "--format", "messages"))
    assert messages[-1] == {"role": "user", "content": QUESTION}


def test_the_best_may_come_first_and_the_budget_holds(inside: Path) -> None:
    by_score = told("search", QUESTION, "--order", "score", "--hops", "0", "--neighbours", "0")
    assert "crate 25" in by_score["text"].splitlines()[0]
    small = told("search", QUESTION, "--budget", "200")
    assert small["tokens"] <= 200 == small["token_budget"] and len(small["chunks"]) < len(by_score["chunks"])


def test_what_one_question_chooses_are_the_settings_of_retrieval() -> None:
    assert set(get_type_hints(How)) == set(RetrieveSettings.model_fields)


def test_a_wrong_choice_is_told_by_its_name(folder: Path) -> None:
    with VGraph.open(settings_of(folder)) as graph:
        with pytest.raises(UserError, match="hops: Input should be less than or equal to 4"):
            graph.search(QUESTION, hops=9)
        with pytest.raises(UserError, match="fusion: Input should be 'rrf' or 'weighted'"):
            graph.search(QUESTION, fusion="other")  # type: ignore[arg-type]


# --- relations and subgraphs --------------------------------------------------------------------------------------------


def test_relations_are_asked_structurally_and_tell_their_level(inside: Path) -> None:
    found = told("relations", "--source", "ana", "--relation", "carries", "--target", "crate 25", "--enough", "1")
    assert [(hit["level"], hit["source_name"], hit["target_name"]) for hit in found["hits"]] == [
        ("exact", "Ana", "crate 25")
    ]
    assert found["asked"] == ["exact"] and found["evidence"] is None
    wider = told("relations", "--source", "Bob", "--target", "Ana", "--when", "2026-03-03T08:00:00/2026-03-03T08:00:01")
    assert {hit["level"] for hit in wider["hits"]} > {"wider window"} and "exact" not in {
        h["level"] for h in wider["hits"]
    }
    shown = vgraph("relations", "--source", "Bob", "--target", "Ana")
    assert shown.startswith("exact\n    Bob -greets-> Ana: camera gate, 2026-03-03 08:00:01 UTC")


def test_where_no_level_finds_anything_other_legs_do(inside: Path) -> None:
    found = told("relations", "--source", "Zoltan", "--relation", "carries")
    assert found["hits"] == [] and found["asked"][-1] == "each entity alone"
    assert "crate 25" in found["evidence"]["text"]
    assert "crate 25" in vgraph("relations", "--source", "Zoltan", "--relation", "carries")


def test_a_relation_query_that_names_nothing_is_refused(inside: Path) -> None:
    assert "a source, a target or a relation" in vgraph("relations", code=2)
    assert "is no span" in vgraph("relations", "--source", "Ana", "--when", "yesterday", code=2)


def test_filters_are_never_widened(inside: Path) -> None:
    found = told("relations", "--source", "Bob", "--to", "2026-03-03T08:00:01")
    assert [hit["relation"] for hit in found["hits"]] == ["opens"]


def test_a_subgraph_is_printed_whole_or_counted(inside: Path) -> None:
    found = told("subgraph", QUESTION, "--hops", "1", "--edge", "HAS_ENTITY", "--edge", "LINKS_TO")
    names = [node["text"] for node in found["nodes"]]
    assert any("crate 25" in name for name in names) and found["model"].startswith("wordllama")
    assert set(found["relation_types"]) >= {"HAS_ENTITY", "carries"}
    assert len(found["edge_index"][0]) == len(found["edge_ids"])
    assert told("subgraph", QUESTION, "--nodes", "2")["warnings"]
    shown = vgraph("subgraph", QUESTION)
    assert "entity" in shown and "anchors" in shown
    assert "there are no edges LIKES" in vgraph("subgraph", QUESTION, "--edge", "LIKES", code=2)
    assert told("search", QUESTION, "--profile", "graph")["graph"]["anchors"]


# --- intent -------------------------------------------------------------------------------------------------------------


def frames_of(folder: Path, camera: str) -> set[bytes]:
    with VGraph.open(settings_of(folder)) as graph:
        [document] = [d["_key"] for d in graph.documents() if d["camera_label"] == camera]
    return {file.read_bytes() for file in (folder / "assets" / document).rglob("*.jpg")}


def test_frames_that_show_nothing_of_the_question_lead_to_nothing(inside: Path, rater: Any) -> None:
    shown = frames_of(inside, "dock")
    server = rater(lambda picture: "5" if picture in shown else "1")
    found = told("search", QUESTION, "--intent", "frames", "--explain")
    evidence = found["evidence"]
    assert {chunk["camera"] for chunk in evidence["chunks"]} == {"dock"} and "Bob" not in evidence["text"]
    assert {rating["kept"] for rating in evidence["ratings"]} == {True, False}
    assert all(rating["asset"] for rating in evidence["ratings"]) and len(server.requests) == len(evidence["ratings"])
    assert max(r["score"] for r in evidence["ratings"]) == pytest.approx(0.9 * 5 + 0.1 * 3)
    intent = next(stage for stage in found["stages"] if stage["name"] == "intent")
    assert [row["score"] for row in intent["rows"]] == [rating["score"] for rating in evidence["ratings"]]
    listed = vgraph("search", QUESTION, "--intent", "frames")
    assert "4.80" in listed and "1.20" in listed


def test_without_kept_frames_they_are_taken_from_the_recording(
    inside: Path, rater: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VGRAPH_MEDIA__ASSETS", str(tmp_path / "nothing"))
    server = rater(lambda picture: "4")
    found = told("search", QUESTION, "--intent", "frames", "--threshold", "3.5", "--camera", "dock")
    assert found["ratings"] and {rating["asset"] for rating in found["ratings"]} == {None} and found["chunks"]
    assert all(request.content for request in server.requests)


def test_captions_are_rated_by_a_chat_model(inside: Path, rater: Any) -> None:
    rater(lambda text: "5" if "Ana carries crate 25" in text else "2")
    found = told("search", QUESTION, "--intent", "captions")
    assert "crate 25" in found["text"] and "opens" not in found["text"]
    assert {rating["offset_ms"] for rating in found["ratings"]} == {None}


def test_a_rater_that_is_missing_or_mute_is_told(
    inside: Path, server: Server, rater: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = [said("4")]
    assert "without log-probabilities" in vgraph("search", QUESTION, "--intent", "captions", code=5)
    monkeypatch.setenv("VGRAPH_MODELS__INTENT", "none")
    assert "VGRAPH_MODELS__INTENT" in vgraph("search", QUESTION, "--intent", "frames", code=2)


def test_examples_are_labelled_once_and_can_be_trained_on(inside: Path, rater: Any, tmp_path: Path) -> None:
    server = rater(lambda picture: "5")
    questions, out = tmp_path / "questions.txt", tmp_path / "labels.jsonl"
    questions.write_text(f"{QUESTION}\n\n{QUESTION}\n")
    made = told("train", "label", str(questions), "--out", str(out), "--frames", "1")
    assert made["added"] == made["examples"] == len(server.requests) > 0 and made["rater"] == "openai:v"
    [first, *_] = read_examples(out)
    assert (
        first.question == QUESTION
        and isinstance(first.seen, Path)
        and first.levels == pytest.approx((0, 0, 0.1, 0, 0.9))
    )
    out.write_text(out.read_text() + '{"question": "cut')  # a run that was killed
    again = told("train", "label", str(questions), "--out", str(out), "--frames", "1")
    assert (again["added"], again["examples"]) == (0, made["examples"]) and len(server.requests) == made["added"]
    texts = told("train", "label", str(questions), "--out", str(tmp_path / "texts.jsonl"), "--by", "captions")
    assert texts["added"] and all(isinstance(e.seen, str) for e in read_examples(tmp_path / "texts.jsonl"))
    assert "holds something other than examples" in vgraph(
        "train", "label", str(questions), "--out", str(questions), code=2
    )


def test_a_student_is_trained_from_the_command_line(inside: Path, tmp_path: Path) -> None:
    from tests.models.test_transformers_rating import tiny_llama
    from vgraph.models.loading import installed

    if not (installed("peft") and installed("transformers")):
        pytest.skip("peft is not installed (extra train)")
    model, labels = tiny_llama(tmp_path / "llama"), tmp_path / "labels.jsonl"
    rows = [{"question": QUESTION, "text": text, "level": level} for text, level in (("Ana carries.", 5), ("Rain.", 1))]
    labels.write_text("\n".join(map(json.dumps, rows)))
    arguments = ["--model", str(model), "--batch", "2", "--epochs", "6", "--rate", "0.02", "--rank", "4"]
    made = told("train", "intent", str(labels), "--out", str(tmp_path / "adapter"), *arguments)
    assert made["steps"] == 6 and made["losses"][-1] < made["losses"][0]
    assert (tmp_path / "adapter" / "adapter_model.safetensors").is_file()


# --- the same over HTTP -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def web(folder: Path) -> Iterator[TestClient]:
    with (
        VGraph.open(settings_of(folder)) as graph,
        TestClient(create(graph, local=True), base_url="http://127.0.0.1:8000") as client,
    ):
        yield client


def test_a_search_over_http_takes_what_the_settings_hold(web: TestClient) -> None:
    body = {
        "question": QUESTION,
        "k": 1,
        "hops": 0,
        "neighbours": 0,
        "fusion": "weighted",
        "mmr": 0.5,
        "pack": "json",
        "order": "score",
    }
    found = web.post("/search", json=body).json()
    assert len(found["hits"]) == 1 and set(found["hits"][0]["scores"]) <= {"vector", "text"}
    assert json.loads(found["text"])[0]["camera"] == "dock"
    assert web.post("/search", json=body | {"profile": "graph"}).json()["graph"]["nodes"]


@pytest.mark.parametrize("wrong", [{"hops": 5}, {"mmr": 2}, {"pack": "xml"}, {"profile": "magic"}, {"token_budget": 1}])
def test_what_does_not_fit_is_refused(web: TestClient, wrong: dict[str, Any]) -> None:
    answer = web.post("/search", json={"question": QUESTION, **wrong})
    assert answer.status_code == 422 and next(iter(wrong)) in answer.json()["error"]


def test_relations_over_http(web: TestClient) -> None:
    found = web.post("/relations", json={"source": "Ana", "relations": ["carries"], "enough": 1}).json()
    assert [hit["level"] for hit in found["hits"]] == ["exact"]
    spans = {"asked_start": "2026-03-03T08:00:00Z", "asked_end": "2026-03-03T08:00:00.500Z"}
    narrow = web.post(
        "/relations", json={"source": "Bob", "target": "Ana", "form": "days", **spans, "enough": 1}
    ).json()
    assert [hit["level"] for hit in narrow["hits"]] == ["same day"]
    assert web.post("/relations", json={}).status_code == 422


def test_a_subgraph_over_http(web: TestClient) -> None:
    found = web.post("/subgraph", json={"question": QUESTION, "hops": 1, "edges": ["LINKS_TO"], "nodes": 50}).json()
    assert found["nodes"] and set(found["relation_types"]) <= {"carries", "opens", "greets"}
    assert web.post("/subgraph", json={"question": QUESTION, "edges": ["LIKES"]}).status_code == 422
