"""/_admin/log, and what was asked of late.

The engine logs through Python's logging, which keeps nothing: there are never entries. Levels are kept by topic; that of
"general" is the level of this package's logger.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from datetime import UTC, datetime
from typing import Any, Final

from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, Request, done, json_answer

routes = Routes()

_LEVELS: Final = {"FATAL": 50, "ERR": 40, "ERROR": 40, "WARN": 30, "WARNING": 30, "INFO": 20, "DEBUG": 10, "TRACE": 5}
_TOPICS: Final = ("general", "aql", "authentication", "queries", "requests", "storage", "views")
_CALLS: Final = 1000
_LOGGER: Final = logging.getLogger("vgraph.embedded")


class Log:
    """Log levels and settings as they were set, and the latest requests."""

    def __init__(self) -> None:
        self.settings = {"database": False, "url": False, "username": False}
        self._levels: dict[str, str] = {}
        self._calls: deque[tuple[float, str, str, str]] = deque(maxlen=_CALLS)
        self._lock = threading.Lock()

    def called(self, request: Request) -> None:
        """Note a request."""
        self._calls.append((time.time(), request.method, request.path, request.database))

    def calls(self, database: str | None) -> list[dict[str, Any]]:
        """The latest requests to a database or, with None, to all, the latest first."""
        return [
            {
                "timeStamp": datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "requestType": method,
                "path": path,
                "database": target,
            }
            for when, method, path, target in reversed(list(self._calls))
            if database in (None, target)
        ]

    @property
    def levels(self) -> dict[str, str]:
        general = {50: "FATAL", 40: "ERROR", 30: "WARNING", 20: "INFO", 10: "DEBUG", 5: "TRACE"}
        effective = general.get(_LOGGER.getEffectiveLevel(), "INFO")
        return dict.fromkeys(_TOPICS, effective) | self._levels

    def set_levels(self, wanted: dict[str, Any]) -> None:
        """Set levels by topic ("all" for each); 10."""
        if not all(isinstance(level, str) and level.upper() in _LEVELS for level in wanted.values()):
            raise ArangoError(10, "expecting a log level")
        with self._lock:
            for topic, level in wanted.items():
                if topic in ("all", "general"):
                    _LOGGER.setLevel(_LEVELS[level.upper()])
                if topic == "all":
                    self._levels = dict.fromkeys(self._levels, level.upper())
                elif topic != "general":
                    self._levels[topic] = level.upper()

    def reset(self) -> None:
        """Back to the levels at the start."""
        with self._lock:
            self._levels.clear()
        _LOGGER.setLevel(logging.NOTSET)


@routes.on("GET", "/_admin/log/entries")
def entries(context: Context) -> Answer:
    return json_answer({"total": 0, "messages": []})


@routes.on("GET", "/_admin/log")
def entries_by_attribute(context: Context) -> Answer:
    return json_answer({"totalAmount": 0, "lid": [], "topic": [], "level": [], "timestamp": [], "text": []})


@routes.on("GET", "/_admin/log/level")
def levels(context: Context) -> Answer:
    found: dict[str, Any] = context.app.log.levels
    return json_answer({"global": found, "appenders": {}} if context.request.flag("withAppenders") else found)


@routes.on("PUT", "/_admin/log/level")
def change_levels(context: Context) -> Answer:
    wanted = context.request.json()
    if isinstance(wanted, str):
        wanted = {"all": wanted}
    if not isinstance(wanted, dict):
        raise ArangoError(10, "expecting an object of topics and log levels")
    context.app.log.set_levels(wanted.get("global", wanted) if isinstance(wanted.get("global"), dict) else wanted)
    return levels(context)


@routes.on("DELETE", "/_admin/log/level")
def reset_levels(context: Context) -> Answer:
    context.app.log.reset()
    return levels(context)


@routes.on("GET", "/_admin/log/structured")
def settings(context: Context) -> Answer:
    return json_answer({name: True for name, value in context.app.log.settings.items() if value})


@routes.on("PUT", "/_admin/log/structured")
def change_settings(context: Context) -> Answer:
    held = context.app.log.settings
    for name, value in context.request.json_object().items():
        if name in held:
            if not isinstance(value, bool):
                raise ArangoError(10, f"expecting a boolean for {name}")
            held[name] = value
    return settings(context)


@routes.on("GET", "/_admin/server/api-calls")
def calls(context: Context) -> Answer:
    database = None if context.database == "_system" else context.database
    return done(200, result={"calls": context.app.log.calls(database)})
