"""What a deployment holds: databases, collections, indexes, views, analyzers. An immutable picture per catalog version."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

import orjson

from vgraph.embedded.indexes import Index, make_index

if TYPE_CHECKING:
    from vgraph.embedded.search import View

DOCUMENT: Final = 2
EDGE: Final = 3

TABLES: Final = (
    "CREATE TABLE state (id INTEGER PRIMARY KEY, catalog INTEGER NOT NULL, tick INTEGER NOT NULL, hlc INTEGER NOT NULL, "
    "server TEXT NOT NULL, secret TEXT NOT NULL)",
    "CREATE TABLE databases (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, options BLOB NOT NULL)",
    "CREATE TABLE collections (id INTEGER PRIMARY KEY, database INTEGER NOT NULL, name TEXT NOT NULL, type INTEGER NOT NULL, "
    "properties BLOB NOT NULL, externals BLOB NOT NULL, documents INTEGER NOT NULL DEFAULT 0, "
    "last_key INTEGER NOT NULL DEFAULT 0, revision INTEGER NOT NULL DEFAULT 0, UNIQUE (database, name))",
    "CREATE TABLE indexes (id INTEGER PRIMARY KEY, collection INTEGER NOT NULL, spec BLOB NOT NULL)",
    "CREATE TABLE views (id INTEGER PRIMARY KEY, database INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, "
    "properties BLOB NOT NULL, UNIQUE (database, name))",
    "CREATE TABLE analyzers (database INTEGER NOT NULL, name TEXT NOT NULL, definition BLOB NOT NULL, PRIMARY KEY (database, name))",
    "CREATE TABLE users (name TEXT PRIMARY KEY, password TEXT NOT NULL, active INTEGER NOT NULL, extra BLOB NOT NULL, "
    "grants BLOB NOT NULL)",
)


@dataclass(frozen=True, slots=True)
class External:
    """A top-level attribute whose numeric lists stand in a table of their own, outside the JSON body."""

    attribute: str
    table: str


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection as the catalog knows it; `indexes` start with the primary index."""

    id: int
    database: str
    name: str
    type: int
    properties: dict[str, Any]
    externals: tuple[External, ...]
    indexes: tuple[Index, ...]

    @property
    def is_system(self) -> bool:
        return self.name.startswith("_")

    @property
    def table(self) -> str:
        return f"d{self.id}"


@dataclass(frozen=True, slots=True)
class ViewInfo:
    """A view's row; `instance` is what searches it."""

    id: int
    database: str
    name: str
    type: str
    properties: dict[str, Any]
    instance: View


@dataclass(slots=True)
class DatabaseInfo:
    """One database by name, with everything in it by name."""

    id: int
    name: str
    options: dict[str, Any]
    collections: dict[str, CollectionInfo] = field(default_factory=dict)
    views: dict[str, ViewInfo] = field(default_factory=dict)
    analyzers: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Catalog:
    """All databases at one catalog version. Never changed once loaded."""

    version: int
    databases: dict[str, DatabaseInfo]
    collections: dict[int, CollectionInfo]


class CatalogLoader:
    """Reads catalogs; keeps index and view objects alive from one version to the next while their rows stay the same."""

    def __init__(self) -> None:
        self._indexes: WeakValueDictionary[tuple[int, str, bytes], Index] = WeakValueDictionary()
        self._views: WeakValueDictionary[tuple[int, str, bytes], View] = WeakValueDictionary()

    def load(self, connection: sqlite3.Connection, version: int) -> Catalog:
        """The catalog as the connection's snapshot sees it."""
        databases: dict[str, DatabaseInfo] = {}
        by_id: dict[int, DatabaseInfo] = {}
        for database_id, name, options in connection.execute("SELECT id, name, options FROM databases ORDER BY id"):
            by_id[database_id] = databases[name] = DatabaseInfo(database_id, name, orjson.loads(options))
        collections = self._load_collections(connection, by_id)
        self._load_views(connection, by_id)
        for database_id, name, definition in connection.execute("SELECT database, name, definition FROM analyzers"):
            by_id[database_id].analyzers[name] = orjson.loads(definition)
        return Catalog(version, databases, collections)

    def _load_collections(
        self, connection: sqlite3.Connection, databases: dict[int, DatabaseInfo]
    ) -> dict[int, CollectionInfo]:
        indexes: dict[int, list[tuple[int, bytes]]] = {}
        for index_id, collection_id, spec in connection.execute("SELECT id, collection, spec FROM indexes ORDER BY id"):
            indexes.setdefault(collection_id, []).append((index_id, spec))
        collections: dict[int, CollectionInfo] = {}
        rows = connection.execute("SELECT id, database, name, type, properties, externals FROM collections ORDER BY id")
        for collection_id, database_id, name, kind, properties, externals in rows:
            database = databases[database_id]
            info = CollectionInfo(
                collection_id,
                database.name,
                name,
                kind,
                orjson.loads(properties),
                tuple(External(attribute, table) for attribute, table in orjson.loads(externals)),
                self._collection_indexes(collection_id, kind, indexes.get(collection_id, [])),
            )
            database.collections[name] = collections[collection_id] = info
        return collections

    def _collection_indexes(self, collection_id: int, kind: int, rows: list[tuple[int, bytes]]) -> tuple[Index, ...]:
        built_in = [(0, orjson.dumps({"type": "primary", "name": "primary", "fields": ["_key"], "unique": True}))]
        if kind == EDGE:
            built_in.append((2, orjson.dumps({"type": "edge", "name": "edge", "fields": ["_from", "_to"]})))
        return tuple(self._index(collection_id, index_id, spec) for index_id, spec in [*built_in, *rows])

    def _index(self, collection_id: int, index_id: int, spec: bytes) -> Index:
        identity = (index_id, str(collection_id), spec)
        index = self._indexes.get(identity)
        if index is None:
            index = self._indexes[identity] = make_index(index_id, collection_id, orjson.loads(spec))
        return index

    def _load_views(self, connection: sqlite3.Connection, databases: dict[int, DatabaseInfo]) -> None:
        rows = connection.execute("SELECT id, database, name, type, properties FROM views ORDER BY id")
        for view_id, database_id, name, kind, properties in rows:
            database = databases[database_id]
            instance = self._view(view_id, database.name, name, kind, properties)
            database.views[name] = ViewInfo(view_id, database.name, name, kind, orjson.loads(properties), instance)

    def _view(self, view_id: int, database: str, name: str, kind: str, properties: bytes) -> View:
        from vgraph.embedded.search import View  # the search room is only opened when there is a view

        identity = (view_id, name, properties)
        view = self._views.get(identity)
        if view is None:
            view = self._views[identity] = View(view_id, database, name, kind, orjson.loads(properties))
        return view
