"""Candidates from columns are those the table gives, for any bounds, and only as long as they tell the truth."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl
from vgraph.embedded.columns import OPEN
from vgraph.embedded.engine import Engine, Transaction

CAMERAS = ["dock", "gate", "0abcdef", "0", ""]


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    engine = Engine.open(tmp_path / "a.db")
    with engine.writing() as txn:
        ddl.create_collection(txn, "c")
        for fields in (["camera", "start", "end"], ["start", "end"], ["camera"], ["end", "mixed"], ["mixed", "end"]):
            ddl.create_index(txn, "c", {"type": "persistent", "fields": fields, "name": "_".join(fields)})
        noise = random.Random(1)
        txn.collection("c", write=True).insert_many([document(noise) for _ in range(300)])
    yield engine
    engine.close()


def document(noise: random.Random) -> dict[str, Any]:
    start = noise.choice([noise.randrange(-50, 50), noise.uniform(-50, 50)])
    mixed = noise.choice([1, 2.5, "0abcdef", "x", None])
    return {"camera": noise.choice(CAMERAS), "start": start, "end": start + noise.randrange(9), "mixed": mixed}


def index(txn: Transaction, name: str) -> Any:
    return next(index for index in txn.collection("c").indexes if index.name == name)


def by_hand(txn: Transaction, fields: list[str], prefix: list[Any], intervals: list[Any]) -> list[int]:
    tests = [(value, True, value, True) for value in prefix] + intervals
    return [
        row
        for row, found in txn.collection("c").scan()
        if all(within(found[field], test) for field, test in zip(fields, tests, strict=False))
    ]


def within(value: Any, interval: Any) -> bool:
    low, with_low, high, with_high = interval
    if isinstance(value, str) or isinstance(low, str):
        return bool(value == low) if low is not ... else True
    return (low is ... or value > low or (with_low and value == low)) and (
        high is ... or value < high or (with_high and value == high)
    )


def interval(noise: random.Random) -> Any:
    low, high = sorted((noise.randrange(-60, 60), noise.uniform(-60, 60)))
    return noise.choice(
        [OPEN, (low, noise.random() < 0.5, ..., True), (..., True, high, False), (low, True, high, True)]
    )


def warm(txn: Transaction, found: Any) -> None:
    """Read so much that columns are worth it."""
    for _ in range(40):
        found.candidates(txn, [], [OPEN])


@pytest.mark.parametrize("fields", [["camera", "start", "end"], ["start", "end"]])
def test_columns_find_what_the_filters_let_through(engine: Engine, fields: list[str]) -> None:
    noise = random.Random(2)
    with engine.reading() as txn:
        found = index(txn, "_".join(fields))
        warm(txn, found)
        for _ in range(200):
            prefix = [noise.choice([*CAMERAS, "none"])] if fields[0] == "camera" else []
            intervals = [interval(noise), interval(noise)]
            rows = found._columns.find(txn, prefix, intervals)
            assert rows is not None
            assert sorted(rows.tolist()) == by_hand(txn, fields, prefix, intervals)
            assert set(rows.tolist()) <= set(found.lookup_array(txn, prefix, *reordered(intervals[0])).tolist())


def reordered(interval: Any) -> tuple[Any, Any, bool, bool]:
    low, with_low, high, with_high = interval
    return low, high, with_low, with_high


def test_an_equal_number_is_a_prefix_too(engine: Engine) -> None:
    with engine.reading() as txn:
        found = index(txn, "start_end")
        warm(txn, found)
        [value] = [row["start"] for _, row in txn.collection("c").scan()][:1]
        assert sorted(found._columns.find(txn, [value], [OPEN])) == by_hand(txn, ["start"], [value], [])


@pytest.mark.parametrize("name", ["end_mixed", "mixed_end"])
def test_other_values_than_numbers_are_read_from_the_table(engine: Engine, name: str) -> None:
    with engine.reading() as txn:
        found = index(txn, name)
        warm(txn, found)
        assert found._columns.find(txn, [], [(0, True, 10, True)]) is None
        rows = found.candidates(txn, [], [(0, True, 10, True)])
        assert sorted(rows) == sorted(found.lookup(txn, (), 0, 10))


def test_bounds_that_are_no_numbers_are_left_to_the_table(engine: Engine) -> None:
    with engine.reading() as txn:
        found = index(txn, "start_end")
        warm(txn, found)
        for bound in (True, None, "x", [1], 2**60):
            assert found._columns.find(txn, [], [(bound, True, ..., True)]) is None


def test_a_write_ends_the_columns_and_older_snapshots_keep_them(engine: Engine) -> None:
    old = engine.begin(read_only=True)
    found = index(old, "start_end")
    warm(old, found)
    before = len(found.candidates(old, [], [OPEN]))
    with engine.writing() as txn:
        txn.collection("c", write=True).insert({"camera": "dock", "start": 1, "end": 2})
        assert len(found.candidates(txn, [], [OPEN])) == before + 1
        assert found._columns.find(txn, [], [OPEN]) is None
    with engine.reading() as txn:
        assert found._columns.find(txn, [], [OPEN]) is None
        assert len(found.candidates(txn, [], [OPEN])) == before + 1
    assert len(found.candidates(old, [], [OPEN])) == before
    old.abort()


def test_columns_come_only_when_as_much_was_read_as_they_cost(engine: Engine) -> None:
    with engine.reading() as txn:
        found = index(txn, "start_end")
        found.candidates(txn, [], [(0, True, 5, True)])
        assert found._columns.find(txn, [], [OPEN]) is None
        warm(txn, found)
        assert found._columns.find(txn, [], [OPEN]) is not None
