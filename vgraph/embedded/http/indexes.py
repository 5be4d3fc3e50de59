"""/_api/index."""

from __future__ import annotations

from typing import Any

from vgraph.embedded import ddl
from vgraph.embedded.catalog import CollectionInfo
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer
from vgraph.embedded.indexes import Index

routes = Routes()


def shape(info: CollectionInfo, index: Index) -> dict[str, Any]:
    """An index as the API tells it: its id carries the collection's name."""
    return {**index.definition(), "id": f"{info.name}/{index.id}"}


@routes.on("GET", "/_api/index")
def list_indexes(context: Context) -> Answer:
    with context.reading() as txn:
        info = txn.collection(context.request.needed("collection")).info
        hidden = context.request.flag("withHidden")
        found = [shape(info, index) for index in info.indexes if hidden or not index.hidden]
    return done(200, indexes=found, identifiers={item["id"]: item for item in found})


@routes.on("POST", "/_api/index")
def create(context: Context) -> Answer:
    collection = context.request.needed("collection")
    definition = context.request.json_object()
    try:
        with context.app.engine.writing(context.database) as txn:
            index, is_new = ddl.create_index(txn, collection, definition)
            body = shape(txn.info(collection), index)
    except ArangoError as error:
        if error.num == 1210:  # of an index, documents that it cannot hold are a bad request, and no conflict
            error.status = 400
        raise
    status = 201 if is_new else 200
    return json_answer({**body, "isNewlyCreated": is_new, "code": status, "error": False}, status)


@routes.on("GET", "/_api/index/{collection}/{name}")
def read(context: Context, collection: str, name: str) -> Answer:
    with context.reading() as txn:
        info = txn.collection(collection).info
        body = shape(info, ddl.find_index(txn, info, name))
    return json_answer({**body, "code": 200, "error": False})


@routes.on("DELETE", "/_api/index/{collection}/{name}")
def drop(context: Context, collection: str, name: str) -> Answer:
    with context.app.engine.writing(context.database) as txn:
        info = txn.info(collection)
        index = ddl.find_index(txn, info, name)
        ddl.drop_index(txn, info, index)
    return done(200, id=f"{info.name}/{index.id}")


@routes.on("GET DELETE", "/_api/index/{name}")
def incomplete(context: Context, name: str) -> Answer:
    raise ArangoError(1214, "expecting /_api/index/<collection-name>/<index-identifier>")
