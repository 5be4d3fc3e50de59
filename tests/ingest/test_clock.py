"""A camera's clock: spans, drift, zones, and what of it is kept."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.ingest.clock import (
    UNKNOWN,
    Anchor,
    Clock,
    Span,
    clock_of,
    clock_record,
    drifted,
    timeline,
    told,
    with_anchor,
    with_span,
    zoned,
)
from vgraph.types import StartSource, StartTime

NOON = 1_772_539_200_000
HOUR = 3_600_000
SLOW = Clock((Span(2_000, 20.0, 100, NOON),))
STEPPED = Clock((Span(1_000), Span(-60_000, 50.0, 10, NOON, NOON)))


def test_offset_and_drift_give_true_time() -> None:
    assert SLOW.true(NOON) == NOON + 2_000
    assert SLOW.true(NOON + 24 * HOUR) == NOON + 24 * HOUR + 2_000 + 1_728
    assert SLOW.true(NOON - 24 * HOUR) == NOON - 24 * HOUR + 2_000 - 1_728


def test_spans_hold_from_their_own_time_on() -> None:
    assert STEPPED.true(NOON - 1) == NOON + 999
    assert STEPPED.true(NOON) == NOON - 60_000


def test_time_does_not_jump_within_a_recording_when_the_clock_is_set() -> None:
    """The recording begins ten seconds before noon: its rate changes there, the step does not show."""
    stands = timeline(StartTime(NOON - 10_000, StartSource.container), "UTC", STEPPED)
    assert stands.at(10_000) == NOON + 1_000
    assert stands.at(10_000 + HOUR) == NOON + 1_000 + HOUR + 180
    times = [stands.at(offset) for offset in range(0, 2 * HOUR, 997)]
    assert times == sorted(times)


@given(st.integers(0, 40 * 24 * HOUR), st.integers(-900_000, 900_000))
def test_drift_is_exact_to_the_millisecond(offset: int, ppb: int) -> None:
    assert drifted(offset, ((0, ppb),)) == offset + int((Fraction(offset * ppb, 10**9) + Fraction(1, 2)) // 1)


@given(
    st.integers(0, 10 * 24 * HOUR),
    st.integers(0, 24 * HOUR),
    st.integers(-300_000, 300_000),
    st.integers(-300_000, 300_000),
)
def test_rates_add_up_over_spans(offset: int, change: int, first: int, second: int) -> None:
    exact = Fraction(min(offset, change) * first + max(0, offset - change) * second, 10**9)
    assert abs(drifted(offset, ((0, first), (change, second))) - offset - exact) <= 1


@given(st.integers(NOON - 100 * HOUR, NOON + 100 * HOUR), st.integers(-500, 500), st.integers(-10_000, 10_000))
def test_own_time_is_found_back_from_true_time(own: int, ppm: int, offset: int) -> None:
    clock = Clock((Span(offset, float(ppm), None, NOON),))
    assert abs(clock.own(clock.true(own)) - own) <= 1


def test_a_start_given_as_true_time_only_drifts() -> None:
    stands = timeline(StartTime(NOON, StartSource.flag), "UTC", SLOW)
    assert (stands.start_ms, stands.at(24 * HOUR), stands.uncertainty_ms) == (NOON, NOON + 24 * HOUR + 1_728, 0)


def test_a_start_nobody_knows_neither_moves_nor_drifts() -> None:
    stands = timeline(StartTime(0, StartSource.unknown), "UTC", SLOW)
    assert (stands.start_ms, stands.at(24 * HOUR), stands.uncertainty_ms) == (0, 24 * HOUR, None)


def test_a_stream_is_held_to_the_time_of_arrival() -> None:
    stands = timeline(StartTime(NOON, StartSource.arrival), "UTC", SLOW)
    assert (stands.at(24 * HOUR), stands.uncertainty_ms) == (NOON + 24 * HOUR, 1_000)


def test_a_clock_seen_to_run_faster_than_media_time_adds_to_the_drift() -> None:
    start = StartTime(NOON, StartSource.burnt_in, "UTC", 40, 10.0)
    stands = timeline(start, "UTC", SLOW)
    assert stands.at(24 * HOUR) - stands.start_ms == 24 * HOUR + 1_728 + 864
    assert stands.uncertainty_ms == 140


def test_a_time_read_in_one_zone_is_read_in_another() -> None:
    assert zoned(NOON, "UTC", "Europe/Berlin") == NOON - HOUR
    assert zoned(zoned(NOON, "UTC", "Asia/Tokyo"), "Asia/Tokyo", "UTC") == NOON
    assert zoned(NOON, None, "Asia/Tokyo") == NOON


def test_a_clock_is_kept_and_read_again() -> None:
    clock = Clock((*STEPPED.spans, Span(5, 0.0, None, 0, NOON + HOUR)), "fit", (Anchor(1, 2, 3), Anchor(4, 5, 6)))
    assert clock_of({"clock": clock_record(clock)}) == clock
    assert clock_of(None) == clock_of({}) == UNKNOWN
    older = {"clock": {"offset_ms": 7, "drift_ppm": 0.0, "uncertainty_ms": None}}
    assert clock_of(older).true(0) == 7


@pytest.mark.parametrize(("source", "offset"), [("none", 9), ("sidecar", 9), ("set", 1_000), ("fit", 1_000)])
def test_a_sidecar_replaces_only_what_nobody_or_a_sidecar_said(source: str, offset: int) -> None:
    clock = Clock((Span(1_000),), source)  # type: ignore[arg-type]
    assert told(clock, 9).true(0) == offset
    assert told(clock, None) == clock


def test_a_span_set_later_leaves_those_before_and_after() -> None:
    clock = with_span(with_span(UNKNOWN, Span(1, from_ms=NOON + HOUR)), Span(2, from_ms=NOON))
    assert [span.offset_ms for span in clock.spans] == [0, 2, 1]
    assert [span.offset_ms for span in with_span(clock, Span(3, from_ms=NOON)).spans] == [0, 3, 1]
    assert with_span(clock, Span(4)).spans == (Span(4),)


def test_an_anchor_at_the_same_own_time_is_replaced() -> None:
    clock = with_anchor(with_anchor(with_anchor(UNKNOWN, Anchor(5, 9)), Anchor(1, 2)), Anchor(5, 7))
    assert clock.anchors == (Anchor(1, 2), Anchor(5, 7))
