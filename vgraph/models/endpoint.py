"""The one door to the openai SDK: a server at a base_url, asked with retries, its errors translated and its secrets kept.

Retried with exponential backoff: no connection, time-outs, 408, 409, 429 and 5xx; a server's Retry-After is obeyed up to a minute.
Anything else is final. Replies are taken as plain JSON, so that servers which only resemble OpenAI's cannot trip the SDK's types.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from vgraph.errors import ModelError
from vgraph.models.loading import clean, require
from vgraph.models.meter import spend
from vgraph.types import Usage

if TYPE_CHECKING:
    from openai import OpenAI

OPENAI: Final = "https://api.openai.com/v1"
_RETRIED: Final = frozenset({408, 409, 429})
_LONGEST_WAIT_S: Final = 60.0
_MESSAGE_LIMIT: Final = 300
_TOO_LONG: Final = (
    "context length", "context_length", "context size", "context window", "maximum context", "exceed_context",
    "too many tokens", "too many input tokens", "input is too long", "prompt is too long", "maximum input length", "reduce the length",
)  # fmt: skip
_LARGEST_REPLY: Final = 64 << 20
"""Bytes; thousands of embeddings fit."""


class _EndlessError(Exception):
    """A reply that is too long, or that comes in such small pieces that no time-out ends it."""


class EndpointError(ModelError):
    """A request failed. `status` is the HTTP status, None when there was no reply; `passing` says that asking again may help."""

    def __init__(
        self,
        message: str,
        *,
        stage: str,
        model: str,
        status: int | None = None,
        passing: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, stage=stage, model=model)
        self.status, self.passing, self.retry_after_s = status, passing, retry_after_s

    def names(self, *words: str) -> bool:
        """Whether the server refused the request as such and its message names one of the words."""
        refused = self.status in {400, 404, 415, 422, 500, 501}
        return refused and any(word in str(self).lower() for word in words)

    @property
    def too_long(self) -> bool:
        """Whether the server says that the request does not fit the model's context, in the words of the servers we know."""
        refused = self.status in {400, 413, 422, 500}
        return refused and any(words in str(self).lower() for words in _TOO_LONG)


