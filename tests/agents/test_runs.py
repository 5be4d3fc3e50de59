"""Runs live in the graph: read, explored in AQL, run again, compared; and what a deleted document leaves of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.agents.scripted import QUESTION, crew, do, kinds, opened, plan
from vgraph.agents.steps import record
from vgraph.cli import app
from vgraph.errors import NotFoundError, UserError

PLAN = plan(("find who took it", "entity_graph_search", {"target": "crate 25"}))


@pytest.fixture
def own(site: Path, tmp_path: Path) -> Path:
    """A copy of the site that a test may change."""
    return Path(shutil.copytree(site, tmp_path / "site"))


def test_a_run_is_kept_with_steps_claims_cost_and_what_it_cites(site: Path) -> None:
    with opened(site, crew()) as graph:
        steps = list(graph.run(QUESTION, agent="plan"))
        answer = steps[-1].answer  # type: ignore[union-attr]
        whole = graph.read_run(answer.run)
    kept = whole["run"]
    assert [step["kind"] for step in kept["steps"]] == kinds(steps, replies=True)
    assert kept["claims"][0]["support"] == "supports" and kept["status"] == "answered"
    assert set(kept["cost"]) == {"planner", "router", "analyzer", "grader", "answerer", "verifier"}
    assert kept["tokens"] == answer.usage.input_tokens + answer.usage.output_tokens > 0
    assert {(cited["verdict"], cited["there"]) for cited in whole["cited"]} == {("supports", True)}
    assert {cited["chunk"] for cited in whole["cited"]} == {c.chunk for claim in answer.claims for c in claim.citations}


def test_runs_can_be_explored_in_aql(site: Path) -> None:
    with opened(site, crew()) as graph:
        answer = graph.ask(QUESTION)
        rows = graph.aql(
            "FOR e IN CITES FILTER e._from == @run FOR c IN chunks FILTER c._id == e._to RETURN { text: e.text, camera: c.camera }",
            {"run": f"answers/{answer.run}"},
        ).rows
    assert {row["text"] for row in rows} == {claim.text for claim in answer.claims}


def test_without_a_chat_model_runs_are_kept_too(site: Path) -> None:
    with opened(site) as graph:
        answer = graph.ask(QUESTION)
        assert graph.read_run(answer.run or "")["run"]["method"] == answer.method
        assert graph.replay(answer.run or "").changes == ()


def test_runs_are_kept_only_where_they_are_wanted(site: Path) -> None:
    with opened(site, crew(), record=False) as graph:
        before = len(graph.runs(1000))
        assert graph.ask(QUESTION).run is None
        assert len(graph.runs(1000)) == before


def test_the_latest_runs_come_first(site: Path) -> None:
    with opened(site, crew()) as graph:
        keys = [graph.ask(QUESTION).run for _ in range(2)]
        listed = [row["_key"] for row in graph.runs(2)]
    assert listed == keys[::-1]


# --- run again ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["direct", "plan", "divide", "auto"])
def test_a_run_again_is_the_same_steps_and_asks_no_model(site: Path, agent: str) -> None:
    chat = crew(conqueror=do("entity_graph_search", target="crate 25"))
    with opened(site, chat) as graph:
        key = graph.ask(QUESTION, agent=agent).run or ""
    with opened(site, None) as graph:
        again = graph.replay(key)
        assert again.changes == ()
        assert len(again.steps) == len(graph.read_run(key)["run"]["steps"])


def test_replies_that_were_not_usable_are_said_again(site: Path) -> None:
    chat = crew(planner=[plan(("t", "google", {})), {"nonsense": 1}, PLAN])
    with opened(site, chat) as graph:
        answer = graph.ask(QUESTION, agent="plan")
    with opened(site, None) as graph:
        again = graph.replay(answer.run or "")
    assert again.changes == () and "retry" in kinds(again.steps)


def test_what_the_graph_has_become_shows_in_a_run_again(own: Path) -> None:
    with opened(own, crew()) as graph:
        key = graph.ask(QUESTION, agent="plan").run or ""
        gate = next(d["_key"] for d in graph.documents() if d["camera"] == "gate")
        graph.delete(gate)
        changes = graph.replay(key).changes
    assert {step["kind"] for change in changes for step in change.first} >= {"observation"}


def test_two_runs_are_compared_step_by_step(site: Path) -> None:
    with opened(site, crew()) as graph:
        first, second = (graph.ask(QUESTION, agent="plan").run or "" for _ in range(2))
        other = graph.ask(QUESTION, agent="direct").run or ""
        assert graph.compare_runs(first, second) == ()
        assert graph.compare_runs(first, other)


# --- what is deleted ----------------------------------------------------------------------------------------------------


def test_deleting_a_document_removes_the_edges_to_its_clips_and_keeps_the_answer(own: Path) -> None:
    with opened(own, crew()) as graph:
        key = graph.ask(QUESTION, agent="plan").run or ""
        before = graph.read_run(key)["cited"]
        gate = next(d["_key"] for d in graph.documents() if d["camera"] == "gate")
        removed = graph.delete(gate)
        after = graph.read_run(key)
        assert removed["CITES"] >= len(before) - len(after["cited"]) > 0
        assert all(cited["there"] for cited in after["cited"]) and after["run"]["claims"]
        assert graph.check() == ()


def test_check_finds_an_edge_to_a_clip_that_is_gone(own: Path) -> None:
    with opened(own, crew()) as graph:
        graph.ask(QUESTION)
        edge = {"_key": "stray", "_from": "answers/nobody", "_to": "chunks/nothing", "claim": 0}
        graph._store.runs.write({"_key": "x", "asked_ms": 0, "steps": [], "claims": []}, [edge])
        [fault] = graph.check()
        assert (fault.kind, fault.collection, fault.examples) == ("dangling edge", "CITES", ("stray",))
        graph.check(repair=True)
        assert graph.check() == ()


# --- what is refused ----------------------------------------------------------------------------------------------------


def test_a_run_that_is_not_there_is_told(site: Path) -> None:
    with opened(site) as graph:
        for read in (graph.read_run, graph.replay, lambda key: graph.compare_runs(key, key)):
            with pytest.raises(NotFoundError, match="no run 'a/b'"):
                read("a/b")


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"agent": "genius"}, "not one of direct"),
        ({"choices": ["a"]}, "two or more"),
        ({"choices": ["a", "a"]}, "two or more"),
    ],
)
def test_what_cannot_be_asked_is_told_at_once(site: Path, how: dict[str, Any], told: str) -> None:
    with opened(site) as graph, pytest.raises(UserError, match=told):
        graph.run(QUESTION, **how)


def test_a_run_that_cannot_be_kept_is_answered_all_the_same(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vgraph.errors import StoreError
    from vgraph.store.runs import Runs

    def refused(self: Runs, record: object, citations: object) -> None:
        raise StoreError("read only", collection="answers", number=1004)

    monkeypatch.setattr(Runs, "write", refused)
    with opened(site, crew()) as graph:
        answer = graph.ask(QUESTION)
    assert answer.claims and answer.run is None and any("the run was not kept: read only" in w for w in answer.warnings)


# --- the command line ---------------------------------------------------------------------------------------------------


@pytest.fixture
def typed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("VGRAPH_DATABASE__URL", f"embedded:{site / 'graph.sqlite'}")
    monkeypatch.setenv("VGRAPH_MEDIA__ASSETS", str(site / "assets"))
    monkeypatch.chdir(site)

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, list(words))

    return run


def test_runs_are_listed_shown_replayed_and_compared_as_typed(typed: Any) -> None:
    key = json.loads(typed("ask", QUESTION, "--json").stdout)["run"]
    other = json.loads(typed("ask", "When was the van there?", "--json").stdout)["run"]
    assert key in typed("runs", "list").stdout
    assert QUESTION in typed("runs", "show", key).stdout
    assert typed("runs", "replay", key).exit_code == 0
    assert (typed("runs", "diff", key, key).exit_code, typed("runs", "diff", key, other).exit_code) == (0, 8)
    assert typed("runs", "show", "nobody").exit_code == 4


def test_follow_and_choice_as_typed(typed: Any) -> None:
    first = json.loads(typed("ask", QUESTION, "--json").stdout)["run"]
    again = json.loads(
        typed("ask", QUESTION, "--follow", first, "--choice", "Bob", "--choice", "nobody at all", "--json").stdout
    )
    assert again["choice"] in ("Bob", None)


# --- steps --------------------------------------------------------------------------------------------------------------


def test_every_step_is_json(site: Path) -> None:
    chat = crew(
        conqueror=do("timeline", entities=["Robert"]),
        rescuer={"tool": "timeline", "arguments": {"entities": ["Bob"]}, "reason": ""},
    )
    with opened(site, chat, record=False) as graph:
        for step in graph.run(QUESTION, graph.filters(not_after="2027-01-01"), agent="divide"):
            assert json.loads(json.dumps(record(step))) == record(step)
