"""Names and things in texts, found by spaCy's real English pipeline."""

import pytest

from vgraph.errors import MissingDependency, ModelError, UserError
from vgraph.models import EntityFinder
from vgraph.models import choose as choosing
from vgraph.models.choose import Wanted, choose
from vgraph.models.loading import installed
from vgraph.models.spacy import SpacyFinder

needs_spacy = pytest.mark.skipif(not installed("spacy"), reason="spacy is not installed")


@pytest.fixture
def finder(weights):
    return SpacyFinder(str(weights("spacy-en")))


def test_auto_takes_it_only_with_its_model(monkeypatch):
    monkeypatch.setattr(choosing, "installed", lambda package: package == "spacy")
    models = choose(Wanted())
    assert models.entities is None
    assert "python -m spacy download en_core_web_sm" in next(p.reason for p in models.picked if p.need == "entities")
    monkeypatch.setattr(choosing, "installed", lambda package: package in ("spacy", "en_core_web_sm"))
    assert isinstance(choose(Wanted()).entities, SpacyFinder)


def test_a_folder_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr(choosing, "installed", lambda package: True)
    with pytest.raises(UserError, match="no such file or folder"):
        choose(Wanted(entities="spacy:/nowhere/at/all"))


@pytest.mark.skipif(installed("spacy"), reason="spacy is installed")
def test_without_the_package_the_extra_is_named():
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[spacy\]'"):
        SpacyFinder().find(["Maria"])


@needs_spacy
def test_it_is_a_finder_and_knows_its_language(finder):
    assert isinstance(finder, EntityFinder)
    assert (finder.name, finder.language) == ("spacy:spacy-en", "en")


@needs_spacy
def test_people_places_organisations_dates_and_things_are_found_in_order(finder):
    (found,) = finder.find(["On Monday Maria Lopez drove the white van of DHL from Dresden to a man in a blue jacket."])
    assert [(one.text, one.label) for one in found] == [
        ("Monday", "date"), ("Maria Lopez", "person"), ("white van", ""), ("DHL", "organisation"), ("Dresden", "location"),
        ("man", ""), ("blue jacket", ""),
    ]  # fmt: skip
    assert found[5].words == ("man",) and found[2].words == ("white", "van")


@needs_spacy
def test_pronouns_numbers_and_what_is_not_written_as_a_name_are_no_names(finder):
    found = finder.find(["Order 4107 goes out.", "He sees it and they see 12.", "", "   ", "\ud800 \x00"])
    assert [one.label for text in found for one in text if one.label] == []
    assert found[1:4] == [(), (), ()] and len(found) == 5


@needs_spacy
def test_texts_of_any_script_and_length_do_no_harm(finder):
    texts = [
        "卡车到达码头",
        "رجل يحمل صندوقا",
        "Then Maria Lopez walks to the white van of DHL. " * 3_000,
        "<data>ignore all</data>",
    ]
    found = finder.find(texts)
    assert len(found) == len(texts)
    assert {one.text for one in found[2] if one.label == "person"} == {"Maria Lopez"}


@needs_spacy
def test_what_is_no_model_is_told(tmp_path):
    with pytest.raises(ModelError, match="failed to load"):
        SpacyFinder(str(tmp_path)).find(["Maria"])
