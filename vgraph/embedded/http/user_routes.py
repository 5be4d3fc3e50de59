"""/_api/user, /_api/token and /_open/auth."""

from __future__ import annotations

from typing import Any

from vgraph.embedded import access_tokens, users
from vgraph.embedded.engine import Transaction
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, empty, json_answer

routes = Routes()


@routes.on("POST", "/_open/auth")
def log_in(context: Context) -> Answer:
    body = context.request.json_object()
    with context.app.engine.reading() as txn:
        name, password = body.get("username") or "", body.get("password")
        if users.check_password(txn, name, password):
            return json_answer({"jwt": users.token(txn, str(name))})
        owner = access_tokens.owner(txn, name, password) if isinstance(password, str) else None
        if owner is None:
            raise ArangoError(401, "Wrong credentials")
        return json_answer({"jwt": users.token(txn, owner)})


@routes.on("POST", "/_open/auth/renew")
def renew(context: Context) -> Answer:
    """A new token for who has proved who he is."""
    with context.app.engine.reading() as txn:
        return json_answer({"jwt": users.token(txn, context.user)})


@routes.on("GET", "/_api/user")
def list_users(context: Context) -> Answer:
    with context.app.engine.reading() as txn:
        return done(200, result=users.listed(txn))


@routes.on("POST", "/_api/user")
def create(context: Context) -> Answer:
    with context.app.engine.writing() as txn:
        return done(201, **users.create(txn, context.request.json_object()))


@routes.on("PUT PATCH DELETE", "/_api/user")
def no_user(context: Context) -> Answer:
    raise ArangoError(400, f"expecting {context.request.method} /_api/user/<username>")


@routes.on("GET", "/_api/user/{user}")
def read(context: Context, user: str) -> Answer:
    with context.app.engine.reading() as txn:
        return done(200, **users.get(txn, user))


@routes.on("POST", "/_api/user/{user}")
def check(context: Context, user: str) -> Answer:
    """Whether a password is the user's; 1703."""
    with context.app.engine.reading() as txn:
        if not users.check_password(txn, user, context.request.json_object().get("passwd", "")):
            raise ArangoError(1703)
    return done(200, result=True)


@routes.on("PUT PATCH", "/_api/user/{user}")
def change(context: Context, user: str) -> Answer:
    replace = context.request.method == "PUT"
    with context.app.engine.writing() as txn:
        return done(200, **users.change(txn, user, context.request.json_object(), replace=replace))


@routes.on("DELETE", "/_api/user/{user}")
def remove(context: Context, user: str) -> Answer:
    with context.app.engine.writing() as txn:
        users.remove(txn, user)
        access_tokens.forget(txn, user)
    return done(202)


@routes.on("GET", "/_api/token/{user}")
def tokens(context: Context, user: str) -> Answer:
    with context.app.engine.reading() as txn:
        return json_answer({"tokens": access_tokens.listed(txn, user)})


@routes.on("POST", "/_api/token/{user}")
def create_token(context: Context, user: str) -> Answer:
    with context.app.engine.writing() as txn:
        return json_answer(access_tokens.create(txn, user, context.request.json_object()))


@routes.on("DELETE", "/_api/token/{user}/{token}")
def remove_token(context: Context, user: str, token: str) -> Answer:
    with context.app.engine.writing() as txn:
        access_tokens.remove(txn, user, token)
    return empty(200)


@routes.on("GET", "/_api/user/{user}/database")
def databases(context: Context, user: str) -> Answer:
    with context.app.engine.reading() as txn:
        held = users.grants(txn, user)
        if context.request.flag("full"):
            return done(200, result=_full(txn, held))
        levels = {name: users.database_level(held, name) for name in txn.catalog.databases}
    return done(200, result={name: level for name, level in levels.items() if level != "none"})


def _full(txn: Transaction, held: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, database in txn.catalog.databases.items():
        entry = held.get(name, {})
        granted = entry.get("collections", {})
        collections = {collection: granted.get(collection, "undefined") for collection in (*database.collections, "*")}
        result[name] = {"permission": entry.get("permission", "undefined"), "collections": collections}
    result["*"] = {"permission": held.get("*", {}).get("permission", "none")}
    return result


@routes.on("GET", "/_api/user/{user}/database/{database}")
def database_level(context: Context, user: str, database: str) -> Answer:
    with context.app.engine.reading() as txn:
        return done(200, result=users.database_level(users.grants(txn, user), database))


@routes.on("GET", "/_api/user/{user}/database/{database}/{collection}")
def collection_level(context: Context, user: str, database: str, collection: str) -> Answer:
    with context.app.engine.reading() as txn:
        return done(200, result=users.collection_level(users.grants(txn, user), database, collection))


@routes.on("PUT", "/_api/user/{user}/database/{database}")
def grant_database(context: Context, user: str, database: str) -> Answer:
    return _grant(context, user, database, None)


@routes.on("PUT", "/_api/user/{user}/database/{database}/{collection}")
def grant_collection(context: Context, user: str, database: str, collection: str) -> Answer:
    return _grant(context, user, database, collection)


def _grant(context: Context, user: str, database: str, collection: str | None) -> Answer:
    level = context.request.json_object().get("grant")
    if level is None:
        raise ArangoError(10, "expecting grant to be one of rw, ro, none")
    with context.app.engine.writing() as txn:
        if collection is not None:  # databases may come later
            _need(txn, database, collection)
        users.grant(txn, user, database, collection, level)
    name = database if collection is None else f"{database}/{collection}"
    return json_answer({name: level, "code": 200, "error": False})


@routes.on("DELETE", "/_api/user/{user}/database/{database}")
def revoke_database(context: Context, user: str, database: str) -> Answer:
    return _revoke(context, user, database, None)


@routes.on("DELETE", "/_api/user/{user}/database/{database}/{collection}")
def revoke_collection(context: Context, user: str, database: str, collection: str) -> Answer:
    return _revoke(context, user, database, collection)


def _revoke(context: Context, user: str, database: str, collection: str | None) -> Answer:
    with context.app.engine.writing() as txn:
        if collection is not None:
            _need(txn, database, collection)
        users.grant(txn, user, database, collection, None)
    return done(202)


def _need(txn: Transaction, database: str, collection: str) -> None:
    """What a permission is for has to be there, or be "*"; 1228, 1203."""
    if database == "*":
        return
    info = txn.catalog.databases.get(database)
    if info is None:
        raise ArangoError(1228)
    if collection != "*" and collection not in info.collections:
        raise ArangoError(1203, f"collection or view not found: {collection}")
