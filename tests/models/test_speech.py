"""Audio regrouped for speech models: nothing lost, nothing doubled, cut where it is quiet."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.models.speech import blocks, unbroken
from vgraph.types import AudioPiece, Utterance, Word


def noise(offset_ms: int, count: int, rate: int = 16_000) -> AudioPiece:
    return AudioPiece(offset_ms, np.random.default_rng(count).normal(0, 0.1, count).astype(np.float32), rate)


@given(st.lists(st.integers(0, 4000), max_size=12), st.integers(50, 700), st.sampled_from([8000, 16_000, 44_100]))
def test_blocks_hold_every_sample_once_with_exact_offsets(lengths_ms, block_ms, rate):
    pieces, offset = [], 0
    for length in lengths_ms:
        pieces.append(noise(offset, length * rate // 1000, rate))
        offset += length
    made = list(blocks(pieces, block_ms))
    assert sum(len(block.samples) for block in made) == sum(len(piece.samples) for piece in pieces)
    assert all(0 < len(block.samples) * 1000 <= block_ms * rate for block in made)
    whole = np.concatenate([piece.samples for piece in pieces]) if pieces else np.zeros(0)
    assert np.array_equal(np.concatenate([block.samples for block in made]) if made else np.zeros(0), whole)
    done = 0
    for block in made:
        assert abs(block.offset_ms - done * 1000 / rate) <= len(pieces)  # the pieces' own rounding, no more
        done += len(block.samples)


def test_the_cut_falls_into_the_pause():
    samples = noise(0, 32_000).samples.copy()
    samples[26_000:28_000] = 0
    first, second = blocks([AudioPiece(0, samples)], 1900)
    assert 26_000 <= len(first.samples) <= 28_000
    assert second.offset_ms == len(first.samples) * 1000 // 16_000


def test_a_hole_in_the_recording_ends_a_block():
    made = list(blocks([noise(0, 16_000), noise(5000, 16_000)], 60_000))
    assert [(block.offset_ms, len(block.samples)) for block in made] == [(0, 16_000), (5000, 16_000)]


def test_small_jitter_of_offsets_does_not():
    assert len(list(blocks([noise(0, 16_000), noise(1010, 16_000)], 60_000))) == 1


def test_pieces_are_taken_as_they_come():
    taken = []

    def pieces():
        for n in range(10):
            taken.append(n)
            yield noise(n * 1000, 16_000)

    next(blocks(pieces(), 2000))
    assert len(taken) <= 4


def utterance(text: str, *words: tuple[str, int, int]) -> Utterance:
    made = tuple(Word(*word) for word in words)
    return Utterance(made[0].offset_ms if made else 0, made[-1].end_offset_ms if made else 0, text, "m", words=made)


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
