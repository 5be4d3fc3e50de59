"""/_api/database."""

from __future__ import annotations

from typing import Any

from vgraph.embedded import ddl, users
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import SYSTEM, Answer, done

routes = Routes()


@routes.on("GET", "/_api/database")
def list_databases(context: Context) -> Answer:
    context.need_system()
    with context.reading() as txn:
        return done(200, result=sorted(txn.catalog.databases))


@routes.on("GET", "/_api/database/user")
def list_for_user(context: Context) -> Answer:
    with context.app.engine.reading() as txn:
        names = sorted(txn.catalog.databases)
        if context.app.authenticate:
            held = users.grants(txn, context.user)
            names = [name for name in names if users.database_level(held, name) != "none"]
    return done(200, result=names)


@routes.on("GET", "/_api/database/current")
def current(context: Context) -> Answer:
    with context.reading() as txn:
        info = txn.database_info
    result = {"id": str(info.id), "name": info.name, "isSystem": info.name == SYSTEM, "path": "none", **info.options}
    return done(200, result=result)


@routes.on("POST", "/_api/database")
def create(context: Context) -> Answer:
    context.need_system()
    body = context.request.json_object()
    with context.app.engine.writing() as txn:
        ddl.create_database(txn, body.get("name"), {})
        for user in filter(lambda listed: listed["user"], _users(body)):
            if not _exists(txn, user["user"]):
                users.create(txn, user)
            users.grant(txn, user["user"], body["name"], None, "rw")
    return done(201, result=True)


def _users(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The users a new database is for; older clients say username."""
    listed = body.get("users") or []
    if not isinstance(listed, list) or not all(isinstance(user, dict) for user in listed):
        raise ArangoError(10, "expecting 'users' to be an array of objects")
    named = [{**user, "user": user.get("user", user.get("username"))} for user in listed]
    if not all(isinstance(user["user"], str) for user in named):
        raise ArangoError(10, "expecting the names of 'users' to be strings")
    return named


def _exists(txn: Any, name: Any) -> bool:
    return any(user["user"] == name for user in users.listed(txn))


@routes.on("DELETE", "/_api/database/{name}")
def drop(context: Context, name: str) -> Answer:
    context.need_system()
    with context.app.engine.writing() as txn:
        ddl.drop_database(txn, name)
    return done(200, result=True)
