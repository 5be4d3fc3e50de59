"""AQL's functions by name; `registry.py` says how one is declared."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from .registry import Function, Table

MODULES: Final = (
    "types",
    "strings",
    "encoding",
    "numbers",
    "arrays",
    "sets",
    "statistics",
    "objects",
    "vectors",
    "minhash",
    "matching",
    "misc",
    "date",
    "geo",
)

_loaded: Table = Table()


def functions() -> Table:
    """Every function, loaded at the first call (a module that does not exist yet is left out)."""
    if not _loaded:
        for name in MODULES:
            try:
                module = import_module(f".{name}", __name__)
            except ModuleNotFoundError as error:
                if error.name != f"{__name__}.{name}":
                    raise
                continue
            _loaded.update(module.TABLE)
    return _loaded


def lookup(name: str) -> Function | None:
    """A function by its name in capitals."""
    return functions().get(name)
