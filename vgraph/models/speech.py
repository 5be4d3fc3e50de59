"""Sound made ready for speech models: stretches of speech with absolute times, cut in silence, and what is heard in them joined again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from vgraph.models.voice import Gate, Spans
from vgraph.types import AudioPiece, Utterance, Word

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_MS: Final = 60_000
OVERLAP_MS: Final = 2_000
"""How far a piece reaches into the one before where there was no silence to cut in."""
_STEP_MS: Final = 20
_STEPS: Final = 5
_GAP_MS: Final = 20
_PAUSE_MS: Final = 1000
_EDGE_MS: Final = 300
"""Speech this near to the end of what is held may go on after it."""
_WORDS_COMPARED: Final = 20
_SILENT: Final = 0.01
"""Of a block's energy: 20 dB below it nothing is said."""
_SAME_WORD_MS: Final = 1_000
"""Two pieces may time one word this differently."""


class Listener:
    """A transcriber that hears one piece of sound at a time: `hear` is one call of its model, `pieces` what it is called with.

    Subclasses give `name` and `hear`.
    """

    name: str

    def __init__(self, gate: Gate | None, block_ms: int) -> None:
        self._gate, self.block_ms = gate, block_ms

    @property
    def listening(self) -> str:
        """How sound is cut, in words: part of what answers depend on."""
        return (
            f"blocks of {self.block_ms} ms, voice {self._gate.name} {self._gate.voice}"
            if self._gate
            else f"blocks of {self.block_ms} ms"
        )

    def pieces(self, audio: Iterable[AudioPiece]) -> Iterator[AudioPiece]:
        """The stretches of speech in a stream of sound; see `stretches`."""
        return stretches(audio, self._gate, self.block_ms)

    def hear(self, piece: AudioPiece, language: str | None = None) -> tuple[Utterance, ...]:
        """What is said in a piece; the same for the same piece, whatever came before."""
        raise NotImplementedError

    def transcribe(self, audio: Iterable[AudioPiece], language: str | None = None) -> Iterator[Utterance]:
        """What is said in a stream of sound, in order, what pieces share told once."""
        return joined((piece, self.hear(piece, language)) for piece in self.pieces(audio))


# --- cutting ------------------------------------------------------------------------------------------------------------


def stretches(audio: Iterable[AudioPiece], gate: Gate | None, block_ms: int = BLOCK_MS) -> Iterator[AudioPiece]:
    """Stretches of speech, each of at most `block_ms`, with their own offsets; never more than a block and a piece is held.

    Sound is looked at a block at a time. A stretch that reaches the block's end is kept for the next block, so cuts fall into silence;
    only where somebody speaks without a pause for a whole block the cut falls where it is quietest, and the next piece begins two seconds
    before it, so that every word is whole in one of them. Without a gate all sound is speech.
    """
    held: AudioPiece | None = None
    for piece in audio:
        if held is not None and not _continues(held, piece):
            yield from _spoken(held, gate)
            held = None
        held = piece if held is None else _joined(held, piece)
        while held.samples.size * 1000 > block_ms * held.sample_rate:
            ready, held = _first_block(held, gate, block_ms)
            yield from ready
    if held is not None and held.samples.size:
        yield from _spoken(held, gate)


def _spoken(held: AudioPiece, gate: Gate | None) -> Iterator[AudioPiece]:
    spans = gate.speech(held.samples, held.sample_rate) if gate else [(0, held.samples.size)]
    yield from (_part(held, first, last) for first, last in spans)


