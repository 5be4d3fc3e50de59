"""Date functions: what a server answered, the documentation's rules, and Python's datetime and zoneinfo as oracles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded.aql import instants, zones
from vgraph.embedded.aql.functions.date import TABLE
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.graphs.memory import MemoryRuntime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
)


def ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def call(name: str, *args: Any) -> Any:
    return TABLE[name].impl(MemoryRuntime(), *args)


def warned(name: str, *args: Any) -> int:
    """The number of the one warning of a call whose result is null."""
    rt = MemoryRuntime()
    assert TABLE[name].impl(rt, *args) is None
    [(num, _)] = rt.warnings.items
    return num


RECORDED: list[tuple[str, tuple[Any, ...], Any]] = [
    ("DATE_ISOWEEKYEAR", ("2023-01-01",), {"week": 52, "year": 2022}),
    ("DATE_ISOWEEKYEAR", ("2019-12-30",), {"week": 1, "year": 2020}),
    ("DATE_UTCTOLOCAL", ("2020-03-15T00:00:00.000", "Europe/Berlin"), "2020-03-15T01:00:00.000"),
    ("DATE_UTCTOLOCAL", ("2020-03-15T00:00:00.000", "America/New_York"), "2020-03-14T20:00:00.000"),
    ("DATE_UTCTOLOCAL", ("2020-03-15T00:00:00.000", "UTC"), "2020-03-15T00:00:00.000Z"),
    ("DATE_LOCALTOUTC", ("2020-03-15T00:00:00.000", "Europe/Berlin"), "2020-03-14T23:00:00.000Z"),
    ("DATE_LOCALTOUTC", ("2020-03-15T00:00:00.000", "America/New_York"), "2020-03-15T04:00:00.000Z"),
    ("DATE_LOCALTOUTC", ("2020-03-15T00:00:00.000", "UTC"), "2020-03-15T00:00:00.000Z"),
    ("DATE_ADD", ("2023-03-25T23:00:00.000Z", 1, "day"), "2023-03-26T23:00:00.000Z"),
    ("DATE_ADD", ("2023-03-25T23:00:00.000Z", 1, "day", "Europe/Berlin"), "2023-03-26T22:00:00.000Z"),
    ("DATE_DIFF", ("2023-12-01", "2024-04-01", "days"), 122),
    (
        "DATE_DIFF",
        (
            "2024-01-01T00:00:00.000Z",
            "2024-01-01T00:00:00.000Z",
            "hours",
            True,
            "Asia/Kathmandu",
            "America/Los_Angeles",
        ),
        -13.75,
    ),
    ("DATE_DIFF", ("2023-03-25T23:00:00.000Z", "2023-03-26T23:00:00.000Z", "hours"), 24),
    ("DATE_DIFF", ("2023-03-25T23:00:00.000Z", "2023-03-26T23:00:00.000Z", "hours", "Europe/Berlin"), 25),
    ("DATE_DAY", (0,), 1),
    ("DATE_DAY", ("2023-12-31T23:00:00.000Z", "Europe/Berlin"), 1),
    ("DATE_DAYOFWEEK", (0,), 4),
    ("DATE_DAYOFYEAR", ("2020-08-29",), 242),
    ("DATE_DAYS_IN_MONTH", ("2020-02-01",), 29),
    ("DATE_DAYS_IN_MONTH", (3045600000,), 28),
    ("DATE_DAYS_IN_MONTH", ("2023-11-30T23:00:00.000Z", "Europe/Berlin"), 31),
    ("DATE_HOUR", (14400000,), 4),
    ("DATE_ISOWEEK", (1234567890,), 3),
    ("DATE_LEAPYEAR", ("2020-01-01",), True),
    ("DATE_LEAPYEAR", ("2016-12-31T23:00:00.000Z", "Europe/Berlin"), False),
    ("DATE_MILLISECOND", (1234567890,), 890),
    ("DATE_MINUTE", ("2023-12-31T23:00:00.000Z", "Asia/Kathmandu"), 45),
    ("DATE_QUARTER", ("2023-12-31T23:00:00.000Z", "Europe/Berlin"), 1),
    ("DATE_SECOND", ("2020-08-29T16:30:05.123",), 5),
    ("DATE_FORMAT", ("2023-03-25T23:00:00.000Z", "%w"), "6"),
    ("DATE_FORMAT", ("2023-12-31T23:00:00.000Z", "%yyyy"), "2023"),
    ("DATE_FORMAT", ("2023-12-31T23:00:00.031Z", "%f"), "31"),
    ("DATE_FORMAT", ("2023-12-31T23:00:00.000Z", "%x"), "365"),
    ("DATE_FORMAT", ("2016-12-31T23:00:00.000Z", "%l"), "1"),
    ("DATE_FORMAT", ("2023-11-30T23:00:00.000Z", "%a"), "30"),
    ("DATE_FORMAT", ("2023-11-30T23:00:00.000Z", "%t"), "1701385200000"),
]


@pytest.mark.parametrize(("name", "args", "answer"), RECORDED)
def test_as_recorded_from_a_server(name: str, args: tuple[Any, ...], answer: Any) -> None:
    assert call(name, *args) == answer


def test_zone_details_as_recorded() -> None:
    details = call("DATE_LOCALTOUTC", "2021-03-16T12:00:00.000", "Africa/Lagos", True)
    assert details.pop("tzdb") == zones.version()
    assert details == {
        "utc": "2021-03-16T11:00:00.000Z",
        "zoneInfo": {"name": "WAT", "begin": "1919-08-31T23:30:00.000Z", "end": None, "dst": False, "offset": 3600},
    }


def test_zone_details_beyond_the_last_transition_follow_the_rule() -> None:
    details = call("DATE_UTCTOLOCAL", "2101-07-01T00:00:00Z", "Europe/Berlin", True)
    assert details["local"] == "2101-07-01T02:00:00.000"
    assert details["zoneInfo"] == {
        "name": "CEST",
        "begin": "2101-03-27T01:00:00.000Z",
        "end": "2101-10-30T01:00:00.000Z",
        "dst": True,
        "offset": 7200,
    }


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2020", "2020-01-01T00:00:00.000Z"),
        ("2020-2", "2020-02-01T00:00:00.000Z"),
        ("2020-2-3", "2020-02-03T00:00:00.000Z"),
        ("+2020-02-03 4:05", "2020-02-03T04:05:00.000Z"),
        ("2020-02-03T04:05:06.7", "2020-02-03T04:05:06.700Z"),
        ("2020-02-03T04:05:06.789012Z", "2020-02-03T04:05:06.789Z"),
        ("2020-02-03T04:05:06z", "2020-02-03T04:05:06.000Z"),
        ("2020-02-03T04:05+01:30", "2020-02-03T02:35:00.000Z"),
        ("2020-02-03T04:05-01:30", "2020-02-03T05:35:00.000Z"),
        (" 2020-02-03Z\n", "2020-02-03T00:00:00.000Z"),
        ("2021-02-31", "2021-03-03T00:00:00.000Z"),
        ("000002020-01-01", "2020-01-01T00:00:00.000Z"),
        (1580689506789, "2020-02-03T00:25:06.789Z"),
        (1580689506789.9, "2020-02-03T00:25:06.789Z"),
    ],
)
def test_accepted_dates(text: Any, iso: str) -> None:
    assert call("DATE_ISO8601", text) == iso


@pytest.mark.parametrize(
    "date",
    [
        "",
        "foo",
        "-2020-01-01",
        "12020-01-01",
        "2020-13-01",
        "2020-00-01",
        "2020-01-32",
        "2020-01-01T24:00",
        "2020-01-01T1",
        "2020-01-01T10:60",
        "2020-01-01T10:00:60",
        "2020-01-01T10:00:00.",
        "2020-01-01T10:00+0100",
        "9999-12-31T23:59-01:00",
        "2020-01-01x",
        253402300800000,
        -62167219200001,
    ],
)
def test_dates_that_cannot_be_read_are_null_with_a_warning(date: Any) -> None:
    assert warned("DATE_TIMESTAMP", date) == 1572


@pytest.mark.parametrize("value", [None, True, [], {}])
def test_values_that_are_no_dates_are_of_a_wrong_type(value: Any) -> None:
    assert warned("DATE_YEAR", value) == 1542


@pytest.mark.parametrize(
    ("name", "args", "answer"),
    [
        ("DATE_TIMESTAMP", (2014, 5, 7, 14, 19, 9, 522), 1399472349522),
        ("DATE_TIMESTAMP", (2012, 1, 32), 1328054400000),
        ("DATE_TIMESTAMP", (2012, 13, 1), 1356998400000),
        ("DATE_TIMESTAMP", ("2012", "3", "1", 0, 0, 0, 5000), 1330560000999),
        ("DATE_ISO8601", (2016, 1, 1), "2016-01-01T00:00:00.000Z"),
        ("DATE_ADD", ("2012-02-29", 1, "y"), "2013-03-01T00:00:00.000Z"),
        ("DATE_ADD", ("2012-01-31", 1, "MONTH"), "2012-03-02T00:00:00.000Z"),
        ("DATE_ADD", ("2020-01-01", 1.5, "years"), "2021-07-01T00:00:00.000Z"),
        ("DATE_ADD", ("2020-01-01", 0.5, "months"), "2020-01-16T00:00:00.000Z"),
        ("DATE_ADD", ("2020-01-01", -1, "w"), "2019-12-25T00:00:00.000Z"),
        ("DATE_ADD", ("2020-01-01", "P1Y2M3W4DT5H6M7.89S"), "2021-03-26T05:06:07.890Z"),
        ("DATE_ADD", ("2023-03-25T23:00:00.000Z", "P1D", "Europe/Berlin"), "2023-03-26T22:00:00.000Z"),
        ("DATE_SUBTRACT", ("2020-03-31", 1, "month"), "2020-03-02T00:00:00.000Z"),
        ("DATE_SUBTRACT", ("2020-01-01T00:00:00Z", "PT30M"), "2019-12-31T23:30:00.000Z"),
        ("DATE_TRUNC", ("2017-02-03T04:05:06.789", "Month"), "2017-02-01T00:00:00.000Z"),
        ("DATE_TRUNC", ("2017-02-03T04:05:06.789", "i"), "2017-02-03T04:05:00.000Z"),
        ("DATE_TRUNC", ("2023-06-01T22:30:00Z", "day", "Europe/Berlin"), "2023-06-01T22:00:00.000Z"),
        ("DATE_ROUND", ("2000-04-28T11:11:11.111Z", 15, "minutes"), "2000-04-28T11:00:00.000Z"),
        ("DATE_ROUND", (-1, 1, "d"), "1970-01-01T00:00:00.000Z"),
        ("DATE_DIFF", ("2020-01-01", "2020-01-02T12:00", "d"), 2),
        ("DATE_DIFF", ("2020-01-02T12:00", "2020-01-01", "d"), -2),
        ("DATE_DIFF", ("2020-01-01", "2021-01-01", "y", True), 366 / 365.2425),
        ("DATE_COMPARE", ("1985-04-04", "1985-04-05", "years", "months"), True),
        ("DATE_COMPARE", ("1984-04-04", "1985-04-04", "months", "days"), True),
        ("DATE_COMPARE", ("1985-04-04", "1985-04-05", "years", "days"), False),
        ("DATE_COMPARE", ("2023-12-31T23:30Z", "2024-01-01T00:30Z", "year", "Europe/Berlin"), True),
        ("DATE_FORMAT", ("2009-01-02T03:04:05.006Z", "%yyyyyy %yy %mmmm %mmm %mm %m"), "+002009 09 January Jan 01 1"),
        ("DATE_FORMAT", ("2009-01-02T03:04:05.006Z", "%wwww %www %dd %hh:%ii:%ss.%fff"), "Friday Fri 02 03:04:05.006"),
        ("DATE_FORMAT", ("2009-01-02", "%xxx %kk %q %% %m%&m %"), "002 01 1 % 1m "),
        ("DATE_FORMAT", ("2023-12-31T23:00Z", "%z|%yyyy", "Europe/Berlin"), "2024-01-01T00:00:00.000Z|2024"),
    ],
)
def test_arithmetic_and_formats(name: str, args: tuple[Any, ...], answer: Any) -> None:
    assert call(name, *args) == answer


@pytest.mark.parametrize(
    ("name", "args", "num"),
    [
        ("DATE_TIMESTAMP", (2012, 1), 1542),
        ("DATE_TIMESTAMP", (2012, None, 1), 1542),
        ("DATE_TIMESTAMP", (2012, -1, 1), 1572),
        ("DATE_TIMESTAMP", (12012, 1, 1), 1572),
        ("DATE_ADD", ("2020-01-01", 1, "sharknado"), 1572),
        ("DATE_ADD", ("2020-01-01", None, "day"), 1542),
        ("DATE_ADD", ("2020-01-01", "1"), 1572),
        ("DATE_ADD", ("2020-01-01", "P1Q"), 1572),
        ("DATE_ADD", ("9999-12-31", 1, "day"), 1572),
        ("DATE_SUBTRACT", ("0000-01-01", 1, "day"), 1572),
        ("DATE_TRUNC", ("2020-01-01", "week"), 1572),
        ("DATE_ROUND", ("2020-01-01", 0, "days"), 1542),
        ("DATE_ROUND", ("2020-01-01", 1, "months"), 1542),
        ("DATE_DIFF", ("2020-01-01", "2020-01-01", "eons"), 1572),
        ("DATE_COMPARE", ("2020-01-01", "2020-01-01", "eons"), 1542),
        ("DATE_FORMAT", ("2020-01-01", 1), 1542),
        ("DATE_UTCTOLOCAL", ("2020-01-01", 1), 1542),
        ("DATE_UTCTOLOCAL", ("2020-01-01", "UTC", 1), 1542),
    ],
)
def test_wrong_arguments_are_null_with_a_warning(name: str, args: tuple[Any, ...], num: int) -> None:
    assert warned(name, *args) == num


def test_an_unknown_zone_and_an_ambiguous_local_time_are_errors() -> None:
    with pytest.raises(ArangoError, match="not found in timezone database"):
        call("DATE_UTCTOLOCAL", "2020-01-01", "Europe/Atlantis")
    with pytest.raises(ArangoError, match="ambiguous"):
        call("DATE_LOCALTOUTC", "2023-10-29T02:30:00", "Europe/Berlin")
    with pytest.raises(ArangoError, match="nonexistent"):
        call("DATE_LOCALTOUTC", "2023-03-26T02:30:00", "Europe/Berlin")


def test_names_of_zones() -> None:
    assert {"UTC", "Europe/Berlin", "America/New_York"} <= set(call("DATE_TIMEZONES"))
    assert call("DATE_TIMEZONE") in call("DATE_TIMEZONES")


@given(MOMENTS)
def test_the_calendar_agrees_with_datetime(moment: datetime) -> None:
    instant = ms(moment)
    assert instants.to_civil(instant)[:6] == tuple(moment.timetuple()[:6])
    assert instants.day_of_week(instant) == moment.isoweekday() % 7
    assert instants.day_of_year(instant) == moment.timetuple().tm_yday
    assert instants.iso_week(instant) == moment.isocalendar()[:2]
    assert instants.parse_date(instants.format_iso(instant) or "") == instant


@given(
    st.datetimes(datetime(1850, 1, 1), datetime(2200, 1, 1)).map(
        lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
    ),
    st.sampled_from(sorted(zones.names())),
)
def test_offsets_agree_with_zoneinfo(moment: datetime, name: str) -> None:
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        there = moment.astimezone(ZoneInfo.from_file(file))
    period = zones.zone(name).period(ms(moment) // 1000)
    assert timedelta(seconds=period.offset) == there.utcoffset()
    assert period.name == there.tzname()
    assert period.holds(ms(moment) // 1000)
