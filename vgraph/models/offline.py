"""Stand-ins for tests and dry runs. They understand nothing, their names say what they are, and `auto` never picks them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vgraph.errors import BadReply
from vgraph.models.loading import clean
from vgraph.models.replies import Malformed, check
from vgraph.models.vectors import normalised
from vgraph.types import Completion, Message, ToolSpec, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Reply = str | Completion | Exception | Mapping[str, Any] | list[Any]


class ScriptedChat:
    """A chat model that says what it is told to: replies one after the other, or a function from messages to a reply.

    A mapping or list is the `value` of a reply and is checked against the schema asked for, an exception is raised. `seen` keeps what was
    asked. When the script has run out, asking on is an empty reply.
    """

    name = "scripted"

    def __init__(self, replies: Iterable[Reply] | Callable[[Sequence[Message]], Reply]) -> None:
        self._answer = replies if callable(replies) else None
        self._replies = iter(() if callable(replies) else replies)
        self.seen: list[tuple[Message, ...]] = []

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Completion:
        self.seen.append(tuple(messages))
        match self._answer(messages) if self._answer else next(self._replies, ""):
            case Exception() as error:
                raise error
            case Completion() as reply:
                return reply
            case "":
                raise BadReply("the script has run out", kind="empty", stage="chat", model=self.name)
            case str() as text:
                return Completion(text, model=self.name, usage=self._usage(messages, text))
            case value:
                return self._valued(messages, value, schema)

    def _valued(self, messages: Sequence[Message], value: Any, schema: Mapping[str, Any] | None) -> Completion:
        try:
            check(value, schema or {})
        except Malformed as fault:
            raise BadReply(str(fault), kind="malformed", stage="chat", model=self.name) from fault
        return Completion("", value, model=self.name, usage=self._usage(messages, str(value)))

    def _usage(self, messages: Sequence[Message], text: str) -> Usage:
        """Words, in place of tokens."""
        return Usage(sum(len(message.text.split()) for message in messages), len(text.split()))


class HashEmbedder:
    """Vectors from hashed words: texts that share words are near, paraphrases are not."""

    name = "hash"

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in clean(text).casefold().split():
                digest = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
                row[digest % self.dimension] += 1 if digest >> 63 else -1
        return normalised(vectors)
