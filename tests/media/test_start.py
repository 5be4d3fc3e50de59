from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from vgraph.errors import UserError
from vgraph.media.start import name_time, name_without_time, start_time
from vgraph.types import StartSource, StartTime, Video, VideoTrack

MARCH_2 = 1_772_439_300_000  # 2026-03-02T08:15:00Z
HOUR = 3_600_000


def video(name="clip.mp4", created_ms=None, duration_ms=60_000):
    picture = VideoTrack("h264", 640, 360, 0, 25.0, False, 1500)
    return Video(Path("/videos") / name, "00", 1, "mov", duration_ms, picture, None, created_ms)


@pytest.mark.parametrize(
    ("flag", "sidecar", "created", "name", "expected"),
    [
        (1, 2, 3, "20260302_081500.mp4", StartTime(1, StartSource.flag)),
        (0, 2, 3, "20260302_081500.mp4", StartTime(0, StartSource.flag)),
        (None, 2, 3, "20260302_081500.mp4", StartTime(2, StartSource.sidecar)),
        (None, None, 3, "20260302_081500.mp4", StartTime(3, StartSource.container)),
        (None, None, None, "20260302_081500.mp4", StartTime(MARCH_2, StartSource.file_name, "UTC")),
        (None, None, None, "dock.mp4", StartTime(0, StartSource.unknown)),
    ],
)
def test_the_most_trustworthy_source_wins_and_is_named(flag, sidecar, created, name, expected):
    assert start_time(flag, sidecar, video(name, created)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "20260302_081500",
        "20260302081500",
        "2026-03-02T08-15-00Z",
        "2026-03-02T08:15:00Z",
        "2026-03-02T09-15-00+0100",
        "2026-03-02T03-15-00-05:00",
        "2026-03-02 08.15.00",
        "VID_20260302_081500",
        "VID-20260302-081500-WA0003",
        "cam1-2026-03-02-08-15-00",
        "cam20_2026_03_02_08_15_00_part2",
        "Screen Recording 2026-03-02 at 08.15.00",
        "gate 12 2026-03-02 08h15m00",
        "2026-03-02T08-15-00-0001",
        "1772439300",
        "dock-1772439300-000",
        "كاميرا_20260302_081500",
    ],
)
def test_times_in_file_names(name):
    assert name_time(name, UTC) == MARCH_2


@pytest.mark.parametrize(
    ("name", "ms"), [("PXL_20260302_081500123", 123), ("1772439300456", 456), ("2026-03-02T08-15-00.5Z", 500)]
)
def test_thousandths_are_kept(name, ms):
    assert name_time(name, ZoneInfo("Asia/Tokyo")) == MARCH_2 + ms


@pytest.mark.parametrize(
    "name",
    [
        "dock",
        "cam1",
        "2026-03-02",
        "20261302_081500",
        "20260302_251500",
        "20260230_081500",
        "v1.2.3",
        "123456789012345",
        "9772439300",
    ],
)
def test_other_numbers_are_no_times(name):
    assert name_time(name, UTC) is None


def test_a_name_without_zone_is_in_the_cameras_zone():
    naive = video("VID_20191220_170832.mp4")
    expected = datetime(2019, 12, 20, 17, 8, 32, tzinfo=ZoneInfo("America/Sao_Paulo"))
    assert start_time(None, None, naive, "America/Sao_Paulo").ms == int(expected.timestamp()) * 1000
    zoned = start_time(None, None, video("2026-03-02T08-15-00Z.mp4"), "America/Sao_Paulo")
    assert (zoned.ms, zoned.tz) == (MARCH_2, None)
    assert start_time(None, None, naive, "America/Sao_Paulo").tz == "America/Sao_Paulo"


def timed(timecode, created_ms=None, name="clip.mp4", fps=25.0):
    one = video(name, created_ms)
    return replace(one, timecode=timecode, picture=replace(one.picture, fps=fps))


def test_a_timecode_of_the_time_of_day_is_exact_where_the_container_is_a_second_off():
    found = start_time(None, None, timed("08:15:01:05", MARCH_2))
    assert found == StartTime(MARCH_2 + 1_200, StartSource.timecode)


def test_a_timecode_is_a_time_of_day_in_the_cameras_zone_and_may_lie_over_midnight():
    found = start_time(None, None, timed("09:14:59:00", MARCH_2), "Europe/Berlin")
    assert found == StartTime(MARCH_2 - 1_000, StartSource.timecode)
    midnight = MARCH_2 - MARCH_2 % (24 * HOUR)
    assert start_time(None, None, timed("23:59:59:00", midnight + 500)).ms == midnight - 1_000


def test_a_timecode_that_counts_footage_is_not_taken_for_a_time_of_day():
    assert start_time(None, None, timed("01:00:00:00", MARCH_2)) == StartTime(MARCH_2, StartSource.container)


def test_a_timecode_without_any_day_is_no_start():
    assert start_time(None, None, timed("08:15:01:05")).source is StartSource.unknown


def test_a_timecode_takes_its_day_from_the_files_name():
    found = start_time(None, None, timed("08:15:00;15", name="20260302_081500.mp4", fps=29.97))
    assert (found.source, abs(found.ms - MARCH_2 - 500) < 100) == (StartSource.timecode, True)


def test_summer_time_counts():
    assert name_time("20260702_081500", ZoneInfo("Europe/Berlin")) == name_time("20260702_081500", UTC) - 2 * HOUR


def test_a_container_stamped_at_the_end_is_corrected_by_the_name():
    late = video("20260302_081500.mp4", created_ms=MARCH_2 + 61_000)
    assert start_time(None, None, late) == StartTime(MARCH_2 + 1000, StartSource.container)
    at_start = replace(late, created_ms=MARCH_2 + 300)
    assert start_time(None, None, at_start) == StartTime(MARCH_2 + 300, StartSource.container)


@pytest.mark.parametrize("tz", ["Mars/Olympus", "", "../../etc/passwd", "Europe"])
def test_an_unknown_zone_is_the_callers_error(tz):
    with pytest.raises(UserError, match="zone"):
        start_time(None, None, video(), tz)


@pytest.mark.parametrize(
    ("stem", "label"),
    [
        ("gate-2026-03-02_08-15-00", "gate"),
        ("2026-03-02T08-15-00Z dock 2", "dock 2"),
        ("VID_20191220_170832", "VID"),
        ("20260302_081500", "20260302_081500"),
        ("loading dock", "loading dock"),
        ("--json", "--json"),
    ],
)
def test_a_cameras_label_is_the_name_without_its_time(stem: str, label: str) -> None:
    assert name_without_time(stem) == label
