"""What is asked in an evaluation, whatever it comes from: a synthetic world or a published set of questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vgraph.evals.metrics import Expected, Moment, Span, moments
from vgraph.types import AnswerStatus

LETTERS = "ABCDEFGHIJ"
"""How choices are named."""

ASKED_AFTER_MS = 60_000
"""So long after the stretch a question of a world asks about it is asked, where it is asked then."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is known of its answer.

    `right` is the place of the right choice, None where it is not published; `expected` is what a right answer in open form holds.
    `cameras` (labels) are what it is about, None: everything. Nothing recorded after `asked_ms` (UTC) may be used. `moments` are the true
    ones, empty where they are not known. What is `judged` can be told right from wrong without a model.
    """

    id: str
    kind: str
    text: str
    choices: tuple[str, ...] = ()
    right: int | None = None
    expected: Expected | None = None
    status: AnswerStatus = AnswerStatus.answered
    cameras: tuple[str, ...] | None = None
    asked_ms: int | None = None
    moments: tuple[Moment, ...] = ()

    @property
    def judged(self) -> bool:
        return self.right is not None or self.expected is not None or self.status is not AnswerStatus.answered

    @property
    def asked(self) -> str:
        """The question with its choices, as it is put."""
        named = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, self.choices, strict=False)]
        return "\n".join([self.text, *named])


def of_world(truth: Mapping[str, Any], *, gated: bool = True) -> tuple[Question, ...]:
    """The questions of a world's truth. With `gated` every second one is asked a minute after what it asks about, the others at the end."""
    return tuple(
        _of_world(question, truth["tz"], gated=gated and number % 2 == 1)
        for number, question in enumerate(truth["questions"])
    )


def _of_world(question: Mapping[str, Any], tz: str, *, gated: bool) -> Question:
    answerable = question["status"] == "answered"
    return Question(
        question["id"],
        question["kind"] if answerable else "unanswerable",
        question["text"],
        expected=Expected.of(question, tz) if answerable else None,
        status=AnswerStatus(question["status"]),
        asked_ms=_last(question) + ASKED_AFTER_MS if gated else None,
        moments=moments(question),
    )


def _last(question: Mapping[str, Any]) -> int:
    """When all that is asked about has happened."""
    ends: Iterable[int] = (item["end_ms"] for item in question["evidence"])
    return max(int(question["asked"]["end_ms"]), *ends, 0)


def spans(camera: str, start_ms: int, intervals: Iterable[tuple[int, int]]) -> tuple[Moment, ...]:
    """Moments of one video, from intervals of its media time in ms."""
    return tuple((Span(camera, start_ms + low, start_ms + high),) for low, high in intervals)
