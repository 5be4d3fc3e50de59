from __future__ import annotations

import itertools

import numpy as np
import pytest

from vgraph.errors import UserError
from vgraph.media.audio import RATE, audio
from vgraph.media.probe import probe


def joined(pieces):
    return np.concatenate([piece.samples for piece in pieces])


def pitch(samples):
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return np.argmax(spectrum) * RATE / len(samples)


def beginning(piece, level=0.1):
    """Media ms at which the piece becomes loud."""
    return piece.offset_ms + np.argmax(np.abs(piece.samples) > level) * 1000 / RATE


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts", "a.mov"])
def test_sound_comes_as_16_khz_mono_in_pieces_that_touch(films, name):
    video = probe(films(name, count=150, sound=[(0, films.tone(5000))]))
    pieces = list(audio(video, piece_ms=2000))
    assert [piece.sample_rate for piece in pieces] == [16_000] * 3
    assert [piece.samples.dtype for piece in pieces] == [np.float32] * 3
    assert [len(piece.samples) for piece in pieces[:2]] == [32_000, 32_000]
    assert pieces[1].offset_ms == pieces[0].offset_ms + 2000
    assert pieces[0].offset_ms <= 25
    assert len(joined(pieces)) == pytest.approx(5 * RATE, abs=0.05 * RATE)
    assert pitch(pieces[1].samples) == pytest.approx(440, abs=1)
    assert np.sqrt(np.mean(pieces[1].samples ** 2)) == pytest.approx(0.5 / np.sqrt(2), abs=0.01)


def test_a_film_without_sound_gives_no_pieces(films):
    assert list(audio(probe(films()))) == []


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts"])
def test_offsets_hold_over_gaps(films, name):
    sound = [(0, films.tone(1000)), (3000, films.tone(1000, 880))]
    pieces = [p for p in audio(probe(films(name, count=150, sound=sound))) if len(p.samples) > 1600]
    assert [beginning(piece) for piece in pieces] == pytest.approx([0, 3000], abs=30)
    assert [pitch(piece.samples) for piece in pieces] == pytest.approx([440, 880], abs=2)


def test_sound_that_begins_after_the_pictures_has_its_own_offset(films):
    pieces = list(audio(probe(films("a.mkv", count=90, sound=[(1500, films.tone(1000))]))))
    assert beginning(pieces[0]) == pytest.approx(1500, abs=30)


def test_sound_before_the_first_picture_is_left_out(films):
    path = films(
        "a.mkv", times_ms=[1000, 1040, 1080, 2500], sound=[(0, films.tone(1000)), (1000, films.tone(1000, 880))]
    )
    pieces = list(audio(probe(path)))
    assert pieces[0].offset_ms == 0
    assert pitch(pieces[0].samples[: RATE // 2]) == pytest.approx(880, abs=3)
    assert len(joined(pieces)) == pytest.approx(RATE, abs=0.05 * RATE)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts"])
@pytest.mark.parametrize("start_ms", [0, 1, 999, 2500, 4000])
def test_a_span_gives_what_a_reading_from_the_front_gives(films, name, start_ms):
    sweep = np.concatenate([films.tone(500, 300 + 100 * i) for i in range(10)])
    video = probe(films(name, count=150, sound=[(0, sweep)]))
    whole = joined(audio(video))
    first = next(iter(audio(video))).offset_ms
    pieces = list(audio(video, start_ms=start_ms, end_ms=start_ms + 700))
    assert pieces[0].offset_ms == max(start_ms, first)
    samples = joined(pieces)
    assert len(samples) == pytest.approx(700 * RATE // 1000, abs=25 * 16)
    begin = (pieces[0].offset_ms - first) * 16
    middle = slice(len(samples) // 4, len(samples) * 3 // 4)
    expected = whole[begin : begin + len(samples)]
    best = min(np.abs(samples[middle] - np.roll(expected, shift)[middle]).mean() for shift in range(-8, 9))
    assert best < 0.09  # half a sample: pieces start on whole ones; 8 samples: Matroska counts in ms


def test_stereo_and_other_rates_are_mixed_down(tmp_path, films):
    import av

    path = tmp_path / "stereo.mkv"
    with av.open(str(path), "w") as container:
        picture = container.add_stream("libx264", rate=10)
        picture.width, picture.height, picture.pix_fmt = 320, 180, "yuv420p"
        sound = container.add_stream("pcm_s16le", rate=22_050, layout="stereo")
        for number in range(10):
            container.mux(picture.encode(av.VideoFrame.from_ndarray(films.bars(number, 320, 180), "rgb24")))
        container.mux(picture.encode())
        left = (20_000 * np.sin(2 * np.pi * 500 * np.arange(22_050) / 22_050)).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(np.stack([left, left], 1).reshape(1, -1), "s16", "stereo")
        frame.sample_rate, frame.pts = 22_050, 0
        container.mux(sound.encode(frame))
        container.mux(sound.encode())
    samples = joined(audio(probe(path)))
    assert len(samples) == pytest.approx(RATE, abs=160)
    assert pitch(samples) == pytest.approx(500, abs=2)


@pytest.mark.parametrize("wrong", [{"piece_ms": 0}, {"start_ms": -1}, {"start_ms": 9, "end_ms": 5}])
def test_wrong_spans_are_the_callers_error(films, wrong):
    with pytest.raises(UserError, match="must be"):
        audio(probe(films(count=2)), **wrong)


def test_damaged_sound_is_passed_over(films):
    path = films("a.mkv", count=150, sound=[(0, films.tone(5000))])
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 3 + 3000] = np.random.default_rng(1).bytes(3000)
    path.write_bytes(content)
    pieces = list(audio(probe(path)))
    assert len(joined(pieces)) > 2 * RATE
    assert all(a.offset_ms + len(a.samples) // 16 <= b.offset_ms + 1 for a, b in itertools.pairwise(pieces))


def test_real_sound_of_six_channels(footage):
    pieces = list(audio(probe(footage("bigbuckbunny.mp4")), piece_ms=1000))
    assert len(joined(pieces)) == pytest.approx(5.28 * RATE, abs=0.1 * RATE)
    assert np.abs(joined(pieces)).max() > 0.01
