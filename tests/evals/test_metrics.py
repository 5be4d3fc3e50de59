"""Measures, against worked examples."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.evals.metrics import (
    RECALL_WINDOWS,
    Expected,
    Span,
    answer_matches,
    citation_precision,
    contains,
    iou,
    lengths,
    moments,
    normalised,
    overlap,
    precision,
    recall_at,
    reciprocal_rank,
    selected_seconds,
    union,
    wrong_camera_rate,
)

intervals = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda pair: (min(pair), max(pair)))


@given(intervals, intervals)
def test_overlap_and_iou_count_shared_milliseconds(a: tuple[int, int], b: tuple[int, int]) -> None:
    first, second = set(range(*a)), set(range(*b))
    assert overlap(a, b) == len(first & second)
    assert iou(a, b) == pytest.approx(len(first & second) / len(first | second) if first | second else 0)


@given(st.lists(intervals))
def test_union_is_the_same_time_without_touching(given_: list[tuple[int, int]]) -> None:
    joined = union(given_)
    assert {ms for span in joined for ms in range(*span)} == {ms for span in given_ for ms in range(*span)}
    assert all(a[1] < b[0] for a, b in pairwise(joined))


def test_recall_counts_every_moment_and_any_camera_that_saw_it() -> None:
    truth = [
        [Span("dock", 10_000, 12_000), Span("yard", 10_500, 12_000)],
        [Span("gate", 60_000, 61_000)],
    ]
    assert recall_at([], truth, 0) == 0
    assert recall_at([Span("yard", 11_000, 13_000)], truth, 0) == 0.5
    assert recall_at([Span("store", 0, 100_000)], truth, 0) == 0
    assert recall_at([Span("dock", 16_000, 20_000)], truth, 0) == 0
    assert recall_at([Span("dock", 16_000, 20_000)], truth, RECALL_WINDOWS["10 s"]) == 0.5
    assert recall_at([Span("dock", 0, 99_000), Span("gate", 0, 99_000)], truth, 0) == 1
    assert recall_at([], [], 0) == 1


def test_the_published_windows_are_twice_the_widening() -> None:
    assert list(RECALL_WINDOWS.values()) == [5_000, 15_000, 30_000, 60_000, 300_000, 1_800_000]


def test_precision_and_seconds_count_each_second_once() -> None:
    truth = [[Span("dock", 0, 4_000)], [Span("dock", 2_000, 6_000)]]
    chosen = [Span("dock", 0, 10_000), Span("dock", 5_000, 12_000)]
    assert selected_seconds(chosen) == 12
    assert precision(chosen, truth) == 0.5
    assert precision([], truth) == 0
    assert precision([Span("gate", 0, 10)], truth) == 0


def test_reciprocal_rank_is_of_the_first_true_span() -> None:
    truth = [[Span("dock", 0, 10)]]
    assert reciprocal_rank([Span("gate", 0, 10), Span("dock", 5, 6)], truth) == 0.5
    assert reciprocal_rank([Span("gate", 0, 10)], truth) == 0


def test_citations_must_name_the_right_camera_and_time() -> None:
    truth = [[Span("dock", 0, 10), Span("yard", 0, 10)]]
    cited = [Span("dock", 2, 3), Span("yard", 20, 30), Span("gate", 2, 3), Span("yard", 9, 30)]
    assert citation_precision(cited, truth) == 0.5
    assert citation_precision(cited, truth, slack_ms=11) == 0.75
    assert citation_precision([], truth) == 0
    assert wrong_camera_rate(cited, truth) == 0.25


def test_normalised_text_drops_what_does_not_matter() -> None:
    assert normalised("  It was  María-López, at 09:01:23 (B-KT 1608)! ") == "it was maria lopez at 09:01:23 b kt 1608"


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("It was Maria Lopez.", "maria", True),
        ("It was Mariana.", "Maria", False),
        ("There were 12.", "1", False),
        ("There were 12.", "12", True),
        ("مرحبا يا ليلى", "ليلى", True),
        ("anything", "", False),
    ],
)
def test_words_are_found_whole(text: str, words: str, found: bool) -> None:
    assert contains(text, words) is found


NINE_O_ONE_23 = 1_772_524_883_000  # 2026-03-03 09:01:23 in Berlin


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("At 09:01:23.", True),
        ("at 9:01", True),
        ("around 09:01:30 on the dock camera", True),
        ("at 09:02:00", False),
        ("at 08:01:23", False),
        ("it happened", False),
        ("at 99:99", False),
    ],
)
def test_a_time_of_day_is_read_in_the_zone_of_the_site(text: str, right: bool) -> None:
    expected = Expected("when", value_ms=NINE_O_ONE_23, tolerance_ms=15_000, tz="Europe/Berlin")
    assert answer_matches(text, expected) is right


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("23 seconds", (23_000,)),
        ("about 1 minute and 20 seconds", (80_000,)),
        ("1h 2m 3s", (3_723_000,)),
        ("2.5 min, then 4 min", (150_000, 240_000)),
        ("850 ms", (850,)),
        ("5 men", ()),
    ],
)
def test_lengths_of_time_are_read(text: str, found: tuple[int, ...]) -> None:
    assert lengths(text) == found


def test_names_must_all_be_there_and_in_order_where_that_is_asked() -> None:
    assert answer_matches("Jonas Weber and Aisha Khan", Expected("together", all_of=("Aisha Khan", "Jonas Weber")))
    assert not answer_matches("Jonas Weber", Expected("together", all_of=("Aisha Khan", "Jonas Weber")))
    order = Expected("sequence", in_order=("crate 4", "case 9", "parcel 12"))
    assert answer_matches("First crate 4, then case 9, last parcel 12.", order)
    assert not answer_matches("case 9, crate 4, parcel 12", order)
    assert not answer_matches("crate 4, parcel 12", order)


def test_moments_group_the_evidence_of_a_question() -> None:
    evidence = [
        {"moment": 0, "camera": "dock", "start_ms": 1, "end_ms": 2},
        {"moment": 1, "camera": "gate", "start_ms": 5, "end_ms": 6},
        {"moment": 0, "camera": "yard", "start_ms": 1, "end_ms": 2},
    ]
    assert moments({"evidence": evidence}) == ((Span("dock", 1, 2), Span("yard", 1, 2)), (Span("gate", 5, 6),))
