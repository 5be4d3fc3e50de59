"""JSON files that are too large to hold: their items, one after the other (ijson)."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

from vgraph.errors import SidecarError
from vgraph.media.text import Warnings, encoding_of

HEAD = 4096
DEEPEST = 64
"""Levels of nesting that are followed: no sidecar has so many, and a hostile one would fill the memory with them."""

Event = tuple[str, Any]


class _TooDeepError(Exception):
    """A value has more levels than DEEPEST."""


def items(path: Path, place: str, warnings: Warnings) -> Iterator[tuple[int, Any]]:
    """Values at a place of a JSON file: `` (its own, one or several), `[]` (those of its list) or `name[]` (of a list in its object).

    With each comes its number, from 1. Where the file stops being JSON, that is told to `warnings`, and what came before counts.
    Raises SidecarError when it cannot be read.
    """
    import ijson

    number = 0
    with _opened(path) as file:
        try:
            for value in _selected(_events(file), place):
                number += 1
                yield number, value
        except (ijson.JSONError, _TooDeepError) as error:
            where = f"item {number} of {place}" if place else f"item {number}"
            warnings.note(f"not JSON after {where} ({_reason(error)}); the rest is left out")


def keys(path: Path) -> list[str]:
    """What a file is made of: `[` for a list, else the names of its (first) object; nothing for a file that is no JSON.

    Raises SidecarError when it cannot be read.
    """
    import ijson

    found: list[str] = []
    with _opened(path) as file:
        try:
            for depth, (event, value) in _deep(_events(file)):
                if depth == 0 and event == "start_array":
                    return ["["]
                if depth == 1 and event == "map_key":
                    found.append(value)
                if depth == 0 and event == "end_map":
                    break
        except (ijson.JSONError, _TooDeepError):
            return found
    return found


def _events(file: IO[bytes]) -> Iterator[Event]:
    import ijson

    return iter(ijson.basic_parse(file, use_float=True, multiple_values=True))


def _deep(events: Iterator[Event]) -> Iterator[tuple[int, Event]]:
    """Events with the depth at which their value stands. Raises _TooDeepError."""
    depth = 0
    for event in events:
        depth -= event[0] in ("end_map", "end_array")
        yield depth, event
        depth += event[0] in ("start_map", "start_array")
        if depth > DEEPEST:
            raise _TooDeepError(f"more than {DEEPEST} levels")


def _selected(events: Iterator[Event], place: str) -> Iterator[Any]:
    import ijson

    wanted, base = place.removesuffix("[]"), len(place.removesuffix("[]")[:1]) + place.endswith("[]")
    kind, name, builder = "", "", None
    for depth, (event, value) in _deep(events):
        if depth == 0:
            kind = event
        if depth == 1 and event == "map_key":
            name = value
        fits = place == "" or (kind == "start_map" and name == wanted if wanted else kind == "start_array")
        if builder is None and depth == base and fits and event not in ("map_key", "end_map", "end_array"):
            builder = ijson.ObjectBuilder()
        if builder is not None:
            builder.event(event, value)
            if depth == base and not event.startswith("start_"):
                yield builder.value
                builder = None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The file as UTF-8 without a byte order mark, whatever it is written in."""
    try:
        with path.open("rb") as file:
            encoding = encoding_of(file.read(HEAD))
            file.seek(3 if encoding == "utf-8-sig" else 0)
            if encoding.startswith("utf-8"):
                yield file
                return
        with path.open(encoding=encoding) as text:
            yield _Encoded(text)  # type: ignore[misc]
    except UnicodeError as error:
        raise SidecarError(f"{path}: is not the text it begins as ({error})", path=str(path)) from error
    except OSError as error:
        raise SidecarError(f"{path}: cannot be read ({error.strerror})", path=str(path)) from error


class _Encoded:
    """Text read as UTF-8 bytes."""

    def __init__(self, text: TextIO) -> None:
        self._text = text

    def read(self, size: int = -1) -> bytes:
        return codecs.encode(self._text.read(size), "utf-8")


def _reason(error: Exception) -> str:
    """The first line of what the parser says; the rest is a piece of the file."""
    said = error.args[0] if error.args else error
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return text.strip().splitlines()[0][:120] if text.strip() else type(error).__name__
