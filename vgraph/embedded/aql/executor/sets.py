"""Steps that need many rows before they answer: SORT, COLLECT and WINDOW."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from vgraph.embedded.errors import ArangoError

from ..batchwise import Columns
from ..instants import add_duration, parse_date, parse_duration
from ..values import hashable, sort_key
from .aggregates import Accumulator
from .lookup import index_by_id
from .rows import BATCH, Batch, Closure, Row, Rows, Run
from .steps import NO_LIMIT, flatten, limit_value


def batches(rows: Batch) -> Rows:
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]


_ORDERED = frozenset((bool, int, float, str))
_NUMBERS = frozenset((int, float))


@dataclass(slots=True)
class Sort:
    """A stable sort; with `count` only the rows a LIMIT lets through are kept while the input goes by."""

    keys: Columns
    ascending: tuple[bool, ...]
    offset: Closure | None
    count: Closure | None
    width: int

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        rows = self.everything(source, rt) if self.count is None or rt.full_count else self.best(source, rt, seed)
        rt.check()
        yield from batches(rows)

    def everything(self, source: Rows, rt: Run) -> Batch:
        rows: Batch = []
        for batch in source:
            rt.charge(len(batch), self.width)
            rows.extend(batch)
        return self.sorted(rows, rt)

    def best(self, source: Rows, rt: Run, seed: Row) -> Batch:
        wanted = limit_value(self.offset, rt, seed, "offset") + limit_value(
            self.count, rt, seed, "count", none=NO_LIMIT
        )
        rows: Batch = []
        for batch in source:
            rows.extend(batch)
            if len(rows) > 2 * wanted + BATCH:
                rows = self.sorted(rows, rt)[:wanted]
        rt.charge(len(rows), self.width)
        return self.sorted(rows, rt)[:wanted]

    def sorted(self, rows: Batch, rt: Run) -> Batch:
        """By the last key first where directions differ: each pass is stable."""
        columns = [comparable(column) for column in self.keys(rows, rt)]
        directions: Sequence[bool] = self.ascending
        if len(set(directions)) == 1 and len(columns) > 1:
            columns, directions = [list(zip(*columns, strict=True))], directions[:1]
        order: Iterable[int] = range(len(rows))
        for column, ascending in zip(reversed(columns), reversed(directions), strict=True):
            order = sorted(order, key=column.__getitem__, reverse=not ascending)
        return [rows[place] for place in order]


def comparable(values: list[Any]) -> list[Any]:
    """Keys whose Python order is AQL's order of the values: booleans, numbers and strings among themselves are their own."""
    kinds = set(map(type, values))
    if (len(kinds) == 1 and kinds <= _ORDERED) or kinds == _NUMBERS:
        return values
    return [sort_key(value) for value in values]


class Group:
    """What COLLECT keeps for one combination of keys."""

    __slots__ = ("accumulators", "count", "members", "values")

    def __init__(self, values: Sequence[Any], accumulators: list[Accumulator]) -> None:
        self.values = values
        self.accumulators = accumulators
        self.members: list[Any] = []
        self.count = 0


@dataclass(slots=True)
class Collect:
    """COLLECT in every form.

    `columns` gives the values of the groups, then the arguments of the aggregates, then the value of INTO if there is one;
    `captured` are (name, register) of INTO without a value. `groups` and `aggregates` are registers to be filled.
    """

    columns: Columns
    groups: tuple[int, ...]
    aggregates: tuple[tuple[int, Callable[[], Accumulator]], ...]
    into: int | None
    captured: tuple[tuple[str, int], ...] | None
    count_into: int | None

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        found: dict[Any, Group] = {}
        if not self.groups:
            found[()] = self.new(())
        for batch in source:
            rt.check()
            before = len(found)
            self.add(batch, found, rt)
            rt.charge(len(found) - before, len(self.groups) + len(self.aggregates) + 1)
            if self.into is not None:
                rt.charge(len(batch), 4)
        yield from batches([self.row(group, seed) for group in found.values()])

    def new(self, values: Sequence[Any]) -> Group:
        return Group(values, [make() for _, make in self.aggregates])

    def add(self, batch: Batch, found: dict[Any, Group], rt: Run) -> None:
        columns = self.columns(batch, rt)
        width = len(self.groups)
        groups = self.groups_of(columns[:width], len(batch), found)
        for place in range(len(self.aggregates)):
            for group, value in zip(groups, columns[width + place], strict=True):
                group.accumulators[place].add(value)
        if self.into is not None:
            members = columns[-1] if self.captured is None else self.members(batch, self.captured)
            for group, member in zip(groups, members, strict=True):
                group.members.append(member)

    def groups_of(self, columns: list[list[Any]], count: int, found: dict[Any, Group]) -> list[Group]:
        """The group of every row, which it is counted in."""
        if not columns:
            found[()].count += count
            return [found[()]] * count
        groups = []
        for values in zip(*columns, strict=True):
            value = values[0]
            key: Any = value if len(values) == 1 and type(value) is str else tuple(map(hashable, values))
            group = found.get(key)
            if group is None:
                group = found[key] = self.new(values)
            group.count += 1
            groups.append(group)
        return groups

    @staticmethod
    def members(batch: Batch, captured: tuple[tuple[str, int], ...]) -> list[Any]:
        return [{name: row[slot] for name, slot in captured} for row in batch]

    def row(self, group: Group, seed: Row) -> Row:
        row = seed.copy()
        for slot, value in zip(self.groups, group.values, strict=True):
            row[slot] = value
        for (slot, _), accumulator in zip(self.aggregates, group.accumulators, strict=True):
            row[slot] = accumulator.result()
        if self.into is not None:
            row[self.into] = group.members
        if self.count_into is not None:
            row[self.count_into] = group.count
        return row


