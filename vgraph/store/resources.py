"""The files of the top folder `arango/`: bodies of ArangoDB's HTTP API and the queries, read once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any


@dataclass(frozen=True, slots=True)
class QueryFile:
    """One `.aql` file: what it is for, the bind variables its header declares, its text."""

    name: str
    purpose: str
    binds: frozenset[str]
    text: str


def root() -> Traversable:
    """`vgraph/_arango` in a wheel, the folder `arango/` of a checkout otherwise."""
    package = files("vgraph")
    packed = package / "_arango"
    if packed.is_dir():
        return packed
    return _parent(package) / "arango"


def _parent(package: Traversable) -> Traversable:
    from pathlib import Path

    return Path(str(package)).parent


@cache
def bodies(kind: str) -> tuple[dict[str, Any], ...]:
    """All JSON bodies of a folder (`collections`, `analyzers`, `views`, `graphs`), in order of name."""
    entries = sorted((root() / kind).iterdir(), key=lambda entry: entry.name)
    return tuple(json.loads(entry.read_text(encoding="utf-8")) for entry in entries if entry.name.endswith(".json"))


@cache
def query(name: str) -> QueryFile:
    text = (root() / "queries" / f"{name}.aql").read_text(encoding="utf-8")
    return parse_query(name, text)


@cache
def query_names() -> tuple[str, ...]:
    return tuple(sorted(e.name.removesuffix(".aql") for e in (root() / "queries").iterdir() if e.name.endswith(".aql")))


def parse_query(name: str, text: str) -> QueryFile:
    """Split a query file into its header (purpose, binds) and keep its text whole, comments included."""
    header = [line[2:].strip() for line in text.splitlines() if line.startswith("//")]
    declared = next((line for line in header if line.startswith("binds:")), "")
    binds = frozenset(re.findall(r"(@@?\w+)", declared))
    return QueryFile(name, header[0] if header else "", binds, text)
