"""The models of an ingest with a memory: each behind its own Protocol, so that whoever asks need not know.

Every answer passes through JSON, also when it is new, so that a remembered one can never differ from it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

from vgraph.ingest.calls import Call, Calls, is_remote
from vgraph.ingest.keys import content_key
from vgraph.ingest.options import Tools
from vgraph.models import Captioner, ChatModel, Detector, Diarizer, Embedder, Reader, Transcriber
from vgraph.models.speech import Listener, joined, stretches
from vgraph.types import (
    AudioPiece,
    Caption,
    Completion,
    Detection,
    Diarized,
    Frame,
    Mark,
    Message,
    Segment,
    TextRead,
    ToolSpec,
    Usage,
    Utterance,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import TypeAdapter

FRAMES_A_CALL = 256
CHARACTERS_A_TOKEN = 4
REPLY_TOKENS = 300
"""Expected of a reply; with what was asked it makes the room a call must find under the cap."""
PICTURE_TOKENS = 400
"""Expected of a picture of 512 pixels' width (servers count from 85 to about 800)."""
GIVEN = "given"


def remembering(tools: Tools, calls: Calls) -> Tools:
    """The same models, with a memory. What was given is not remembered: it lies beside the video."""
    return replace(
        tools,
        captioner=_unless_given(tools.captioner, RememberedCaptioner, calls),
        transcriber=_unless_given(tools.transcriber, RememberedTranscriber, calls),
        diarizer=_unless_given(tools.diarizer, RememberedDiarizer, calls),
        detector=_unless_given(tools.detector, RememberedDetector, calls),
        reader=_unless_given(tools.reader, RememberedReader, calls),
        chat=_unless_given(tools.chat, RememberedChat, calls),
        embedder=_embedder(tools.embedder, calls),
    )


def _embedder(embedder: Any, calls: Calls) -> Embedder:
    """Vectors made in this process cost less than remembering them."""
    remembered: Any = RememberedEmbedder(embedder, calls) if is_remote(embedder) else embedder
    chosen: Embedder = remembered
    return chosen


def _unless_given(model: Any, kind: Any, calls: Calls) -> Any:
    return model if model is None or model.name == GIVEN else kind(model, calls)


class _Remembered:
    """What all of them have: the model's own name and configuration."""

    def __init__(self, model: Any, calls: Calls) -> None:
        self.name: str = model.name
        self.configuration: str = getattr(model, "configuration", "")
        self._calls = calls


