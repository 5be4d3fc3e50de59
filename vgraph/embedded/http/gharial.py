"""/_api/gharial: named graphs, their collections, vertices and edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vgraph.embedded import named_graphs
from vgraph.embedded.documents import Collection, Document, Written
from vgraph.embedded.engine import Transaction
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer

routes = Routes()


# -- graphs ---------------------------------------------------------------------------------------------------------


def _graph_answer(definition: Document, status: int) -> Answer:
    shape = named_graphs.shape(definition)
    return json_answer({"error": False, "code": status, "graph": shape}, status, {"etag": shape["_rev"]})


def _change_graph(context: Context, change: Callable[[Transaction], Document]) -> Answer:
    """Change a graph's definition, which is said to be under way whatever waits for it."""
    with context.app.engine.writing(context.database) as txn:
        return _graph_answer(change(txn), 202)


@routes.on("GET", "/_api/gharial")
def list_graphs(context: Context) -> Answer:
    with context.reading() as txn:
        return done(200, graphs=[named_graphs.shape(graph) for graph in named_graphs.all_graphs(txn)])


@routes.on("POST", "/_api/gharial")
def create(context: Context) -> Answer:
    body = context.request.json_object()
    with context.app.engine.writing(context.database) as txn:
        return _graph_answer(named_graphs.create_graph(txn, body), 201 if context.request.flag("waitForSync") else 202)


@routes.on("GET", "/_api/gharial/{graph}")
def read(context: Context, graph: str) -> Answer:
    with context.reading() as txn:
        return done(200, graph=named_graphs.shape(txn.graph(graph)))


@routes.on("DELETE", "/_api/gharial/{graph}")
def drop(context: Context, graph: str) -> Answer:
    with context.app.engine.writing(context.database) as txn:
        named_graphs.drop_graph(txn, graph, drop_collections=context.request.flag("dropCollections"))
    return done(201 if context.request.flag("waitForSync") else 202, removed=True)


# -- vertex collections and edge definitions ------------------------------------------------------------------------


@routes.on("GET", "/_api/gharial/{graph}/vertex")
def list_vertex_collections(context: Context, graph: str) -> Answer:
    with context.reading() as txn:
        return done(200, collections=named_graphs.vertex_collections(txn.graph(graph)))


@routes.on("POST", "/_api/gharial/{graph}/vertex")
def add_vertex_collection(context: Context, graph: str) -> Answer:
    collection = context.request.json_object().get("collection")
    return _change_graph(context, lambda txn: named_graphs.add_vertex_collection(txn, graph, collection))


@routes.on("DELETE", "/_api/gharial/{graph}/vertex/{collection}")
def remove_vertex_collection(context: Context, graph: str, collection: str) -> Answer:
    drop_it = context.request.flag("dropCollection")
    return _change_graph(
        context,
        lambda txn: named_graphs.remove_vertex_collection(txn, graph, collection, drop_collection=drop_it),
    )


@routes.on("GET", "/_api/gharial/{graph}/edge")
def list_edge_collections(context: Context, graph: str) -> Answer:
    with context.reading() as txn:
        return done(200, collections=named_graphs.edge_collections(txn.graph(graph)))


@routes.on("POST", "/_api/gharial/{graph}/edge")
def add_edge_definition(context: Context, graph: str) -> Answer:
    body = context.request.json_object()
    return _change_graph(context, lambda txn: named_graphs.add_edge_definition(txn, graph, body))


@routes.on("PUT", "/_api/gharial/{graph}/edge/{collection}")
def replace_edge_definition(context: Context, graph: str, collection: str) -> Answer:
    body = context.request.json_object()
    drop_them = context.request.flag("dropCollections")
    return _change_graph(
        context,
        lambda txn: named_graphs.replace_edge_definition(txn, graph, collection, body, drop_collections=drop_them),
    )


@routes.on("DELETE", "/_api/gharial/{graph}/edge/{collection}")
def remove_edge_definition(context: Context, graph: str, collection: str) -> Answer:
    drop_them = context.request.flag("dropCollections")
    return _change_graph(
        context,
        lambda txn: named_graphs.remove_edge_definition(txn, graph, collection, drop_collections=drop_them),
    )


# -- vertices and edges: the same endpoints, once for each kind -----------------------------------------------------


