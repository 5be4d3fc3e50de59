"""LVBench (Wang et al. 2024): four choices about videos of an hour or two, each with the time it rests on.

video_info.meta.jsonl     {"key", "type", "video_info", "qa": [{"uid", "question": "…\\n(A) …\\n(B) …", "answer": "A"…"D",
                           "question_type": […], "time_reference": "MM:SS-MM:SS" or with hours}]}, one video a line
<key>.mp4                 anywhere below
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from vgraph.evals.datasets.form import (
    NOMINAL_START_MS,
    Dataset,
    Row,
    Video,
    Videos,
    checked,
    clock_ms,
    first_file,
    place_of,
    rows,
    with_videos,
)
from vgraph.evals.questions import Question, spans
from vgraph.media.lines import Text

NAME = "lvbench"
FILES = ("video_info.meta.jsonl", "data/video_info.meta.jsonl", "**/video_info.meta.jsonl")
INSTANT_MS = 1000
"""How long a time without an end lasts."""
_CHOICE = re.compile(r"\n\s*\(([A-J])\)\s*")


class _Asked(BaseModel):
    model_config = ConfigDict(extra="ignore")

    uid: Annotated[str | int, Field()]
    question: Text
    answer: str | None = None
    question_type: tuple[str, ...] = ()
    time_reference: str = ""


class _Given(BaseModel):
    model_config = ConfigDict(extra="ignore")

    key: Text
    qa: tuple[_Asked, ...]


def read(root: Path) -> Dataset:
    videos = Videos(root)
    return with_videos(NAME, (pair for row in rows(first_file(root, NAME, FILES)) for pair in _asked(row, videos)))


def _asked(row: Row, videos: Videos) -> Iterator[tuple[Question, Video | None]]:
    given = checked(row, _Given)
    path = videos.find(given.key)
    video = Video(path, given.key) if path else None
    for number, asked in enumerate(given.qa):
        text, *parts = _CHOICE.split(asked.question)
        choices = tuple(choice.strip() for choice in parts[1::2])
        if len(choices) < 2:
            raise row.wrong(f"qa.{number}.question", "no choices (A), (B) … stand in it, each in a line of its own")
        question = Question(
            str(asked.uid),
            asked.question_type[0] if asked.question_type else NAME,
            text.strip(),
            choices,
            place_of(row, asked.answer, choices, f"qa.{number}.answer"),
            cameras=(given.key,),
            moments=spans(given.key, NOMINAL_START_MS, _times(row, number, asked.time_reference)),
        )
        yield question, video


def _times(row: Row, number: int, text: str) -> Iterator[tuple[int, int]]:
    """The intervals a time reference names, media ms."""
    for part in re.split(r"[;,]", text) if text.strip() else ():
        try:
            start, *end = [clock_ms(time) for time in part.split("-")]
            last = end[-1] if end else start + INSTANT_MS
            if len(end) > 1 or last < start:
                raise ValueError(f"{part.strip()!r} is not of the form MM:SS-MM:SS")
        except ValueError as error:
            raise row.wrong(f"qa.{number}.time_reference", str(error)) from error
        yield start, max(last, start + INSTANT_MS)
