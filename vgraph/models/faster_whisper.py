"""faster-whisper: speech to text on this machine, from a folder, a size or a hub id."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

from vgraph.models.loading import clean, local, require, title, translated
from vgraph.models.speech import BLOCK_MS, Listener, unbroken
from vgraph.models.voice import Gate
from vgraph.types import AudioPiece, Utterance, Word

DEFAULT: Final = "small"
_RATE: Final = 16_000
_UNHEARD_S: Final = 2.0
"""Silence around words beyond which Whisper is known to make things up; such words are left out (its hallucination_silence_threshold)."""


class FasterWhisper(Listener):
    """Whisper on CTranslate2, called with stretches of speech only; the language is told anew for each of them.

    `languages` (ISO 639-1) are those that may be spoken; with several, the likeliest of them is taken, with none any that Whisper knows.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str | None = None,
        device: str = "cpu",
        threads: int = 2,
        block_ms: int = BLOCK_MS,
        beam: int = 5,
        download: bool = True,
        gate: Gate | None = None,
        languages: Sequence[str] = (),
    ) -> None:
        super().__init__(gate, block_ms)
        self.name = f"faster-whisper:{name or title(model)}"
        self._source, self._device, self._threads = local(model), device, threads
        self._beam, self._download, self._languages = beam, download, tuple(languages)

    @property
    def configuration(self) -> str:
        """All that answers depend on beside the weights."""
        return f"beam {self._beam}, {self.listening}, languages {' '.join(self._languages) or 'any'}"

    @cached_property
    def _model(self) -> Any:
        package = require("faster_whisper", stage="transcribe", model=self.name)
        with translated("load", self.name):
            return package.WhisperModel(
                self._source,
                device=self._device,
                compute_type="int8" if self._device == "cpu" else "default",
                cpu_threads=self._threads,
                local_files_only=not self._download,
            )

    def hear(self, piece: AudioPiece, language: str | None = None) -> tuple[Utterance, ...]:
        if not piece.samples.any():  # digital silence: nothing to detect a language by
            return ()
        with translated("transcribe", self.name):
            if piece.sample_rate != _RATE:
                raise ValueError(f"audio of {piece.sample_rate} Hz; Whisper hears {_RATE} Hz")
            segments, info = self._model.transcribe(
                piece.samples,
                language=language or self._spoken(piece),
                beam_size=self._beam,
                word_timestamps=True,
                vad_filter=False,  # the gate has heard it already
                hallucination_silence_threshold=_UNHEARD_S,
                condition_on_previous_text=False,  # one misheard phrase must not spoil what follows
            )
            return tuple(part for segment in segments for part in self._utterances(piece, segment, info.language))

    def _spoken(self, piece: AudioPiece) -> str | None:
        """The likeliest of the languages that may be spoken; None leaves it to Whisper."""
        if len(self._languages) < 2:
            return next(iter(self._languages), None)
        _, _, chances = self._model.detect_language(audio=piece.samples)
        allowed = [(chance, code) for code, chance in chances if code in self._languages]
        return max(allowed)[1] if allowed else None

    def _utterances(self, piece: AudioPiece, segment: Any, language: str) -> Iterator[Utterance]:
        text = clean(segment.text).strip()
        if not text:
            return
        words = _words(piece.offset_ms, segment.words or ())
        whole = Utterance(
            words[0].offset_ms if words else piece.offset_ms + round(segment.start * 1000),
            words[-1].end_offset_ms if words else piece.offset_ms + round(segment.end * 1000),
            text,
            self.name,
            language=language,
            confidence=min(math.exp(segment.avg_logprob), 1.0),
            words=words,
        )
        yield from unbroken(whole)


def _words(offset_ms: int, words: Sequence[Any]) -> tuple[Word, ...]:
    return tuple(
        Word(
            clean(word.word).strip(),
            offset_ms + round(word.start * 1000),
            offset_ms + round(word.end * 1000),
            float(word.probability),
        )
        for word in words
        if word.word.strip()
    )
