"""AQL's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded.aql.tokens import Source, tokenize
from vgraph.embedded.errors import ArangoError


def kinds(text: str) -> list[str]:
    return [token.kind for token in tokenize(Source(text))][:-1]


def values(text: str) -> list[object]:
    return [token.value for token in tokenize(Source(text))][:-1]


def test_keywords_are_recognised_in_any_case_and_contextual_words_are_not_keywords():
    assert kinds("for In nOt like return") == ["FOR", "IN", "NOT", "LIKE", "RETURN"]
    assert kinds("SEARCH OPTIONS PRUNE KEEP COUNT TO") == ["IDENT"] * 6


def test_not_in_and_at_least_are_one_token():
    assert kinds("a NOT \n IN b") == ["IDENT", "NOT IN", "IDENT"]
    assert kinds("a !IN b") == ["IDENT", "NOT IN", "IDENT"]
    assert kinds("!inside") == ["!", "IDENT"]
    assert kinds("AT  LEAST (1)") == ["AT LEAST", "(", "INTEGER", ")"]
    assert kinds("at leastwise") == ["IDENT", "IDENT"]


def test_identifiers_may_have_a_dollar_or_underscores_or_be_quoted():
    assert values("$a _b __c1 `for` ´a b´ `x\\`y`") == ["$a", "_b", "__c1", "for", "a b", "x`y"]
    assert set(kinds("$a _b `for` ´a b´")) == {"IDENT"}


def test_numbers():
    assert values("0 12 1.5 .5 1e3 2.5E-1 0b101 0xFf 0XA") == [0, 12, 1.5, 0.5, 1000.0, 0.25, 5, 255, 10]
    assert kinds("1..3") == ["INTEGER", "..", "INTEGER"]
    assert values("9223372036854775807 9223372036854775808") == [2**63 - 1, float(2**63)]
    assert kinds("01") == ["INTEGER", "INTEGER"]


def test_a_number_too_large_for_a_double_has_no_value():
    assert values("1e999") == [None]


def test_binary_and_hexadecimal_numbers_have_up_to_32_bits():
    with pytest.raises(ArangoError, match="1501"):
        tokenize(Source("0x123456789"))


def test_strings_and_their_escapes():
    assert values(r"""'a' "b" 'it\'s' "\n\t\\\/\"" "\u00e4" "\ud83e\udd51" "\d" """) == [
        "a",
        "b",
        "it's",
        '\n\t\\/"',
        "ä",
        "🥑",
        "d",
    ]
    assert values("'a\nb'") == ["a\nb"]


def test_half_a_surrogate_pair_becomes_the_replacement_character():
    assert values(r'"\ud83e"') == ["\ufffd"]


def test_binds():
    assert kinds("@a @1 @_x @@coll") == ["BIND", "BIND", "BIND", "SOURCE_BIND"]
    assert values("@a @1 @@coll") == ["a", "1", "coll"]


def test_comments_are_skipped():
    assert kinds("1 // x\n /* y \n */ 2") == ["INTEGER", "INTEGER"]


def test_word_operators_have_marks_of_the_same_meaning():
    assert kinds("&& ||") == ["AND", "OR"]


@pytest.mark.parametrize("text", ["'abc", '"abc', "`abc", "/* abc", "´abc", "#", "^", "a;b", "\x00"])
def test_what_is_no_word_is_a_syntax_error(text: str):
    with pytest.raises(ArangoError) as caught:
        tokenize(Source(text))
    assert caught.value.num == 1501


def test_positions_are_line_and_column_from_one():
    source = Source("a\n  b\n\nc")
    assert [source.position(token.start) for token in tokenize(source)] == [(1, 1), (2, 3), (4, 1), (4, 1)]


@given(st.text())
def test_any_text_gives_tokens_or_an_arango_error(text: str):
    try:
        found = tokenize(Source(text))
    except ArangoError as error:
        assert error.num == 1501
    else:
        assert found[-1].kind == "END"
