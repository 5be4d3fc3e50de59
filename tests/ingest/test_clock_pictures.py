"""The clock in the picture as start of a recording that nothing else dates: real pictures, and RapidOCR where it is installed."""

from __future__ import annotations

import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.ingest.test_pipeline import OPTIONS, run
from vgraph.evals.world import sprites
from vgraph.ingest.clock_pictures import moments
from vgraph.ingest.options import Tools
from vgraph.ingest.place import seen_start
from vgraph.media.encode import Mp4Writer
from vgraph.media.probe import probe
from vgraph.models import Reader
from vgraph.models.loading import installed
from vgraph.models.offline import HashEmbedder
from vgraph.models.rapidocr import RapidReader
from vgraph.store import Store
from vgraph.types import Box, Frame, StartSource, TextRead

START = 1_772_524_800_360
"""08:00:00.36 of 3 March 2026 UTC."""


def filmed(path: Path, seconds: int = 12, fps: int = 10) -> Path:
    """A picture with the camera's clock burnt in, in Berlin's time."""
    zone = datetime.timezone(datetime.timedelta(hours=1))
    with Mp4Writer(path, 384, 96, fps) as writer:
        for number in range(seconds * fps):
            shown = datetime.datetime.fromtimestamp((START + number * 1000 // fps) // 1000, zone)
            picture = np.zeros((96, 384, 3), np.uint8)
            text = sprites.text(f"CAM 1  {shown:%Y-%m-%d %H:%M:%S}", 24, sprites.PAPER, sprites.INK)
            height, width = min(96 - 30, text.shape[0]), min(384, text.shape[1])
            picture[30 : 30 + height, :width] = text[:height, :width, :3]
            writer.write(picture)
    return path


class ScriptedReader:
    """Reads what the clock showed, for a recording that began at START, but for one look in four."""

    name = "scripted"

    def __init__(self) -> None:
        self.looks = 0

    def read(self, frame: Frame) -> tuple[TextRead, ...]:
        self.looks += 1
        zone = datetime.timezone(datetime.timedelta(hours=1))
        shown = datetime.datetime.fromtimestamp((START + frame.offset_ms) // 1000, zone)
        text = f"{shown:%Y-%m-%d %H:%M:%S}" if self.looks % 4 else "DOCK 2"
        return (TextRead(frame.offset_ms, text, Box(0, 0, 9, 9), 0.9, self.name),)


@pytest.mark.parametrize("duration_ms", [200, 3_000, 12_000, 3_600_000])
def test_looks_lie_at_many_fractions_of_a_second_and_within_the_recording(duration_ms: int) -> None:
    at = moments(duration_ms)
    assert at == sorted(set(at)) and at[0] >= 0 and at[-1] < duration_ms
    if duration_ms >= 12_000:
        phases = sorted({moment % 1000 for moment in at})
        assert len(at) == 12 and max(b - a for a, b in pairwise([*phases, phases[0] + 1000])) <= 250


def test_a_start_is_read_off_the_picture(tmp_path: Path) -> None:
    start = seen_start(probe(filmed(tmp_path / "a.mp4")), "Europe/Berlin", ScriptedReader())
    assert start is not None and (start.source, start.tz) == (StartSource.burnt_in, "Europe/Berlin")
    assert start.uncertainty_ms is not None and abs(start.ms - START) <= start.uncertainty_ms <= 200


@pytest.mark.slow
@pytest.mark.skipif(not installed("rapidocr"), reason="rapidocr is not installed")
def test_real_ocr_reads_the_clock(tmp_path: Path) -> None:
    reader: Reader = RapidReader(threads=1)
    start = seen_start(probe(filmed(tmp_path / "a.mp4")), "Europe/Berlin", reader)
    assert start is not None and start.uncertainty_ms is not None
    assert abs(start.ms - START) <= start.uncertainty_ms <= 200


def test_an_ingest_that_nothing_dates_takes_the_clock_in_the_picture(store: Store, tmp_path: Path) -> None:
    video, reader = filmed(tmp_path / "yard.mp4", seconds=6), ScriptedReader()
    report = run(
        video, store, tmp_path, tz="Europe/Berlin", tools=Tools(HashEmbedder(), reader=reader), options=OPTIONS
    )
    document = store.document(report.document)
    assert document is not None
    assert (document["start_source"], document["own_tz"]) == ("burnt_in", "Europe/Berlin")
    assert abs(document["start_ms"] - START) <= document["own_uncertainty_ms"]
    looks = reader.looks
    assert (
        run(video, store, tmp_path, tools=Tools(HashEmbedder(), reader=reader), options=OPTIONS).outcome == "unchanged"
    )
    assert reader.looks == looks, "what is known is not read again"
