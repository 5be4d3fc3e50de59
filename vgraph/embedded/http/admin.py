"""/_api/version, /_api/engine and /_admin: what the engine says of itself."""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from typing import Any, Final

from vgraph.embedded.errors import ArangoError, unsupported
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer, text

routes = Routes()

VERSION: Final = "3.12.10"  # the server whose interface this is
_STARTED: Final = time.time()
_NO_COUNTS: Final = {"sum": 0, "count": 0, "counts": [0, 0, 0, 0]}


@routes.on("GET PUT", "/_api/version")
def version(context: Context) -> Answer:
    body: dict[str, Any] = {"server": "arango", "license": "community", "version": VERSION}
    if context.request.flag("details"):
        body["details"] = {"architecture": "64bit", "host": "embedded", "mode": "embedded", "server-version": VERSION}
    body |= {"apiVersions": ["v0"], "deprecatedApiVersions": [], "requestedApiVersion": "v0"}
    return json_answer(body)


@routes.on("GET", "/_api/engine")
def engine(context: Context) -> Answer:
    indexes = [
        "primary",
        "edge",
        "hash",
        "skiplist",
        "ttl",
        "persistent",
        "geo",
        "mdi",
        "mdi-prefixed",
        "inverted",
        "vector",
    ]
    aliases = {"hash": "persistent", "skiplist": "persistent", "zkd": "mdi"}
    supports = {"indexes": indexes, "aliases": {"indexes": aliases}}
    # drivers know a server by its engine's name; this engine keeps to what that one does
    return json_answer({"name": "rocksdb", "supports": supports, "endianness": sys.byteorder})


@routes.on("GET", "/_api/endpoint")
def endpoint(context: Context) -> Answer:
    return json_answer([{"endpoint": f"embedded:{context.app.engine.path}"}])


@routes.on("GET", "/_admin/server/role")
def role(context: Context) -> Answer:
    return done(200, role="SINGLE")


@routes.on("GET", "/_admin/server/availability")
def availability(context: Context) -> Answer:
    return done(200, mode="default")


@routes.on("GET", "/_admin/server/mode")
def mode(context: Context) -> Answer:
    return done(200, mode="default")


@routes.on("PUT", "/_admin/server/mode")
def change_mode(context: Context) -> Answer:
    wanted = context.request.json_object().get("mode")
    if wanted not in ("default", "readonly"):
        raise ArangoError(400, "mode invalid")
    if wanted == "readonly":
        raise unsupported("read-only mode (open the file's directory read-only instead)")
    return done(200, mode="default")


@routes.on("GET", "/_admin/server/id")
def server_id(context: Context) -> Answer:
    raise ArangoError(4, "not running in cluster mode")


@routes.on("GET", "/_admin/status")
def status(context: Context) -> Answer:
    return json_answer(
        {
            "server": "arango",
            "version": VERSION,
            "license": "community",
            "mode": "server",
            "operationMode": "server",
            "foxxApi": False,
            "host": "embedded",
            "pid": os.getpid(),
            "serverInfo": {
                "role": "SINGLE",
                "readOnly": False,
                "writeOpsEnabled": True,
                "maintenance": False,
                "progress": {"phase": "in wait", "feature": "", "recoveryTick": 0},
            },
        }
    )


@routes.on("GET", "/_admin/database/target-version")
def target_version(context: Context) -> Answer:
    major, minor, patch = (int(part) for part in VERSION.split("."))
    return done(200, version=f"{major:d}{minor:02d}{patch:02d}")


@routes.on("GET", "/_admin/time")
def now(context: Context) -> Answer:
    return done(200, time=time.time())


@routes.on("GET POST", "/_admin/echo")
def echo(context: Context) -> Answer:
    request = context.request
    return json_answer(
        {
            "authorized": True,
            "user": context.user,
            "database": request.database,
            "url": request.path,
            "protocol": "http",
            "headers": request.headers,
            "requestType": request.method,
            "requestBody": request.body.decode("utf-8", "replace"),
            "rawRequestBody": {"type": "Buffer", "data": list(request.body)},
            "parameters": request.query,
        }
    )


@routes.on("GET", "/_admin/statistics")
def statistics(context: Context) -> Answer:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    connections = {
        "httpConnections": 0,
        "connectionTime": _NO_COUNTS,
        "totalTime": _NO_COUNTS,
        "requestTime": _NO_COUNTS,
    }
    return json_answer(
        {
            "time": time.time(),
            "enabled": True,
            "system": {
                "minorPageFaults": usage.ru_minflt,
                "majorPageFaults": usage.ru_majflt,
                "userTime": usage.ru_utime,
                "systemTime": usage.ru_stime,
                "numberOfThreads": threading.active_count(),
                "residentSize": usage.ru_maxrss * 1024,
            },
            "client": connections,
            "server": {"uptime": time.time() - _STARTED},
            "error": False,
            "code": 200,
        }
    )


@routes.on("GET", "/_admin/statistics-description")
def statistics_description(context: Context) -> Answer:
    groups = [
        ("system", "Process Statistics", "Statistics about the process the engine runs in"),
        ("client", "Client Connection Statistics", "Statistics about connections; there are none"),
        ("server", "Server Statistics", "Statistics about the engine"),
    ]
    described = [{"group": group, "name": name, "description": about} for group, name, about in groups]
    return done(200, groups=described, figures=[])


@routes.on("GET", "/_admin/metrics")
def metrics(context: Context) -> Answer:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    lines = (
        ("arangodb_server_statistics_server_uptime_total", "counter", f"{time.time() - _STARTED:.3f}"),
        ("arangodb_process_statistics_resident_set_size", "gauge", str(usage.ru_maxrss * 1024)),
        ("arangodb_process_statistics_user_time", "gauge", f"{usage.ru_utime:.3f}"),
    )
    return text("".join(f"# TYPE {name} {kind}\n{name} {value}\n" for name, kind, value in lines))


@routes.on("GET", "/_admin/metrics/v2")
def metrics_v2(context: Context) -> Answer:
    return metrics(context)


@routes.on("PUT", "/_admin/compact")
def compact(context: Context) -> Answer:
    with context.app.engine.reading() as txn:
        connection = txn.connection
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    return json_answer({})
