"""The command line's ways of bringing video in and taking it out again: many files, estimates, caps, streams, retention, the check."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ingest.scripted import Oracle
from tests.media.streaming import ts_bytes
from tests.models.conftest import Server
from tests.test_cli import captioned, clean_environment, run, value
from vgraph.cli.graph import kept_ms
from vgraph.errors import UserError

from .conftest import write_video


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import os

    for name in set(os.environ) - set(clean_environment()):
        monkeypatch.delenv(name)
    monkeypatch.setenv("VGRAPH_MODELS__READ", "none")
    monkeypatch.setenv("VGRAPH_MODELS__DETECT", "none")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def oracle(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Oracle]:
    """A vision model at an endpoint, with a price."""
    server = Server()
    made = Oracle(server)
    for name, text in {
        "MODELS__OPENAI_BASE_URL": made.url,
        "MODELS__OPENAI_VISION_MODEL": "see",
        "MODELS__RETRIES": "0",
        "MEDIA__WINDOW_S": "1",
        "PRICES__CAPTION_INPUT": "10",
    }.items():
        monkeypatch.setenv(f"VGRAPH_{name}", text)
    yield made
    server.close()


def test_hundreds_of_files_tell_their_cameras_by_a_pattern(here: Path) -> None:
    for number in range(6):
        write_video(here / f"nas/2026/cam{number % 3}/{number:03d}.mp4", seconds=1, seed=number)
    done = run("ingest", "nas", "--camera-pattern", r"2026/(?P<camera>\w+)/", "--json")
    assert done.exit_code == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(report["camera"] for report in reports) == ["cam0", "cam0", "cam1", "cam1", "cam2", "cam2"]
    assert [camera["documents"] for camera in value("cameras")] == [2, 2, 2]
    lost = run("ingest", "nas", "--camera-pattern", "cam0")
    assert lost.exit_code == 2 and "finds no camera in" in lost.stderr and "and 1 more" in lost.stderr


def test_a_dry_run_tells_what_it_would_take_and_does_nothing(here: Path, oracle: Oracle) -> None:
    write_video(here / "a.mp4", seconds=3)
    write_video(here / "b.mp4", seconds=2, seed=1)
    text = run("ingest", "a.mp4", "b.mp4", "--dry-run").stdout
    assert "a.mp4 new: 0:00:03.0 of video, about 3 segments" in text and "all together: 0:00:05.0 of video" in text
    lines = [json.loads(line) for line in run("ingest", ".", "--dry-run", "--json").stdout.splitlines()]
    assert lines[-1]["stages"]["caption"]["calls"] == 5 and lines[-1]["stages"]["caption"]["money"] > 0
    assert oracle.total == 0 and value("documents") == []


def test_a_cap_ends_with_a_code_of_its_own_and_a_higher_one_goes_on(here: Path, oracle: Oracle) -> None:
    write_video(here / "a.mp4", seconds=4)
    ended = run("ingest", "a.mp4", "--max-tokens", "900")
    assert ended.exit_code == 7 and "cap of 900 tokens" in ended.stderr and 0 < oracle.asked["caption"] < 4
    done = run("ingest", "a.mp4")
    assert done.exit_code == 0 and "asked: caption" in done.stdout and oracle.asked["caption"] == 4
    [row] = value("ledger")
    assert (row["stage"], row["calls"], row["input_tokens"]) == ("caption", 4, 400) and row["money"] == pytest.approx(
        0.004
    )
    assert "caption" in run("ledger").stdout


def test_what_failed_is_asked_again_without_naming_it(here: Path, oracle: Oracle) -> None:
    from tests.models.conftest import Response

    write_video(here / "a.mp4", seconds=2)
    write_video(here / "b.mp4", seconds=2, seed=1)
    failing = [Response({"error": "no"}, 403)]
    oracle.refuse = lambda kind, number: failing.pop() if failing else None
    assert run("ingest", ".").exit_code == 0 and oracle.asked["caption"] == 4
    again = run("ingest", "--retry-failed", "--json")
    [report] = [json.loads(line) for line in again.stdout.splitlines()]
    assert report["outcome"] == "resumed" and oracle.asked["caption"] == 5
    assert run("ingest", "--retry-failed").stdout == ""
    nothing = run("ingest")
    assert nothing.exit_code == 2 and "--retry-failed" in nothing.stderr


def test_a_growing_file_is_watched_until_it_ends(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_LIVE__IDLE_S", "0.5")
    monkeypatch.setenv("VGRAPH_LIVE__PIECE_S", "2")
    (here / "lane.ts").write_bytes(ts_bytes(4))
    done = run("watch", "lane=lane.ts", "--start", "2026-03-03T08:00:00Z", "--json")
    assert done.exit_code == 0, done.stderr
    assert [json.loads(line)["chunks"] for line in done.stdout.splitlines()] == [1, 1]
    [document] = value("documents")
    assert (document["kind"], document["camera"], document["duration_ms"]) == ("stream", "lane", 4000)
    refused = run("watch", "rtsp://127.0.0.1/cam", "--camera", "x")
    assert refused.exit_code == 2 and "VGRAPH_LIVE__ALLOWED_HOSTS=127.0.0.1" in refused.stderr
    assert run("watch", "rtsp://127.0.0.1/cam").exit_code == 2


def test_a_watch_ends_when_its_time_is_over(here: Path) -> None:
    (here / "inbox").mkdir()
    began = time.monotonic()
    done = run("watch", "inbox", "--camera", "gate", "--for", "0.5")
    assert done.exit_code == 0 and time.monotonic() - began < 30
    assert all(not thread.name.startswith("ingest") for thread in threading.enumerate())


def test_a_camera_is_removed_with_all_its_documents(here: Path) -> None:
    captioned(here / "dock.mp4")
    write_video(here / "gate.mp4", seconds=1, seed=3)
    assert run("ingest", ".").exit_code == 0
    unsure = run("delete", "--camera", "Dock", input="n\n")
    assert unsure.exit_code == 2 and "camera dock, its documents" in unsure.stderr
    removed = value("delete", "--camera", "Dock", "--yes")
    assert removed["documents"] == 1 and removed["cameras"] == 1 and removed["chunks"] == 1
    assert [camera["_key"] for camera in value("cameras")] == ["gate"]
    assert value("check") == []
    assert run("delete").exit_code == 2 and run("delete", "x", "--camera", "gate").exit_code == 2
    assert run("delete", "--camera", "nowhere", "--yes").exit_code == 4


def test_retention_is_set_and_kept(here: Path) -> None:
    captioned(here / "dock.mp4")
    assert run("ingest", "dock.mp4").exit_code == 0
    assert value("retention", "--camera", "Dock", "--keep", "30000d") == []
    [expired] = value("retention", "--camera", "Dock", "--keep", "1s")
    assert expired["whole"] and value("documents") == []
    assert "nothing is older" in run("retention").stderr
    assert run("retention", "--camera", "Dock").exit_code == 2


@pytest.mark.parametrize(
    ("text", "ms"), [("30d", 30 * 86_400_000), ("1.5 h", 5_400_000), ("90m", 5_400_000), ("2w", 1_209_600_000), ("forever", None)]
)  # fmt: skip
def test_a_length_of_time(text: str, ms: int | None) -> None:
    assert kept_ms(text) == ms


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "0s", "30 years"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(UserError, match="30d"):
        kept_ms(text)


def test_the_check_ends_with_a_code_of_its_own(here: Path) -> None:
    captioned(here / "dock.mp4")
    assert run("ingest", "dock.mp4").exit_code == 0
    clean = run("check")
    assert clean.exit_code == 0 and "no fault found" in clean.stderr
    stray = next((here / "vgraph-data/assets").rglob("*.jpg")).with_name("0000099999.jpg")
    stray.write_bytes(b"x")
    found = run("check")
    assert found.exit_code == 8 and "nothing owns it" in found.stdout and stray.exists()
    assert run("check", "--repair").exit_code == 0 and not stray.exists()
