"""Finds what makes a query invalid or different on another ArangoDB: valid on 3.12 and of the same meaning on 4.x.

    for finding in lint(text): print(finding)

Rules: `parse` (not valid on 3.12 at all), `plus` (+ with a string concatenates on 4.x), `word` (a name that is a keyword later),
`key` (an attribute twice in an object literal: the first counts on 3.12, the last on 4.x), `option` (bfs and overwrite are
gone), `function` (removed functions, functions in JavaScript), `with` (a traversal without a leading WITH fails in a cluster).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from ..errors import ArangoError
from .nodes import (
    Attribute,
    Binary,
    Call,
    Expr,
    Insert,
    Let,
    Literal,
    Node,
    ObjectEntry,
    ObjectLiteral,
    Parsed,
    ShortestPath,
    Ternary,
    Traverse,
    Variable,
    walk,
)
from .parser import Parser
from .tokens import Source, tokenize, words

KEYWORDS_LATER: Final = frozenset(words("MATCH SCAN FOLD WHILE UNTIL INNER_JOIN LEFT_JOIN RIGHT_JOIN OUTER_JOIN"))
REMOVED: Final = frozenset(words("FULLTEXT NEAR WITHIN WITHIN_RECTANGLE V8"))
STRINGS: Final = frozenset(
    words(
        "CONCAT CONCAT_SEPARATOR TO_STRING TYPENAME SUBSTRING SUBSTRING_BYTES LEFT RIGHT LOWER UPPER TRIM LTRIM RTRIM "
        "SUBSTITUTE REGEX_REPLACE REPEAT TO_CHAR TO_HEX TO_BASE64 ENCODE_URI_COMPONENT SOUNDEX MD5 SHA1 SHA256 SHA512 "
        "CRC32 FNV64 UUID RANDOM_TOKEN JSON_STRINGIFY BIT_TO_STRING IPV4_FROM_NUMBER PARSE_KEY PARSE_COLLECTION VERSION "
        "CURRENT_USER CURRENT_DATABASE DATE_ISO8601 DATE_FORMAT DATE_ADD DATE_SUBTRACT DATE_TRUNC DATE_ROUND "
        "DATE_UTCTOLOCAL DATE_LOCALTOUTC DATE_TIMEZONE"
    )
)
"""Functions whose result is a string."""
STRING_ATTRIBUTES: Final = frozenset(words("_id _key _rev _from _to"))


class Finding(NamedTuple):
    """One thing to change, and where it stands (line and column from 1)."""

    rule: str
    message: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.rule}: {self.message}"


def lint(text: str) -> list[Finding]:
    """All findings in a query, in order of place; an empty list is a clean query."""
    try:
        parser = _KeyListener(text)
        parsed = parser.parse()
    except ArangoError as error:
        return [Finding("parse", error.message, 1, 1)]
    found = [finding for check in _CHECKS for finding in check(parsed)]
    return sorted(found + parser.doubled, key=lambda finding: (finding.line, finding.column))


class _KeyListener(Parser):
    """The parser, noting what it drops: of equal keys in an object literal the tree has the first only."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.doubled: list[Finding] = []
        self._open: list[set[str]] = []

    def object(self) -> ObjectLiteral:
        self._open.append(set())
        try:
            return super().object()
        finally:
            self._open.pop()

    def _entry(self) -> ObjectEntry:
        entry = super()._entry()
        if isinstance(entry.key, str):
            if entry.key in self._open[-1]:
                message = f'attribute "{entry.key}" twice (3.12 keeps the first, 4.x the last)'
                self.doubled.append(_at(entry, "key", message))
            self._open[-1].add(entry.key)
        return entry


def _at(node: Node, rule: str, message: str) -> Finding:
    return Finding(rule, message, *node.at)


def _plus(parsed: Parsed) -> Iterator[Finding]:
    values = {node.variable: node.value for node in walk(parsed.query) if isinstance(node, Let)}
    for node in walk(parsed.query):
        if (
            isinstance(node, Binary)
            and node.op == "+"
            and (_is_string(node.left, values) or _is_string(node.right, values))
        ):
            yield _at(node, "plus", "+ with a string: use CONCAT (4.x concatenates, 3.12 adds numbers)")


def _is_string(expr: Expr, values: dict[Variable, Expr], seen: frozenset[Variable] = frozenset()) -> bool:
    """Whether an expression is certainly a string."""
    match expr:
        case Literal(value):
            return isinstance(value, str)
        case Call(name):
            return name in STRINGS
        case Attribute(_, name):
            return name in STRING_ATTRIBUTES
        case Binary("+", left, right):
            return _is_string(left, values, seen) or _is_string(right, values, seen)
        case Ternary(_, then, otherwise):
            return _is_string(otherwise, values, seen) and (then is None or _is_string(then, values, seen))
        case Variable() if expr in values and expr not in seen:
            return _is_string(values[expr], values, seen | {expr})
        case _:
            return False


def _words(parsed: Parsed) -> Iterator[Finding]:
    source = Source(parsed.text)
    for token in tokenize(source):
        quoted = parsed.text[token.start : token.start + 1] in "`´"
        if token.kind == "IDENT" and not quoted and token.value.upper() in KEYWORDS_LATER:
            yield Finding(
                "word", f"{token.value} is a keyword later: rename or quote it", *source.position(token.start)
            )


def _options(parsed: Parsed) -> Iterator[Finding]:
    for node in walk(parsed.query):
        if isinstance(node, Traverse | Insert) and isinstance(node.options, ObjectLiteral):
            gone, instead = ("bfs", 'order: "bfs"') if isinstance(node, Traverse) else ("overwrite", "overwriteMode")
            if node.options.get(gone) is not None:
                yield _at(node.options, "option", f"{gone} is gone in 4.x: use {instead}")


def _functions(parsed: Parsed) -> Iterator[Finding]:
    for node in walk(parsed.query):
        if isinstance(node, Call) and (node.name in REMOVED or "::" in node.name):
            yield _at(node, "function", f"{node.name} is gone in 4.x")


def _with(parsed: Parsed) -> Iterator[Finding]:
    if parsed.query.withs:
        return
    for node in walk(parsed.query):
        if isinstance(node, Traverse | ShortestPath):
            yield _at(node, "with", "a traversal needs a leading WITH that names its vertex collections")
            return


_CHECKS: Final[tuple[Callable[[Parsed], Iterator[Finding]], ...]] = (_plus, _words, _options, _functions, _with)
