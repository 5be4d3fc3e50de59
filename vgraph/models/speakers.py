"""Speakers: voices of one window linked to those of others, and utterances given to whom they belong."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from vgraph.models.speech import parts_of
from vgraph.types import AudioPiece, Diarized, Turn, Utterance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAME_VOICE: Final = 0.5
"""Cosine of two windows' voices from which they are one: pyannote's embeddings of one speaker lie mostly above, of two below."""
_GAP_MS: Final = 20


def windows(audio: Iterable[AudioPiece], window_ms: int) -> Iterator[AudioPiece]:
    """Sound in windows of `window_ms`, each held whole; a hole in the recording ends one."""
    import numpy as np

    held: list[AudioPiece] = []
    for piece in audio:
        if held and (not _follows(held[-1], piece) or _length_ms(held) + _length_ms([piece]) > window_ms):
            yield AudioPiece(held[0].offset_ms, np.concatenate([p.samples for p in held]), held[0].sample_rate)
            held = []
        held.append(piece)
    if held:
        yield AudioPiece(held[0].offset_ms, np.concatenate([p.samples for p in held]), held[0].sample_rate)


def _length_ms(pieces: Sequence[AudioPiece]) -> int:
    return sum(piece.samples.size * 1000 // piece.sample_rate for piece in pieces)


def _follows(before: AudioPiece, piece: AudioPiece) -> bool:
    end = before.offset_ms + before.samples.size * 1000 / before.sample_rate
    return piece.sample_rate == before.sample_rate and abs(piece.offset_ms - end) <= _GAP_MS


def linked(diarized: Iterable[Diarized], same_voice: float = SAME_VOICE) -> Iterator[Turn]:
    """Turns of all windows under names that hold for the whole recording: `speaker 1`, `speaker 2`, in order of appearance.

    A voice of a window is the known one it is most like, where the cosine is `same_voice` or more and no other voice of the window is
    more like it; else a new one. A window whose voices have no embeddings has speakers of its own.
    """
    book = _Book(same_voice)
    for window in diarized:
        names = book.names(window)
        yield from (replace(turn, speaker=names[turn.speaker]) for turn in window.turns)


class _Book:
    """The voices known so far: the sum of their embeddings, each of length 1."""

    def __init__(self, same_voice: float) -> None:
        self._same, self._count = same_voice, 0
        self._known: dict[str, NDArray[np.float64]] = {}

    def names(self, window: Diarized) -> dict[str, str]:
        """Each label of a window with its name in the whole recording."""
        labels = list(dict.fromkeys(turn.speaker for turn in window.turns))
        voices = {label: _unit(window.voices[label]) for label in labels if label in window.voices}
        names = self._matched(voices)
        for label in labels:
            if label not in names:
                self._count += 1
                names[label] = f"speaker {self._count}"
        for label, voice in voices.items():
            known = self._known.get(names[label])
            self._known[names[label]] = voice if known is None else known + voice
        return names

    def _matched(self, voices: Mapping[str, NDArray[np.float64]]) -> dict[str, str]:
        """Labels that are known voices, the surest first; none is two at once."""
        pairs = sorted(
            (-float(voice @ _unit(known)), name, label)
            for label, voice in voices.items()
            for name, known in self._known.items()
        )
        names: dict[str, str] = {}
        for distance, name, label in pairs:
            if -distance >= self._same and label not in names and name not in names.values():
                names[label] = name
        return names


def _unit(vector: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    values = np.asarray(vector, np.float64)
    length = float(np.linalg.norm(values))
    return values / length if length else values


# --- who said it ---------------------------------------------------------------------------------------------------------


def with_speakers(utterances: Iterable[Utterance], turns: Sequence[Turn]) -> Iterator[Utterance]:
    """Utterances with who said them, split where the speaker changes; those that name a speaker already stay as they are.

    A word belongs to the speaker whose turns share most time with it; one that lies in no turn to the speaker of the word before, else
    of the next. An utterance without words belongs to the speaker who shares most time with it.
    """
    ordered = _Turns(turns)
    for utterance in utterances:
        if utterance.speaker is not None or not turns:
            yield utterance
        elif utterance.words:
            yield from _by_words(utterance, ordered)
        else:
            yield replace(utterance, speaker=ordered.speaker(utterance.offset_ms, utterance.end_offset_ms))


def _by_words(utterance: Utterance, turns: _Turns) -> Iterator[Utterance]:
    said = [turns.speaker(word.offset_ms, max(word.end_offset_ms, word.offset_ms + 1)) for word in utterance.words]
    speakers = _filled(said)
    runs = [list(group) for _, group in groupby(range(len(speakers)), key=lambda n: speakers[n])]
    parts = parts_of(utterance, [run[0] for run in runs])
    for run, part in zip(runs, parts, strict=True):
        yield replace(part, speaker=speakers[run[0]])


def _filled(said: Sequence[str | None]) -> list[str | None]:
    """Gaps take the speaker before, those at the beginning the first one after."""
    first = next((speaker for speaker in said if speaker is not None), None)
    made: list[str | None] = []
    for speaker in said:
        made.append(speaker or (made[-1] if made else first))
    return made


class _Turns:
    """Turns in order of time, found by time."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = sorted(turns, key=lambda turn: (turn.offset_ms, turn.end_offset_ms, turn.speaker))
        self._starts = [turn.offset_ms for turn in self._turns]
        self._longest = max((turn.end_offset_ms - turn.offset_ms for turn in turns), default=0)

    def speaker(self, start_ms: int, end_ms: int) -> str | None:
        """The speaker who shares most time with a span; None where nobody does."""
        shared: dict[str, int] = {}
        first, last = bisect_left(self._starts, start_ms - self._longest), bisect_left(self._starts, end_ms)
        for turn in self._turns[first:last]:
            common = min(end_ms, turn.end_offset_ms) - max(start_ms, turn.offset_ms)
            if common > 0:
                shared[turn.speaker] = shared.get(turn.speaker, 0) + common
        return min(shared, key=lambda name: (-shared[name], name)) if shared else None
