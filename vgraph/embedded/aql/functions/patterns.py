"""LIKE patterns and regular expressions, compiled and kept (ArangoDB documentation, "String functions in AQL").

The server's expressions are ICU's. Python's `re` agrees on what the documentation lists; what it lacks (Unicode
properties, operations on character sets) is refused, not approximated.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ...errors import unsupported

_ICU_ONLY: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[pPXNhHRQEGzZ]|\[[^\]\\]*(?:\[|&&|--))")
_LINE_END: Final = r"\n\x0b\x0c\r\x85\u2028\u2029"
# What ICU and Python read differently outside of character sets: every line end stops a dot, and $ stands before one.
_TRANSLATED: Final = {".": f"[^{_LINE_END}]", "$": rf"(?=(?:\r\n|[{_LINE_END}])?\Z)"}
_PART: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d)|\$\{(\w+)\}", re.DOTALL)


@lru_cache(maxsize=1024)
def like(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """``_`` stands for one character, ``%`` for any number, a backslash takes their meaning away."""
    parts: list[str] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\" and position + 1 < len(pattern) and pattern[position + 1] in "%_\\":
            position += 1
            parts.append(re.escape(pattern[position]))
        elif char == "%":
            parts.append(".*")
        elif char == "_":
            parts.append(".")
        else:
            parts.append(re.escape(char))
        position += 1
    return re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


@lru_cache(maxsize=1024)
def regex(pattern: str, ignore_case: bool) -> re.Pattern[str] | None:
    """The compiled expression, None when it is not one."""
    if _ICU_ONLY.search(pattern):
        raise unsupported(f"regular expression '{pattern}'")
    try:
        re.compile(pattern)
        translated = _PART.sub(lambda part: _TRANSLATED.get(part.group(), part.group()), pattern)
        return re.compile(translated, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError):
        return None


def replacement(text: str, match: re.Match[str]) -> str:
    """A replacement text with ``$1`` and backslash escapes resolved."""

    def resolve(reference: re.Match[str]) -> str:
        escaped, number, name = reference.groups()
        if escaped is not None:
            return str(escaped)
        try:
            return match.group(int(number) if number is not None else name) or ""
        except (IndexError, re.error):
            return ""

    return _REFERENCE.sub(resolve, text)
