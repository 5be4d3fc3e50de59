"""Asking with a memory: runs are kept in the graph, followed up, run again and compared."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from vgraph.agents.follow import LAST_TURNS, Turn
from vgraph.agents.loop import run
from vgraph.agents.runs import Change, Recording, asked_again, citations, difference, kept, turn
from vgraph.agents.steps import Asked, FinalAnswer, Step
from vgraph.agents.working import Kit
from vgraph.errors import NotFoundError, StoreError

Keep = Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], None]
"""Keeps a run and the edges to what it cites."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A run that was run again, and how its steps differ from those that were kept."""

    run: str
    steps: tuple[Step, ...]
    changes: tuple[Change, ...]


class Session:
    """Runs over one graph. `read` gives a kept run by its key, `keep` keeps one; None: runs are not kept."""

    def __init__(
        self, kit: Kit, read: Callable[[str], Mapping[str, Any] | None], keep: Keep | None, models: Mapping[str, str]
    ) -> None:
        self._kit, self._read, self._keep, self._models = kit, read, keep, models

    def run(self, asked: Asked) -> Iterator[Step]:
        """The steps of a run, as they are made; the last is kept with all before it. Raises NotFoundError for a run that is not there."""
        turns = self.turns(asked.follows)
        return self._kept(asked, turns)

    def _kept(self, asked: Asked, turns: Sequence[Turn]) -> Iterator[Step]:
        asked_ms, begun = time.time_ns() // 1_000_000, time.perf_counter()
        steps: list[Step] = []
        for step in run(asked, self._kit, turns):
            steps.append(step)
            if isinstance(step, FinalAnswer) and self._keep is not None:
                step = self._written(steps, asked_ms, time.perf_counter() - begun)
            yield step

    def _written(self, steps: Sequence[Step], asked_ms: int, seconds: float) -> FinalAnswer:
        """The answer with the key of its run; where it cannot be kept, a warning says why, and the answer is given all the same."""
        final = steps[-1]
        assert isinstance(final, FinalAnswer) and self._keep is not None
        key = new_key(asked_ms)
        try:
            self._keep(kept(key, steps, asked_ms, seconds, self._models), citations(key, final.answer))
        except StoreError as error:
            warning = f"the run was not kept: {error}"
            return FinalAnswer(replace(final.answer, warnings=(*final.answer.warnings, warning)))
        return FinalAnswer(replace(final.answer, run=key))

    def turns(self, key: str | None) -> tuple[Turn, ...]:
        """The conversation that ends with a run, the earliest turn first."""
        found: list[Turn] = []
        while key is not None and len(found) < LAST_TURNS:
            earlier = self.read(key)
            found.append(turn(earlier))
            key = earlier["follows"]
        return tuple(reversed(found))

    def read(self, key: str) -> Mapping[str, Any]:
        """A kept run. Raises NotFoundError."""
        found = self._read(key)
        if found is None:
            raise NotFoundError(f"no run {key!r}; `vgraph runs list` shows them")
        return found

    def replay(self, key: str) -> Replayed:
        """A run again: with the replies its models gave, and the tools asked anew. Nothing is kept of it, and no model is asked."""
        before = self.read(key)
        asked = asked_again(before)
        steps = tuple(run(asked, Recording(before).kit(self._kit), self.turns(asked.follows)))
        again = kept(key, steps, 0, 0.0, {})["steps"]
        return Replayed(key, steps, difference(before["steps"], again))

    def difference(self, first: str, second: str) -> tuple[Change, ...]:
        """How the steps of two kept runs differ."""
        return difference(self.read(first)["steps"], self.read(second)["steps"])


def new_key(asked_ms: int) -> str:
    """A key that sorts by time and that nobody else has: `20260302-081500-3fa9c1d2`."""
    return f"{datetime.fromtimestamp(asked_ms / 1000, UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
