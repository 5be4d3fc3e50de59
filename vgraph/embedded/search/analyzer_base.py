"""What every analyzer is, and how the properties it is given are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, ClassVar, Self

from vgraph.embedded.errors import ArangoError

Token = tuple[str, int, int, int]  # term, position increment, start and end in characters


class Analyzer:
    """A configured analyzer. `properties` and `features` are what the HTTP API shows."""

    type: ClassVar[str]
    whole: ClassVar[bool] = False  # takes arrays and objects as they are
    returns: str = "string"  # or "number", "bool": what a text is indexed as instead

    def __init__(self, properties: dict[str, Any], features: tuple[str, ...]) -> None:
        self.features = features
        self.properties = self.configure(properties)

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        """Read the properties given, keep what analysis needs, return them normalised."""
        return {}

    def stream(self, text: str) -> Iterator[Token]:
        """Terms in order, with position increments and the characters they came from."""
        raise NotImplementedError

    def accepts(self, value: Any) -> bool:
        """Whether an array or object is something this analyzer, which takes them whole, knows."""
        return self.whole

    def values(self, text: str) -> list[Any]:
        """What a text is indexed as, for an analyzer that returns no strings."""
        raise NotImplementedError

    def terms(self, text: str) -> list[str]:
        return [token[0] for token in self.stream(text)]

    def positions(self, text: str) -> tuple[list[str], list[int] | None]:
        """Terms and their positions from 0; None stands for 0, 1, 2, …"""
        terms: list[str] = []
        positions: list[int] = []
        position = -1
        for term, step, _, _ in self.stream(text):
            position += step
            terms.append(term)
            positions.append(position)
        return terms, None if positions == list(range(len(positions))) else positions

    def offsets(self, text: str) -> list[tuple[str, int, int, int]]:
        """(term, position, first byte, byte after the last) in UTF-8."""
        at = _byte_offsets(text)
        found: list[tuple[str, int, int, int]] = []
        position = -1
        for term, step, start, end in self.stream(text):
            position += step
            found.append((term, position, at(start), at(end)))
        return found

    def with_features(self, features: tuple[str, ...]) -> Self:
        """The same analyzer with other features."""
        other = copy(self)
        other.features = features
        return other

    def definition(self) -> dict[str, Any]:
        return {"type": self.type, "properties": self.properties, "features": list(self.features)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.properties})"


def _byte_offsets(text: str) -> Callable[[int], int]:
    if text.isascii():
        return lambda index: index
    offsets = [0]
    for char in text:
        offsets.append(offsets[-1] + len(char.encode("utf-8", "surrogatepass")))
    return offsets.__getitem__


# -------------------------------------------------------------------------------------------------- properties


def bad(message: str) -> ArangoError:
    return ArangoError(10, message)


def text_property(given: dict[str, Any], name: str, default: str | None = None) -> str:
    value = given.get(name, default)
    if not isinstance(value, str):
        raise bad(f"analyzer property '{name}' must be a string")
    return value


def flag_property(given: dict[str, Any], name: str, default: bool) -> bool:
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise bad(f"analyzer property '{name}' must be a boolean")
    return value


def whole_property(given: dict[str, Any], name: str) -> int:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad(f"analyzer property '{name}' must be a non-negative integer")
    return value


def choice_property(given: dict[str, Any], name: str, default: str, allowed: tuple[str, ...]) -> str:
    value = text_property(given, name, default)
    if value not in allowed:
        raise bad(f"analyzer property '{name}' must be one of {', '.join(allowed)}")
    return value


def strings_property(given: dict[str, Any], name: str) -> list[str]:
    value = given.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise bad(f"analyzer property '{name}' must be an array of strings")
    return value


def locale_property(given: dict[str, Any]) -> str:
    """A locale as ICU prints it: "en_us.utf-8" becomes "en_US"."""
    plain = re.split(r"[.@]", text_property(given, "locale"))[0].replace("-", "_")
    parts = plain.split("_")
    if not re.fullmatch(r"[A-Za-z]{2,8}", parts[0]):
        raise bad("analyzer property 'locale' is not a valid locale")
    return "_".join([parts[0].lower(), *(part.upper() if len(part) == 2 else part for part in parts[1:])])
