"""Brings users and what they may do from one ArangoDB to another.

No API tells a password, nor its hash: a user who is new at the target gets a random one that nobody knows, and is told of.
Those who are there already keep theirs.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from vgraph.errors import StoreError

if TYPE_CHECKING:
    from vgraph.store.copy import Side

ROOT: Final = "root"
EVERY: Final = "*"
UNSET: Final = "undefined"
_FORBIDDEN: Final = 11

Permissions = dict[tuple[str, str | None], str]
"""By database, and collection or None for the database itself."""


def copy_users(source: Side, target: Side, databases: Sequence[str], note: Callable[[str], None]) -> int:
    """Copy all users but root, with their permissions for these databases and for all; how many were made or changed.

    Both sides are databases `_system`. `note` is told of users without a password, and when the source keeps its users to itself.
    """
    try:
        wanted = source.get("/_api/user")["result"]
    except StoreError as error:
        if error.number != _FORBIDDEN:
            raise
        note("users were not copied: the user at the source may not list them")
        return 0
    present = {user["user"]: user for user in target.get("/_api/user")["result"]}
    changed = 0
    for user in wanted:
        name = user["user"]
        if name == ROOT:
            continue
        is_new = name not in present
        if is_new:
            _create(target, user)
            note(f"user {name} was made with a password that nobody knows: set one")
        different = _update(target, user, present[name]) if not is_new else True
        granted = _grant(source, target, name, databases)
        changed += different or granted
    return changed


def _create(target: Side, user: dict[str, Any]) -> None:
    body = {"user": user["user"], "passwd": secrets.token_urlsafe(32), "active": user["active"], "extra": user["extra"]}
    target.call("post", "/_api/user", body)


def _update(target: Side, user: dict[str, Any], there: dict[str, Any]) -> bool:
    body = {name: user[name] for name in ("active", "extra") if user[name] != there[name]}
    if body:
        target.call("patch", f"/_api/user/{quote(user['user'])}", body)
    return bool(body)


def _grant(source: Side, target: Side, user: str, databases: Sequence[str]) -> bool:
    """Give the user at the target the permissions that he has at the source; whether any differed."""
    names = {*databases, EVERY}
    wanted, present = _permissions(source, user, names), _permissions(target, user, names)
    for (database, collection), level in wanted.items():
        if present.get((database, collection)) != level:
            target.call("put", _path(user, database, collection), {"grant": level})
    for database, collection in present.keys() - wanted.keys():
        target.call("delete", _path(user, database, collection))
    return wanted != present


def _path(user: str, database: str, collection: str | None) -> str:
    parts = [user, "database", database, *(() if collection is None else (collection,))]
    return "/_api/user/" + "/".join(map(quote, parts))


def _permissions(side: Side, user: str, databases: set[str]) -> Permissions:
    """What is set, level by level; what is only inherited is not."""
    found = side.get(f"/_api/user/{quote(user)}/database", full=True)["result"]
    return dict(_levels({name: entry for name, entry in found.items() if name in databases}))


def _levels(databases: dict[str, Any]) -> Iterator[tuple[tuple[str, str | None], str]]:
    for database, entry in databases.items():
        level = entry.get("permission", UNSET)
        # for all databases, "none" is what is there when nothing is set
        if level != UNSET and (database, level) != (EVERY, "none"):
            yield (database, None), level
        for collection, level in entry.get("collections", {}).items():
            if level != UNSET and not collection.startswith("_"):
                yield (database, collection), level
