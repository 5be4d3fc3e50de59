"""Analyzers in the catalog: those of a database beside those built in."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction


def find(txn: Transaction, name: str) -> Any:
    """The analyzer object of a name (own, `db::name` or built in), or None."""
    from vgraph.embedded import search

    database, local = _split(txn, name)
    definition = search.BUILTIN_ANALYZERS.get(local) if "::" not in name else None
    if definition is None:
        info = txn.catalog.databases.get(database)
        definition = info.analyzers.get(local) if info and database in (txn.database, "_system") else None
    return None if definition is None else _made(orjson.dumps(definition))


@lru_cache(maxsize=256)
def _made(definition: bytes) -> Any:
    from vgraph.embedded import search

    return search.make_analyzer(orjson.loads(definition))


def _split(txn: Transaction, name: str) -> tuple[str, str]:
    database, separator, local = name.partition("::")
    if not separator:
        return txn.database, name
    return database or "_system", local


def definitions(txn: Transaction) -> list[dict[str, Any]]:
    """All analyzers the database can use, built-in ones first, in the HTTP shape."""
    from vgraph.embedded import search

    built_in = [{"name": name, **item} for name, item in search.BUILTIN_ANALYZERS.items()]
    databases = ("_system",) if txn.database == "_system" else ("_system", txn.database)
    own = [
        {"name": f"{database}::{name}", **item}
        for database in databases
        for name, item in txn.catalog.databases[database].analyzers.items()
    ]
    return built_in + own


def get(txn: Transaction, name: str) -> dict[str, Any]:
    """One analyzer in the HTTP shape; 404."""
    full = name if "::" in name else f"{txn.database}::{name}"
    for definition in definitions(txn):
        if definition["name"] in (name, full):
            return definition
    raise ArangoError(1202, f"unable to find analyzer '{name}'")


def create(txn: Transaction, body: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """(definition, newly created); 10 when it is wrong or differs from the one of that name."""
    from vgraph.embedded import search

    name = body.get("name")
    if not isinstance(name, str):
        raise ArangoError(10, "invalid 'name' attribute: expecting body to be of the form { name: <string>, … }")
    database, local = _split(txn, name)
    if database != txn.database:
        raise ArangoError(11, "Database in analyzer name does not match current database")
    definition = search.normalise_analyzer(local, body.get("type"), body.get("properties"), body.get("features"))
    definition.pop("name", None)
    if local in search.BUILTIN_ANALYZERS:
        raise ArangoError(10, f"cannot replace the built-in analyzer '{local}'")
    shape = {"name": f"{txn.database}::{local}", **definition}
    present = txn.database_info.analyzers.get(local)
    if present is not None:
        if present != definition:
            raise ArangoError(10, f"name collision detected while registering analyzer '{name}'")
        return shape, False
    txn.sql("INSERT INTO analyzers VALUES (?, ?, ?)", (txn.database_info.id, local, orjson.dumps(definition)))
    txn.catalog_changed()
    return shape, True


def drop(txn: Transaction, name: str, *, force: bool) -> str:
    """Remove an analyzer of the database; 409 while something uses it, unless forced. Gives its full name."""
    database, local = _split(txn, name)
    if local not in txn.database_info.analyzers or database != txn.database:
        raise ArangoError(1202, f"failure while removing analyzer '{name}': not found")
    full = f"{txn.database}::{local}"
    if not force and _in_use(txn, {local, full}):
        raise ArangoError(28, f"analyzer in-use while removing arangosearch analyzer '{full}'", status=409)
    txn.sql("DELETE FROM analyzers WHERE database = ? AND name = ?", (txn.database_info.id, local))
    txn.catalog_changed()
    return full


def _in_use(txn: Transaction, known_as: set[str]) -> bool:
    views = [view.properties for view in txn.database_info.views.values()]
    specs = [index.spec for info in txn.collections() for index in info.indexes]
    return any(_mentions(item, known_as) for item in (*views, *specs))


def _mentions(value: Any, known_as: set[str]) -> bool:
    if isinstance(value, str):
        return value in known_as
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_mentions(item, known_as) for item in items)
