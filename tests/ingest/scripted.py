"""A server that speaks OpenAI's API sensibly enough for an ingest: every reply fits the schema that was asked for, and says what it must.

What it answers depends only on what it is asked, so that two runs can be compared; what it is asked is counted by kind.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tests.models.conftest import Request, Response, Server

NAMES = ("Ana", "Bob", "Carla", "Dirk")


class Oracle:
    """Wraps a `Server`; `refuse` is asked before each answer and may give another one (a 500, a hang)."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.asked: Counter[str] = Counter()
        self.contents: Counter[str] = Counter()
        self.refuse: Callable[[str, int], Response | None] = lambda kind, number: None
        self._lock = threading.Lock()
        server.script = [self.answer]

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def total(self) -> int:
        return sum(self.asked.values())

    def answer(self, request: Request) -> Response:
        kind = kind_of(request)
        with self._lock:
            self.asked[kind] += 1
            if kind == "embed" and request.json["input"] == ["dimension"]:
                self.asked[kind] -= 1
                return _ANSWERS[kind](request)
            self.contents[_digest(_body(request))] += 1
            number = self.total
        return self.refuse(kind, number) or _ANSWERS[kind](request)


def kind_of(request: Request) -> str:
    if request.path.endswith("/transcriptions"):
        return "hear"
    if request.path.endswith("/embeddings"):
        return "embed"
    return "caption" if "image_url" in json.dumps(request.json["messages"]) else "extract"


def _body(request: Request) -> bytes:
    """The request without what the client makes up for each: the boundary of a form."""
    boundary = re.search(r"boundary=(\S+)", request.headers.get("content-type", ""))
    return request.content.replace(boundary[1].encode(), b"") if boundary else request.content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _transcribed(request: Request) -> Response:
    said = f"this is part {_digest(_body(request))[:4]}"
    return Response({"text": said, "language": "en", "segments": [{"start": 0.0, "end": 0.4, "text": said}]})


def _embedded(request: Request) -> Response:
    texts = request.json["input"]
    rows = [{"index": n, "embedding": _vector(text)} for n, text in enumerate(texts)]
    return Response({"data": rows, "usage": {"prompt_tokens": 3 * len(texts), "total_tokens": 3 * len(texts)}})


def _vector(text: str) -> list[float]:
    return [1 + byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:8]]


def _chatted(request: Request) -> Response:
    schema = request.json["response_format"]["json_schema"]["schema"]
    seed = int(_digest(request.content)[:8], 16)
    content = json.dumps(instance(schema, seed))
    message = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return Response({"choices": [message], "usage": {"prompt_tokens": 100, "completion_tokens": 20}})


_ANSWERS: Mapping[str, Callable[[Request], Response]] = {
    "hear": _transcribed,
    "embed": _embedded,
    "caption": _chatted,
    "extract": _chatted,
}


def instance(schema: Any, seed: int, name: str = "") -> Any:
    """A value of a schema: one item a list, words for strings, names for what is named."""
    if "enum" in schema:
        return schema["enum"][seed % len(schema["enum"])]
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    match kind:
        case "object":
            return {key: instance(part, seed, key) for key, part in schema.get("properties", {}).items()}
        case "array":
            return [instance(schema["items"], seed, name)]
        case "number" | "integer":
            return 1
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return (
                NAMES[seed % len(NAMES)] if name in ("name", "source", "target") else f"{name} {NAMES[seed % 4]} walks"
            )
