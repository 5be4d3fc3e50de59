"""Names as they are compared: spelling, sound, short forms, numbers; and the keys under which they meet."""

from __future__ import annotations

import pytest

from vgraph.ingest.identity.names import compared, name_keys, parsed, sound, telling


def weight(one: str, other: str, *, phonetic: bool = True, heard: bool = False) -> float:
    found = compared(parsed(one), parsed(other), phonetic, heard)
    return 0.0 if found is None else found.weight


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Maria Lopez", "MARIA LÓPEZ"),
        ("Lopez, Maria", "Maria Lopez"),
        ("the van M-LD 8610", "Van M LD 8610"),
        ("李小龙", "李小龙"),
    ],
)
def test_case_accents_order_and_articles_do_not_tell_names_apart(one: str, other: str) -> None:
    assert weight(one, other) >= 4.5


def test_numbers_that_differ_speak_against_whatever_else_is_alike() -> None:
    assert weight("crate 74", "crate 75") < -8
    assert weight("van M-LD 8610", "van M-LD 8616") < -8


def test_a_misspelling_weighs_less_than_the_name_itself_and_a_second_one_less_still() -> None:
    assert (
        weight("Samuel Okoye", "Samuel Okoye")
        > weight("Samuel Okoye", "Samuel Okye")
        > weight("Samuel Okoye", "Samul Okye")
        > 0
    )


@pytest.mark.parametrize(
    ("one", "other"), [("Maria Lopez", "Jonas Weber"), ("Maria Lopez", "Jonas Lopez"), ("Maria Lopez", "Maria Weber")]
)
def test_other_names_speak_against(one: str, other: str) -> None:
    assert weight(one, other) <= -4


@pytest.mark.parametrize(
    ("one", "other"),
    [("Maria", "Maria Lopez"), ("Sam Okoye", "Samuel Okoye"), ("M. Lopez", "Maria Lopez"), ("Lopez", "Maria Lopez")],
)
def test_short_forms_and_initials_speak_for_but_do_not_prove(one: str, other: str) -> None:
    assert 0 < weight(one, other) < 5.9


def test_names_that_only_sound_alike_are_one_name_only_where_a_transcript_wrote_one_of_them() -> None:
    assert weight("Jon Fischer", "Jon Fisher", phonetic=False) > 0  # spelling alone does
    assert weight("Katz", "Cats", heard=True) > 0 > weight("Katz", "Cats", heard=False)
    assert weight("Katz", "Cats", heard=True, phonetic=False) < 0


def test_a_slip_that_could_be_another_person_stays_below_what_joins_unasked() -> None:
    """Maria and Mario sound alike and differ in a letter: with nothing else known they may be two."""
    assert weight("Maria Lopez", "Mario Lopez") < 5.95


def test_descriptions_are_no_names() -> None:
    assert not parsed("person in a red jacket").proper
    assert parsed("Red").proper and parsed("crate 7").proper and parsed("東京").proper
    assert compared(parsed("person in a red jacket"), parsed("Maria Lopez"), True, True) is None


def test_sounds_are_of_latin_letters_only() -> None:
    assert sound("weber") == sound("webber") != ""
    assert sound("田中") == sound("m3") == ""


def test_what_tells_nobody_from_anybody_is_left_out_of_descriptions() -> None:
    assert telling(["wears a red jacket, name not seen"]) == {"red", "jacket"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Maria Lopez", "Lopez"),
        ("Maria Lopez", "Maria"),
        ("Fatma Demir", "Fahtma Dehmir"),
        ("Samuel Okoye", "Sauel Okoye"),
        ("van M-LD 8610", "white van 8610"),
        ("Vitcor Novak", "Victor Novak"),
    ],
)
def test_names_that_may_be_one_share_a_key(one: str, other: str) -> None:
    assert set(name_keys("person", [one], "", True)) & set(name_keys("person", [other], "", True))


def test_keys_are_of_one_type_and_sounds_of_none_where_they_are_switched_off() -> None:
    assert not set(name_keys("person", ["Maria"], "", True)) & set(name_keys("vehicle", ["Maria"], "", True))
    assert not [key for key in name_keys("person", ["Maria Lopez"], "", False) if "|p:" in key or "|P:" in key]


def test_a_description_meets_who_is_described_so() -> None:
    described = name_keys("person", ["person in a red jacket"], "", True)
    assert set(described) & set(name_keys("person", ["Maria Lopez"], "wears a red jacket", True))


def test_hostile_names_are_names() -> None:
    for name in ("", " ", "\u202e\u0000", "a" * 100_000, "'; REMOVE e IN entities", "\ud800"):
        assert isinstance(name_keys("person", [name], name, True), list)
        assert weight(name, "Maria") <= 1.5
