"""AQL's functions by name; `registry.py` says how one is declared."""

from __future__ import annotations

from typing import Final

from . import (
    arrays,
    date,
    encoding,
    fulltext,
    geo,
    matching,
    minhash,
    misc,
    numbers,
    objects,
    sets,
    statistics,
    strings,
    types,
    vectors,
)
from .registry import Function, Table

FUNCTIONS: Final = Table()
for _module in (
    types,
    strings,
    encoding,
    fulltext,
    numbers,
    arrays,
    sets,
    statistics,
    objects,
    vectors,
    minhash,
    matching,
    misc,
    date,
    geo,
):
    FUNCTIONS.update(_module.TABLE)


def lookup(name: str) -> Function | None:
    """A function by its name in capitals."""
    return FUNCTIONS.get(name)
