"""/_api/import: many documents as JSON lines, a JSON list, or a header line with rows of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from vgraph.embedded.documents import Collection
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, Request, json_answer
from vgraph.embedded.passing import Passed

routes = Routes()

_MODES: Final = {"error": None, "update": "update", "replace": "replace", "ignore": "ignore"}


@dataclass(slots=True)
class Tally:
    """What an import has come to."""

    created: int = 0
    errors: int = 0
    empty: int = 0
    updated: int = 0
    ignored: int = 0
    details: list[str] = field(default_factory=list)

    def refuse(self, position: int, reason: str, offending: Any) -> None:
        """Count a document that is not taken, and say why."""
        self.errors += 1
        shown = offending if isinstance(offending, str) else orjson.dumps(offending).decode()
        self.details.append(f"at position {position}: {reason}, offending document: {shown}")

    def body(self, *, details: bool) -> dict[str, Any]:
        """The answer."""
        counts = {name: getattr(self, name) for name in ("created", "errors", "empty", "updated", "ignored")}
        return {"error": False, **counts, **({"details": self.details} if details else {})}


@routes.on("POST", "/_api/import")
def import_documents(context: Context) -> Answer:
    request = context.request
    name = request.query.get("collection")
    if not name:
        raise ArangoError(1204, "'collection' is missing, expecting /_api/import?collection=<identifier>")
    mode = request.query.get("onDuplicate", "error")
    if mode not in _MODES:
        raise ArangoError(10, f"invalid value '{mode}' for onDuplicate")
    tally = Tally()
    with context.writing() as txn:
        target = txn.collection(name, write=True)
        docs = _parsed(request, tally)
        if request.flag("overwrite"):
            target.truncate()
        _import(target, docs, tally, request, mode)
    return json_answer(tally.body(details=request.flag("details")), 201)


def _import(target: Collection, docs: list[tuple[int, Any]], tally: Tally, request: Request, mode: str) -> None:
    complete = request.flag("complete")
    is_edge = target.type == 3
    taken: list[Any] = []
    for position, doc in docs:
        if not isinstance(doc, dict):
            _refuse(tally, position, "invalid document type", doc, complete, ArangoError(1227))
            continue
        if is_edge:
            _add_prefixes(doc, request)
            if "_from" not in doc or "_to" not in doc:
                reason = "missing '_from' or '_to' attribute"
                _refuse(tally, position, reason, doc, complete, ArangoError(1233, reason))
                continue
        taken.append(doc)
    results = target.insert_many(taken, overwrite_mode=_MODES[mode], whole=False)
    for position, (doc, result) in enumerate(zip(taken, results, strict=True)):
        if isinstance(result, ArangoError):
            plain = ArangoError(result.num)
            reason = f"creating document failed with error '{plain.message}'"
            _refuse(tally, position, reason, doc, complete, plain)
        elif result.ignored:
            tally.ignored += 1
        elif result.old_rev is not None:
            tally.updated += 1
        else:
            tally.created += 1


def _refuse(tally: Tally, position: int, reason: str, doc: Any, complete: bool, error: ArangoError) -> None:
    if complete:
        raise error
    tally.refuse(position, reason, doc)


def _add_prefixes(doc: dict[str, Any], request: Request) -> None:
    """`fromPrefix` and `toPrefix` name the collection of ends that are bare keys, or of all with overwriteCollectionPrefix."""
    for attribute, parameter in (("_from", "fromPrefix"), ("_to", "toPrefix")):
        prefix = request.query.get(parameter, "").rstrip("/")
        value = doc.get(attribute)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not prefix or not isinstance(value, str):
            continue
        _, slash, key = value.partition("/")
        if not slash:
            doc[attribute] = f"{prefix}/{value}"
        elif request.flag("overwriteCollectionPrefix"):
            doc[attribute] = f"{prefix}/{key}"


# -- forms of the body ----------------------------------------------------------------------------------------------


def _parsed(request: Request, tally: Tally) -> list[tuple[int, Any]]:
    """(position, document) in the form that `type` names: documents, list, auto, or rows under a header line."""
    form = request.query.get("type")
    if form == "auto":
        form = "list" if isinstance(request.content, Passed) or request.body.lstrip()[:1] == b"[" else "documents"
    if form in ("list", "array"):
        items = request.json()
        if not isinstance(items, list):
            raise ArangoError(400, "expecting a JSON array in the request")
        return list(enumerate(items, 1))
    if form == "documents":
        return list(_lines(request.body, tally))
    if not form:  # some drivers send an empty type
        return list(_rows(request.body, tally))
    raise ArangoError(10, "invalid value for type")


def _lines(body: bytes, tally: Tally) -> Iterator[tuple[int, Any]]:
    lines = body.split(b"\n")
    if not lines[-1].strip():
        del lines[-1]
    for position, line in enumerate(lines, 1):
        if not line.strip():
            tally.empty += 1
            continue
        try:
            yield position, orjson.loads(line)
        except orjson.JSONDecodeError as error:
            tally.refuse(position, f"invalid JSON ({error})", line.decode("utf-8", "replace"))


def _rows(body: bytes, tally: Tally) -> Iterator[tuple[int, Any]]:
    lines = body.split(b"\n")
    header = _json_list(
        lines[0], "no JSON array found in first line" if len(lines) > 1 else "no JSON array found in second line"
    )
    if not all(isinstance(name, str) for name in header):
        raise ArangoError(400, "no JSON string array found in first line")
    for position, line in enumerate(lines[1:], 1):
        if not line.strip():
            tally.empty += position < len(lines) - 1
            continue
        values = _json_list(line, "no valid JSON array data found in line")
        if len(values) != len(header):
            tally.refuse(position, "wrong number of values", line.decode("utf-8", "replace"))
            continue
        yield position, dict(zip(header, values, strict=True))


def _json_list(line: bytes, reason: str) -> list[Any]:
    try:
        values = orjson.loads(line)
    except orjson.JSONDecodeError:
        values = None
    if not isinstance(values, list):
        raise ArangoError(400, reason)
    return values
