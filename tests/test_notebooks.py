"""The notebooks run from top to bottom, and are kept without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    book: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return book


def run(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the code cells in order, in a folder of their own; the names they leave."""
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(read(path)["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name} cell {number}", "exec"), names)
    return names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_valid_and_holds_no_outputs(path: Path) -> None:
    book = read(path)
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    for cell in book["cells"]:
        assert isinstance(cell["metadata"], dict)
        assert all(line.endswith("\n") for line in cell["source"][:-1])
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
        else:
            assert cell["cell_type"] == "markdown"


@pytest.mark.slow
def test_the_first_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run(FOLDER / "01_first_graph.ipynb", tmp_path, monkeypatch)
    assert names["events"] > 0
    assert names["answer"].status == "answered"
    assert "Mei Chen" in names["answer"].text
    assert [answer.status for answer in names["unanswered"]] == ["not_found", "not_recorded"]
    assert names["right"] > 0


def test_your_own_video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(FOLDER / "02_your_own_video.ipynb", tmp_path, monkeypatch)
    shown = capsys.readouterr().out
    assert (names["bare"].outcome, names["first"].outcome, names["again"].outcome) == (
        "ingested",
        "ingested",
        "unchanged",
    )
    assert "Detected: " in shown
    assert "dock.captions.jsonl:4: " in shown
    assert names["citation"].camera == "dock"
    assert names["citation"].offset_ms == 4000
    assert "not_found" in shown and "not_recorded" in shown
    assert names["removed"]["documents"] == 1


def test_who_was_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run(FOLDER / "03_who_was_where.ipynb", tmp_path, monkeypatch)
    assert names["dwell"] and names["busiest"] and names["together"] and names["changes"]
    assert [step["start_ms"] for step in names["steps"]] == [stay["start_ms"] for stay in names["stays"]]
    assert {gap["state"] for gap in names["absences"]} <= {"not_seen", "not_recorded", "partly_recorded"}
    assert {pair["relation"] for pair in names["pairs"]}


def test_every_notebook_is_run() -> None:
    names = ["01_first_graph.ipynb", "02_your_own_video.ipynb", "03_who_was_where.ipynb"]
    assert [path.name for path in NOTEBOOKS] == names
