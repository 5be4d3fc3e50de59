"""Views in the catalog, and the hidden indexes that are their links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from vgraph.embedded import ddl, names
from vgraph.embedded.catalog import CollectionInfo, ViewInfo
from vgraph.embedded.errors import ArangoError

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction
    from vgraph.embedded.indexes import Index

LINK = "arangosearch"


def create_view(txn: Transaction, name: Any, kind: Any, body: dict[str, Any]) -> ViewInfo:
    """Create a view and index what its links name; 10, 1203, 1207, 1208."""
    from vgraph.embedded import search

    names.check_collection(name)
    if kind not in ("arangosearch", "search-alias"):
        raise ArangoError(10, "unknown view type")
    if name in txn.database_info.collections or name in txn.database_info.views:
        raise ArangoError(1207, "duplicate name")
    properties = search.normalise_view(kind, body, None, False)
    _check_members(txn, kind, properties)
    view_id = txn.next_tick()
    row = (view_id, txn.database_info.id, name, kind, orjson.dumps(properties))
    txn.sql("INSERT INTO views VALUES (?, ?, ?, ?, ?)", row)
    txn.catalog_changed()
    _sync_links(txn, view_id, properties)
    return txn.view_info(name)


def change_view(txn: Transaction, name: str, body: dict[str, Any], *, partial: bool) -> ViewInfo:
    """Change a view's properties: merged (PATCH) or replaced (PUT)."""
    from vgraph.embedded import search

    info = txn.view_info(name)
    properties = search.normalise_view(info.type, body, info.properties, partial)
    _check_members(txn, info.type, properties)
    _save(txn, info.id, properties)
    txn.catalog_changed()
    _sync_links(txn, info.id, properties)
    return txn.view_info(info.name)


def rename_view(txn: Transaction, name: str, new_name: Any) -> ViewInfo:
    """Rename a view; 1203, 1207, 1208."""
    info = txn.view_info(name)
    names.check_collection(new_name)
    if new_name != info.name:
        if new_name in txn.database_info.collections or new_name in txn.database_info.views:
            raise ArangoError(1207, "duplicate name")
        txn.sql("UPDATE views SET name = ? WHERE id = ?", (new_name, info.id))
        txn.catalog_changed()
    return txn.view_info(new_name)


def drop_view(txn: Transaction, name: str) -> None:
    """Drop a view and its links; 1203."""
    info = txn.view_info(name)
    _sync_links(txn, info.id, {})
    txn.sql("DELETE FROM views WHERE id = ?", (info.id,))
    txn.catalog_changed()


def forget_collection(txn: Transaction, collection: CollectionInfo) -> None:
    """Take a collection that is being dropped out of the views that link it."""
    for view in txn.database_info.views.values():
        properties = dict(view.properties)
        if collection.name in properties.get("links", {}):
            properties["links"] = {k: v for k, v in properties["links"].items() if k != collection.name}
        elif properties.get("indexes"):
            properties["indexes"] = [item for item in properties["indexes"] if item["collection"] != collection.name]
        if properties != view.properties:
            _save(txn, view.id, properties)


def rename_collection(txn: Transaction, collection: CollectionInfo, new_name: str) -> None:
    """Follow a collection's new name in the views of its database."""
    for view in txn.database_info.views.values():
        properties = dict(view.properties)
        if links := properties.get("links"):
            properties["links"] = {new_name if k == collection.name else k: v for k, v in links.items()}
        if members := properties.get("indexes"):
            properties["indexes"] = [
                {**item, "collection": new_name} if item["collection"] == collection.name else item for item in members
            ]
        if properties != view.properties:
            _save(txn, view.id, properties)


def _save(txn: Transaction, view_id: int, properties: dict[str, Any]) -> None:
    txn.sql("UPDATE views SET properties = ? WHERE id = ?", (orjson.dumps(properties), view_id))


def _check_members(txn: Transaction, kind: str, properties: dict[str, Any]) -> None:
    """What a view names has to be there: linked collections, and inverted indexes of an alias, which go together."""
    from vgraph.embedded import search

    for name in properties.get("links", {}):
        if name not in txn.database_info.collections:
            raise ArangoError(
                1203, f"while validating arangosearch link definition, error: collection '{name}' not found"
            )
    members = []
    for member in properties.get("indexes", []) if kind == "search-alias" else []:
        info = txn.database_info.collections.get(member["collection"])
        if info is None:
            raise ArangoError(10, f"Cannot find collection '{member['collection']}'")
        index = next((item for item in info.indexes if item.name == member["index"]), None)
        if index is None or index.type != "inverted":
            raise ArangoError(10, f"Cannot find inverted index '{member['index']}' of collection '{info.name}'")
        members.append((info.name, index.name, index.spec))
    search.check_together(members)


def _sync_links(txn: Transaction, view_id: int, properties: dict[str, Any]) -> None:
    """Make the hidden indexes agree with the links: drop what has gone or changed, build what is new."""
    wanted = dict(properties.get("links", {}))
    for info in txn.collections():
        link = _link_of(info, view_id)
        if link is not None and link.spec["link"] != wanted.get(info.name):
            ddl.drop_index(txn, info, link)
        elif link is not None:
            del wanted[info.name]
    for name, definition in wanted.items():
        spec = {"name": f"link_{view_id}", "fields": [], "type": LINK, "view": view_id, "link": definition}
        ddl.add_index(txn, txn.info(name), txn.next_tick(), spec)


def _link_of(info: CollectionInfo, view_id: int) -> Index | None:
    return next((item for item in info.indexes if item.spec["type"] == LINK and item.spec["view"] == view_id), None)
