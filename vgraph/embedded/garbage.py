"""Python's collector of cyclic garbage, held back while a large request is answered.

A request with megabytes of JSON makes hundreds of thousands of lists and objects that all live until its end; the collector
would go through them, and through all else in the process, again and again: a third of the time of a large insert.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LARGE: Final = 1 << 18  # bytes of a request's body

_lock = threading.Lock()
_holding = 0
_was_enabled = False


@contextmanager
def held_back(size: int) -> Iterator[None]:
    """No collections in this block when a body of `size` bytes is large; with several such blocks, until the last one ends."""
    if size < LARGE:
        yield
        return
    _hold()
    try:
        yield
    finally:
        _let_go()


def _hold() -> None:
    global _holding, _was_enabled
    with _lock:
        if _holding == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _holding += 1


def _let_go() -> None:
    global _holding
    with _lock:
        _holding -= 1
        if _holding == 0 and _was_enabled:
            gc.enable()
