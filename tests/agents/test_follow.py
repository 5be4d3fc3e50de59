"""Follow-up questions keep the conversation, with a chat model and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.scripted import QUESTION, crew, kinds, opened
from vgraph.agents.follow import Turn, resolved
from vgraph.errors import NotFoundError

TURN = Turn(
    "Who took crate 25?", "Bob took crate 25 from Ana.", (("Ana", "person"), ("crate 25", "object"), ("Bob", "person")), "Dock",
    1772524801000, 1772524803000,
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("When did she leave?", "When did Ana leave?"),
        ("Who spoke with her?", "Who spoke with Ana?"),
        ("Where is her bag?", "Where is Ana's bag?"),
        ("Was his bag red?", "Was Ana's bag red?"),
        ("Who brought it back?", "Who brought crate 25 back?"),
        ("What was its colour?", "What was crate 25's colour?"),
        ("Who else was there?", "Who else was at the Dock?"),
        ("Was there a van?", "Was there a van?"),
        ("Is there anybody else?", "Is there anybody else?"),
        ("Who was around then?", "Who was around on 2026-03-03 between 08:00:01 and 08:00:03?"),
        ("And then who left?", "And then who left?"),
        ("Where did the white van go?", "Where did the white van go?"),
    ],
)
def test_pronouns_mean_what_was_named_last(question: str, meant: str) -> None:
    assert resolved(question, [TURN]) == meant


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("Who gave it to her?", "Who gave parcel 83 to Maria Lopez?"),
        ("Where is it now?", "Where is parcel 83 now?"),
        ("When did she get there?", "When did Maria Lopez get to the store?"),
    ],
)
def test_it_is_the_thing_asked_about_and_she_is_who_was_answered(question: str, meant: str) -> None:
    named = (
        ("office", "location"),
        ("crate 5", "object"),
        ("Ana", "person"),
        ("Maria Lopez", "person"),
        ("parcel 83", "object"),
    )
    turn = Turn("Who picked up parcel 83?", "Maria Lopez. Now Maria Lopez takes it; Ana has crate 5.", named, "store")
    assert resolved(question, [turn]) == meant


def test_it_is_a_place_only_where_no_thing_was_named() -> None:
    assert (
        resolved("Was it empty?", [Turn("Who was in the office?", "Ana.", (("office", "location"),))])
        == "Was office empty?"
    )


def test_what_the_turns_do_not_name_stays() -> None:
    assert resolved("Where did it go?", [Turn("q", "a", (("Ana", "person"),))]) == "Where did it go?"
    assert resolved("Where did she go?", []) == "Where did she go?"


def test_an_earlier_turn_counts_where_the_last_names_nobody() -> None:
    assert resolved("Did he?", [TURN, Turn("Was it raining?", "No.")]) == "Did Ana?"


def test_a_chat_model_rewrites_the_question_and_the_run_says_what_it_answers(site: Path) -> None:
    chat = crew(rewriter={"question": "Where did Bob go with crate 25?"})
    with opened(site, chat) as graph:
        first = graph.ask(QUESTION)
        steps = list(graph.run("Where did he go with it?", follow=first.run))
        answer = steps[-1].answer  # type: ignore[union-attr]
        kept = graph.read_run(answer.run or "")["run"]
    assert kinds(steps)[:2] == ["asked", "resolved"]
    assert answer.question == "Where did Bob go with crate 25?"
    assert (kept["said"], kept["question"], kept["follows"]) == ("Where did he go with it?", answer.question, first.run)
    [shown] = chat.prompts("rewriter")
    assert QUESTION in shown and "Bob took crate 25 from Ana." in shown


def test_a_conversation_goes_back_over_all_its_turns(site: Path) -> None:
    chat = crew(rewriter={"question": "What next?"})
    with opened(site, chat) as graph:
        first = graph.ask("Who took crate 25?")
        second = graph.ask("And then?", follow=first.run)
        graph.ask("And after that?", follow=second.run)
    assert "Who took crate 25?" in chat.prompts("rewriter")[1]


def test_a_rewriter_that_says_nothing_usable_leaves_it_to_the_rules(site: Path) -> None:
    with opened(site, crew(rewriter={"question": " "})) as graph:
        first = graph.ask(QUESTION)
        answer = graph.ask("Where did they go?", follow=first.run)
    assert any("pronouns were resolved by rules" in warning for warning in answer.warnings)


def test_following_a_run_that_is_not_there_is_told_at_once(site: Path) -> None:
    with opened(site) as graph, pytest.raises(NotFoundError, match="no run 'nobody'"):
        graph.run("And then?", follow="nobody")
