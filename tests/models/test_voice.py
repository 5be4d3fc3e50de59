"""Voice activity: speech is found, silence and steady noise are not; real speech where it was fetched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.test_faster_whisper import samples
from vgraph.errors import ModelError
from vgraph.models.loading import installed
from vgraph.models.voice import EnergyGate, Gate, SileroGate, Voice, gate, joined_spans

needs_silero = pytest.mark.skipif(not installed("faster_whisper"), reason="faster-whisper is not installed")
RATE = 16_000
GATES = [EnergyGate, pytest.param(SileroGate, marks=needs_silero)]


def quiet(seconds: float, level: float = 0.0) -> np.ndarray:
    return np.random.default_rng(0).normal(0, level, round(seconds * RATE)).astype(np.float32)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("level", [0.0, 0.001, 0.05])
def test_silence_and_steady_noise_are_no_speech(kind: type[Gate], level: float) -> None:
    assert kind().speech(quiet(20, level), RATE) == []


@pytest.mark.parametrize("kind", GATES)
def test_real_speech_is_found_where_it_is(kind: type[Gate], weights) -> None:
    """Four seconds of speech at ten seconds and at fifty, in quiet noise: two stretches, padded by 400 ms."""
    said = samples(weights("two_cities.wav"))[2 * RATE : 6 * RATE]
    sound = quiet(64, 0.001)
    for at in (10, 50):
        sound[at * RATE : at * RATE + len(said)] += said
    found = kind().speech(sound, RATE)
    assert [first / RATE for first, _ in found] == [pytest.approx(9.8, abs=0.5), pytest.approx(49.8, abs=0.5)]
    assert [last / RATE for _, last in found] == [pytest.approx(14.2, abs=0.7), pytest.approx(54.2, abs=0.7)]


@needs_silero
def test_silero_tells_speech_from_other_loud_sounds(weights) -> None:
    times = np.arange(10 * RATE) / RATE
    hum = (0.3 * np.sin(2 * np.pi * 100 * times) * (times % 2 < 1)).astype(np.float32)
    assert SileroGate().speech(hum, RATE) == []
    assert EnergyGate().speech(hum, RATE) != []


def test_a_click_is_no_word() -> None:
    sound = quiet(5, 0.0005)
    sound[2 * RATE : 2 * RATE + 400] = 0.9
    assert EnergyGate().speech(sound, RATE) == []


def test_pauses_shorter_than_asked_stay_within_a_stretch() -> None:
    sound = quiet(10, 0.0005)
    for at in (2.0, 4.0):
        sound[round(at * RATE) : round((at + 1) * RATE)] += quiet(1, 0.2)
    assert len(EnergyGate(Voice(pause_ms=1_500)).speech(sound, RATE)) == 1
    assert len(EnergyGate(Voice(pause_ms=900)).speech(sound, RATE)) == 2


@needs_silero
def test_another_sample_rate_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="8000 Hz"):
        SileroGate().speech(np.ones(8000, np.float32), 8000)


@pytest.mark.parametrize("samples", [0, 1, 100])
def test_next_to_nothing_is_no_speech(samples: int) -> None:
    assert EnergyGate().speech(np.ones(samples, np.float32), RATE) == []


def test_spans_that_touch_are_one() -> None:
    assert joined_spans([(0, 5), (5, 9), (20, 30), (31, 40)], 1) == [(0, 9), (20, 40)]


def test_the_gate_of_a_setting() -> None:
    voice = Voice(threshold=0.7)
    assert gate("none", voice) is None
    assert isinstance(gate("energy", voice), EnergyGate)
    assert isinstance(gate("silero", voice), SileroGate)
    chosen = gate("auto", voice)
    assert chosen is not None and chosen.voice == voice
    assert chosen.name == ("silero" if installed("faster_whisper") else "energy")
