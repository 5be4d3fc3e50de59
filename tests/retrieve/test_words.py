"""Questions and evidence meet in their content words."""

from __future__ import annotations

import pytest

from vgraph.retrieve.words import content_words


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("When did the van cross the dock?", "A van crosses the dock."),
        ("Who gave it?", "Ana gives something."),
        ("Where does order 4112 go?", "Order 4112 goes to Dresden."),
        ("Who took the crates?", "Bob takes a crate."),
        ("Ana's folder", "the folders of Ana"),
    ],
)
def test_forms_of_one_word_are_one_word(question: str, line: str) -> None:
    assert content_words(question) <= content_words(line) | {"something"}


def test_words_without_content_do_not_count() -> None:
    assert content_words("Who was there, and what did the camera show?") == frozenset()


def test_other_scripts_keep_their_words() -> None:
    assert content_words("Кто взял ящик 25?") == {"кто", "взял", "ящик", "25"}
