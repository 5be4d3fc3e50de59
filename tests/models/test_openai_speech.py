"""Transcription against a real HTTP server that speaks OpenAI's audio API, well or badly."""

import itertools
import math
import wave
from io import BytesIO

import numpy as np
import pytest

from vgraph.errors import ModelError
from vgraph.models import Transcriber
from vgraph.models.endpoint import Endpoint
from vgraph.models.openai_speech import OpenAITranscriber, language_code
from vgraph.models.voice import EnergyGate
from vgraph.types import AudioPiece, Word

from .conftest import Request, Response, Server


def refusing(message: str, status: int = 400) -> Response:
    return Response({"error": {"message": message}}, status)


def tone(offset_ms: int, seconds: float, level: float = 0.3) -> AudioPiece:
    times = np.arange(round(seconds * 16_000), dtype=np.float32) / 16_000
    return AudioPiece(offset_ms, (level * np.sin(2 * np.pi * 220 * times)).astype(np.float32))


def transcriber(server: Server, **more) -> OpenAITranscriber:
    return OpenAITranscriber(Endpoint(base_url=server.url, timeout_s=5.0, retries=1), "w", **more)


def sound_of(request: Request) -> tuple[int, int]:
    """Frames and rate of the WAV file in a request."""
    with wave.open(BytesIO(request.content[request.content.index(b"RIFF") :])) as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        return file.getnframes(), file.getframerate()


VERBOSE = {
    "language": "english",
    "segments": [
        {"start": 0.5, "end": 1.5, "text": " Hello there.", "avg_logprob": -0.25, "no_speech_prob": 0.01},
        {"start": 2.0, "end": 2.5, "text": " Bye."},
    ],
    "words": [
        {"word": "Hello", "start": 0.5, "end": 0.9, "probability": 0.75},
        {"word": "there", "start": 1.0, "end": 1.5},
        {"word": "Bye", "start": 2.0, "end": 2.5},
    ],
}


def test_it_is_a_transcriber(server):
    assert isinstance(transcriber(server), Transcriber)


def test_segments_and_words_get_media_offsets_confidence_and_language(server):
    server.script = [Response(VERBOSE)]
    first, second = transcriber(server).transcribe([tone(10_000, 3)])
    assert (first.offset_ms, first.end_offset_ms, first.text) == (10_500, 11_500, "Hello there.")
    assert first.words == (Word("Hello", 10_500, 10_900, 0.75), Word("there", 11_000, 11_500))
    assert (second.offset_ms, second.words) == (12_000, (Word("Bye", 12_000, 12_500),))
    assert (first.origin, first.language, first.confidence) == ("openai:w", "en", math.exp(-0.25))
    assert second.confidence == 1.0


def test_the_audio_is_sent_as_a_wav_file_with_the_language_that_is_spoken(server):
    server.script = [Response(VERBOSE)]
    list(transcriber(server, languages=["de"]).transcribe([tone(0, 1), tone(1000, 1)]))
    list(transcriber(server, languages=["de", "fr"]).transcribe([tone(0, 1)]))
    assert sound_of(server.requests[0]) == (32_000, 16_000)
    assert b'name="language"\r\n\r\nde' in server.requests[0].content
    assert b'name="language"' not in server.requests[1].content
    assert b"verbose_json" in server.requests[0].content


def test_silence_is_never_sent(server):
    """Forty seconds with two sounds in it: the server is asked twice, for little more than the sounds."""
    server.script = [Response({"text": "word"})]
    silence = np.zeros(16_000 * 13, np.float32)
    sounds = [silence, tone(0, 2).samples, silence, tone(0, 1).samples, silence]
    heard = list(transcriber(server, gate=EnergyGate()).transcribe([AudioPiece(60_000, np.concatenate(sounds))]))
    assert [sound_of(request)[0] / 16_000 for request in server.requests] == [
        pytest.approx(2.8, abs=0.1),
        pytest.approx(1.8, abs=0.1),
    ]
    assert [utterance.offset_ms for utterance in heard] == [
        pytest.approx(72_600, abs=50),
        pytest.approx(87_600, abs=50),
    ]
    assert list(transcriber(server, gate=EnergyGate()).transcribe([AudioPiece(0, np.zeros(800_000, np.float32))])) == []
    assert len(server.requests) == 2


