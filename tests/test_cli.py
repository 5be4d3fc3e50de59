"""The command line: what a person and a program read, how it ends, and that nothing a user can do shows a traceback."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.conftest import COMMAND, write_video
from vgraph import terminal
from vgraph.app import Check
from vgraph.cli import app
from vgraph.cli.graph import binding
from vgraph.errors import UserError

CAPTIONS = [
    {
        "start": 0.5, "end": 2.5, "text": "Ana hands crate 25 to Bob.",
        "entities": [{"name": "Ana", "type": "person"}, {"name": "Bob", "type": "person"}, {"name": "crate 25", "type": "object"}],
        "relations": [{"source": "Ana", "relation": "hands over", "target": "crate 25"}],
    },
    {"start": 6.0, "end": 7.0, "text": "Bob leaves.", "entities": [{"name": "Bob", "type": "person"}]},
]  # fmt: skip
META = {
    "camera": {"label": "Dock", "place": "loading dock", "tz": "Europe/Berlin"},
    "start": "2026-03-03T08:00:00Z",
    "title": "Monday",
}


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("VGRAPH_")}


def captioned(video: Path) -> Path:
    """A video of 8 s with captions and camera beside it."""
    write_video(video, seconds=8)
    video.with_suffix(".captions.jsonl").write_text("\n".join(map(json.dumps, CAPTIONS)), encoding="utf-8")
    video.with_suffix(".meta.json").write_text(json.dumps(META), encoding="utf-8")
    return video


def run(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(app, arguments, **more)


def process(*arguments: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, env=clean_environment(), **more
    )


def value(*arguments: str) -> Any:
    """What a command prints with --json."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with no settings."""
    for name in set(os.environ) - set(clean_environment()):
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose graph has one captioned video; made by the command line itself."""
    folder = tmp_path_factory.mktemp("site")
    captioned(folder / "dock.mp4")
    done = process("ingest", "dock.mp4", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def inside(site: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(site)
    return site


def test_filters_are_options_and_a_tag_is_one(inside: Path) -> None:
    (document,) = [row["_key"] for row in value("documents")]
    assert value("tag", document, "night", "dock 2") == ["dock 2", "night"]
    shown = value(
        "search",
        "what happens?",
        "--tag",
        "night",
        "--modality",
        "caption",
        "--weekday",
        "1",
        "--weekday",
        "tue",
    )
    every = value(
        "search", "what happens?", "--tag", "night", "--modality", "caption", "--time-of-day", "00:00-24:00", "--json"
    )
    assert (
        shown["filters"]["tags"] == ["night"]
        and shown["filters"]["weekdays"] == [1, 2]
        and every["filters"]["time_of_day"] == [0, 1440]
    )
    assert value("tag", document, "--remove", "night", "--remove", "dock 2") == []
    assert run("search", "what?", "--tag", "night").exit_code == 4
    assert run("analytics", "dwell", "--time-of-day", "22:00").exit_code == 2


# --- the way through ----------------------------------------------------------------------------------------------------


def test_ingest_reports_each_video_and_the_same_again_changes_nothing(here: Path) -> None:
    captioned(here / "dock.mp4")
    first = run("ingest", "dock.mp4")
    assert first.exit_code == 0
    assert "Monday ingested: 1 chunks of camera dock" in first.stdout and "embed wordllama" in first.stderr
    [report] = [json.loads(line) for line in run("ingest", "dock.mp4", "--json").stdout.splitlines()]
    assert (report["outcome"], report["camera"], report["chunks"]) == ("unchanged", "dock", 1)


def test_an_answer_leads_to_camera_time_file_and_place(inside: Path) -> None:
    text = run("ask", "Who hands over crate 25?").stdout
    assert "answered (rules, confidence" in text and "Ana hands crate 25 to Bob." in text
    place = f"camera Dock, 2026-03-03 09:00:00 CET, {inside / 'dock.mp4'} at 0:00:00.5-0:00:02.5 [chunk "
    assert place in text
    assert value("ask", "Who hands over crate 25?")["claims"][0]["citations"][0]["camera"] == "dock"


def test_nothing_found_and_not_recorded_are_said(inside: Path) -> None:
    assert "Not found" in run("ask", "Who feeds the zebra?").stdout
    assert "Not recorded" in run("ask", "Who hands over crate 25?", "--from", "2026-03-04").stdout
    assert "not recorded" in run("search", "crate", "--to", "2026-03-01").stdout


def test_search_shows_lines_ranks_and_relations(inside: Path) -> None:
    text = run("search", "crate 25", "--camera", "Dock").stdout
    assert "caption: Ana hands crate 25 to Bob." in text and "vector 1" in text
    assert "Ana -hands over-> crate 25: camera dock, 2026-03-03 09:00:00 CET [chunk " in text
    assert value("search", "crate 25")["relations"][0]["relation"] == "hands over"


def test_lists_tell_what_is_in_the_graph(inside: Path) -> None:
    [document] = value("documents")
    text = run("documents").stdout
    assert document["_key"] in text and "2026-03-03 09:00:00 CET" in text and "0:00:08.0" in text
    assert "loading dock" in run("cameras").stdout and value("cameras")[0]["label"] == "Dock"
    assert "wordllama" in run("db", "info").stdout and value("db", "info")["counts"]["chunks"] == 1


def test_a_document_fits_80_columns_and_says_when_it_is_unfinished(capsys: pytest.CaptureFixture[str]) -> None:
    facts = {
        "start_ms": 1_772_524_800_000,
        "start_source": "flag",
        "duration_ms": 180_000,
        "chunks": 6,
        "title": "T" * 60,
    }
    row = {"_key": "0123456789abcdef01234567", "camera": "gate", "camera_label": "gate", "state": "ingesting", **facts}
    terminal.documents([{**row, "state": "complete"}, row], {"gate": "Europe/Berlin"})
    complete, _, unfinished, title = capsys.readouterr().out.splitlines()
    assert complete == "0123456789abcdef01234567  gate  2026-03-03 09:00:00 CET  0:03:00.0  6 chunks"
    assert unfinished == f"{complete}  unfinished" and title == f"    {'T' * 60}" and len(complete) <= 80


def test_a_graph_with_nothing_in_it_says_what_to_do(here: Path) -> None:
    assert "vgraph ingest" in run("documents").stderr and "vgraph ingest" in run("cameras").stderr
    assert (value("documents"), value("cameras")) == ([], [])
    assert "none yet" in run("db", "info").stdout


def test_delete_asks_first_and_removes_all_that_hangs_on_it(here: Path) -> None:
    captioned(here / "dock.mp4")
    run("ingest", "dock.mp4")
    key = value("documents")[0]["_key"]
    for reply in ("n\n", ""):
        refused = run("delete", key, input=reply)
        assert (
            refused.exit_code == 2 and "--yes removes without asking" in refused.stderr and "Monday" in refused.stderr
        )
    assert value("db", "info")["counts"]["chunks"] == 1
    assert "chunks" in run("delete", key, input="y\n").stdout
    assert set(value("db", "info")["counts"].values()) <= {0, 1, 2, 3} and value("db", "info")["counts"]["chunks"] == 0
    assert run("delete", key, "--yes").exit_code == run("delete", key, input="y\n").exit_code == 4


def test_export_is_json_lines_and_reembed_counts(here: Path) -> None:
    captioned(here / "dock.mp4")
    run("ingest", "dock.mp4")
    written = value("db", "export", "graph.jsonl")["records"]
    lines = [json.loads(line) for line in (here / "graph.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == written and set(lines[0]) == {"collection", "record"}
    embedded = [line for line in lines if line["collection"] in ("chunks", "entities", "communities")]
    assert value("db", "reembed")["records"] == len(embedded) > 4
    assert "records written" in run("db", "export", "again.jsonl").stderr
    assert (here / "again.jsonl").read_bytes() == (here / "graph.jsonl").read_bytes()


# --- AQL ----------------------------------------------------------------------------------------------------------------


def test_aql_prints_a_table_of_objects_else_values(inside: Path) -> None:
    text = run("aql", "FOR e IN entities SORT e.name RETURN {name: e.name, cameras: e.cameras}").stdout
    assert "name" in text and '["dock"]' in text and "crate 25" in text
    assert run("aql", "FOR i IN 1..3 RETURN i").stdout == "1\n2\n3\n"
    assert run("aql", "RETURN {}").stdout == "{}\n"
    assert value("aql", "RETURN [1, null]") == [[1, None]]


def test_aql_takes_binds_of_any_kind_and_a_query_from_stdin(inside: Path) -> None:
    query = "FOR e IN @@of FILTER e.name IN @names LIMIT @most SORT e.name RETURN e.name"
    binds = ["--bind", "@@of=entities", "-b", 'names=["Ana", "Bob"]', "-b", "most=1"]
    assert run("aql", query, *binds).stdout == '"Ana"\n'
    assert run("aql", "-", "-b", "x=plain text", input="RETURN @x").stdout == '"plain text"\n'


@pytest.mark.parametrize(
    ("item", "name", "bound"),
    [
        ("a=1", "a", 1),
        ("a=x", "a", "x"),
        ("a==", "a", "="),
        ("a=", "a", ""),
        ("@a=1", "a", 1),
        ("@@c=chunks", "@c", "chunks"),
        ("@@c=12", "@c", "12"),
        ('a="1"', "a", "1"),
        ("a=null", "a", None),
    ],
)
def test_a_bind_is_a_name_and_json_or_text(item: str, name: str, bound: Any) -> None:
    assert binding(item) == (name, bound)


@pytest.mark.parametrize("item", ["", "a", "=1", "@@=x"])
def test_a_bind_without_name_or_value_is_refused(item: str) -> None:
    with pytest.raises(UserError, match="use key=value"):
        binding(item)


def test_aql_only_reads_and_says_when_it_stopped_at_the_limit(inside: Path) -> None:
    refused = run("aql", "FOR c IN chunks REMOVE c IN chunks")
    assert refused.exit_code == 2 and "only reading queries are run" in refused.stderr
    cut = run("aql", "FOR i IN 1..9 RETURN i", "--limit", "2")
    assert cut.stdout == "1\n2\n" and "--limit gives more" in cut.stderr
    assert "division by zero" in run("aql", "RETURN 1/0").stderr


# --- the machine --------------------------------------------------------------------------------------------------------


def test_doctor_groups_its_lines_and_ends_well(here: Path) -> None:
    text = run("doctor").stdout
    assert text.startswith("What serves each need") and "Extras" in text
    assert "pip install" in text or "export VGRAPH_MODELS__" in text, (
        "what is missing comes with the command that adds it"
    )
    assert {check["kind"] for check in value("doctor")} >= {"need", "core", "extra", "tool"}


def test_doctor_fits_80_columns_and_keeps_commands_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal.out, "width", 80)
    command = (
        "export VGRAPH_MODELS__OPENAI_BASE_URL=http://example.com/v1 VGRAPH_MODELS__OPENAI_VISION_MODEL=some-model"
    )
    terminal.checks([Check("need", "caption", ok=False, detail="words " * 40, command=command)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].strip() == command
    assert all(len(line) <= 80 for line in lines[:-1]) and "missing  caption" in lines[1]


def test_version_and_help_are_told(here: Path) -> None:
    assert run("--version").stdout.startswith("vgraph 0.")
    for command in ([], ["ingest"], ["db", "export"]):
        assert run(*command, "--help").exit_code == 0
    assert "Usage" in run().output


# --- errors -------------------------------------------------------------------------------------------------------------

Spoil = Callable[[Path], None]


def foreign(path: Path) -> None:
    path.write_text("a letter to my aunt")


def other_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()


def damaged(path: Path) -> None:
    with path.open("r+b") as file:
        for at in range(2 * 8192, path.stat().st_size, 8192):
            file.seek(at)
            file.write(b"\xff" * 4000)


def cut_off(path: Path) -> None:
    os.truncate(path, 50_000)


@pytest.mark.parametrize("spoil", [foreign, other_sqlite, damaged, cut_off, Path.mkdir])
def test_a_database_file_that_is_none_is_told_and_left_alone(spoil: Spoil, here: Path) -> None:
    path = here / "vgraph-data" / "graph.sqlite"
    if spoil in (damaged, cut_off):
        run("documents")
        sqlite3.connect(path).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    else:
        path.parent.mkdir()
    spoil(path)
    before = None if path.is_dir() else path.read_bytes()
    result = run("documents")
    assert result.exit_code == 6 and result.stderr.startswith("error: open ") and str(path.name) in result.stderr
    assert result.stderr.count("\n") == 1
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["search", ""], 2, "the question is empty"),
        (["clock", "set", "dock", "--offset", "nan"], 2, "--offset 'nan' is no length of time"),
        (["clock", "set", "dock", "--offset", "99999999999"], 2, "a century at most"),
        (
            ["clock", "set", "dock", "--offset", "1", "--drift", "1e9", "--at", "2026-03-02"],
            2,
            "no clock is that wrong",
        ),
        (["retention", "--camera", "dock", "--keep", "999999999999999d"], 2, "a century at most"),
        (["communities", "--document", "nope"], 4, "no document 'nope'"),
        (["analytics", "counts", "--every", "1ms"], 2, "must be a second or more"),
        (["analytics", "together", "--least", "999999999999999h"], 2, "a century at most"),
        (["search", "x", "--camera", "moon"], 4, "no camera 'moon'; there are: Dock"),
        (["search", "x", "--document", "none"], 4, "no document 'none'"),
        (["search", "x", "--from", "yesterday"], 2, "'yesterday' is not a time: use ISO 8601"),
        (["ask", "\udcff"], 2, "not valid UTF-8"),
        (["aql", "RETURN '\udcff'"], 2, "not valid UTF-8"),
        (["aql", "RETURN @x", "--bind", "x=\udcff"], 2, "not valid UTF-8"),
        (["aql", "RETURN @x", "--bind", "x=99999999999999999999"], 2, "64-bit"),
        (["search", "x", "--camera", "\udcff"], 4, "no camera"),
        (["search", "x", "--document", "\udcff"], 4, "no document"),
        (["delete", "\udcff", "--yes"], 4, "no document"),
        (["ingest", "dock.mp4", "--camera", "\udcff"], 2, "not valid UTF-8"),
        (["ingest", "https://example.com/a.mp4"], 2, "vgraph watch"),
        (["ingest", "."], 0, ""),
        (["ingest", "dock.mp4", "--tz", "Moon/Sea"], 2, "time zone 'Moon/Sea' is not known"),
        (["ingest", "dock.mp4", "--start", "x"], 2, "'x' is not a time"),
        (["ingest", "dock.mp4", "--start", "2026-01-01", "--tz", "Moon/Sea"], 2, "time zone 'Moon/Sea' is not known"),
        (["ingest", "dock.mp4", "dock.mp4", "--start", "2026-01-01"], 2, "--start is the start of one video"),
        (["ingest", "empty"], 2, "no video in this folder"),
        (["ingest", "none.mp4"], 3, "none.mp4"),
        (["ingest", "\udcff.mp4"], 3, "rename the file"),
        (["aql", "FOR"], 6, "syntax error"),
        (["aql", "RETURN @x"], 6, "x"),
        (["aql", "RETURN 1", "--bind", "x"], 2, "use key=value"),
        (["db", "export", "none/graph.jsonl"], 2, "there is no folder none"),
        (["db", "export", "empty"], 2, "is a folder or a device"),
        (["serve", "--host", "0.0.0.0"], 2, "VGRAPH_SERVE__TOKEN"),
        (["serve", "--host", "no.such.host.invalid"], 2, "VGRAPH_SERVE__TOKEN"),
        (["demo", "--folder", "dock.mp4"], 1, "dock.mp4"),
    ],
)
def test_what_a_user_gets_wrong_is_one_line_and_a_code(
    arguments: list[str], code: int, told: str, inside: Path
) -> None:
    (inside / "empty").mkdir(exist_ok=True)
    result = run(*arguments)
    assert (result.exit_code, result.exception is None or isinstance(result.exception, SystemExit)) == (code, True)
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == bool(code) and told in "".join(errors)


def test_with_json_an_error_is_json_too(inside: Path) -> None:
    result = run("ask", "x", "--camera", "moon", "--json")
    assert (result.exit_code, result.stdout) == (4, "")
    assert json.loads(result.stderr) == {
        "error": "no camera 'moon'; there are: Dock", "kind": "NotFoundError", "exit_code": 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("VGRAPH_DATABASE__URL", "ftp://x", "use embedded:PATH, http://"),
        ("VGRAPH_DATABASE__URL", "embedded:", "needs a path"),
        ("VGRAPH_DATABAS__URL", "embedded:x", "did you mean VGRAPH_DATABASE__URL?"),
        ("VGRAPH_SERVE__PORT", "eighty", "VGRAPH_SERVE__PORT"),
        ("VGRAPH_MODELS__EMBED", "none", "VGRAPH_MODELS__EMBED=none"),
        ("VGRAPH_MODELS__EMBED", "magic", "magic"),
        ("VGRAPH_INGEST__LANGUAGE", "de", "VGRAPH_INGEST__LANGUAGE"),
    ],
)
def test_a_bad_setting_is_named(name: str, text: str, told: str, inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, text)
    result = run("search", "crate")
    assert result.exit_code == 2 and told in result.stderr and result.stderr.count("\n") == 1


def test_a_server_that_is_not_there_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_DATABASE__URL", "http://127.0.0.1:1")
    result = run("documents")
    assert result.exit_code == 6 and "at http://127.0.0.1:1: the database cannot be reached" in result.stderr


class Stranger(BaseHTTPRequestHandler):
    """A web server that is no database."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>hello</html>")

    do_POST = do_GET

    def log_message(self, *arguments: Any) -> None:
        pass


