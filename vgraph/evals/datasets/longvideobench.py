"""LongVideoBench (Wu et al. 2024): up to five choices about videos with subtitles, referring to a moment in words.

    lvb_val.json              [{"video_id", "id", "question", "candidates", "correct_choice": 0…4, "question_category", "duration_group",
                                "video_path", "subtitle_path", "starting_timestamp_for_subtitles", "duration", …}]
    lvb_test_wo_gt.json       the same without correct_choice
    videos/<video_path>  subtitles/<subtitle_path>

or the table form with option0 … option4, "N/A" where there are fewer. `position` (frames the question refers to) has no published unit, and
is not used as truth.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from vgraph.evals.datasets.form import Dataset, Row, Video, Videos, checked, first_file, place_of, rows, with_videos
from vgraph.evals.questions import Question
from vgraph.media.lines import Seconds, Text

NAME = "longvideobench"
FILES = ("lvb_val.json", "*/lvb_val.json", "**/validation-*.parquet", "lvb_test_wo_gt.json", "*/lvb_test_wo_gt.json")
NONE = "N/A"


class _Given(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: Text
    video_id: Text
    question: Text
    candidates: Annotated[tuple[Text, ...], Field(min_length=2)]
    video_path: Text
    subtitle_path: str = ""
    question_category: str = ""
    starting_timestamp_for_subtitles: Seconds = 0.0
    correct_choice: int | None = None


def read(root: Path) -> Dataset:
    videos = Videos(root)
    return with_videos(NAME, (_asked(row, root, videos) for row in rows(first_file(root, NAME, FILES))))


def _asked(row: Row, root: Path, videos: Videos) -> tuple[Question, Video | None]:
    given = checked(_listed(row), _Given)
    right = place_of(row, given.correct_choice, given.candidates, "correct_choice")
    path = videos.find(given.video_path)
    subtitles = root / "subtitles" / given.subtitle_path
    question = Question(
        given.id, given.question_category or NAME, given.question, given.candidates, right, cameras=(given.video_id,)
    )
    if path is None:
        return question, None
    given_subtitles = subtitles if given.subtitle_path and subtitles.is_file() else None
    from_ms = round(given.starting_timestamp_for_subtitles * 1000)
    return question, Video(path, given.video_id, subtitles=given_subtitles, subtitles_from_ms=from_ms)


def _listed(row: Row) -> Row:
    """The table form as the other."""
    if not isinstance(row.value, dict) or "option0" not in row.value:
        return row
    options = [row.value.get(f"option{n}", NONE) for n in range(5)]
    return Row(row.file, row.line, row.value | {"candidates": [option for option in options if option != NONE]})
