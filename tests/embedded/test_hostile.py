"""Queries that would take all the time or memory there is: an error of the right number, soon, and nothing changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.embedded.conftest import Database
from vgraph.embedded import aql
from vgraph.embedded.errors import ArangoError

KILLED, MEMORY, SYNTAX = 1500, 32, 1501
SECONDS = 0.5
BYTES = 8 << 20


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = Database(tmp_path_factory.mktemp("hostile") / "db.vgraph")
    database.collection("c", [{"_key": str(n), "n": n} for n in range(500)])
    pairs = [(n, (n * step + 1) % 500) for n in range(500) for step in (3, 7, 11)]
    database.collection("e", [{"_from": f"c/{a}", "_to": f"c/{b}"} for a, b in pairs], edges=True)
    yield database
    database.engine.close()


def content(database: Database) -> Any:
    return database.run("RETURN [(FOR d IN c RETURN d), LENGTH(e)]")


def number(database: Database, query: str, **options: Any) -> int | None:
    """The number of the error a query ends with. Nothing here is timed: what is not stopped in time runs for minutes."""
    try:
        database.run(query, **{"maxRuntime": SECONDS, "memoryLimit": BYTES, **options})
    except ArangoError as error:
        return error.num
    return None


ENDLESS = """
FOR a IN 1..1000000000000 RETURN a
FOR a IN -9223372036854775808..9223372036854775807 FILTER a < 0 AND a > 0 RETURN a
FOR a IN c FOR b IN c FOR d IN c FOR f IN c FILTER a.n + b.n + d.n + f.n == -1 RETURN 1
FOR a IN 1..100000 FOR b IN 1..100000 COLLECT WITH COUNT INTO n RETURN n
LET x = (FOR a IN 1..1000000000 FILTER a < 0 RETURN a) RETURN x
FOR a IN 1..1000000000 LIMIT 999999990, 5 RETURN a
RETURN SLEEP(1000)
FOR v IN 1..1000000 ANY 'c/1' e RETURN v
FOR v, x, p IN 1..30 ANY 'c/1' e OPTIONS {uniqueEdges: 'none'} FILTER p.vertices[20].n == -1 RETURN 1
FOR p IN 1..60 ANY K_PATHS 'c/1' TO 'c/400' e FILTER p == 1 RETURN 1
FOR i IN 1..1000000000 FILTER REGEX_TEST(CONCAT('aaaaaaaaaaaaaaaaaaaaaaaaaa!', i), '^(a|b|ab)*c$') RETURN i
RETURN NGRAM_SIMILARITY(REPEAT('ab', 20000), REPEAT('ba', 20000), 2)
FOR a IN c UPDATE a WITH {x: SLEEP(0.1)} IN c
FOR i IN 1..100000000 INSERT {i} INTO c
FOR a IN 1..100000 WINDOW {preceding: 100000} AGGREGATE s = MAX(a), t = UNIQUE(a) RETURN s
"""

LARGE = """
RETURN 1..1000000000
RETURN SUM(1..5000000)
RETURN ZIP(1..1000000, 1..1000000)
RETURN [1..1000000, 1..1000000]
RETURN RANGE(0, 1e9, 0.001)
RETURN SORTED(1..9000000)
RETURN APPLY('CONCAT', 1..9000000)
RETURN REPLACE_NTH([], 1000000000, 1, 1)
FOR a IN 1..100000000 SORT a DESC RETURN a
FOR a IN 1..3000 FOR b IN 1..3000 COLLECT x = a, y = b RETURN 1
FOR a IN 1..100000 WINDOW {preceding: 'unbounded', following: 'unbounded'} AGGREGATE s = PUSH(a) RETURN LENGTH(s)
LET a = REPEAT('x', 4000000) RETURN SUBSTITUTE(a, 'x', a)
LET a = REPEAT('x', 8000000) LET b = CONCAT(a, a) RETURN LENGTH(b)
RETURN LEVENSHTEIN_DISTANCE(REPEAT('a', 100000), REPEAT('b', 100000))
"""


@pytest.mark.parametrize("query", ENDLESS.strip().splitlines())
def test_what_would_not_end_is_killed(small: Database, query: str):
    before = content(small)
    assert number(small, query, memoryLimit=0) == KILLED
    assert content(small) == before


@pytest.mark.parametrize("query", LARGE.strip().splitlines())
def test_what_would_not_fit_is_refused(small: Database, query: str):
    assert number(small, query, maxRuntime=60) == MEMORY


def test_without_limits_values_are_bounded_all_the_same(small: Database):
    doubled = "".join(f"LET s{n + 1} = CONCAT(s{n}, s{n}) " for n in range(10))
    text = f"LET s0 = REPEAT('x', 16000000) {doubled} RETURN LENGTH(s10)"
    assert number(small, text, maxRuntime=0, memoryLimit=0) == MEMORY
    assert number(small, "RETURN UNION(1..9000000, 1..9000000)", maxRuntime=0, memoryLimit=0) == MEMORY


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("'" + "a" * 60 + "!'", "^(a+)+$"),
        ("REPEAT('a', 5000)", "(a*)*b"),
        ("REPEAT('a', 30)", "(a?){30}a{30}b"),
        ("REPEAT('ab', 2000)", "^(([a-z])+.)+[A-Z]([a-z])+$"),
        ("REPEAT('a', 10000)", "(x+x+)+y"),
    ],
)
def test_regular_expressions_end(small: Database, text: str, pattern: str):
    for function in (f"REGEX_TEST({text}, '{pattern}')", f"REGEX_REPLACE({text}, '{pattern}', '')"):
        assert number(small, f"RETURN {function}", memoryLimit=0) in (
            None,
            KILLED,
        )  # the package sees through some of them


@pytest.mark.parametrize("pattern", ["%a%a%a%a%a%a%a%a%a%b", "%_%_%_%_%_%b", "a%%%%%%%%b", "%_a_%_a_%_b"])
def test_like_takes_no_longer_than_pattern_times_text(small: Database, pattern: str):
    text = "REPEAT('a', 100000)"
    assert small.run(f"RETURN [LIKE({text}, '{pattern}'), LIKE(CONCAT({text}, 'cb'), '{pattern}')]") == [[False, True]]


@given(
    st.text("a%_\\", max_size=8),
    st.text("ab%_\n", max_size=8),
)
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_like_agrees_with_its_definition(small: Database, pattern: str, text: str):
    def fits(pattern: str, text: str) -> bool:
        if pattern in ("", "\\"):  # a last backslash stands for nothing
            return not text
        if pattern[0] == "%":
            return any(fits(pattern[1:], text[at:]) for at in range(len(text) + 1))
        if pattern[0] == "\\" and pattern[1:2] in ("%", "_", "\\"):
            pattern = pattern[1:]
        elif pattern[0] == "_":
            return bool(text) and fits(pattern[1:], text[1:])
        return text[:1] == pattern[0] and fits(pattern[1:], text[1:])

    found = small.run("RETURN LIKE(@text, @pattern)", {"text": text, "pattern": pattern})
    assert found == [fits(pattern, text)]


@pytest.mark.parametrize(
    "query", ["(" * 5000 + "1" + ")" * 5000, "[" * 5000 + "]" * 5000, "{a:" * 5000 + "1" + "}" * 5000]
)
def test_deep_nesting_is_refused(small: Database, query: str):
    assert number(small, "RETURN " + query) in (1524, SYNTAX)


@pytest.mark.parametrize(
    "query",
    [
        "RETURN " + "NOT " * 5000 + "1",
        "RETURN " + "-" * 5000 + "1",
        "RETURN 1" + " + 1" * 5000,
        "RETURN a" + ".a" * 5000,
        "RETURN " + "ABS(" * 3000 + "1" + ")" * 3000,
        "RETURN " + "1 ? " * 3000 + "1" + " : 1" * 3000,
        "RETURN " + "(RETURN " * 2000 + "1" + ")" * 2000,
        "".join(f"FOR a{n} IN 1..1 " for n in range(5000)) + "RETURN 1",
        "".join(f"LET a{n} = {n} " for n in range(5000)) + "RETURN a1",
        "RETURN " + "9" * 100_000,
        "RETURN '" + "\\\\" * 100_000 + "'",
        "RETURN [" + "1," * 100_000 + "1]",
        "RETURN {" + ",".join(f"a{n}: {n}" for n in range(50_000)) + "}",
        "RETURN 0x" + "f" * 1000,
        "RETURN '\ud800'",
        "RETURN \x00",
        "",
    ],
)
def test_texts_of_any_shape_are_answered(small: Database, query: str):
    """With rows or an error of the language; never with another exception."""
    number(small, query, maxRuntime=5, memoryLimit=0)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    )
)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_bind_values_of_any_kind(small: Database, value: Any):
    for query in (
        "RETURN @v",
        "FOR d IN c FILTER d.n == @v LIMIT 1 RETURN d",
        "RETURN LENGTH(@v) + @v",
        "RETURN @v[@v]",
    ):
        number(small, query)
        with suppress(ArangoError):
            aql.execute(small.engine, "_system", query, {"v": value}, {"maxRuntime": 5}).all()


def test_a_killed_modification_leaves_nothing(tmp_path: Path):
    database = Database(tmp_path / "k.db")
    database.collection("c", [{"_key": str(n), "n": n} for n in range(100)])
    before = database.run("FOR d IN c SORT d.n RETURN d")
    for query in (
        "FOR d IN c LET s = SLEEP(0.02) UPDATE d WITH {n: -1} IN c",
        "FOR d IN c REMOVE d IN c LET s = SLEEP(0.02) RETURN OLD",
        "FOR i IN 1..1000000000 UPSERT {_key: TO_STRING(i % 200)} INSERT {_key: TO_STRING(i % 200)} UPDATE {n: i} IN c",
        "FOR i IN 1..1000000000 INSERT {_key: TO_STRING(i), pad: REPEAT('x', 1000)} INTO c OPTIONS {overwriteMode: 'replace'}",
    ):
        with pytest.raises(ArangoError) as caught:
            database.run(query, maxRuntime=0.3)
        assert caught.value.num == KILLED
        assert database.run("FOR d IN c SORT d.n RETURN d") == before
    database.engine.close()