class RememberedCaptioner(_Remembered):
    """A call a segment."""

    def __init__(self, captioner: Captioner, calls: Calls) -> None:
        super().__init__(captioner, calls)
        self._captioner = captioner

    def caption(
        self, segment: Segment, frames: Sequence[tuple[int, bytes]], transcript: str, marks: Sequence[Mark] = ()
    ) -> tuple[Caption, ...]:
        pictures = [f"{offset} {_digest(jpeg)}" for offset, jpeg in frames]
        request = content_key(segment.offset_ms, segment.end_offset_ms, transcript, *pictures, *map(repr, marks))
        expected = Usage(PICTURE_TOKENS * len(frames) + len(transcript) // CHARACTERS_A_TOKEN, REPLY_TOKENS)
        call = Call("caption", self._captioner, request, expected)
        asked = lambda: plain(  # noqa: E731
            tuple[Caption, ...], self._captioner.caption(segment, frames, transcript, marks)
        )
        captions: tuple[Caption, ...] = made(tuple[Caption, ...], self._calls.answer(call, asked))
        return captions


class RememberedChat(_Remembered):
    """A call a completion, of the stage it is asked for."""

    def __init__(self, chat: ChatModel, calls: Calls, stage: str = "extract") -> None:
        super().__init__(chat, calls)
        self._chat, self._stage = chat, stage

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = 1024,
        temperature: float = 0.0,
    ) -> Completion:
        said = [part for message in messages for part in _said(message)]
        forms = json.dumps([schema, [plain(ToolSpec, tool) for tool in tools]], sort_keys=True, default=dict)
        request = content_key(*said, forms, max_tokens, repr(temperature))
        expected = Usage(sum(map(len, said)) // CHARACTERS_A_TOKEN, min(max_tokens, REPLY_TOKENS))
        call = Call(self._stage, self._chat, request, expected)
        options: dict[str, Any] = {"tools": tools, "max_tokens": max_tokens, "temperature": temperature}
        asked = lambda: plain(Completion, self._chat.complete(messages, schema=schema, **options))  # noqa: E731
        completion: Completion = made(Completion, self._calls.answer(call, asked))
        return completion


class RememberedReader(_Remembered):
    """A call a picture."""

    def __init__(self, reader: Reader, calls: Calls) -> None:
        super().__init__(reader, calls)
        self._reader = reader

    def read(self, frame: Frame) -> tuple[TextRead, ...]:
        asked = lambda: plain(tuple[TextRead, ...], self._reader.read(frame))  # noqa: E731
        reads: tuple[TextRead, ...] = made(tuple[TextRead, ...], self._calls.answer(self._call(frame.offset_ms), asked))
        return reads

    def recall(self, offsets: Sequence[int]) -> list[tuple[TextRead, ...]] | None:
        """What was read at each of these media times; None where one of them has yet to be read."""
        known = self._calls.recall([self._call(offset) for offset in offsets])
        return None if known is None else [made(tuple[TextRead, ...], value) for value in known]

    def _call(self, offset_ms: int) -> Call:
        """The picture is told by its time: the document is that of its bytes."""
        return Call("read", self._reader, content_key(offset_ms))


class RememberedTranscriber(_Remembered):
    """A call a stretch of speech: what a transcriber hears at once. Silence is no call."""

    def __init__(self, transcriber: Transcriber, calls: Calls) -> None:
        super().__init__(transcriber, calls)
        self._transcriber = transcriber

    def transcribe(self, audio: Iterable[AudioPiece], language: str | None = None) -> Iterator[Utterance]:
        pieces = self._transcriber.pieces(audio) if isinstance(self._transcriber, Listener) else stretches(audio, None)
        return joined((piece, self._heard(piece, language)) for piece in pieces)

    def _heard(self, piece: AudioPiece, language: str | None) -> tuple[Utterance, ...]:
        request = content_key(piece.offset_ms, piece.sample_rate, language or "", _digest(piece.samples.tobytes()))
        minutes = len(piece.samples) / piece.sample_rate / 60
        call = Call("hear", self._transcriber, request, minutes=minutes)
        asked = lambda: plain(  # noqa: E731
            tuple[Utterance, ...], self._asked(piece, language)
        )
        heard: tuple[Utterance, ...] = made(tuple[Utterance, ...], self._calls.answer(call, asked))
        return heard

    def _asked(self, piece: AudioPiece, language: str | None) -> tuple[Utterance, ...]:
        if isinstance(self._transcriber, Listener):
            return self._transcriber.hear(piece, language)
        return tuple(self._transcriber.transcribe([piece], language))


class RememberedDiarizer(_Remembered):
    """A call a window of sound."""

    def __init__(self, diarizer: Diarizer, calls: Calls) -> None:
        super().__init__(diarizer, calls)
        self._diarizer = diarizer
        self.window_ms = diarizer.window_ms

    def diarize(self, piece: AudioPiece) -> Diarized:
        request = content_key("diarize", piece.offset_ms, piece.sample_rate, _digest(piece.samples.tobytes()))
        call = Call("hear", self._diarizer, request, minutes=len(piece.samples) / piece.sample_rate / 60)
        heard: Diarized = made(
            Diarized, self._calls.answer(call, lambda: plain(Diarized, self._diarizer.diarize(piece)))
        )
        return heard


class RememberedDetector(_Remembered):
    """A call a run of pictures, where the detector sees each for itself (`stateless`); else one call for all of them."""

    def __init__(self, detector: Detector, calls: Calls) -> None:
        super().__init__(detector, calls)
        self._detector = detector

    def detect(self, frames: Iterable[Frame]) -> Iterator[Detection]:
        if not getattr(self._detector, "stateless", False):
            yield from self._detector.detect(frames)
            return
        pictures = iter(frames)
        while run := tuple(islice(pictures, FRAMES_A_CALL)):
            yield from self._seen(run)

    def _seen(self, run: Sequence[Frame]) -> tuple[Detection, ...]:
        call = Call("follow", self._detector, content_key(*(frame.offset_ms for frame in run)))
        asked = lambda: plain(tuple[Detection, ...], tuple(self._detector.detect(run)))  # noqa: E731
        seen: tuple[Detection, ...] = made(tuple[Detection, ...], self._calls.answer(call, asked))
        return seen


class RememberedEmbedder(_Remembered):
    """Vectors of an endpoint, remembered by text; all texts that are new are one call to the model."""

    def __init__(self, embedder: Embedder, calls: Calls) -> None:
        super().__init__(embedder, calls)
        self._embedder = embedder

    @cached_property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        import numpy as np

        rows = self._calls.answers(
            [Call("embed", self._embedder, content_key(text), _tokens(text)) for text in texts],
            lambda new: [_packed(row) for row in self._embedder.embed([texts[index] for index in new], query=query)],
        )
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for index, row in enumerate(rows):
            vectors[index] = np.frombuffer(base64.b64decode(row), np.float32)
        return vectors


def _tokens(text: str) -> Usage:
    return Usage(len(text) // CHARACTERS_A_TOKEN + 1, 0)


def _packed(row: NDArray[np.float32]) -> str:
    return base64.b64encode(row.astype("<f4").tobytes()).decode()


def _said(message: Message) -> list[str]:
    calls = [f"{call.id} {call.name} {json.dumps(dict(call.arguments), sort_keys=True)}" for call in message.calls]
    return [message.role, message.text, message.tool_call or "", *map(_digest, message.images), *calls]


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=12).hexdigest()


# --- values as JSON --------------------------------------------------------------------------------------------------------


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def plain(kind: Any, value: Any) -> Any:
    """A value as JSON knows it."""
    return _adapter(kind).dump_python(value, mode="json")


def made(kind: Any, value: Any) -> Any:
    """The value that `plain` was given."""
    return _adapter(kind).validate_python(value)