@routes.on("POST", "/_api/gharial/{graph}/{kind}/{collection}")
def insert(context: Context, graph: str, kind: str, collection: str) -> Answer:
    body = context.request.json_object()

    def write(txn: Transaction) -> Written:
        target = _target(txn, graph, kind, collection)
        if kind == "edge":
            named_graphs.check_edge(txn, graph, collection, body)
        return target.insert(body)

    return _write(context, kind, write, created=True)


@routes.on("GET", "/_api/gharial/{graph}/{kind}/{collection}/{key}")
def get(context: Context, graph: str, kind: str, collection: str, key: str) -> Answer:
    request = context.request
    with context.reading() as txn:
        find = named_graphs.vertex_collection if _is_vertex(kind) else named_graphs.edge_collection
        doc = find(txn, graph, collection).get(key)
    if doc is None:
        raise ArangoError(1202)
    match = request.headers.get("if-match", request.query.get("rev"))
    if match is not None and match.strip('"') != doc["_rev"]:
        raise _conflict(doc)
    return json_answer({"error": False, "code": 200, kind: doc}, 200, {"etag": doc["_rev"]})


@routes.on("PATCH PUT", "/_api/gharial/{graph}/{kind}/{collection}/{key}")
def modify(context: Context, graph: str, kind: str, collection: str, key: str) -> Answer:
    request = context.request
    body = request.json_object()
    replace = request.method == "PUT"
    options: dict[str, Any] = {"rev": _rev(context), "keep_null": request.flag("keepNull", True)}

    def write(txn: Transaction) -> Written:
        target = _target(txn, graph, kind, collection)
        if kind == "edge":
            named_graphs.check_edge(txn, graph, collection, body, partial=not replace)
            if target.rowid(key) is None:
                raise ArangoError(1202)
        return (target.replace if replace else target.update)(key, body, **options)

    return _write(context, kind, write, created=False)


@routes.on("DELETE", "/_api/gharial/{graph}/{kind}/{collection}/{key}")
def remove(context: Context, graph: str, kind: str, collection: str, key: str) -> Answer:
    function = named_graphs.remove_vertex if _is_vertex(kind) else named_graphs.remove_edge
    try:
        with context.writing() as txn:
            written = function(txn, graph, collection, key, rev=_rev(context))
    except ArangoError as error:
        raise _as_precondition(error) from None
    old = {"old": written.old} if context.request.flag("returnOld") else {}
    return done(200 if context.request.flag("waitForSync") else 202, removed=True, **old)


def _is_vertex(kind: str) -> bool:
    if kind not in ("vertex", "edge"):
        raise ArangoError(404)
    return kind == "vertex"


def _target(txn: Transaction, graph: str, kind: str, collection: str) -> Collection:
    find = named_graphs.vertex_collection if _is_vertex(kind) else named_graphs.edge_collection
    return find(txn, graph, collection, write=True)


def _write(context: Context, kind: str, write: Callable[[Transaction], Written], *, created: bool) -> Answer:
    try:
        with context.writing() as txn:
            written = write(txn)
            waited = txn.info(written.id.partition("/")[0]).properties["waitForSync"]
    except ArangoError as error:
        raise _as_precondition(error) from None
    request = context.request
    status = (201 if created else 200) if waited or request.flag("waitForSync") else 202
    doc: Document = {"_id": written.id, "_key": written.key, "_rev": written.rev}
    if written.old_rev is not None:
        doc["_oldRev"] = written.old_rev
    body: Document = {"error": False, "code": status, kind: doc}
    if written.old is not None and request.flag("returnOld"):
        body["old"] = written.old
    if request.flag("returnNew"):
        body["new"] = written.new
    return json_answer(body, status, {"etag": written.rev})


def _rev(context: Context) -> str | None:
    match = context.request.headers.get("if-match", context.request.query.get("rev"))
    return None if match is None else match.strip('"')


def _conflict(doc: Document) -> ArangoError:
    fields = {name: doc[name] for name in ("_id", "_key", "_rev")}
    return ArangoError(1200, "conflict, _rev values do not match", status=412, fields=fields)


def _as_precondition(error: ArangoError) -> ArangoError:
    if error.num == 1200 and "_rev" in error.fields:
        error.status = 412
    return error