class Endpoint:
    """An OpenAI-compatible server. `usage` adds up the tokens it counted, by stage. Safe to use from several threads."""

    def __init__(
        self, *, base_url: str | None = None, api_key: str | None = None, timeout_s: float = 60.0, retries: int = 3
    ) -> None:
        self._url = base_url or OPENAI
        self._key = api_key or ""
        self._timeout_s, self._retries = timeout_s, retries
        self._lock = threading.Lock()
        self.usage: dict[str, Usage] = {}
        self.address = _without_secrets(self._url)

    @cached_property
    def client(self) -> OpenAI:
        """The SDK's client; its own retries are off, since ours obey one policy for every stage."""
        for transport in ("httpx", "httpx2"):  # they log whole addresses, which may hold a password or a token
            logging.getLogger(transport).setLevel(logging.WARNING)
        retries = require("stamina").instrumentation  # left alone it prints to standard output, between our JSON
        retries.set_on_retry_hooks([retries.LoggingOnRetryHook])
        sdk = require("openai")
        made: OpenAI = sdk.OpenAI(
            base_url=self._url,
            api_key=self._key or "none",
            timeout=self._timeout_s,
            max_retries=0,
            http_client=sdk.DefaultHttpxClient(event_hooks={"response": [self._read]}),
        )
        return made

    def _read(self, reply: Any) -> None:
        """Take in the body of a reply while it is neither too long nor, once begun, longer on its way than the time-out."""
        begun, size, parts = time.monotonic(), 0, []
        for part in reply.iter_bytes():
            size += len(part)
            if size > _LARGEST_REPLY:
                raise _EndlessError(f"its reply is longer than {_LARGEST_REPLY >> 20} MiB")
            if time.monotonic() - begun > self._timeout_s:
                raise _EndlessError(f"its reply had not ended after {self._timeout_s:g} s")
            parts.append(part)
        reply._content = b"".join(parts)  # where the client's own read() leaves it

    def ask(self, stage: str, model: str, request: Callable[[OpenAI], Any]) -> dict[str, Any]:
        """The JSON object a raw-response request of the SDK gives, after retries; EndpointError when it fails for good."""
        import stamina

        for attempt in stamina.retry_context(
            on=wait, attempts=self._retries + 1, timeout=None, wait_initial=0.5, wait_max=30.0, wait_jitter=0.5
        ):
            with attempt:
                return self._once(stage, model, request)
        raise AssertionError("unreachable")

    def models(self) -> list[str]:
        """The names of the models a server lists; empty when it answers but lists none."""
        try:
            reply = self.ask("list models", "models", lambda client: client.models.with_raw_response.list())
        except EndpointError as error:
            if error.status in {404, 405, 501}:
                return []
            raise
        data = reply.get("data")
        return [str(row.get("id")) for row in (data if isinstance(data, list) else []) if isinstance(row, dict)]

    def _once(self, stage: str, model: str, request: Callable[[OpenAI], Any]) -> dict[str, Any]:
        import openai

        try:
            reply = request(self.client).http_response
        except (openai.OpenAIError, UnicodeError, _EndlessError) as error:
            # `from None`: the SDK's error quotes the request and the server's words, either of which may hold the key
            raise self._translated(error, stage, model) from None
        value = _json_object(reply.content)
        if value is None:
            what = f"{self.address} answered {model} with something other than a JSON object; does base_url lack /v1?"
            raise EndpointError(what, stage=stage, model=model, status=reply.status_code, passing=True)
        self._count(stage, usage_of(value))
        return value

    def _count(self, stage: str, usage: Usage) -> None:
        spend(usage)
        with self._lock:
            self.usage[stage] = self.usage.get(stage, Usage()) + usage

    def _translated(self, error: Exception, stage: str, model: str) -> EndpointError:
        import openai

        where = f"{self.address} ({stage}, {model})"
        match error:
            case openai.APITimeoutError():
                what, passing = f"{where} did not answer within {self._timeout_s:g} s", True
            case openai.APIStatusError():
                return self._refused(error, where, stage, model)
            case _EndlessError() | openai.APIConnectionError(__cause__=_EndlessError()):
                what, passing = f"{where}: {error if isinstance(error, _EndlessError) else error.__cause__}", True
            case openai.APIConnectionError():
                what, passing = f"{where} cannot be reached: {self._redacted(str(error.__cause__ or error))}", True
            case _:
                what, passing = f"{where} could not be asked: {self._redacted(str(error))}", False
        return EndpointError(what, stage=stage, model=model, passing=passing)

    def _refused(self, error: Any, where: str, stage: str, model: str) -> EndpointError:
        status: int = error.status_code
        return EndpointError(
            f"{where} answered {status}: {self._redacted(_said(error.response.content))}{_advice(status)}",
            stage=stage,
            model=model,
            status=status,
            passing=status in _RETRIED or status >= 500,
            retry_after_s=_seconds(error.response.headers.get("retry-after")),
        )

    def _redacted(self, text: str) -> str:
        """Text of a server or a library, short, on one line, without the key or the address's password."""
        text = text.replace(self._url, self.address)
        parts = urlsplit(self._url)
        basic = base64.b64encode(f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()).decode()
        for secret in (self._key, parts.password, basic):
            text = text.replace(secret, "***") if secret else text
        return clean(" ".join(text.split()))[:_MESSAGE_LIMIT]


def wait(error: Exception) -> bool | float:
    """What stamina is to do after an error: seconds to wait, its own backoff (True), or give up (False)."""
    if not isinstance(error, EndpointError) or not error.passing:
        return False
    return True if error.retry_after_s is None else error.retry_after_s


def usage_of(reply: Mapping[str, Any]) -> Usage:
    """The tokens a reply says it cost; none where the server does not count."""
    usage = reply.get("usage")
    if not isinstance(usage, Mapping):
        return Usage()
    return Usage(
        _whole(usage.get("prompt_tokens", usage.get("input_tokens"))),
        _whole(usage.get("completion_tokens", usage.get("output_tokens"))),
    )


def _whole(value: object) -> int:
    """A count; 0 for what is none (`1e999` is JSON)."""
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0


def _json_object(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _said(content: bytes) -> str:
    """The message in an error body, wherever the server put it."""
    value = _json_object(content)
    if value is None:
        return content.decode("utf-8", "replace")
    error = value.get("error", value)
    message = error.get("message", error.get("detail")) if isinstance(error, dict) else error
    return message if isinstance(message, str) else json.dumps(message or value)


def _advice(status: int) -> str:
    return {
        401: " (is the API key right?)",
        403: " (may this key use the model?)",
        404: " (is the model's name right, and does base_url end in /v1?)",
    }.get(status, "")


def _seconds(header: str | None) -> float | None:
    """Retry-After as seconds, at most a minute; the date form falls back to our own backoff."""
    try:
        return min(max(float(header or ""), 0.0), _LONGEST_WAIT_S)
    except ValueError:
        return None


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
