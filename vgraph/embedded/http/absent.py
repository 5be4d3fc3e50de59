"""Parts of a server that this engine does not have: it has none of their things, and says so when one is to be made."""

from __future__ import annotations

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
    return done(200, result=[])


@routes.on("POST", "/_api/aqlfunction")
def create_function(context: Context) -> Answer:
    raise unsupported("user-defined functions in JavaScript")


@routes.on("DELETE", "/_api/aqlfunction/{function}")
def no_function(context: Context, function: str) -> Answer:
    raise ArangoError(1582, f"no user function named '{function}' found")


@routes.on("GET", "/_api/foxx")
def services(context: Context) -> Answer:
    return json_answer([])


@routes.on("POST", "/_api/foxx")
def install_service(context: Context) -> Answer:
    raise unsupported("Foxx services")


@routes.on("POST", "/_admin/execute")
def execute(context: Context) -> Answer:
    raise unsupported("JavaScript on the server")


@routes.on("GET PUT POST", "/_api/traversal")
def traversal(context: Context) -> Answer:
    raise unsupported("/_api/traversal (use a traversal in AQL)")
