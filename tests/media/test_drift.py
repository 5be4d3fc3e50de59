"""Times over a day: a camera of 29.97 pictures a second, and one of no steady rate, by their timestamps alone (no day is encoded here)."""

from __future__ import annotations

import random
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from vgraph.media.container import Clock
from vgraph.media.frames import Due
from vgraph.media.segments import aligned, events, windows

DAY_MS = 86_400_000
NTSC = Fraction(30_000, 1001)
FRAME_MS = 1000 / NTSC
TICKS = 90  # a millisecond, in the time base of 1/90000 s


def clock() -> Clock:
    stream = SimpleNamespace(time_base=Fraction(1, 90_000), average_rate=NTSC, guessed_rate=NTSC, start_time=0)
    return Clock(stream)  # type: ignore[arg-type]


def steady() -> list[int]:
    """Timestamps of every picture of a day at 29.97, in ticks."""
    return list(range(0, DAY_MS * TICKS, 3003))


def varying() -> list[int]:
    """The same of pictures that lie from 20 ms to 2 s apart."""
    steps = random.Random(7).choices((1800, 3003, 3003, 3600, 9000, 180_000), k=300_000)
    times = np.cumsum([0, *steps])
    return [int(ticks) for ticks in times if ticks < DAY_MS * TICKS]


def exact(ticks: int) -> Fraction:
    return Fraction(ticks, TICKS)


@pytest.fixture(scope="module", params=[steady, varying])
def pictures(request: pytest.FixtureRequest) -> list[int]:
    return list(request.param())


@pytest.fixture(scope="module")
def seconds(pictures: list[int]) -> list[tuple[int, int]]:
    """Pictures as `frames` chooses one a second: (media ms by the clock, timestamp)."""
    time, due, found = clock(), Due(1000, 0, None, DAY_MS), []
    time.offset(0)  # the first picture is media time 0
    for ticks in pictures:
        if ticks >= (due.ms - 1) * TICKS and due.now(offset_ms := time.at(ticks)):
            found.append((offset_ms, ticks))
            due.took(offset_ms)
    return found


def test_a_day_of_timestamps_is_timed_to_the_millisecond(pictures):
    time = clock()
    assert max(abs(time.offset(ticks) - exact(ticks)) for ticks in pictures[::50]) <= Fraction(1, 2)
    assert pictures[-1] > (DAY_MS - 2_500) * TICKS


def test_a_clock_that_began_elsewhere_does_not_drift_either(pictures):
    time, start = clock(), 2**33 - 12_345
    assert time.offset(start) == 0
    assert all(abs(time.at(ticks + start) - exact(ticks)) <= Fraction(1, 2) for ticks in pictures[-1000:])


def test_a_picture_a_second_is_one_of_its_second_after_a_day(pictures, seconds):
    assert all(abs(offset_ms - exact(ticks)) <= Fraction(1, 2) for offset_ms, ticks in seconds)
    whole = [offset_ms // 1000 for offset_ms, _ in seconds]
    assert whole == sorted(set(whole))
    if pictures[2] == 6006 and pictures[3] == 9009:
        assert whole == list(range(DAY_MS // 1000))
        assert max(offset_ms % 1000 for offset_ms, _ in seconds) < FRAME_MS, "the first of each second, all day"


def test_pictures_without_timestamps_keep_the_nominal_rate_all_day():
    time, count = clock(), int(DAY_MS / FRAME_MS)
    for _ in range(count):
        last = time.offset(None)
    assert abs(last - (count - 1) * FRAME_MS) <= Fraction(1, 2)


def test_windows_and_stretches_of_speech_stand_on_whole_milliseconds_all_day():
    assert [segment.offset_ms for segment in windows(DAY_MS, 30_000)] == [30_000 * n for n in range(2880)]
    said = [(n * 7_000, n * 7_000 + 5_500) for n in range(DAY_MS // 7_000)]
    edges = {ms for span in said for ms in span}
    assert {segment.offset_ms for segment in aligned(DAY_MS, said, 30_000)} <= edges


def test_events_begin_at_pictures_own_times_all_day(seconds):
    """The last change of the day is found within a frame of where it was: no rate is multiplied by a count of pictures."""
    truths = [DAY_MS // 4 * TICKS, DAY_MS // 2 * TICKS, (DAY_MS - 600_000) * TICKS]
    busy = np.array([sum(ticks >= truth for truth in truths) % 2 for _, ticks in seconds[1:]])
    unlike = np.abs(np.random.default_rng(3).normal(0.02, 0.005, len(busy))) + 0.2 * busy
    cut = events(DAY_MS, [offset_ms for offset_ms, _ in seconds], unlike, max_ms=DAY_MS)
    starts = [segment.offset_ms for segment in cut[1:]]
    expected = [exact(next(ticks for _, ticks in seconds if ticks >= truth)) for truth in truths]
    assert len(starts) == 3
    assert all(abs(start - ms) < FRAME_MS for start, ms in zip(starts, expected, strict=True))
