"""A process killed at any moment loses nothing that was acknowledged and leaves nothing half done."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vgraph.embedded import aql, ddl, view_store
from vgraph.embedded.engine import Engine, Transaction
from vgraph.embedded.indexes import PersistentIndex

# Writes batches of documents that belong together, and says so after each commit, until it is killed.
WRITER = """
import sys
from vgraph.embedded.engine import Engine
engine = Engine.open(sys.argv[1])
start = int(sys.argv[2])
for batch in range(start, start + 100000):
    with engine.writing() as txn:
        docs, edges = txn.collection("docs", write=True), txn.collection("edges", write=True)
        for n in range(10):
            docs.insert({"_key": f"{batch}-{n}", "batch": batch, "n": n, "embedding": [batch / 64, n / 64], "text": "kept words " * 20})
            edges.insert({"_from": f"docs/{batch}-{n}", "_to": f"docs/{batch}-{(n + 1) % 10}"})
        if batch % 3 == 0 and batch > start:
            for n in range(10):
                docs.update(f"{batch - 1}-{n}", {"updated": batch})
    sys.stdout.write(f"{batch}\\n")
    sys.stdout.flush()
"""


def make(path: Path) -> None:
    engine = Engine.open(path)
    with engine.writing() as txn:
        ddl.create_collection(txn, "docs")
        ddl.create_collection(txn, "edges", 3)
        ddl.create_index(txn, "docs", {"type": "persistent", "fields": ["batch", "n"], "unique": True})
        params = {"metric": "l2", "dimension": 2, "nLists": 1}
        ddl.create_index(txn, "docs", {"type": "vector", "fields": ["embedding"], "params": params})
        links = {"docs": {"fields": {"text": {"analyzers": ["text_en"]}}}}
        view_store.create_view(txn, "words", "arangosearch", {"links": links})
    engine.close()


def kill_after(path: Path, start: int, seconds: float) -> list[int]:
    """Run the writer, kill it; the batches it had acknowledged."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(start)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    first = writer.stdout.readline()
    time.sleep(seconds)
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate()
    lines = (first + rest).split("\n")
    return [int(line) for line in lines[:-1]]  # what has no newline was not said in full


NEAR = "FOR d IN docs SORT APPROX_NEAR_L2(d.embedding, [0, 0]) LIMIT 1000000 RETURN d._key"
WORDS = "FOR d IN words SEARCH ANALYZER(d.text == 'word', 'text_en') RETURN d._key"


def found_by(txn: Transaction, query: str) -> set[str]:
    """What an index finds; without documents a vector index refuses, as the server's does."""
    return set(aql.execute(txn, "_system", query).all()) if txn.collection("docs").count() else set()


def check(path: Path, acknowledged: list[int]) -> int:
    """Everything acknowledged is there, every batch is whole, indexes agree with documents; the next batch's number."""
    engine = Engine.open(path)
    with engine.reading() as txn:
        docs, edges = txn.collection("docs"), txn.collection("edges")
        batches: dict[int, set[int]] = {}
        rows = {}
        for row, doc in docs.scan():
            batches.setdefault(doc["batch"], set()).add(doc["n"])
            assert doc["embedding"] == [doc["batch"] / 64, doc["n"] / 64]
            rows[row] = doc
        assert set(acknowledged) <= set(batches)
        assert all(found == set(range(10)) for found in batches.values())
        for batch in batches:
            updates = {doc.get("updated") for doc in rows.values() if doc["batch"] == batch}
            assert len(updates) == 1
        index = docs.indexes[1]
        assert isinstance(index, PersistentIndex)
        assert sorted(index.lookup(txn)) == sorted(rows) and docs.count() == len(rows) == edges.count()
        assert len(list(edges.edges("out", [doc["_id"] for doc in rows.values()]))) == len(rows)
        assert txn.sql("PRAGMA quick_check").fetchone() == ("ok",)
        assert found_by(txn, NEAR) == found_by(txn, WORDS) == {doc["_key"] for doc in rows.values()}
    engine.close()
    return max(batches, default=-1) + 1


@pytest.mark.parametrize("seed", range(4))
def test_kill_9_keeps_what_was_acknowledged(tmp_path: Path, seed: int) -> None:
    path, rng = tmp_path / "killed.db", random.Random(seed)
    make(path)
    start, acknowledged = 0, []
    for _ in range(3):
        acknowledged += kill_after(path, start, rng.random() * 0.3)
        start = check(path, acknowledged)
    assert acknowledged


def test_a_file_whose_creation_was_cut_short_is_created_anew(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    engine = Engine.open(tmp_path / "empty.db")
    with engine.reading() as txn:
        assert "_system" in txn.catalog.databases
    engine.close()


def test_a_checkpoint_cut_short_is_no_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.db"
    make(path)
    engine = Engine.open(path)
    size = path.stat().st_size
    with engine.writing() as txn:
        for n in range(2000):
            txn.collection("docs", write=True).insert({"batch": n, "n": n, "embedding": [n, 1], "text": "x" * 1000})
    log = path.with_name("cut.db-wal").read_bytes()
    with engine.reading() as txn:
        txn.connection.execute("COMMIT")
        txn.connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
    cut = tmp_path / "copy.db"
    cut.write_bytes(path.read_bytes()[:size])
    (tmp_path / "copy.db-wal").write_bytes(log)
    engine.close()
    engine = Engine.open(cut)
    with engine.reading() as txn:
        assert txn.collection("docs").count() == 2000 == sum(1 for _ in txn.collection("docs").scan())
    engine.close()


def test_commits_are_synchronous(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "sync.db")
    with engine.writing() as txn:
        assert txn.sql("PRAGMA synchronous").fetchone() == (2,)
        assert txn.sql("PRAGMA journal_mode").fetchone() == ("wal",)
    engine.close()
