"""What is known of English beyond the names in the graph: word lists (english.toml) and forms of questions (questions.toml), read once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Patterns:
    """Regular expressions by name, and lists of them in their order: (expression, plain words) and (form, expression)."""

    single: Mapping[str, str]
    plainer: tuple[tuple[str, str], ...]
    forms: tuple[tuple[Any, str], ...]


@lru_cache(maxsize=2)
def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files("vgraph.retrieve").joinpath(name).read_text(encoding="utf-8"))


def _lists() -> Mapping[str, Mapping[str, str]]:
    return cast(Mapping[str, Mapping[str, str]], _read("english.toml"))


def patterns() -> Patterns:
    """How questions are dressed."""
    read = _read("questions.toml")

    def whole(rule: str) -> str:
        return rule.replace("{one}", read["one"])

    single = {name: whole(rule) for name, rule in read.items() if isinstance(rule, str)}
    plainer = tuple((whole(rule), plain) for rule, plain in read["plainer"])
    return Patterns(single, plainer, tuple((form, whole(rule)) for form, rule in read["forms"]))


def words(name: str) -> frozenset[str]:
    """A list of function words."""
    return frozenset(_lists()["words"][name].split())


def named(section: str) -> dict[str, str]:
    """Each word of a section with what it stands for: `left` is a form of `leave`."""
    return {word: meant for meant, found in _lists()[section].items() for word in found.split()}


def listed(section: str) -> dict[str, tuple[str, ...]]:
    """The entries of a section, each with its members."""
    return {
        name: tuple(" ".join(part.split()) for part in found.split(",")) for name, found in _lists()[section].items()
    }
