"""The demo as a newcomer runs it, in a smaller picture: cited answers over several cameras, and the same graph when run again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from vgraph import Settings, terminal
from vgraph.cli.ingest import print_step
from vgraph.evals.demo import Asked, DemoStep, Figures, Ingested, Rendered, run_demo
from vgraph.evals.world import Picture, World
from vgraph.types import AnswerStatus, Progress


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[DemoStep], list[DemoStep]]]:
    """The steps of two runs into one folder, and what was told meanwhile."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(World, "generate", partial(World.generate, picture=Picture(320, 180, 5)))
        told: list[Progress] = []
        first = list(run_demo(Settings.load(), folder / "demo-data", report=told.append))
        assert {step.stage for step in told} >= {"render", "chunks"}
        yield first, list(run_demo(Settings.load(), folder / "demo-data", report=told.append))


def figures(steps: list[DemoStep]) -> Figures:
    assert isinstance(steps[-1], Figures)
    return steps[-1]


def asked(steps: list[DemoStep]) -> list[Asked]:
    return [step for step in steps if isinstance(step, Asked)]


def test_it_films_ingests_asks_and_counts(runs: tuple[list[DemoStep], list[DemoStep]]) -> None:
    first, _ = runs
    assert isinstance(first[0], Rendered) and first[0].cameras >= 4
    reports = [step.report for step in first if isinstance(step, Ingested)]
    assert {report.outcome for report in reports} == {"ingested"}
    assert len({report.camera for report in reports}) == first[0].cameras
    assert figures(first).asked == len(asked(first)) >= 12


def test_questions_are_answered_with_clips_that_show_it_over_several_cameras(
    runs: tuple[list[DemoStep], list[DemoStep]],
) -> None:
    found = figures(runs[0])
    assert found.cited >= 4 and found.cameras_cited >= 4
    assert found.right >= found.asked // 2


def test_every_citation_leads_to_a_file_a_picture_and_a_place_in_it(
    runs: tuple[list[DemoStep], list[DemoStep]],
) -> None:
    for step in asked(runs[0]):
        for citation in (citation for claim in step.answer.claims for citation in claim.citations):
            assert Path(citation.uri).is_file()
            assert 0 <= citation.offset_ms < citation.end_offset_ms
            assert citation.end_ms - citation.start_ms == citation.end_offset_ms - citation.offset_ms


def test_what_is_not_on_any_film_is_not_answered(runs: tuple[list[DemoStep], list[DemoStep]]) -> None:
    unanswerable = [step for step in asked(runs[0]) if step.expected_status != "answered"]
    assert {step.expected_status for step in unanswerable} == {AnswerStatus.not_found, AnswerStatus.not_recorded}
    assert all(step.right for step in unanswerable)


def test_run_again_it_changes_nothing(runs: tuple[list[DemoStep], list[DemoStep]]) -> None:
    first, second = runs
    assert {step.report.outcome for step in second if isinstance(step, Ingested)} == {"unchanged"}
    assert figures(first).counts == figures(second).counts
    assert [step.answer for step in asked(first)] == [step.answer for step in asked(second)]


def test_everything_lies_in_the_demos_folder(runs: tuple[list[DemoStep], list[DemoStep]]) -> None:
    folder = runs[0][0].folder  # type: ignore[union-attr]
    assert {path.name for path in folder.iterdir()} >= {"videos", "assets", "graph.sqlite"}
    assert [path.name for path in folder.parent.iterdir()] == ["demo-data"]


def test_a_person_reads_what_is_simulated_the_answers_and_whether_they_are_right(
    runs: tuple[list[DemoStep], list[DemoStep]], capsys: pytest.CaptureFixture[str]
) -> None:
    for step in runs[0]:
        terminal.demo_step(step)
    terminal.demo_next(Path("demo-data"))
    text = capsys.readouterr().out
    assert "The world is simulated" in text and "no model saw them" in text
    assert text.count("by the script: ") == len(asked(runs[0]))
    assert (
        "answered with a clip that shows it" in text and "VGRAPH_DATABASE__URL=embedded:demo-data/graph.sqlite" in text
    )


def test_a_program_reads_a_step_a_line_with_its_kind(
    runs: tuple[list[DemoStep], list[DemoStep]], capsys: pytest.CaptureFixture[str]
) -> None:
    for step in runs[0]:
        print_step(step)
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [step["step"] for step in steps] == [type(step).__name__.lower() for step in runs[0]]
    assert steps[0]["folder"] == str(runs[0][0].folder)  # type: ignore[union-attr]
