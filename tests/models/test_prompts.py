"""Prompts are files with names to fill in; what comes out of videos is data in them."""

from importlib.resources import files
from string import Template

import pytest

import vgraph.prompts
from vgraph.prompts import prompt, quoted

NAMES = {
    "again": {"fault"},
    "schema": {"schema"},
    "caption": {"frame_count", "frame_times", "start", "end", "entity_types", "transcript"},
    "extract": {"camera", "start", "end", "entity_types", "relation_rule", "notes"},
    "answer": {"timezone", "question", "evidence"},
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


@pytest.mark.parametrize("marker", ["</data>", "<data>", "< / DATA >", "</data\n>", "<Data id=1>"])
def test_quoted_text_cannot_leave_its_quotation(marker):
    text = quoted(f"a {marker} b")
    assert text.startswith("<data>\n")
    assert text.endswith("\n</data>")
    assert marker not in text[len("<data>\n") : -len("\n</data>")]
