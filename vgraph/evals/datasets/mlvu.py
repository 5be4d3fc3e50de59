"""MLVU (Zhou et al. 2024): seven tasks with choices, two in open form, about videos of minutes to hours.

    json/<task>.json          [{"video", "duration", "question", "candidates", "answer", "question_type"}]; the answer is a candidate's text
    video/<task>/<video>
    test-ground-truth/test_mcq_gt.json with video/<video>: the test split, its rows have a question_id

Tasks: 1_plotQA, 2_needle, 3_ego, 4_count, 5_order, 6_anomaly_reco, 7_topic_reasoning; 8_sub_scene and 9_summary have no candidates: they
are asked, but only a model could judge the answers (as the publishers do), so they count as neither right nor wrong.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vgraph.errors import DatasetError
from vgraph.evals.datasets.form import Dataset, Row, Video, Videos, checked, place_of, rows, with_videos
from vgraph.evals.questions import Question
from vgraph.media.lines import Text

NAME = "mlvu"
FILES = ("json/*.json", "*/json/*.json", "**/test_mcq_gt.json")


class _Given(BaseModel):
    model_config = ConfigDict(extra="ignore")

    video: Text
    question: Text
    answer: Text
    question_type: Text
    candidates: tuple[Text, ...] = ()
    question_id: str = ""


def read(root: Path) -> Dataset:
    files = next((found for pattern in FILES if (found := sorted(root.glob(pattern)))), [])
    if not files:
        raise DatasetError(f"{root}: no questions of {NAME} here (looked for {', '.join(FILES)})", path=str(root))
    videos = Videos(root)
    return with_videos(NAME, (_asked(row, number, videos) for file in files for number, row in enumerate(rows(file))))


def _asked(row: Row, number: int, videos: Videos) -> tuple[Question, Video | None]:
    given, task = checked(row, _Given), row.file.stem
    right = place_of(row, given.answer, given.candidates) if given.candidates else None
    path = videos.find(given.video, task)
    camera = f"{task}/{Path(given.video).stem}"
    question = Question(
        given.question_id or f"{task}_{number}", given.question_type, given.question, given.candidates, right, cameras=(camera,)
    )  # fmt: skip
    return question, Video(path, camera) if path else None
