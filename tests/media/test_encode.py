"""Mp4Writer, read back with PyAV."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from vgraph.errors import MediaError
from vgraph.media.encode import Mp4Writer


def picture(value: int, width: int = 64, height: int = 48) -> np.ndarray:
    return np.full((height, width, 3), value, np.uint8)


def times_ms(path: Path) -> list[float]:
    with av.open(str(path)) as container:
        return [round(float(frame.pts * frame.time_base) * 1000, 3) for frame in container.decode(video=0)]


def test_frames_come_back_at_the_asked_rate_in_h264(tmp_path: Path) -> None:
    with Mp4Writer(tmp_path / "a.mp4", 64, 48, 10) as writer:
        for value in range(25):
            writer.write(picture(value * 10))
    with av.open(str(tmp_path / "a.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.width, stream.height) == ("h264", 64, 48)
        assert stream.average_rate == 10
        assert float(stream.duration * stream.time_base) == pytest.approx(2.5)
        levels = [frame.to_ndarray(format="rgb24").mean() for frame in container.decode(video=0)]
    assert levels == pytest.approx([value * 10 for value in range(25)], abs=4)
    assert times_ms(tmp_path / "a.mp4") == [i * 100 for i in range(25)]


def test_29_97_keeps_exact_times(tmp_path: Path) -> None:
    with Mp4Writer(tmp_path / "a.mp4", 64, 48, Fraction(30000, 1001)) as writer:
        for _ in range(90):
            writer.write(picture(7))
    assert times_ms(tmp_path / "a.mp4")[-1] == pytest.approx(89 * 1001 / 30, abs=0.01)


def test_frames_may_stand_at_any_time(tmp_path: Path) -> None:
    asked = [0, 40, 1000, 1033, 7000]
    with Mp4Writer(tmp_path / "a.mp4", 64, 48, 25) as writer:
        for at_ms in asked:
            writer.write(picture(at_ms % 200), at_ms)
    assert times_ms(tmp_path / "a.mp4") == asked


@pytest.mark.parametrize("distance_ms", [100, 700])
def test_a_key_frame_at_least_every_two_seconds(tmp_path: Path, distance_ms: int) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (48, 64, 3), dtype=np.uint8)
    with Mp4Writer(tmp_path / "a.mp4", 64, 48, 10) as writer:
        for i in range(60):
            writer.write(np.roll(noise, i, axis=1), i * distance_ms)
    with av.open(str(tmp_path / "a.mp4")) as container:
        keys = [float(p.pts * p.time_base) for p in container.demux(video=0) if p.is_keyframe and p.pts is not None]
    assert keys[0] == 0
    assert max(b - a for a, b in pairwise(keys)) <= 2 + distance_ms / 1000


def test_sound_is_aac_and_as_long_as_written(tmp_path: Path) -> None:
    tone = np.sin(np.arange(16_000) * 2 * np.pi * 440 / 16_000).astype(np.float32) / 2
    with Mp4Writer(tmp_path / "a.mp4", 64, 48, 5, audio_rate=16_000) as writer:
        for i in range(10):
            writer.write(picture(i))
            writer.write_audio(tone[i * 1600 : (i + 1) * 1600])
    with av.open(str(tmp_path / "a.mp4")) as container:
        stream = container.streams.audio[0]
        assert (stream.codec_context.name, stream.rate, stream.codec_context.channels) == ("aac", 16_000, 1)
        heard = np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])
    assert len(heard) / 16_000 == pytest.approx(1.0, abs=0.15)
    assert np.sqrt(np.mean(heard[4000:12_000] ** 2)) == pytest.approx(0.5 / np.sqrt(2), abs=0.05)


def test_creation_time_goes_into_the_container(tmp_path: Path) -> None:
    with Mp4Writer(tmp_path / "a.mp4", 64, 48, 5, creation_ms=1_772_438_400_000) as writer:
        writer.write(picture(0))
    with av.open(str(tmp_path / "a.mp4")) as container:
        assert container.metadata["creation_time"].startswith("2026-03-02T08:00:00")


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_rotation_is_the_clockwise_turn_of_the_shown_picture(tmp_path: Path, rotation: int) -> None:
    with Mp4Writer(tmp_path / "a.mp4", 64, 48, 5, audio_rate=8000, rotation=rotation) as writer:
        writer.write(picture(0))
    with av.open(str(tmp_path / "a.mp4")) as container:
        frame = next(container.decode(video=0))
    assert frame.rotation % 360 == -rotation % 360  # FFmpeg counts against the clock
    assert (frame.width, frame.height) == (64, 48)


@pytest.mark.parametrize("name", ["with space.mp4", "10:30 'dock'.mp4", "قناة 🎥.mp4"])
def test_any_file_name(tmp_path: Path, name: str) -> None:
    with Mp4Writer(tmp_path / name, 64, 48, 5) as writer:
        writer.write(picture(0))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_error_inside_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="mine"), Mp4Writer(tmp_path / "a.mp4", 64, 48, 5) as writer:
        writer.write(picture(0))
        raise RuntimeError("mine")
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"old")
    with Mp4Writer(tmp_path / "a.mp4", 64, 48, 5) as writer:
        writer.write(picture(0))
        assert (tmp_path / "a.mp4").read_bytes() == b"old"
    assert times_ms(tmp_path / "a.mp4") == [0]


def test_wrong_use_is_a_media_error_that_says_what(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with pytest.raises(MediaError, match="even"):
        Mp4Writer(path, 63, 48, 5)
    with pytest.raises(MediaError, match="above 0"):
        Mp4Writer(path, 64, 48, 0)
    with pytest.raises(MediaError, match="90, 180"):
        Mp4Writer(path, 64, 48, 5, rotation=45)
    with pytest.raises(MediaError, match="no frame"), Mp4Writer(path, 64, 48, 5):
        pass
    with pytest.raises(MediaError, match="shape"), Mp4Writer(path, 64, 48, 5) as writer:
        writer.write(picture(0, 32))
    with pytest.raises(MediaError, match="follow"), Mp4Writer(path, 64, 48, 5) as writer:
        writer.write(picture(0), 100)
        writer.write(picture(0), 100)
    with pytest.raises(MediaError, match="audio_rate"), Mp4Writer(path, 64, 48, 5) as writer:
        writer.write_audio(np.zeros(10, np.float32))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_a_media_error(tmp_path: Path) -> None:
    with pytest.raises(MediaError, match=r"a\.mp4"):
        Mp4Writer(tmp_path / "none" / "a.mp4", 64, 48, 5)
