"""A file of an earlier format serves as one of the present format does."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import aql, ddl, formats, segmented, view_store
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.search import store as search_store
from vgraph.embedded.vectors import index as vector_index

QUERIES = (
    "FOR d IN v SEARCH ANALYZER(d.text == 'dog', 'text_en') SORT BM25(d) DESC, d._key RETURN d._key",
    "FOR d IN c SORT APPROX_NEAR_L2(d.e, [0, 0]) LIMIT 5 RETURN d._key",
    "FOR d IN c OPTIONS {indexHint: 'inverted', forceIndexHint: true} FILTER d.n > 3 SORT d.n RETURN d._key",
)


def made(path: Path) -> None:
    engine = Engine.open(path)
    with engine.writing() as txn:
        ddl.create_database(txn, "other", {})
    for database in ("_system", "other"):
        with engine.writing(database) as txn:
            ddl.create_collection(txn, "c")
            params = {"metric": "l2", "dimension": 2, "nLists": 1}
            ddl.create_index(txn, "c", {"type": "vector", "fields": ["e"], "params": params})
            ddl.create_index(txn, "c", {"type": "inverted", "name": "inverted", "fields": ["n"]})
            link = {"fields": {"text": {"analyzers": ["text_en"]}}}
            view_store.create_view(txn, "v", "arangosearch", {"links": {"c": link}})
            for n in range(9):
                document = {"_key": str(n), "n": n, "e": [n, 1.5], "text": "two dogs" if n % 2 else "a cat"}
                txn.collection("c", write=True).insert(document)
    engine.close()


def answers(path: Path) -> list[Any]:
    engine = Engine.open(path)
    found = []
    for database in ("_system", "other"):
        with engine.reading(database) as txn:
            found += [aql.execute(txn, database, text).all() for text in QUERIES]
    engine.close()
    return found


def to_first(path: Path) -> None:
    """What distinguishes a file of the first format, as far as the engine may look at it."""
    connection = sqlite3.connect(path)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in names:
        if name[:2] in ("sx", "vx") and not name.endswith("_code"):
            connection.execute(f"DROP TABLE {name}")
            connection.execute(f"CREATE TABLE {name} (seq INTEGER PRIMARY KEY, row INTEGER NOT NULL, terms BLOB)")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


def test_search_and_vector_indexes_of_the_first_format_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    made(path)
    before = answers(path)
    assert before[0] == ["1", "3", "5", "7"] and before[1] == ["0", "1", "2", "3", "4"]
    to_first(path)
    assert answers(path) == before
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (formats.PRESENT,)
    assert answers(path) == before


def test_blobs_of_the_second_format_are_cut_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    monkeypatch.setattr(segmented, "PART", 1 << 16)
    for seal in (search_store, vector_index):
        monkeypatch.setattr(seal, "SEAL", 4)
    made(path)
    before = answers(path)
    monkeypatch.setattr(segmented, "PART", 16)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.commit()
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%_blob'")]

    def longest(table: str) -> int:
        return connection.execute(f"SELECT max(length(data)) FROM {table}").fetchone()[0] or 0

    assert len(tables) == 6 and max(map(longest, tables)) > 16
    assert answers(path) == before
    assert max(map(longest, tables)) == 16
    assert connection.execute("PRAGMA user_version").fetchone() == (formats.PRESENT,)
    connection.close()


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "a.db")
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute(f"PRAGMA user_version = {formats.PRESENT + 1}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with pytest.raises(
        ArangoError, match=f"file format {formats.PRESENT + 1}, this engine knows up to {formats.PRESENT}"
    ):
        Engine.open(tmp_path / "a.db")
