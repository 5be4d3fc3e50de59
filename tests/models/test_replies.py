"""A model's text as JSON: what is mended and what is told back to it."""

import json

import pytest

from vgraph.models.replies import Malformed, bare, is_strict, parsed

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ann"}',
        '```json\n{"name": "Ann"}\n```',
        '<think>hm, {"name": 1}?</think>\n{"name": "Ann"}',
        '{"name": "Ann",}',
        "{'name': 'Ann'}",
        '{"name": "Ann"',
        'Here you are: {"name": "Ann"}',
    ],
)
def test_json_and_slightly_damaged_json_is_read(text):
    assert parsed(text, SCHEMA) == {"name": "Ann"}


@pytest.mark.parametrize("text", ["I cannot see any people.", "", "null", "42", "<html></html>"])
def test_prose_is_malformed(text):
    with pytest.raises(Malformed):
        parsed(text, SCHEMA)


def test_the_fault_names_its_place():
    with pytest.raises(Malformed, match=r"at \$\.n: 'two' is not of type 'integer'"):
        parsed('{"name": "Ann", "n": "two"}', SCHEMA)
    with pytest.raises(Malformed, match="'name' is a required property"):
        parsed("{}", SCHEMA)


def test_the_fault_is_short_even_for_a_long_value():
    with pytest.raises(Malformed) as caught:
        parsed(json.dumps({"name": ["x" * 100_000]}), SCHEMA)
    assert len(str(caught.value)) <= 300


def test_lone_surrogates_become_replacement_characters():
    value = parsed(r'{"name": "A\ud800n \ud83d\ude00"}', SCHEMA)
    assert value == {"name": "A�n 😀"}
    value["name"].encode()


def test_numbers_json_does_not_know_become_null():
    assert parsed('{"a": NaN, "b": -Infinity}', {}) == {"a": None, "b": None}


def test_numbers_beyond_all_bounds_become_null():
    """`1e999` is JSON and a number, and no number: whoever computes with it fails."""
    assert parsed('{"a": 1e999, "b": [-1e999, 2.5]}', {}) == {"a": None, "b": [None, 2.5]}


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 900 + "]" * 900, '{"name": ' * 5_000 + "1" + "}" * 5_000])
def test_deep_nesting_is_malformed_not_a_crash(text):
    with pytest.raises(Malformed):
        parsed(text, {"type": "object", "required": ["absent"]})


def test_bare_text_keeps_inner_fences():
    assert bare("a\n```\nb\n```\nc") == "a\n```\nb\n```\nc"


def test_strict_is_a_closed_schema_that_requires_everything():
    assert not is_strict(SCHEMA)
    assert is_strict({**SCHEMA, "required": ["name", "n"]})
    assert not is_strict({"type": "array", "items": {"type": "object", "properties": {"a": {}}, "required": ["a"]}})
