"""whisperX's adapter against a stand-in with the shapes that the package documents (3.8: schema.py, diarize.py, alignment.py).

The package itself pins torch 2.8 and huggingface-hub < 1, which the other extras do not take, so it is not installed beside them.
"""

import math
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from vgraph.errors import MissingDependency, ModelError
from vgraph.models import Diarizer, Transcriber
from vgraph.models.loading import installed
from vgraph.models.voice import EnergyGate
from vgraph.models.whisperx import WhisperX, WhisperXDiarizer
from vgraph.types import AudioPiece, Turn, Word

SEGMENTS = [
    {"start": 0.2, "end": 1.4, "text": " We leave at 9", "avg_logprob": -0.5},
    {"start": 3.0, "end": 3.6, "text": " Good."},
]
ALIGNED = [
    {
        "start": 0.31, "end": 1.4, "text": " We leave at 9", "avg_logprob": -0.5, "chars": None,
        "words": [
            {"word": "We", "start": 0.31, "end": 0.45, "score": 0.91},
            {"word": "leave", "start": 0.5, "end": 0.8, "score": 0.8},
            {"word": "at", "start": 0.85, "end": 0.95, "score": 0.7},
            {"word": "9"},
        ],
    },
    {"start": 3.05, "end": 3.6, "text": " Good.", "words": [{"word": "Good.", "start": 3.05, "end": 3.6, "score": 0.99}]},
]  # fmt: skip


class Frame:
    """As much of a pandas DataFrame as the adapter asks for."""

    def __init__(self, rows: list[dict]) -> None:
        self._rows = rows

    def to_dict(self, orient: str) -> list[dict]:
        assert orient == "records"
        return self._rows


@pytest.fixture
def package(monkeypatch):
    """A package whisperx that answers as documented; `seen` keeps what it was asked."""
    seen = SimpleNamespace(loaded=[], transcribed=[], aligners=[], aligned=[], language="en", frame=[], voices={})
    module, diarize = ModuleType("whisperx"), ModuleType("whisperx.diarize")

    class Pipeline:
        def transcribe(self, audio, batch_size=None, language=None):
            seen.transcribed.append((len(audio), language))
            return {"segments": SEGMENTS, "language": language or seen.language}

    def load_model(whisper_arch, device, compute_type="default", threads=4, local_files_only=False):
        seen.loaded.append((whisper_arch, device, compute_type, threads, local_files_only))
        return Pipeline()

    def load_align_model(language_code, device, model_name=None, model_dir=None, model_cache_only=False):
        seen.aligners.append(language_code)
        if language_code == "xx":
            raise ValueError(f"No default align-model for language: {language_code}")
        if language_code == "yy":
            raise ValueError("The chosen align_model could not be found")
        return "model", {"language": language_code, "dictionary": {}, "type": "torchaudio"}

    def align(transcript, model, align_model_metadata, audio, device):
        seen.aligned.append((len(transcript), align_model_metadata["language"]))
        return {"segments": ALIGNED, "word_segments": [word for segment in ALIGNED for word in segment["words"]]}

    class DiarizationPipeline:
        def __init__(self, model_name=None, token=None, device="cpu", cache_dir=None):
            seen.loaded.append((model_name, device))

        def __call__(self, audio, return_embeddings=False):
            assert return_embeddings
            return Frame(seen.frame), seen.voices

    module.load_model, module.load_align_model, module.align = load_model, load_align_model, align
    diarize.DiarizationPipeline = DiarizationPipeline
    module.diarize = diarize
    monkeypatch.setitem(sys.modules, "whisperx", module)
    monkeypatch.setitem(sys.modules, "whisperx.diarize", diarize)
    return seen


def sound(seconds: float = 4.0, offset_ms: int = 60_000) -> AudioPiece:
    return AudioPiece(offset_ms, np.random.default_rng(0).normal(0, 0.1, round(seconds * 16_000)).astype(np.float32))


