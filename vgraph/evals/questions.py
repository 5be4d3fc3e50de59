"""What is asked in an evaluation, whatever it comes from: a synthetic world or a published set of questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vgraph.evals.metrics import Expected, Moment, Span, moments, normalised
from vgraph.evals.world.site import CITIES
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
    answer: str = ""
    """A right answer in words, where one is known."""

    @property
    def judged(self) -> bool:
        return self.right is not None or self.expected is not None or self.status is not AnswerStatus.answered


def of_world(truth: Mapping[str, Any], *, gated: bool = True) -> tuple[Question, ...]:
    """The questions of a world's truth. With `gated` every second one is asked a minute after what it asks about, the others at the end."""
    return tuple(
        _of_world(question, truth, gated=gated and number % 2 == 1)
        for number, question in enumerate(truth["questions"])
    )


def _of_world(question: Mapping[str, Any], truth: Mapping[str, Any], *, gated: bool) -> Question:
    answerable = question["status"] == "answered"
    return Question(
        question["id"],
        question["kind"] if answerable else "unanswerable",
        question["text"],
        expected=expected_of(question, truth) if answerable else None,
        status=AnswerStatus(question["status"]),
        asked_ms=_last(question) + ASKED_AFTER_MS if gated else None,
        moments=moments(question),
        answer=question["answer"],
    )


def expected_of(question: Mapping[str, Any], truth: Mapping[str, Any]) -> Expected:
    """What a right answer to a question of a world holds, and which of the world's names it may not hold."""
    things = [item["name"] for kind in ("things", "vehicles") for item in truth[kind]]
    return Expected.of(question, truth["tz"], rivals=_rivals(question, truth), neutral=things)


def _rivals(question: Mapping[str, Any], truth: Mapping[str, Any]) -> list[str]:
    """The other names of the kind that is asked for, but those of the question itself."""
    match question["kind"]:
        case "who" | "together":
            seen = _seen(question, truth) if question["all_of"] else set()
            names = [p["name"] for p in truth["people"] if p["id"] not in seen]
            return _others(question, [part for name in names for part in (name, *name.split())])
        case "where" if question["modality"] == "speech":
            return _others(question, CITIES)
        case "where":
            names = [zone["name"] for zone in truth["zones"]]
            return _others(question, [*names, *(name.split()[-1] for name in names)])
        case "before_after":
            return [word for word in ("before", "after") if word not in question["accepted"]]
        case "yes_no":
            return [word for word in ("yes", "no") if word not in question["accepted"]]
        case _:
            return []


def _others(question: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Names of which no word stands in the question or its answer."""
    known = set(normalised(" ".join([question["text"], *question["accepted"], *question["all_of"]])).split())
    return sorted({name for name in names if not set(normalised(name).split()) & known})


def _seen(question: Mapping[str, Any], truth: Mapping[str, Any]) -> set[str]:
    """Who was in view at all: not to name them is no fault where a person was there for a moment, nor is naming them."""
    spans = [(item["recording"], item["start_ms"], item["end_ms"]) for item in question["evidence"]]
    return {
        spell["id"]
        for spell in truth["presence"]
        if any(spell["recording"] == r and spell["start_ms"] < e and s < spell["end_ms"] for r, s, e in spans)
    }


def _last(question: Mapping[str, Any]) -> int:
    """When all that is asked about has happened."""
    ends: Iterable[int] = (item["end_ms"] for item in question["evidence"])
    return max(int(question["asked"]["end_ms"]), *ends, 0)


def spans(camera: str, start_ms: int, intervals: Iterable[tuple[int, int]]) -> tuple[Moment, ...]:
    """Moments of one video, from intervals of its media time in ms."""
    return tuple((Span(camera, start_ms + low, start_ms + high),) for low, high in intervals)
