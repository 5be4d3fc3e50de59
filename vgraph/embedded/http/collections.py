"""/_api/collection: create, describe, change, rename, truncate, drop."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import orjson

from vgraph.embedded import ddl, keys, revisions
from vgraph.embedded.catalog import CollectionInfo
from vgraph.embedded.engine import Transaction
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, json_answer

routes = Routes()

_KINDS: Final = {"document": 2, "edge": 3}


def brief(txn: Transaction, info: CollectionInfo) -> dict[str, Any]:
    """What lists and actions say of a collection."""
    return {
        "id": str(info.id),
        "name": info.name,
        "status": 3,
        "type": info.type,
        "isSystem": info.is_system,
        "globallyUniqueId": info.name if info.is_system else f"h{txn.engine.server_id}/{info.id}",
    }


def full(txn: Transaction, info: CollectionInfo) -> dict[str, Any]:
    """All properties of a collection."""
    properties = info.properties
    options = properties["keyOptions"]
    if options["type"] in ("traditional", "autoincrement"):
        options = {**options, "lastValue": txn.last_key(info.id)}
    return {
        "writeConcern": 1,
        "waitForSync": properties["waitForSync"],
        "usesRevisionsAsDocumentIds": True,
        "syncByRevision": True,
        "supportsRBAC": True,
        "statusString": "loaded",
        "isSmartChild": False,
        "schema": properties["schema"],
        "cacheEnabled": properties["cacheEnabled"],
        "internalValidatorType": 0,
        "keyOptions": options,
        "computedValues": properties["computedValues"],
        "objectId": str(info.id + 1),
        **brief(txn, info),
    }


def _answer(context: Context, body: dict[str, Any]) -> Answer:
    location = f"/_db/{context.database}{context.request.path}"
    return json_answer({"error": False, "code": 200, **body}, 200, {"location": location})


@routes.on("GET", "/_api/collection")
def list_collections(context: Context) -> Answer:
    with context.reading() as txn:
        skip_system = context.request.flag("excludeSystem")
        shown = [info for info in txn.collections() if not (skip_system and info.is_system)]
        if (access := context.access) is not None:
            shown = [info for info in shown if access.may_use(context.database, info.name)]
        found = [brief(txn, info) for info in shown]
    return json_answer({"error": False, "code": 200, "result": found})


@routes.on("POST", "/_api/collection")
def create(context: Context) -> Answer:
    body = context.request.json()
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        raise ArangoError(1208)
    kind = body.get("type", 2)
    with context.app.engine.writing(context.database) as txn:
        info = ddl.create_collection(txn, body["name"], _KINDS.get(kind, 0) if isinstance(kind, str) else kind, body)
        return json_answer({"error": False, "code": 200, **full(txn, info)})


@routes.on("DELETE", "/_api/collection/{name}")
def drop(context: Context, name: str) -> Answer:
    with context.app.engine.writing(context.database) as txn:
        info = ddl.drop_collection(txn, name, system=context.request.flag("isSystem"))
    return json_answer({"error": False, "code": 200, "id": str(info.id)})


@routes.on("GET", "/_api/collection/{name}")
def describe(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        return json_answer({"error": False, "code": 200, **brief(txn, txn.collection(name).info)})


@routes.on("GET", "/_api/collection/{name}/properties")
def properties(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        return _answer(context, full(txn, txn.collection(name).info))


@routes.on("PUT", "/_api/collection/{name}/properties")
def change(context: Context, name: str) -> Answer:
    body = context.request.json_object()
    with context.app.engine.writing(context.database) as txn:
        return _answer(context, full(txn, ddl.change_properties(txn, name, body)))


@routes.on("GET", "/_api/collection/{name}/count")
def count(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        target = txn.collection(name)
        return _answer(context, {**full(txn, target.info), "count": target.count()})


@routes.on("GET", "/_api/collection/{name}/revision")
def revision(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        info = txn.collection(name).info
        return _answer(context, {**full(txn, info), "revision": _revision(txn, info)})


def _revision(txn: Transaction, info: CollectionInfo) -> str:
    [stamp] = txn.sql("SELECT revision FROM collections WHERE id = ?", (info.id,)).fetchone()
    return revisions.encode(stamp) if stamp else "0"


@routes.on("GET", "/_api/collection/{name}/checksum")
def checksum(context: Context, name: str) -> Answer:
    """A number that is the same for the same documents, in whatever order they were written."""
    with_revisions, with_data = context.request.flag("withRevisions"), context.request.flag("withData")
    total = 0
    with context.reading() as txn:
        target = txn.collection(name)
        for _, doc in target.scan():
            seen = {"_key": doc["_key"]}
            if with_revisions:
                seen["_rev"] = doc["_rev"]
            if with_data:
                seen["data"] = {k: v for k, v in doc.items() if k not in ("_id", "_key", "_rev")}
            digest = hashlib.blake2b(orjson.dumps(seen, option=orjson.OPT_SORT_KEYS), digest_size=8).digest()
            total ^= int.from_bytes(digest, "big")
        body = {**brief(txn, target.info), "revision": _revision(txn, target.info), "checksum": str(total)}
    return _answer(context, body)


@routes.on("GET", "/_api/collection/{name}/figures")
def figures(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        target = txn.collection(name)
        number = target.count()
        [size] = txn.sql(f"SELECT ifnull(sum(length(body)), 0) FROM {target.info.table}").fetchone()
        listed = [index for index in target.indexes if not index.hidden]
        found: dict[str, Any] = {
            "indexes": {"count": len(listed), "size": 0},
            "documentsSize": size,
            "cacheInUse": False,
            "cacheSize": 0,
            "cacheUsage": 0,
        }
        if context.request.flag("details"):
            entries = [{"type": index.spec["type"], "id": index.id, "count": number} for index in listed]
            found["engine"] = {"documents": number, "indexes": entries}
        return _answer(context, {**full(txn, target.info), "count": number, "figures": found})


@routes.on("GET", "/_api/collection/{name}/shards")
def shards(context: Context, name: str) -> Answer:
    raise ArangoError(9, "shards: only in a cluster")


@routes.on("PUT", "/_api/collection/{name}/responsibleShard")
def responsible_shard(context: Context, name: str) -> Answer:
    raise ArangoError(1471)


@routes.on("PUT", "/_api/collection/{name}/rename")
def rename(context: Context, name: str) -> Answer:
    new_name = context.request.json_object().get("name")
    if not isinstance(new_name, str) or not new_name:
        raise ArangoError(1208, "name is empty")
    with context.app.engine.writing(context.database) as txn:
        return _answer(context, brief(txn, ddl.rename_collection(txn, name, new_name)))


@routes.on("PUT", "/_api/collection/{name}/truncate")
def truncate(context: Context, name: str) -> Answer:
    with context.writing() as txn:
        target = txn.collection(name, write=True)
        target.truncate()
        return _answer(context, brief(txn, target.info))


@routes.on("PUT", "/_api/collection/{name}/load")
def load(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        target = txn.collection(name)
        body = brief(txn, target.info)
        if context.request.json_object().get("count", True):
            body["count"] = target.count()
        return _answer(context, body)


@routes.on("PUT", "/_api/collection/{name}/unload")
def unload(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        return _answer(context, brief(txn, txn.collection(name).info))


@routes.on("PUT", "/_api/collection/{name}/compact")
def compact(context: Context, name: str) -> Answer:
    return unload(context, name)


@routes.on("PUT", "/_api/collection/{name}/loadIndexesIntoMemory")
def load_indexes(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        txn.info(name)
    return _answer(context, {"result": True})


@routes.on("PUT", "/_api/collection/{name}/recalculateCount")
def recalculate_count(context: Context, name: str) -> Answer:
    with context.app.engine.writing(context.database) as txn:
        info = txn.info(name)
        [number] = txn.sql(f"SELECT count(*) FROM {info.table}").fetchone()
        txn.sql("UPDATE collections SET documents = ? WHERE id = ?", (number, info.id))
    return _answer(context, {"result": True, "count": number})


@routes.on("PUT", "/_api/collection")
def missing_action(context: Context) -> Answer:
    raise ArangoError(400, "expected PUT /_api/collection/<collection-name>/<action>")


@routes.on("GET", "/_api/key-generators")
def key_generators(context: Context) -> Answer:
    return json_answer({"keyGenerators": ["upgrade", *keys.GENERATORS]})
