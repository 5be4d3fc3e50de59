"""LIKE patterns and regular expressions, compiled and kept (ArangoDB documentation, "String functions in AQL").

The server's expressions are ICU's. The package `regex` agrees on what the documentation lists; what it reads differently
(operations on character sets, names of characters) is refused, not approximated. It is given a time to end in, since an
expression may take longer than anybody waits.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ...errors import ArangoError, unsupported

if TYPE_CHECKING:
    from ..runtime import Runtime

_ICU_ONLY: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[NhHQEGzZ]|\[[^\]\\]*(?:\[|&&|--))")
_LINE_END: Final = r"\n\x0b\x0c\r\x85\u2028\u2029"
# What ICU and Python read differently outside of character sets: every line end stops a dot, and $ stands before one.
_TRANSLATED: Final = {".": f"[^{_LINE_END}]", "$": rf"(?=(?:\r\n|[{_LINE_END}])?\Z)"}
_PART: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d)|\$\{(\w+)\}", re.DOTALL)
_REPEATED: Final = re.compile(r"[*+}]")
_SHORT: Final = 1000
_SECONDS: Final = 5.0


def like_parts(pattern: str, *, search: bool = False) -> tuple[str, str]:
    """A LIKE pattern's literal beginning, and the regular expression for all of it.

    ``_`` stands for one character, ``%`` for any number, a backslash takes their meaning away; at the end it stands for
    nothing, and before another character for itself, which in a `search` it does not. Each piece between two
    ``%`` is taken where it first fits and never tried again, so that matching takes no longer than pattern times text.
    """
    pieces: list[list[str]] = [[]]
    prefix: list[str] = []
    literal = True
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char in "%_":
            literal = False
            if char == "_":
                pieces[-1].append(".")
            elif pieces[-1] or len(pieces) == 1:
                pieces.append([])
        else:
            if char == "\\":
                if position + 1 == len(pattern):
                    break
                if search or pattern[position + 1] in "%_\\":
                    position += 1
                    char = pattern[position]
            pieces[-1].append(re.escape(char))
            if literal:
                prefix.append(char)
        position += 1
    first, *rest = ("".join(piece) for piece in pieces)
    middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1])
    return "".join(prefix), f"{first}{middle}.*{rest[-1]}" if rest else first


@lru_cache(maxsize=1024)
def like(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """The compiled LIKE pattern, for fullmatch."""
    return re.compile(like_parts(pattern)[1], re.DOTALL | (re.IGNORECASE if ignore_case else 0))


class Regex:
    """A compiled expression whose methods end in time: at the query's deadline or after a few seconds (1560 and None)."""

    __slots__ = ("_compiled", "_simple")

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self._simple = len(_REPEATED.findall(compiled.pattern)) < 2

    def run(self, rt: Runtime, method: str, *args: Any, text: str) -> Any:
        """`search`, `split` or `sub` of the package, with the text as its last argument."""
        call = getattr(self._compiled, method)
        if self._simple and len(text) < _SHORT:
            return call(*args, text)
        seconds = rt.seconds_left
        try:
            return call(*args, text, timeout=_SECONDS if seconds is None else min(seconds, _SECONDS))
        except TimeoutError:
            rt.check()
            raise ArangoError(1500, "regular expression: time limit exceeded") from None


@cache
def _package() -> Any:
    return import_module("regex")


@lru_cache(maxsize=1024)
def regex(pattern: str, ignore_case: bool) -> Regex | None:
    """The compiled expression, None when it is not one."""
    if _ICU_ONLY.search(pattern):
        raise unsupported(f"regular expression '{pattern}'")
    package = _package()
    translated = _PART.sub(lambda part: _TRANSLATED.get(part.group(), part.group()), pattern)
    try:
        return Regex(package.compile(translated, package.VERSION0 | (package.IGNORECASE if ignore_case else 0)))
    except (package.error, OverflowError, RecursionError):
        return None


def replacement(text: str, match: Any) -> str:
    """A replacement text with ``$1`` and backslash escapes resolved."""

    def resolve(reference: re.Match[str]) -> str:
        escaped, number, name = reference.groups()
        if escaped is not None:
            return str(escaped)
        try:
            return match.group(int(number) if number is not None else name) or ""
        except (IndexError, _package().error):
            return ""

    return _REFERENCE.sub(resolve, text)
