"""Requests and answers as they pass between a driver and the engine, without a socket between them."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import orjson

from vgraph.embedded.errors import ArangoError
from vgraph.embedded.passing import Passed

_TRUE: Final = ("1", "true", "yes", "on", "y")
_PLAIN: Final = "text/plain; charset=utf-8"
_JSON: Final = "application/json; charset=utf-8"
SYSTEM: Final = "_system"


@dataclass(slots=True)
class Request:
    """One request: `parts` is the decoded path after /_db/<database>, header names are in lower case."""

    method: str
    path: str
    parts: list[str]
    database: str
    query: dict[str, str]
    headers: dict[str, str]
    content: bytes | Passed
    auth: tuple[str, str] | None = None

    @classmethod
    def make(
        cls,
        method: str,
        url: str,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        body: bytes | str | Passed | None = None,
        auth: tuple[str, str] | None = None,
    ) -> Request:
        """From what a client gives; the URL is a path, with or without a query string, a fragment is dropped."""
        url = url.partition("#")[0]
        path, _, text = url.partition("?")
        query = {**dict(parse_qsl(text, keep_blank_values=True)), **(query or {})} if text else query or {}
        parts = path.strip("/").split("/")
        if "//" in path:
            parts = [part for part in parts if part] or [""]
        if "%" in path:
            parts = [unquote(part) for part in parts]
        database = SYSTEM
        if parts[0] == "_db" and len(parts) > 1:
            database, parts = parts[1], parts[2:]
        raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body or b""
        if isinstance(raw, bytes) and headers and headers.get("content-encoding") in ("deflate", "gzip"):
            try:
                raw = zlib.decompress(raw, wbits=zlib.MAX_WBITS | 32)  # 32: the header tells which of the two
            except zlib.error as error:
                raise ArangoError(400, f"handling of compressed body failed: {error}") from None
        return cls(method.upper(), "/" + "/".join(parts), parts, database, query, headers or {}, raw, auth)

    @property
    def body(self) -> bytes:
        """The body's bytes."""
        return self.content.text() if isinstance(self.content, Passed) else self.content

    @property
    def size(self) -> int:
        """Bytes of the body, about."""
        return self.content.size if isinstance(self.content, Passed) else len(self.content)

    def json(self) -> Any:
        """The body as JSON; an empty one is an empty object; 600. It can be asked for once: it may have been passed as a value."""
        if isinstance(self.content, Passed):
            return self.content.take()
        if not self.body or self.body.isspace():
            return {}
        try:
            value = orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            text = "Expecting '\"' or '}'" if "string key" in error.msg else str(error)
            raise ArangoError(600, f"VPackError error: {text}") from None
        if len(self.body) <= _CHECKED and _repeats_a_name(self.body, value):
            raise ArangoError(600, "VPackError error: Duplicate attribute name")
        return value

    def json_object(self) -> dict[str, Any]:
        """The body as a JSON object; 400."""
        body = self.json()
        if not isinstance(body, dict):
            raise ArangoError(400, "expecting a JSON object body")
        return body

    def flag(self, name: str, default: bool = False) -> bool:
        """A boolean query parameter."""
        value = self.query.get(name)
        return default if value is None else value.lower() in _TRUE

    def flags(self, *names: str) -> dict[str, bool]:
        """The boolean query parameters of these names that were given."""
        return {name: self.flag(name) for name in names if name in self.query}

    def needed(self, name: str) -> str:
        """A query parameter that has to be there; 400."""
        value = self.query.get(name)
        if not value:
            raise ArangoError(400, f"expecting parameter '{name}'")
        return value


_colons = re.compile(rb'"\s*:').findall
_CHECKED: Final = 1 << 20  # bytes; of larger bodies the last of several attributes of one name counts


def _repeats_a_name(text: bytes, value: Any) -> bool:
    """Whether an object in this JSON text names an attribute twice: then fewer colons follow a name once it is read."""
    if not isinstance(value, dict | list):
        return False
    try:
        before, after = len(_colons(text)), len(_colons(orjson.dumps(value)))
    except orjson.JSONEncodeError:  # nested too deeply
        return False
    if before >= after:
        return before > after
    try:  # quotes are escaped in another way
        json.loads(text, object_pairs_hook=_unique)
    except ArangoError:
        return True
    return False


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ArangoError(600)


@dataclass(slots=True)
class Answer:
    """One answer: status, headers, and the body's bytes."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The phrase of the status line."""
        return HTTPStatus(self.status).phrase

    def json(self) -> Any:
        """The body as JSON, None when there is none."""
        return orjson.loads(self.body) if self.body else None


def json_answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """An answer with a JSON body."""
    return Answer(status, orjson.dumps(value), {"content-type": _JSON, **(headers or {})})


def raw_answer(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """An answer whose JSON is there already."""
    return Answer(status, body, {"content-type": _JSON, **(headers or {})})


def done(status: int = 200, /, **fields: Any) -> Answer:
    """The usual success: {error: false, code, …}."""
    return json_answer({"error": False, "code": status, **fields}, status)


def empty(status: int, headers: dict[str, str] | None = None) -> Answer:
    """An answer without a body."""
    return Answer(status, b"", {"content-type": _PLAIN, **(headers or {})})


def text(body: str, status: int = 200) -> Answer:
    """A plain text answer."""
    return Answer(status, body.encode(), {"content-type": _PLAIN})


def failure(error: ArangoError) -> Answer:
    """The answer of an error."""
    return json_answer(error.body(), error.status)
