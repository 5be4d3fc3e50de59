"""The fetcher of real footage and weights: whole or not at all, and never a failure where something cannot be had."""

import hashlib
import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "fixtures.py"


@pytest.fixture
def fixtures(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("fixtures_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fixtures_script", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TARGET", tmp_path / ".fixtures")
    return module


def one(fixtures, monkeypatch, fetch, content=b"right", **more):
    files = {"a/file.bin": hashlib.sha256(content).hexdigest()}
    fixture = fixtures.Fixture("folder", files, fetch, **{"heavy": False, **more})
    monkeypatch.setattr(fixtures, "FIXTURES", {"it": fixture})


def right(work: Path, target: Path) -> None:
    (target / "a").mkdir()
    (target / "a" / "file.bin").write_bytes(b"right")


def test_what_is_fetched_lands_in_place_and_is_left_alone_the_next_time(fixtures, monkeypatch, capsys):
    one(fixtures, monkeypatch, right)
    fixtures.main([])
    fixtures.main([])
    assert capsys.readouterr().out == "it: fetched\nit: there\n"
    assert (fixtures.TARGET / "folder" / "a" / "file.bin").read_bytes() == b"right"
    assert [path.name for path in fixtures.TARGET.iterdir()] == ["folder"]


def test_another_file_than_the_pinned_one_is_refused(fixtures, monkeypatch, capsys):
    one(fixtures, monkeypatch, right, content=b"expected")
    fixtures.main([])
    assert capsys.readouterr().out.startswith("it: skipped, a/file.bin is not the file the tests were written for")
    assert list(fixtures.TARGET.iterdir()) == []


def test_without_clients_everything_is_skipped_with_one_line_each(fixtures, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(fixtures.sys, "executable", "no-such-python")
    monkeypatch.setattr(fixtures.Path, "is_file", lambda self: False)
    fixtures.main(["--all"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(fixtures.FIXTURES)
    assert all(": skipped, " in line and "is not installed" in line for line in lines)


def test_a_client_that_fails_is_told_by_its_last_line(fixtures, monkeypatch, capsys):
    script = "import sys; print('noise', file=sys.stderr); sys.exit('E: Unable to locate package')"
    one(fixtures, monkeypatch, lambda work, target: fixtures.run(sys.executable, "-c", script, folder=work))
    fixtures.main([])
    assert capsys.readouterr().out.rstrip().endswith("failed: E: Unable to locate package")


def test_heavy_ones_wait_for_all(fixtures, monkeypatch, capsys):
    one(fixtures, monkeypatch, right, heavy=True)
    fixtures.main([])
    fixtures.main(["--all"])
    assert capsys.readouterr().out == "it: left out, --all fetches it\nit: fetched\n"
