"""Threads and processes on one file: writers take turns, readers do not wait, everyone sees what was committed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    engine = Engine.open(tmp_path / "shared.db")
    with engine.writing() as txn:
        ddl.create_collection(txn, "c")
        ddl.create_index(txn, "c", {"type": "persistent", "fields": ["worker", "n"], "unique": True})
        txn.collection("c", write=True).insert({"_key": "total", "value": 0})
    engine.close()
    return tmp_path / "shared.db"


@pytest.fixture
def engine(path: Path) -> Iterator[Engine]:
    engine = Engine.open(path)
    yield engine
    engine.close()


def together(*tasks: Callable[[], Any]) -> None:
    """Run tasks in threads; the first exception is raised here."""
    failures: list[BaseException] = []

    def guarded(task: Callable[[], Any]) -> None:
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - carried over to the caller
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failures:
        raise failures[0]


def write(engine: Engine, worker: int, count: int) -> None:
    """Documents of a worker, and a shared sum that every write adds one to."""
    for n in range(count):
        with engine.writing() as txn:
            c = txn.collection("c", write=True)
            c.insert({"worker": worker, "n": n})
            total = c.get("total") or {}
            c.update("total", {"value": total["value"] + 1})


def total(engine: Engine) -> tuple[int, int, set[str]]:
    with engine.reading() as txn:
        c = txn.collection("c")
        return (c.get("total") or {})["value"], c.count(), {doc["_rev"] for _, doc in c.scan()}


def test_threads_lose_no_update(engine: Engine) -> None:
    together(*(lambda worker=worker: write(engine, worker, 50) for worker in range(6)))
    value, count, revisions = total(engine)
    assert (value, count, len(revisions)) == (300, 301, 301)


def test_readers_see_whole_transactions_while_others_write(engine: Engine) -> None:
    stop = threading.Event()

    def read() -> None:
        last = 0
        while not stop.is_set():
            with engine.reading() as txn:
                c = txn.collection("c")
                value = (c.get("total") or {})["value"]
                assert value == c.count() - 1 == sum(1 for _ in c.rowids()) - 1 >= last
                last = value

    def write_and_stop() -> None:
        try:
            write(engine, 0, 150)
        finally:
            stop.set()

    together(write_and_stop, read, read)


def test_a_reader_does_not_wait_for_an_open_writer(engine: Engine) -> None:
    writer = engine.begin()
    writer.collection("c", write=True).insert({"worker": 9})
    started = time.perf_counter()
    assert total(engine)[1] == 1
    assert time.perf_counter() - started < 1
    writer.abort()


def test_a_writer_that_waits_too_long_conflicts(engine: Engine) -> None:
    with engine.writing() as txn:
        txn.collection("c", write=True).insert({"worker": 1})
        with pytest.raises(ArangoError) as error:
            engine.begin(lock_timeout=0.05)
    assert error.value.num == 1200
    with engine.writing() as txn:
        txn.collection("c", write=True).insert({"worker": 2})


def test_threads_share_changes_of_the_catalog(engine: Engine) -> None:
    def make(name: str) -> None:
        for n in range(5):
            with engine.writing() as txn:
                ddl.create_collection(txn, f"{name}{n}")
            with engine.writing() as txn:
                txn.collection(f"{name}{n}", write=True).insert({})

    together(lambda: make("x"), lambda: make("y"), lambda: make("z"))
    with engine.reading() as txn:
        assert len([info for info in txn.collections() if info.name[0] in "xyz"]) == 15


def _open(path: str) -> None:
    for n in range(5):
        Engine.open(f"{path}{n}").close()


def test_many_may_create_the_same_file_at_once(tmp_path: Path) -> None:
    context = get_context("fork")
    children = [context.Process(target=_open, args=(str(tmp_path / "new"),)) for _ in range(4)]
    for child in children:
        child.start()
    _open(str(tmp_path / "new"))
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * 4


def _write_in_process(path: str, worker: int, count: int) -> None:
    engine = Engine.open(path)
    write(engine, worker, count)
    engine.close()


def test_processes_lose_no_update(path: Path, engine: Engine) -> None:
    context = get_context("spawn")
    children = [context.Process(target=_write_in_process, args=(str(path), worker, 40)) for worker in range(3)]
    for child in children:
        child.start()
    write(engine, 9, 40)
    for child in children:
        child.join(120)
    assert [child.exitcode for child in children] == [0, 0, 0]
    value, count, revisions = total(engine)
    assert (value, count, len(revisions)) == (160, 161, 161)


def _add_index(path: str) -> None:
    engine = Engine.open(path)
    with engine.writing() as txn:
        ddl.create_collection(txn, "theirs")
        ddl.create_index(txn, "c", {"type": "persistent", "fields": ["worker"]})
    engine.close()


def test_changes_of_the_catalog_by_other_processes_are_seen(path: Path, engine: Engine) -> None:
    with engine.reading() as txn:
        version = txn.schema_version
    child = get_context("spawn").Process(target=_add_index, args=(str(path),))
    child.start()
    child.join(60)
    with engine.writing() as txn:
        assert txn.schema_version > version and "theirs" in txn.database_info.collections
        row = txn.collection("c", write=True).insert({"worker": 77}).rowid
        assert list(txn.info("c").indexes[2].lookup(txn, [77])) == [row]  # type: ignore[attr-defined]


def _read_in_fork(engine: Engine, results: Any) -> None:
    write(engine, 5, 3)
    results.put(total(engine)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_opens_its_own_connections(engine: Engine) -> None:
    assert total(engine)[1] == 1
    context = get_context("fork")
    results = context.Queue()
    child = context.Process(target=_read_in_fork, args=(engine, results))
    child.start()
    assert results.get(timeout=60) == 4
    child.join(60)
    write(engine, 6, 3)
    assert total(engine)[:2] == (6, 7)


def _hold(path: str, begun: Any, seconds: float, change: bool) -> None:
    engine = Engine.open(path)
    txn = engine.begin()
    if change:
        txn.collection("c", write=True).insert({"worker": 50, "n": 0})
    begun.set()
    time.sleep(seconds)
    txn.commit()
    engine.close()


@pytest.mark.parametrize("change", [False, True])
def test_one_that_has_read_waits_for_another_process_before_it_tells_of_a_conflict(
    path: Path, engine: Engine, change: bool
) -> None:
    context = get_context("spawn")
    begun = context.Event()
    child = context.Process(target=_hold, args=(str(path), begun, 0.5, change))
    child.start()
    assert begun.wait(60)
    txn = engine.begin(lazy=True)
    assert txn.collection("c").get("total") is not None
    if change:
        with pytest.raises(ArangoError, match="was changed since the transaction began"):
            txn.collection("c", write=True)
    else:  # what it read still holds
        txn.collection("c", write=True).insert({"worker": 51, "n": 0})
        txn.commit()
    txn.abort()
    child.join(60)
    assert child.exitcode == 0


def test_patience_with_another_process_is_what_was_asked_for(path: Path, engine: Engine) -> None:
    context = get_context("spawn")
    begun = context.Event()
    child = context.Process(target=_hold, args=(str(path), begun, 1.5, True))
    child.start()
    assert begun.wait(60)
    with pytest.raises(ArangoError) as error:
        engine.begin(lock_timeout=0.05)
    assert error.value.num == 1200 and child.is_alive()
    with engine.writing() as txn:  # the ordinary patience is longer
        txn.collection("c", write=True).insert({"worker": 52, "n": 0})
    child.join(60)
