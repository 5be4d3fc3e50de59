"""Settings come from the environment, `.env`, `vgraph.toml` and arguments; whatever is wrong in them is named, never passed over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vgraph.errors import UserError
from vgraph.settings import Settings


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without settings, and an environment without any."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith("VGRAPH_")]:
        monkeypatch.delenv(name)
    return tmp_path


def refusal() -> str:
    with pytest.raises(UserError) as caught:
        Settings.load()
    return str(caught.value)


def test_arguments_come_before_environment_before_dotenv_before_toml(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "vgraph.toml").write_text("[retrieve]\nk = 1\nleg_k = 1\nhops = 1\nneighbours = 5\n")
    (here / ".env").write_text("VGRAPH_RETRIEVE__K=2\nVGRAPH_RETRIEVE__LEG_K=2\nVGRAPH_RETRIEVE__HOPS=2\n")
    monkeypatch.setenv("VGRAPH_RETRIEVE__K", "3")
    monkeypatch.setenv("VGRAPH_RETRIEVE__LEG_K", "3")
    found = Settings.load(retrieve={"k": 4}).retrieve
    assert (found.k, found.leg_k, found.hops, found.neighbours) == (4, 3, 2, 5)


@pytest.mark.parametrize("text", ["cat,dog", " cat , dog ,", '["cat", "dog"]'])
def test_lists_are_json_or_items_between_commas(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_INGEST__ENTITY_TYPES", text)
    assert Settings.load().ingest.entity_types == ("cat", "dog")


def test_folders_are_lists_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_MEDIA__ROOTS", "/videos")
    assert Settings.load().media.roots == (Path("/videos"),)
    monkeypatch.setenv("VGRAPH_MEDIA__ROOTS", '["/a, b", "/c"]')
    assert Settings.load().media.roots == (Path("/a, b"), Path("/c"))
    monkeypatch.setenv("VGRAPH_MEDIA__ROOTS", "")
    assert Settings.load().media.roots == ()


def test_a_list_that_is_no_list_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_MEDIA__ROOTS", '["/videos"')
    assert refusal() == "settings: VGRAPH_MEDIA__ROOTS: neither a JSON list nor names separated by commas"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("VGRAPH_DATABAS__URL", "; did you mean VGRAPH_DATABASE__URL?"),
        ("VGRAPH_DATABASE_URL", "; did you mean VGRAPH_DATABASE__URL?"),
        ("VGRAPH_DATABASE__URLL", "; did you mean VGRAPH_DATABASE__URL?"),
        ("VGRAPH_SERVER__TOKEN", "; did you mean VGRAPH_SERVE__TOKEN?"),
        ("VGRAPH_PORT", "; did you mean VGRAPH_SERVE__PORT?"),
        ("VGRAPH_SOMETHING_ELSE", ""),
    ],
)
@pytest.mark.parametrize("place", ["environment", ".env"])
def test_an_unknown_name_is_an_error_with_the_nearest_one(
    name: str, near: str, place: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "environment":
        monkeypatch.setenv(name, "hidden")
    else:
        (here / ".env").write_text(f"{name}=hidden\n")
    assert refusal() == f"settings: {name}: unknown setting{near}"


def test_an_unknown_section_or_name_in_toml_is_an_error(here: Path) -> None:
    (here / "vgraph.toml").write_text("[pictures]\nsize = 3\n")
    assert refusal() == "settings: VGRAPH_PICTURES: unknown setting"
    (here / "vgraph.toml").write_text('[database]\nurk = "embedded:x"\n')
    assert refusal() == "settings: VGRAPH_DATABASE__URK: unknown setting; did you mean VGRAPH_DATABASE__URL?"


def test_an_unknown_section_as_an_argument_is_an_error() -> None:
    with pytest.raises(UserError, match="VGRAPH_DATABSE: unknown setting"):
        Settings.load(databse={})


def test_what_others_keep_in_the_environment_and_in_dotenv_is_left_alone(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / ".env").write_text(
        "ARANGO_ROOT_PASSWORD=secret\nVGRAPH_TOKEN=secret\nDATABASE=theirs\nexport HOME_PAGE=x\n"
    )
    for name in ("VGRAPH_TEST_ARANGO_URL", "VGRAPH_FIXTURES", "VGRAPH_CONFORMANCE"):
        monkeypatch.setenv(name, "of the tests")
    assert Settings.load() == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VGRAPH_DATABASE", "not json"),
        ("VGRAPH_DATABASE", "3"),
        ("VGRAPH_DATABASE__TIMEOUT_S", "-1"),
        ("VGRAPH_SERVE__PORT", "eighty"),
        ("VGRAPH_SERVE__PORT", "70000"),
        ("VGRAPH_MEDIA__SEGMENTER", "magic"),
        ("VGRAPH_MEDIA__WINDOW_S__X", "3"),
        ("VGRAPH_MEDIA__ROOTS__X", "3"),
        ("VGRAPH_RETRIEVE__HOPS", ""),
    ],
)
def test_a_wrong_value_is_named_and_not_repeated(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    text = refusal()
    assert text.startswith("settings: ") and name.split("__")[0].removeprefix("VGRAPH_").lower() in text.lower()


def test_a_secret_is_not_told_when_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_SERVE__TOKEN", '{"deep": "s3cret"}')
    monkeypatch.setenv("VGRAPH_SERVE__PORT", "s3cret")
    assert "s3cret" not in refusal()


def test_files_that_cannot_be_read_are_named(here: Path) -> None:
    (here / "vgraph.toml").write_text("[database\n")
    assert refusal().startswith("settings: vgraph.toml: ")
    (here / "vgraph.toml").write_bytes(b"\xff\xfe")
    assert "vgraph.toml cannot be read" in refusal()
    (here / "vgraph.toml").unlink()
    (here / ".env").write_bytes(b"VGRAPH_SERVE__PORT=\xff\xfe\n")
    assert ".env" in refusal()


@pytest.mark.parametrize(
    "value", ["speaks with=talks to, chats with = talks to", '{"speaks with": "talks to", "chats with": "talks to"}']
)
def test_names_that_mean_another_are_written_with_commas_or_as_json(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VGRAPH_INGEST__RELATION_SYNONYMS", value)
    found = Settings.load().ingest.relation_synonyms
    assert found == (("speaks with", "talks to"), ("chats with", "talks to"))


@pytest.mark.parametrize("value", ["speaks with", "=talks to", "speaks with=", "{broken", '{"a": 3}'])
def test_what_is_no_such_list_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_INGEST__RELATION_SYNONYMS", value)
    assert refusal().startswith("settings: VGRAPH_INGEST__RELATION_SYNONYMS")


def test_an_unknown_preset_is_refused_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_INGEST__PRESET", "bakery")
    assert "warehouse" in refusal() and "VGRAPH_INGEST__PRESET" in refusal()
