"""Changes of the catalog: databases, collections, indexes. Each runs inside a transaction and is undone with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from vgraph.embedded import documents, externals, keys, names
from vgraph.embedded.catalog import DOCUMENT, EDGE, CollectionInfo
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.indexes import BUILT_IN, EdgeIndex, Index, kind_of

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

SYSTEM_COLLECTIONS: Final = (
    "_analyzers",
    "_appbundles",
    "_apps",
    "_aqlfunctions",
    "_frontend",
    "_graphs",
    "_jobs",
    "_queues",
)
_ONLY_IN_SYSTEM: Final = ("_users", "_statistics", "_statistics15", "_statisticsRaw")


# -- databases ------------------------------------------------------------------------------------------------------


def create_database(txn: Transaction, name: Any, options: dict[str, Any]) -> None:
    """Create a database with its system collections; 1207, 1208."""
    names.check_database(name)
    if name in txn.catalog.databases:
        raise ArangoError(1207, "duplicate name")
    database_id = 1 if name == "_system" else txn.next_tick()
    txn.sql("INSERT INTO databases VALUES (?, ?, ?)", (database_id, name, orjson.dumps(options)))
    for collection in (*SYSTEM_COLLECTIONS, *(_ONLY_IN_SYSTEM if name == "_system" else ())):
        _insert_collection(txn, database_id, collection, DOCUMENT, normalise_properties({}))
    txn.catalog_changed()


def drop_database(txn: Transaction, name: str) -> None:
    """Drop a database with everything in it; 1228, 403 for _system."""
    info = txn.catalog.databases.get(name)
    if info is None:
        raise ArangoError(1228)
    if name == "_system":
        raise ArangoError(11, "forbidden")
    for collection in info.collections.values():
        _drop_tables(txn, collection)
    for table in ("views", "analyzers"):
        txn.sql(f"DELETE FROM {table} WHERE database = ?", (info.id,))
    txn.sql("DELETE FROM databases WHERE id = ?", (info.id,))
    txn.catalog_changed()


# -- collections ----------------------------------------------------------------------------------------------------


def normalise_properties(body: dict[str, Any]) -> dict[str, Any]:
    """The properties of a collection that are kept, with their defaults."""
    from vgraph.embedded import rules

    return {
        "waitForSync": bool(body.get("waitForSync", False)),
        "cacheEnabled": bool(body.get("cacheEnabled", False)),
        "keyOptions": keys.normalise_options(body.get("keyOptions")),
        "schema": rules.check_schema(body.get("schema")),
        "computedValues": rules.check_computed_values(body.get("computedValues")),
    }


def create_collection(
    txn: Transaction, name: Any, kind: int = DOCUMENT, body: dict[str, Any] | None = None
) -> CollectionInfo:
    """Create a collection (type 2 document, 3 edge); 1207, 1208, 1218."""
    body = body or {}
    names.check_collection(name, system=bool(body.get("isSystem")))
    if kind not in (DOCUMENT, EDGE):
        raise ArangoError(1218)
    _refuse_duplicate(txn, name)
    _insert_collection(txn, txn.database_info.id, name, kind, normalise_properties(body))
    txn.catalog_changed()
    return txn.info(name)


def _insert_collection(txn: Transaction, database_id: int, name: str, kind: int, properties: dict[str, Any]) -> None:
    collection_id = txn.next_tick()
    txn.next_tick()  # a collection's objectId follows its id
    txn.sql(
        "INSERT INTO collections (id, database, name, type, properties, externals) VALUES (?, ?, ?, ?, ?, ?)",
        (collection_id, database_id, name, kind, orjson.dumps(properties), b"[]"),
    )
    documents.create_table(txn, collection_id)
    if kind == EDGE:
        EdgeIndex(2, collection_id, {"name": "edge", "fields": ["_from", "_to"]}).create(txn)


def _refuse_duplicate(txn: Transaction, name: str) -> None:
    database = txn.database_info
    if name in database.collections or name in database.views:
        raise ArangoError(1207, "duplicate name")


def drop_collection(txn: Transaction, name: str, *, system: bool = False, in_graph_ok: bool = False) -> CollectionInfo:
    """Drop a collection; 1203, 11 for a system collection, 1942 while a named graph uses it."""
    from vgraph.embedded import named_graphs, view_store

    info = txn.info(name)
    if info.is_system and not system:
        raise ArangoError(11, "forbidden")
    if not in_graph_ok and (graph := named_graphs.user_of(txn, info.name)):
        raise ArangoError(1942, f"must not drop collection while part of graph '{graph}'")
    view_store.forget_collection(txn, info)
    _drop_tables(txn, info)
    txn.catalog_changed()
    return info


def _drop_tables(txn: Transaction, info: CollectionInfo) -> None:
    for index in info.indexes:
        index.drop(txn)
    txn.sql(f"DROP TABLE {info.table}")
    for external in info.externals:
        txn.sql(f"DROP TABLE {external.table}")
    txn.sql("DELETE FROM indexes WHERE collection = ?", (info.id,))
    txn.sql("DELETE FROM collections WHERE id = ?", (info.id,))
    txn.forget_collection(info.id)


def rename_collection(txn: Transaction, name: str, new_name: Any) -> CollectionInfo:
    """Rename a collection, also inside its documents' _id, in named graphs and in views; 1203, 1207, 1208."""
    from vgraph.embedded import named_graphs, view_store

    info = txn.info(name)
    if info.is_system:
        raise ArangoError(11, "forbidden")
    names.check_collection(new_name)
    if new_name == info.name:
        return info
    _refuse_duplicate(txn, new_name)
    txn.sql("UPDATE collections SET name = ? WHERE id = ?", (new_name, info.id))
    _rewrite_ids(txn, info, new_name)
    view_store.rename_collection(txn, info, new_name)
    txn.catalog_changed()
    named_graphs.rename_collection(txn, info.name, new_name)
    return txn.info(new_name)


