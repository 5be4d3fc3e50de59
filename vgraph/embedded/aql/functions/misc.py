"""Functions of no other kind (ArangoDB documentation, "Miscellaneous functions in AQL")."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from ...errors import ERRORS, ArangoError, unsupported
from ...revisions import decode
from ..values import to_number, to_string, truthy
from .registry import Table, Value, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()
SERVER_VERSION: Final = "3.12.10"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_DYNAMIC_CALL: Final = frozenset(["COLLECTION_COUNT", "V8", "NEAR", "WITHIN", "FULLTEXT"])


@TABLE.add("PASSTHRU", args=(1, 1))
def passthru(rt: Runtime, value: Value) -> Value:
    return value


@TABLE.add("NOEVAL", args=(1, 1))
def noeval(rt: Runtime, value: Value) -> Value:
    return value


@TABLE.add("NOOPT", args=(1, 1), deterministic=False)
def noopt(rt: Runtime, value: Value) -> Value:
    return value


@TABLE.add("NOT_NULL", args=(1, None))
def not_null(rt: Runtime, *values: Value) -> Value:
    return next((value for value in values if value is not None), None)


@TABLE.add("FIRST_LIST", args=(1, None))
def first_list(rt: Runtime, *values: Value) -> Value:
    return next((value for value in values if type(value) is list), None)


@TABLE.add("FIRST_DOCUMENT", args=(1, None))
def first_document(rt: Runtime, *values: Value) -> Value:
    return next((value for value in values if type(value) is dict), None)


# -------------------------------------------------------------------------------------------- documents


def _identifier(value: Value) -> tuple[str, str] | None:
    """Collection and key of an _id or of a document."""
    if type(value) is dict:
        value = value.get("_id")
    if type(value) is not str:
        return None
    collection, slash, key = value.partition("/")
    return (collection, key) if slash and collection and key and "/" not in key else None


@TABLE.add("PARSE_IDENTIFIER", args=(1, 1))
def parse_identifier(rt: Runtime, value: Value) -> Value:
    found = _identifier(value)
    return wrong_type(rt, "PARSE_IDENTIFIER") if found is None else {"collection": found[0], "key": found[1]}


@TABLE.add("PARSE_KEY", args=(1, 1))
def parse_key(rt: Runtime, value: Value) -> Value:
    found = _identifier(value)
    return wrong_type(rt, "PARSE_KEY") if found is None else found[1]


@TABLE.add("PARSE_COLLECTION", args=(1, 1))
def parse_collection(rt: Runtime, value: Value) -> Value:
    found = _identifier(value)
    return wrong_type(rt, "PARSE_COLLECTION") if found is None else found[0]


@TABLE.add("IS_SAME_COLLECTION", args=(2, 2), collections=(0, 1))
def is_same_collection(rt: Runtime, collection: Value, value: Value) -> Value:
    """Compares names only; a document or _id may stand on either side."""
    names = []
    for side in (collection, value):
        found = side.get("_id") if type(side) is dict else side
        if type(found) is not str:
            return wrong_type(rt, "IS_SAME_COLLECTION")
        names.append(found.partition("/")[0])
    return names[0] == names[1]


@TABLE.add("DOCUMENT", args=(1, 2), deterministic=False, cacheable=False, collections=(0,))
def document(rt: Runtime, first: Value, second: Value = None) -> Value:
    """One document by _id, or by collection and key; of an array, those that exist."""
    collection, wanted = (None, first) if second is None else (first, second)
    if collection is not None and type(collection) is not str:
        return wrong_type(rt, "DOCUMENT")
    if type(wanted) is list:
        found = (_lookup(rt, collection, item) for item in wanted)
        return [item for item in found if item is not None]
    return _lookup(rt, collection, wanted)


def _lookup(rt: Runtime, collection: str | None, wanted: Value) -> Value:
    if type(wanted) is dict:
        wanted = wanted.get("_id")
    if type(wanted) is not str:
        return None
    name, slash, key = wanted.partition("/")
    if not slash:
        name, key = collection or "", wanted
    if not name or (collection is not None and name != collection):
        return None
    try:
        return rt.txn.collection(name).get(key)
    except ArangoError as error:
        if error.num == 1203:
            return None
        raise


@TABLE.add("CHECK_DOCUMENT", args=(1, 1))
def check_document(rt: Runtime, value: Value) -> bool:
    return type(value) is dict


@TABLE.add("DECODE_REV", args=(1, 1))
def decode_rev(rt: Runtime, revision: Value) -> Value:
    stamp = decode(revision) if type(revision) is str else None
    if stamp is None:
        return wrong_type(rt, "DECODE_REV")
    try:
        moment = _EPOCH + timedelta(milliseconds=stamp >> 20)
    except OverflowError:
        return wrong_type(rt, "DECODE_REV")
    return {"date": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"), "count": stamp & 0xFFFFF}


# -------------------------------------------------------------------------------------------- the database


@TABLE.add("COLLECTION_COUNT", args=(1, 1), deterministic=False, collections=(0,))
def collection_count(rt: Runtime, name: Value) -> Value:
    if type(name) is not str:
        return wrong_type(rt, "COLLECTION_COUNT")
    return rt.txn.collection(name).count()


@TABLE.add("COLLECTIONS", args=(0, 0), deterministic=False)
def collections(rt: Runtime) -> Value:
    """Name and id of every collection, by name without regard to case."""
    found = [{"_id": str(info.id), "name": info.name} for info in rt.txn.collections()]
    return sorted(found, key=lambda info: info["name"].lower())


@TABLE.add("CURRENT_DATABASE", args=(0, 0), deterministic=False)
def current_database(rt: Runtime) -> Value:
    return rt.txn.database


@TABLE.add("CURRENT_USER", args=(0, 0), deterministic=False)
def current_user(rt: Runtime) -> Value:
    """The user of the request; null without authentication."""
    return getattr(rt.txn, "user", None)


@TABLE.add("VERSION", args=(0, 0))
def version(rt: Runtime) -> str:
    return SERVER_VERSION


@TABLE.add("SHARD_ID", args=(2, 2))
def shard_id(rt: Runtime, collection: Value, keys: Value) -> Value:
    """On a single server the collection's name."""
    return collection if type(collection) is str else wrong_type(rt, "SHARD_ID")


