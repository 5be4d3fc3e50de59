"""/_admin/options, license, support-info, and the parts of /_admin/server that tell of encryption: there is none here."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from typing import Any, Final

from vgraph.embedded.engine import LOCK_TIMEOUT
from vgraph.embedded.errors import ArangoError, unsupported
from vgraph.embedded.http.admin import VERSION
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, empty, json_answer

routes = Routes()

_SIZE_LIMIT: Final = 107374182400  # the Community Edition's 100 GiB; nothing happens here when it is reached


def _options(context: Context) -> dict[str, tuple[Any, str]]:
    """Startup options of a server that have a counterpart here: value and description."""
    app = context.app
    return {
        "database.directory": (str(app.engine.path), "The file that holds all databases."),
        "http.keep-alive-timeout": (300, "Seconds a connection of `db serve` stays open."),
        "query.cache-mode": (app.results.properties["mode"], "The mode of the results cache."),
        "query.cache-entries": (app.results.properties["maxResults"], "Results kept per database."),
        "query.memory-limit": (0, "Bytes a query may use unless it says so itself; 0 is no limit."),
        "query.max-runtime": (0, "Seconds a query may run unless it says so itself; 0 is no limit."),
        "query.slow-threshold": (app.queries.properties["slowQueryThreshold"], "Seconds after which a query is slow."),
        "query.tracking": (app.queries.properties["enabled"], "Whether running queries are listed."),
        "rocksdb.transaction-lock-timeout": (int(LOCK_TIMEOUT * 1000), "Milliseconds a writer waits for another one."),
        "server.authentication": (app.authenticate, "Whether requests need a user's password or token."),
        "server.session-timeout": (3600, "Seconds a JWT is good for."),
    }


@routes.on("GET", "/_admin/options")
def options(context: Context) -> Answer:
    context.need_system()
    return json_answer({name: value for name, (value, _) in _options(context).items()})


@routes.on("GET", "/_admin/options-public")
def public_options(context: Context) -> Answer:
    return json_answer({name: value for name, (value, _) in _options(context).items() if name != "database.directory"})


@routes.on("GET", "/_admin/options-description")
def options_description(context: Context) -> Answer:
    context.need_system()
    return json_answer({name: _described(name, value, text) for name, (value, text) in _options(context).items()})


def _described(name: str, value: Any, text: str) -> dict[str, Any]:
    kind = "boolean" if isinstance(value, bool) else "uint64" if isinstance(value, int) else "string"
    section = name.partition(".")[0]
    return {"category": "option", "section": section, "description": text, "type": kind, "default": value}


@routes.on("GET", "/_admin/license")
def license(context: Context) -> Answer:
    usage = {
        "bytesUsed": context.app.engine.path.stat().st_size,
        "bytesLimit": _SIZE_LIMIT,
        "limitReached": False,
        "secondsUntilReadOnly": 0,
        "secondsUntilShutDown": 0,
        "status": "good",
    }
    return json_answer({"upgrading": False, "diskUsage": usage})


@routes.on("PUT", "/_admin/license")
def set_license(context: Context) -> Answer:
    raise ArangoError(31)


@routes.on("GET", "/_admin/support-info")
def support_info(context: Context) -> Answer:
    context.need_system()
    host = {
        "role": "SINGLE",
        "maintenance": False,
        "readOnly": False,
        "version": VERSION,
        "build": "community",
        "license": "community",
        "os": platform.system().lower(),
        "platform": platform.machine(),
        "numberOfCores": {"value": os.cpu_count() or 1, "overridden": False},
        "serverId": context.app.engine.server_id,
    }
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json_answer({"deployment": {"type": "single"}, "date": now, "host": host})


@routes.on("GET", "/_admin/deployment/id")
def deployment_id(context: Context) -> Answer:
    return json_answer({"id": context.app.engine.server_id})


@routes.on("GET POST", "/_admin/server/tls")
def tls(context: Context) -> Answer:
    return done(200, result={})


@routes.on("GET POST", "/_admin/server/jwt")
def jwt(context: Context) -> Answer:
    raise unsupported("JWT secrets from files")


@routes.on("GET POST", "/_admin/server/encryption")
def encryption(context: Context) -> Answer:
    raise unsupported("encryption at rest")


@routes.on("POST", "/_admin/routing/reload")
def reload_routing(context: Context) -> Answer:
    return empty(200)
