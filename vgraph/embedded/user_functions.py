"""User-defined AQL functions: registered, listed and removed as on a server, but never run: there is no JavaScript here.

Source: ArangoDB documentation, "User-defined AQL functions HTTP API". A call of one in a query is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS user_functions (database TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, "
    "code TEXT NOT NULL, deterministic INTEGER NOT NULL, PRIMARY KEY (database, id))"
)
_NAME: Final = re.compile(r"[a-zA-Z0-9_]+(::[a-zA-Z0-9_]+)+")
_TOKEN: Final = re.compile(
    r"""(?P<skip>[ \t\r]+|//[^\n]*|/\*.*?\*/)|(?P<line>\n)|(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|\d[\w.]*)"""
    r"""|(?P<name>[A-Za-z_$][\w$]*)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<mark>.)""",
    re.DOTALL,
)
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_WORDS: Final = frozenset(
    [
        *("async", "await", "break", "case", "catch", "class", "const", "continue", "default", "delete", "do", "else"),
        *("extends", "finally", "for", "function", "get", "if", "import", "in", "instanceof", "let", "new", "of"),
        *("return", "set", "static", "super", "switch", "throw", "try", "typeof", "var", "void", "while", "with"),
        "yield",
    ]
)


def create(txn: Transaction, body: dict[str, Any]) -> bool:
    """Register a function or replace one, and say whether it is new; 1580, 1581."""
    name, code = body.get("name"), body.get("code")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArangoError(1580)
    if not isinstance(code, str) or not is_function(code):
        raise ArangoError(1581)
    txn.sql(_TABLE)
    key = (txn.database, name.upper())
    new = txn.sql("SELECT 1 FROM user_functions WHERE database = ? AND id = ?", key).fetchone() is None
    row = (*key, name, code, bool(body.get("isDeterministic")))
    txn.sql("INSERT OR REPLACE INTO user_functions VALUES (?, ?, ?, ?, ?)", row)
    return new


def listed(txn: Transaction, namespace: str = "") -> list[dict[str, Any]]:
    """The functions of the database, or those under a namespace."""
    if not _exist(txn):
        return []
    rows = txn.sql(
        "SELECT id, name, code, deterministic FROM user_functions WHERE database = ? ORDER BY id", (txn.database,)
    ).fetchall()
    return [
        {"name": name, "code": code, "isDeterministic": bool(deterministic)}
        for identity, name, code, deterministic in rows
        if identity.startswith(namespace.upper())
    ]


def remove(txn: Transaction, name: str, *, group: bool) -> int:
    """Remove a function, or with `group` all under a namespace; how many were removed; 1580, 1582."""
    if not _NAME.fullmatch(name if not group else name + "::x"):
        raise ArangoError(1580)
    if not _exist(txn):
        if group:
            return 0
        raise _missing(name)
    if group:
        prefix = name.upper() + "::"
        where, values = "substr(id, 1, ?) = ?", (len(prefix), prefix)
        return txn.sql(f"DELETE FROM user_functions WHERE database = ? AND {where}", (txn.database, *values)).rowcount
    removed = txn.sql("DELETE FROM user_functions WHERE database = ? AND id = ?", (txn.database, name.upper())).rowcount
    if not removed:
        raise _missing(name)
    return removed


def _missing(name: str) -> ArangoError:
    return ArangoError(1582, f"no AQL user function with name '{name}' found")


def is_function(code: str) -> bool:
    """Whether a text may be a JavaScript function: brackets match, and nowhere do two operands stand side by side."""
    if not re.match(r"\s*\(?\s*(async\s+)?(function\b|\(|[A-Za-z_$][\w$]*\s*=>)", code):
        return False
    opened: list[str] = []
    operand = False
    for token in _TOKEN.finditer(code):
        kind, text = token.lastgroup, token.group()
        if kind == "skip":
            continue
        if kind == "open":
            opened.append(text)
        elif kind == "close" and (not opened or opened.pop() != _PAIRS[text]):
            return False
        is_operand = kind == "value" or (kind == "name" and text not in _WORDS)
        if operand and is_operand:
            return False
        operand = is_operand
    return not opened


def _exist(txn: Transaction) -> bool:
    """Whether the file has any: the table is made with the first."""
    return txn.sql("SELECT 1 FROM sqlite_master WHERE name = 'user_functions'").fetchone() is not None
