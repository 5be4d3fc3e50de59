"""What sees, hears, embeds and speaks. Protocols here; adapters beside, each the one door to its library.

A model says who it is by `name` (`provider:model`), which is recorded on what it made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from vgraph.types import (
    AudioPiece,
    Caption,
    Completion,
    Detection,
    Diarized,
    Frame,
    Mark,
    Message,
    Named,
    Segment,
    TextRead,
    ToolSpec,
    Utterance,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Captioner(Protocol):
    """Describes a segment from its frames (JPEG bytes with their media offsets) and what was said in it.

    `marks` are the tracks that are drawn onto the frames.
    """

    name: str

    def caption(
        self, segment: Segment, frames: Sequence[tuple[int, bytes]], transcript: str, marks: Sequence[Mark] = ()
    ) -> tuple[Caption, ...]: ...


@runtime_checkable
class Transcriber(Protocol):
    """Turns audio, streamed in pieces, into utterances with media offsets."""

    name: str

    def transcribe(self, audio: Iterable[AudioPiece], language: str | None = None) -> Iterator[Utterance]: ...


@runtime_checkable
class Diarizer(Protocol):
    """Tells voices apart: who speaks when in a piece of sound of up to `window_ms`, under labels of that piece."""

    name: str
    window_ms: int

    def diarize(self, piece: AudioPiece) -> Diarized: ...


@runtime_checkable
class Embedder(Protocol):
    """Text to vectors: float32 of shape (n, dimension), L2-normalised."""

    name: str
    dimension: int

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]: ...


@runtime_checkable
class ImageEmbedder(Protocol):
    """Pictures (JPEG bytes) and texts into one space: float32 of shape (n, dimension), L2-normalised."""

    name: str
    dimension: int

    def embed_images(self, images: Sequence[bytes]) -> NDArray[np.float32]: ...

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


@runtime_checkable
class Detector(Protocol):
    """Finds objects in frames that arrive in order of time."""

    name: str

    def detect(self, frames: Iterable[Frame]) -> Iterator[Detection]: ...


@runtime_checkable
class Reader(Protocol):
    """Reads text off a frame (OCR)."""

    name: str

    def read(self, frame: Frame) -> tuple[TextRead, ...]: ...


@runtime_checkable
class EntityFinder(Protocol):
    """Finds whom and what texts name, without understanding them; `language` (ISO 639-1) is the one it was made for."""

    name: str

    @property
    def language(self) -> str: ...

    def find(self, texts: Sequence[str]) -> list[tuple[Named, ...]]: ...


@runtime_checkable
class ChatModel(Protocol):
    """Completes a conversation; with `schema` (JSON Schema) the reply's `value` validates against it, or ModelError is raised."""

    name: str

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Completion: ...


@runtime_checkable
class Reranker(Protocol):
    """Reads a question and texts together: a score each, the higher the better, comparable within one question."""

    name: str

    def score(self, question: str, texts: Sequence[str]) -> list[float]: ...


@runtime_checkable
class Rater(Protocol):
    """Rates how much a frame (JPEG bytes) or a text bears on a question: the probabilities of the levels 1 to 5.

    `at_once` is how many it may be asked at the same time. Raises BadReply where one thing cannot be rated, ModelError where nothing can.
    """

    name: str
    at_once: int

    def rate(self, question: str, seen: bytes | str) -> tuple[float, ...]: ...
