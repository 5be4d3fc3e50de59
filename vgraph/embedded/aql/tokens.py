"""AQL's words: text -> list of tokens (ArangoDB documentation, "AQL Syntax").

`kind` is a keyword in capitals, a punctuation mark as written, or one of IDENT, STRING, INTEGER, DOUBLE, BIND,
SOURCE_BIND, END. Words that have a meaning in one place only (SEARCH, OPTIONS, PRUNE, KEEP, COUNT, TO) are identifiers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, Final, NamedTuple

from ..errors import ArangoError


def words(text: str) -> list[str]:
    """A list of words, written as one text."""
    return text.split()


KEYWORDS: Final = frozenset(
    words(
        "FOR LET FILTER RETURN COLLECT SORT LIMIT WINDOW DISTINCT AGGREGATE ASC DESC NOT AND OR IN INTO WITH REMOVE "
        "INSERT UPDATE REPLACE UPSERT GRAPH SHORTEST_PATH K_SHORTEST_PATHS ALL_SHORTEST_PATHS K_PATHS OUTBOUND "
        "INBOUND ANY ALL NONE LIKE NULL TRUE FALSE"
    )
)

MAX_INTEGER: Final = 2**63 - 1
_NEAR: Final = 32  # characters of the query that an error message quotes

_TOKEN: Final = re.compile(
    r"""
    (?P<space>[ \t\r\n\f\v\ufeff]+ | //[^\n]* | /\*.*?\*/)
  | (?P<unclosed_comment>/\*)
  | (?P<double>(?:(?:0|[1-9][0-9]*)?\.[0-9]+(?:[eE][-+]?[0-9]+)? | (?:0|[1-9][0-9]*)[eE][-+]?[0-9]+))
  | (?P<based>0[bB][01]+ | 0[xX][0-9a-fA-F]+)
  | (?P<integer>0|[1-9][0-9]*)
  | (?P<not_in>(?:[nN][oO][tT][ \t\r\n\f\v]+|![ \t\r\n\f\v]*)[iI][nN](?![a-zA-Z0-9_]))
  | (?P<at_least>[aA][tT][ \t\r\n\f\v]+[lL][eE][aA][sS][tT](?![a-zA-Z0-9_]))
  | (?P<word>(?:\$?[a-zA-Z]|_+[a-zA-Z])[a-zA-Z0-9_]*)
  | (?P<quoted>`[^`\\]*(?:\\.[^`\\]*)*` | ´[^´\\]*(?:\\.[^´\\]*)*´)
  | (?P<string>"[^"\\]*(?:\\.[^"\\]*)*" | '[^'\\]*(?:\\.[^'\\]*)*')
  | (?P<unclosed>[`´"'])
  | (?P<bind>@@?_*[a-zA-Z0-9][a-zA-Z0-9_]*)
  | (?P<mark>=~ | !~ | == | != | <= | >= | && | \|\| | \.\. | :: | [=<>!+\-*/%?:.,(){}\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

# What the server's messages call a token; anything else is a keyword or stands for itself.
_NAMES: Final = {
    "IDENT": "identifier",
    "STRING": "quoted string",
    "INTEGER": "integer number",
    "DOUBLE": "number",
    "BIND": "bind parameter",
    "SOURCE_BIND": "bind data source parameter",
    "END": "end of query string",
    "=": "assignment",
    "!": "not operator",
    "NOT": "not operator",
    "AND": "and operator",
    "OR": "or operator",
    "NOT IN": "not in operator",
    "AT LEAST": "at least modifier",
    "LIKE": "like operator",
    "NULL": "null",
    "TRUE": "true",
    "FALSE": "false",
    "DISTINCT": "distinct modifier",
    **{word: f"{word} declaration" for word in words("FOR LET FILTER RETURN COLLECT SORT LIMIT WINDOW")},
    **{word: f"{word} command" for word in words("REMOVE INSERT UPDATE REPLACE UPSERT")},
    **{word: f"{word.lower()} modifier" for word in words("OUTBOUND INBOUND ANY ALL NONE")},
    **{mark: f"{mark} operator" for mark in words("== != < <= > >= + - * / % =~ !~")},
    **{mark: mark for mark in words("? : :: .. . , ( ) { } [ ]")},
}


class Token(NamedTuple):
    """One word; `start` is its offset in the text."""

    kind: str
    value: Any
    start: int


class Source:
    """A query's text, which turns offsets into positions and knows how to complain."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines: list[int] | None = None

    def position(self, offset: int) -> tuple[int, int]:
        """(line, column), both from 1."""
        if self._lines is None:
            self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def error(self, offset: int, what: str, num: int = 1501) -> ArangoError:
        """An error that quotes the place, as the server words it."""
        rest = self.text[offset : offset + _NEAR]
        dots = "..." if offset + _NEAR < len(self.text) else ""
        line, column = self.position(offset)
        return ArangoError(num, f"{what} near '{rest}{dots}' at position {line}:{column}")

    def unexpected(self, token: Token) -> ArangoError:
        """A syntax error at a token."""
        name = _NAMES.get(token.kind, f"{token.kind} keyword")
        return self.error(token.start, f"syntax error, unexpected {name}")


def tokenize(source: Source) -> list[Token]:
    """All tokens, END last. Numbers out of double's range become a DOUBLE token of value None.

    END is put where the last token or space before it begins, as the server's messages have it.
    """
    text, offset, last = source.text, 0, 0
    found: list[Token] = []
    append = found.append
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            raise source.error(offset, f"syntax error, unexpected character '{text[offset]}'")
        kind = match.lastgroup
        if kind != "space":
            append(_token(source, str(kind), match.group(), offset))
        last, offset = offset, match.end()
    append(Token("END", None, last))
    return found


def _token(source: Source, kind: str, text: str, start: int) -> Token:
    match kind:
        case "word":
            upper = text.upper()
            return Token(upper, text, start) if upper in KEYWORDS else Token("IDENT", text, start)
        case "mark":
            return Token({"&&": "AND", "||": "OR"}.get(text, text), text, start)
        case "integer":
            return _integer(text, start)
        case "string":
            return Token("STRING", unescape(text[1:-1]), start)
        case "bind":
            return Token("SOURCE_BIND", text[2:], start) if text[1] == "@" else Token("BIND", text[1:], start)
        case "double":
            return _double(text, start)
        case "not_in":
            return Token("NOT IN", text, start)
        case "at_least":
            return Token("AT LEAST", text, start)
        case "quoted":
            return Token("IDENT", unescape(text[1:-1]), start)
        case "based":
            return _based(source, text, start)
        case "unclosed_comment":
            raise source.error(len(source.text), "syntax error, unterminated multi-line comment")
        case _:
            raise source.error(len(source.text), "syntax error, unterminated quoted literal")


def _integer(text: str, start: int) -> Token:
    if len(text) <= 19:
        value = int(text)
        if value <= MAX_INTEGER:
            return Token("INTEGER", value, start)
    return _double(text, start)


def _double(text: str, start: int) -> Token:
    value = float(text)
    return Token("DOUBLE", None if value in (float("inf"), float("-inf")) else value, start)


def _based(source: Source, text: str, start: int) -> Token:
    """``0b…`` and ``0x…``, up to 32 bits."""
    digits, base = text[2:], 2 if text[1] in "bB" else 16
    if len(digits) > (32 if base == 2 else 8):
        raise source.error(start, "syntax error, number literal too long")
    return Token("INTEGER", int(digits, base), start)


def unescape(text: str) -> str:
    r"""Resolve backslash escapes; an unknown one stands for the character itself, half a surrogate pair for U+FFFD."""
    if "\\" in text:
        text = _ESCAPE.sub(_escaped, text)
    if any("\ud800" <= char <= "\udfff" for char in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _escaped(match: re.Match[str]) -> str:
    code, char = match.groups()
    return chr(int(code, 16)) if code else _SHORT.get(char, char)
