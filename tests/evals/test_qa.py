"""Answers judged and summed up: on answers made here, on a small world, and on a made-up copy of a published set."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from vgraph.agents.cite import best_line, cite
from vgraph.agents.steps import Item, Picture
from vgraph.app import FinalAnswer, Observation, Step, VGraph
from vgraph.cli import app
from vgraph.errors import BudgetReached, ModelError, UserError
from vgraph.evals.answering import answered, dataset_asking, world_asking
from vgraph.evals.cited import Clips, later
from vgraph.evals.day import Size
from vgraph.evals.metrics import Expected, Span, answer_matches
from vgraph.evals.oracle import Oracle, calls, parts
from vgraph.evals.qa import MOST_FAILURES, SWITCHES, Outcome, Way, ask_all, judged, statement, verdict
from vgraph.evals.questions import Question, expected_of, of_world
from vgraph.evals.summary import bootstrap, summed_up
from vgraph.evals.world import World
from vgraph.media.encode import Mp4Writer
from vgraph.prompts import quoted
from vgraph.settings import RetrieveSettings, Settings
from vgraph.types import (
    Answer,
    AnswerStatus,
    Citation,
    Claim,
    Evidence,
    EvidenceChunk,
    EvidenceEntity,
    Filters,
    Message,
    Progress,
    Usage,
)

DOCK = Citation("c1", "d1", "dock", "Dock", 1_000, 2_000, 1_000, 2_000, "dock.mp4", None)


def quiet(progress: Progress) -> None:
    pass


def evidence(*chunks: EvidenceChunk, entities: tuple[EvidenceEntity, ...] = ()) -> Evidence:
    return Evidence("?", Filters(), (), chunks, entities, (), "", 0, 4000)


def answer(text: str, *citations: Citation, status: AnswerStatus = AnswerStatus.answered) -> Answer:
    claims = (Claim(text, citations),) if citations else ()
    return Answer("?", status, text, claims, "extractive", evidence(), usage=Usage(7, 3))


class NoClips(Clips):
    """Every citation leads to its clip, and no chunk is looked up."""

    def __init__(self) -> None:
        self.chunk = lambda key: None  # type: ignore[assignment]

    def fault(self, citation: Citation) -> str:
        return ""


WHO = Question(
    "q1", "who", "Who was it?", expected=Expected("who", ("Ana",), rivals=("Ben",)), moments=((Span("Dock", 1_000, 2_500),),)
)  # fmt: skip


# --- one answer ------------------------------------------------------------------------------------------------------------


def test_an_answer_is_right_wrong_or_abstained() -> None:
    gone = replace(WHO, status=AnswerStatus.not_found, expected=None)
    none = answer("", status=AnswerStatus.not_found)
    assert verdict(WHO, answer("Ana")) == "right"
    assert verdict(WHO, answer("Ben")) == "wrong"
    assert verdict(WHO, answer("Ana or Ben")) == "wrong"
    assert verdict(WHO, none) == "abstained"
    assert verdict(gone, none) == "right"
    assert verdict(gone, answer("Ana")) == "wrong"
    assert verdict(replace(WHO, expected=None), answer("Ana")) == "unjudged"


def test_a_choice_is_judged_by_what_the_answer_settles_on() -> None:
    chosen = Question("q1", "count", "How many?", ("two", "three"), right=1)
    assert [verdict(chosen, answer(text)) for text in ("B", "three", "A", "two or three")] == [
        "right",
        "right",
        "wrong",
        "wrong",
    ]


def test_what_is_cited_is_measured_against_the_true_moments() -> None:
    office = replace(DOCK, camera="office", camera_label="Office")
    found = judged(WHO, answer("Ana", DOCK, office), NoClips())
    assert (found.verdict, found.cited, found.precision, found.wrong_camera) == ("right", 2, 0.5, 0.5)
    assert (found.iou, found.located) == (pytest.approx(2 / 3), True)
    assert (found.input_tokens, found.output_tokens) == (7, 3)


def test_without_known_moments_nothing_is_measured_of_citations() -> None:
    found = judged(replace(WHO, moments=()), answer("Ana", DOCK), NoClips())
    assert (found.precision, found.iou, found.located, found.wrong_camera) == (None, None, None, None)


def test_the_camera_before_a_quoted_line_is_not_part_of_what_is_said() -> None:
    assert statement(answer("09:01:02, Dock: Ana at the gate", DOCK)) == "09:01:02, Ana at the gate"


def test_what_was_recorded_after_the_question_is_found_in_citations_and_evidence() -> None:
    chunk = EvidenceChunk(
        "c2", "d1", "dock", "Dock", 0, 0, 5_000, 0, 5_000, "", (), (), "dock.mp4", "UTC", True, 1.0, "hit", {}
    )
    entity = EvidenceEntity("e1", "Ana", "person", "", 0, 3_000, ("dock",), ())
    given = replace(answer("Ana", DOCK), evidence=evidence(chunk, entities=(entity,)))
    assert later(given, 5_000, NoClips()) == ()
    assert later(given, 1_500, NoClips()) == (
        "cites chunk c1, until 2000",
        "chunk c2 reaches until 5000",
        "entity e1 reaches until 3000",
    )
    assert judged(replace(WHO, asked_ms=4_000), given, NoClips()).future == ("chunk c2 reaches until 5000",)
    assert judged(WHO, given, NoClips()).future == ()


def test_what_a_tool_gave_from_after_the_question_is_found_in_the_steps() -> None:
    item = Item("r1", "Ana", (), 1_000, 9_000)
    seen = Observation("timeline", {}, items=(item,), pictures=(Picture("c3", "dock", 7_000, 7_000),))
    found = judged(replace(WHO, asked_ms=8_000), answer("Ana"), NoClips(), steps=[seen])
    assert found.future == ("timeline gave row r1, until 9000",)
    assert (found.steps, judged(replace(WHO, asked_ms=9_000), answer("Ana"), NoClips(), steps=[seen]).future) == (1, ())


# --- a run -----------------------------------------------------------------------------------------------------------------


class Asked:
    """A graph that answers by what it is given, and remembers what it was asked."""

    def __init__(self, *answers: Answer | BaseException) -> None:
        self.answers, self.asked = list(answers), []  # type: ignore[var-annotated]

    def run(self, question: str, filters: Filters, *, agent: Any, choices: Any, **how: Any) -> Iterator[Step]:
        self.asked.append((question, filters, how))
        match self.answers.pop(0):
            case BaseException() as error:
                raise error
            case given:
                yield FinalAnswer(given)

    def camera_key(self, name: str) -> str:
        return name.lower()

    def aql(self, *arguments: Any) -> Any:
        raise AssertionError("nothing is cited")


def run(graph: Asked, questions: list[Question], kept: Path | None = None, way: Way | None = None) -> list[Outcome]:
    return list(ask_all(graph, questions, way or Way(), kept=kept))  # type: ignore[arg-type]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    kept, questions = tmp_path / "kept.jsonl", [replace(WHO, id=f"q{n}") for n in range(4)]
    with pytest.raises(KeyboardInterrupt):
        run(Asked(answer("Ana"), answer("Ben"), KeyboardInterrupt()), questions, kept)
    with kept.open("ab") as file:
        file.write(b'{"id": "q2", "cut sho')
    again = Asked(answer("Ana"), answer("Ana"))
    found = run(again, questions, kept)
    assert [one.verdict for one in found] == ["right", "wrong", "right", "right"]
    assert len(again.asked) == 2
    assert run(Asked(), questions, kept) == found


def test_a_question_that_has_changed_is_asked_again(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    run(Asked(answer("Ana")), [WHO], kept)
    graph = Asked(answer("Ana"))
    run(graph, [replace(WHO, text="Who else?")], kept)
    assert graph.asked[0][0] == "Who else?"


def test_a_failed_answer_counts_and_is_not_kept(tmp_path: Path) -> None:
    kept, questions = tmp_path / "kept.jsonl", [WHO, replace(WHO, id="q2")]
    found = run(Asked(ModelError("no reply"), answer("Ana")), questions, kept)
    assert [(one.verdict, one.error) for one in found] == [("failed", "ModelError: no reply"), ("right", "")]
    assert [one.verdict for one in run(Asked(answer("Ana")), questions, kept)] == ["right", "right"]


def test_a_run_of_nothing_but_failures_ends(tmp_path: Path) -> None:
    questions = [replace(WHO, id=f"q{n}") for n in range(MOST_FAILURES + 1)]
    with pytest.raises(ModelError):
        run(Asked(*(ModelError("no reply") for _ in questions)), questions)


def test_the_cap_ends_a_run() -> None:
    with pytest.raises(BudgetReached):
        run(Asked(BudgetReached("spent")), [WHO])


def test_a_question_is_asked_of_its_cameras_and_its_moment() -> None:
    graph = Asked(answer("Ana"))
    run(graph, [replace(WHO, cameras=("Dock",), asked_ms=9)], way=Way({"profile": "rank"}, ("words",)))
    assert graph.asked == [
        ("Who was it?", Filters(cameras=("dock",), not_after=9), {"profile": "rank", "text_weight": 0.0})
    ]


@pytest.mark.parametrize("part", SWITCHES)
def test_every_part_can_be_switched_off(part: str) -> None:
    chosen = RetrieveSettings().chosen(Way(without=(part, "verify")).chosen)
    assert chosen is not None


def test_an_unknown_part_is_told() -> None:
    with pytest.raises(UserError, match="nothing is called luck to be without; there are: vectors"):
        Way(without=("luck",)).chosen


# --- figures ---------------------------------------------------------------------------------------------------------------


def test_outcomes_are_summed_up_by_kind() -> None:
    def one(kind: str, verdict: Any, **more: Any) -> Outcome:
        return Outcome("q", "", kind, kind != "unanswerable", verdict, "", "extractive", "", **more)

    found = summed_up(
        "day",
        [
            one("who", "right", cited=2, precision=0.5, lost=("x",), located=True, gated=True, future=("y",)),
            one("who", "wrong", cited=2, precision=1.0, located=False, seconds=3.0),
            one("when", "abstained"),
            one("when", "unjudged"),
            one("when", "failed"),
            one("unanswerable", "right", exact=True),
        ],
    )
    assert [(t.kind, t.asked, t.right, t.accuracy) for t in found.kinds] == [("when", 3, 0, 0.0), ("who", 2, 1, 0.5)]
    assert (found.answerable.accuracy, found.answerable.failed, found.answerable.unjudged) == (0.25, 1, 1)
    assert found.unanswerable and (found.unanswerable.accuracy, found.exact) == (1.0, 1.0)
    assert (found.citations, found.resolving, found.precision, found.located) == (4, 0.75, 0.75, 0.5)
    assert (found.gated, found.future_violations, found.faults) == (1, 1, ("q: x", "q: y"))


def test_bootstrap_intervals_hold_the_mean_and_narrow_with_numbers() -> None:
    few, many = bootstrap([0.0, 1.0] * 10), bootstrap([0.0, 1.0] * 1000)
    assert few[0] < 0.5 < few[1] and many[1] - many[0] < (few[1] - few[0]) / 5
    assert few == bootstrap([0.0, 1.0] * 10)
    normal = 1.96 * np.sqrt(0.25 / 2000)
    assert many == pytest.approx((0.5 - normal, 0.5 + normal), abs=0.005)
    assert bootstrap([1.0] * 5) == (1.0, 1.0)


# --- a small world ---------------------------------------------------------------------------------------------------------

SMALL = Size(hours=0.05, cameras=4, questions=20, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        world_asking(Settings.load(), made, SMALL, gated=True, report=quiet)
        yield made


def test_naming_everything_is_never_right() -> None:
    world = World.generate(3, cameras=6, minutes=40, density=0.3, questions=60)
    truth = world.truth()
    names = [item["name"] for kind in ("people", "zones", "things", "vehicles") for item in truth[kind]]
    moments = [datetime.datetime(2026, 3, 3, 9, minute) for minute in range(40)]
    numbers = [str(number) for number in range(13)]
    everything = ", ".join(
        [
            *names,
            *numbers,
            "yes",
            "no",
            "before",
            "after",
            *(f"{m:%H:%M:%S}" for m in moments),
            *(f"{s} s" for s in range(5, 200, 5)),
        ]
    )
    asked = [q for q in truth["questions"] if q["status"] == "answered" and not q["in_order"]]
    assert len(asked) > 30
    assert [q["text"] for q in asked if answer_matches(everything, expected_of(q, truth))] == []


def test_half_the_questions_of_a_world_are_asked_at_their_moment() -> None:
    truth = World.generate(3, cameras=4, minutes=3, questions=20).truth()
    gated = [q for q in of_world(truth) if q.asked_ms is not None]
    assert len(gated) == 10 and all(q.asked_ms for q in gated)
    assert all(span.end_ms < (q.asked_ms or 0) for q in gated for moment in q.moments for span in moment)
    assert not any(q.asked_ms for q in of_world(truth, gated=False))


def test_a_world_is_asked_and_every_citation_leads_to_its_clip(folder: Path) -> None:
    asking = world_asking(Settings.load(), folder, SMALL, gated=True, report=quiet)
    told: list[Outcome] = []
    found = answered(asking, Way(), report=quiet, told=told.append)
    assert found.answerable.asked == 16 and found.unanswerable and found.unanswerable.asked == 4
    assert found.citations and found.resolving == 1.0 and found.faults == ()
    assert found.gated == 10 and found.future_violations == 0
    assert len(told) == 20


def test_a_citation_that_leads_nowhere_is_told(folder: Path) -> None:
    asking = world_asking(Settings.load(), folder, SMALL, gated=True, report=quiet)
    with VGraph.open(asking.settings) as graph:
        given = next(a for q in asking.questions if (a := graph.ask(q.text)).claims)
        good = given.claims[0].citations[0]
        clips = Clips(graph)
        assert clips.fault(good) == ""
        assert "does not exist" in clips.fault(replace(good, chunk="nowhere"))
        assert "another document or camera" in clips.fault(replace(good, camera="moon"))
        assert "is not in chunk" in clips.fault(
            replace(good, start_ms=good.end_ms + 9_999_999, end_ms=good.end_ms + 10**7)
        )
        assert "cannot be opened" in clips.fault(replace(good, uri="/nowhere.mp4"))
        assert "is not within" in clips.fault(replace(good, end_offset_ms=10**9))


def test_the_command_prints_figures_and_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = ["--hours", "0.05", "--cameras", "4", "--questions", "20", "--seed", "3", "--folder", str(folder)]
    first = CliRunner().invoke(app, ["eval", "qa", *sizes, "--without", "words", "--json"])
    assert first.exit_code == 0, first.output
    whole = json.loads(first.stdout)
    assert len(whole["outcomes"]) == 20 and whole["summary"]["answerable"]["asked"] == 16

    def refuse(*arguments: Any, **how: Any) -> Iterator[Step]:
        raise AssertionError("asked again")

    monkeypatch.setattr(VGraph, "run", refuse)
    second = CliRunner().invoke(app, ["eval", "qa", *sizes, "--without", "words", "--json"])
    assert json.loads(second.stdout)["outcomes"] == whole["outcomes"]
    table = CliRunner().invoke(app, ["eval", "qa", *sizes, "--without", "words"])
    assert "answerable" in table.stdout and "citations that lead to a clip" in table.stdout


def test_the_command_refuses_what_does_not_go_together(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["eval", "qa", "mlvu"]).exit_code == 2
    assert CliRunner().invoke(app, ["eval", "qa", "--data", str(tmp_path)]).exit_code == 2
    assert CliRunner().invoke(app, ["eval", "qa", "--without", "luck", "--folder", str(tmp_path)]).exit_code == 2
    assert not list(tmp_path.iterdir())


# --- a model that knows the truth ------------------------------------------------------------------------------------------


def test_the_oracle_answers_only_what_it_is_shown() -> None:
    moment = (Span("dock", 5_000, 8_000),)
    asked = Question("q1", "who", "Who took crate 4?", moments=(moment,), answer="Ana Roe")
    oracle = Oracle([asked], {"c1": Span("dock", 0, 10_000), "c2": Span("gate", 0, 10_000)}.get, "UTC")
    form = {"properties": {"claims": {}, "choice": {}, "confidence": {}}}

    def answered_from(evidence: str) -> list[Any]:
        prompt = f"{quoted(asked.text)}\n\n{quoted('')}\n\n{quoted(evidence)}"
        claims: list[Any] = oracle.complete([Message("user", prompt)], schema=form).value["claims"]
        return claims

    assert answered_from("[c2] camera gate, 1970-01-01 00:00:06 UTC: Ana Roe") == []
    assert answered_from("Ana Roe took crate 4 on the dock at 1970-01-01 00:00:06") == []
    assert answered_from("[c1] camera dock: something") == [{"text": "Ana Roe.", "evidence": ["c1"]}]
    assert answered_from("[r3] camera dock, start 1970-01-01 00:00:06 UTC, end 1970-01-01 00:00:07 UTC") == [
        {"text": "Ana Roe.", "evidence": ["r3"]}
    ]


def test_the_oracle_looks_for_what_the_question_says_alone() -> None:
    text = "Did Ana Roe pick up crate 4 before or after Ben Cole left the yard between 09:00 and 09:10?"
    assert parts(text) == [
        "Ana Roe pick up crate 4 between 09:00 and 09:10",
        "Ben Cole left the yard between 09:00 and 09:10",
    ]
    assert parts("How many objects did Ana Roe pick up between 23:50 and 00:10?")[1:3] == [
        "How many objects did Ana Roe pick up between 23:55 and 00:00",
        "How many objects did Ana Roe pick up between 00:00 and 00:05",
    ]
    assert [call.tool for call in calls(parts(text)[0])][:2] == ["clip_search", "entity_graph_search"]


@pytest.mark.parametrize("agent", ["plan", "divide"])
def test_agents_find_what_the_oracle_needs(folder: Path, agent: Any) -> None:
    asking = world_asking(Settings.load(), folder, SMALL, gated=True, report=quiet)
    found = answered(asking, Way(agent=agent), oracle=True, report=quiet, told=lambda outcome: None)
    assert found.methods == ("model:oracle",) and found.steps > 5
    assert (found.answerable.accuracy or 0) >= 0.9 and found.faults == ()
    assert found.unanswerable and found.unanswerable.accuracy == 1.0


def test_the_oracle_abstains_where_nothing_is_found(folder: Path) -> None:
    asking = world_asking(Settings.load(), folder, SMALL, gated=True, report=quiet)
    elsewhere = replace(asking, questions=tuple(replace(q, asked_ms=1) for q in asking.questions))
    found = answered(elsewhere, Way(agent="plan"), oracle=True, report=quiet, told=lambda outcome: None)
    assert found.answerable.abstained == found.answerable.asked


# --- a published set -------------------------------------------------------------------------------------------------------


def test_a_local_copy_is_ingested_and_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "copy"
    root.mkdir()
    with Mp4Writer(root / "Kx1.mp4", 64, 36, 1) as file:
        for second in range(40):
            file.write(np.zeros((36, 64, 3), np.uint8), second * 1000)
    captions = [
        {"start": 5, "end": 9, "text": "A woman waters the fern with a copper can."},
        {"start": 20, "end": 25, "text": "A dog sleeps on the carpet."},
    ]
    (root / "Kx1.captions.jsonl").write_text("\n".join(map(json.dumps, captions)))
    asked = "What does the woman water the fern with?\n(A) a bucket\n(B) a copper can\n(C) a hose"
    qa = {
        "uid": "7",
        "question": asked,
        "answer": "B",
        "question_type": ["event understanding"],
        "time_reference": "00:05-00:09",
    }
    (root / "video_info.meta.jsonl").write_text(json.dumps({"key": "Kx1", "qa": [qa]}))
    asking = dataset_asking(Settings.load(), tmp_path / "eval", "lvbench", root, report=quiet)

    def by_a_reader(graph: VGraph, text: str, filters: Filters, *, agent: Any, choices: Any) -> Iterator[Step]:
        """Takes the second choice, and cites the line that bears on the question."""
        assert choices == ("a bucket", "a copper can", "a hose")
        found = graph.search(text, filters)
        cited = cite(found.chunks[0], best_line(found.chunks[0], text))
        claim = Claim("with a copper can", (cited,))
        yield FinalAnswer(Answer(text, AnswerStatus.answered, claim.text, (claim,), "reader", found, choice="B"))

    monkeypatch.setattr(VGraph, "run", by_a_reader)
    told: list[Outcome] = []
    found = answered(asking, Way(), report=quiet, told=told.append)
    assert (found.answerable.asked, found.faults) == (1, ())
    assert told[0].verdict == "right", told[0].text
    assert (told[0].precision, told[0].located) == (1.0, True)
