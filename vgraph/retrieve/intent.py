"""What a question asks, by rules: its kind, its time, the cameras and entities it names, the event it is asked around.

The interpretation is part of the evidence, so that whoever reads an answer sees what was understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from vgraph.retrieve.times import TimeSpan, without_times
from vgraph.types import Around, Interpretation, QuestionKind

_WORDS = re.compile(r"\w+")
_KINDS: tuple[tuple[QuestionKind, str], ...] = (
    ("how_many", r"\bhow (?:many|often)\b|\bnumber of\b|\bcount\b"),
    ("how_long", r"\bhow long\b|\bhow much time\b|\bduration\b"),
    ("sequence", r"\b(?:in (?:what|which) order|sequence of|step by step|one after (?:the|an)other)\b|\bfirst\b.*\bthen\b"),
    ("before_after", r"\b(?:before|after)\b(?! \d)|\bnext\b|\bafterwards\b|\bbeforehand\b|\bprior to\b"),
    ("together", r"\b(?:together|with whom|at the same time)\b|\bwho (?:else )?(?:was|were|is|are) .*\bwith\b|\bwhile\b"),
    ("when", r"^\W*(?:at )?(?:when|what time|which (?:time|day|hour)|since when|until when)\b|\bat what time\b"),
    ("where", r"^\W*(?:where|in which|at which|on which|which (?:camera|room|place))\b|\bwhere (?:did|was|were|is|are|does|do)\b"),
    ("who", r"^\W*(?:who|whom|whose|which (?:person|people|man|woman|worker|driver))\b"),
    ("yes_no", r"^\W*(?:is|are|was|were|did|does|do|has|have|had|can|could|will|would)\b"),
)  # fmt: skip
"""In this order: `how many people were together` counts."""
_RULES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_AROUND = re.compile(
    r"\b(?:just |right |immediately |directly |shortly )?(?P<how>before|after|while|when|as soon as|until|since)\s+(?P<what>[^?.!,;]+)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\b(?:\w+(?:ed|es|s|ing)|was|were|is|are|left|came|went|took|put|got|drove|gave|said|had|did)\b", re.IGNORECASE
)
_HOW = {"before": "before", "until": "before", "after": "after", "since": "after", "as soon as": "after"}


def question_kind(question: str) -> QuestionKind:
    """What kind of answer is asked for; `what` where no rule knows better."""
    return next((kind for kind, pattern in _RULES if pattern.search(question)), "what")


def understood(
    question: str, cameras: Iterable[Mapping[str, Any]], names: Iterable[str], time: TimeSpan | None
) -> Interpretation:
    """The interpretation of a question; of the `names` known those count that stand in it as whole words."""
    subject = without_times(question)
    words = f" {' '.join(_WORDS.findall(question.casefold()))} "
    named = tuple(dict.fromkeys(name for name in names if f" {' '.join(_WORDS.findall(name.casefold()))} " in words))
    return Interpretation(
        question_kind(subject),
        subject,
        cameras_named(question, cameras),
        named,
        time.phrase if time else "",
        around(subject),
    )


def around(question: str) -> Around | None:
    """The event that the question is asked around (`before the van left`, `while the forklift moved`), if it names one.

    A `when` that begins the question asks for the time and names no event.
    """
    for found in _AROUND.finditer(question):
        what = " ".join(found["what"].split())
        how = " ".join(found["how"].lower().split())
        if how == "when" and not question[: found.start()].strip(" ¿¡\"'"):
            continue
        if _CLAUSE.search(what) and not what[:1].isdigit():
            return Around(_HOW.get(how, "during"), what)  # type: ignore[arg-type]
    return None


def cameras_named(question: str, cameras: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Keys of the cameras whose label or place stands in the question as whole words."""
    words = f" {' '.join(_WORDS.findall(question.casefold()))} "
    return tuple(camera["_key"] for camera in cameras if any(f" {name} " in words for name in _names(camera)))


def _names(camera: Mapping[str, Any]) -> list[str]:
    found = (" ".join(_WORDS.findall(str(camera[part]).casefold())) for part in ("label", "place"))
    return [name for name in found if name]
