"""String, encoding and pattern functions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded.aql.functions import FUNCTIONS
from vgraph.embedded.aql.runtime import Runtime
from vgraph.embedded.errors import ArangoError


def call(name: str, *args: Any) -> Any:
    return FUNCTIONS[name].impl(Runtime(), *args)


def warned(name: str, *args: Any) -> list[int]:
    """The result must be null; returns the warnings."""
    rt = Runtime()
    assert FUNCTIONS[name].impl(rt, *args) is None
    return [code for code, _ in rt.warnings.items]


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("CONCAT", (None, False, 0, True, ""), "false0true"),
        ("CONCAT", ([5, 6], {"foo": "bar"}), '[5,6]{"foo":"bar"}'),
        ("CONCAT", ([None, "a", [1]],), "a[1]"),
        ("CONCAT_SEPARATOR", (", ", "a", None, 1), "a, 1"),
        ("CONCAT_SEPARATOR", (", ", ["a", None, "b"]), "a, b"),
        ("CHAR_LENGTH", (None,), 0),
        ("CHAR_LENGTH", (True,), 4),
        ("CHAR_LENGTH", ("🥑ä",), 2),
        ("SUBSTRING", ("Holy Guacamole!", -5, 4), "mole"),
        ("SUBSTRING", ("abc", -9), "abc"),
        ("SUBSTRING", ("abc", 1, 0), ""),
        ("LEFT", ("foobar", 10), "foobar"),
        ("LEFT", ("foobar", -1), ""),
        ("RIGHT", ("foobar", 3), "bar"),
        ("RIGHT", ("foobar", 0), ""),
        ("TRIM", ("  a b \t\r\n",), "a b"),
        ("TRIM", ("  a ", 1), "a "),
        ("TRIM", ("  a ", 2), "  a"),
        ("TRIM", ("--[a]--", "-[]"), "a"),
        ("LTRIM", ("--a-", "-"), "a-"),
        ("RTRIM", ("--a-", "-"), "--a"),
        ("CONTAINS", ("foobarbaz", "bar", True), 3),
        ("CONTAINS", ("foobarbaz", "horse", True), -1),
        ("CONTAINS", (123, 2), True),
        ("CONTAINS", ("abc", ""), False),
        ("FIND_FIRST", ("", ""), 0),
        ("FIND_FIRST", ("foo", "o", -1), -1),
        ("FIND_LAST", ("0123456", "", 1, 4), 5),
        ("SUBSTRING", ("yes", 0, None), ""),
        ("SPLIT", ("", ""), []),
        ("REGEX_TEST", ("a\rb", "a.b"), False),
        ("REGEX_TEST", ("a\r\n", "^a$"), True),
        ("REGEX_TEST", ("a.b", "a[.]b$"), True),
        ("HASH", (None,), 675717317264138),
        ("HASH", (1,), 652971229830707),
        ("HASH", ("a",), 1542381651001813),
        ("HASH", ([1, 2],), 1295855700045140),
        ("HASH", ({"b": 1, "a": 1},), 402003666669761),
        ("FIND_FIRST", ("foobarbaz", "ba", 4), 6),
        ("FIND_FIRST", ("foobarbaz", "ba", 0, 3), -1),
        ("FIND_LAST", ("foobarbaz", "ba"), 6),
        ("FIND_LAST", ("foobarbaz", "ba", 0, 4), 3),
        ("LIKE", ("a_b_foo", "a\\_b\\_foo"), True),
        ("LIKE", ("axb", "a\\_b"), False),
        ("LIKE", ("FoO bAr", "fOo%", True), True),
        ("LIKE", ("a\nb", "a%b"), True),
        ("REGEX_TEST", ("the quick brown fox", "^(a|the)\\s+(quick|slow).*f.x$"), True),
        (
            "REGEX_MATCHES",
            ("john@doe.com", "^([a-z0-9_.-]+)@([\\da-z-]+)\\.([a-z.]{2,6})$"),
            ["john@doe.com", "john", "doe", "com"],
        ),
        ("REGEX_MATCHES", ("abc", "x"), None),
        ("REGEX_SPLIT", ("Capture the article", "(the)"), ["Capture ", "the", " article"]),
        ("REGEX_SPLIT", ("cA,Bc,A,BcA,BcA,Bc", "a,b", True, 3), ["c", "c,", "c"]),
        ("REGEX_REPLACE", ("An Avocado", "a", "_", True), "_n _voc_do"),
        ("REGEX_REPLACE", ("abc", "(b)", "[$1\\$]"), "a[b$]c"),
        ("SPLIT", ("foo-bar-baz", "-", 1), ["foo"]),
        ("SPLIT", ("foo, bar & baz", [", ", " & "]), ["foo", "bar", "baz"]),
        ("SPLIT", ("abc", ""), ["a", "b", "c"]),
        ("SPLIT", ("abc",), ["abc"]),
        ("SUBSTITUTE", ("the quick brown foxx", "quick", "lazy"), "the lazy brown foxx"),
        ("SUBSTITUTE", ("the quick brown foxx", ["the", "foxx"], ["that", "dog"], 1), "that quick brown foxx"),
        ("SUBSTITUTE", ("the quick foxx", ["the", "quick", "foxx"], ["A", "VOID!"]), "A VOID! "),
        ("SUBSTITUTE", ("the quick foxx", ["quick", "foxx"], "xx"), "the xx xx"),
        ("SUBSTITUTE", ("a b c", {"a": "1", "b": None}), "1  c"),
        ("SUBSTITUTE", ("a b a", {"a": "1"}, 1), "1 b a"),
        ("SUBSTITUTE", ("a b a", "a"), " b "),
        ("REPEAT", ("foo", 3, " | "), "foo | foo | foo"),
        ("REPEAT", (5, 3), "555"),
        ("REVERSE", ("foobar",), "raboof"),
        ("SUBSTRING_BYTES", ("We ❤️ avocado!", 10), "avocado!"),
        ("SUBSTRING_BYTES", ("We ❤️ avocado!", -15, 6), "❤️"),
        ("SUBSTRING_BYTES", ("We ❤️ avocado!", 3, 3, 3, 5), "We ❤️ avo"),
        ("LEVENSHTEIN_DISTANCE", ("foobar", "bar"), 3),
        ("LEVENSHTEIN_DISTANCE", ("der mötör trötet", "der trötet"), 6),
        ("LEVENSHTEIN_DISTANCE", ("ca", "abc"), 2),
        ("SOUNDEX", ("example",), "E251"),
        ("SOUNDEX", ("ekzampul",), "E251"),
        ("SOUNDEX", ("soundex",), "S532"),
        ("SOUNDEX", ("sounteks",), "S532"),
        ("SOUNDEX", ("Ashcraft",), "A261"),
        ("IPV4_TO_NUMBER", ("192.168.0.1",), 3232235521),
        ("IPV4_FROM_NUMBER", (134744072,), "8.8.8.8"),
        ("CRC32", ("foobar",), "D5F5C7F"),
        ("FNV64", ("foobar",), "85944171F73967E8"),
        ("MD5", ("foobar",), "3858f62230ac3c915f300c664312c63f"),
        ("TO_HEX", ("ü",), "c3bc"),
        ("TO_BASE64", ("ABC.",), "QUJDLg=="),
        ("TO_CHAR", (0x1F951,), "🥑"),
        ("ENCODE_URI_COMPONENT", ("fünf %",), "f%C3%BCnf%20%25"),
        ("JSON_PARSE", ('{"a": [1.0, -0.5]}',), {"a": [1, -0.5]}),
        ("JSON_STRINGIFY", ([1, {"2": 0.5}],), '[1,{"2":0.5}]'),
        ("MINHASH", (["foo", "bar", "baz"], 5), ["OmvEOSfAYs8", "Jcz+LQgakgs", "YfBzyXaSXIA"]),
        ("MINHASH_ERROR", (400,), 0.05),
        ("MINHASH_COUNT", (0.05,), 400),
        ("IS_IPV4", ("008.008.008.008",), False),
        ("IS_KEY", ("a:b-1",), True),
        ("IS_KEY", ("a/b",), False),
        ("IS_KEY", ("x" * 255,), False),
        ("STARTS_WITH", ("foobar", ["bar", "foo"]), True),
        ("STARTS_WITH", ("foobar", ["fo", "foo", "x"], 2), True),
        ("STARTS_WITH", ("foobar", ["bar"], 0), True),
        ("LEVENSHTEIN_MATCH", ("foobar", "foobra", 1), True),
        ("LEVENSHTEIN_MATCH", ("foobar", "foobra", 1, False), False),
        ("LEVENSHTEIN_MATCH", ("foobar", "bat", 1, True, 64, "foo"), True),
        ("MIN_MATCH", (True, False, 1, 2), True),
        ("ANALYZER", ("x", "text_en"), "x"),
    ],
)
def test_results(name: str, args: tuple[Any, ...], expected: Any):
    assert call(name, *args) == expected


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("REGEX_TEST", ("a", "("), 1543),
        ("REGEX_REPLACE", ("a", "[", "b"), 1543),
        ("SPLIT", ("a", ",", -1), 1542),
        ("SUBSTITUTE", ("a", "b", "c", -1), 1542),
        ("SUBSTRING_BYTES", ("We ❤️ avocado!", -15, 4), 1542),
        ("IPV4_TO_NUMBER", ("milk",), 1542),
        ("IPV4_FROM_NUMBER", (-23,), 1542),
        ("JSON_PARSE", ("abc",), 1542),
        ("JSON_PARSE", (5,), 1542),
        ("TO_CHAR", ("x",), 1542),
        ("REPEAT", ("x" * 100, 1_000_000), 32),
        ("LEVENSHTEIN_MATCH", ("a", "b", 5), 1542),
        ("STARTS_WITH", (5, "a"), 1542),
    ],
)
def test_wrong_arguments_give_null_and_a_warning(name: str, args: tuple[Any, ...], code: int):
    assert warned(name, *args) == [code]


def test_expressions_that_python_reads_differently_are_refused():
    for pattern in ("[a-z&&[^b]]", "\\Qa\\E", "\\N{BULLET}"):
        with pytest.raises(ArangoError, match="not supported"):
            call("REGEX_TEST", "a", pattern)


def test_unicode_properties():
    assert call("REGEX_MATCHES", "1 Été", "\\p{Lu}\\p{Ll}+") == ["Été"]
    assert call("REGEX_REPLACE", "a1b", "\\P{L}", "-") == "a-b"


def test_ngram_similarities_are_single_precision():
    pairs = [("quick fox", "quick foxx"), ("quick fox", "quirky fox")]
    assert [call("NGRAM_SIMILARITY", *pair, size) for pair in pairs for size in (2, 3)] == [
        0.8888888955116272,
        0.875,
        0.5555555820465088,
        0.375,
    ]
    assert [call("NGRAM_POSITIONAL_SIMILARITY", *pair, size) for pair in pairs for size in (2, 3)] == [
        0.8888888955116272,
        0.875,
        0.7222222089767456,
        0.6666666865348816,
    ]


def test_random_texts():
    assert len(call("RANDOM_TOKEN", 8)) == 8 and call("RANDOM_TOKEN", 0) == ""
    assert len(call("UUID")) == 36
    with pytest.raises(ArangoError, match="1542"):
        call("RANDOM_TOKEN", 70000)


@pytest.mark.parametrize("name", ["PHRASE", "EXISTS", "BM25", "TFIDF", "OFFSET_INFO"])
def test_functions_of_views_are_errors_elsewhere(name: str):
    with pytest.raises(ArangoError, match=r"\[9\]"):
        call(name, "x", "y")


@given(st.text(max_size=12), st.text(max_size=12))
def test_edit_distance_is_a_metric(left: str, right: str):
    assert call("LEVENSHTEIN_DISTANCE", left, left) == 0
    found = call("LEVENSHTEIN_DISTANCE", left, right)
    assert found == call("LEVENSHTEIN_DISTANCE", right, left)
    assert abs(len(left) - len(right)) <= found <= max(len(left), len(right))


@given(st.text(max_size=20), st.text(min_size=1, max_size=3))
def test_split_and_join_are_inverse(text: str, separator: str):
    assert separator.join(call("SPLIT", text, separator)) == text


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=2)), lambda x: st.lists(x, max_size=3)
    )
)
def test_hash_depends_on_value_and_type(value: Any):
    assert 0 <= call("HASH", value) < 2**51
    assert call("HASH", [value]) != call("HASH", value)
    assert call("HASH", {"a": value, "b": 1}) == call("HASH", {"b": 1, "a": value})