def test_a_server_that_is_no_database_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        monkeypatch.setenv("VGRAPH_DATABASE__URL", f"http://127.0.0.1:{server.server_port}")
        result = run("documents")
        server.shutdown()
    assert (result.exit_code, result.stderr) == (6, "error: something answers, but it is not ArangoDB\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_closed_streams_do_no_harm(closed: str, site: Path) -> None:
    command = f'exec "$@" documents {closed}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *COMMAND], cwd=site, env=clean_environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_encoding_without_a_character_does_no_harm(site: Path) -> None:
    environment = {**clean_environment(), "PYTHONIOENCODING": "ascii"}
    command = [*COMMAND, "aql", "RETURN 'é'"]
    done = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, '"\\xe9"\n')


def test_an_error_nobody_foresaw_keeps_its_traceback(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vgraph.app.diagnose", lambda settings: 1 / 0)
    assert isinstance(run("doctor").exception, ZeroDivisionError)


# --- several videos, and an end before the end --------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_does_not_stop_the_others(here: Path) -> None:
    (here / "a.mp4").write_bytes(b"not a video")
    write_video(here / "b.mp4", seed=1)
    write_video(here / "c.mp4", seed=2)
    result = run("ingest", "a.mp4", "b.mp4", "none.mp4", "c.mp4", "--json")
    errors = [json.loads(line) for line in result.stderr.splitlines()]
    assert result.exit_code == 3
    assert sorted(json.loads(line)["camera"] for line in result.stdout.splitlines()) == ["b", "c"]
    assert [("a.mp4" in e["error"], "none.mp4" in e["error"], e["exit_code"]) for e in errors] == [
        (True, False, 3),
        (False, True, 3),
    ]
    assert run("ingest", ".").exit_code == 3 and len(value("documents")) == 2


def test_ctrl_c_in_an_ingest_keeps_what_is_finished_and_the_same_command_goes_on(here: Path) -> None:
    """Interrupted from within, at a moment between two batches."""
    write_video(here / "long.mp4", seconds=40)
    code = """
import os, signal, sys
import vgraph.ingest.pipeline as pipeline
write = pipeline._write
def written(*arguments):
    write(*arguments)
    os.kill(os.getpid(), signal.SIGINT)
pipeline._write = written
from vgraph.cli import main
main()
"""
    environment = {**clean_environment(), "VGRAPH_MEDIA__WINDOW_S": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, "ingest", "long.mp4"], capture_output=True, text=True, env=environment, timeout=60
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.endswith("interrupted; what was finished is kept, and the same command goes on from there\n")
    assert "Traceback" not in done.stderr
    assert value("db", "info")["counts"]["chunks"] == 16
    again = subprocess.run(
        [*COMMAND, "ingest", "long.mp4"], capture_output=True, text=True, env=environment, timeout=60
    )
    assert again.returncode == 0 and "resumed: 40 chunks" in again.stdout


def test_a_reader_that_goes_away_ends_it_quietly(site: Path) -> None:
    command = [*COMMAND, "aql", "FOR i IN 1..200000 RETURN i", "--limit", "200000"]
    with subprocess.Popen(
        command, cwd=site, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None and started.stderr is not None
        assert started.stdout.readline() == "1\n"
        started.stdout.close()
        told = started.stderr.read()
    assert (started.returncode, told) == (141, "")


def test_a_terminated_server_goes(site: Path) -> None:
    command = [*COMMAND, "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=site, env=clean_environment(), stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None and "listens on" in started.stderr.readline()
        started.send_signal(signal.SIGTERM)
        assert started.stderr.read() == ""
    assert started.returncode in (0, -signal.SIGTERM)


# --- what is loaded -----------------------------------------------------------------------------------------------------

HEAVY = (
    "numpy", "av", "cv2", "pydantic", "pydantic_settings", "fastapi", "starlette", "uvicorn", "arango", "openai", "httpx", "requests",
    "networkx", "wordllama", "scenedetect", "orjson", "sqlite3", "asyncio", "torch", "transformers",
)  # fmt: skip


@pytest.mark.parametrize("code", ["import vgraph", "from vgraph.cli import main; main()"])
def test_importing_and_helping_load_nothing_heavy(code: str, site: Path) -> None:
    ending = f"import sys, atexit; atexit.register(lambda: print([m for m in {HEAVY!r} if m in sys.modules]))\n"
    done = subprocess.run(
        [sys.executable, "-c", ending + code, "--help"], cwd=site, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_export_never_takes_the_place_of_a_folder_or_a_device(inside: Path) -> None:
    pipe = inside / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, inside, Path(".")):
        result = run("db", "export", str(place))
        assert result.exit_code == 2 and "is a folder or a device" in result.stderr
    assert pipe.is_fifo() and not [name for name in os.listdir(inside) if name.endswith(".part")]
    pipe.unlink()


def test_control_characters_of_a_video_do_not_reach_the_terminal() -> None:
    from vgraph.terminal import escape

    assert (
        escape("\x1b[31mred\x07 [bold]\u009bx")
        == "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER} \\[bold]\N{REPLACEMENT CHARACTER}x"
    )


def test_an_empty_path_is_not_the_working_directory(inside: Path) -> None:
    assert run("ingest", "").exit_code == 2


def test_explain_tells_the_queries_and_they_give_the_same_rows_again(inside: Path) -> None:
    told = value("search", "Who handed over crate 25 before 10:00?", "--explain")
    assert told["evidence"]["understood"]["time"] == "before 10:00" and told["evidence"]["way"] == "chunks"
    names = [query["name"] for query in told["queries"]]
    assert "weighted_chunks" in names and "expand_entities" in names
    for query in told["queries"]:
        binds = [
            f"{'@@' if name.startswith('@') else ''}{name.lstrip('@')}={json.dumps(v)}"
            for name, v in query["binds"].items()
        ]
        again = value("aql", query["text"], *(word for bind in binds for word in ("--bind", bind)))
        assert len(again) == query["rows"]
    shown = run("search", "Who handed over crate 25 before 10:00?", "--explain").stdout
    assert "weighted_chunks" in shown and "float[" in shown and "FOR c IN vgraph_search" in shown
    stages = {stage["name"]: stage for stage in told["stages"]}
    legs = stages["legs, fused by weighted"]["rows"]
    assert {leg for row in legs for leg in row["ranks"]} == {"vector", "text"} and len(legs) >= len(
        told["evidence"]["hits"]
    )
    assert [row["chunk"] for row in stages["enter by chunks"]["rows"]] == [h["chunk"] for h in told["evidence"]["hits"]]
    assert stages["hops"]["rows"][0]["entities"] and "neighbours" in stages
    assert all(stage["ms"] > 0 for stage in told["stages"])
    assert "legs, fused by weighted" in shown and "vector rank" in shown


@pytest.mark.parametrize("profile", ["chunks", "entities", "clips", "summaries", "rank", "relations", "graph", "auto"])
def test_every_profile_finds_the_crate(inside: Path, profile: str) -> None:
    found = value("search", "Who handed over crate 25?", "--profile", profile)
    assert found["chunks"] and any("crate 25" in line["text"] for line in found["chunks"][0]["lines"])
