"""Small real videos: every picture carries its number as black and white bars, so that a test can tell which it got."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

BITS = 10


def bars(number: int, width: int, height: int) -> np.ndarray:
    bits = np.array([(number >> bit) & 1 for bit in range(BITS)], np.uint8) * 200 + 25
    row = bits[np.arange(width) * BITS // width]
    return np.broadcast_to(row[None, :, None], (height, width, 3)).copy()


def number_of(image: np.ndarray) -> int:
    """The number that `bars` drew, at any size."""
    height, width = image.shape[:2]
    centres = [int((bit + 0.5) * width / BITS) for bit in range(BITS)]
    return sum(int(image[height // 2, x].mean() > 125) << bit for bit, x in enumerate(centres))


def write_video(
    path: Path,
    *,
    count: int = 60,
    rate: int = 30,
    times_ms: Sequence[int] | None = None,
    codec: str = "libx264",
    gop: int = 15,
    b_frames: int = 2,
    options: dict[str, str] | None = None,
    size: tuple[int, int] = (320, 180),
    rotation: int = 0,
    metadata: dict[str, str] | None = None,
    start_ms: int = 0,
    sound: Sequence[tuple[int, np.ndarray]] = (),
    sound_codec: str = "aac",
    pictures: Callable[[int], np.ndarray] | None = None,
    format: str | None = None,
) -> Path:
    """A video; `times_ms` gives each picture's time, `sound` pieces of 48 kHz mono with their start in ms."""
    width, height = size
    times = times_ms if times_ms is not None else [Fraction(1000 * i, rate) for i in range(count)]
    with av.open(str(path), "w", format=format) as container:
        container.metadata.update(metadata or {})
        stream: Any = container.add_stream(codec, rate=rate, options={"preset": "ultrafast", **(options or {})})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.gop_size = gop
        base = Fraction(1, rate) if times_ms is None and not start_ms else Fraction(1, 90_000)
        stream.time_base = stream.codec_context.time_base = base
        if codec.startswith("libx26"):
            stream.codec_context.max_b_frames = b_frames
        if rotation:
            stream.set_display_rotation(-rotation)
        heard: Any = container.add_stream(sound_codec, rate=48_000, layout="mono") if sound else None
        for number, time in enumerate(times):
            frame = av.VideoFrame.from_ndarray(pictures(number) if pictures else bars(number, width, height), "rgb24")
            frame.pts, frame.time_base = round((time + start_ms) / 1000 / base), base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
        for at_ms, samples in sound:
            for start in range(0, len(samples), 1024):
                piece = av.AudioFrame.from_ndarray(
                    samples[None, start : start + 1024].astype(np.float32), "fltp", "mono"
                )
                piece.sample_rate, piece.time_base = 48_000, Fraction(1, 48_000)
                piece.pts = (at_ms + start_ms) * 48 + start
                container.mux(heard.encode(piece))
        if sound:
            container.mux(heard.encode())
    return path


def tone(ms: int, hertz: float = 440.0) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(ms * 48) / 48_000)).astype(np.float32)


class Films:
    """Makes videos in the test's folder."""

    bars = staticmethod(bars)
    number_of = staticmethod(number_of)
    tone = staticmethod(tone)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str = "film.mp4", **how: Any) -> Path:
        return write_video(self.folder / name, **how)


@pytest.fixture
def films(tmp_path: Path) -> Films:
    return Films(tmp_path)


@pytest.fixture
def footage() -> Callable[[str], Path]:
    """Real footage by name, from `make fixtures`; the test is skipped where it was not fetched."""
    folder = Path(os.environ.get("VGRAPH_FIXTURES", Path(__file__).parents[2] / ".fixtures"))

    def find(name: str) -> Path:
        path = next(iter(sorted(folder.rglob(name))), None)
        if path is None:
            pytest.skip(f"{name} is not in {folder}: run `make fixtures`")
        return path

    return find
