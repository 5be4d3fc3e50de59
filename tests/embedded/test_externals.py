"""Long lists of floats stand outside the JSON from the first document on that has one, and nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import aql, ddl, externals
from vgraph.embedded.engine import Engine, Transaction

LONG = [n / 7 for n in range(100)]
OTHER = [n / 3 for n in range(70)]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine.open(tmp_path / "a.db")
    with engine.writing() as txn:
        ddl.create_collection(txn, "c")
    yield engine
    engine.close()


def bodies(txn: Transaction) -> bytes:
    return b"".join(body for (body,) in txn.sql(f"SELECT body FROM {txn.info('c').table} ORDER BY id"))


def run(engine: Engine, text: str, **binds: Any) -> list[Any]:
    txn = engine.begin()
    try:
        found: list[Any] = aql.execute(txn, "_system", text, binds).all()
        txn.commit()
    finally:
        txn.abort()
    return found


@pytest.mark.parametrize("write", ["one", "many"])
def test_the_first_long_list_makes_a_place_for_all(engine: Engine, write: str) -> None:
    documents = [{"_key": str(n), "e": LONG, "whole": list(range(100)), "short": [0.5, 0.25]} for n in range(3)]
    with engine.writing() as txn:
        collection = txn.collection("c", write=True)
        if write == "one":
            collection.insert(documents[0])
            collection.insert(documents[1])
            collection.insert(documents[2])
        else:
            collection.insert_many(documents)
        assert collection.get("2", None)["e"] == LONG  # type: ignore[index]
    with engine.reading() as txn:
        assert [item.attribute for item in txn.info("c").externals] == ["e"]
        assert b"0.14285714285714285" not in bodies(txn)
        assert [doc["e"] for _, doc in txn.collection("c").scan()] == [LONG] * 3
        assert list(txn.collection("c").get("0", None) or {})[3:] == ["e", "whole", "short"]


def test_lists_that_stood_in_the_json_before_stay_there_through_updates(engine: Engine) -> None:
    with engine.writing() as txn:
        txn.collection("c", write=True).insert({"_key": "a", "e": [1.5, 2.5], "n": 0})
        txn.collection("c", write=True).insert({"_key": "n", "e": None, "n": 0})
        txn.collection("c", write=True).insert({"_key": "b", "e": LONG, "n": 0})
    for n in (1, 2):
        run(engine, "FOR d IN c UPDATE d WITH {n: @n} IN c", n=n)
    assert run(engine, "FOR d IN c SORT d._key RETURN [d.e, d.n]") == [[[1.5, 2.5], 2], [LONG, 2], [None, 2]]
    run(engine, "FOR d IN c FILTER d._key != 'n' UPDATE d WITH {e: REVERSE(d.e)} IN c")
    assert run(engine, "FOR d IN c SORT d._key RETURN d.e") == [[2.5, 1.5], LONG[::-1], None]
    run(engine, "FOR d IN c REPLACE d WITH {n: 3} IN c")
    assert run(engine, "FOR d IN c RETURN HAS(d, 'e')") == [False] * 3


def test_an_update_may_bring_the_first_one(engine: Engine) -> None:
    run(engine, "FOR n IN 1..3 INSERT {_key: TO_STRING(n)} INTO c")
    run(engine, "FOR d IN c UPDATE d WITH {e: @e} IN c", e=LONG)
    with engine.reading() as txn:
        assert txn.info("c").externals and b"0.14285714285714285" not in bodies(txn)
    assert run(engine, "FOR d IN c RETURN d.e") == [LONG] * 3


def test_a_query_reads_what_it_has_moved_outside_itself(engine: Engine) -> None:
    run(engine, "INSERT {_key: 'a', n: 1} INTO c")
    found = run(engine, "FOR d IN c INSERT {_key: 'b', e: @e} INTO c LET new = NEW RETURN [d.n, new.e]", e=LONG)
    assert found == [[1, LONG]]
    assert run(engine, "RETURN DOCUMENT('c/b').e") == [LONG]


def test_a_place_taken_back_with_its_savepoint_is_made_anew(engine: Engine) -> None:
    with engine.writing() as txn:
        before = txn.catalog
        point = txn.savepoint()
        txn.collection("c", write=True).insert({"_key": "a", "e": LONG})
        txn.rollback_to(point)
        assert txn.catalog is before and not txn.catalog_is_private
        assert not txn.collection("c", write=True).info.externals
        txn.collection("c", write=True).insert({"_key": "b", "e": OTHER})
    with engine.reading() as txn:
        assert [doc["e"] for _, doc in txn.collection("c").scan()] == [OTHER]


def test_an_aborted_transaction_leaves_no_place(engine: Engine) -> None:
    txn = engine.begin()
    txn.collection("c", write=True).insert({"_key": "a", "e": LONG})
    txn.abort()
    with engine.reading() as txn:
        assert not txn.info("c").externals
    run(engine, "INSERT {_key: 'b', e: @e} INTO c", e=OTHER)
    assert run(engine, "FOR d IN c RETURN d.e") == [OTHER]


def test_an_index_over_both_kinds_finds_both(engine: Engine) -> None:
    vectors = {"a": [0.0] * 63 + [1], "b": [1.0] + [0.0] * 63}
    with engine.writing() as txn:
        txn.collection("c", write=True).insert({"_key": "a", "e": [0, *vectors["a"][1:]]})
        txn.collection("c", write=True).insert({"_key": "b", "e": vectors["b"]})
        params = {"metric": "l2", "dimension": 64, "nLists": 1}
        ddl.create_index(txn, "c", {"type": "vector", "fields": ["e"], "params": params})
    text = "FOR d IN c SORT APPROX_NEAR_L2(d.e, @q) LIMIT 2 RETURN d._key"
    assert run(engine, text, q=vectors["a"]) == ["a", "b"]
    assert run(engine, text, q=vectors["b"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("values", "long"),
    [([0.5] * 64, True), ([1] + [0.5] * 63, True), ([0.5] * 63, False), ([1] * 100, False), (["x"] * 100, False)],
)
def test_what_counts_as_long(values: list[Any], long: bool) -> None:
    assert externals.is_long(values) is long
