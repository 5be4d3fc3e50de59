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


def _load() -> Table:
    """All tables in one; a module that does not exist yet is left out."""
    joined = Table()
    for name in MODULES:
        try:
            module = import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            continue
        joined.update(module.TABLE)
    return joined


FUNCTIONS: Final[Table] = _load()


def lookup(name: str) -> Function | None:
    """A function by its name in capitals."""
    return FUNCTIONS.get(name)