@dataclass(slots=True)
class IndexCollect:
    """Groups and their sizes read from an index: no document is touched."""

    collection: str
    index: int
    groups: tuple[int, ...]
    counts: tuple[int, ...]

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        flatten(source)
        collection = rt.txn.collection(self.collection)
        index = index_by_id(collection, self.index)
        rows: Batch = []
        for values, count in index.groups(rt.txn, len(self.groups)):
            rt.stats.scanned_index += 1
            row = seed.copy()
            for slot, value in zip(self.groups, values, strict=True):
                row[slot] = value
            for slot in self.counts:
                row[slot] = count
            rows.append(row)
        yield from batches(rows)


@dataclass(slots=True)
class Window:
    """WINDOW over rows, or over a range of the value of `key` (the input is sorted by it)."""

    bounds: Closure
    key: Closure | None
    aggregates: tuple[tuple[int, Callable[[], Accumulator]], ...]
    arguments: Columns
    width: int

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        rows: Batch = []
        for batch in source:
            rt.charge(len(batch), self.width)
            rows.extend(batch)
        bounds = self.bounds(seed, rt)
        if not isinstance(bounds, dict) or not bounds.keys() & {"preceding", "following"}:
            raise ArangoError(1501, "at least one WINDOW bound must be specified ('preceding'/'following')")
        frames = row_frames(bounds, len(rows)) if self.key is None else self.range_frames(bounds, rows, rt)
        self.fill(rows, frames, rt)
        yield from batches(rows)

    def range_frames(self, bounds: dict[str, Any], rows: Batch, rt: Run) -> Iterator[tuple[int, int] | None]:
        assert self.key is not None
        keys = [range_value(self.key(row, rt), bounds) for row in rows]
        numbers = [key for key in keys if key is not None]
        start = next((i for i, key in enumerate(keys) if key is not None), 0)
        for key in keys:
            if key is None:
                rt.warnings.add(1561, "invalid arithmetic value")
                yield None
                continue
            low = shifted(key, bounds.get("preceding", 0), -1)
            high = shifted(key, bounds.get("following", 0), 1)
            yield start + bisect_left(numbers, low), start + bisect_right(numbers, high)

    def fill(self, rows: Batch, frames: Iterator[tuple[int, int] | None], rt: Run) -> None:
        """Results for each row. A frame that only grows goes on with the accumulators of the one before."""
        inputs = self.arguments(rows, rt)
        first = last = 0
        accumulators = [make() for _, make in self.aggregates]
        for row, frame in zip(rows, frames, strict=True):
            low, high = frame if frame is not None else (0, 0)
            if low != first or high < last:
                accumulators = [make() for _, make in self.aggregates]
                first = last = low
            for accumulator, values in zip(accumulators, inputs, strict=True):
                for value in islice(values, last, high):
                    accumulator.add(value)
            last = max(last, high)
            for (slot, _), accumulator in zip(self.aggregates, accumulators, strict=True):
                row[slot] = found = accumulator.result() if frame is not None else None
                if type(found) is list:
                    rt.charge(len(found))
            if low % BATCH == 0:
                rt.check()


def row_frames(bounds: dict[str, Any], count: int) -> Iterator[tuple[int, int]]:
    before = row_bound(bounds.get("preceding", 0), count, "preceding")
    after = row_bound(bounds.get("following", 0), count, "following")
    for position in range(count):
        yield max(0, position - before), min(count, position + after + 1)


def row_bound(value: Any, count: int, name: str) -> int:
    if isinstance(value, str) and value.lower() == "unbounded":
        return count
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 0:
        raise ArangoError(1501, f"WINDOW {name} bound must be a non-negative integer or 'unbounded'")
    return int(value)


def range_value(value: Any, bounds: dict[str, Any]) -> float | None:
    """A number, or the time of a date when the bounds are durations."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and any(isinstance(bound, str) for bound in bounds.values()):
        return parse_date(value)
    return None


def shifted(key: float, bound: Any, sign: Literal[-1, 1]) -> float:
    """The end of a range: `bound` is a number, a duration (ISO 8601) or "unbounded"."""
    if isinstance(bound, str) and bound.lower() == "unbounded":
        return sign * float("inf")
    if isinstance(bound, str):
        duration = parse_duration(bound)
        if duration is None:
            raise ArangoError(1501, "WINDOW bounds must be numbers or ISO 8601 durations")
        return add_duration(int(key), duration, sign)
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise ArangoError(1501, "WINDOW bounds must be numbers or ISO 8601 durations")
    return key + sign * bound
