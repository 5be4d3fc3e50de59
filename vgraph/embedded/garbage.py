"""Python's collector of cyclic garbage, held back while a request is answered.

A request makes rows, lists and objects that live until its end and leave no cycles. The collector would go through them, and
now and then through all else in the process, again and again: a third of the time of a large insert, a tenth of that of a
query. What is left when the request ends counts for the next collection as it always does.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LONGEST: Final = 2.0  # seconds without collections while requests overlap all the time

_lock = threading.Lock()
_holding = 0
_was_enabled = False
_since = 0.0


@contextmanager
def held_back() -> Iterator[None]:
    """No collections in this block; with several such blocks, until the last one ends, or for LONGEST."""
    _hold()
    try:
        yield
    finally:
        _let_go()


def _hold() -> None:
    global _holding, _was_enabled, _since
    with _lock:
        if _holding == 0:
            _was_enabled = gc.isenabled()
        if _was_enabled and gc.isenabled():
            gc.disable()
            _since = time.monotonic()
        _holding += 1


def _let_go() -> None:
    global _holding
    with _lock:
        _holding -= 1
        if _was_enabled and (_holding == 0 or time.monotonic() - _since > LONGEST):
            gc.enable()
