"""/_api/view."""

from __future__ import annotations

from typing import Any, Final

from vgraph.embedded import view_store
from vgraph.embedded.catalog import ViewInfo
from vgraph.embedded.engine import Transaction
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer

routes = Routes()

_NAMING: Final = ("name", "type", "id", "globallyUniqueId")


def brief(txn: Transaction, view: ViewInfo) -> dict[str, Any]:
    """What lists say of a view."""
    return {
        "globallyUniqueId": f"h{txn.engine.server_id}/{view.id}",
        "id": str(view.id),
        "name": view.name,
        "type": view.type,
    }


def full(txn: Transaction, view: ViewInfo) -> dict[str, Any]:
    """A view with its properties."""
    return {**brief(txn, view), **{name: item for name, item in view.properties.items() if name not in _NAMING}}


@routes.on("GET", "/_api/view")
def list_views(context: Context) -> Answer:
    with context.reading() as txn:
        return done(200, result=[brief(txn, view) for _, view in sorted(txn.database_info.views.items())])


@routes.on("POST", "/_api/view")
def create(context: Context) -> Answer:
    body = context.request.json_object()
    if not isinstance(body.get("name"), str) or not isinstance(body.get("type"), str):
        raise ArangoError(10, "expecting 'name' and 'type' to be strings")
    properties = {name: item for name, item in body.items() if name not in _NAMING}
    with context.app.engine.writing(context.database) as txn:
        view = view_store.create_view(txn, body.get("name"), body.get("type"), properties)
        return json_answer(full(txn, view), 201)


@routes.on("GET", "/_api/view/{name}")
def read(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        return done(200, **brief(txn, txn.view_info(name)))


@routes.on("GET", "/_api/view/{name}/properties")
def read_properties(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        return done(200, **full(txn, txn.view_info(name)))


@routes.on("PUT PATCH", "/_api/view/{name}/properties")
def change(context: Context, name: str) -> Answer:
    body = context.request.json_object()
    partial = context.request.method == "PATCH"
    with context.app.engine.writing(context.database) as txn:
        return json_answer(full(txn, view_store.change_view(txn, name, body, partial=partial)))


@routes.on("PUT PATCH", "/_api/view/{name}")
def not_there(context: Context, name: str) -> Answer:
    """What can be changed of a view stands below it."""
    raise ArangoError(10, f"expecting {context.request.method} /_api/view/<view-name>/properties")


@routes.on("PUT", "/_api/view/{name}/rename")
def rename(context: Context, name: str) -> Answer:
    new_name = context.request.json_object().get("name")
    with context.app.engine.writing(context.database) as txn:
        return json_answer(full(txn, view_store.rename_view(txn, name, new_name)))


@routes.on("DELETE", "/_api/view/{name}")
def drop(context: Context, name: str) -> Answer:
    with context.app.engine.writing(context.database) as txn:
        view_store.drop_view(txn, name)
    return done(200, result=True)
