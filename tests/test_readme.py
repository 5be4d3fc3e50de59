"""README.md is held to the code: whatever can be set, typed, called or pasted is named in it, and its examples run."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from fastapi import FastAPI
from fastapi.routing import APIRoute

import vgraph.api
from vgraph.app import VGraph
from vgraph.cli import app
from vgraph.embedded.aql.lint import lint
from vgraph.embedded.aql.parser import parse
from vgraph.media.captions import read_captions
from vgraph.media.detections import read_mot, read_tracks
from vgraph.media.sidecars import read_meta
from vgraph.media.text import Warnings
from vgraph.settings import Section, Settings
from vgraph.store import Store, connect
from vgraph.store.resources import query, query_names
from vgraph.store.schema import collection_names
from vgraph.types import VideoTrack

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = VideoTrack("h264", 640, 360, 0, 25.0, False, None)


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, without the fences."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def table(heading: str) -> dict[str, tuple[str, ...]]:
    """Rows of the first table under a heading: the first cell, without backquotes, to the others."""
    rows: dict[str, tuple[str, ...]] = {}
    for line in README.split(f"\n{heading}\n", 1)[1].splitlines():
        if line.startswith("|"):
            first, *others = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            rows[first.strip("`")] = tuple(others)
        elif rows:
            break
    return rows


def filters_of(options: str) -> tuple[set[str], str]:
    """The flags that `the filters` (or `the filters (but …)`) stand for in a cell of options, and the rest of the cell."""
    found = re.search(r"the filters(?: \(but ([^)]*)\))?", options)
    if not found:
        return set(), options
    rows = " ".join(f"`{row}`" for row in table("### Filters"))
    return set(re.findall(r"`(--?\w[^`]*)`", rows)) - set(re.findall(r"`([^`]+)`", found[1] or "")), options.replace(
        found[0], ""
    )


def first_line(text: str) -> str:
    return text.strip().splitlines()[0]


# --- what there is ------------------------------------------------------------------------------------------------------


def setting_defaults() -> Iterator[tuple[str, Any]]:
    """Environment name and default of every setting."""
    for section, field in Settings.model_fields.items():
        kind = field.annotation
        assert isinstance(kind, type) and issubclass(kind, Section)
        for name, setting in kind.model_fields.items():
            yield f"VGRAPH_{section}__{name}".upper(), setting.default


def commands() -> dict[str, Any]:
    """Every command by what is typed, subcommands after their group."""
    found, waiting = {}, [("vgraph", typer.main.get_command(app))]
    while waiting:
        path, command = waiting.pop()
        children = getattr(command, "commands", None)
        if children is None or getattr(command, "invoke_without_command", False):
            found[path] = command
        if children is not None:
            waiting.extend((f"{path} {name}", child) for name, child in children.items())
    return found


def api() -> FastAPI:
    return vgraph.api.create(None, None)  # type: ignore[arg-type]


SETTINGS = dict(setting_defaults())
COMMANDS = commands()


def written(default: Any) -> str:
    """A default as the settings table writes it."""
    if default is None:
        return "none"
    if isinstance(default, tuple):
        return f"`{json.dumps([str(item) for item in default])}`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, float):
        return f"`{default:g}`"
    text = default.get_secret_value() if hasattr(default, "get_secret_value") else str(default)
    return f"`{text}`" if text else "empty"


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_stands_in_the_table_with_its_default_and_a_meaning(name: str) -> None:
    default, meaning = table("## Settings")[name]
    assert default == written(SETTINGS[name])
    assert meaning


def test_the_settings_table_names_nothing_else() -> None:
    assert {name for name in table("## Settings") if name.startswith("VGRAPH_")} == set(SETTINGS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_stands_in_the_table_with_its_options(name: str) -> None:
    rows = {re.sub(r" [A-Z…].*$", "", row): cells for row, cells in table("## Commands").items()}
    _, options = rows[name]
    if options == "the same":
        options = rows["vgraph search"][1]
    filters, options = filters_of(options)
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option" and parameter.name != "help":
            for flag in parameter.opts:
                assert flag in filters or f"`{flag}`" in options
                filters.discard(flag)
    assert not filters


def test_the_commands_table_names_nothing_else() -> None:
    named = {re.sub(r" [A-Z…].*$", "", row) for row in table("## Commands") if row.startswith("vgraph")}
    assert named == set(COMMANDS)


def test_every_exit_code_stands_in_the_readme() -> None:
    from vgraph import errors
    from vgraph.cli.console import INTERRUPTED, NOBODY_READS
    from vgraph.cli.graph import FAULTS

    raised = {kind.exit_code for kind in vars(errors).values() if hasattr(kind, "exit_code")}
    named = {int(code) for code in table("### Exit codes") if code.isdigit()}
    assert raised | {0, INTERRUPTED, NOBODY_READS, FAULTS} == named


@pytest.mark.parametrize("route", [r for r in api().routes if isinstance(r, APIRoute)], ids=lambda route: route.path)
def test_every_route_of_the_api_stands_in_the_table(route: APIRoute) -> None:
    path = route.path.replace(":path}", "}")
    assert all(f"{method} {path}" in table("## HTTP API") for method in route.methods)


def test_every_status_of_the_api_stands_in_the_table() -> None:
    from vgraph.api.server import PROBLEMS

    named = {int(code) for row in table("### Token and errors") for code in re.findall(r"\d{3}", row)}
    assert named >= {int(code) for code in PROBLEMS}


def test_every_extra_stands_in_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    section = README.split("## Your own models")[1].split("\n## ")[0]
    assert not [extra for extra in project["optional-dependencies"] if f"`{extra}`" not in section]


def test_every_collection_stands_in_the_readme() -> None:
    assert not [name for name in collection_names() if f"`{name}`" not in README]


def test_every_provider_of_a_model_stands_in_the_readme() -> None:
    from vgraph.models.choose import PROVIDERS

    for need, providers in PROVIDERS.items():
        preferred, default = table("## Your own models")[f"VGRAPH_MODELS__{need.upper()}"]
        assert re.findall(r"`([\w-]+)`", preferred) == list(providers)
        assert re.findall(r"`([^`]+)`", default) == [p.default for p in providers.values() if p.default]


def test_every_status_of_an_answer_stands_in_the_readme() -> None:
    from vgraph.types import AnswerStatus

    assert {status for status in table("### Answers") if status.islower() and status != "status"} == set(AnswerStatus)


@pytest.mark.parametrize("block", ["demo-output", "demo-figures"])
def test_the_blocks_that_a_run_of_the_demo_fills_are_marked(block: str) -> None:
    assert README.count(f"<!-- {block} -->") == README.count(f"<!-- /{block} -->") == 1


def test_links_within_the_readme_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", README, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if target.startswith("#"):
            assert target[1:] in anchors
        elif not target.startswith("http"):
            assert (ROOT / target).exists()


def test_files_and_targets_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE)
    assert targets and not [name for name in targets if f"\n{name}:" not in makefile]
    assert not [
        path
        for path in table("## Development")
        for path in path.split("`, `")
        if "/" in path and not (ROOT / path).exists()
    ]


# --- examples run -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The schema with nothing in it."""
    file = tmp_path_factory.mktemp("empty") / "graph.sqlite"
    with Store.open(connect(f"embedded:{file}", "vgraph")) as store:
        yield store


