"""Tools: schema from the signature, arguments validated, results inside the filters, nothing written; queries of models kept in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from tests.agents.scripted import QUESTION, crew, kinds, opened, plan, settings_of
from tests.conftest import write_video
from vgraph import VGraph
from vgraph.agents.steps import Item, Observation
from vgraph.agents.tools import BUILT_IN, Found, Scope, Toolbox, plugins, tool
from vgraph.errors import UserError
from vgraph.retrieve.bounds import narrowed
from vgraph.types import EvidenceChunk, Filters

EVERYTHING = Filters()
TOOLS = {each.name for each in BUILT_IN}


@pytest.fixture(scope="module")
def graph(site: Path) -> Iterator[VGraph]:
    with opened(site, record=False) as opened_graph:
        yield opened_graph


@pytest.fixture(scope="module")
def box(graph: VGraph) -> Toolbox:
    return graph.toolbox()


# --- functions become tools ---------------------------------------------------------------------------------------------


def test_the_tools_of_the_issue_are_there() -> None:
    assert {
        "visual_search", "transcript_search", "entity_graph_search", "clip_search", "timeline", "co_presence", "summaries", "neighbours",
        "entity", "read_clip", "rewind", "count_and_measure", "aql",
    } <= TOOLS  # fmt: skip


def test_a_function_becomes_a_tool_by_its_docstring_and_signature() -> None:
    def shout(
        scope: Scope, text: Annotated[str, Field(description="What.")], times: Annotated[int, Field(ge=1, le=3)] = 2
    ) -> Found:
        """Say it loud."""
        return Found((Item("r1", text * times),))

    made = tool(shout)
    assert (made.name, made.description) == ("shout", "Say it loud.")
    schema = made.spec.parameters
    assert schema["required"] == ["text"] and schema["additionalProperties"] is False
    assert schema["properties"]["times"] == {
        "default": 2,
        "maximum": 3,
        "minimum": 1,
        "title": "Times",
        "type": "integer",
    }
    assert made.usage == "shout(text: text, times?: integer from 1 to 3)"


@pytest.mark.parametrize("each", BUILT_IN, ids=lambda each: each.name)
def test_every_tool_describes_itself_and_its_schema_is_json(each: Any) -> None:
    assert len(each.description) > 30
    assert json.loads(json.dumps(each.spec.parameters))["type"] == "object"


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("timelines", {}, "there is no tool 'timelines'; the tools are"),
        ("timeline", {}, "entities: Field required"),
        ("timeline", {"entities": []}, "at least 1 item"),
        ("timeline", {"entities": ["Ana"], "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ("timeline", {"entities": ["Ana"], "sql": "drop"}, "sql: Extra inputs are not permitted"),
        ("timeline", {"entities": ["Nobody"]}, "no entity 'Nobody'"),
        ("timeline", {"entities": ["Ana"], "start": "yesterday"}, "is not a time"),
        ("timeline", {"entities": ["Ana"], "cameras": ["roof"]}, "no camera 'roof'; there are: dock, gate"),
        ("visual_search", {"queries": ["a"] * 4}, "at most 3 items"),
        ("transcript_search", {"queries": ["a"], "mode": "psychic"}, "Input should be 'bm25' or 'judged'"),
        ("entity_graph_search", {}, "names a source, a target or a relation"),
        ("timeline", {"entities": ["\ud800"]}, "cannot be used"),
        ("timeline", {"entities": [10**40]}, "cannot be used"),
    ],
)
def test_what_is_wrong_with_a_call_is_told_and_never_raised(
    box: Toolbox, name: str, given: dict[str, Any], told: str
) -> None:
    found = box.call(name, given, EVERYTHING)
    assert told in found.error and not found.items


# --- what they find -----------------------------------------------------------------------------------------------------


def text_of(found: Observation) -> str:
    assert not found.error, found.error
    return found.text


def test_each_tool_finds_what_it_is_for(box: Toolbox) -> None:
    def call(tool_name: str, **arguments: Any) -> str:
        return text_of(box.call(tool_name, arguments, EVERYTHING))

    assert "Ana, relation hands over, target crate 25" in call("entity_graph_search", source="Ana")
    assert "type person" in call("entity", name="Bob")
    assert "crate 25" in call("neighbours", name="Ana")
    assert "measure how_many, total 2" in call("count_and_measure", measure="how_many", types=["person"])
    assert "measure how_often, total 2" in call("count_and_measure", measure="how_often", entities=["Bob"])
    assert "measure how_long, total 6 s" in call("count_and_measure", measure="how_long", entities=["Bob"])
    assert call("timeline", entities=["Bob"]).count("name Bob") == 2
    assert "camera gate" in call("journeys", entities=["Bob"])
    assert "Bob" in call("present_while", name="Ana")
    assert "Ana" in call("co_presence") and "Bob" in call("co_presence")
    assert "Bob" in call("seen_then", first="dock", then="gate", within_seconds=4000)
    assert "The forklift is broken." in call("transcript_search", queries=["forklift"])
    assert "A white van waits." in call("visual_search", queries=["van"])
    assert "Ana hands crate 25 to Bob." in call("clip_search", question="who hands over the crate")
    assert "entities 2" in call("counts_per_interval", types=["person"])


def test_transcript_search_finds_what_was_said_and_not_what_was_only_seen(box: Toolbox) -> None:
    assert text_of(box.call("transcript_search", {"queries": ["forklift"]}, EVERYTHING))
    assert not box.call("transcript_search", {"queries": ["van"]}, EVERYTHING).items


def test_rows_can_be_cited_even_of_queries_that_name_no_clip(box: Toolbox) -> None:
    calls: dict[str, dict[str, Any]] = {
        "co_presence": {}, "dwell": {}, "counts_per_interval": {}, "interval_relations": {"left": "Ana", "right": "Bob"},
    }  # fmt: skip
    for name, arguments in calls.items():
        found = box.call(name, arguments, EVERYTHING)
        assert found.items and all(item.chunks for item in found.items), name


def test_a_clip_is_read_with_those_around_it(box: Toolbox) -> None:
    [key, *_] = [chunk.id for chunk in box.call("clip_search", {"question": "Ana hands crate 25"}, EVERYTHING).chunks]
    assert len(box.call("read_clip", {"clip": f"[{key}]", "neighbours": 1}, EVERYTHING).chunks) == 2
    assert box.call("read_clip", {"clip": "nothing"}, EVERYTHING).notes == (
        "there is no clip 'nothing' that may be looked at",
    )


def test_without_an_image_embedder_visual_search_says_that_it_went_by_captions(box: Toolbox) -> None:
    assert any(
        "by their captions" in note for note in box.call("visual_search", {"queries": ["van"]}, EVERYTHING).notes
    )


def test_judged_transcripts_are_judged_by_the_chat_model_and_cost_is_told(site: Path) -> None:
    judged = plan(("t", "transcript_search", {"queries": ["what is broken"], "mode": "judged"}))
    chat = crew(planner=judged, judge=lambda text: {"relevant": [text.split("[")[-1].split("]")[0]]})
    with opened(site, chat, record=False, route=False) as graph:
        steps = list(graph.run("What is broken?", agent="plan"))
    assert "judge" in steps[-1].answer.spent  # type: ignore[union-attr]
    assert "The forklift is broken." in chat.prompts("judge")[0] and "hands crate 25" not in chat.prompts("judge")[0]
    assert kinds(steps)[:4] == ["asked", "plan", "tool_call", "observation"]


class Colours:
    """An image embedder for which a picture is its mean colour, and a text one of three colours."""

    name, dimension = "colours", 3

    def embed_images(self, images: Sequence[bytes]) -> np.ndarray[Any, Any]:
        import io

        from PIL import Image

        means = np.stack([np.asarray(Image.open(io.BytesIO(image))).reshape(-1, 3).mean(axis=0) for image in images])
        return (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        return np.stack([np.eye(3, dtype=np.float32)[["red", "green", "blue"].index(text)] for text in texts])


def test_with_an_image_embedder_pictures_are_found_by_text_inside_the_filters(tmp_path: Path) -> None:
    with VGraph.open(settings_of(tmp_path)) as graph:
        graph.__dict__["models"] = replace(
            graph.models, image_embed=Colours(), picked=(*graph.models.picked[:0], *_picks(graph))
        )
        for name in ("dock", "gate"):
            video = write_video(tmp_path / f"{name}.mp4", seconds=8, seed=len(name))
            video.with_suffix(".meta.json").write_text('{"start": "2026-03-03T08:00:00Z"}')
            list(graph.ingest([video], camera=name))
        found = graph.toolbox().call("visual_search", {"queries": ["red"]}, EVERYTHING)
        scores = [picture.score or 0 for picture in found.pictures]
        assert found.pictures and scores == sorted(scores, reverse=True) and not found.notes
        dock = graph.toolbox().call("visual_search", {"queries": ["red", "blue"]}, graph.filters(cameras=["dock"]))
        assert {picture.camera for picture in dock.pictures} == {"dock"} == {chunk.camera for chunk in dock.chunks}


def _picks(graph: VGraph) -> tuple[Any, ...]:
    return tuple(replace(pick, spec="colours") if pick.need == "image_embed" else pick for pick in graph.models.picked)


# --- filters ------------------------------------------------------------------------------------------------------------

MOMENT = st.none() | st.integers(0, 20)
SETS = st.none() | st.lists(st.sampled_from("abc"), unique=True).map(tuple)
FILTERS = st.builds(Filters, cameras=SETS, documents=SETS, start_ms=MOMENT, end_ms=MOMENT, not_after=MOMENT)


def lets(filters: Filters, camera: str, document: str, at: int) -> bool:
    """Whether something that lasts a moment passes."""
    return (
        (filters.cameras is None or camera in filters.cameras)
        and (filters.documents is None or document in filters.documents)
        and (filters.start_ms is None or at >= filters.start_ms)
        and (filters.end_ms is None or at < filters.end_ms)
        and (filters.not_after is None or at <= filters.not_after)
    )


@given(FILTERS, FILTERS, st.sampled_from("abc"), st.sampled_from("abc"), st.integers(0, 20))
def test_narrowed_filters_let_through_what_both_do(
    outer: Filters, inner: Filters, camera: str, document: str, at: int
) -> None:
    both = lets(outer, camera, document, at) and lets(inner, camera, document, at)
    assert lets(narrowed(outer, inner), camera, document, at) == both


@given(FILTERS)
def test_every_side_of_the_outer_filters_holds(inner: Filters) -> None:
    outer = Filters(
        places=("yard",), speakers=("Ana",), time_of_day=(60, 120), weekdays=(1, 2), entities=("e",), as_of=5
    )
    cut = narrowed(outer, replace(inner, places=("roof",), speakers=("Ana", "Bob"), weekdays=(2, 3), as_of=9))
    assert (cut.places, cut.speakers, cut.time_of_day, cut.weekdays, cut.entities, cut.as_of) == (
        (),
        ("Ana",),
        (60, 120),
        (2,),
        ("e",),
        5,
    )


DOCK_TIME = (1772524800000, 1772524808000)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_no_call_of_any_tool_leaves_the_filters_of_the_run(box: Toolbox, data: st.DataObject) -> None:
    """Arguments that ask for everything, under filters of the dock alone."""
    given: dict[str, Any] = {}
    each = data.draw(st.sampled_from([each for each in BUILT_IN if each.name not in ("aql", "rewind")]))
    wide: dict[str, Any] = {
        "cameras": [["gate"], ["dock", "gate"], None], "start": ["1970-01-01T00:00:00Z", None], "end": ["2100-01-01T00:00:00Z", None],
        "entities": [["Bob"], ["Bob", "crate 25"]], "name": ["Bob"], "left": ["Bob"], "right": ["crate 25"], "queries": [["Bob"], ["gate"]],
        "question": ["Bob leaves through the gate"], "source": ["Bob"], "target": ["crate 25"], "form": ["days", "window"],
        "first": ["dock"], "then": ["gate"], "clip": ["x"], "measure": ["how_long", "how_many"], "first_start": ["1970-01-01"],
        "first_end": ["2026-03-03T08:59"], "then_start": ["2026-03-03T08:59"], "then_end": ["2100-01-01"], "way": ["rank", "clips"],
    }  # fmt: skip
    for name in each.arguments.model_fields:
        if name in wide:
            given[name] = data.draw(st.sampled_from(wide[name]))
    filters = data.draw(
        st.sampled_from([Filters(cameras=("dock",)), Filters(end_ms=DOCK_TIME[1]), Filters(not_after=DOCK_TIME[1])])
    )
    found = box.call(each.name, given, filters)
    assert {chunk.camera for chunk in found.chunks} <= {"dock"}
    assert "leaves through the gate" not in found.text and "carries" not in found.text
    assert all(item.start_ms is None or item.start_ms <= DOCK_TIME[1] for item in found.items), (given, found.items)


COLUMNS = st.sampled_from(
    [
        "chunk",
        "chunks",
        "camera",
        "cameras",
        "start_ms",
        "end_ms",
        "first_ms",
        "at_ms",
        "total_ms",
        "source",
        "name",
        "embedding",
    ]
)


# --- queries of models --------------------------------------------------------------------------------------------------


def test_a_reading_query_is_run_and_its_rows_can_be_cited(box: Toolbox) -> None:
    query = "FOR c IN chunks FILTER CONTAINS(c.text, @word) RETURN { chunk: c._key, text: c.text }"
    found = box.call("aql", {"query": query, "binds": {"word": "van"}}, EVERYTHING)
    assert [item.chunks for item in found.items] == [
        tuple(chunk.id for chunk in found.chunks)
    ] and "white van" in found.text


@pytest.mark.parametrize(
    "query",
    [
        "FOR c IN chunks REMOVE c IN chunks",
        "INSERT {} INTO chunks",
        "FOR c IN chunks UPDATE c WITH {x: 1} IN chunks",
        "FOR c IN chunks UPSERT {_key: 'a'} INSERT {} UPDATE {} IN chunks",
        "FOR a IN answers RETURN a",
        "FOR a IN ledger RETURN a",
        "FOR a IN vgraph_meta RETURN a",
        "FOR a IN decisions RETURN a",
        "RETURN DOCUMENT('vgraph_meta/schema')",
        "RETURN document /* */ ('answers/x')",
        "LET f = 'DOCUMENT' RETURN CALL(f, 'ledger/x')",
        "RETURN APPLY('DOCUMENT', ['ledger/x'])",
        "FOR c IN chunks RETURN DOCUMENT(CONCAT('led', 'ger/', c._key))",
        "FOR v IN 0..1 ANY 'vgraph_meta/schema' NEXT_CHUNK RETURN v",
        "FOR v, e, p IN 1..1 OUTBOUND 'answers/x' CITES RETURN p",
        "FOR v IN ANY SHORTEST_PATH 'answers/x' TO 'chunks/y' NEXT_CHUNK RETURN v",
        "RETURN COLLECTIONS()",
        "RETURN COLLECTION_COUNT('answers')",
        "RETURN CURRENT_USER()",
        "RETURN CURRENT_DATABASE()",
        "RETURN SLEEP(60)",
        "RETURN my::function()",
        "RETURN FULLTEXT(chunks, 'text', 'van')",
        "FOR x IN _users RETURN x",
        "not a query",
        "",
    ],
)
def test_a_query_that_writes_or_reaches_beyond_is_refused(box: Toolbox, query: str) -> None:
    found = box.call("aql", {"query": query}, EVERYTHING)
    assert found.error and not found.items


@pytest.mark.parametrize(
    "filters", [Filters(cameras=("dock",)), Filters(not_after=1), Filters(speakers=("Ana",)), Filters(start_ms=0)]
)
def test_under_any_filter_no_query_of_a_model_is_run(box: Toolbox, filters: Filters) -> None:
    assert "to which a query cannot be held" in box.call("aql", {"query": "RETURN 1"}, filters).error


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(COLUMNS, inner, max_size=4), max_leaves=8,
)  # fmt: skip


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(COLUMNS, VALUES, max_size=6) | VALUES, max_size=4))
def test_rows_of_any_form_can_be_told(box: Toolbox, rows: list[Any]) -> None:
    found = box.call("aql", {"query": "FOR row IN @rows RETURN row", "binds": {"rows": rows}}, EVERYTHING)
    assert not found.error and len(found.items) == len(rows)


def test_a_query_has_limits_of_rows_and_time(box: Toolbox) -> None:
    assert len(box.call("aql", {"query": "FOR i IN 1..100000 RETURN i"}, EVERYTHING).items) == 100


def test_no_tool_changes_the_graph(graph: VGraph, box: Toolbox) -> None:
    before = list(graph.records())
    for each in BUILT_IN:
        box.call(
            each.name,
            {"query": "RETURN 1", "queries": ["Bob"], "entities": ["Bob"], "name": "Bob", "question": "Bob"},
            EVERYTHING,
        )
        given: dict[str, Any] = {
            "entities": ["Bob"], "name": "Bob", "question": "Bob", "queries": ["Bob"], "left": "Ana", "right": "Bob", "source": "Bob",
            "first": "dock", "then": "gate", "clip": "x", "measure": "how_long", "query": "FOR c IN chunks RETURN c", "camera": "dock",
            "start": "2026-03-03T08:00", "end": "2026-03-03T08:01",
        }  # fmt: skip
        box.call(each.name, {k: v for k, v in given.items() if k in each.arguments.model_fields}, EVERYTHING)
    assert list(graph.records()) == before


# --- tools of other packages --------------------------------------------------------------------------------------------


def weather(scope: Scope, place: str) -> Found:
    """What the weather was at a place."""
    if place == "nowhere":
        raise RuntimeError("no such place")
    return Found((Item("r1", f"sun at {place}"),)) if place != "odd" else "sun"  # type: ignore[return-value]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("weather", "tests.agents.test_tools:weather", plugins.GROUP)
    broken = EntryPoint("broken", "no_such_module:x", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point, broken] if group == plugins.GROUP else [])


def test_a_tool_of_another_package_is_used_only_when_it_is_named(site: Path, offered: None) -> None:
    with opened(site, tools=["weather"]) as graph:
        assert "sun at dock" in graph.toolbox().call("weather", {"place": "dock"}, EVERYTHING).text
    with opened(site) as graph:
        assert "there is no tool 'weather'" in graph.toolbox().call("weather", {"place": "dock"}, EVERYTHING).error


@pytest.mark.parametrize(
    ("place", "told"), [("nowhere", "RuntimeError: no such place"), ("odd", "it gave str, not Found")]
)
def test_what_goes_wrong_in_it_is_told_to_the_model(site: Path, offered: None, place: str, told: str) -> None:
    with opened(site, tools=["weather"]) as graph:
        assert told in graph.toolbox().call("weather", {"place": place}, EVERYTHING).error


@pytest.mark.parametrize(
    ("name", "told"), [("rain", "no package offers the tool 'rain'"), ("broken", "cannot be loaded")]
)
def test_one_that_is_not_there_or_broken_is_a_wrong_setting(site: Path, offered: None, name: str, told: str) -> None:
    with opened(site, tools=[name]) as graph, pytest.raises(UserError, match=told):
        graph.toolbox()


def test_evidence_of_the_tools_is_what_citations_are_made_of(box: Toolbox) -> None:
    found = box.call("clip_search", {"question": QUESTION}, EVERYTHING)
    assert all(isinstance(chunk, EvidenceChunk) and chunk.uri and chunk.frames for chunk in found.chunks)
