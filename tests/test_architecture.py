"""The import table: which room may import which, and which room alone owns a library."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "vgraph"
BASE = {"types", "errors"}
ROOMS = {"media", "models", "store", "ingest", "retrieve", "agents", "prompts"}

MAY_IMPORT: dict[str, set[str]] = {
    "types": set(),
    "errors": {"types"},
    "prompts": set(),
    "settings": {"errors"},
    "embedded": set(),
    "media": BASE,
    "models": BASE | {"prompts"},
    "store": BASE | {"embedded"},
    "ingest": BASE | {"media", "models", "store", "prompts"},
    "retrieve": BASE | {"models", "store"},
    "agents": BASE | {"models", "retrieve", "media", "prompts"},
    "app": BASE | ROOMS | {"settings"},
    "api": BASE | {"app", "settings", "web"},
    "web": set(),
    "terminal": BASE | {"app", "evals"},
    "cli": BASE | {"app", "settings", "api", "evals", "terminal"},
    "evals": BASE | {"app", "settings", "media"},
    "integrations": BASE | {"app", "settings"},
    "client": BASE,
}
"""design.md's table, with three additions: settings raises UserError, models fills in prompts, and the command line starts the API,
the demo (evals, which writes its videos through media) and draws with `terminal`."""

OWNED_BY: dict[str, set[str]] = {
    "pydantic_settings": {"settings"},
    "sqlite3": {"embedded"},
    "arango": {"embedded", "store"},
    "av": {"media"},
    "scenedetect": {"media"},
    "pysubs2": {"media"},
    "ruptures": {"media"},
    "ijson": {"media"},
    "norfair": {"models"},
    "torch": {"models", "integrations"},
    "torch_geometric": {"integrations"},
    "peft": {"models"},
    "transformers": {"models"},
    "sentence_transformers": {"models"},
    "faster_whisper": {"models"},
    "whisperx": {"models"},
    "rapidocr": {"models"},
    "spacy": {"models"},
    "onnxruntime": {"models"},
    "openai": {"models"},
    "wordllama": {"models"},
    "fastapi": {"api"},
    "typer": {"cli"},
    "rich": {"cli", "terminal"},
    "httpx": {"client"},
    "jellyfish": {"ingest"},
    "llama_index": {"integrations"},
    "mcp": {"integrations"},
    "networkx": {"ingest", "integrations"},
}

LAZY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "faster_whisper",
    "whisperx",
    "rapidocr",
    "spacy",
    "onnxruntime",
    "llama_index",
    "torch_geometric",
    "peft",
)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] != "__init__":
            yield parts[0], path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_module_stands_in_a_room_of_the_table() -> None:
    assert {room for room, _ in modules()} <= set(MAY_IMPORT)


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_imports_only_what_the_table_allows(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room}
    wrong = [
        (path.relative_to(ROOT).as_posix(), name)
        for owner, path in modules()
        if owner == room
        for name in imports(path)
        if name.startswith("vgraph.") and name.split(".")[1] not in allowed and name != "vgraph.__version__"
    ]
    assert not wrong


@pytest.mark.parametrize("library", sorted(OWNED_BY))
def test_a_library_has_one_door(library: str) -> None:
    wrong = [
        path.relative_to(ROOT).as_posix()
        for room, path in modules()
        if room not in OWNED_BY[library] and any(name.split(".")[0] == library for name in imports(path))
    ]
    assert not wrong


def test_the_driver_is_imported_in_one_file_of_the_engine() -> None:
    users = {
        p.name for room, p in modules() if room == "embedded" and any(n.split(".")[0] == "arango" for n in imports(p))
    }
    assert users == {"client.py"}


def test_importing_vgraph_loads_no_heavy_library() -> None:
    heavy = (*LAZY, "numpy", "av", "cv2", "pydantic", "fastapi", "arango", "openai", "rich")
    code = f"import sys, vgraph; print([m for m in {heavy!r} if m in sys.modules])"
    assert _python(code) == "[]"


def test_importing_every_room_loads_no_extra() -> None:
    rooms = ("app", "media", "models", "store", "ingest", "retrieve", "agents", "embedded.client", "cli")
    code = f"import sys\n{chr(10).join(f'import vgraph.{room}' for room in rooms)}\nprint([m for m in {LAZY!r} if m in sys.modules])"
    assert _python(code) == "[]"


def test_the_top_folder_does_not_shadow_the_driver() -> None:
    assert not list((ROOT / "arango").rglob("*.py"))
    assert "site-packages" in _python("import arango.client; print(arango.client.__file__)")


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()
