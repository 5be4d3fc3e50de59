"""Who said it: voices known again from window to window, words given to speakers."""

import numpy as np
import pytest

from vgraph.models.speakers import linked, windows, with_speakers
from vgraph.types import AudioPiece, Diarized, Turn, Utterance, Word

ANA, BOB = (1.0, 0.1, 0.0), (0.0, 0.2, 1.0)


def diarized(*turns: tuple[int, int, str], **voices: tuple[float, ...]) -> Diarized:
    return Diarized(tuple(Turn(*turn) for turn in turns), voices)


def test_a_voice_is_known_again_in_a_later_window_whatever_its_label() -> None:
    first = diarized((0, 900, "S0"), (1000, 1900, "S1"), S0=ANA, S1=BOB)
    later = diarized((60_000, 61_000, "S0"), (62_000, 63_000, "S1"), S0=(0.0, 0.25, 0.9), S1=(0.9, 0.0, 0.1))
    assert [turn.speaker for turn in linked([first, later])] == ["speaker 1", "speaker 2", "speaker 2", "speaker 1"]


def test_a_new_voice_is_a_new_speaker() -> None:
    first = diarized((0, 900, "S0"), S0=ANA)
    later = diarized((60_000, 61_000, "S0"), (61_000, 62_000, "S1"), S0=BOB, S1=ANA)
    assert [turn.speaker for turn in linked([first, later])] == ["speaker 1", "speaker 2", "speaker 1"]


def test_two_voices_of_one_window_are_never_one_speaker() -> None:
    first = diarized((0, 900, "S0"), S0=ANA)
    later = diarized((0, 900, "S0"), (1000, 2000, "S1"), S0=ANA, S1=(0.99, 0.12, 0.0))
    assert len({turn.speaker for turn in linked([first, later])}) == 2


def test_without_embeddings_every_window_has_speakers_of_its_own() -> None:
    window = diarized((0, 900, "S0"))
    assert [turn.speaker for turn in linked([window, window])] == ["speaker 1", "speaker 2"]
    silent = diarized((0, 900, "S0"), S0=(0.0, 0.0, 0.0))
    assert [turn.speaker for turn in linked([silent, silent])] == ["speaker 1", "speaker 2"]


def words(text: str, *starts: int) -> Utterance:
    made = tuple(Word(word, at, at + 300) for word, at in zip(text.split(), starts, strict=True))
    return Utterance(starts[0], starts[-1] + 300, text, "m", words=made)


TURNS = [Turn(0, 1500, "speaker 1"), Turn(1500, 4000, "speaker 2")]


def test_an_utterance_is_split_where_the_speaker_changes() -> None:
    said = list(with_speakers([words("Is it open? No, closed.", 0, 400, 800, 1600, 2000)], TURNS))
    assert [(u.speaker, u.text, u.offset_ms, u.end_offset_ms) for u in said] == [
        ("speaker 1", "Is it open?", 0, 1100),
        ("speaker 2", "No, closed.", 1600, 2300),
    ]


def test_words_between_turns_belong_to_who_spoke_before() -> None:
    said = list(with_speakers([words("so well yes", 100, 5000, 5400)], TURNS))
    assert [(u.speaker, u.text) for u in said] == [("speaker 1", "so well yes")]
    late = list(with_speakers([words("hm yes", 3900, 9000)], [Turn(8900, 9500, "b")]))
    assert [(u.speaker, u.text) for u in late] == [("b", "hm yes")]


def test_an_utterance_without_words_belongs_to_who_shares_most_of_it() -> None:
    plain = Utterance(1000, 3000, "hello", "m")
    assert [u.speaker for u in with_speakers([plain], TURNS)] == ["speaker 2"]
    assert [u.speaker for u in with_speakers([Utterance(9000, 9500, "hello", "m")], TURNS)] == [None]


def test_speakers_that_are_given_stay() -> None:
    named = Utterance(0, 900, "hello", "given", "Maria")
    assert list(with_speakers([named], TURNS)) == [named]
    assert list(with_speakers([words("no turns", 0, 400)], [])) == [words("no turns", 0, 400)]


def test_windows_hold_every_sample_and_end_at_holes() -> None:
    def piece(offset_ms: int, length_ms: int) -> AudioPiece:
        return AudioPiece(offset_ms, np.full(length_ms * 16, offset_ms, np.float32))

    made = list(windows([piece(0, 400), piece(400, 400), piece(800, 400), piece(5000, 400)], 1000))
    assert [(w.offset_ms, len(w.samples) // 16) for w in made] == [(0, 800), (800, 400), (5000, 400)]
    assert list(windows([], 1000)) == []


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_many_turns_are_searched_by_time(count: int) -> None:
    turns = [Turn(n * 1000, n * 1000 + 900, f"speaker {n % 7}") for n in range(count)]
    said = list(with_speakers([Utterance(n * 1000, n * 1000 + 500, "x", "m") for n in range(count)], turns))
    assert [u.speaker for u in said] == [f"speaker {n % 7}" for n in range(count)]
