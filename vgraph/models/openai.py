"""Any OpenAI-compatible server as chat and vision model, embedder and transcriber.

Servers differ in what they accept; each adapter starts from OpenAI's own form and remembers what a server refused: JSON schemas
(json_schema, then json_object with a schema, then json_object, then the prompt alone), max_tokens, temperature, word times.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from vgraph.errors import BadReply, ModelError
from vgraph.models.endpoint import Endpoint, EndpointError, usage_of
from vgraph.models.loading import clean
from vgraph.models.replies import Malformed, bare, check, cleaned, is_strict, parsed
from vgraph.models.vectors import normalised
from vgraph.prompts import prompt
from vgraph.types import Completion, Message, ToolCall, ToolSpec, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from openai import OpenAI

_FORMATS: Final = ("json_schema", "json_object+schema", "json_object", "prompt")
_BATCH_TEXTS: Final = 128
_BATCH_CHARACTERS: Final = 100_000
_LONGEST_TEXT: Final = 24_000
_SHORTEST_CUT: Final = 500


class _Unusable(Exception):  # noqa: N818 - a state of the talk, not a fault to report
    """One reply that cannot be used; `said` is its text, shown to the model when asked again."""

    def __init__(
        self, kind: Literal["malformed", "truncated", "refused", "empty"], reason: str, usage: Usage, said: str
    ) -> None:
        super().__init__(reason)
        self.kind, self.usage, self.said = kind, usage, said


class OpenAIChat:
    """A chat model. A reply that cannot be used is asked for once more with the fault named, then it is a BadReply."""

    def __init__(self, endpoint: Endpoint, model: str, *, stage: str = "chat") -> None:
        self.name = f"openai:{model}"
        self._endpoint, self._model, self._stage = endpoint, model, stage
        self._format = 0
        self._format_works = False
        self._limit_name = "max_tokens"
        self._takes_temperature = True

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Completion:
        spent = Usage()
        for last in (False, True):
            try:
                done = self._once(messages, schema, tools, max_tokens, temperature)
                return replace(done, usage=spent + done.usage)
            except _Unusable as fault:
                spent += fault.usage
                if last or fault.kind == "refused":
                    raise self._bad_reply(fault, spent) from None
                messages, max_tokens = _again(messages, fault), max_tokens * (1 + (fault.kind == "truncated"))
            except EndpointError as error:
                if error.too_long:
                    raise self._too_long(error, spent) from None
                raise
        raise AssertionError("unreachable")

    def reply(self, messages: Sequence[Message], *, max_tokens: int, **extra: Any) -> dict[str, Any]:
        """The server's reply as it came, to a request with fields of its own (`logprobs`); nothing is asked again."""
        while True:
            body = self._body(messages, None, None, (), max_tokens, 0.0) | extra
            try:
                return self._endpoint.ask(self._stage, self.name, _completing(body))
            except EndpointError as error:
                if error.too_long or not self._adapted(error, None, body):
                    raise

    def _bad_reply(self, fault: _Unusable, spent: Usage) -> BadReply:
        what = f"{self.name} gave an unusable reply ({fault.kind}): {fault}"
        return BadReply(what, kind=fault.kind, stage=self._stage, model=self.name, usage=spent, said=fault.said)

    def _too_long(self, error: EndpointError, spent: Usage) -> BadReply:
        return BadReply(str(error), kind="too_long", stage=self._stage, model=self.name, usage=spent)

    def _once(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        tools: Sequence[ToolSpec],
        max_tokens: int,
        temperature: float,
    ) -> Completion:
        while True:
            form = _FORMATS[self._format] if schema is not None else None
            body = self._body(messages, schema, form, tools, max_tokens, temperature)
            try:
                reply = self._endpoint.ask(self._stage, self.name, _completing(body))
            except EndpointError as error:
                if error.too_long or not self._adapted(error, form, body):
                    raise
            else:
                self._format_works |= schema is not None
                return _read(reply, schema, tools, self.name)

    def _adapted(self, error: EndpointError, form: str | None, body: Mapping[str, Any]) -> bool:
        """Whether something the server refuses was found and will be left out from now on."""
        if self._limit_name in body and error.names("max_completion_tokens") and self._limit_name == "max_tokens":
            self._limit_name = "max_completion_tokens"
        elif "temperature" in body and error.names("temperature"):
            self._takes_temperature = False
        elif form not in (None, "prompt") and self._refuses_format(error):
            self._format = _FORMATS.index(form or "") + 1
        else:
            return False
        return True

    def _refuses_format(self, error: EndpointError) -> bool:
        """Said in words, or by a failure that survived the retries of a form which has never worked (llama.cpp's server: 500)."""
        if error.names("response_format", "json_schema", "json_object", "schema", "grammar"):
            return True
        return not self._format_works and error.status in {400, 422, 500, 501}

    def _body(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        form: str | None,
        tools: Sequence[ToolSpec],
        max_tokens: int,
        temperature: float,
    ) -> dict[str, Any]:
        wire = [_wire(message) for message in messages]
        if schema is not None and form != "json_schema":
            wire.append({"role": "user", "content": prompt("schema", schema=json.dumps(schema, ensure_ascii=False))})
        body: dict[str, Any] = {"model": self._model, "messages": wire, self._limit_name: max_tokens}
        if self._takes_temperature:
            body["temperature"] = temperature
        if tools:
            body["tools"] = [_tool(tool) for tool in tools]
        if form in (None, "prompt") or schema is None:
            return body
        return body | {"response_format": _response_format(form or "", schema)}


