"""Sound regrouped for speech models: nothing lost, cut in silence, absolute times; what two pieces share is told once."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.models.speech import halves, joined, seam, stretches, unbroken, unrepeated
from vgraph.models.voice import EnergyGate, Voice
from vgraph.types import AudioPiece, Utterance, Word

RATE = 16_000


def noise(offset_ms: int, count: int, rate: int = RATE) -> AudioPiece:
    return AudioPiece(
        offset_ms, np.random.default_rng((offset_ms, count)).normal(0, 0.1, count).astype(np.float32), rate
    )


@given(st.lists(st.integers(0, 4000), max_size=12), st.integers(50, 700), st.sampled_from([8000, 16_000, 44_100]))
def test_without_a_gate_every_sample_is_in_a_piece_at_its_own_time(lengths_ms, block_ms, rate):
    pieces, offset = [], 0
    for length in lengths_ms:
        pieces.append(noise(offset, length * rate // 1000, rate))
        offset += length
    made = list(stretches(pieces, None, block_ms))
    assert all(0 < len(block.samples) * 1000 <= block_ms * rate for block in made)
    whole = np.concatenate([piece.samples for piece in pieces]) if pieces else np.zeros(0, np.float32)
    seen = 0
    for block in made:
        at = next((s for s in range(max(0, seen - len(block.samples)), seen + 1) if _is_at(whole, block, s)), None)
        assert at is not None, "a piece is a part of the sound, and nothing between two is left out"
        assert abs(block.offset_ms - at * 1000 / rate) <= len(pieces)  # the pieces' own rounding, no more
        seen = at + len(block.samples)
    assert seen == len(whole)


def _is_at(whole: np.ndarray, block: AudioPiece, at: int) -> bool:
    return np.array_equal(whole[at : at + len(block.samples)], block.samples)


def test_the_cut_falls_into_the_pause():
    samples = noise(0, 32_000).samples.copy()
    samples[26_000:28_000] = 0
    first, second = stretches([AudioPiece(0, samples)], None, 1900)
    assert 26_000 <= len(first.samples) <= 28_000
    assert second.offset_ms == len(first.samples) * 1000 // 16_000


def test_a_hole_in_the_recording_ends_a_piece():
    made = list(stretches([noise(0, 16_000), noise(5000, 16_000)], None))
    assert [(block.offset_ms, len(block.samples)) for block in made] == [(0, 16_000), (5000, 16_000)]


def test_small_jitter_of_offsets_does_not():
    assert len(list(stretches([noise(0, 16_000), noise(1010, 16_000)], None))) == 1


def test_pieces_are_taken_as_they_come():
    taken = []

    def pieces():
        for n in range(10):
            taken.append(n)
            yield noise(n * 1000, 16_000)

    next(stretches(pieces(), None, 2000))
    assert len(taken) <= 4


def words_at(starts_s: list[float], seconds: float, length_s: float = 0.5) -> np.ndarray:
    """Quiet with bursts of noise, as words, at the given seconds."""
    rng = np.random.default_rng(1)
    sound = rng.normal(0, 0.0005, round(seconds * RATE)).astype(np.float32)
    for start in starts_s:
        at = round(start * RATE)
        sound[at : at + round(length_s * RATE)] += rng.normal(0, 0.2, round(length_s * RATE)).astype(np.float32)
    return sound


def streamed(sound: np.ndarray, offset_ms: int = 0, piece_s: float = 3.0):
    size = round(piece_s * RATE)
    for at in range(0, len(sound), size):
        yield AudioPiece(offset_ms + at * 1000 // RATE, sound[at : at + size])


def test_no_cut_falls_into_a_word():
    """Words half a second long with pauses of a third: whatever the block, each word is whole in one piece."""
    starts = [1 + 0.83 * n for n in range(60)]
    sound = words_at(starts, 60)
    gate = EnergyGate(Voice(pause_ms=250, pad_ms=50))
    for block_ms in (5_000, 7_000, 12_345):
        made = [
            (p.offset_ms, p.offset_ms + len(p.samples) * 1000 // RATE)
            for p in stretches(streamed(sound), gate, block_ms)
        ]
        assert all(any(a <= s * 1000 and s * 1000 + 500 <= b for a, b in made) for s in starts)
        assert all(b <= c for (_, b), (c, _) in itertools.pairwise(made)), "cut in silence, pieces share nothing"


def test_hours_of_sound_are_streamed_with_absolute_times_no_drift_and_little_memory():
    """Six simulated hours at 44.1 kHz, a word every ten minutes: each is found at its own time, and memory stays at a block."""
    rate, hours = 44_100, 6
    word = np.random.default_rng(3).normal(0, 0.3, rate // 2).astype(np.float32)

    def sound():
        for n in range(hours * 120):
            samples = np.zeros(30 * rate, np.float32)
            if n % 20 == 10:
                samples[7 * rate : 7 * rate + len(word)] = word
            yield AudioPiece(1_000 + n * 30_000, samples, rate)

    tracemalloc.start()
    made = list(stretches(sound(), EnergyGate()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    expected = [1_000 + n * 30_000 + 7_000 - 400 for n in range(10, hours * 120, 20)]
    assert [piece.offset_ms for piece in made] == [pytest.approx(at, abs=30) for at in expected]
    assert peak < 200 << 20


def test_a_piece_in_halves_overlaps_itself():
    first, second = halves(noise(500, 16_000 * 10))
    end = first.offset_ms + len(first.samples) * 1000 // RATE
    assert first.offset_ms == 500 and second.offset_ms < end
    assert second.offset_ms + len(second.samples) * 1000 // RATE == 10_500


# --- joining ------------------------------------------------------------------------------------------------------------


def utterance(text: str, *words: tuple[str, int, int]) -> Utterance:
    made = tuple(Word(*word) for word in words)
    return Utterance(made[0].offset_ms if made else 0, made[-1].end_offset_ms if made else 0, text, "m", words=made)


def spoken(text: str, start_ms: int, step_ms: int = 500) -> Utterance:
    timed = [(word, start_ms + n * step_ms, start_ms + n * step_ms + 400) for n, word in enumerate(text.split())]
    return utterance(text, *timed)


def piece(start_ms: int, end_ms: int) -> AudioPiece:
    return AudioPiece(start_ms, np.zeros((end_ms - start_ms) * 16, np.float32))


def test_words_that_two_pieces_share_are_told_once():
    heard = [
        (piece(0, 4000), [spoken("we met at the old", 0), spoken("har", 3000)]),
        (piece(2000, 6000), [spoken("old harbour at nine", 2030)]),
    ]
    said = list(joined(heard))
    assert " ".join(u.text for u in said) == "we met at the old harbour at nine"


def test_a_word_over_the_middle_is_told_once_also_when_both_pieces_time_it_differently():
    before, after = spoken("red van", 2400, 400), spoken("Van, leaves", 2900, 400)
    kept, rest = seam([before], [after], 3000)
    assert " ".join(u.text for u in [*kept, *rest]) == "red van leaves"


def test_a_word_said_twice_stays_twice():
    said = list(joined([(piece(0, 2000), [spoken("no", 1000)]), (piece(2000, 4000), [spoken("no", 2100)])]))
    assert [u.text for u in said] == ["no", "no"]


def test_texts_without_words_lose_what_the_one_before_ended_with():
    assert unrepeated("and then he left the room", "left the ROOM. Then") == "Then"
    assert unrepeated("all quiet", "a dog barks") == "a dog barks"
    heard = [(piece(0, 4000), [utterance("one two three")]), (piece(2000, 6000), [utterance("Three, four")])]
    assert [u.text for u in joined(heard)] == ["one two three", "four"]


@given(st.lists(st.integers(1, 8), min_size=1, max_size=40), st.integers(1500, 4000))
def test_joining_any_overlapping_pieces_tells_every_word_once_in_order(gaps, length_ms):
    """Words of a sentence at known times; each piece hears those that lie whole within it."""
    starts = list(itertools.accumulate(gap * 120 for gap in gaps))
    spoken_words = [Word(f"w{n}", at, at + 100) for n, at in enumerate(starts)]
    step = length_ms * 2 // 3
    heard = []
    for begin in range(0, starts[-1] + 200, step):
        own = [w for w in spoken_words if begin <= w.offset_ms and w.end_offset_ms <= begin + length_ms]
        text = " ".join(w.text for w in own)
        said = [Utterance(own[0].offset_ms, own[-1].end_offset_ms, text, "m", words=tuple(own))] if own else []
        heard.append((piece(begin, begin + length_ms), said))
    told = [word.text for u in joined(heard) for word in u.words]
    assert told == [w.text for w in spoken_words]
    assert " ".join(u.text for u in joined(heard)) == " ".join(w.text for w in spoken_words)


def test_an_utterance_is_split_where_its_words_pause():
    parts = list(
        unbroken(utterance("Well, hello. Bye!", ("Well,", 0, 300), ("hello.", 350, 800), ("Bye!", 2000, 2400)))
    )
    assert [(part.text, part.offset_ms, part.end_offset_ms) for part in parts] == [
        ("Well, hello.", 0, 800),
        ("Bye!", 2000, 2400),
    ]


def test_languages_without_spaces_keep_none():
    parts = list(unbroken(utterance("你好。再见。", ("你", 0, 100), ("好。", 100, 300), ("再见。", 3000, 3400))))
    assert [part.text for part in parts] == ["你好。", "再见。"]


@pytest.mark.parametrize("words", [(), (("Hi", 0, 100),), (("Hi", 0, 100), ("there", 200, 400))])
def test_without_a_pause_it_stays_whole(words):
    whole = utterance("Hi there", *words)
    assert list(unbroken(whole)) == [whole]
