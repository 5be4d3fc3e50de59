"""faster-whisper: speech to text on this machine, from a folder, a size or a hub id."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from vgraph.models.loading import clean, local, require, title, translated
from vgraph.models.speech import blocks, unbroken
from vgraph.types import AudioPiece, Utterance, Word

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT: Final = "small"
_RATE: Final = 16_000


class FasterWhisper:
    """Whisper on CTranslate2. Silence is left out by voice activity detection before the model can hear words in it.

    Audio is taken in blocks cut where it is quiet, a minute at most: long enough for context, short enough to hold.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str | None = None,
        device: str = "cpu",
        threads: int = 2,
        block_ms: int = 60_000,
        beam: int = 5,
        download: bool = True,
    ) -> None:
        self.name = f"faster-whisper:{name or title(model)}"
        self._source, self._device, self._threads = local(model), device, threads
        self._block_ms, self._beam, self._download = block_ms, beam, download

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

    def transcribe(self, audio: Iterable[AudioPiece], language: str | None = None) -> Iterator[Utterance]:
        for block in blocks(audio, self._block_ms):
            with translated("transcribe", self.name):
                heard = self._heard(block, language)
            yield from heard

    def _heard(self, block: AudioPiece, language: str | None) -> list[Utterance]:
        if block.sample_rate != _RATE:
            raise ValueError(f"audio of {block.sample_rate} Hz; Whisper hears {_RATE} Hz")
        if not block.samples.any():  # digital silence: nothing to detect a language by
            return []
        segments, info = self._model.transcribe(
            block.samples,
            language=language,
            beam_size=self._beam,
            word_timestamps=True,
            vad_filter=True,
            condition_on_previous_text=False,  # one misheard phrase must not spoil what follows
        )
        return [part for segment in segments for part in self._utterances(block, segment, language or info.language)]

    def _utterances(self, block: AudioPiece, segment: Any, language: str) -> Iterator[Utterance]:
        text = clean(segment.text).strip()
        if not text:
            return
        words = _words(block.offset_ms, segment.words or ())
        whole = Utterance(
            words[0].offset_ms if words else block.offset_ms + round(segment.start * 1000),
            words[-1].end_offset_ms if words else block.offset_ms + round(segment.end * 1000),
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
