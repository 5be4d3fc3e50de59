"""Multiple choice by rules: the option that the answer in open form supports, and none where it supports none or several."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vgraph.retrieve.understanding import Form
from vgraph.retrieve.words import content_words

LEAST = 0.5
"""The least share of an option's words that an answer has to hold."""
_LETTER = re.compile(r"^\s*\(?[A-Za-z0-9]\s*[.):]\s+")
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s*([ap])\.?m\b)?", re.IGNORECASE)
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(h|hours?|min|minutes?|s|sec|seconds?)\b", re.IGNORECASE)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DAY_S = 86_400


def chosen(choices: Sequence[str], form: Form, answer: str) -> str | None:
    """The option nearest to the first claim of an answer, by what the form asks for: a number, a time, a length, or words."""
    bodies = [_LETTER.sub("", choice) or choice for choice in choices]
    match form:
        case "how_many" | "how_often":
            return _one(choices, [_number(body) is not None and _number(body) == _number(answer) for body in bodies])
        case "when":
            return _nearest(choices, [_clock(body) for body in bodies], _clock(answer), round_=_DAY_S) or _by_words(
                choices, bodies, answer
            )
        case "how_long":
            return _nearest(choices, [_length(body) for body in bodies], _length(answer))
        case "yes_no" | "before_or_after":
            word = (re.findall(r"[^\W\d_]+", answer.casefold()) or [""])[0]
            return _one(choices, [word in re.findall(r"[^\W\d_]+", body.casefold())[:3] for body in bodies])
        case "sequence":
            return _one(choices, [_in_order(body, answer) for body in bodies])
        case _:
            return _by_words(choices, bodies, answer)


def _one(choices: Sequence[str], fits: Sequence[bool]) -> str | None:
    return choices[list(fits).index(True)] if list(fits).count(True) == 1 else None


def _by_words(choices: Sequence[str], bodies: Sequence[str], answer: str) -> str | None:
    held = content_words(answer)
    shares = [len(words & held) / len(words) if (words := content_words(body)) else 0.0 for body in bodies]
    best = max(shares, default=0.0)
    return choices[shares.index(best)] if best >= LEAST and shares.count(best) == 1 else None


def _in_order(body: str, answer: str) -> bool:
    parts = [part.strip().casefold() for part in re.split(r",|\bthen\b|->|→|\band\b", body) if part.strip()]
    places = [answer.casefold().find(part) for part in parts]
    return len(parts) > 1 and -1 not in places and places == sorted(places)


def _nearest(
    choices: Sequence[str], values: Sequence[float | None], value: float | None, round_: float = 0.0
) -> str | None:
    """The option whose value is nearest, if it is nearer than any other."""
    if value is None or all(other is None for other in values):
        return None
    far = [float("inf") if other is None else abs(other - value) for other in values]
    far = [
        min(distance, abs(round_ - distance)) if round_ and distance != float("inf") else distance for distance in far
    ]
    return choices[far.index(min(far))] if far.count(min(far)) == 1 else None


def _number(text: str) -> int | None:
    for word in re.findall(r"\w+", text.casefold()):
        if word.isdecimal():
            return int(word)
        if word in _WORDS:
            return _WORDS.index(word)
        if word in ("once", "twice"):
            return 1 if word == "once" else 2
    return None


def _clock(text: str) -> float | None:
    """The first time of day in a text, in seconds."""
    found = _CLOCK.search(text)
    if found is None:
        return None
    hour = int(found[1]) % 12 + (12 if found[4].lower() == "p" else 0) if found[4] else int(found[1])
    return hour * 3600 + int(found[2]) * 60 + int(found[3] or 0)


def _length(text: str) -> float | None:
    """The first length of time in a text, in seconds; parts that follow one another are one."""
    total, last = 0.0, None
    for found in _LENGTH.finditer(text):
        if last is not None and text[last : found.start()].strip(" ,") not in ("", "and"):
            break
        total += float(found[1]) * {"h": 3600, "m": 60, "s": 1}[found[2][0].lower()]
        last = found.end()
    return total if last is not None else None
