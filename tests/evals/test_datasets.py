"""Published sets of questions, on small files made up in the same form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vgraph.errors import DatasetError, MissingDependency, UserError
from vgraph.evals.datasets import DATASETS, read_dataset, staged
from vgraph.evals.datasets.egolife import at_ms
from vgraph.evals.datasets.form import NOMINAL_START_MS, Row, Video, Videos, bare_choices, clock_ms, place_of
from vgraph.evals.metrics import Span
from vgraph.media.sidecars import read_meta
from vgraph.media.subtitles import read_subtitles
from vgraph.media.text import Warnings


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), encoding="utf-8")
    return path


def video(path: Path) -> Path:
    return put(path, "")


# --- EgoLifeQA -------------------------------------------------------------------------------------------------------------


def ego(**more: Any) -> dict[str, Any]:
    return {
        "ID": "17",
        "query_time": {"date": "DAY2", "time": "09300010"},
        "type": "EventRecall",
        "need_audio": False,
        "question": "Who watered the fern?",
        "choice_a": "Ana",
        "choice_b": "Ben",
        "choice_c": "Cem",
        "choice_d": "Dora",
        "answer": "C",
        "target_time": {"date": "DAY1", "time": "21150500"},
        "keywords": "fern",
        "reason": "Cem held the can",
    } | more


def egolife(root: Path, *questions: dict[str, Any]) -> Path:
    put(root / "EgoLifeQA" / "EgoLifeQA_A9_ZOE.json", list(questions))
    video(root / "A9_ZOE" / "DAY1" / "DAY1_A9_ZOE_21150000.mp4")
    video(root / "A9_ZOE" / "DAY2" / "DAY2_A9_ZOE_08000012.mp4")
    return root


def test_egolife_asks_at_a_moment_of_the_week(tmp_path: Path) -> None:
    found = read_dataset("egolife", egolife(tmp_path, ego()))
    (question,) = found.questions
    day = 86_400_000
    assert (question.text, question.choices) == ("Who watered the fern?", ("Ana", "Ben", "Cem", "Dora"))
    assert (question.id, question.kind, question.right, question.cameras) == (
        "A9_ZOE_17",
        "EventRecall",
        2,
        ("A9_ZOE",),
    )
    assert question.asked_ms == NOMINAL_START_MS + day + (9 * 3600 + 30 * 60) * 1000 + 500
    at = NOMINAL_START_MS + (21 * 3600 + 15 * 60 + 5) * 1000
    assert question.moments == ((Span("A9_ZOE", at, at + 1000),),)
    assert [v.start_ms - NOMINAL_START_MS for v in found.videos] == [(21 * 60 + 15) * 60_000, day + 8 * 3_600_000 + 600]
    assert "Cem held" not in repr(question)


@pytest.mark.parametrize(
    ("target", "days_and_times"),
    [
        ({"date": "DAY1", "time": "1115240811263000"}, None),
        ({"date": "DAY1", "time": "11152408, 11263000"}, [(1, "11152408"), (1, "11263000")]),
        ({"date": "DAY1", "time": "11152408_DAY3_12000000"}, [(1, "11152408"), (3, "12000000")]),
        ({"date": "DAY2", "time_list": ["11152408", "11263000"]}, [(2, "11152408"), (2, "11263000")]),
        ([{"date": "DAY1", "time": "11152408"}, {"date": "DAY4", "time": "10000000"}], [(1, "11152408"), (4, "10000000")]),
        (None, []),
    ],
)  # fmt: skip
def test_egolife_true_times_come_in_several_forms(
    tmp_path: Path, target: Any, days_and_times: list[tuple[int, str]] | None
) -> None:
    root = egolife(tmp_path, ego(target_time=target))
    (question,) = read_dataset("egolife", root).questions
    wanted = [at_ms(*one) for one in days_and_times or [(1, "11152408"), (1, "11263000")]]
    assert [moment[0].start_ms for moment in question.moments] == (wanted if days_and_times != [] else [])


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"query_time": {"date": "DAY2", "time": "11600200"}}, "query_time"),
        ({"query_time": {"date": "DAY2", "time": "09300025"}}, "query_time"),
        ({"query_time": {"date": "Tuesday", "time": "09300010"}}, "query_time"),
        ({"target_time": {"date": "", "time": "09300010"}}, "target_time"),
        ({"target_time": ["09300010"]}, "target_time"),
        ({"answer": "F"}, "answer"),
        ({"choice_d": None}, "choice_d"),
    ],
)
def test_egolife_tells_file_line_and_field(tmp_path: Path, wrong: dict[str, Any], field: str) -> None:
    root = egolife(tmp_path, ego(), ego(**wrong))
    with pytest.raises(DatasetError, match=r"EgoLifeQA_A9_ZOE\.json:\d+: ") as caught:
        read_dataset("egolife", root)
    text = (root / "EgoLifeQA" / "EgoLifeQA_A9_ZOE.json").read_text().split("\n")
    assert (caught.value.field.split(".")[0], text[(caught.value.line or 0) - 1].strip()) == (field, "{")
    assert caught.value.line and caught.value.line > 2


# --- EgoSchema -------------------------------------------------------------------------------------------------------------


def schema(uid: str, **more: Any) -> dict[str, Any]:
    options = {f"option {n}": f"C does {what}." for n, what in enumerate(("this", "that", "both", "none", "more"))}
    return {"q_uid": uid, "google_drive_id": "x", "question": "What does C do?", **options} | more


def test_egoschema_asks_what_has_a_published_answer(tmp_path: Path) -> None:
    put(tmp_path / "questions.json", [schema("u-1"), schema("u-2"), schema("u-3")])
    put(tmp_path / "subset_answers.json", {"u-2": 3})
    for uid in ("u-1", "u-2"):
        video(tmp_path / "videos" / f"{uid}.mp4")
    found = read_dataset("egoschema", tmp_path)
    (question,) = found.questions
    assert (question.id, question.right, question.choices[3], question.judged) == ("u-2", 3, "C does none.", True)
    assert [v.camera for v in found.videos] == ["u-2"]


def test_egoschema_without_answers_is_asked_and_not_judged(tmp_path: Path) -> None:
    put(tmp_path / "questions.json", [schema("u-1"), schema("u-3")])
    video(tmp_path / "u-1.mp4")
    found = read_dataset("egoschema", tmp_path)
    assert [(q.id, q.right, q.judged) for q in found.questions] == [("u-1", None, False)]
    assert found.notes == ("1 of 2 questions were left out: their videos are not there",)


def test_egoschema_as_a_table(tmp_path: Path) -> None:
    row = {
        "question_idx": "7",
        "question": "What?",
        "video_idx": "u-1",
        "option": ["A. This.", "B. That."],
        "answer": "1",
    }
    put(tmp_path / "MC.jsonl", json.dumps(row))
    video(tmp_path / "u-1.mp4")
    (question,) = read_dataset("egoschema", tmp_path).questions
    assert (question.choices, question.right) == (("This.", "That."), 1)


# --- LongVideoBench --------------------------------------------------------------------------------------------------------


def long(**more: Any) -> dict[str, Any]:
    return {
        "id": "v1_0", "video_id": "v1", "question": "What does the baker do next?", "candidates": ["Bakes", "Sleeps", "Sings"],
        "correct_choice": 2, "question_category": "E3E", "duration_group": 600, "position": [12], "video_path": "v1.mp4",
        "subtitle_path": "v1_en.json", "starting_timestamp_for_subtitles": 60, "duration": 100.0,
    } | more  # fmt: skip


def test_longvideobench_lays_out_its_subtitles(tmp_path: Path) -> None:
    root = tmp_path / "copy"
    put(root / "lvb_val.json", [long()])
    put(
        root / "subtitles" / "v1_en.json",
        [
            {"start": "00:00:10.000", "end": "00:00:20.000", "line": "before it begins"},
            {"start": "00:01:01.500", "end": "00:01:03.250", "line": "good  morning"},
            {"timestamp": [65.0, None], "text": "and good night"},
        ],
    )
    video(root / "videos" / "v1.mp4")
    found = read_dataset("longvideobench", root)
    assert (found.questions[0].right, found.questions[0].kind) == (2, "E3E")
    (place,) = staged(found.videos, tmp_path / "staged")
    warnings = Warnings(place)
    cues = read_subtitles(place.with_suffix(".srt"), warnings)
    assert [(c.offset_ms, c.end_offset_ms, c.text) for c in cues] == [
        (1500, 3250, "good morning"),
        (5000, 8000, "and good night"),
    ]
    meta = read_meta(place)
    assert meta.camera and (meta.camera.label, meta.start_ms) == ("v1", NOMINAL_START_MS)
    assert place.resolve() == (root / "videos" / "v1.mp4").resolve()


def test_longvideobench_as_a_table_leaves_out_what_is_no_option(tmp_path: Path) -> None:
    row = {key: value for key, value in long().items() if key != "candidates"}
    options = {"option0": "Bakes", "option1": "Sleeps", "option2": "Sings", "option3": "N/A", "option4": "N/A"}
    put(tmp_path / "lvb_val.json", [row | options])
    video(tmp_path / "videos" / "v1.mp4")
    assert read_dataset("longvideobench", tmp_path).questions[0].choices == ("Bakes", "Sleeps", "Sings")


def test_longvideobench_tells_a_choice_that_is_none(tmp_path: Path) -> None:
    put(tmp_path / "lvb_val.json", [long(correct_choice=3)])
    with pytest.raises(DatasetError, match=r"lvb_val\.json:2: correct_choice: 3 is none of the 3 choices"):
        read_dataset("longvideobench", tmp_path)


def test_subtitles_that_are_none_are_told_with_their_line(tmp_path: Path) -> None:
    file = put(
        tmp_path / "s.json",
        [{"start": "0:01", "end": "0:02", "line": "a"}, {"start": "soon", "end": "0:02", "line": "b"}],
    )
    with pytest.raises(DatasetError, match=r"s\.json:7: not a line of subtitles"):
        staged([Video(video(tmp_path / "v.mp4"), "v", subtitles=file)], tmp_path / "staged")


# --- MLVU ------------------------------------------------------------------------------------------------------------------


def test_mlvu_answers_by_the_text_of_a_candidate(tmp_path: Path) -> None:
    count = {
        "video": "count_3.mp4",
        "duration": 9,
        "question": "How often?",
        "candidates": ["2", "1", "5"],
        "answer": "1",
    }
    put(tmp_path / "json" / "4_count.json", [count | {"question_type": "count"}])
    summary = {
        "video": "count_3.mp4",
        "duration": 9,
        "question": "Summarise.",
        "answer": "A band.",
        "question_type": "summary",
    }
    put(tmp_path / "json" / "9_summary.json", [summary])
    one = video(tmp_path / "video" / "4_count" / "count_3.mp4")
    other = video(tmp_path / "video" / "9_summary" / "count_3.mp4")
    found = read_dataset("mlvu", tmp_path)
    assert [(q.id, q.kind, q.right, q.judged) for q in found.questions] == [
        ("4_count_0", "count", 1, True),
        ("9_summary_0", "summary", None, False),
    ]
    assert {v.camera: v.path for v in found.videos} == {"4_count/count_3": one, "9_summary/count_3": other}
    assert len({place.name for place in staged(found.videos, tmp_path / "staged")}) == 2


def test_mlvu_tells_an_answer_that_is_no_candidate(tmp_path: Path) -> None:
    row = {"video": "a.mp4", "question": "What?", "candidates": ["x", "y"], "answer": "z", "question_type": "ego"}
    put(tmp_path / "json" / "3_ego.json", [row])
    with pytest.raises(DatasetError, match=r"3_ego\.json:2: answer: 'z' is none of the 2 choices"):
        read_dataset("mlvu", tmp_path)


# --- Video-MME -------------------------------------------------------------------------------------------------------------


def test_videomme_in_both_forms(tmp_path: Path) -> None:
    asked = {"question_id": "001-1", "task_type": "Counting Problem", "question": "How many?", "answer": "B"}
    options = ["A. One.", "B. Two.", "C. Three.", "D. Four."]
    url = "https://www.youtube.com/watch?v=abcDEF_-123"
    nested, flat = tmp_path / "nested", tmp_path / "flat"
    put(nested / "all.json", [{"video_id": "001", "url": url, "questions": [asked | {"choices": options}]}])
    put(flat / "test.jsonl", json.dumps(asked | {"videoID": "abcDEF_-123", "video_id": "001", "options": options}))
    for root in (nested, flat):
        video(root / "data" / "abcDEF_-123.mkv")
        subtitles = put(root / "subtitle" / "abcDEF_-123.srt", "1\n00:00:01,000 --> 00:00:02,000\nhello\n")
        found = read_dataset("videomme", root)
        (question,) = found.questions
        assert (question.id, question.kind, question.right) == ("001-1", "Counting Problem", 1)
        assert question.choices == ("One.", "Two.", "Three.", "Four.")
        assert found.videos[0].subtitles == subtitles
        (place,) = staged(found.videos, root / "staged")
        assert place.with_suffix(".srt").read_text().endswith("hello\n")


def test_a_table_needs_its_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video(tmp_path / "data" / "x.mp4")
    put(tmp_path / "videomme" / "test-00000-of-00001.parquet", "not a table")
    monkeypatch.setattr("vgraph.evals.datasets.form.find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match="pip install pyarrow"):
        read_dataset("videomme", tmp_path)


def test_a_table_is_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    file = tmp_path / "videomme" / "test-00000-of-00001.parquet"
    file.parent.mkdir()
    row = {"videoID": "x1", "question_id": "1", "question": "What?", "options": ["A. a", "B. b"], "answer": "A"}
    parquet.write_table(pyarrow.Table.from_pylist([row, row | {"question_id": "2", "answer": "E"}]), file)
    video(tmp_path / "data" / "x1.mp4")
    with pytest.raises(DatasetError, match=r"parquet:2: answer: 'E' is none of the 2 choices"):
        read_dataset("videomme", tmp_path)


# --- LVBench ---------------------------------------------------------------------------------------------------------------


def lvbench(time: str = "01:10-01:20", question: str = "Who?\n(A) Ana\n(B) Ben (left)") -> str:
    qa = {"uid": "12", "question": question, "answer": "B", "question_type": ["entity recognition", "reasoning"]}
    return json.dumps({"key": "Kx1", "type": "live", "video_info": {}, "qa": [qa | {"time_reference": time}]}) + "\n"


@pytest.mark.parametrize(
    ("time", "intervals"),
    [
        ("01:10-01:20", [(70, 80)]),
        ("1:00:10-1:00:12", [(3610, 3612)]),
        ("00:05", [(5, 6)]),
        ("00:05-00:09; 01:00-01:01", [(5, 9), (60, 61)]),
        ("", []),
    ],
)
def test_lvbench_has_true_times_in_the_video(tmp_path: Path, time: str, intervals: list[tuple[int, int]]) -> None:
    put(tmp_path / "video_info.meta.jsonl", lvbench(time))
    video(tmp_path / "all_videos" / "Kx1.webm")
    (question,) = read_dataset("lvbench", tmp_path).questions
    assert (question.text, question.choices, question.right) == ("Who?", ("Ana", "Ben (left)"), 1)
    assert [(m[0].start_ms - NOMINAL_START_MS, m[0].end_ms - NOMINAL_START_MS) for m in question.moments] == [
        (low * 1000, high * 1000) for low, high in intervals
    ]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (lvbench(time="later"), "qa.0.time_reference"),
        (lvbench(time="02:00-01:00"), "qa.0.time_reference"),
        (lvbench(question="Who? (A) Ana (B) Ben"), "qa.0.question"),
        ('{"key": "Kx1", "qa": [{"uid": 1}]}\n', "qa.0.question"),
        ('{"qa": []}\n', "key"),
        ("[]\n", ""),
    ],
)
def test_lvbench_tells_file_line_and_field(tmp_path: Path, text: str, field: str) -> None:
    put(tmp_path / "video_info.meta.jsonl", "\n" + text)
    with pytest.raises(DatasetError, match=r"video_info\.meta\.jsonl:2: ") as caught:
        read_dataset("lvbench", tmp_path)
    assert caught.value.field == field


# --- all of them -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATASETS)
def test_a_folder_without_the_questions_says_what_was_looked_for(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatasetError, match=f"no questions of {name} here"):
        read_dataset(name, tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        read_dataset(name, tmp_path / "nowhere")


BROKEN: dict[str, Callable[[Path], Path]] = {
    "egolife": lambda root: root / "EgoLifeQA_A1_JAKE.json",
    "egoschema": lambda root: root / "questions.json",
    "longvideobench": lambda root: root / "lvb_val.json",
    "mlvu": lambda root: root / "json" / "1_plotQA.json",
    "videomme": lambda root: root / "all.json",
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize(
    "text", ['[\n{"a": 1},\n{"a": }\n]', '{"a": 1}', '[{"a": 1}\n{"a": 2}]', '[\n{"a": 1},', "[\n17\n]", ""]
)
def test_a_file_that_is_not_of_the_form_is_told_with_its_line(tmp_path: Path, name: str, text: str) -> None:
    put(BROKEN[name](tmp_path), text)
    with pytest.raises(DatasetError, match=r"\.json:\d+: "):
        read_dataset(name, tmp_path)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "questions.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DatasetError, match="cannot be read as UTF-8"):
        read_dataset("egoschema", tmp_path)


def test_an_unknown_name_lists_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there are: egolife, egoschema, longvideobench, mlvu, videomme, lvbench"):
        read_dataset("trivia", tmp_path)


def test_questions_whose_videos_are_all_missing_are_an_error(tmp_path: Path) -> None:
    put(tmp_path / "lvb_val.json", [long()])
    with pytest.raises(DatasetError, match="none of their videos is there"):
        read_dataset("longvideobench", tmp_path)


def test_videos_are_found_in_the_folder_that_is_meant(tmp_path: Path) -> None:
    one, two = video(tmp_path / "a" / "x.v2.mp4"), video(tmp_path / "b" / "x.v2.mp4")
    videos = Videos(tmp_path)
    assert (videos.find("x.v2", "b"), videos.find("b/x.v2.mp4"), videos.find("x.v2.mp4")) == (two, two, one)
    assert videos.find("y.mp4") is None


def test_choices_lose_their_letters_only_together() -> None:
    assert bare_choices(["A. One.", "(B) Two"]) == ("One.", "Two")
    assert bare_choices(["A. Lincoln", "Washington"]) == ("A. Lincoln", "Washington")


@pytest.mark.parametrize(
    ("answer", "place"), [("B", 1), ("(c)", 2), (0, 0), ("2", 2), ("two", 1), (None, None), ("", None)]
)
def test_answers_are_coded_in_many_ways(answer: Any, place: int | None) -> None:
    row = Row(Path("f.json"), 3, {})
    assert place_of(row, answer, ["one", "two", "three"]) == place


def test_a_number_that_is_a_choice_is_that_choice() -> None:
    assert place_of(Row(Path("f.json"), 3, {}), "1", ["2", "1", "5"]) == 1


@pytest.mark.parametrize("text", ["", "1:2:3:4", "a:b", "-1:00", "10:-3"])
def test_what_is_no_clock_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        clock_ms(text)
