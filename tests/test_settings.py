"""Settings come from the environment, `.env` and `vgraph.toml`; what is wrong in them is told by name, without its value."""

from __future__ import annotations

from pathlib import Path

import pytest

from vgraph.errors import UserError
from vgraph.settings import Settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_environment_comes_before_env_file_before_toml(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "vgraph.toml").write_text('[database]\nname = "toml"\nusername = "toml"\nurl = "http://toml:1"\n')
    (folder / ".env").write_text("VGRAPH_DATABASE__NAME=file\nVGRAPH_DATABASE__USERNAME=file\n")
    monkeypatch.setenv("VGRAPH_DATABASE__NAME", "environment")
    at = Settings.load().database
    assert (at.name, at.username, at.url) == ("environment", "file", "http://toml:1")
    assert Settings.load(database={"name": "argument"}).database.name == "argument"


def test_an_env_file_may_hold_names_of_other_programs(folder: Path) -> None:
    (folder / ".env").write_text("ARANGO_ROOT_PASSWORD=x\nVGRAPH_TOKEN=y\nVGRAPH_DATABASE__NAME=site\n")
    assert Settings.load().database.name == "site"


@pytest.mark.parametrize("written", ["person, dog", "person,dog,", '["person", "dog"]'])
def test_lists_are_written_with_commas_or_as_json(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VGRAPH_INGEST__ENTITY_TYPES", written)
    assert Settings.load().ingest.entity_types == ("person", "dog")


def test_folders_are_a_list_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "vgraph.toml").write_text('[media]\nroots = ["/videos", "/more"]\n')
    assert Settings.load().media.roots == (Path("/videos"), Path("/more"))
    monkeypatch.setenv("VGRAPH_MEDIA__ROOTS", "/other")
    assert Settings.load().media.roots == (Path("/other"),)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VGRAPH_DATABASE__ULR", "hush"),
        ("VGRAPH_DATABAS__URL", "hush"),
        ("VGRAPH_MEDIA__WINDOW_S", "hush"),
        ("VGRAPH_MEDIA__SEGMENTER", "hush"),
        ("VGRAPH_SERVE__PORT", "70000"),
        ("VGRAPH_MEDIA__ROOTS", '["hush"'),
    ],
)
def test_what_is_wrong_is_named_and_its_value_kept_quiet(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=name) as told:
        Settings.load()
    assert value not in str(told.value)


@pytest.mark.parametrize("name", ["VGRAPH_DATABASE__ULR", "VGRAPH_DATABAS__URL"])
def test_a_typo_in_the_env_file_is_told(name: str, folder: Path) -> None:
    (folder / ".env").write_text(f"{name}=x\n")
    with pytest.raises(UserError, match=name):
        Settings.load()


@pytest.mark.parametrize("text", ["[database\n", "[database]\nulr = 1\n", "[databas]\nurl = 1\n"])
def test_a_broken_toml_file_is_told(text: str, folder: Path) -> None:
    (folder / "vgraph.toml").write_text(text)
    with pytest.raises(UserError, match="settings: "):
        Settings.load()
