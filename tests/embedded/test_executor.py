"""What statements do when they run: loops, sets, modifications, limits and statistics."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from vgraph.embedded import ddl
from vgraph.embedded.errors import ArangoError

Database = Any  # of conftest.py


def fails(number: int) -> Any:
    return pytest.raises(ArangoError, match=rf"\[{number}\]")


# ------------------------------------------------------------------------------------------------- loops and sets


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("FOR [a, b] IN [[1, 2], [3]] RETURN {a, b}", [{"a": 1, "b": 2}, {"a": 3, "b": None}]),
        ("FOR i IN 3..1 RETURN i", [3, 2, 1]),
        ("FOR i IN 1..3 FOR j IN 1..i RETURN i * 10 + j", [11, 21, 22, 31, 32, 33]),
        ("FOR i IN 1..5 LIMIT 1, 2 RETURN i", [2, 3]),
        ("FOR i IN 1..5 LIMIT 0 RETURN i", []),
        ("FOR i IN 1..3 LIMIT 2, 5 RETURN i", [3]),
        ("FOR i IN 1..3 LIMIT 1, null RETURN i", [2, 3]),
        ("FOR i IN [2, 1, 2.0, '2', null] RETURN DISTINCT i", [2, 1, "2", None]),
        ("FOR i IN ['b', 1, null, [1], true, {a: 1}] SORT i RETURN i", [None, True, 1, "b", [1], {"a": 1}]),
        ("FOR i IN [1, 2, 3] SORT null RETURN i", [1, 2, 3]),
        ("FOR i IN [{a: 1, b: 1}, {a: 1, b: 2}, {a: 0, b: 3}] SORT i.a DESC, i.b DESC RETURN i.b", [2, 1, 3]),
        ("FOR i IN [3, 1, 2] SORT i @dir RETURN i", [3, 2, 1]),
        ("FOR i IN 1..2 LET x = (FOR j IN 1..i RETURN j * i) RETURN x", [[1], [2, 4]]),
        ("LET x = 5 FOR i IN 1..2 RETURN i + x", [6, 7]),
        ("FOR i IN (FOR j IN 1..3 SORT j DESC LIMIT 2 RETURN j) RETURN i", [3, 2]),
        ("RETURN (FOR i IN 1..3 FILTER i > 1 RETURN i)[* FILTER CURRENT > 2]", [[3]]),
        ("FOR i IN 1..3 RETURN i == 2 ? (FOR j IN 1..2 RETURN j) : i", [1, [1, 2], 3]),
        ("FOR i IN 1..2 RETURN i == 1 || (FOR j IN 1..2 RETURN j)", [True, [1, 2]]),
    ],
)
def test_statements(db: Database, query: str, expected: Any) -> None:
    assert db.run(query, {"dir": "DESC"} if "@dir" in query else {}) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("FOR i IN [] COLLECT x = i RETURN x", []),
        ("FOR i IN [] COLLECT WITH COUNT INTO n RETURN n", [0]),
        ("FOR i IN [] COLLECT AGGREGATE n = COUNT(), s = SUM(i), a = AVG(i), m = MIN(i), u = UNIQUE(i) RETURN [n, s, a, m, u]",
         [[0, None, None, None, []]]),
        ("FOR i IN [2, 1, 2] COLLECT x = i RETURN x", [1, 2]),
        ("FOR i IN [2, 1, 2] COLLECT x = i INTO g SORT null RETURN {x, g}",
         [{"x": 2, "g": [{"i": 2}, {"i": 2}]}, {"x": 1, "g": [{"i": 1}]}]),
        ("FOR i IN [2, 1, 2] COLLECT x = i INTO g = i * 10 RETURN g", [[10], [20, 20]]),
        ("FOR i IN [1, 2] LET j = i LET k = i COLLECT x = 1 INTO g KEEP j RETURN g", [[{"j": 1}, {"j": 2}]]),
        ("FOR i IN 1..4 COLLECT odd = i % 2 WITH COUNT INTO n RETURN [odd, n]", [[0, 2], [1, 2]]),
        ("FOR i IN 1..4 COLLECT odd = i % 2 AGGREGATE s = SUM(i), m = MAX(i) INTO g = i RETURN [odd, s, m, g]",
         [[0, 6, 4, [2, 4]], [1, 4, 3, [1, 3]]]),
        ("FOR i IN [null, 1, 'a'] COLLECT AGGREGATE s = SUM(i), m = MIN(i), x = MAX(i) RETURN [s, m, x]", [[None, 1, "a"]]),
        ("FOR i IN [null, 1, 3] COLLECT AGGREGATE s = SUM(i), a = AVERAGE(i), n = LENGTH(i) RETURN [s, a, n]", [[4, 2, 3]]),
        ("FOR i IN [2, 4, 4, 4, 5, 5, 7, 9] COLLECT AGGREGATE v = VARIANCE(i), d = STDDEV_POPULATION(i) RETURN [v, d]", [[4, 2]]),
        ("FOR i IN [1, 3] COLLECT AGGREGATE v = VARIANCE_SAMPLE(i), d = STDDEV_SAMPLE(i) RETURN [v, ROUND(d * d)]", [[2, 2]]),
        ("FOR i IN [3, 1, 3] COLLECT AGGREGATE u = UNIQUE(i), s = SORTED_UNIQUE(i), c = COUNT_DISTINCT(i), p = PUSH(i) "
         "RETURN [u, s, c, p]", [[[3, 1], [1, 3], 2, [3, 1, 3]]]),
        ("FOR i IN [12, 10] COLLECT AGGREGATE a = BIT_AND(i), o = BIT_OR(i), x = BIT_XOR(i) RETURN [a, o, x]", [[8, 14, 6]]),
        ("LET top = 7 FOR i IN [1, 1] COLLECT x = i RETURN [x, top]", [[1, 7]]),
        ("FOR i IN [1, 1.0, true, '1'] COLLECT x = i WITH COUNT INTO n RETURN [x, n]", [[True, 1], [1, 2], ["1", 1]]),
    ],
)  # fmt: skip
def test_collect(db: Database, query: str, expected: Any) -> None:
    assert db.run(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("FOR i IN 1..4 WINDOW {preceding: 1} AGGREGATE s = SUM(i) RETURN s", [1, 3, 5, 7]),
        ("FOR i IN 1..4 WINDOW {following: 1} AGGREGATE s = SUM(i) RETURN s", [3, 5, 7, 4]),
        ("FOR i IN 1..4 WINDOW {preceding: 1, following: 1} AGGREGATE m = MAX(i), n = COUNT() RETURN [m, n]",
         [[2, 2], [3, 3], [4, 3], [4, 2]]),
        ("FOR i IN 1..4 WINDOW {preceding: 'unbounded'} AGGREGATE s = SUM(i) RETURN s", [1, 3, 6, 10]),
        ("FOR i IN 1..3 WINDOW {preceding: 'unbounded', following: 'unbounded'} AGGREGATE s = SUM(i) RETURN s", [6, 6, 6]),
        ("FOR i IN [5, 1, 2, 9] WINDOW i WITH {preceding: 1, following: 3} AGGREGATE p = PUSH(i) RETURN [i, p]",
         [[1, [1, 2]], [2, [1, 2, 5]], [5, [5]], [9, [9]]]),
        ("FOR i IN [1, 1, 2] WINDOW i WITH {preceding: 0} AGGREGATE n = COUNT() RETURN n", [2, 2, 1]),
        ("FOR t IN ['2021-01-01T00:00Z', '2021-01-01T00:20Z', '2021-01-01T01:00Z'] "
         "WINDOW DATE_TIMESTAMP(t) WITH {preceding: 'PT30M'} AGGREGATE n = COUNT() RETURN n", [1, 2, 1]),
    ],
)  # fmt: skip
def test_window(db: Database, query: str, expected: Any) -> None:
    assert db.run(query) == expected


@pytest.mark.parametrize("bounds", ["{}", "{preceding: -1}", "{preceding: 'x'}", "{preceding: 1.5}"])
def test_bad_windows(db: Database, bounds: str) -> None:
    with pytest.raises(ArangoError):
        db.run(f"FOR i IN 1..3 WINDOW {bounds} AGGREGATE s = SUM(i) RETURN s")


def test_a_loop_over_no_array_fails(db: Database) -> None:
    with pytest.raises(ArangoError) as caught:
        db.run("FOR i IN 5 RETURN i")
    assert caught.value.num == 1563


@pytest.mark.parametrize("count", ["true", "'a'", "-1"])
def test_bad_limits(db: Database, count: str) -> None:
    with pytest.raises(ArangoError):
        db.run(f"FOR i IN 1..3 LIMIT NOOPT({count}) RETURN i")


# -------------------------------------------------------------------------------------------------- modifications


@pytest.fixture
def users(fresh: Database) -> Any:
    fresh.collection("users", [{"_key": f"u{n}", "n": n, "tags": {"a": 1}} for n in range(5)])
    fresh.collection("log")
    return fresh


def test_insert_returns_new(users: Database) -> None:
    [new] = users.run("INSERT {_key: 'x', a: 1} INTO log RETURN NEW")
    assert (new["_key"], new["_id"], new["a"]) == ("x", "log/x", 1)
    assert list(new)[:3] == ["_key", "_id", "_rev"]
    assert users.run("FOR d IN log RETURN d") == [new]


def test_update_replace_and_remove(users: Database) -> None:
    assert users.run("UPDATE 'u1' WITH {n: 10, tags: {b: 2}} IN users RETURN [OLD.n, NEW.n, NEW.tags]") == [
        [1, 10, {"a": 1, "b": 2}]
    ]
    assert users.run("UPDATE {_key: 'u1', n: null} IN users OPTIONS {keepNull: false} RETURN HAS(NEW, 'n')") == [False]
    assert users.run("UPDATE 'u1' WITH {tags: {c: 3}} IN users OPTIONS {mergeObjects: false} RETURN NEW.tags") == [
        {"c": 3}
    ]
    assert users.run("REPLACE 'u2' WITH {m: 1} IN users RETURN UNSET(NEW, '_rev')") == [
        {"_key": "u2", "_id": "users/u2", "m": 1}
    ]
    assert users.run("FOR u IN users FILTER u.n > 2 REMOVE u IN users RETURN OLD._key") == ["u3", "u4"]
    assert users.run("RETURN LENGTH(users)") == [3]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("replace", [{"b": 2}]),
        ("update", [{"n": 1, "tags": {"a": 1}, "b": 2}]),
        ("ignore", [{"n": 1, "tags": {"a": 1}}]),
    ],
)
def test_overwrite_modes(users: Database, mode: str, expected: Any) -> None:
    users.run(f"INSERT {{_key: 'u1', b: 2}} INTO users OPTIONS {{overwriteMode: '{mode}'}}")
    assert users.run("FOR u IN users FILTER u._key == 'u1' RETURN UNSET(u, '_key', '_id', '_rev')") == expected
    with fails(1210):
        users.run("INSERT {_key: 'u1'} INTO users OPTIONS {overwriteMode: 'conflict'}")


def test_upsert(users: Database) -> None:
    query = (
        "FOR i IN [1, 1, 2] UPSERT {name: CONCAT('x', i)} INSERT {name: CONCAT('x', i), n: 1} "
        "UPDATE {n: OLD.n + 1} IN log RETURN [OLD.n, NEW.n]"
    )
    assert users.run(query) == [[None, 1], [1, 2], [None, 1]]
    assert users.run("UPSERT {_key: 'u1'} INSERT {} REPLACE {z: 1} IN users RETURN KEEP(NEW, '_key', 'z', 'n')") == [
        {"_key": "u1", "z": 1}
    ]
    assert users.run("UPSERT FILTER CURRENT.n == 2 INSERT {} UPDATE {hit: true} IN users RETURN NEW.hit") == [True]


def test_errors_stop_the_query_and_take_everything_back(users: Database) -> None:
    with fails(1210):
        users.run("FOR k IN ['a', 'b', 'u1'] INSERT {_key: k} INTO users")
    assert users.run("RETURN LENGTH(users)") == [5]
    with fails(1202):
        users.run("FOR k IN ['u1', 'nobody'] REMOVE k IN users")
    assert users.run("RETURN LENGTH(users)") == [5]


def test_errors_can_be_ignored(users: Database) -> None:
    result = users.result(
        "FOR k IN ['a', 'u1', 'b'] INSERT {_key: k} INTO users OPTIONS {ignoreErrors: true} RETURN NEW._key"
    )
    assert result.all() == ["a", "b"]
    assert (result.stats["writesExecuted"], result.stats["writesIgnored"]) == (2, 1)
    query = "FOR k IN ['a', 'nobody'] REMOVE k IN users OPTIONS {ignoreErrors: true} REMOVE k IN log OPTIONS {ignoreErrors: true}"
    assert users.stats(query)["writesIgnored"] == 3


def test_revisions_count_only_when_asked_for(users: Database) -> None:
    users.run("UPDATE {_key: 'u1', _rev: 'other', a: 1} IN users")
    with fails(1200):
        users.run("UPDATE {_key: 'u1', _rev: 'other', a: 1} IN users OPTIONS {ignoreRevs: false}")


@pytest.mark.parametrize(
    ("number", "query"),
    [
        (1227, "INSERT 5 INTO users"),
        (1221, "INSERT {_key: 'a b'} INTO users"),
        (1202, "UPDATE 'nobody' WITH {} IN users"),
        (1203, "INSERT {} INTO nothing"),
        (1226, "REMOVE {a: 1} IN users"),
    ],
)
def test_bad_modifications(users: Database, number: int, query: str) -> None:
    with fails(number):
        users.run(query)


def test_a_loop_that_writes_what_it_reads_sees_the_state_before(users: Database) -> None:
    from vgraph.embedded import ddl

    with users.engine.writing() as txn:
        ddl.create_index(txn, "users", {"type": "persistent", "fields": ["n"]})
    users.run("FOR u IN users FILTER u.n >= 0 UPDATE u WITH {n: u.n + 100} IN users")
    assert sorted(users.run("FOR u IN users RETURN u.n")) == [100, 101, 102, 103, 104]
    users.run("FOR u IN users INSERT {copy: u.n} INTO log")
    assert users.run("RETURN LENGTH(log)") == [5]


def test_modifying_subqueries(users: Database) -> None:
    assert users.run("LET gone = (FOR u IN users FILTER u.n < 2 REMOVE u IN users RETURN OLD.n) RETURN gone") == [
        [0, 1]
    ]
    assert users.run("FOR i IN 1..2 LET x = (INSERT {i} INTO log RETURN NEW.i) RETURN x") == [[1], [2]]


@pytest.mark.parametrize("tail", ["LIMIT 1 RETURN NEW.i", "LIMIT 0 RETURN NEW.i", "FILTER false RETURN NEW.i"])
def test_rows_nobody_wants_are_written_all_the_same(users: Database, tail: str) -> None:
    users.run(f"FOR i IN 1..3 INSERT {{i}} INTO log {tail}")
    assert users.run("RETURN LENGTH(log)") == [3]


def test_read_only_queries_cannot_write(users: Database) -> None:
    with fails(1004):
        users.run("INSERT {} INTO log", allowWrites=False)
    from vgraph.embedded.aql import execute

    with users.engine.reading() as txn, fails(1004):
        execute(txn, "_system", "INSERT {} INTO log")


def test_inside_a_transaction_nothing_is_committed(users: Database) -> None:
    from vgraph.embedded.aql import execute

    txn = users.engine.begin(write=["log"])
    execute(txn, "_system", "INSERT {} INTO log")
    assert execute(txn, "_system", "RETURN LENGTH(log)").all() == [1]
    txn.abort()
    assert users.run("RETURN LENGTH(log)") == [0]


# ------------------------------------------------------------------------------------------- limits and statistics


def test_full_count(db: Database) -> None:
    for query, count in (
        ("FOR i IN 1..100 FILTER i > 50 LIMIT 10 RETURN i", 50),
        ("FOR i IN 1..100 SORT i DESC LIMIT 5, 10 RETURN i", 100),
        ("FOR i IN 1..100 LIMIT 50 LIMIT 0 RETURN i", 50),
    ):
        assert db.stats(query, fullCount=True)["fullCount"] == count
    assert "fullCount" not in db.stats("FOR i IN 1..100 LIMIT 10 RETURN i")
    inner = "FOR i IN (FOR j IN 1..100 LIMIT 10 RETURN j) RETURN i"
    assert db.stats(inner, fullCount=True)["fullCount"] == 10
    assert db.stats("FOR i IN 1..3 LIMIT 1 FOR j IN 1..5 RETURN j", fullCount=True)["fullCount"] == 5


def test_warnings_and_fail_on_warning(db: Database) -> None:
    result = db.result("FOR i IN 1..20 RETURN i / 0")
    assert result.all() == [None] * 20
    assert result.warnings == [{"code": 1562, "message": "division by zero"}] * 10
    with fails(1562):
        db.run("FOR i IN 1..20 RETURN i / 0", failOnWarning=True)


def test_memory_limit(db: Database) -> None:
    with fails(32):
        db.run("FOR i IN 1..100000 SORT i RETURN i", memoryLimit=100_000)
    with fails(32):
        db.run("FOR i IN 1..100000 COLLECT x = i RETURN x", memoryLimit=100_000)
    assert len(db.run("FOR i IN 1..100000 RETURN i", memoryLimit=100_000)) == 100_000
    with pytest.raises(ArangoError, match="memory"):
        db.run("FOR i IN 1..100000 RETURN i", memoryLimit=10_000)


def test_maximum_runtime(db: Database) -> None:
    started = time.monotonic()
    with fails(1500):
        db.run("FOR i IN 1..100000000 FILTER i < 0 RETURN i", maxRuntime=0.1)
    assert time.monotonic() - started < 2


def test_kill(db: Database) -> None:
    result = db.result("FOR i IN 1..100000000 FILTER i < 0 RETURN i")
    threading.Timer(0.1, result.kill).start()
    with fails(1500):
        result.all()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("FOR i IN 1..2000 COLLECT WITH COUNT INTO n RETURN n", [2000]),
        ("FOR i IN 1..2000 COLLECT AGGREGATE s = SUM(i), m = MAX(i) RETURN [s, m]", [[2_001_000, 2000]]),
        ("FOR i IN 1..2000 COLLECT odd = i % 2 == 1 INTO g = i RETURN [odd, LENGTH(g)]", [[False, 1000], [True, 1000]]),
        (
            "FOR i IN 1..2000 COLLECT a = i % 2, b = i % 2 WITH COUNT INTO n RETURN [a, b, n]",
            [[0, 0, 1000], [1, 1, 1000]],
        ),
        ("FOR i IN 1..2000 COLLECT a = i > 1999 INTO g RETURN LENGTH(g)", [1999, 1]),
        ("FOR i IN 1..2000 SORT i % 3 DESC, i LIMIT 2 RETURN i", [2, 5]),
        ("FOR i IN 1..2000 FILTER i > 1998 RETURN i", [1999, 2000]),
        ("FOR i IN 1..1000 FOR j IN [i, i] FILTER j > 999 RETURN j", [1000, 1000]),
        ("FOR i IN 1..1000 LET x = (FOR j IN [i] RETURN j + 1) FILTER x[0] == 1001 RETURN x", [[1001]]),
        ("FOR i IN 1..1000 LET x = [i][* RETURN (FOR k IN [CURRENT] RETURN k * i)] FILTER i == 9 RETURN x", [[[81]]]),
        ("FOR i IN 1..1000 WINDOW {preceding: 1} AGGREGATE s = SUM(i) FILTER s > 1998 RETURN s", [1999]),
        ("FOR i IN 1..2000 RETURN DISTINCT i % 2", [1, 0]),
    ],
)
def test_many_rows_give_what_few_do(db: Database, query: str, expected: Any) -> None:
    for _ in range(2):  # the second run begins with code that the first had written
        assert db.run(query) == expected


def test_results_are_computed_as_they_are_asked_for(fresh: Database) -> None:
    fresh.collection("many", [{"n": n} for n in range(5000)])
    result = fresh.result("FOR d IN many RETURN d.n")
    assert next(result)[0] == 0
    assert result.stats["scannedFull"] <= 1000
    fresh.run("FOR d IN many REMOVE d IN many")
    assert sum(len(batch) for batch in result) == 5000 - 1000, "a reader keeps its snapshot"


def test_errors_name_the_node(db: Database) -> None:
    db.collection("errors")
    with pytest.raises(ArangoError) as caught:
        db.run("REMOVE 'foo' IN errors")
    assert caught.value.message == "AQL: document not found [node #3: RemoveNode] (while executing)"


def test_one_plan_runs_in_many_threads_at_once(fresh: Database) -> None:
    fresh.collection("n", [{"_key": f"k{i}", "i": i} for i in range(300)])
    query = "FOR k IN @keys LET d = (FOR n IN n FILTER n._key == k RETURN n.i) FILTER d[0] >= 0 RETURN FIRST(d[* RETURN CURRENT + @add])"
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        keys = [f"k{(number * 7 + i) % 300}" for i in range(200)]
        for _ in range(5):
            results[number] = fresh.run(query, {"keys": keys, "add": number})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(6):
        assert results[number] == [(number * 7 + i) % 300 + number for i in range(200)]


def test_closing_early_ends_the_transaction(fresh: Database) -> None:
    fresh.collection("n", [{"i": i} for i in range(3000)], indexes=[{"type": "persistent", "fields": ["i"]}])
    result = fresh.result("FOR n IN n FILTER n.i >= 0 SORT n.i RETURN n.i")
    assert next(result)[:2] == [0, 1]
    result.close()
    assert list(result) == []
    fresh.run("INSERT {i: -1} INTO n")


def test_the_example_of_an_upsert_may_be_bound(fresh: Database) -> None:
    fresh.collection("users", [{"name": {"first": "Ann", "last": "Lee"}, "n": 1}])
    query = "UPSERT @what INSERT MERGE(@what, {n: 0}) UPDATE {n: OLD.n + 1} IN users RETURN NEW.n"
    assert fresh.run(query, {"what": {"name": {"first": "Ann"}}}) == [2]
    assert fresh.run(query, {"what": {"name": {"first": "Bo"}}}) == [0]
    assert fresh.run("UPSERT @what INSERT {} UPDATE {n: 9} IN users RETURN NEW.n", {"what": {}}) == [9]
    with pytest.raises(ArangoError) as caught:
        fresh.run(query, {"what": [1]})
    assert caught.value.num == 1501


class TestFulltext:
    @pytest.fixture
    def mails(self, fresh: Database) -> Database:
        documents = [
            {"_key": "a", "body": "The quick brown fox", "n": 1},
            {"_key": "b", "body": ["Quick thinking", {"x": "brown bread"}]},
            {"_key": "c", "body": "Slow foxes, BREAD"},
            {"_key": "d", "body": 5},
            {"_key": "e"},
        ]
        fresh.collection("mails", documents, indexes=[{"type": "fulltext", "fields": ["body"], "minLength": 4}])
        return fresh

    @pytest.mark.parametrize(
        ("query", "keys"),
        [
            ("quick", ["a", "b"]),
            ("quick,brown", ["a", "b"]),
            ("+quick,-bread", ["a"]),
            ("thinking,|foxes", ["b", "c"]),
            ("quick,|foxes,-brown", ["c"]),
            ("complete:bread", ["b", "c"]),
            ("prefix:fox", ["c"]),  # "fox" itself is shorter than minLength
            ("prefix:bro,complete:quick", ["a", "b"]),
            ("the", []),
            ("nothing", []),
        ],
    )
    def test_words(self, mails: Database, query: str, keys: list[str]) -> None:
        assert mails.run("FOR d IN FULLTEXT(mails, 'body', @q) RETURN d._key", {"q": query}) == keys

    def test_limit(self, mails: Database) -> None:
        assert mails.run("FOR d IN FULLTEXT('mails', 'body', 'bread', 1) RETURN d._key") == ["b"]
        assert mails.run("FOR d IN FULLTEXT('mails', 'body', 'bread', 0) RETURN d._key") == []

    def test_errors(self, mails: Database) -> None:
        for query, number in (
            ("FULLTEXT(mails, 'n', 'x')", 1571),
            ("FULLTEXT('no', 'body', 'x')", 1203),
            ("FULLTEXT(mails, 'body', '')", 10),
            ("FULLTEXT(mails, 'body', 'x,|')", 10),
        ):
            with pytest.raises(ArangoError) as caught:
                mails.run(f"RETURN {query}")
            assert caught.value.num == number
        assert mails.run("RETURN FULLTEXT(mails, 1, 'x')") == [None]


def test_the_schema_of_a_collection(fresh: Database) -> None:
    fresh.collection("plain")
    with fresh.engine.writing() as txn:
        ddl.create_collection(txn, "ruled", 2, {"schema": {"rule": {"required": ["n"]}, "message": "n"}})
    assert fresh.run("RETURN [SCHEMA_GET('plain'), SCHEMA_GET('ruled')]") == [
        [None, {"rule": {"required": ["n"]}, "level": "strict", "message": "n", "type": "json"}]
    ]
    assert fresh.run("RETURN SCHEMA_VALIDATE({n: 1}, SCHEMA_GET('ruled')).valid") == [True]