def test_there_are_examples() -> None:
    assert len(blocks("aql")) >= 6
    assert len(blocks("python")) >= 3


@pytest.mark.parametrize("text", blocks("aql"), ids=first_line)
def test_aql_examples_run_on_the_embedded_engine_without_a_warning(text: str, empty: Store) -> None:
    result = empty.aql(text)
    assert result.rows == []
    assert result.warnings == ()


@pytest.mark.parametrize("text", blocks("aql"), ids=first_line)
def test_aql_examples_need_no_binds_and_are_clean(text: str) -> None:
    assert parse(text).binds == ()
    assert [str(finding) for finding in lint(text)] == []


@pytest.mark.parametrize("text", blocks("python"), ids=first_line)
def test_python_examples_run(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that say what they need are only compiled."""
    code = compile(text, "README.md", "exec")
    if not text.startswith("# needs"):
        monkeypatch.chdir(tmp_path)
        exec(code, {"__name__": "readme"})


def test_python_examples_that_need_something_call_what_exists() -> None:
    from inspect import signature

    from vgraph.client import Client

    assert {"camera", "start", "tz"} <= set(signature(VGraph.ingest).parameters)
    assert {"url", "token"} <= set(signature(Client).parameters)


def test_settings_in_the_toml_example_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vgraph.toml").write_text("\n".join(blocks("toml")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert Settings.load().media.window_s == 20


def test_settings_in_shell_examples_are_settings() -> None:
    named = set(re.findall(r"\bVGRAPH_[A-Z_]+__[A-Z_]+", README))
    assert named <= set(SETTINGS)


def test_commands_in_shell_examples_are_commands() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    typed = [line.split() for line in lines if line.startswith("vgraph ")]
    assert typed
    assert not [words for words in typed if not {" ".join(words[:2]), " ".join(words[:3])} & set(COMMANDS)]


def test_sidecar_examples_are_read_without_a_warning(tmp_path: Path) -> None:
    captions, tracks, messages, meta = blocks("json")
    (tmp_path / "dock.captions.jsonl").write_text(" ".join(captions.split()), encoding="utf-8")
    (tmp_path / "dock.tracks.jsonl").write_text(tracks, encoding="utf-8")
    assert json.loads(messages)["objects"]
    (tmp_path / "dock.meta.json").write_text(meta, encoding="utf-8")
    warnings = Warnings(tmp_path / "dock")
    [caption] = read_captions(tmp_path / "dock.captions.jsonl", None, warnings)
    [detection] = read_tracks(tmp_path / "dock.tracks.jsonl", PICTURE, warnings)
    facts = read_meta(tmp_path / "dock.mp4")
    assert (len(caption.entities), len(caption.relations), detection.offset_ms) == (2, 1, 400)
    assert facts.camera is not None and facts.camera.label == "dock" and facts.start_ms is not None
    assert warnings.texts() == ()


def test_the_mot_example_is_the_same_detection(tmp_path: Path) -> None:
    row = next(line for line in README.splitlines() if re.fullmatch(r"\d+(,[\d.]+){8}", line))
    (tmp_path / "dock.mot.csv").write_text(row, encoding="utf-8")
    (tmp_path / "dock.tracks.jsonl").write_text(blocks("json")[1], encoding="utf-8")
    warnings = Warnings(tmp_path / "dock")
    there, here = (
        read_mot(tmp_path / "dock.mot.csv", PICTURE, warnings),
        read_tracks(tmp_path / "dock.tracks.jsonl", PICTURE, warnings),
    )
    assert list(there) == list(here) != []


@pytest.mark.parametrize(
    "phrase", [p for row in table("### Times in a question") for p in re.findall(r"[^`;,]*\d[^`;]*", row)]
)
def test_time_phrases_are_understood(phrase: str) -> None:
    from vgraph.retrieve.times import time_span

    assert time_span(f"who came {phrase}?", "Europe/Berlin", 1_772_440_000_000) is not None


# --- query files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", query_names())
def test_a_query_file_says_what_it_is_for_what_it_takes_and_what_it_gives(name: str) -> None:
    header = [line for line in query(name).text.splitlines() if line.startswith("//")]
    assert len(header) == 3
    assert header[0].endswith(".")
    assert header[1].startswith("// binds: ")
    assert header[2].startswith("// result: ")


@pytest.mark.parametrize("name", query_names())
def test_a_query_declares_exactly_the_binds_it_uses(name: str) -> None:
    file = query(name)
    assert {f"@{bind}" for bind in parse(file.text).binds} == file.binds


@pytest.mark.parametrize("name", query_names())
def test_a_query_is_valid_on_3_12_and_means_the_same_on_4(name: str) -> None:
    assert [str(finding) for finding in lint(query(name).text)] == []


@pytest.mark.parametrize("name", query_names())
def test_a_query_has_its_own_method(name: str) -> None:
    """One query, one file: a part of the store runs it by its name."""
    assert any(f'"{name}"' in path.read_text(encoding="utf-8") for path in (ROOT / "vgraph/store").glob("*.py"))
