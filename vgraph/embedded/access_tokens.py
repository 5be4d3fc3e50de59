"""Access tokens: long-lived stand-ins for a user's password.

Source: ArangoDB documentation, "Authentication HTTP API" (access tokens). The file holds a token's hash only; the token
itself, which names its user, is told once.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from vgraph.embedded import users
from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

_VERSION: Final = "v1"
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS access_tokens (id INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, name TEXT NOT NULL, "
    "valid_until INTEGER NOT NULL, created_at INTEGER NOT NULL, fingerprint TEXT NOT NULL, hash BLOB NOT NULL, "
    "UNIQUE (user, name))"
)
_YEAR: Final = 365 * 24 * 3600
_COLUMNS: Final = "id, name, valid_until, created_at, fingerprint"


def create(txn: Transaction, user: str, body: dict[str, Any]) -> dict[str, Any]:
    """Make a token, valid for a year unless it says until when; 10, 1702 (a name used twice), 1703."""
    users.get(txn, user)
    now = int(time.time())
    name, valid_until = body.get("name"), body.get("valid_until", now + _YEAR)
    if not isinstance(name, str) or not name:
        raise ArangoError(10, "expecting a string for 'name'")
    if isinstance(valid_until, bool) or not isinstance(valid_until, int):
        raise ArangoError(10, "expecting an integer for 'valid_until'")
    txn.sql(_TABLE)
    token = _make(user, now, valid_until)
    row = (user, name, valid_until, now, f"{_VERSION}...{token[-6:]}", _hash(token))
    try:
        cursor = txn.sql(
            "INSERT INTO access_tokens (user, name, valid_until, created_at, fingerprint, hash) VALUES (?, ?, ?, ?, ?, ?)",
            row,
        )
    except sqlite3.IntegrityError:
        raise ArangoError(1702, f"duplicate access token name '{name}'", status=409) from None
    return {**_shape(cursor.lastrowid, *row[1:5]), "token": token}


def _make(user: str, created_at: int, valid_until: int) -> str:
    said = orjson.dumps({"u": user, "c": created_at, "e": valid_until})
    return f"{_VERSION}.{said.hex()}.{secrets.token_hex(16)}"


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _shape(number: int | None, name: str, valid_until: int, created_at: int, fingerprint: str) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "valid_until": valid_until,
        "created_at": created_at,
        "fingerprint": fingerprint,
        "active": valid_until > time.time(),
    }


def listed(txn: Transaction, user: str) -> list[dict[str, Any]]:
    """The tokens of a user, without the tokens themselves; 1703."""
    users.get(txn, user)
    if not _exist(txn):
        return []
    rows = txn.sql(f"SELECT {_COLUMNS} FROM access_tokens WHERE user = ? ORDER BY id", (user,)).fetchall()
    return [_shape(*row) for row in rows]


def remove(txn: Transaction, user: str, number: str) -> None:
    """Revoke a token; 1703, 404."""
    users.get(txn, user)
    if _exist(txn) and number.isascii() and number.isdigit():
        row = (user, min(int(number), 2**63 - 1))
        if txn.sql("DELETE FROM access_tokens WHERE user = ? AND id = ?", row).rowcount:
            return
    raise ArangoError(404, "access token not found")


def forget(txn: Transaction, user: str) -> None:
    """Revoke all tokens of a user."""
    if _exist(txn):
        txn.sql("DELETE FROM access_tokens WHERE user = ?", (user,))


def owner(txn: Transaction, name: str, token: str) -> str | None:
    """The active user of a valid token; a name given with it has to be his."""
    if not token.startswith(f"{_VERSION}.") or not _exist(txn):
        return None
    given = _hash(token)
    rows = txn.sql(
        "SELECT user, hash FROM access_tokens JOIN users ON users.name = user WHERE active AND valid_until > ? AND hash = ?",
        (time.time(), given),
    ).fetchall()
    found = next((user for user, known in rows if hmac.compare_digest(known, given)), None)
    return found if name in ("", found) else None


def _exist(txn: Transaction) -> bool:
    """Whether the file has any: the table is made with the first."""
    return txn.sql("SELECT 1 FROM sqlite_master WHERE name = 'access_tokens'").fetchone() is not None
