"""`vgraph entities …`, `vgraph cameras adjacent` and `vgraph eval`: what they print, and how they refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.ingest.identity.graph import Graph, run
from vgraph.cli import app
from vgraph.cli.durations import duration
from vgraph.errors import UserError
from vgraph.store import Store, connect

Keys = dict[str, str]


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keys]:
    """A graph with somebody who may be two, two who may be one, and one called the boss."""
    url = f"embedded:{tmp_path / 'graph.sqlite'}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VGRAPH_DATABASE__URL", url)
    graph = Graph()
    found = {
        "maria": graph.seen("Maria Lopez", "dock", 0, 10),
        "mario": graph.seen("Mario Lopez", "gate", 100, 110),
        "boss": graph.seen("the Boss", "gate", 50, 60),
        "jonas": graph.seen("Jonas Weber", "dock", 200, 220),
    }
    graph.seen("Jonas Weber", "gate", 200, 220), graph.seen("van 8610", "gate", 0, 10, type="vehicle")
    with Store.open(connect(url, "vgraph")) as store:
        graph.write(store)
        run(store)
    yield found


def vgraph(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == code, done.output
    return done.output if code else done.stdout


def told(*arguments: str) -> Any:
    return json.loads(vgraph(*arguments, "--json"))


def test_entities_are_listed_by_type_and_by_part_of_a_name(keys: Keys) -> None:
    assert {row["name"] for row in told("entities", "list")} == {
        "Maria Lopez",
        "Mario Lopez",
        "the Boss",
        "Jonas Weber",
        "van 8610",
    }
    assert [row["name"] for row in told("entities", "list", "--type", "vehicle")] == ["van 8610"]
    assert len(told("entities", "list", "--name", "LOPEZ")) == 2
    assert "Maria Lopez" in vgraph("entities", "list")


def test_proposals_tell_what_speaks_for_them_and_are_decided(keys: Keys) -> None:
    found = told("entities", "proposals")
    [merge], [split] = found["merges"], found["splits"]
    assert split["_key"] == keys["jonas"]
    text = vgraph("entities", "proposals")
    assert "sounds like" in text and "may be two" in text
    assert told("entities", "confirm", merge["_key"])["decision"]["kind"] == "confirm"
    assert [edge["status"] for edge in told("entities", "show", "Maria Lopez")["identities"]] == ["confirmed"]
    vgraph("entities", "reject", split["_key"])
    assert told("entities", "proposals") == {"merges": [], "splits": []}
    assert len(told("entities", "proposals", "--status", "confirmed")["merges"]) == 1
    vgraph("entities", "undo"), vgraph("entities", "undo", "1")
    again = told("entities", "proposals")
    assert [edge["_key"] for edge in again["merges"]] == [merge["_key"]]
    assert again["splits"] == found["splits"]
    assert [row["kind"] for row in told("entities", "history")] == ["confirm", "reject", "undo", "undo"]
    assert "undone" in vgraph("entities", "history")


def test_merge_split_and_show(keys: Keys) -> None:
    vgraph("entities", "merge", "Maria Lopez", "the Boss")
    assert "Maria Lopez" in vgraph("entities", "show", "the Boss")
    done = told("entities", "split", "Jonas Weber", "--document", "gate-1", "--name", "Jonas the other")
    assert done["decision"]["selection"]["documents"] == ["gate-1"]
    assert {row["name"] for row in told("entities", "list", "--name", "jonas")} == {"Jonas Weber", "Jonas the other"}
    assert told("entities", "resolve")["entities"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("merge", "Maria Lopez", "nobody"), 4, "no entity 'nobody'"),
        (("merge", "Maria Lopez", "van 8610"), 2, "one thing has one type"),
        (("split", "Maria Lopez"), 2, "--document, --track or --chunk"),
        (("confirm", "x"), 4, "no proposal 'x'"),
        (("confirm", "a", "b", "c"), 2, "name a proposal, or two entities"),
        (("undo",), 2, "no decision to undo"),
        (("undo", "3"), 4, "no decision 3"),
        (("show", "a/b%'; REMOVE"), 4, "no entity"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_and_changes_nothing(
    keys: Keys, arguments: tuple[str, ...], code: int, said: str
) -> None:
    assert said in vgraph("entities", *arguments, code=code)
    assert told("entities", "history") == []


def test_how_cameras_lie_is_told(keys: Keys) -> None:
    assert told("cameras", "adjacent") == []
    vgraph("cameras", "adjacent", "dock", "gate", "--min", "5s", "--max", "1.5min")
    assert told("cameras", "adjacent") == [
        {"a": "dock", "b": "gate", "min_ms": 5000, "max_ms": 90_000, "overlapping": False}
    ]
    assert "1.5" not in vgraph("cameras", "adjacent") and "90 s" in vgraph("cameras", "adjacent")
    vgraph("cameras", "adjacent", "gate", "dock", "--overlapping")
    assert told("cameras", "adjacent")[0]["overlapping"] is True
    vgraph("cameras", "adjacent", "dock", "gate", "--forget")
    assert told("cameras", "adjacent") == []
    assert "no camera 'attic'" in vgraph("cameras", "adjacent", "dock", "attic", code=4)
    assert "name both cameras" in vgraph("cameras", "adjacent", "dock", code=2)
    assert len(told("cameras")) == 2


@pytest.mark.parametrize(
    ("text", "ms"), [("5s", 5000), ("250ms", 250), ("1.5 min", 90_000), ("2h", 7_200_000), ("90", 90_000)]
)
def test_lengths_of_time_are_read(text: str, ms: int) -> None:
    assert duration(text) == ms


@pytest.mark.parametrize("text", ["", "soon", "-5s", "5 fortnights", "1e3s"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="no length of time"):
        duration(text)


def test_a_topic_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "there are: " in vgraph("eval", "ingest", "weather", "--folder", str(tmp_path), code=2)
