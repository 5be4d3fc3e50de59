"""What retrieval did on its way, for whoever asks for it (`--explain`): stages with their rows and times. Costs nothing unless asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Tell = Callable[[Callable[[], Iterable[Row]]], None]
"""Takes what makes the rows; it is called only where somebody listens."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step: its name, how long it took (ms, with what it asked of database and models), and what it saw or chose."""

    name: str
    ms: float
    rows: tuple[Row, ...]


_STAGES: ContextVar[list[Stage] | None] = ContextVar("stages", default=None)


def is_traced() -> bool:
    return _STAGES.get() is not None


@contextmanager
def traced() -> Iterator[list[Stage]]:
    """Note every stage that is run inside, in this thread or task, in the order in which they end."""
    stages: list[Stage] = []
    before = _STAGES.set(stages)
    try:
        yield stages
    finally:
        _STAGES.reset(before)


@contextmanager
def stage(name: str) -> Iterator[Tell]:
    """A step of retrieval; what is yielded takes its rows."""
    stages = _STAGES.get()
    if stages is None:
        yield lambda rows: None
        return
    told: list[Row] = []
    begun = time.perf_counter()
    yield lambda rows: told.extend(rows())
    stages.append(Stage(name, (time.perf_counter() - begun) * 1000, tuple(told)))
