"""EgoSchema (Mangalam et al. 2023): five choices about three minutes of first-person video.

    questions.json            [{"q_uid", "google_drive_id", "question", "option 0" … "option 4"}]
    subset_answers.json       {q_uid: 0…4}, for 500 of them: the others have no published answer, and are asked only when all are such
    videos/<q_uid>.mp4

or the table form: question_idx, question, video_idx, option ["A. …"], answer ("0" … "4").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from vgraph.evals.datasets.form import (
    Dataset,
    Row,
    Video,
    Videos,
    bare_choices,
    checked,
    first_file,
    mapping,
    place_of,
    rows,
    with_videos,
)
from vgraph.evals.questions import Question
from vgraph.media.lines import Text

NAME = "egoschema"
ANSWERS = "subset_answers.json"
FILES = ("questions.json", "*/questions.json", "Subset/*.parquet", "**/test-*.parquet", "*.parquet", "*.jsonl")


class _Given(BaseModel):
    model_config = ConfigDict(extra="ignore")

    q_uid: Text
    question: Text
    choices: Annotated[tuple[Text, ...], Field(min_length=2)]


class _Listed(BaseModel):
    model_config = ConfigDict(extra="ignore")

    question_idx: Text
    question: Text
    video_idx: Text
    option: Annotated[tuple[Text, ...], Field(min_length=2)]
    answer: str | int | None = None


def read(root: Path) -> Dataset:
    file = first_file(root, NAME, FILES)
    beside = file.with_name(ANSWERS)
    answers = mapping(beside) if beside.is_file() else {}
    videos = Videos(root)
    asked = [_asked(row, answers, videos) for row in rows(file)]
    published = [pair for pair in asked if pair[0].right is not None]
    return with_videos(NAME, published or asked)


def _asked(row: Row, answers: Mapping[str, Any], videos: Videos) -> tuple[Question, Video | None]:
    if isinstance(row.value, dict) and "video_idx" in row.value:
        listed = checked(row, _Listed)
        name, id_, text, choices, answer = (
            listed.video_idx, listed.question_idx, listed.question, bare_choices(listed.option), listed.answer,
        )  # fmt: skip
    else:
        given = checked(Row(row.file, row.line, dict(_fields(row.value))), _Given)
        name = id_ = given.q_uid
        text, choices, answer = given.question, given.choices, answers.get(id_)
    right = place_of(row, answer, choices)
    path = videos.find(name)
    question = Question(id_, "egoschema", text, choices, right, cameras=(name,))
    return question, Video(path, name) if path else None


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The object with its numbered options as one list."""
    given = value if isinstance(value, dict) else {}
    yield from given.items()
    numbered = [given[f"option {n}"] for n in range(len(given)) if f"option {n}" in given]
    yield "choices", numbered
