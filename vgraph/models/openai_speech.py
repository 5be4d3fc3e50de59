"""Transcription by any server that speaks OpenAI's audio API: OpenAI, speaches, vLLM, LocalAI, whisper.cpp …

`verbose_json` with words and segments is asked for first; a server that refuses words is asked for segments, one that refuses both for
plain text. A server that finds a piece too large gets it in halves.
"""

from __future__ import annotations

import io
import math
import wave
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from vgraph.models.endpoint import Endpoint, EndpointError
from vgraph.models.loading import clean
from vgraph.models.speech import BLOCK_MS, Listener, halves, joined, unbroken
from vgraph.models.voice import Gate
from vgraph.types import AudioPiece, Utterance, Word

LARGEST_BYTES: Final = 24 << 20
"""OpenAI takes files of up to 25 MB: thirteen minutes of 16-bit sound at 16 kHz."""
_TOO_LARGE: Final = 413
_SHORTEST_MS: Final = 1_000
_UNHEARD: Final = 0.6
_UNLIKELY: Final = -1.0
"""A segment that is no speech with more than this chance, and whose words are less likely than this, is one that nobody said: Whisper's own
thresholds (no_speech_threshold, logprob_threshold)."""


class OpenAITranscriber(Listener):
    """Speech to text by an endpoint, called with stretches of speech only; offsets are those of the media.

    `languages` (ISO 639-1): where there is exactly one, the server is told so.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        block_ms: int = BLOCK_MS,
        gate: Gate | None = None,
        languages: Sequence[str] = (),
        largest_bytes: int = LARGEST_BYTES,
    ) -> None:
        super().__init__(gate, block_ms)
        self.name = f"openai:{model}"
        self._endpoint, self._model, self._largest = endpoint, model, largest_bytes
        self._language = languages[0] if len(languages) == 1 else None
        self._form: dict[str, Any] = {
            "response_format": "verbose_json",
            "timestamp_granularities": ["word", "segment"],
        }

    @property
    def configuration(self) -> str:
        """All that answers depend on beside the server's model."""
        return f"{self.listening}, language {self._language or 'any'}"

    def hear(self, piece: AudioPiece, language: str | None = None) -> tuple[Utterance, ...]:
        sound = wav(piece)
        if len(sound) > self._largest:
            return self._in_halves(piece, language)
        try:
            reply = self._asked(sound, language or self._language)
        except EndpointError as error:
            if error.status != _TOO_LARGE or _length_ms(piece) <= _SHORTEST_MS:
                raise
            return self._in_halves(piece, language)
        return tuple(self._utterances(piece, reply, language or self._language))

    def _in_halves(self, piece: AudioPiece, language: str | None) -> tuple[Utterance, ...]:
        return tuple(joined((half, self.hear(half, language)) for half in halves(piece)))

    def _asked(self, sound: bytes, language: str | None) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model, "file": ("audio.wav", sound, "audio/wav"), **self._form}
        if language:
            body["language"] = language
        try:
            return self._endpoint.ask(
                "transcribe", self.name, lambda client: client.audio.transcriptions.with_raw_response.create(**body)
            )
        except EndpointError as error:
            if not error.names("response_format", "verbose_json", "granularit") or not self._form:
                raise
            self._form = {} if "timestamp_granularities" not in self._form else {"response_format": "verbose_json"}
            return self._asked(sound, language)

    def _utterances(self, piece: AudioPiece, reply: Mapping[str, Any], asked: str | None) -> Iterator[Utterance]:
        """Segments where the server gives times; else one utterance as long as the piece."""
        length = len(piece.samples) / piece.sample_rate
        words = [word for word in map(_mapping, _list(reply.get("words"))) if _text(word.get("word")).strip()]
        segments = [_mapping(segment) for segment in _list(reply.get("segments"))] or [
            {"start": 0.0, "end": length, "text": reply.get("text")}
        ]
        language = language_code(_text(reply.get("language"))) or asked
        for number, segment in enumerate(segments):
            if _is_made_up(segment):
                continue
            start, end = _number(segment.get("start"), 0.0), min(_number(segment.get("end"), length), length)
            following = _number(segments[number + 1].get("start"), length) if number + 1 < len(segments) else length + 1
            own = [word for word in words if start <= _number(word.get("start"), -1.0) < following]
            if text := clean(_text(segment.get("text"))).strip():
                yield from unbroken(
                    Utterance(
                        *_span(piece, start, end),
                        text,
                        self.name,
                        language=language,
                        confidence=_share(segment.get("avg_logprob")),
                        words=tuple(_word(piece, word, start, end) for word in own),
                    )
                )


def _is_made_up(segment: Mapping[str, Any]) -> bool:
    silent, likely = _number(segment.get("no_speech_prob"), 0.0), _number(segment.get("avg_logprob"), 0.0)
    return silent > _UNHEARD and likely < _UNLIKELY


def _word(piece: AudioPiece, word: Mapping[str, Any], start: float, end: float) -> Word:
    chance = min(max(_number(word.get("probability"), 1.0), 0.0), 1.0)
    span = _span(piece, _number(word.get("start"), start), _number(word.get("end"), end))
    return Word(clean(_text(word.get("word"))).strip(), *span, chance)


def _share(logprob: object) -> float:
    """The mean log-probability of a segment's tokens as a confidence; 1 where the server tells none."""
    return min(math.exp(min(_number(logprob, 0.0), 0.0)), 1.0)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object, default: float) -> float:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable and isinstance(value, int | float) else default


def _span(piece: AudioPiece, start_s: float, end_s: float) -> tuple[int, int]:
    length = len(piece.samples) / piece.sample_rate
    start = piece.offset_ms + round(min(max(start_s, 0.0), length) * 1000)
    return start, max(start, piece.offset_ms + round(min(end_s, length) * 1000))


def _length_ms(piece: AudioPiece) -> int:
    return len(piece.samples) * 1000 // piece.sample_rate


def wav(piece: AudioPiece) -> bytes:
    """A piece of audio as a 16-bit WAV file."""
    import numpy as np

    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(piece.sample_rate)
        file.writeframes((np.clip(piece.samples, -1.0, 1.0) * 32767).astype("<i2").tobytes())
    return buffer.getvalue()


def language_code(name: str) -> str | None:
    """ISO 639-1 of a language as servers tell it: OpenAI by its English name (`german`), most others by its code."""
    name = name.strip().casefold()
    return NAMES.get(name, name or None)


NAMES: Final[Mapping[str, str]] = {
    "afrikaans": "af", "arabic": "ar", "armenian": "hy", "azerbaijani": "az", "belarusian": "be", "bosnian": "bs", "bulgarian": "bg",
    "catalan": "ca", "chinese": "zh", "mandarin": "zh", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en",
    "estonian": "et", "finnish": "fi", "french": "fr", "galician": "gl", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi",
    "hungarian": "hu", "icelandic": "is", "indonesian": "id", "italian": "it", "japanese": "ja", "kannada": "kn", "kazakh": "kk",
    "korean": "ko", "latvian": "lv", "lithuanian": "lt", "macedonian": "mk", "malay": "ms", "maori": "mi", "marathi": "mr", "nepali": "ne",
    "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr",
    "slovak": "sk", "slovenian": "sl", "spanish": "es", "swahili": "sw", "swedish": "sv", "tagalog": "tl", "tamil": "ta", "thai": "th",
    "turkish": "tr", "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi", "welsh": "cy",
}  # fmt: skip
"""The languages that OpenAI names as supported by its transcription API."""
