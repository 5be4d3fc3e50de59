"""whisperX: Whisper with words aligned to the sound by a phoneme model, and who speaks when (pyannote). The one door to the package.

(Bain et al., "WhisperX: Time-Accurate Speech Transcription of Long-Form Audio", 2023.) Its release pins torch and huggingface-hub to
older versions than the other extras take: it wants an environment of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from vgraph.errors import ModelError
from vgraph.models.loading import clean, local, require, title, translated
from vgraph.models.speech import BLOCK_MS, Listener, unbroken
from vgraph.models.voice import Gate
from vgraph.types import AudioPiece, Diarized, Turn, Utterance, Word

DIARIZATION: Final = "pyannote/speaker-diarization-community-1"
WINDOW_MS: Final = 600_000
"""Sound that is held to tell voices apart: ten minutes, 38 MB."""
_RATE: Final = 16_000
_BATCH: Final = 8


class WhisperX(Listener):
    """Speech to text whose words have the times of their sounds.

    A language for which there is no alignment model keeps the times of its segments and has no words; `origin` then says `not aligned`.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str | None = None,
        device: str = "cpu",
        threads: int = 2,
        block_ms: int = BLOCK_MS,
        download: bool = True,
        gate: Gate | None = None,
        languages: Sequence[str] = (),
    ) -> None:
        super().__init__(gate, block_ms)
        self.name = f"whisperx:{name or title(model)}"
        self._source, self._device, self._threads, self._download = local(model), device, threads, download
        self._language = languages[0] if len(languages) == 1 else None
        self._aligners: dict[str, Any] = {}

    @property
    def configuration(self) -> str:
        """All that answers depend on beside the weights."""
        return f"{self.listening}, language {self._language or 'any'}"

    @cached_property
    def _package(self) -> Any:
        return require("whisperx", stage="transcribe", model=self.name)

    @cached_property
    def _model(self) -> Any:
        package = self._package
        with translated("load", self.name):
            return package.load_model(
                self._source,
                self._device,
                compute_type="int8" if self._device == "cpu" else "default",
                threads=self._threads,
                local_files_only=not self._download,
            )

    def hear(self, piece: AudioPiece, language: str | None = None) -> tuple[Utterance, ...]:
        _check_rate(piece, self.name, "transcribe")
        if not piece.samples.any():
            return ()
        with translated("transcribe", self.name):
            heard = self._model.transcribe(piece.samples, batch_size=_BATCH, language=language or self._language)
            spoken, segments = str(heard["language"]), list(heard["segments"])
            aligner = self._aligner(spoken)
            if aligner is not None and segments:
                model, metadata = aligner
                segments = self._package.align(segments, model, metadata, piece.samples, self._device)["segments"]
            origin = self.name if aligner is not None else f"{self.name} (not aligned)"
            return tuple(part for segment in segments for part in _utterances(piece, segment, spoken, origin))

    def _aligner(self, language: str) -> Any:
        """The alignment model of a language with its dictionary; None where whisperX knows none."""
        if language not in self._aligners:
            self._aligners[language] = self._loaded(language)
        return self._aligners[language]

    def _loaded(self, language: str) -> Any:
        try:
            return self._package.load_align_model(
                language_code=language, device=self._device, model_cache_only=not self._download
            )
        except ValueError as error:
            if "No default align-model" in str(error):
                return None
            raise


def _utterances(piece: AudioPiece, segment: Mapping[str, Any], language: str, origin: str) -> Iterator[Utterance]:
    text = clean(str(segment.get("text") or "")).strip()
    if not text:
        return
    start, end = (piece.offset_ms + round(float(segment[name]) * 1000) for name in ("start", "end"))
    logprob = segment.get("avg_logprob")
    words = _words(piece.offset_ms, segment.get("words") or (), start, end)
    confidence = math.exp(min(float(logprob), 0.0)) if logprob is not None else _mean([w.confidence for w in words])
    yield from unbroken(Utterance(start, end, text, origin, None, language, confidence, words))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 1.0


def _words(offset_ms: int, words: Sequence[Mapping[str, Any]], start_ms: int, end_ms: int) -> tuple[Word, ...]:
    """Words with their times; one that could not be aligned (a number, another script) stands between its neighbours."""
    made: list[Word] = []
    for index, word in enumerate(words):
        text = clean(str(word.get("word") or "")).strip()
        if not text:
            continue
        after = next((w["start"] for w in words[index + 1 :] if w.get("start") is not None), None)
        before_ms = made[-1].end_offset_ms if made else start_ms
        after_ms = end_ms if after is None else offset_ms + round(float(after) * 1000)
        begin = before_ms if word.get("start") is None else offset_ms + round(float(word["start"]) * 1000)
        finish = after_ms if word.get("end") is None else offset_ms + round(float(word["end"]) * 1000)
        made.append(Word(text, begin, max(begin, finish), float(word.get("score") or 0.0)))
    return tuple(made)


def _check_rate(piece: AudioPiece, name: str, stage: str) -> None:
    if piece.sample_rate != _RATE:
        what = f"{name} failed to {stage}: audio of {piece.sample_rate} Hz; it hears {_RATE} Hz"
        raise ModelError(what, stage=stage, model=name)


class WhisperXDiarizer:
    """Who speaks when, by pyannote through whisperX, ten minutes at a time; its models are gated and need a token of the hub once."""

    def __init__(
        self, model: str = DIARIZATION, *, name: str | None = None, device: str = "cpu", window_ms: int = WINDOW_MS
    ) -> None:
        self.name = f"whisperx:{name or title(model)}"
        self._source, self._device, self.window_ms = local(model), device, window_ms

    @property
    def configuration(self) -> str:
        """All that answers depend on beside the weights."""
        return f"windows of {self.window_ms} ms"

    @cached_property
    def _pipeline(self) -> Any:
        require("whisperx", stage="diarize", model=self.name)
        package = require("whisperx.diarize", stage="diarize", model=self.name)
        with translated("load", self.name):
            return package.DiarizationPipeline(model_name=self._source, device=self._device)

    def diarize(self, piece: AudioPiece) -> Diarized:
        _check_rate(piece, self.name, "diarize")
        if not piece.samples.any():
            return Diarized((), {})
        with translated("diarize", self.name):
            frame, voices = self._pipeline(piece.samples, return_embeddings=True)
            turns = tuple(
                Turn(
                    piece.offset_ms + round(float(row["start"]) * 1000),
                    piece.offset_ms + round(float(row["end"]) * 1000),
                    str(row["speaker"]),
                )
                for row in frame.to_dict("records")
            )
            return Diarized(turns, {str(name): tuple(map(float, vector)) for name, vector in (voices or {}).items()})