def test_they_fit_their_protocols_and_load_nothing_before_they_are_asked(package):
    assert isinstance(WhisperX("small"), Transcriber) and isinstance(WhisperXDiarizer(), Diarizer)
    assert (WhisperX("small").name, WhisperXDiarizer().name) == (
        "whisperx:small",
        "whisperx:pyannote/speaker-diarization-community-1",
    )
    assert package.loaded == []


@pytest.mark.skipif(installed("whisperx"), reason="whisperx is installed")
@pytest.mark.parametrize("ask", [lambda: WhisperX("small").hear(sound()), lambda: WhisperXDiarizer().diarize(sound())])
def test_without_the_package_the_extra_is_named(ask):
    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[whisperx\]'"):
        ask()


def test_aligned_words_have_media_offsets_and_their_scores(package):
    first, second = WhisperX("small", threads=3, download=False).hear(sound())
    assert (first.text, first.language, first.origin) == ("We leave at 9", "en", "whisperx:small")
    assert first.confidence == math.exp(-0.5) and second.confidence == 0.99
    assert first.words[:3] == (
        Word("We", 60_310, 60_450, 0.91),
        Word("leave", 60_500, 60_800, 0.8),
        Word("at", 60_850, 60_950, 0.7),
    )
    assert (second.offset_ms, second.end_offset_ms) == (63_050, 63_600)
    assert package.loaded == [("small", "cpu", "int8", 3, True)] and package.aligned == [(2, "en")]


def test_a_word_that_could_not_be_aligned_stands_between_its_neighbours(package):
    first, _ = WhisperX("small").hear(sound())
    assert first.words[3] == Word("9", 60_950, 61_400, 0.0)


def test_a_language_without_alignment_model_keeps_its_segments_and_says_so(package):
    package.language = "xx"
    first, _ = WhisperX("small").hear(sound())
    assert (first.offset_ms, first.words, first.origin) == (60_200, (), "whisperx:small (not aligned)")
    assert package.aligned == []


def test_an_alignment_model_that_cannot_be_loaded_is_a_model_error(package):
    package.language = "yy"
    with pytest.raises(ModelError, match="could not be found"):
        WhisperX("small").hear(sound())


def test_models_are_loaded_once_a_language(package):
    model = WhisperX("small", languages=["de"])
    model.hear(sound())
    model.hear(sound())
    assert len(package.loaded) == 1 and package.aligners == ["de"]
    assert [language for _, language in package.transcribed] == ["de", "de"]


def test_silence_is_not_sent_to_it(package):
    silence = AudioPiece(0, np.zeros(16_000 * 30, np.float32))
    assert list(WhisperX("small", gate=EnergyGate()).transcribe([silence])) == []
    assert WhisperX("small").hear(silence) == () and package.transcribed == []


def test_turns_have_media_offsets_and_voices(package):
    package.frame = [
        {"segment": None, "label": "A", "speaker": "SPEAKER_00", "start": 0.5, "end": 1.25},
        {"segment": None, "label": "B", "speaker": "SPEAKER_01", "start": 1.0, "end": 2.0},
    ]
    package.voices = {"SPEAKER_00": [1.0, 0.0], "SPEAKER_01": [0.0, 1.0]}
    found = WhisperXDiarizer().diarize(sound())
    assert found.turns == (Turn(60_500, 61_250, "SPEAKER_00"), Turn(61_000, 62_000, "SPEAKER_01"))
    assert found.voices == {"SPEAKER_00": (1.0, 0.0), "SPEAKER_01": (0.0, 1.0)}
    package.voices = None  # pipelines without embeddings
    assert WhisperXDiarizer().diarize(sound()).voices == {}


def test_another_sample_rate_is_a_model_error(package):
    piece = AudioPiece(0, np.ones(8000, np.float32), 8000)
    for ask in (WhisperX("small").hear, WhisperXDiarizer().diarize):
        with pytest.raises(ModelError, match="8000 Hz"):
            ask(piece)
