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
    best_iou,
    choice_of,
    citation_precision,
    contains,
    iou,
    lengths,
    located,
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


# --- strictness ------------------------------------------------------------------------------------------------------------

PEOPLE = ("Maria Lopez", "Maria", "Lopez", "Jonas Weber", "Jonas", "Weber")


def test_an_answer_that_names_everybody_names_nobody() -> None:
    who = Expected("who", ("Aisha Khan", "Aisha", "Khan"), rivals=PEOPLE, asked="Who handed crate 4 to Tom Fischer?")
    assert answer_matches("Aisha Khan handed crate 4 to Tom Fischer at 09:01:23.", who)
    assert answer_matches("Khan.", who)
    assert not answer_matches("Maria Lopez, Jonas Weber, Aisha Khan or Tom Fischer.", who)
    assert not answer_matches("Aisha or perhaps Jonas", who)


def test_a_right_name_may_hold_that_of_a_rival() -> None:
    where = Expected("where", ("loading dock", "dock"), rivals=("yard", "gate", "dock road"))
    assert answer_matches("At the loading dock", where)
    assert not answer_matches("At the loading dock, or the yard", where)
    assert not answer_matches("At the loading dock, the dock road", where)


def test_both_ways_is_neither() -> None:
    yes = Expected("yes_no", ("yes",), rivals=("no",))
    assert answer_matches("Yes: Maria picked up crate 4.", yes)
    assert not answer_matches("Yes and no.", yes)
    first = Expected("before_after", ("before",), rivals=("after",), asked="Did A arrive before or after B left?")
    assert answer_matches("Before: 09:01:02 against 09:04:11.", first)
    assert not answer_matches("before or after", first)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("3", True),
        ("Three: crate 4 (09:01:12), case 9 (09:02) and parcel 12, on 2026-03-03", True),
        ("3 objects between 09:00 and 09:10 on 3 March 2026, within 45 seconds", True),
        ("2, 3 or 4", False),
        ("three or four", False),
        ("crate 4", False),
        ("no one knows", False),
    ],
)
def test_one_number_is_stated(text: str, right: bool) -> None:
    many = Expected("how_many", ("3", "three"), neutral=("crate 4", "case 9", "parcel 12"), asked="How many?")
    assert answer_matches(text, many) is right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Between 09:00 and 09:10 it happened at 09:01:23.", True),
        ("09:01:20 to 09:01:55", True),
        ("09:05:00, or 09:01:23", False),
        ("09:01:23, 09:03:00, 09:04:00, 09:05:00", False),
        ("some time between 09:00 and 09:10", False),
    ],
)
def test_one_time_is_stated(text: str, right: bool) -> None:
    asked = "When did it happen between 09:00 and 09:10?"
    when = Expected("when", value_ms=NINE_O_ONE_23, tolerance_ms=15_000, tz="Europe/Berlin", asked=asked)
    assert answer_matches(text, when) is right


def test_one_length_is_stated() -> None:
    length = Expected("how_long", value_ms=45_000, tolerance_ms=5_000)
    assert answer_matches("47 seconds, from 09:01:02 to 09:01:49", length)
    assert not answer_matches("10 s, 20 s, 30 s, 47 s", length)
    assert not answer_matches("47 s, 10 s, 20 s, 30 s", length)


# --- choices ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("B", 1),
        ("b.", 1),
        ("(B)", 1),
        ("B. a red van", 1),
        ("The answer is B.", 1),
        ("the correct option is (C), because the van is red", 2),
        ("It was a blue van that came", 0),
        ("A man came in a green van", 2),
        ("A. a blue van\nB. a red van", None),
        ("A, B or C", None),
        ("a red van or a green van", None),
        ("E", None),
        ("I cannot tell", None),
        ("", None),
    ],
)
def test_an_answer_settles_on_one_choice(text: str, place: int | None) -> None:
    assert choice_of(text, ("a blue van", "a red van", "a green van")) == place


def test_the_longer_of_two_choices_that_hold_one_another_is_meant() -> None:
    assert choice_of("She took the red box.", ("the box", "the red box")) == 1


# --- where in time ---------------------------------------------------------------------------------------------------------


def test_a_moment_is_located_within_two_seconds_or_nearly_whole() -> None:
    truth = [[Span("dock", 10_000, 14_000), Span("yard", 10_000, 14_000)], [Span("gate", 100_000, 200_000)]]
    assert located([Span("yard", 8_500, 15_900), Span("gate", 95_000, 202_000)], truth)
    assert not located([Span("dock", 7_000, 14_000), Span("gate", 100_000, 200_000)], truth)
    assert not located([Span("office", 10_000, 14_000), Span("gate", 100_000, 200_000)], truth)
    assert not located([Span("dock", 10_000, 14_000)], truth)
    assert not located([], [])


def test_overlap_with_truth_is_the_best_citation_of_each_moment() -> None:
    truth = [[Span("dock", 0, 10)], [Span("gate", 0, 10)]]
    assert best_iou([Span("dock", 0, 5), Span("dock", 0, 100)], truth) == pytest.approx(0.25)
    assert best_iou([], truth) == 0
