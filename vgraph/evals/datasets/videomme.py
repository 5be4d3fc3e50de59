"""Video-MME (Fu et al. 2024): four choices about videos of 11 seconds to an hour, with or without subtitles.

The table (`videomme/test-*.parquet`): video_id, duration (short, medium, long), domain, sub_category, url, videoID, question_id, task_type,
question, options ["A. …"], answer ("A" … "D"). The JSON: an object a video, with `questions`, their options as `options` or `choices`,
and the video known by its `url` or `video_id`.

    data/<videoID>.mp4  subtitle/<videoID>.srt
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from vgraph.evals.datasets.form import (
    Dataset,
    Row,
    Video,
    Videos,
    bare_choices,
    checked,
    first_file,
    place_of,
    rows,
    with_videos,
)
from vgraph.evals.questions import Question
from vgraph.media.lines import Text

NAME = "videomme"
FILES = ("videomme/*.parquet", "*.parquet", "*.json", "*.jsonl", "*/*.json")
_WATCHED = re.compile(r"(?:v=|youtu\.be/|shorts/)([\w-]{6,})")


class _Given(BaseModel):
    model_config = ConfigDict(extra="ignore")

    question_id: Text
    question: Text
    options: Annotated[tuple[Text, ...], Field(min_length=2, validation_alias=AliasChoices("options", "choices"))]
    answer: str | None = None
    task_type: str = ""
    videoID: str = ""  # noqa: N815 - its published name
    video_id: str = ""
    url: str = ""


def read(root: Path) -> Dataset:
    videos, file = Videos(root), first_file(root, NAME, FILES)
    return with_videos(NAME, (_asked(row, root, videos) for whole in rows(file) for row in _questions(whole)))


def _questions(row: Row) -> Iterator[Row]:
    """A video's questions, each with what is said of the video."""
    given: dict[str, Any] = row.value if isinstance(row.value, dict) else {}
    if "questions" not in given:
        yield row
        return
    if not isinstance(given["questions"], list) or not all(isinstance(one, dict) for one in given["questions"]):
        raise row.wrong("questions", "a list of objects was expected")
    about = {name: value for name, value in given.items() if name != "questions"}
    yield from (Row(row.file, row.line, about | question) for question in given["questions"])


def _asked(row: Row, root: Path, videos: Videos) -> tuple[Question, Video | None]:
    given = checked(row, _Given)
    choices = bare_choices(given.options)
    right = place_of(row, given.answer, choices)
    watched = _WATCHED.search(given.url)
    name = given.videoID or (watched[1] if watched else given.video_id)
    if not name:
        raise row.wrong("videoID", "neither videoID nor url nor video_id says which video it is")
    path, subtitles = videos.find(name), root / "subtitle" / f"{name}.srt"
    question = Question(given.question_id, given.task_type or NAME, given.question, choices, right, cameras=(name,))
    found = subtitles if subtitles.is_file() else None
    return question, Video(path, name, subtitles=found) if path else None
