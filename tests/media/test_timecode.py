"""Timecodes as times of day, held against counting frames one by one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from vgraph.media.probe import probe
from vgraph.media.timecode import timecode_ms

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "fps", "ms"),
    [
        ("00:00:00:00", 25.0, 0),
        ("10:00:00:12", 25.0, 10 * HOUR + 480),
        ("23:59:59:24", 25.0, 24 * HOUR - 40),
        ("01:00:00:15", 29.97, HOUR + 500),
        ("00:00:01:12", 23.976, 1_500),
        ("00:00:00:30", 60.0, 500),
        ("00:01:00;02", 29.97, 60_060),
        ("00:10:00;00", 29.97, 599_999),
        ("01:00:00;00", 29.97, HOUR - 4),
        ("01:00:00;00", 59.94, HOUR - 4),
        ("01:00:00.00", 29.97, HOUR - 4),
    ],
)
def test_a_timecode_is_a_time_of_day(text: str, fps: float, ms: int) -> None:
    assert timecode_ms(text, fps) == ms


@pytest.mark.parametrize(
    "text", ["", "10:00:00", "24:00:00:00", "10:60:00:00", "10:00:60:00", "10:00:00:25", "a:b:c:d", "00:01:00;00"]
)
def test_what_is_no_timecode_tells_no_time(text: str) -> None:
    assert timecode_ms(text, 29.97 if ";" in text else 25.0) is None


@pytest.mark.parametrize(("nominal", "left_out"), [(30, 2), (60, 4)])
def test_drop_frame_agrees_with_counting_frames_over_an_hour(nominal: int, left_out: int) -> None:
    """Every frame of 61 minutes is numbered as the standard says; its time is its count times its length."""
    fps, length = nominal * 1000 / 1001, Fraction(1_001_000, nominal * 1000)
    count = 0
    for minute in range(61):
        for second in range(60):
            first = left_out if second == 0 and minute % 10 else 0
            for frame in range(first, nominal):
                if frame in (first, nominal - 1):
                    text = f"{minute // 60:02}:{minute % 60:02}:{second:02};{frame:02}"
                    assert timecode_ms(text, fps) == round(count * length)
                count += 1


def test_drop_frame_keeps_to_the_time_of_day_all_day() -> None:
    assert timecode_ms("23:59:59;29", 29.97) == pytest.approx(24 * HOUR - 33, abs=90)


def with_timecode(path: Path, timecode: str) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(30000, 1001))
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.metadata["timecode"] = timecode
        for _ in range(12):
            frame = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("timecode", ["10:00:00;12", "10:00:00:12"])
def test_the_timecode_track_of_a_file_is_found(tmp_path: Path, timecode: str) -> None:
    assert probe(with_timecode(tmp_path / "tmcd.mov", timecode)).timecode == timecode


def test_a_file_without_timecode_has_none(tmp_path: Path) -> None:
    path = tmp_path / "plain.avi"
    assert probe(with_timecode(path, "10:00:00:00")).timecode is None
