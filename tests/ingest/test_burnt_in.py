"""Clocks in pictures: which texts are times, and of which day."""

from __future__ import annotations

import datetime

import pytest

from vgraph.ingest.burnt_in import Order, Reading, Text, readings, shown_by

MARCH_3 = datetime.date(2026, 3, 3)
NINE = (9 * 60 * 60 + 15) * 1000
AT = 1_772_528_415_000
"""09:00:15 of 3 March 2026 UTC."""


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-03 09:00:15",
        "2026/3/3 9:00:15",
        "2026.03.03 09.00.15",
        "20260303 090015",
        "20260303_090015",
        "2026-03-0309:00:15",
        "2O26-O3-O3 O9:OO:l5",
        "03.03.2026 09:00:15",
        "3/3/2026 9:00:15 AM",
        "03-03-2026 Tue 09:00:15",
        "Tue 03 MAR 2026 09:00:15",
        "Mar 3, 2026 09;00;15",
        "2026年03月03日 星期二 09:00:15",
        "CAM 2  2026-03-03T09:00:15",
        "Text in view: 2026-03-03 09:00:15",
    ],
)
def test_forms_of_date_and_time(text: str) -> None:
    shown = shown_by(text)
    assert (shown.dates, shown.day_ms, shown.resolution_ms) == ((MARCH_3,), NINE, 1_000)


@pytest.mark.parametrize(
    ("text", "day_ms", "resolution"),
    [
        ("09:00:15.25", NINE + 250, 10),
        ("9:00:15 PM", NINE + 43_200_000, 1_000),
        ("12:00:01 am", 1_000, 1_000),
        ("12:00:01 p.m.", 43_201_000, 1_000),
        ("09:00", NINE - 15_000, 60_000),
    ],
)
def test_times_without_a_date(text: str, day_ms: int, resolution: int) -> None:
    shown = shown_by(text)
    assert (shown.dates, shown.day_ms, shown.resolution_ms) == ((), day_ms, resolution)


@pytest.mark.parametrize(
    "text", ["", "DOCK 2", "12.30", "192.168.10.12", "25:61:00", "M-LD 8610", "Order 4107", "13:00:00 pm"]
)
def test_other_texts_are_no_clocks(text: str) -> None:
    shown = shown_by(text)
    assert (shown.dates, shown.day_ms) == ((), None)


@pytest.mark.parametrize(("order", "month"), [("dmy", 4), ("mdy", 3)])
def test_day_and_month_by_what_is_said(order: Order, month: int) -> None:
    assert [day.month for day in shown_by("03/04/2026 10:00:00", order).dates] == [month]


def test_day_and_month_by_what_else_is_known() -> None:
    text = Text(0, 0, "03/04/2026 09:00:15")
    (april,) = readings([text], "UTC", near_ms=AT + 31 * 86_400_000)
    assert april.own_ms == AT + 31 * 86_400_000
    assert readings([text], "UTC") == ()
    assert len(readings([Text(0, 0, "13/04/2026 09:00:15")], "UTC")) == 1


def test_a_date_of_its_own_goes_with_the_times_it_is_in_view_with() -> None:
    found = readings([Text(0, 9_000, "2026-03-03"), Text(0, 0, "09:00:15"), Text(5_000, 5_000, "09:00:20")], "UTC")
    assert found == (Reading(0, AT), Reading(5_000, AT + 5_000))


def test_a_clock_without_a_date_takes_the_day_from_the_file() -> None:
    assert readings([Text(2_000, 2_000, "09:00:15")], "UTC", near_ms=AT - 500_000) == (Reading(2_000, AT),)
    assert readings([Text(0, 0, "23:59:59")], "UTC", near_ms=AT - NINE) == (Reading(0, AT - NINE - 1_000),)
    assert readings([Text(0, 0, "09:00:15")], "UTC") == ()


def test_times_are_those_of_the_cameras_zone() -> None:
    assert readings([Text(0, 0, "2026-03-03 10:00:15")], "Europe/Berlin") == (Reading(0, AT),)


def test_a_text_in_view_for_longer_is_two_readings() -> None:
    assert readings([Text(100, 900, "2026-03-03 09:00:15")], "UTC") == (Reading(100, AT), Reading(900, AT))


def test_of_two_times_on_one_picture_the_finer_is_the_clock() -> None:
    found = readings([Text(0, 0, "Open 08:00"), Text(0, 0, "2026-03-03 09:00:15")], "UTC", near_ms=AT)
    assert found == (Reading(0, AT),)
