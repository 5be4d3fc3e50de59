"""What the steps of a running plan share: rows in batches, statistics, memory.

A row is a list of registers. A step takes batches and gives batches; it may write into the registers of a row it was
given (rows are never shared), and copies a row only to make several of it. Batches start small where a LIMIT follows,
and grow, so that a consumer that stops early has cost little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar

from vgraph.embedded.errors import ArangoError

from ..runtime import Runtime

Row: TypeAlias = list[Any]
Batch: TypeAlias = list[Row]
Rows: TypeAlias = Iterator[Batch]
Closure: TypeAlias = Callable[[Row, Any], Any]
T = TypeVar("T")

BATCH = 1000
"""Rows in a batch when nothing asks for fewer (the server's block size)."""


@dataclass(slots=True)
class Stats:
    """Counters of one run, named as the server names them (as_json)."""

    writes_executed: int = 0
    writes_ignored: int = 0
    document_lookups: int = 0
    scanned_full: int = 0
    scanned_index: int = 0
    cursors_created: int = 0
    filtered: int = 0
    full_count: int | None = None
    peak_memory: int = 0

    def as_json(self, execution_time: float) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "writesExecuted": self.writes_executed,
            "writesIgnored": self.writes_ignored,
            "documentLookups": self.document_lookups,
            "seeks": 0,
            "scannedFull": self.scanned_full,
            "scannedIndex": self.scanned_index,
            "searchParallelism": 1,
            "cursorsCreated": self.cursors_created,
            "cursorsRearmed": 0,
            "cacheHits": 0,
            "cacheMisses": 0,
            "filtered": self.filtered,
            "httpRequests": 0,
        }
        if self.full_count is not None:
            answer["fullCount"] = self.full_count
        answer |= {
            "executionTime": execution_time,
            "peakMemoryUsage": self.peak_memory,
            "intermediateCommits": 0,
        }
        return answer


class Profile:
    """What each node of a plan has done in one run, by node id (option `profile`)."""

    def __init__(self) -> None:
        self._found: dict[int, list[float]] = {}  # calls, items, filtered, runtime: the last two with what came before

    def measured(self, node: int, source: Iterator[list[T]], stats: Stats) -> Iterator[list[T]]:
        """The same batches, timed and counted."""
        entry = self._found.setdefault(node, [0, 0, 0, 0.0])
        while True:
            filtered, started = stats.filtered, time.perf_counter()
            try:
                batch = next(source, None)
            finally:
                entry[0] += 1
                entry[2] += stats.filtered - filtered
                entry[3] += time.perf_counter() - started
            if batch is None:
                return
            entry[1] += len(batch)
            yield batch

    def as_json(self, nodes: Iterable[int]) -> list[dict[str, Any]]:
        """`extra.stats.nodes` of a cursor answer; `nodes` in the order of the plan."""
        answer, before = [], [0.0, 0.0, 0.0, 0.0]
        for node in nodes:
            calls, items, filtered, runtime = found = self._found.get(node, [1, 1, *before[2:]])
            answer.append(
                {
                    "id": node,
                    "calls": int(calls),
                    "parallel": 0,
                    "items": int(items),
                    "filtered": int(max(0, filtered - before[2])),
                    "runtime": runtime,
                    "fetching": before[3],
                }
            )
            before = found
        return sorted(answer, key=lambda entry: entry["id"])


class Run(Runtime):
    """The runtime of one run, with its counters. Steps charge for the rows they keep (error 32)."""

    REGISTER = 16
    """Bytes counted for a register, as on the server."""

    def __init__(
        self,
        *args: Any,
        memory_limit: int = 0,
        full_count: bool = False,
        profile: Profile | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.profile = profile
        self.stats: Stats = Stats()
        self.memory: int = 0
        self.memory_limit = memory_limit
        self.full_count = full_count

    def charge(self, count: int, width: int = 1) -> None:
        """Count `count` rows of `width` registers that are kept."""
        self.memory += count * width * self.REGISTER
        self.stats.peak_memory = max(self.stats.peak_memory, self.memory)
        if self.memory_limit and self.memory > self.memory_limit:
            raise ArangoError(32, "query would use more memory than allowed")


class Operator(Protocol):
    """One step. `seed` is the row the plan began with: what lies outside every loop stands in it."""

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows: ...


class Sizes:
    """How many rows the next batch should have: what is asked for first, then twice as many each time."""

    __slots__ = ("next",)

    def __init__(self, first: int | None) -> None:
        self.next = BATCH if first is None else max(1, min(first, BATCH))

    def take(self) -> int:
        size = self.next
        self.next = min(size * 2, BATCH)
        return size


def chunks(items: Iterable[T], sizes: Sizes) -> Iterator[list[T]]:
    """Lists of items of growing length."""
    source = iter(items)
    while chunk := list(islice(source, sizes.take())):
        yield chunk


def demand(closures: tuple[Closure | None, Closure] | None, rt: Run, seed: Row) -> int | None:
    """How many rows a LIMIT further on wants, None when there is none."""
    if closures is None:
        return None
    offset, count = closures
    wanted = count(seed, rt)
    skipped = offset(seed, rt) if offset is not None else 0
    if isinstance(wanted, int) and isinstance(skipped, int):
        return wanted + skipped
    return None
