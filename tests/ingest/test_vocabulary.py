"""Sets of types, and words compared across inflections and scripts."""

from __future__ import annotations

import pytest

from vgraph.ingest.extract import PRESETS, vocabulary
from vgraph.ingest.extract.schemas import extraction
from vgraph.ingest.extract.vocabulary import EGAGENT, normal_relation
from vgraph.ingest.extract.wording import Wording, among
from vgraph.models.replies import is_strict


def test_egocentric_is_egagents_own_set_and_every_preset_holds_its_relations() -> None:
    own = PRESETS["egocentric"]
    assert own.entity_types == ("person", "location", "object")
    assert own.relations == ("talks to", "interacts with", "mentions", "uses") and not own.is_open
    assert all(set(EGAGENT) <= set(each.relations) for each in PRESETS.values())
    assert PRESETS["general"].is_open and set(own.entity_types) <= set(PRESETS["general"].entity_types)


def test_presets_are_in_the_form_that_is_stored() -> None:
    for preset in PRESETS.values():
        assert preset.relations == preset.relation_types and len(set(preset.relations)) == len(preset.relations)


def test_own_types_take_the_place_of_the_presets() -> None:
    own = vocabulary("warehouse", entity_types=("robot",), relation_types=("Lifts-Up",))
    assert (own.entity_types, own.relations, own.is_open) == (("robot",), ("lifts up",), False)
    assert vocabulary("general", relation_types=("lifts",), open_relations=True).is_open
    assert vocabulary("warehouse", open_relations=True).permits("juggles with")
    assert not vocabulary("warehouse").permits("juggles with") and vocabulary("general").permits("juggles with")


@pytest.mark.parametrize(
    ("written", "stored"),
    [("Talks-To", "talks to"), ("talks_to", "talks to"), ("  TALKS   to ", "talks to"), ("ＴＡＬＫＳ", "talks"),
     ("_", ""), ("re-loads", "re loads")],
)  # fmt: skip
def test_names_of_relations_have_one_form(written: str, stored: str) -> None:
    assert normal_relation(written) == stored


def test_only_configured_synonyms_mean_the_same() -> None:
    own = vocabulary(synonyms=[("Speaks-With", "talks to")])
    assert own.relation("speaks with") == "talks to" and own.relation("chats with") == "chats with"


@pytest.mark.parametrize("preset", PRESETS)
def test_the_schema_is_one_that_constrained_decoding_takes(preset: str) -> None:
    assert is_strict(extraction(PRESETS[preset]))


@pytest.mark.parametrize(
    ("name", "text", "language", "stands"),
    [
        ("Ana", "Ana's crate", "en", True),
        ("crate", "two crates", "en", True),
        ("Ana Ruiz", "Ana and Maria Ruiz", "en", False),
        ("Max", "Maximilian", "en", False),
        ("M-LD 8610", "the white van m-ld 8610.", "en", True),
        ("李娜", "王伟把箱子交给李娜。", "zh", True),
        ("李伟", "王伟把箱子交给李娜。", "zh", False),
        ("Straße", "in der STRASSE", "de", True),
        ("Ana", "A\u200bna", "en", True),
        ("Ана", "Ana", "en", False),
        ("", "anything", "en", False),
    ],
)
def test_a_name_stands_in_a_text_as_whole_words(name: str, text: str, language: str, stands: bool) -> None:
    wording = Wording(language)
    assert among(wording.name(name), wording.padded(text)) is stands


def test_a_language_without_a_stemmer_is_compared_as_written() -> None:
    assert Wording("xx").words("Two Crates") == ("two", "crates")
