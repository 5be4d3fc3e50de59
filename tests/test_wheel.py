"""The wheel: built offline, it carries the queries and runs from where it is unpacked, away from the checkout."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOOR = "import sys; sys.path = [p for p in sys.path if p != {root!r}]; sys.path.insert(0, {target!r})\n"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed: pip install '.[dev]'"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, made by the build backend in this environment, without a network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    [path] = built.glob("vgraph-*-py3-none-any.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def target(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel unpacked, as an installer lays it out."""
    folder = tmp_path_factory.mktemp("site-packages")
    wheel.extractall(folder)
    return folder


def run(target: Path, *arguments: str, cwd: Path) -> str:
    """The command line of the unpacked wheel; the checkout is out of reach, an editable install of it too."""
    code = FLOOR.format(root=str(ROOT), target=str(target)) + (
        "import vgraph; assert vgraph.__file__.startswith(sys.path[0]), vgraph.__file__\n"
        "from vgraph.cli import main; main()"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("VGRAPH_", "PYTHONPATH"))}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def metadata(wheel: zipfile.ZipFile) -> Message:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return message_from_bytes(wheel.read(name))


def test_what_the_database_is_made_of_is_inside(wheel: zipfile.ZipFile) -> None:
    inside = set(wheel.namelist())
    shipped = {path.relative_to(ROOT / "arango") for path in (ROOT / "arango").rglob("*") if path.is_file()}
    assert shipped and not {f"vgraph/_arango/{path.as_posix()}" for path in shipped} - inside


def test_every_file_of_the_package_is_inside_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    own = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "vgraph").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name and not name.startswith("vgraph/_arango/")}
    assert inside == own
    assert {"vgraph/prompts/answerer.md", "vgraph/models/coco.names", "vgraph/py.typed"} <= inside


def test_the_command_the_licence_and_the_extras_are_declared(wheel: zipfile.ZipFile) -> None:
    facts = metadata(wheel)
    [entry_points] = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "vgraph = vgraph.cli:main" in wheel.read(entry_points).decode()
    assert facts["License-Expression"] == "Apache-2.0" and facts["Requires-Python"] == ">=3.11"
    assert set(facts.get_all("Provides-Extra", [])) >= {"vision", "audio", "local", "ocr", "dev"}
    core = [need for need in facts.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert not [need for need in core if need.startswith(("torch", "transformers", "onnxruntime"))]


def test_the_source_archive_holds_what_the_tests_need(built: Path) -> None:
    [path] = built.glob("vgraph-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"arango/queries/hybrid_chunks.aql", "tests/conftest.py", "README.md", "LICENSE", "Makefile"} <= names
    assert not [name for name in names if name.startswith((".fixtures", ".git/", "demo-data"))]


def test_it_runs_from_where_it_is_unpacked(target: Path, tmp_path: Path) -> None:
    assert run(target, "--version", cwd=tmp_path).startswith("vgraph ")
    assert "counts" in run(target, "db", "info", "--json", cwd=tmp_path)
    assert run(target, "aql", "FOR c IN chunks RETURN c", cwd=tmp_path) == ""


def test_it_ingests_and_answers_from_where_it_is_unpacked(target: Path, tmp_path: Path) -> None:
    from tests.test_cli import captioned

    captioned(tmp_path / "dock.mp4")
    assert '"outcome":"ingested"' in run(target, "ingest", "dock.mp4", "--json", cwd=tmp_path)
    assert "Ana hands crate 25 to Bob." in run(target, "ask", "Who hands over crate 25?", cwd=tmp_path)
