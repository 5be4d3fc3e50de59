"""Users, their passwords and grants, and the tokens they log in with.

Source: ArangoDB documentation, "HTTP interface for users" and "HTTP API authentication". Passwords are salted scrypt
hashes; tokens are JWTs (HS256, one hour). The engine runs inside its caller's process: grants are kept and answered, and
only an App that authenticates refuses anything, by database.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from vgraph.embedded.documents import merge
from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

TOKEN_SECONDS: Final = 3600
ROOT: Final = "root"
_LEVELS: Final = ("rw", "ro", "none")
_FIXED_LEVELS: Final = {"_queues": "ro", "_frontend": "rw"}
_COST: Final = {"n": 2**12, "r": 8, "p": 1}


def ensure_root(txn: Transaction) -> None:
    """The user a new file starts with: root, without a password, allowed everything."""
    _insert(txn, ROOT, "", True, {}, {"_system": {"permission": "rw"}, "*": {"permission": "rw"}})


def listed(txn: Transaction) -> list[dict[str, Any]]:
    """All users in the HTTP shape."""
    rows = txn.sql("SELECT name, active, extra FROM users ORDER BY name").fetchall()
    return [_shape(*row) for row in rows]


def get(txn: Transaction, name: str) -> dict[str, Any]:
    """One user in the HTTP shape; 1703."""
    row = txn.sql("SELECT name, active, extra FROM users WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise ArangoError(1703)
    return _shape(*row)


def _shape(name: str, active: int, extra: bytes) -> dict[str, Any]:
    return {"user": name, "active": bool(active), "extra": orjson.loads(extra)}


def create(txn: Transaction, body: dict[str, Any]) -> dict[str, Any]:
    """Create a user; 1700, 1702."""
    name = body.get("user")
    if not isinstance(name, str) or not name:
        raise ArangoError(1700)
    _check(body)
    if txn.sql("SELECT 1 FROM users WHERE name = ?", (name,)).fetchone():
        raise ArangoError(1702)
    _insert(txn, name, body.get("passwd") or "", body.get("active") is not False, body.get("extra") or {}, {})
    return get(txn, name)


def _check(body: dict[str, Any]) -> None:
    """The types of what a user is given; 10."""
    for name, kind in (("passwd", str), ("active", bool), ("extra", dict)):
        if not isinstance(body.get(name), kind | None):
            raise ArangoError(10, f"expecting {'an object' if kind is dict else f'a {kind.__name__}'} for '{name}'")


def _insert(txn: Transaction, name: str, password: str, active: bool, extra: Any, grants: Any) -> None:
    row = (name, _hashed(password), active, orjson.dumps(extra), orjson.dumps(grants))
    txn.sql("INSERT INTO users VALUES (?, ?, ?, ?, ?)", row)


def change(txn: Transaction, name: str, body: dict[str, Any], *, replace: bool) -> dict[str, Any]:
    """Change (PATCH) or replace (PUT) a user; 1703."""
    present = get(txn, name)
    _check(body)
    if "passwd" in body or replace:
        txn.sql("UPDATE users SET password = ? WHERE name = ?", (_hashed(body.get("passwd") or ""), name))
    active = body.get("active")
    if active is None:
        active = replace or present["active"]
    extra = (
        body.get("extra")
        if replace
        else merge(present["extra"], body.get("extra") or {}, keep_null=True, merge_objects=True)
    )
    txn.sql("UPDATE users SET active = ?, extra = ? WHERE name = ?", (bool(active), orjson.dumps(extra or {}), name))
    return get(txn, name)


def remove(txn: Transaction, name: str) -> None:
    """Remove a user; 1703."""
    get(txn, name)
    txn.sql("DELETE FROM users WHERE name = ?", (name,))


# -- grants ---------------------------------------------------------------------------------------------------------


def grants(txn: Transaction, name: str) -> dict[str, Any]:
    """{database | "*": {permission, collections: {collection | "*": permission}}}; 1703."""
    row = txn.sql("SELECT grants FROM users WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise ArangoError(1703)
    result: dict[str, Any] = orjson.loads(row[0])
    return result


def grant(txn: Transaction, name: str, database: str, collection: str | None, level: Any) -> None:
    """Set (or with None clear) a permission; 10, 1228, 1203, 1703."""
    if level is not None and level not in _LEVELS:
        raise ArangoError(10, "expecting grant to be one of rw, ro, none")
    held = grants(txn, name)
    entry = held.setdefault(database, {})
    if collection is None:
        _set(entry, "permission", level)
    else:
        _set(entry.setdefault("collections", {}), collection, level)
    if not entry.get("permission") and not entry.get("collections"):
        del held[database]
    txn.sql("UPDATE users SET grants = ? WHERE name = ?", (orjson.dumps(held), name))


def _set(entry: dict[str, Any], name: str, level: Any) -> None:
    if level is None:
        entry.pop(name, None)
    else:
        entry[name] = level


def database_level(held: dict[str, Any], database: str) -> str:
    """The permission for a database: its own, or the one for all."""
    for name in (database, "*"):
        level = held.get(name, {}).get("permission")
        if level:
            return str(level)
    return "none"


def collection_level(held: dict[str, Any], database: str, collection: str) -> str:
    """The permission for a collection: its own, its database's for all collections, or its database's.

    System collections follow the database, except those whose permission is the same for everybody.
    """
    if collection.startswith("_"):
        if (database, collection) == ("_system", "_users"):
            return "none"
        return _FIXED_LEVELS.get(collection) or database_level(held, database)
    for entry in (held.get(database, {}), held.get("*", {})):
        collections = entry.get("collections", {})
        for name in (collection, "*"):
            if name in collections:
                return str(collections[name])
    return database_level(held, database)


# -- passwords and tokens -------------------------------------------------------------------------------------------


def _hashed(password: str) -> str:
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}${hashlib.scrypt(password.encode(), salt=salt, **_COST).hex()}"


def check_password(txn: Transaction, name: Any, password: Any) -> bool:
    """Whether an active user of this name has this password."""
    if not isinstance(name, str) or not isinstance(password, str):
        return False
    row = txn.sql("SELECT password FROM users WHERE name = ? AND active", (name,)).fetchone()
    if row is None:
        return False
    salt, _, expected = row[0].partition("$")
    given = hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), **_COST).hex()
    return hmac.compare_digest(given, expected)


def token(txn: Transaction, name: str) -> str:
    """A JWT for a user, valid for one hour."""
    now = time.time()
    claims = {"preferred_username": name, "iss": "arangodb", "iat": int(now), "exp": int(now) + TOKEN_SECONDS}
    signed = f"{_base64(orjson.dumps({'alg': 'HS256', 'typ': 'JWT'}))}.{_base64(orjson.dumps(claims))}"
    return f"{signed}.{_signature(txn.engine.secret, signed)}"


def token_user(secret: str, text: str) -> str | None:
    """The user of a valid token, else None."""
    signed, _, signature = text.rpartition(".")
    if not hmac.compare_digest(_signature(secret, signed), signature):
        return None
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(signed.partition(".")[2] + "=="))
    except ValueError:
        return None
    if claims.get("exp", float("inf")) <= time.time():
        return None
    superuser = "server_id" in claims  # a token that somebody made who knows the secret
    return str(claims.get("preferred_username", ROOT)) if superuser or "preferred_username" in claims else None


def _signature(secret: str, signed: str) -> str:
    return _base64(hmac.digest(secret.encode(), signed.encode(), "sha256"))


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
