"""What a run may cost, and what it has cost so far, by worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from vgraph.agents.steps import NOTHING, Exhausted, Reply
from vgraph.types import Spent, Usage


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no end. `steps` counts calls of models and of tools. No call begins after `seconds`.

    Money is of what it costs, `input` and `output` per million tokens.
    """

    steps: int = 60
    tokens: int | None = 200_000
    seconds: float | None = 300.0
    money: float | None = None
    input: float = 0.0
    output: float = 0.0

    def price(self, usage: Usage) -> float:
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1_000_000


class OutOfBudget(Exception):  # noqa: N818 - a turn in the run, not an error of anybody
    """The budget allows no further call; `step` says which part of it is spent."""

    def __init__(self, step: Exhausted) -> None:
        super().__init__(step.what)
        self.step = step


class Budget:
    """Counts what a run spends. `reserve` is what is kept for the one last answer, which may still be given when all else is spent."""

    def __init__(
        self, limits: Limits, *, reserve: Usage = NOTHING, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits, self._reserve, self._clock = limits, reserve, clock
        self._begun, self._steps = clock(), 0
        self._spent: dict[str, Spent] = {}

    @property
    def spent(self) -> Mapping[str, Spent]:
        """What model calls cost, by worker."""
        return dict(self._spent)

    @property
    def total(self) -> Spent:
        return sum(self._spent.values(), Spent())

    @property
    def steps(self) -> int:
        return self._steps

    def take(self, expected: Usage = NOTHING, *, last: bool = False) -> None:
        """Room for one step that is expected to cost so much. Raises OutOfBudget.

        The `last` answer may take what was reserved, and is not held to steps and seconds; tokens and money hold for it too.
        """
        lack = self._lack(expected if last else expected + self._reserve, last)
        if lack:
            raise OutOfBudget(Exhausted(lack))
        self._steps += 1

    def paid(self, reply: Reply) -> Reply:
        """Count a reply; the reply with its price."""
        priced = replace(reply, money=self.limits.price(reply.usage))
        used = priced.usage
        cost = Spent(1, int(bool(priced.fault)), used.input_tokens, used.output_tokens, priced.seconds, priced.money)
        self._spent[priced.worker] = self._spent.get(priced.worker, Spent()) + cost
        return priced

    def _lack(self, expected: Usage, last: bool) -> Literal["steps", "tokens", "seconds", "money"] | None:
        limits, total = self.limits, self.total
        tokens = total.input_tokens + total.output_tokens + expected.input_tokens + expected.output_tokens
        if not last and self._steps >= limits.steps:
            return "steps"
        if not last and limits.seconds is not None and self._clock() - self._begun >= limits.seconds:
            return "seconds"
        if limits.tokens is not None and tokens > limits.tokens:
            return "tokens"
        if limits.money is not None and total.money + limits.price(expected) > limits.money:
            return "money"
        return None
