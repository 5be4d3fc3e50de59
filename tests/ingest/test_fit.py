"""Fits hold against noise, misread digits, wrong anchors and clocks that are set anew; the truth is simulated."""

from __future__ import annotations

import random

import pytest

from vgraph.ingest.burnt_in import Reading
from vgraph.ingest.clock import Anchor, Clock
from vgraph.ingest.fit import fitted, own_time, theil_sen

START = 1_772_439_300_000
HOUR = 3_600_000


def clock_readings(
    seed: int, count: int, every_ms: int = 10_000, misread: float = 0.2, ppm: float = 0.0
) -> tuple[int, list[Reading]]:
    """Own time at the first frame, and readings to the second of a clock, some of them misread."""
    rng = random.Random(seed)
    own = START + rng.randrange(100_000)
    made = []
    for number in range(count):
        offset = number * every_ms + rng.randrange(1_000)
        shown = int(own + offset * (1 + ppm / 1e6)) // 1000 * 1000
        made.append(Reading(offset, shown + (rng.choice([HOUR, -86_400_000, 7_000]) if rng.random() < misread else 0)))
    return own, made


@pytest.mark.parametrize("seed", range(20))
def test_own_time_is_found_between_misread_readings(seed: int) -> None:
    own, made = clock_readings(seed, 40)
    found = own_time(made)
    assert found is not None
    (level,) = found.levels
    assert abs(level.own_ms - own) <= level.uncertainty_ms < 100
    assert level.used + found.misread == 40


@pytest.mark.parametrize("seed", range(5))
def test_a_rate_shows_over_hours(seed: int) -> None:
    own, made = clock_readings(seed, 600, every_ms=60_000, misread=0.1, ppm=80.0)
    found = own_time(made)
    assert found is not None
    (level,) = found.levels
    assert level.drift_ppm == pytest.approx(80, abs=15) and abs(level.own_ms - own) < 500


def test_a_clock_that_is_set_anew_has_two_levels() -> None:
    first = [Reading(n * 1_300, (START + n * 1_300) // 1000 * 1000) for n in range(12)]
    later = [Reading(n * 1_300, (START + 95_000 + n * 1_300) // 1000 * 1000) for n in range(12, 30)]
    found = own_time([*first, *later])
    assert found is not None and [level.used for level in found.levels] == [12, 18] and found.misread == 0
    before, after = found.levels
    assert after.own_ms - before.own_ms == pytest.approx(95_000, abs=200)
    assert (before.end_offset_ms, after.offset_ms) == (11 * 1_300, 12 * 1_300)


@pytest.mark.parametrize(
    "made",
    [
        [],
        [Reading(0, START), Reading(1_000, START + 1_000)],
        [Reading(n * 100, START) for n in range(20)],
        [Reading(n * 5_000, START + n * 77_000) for n in range(20)],
        [Reading(n * 5_000, START, 60_000) for n in range(10)],
    ],
)
def test_what_is_no_running_clock_tells_no_time(made: list[Reading]) -> None:
    """Nothing, too little, a time that stands still, one that leaps about, a sign."""
    assert own_time(made) is None


def simulated(seed: int, count: int, doubt: int, wrong: float = 0.0) -> tuple[float, float, list[Anchor]]:
    rng = random.Random(seed)
    offset, ppm = rng.uniform(-5_000, 5_000), rng.uniform(-60, 60)
    anchors = []
    for _ in range(count):
        own = START + rng.randrange(72 * HOUR)
        true = own + offset + (own - START) * ppm / 1e6 + rng.uniform(-doubt, doubt)
        anchors.append(Anchor(own, round(true + (rng.uniform(-1e6, 1e6) if rng.random() < wrong else 0)), doubt))
    return offset, ppm, anchors


@pytest.mark.parametrize("doubt", [0, 40, 500])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 30])
def test_offset_and_drift_come_back_within_what_is_said_of_them(count: int, doubt: int) -> None:
    for seed in range(10):
        offset, ppm, anchors = simulated(seed, count, doubt, wrong=0.15 if count >= 8 else 0.0)
        found = fitted(anchors)
        middle = sorted(a.own_ms for a in anchors)[count // 2]
        error = abs(Clock(found.spans).true(middle) - (middle + offset + (middle - START) * ppm / 1e6))
        uncertainty = Clock(found.spans).span(middle).uncertainty_ms
        assert uncertainty is not None and error <= 2 * uncertainty + 3


def test_two_anchors_that_differ_by_less_than_they_are_sure_of_show_no_drift() -> None:
    (span,) = fitted([Anchor(START, START + 100, 500), Anchor(START + HOUR, START + HOUR + 400, 500)]).spans
    assert (span.drift_ppm, span.offset_ms) == (0.0, 250)


def test_one_wrong_anchor_is_left_out_and_named() -> None:
    good = [Anchor(START + n * HOUR, START + n * HOUR + 1_000 + n, 50) for n in range(6)]
    wrong = Anchor(START + 90 * 60_000, START + 9 * HOUR, 50)
    found = fitted([*good, wrong])
    assert found.outliers == (wrong,) and len(found.spans) == 1


def test_two_anchors_in_a_row_that_agree_on_something_else_begin_a_span() -> None:
    before = [Anchor(START + n * HOUR, START + n * HOUR + 1_000, 50) for n in range(4)]
    after = [Anchor(START + n * HOUR - 30_000, START + n * HOUR + 1_000, 50) for n in range(4, 8)]
    found = fitted([*before, *after])
    assert [span.from_ms for span in found.spans] == [None, START + 4 * HOUR - 30_000]
    assert [span.offset_ms for span in found.spans] == [1_000, 31_000] and not found.outliers


def test_where_no_two_agree_the_middle_one_is_taken() -> None:
    anchors = [Anchor(START + n * HOUR, START + n * HOUR + step, 10) for n, step in enumerate((0, 90_000, 40_000))]
    found = fitted(anchors)
    assert found.spans[0].offset_ms == 40_000 and len(found.outliers) == 2


def test_no_anchors_are_an_error() -> None:
    with pytest.raises(ValueError, match="no anchors"):
        fitted([])


def test_theil_sen_bears_a_quarter_of_outliers() -> None:
    x = list(range(100))
    y = [3 * value + (1e6 if value % 4 == 0 else 0) for value in x]
    assert theil_sen(x, y) == pytest.approx(3, abs=0.5)
    assert theil_sen([1], [2]) == 0.0
