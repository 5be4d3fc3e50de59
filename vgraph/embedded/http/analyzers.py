"""/_api/analyzer."""

from __future__ import annotations

from vgraph.embedded import analyzer_store
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer

routes = Routes()


@routes.on("GET", "/_api/analyzer")
def list_analyzers(context: Context) -> Answer:
    with context.reading() as txn:
        return done(200, result=analyzer_store.definitions(txn))


@routes.on("POST", "/_api/analyzer")
def create(context: Context) -> Answer:
    with context.app.engine.writing(context.database) as txn:
        definition, is_new = analyzer_store.create(txn, context.request.json_object())
    return json_answer(definition, 201 if is_new else 200)


@routes.on("GET", "/_api/analyzer/{name}")
def read(context: Context, name: str) -> Answer:
    with context.reading() as txn:
        return done(200, **analyzer_store.get(txn, name))


@routes.on("DELETE", "/_api/analyzer/{name}")
def drop(context: Context, name: str) -> Answer:
    with context.app.engine.writing(context.database) as txn:
        name = analyzer_store.drop(txn, name, force=context.request.flag("force"))
    return done(200, name=name)
