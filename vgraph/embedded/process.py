"""Which process this is, without a system call for every question: sandboxes make them as dear as a small query."""

from __future__ import annotations

import os

_known = os.getpid()


def _after_fork() -> None:
    global _known
    _known = os.getpid()


os.register_at_fork(after_in_child=_after_fork)


def current() -> int:
    """As `os.getpid`."""
    return _known
