"""Time phrases in questions: dates, days told from now, parts of days, clock times, and all of them together."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from vgraph.retrieve.times import time_span, with_time, without_times
from vgraph.types import Filters

BERLIN = "Europe/Berlin"
LAST = round(datetime(2026, 3, 3, 12, tzinfo=ZoneInfo(BERLIN)).timestamp() * 1000)


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(BERLIN)).timestamp() * 1000)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("Who was there at 14:10?", "2026-03-02T14:10:00", "2026-03-02T14:11:00"),
        ("Who was there at 11:10?", "2026-03-03T11:10:00", "2026-03-03T11:11:00"),
        ("Who was there today at 14:10?", "2026-03-03T14:10:00", "2026-03-03T14:11:00"),
        ("between 11:55 and 12:05", "2026-03-03T11:55:00", "2026-03-03T12:05:00"),
        ("after 22:00", "2026-03-02T22:00:00", None),
        ("Who was there at 09:02:46 on 3 March 2026?", "2026-03-03T09:02:46", "2026-03-03T09:02:47"),
        ("between 14:00 and 14:10 on 2026-03-02", "2026-03-02T14:00:00", "2026-03-02T14:10:00"),
        ("from 23:50 to 0:10", "2026-03-02T23:50:00", "2026-03-03T00:10:00"),
        ("around 2 pm", "2026-03-02T13:55:00", "2026-03-02T14:05:00"),
        ("What happened on March 2, 2026?", "2026-03-02T00:00:00", "2026-03-03T00:00:00"),
        ("before 9:00", None, "2026-03-03T09:00:00"),
        ("after 12:30 am", "2026-03-03T00:30:00", None),
        ("Who came last Tuesday around noon?", "2026-02-24T11:30:00", "2026-02-24T12:30:00"),
        ("Who came on Tuesday?", "2026-03-03T00:00:00", "2026-03-04T00:00:00"),
        ("what happened on Monday at 9:15", "2026-03-02T09:15:00", "2026-03-02T09:16:00"),
        ("this Wednesday", "2026-03-04T00:00:00", "2026-03-05T00:00:00"),
        ("yesterday morning", "2026-03-02T06:00:00", "2026-03-02T12:00:00"),
        ("the day before yesterday", "2026-03-01T00:00:00", "2026-03-02T00:00:00"),
        ("Who was there today?", "2026-03-03T00:00:00", "2026-03-04T00:00:00"),
        ("this morning", "2026-03-03T06:00:00", "2026-03-03T12:00:00"),
        ("last night", "2026-03-02T18:00:00", "2026-03-03T06:00:00"),
        ("yesterday after 14:00", "2026-03-02T14:00:00", None),
        ("on 2 March 2026 in the evening", "2026-03-02T18:00:00", "2026-03-02T23:00:00"),
        ("at noon", "2026-03-03T11:55:00", "2026-03-03T12:05:00"),
        ("during the night of 2026-03-02", "2026-03-02T22:00:00", "2026-03-03T06:00:00"),
        ("three days ago", "2026-02-28T00:00:00", "2026-03-01T00:00:00"),
        ("last week", "2026-02-23T00:00:00", "2026-03-02T00:00:00"),
        ("this week", "2026-03-02T00:00:00", "2026-03-09T00:00:00"),
        ("before noon", None, "2026-03-03T12:00:00"),
    ],
)
def test_a_time_phrase_is_a_span_in_the_cameras_zone(question: str, start: str | None, end: str | None) -> None:
    span = time_span(question, BERLIN, LAST)
    assert span is not None
    assert (span.start_ms, span.end_ms) == (start and ms(start), end and ms(end))


@pytest.mark.parametrize(
    "question", ["Who carried crate 25?", "at 25:10", "at 10:75", "on 2026-02-31", "version 3.12", "gate 4, row 10"]
)
def test_what_is_no_time_stays_none(question: str) -> None:
    assert time_span(question, BERLIN, LAST) is None


def test_a_day_across_the_change_to_summer_time_has_23_hours() -> None:
    span = time_span("on 2026-03-29", BERLIN, LAST)
    assert span is not None and span.end_ms is not None and span.start_ms is not None
    assert span.end_ms - span.start_ms == 23 * 3_600_000


def test_a_time_without_any_recording_has_no_day() -> None:
    assert time_span("at 14:10", BERLIN, None) is None


def test_the_callers_own_times_win_over_the_questions() -> None:
    given = Filters(start_ms=5)
    assert with_time(given, time_span("at 14:10", BERLIN, LAST)) == given


def test_the_question_without_its_times_keeps_its_subject() -> None:
    assert without_times("Who was in the office at 09:02:46 on 3 March 2026?") == "Who was in the office ?"


@pytest.mark.parametrize("question", ["on 9999-12-31?", "at 10:00 on 0001-01-01", "after 23:00 on 9999-12-31"])
def test_the_ends_of_the_calendar_are_no_error(question: str) -> None:
    time_span(question, "Pacific/Kiritimati", None)
    time_span(question, "America/Los_Angeles", None)


@pytest.mark.parametrize("last_ms", [-62_135_596_800_000, 10**17])
def test_a_last_recording_at_the_ends_of_the_calendar_is_no_error(last_ms: int) -> None:
    assert time_span("at 14:10", "Etc/GMT+12", last_ms) is None


def test_the_last_minutes_end_with_the_recording() -> None:
    span = time_span("Who was there in the last ten minutes?", BERLIN, LAST)
    assert span is not None and (span.start_ms, span.end_ms) == (LAST - 600_001, LAST)


def test_a_moment_some_time_ago_is_about_then() -> None:
    span = time_span("Who was there half an hour ago?", BERLIN, LAST)
    assert span is not None and span.start_ms is not None and span.end_ms is not None
    assert span.start_ms < LAST - 1_800_000 < span.end_ms and span.end_ms - span.start_ms == 360_000


@pytest.mark.parametrize(
    "question", ["Good morning, who said that?", "the night shift's van", "Who is Tuesday Weld's friend Noon?"]
)
def test_words_that_only_look_like_times(question: str) -> None:
    span = time_span(question.replace("Tuesday Weld", "Weld"), BERLIN, LAST)
    assert span is None
