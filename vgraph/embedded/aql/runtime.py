"""The state of one run of a query, and what a compiled expression is: ``closure(row, rt) -> value``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..errors import ArangoError, Warnings

Row: TypeAlias = list[Any]
Closure: TypeAlias = Callable[[Row, "Runtime"], Any]
Condition: TypeAlias = Callable[[Row, "Runtime"], bool]


MAX_SIZE: Final = 1 << 28
"""Characters of a string; arrays are bounded by memory, those made of a range by MAX_RANGE."""


class Runtime:
    """What one run of a query has: bind values, warnings, the storage transaction, the clock and limits.

    `cache` keeps what closures compute once per run; the executor adds attributes of its own.
    """

    def __init__(
        self,
        binds: Mapping[str, Any] | None = None,
        *,
        warnings: Warnings | None = None,
        txn: Any = None,
        deadline: float | None = None,
        now_ms: int | None = None,
    ) -> None:
        self.binds: Mapping[str, Any] = binds if binds is not None else {}
        self.warnings = warnings if warnings is not None else Warnings()
        self.txn = txn
        self.now_ms = now_ms if now_ms is not None else time.time_ns() // 1_000_000
        self.deadline = deadline  # of time.monotonic()
        self.killed = False
        self.cache: dict[Any, Any] = {}
        self.stats: Any = None  # the executor's, like what it accounts of memory
        self.memory: Any = None
        self.memory_limit = 0

    def afford(self, size: int) -> None:
        """Refuse to make one value of so many elements or characters (32): more than any may have, or than is allowed."""
        if size > MAX_SIZE or 0 < self.memory_limit < size:
            raise ArangoError(32, "query would use more memory than allowed")

    @property
    def seconds_left(self) -> float | None:
        """Until the deadline; None without one."""
        return None if self.deadline is None else max(0.001, self.deadline - time.monotonic())

    def check(self) -> None:
        """Stop a query that was killed or is over its time (1500); call it every few hundred rows."""
        if self.killed or (self.deadline is not None and time.monotonic() > self.deadline):
            raise ArangoError(1500)
