"""Audio regrouped for speech models: long blocks cut where it is quiet, so that no word is split and little is held."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from vgraph.types import AudioPiece, Utterance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WINDOW_MS: Final = 100
_GAP_MS: Final = 20
_PAUSE_MS: Final = 1000


def blocks(audio: Iterable[AudioPiece], block_ms: int) -> Iterator[AudioPiece]:
    """Pieces joined into blocks of at most `block_ms`, each cut at the quietest moment of its last third.

    A jump in the offsets (a hole in the recording) or another sample rate ends a block, so that a block's clock never drifts.
    """
    held: AudioPiece | None = None
    for piece in audio:
        if held is not None and not _continues(held, piece):
            yield held
            held = None
        held = piece if held is None else _joined(held, piece)
        while held.samples.size * 1000 > block_ms * held.sample_rate:
            cut = quietest(held.samples[: block_ms * held.sample_rate // 1000], held.sample_rate)
            yield AudioPiece(held.offset_ms, held.samples[:cut], held.sample_rate)
            offset = held.offset_ms + round(cut * 1000 / held.sample_rate)
            held = AudioPiece(offset, held.samples[cut:], held.sample_rate)
    if held is not None and held.samples.size:
        yield held


def quietest(samples: NDArray[np.float32], sample_rate: int) -> int:
    """The sample in the last third with the least energy around it (windows of 100 ms); the last such one on a tie.

    It falls on a whole millisecond, so that the offsets of what follows stay exact however many cuts there are.
    """
    import numpy as np

    size = max(sample_rate * _WINDOW_MS // 1000, 1)
    first = len(samples) * 2 // 3
    count = max((len(samples) - first) // size, 1)
    tail = samples[first : first + count * size]
    if len(tail) < count * size:
        return len(samples)
    sums = np.square(tail, dtype=np.float64).reshape(count, size).sum(axis=1)
    quiet = count - 1 - int(np.argmin(sums[::-1]))
    cut = first + quiet * size + size // 2
    return cut - cut % (sample_rate // math.gcd(sample_rate, 1000))


def _continues(held: AudioPiece, piece: AudioPiece) -> bool:
    end = held.offset_ms + held.samples.size * 1000 / held.sample_rate
    return piece.sample_rate == held.sample_rate and abs(piece.offset_ms - end) <= _GAP_MS


def _joined(held: AudioPiece, piece: AudioPiece) -> AudioPiece:
    import numpy as np

    return AudioPiece(held.offset_ms, np.concatenate((held.samples, piece.samples)), held.sample_rate)


def unbroken(utterance: Utterance) -> Iterator[Utterance]:
    """An utterance split where its words pause for a second or more; text keeps the spacing that its language has."""
    words = utterance.words
    starts = [0, *(n for n in range(1, len(words)) if words[n].offset_ms - words[n - 1].end_offset_ms >= _PAUSE_MS)]
    if len(starts) == 1:
        yield utterance
        return
    places = [*_places(utterance), len(utterance.text)]
    for start, end in pairwise([*starts, len(words)]):
        own = words[start:end]
        text = utterance.text[places[start] if start else 0 : places[end]].strip()
        yield replace(utterance, offset_ms=own[0].offset_ms, end_offset_ms=own[-1].end_offset_ms, text=text, words=own)


def _places(utterance: Utterance) -> Iterator[int]:
    """Where each word begins in the text; a word that is not there begins where the one before it ended."""
    cursor = 0
    for word in utterance.words:
        found = utterance.text.find(word.text, cursor)
        yield found if found >= 0 else cursor
        cursor = found + len(word.text) if found >= 0 else cursor