@TABLE.add("SCHEMA_GET", args=(1, 1), deterministic=False)
def schema_get(rt: Runtime, name: Value) -> Value:
    """The schema of a collection with its defaults; null when it has none."""
    if type(name) is not str:
        return wrong_type(rt, "SCHEMA_GET")
    return rt.txn.collection(name).info.properties.get("schema")


@TABLE.add("SCHEMA_VALIDATE", args=(2, 2), deterministic=False)
def schema_validate(rt: Runtime, value: Value, schema: Value) -> Value:
    """Whether a document is as a schema, with the attributes of a collection's, wants it, whatever its level."""
    from vgraph.embedded import rules

    if type(value) is not dict or not (schema is None or type(schema) is dict):
        return wrong_type(rt, "SCHEMA_VALIDATE")
    checked = rules.check_schema(schema)
    if checked is None or rules.fits(checked["rule"], value):
        return {"valid": True}
    return {"valid": False, "errorMessage": checked["message"] or ERRORS[1620].text}


# ------------------------------------------------------------------------------------------- calls and tests


def _call(rt: Runtime, caller: str, name: Value, args: Value) -> Value:
    """What a function gives that CALL or APPLY names; calls of these two are unwound first."""
    from . import lookup

    while True:
        if caller == "APPLY" and args is not None and type(args) is not list:
            return wrong_type(rt, caller)
        args = args or []
        if type(name) is not str:
            raise ArangoError(1542, f"invalid argument type in call to function '{caller}()'")
        upper = name.upper()
        function = lookup(upper)
        if function is None:
            num = 1582 if "::" in upper else 1540
            raise ArangoError(num, f"usage of unknown function '{upper}()'" if num == 1540 else None)
        if upper in _NO_DYNAMIC_CALL:
            raise ArangoError(1578, f"disallowed dynamic call to '{upper}()'")
        if len(args) < function.min_args or (function.max_args is not None and len(args) > function.max_args):
            raise ArangoError(1541, f"invalid number of arguments for function '{upper}()'")
        if upper not in ("CALL", "APPLY"):
            return function.impl(rt, *args)
        name, *rest = args
        args = rest if upper == "CALL" else rest[0] if rest else []
        caller = upper


@TABLE.add("CALL", args=(1, None), deterministic=False)
def call(rt: Runtime, name: Value, *args: Value) -> Value:
    return _call(rt, "CALL", name, list(args))


@TABLE.add("APPLY", args=(1, 2), deterministic=False)
def apply(rt: Runtime, name: Value, args: Value = None) -> Value:
    return _call(rt, "APPLY", name, args)


@TABLE.add("FAIL", args=(0, 1), deterministic=False)
def fail(rt: Runtime, reason: Value = None) -> Value:
    raise ArangoError(1569, f"FAIL({reason}) called" if type(reason) is str else "FAIL() called")


@TABLE.add("ASSERT", args=(2, 2), deterministic=False)
def assert_true(rt: Runtime, condition: Value, message: Value) -> Value:
    if not truthy(condition):
        raise ArangoError(1593, to_string(message))
    return True


@TABLE.add("WARN", args=(2, 2), deterministic=False)
def warn_unless(rt: Runtime, condition: Value, message: Value) -> Value:
    if truthy(condition):
        return True
    rt.warnings.add(1594, to_string(message))
    return False


@TABLE.add("SLEEP", args=(1, 1), deterministic=False)
def sleep(rt: Runtime, seconds: Value) -> Value:
    """Waits, in steps that notice a killed query."""
    if type(seconds) not in (int, float) or seconds < 0:
        return wrong_type(rt, "SLEEP")
    end = time.monotonic() + to_number(seconds)
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.1))
        rt.check()
    return None


@TABLE.add("V8", args=(1, 1), deterministic=False)
def v8(rt: Runtime, value: Value) -> Value:
    raise unsupported("V8()")
