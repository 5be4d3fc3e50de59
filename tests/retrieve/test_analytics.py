"""Interval queries by name, from Python and from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from tests.conftest import fresh_store
from tests.store.test_analytics import made
from vgraph.cli import app
from vgraph.errors import NotFoundError, UserError
from vgraph.retrieve.analytics import Analytics
from vgraph.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    _, delta = made(3)
    people = tuple(
        {**entity, "aliases": ["Ben"] if entity["_key"].startswith("ben") else [entity["name"]]}
        for entity in delta.vertices["entities"]
    )
    with fresh_store(tmp_path_factory.mktemp("graph")) as opened:
        opened.apply(type(delta)({**delta.vertices, "entities": people}, delta.edges))
        yield opened


def test_a_name_means_all_records_that_are_one(store: Store) -> None:
    (group,) = Analytics(store).groups(["Ben"])
    assert group.ids == ("entities/ben", "entities/ben2")


def test_rows_tell_the_names(store: Store) -> None:
    analytics = Analytics(store)
    assert {row["name"] for row in analytics.timeline(["Ben", "Ada"])} == {"Ben", "Ada"}
    steps = analytics.journeys(["Ben"])
    assert [step["start_ms"] for step in steps] == sorted(step["start_ms"] for step in steps)
    pairs = analytics.relations(analytics.selection(["Ben"]), analytics.selection(["Ada"]))
    assert {(pair["a"]["name"], pair["b"]["name"]) for pair in pairs} == {("Ben", "Ada")}


def test_nobody_of_that_name_is_said(store: Store) -> None:
    with pytest.raises(NotFoundError, match="no entity 'Zoe'"):
        Analytics(store).timeline(["Zoe"])
    with pytest.raises(UserError, match="nothing to compare"):
        Analytics(store).selection()


COMMANDS = [
    ["timeline", "Ben"], ["journeys", "Ben"], ["absences", "Ben"], ["with", "Ben"], ["said", "Ben"], ["together"],
    ["handover", "dock", "gate"], ["dwell", "--type", "person"], ["seen"], ["counts", "--every", "5s"],
    ["busiest", "--every", "5s"], ["interactions"], ["relations", "Ben", "class:truck"], ["relations", "speaker:ada", "Ben"],
    ["difference", "1970-01-01T00:00:00Z/1970-01-01T00:00:20Z", "1970-01-01T00:00:30Z/1970-01-01T00:00:50Z"],
]  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database file that the command line opens for itself."""
    folder = tmp_path_factory.mktemp("file")
    from vgraph.store import connect

    with Store.open(connect(f"embedded:{folder / 'graph.sqlite'}", "vgraph")) as opened:
        _, delta = made(3)
        named = tuple({**entity, "aliases": [entity["name"]]} for entity in delta.vertices["entities"])
        opened.apply(type(delta)({**delta.vertices, "entities": named}, delta.edges))
    yield f"embedded:{folder / 'graph.sqlite'}"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_analysis_is_a_command(words: list[str], graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_DATABASE__URL", graph)
    told = CliRunner().invoke(app, ["analytics", *words, "--json"])
    assert told.exit_code == 0, told.output
    assert isinstance(json.loads(told.stdout), list)
    shown = CliRunner().invoke(app, ["analytics", *words])
    assert shown.exit_code == 0, shown.output
    assert "{" not in shown.stdout


def test_spans_that_are_none_are_refused(graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_DATABASE__URL", graph)
    told = CliRunner().invoke(app, ["analytics", "difference", "yesterday", "today"])
    assert told.exit_code == 2 and "write START/END" in told.stderr
