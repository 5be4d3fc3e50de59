"""Who does what to whom: roles are read off questions and statements, however they are dressed."""

from __future__ import annotations

import re

import pytest

from vgraph.retrieve.clauses import Clause, Mention, clauses, question_clause

NAMES = {
    "Ana Ruiz": "person",
    "Bo Lind": "person",
    "kettle 3": "object",
    "grey truck": "vehicle",
    "kitchen": "location",
}


def mentions(text: str) -> list[Mention]:
    return [
        Mention(found.start(), found.end(), found.group(), frozenset([name]), kind, name)
        for name, kind in NAMES.items()
        for found in re.finditer(name, text)
    ]


def roles(clause: Clause | None) -> dict[str, list[str]]:
    assert clause is not None
    return {role: ["?" if a.asked else a.text for a in found] for role, found in clause.roles.items()}


@pytest.mark.parametrize(
    ("question", "sense", "filled"),
    [
        ("Who gave kettle 3 to Bo Lind?", "give", {"agent": ["?"], "theme": ["kettle 3"], "to": ["Bo Lind"]}),
        ("By whom was kettle 3 passed to Bo Lind?", "give", {"agent": ["?"], "theme": ["kettle 3"], "to": ["Bo Lind"]}),
        ("Who did Ana Ruiz hand kettle 3 to?", "give", {"agent": ["Ana Ruiz"], "theme": ["kettle 3"], "to": ["?"]}),
        ("Who received kettle 3 from Ana Ruiz?", "give", {"agent": ["Ana Ruiz"], "theme": ["kettle 3"], "to": ["?"]}),
        ("Who was given kettle 3 by Ana Ruiz?", "give", {"agent": ["Ana Ruiz"], "theme": ["kettle 3"], "to": ["?"]}),
        ("Who got kettle 3 from Ana Ruiz?", "give", {"agent": ["Ana Ruiz"], "theme": ["kettle 3"], "to": ["?"]}),
        ("What did Ana Ruiz lift?", "pick up", {"agent": ["Ana Ruiz"], "theme": ["?"]}),
        ("Did Ana Ruiz ever pick kettle 3 up?", "pick up", {"agent": ["Ana Ruiz"], "theme": ["kettle 3"]}),
        ("Who took kettle 3 out of the grey truck?", "unload", {"agent": ["?"], "theme": ["kettle 3"], "out_of": ["grey truck"]}),
        ("Who got out of the grey truck?", "get out", {"agent": ["?"], "out_of": ["grey truck"]}),
        ("Who entered the grey truck?", "get into", {"agent": ["?"], "theme": ["grey truck"]}),
        ("Who entered the kitchen?", "arrive", {"agent": ["?"], "theme": ["kitchen"]}),
        ("Who feeds the zebra?", "", {"agent": ["?"], "theme": ["zebra"]}),
        ("How much time did Ana Ruiz and Bo Lind spend talking?", "talk", {"agent": ["Ana Ruiz", "Bo Lind"]}),
        ("How long was the talk between Ana Ruiz and Bo Lind?", "talk", {"agent": ["Ana Ruiz", "Bo Lind"]}),
        ("Who was in the kitchen?", "stay", {"agent": ["?"], "in": ["kitchen"]}),
    ],
)  # fmt: skip
def test_the_roles_of_a_question(question: str, sense: str, filled: dict[str, list[str]]) -> None:
    clause = question_clause(question, mentions(question))
    assert roles(clause) == filled
    assert clause is not None and clause.senses == (frozenset([sense]) if sense else frozenset())


def test_a_statement_with_several_verbs_keeps_its_subject_and_what_it_stands_for() -> None:
    text = "Ana Ruiz lifts kettle 3, walks to the grey truck and puts it down."
    told = clauses(text, mentions(text))
    assert [clause.verb for clause in told] == ["lift", "walk", "put"]
    assert all(roles(clause)["agent"] == ["Ana Ruiz"] for clause in told)
    assert roles(told[2])["theme"] == ["kettle 3"]


def test_a_relation_reads_as_a_clause() -> None:
    (told,) = clauses("kettle 3 is put into grey truck", mentions("kettle 3 is put into grey truck"))
    assert told.passive and roles(told) == {"theme": ["kettle 3"], "into": ["grey truck"]}


def test_of_several_that_an_or_joins_each_is_marked() -> None:
    text = "Did Ana Ruiz or Bo Lind lift kettle 3?"
    clause = question_clause(text, mentions(text))
    assert clause is not None
    assert [a.alternative for a in clause.roles["agent"]] == [True, True] and not clause.roles["theme"][0].alternative


def test_a_role_with_nothing_in_it_is_no_role() -> None:
    assert Clause("be", roles={"in": ()}).senses == frozenset(["stay"])


def test_what_is_denied_is_told_as_denied() -> None:
    assert question_clause("Ana Ruiz did not lift kettle 3", mentions("Ana Ruiz did not lift kettle 3")).negated  # type: ignore[union-attr]
