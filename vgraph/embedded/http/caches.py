"""The results cache and the list of cached plans: /_api/query-cache and /_api/query-plan-cache.

Source: ArangoDB documentation, "The AQL query results cache" and "The execution plan cache for AQL queries". Results are
kept when the cache is on, as long as nothing that was read has changed. Plans are always kept (see aql/prepare.py); those of
queries that asked for it (`usePlanCache`) are listed.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from vgraph.embedded import aql
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, done, json_answer

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

routes = Routes()

_MODES: Final = ("off", "on", "demand")
_PLANS: Final = 128  # listed per database
Stamp = tuple[Any, ...]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _number(raw: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "big")


def _as_bytes(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


# -- results --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Kept:
    """A result with what it was computed from."""

    key: bytes
    database: str
    text: str
    binds: dict[str, Any]
    rows: list[Any]
    stats: dict[str, Any]
    size: int
    run_time: float
    collections: frozenset[str]
    stamp: Stamp
    started: str
    hits: int = 0

    @classmethod
    def make(
        cls, key: bytes, database: str, text: str, binds: dict[str, Any], result: aql.Result, stamp: Stamp
    ) -> Kept:
        rows, stats = result.all(), result.stats
        size = len(_as_bytes(rows)) + len(_as_bytes(binds))
        read = result.variant.plan.read
        return cls(key, database, text, binds, rows.copy(), stats, size, stats["executionTime"], read, stamp, _now())

    def as_json(self) -> dict[str, Any]:
        return {
            "hash": str(_number(self.key)),
            "query": self.text,
            "bindVars": self.binds,
            "size": self.size,
            "results": len(self.rows),
            "hits": self.hits,
            "runTime": self.run_time,
            "started": self.started,
            "dataSources": sorted(self.collections),
        }


class Results:
    """Results of queries that only read, of one process."""

    def __init__(self) -> None:
        self.properties: dict[str, Any] = {
            "mode": "off",
            "maxResults": 128,
            "maxResultsSize": 268435456,
            "maxEntrySize": 16777216,
            "includeSystem": False,
        }
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def key(
        self, context: Context, text: str, binds: Mapping[str, Any], options: Mapping[str, Any], count: bool
    ) -> bytes | None:
        """What two requests must have in common to share a result; None when this one is not to come from here."""
        mode, said = self.properties["mode"], options.get("cache")
        if mode == "off" or said is False or (mode == "demand" and said is not True):
            return None
        if options.get("stream") or options.get("profile") or context.stream_id:
            return None
        switches = (options.get("fullCount"), options.get("optimizer"), options.get("failOnWarning"), count)
        return hashlib.sha256(_as_bytes([context.database, text, binds, switches])).digest()

    def find(self, context: Context, key: bytes) -> Kept | None:
        """A result that is still true, of collections the user may read."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        with context.reading() as txn:
            for name in kept.collections:
                txn.collection(name)  # asks the guard
            if stamp_of(txn, kept.collections) == kept.stamp:
                kept.hits += 1
                return kept
        with self._lock:
            self._kept.pop(key, None)
        return None

    def keep(self, kept: Kept) -> None:
        """Add a result unless it is too large; the oldest of the database make room."""
        if kept.size > min(self.properties["maxEntrySize"], self.properties["maxResultsSize"]):
            return
        if not self.properties["includeSystem"] and any(name.startswith("_") for name in kept.collections):
            return
        with self._lock:
            self._kept[kept.key] = kept
            self._trim(kept.database)

    def _trim(self, database: str) -> None:
        own = [kept for kept in self._kept.values() if kept.database == database]
        size = sum(kept.size for kept in own)
        while len(own) > self.properties["maxResults"] or size > self.properties["maxResultsSize"]:
            oldest = own.pop(0)
            size -= oldest.size
            del self._kept[oldest.key]

    def of(self, database: str) -> list[Kept]:
        return [kept for kept in list(self._kept.values()) if kept.database == database]

    def clear(self, databases: Iterable[str] | None = None) -> None:
        """Forget the results of some databases, or all."""
        with self._lock:
            for kept in list(self._kept.values()):
                if databases is None or kept.database in databases:
                    del self._kept[kept.key]

    def change(self, wanted: Mapping[str, Any]) -> None:
        """Set properties; 10. What is kept is forgotten."""
        for name, value in wanted.items():
            if name == "mode":
                if value not in _MODES:
                    raise ArangoError(10, "expecting mode to be one of off, on, demand")
            elif name == "includeSystem":
                if not isinstance(value, bool):
                    raise ArangoError(10, "expecting a boolean for includeSystem")
            elif name in self.properties and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ArangoError(10, f"expecting a number for {name}")
        self.properties.update((name, value) for name, value in wanted.items() if name in self.properties)
        self.clear()


