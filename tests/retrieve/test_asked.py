"""Filters as people write them: what is read, and what is told of what cannot be."""

from __future__ import annotations

import pytest

from vgraph.errors import UserError
from vgraph.retrieve import asked


@pytest.mark.parametrize(
    ("written", "minutes"),
    [
        ("22:00-06:00", (1320, 360)),
        (" 8:05 - 9:00 ", (485, 540)),
        ("00:00-24:00", (0, 1440)),
        ((0, 1), (0, 1)),
        ([30, 20], (30, 20)),
    ],
)
def test_a_time_of_day_is_from_to_in_minutes(written: str | tuple[int, int], minutes: tuple[int, int]) -> None:
    assert asked.time_of_day(written) == minutes


@pytest.mark.parametrize(
    "written", ["", "22:00", "22-6", "24:00-06:00", "10:60-11:00", "a:b-c:d", (1,), (1, 1441), (-1, 5), (0.5, 3)]
)
def test_what_is_no_time_of_day_is_told_with_the_form(written: object) -> None:
    with pytest.raises(UserError, match="22:00-06:00"):
        asked.time_of_day(written)  # type: ignore[arg-type]


def test_no_time_lies_between_a_time_and_itself() -> None:
    with pytest.raises(UserError, match="00:00-24:00"):
        asked.time_of_day("06:00-06:00")


def test_weekdays_are_names_beginnings_or_numbers() -> None:
    assert asked.weekdays(["Sun", 1, "2", "wednesday", "mon"]) == (1, 2, 3, 7)


@pytest.mark.parametrize("day", ["t", "", "0", 8, "someday", "2.0"])
def test_what_is_no_weekday_is_told_with_the_form(day: str | int) -> None:
    with pytest.raises(UserError, match="monday or mon, or 1"):
        asked.weekdays([day])


def test_an_unknown_modality_is_told_with_those_there_are() -> None:
    assert asked.modalities(["speech", "ocr", "speech"]) == ("speech", "ocr")
    with pytest.raises(UserError, match=r"'smell' is not one of caption, speech, ocr, detection, fused"):
        asked.modalities(["smell"])
