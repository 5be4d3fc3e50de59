"""EgoLifeQA (Yang et al. 2025): four choices about a week seen by six people's glasses, each asked at a moment of that week.

    EgoLifeQA/EgoLifeQA_<A1_JAKE>.json   [{"ID", "query_time": {"date": "DAY2", "time": "HHMMSSFF"}, "type", "question",
                                           "choice_a" … "choice_d", "answer": "A"…"D", "target_time": …, …}]
    <A1_JAKE>/DAY2/DAY2_A1_JAKE_11210250.mp4      clips of 30 s, named by when they begin; FF counts frames of 20 a second

`target_time` comes as {"date", "time"}, with several times (and days between them) in `time`, as {"date", "time_list"}, or as a
list of those. The week has no published date: DAY1 is 2000-01-01 here, in UTC. Nothing after `query_time` may be used. `keywords`
and `reason` give the answer away and are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from vgraph.errors import DatasetError
from vgraph.evals.datasets.form import NOMINAL_START_MS, VIDEO_ENDINGS, Dataset, Row, Video, checked, place_of, rows
from vgraph.evals.metrics import Moment, Span
from vgraph.evals.questions import Question
from vgraph.media.lines import Text

NAME = "egolife"
FILES = ("EgoLifeQA/EgoLifeQA_*.json", "EgoLifeQA_*.json", "**/EgoLifeQA_*.json")
FRAMES_A_SECOND = 20
DAY_MS = 86_400_000
INSTANT_MS = 1000
_TOKEN = re.compile(r"DAY(\d+)|(\d{6,8})")
_CLIP = re.compile(r"DAY(\d+)_(.+)_(\d{8})")


class _Moment(BaseModel):
    model_config = ConfigDict(extra="ignore")

    date: Text
    time: Text


class _Given(BaseModel):
    model_config = ConfigDict(extra="ignore")

    ID: str | int
    query_time: _Moment
    type: Text
    question: Text
    choice_a: Text
    choice_b: Text
    choice_c: Text
    choice_d: Text
    answer: str | None = None
    target_time: Any = None


def read(root: Path) -> Dataset:
    files = next((found for pattern in FILES if (found := sorted(root.glob(pattern)))), [])
    if not files:
        raise DatasetError(f"{root}: no questions of {NAME} here (looked for {', '.join(FILES)})", path=str(root))
    clips = sorted(_clips(root), key=lambda video: (video.camera, video.start_ms))
    seen = {clip.camera for clip in clips}
    asked = [_asked(row, file.stem.removeprefix("EgoLifeQA_")) for file in files for row in rows(file)]
    there = [question for question in asked if set(question.cameras or ()) & seen]
    if asked and not there:
        raise DatasetError(
            f"{NAME}: {len(asked)} questions, and no clip DAY1_<person>_HHMMSSFF.mp4 of whom they are about"
        )
    left = len(asked) - len(there)
    notes = (f"{left} of {len(asked)} questions were left out: no clip of their person is there",) if left else ()
    about = {camera for question in there for camera in question.cameras or ()}
    return Dataset(NAME, tuple(there), tuple(clip for clip in clips if clip.camera in about), notes)


def _clips(root: Path) -> Iterator[Video]:
    for file in root.rglob("*"):
        name = _CLIP.fullmatch(file.stem)
        if name and file.suffix.lower() in VIDEO_ENDINGS:
            yield Video(file, name[2], at_ms(int(name[1]), name[3]))


def _asked(row: Row, person: str) -> Question:
    given = checked(row, _Given)
    choices = (given.choice_a, given.choice_b, given.choice_c, given.choice_d)
    return Question(
        f"{person}_{given.ID}",
        given.type,
        given.question,
        choices,
        place_of(row, given.answer, choices),
        cameras=(person,),
        asked_ms=_when(row, "query_time", given.query_time.date, given.query_time.time),
        moments=tuple(_moments(row, person, given.target_time)),
    )


def _moments(row: Row, person: str, target: Any) -> Iterator[Moment]:
    """The true times: each is an instant within the clip that shows it."""
    for part in target if isinstance(target, list) else [target] if target else []:
        if not isinstance(part, dict):
            raise row.wrong("target_time", "an object with date and time was expected")
        listed = part.get("time_list")
        text = " ".join(str(item) for item in listed) if isinstance(listed, list) else str(part.get("time", ""))
        day = str(part.get("date", ""))
        for token in _TOKEN.finditer(text):
            if token[1]:
                day = f"DAY{token[1]}"
            else:
                start = _when(row, "target_time", day, token[2])
                yield (Span(person, start, start + INSTANT_MS),)


def _when(row: Row, field: str, date: str, time: str) -> int:
    day = re.fullmatch(r"DAY(\d+)", date.strip())
    if not day:
        raise row.wrong(field, f"date {date!r} is not of the form DAY1")
    try:
        return at_ms(int(day[1]), time.strip())
    except ValueError as error:
        raise row.wrong(field, str(error)) from error


def at_ms(day: int, time: str) -> int:
    """UTC ms of `HHMMSSFF` (or `HHMMSS`) on a day from 1. Raises ValueError."""
    if not re.fullmatch(r"\d{6}(\d{2})?", time):
        raise ValueError(f"time {time!r} is not of the form HHMMSSFF")
    hours, minutes, seconds, frames = (int(time[n : n + 2] or 0) for n in (0, 2, 4, 6))
    if hours > 23 or minutes > 59 or seconds > 59 or frames >= FRAMES_A_SECOND or day < 1:
        raise ValueError(f"time {time!r} is not of the form HHMMSSFF, with FF below {FRAMES_A_SECOND}")
    passed = ((hours * 60 + minutes) * 60 + seconds) * 1000 + frames * 1000 // FRAMES_A_SECOND
    return NOMINAL_START_MS + (day - 1) * DAY_MS + passed