def _completing(body: Mapping[str, Any]) -> Callable[[OpenAI], Any]:
    return lambda client: client.chat.completions.with_raw_response.create(**body)


def _response_format(form: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    match form:
        case "json_schema":
            named = {"name": "reply", "schema": dict(schema), "strict": is_strict(schema)}
            return {"type": "json_schema", "json_schema": named}
        case "json_object+schema":
            return {"type": "json_object", "schema": dict(schema)}
        case _:
            return {"type": "json_object"}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": clean(tool.description), "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _wire(message: Message) -> dict[str, Any]:
    """A message as the API takes it; pictures ride along as data addresses."""
    wire: dict[str, Any] = {"role": message.role, "content": clean(message.text)}
    if message.images:
        pictures = [
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{base64.b64encode(image).decode()}"}}
            for image in message.images
        ]
        wire["content"] = [{"type": "text", "text": clean(message.text)}, *pictures]
    if message.tool_call is not None:
        wire["tool_call_id"] = message.tool_call
    if message.calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(cleaned(dict(call.arguments)))},
            }
            for call in message.calls
        ]
    return wire


def _again(messages: Sequence[Message], fault: _Unusable) -> Sequence[Message]:
    """The conversation with the unusable reply and what is wrong with it; cut short or empty, it is asked anew as it was."""
    if fault.kind != "malformed":
        return messages
    said = [Message("assistant", fault.said)] if fault.said else []
    return [*messages, *said, Message("user", prompt("again", fault=str(fault)))]


def _read(
    reply: Mapping[str, Any], schema: Mapping[str, Any] | None, tools: Sequence[ToolSpec], model: str
) -> Completion:
    usage = usage_of(reply)
    choice = _first(reply.get("choices"))
    message = _mapping(choice.get("message"))
    text = clean(_text(message.get("content")))
    cut = choice.get("finish_reason") == "length"
    if message.get("refusal") or choice.get("finish_reason") == "content_filter":
        raise _Unusable("refused", clean(_text(message.get("refusal")))[:200] or "content filter", usage, text)
    try:
        calls = tuple(_call(call, tools) for call in message.get("tool_calls") or ())
        if not calls and not bare(text):
            reason = "it stopped at the token limit before saying anything" if cut else "there is no text in it"
            raise _Unusable("truncated" if cut else "empty", reason, usage, text)
        if cut and (schema is not None or calls):
            raise _Unusable("truncated", "it stopped at the token limit", usage, text)
        value = parsed(text, schema) if schema is not None and not calls else None
    except Malformed as fault:
        raise _Unusable("malformed", str(fault), usage, text or json.dumps(message.get("tool_calls"))) from None
    return Completion(text, value, calls, usage, model, truncated=cut)


