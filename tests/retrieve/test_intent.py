"""What a question is about: its kind, the cameras and entities it names, the event it is asked around."""

from __future__ import annotations

import pytest

from vgraph.retrieve.intent import around, cameras_named, question_kind, understood
from vgraph.retrieve.times import time_span
from vgraph.types import Around


def test_cameras_are_named_by_label_or_place_as_whole_words() -> None:
    cameras = [
        {"_key": "c1", "label": "c1", "place": "loading dock"},
        {"_key": "c2", "label": "gate", "place": ""},
        {"_key": "c3", "label": "dock", "place": "docking station"},
    ]
    assert cameras_named("Who was at the Loading Dock?", cameras) == ("c1", "c3")
    assert cameras_named("Who passed the gateway?", cameras) == ()


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who carried crate 25?", "who"),
        ("When did Mei Chen hand over parcel 25?", "when"),
        ("At what time did the van leave?", "when"),
        ("Where was Lars at 9:00?", "where"),
        ("On which camera was the forklift seen?", "where"),
        ("How long was Dana at the dock?", "how_long"),
        ("How many people were in the yard together?", "how_many"),
        ("What did Dana do after she came in?", "before_after"),
        ("Who was at the dock with Dana?", "together"),
        ("Who was in the yard while the forklift moved?", "together"),
        ("In what order did they come?", "sequence"),
        ("Did Dana open the crate?", "yes_no"),
        ("What happened at the gate?", "what"),
        ("Describe the yard.", "what"),
    ],
)
def test_the_kind_of_a_question(question: str, kind: str) -> None:
    assert question_kind(question) == kind


@pytest.mark.parametrize(
    ("question", "event"),
    [
        ("Who was there before the van left?", Around("before", "the van left")),
        ("What did Dana do right after she opened the crate, and why?", Around("after", "she opened the crate")),
        ("Who was at the dock while the forklift moved?", Around("during", "the forklift moved")),
        ("Who was there when the alarm was raised?", Around("during", "the alarm was raised")),
        ("When did the van leave?", None),
        ("Who came before 9:00?", None),
        ("Who was at the dock?", None),
    ],
)
def test_the_event_a_question_is_asked_around(question: str, event: Around | None) -> None:
    assert around(question) == event


def test_the_interpretation_names_what_was_understood() -> None:
    question = "Who was at the dock with Dana Reyes yesterday at 14:10?"
    span = time_span(question, "UTC", 1_772_440_000_000)
    found = understood(question, [{"_key": "c1", "label": "dock", "place": ""}], ["Dana Reyes", "Dan", "Eli"], span)
    assert found.kind == "together" and found.cameras == ("c1",) and found.entities == ("Dana Reyes",)
    assert found.subject == "Who was at the dock with Dana Reyes ?" and found.time == "at 14:10"