def stamp_of(txn: Transaction, collections: Iterable[str]) -> Stamp:
    """Changes whenever the catalog or one of the collections does."""
    ids = [txn.collection(name).info.id for name in sorted(collections)]
    states = [txn.sql("SELECT documents, revision FROM collections WHERE id = ?", (one,)).fetchone() for one in ids]
    return (txn.schema_version, *states)


def stamp_before(result: aql.Result) -> Stamp | None:
    """The state of what a query is about to read; None when its result cannot be kept.

    Views are left out: what they show does not change with their collections at once.
    """
    sources, txn = result.sources, result.txn
    if not result.cacheable or sources is None or not sources <= txn.database_info.collections.keys():
        return None
    return stamp_of(txn, sources)


# -- plans ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Plan:
    """A query that asked for its plan to be kept."""

    key: str
    database: str
    text: str
    binds: dict[str, Any]
    full_count: bool
    sources: frozenset[str]
    schema_version: int
    created: str
    hits: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "hash": self.key,
            "query": self.text,
            "queryHash": _number(self.text.encode()),
            "bindVars": self.binds,
            "fullCount": self.full_count,
            "dataSources": sorted(self.sources),
            "created": self.created,
            "hits": self.hits,
            "memoryUsage": len(self.text) * 8 + 1024,
        }


class Plans:
    """The plans that were asked to be kept, of one process."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Plan] = OrderedDict()
        self._lock = threading.Lock()

    def use(
        self,
        context: Context,
        text: str,
        binds: Mapping[str, Any],
        options: Mapping[str, Any],
        sources: frozenset[str] | None,
    ) -> dict[str, Any]:
        """Note a query that asked for the cache; its answer names the plan when that was there before."""
        if not options.get("usePlanCache") or sources is None:
            return {}
        names = {name: value for name, value in binds.items() if name.startswith("@")}
        full_count, version = bool(options.get("fullCount")), _schema_version(context)
        key = str(_number(_as_bytes([context.database, text, names, full_count])))
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.schema_version == version:
                kept.hits += 1
                return {"planCacheKey": key}
            self._kept[key] = Plan(key, context.database, text, names, full_count, sources, version, _now())
            self._kept.move_to_end(key)
            own = [key for key, kept in self._kept.items() if kept.database == context.database]
            for oldest in own[:-_PLANS]:
                del self._kept[oldest]
        return {}

    def of(self, context: Context) -> list[Plan]:
        version = _schema_version(context)
        plans = [plan for plan in list(self._kept.values()) if plan.database == context.database]
        return [plan for plan in plans if plan.schema_version == version]

    def clear(self, database: str) -> None:
        with self._lock:
            for key in [key for key, kept in self._kept.items() if kept.database == database]:
                del self._kept[key]


def _schema_version(context: Context) -> int:
    with context.app.engine.reading(context.database) as txn:
        return txn.schema_version


def _readable(context: Context, names: Iterable[str]) -> bool:
    if context.access is None:
        return True
    try:
        for name in names:
            context.access.check_collection(context.database, name, False)
    except ArangoError:
        return False
    return True


# -- endpoints ------------------------------------------------------------------------------------------------------


@routes.on("GET", "/_api/query-cache/entries")
def results(context: Context) -> Answer:
    found = context.app.results.of(context.database)
    return json_answer([kept.as_json() for kept in found if _readable(context, kept.collections)])


@routes.on("DELETE", "/_api/query-cache")
def clear_results(context: Context) -> Answer:
    context.app.results.clear((context.database,))
    return done(200)


@routes.on("GET PUT", "/_api/query-cache/properties")
def results_properties(context: Context) -> Answer:
    held = context.app.results
    if context.request.method == "PUT":
        held.change(context.request.json_object())
    return json_answer(held.properties)


@routes.on("GET", "/_api/query-plan-cache")
def plans(context: Context) -> Answer:
    found = context.app.plans.of(context)
    return json_answer([plan.as_json() for plan in found if _readable(context, plan.sources)])


@routes.on("DELETE", "/_api/query-plan-cache")
def clear_plans(context: Context) -> Answer:
    context.app.plans.clear(context.database)
    return done(200)
