"""What a piece of work cost: the tokens that endpoints counted while it ran, in its own thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from vgraph.types import Usage


@dataclass(slots=True)
class Meter:
    """Tokens spent so far."""

    usage: Usage = field(default_factory=Usage)


_RUNNING: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


@contextmanager
def metered() -> Iterator[Meter]:
    """A meter of what the block spends; meters around it count the same."""
    meter = Meter()
    token = _RUNNING.set((*_RUNNING.get(), meter))
    try:
        yield meter
    finally:
        _RUNNING.reset(token)


def spend(usage: Usage) -> None:
    """Tell the meters that run here what a request cost."""
    for meter in _RUNNING.get():
        meter.usage += usage
