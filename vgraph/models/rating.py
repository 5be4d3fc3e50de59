"""Raters: how much a frame or a text bears on a question, as probabilities of five levels (VideoStir, section "intent").

A rater is asked for one digit, 1 to 5. What counts is not the digit it would say but how probable each of the five is: P is the softmax
over the five level tokens only. Here: what all raters share, and the one that asks an OpenAI-compatible server.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from vgraph.errors import BadReply, NoLogprobs
from vgraph.models.endpoint import Endpoint, EndpointError, usage_of
from vgraph.models.openai import OpenAIChat
from vgraph.prompts import prompt, quoted
from vgraph.types import Message

LEVELS: Final = ("1", "2", "3", "4", "5")
TOP: Final = 20
"""How many alternatives a token is asked for: the most that OpenAI's API gives."""
FEWER: Final = 5
"""What is asked for where a server refuses so many."""
ANSWER_TOKENS: Final = 4
"""Some servers begin an answer with a space or a line break."""


def asked(question: str, text: str | None) -> str:
    """The text of a rating request: about a picture that is shown with it, or about a text."""
    if text is None:
        return prompt("rate_frame", question=quoted(question))
    return prompt("rate_text", question=quoted(question), text=quoted(text))


def levels_of(logprobs: Mapping[str, float]) -> tuple[float, ...] | None:
    """Softmax over the levels among alternatives (token -> log-probability); None where no level is among them.

    Tokens that mean the same digit (`4`, ` 4`) are added up. A level that is not listed was less probable than all that are, and gets 0.
    """
    found: dict[str, float] = {}
    for token, logprob in logprobs.items():
        digit = token.strip(" \t\n▁Ġ")
        if digit in LEVELS and not math.isnan(logprob):
            found[digit] = found.get(digit, 0.0) + math.exp(min(logprob, 0.0))
    total = sum(found.values())
    return tuple(found.get(level, 0.0) / total for level in LEVELS) if total > 0 else None


class OpenAIRater:
    """Any chat or vision model of a server that gives log-probabilities of the tokens it says.

    Raises NoLogprobs where the server gives none, BadReply where the model says something other than a level.
    """

    at_once = 4
    """How many requests it may be asked at the same time."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.name = f"openai:{model}"
        self._endpoint = endpoint
        self._chat = OpenAIChat(endpoint, model, stage="intent")
        self._top = TOP

    def rate(self, question: str, seen: bytes | str) -> tuple[float, ...]:
        """Probabilities of the levels 1 to 5 for a frame (JPEG) or a text."""
        text = seen if isinstance(seen, str) else None
        message = Message("user", asked(question, text), () if isinstance(seen, str) else (seen,))
        reply = self._reply(message)
        positions = _positions(reply)
        if not positions:
            raise NoLogprobs(
                f"{self.name} at {self._endpoint.address} answered without log-probabilities, which a rater needs; use a server that "
                "gives them (logprobs, top_logprobs), VGRAPH_MODELS__INTENT=transformers:MODEL, or VGRAPH_RETRIEVE__INTENT=none",
                stage="intent",
                model=self.name,
            )
        levels = _first_level(positions)
        if levels is None:
            said = "".join(token for token, _ in positions)
            raise BadReply(
                f"{self.name} was asked for a digit from 1 to 5 and said {said!r}", kind="malformed", stage="intent", model=self.name,
                usage=usage_of(reply), said=said,
            )  # fmt: skip
        return levels

    def _reply(self, message: Message) -> dict[str, Any]:
        while True:
            try:
                return self._chat.reply([message], max_tokens=ANSWER_TOKENS, logprobs=True, top_logprobs=self._top)
            except EndpointError as error:
                if error.names("top_logprobs") and self._top > FEWER:
                    self._top = FEWER
                elif error.names("logprob"):
                    what = f"{self.name} at {self._endpoint.address} takes no request for log-probabilities: {error}"
                    raise NoLogprobs(what, stage="intent", model=self.name) from None
                else:
                    raise


def _positions(reply: Mapping[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """Each token said with its alternatives (token -> log-probability); empty where the server gives none."""
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    items = content if isinstance(content, list) else []
    read = [(_token(item), _alternatives(item)) for item in items]
    return [(token, alternatives) for token, alternatives in read if alternatives]


def _alternatives(item: object) -> dict[str, float]:
    """What might have stood there, and what did; empty where only what was said has a probability, which tells nothing of the others."""
    top = item.get("top_logprobs") if isinstance(item, Mapping) else None
    listed = [*top, item] if isinstance(top, list) and top else []
    return {_token(each): number for each in reversed(listed) if (number := _logprob(each)) is not None}


def _token(item: object) -> str:
    token = item.get("token") if isinstance(item, Mapping) else None
    return token if isinstance(token, str) else ""


def _logprob(item: object) -> float | None:
    value = item.get("logprob") if isinstance(item, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _first_level(positions: Sequence[tuple[str, Mapping[str, float]]]) -> tuple[float, ...] | None:
    """The levels where the first digit was said, white space before it left out; None where something else was said first."""
    for token, alternatives in _after_blanks(positions):
        return levels_of(alternatives) if token.strip(" \t\n▁Ġ") in LEVELS else None
    return None


def _after_blanks(positions: Iterable[tuple[str, Mapping[str, float]]]) -> Iterable[tuple[str, Mapping[str, float]]]:
    return (position for position in positions if position[0].strip(" \t\n▁Ġ"))
