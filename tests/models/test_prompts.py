"""Prompts are files with names to fill in; what comes out of videos is data in them."""

import re
from importlib.resources import files
from string import Template

import pytest

import vgraph.prompts
from vgraph.prompts import plain, prompt, quoted

NAMES = {
    "again": {"fault"},
    "schema": {"schema"},
    "caption": {"frame_count", "frame_times", "start", "end", "dimensions", "entity_types", "marks", "transcript"},
    "caption_dimension": {"frame_count", "question", "marks"},
    "extract": {"camera", "start", "end", "entity_types", "relation_rule", "notes"},
    "planner": {"most", "timezone", "bounds", "tools", "question"},
    "router": {"timezone", "tools", "task"},
    "analyzer": {"sentences", "task", "question", "result"},
    "grader": {"question", "memory"},
    "answerer": {"timezone", "pictures", "choice", "question", "memory", "evidence"},
    "conqueror": {"timezone", "depth", "bounds", "tools", "question", "task", "memory"},
    "divider": {"most", "question", "task", "why", "tree"},
    "rescuer": {"timezone", "bounds", "tools", "task", "tried", "error"},
    "judge": {"question", "evidence"},
    "verifier": {"pictures", "claim", "evidence"},
    "rewriter": {"turns", "question"},
}


@pytest.mark.parametrize("name", NAMES)
def test_each_prompt_has_the_names_its_callers_fill_in(name):
    text = files(vgraph.prompts).joinpath(f"{name}.md").read_text(encoding="utf-8")
    assert set(Template(text).get_identifiers()) == NAMES[name]
    filled = prompt(name, **{each: f"<{each}>" for each in NAMES[name]})
    assert all(f"<{each}>" in filled for each in NAMES[name])


def test_a_name_without_a_value_is_an_error():
    with pytest.raises(KeyError):
        prompt("again")


def test_values_are_put_in_as_they_are():
    assert "$start and ${x}" in prompt("again", fault="$start and ${x}")


@pytest.mark.parametrize(
    "marker",
    [
        "</data>",
        "<data>",
        "< / DATA >",
        "</data\n>",
        "<Data id=1>",
        "＜/data＞",
        "&lt;/data&gt;",
        "&#60;/data>",
        "‹/data›",
        "<\u200b/data>",
    ],
)
def test_quoted_text_cannot_leave_its_quotation(marker):
    first, *inside, last = quoted(f"a {marker} b").splitlines()
    assert re.fullmatch(r"<data [0-9a-f]{8}>", first)
    assert last == first.replace("<", "</")
    assert not set("".join(inside)) & set("<>＜＞‹›")


def test_the_code_of_a_quotation_is_of_its_text():
    """So no text can hold the code of the quotation that it will stand in."""
    assert quoted("a") == quoted("a")
    assert quoted("a").splitlines()[0] != quoted("b").splitlines()[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("left\u202eright", "leftright"),
        ("a\u200bb\ufeffc\u00add", "abcd"),
        ("tag\U000e0041\U000e0042", "tag"),
        ("bell\x07 null\x00", "bell  null "),
        ("one\u2028two", "one two"),
        ("lone \ud800", "lone \ufffd"),
        ("می\u200cخواهم 👨\u200d👩", "می\u200cخواهم 👨\u200d👩"),
        ("line\n\ttab", "line\n\ttab"),
    ],
)
def test_signs_nobody_sees_are_not_shown(text, shown):
    assert plain(text) == shown
