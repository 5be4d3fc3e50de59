"""/_api/document: one document or many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson

from vgraph.embedded import keys
from vgraph.embedded.documents import Collection, Document, Written
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, Request, empty, json_answer, raw_answer

routes = Routes()

_MODES = ("conflict", "ignore", "replace", "update")


# -- one document ---------------------------------------------------------------------------------------------------


@routes.on("GET", "/_api/document/{collection}/{key}")
def read(context: Context, collection: str, key: str) -> Answer:
    with context.reading() as txn:
        body = txn.collection(collection).get_raw(key)
    if body is None:
        raise ArangoError(1202)
    rev = _rev_of(body)
    none_match = _unquoted(context.request.headers.get("if-none-match"))
    if none_match is not None and none_match == rev:
        return empty(304, {"etag": f'"{rev}"'})
    match = _unquoted(context.request.headers.get("if-match"))
    if match is not None and match != rev:
        return _precondition_failed(orjson.loads(body))
    return raw_answer(body, headers={"etag": f'"{rev}"'})


@routes.on("HEAD", "/_api/document/{collection}/{key}")
def head(context: Context, collection: str, key: str) -> Answer:
    answer = read(context, collection, key)
    return Answer(answer.status, b"", answer.headers)


def _rev_of(body: bytes) -> str:
    """The revision, without decoding: system attributes stand first, and a quote inside a JSON string is escaped."""
    start = body.index(b'"_rev":"') + 8
    return body[start : body.index(b'"', start)].decode()


@routes.on("POST", "/_api/document/{collection}")
def insert(context: Context, collection: str) -> Answer:
    body = context.request.json()
    options = _insert_options(context.request)
    if isinstance(body, list):
        return _write_all(context, collection, lambda target: target.insert_many(body, **options), created=True)
    return _write_one(context, collection, lambda target: target.insert(body, **options), created=True)


@routes.on("POST", "/_api/document")
def insert_by_parameter(context: Context) -> Answer:
    return insert(context, _by_parameter(context.request))


@routes.on("PATCH PUT", "/_api/document/{collection}/{key}")
def modify(context: Context, collection: str, key: str) -> Answer:
    body = context.request.json()
    if not isinstance(body, dict):
        raise ArangoError(1227)
    options = _modify_options(context.request)
    options["rev"] = _unquoted(context.request.headers.get("if-match"))
    replace = context.request.method == "PUT"
    return _write_one(
        context,
        collection,
        lambda target: (target.replace if replace else target.update)(key, body, **options),
        created=True,
    )


@routes.on("DELETE", "/_api/document/{collection}/{key}")
def remove(context: Context, collection: str, key: str) -> Answer:
    rev = _unquoted(context.request.headers.get("if-match"))
    whole = context.request.flag("returnOld")
    return _write_one(context, collection, lambda target: target.remove(key, rev=rev, whole=whole), created=False)


def _write_one(context: Context, name: str, write: Callable[[Collection], Written], *, created: bool) -> Answer:
    try:
        with context.writing() as txn:
            target = txn.collection(name, write=True)
            written = write(target)
            waited = target.info.properties["waitForSync"]
    except ArangoError as error:
        if error.num == 1200 and "_rev" in error.fields:
            return _precondition_failed(error.fields)
        raise
    request = context.request
    status = (201 if created else 200) if waited or request.flag("waitForSync") else 202
    location = f"/_db/{request.database}/_api/document/{written.id}"
    headers = {"etag": f'"{written.rev}"', "location": location}
    body = {} if request.flag("silent") else _described(request, written)
    return json_answer(body, status, headers)


def _described(request: Request, written: Written) -> Document:
    body: Document = {"_id": written.id, "_key": written.key, "_rev": written.rev}
    if written.old_rev is not None:
        body["_oldRev"] = written.old_rev
    kept_as_it_was = written.ignored and written.new is None  # overwriteMode=ignore tells nothing of the document
    if written.old is not None and request.flag("returnOld") and not kept_as_it_was:
        body["old"] = written.old
    if written.new is not None and request.flag("returnNew"):
        body["new"] = written.new
    return body


def _precondition_failed(doc: Document) -> Answer:
    body = {
        "error": True,
        "code": 412,
        "errorNum": 1200,
        "errorMessage": "conflict, _rev values do not match",
        "_id": doc["_id"],
        "_key": doc["_key"],
        "_rev": doc["_rev"],
    }
    return json_answer(body, 412, {"etag": f'"{doc["_rev"]}"'})


def _unquoted(etag: str | None) -> str | None:
    return None if etag is None else etag.strip().strip("\"'")


# -- paths with too little in them ----------------------------------------------------------------------------------


def _by_parameter(request: Request) -> str:
    """The collection that a query parameter names; 1204."""
    name = request.query.get("collection")
    if not name:
        raise ArangoError(
            1204, "'collection' is missing, expecting /_api/document/<collection> or query parameter 'collection'"
        )
    return name


@routes.on("GET", "/_api/document")
def read_nothing(context: Context) -> Answer:
    raise ArangoError(1203, "expecting GET /_api/document/<collection>/<key>")


@routes.on("GET", "/_api/document/{collection}")
def read_no_key(context: Context, collection: str) -> Answer:
    return read_nothing(context)


@routes.on("PATCH PUT", "/_api/document")
def modify_by_parameter(context: Context) -> Answer:
    request = context.request
    if not request.query.get("collection"):
        raise ArangoError(
            400, f"expecting {request.method} /_api/document/<collection>/<key> or /_api/document/<collection>"
        )
    return (replace_many if request.method == "PUT" else update_many)(context, _by_parameter(request))


@routes.on("DELETE", "/_api/document")
def remove_nothing(context: Context) -> Answer:
    raise ArangoError(
        400, "expecting DELETE /_api/document/<collection>/<key> or /_api/document/<collection> with a body"
    )


# -- many documents -------------------------------------------------------------------------------------------------


@routes.on("PATCH", "/_api/document/{collection}")
def update_many(context: Context, collection: str) -> Answer:
    options = _modify_options(context.request)
    return _write_many(
        context, collection, _documents(context.request), lambda target, doc: target.update(_key(doc), doc, **options)
    )


@routes.on("PUT", "/_api/document/{collection}")
def replace_many(context: Context, collection: str) -> Answer:
    if context.request.flag("onlyget"):
        return _read_many(context, collection)
    options = _modify_options(context.request)
    return _write_many(
        context, collection, _documents(context.request), lambda target, doc: target.replace(_key(doc), doc, **options)
    )


@routes.on("DELETE", "/_api/document/{collection}")
def remove_many(context: Context, collection: str) -> Answer:
    request = context.request
    ignore_revs, whole = request.flag("ignoreRevs", True), request.flag("returnOld")

    def remove(target: Collection, selector: Any) -> Written:
        rev = None if ignore_revs or not isinstance(selector, dict) else selector.get("_rev")
        return target.remove(_selected_key(target, selector), rev=rev, whole=whole)

    return _write_many(context, collection, _list(request), remove, created=False)


def _read_many(context: Context, name: str) -> Answer:
    selectors = _list(context.request)
    ignore_revs = context.request.flag("ignoreRevs", True)
    results: list[Any] = []
    with context.reading() as txn:
        target = txn.collection(name)
        wanted = [_try(_selected_key, target, selector) for selector in selectors]
        found = iter(target.get_many([key for key in wanted if isinstance(key, str)]))
        for selector, key in zip(selectors, wanted, strict=True):
            doc = next(found) if isinstance(key, str) else None
            results.append(_read_result(selector, key, doc, ignore_revs=ignore_revs))
    return json_answer(results, 200, _error_codes(results))


def _read_result(selector: Any, key: Any, doc: Document | None, *, ignore_revs: bool) -> Document:
    if isinstance(key, ArangoError):
        return _item_error(key)
    if doc is None:
        return _item_error(ArangoError(1202))
    if not ignore_revs and isinstance(selector, dict) and selector.get("_rev", doc["_rev"]) != doc["_rev"]:
        return _item_error(ArangoError(1200, "conflict, _rev values do not match"))
    return doc


def _try(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except ArangoError as error:
        return error


def _write_many(
    context: Context, name: str, items: list[Any], write: Callable[[Collection, Any], Written], *, created: bool = True
) -> Answer:
    """Write item by item."""
    return _write_all(context, name, lambda target: [_try(write, target, item) for item in items], created=created)


def _write_all(
    context: Context, name: str, write: Callable[[Collection], list[Written | ArangoError]], *, created: bool
) -> Answer:
    """One transaction; a refused document is an error in its place, the others are written."""
    request = context.request
    silent = request.flag("silent")
    with context.writing() as txn:
        target = txn.collection(name, write=True)
        found = write(target)
        waited = target.info.properties["waitForSync"] and any(isinstance(item, Written) for item in found)
    results = [
        _described(request, item) if isinstance(item, Written) else _item_error(item)
        for item in found
        if not (silent and isinstance(item, Written))
    ]
    status = (201 if created else 200) if waited or request.flag("waitForSync") else 202
    return json_answer(results if results or not silent else {}, status, _error_codes(results))


def _item_error(error: ArangoError) -> Document:
    return {"error": True, "errorNum": error.num, "errorMessage": error.message}


def _error_codes(results: list[Any]) -> dict[str, str]:
    codes = Counter(str(item["errorNum"]) for item in results if item.get("error") is True and "errorNum" in item)
    return {"x-arango-error-codes": orjson.dumps(dict(sorted(codes.items()))).decode()} if codes else {}


def _list(request: Request) -> list[Any]:
    body = request.json()
    if not isinstance(body, list):
        raise ArangoError(400, "expecting a JSON array in the request")
    return body


def _documents(request: Request) -> list[Any]:
    """The array of documents that a request holds; 1227."""
    body = request.json()
    if not isinstance(body, list):
        raise ArangoError(1227)
    return body


def _key(doc: Any) -> str:
    """The key a document of a multi-document request names; 1227, 1226, 1221."""
    if not isinstance(doc, dict):
        raise ArangoError(1227)
    if isinstance(doc.get("_key"), str):
        return str(doc["_key"])
    if isinstance(doc.get("_id"), str):
        return keys.split_id(doc["_id"])[1]
    raise ArangoError(1226 if "_key" not in doc else 1221)


def _selected_key(target: Collection, selector: Any) -> str:
    """The key of a key, an identifier of this collection, or a document; 1202 for another collection's."""
    if isinstance(selector, dict):
        return _key(selector)
    if not isinstance(selector, str):
        raise ArangoError(1205)
    if "/" not in selector:
        return selector
    collection, key = keys.split_id(selector)
    if collection not in (target.name, str(target.id)):
        raise ArangoError(1202)
    return key


# -- options --------------------------------------------------------------------------------------------------------


def _insert_options(request: Request) -> dict[str, Any]:
    mode = request.query.get("overwriteMode")
    if mode is not None and mode not in _MODES:
        raise ArangoError(10, f"invalid overwriteMode '{mode}'")
    if mode is None and request.flag("overwrite"):
        mode = "replace"
    options = _modify_options(request)
    return {"overwrite_mode": mode, **options}


def _modify_options(request: Request) -> dict[str, Any]:
    query = request.query
    return {
        "ignore_revs": request.flag("ignoreRevs", True),
        "keep_null": request.flag("keepNull", True),
        "merge_objects": request.flag("mergeObjects", True),
        "version_attribute": query.get("versionAttribute") or None,
        "whole": "returnNew" in query or "returnOld" in query,
    }