def _first_block(held: AudioPiece, gate: Gate | None, block_ms: int) -> tuple[list[AudioPiece], AudioPiece]:
    """The stretches that end within the first block of what is held, and the rest."""
    size = block_ms * held.sample_rate // 1000
    block = held.samples[:size]
    spans = gate.speech(block, held.sample_rate) if gate else [(0, size)]
    whole, going_on = _ended(spans, size - _EDGE_MS * held.sample_rate // 1000)
    if going_on is None:
        return [_part(held, *span) for span in whole], _part(held, size, held.samples.size)
    first, _ = going_on
    if first > 0:
        return [_part(held, *span) for span in whole], _part(held, first, held.samples.size)
    cut = quietest(block, held.sample_rate)
    begin = _whole_ms(max(1, cut - _overlap(held, cut, block_ms)), held.sample_rate)
    return [_part(held, 0, cut)], _part(held, begin, held.samples.size)


def _ended(spans: Spans, edge: int) -> tuple[Spans, tuple[int, int] | None]:
    """Spans that end before the edge, and the one that goes on."""
    if spans and spans[-1][1] > edge:
        return spans[:-1], spans[-1]
    return spans, None


def _overlap(held: AudioPiece, cut: int, block_ms: int) -> int:
    """Two seconds, or a third of a short block; nothing where the cut fell into silence after all."""
    import numpy as np

    rate, size = held.sample_rate, block_ms * held.sample_rate // 1000
    around = held.samples[max(0, cut - rate // 25) : cut + rate // 25]
    loudness, whole = (float(np.square(part, dtype=np.float64).mean()) for part in (around, held.samples[:size]))
    return 0 if loudness <= whole * _SILENT else min(OVERLAP_MS, block_ms // 3) * rate // 1000


def _part(held: AudioPiece, first: int, last: int) -> AudioPiece:
    """Samples [first, last) as a piece; it begins on a whole millisecond, so that offsets stay exact however many cuts there are."""
    begin = _whole_ms(first, held.sample_rate)
    offset = held.offset_ms + begin * 1000 // held.sample_rate
    return AudioPiece(offset, held.samples[begin:last].copy(), held.sample_rate)  # a view would keep the whole block


def _whole_ms(sample: int, sample_rate: int) -> int:
    return sample - sample % (sample_rate // math.gcd(sample_rate, 1000))


def halves(piece: AudioPiece) -> tuple[AudioPiece, AudioPiece]:
    """A piece in two, cut where it is quietest near its middle, the second beginning two seconds, or a third of it, before the cut."""
    cut = quietest(piece.samples[: piece.samples.size * 3 // 4], piece.sample_rate)
    begin = max(1, cut - min(OVERLAP_MS * piece.sample_rate // 1000, cut // 3))
    return _part(piece, 0, cut), _part(piece, begin, piece.samples.size)


def quietest(samples: NDArray[np.float32], sample_rate: int) -> int:
    """The sample in the last third with the least energy around it (100 ms, in steps of 20 ms); the last such one on a tie.

    It falls on a whole millisecond.
    """
    import numpy as np

    step = max(sample_rate * _STEP_MS // 1000, 1)
    first = len(samples) * 2 // 3
    count = (len(samples) - first) // step
    if count < _STEPS:
        return len(samples)
    energy = np.square(samples[first : first + count * step], dtype=np.float64).reshape(count, step).sum(axis=1)
    around = np.convolve(energy, np.ones(_STEPS), "valid")
    quiet = len(around) - 1 - int(np.argmin(around[::-1]))
    return _whole_ms(first + quiet * step + _STEPS * step // 2, sample_rate)


def _continues(held: AudioPiece, piece: AudioPiece) -> bool:
    end = held.offset_ms + held.samples.size * 1000 / held.sample_rate
    return piece.sample_rate == held.sample_rate and abs(piece.offset_ms - end) <= _GAP_MS


def _joined(held: AudioPiece, piece: AudioPiece) -> AudioPiece:
    import numpy as np

    return AudioPiece(held.offset_ms, np.concatenate((held.samples, piece.samples)), held.sample_rate)


# --- joining ------------------------------------------------------------------------------------------------------------


def joined(heard: Iterable[tuple[AudioPiece, Sequence[Utterance]]]) -> Iterator[Utterance]:
    """Utterances of pieces in order; what two pieces share is told once (see `seam`)."""
    before: list[Utterance] = []
    before_end_ms = 0
    for piece, said in heard:
        now = list(said)
        if before and piece.offset_ms < before_end_ms:
            before, now = seam(before, now, (piece.offset_ms + before_end_ms) // 2)
        yield from before
        before, before_end_ms = now, _end_ms(piece)
    yield from before


def _end_ms(piece: AudioPiece) -> int:
    return piece.offset_ms + piece.samples.size * 1000 // piece.sample_rate


def seam(
    before: Sequence[Utterance], after: Sequence[Utterance], middle_ms: int
) -> tuple[list[Utterance], list[Utterance]]:
    """What two overlapping pieces said, without what both did.

    They are joined at the word that both heard, the one nearest to the middle of what they share; where they heard none in common, each
    is believed on its own side of the middle. Texts without words lose the beginning that the one before ended with.
    """
    if not before or not after:
        return list(before), list(after)
    if not (before[-1].words and after[0].words):
        text = unrepeated(before[-1].text, after[0].text)
        return list(before), [*([replace(after[0], text=text)] if text else []), *after[1:]]
    told, again = [w for u in before for w in u.words], [w for u in after for w in u.words]
    shared = _shared_word(told, again, middle_ms)
    if shared is None:
        kept, rest = {id(w) for w in told if _middle(w) < middle_ms}, {id(w) for w in again if _middle(w) >= middle_ms}
    else:
        kept, rest = {id(w) for w in told[: shared[0] + 1]}, {id(w) for w in again[shared[1] + 1 :]}
    return _only(before, kept), _only(after, rest)


def _shared_word(told: Sequence[Word], again: Sequence[Word], middle_ms: int) -> tuple[int, int] | None:
    """Where the word stands that both pieces heard nearest to the middle of what they share."""
    pairs = [
        (abs(_middle(one) - middle_ms), abs(one.offset_ms - other.offset_ms), first, second)
        for first, one in enumerate(told)
        for second, other in enumerate(again)
        if abs(one.offset_ms - other.offset_ms) <= _SAME_WORD_MS and _same(one.text, other.text)
    ]
    return min(pairs)[2:] if pairs else None


def _only(utterances: Sequence[Utterance], kept: set[int]) -> list[Utterance]:
    """Utterances of those of their words that are kept."""
    return [left for one in utterances if (left := _cut(one, kept)) is not None]


def _middle(word: Word) -> int:
    return (word.offset_ms + word.end_offset_ms) // 2


def _cut(utterance: Utterance, keep: set[int]) -> Utterance | None:
    """An utterance of those of its words (by identity) that are kept; one without words as it is, None where nothing is left."""
    words = utterance.words
    kept = [n for n, word in enumerate(words) if id(word) in keep]
    if len(kept) == len(words):
        return utterance
    if not kept:
        return None
    places = [*_places(utterance), len(utterance.text)]
    own = words[kept[0] : kept[-1] + 1]
    text = utterance.text[places[kept[0]] if kept[0] else 0 : places[kept[-1] + 1]].strip()
    return replace(utterance, offset_ms=own[0].offset_ms, end_offset_ms=own[-1].end_offset_ms, text=text, words=own)


def unrepeated(before: str, after: str) -> str:
    """A text without the words at its beginning that another text ends with; of twenty words at most."""
    ending, words = before.split()[-_WORDS_COMPARED:], after.split()
    for count in range(min(len(ending), len(words)), 0, -1):
        if all(_same(a, b) for a, b in zip(ending[-count:], words[:count], strict=True)):
            return " ".join(words[count:])
    return after


def _same(one: str, other: str) -> bool:
    """Whether two words are one, but for case and signs."""
    return _letters(one) == _letters(other)


def _letters(word: str) -> str:
    return "".join(c for c in word.casefold() if c.isalnum()) or word


def unbroken(utterance: Utterance) -> Iterator[Utterance]:
    """An utterance split where its words pause for a second or more."""
    words = utterance.words
    pauses = (n for n in range(1, len(words)) if words[n].offset_ms - words[n - 1].end_offset_ms >= _PAUSE_MS)
    yield from parts_of(utterance, [0, *pauses])


def parts_of(utterance: Utterance, starts: Sequence[int]) -> Iterator[Utterance]:
    """An utterance split before its words of these numbers, the first of them 0; text keeps the spacing that its language has."""
    if len(starts) == 1:
        yield utterance
        return
    words = utterance.words
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