def test_sound_without_a_pause_goes_in_pieces_that_overlap_and_shared_words_are_told_once(server):
    replies = [
        {"segments": [{"start": 0, "end": 2, "text": "one two three"}], "words": _words("one two three", 0.1)},
        {"segments": [{"start": 0, "end": 2, "text": "three four five"}], "words": _words("three four five", 0.1)},
    ]
    server.script = [Response(reply) for reply in replies]
    heard = list(transcriber(server, block_ms=2000).transcribe([tone(0, 3.2)]))
    assert " ".join(utterance.text for utterance in heard) == "one two three four five"
    starts = [word.offset_ms for utterance in heard for word in utterance.words]
    assert starts == sorted(starts)


def _words(text: str, start: float) -> list[dict]:
    return [
        {"word": word, "start": start + n * 0.6, "end": start + n * 0.6 + 0.4} for n, word in enumerate(text.split())
    ]


def test_a_server_without_word_times_or_verbose_json_is_asked_for_less(server):
    def plain_only(request: Request) -> Response:
        if b"granularities" in request.content:
            return refusing("timestamp_granularities is not supported")
        if b"verbose_json" in request.content:
            return refusing("response_format 'verbose_json' is not compatible")
        return Response({"text": "Hello."})

    server.script = [plain_only]
    model = transcriber(server)
    [only] = model.transcribe([tone(4000, 2)])
    assert (only.offset_ms, only.end_offset_ms, only.text, only.words) == (4000, 6000, "Hello.", ())
    list(model.transcribe([tone(0, 1)]))
    assert len(server.requests) == 4


def test_a_piece_that_is_too_large_for_the_server_goes_in_halves(server):
    def small_only(request: Request) -> Response:
        frames, _ = sound_of(request)
        return refusing("too large", 413) if frames > 16_000 * 5 else Response({"text": f"{frames}"})

    server.script = [small_only]
    heard = list(transcriber(server).transcribe([tone(0, 16)]))
    assert len(heard) > 3 and heard[0].offset_ms == 0 and heard[-1].end_offset_ms == 16_000
    assert all(a.end_offset_ms >= b.offset_ms for a, b in itertools.pairwise(heard))


def test_the_limit_of_the_server_is_kept_without_asking(server):
    server.script = [Response({"text": "x"})]
    list(transcriber(server, largest_bytes=100_000).transcribe([tone(0, 10)]))
    assert max(sound_of(request)[0] for request in server.requests) * 2 <= 100_000


def test_a_piece_that_cannot_be_made_smaller_is_a_model_error(server):
    server.script = [refusing("too large", 413)]
    with pytest.raises(ModelError, match="413"):
        list(transcriber(server).transcribe([tone(0, 2)]))


def test_what_whisper_made_up_over_noise_is_left_out(server):
    made_up = {"start": 0, "end": 1, "text": "Thank you.", "no_speech_prob": 0.9, "avg_logprob": -1.4}
    spoken = {"start": 1, "end": 2, "text": "Hello.", "no_speech_prob": 0.9, "avg_logprob": -0.3}
    server.script = [Response({"segments": [made_up, spoken]})]
    assert [u.text for u in transcriber(server).transcribe([tone(0, 2)])] == ["Hello."]


@pytest.mark.parametrize(
    "body",
    [
        {"text": ""},
        {"segments": []},
        {"segments": [{"text": None}], "words": "none"},
        {"segments": [{}], "words": [{"word": 3}]},
        {"text": None, "language": 5},
    ],
)
def test_silence_and_odd_shapes_are_no_utterance(server, body):
    server.script = [Response(body)]
    assert list(transcriber(server).transcribe([tone(0, 1)])) == []


def test_times_beyond_the_piece_and_numbers_that_are_none_do_no_harm(server):
    segment = {"start": -3, "end": 1e9, "text": "Hi", "avg_logprob": float("nan")}
    server.script = [Response({"segments": [segment], "words": [{"word": "Hi", "start": float("inf"), "end": True}]})]
    [only] = transcriber(server).transcribe([tone(1000, 2)])
    assert (only.offset_ms, only.end_offset_ms, only.confidence) == (1000, 3000, 1.0)


@pytest.mark.parametrize(
    ("told", "code"),
    [("english", "en"), ("German", "de"), ("de", "de"), ("", None), (" mandarin ", "zh"), ("xx", "xx")],
)
def test_languages_are_kept_as_codes(told, code):
    assert language_code(told) == code
