"""What a question asks: its form in whatever dress, the event it is asked around, whom and what it names."""

from __future__ import annotations

import pytest

from vgraph.retrieve.naming import Known, Names
from vgraph.retrieve.understanding import plainly_asked, read, wordless

NAMES = Names(
    [
        Known("ana", "Ana Ruiz", "person", ("Ana Ruiz",), "wears a green apron"),
        Known("bo", "Bo Lind", "person", ("Bo Lind",)),
        Known("kettle", "kettle 3", "object", ("kettle 3",), "a steel kettle"),
        Known("grey", "truck X-1", "vehicle", ("truck X-1",), "grey truck"),
        Known("red", "truck X-2", "vehicle", ("truck X-2",), "red truck"),
        Known("cameras/c1", "kitchen", "location", ("cam north", "kitchen")),
    ]
)


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Who lifted kettle 3?", "who"),
        ("Please tell me which person lifted kettle 3.", "who"),
        ("What is the name of the person who lifted kettle 3?", "who"),
        ("Who was it that lifted kettle 3?", "who"),
        ("What was the time when Ana Ruiz lifted kettle 3?", "when"),
        ("At which moment did Ana Ruiz lift kettle 3?", "when"),
        ("I'd like to know where Ana Ruiz put kettle 3.", "where"),
        ("In which room did Ana Ruiz lift kettle 3?", "where"),
        ("For how long did Ana Ruiz and Bo Lind talk?", "how_long"),
        ("What was the duration of the talk between Ana Ruiz and Bo Lind?", "how_long"),
        ("How many things did Ana Ruiz lift?", "how_many"),
        ("What is the number of trucks that left?", "how_many"),
        ("How many times did Ana Ruiz lift kettle 3?", "how_often"),
        ("Is it true that Ana Ruiz lifted kettle 3?", "yes_no"),
        ("Can you tell me whether Ana Ruiz lifted kettle 3?", "yes_no"),
        ("Did Ana Ruiz lift kettle 3 before or after Bo Lind left?", "before_or_after"),
        ("In what order were kettle 3 and truck X-1 moved?", "sequence"),
        ("Who was in the kitchen?", "present"),
        ("What happened in the kitchen?", "happenings"),
        ("What did Ana Ruiz do?", "happenings"),
        ("What did Ana Ruiz say about kettle 3?", "said"),
        ("Why did Ana Ruiz leave?", "why"),
    ],
)
def test_the_form_of_a_question(question: str, form: str) -> None:
    assert read(question, NAMES).form == form


def test_the_event_a_question_is_asked_around_is_a_clause_of_its_own() -> None:
    asked = read("What did Ana Ruiz do right after she put down kettle 3?", NAMES)
    assert asked.around is not None and asked.around.how == "after" and asked.around.near
    (agent,) = asked.around.pattern.roles["agent"]
    assert agent.text == "Ana Ruiz"  # she


def test_an_event_may_come_first() -> None:
    asked = read("After the grey truck left, who came in?", NAMES)
    assert asked.form == "who" and asked.around is not None and "arrive" in asked.pattern.senses  # type: ignore[union-attr]


def test_a_when_that_asks_for_the_time_is_no_event() -> None:
    assert read("Tell me when Ana Ruiz left.", NAMES).around is None


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Ana Ruiz", {"ana"}),
        ("Ana came", {"ana"}),
        ("Ana Ruis came", {"ana"}),
        ("the woman in the green apron", {"ana"}),
        ("the grey truck", {"grey"}),
        ("trucks", {"grey", "red"}),
        ("the cam north camera", {"cameras/c1"}),
        ("kettle 4", set()),
        ("the snow truck", set()),
    ],
)
def test_whom_a_text_names(text: str, keys: set[str]) -> None:
    assert {key for mention in NAMES.mentions(text) for key in mention.keys} == keys


def test_a_question_is_brought_to_plain_words() -> None:
    assert plainly_asked("Could you please tell me the time at which Bo Lind left?") == "when Bo Lind left?"


@pytest.mark.parametrize(
    ("question", "denial"),
    [
        ("Did Ana Ruiz lift kettle 3?", ""),
        ("Didn't Ana Ruiz lift kettle 3?", ""),
        ("Did Ana Ruiz lift kettle no 3?", ""),
        ("Did Ana Ruiz never lift kettle 3?", "opposite"),
        ("Was no one in the kitchen?", "opposite"),
        ("Did nobody not lift kettle 3?", "unread"),
        ("Did Ana Ruiz lift kettle 3 but not truck X-1?", "unread"),
        ("Who never lifted kettle 3?", "unread"),
    ],
)
def test_what_a_question_denies(question: str, denial: str) -> None:
    asked = read(question, NAMES)
    assert asked.denial == denial and (denial == "unread" or asked.form == "yes_no")


def test_a_question_without_a_word_asks_nothing() -> None:
    assert wordless("???") and not wordless("Wer?")
