"""Voice activity: which stretches of sound hold speech. The rest is never sent to a model, so that silence costs nothing and says nothing.

`SileroGate` hears speech (Silero VAD, whose weights lie inside the package faster-whisper). `EnergyGate` needs no package and only tells
loud from quiet: music or an engine that comes and goes passes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from vgraph.models.loading import installed, require, translated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Spans = list[tuple[int, int]]
"""Samples [first, last) in order, apart from one another."""

_WINDOW_MS: Final = 30


@dataclass(frozen=True, slots=True)
class Voice:
    """What counts as speech: its probability, the shortest word, how much is kept around it, and how long a pause may be within a stretch.

    Defaults are those of Silero VAD as faster-whisper sets it (threshold 0.5, padding 400 ms), with pauses of one second instead of two:
    a stretch then holds what one person says, in one language.
    """

    threshold: float = 0.5
    shortest_ms: int = 100
    pad_ms: int = 400
    pause_ms: int = 1_000


class Gate(Protocol):
    """Finds speech in mono float32 samples."""

    name: str
    voice: Voice

    def speech(self, samples: NDArray[np.float32], sample_rate: int) -> Spans: ...


class SileroGate:
    """Silero VAD through faster-whisper; 16 kHz only."""

    name = "silero"

    def __init__(self, voice: Voice | None = None) -> None:
        self.voice = voice or Voice()

    @cached_property
    def _vad(self) -> Any:
        package = require("faster_whisper", stage="transcribe", model=self.name).vad
        voice = self.voice
        options = package.VadOptions(
            threshold=voice.threshold,
            min_speech_duration_ms=voice.shortest_ms,
            min_silence_duration_ms=voice.pause_ms,
            speech_pad_ms=voice.pad_ms,
        )
        return lambda samples: package.get_speech_timestamps(samples, options)

    def speech(self, samples: NDArray[np.float32], sample_rate: int) -> Spans:
        if not samples.any():
            return []
        with translated("hear whether anybody speaks", self.name):
            if sample_rate != 16_000:
                raise ValueError(f"audio of {sample_rate} Hz; Silero hears 16000 Hz")
            found = [(int(span["start"]), min(int(span["end"]), len(samples))) for span in self._vad(samples)]
        return joined_spans(found, self.voice.pause_ms * sample_rate // 1000)


class EnergyGate:
    """Louder than the quiet of its surroundings: windows of 30 ms more than `rise_db` above the quietest tenth, and above `floor_db`.

    Steady noise is quiet by this measure, however loud.
    """

    name = "energy"

    def __init__(self, voice: Voice | None = None, *, rise_db: float = 12.0, floor_db: float = -55.0) -> None:
        self.voice, self._rise_db, self._floor_db = voice or Voice(), rise_db, floor_db

    def speech(self, samples: NDArray[np.float32], sample_rate: int) -> Spans:
        size = sample_rate * _WINDOW_MS // 1000
        loud = self._loud(samples, size)
        per_ms = sample_rate / 1000
        runs = [(first * size, last * size) for first, last in _runs(loud)]
        close = joined_spans(runs, round(200 * per_ms))  # between the syllables of one word
        words = [(a, b) for a, b in close if b - a >= self.voice.shortest_ms * per_ms]
        pad = round(self.voice.pad_ms * per_ms)
        padded = [(max(0, a - pad), min(len(samples), b + pad)) for a, b in words]
        return joined_spans(padded, round(self.voice.pause_ms * per_ms) - 2 * pad)

    def _loud(self, samples: NDArray[np.float32], size: int) -> NDArray[np.bool_]:
        import numpy as np

        count = len(samples) // size
        windows = samples[: count * size].reshape(count, size)
        level = 10 * np.log10(np.square(windows, dtype=np.float64).mean(axis=1) + 1e-12)
        quiet = np.quantile(level, 0.1) if count else 0.0
        return np.asarray(level > max(quiet + self._rise_db, self._floor_db))


def _runs(flags: NDArray[np.bool_]) -> Spans:
    """First and last+1 of every run of True."""
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return [(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def joined_spans(spans: Sequence[tuple[int, int]], gap: int) -> Spans:
    """Spans with those joined that lie `gap` or less apart."""
    made: Spans = []
    for first, last in spans:
        if made and first - made[-1][1] <= gap:
            made[-1] = (made[-1][0], max(made[-1][1], last))
        else:
            made.append((first, last))
    return made


def gate(kind: str, voice: Voice) -> Gate | None:
    """The gate of a setting: `silero`, `energy`, `none`; `auto` is Silero where its package is installed, else energy."""
    match kind:
        case "none":
            return None
        case "energy":
            return EnergyGate(voice)
        case "silero":
            return SileroGate(voice)
        case _:
            return SileroGate(voice) if installed("faster_whisper") else EnergyGate(voice)
