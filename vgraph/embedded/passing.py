"""Large requests of a driver in this process: their JSON is passed as a value, the text in between left out.

Writing and reading back the text of a thousand documents with embeddings takes longer than storing them. What is passed is a
copy, and the very one that the text would give: whatever JSON would change or refuse goes as text.
"""

from __future__ import annotations

import marshal
from math import isfinite
from typing import Any, Final

import orjson

from vgraph.embedded.garbage import held_back

_MANY: Final = 16  # documents; a request with fewer is small
_NUMBERS: Final = 64
_NUMBER: Final = 20  # bytes of one, about
_LEAST: Final = -(1 << 63)
_LARGEST: Final = (1 << 64) - 1  # JSON parsers take no larger integers
_KEYS: Final = 10_000  # attribute names that are remembered as names


class NotPlainError(Exception):
    """A value that JSON does not give back as it is."""


class Passed:
    """A request's JSON as a value. It belongs to whoever takes it."""

    __slots__ = ("_value", "size")

    def __init__(self, value: Any, size: int) -> None:
        self._value = value
        self.size = size  # bytes that the text would have, about

    def take(self) -> Any:
        """The value, once."""
        value = self._value
        del self._value
        return value

    def text(self) -> bytes:
        """The JSON itself, for those who want text; the value stays."""
        return orjson.dumps(self._value)


def serialized(value: Any) -> bytes | Passed:
    """A request's body: its value when it is large and plain, else JSON."""
    size = _size_of_lists(value)
    if size:
        try:
            with held_back():
                return Passed(copied(value), size)
        except (NotPlainError, RecursionError):
            pass  # as text it is what it is, or refused as it should be
    return _text(value)


def _text(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def _size_of_lists(value: Any) -> int:
    """Bytes of the lists of embedded documents, and of the vectors, that are the whole request or binds of a query."""
    binds = value.get("bindVars") if type(value) is dict else {"": value}
    if type(binds) is not dict:
        return 0
    size = 0
    for items in binds.values():
        if type(items) is not list or len(items) < _MANY:
            continue
        if _embeds(items[-1]):
            size += len(items) * len(_text(items[-1]))
        elif len(items) >= _NUMBERS and type(items[0]) is float:
            size += len(items) * _NUMBER
    return size


def _embeds(document: Any) -> bool:
    """Whether a document holds so many numbers that text takes longer than a copy."""
    return type(document) is dict and any(type(item) is list and len(item) >= _NUMBERS for item in document.values())


_known: set[str] = set()


def copied(value: Any) -> Any:
    """A copy as JSON makes it: NaN and infinities are null. NotPlainError when JSON would change it otherwise, or refuse it."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() or _is_unicode(value) else _refuse()
    if kind is dict:
        if not value.keys() <= _known:
            _learn(value)
        return {name: item if type(item) is str and item.isascii() else copied(item) for name, item in value.items()}
    if kind is list:
        return value.copy() if len(value) >= _MANY and _are_floats(value) else [copied(item) for item in value]
    if kind is float:
        return value if isfinite(value) else None
    if kind is int:
        return value if _LEAST <= value <= _LARGEST else _refuse()
    if value is None or kind is bool:
        return value
    return _refuse()


def _are_floats(values: list[Any]) -> bool:
    """Whether all items are finite floats: marshal writes "[", the length, and for each float "g" with its eight bytes."""
    if type(values[0]) is not float:
        return False
    raw = marshal.dumps(values, 2)
    return len(raw) == 5 + 9 * len(values) and raw[5::9] == b"g" * len(values) and isfinite(sum(values))


def _learn(value: dict[Any, Any]) -> None:
    for name in value:
        if type(name) is not str or not _is_unicode(name):
            _refuse()
    if len(_known) < _KEYS:
        _known.update(value)


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse() -> Any:
    raise NotPlainError
