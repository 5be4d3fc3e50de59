"""Whisper's real weights on real and synthesised speech; silence and noise stay silent."""

import re
import shutil
import subprocess
import wave
from pathlib import Path

import av
import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from vgraph.errors import MissingDependency, ModelError
from vgraph.models import Transcriber
from vgraph.models.faster_whisper import FasterWhisper
from vgraph.models.loading import installed
from vgraph.models.voice import SileroGate
from vgraph.types import AudioPiece

needs_whisper = pytest.mark.skipif(not installed("faster_whisper"), reason="faster-whisper is not installed")
RATE = 16_000


def samples(path: Path) -> np.ndarray:
    """A WAV file as 16 kHz mono, by linear interpolation."""
    with wave.open(str(path)) as file:
        rate = file.getframerate()
        sound = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
        sound = sound.reshape(-1, file.getnchannels()).mean(axis=1)
    times = np.arange(len(sound) * RATE // rate) * (rate / RATE)
    return np.interp(times, np.arange(len(sound)), sound).astype(np.float32)


def decoded(path: Path) -> np.ndarray:
    """Any sound file as 16 kHz mono."""
    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
    with av.open(str(path)) as container:
        frames = [part for frame in container.decode(audio=0) for part in resampler.resample(frame)]
    return np.concatenate([frame.to_ndarray().reshape(-1) for frame in [*frames, *resampler.resample(None)]])


def pieces(sound: np.ndarray, start_ms: int = 0, piece_ms: int = 5000):
    size = piece_ms * RATE // 1000
    for at in range(0, len(sound), size):
        yield AudioPiece(start_ms + at * 1000 // RATE, sound[at : at + size])


def words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def word_errors(heard: str, said: str) -> float:
    return Levenshtein.distance(words(heard), words(said)) / len(words(said))


def spoken(folder: Path, text: str) -> np.ndarray:
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed")
    subprocess.run(["espeak-ng", "-v", "en-us", "-s", "140", "-w", folder / "said.wav", text], check=True)
    return samples(folder / "said.wav")


@pytest.fixture(scope="module")
def model_cache() -> dict[str, FasterWhisper]:
    return {}


@pytest.fixture
def model(weights, model_cache) -> FasterWhisper:
    path = str(weights("whisper-base"))
    return model_cache.setdefault(path, FasterWhisper(path, beam=1, gate=SileroGate()))


def test_it_is_a_transcriber_named_after_its_folder(tmp_path):
    (tmp_path / "whisper-x").mkdir()
    model = FasterWhisper(str(tmp_path / "whisper-x"))
    assert isinstance(model, Transcriber)
    assert model.name == "faster-whisper:whisper-x"
    assert FasterWhisper("small").name == "faster-whisper:small"


@pytest.mark.skipif(installed("faster_whisper"), reason="faster-whisper is installed")
def test_without_the_package_the_extra_is_named():
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[audio\]'"):
        list(FasterWhisper("small").transcribe(pieces(np.ones(RATE, np.float32))))


@needs_whisper
def test_a_folder_without_weights_is_a_model_error(tmp_path):
    with pytest.raises(ModelError, match="failed to load"):
        list(FasterWhisper(str(tmp_path)).transcribe(pieces(np.ones(RATE, np.float32))))


@needs_whisper
@pytest.mark.slow
def test_real_speech_is_heard_with_times_and_words(model, weights):
    sound = samples(weights("two_cities.wav"))
    heard = list(model.transcribe(pieces(sound, start_ms=3_600_000), language="en"))
    text = " ".join(utterance.text for utterance in heard)
    opening = (
        "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness"
    )
    assert word_errors(" ".join(words(text)[: len(words(opening))]), opening) <= 0.1
    length = len(sound) * 1000 // RATE
    for utterance in heard:
        assert 3_600_000 <= utterance.offset_ms < utterance.end_offset_ms <= 3_600_000 + length + 500
        assert utterance.words
        assert all(utterance.offset_ms <= word.offset_ms <= word.end_offset_ms for word in utterance.words)
        assert 0 < utterance.confidence <= 1
    starts = [word.offset_ms for utterance in heard for word in utterance.words]
    assert starts == sorted(starts)
    assert {utterance.language for utterance in heard} == {"en"}


@needs_whisper
@pytest.mark.slow
def test_synthesised_speech_far_apart_keeps_its_times(model, tmp_path):
    said = "The woman in the red coat gives the parcel to the driver of the white van."
    speech = spoken(tmp_path, said)
    silence = np.zeros(70 * RATE, np.float32)
    heard = list(model.transcribe(pieces(np.concatenate([silence, speech, silence, speech]), piece_ms=30_000)))
    first = [utterance for utterance in heard if utterance.offset_ms < 100_000]
    second = [utterance for utterance in heard if utterance.offset_ms >= 100_000]
    for found, begins in ((first, 70_000), (second, 140_000 + len(speech) * 1000 // RATE)):
        assert word_errors(" ".join(utterance.text for utterance in found), said) <= 0.2
        assert abs(found[0].offset_ms - begins) < 1000


@needs_whisper
@pytest.mark.slow
@pytest.mark.parametrize("level", [0.0, 0.02])
def test_silence_and_noise_say_nothing(model, level):
    sound = np.random.default_rng(0).normal(0, 1, 20 * RATE).astype(np.float32) * np.float32(level)
    assert list(model.transcribe(pieces(sound))) == []
    assert list(model.transcribe([])) == []


@needs_whisper
def test_another_sample_rate_is_a_model_error(model):
    with pytest.raises(ModelError, match="8000 Hz"):
        list(model.transcribe([AudioPiece(0, np.ones(8000, np.float32), 8000)]))


@needs_whisper
@pytest.mark.slow
def test_two_languages_are_told_apart_and_kept_on_what_is_said(weights):
    """English, a pause, French, a pause, English: each stretch is heard in its own language, none of them translated."""
    english = samples(weights("two_cities.wav"))
    french = decoded(weights("french") / "pangrama.wav")
    pause = np.zeros(3 * RATE, np.float32)
    opening, closing = english[: 9 * RATE], english[20 * RATE : 28 * RATE]
    sound = np.concatenate([opening, pause, french, pause, closing])
    model = FasterWhisper(str(weights("whisper-base")), beam=1, gate=SileroGate(), languages=("en", "fr"))
    heard = list(model.transcribe(pieces(sound, start_ms=1_000_000)))
    begins = 1_000_000 + (len(opening) + len(pause)) * 1000 // RATE
    ends = begins + len(french) * 1000 // RATE
    within = [u for u in heard if begins - 500 <= u.offset_ms and u.end_offset_ms <= ends + 500]
    assert within and all(u.language == "fr" for u in within)
    assert all(u.language == "en" for u in heard if u not in within)
    assert (
        "whisky" in " ".join(u.text for u in within).casefold() or "juge" in " ".join(u.text for u in within).casefold()
    )
