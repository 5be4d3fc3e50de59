"""Parts of a server that this engine does not have: it has none of their things, and says so when one is to be made or run."""

from __future__ import annotations

import orjson

from vgraph.embedded import user_functions
from vgraph.embedded.errors import ArangoError, unsupported
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer

routes = Routes()


@routes.on("GET", "/_api/tasks")
def tasks(context: Context) -> Answer:
    return json_answer([])


@routes.on("GET DELETE", "/_api/tasks/{task}")
def no_task(context: Context, task: str) -> Answer:
    raise ArangoError(1852)


@routes.on("POST", "/_api/tasks")
def create_task(context: Context) -> Answer:
    raise unsupported("tasks in JavaScript")


@routes.on("PUT", "/_api/tasks/{task}")
def create_named_task(context: Context, task: str) -> Answer:
    raise unsupported("tasks in JavaScript")


@routes.on("GET", "/_api/aqlfunction")
def functions(context: Context) -> Answer:
    with context.reading() as txn:
        return done(200, result=user_functions.listed(txn, context.request.query.get("namespace", "")))


@routes.on("GET", "/_api/aqlfunction/{namespace}")
def functions_of(context: Context, namespace: str) -> Answer:
    with context.reading() as txn:
        return done(200, result=user_functions.listed(txn, namespace + "::"))


@routes.on("POST", "/_api/aqlfunction")
def create_function(context: Context) -> Answer:
    with context.writing() as txn:
        new = user_functions.create(txn, context.request.json_object())
    return done(201 if new else 200, isNewlyCreated=new)


@routes.on("DELETE", "/_api/aqlfunction/{function}")
def remove_function(context: Context, function: str) -> Answer:
    with context.writing() as txn:
        removed = user_functions.remove(txn, function, group=context.request.flag("group"))
    return done(200, deletedCount=removed)


@routes.on("GET", "/_api/foxx")
def services(context: Context) -> Answer:
    return json_answer([])


@routes.on("POST", "/_api/foxx")
def install_service(context: Context) -> Answer:
    raise unsupported("Foxx services")


@routes.on("POST", "/_admin/execute")
def execute(context: Context) -> Answer:
    """A script of one constant needs no JavaScript."""
    script = context.request.body.decode("utf-8", "replace").strip().rstrip(";")
    returned = script.removeprefix("return ")
    try:
        value = orjson.loads(returned) if returned else None
    except orjson.JSONDecodeError:
        raise unsupported("JavaScript on the server") from None
    if script in ("", "null", '""'):
        return done(200)
    return json_answer(value if returned != script else None)


@routes.on("GET PUT POST", "/_api/traversal")
def traversal(context: Context) -> Answer:
    raise unsupported("/_api/traversal (use a traversal in AQL)")