def _rewrite_ids(txn: Transaction, info: CollectionInfo, new_name: str) -> None:
    last = 0
    while rows := txn.sql(
        f"SELECT id, key, body FROM {info.table} WHERE id > ? ORDER BY id LIMIT 1000", (last,)
    ).fetchall():
        last = rows[-1][0]
        changed = [
            (orjson.dumps({**orjson.loads(body), "_id": f"{new_name}/{key}"}), rowid) for rowid, key, body in rows
        ]
        txn.sql_many(f"UPDATE {info.table} SET body = ? WHERE id = ?", changed)


def change_properties(txn: Transaction, name: str, body: dict[str, Any]) -> CollectionInfo:
    """Change what may change after creation: waitForSync, cacheEnabled, schema, computedValues."""
    from vgraph.embedded import rules

    info = txn.info(name)
    properties = dict(info.properties)
    for flag in ("waitForSync", "cacheEnabled"):
        if flag in body:
            properties[flag] = bool(body[flag])
    if "schema" in body:
        properties["schema"] = rules.check_schema(body["schema"])
    if "computedValues" in body:
        properties["computedValues"] = rules.check_computed_values(body["computedValues"])
    txn.sql("UPDATE collections SET properties = ? WHERE id = ?", (orjson.dumps(properties), info.id))
    txn.catalog_changed()
    return txn.info(info.name)


# -- indexes --------------------------------------------------------------------------------------------------------


def create_index(txn: Transaction, collection: str, definition: Any) -> tuple[Index, bool]:
    """(index, newly created): build an index over what is there, or find the same one; 10, 11, 1203, 1207, 1210."""
    info = txn.info(collection)
    if not isinstance(definition, dict):
        raise ArangoError(10, "expecting an index definition")
    if definition.get("type") in BUILT_IN:
        raise ArangoError(11)
    if definition.get("type") == "arangosearch":
        raise ArangoError(10, "cannot create an index of this type")
    if definition.get("type") == "inverted":
        from vgraph.embedded import search

        definition = search.complete_features(definition, lambda name: search.find_analyzer(txn, name).features)
    spec = kind_of(definition.get("type")).normalise(definition)
    for index in info.indexes:
        if index.type not in BUILT_IN and index.same_as(spec):
            return index, False
    index_id = txn.next_tick()
    name = definition.get("name") or f"idx_{1_800_000_000_000_000_000 + index_id}"
    names.check_index(name)
    if any(index.name == name for index in info.indexes):
        raise ArangoError(1207, f"duplicate name: an index '{name}' exists")
    if definition["type"] == "vector":
        _move_outside(txn, info, spec["fields"][0])
    return add_index(txn, info, index_id, {**spec, "name": name}), True


def add_index(txn: Transaction, info: CollectionInfo, index_id: int, spec: dict[str, Any]) -> Index:
    """Store an index with a complete spec, create its tables and fill them."""
    txn.sql("INSERT INTO indexes VALUES (?, ?, ?)", (index_id, info.id, orjson.dumps(spec)))
    txn.catalog_changed()
    info = txn.catalog.collections[info.id]
    index = next(item for item in info.indexes if item.id == index_id)
    index.create(txn)
    index.build(txn, txn.collection(info.name))
    return index


def find_index(txn: Transaction, info: CollectionInfo, name: str) -> Index:
    """An index by number or name; 1212."""
    for index in info.indexes:
        if name in (str(index.id), index.name) and not index.hidden:
            return index
    raise ArangoError(1212, "index not found")


def drop_index(txn: Transaction, info: CollectionInfo, index: Index) -> None:
    """Drop an index; the built-in ones are not to be dropped."""
    if index.type in BUILT_IN:
        raise ArangoError(11, "forbidden")
    index.drop(txn)
    txn.sql("DELETE FROM indexes WHERE id = ?", (index.id,))
    txn.catalog_changed()


def _move_outside(txn: Transaction, info: CollectionInfo, attribute: str) -> None:
    """Keep the lists of a top-level attribute outside the JSON, those that stand in it already as well."""
    externals.declare(txn, info, attribute)
    table = next(
        (item.table for item in txn.catalog.collections[info.id].externals if item.attribute == attribute), None
    )
    if table is None:
        return
    for rowid, body in externals.without(txn, info.table, table):
        doc = orjson.loads(body)
        packed = externals.pack(doc.get(attribute))
        if packed is not None:
            externals.store(txn, table, rowid, packed)
            txn.sql(f"UPDATE {info.table} SET body = ? WHERE id = ?", (orjson.dumps({**doc, attribute: None}), rowid))