def _call(call: object, tools: Sequence[ToolSpec]) -> ToolCall:
    """A tool call whose arguments fit the tool's schema, or Malformed."""
    function = _mapping(_mapping(call).get("function"))
    known = {tool.name: tool for tool in tools}
    tool = known.get(_text(function.get("name")))
    if tool is None:
        raise Malformed(f"there is no tool {_text(function.get('name'))!r}; the tools are {', '.join(known) or 'none'}")
    arguments = function.get("arguments")
    try:
        if not isinstance(arguments, dict):
            arguments = parsed(_text(arguments) or "{}", {"type": "object"})
        check(arguments, tool.parameters)
    except Malformed as fault:
        raise Malformed(f"the arguments of {tool.name}: {fault}") from fault
    return ToolCall(_text(_mapping(call).get("id")) or tool.name, tool.name, cleaned(arguments))


def _first(value: object) -> Mapping[str, Any]:
    return _mapping(value[0]) if isinstance(value, list) and value else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    """Text content, also where a server sends it in parts."""
    if isinstance(value, list):
        return "".join(_text(_mapping(part).get("text")) for part in value)
    return value if isinstance(value, str) else ""


# --- embeddings ---------------------------------------------------------------------------------------------------------


class OpenAIEmbedder:
    """Text embeddings. Empty texts become zero vectors without being sent; texts the model finds too long are shortened."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.name = f"openai:{model}"
        self._endpoint, self._model = endpoint, model

    @cached_property
    def dimension(self) -> int:
        return int(self._vectors(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        cut = [clean(text)[:_LONGEST_TEXT] for text in texts]
        vectors = np.zeros((len(cut), self.dimension), np.float32)
        for batch in _batches([index for index, text in enumerate(cut) if text.strip()], cut):
            made = self._vectors([cut[index] for index in batch])
            if made.shape[1] != self.dimension:
                what = f"{self.name} changed its dimension from {self.dimension} to {made.shape[1]}"
                raise ModelError(what, stage="embed", model=self.name)
            vectors[batch] = made
        return vectors

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        try:
            reply = self._endpoint.ask(
                "embed", self.name, lambda client: client.embeddings.with_raw_response.create(**body)
            )
        except EndpointError as error:
            longest = max(map(len, texts))
            if not error.names("token", "too long", "context", "maximum", "length") or longest <= _SHORTEST_CUT:
                raise
            return self._vectors([text[: longest // 2] for text in texts])
        return self._rows(reply, len(texts))

    def _rows(self, reply: Mapping[str, Any], count: int) -> NDArray[np.float32]:
        import numpy as np

        data = reply.get("data")
        try:
            rows = sorted(data if isinstance(data, list) else [], key=lambda row: row.get("index", 0))
            vectors = np.asarray([row["embedding"] for row in rows], np.float32)
        except (AttributeError, KeyError, TypeError, ValueError):
            vectors = np.zeros((0, 0), np.float32)
        if vectors.ndim != 2 or len(vectors) != count or not vectors.size or not np.isfinite(vectors).all():
            what = f"{self.name} did not answer with {count} vectors of numbers"
            raise ModelError(what, stage="embed", model=self.name)
        return normalised(vectors)


def _batches(indexes: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    batch: list[int] = []
    size = 0
    for index in indexes:
        if batch and (len(batch) == _BATCH_TEXTS or size + len(texts[index]) > _BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(index)
        size += len(texts[index])
    if batch:
        yield batch
