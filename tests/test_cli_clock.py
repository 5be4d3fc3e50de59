"""`vgraph clock …` and `vgraph coverage` as they are typed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import COMMAND, write_video
from tests.test_cli import clean_environment

START = 1_772_524_800_000


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the graph of one recording of camera dock, whose name says when it began."""
    folder = tmp_path_factory.mktemp("clock")
    write_video(folder / "dock-2026-03-03_09-00-00.mp4", seconds=4)
    typed(folder, "ingest", ".", "--tz", "Europe/Berlin")
    return folder


def typed(folder: Path, *arguments: str, code: int = 0) -> str:
    environment = {**clean_environment(), "VGRAPH_MODELS__DETECT": "none", "VGRAPH_MODELS__READ": "none"}
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def said(folder: Path, *arguments: str) -> Any:
    return json.loads(typed(folder, *arguments, "--json"))


def test_a_clock_is_set_shown_fitted_and_reset(here: Path) -> None:
    facts = said(here, "clock", "show", "dock")
    (document,) = facts["documents"]
    assert (facts["tz"], facts["clock"]["source"], document["start_ms"]) == ("Europe/Berlin", "none", START)
    assert said(here, "clock", "set", "dock", "--offset", "-1.5", "--uncertainty", "0.2")["documents"] == 1
    assert said(here, "clock", "show", "dock")["documents"][0]["start_ms"] == START - 1_500
    anchor = ("clock", "anchor", "dock", "2026-03-03T09:00:03", "--own", "2026-03-03T09:00:01")
    assert said(here, *anchor) == {"camera": "dock", "anchors": 1}
    place = ("-d", document["_key"], "--offset", "2")
    assert said(here, "clock", "anchor", "dock", "2026-03-03T09:00:04.1", *place)["anchors"] == 2
    fitted = said(here, "clock", "fit", "dock", "--dry-run")
    assert (fitted["spans"][0]["offset_ms"], fitted["moved"]["documents"]) == (2_050, 0)
    assert said(here, "clock", "fit", "dock")["moved"]["documents"] == 1
    shown = typed(here, "clock", "show", "dock")
    assert "true = own +2.050 s" in shown and "2026-03-03 09:00:02 CET" in shown
    assert said(here, "clock", "reset", "dock", "--all")["documents"] == 1
    assert said(here, "clock", "show", "dock")["tz"] == "UTC"
    assert said(here, "clock", "set", "dock", "--tz", "Europe/Berlin")["documents"] == 1
    assert said(here, "clock", "show", "dock")["documents"][0]["start_ms"] == START


def test_coverage_is_listed_with_its_gaps(here: Path) -> None:
    (row,) = said(here, "coverage", "--camera", "dock", "--from", "2026-03-03T08:59", "--to", "2026-03-03T09:01")
    assert [(s["start_ms"] - START, s["end_ms"] - START) for s in row["stretches"]] == [(0, 4_000)]
    assert len(row["gaps"]) == 2
    text = typed(here, "coverage", "--from", "2026-03-03T08:59")
    assert "2026-03-03 09:00:00 CET to 2026-03-03 09:00:04 CET" in text and "gap" in text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("clock", "set", "dock"), 2, "nothing to set"),
        (("clock", "set", "dock", "--offset", "1", "--drift", "20"), 2, "--at"),
        (("clock", "set", "dock", "--tz", "Mars/Olympus"), 2, "time zone"),
        (("clock", "anchor", "dock", "2026-03-03T09:00:00"), 2, "--own"),
        (("clock", "anchor", "dock", "later", "--own", "2026-03-03T09:00:00"), 2, "ISO 8601"),
        (("clock", "fit", "dock", "--dates", "ymd"), 2, "dmy"),
        (("clock", "fit", "dock", "--look"), 2, "VGRAPH_MODELS__READ"),
        (("clock", "fit", "dock"), 2, "nothing to fit to"),
        (("clock", "show", "gate"), 4, "no camera 'gate'"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_right(
    here: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    assert words in typed(here, *arguments, code=code)
