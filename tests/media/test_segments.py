from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.errors import UserError
from vgraph.media import segments
from vgraph.media.frames import distance_ms
from vgraph.media.probe import probe
from vgraph.media.segments import aligned, change_points, dissimilarities, events, scenes, windows
from vgraph.types import Segment


def spans(segments):
    return [(segment.offset_ms, segment.end_offset_ms) for segment in segments]


def test_windows_follow_each_other_and_the_last_is_shorter():
    assert windows(70_000, 30_000) == (
        Segment(0, 0, 30_000, "window"),
        Segment(1, 30_000, 60_000, "window"),
        Segment(2, 60_000, 70_000, "window"),
    )


def test_windows_overlap():
    assert spans(windows(70_000, 30_000, 10_000)) == [(0, 30_000), (20_000, 50_000), (40_000, 70_000)]


def test_a_rest_of_some_frames_joins_the_window_before():
    assert spans(windows(60_040, 30_000)) == [(0, 30_000), (30_000, 60_040)]
    assert spans(windows(61_500, 30_000)) == [(0, 30_000), (30_000, 60_000), (60_000, 61_500)]


def test_a_video_shorter_than_a_window_is_one_window():
    assert spans(windows(40, 30_000, 10_000)) == [(0, 40)]
    assert windows(0, 30_000) == ()


@pytest.mark.parametrize(("window_ms", "overlap_ms"), [(0, 0), (-5, 0), (1000, 1000), (1000, -1)])
def test_windows_that_would_not_advance_are_the_callers_error(window_ms, overlap_ms):
    with pytest.raises(UserError, match="overlap"):
        windows(10_000, window_ms, overlap_ms)


@given(st.integers(1, 10**6), st.integers(1, 10**5), st.integers(0, 10**5))
def test_windows_cover_the_video_in_order(duration_ms, window_ms, overlap_ms):
    overlap_ms = min(overlap_ms, window_ms - 1)
    if duration_ms // (window_ms - overlap_ms) > 10_000:
        return
    found = windows(duration_ms, window_ms, overlap_ms)
    assert (found[0].offset_ms, found[-1].end_offset_ms) == (0, duration_ms)
    assert [segment.index for segment in found] == list(range(len(found)))
    assert all(a.end_offset_ms - b.offset_ms == overlap_ms for a, b in pairwise(found))
    assert all(segment.end_offset_ms - segment.offset_ms <= window_ms + 1000 for segment in found)


def coloured(*lengths):
    """Pictures of one colour each, `lengths` frames long."""
    colours = [(220, 30, 30), (15, 15, 15), (240, 240, 240), (0, 0, 120), (220, 220, 40)]
    numbers = [i for i, length in enumerate(lengths) for _ in range(length)]
    return lambda number: np.full((180, 320, 3), colours[numbers[number] % len(colours)], np.uint8)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts"])
def test_scenes_are_cut_at_the_picture_that_begins_them(films, name):
    video = probe(films(name, count=150, pictures=coloured(45, 60, 45)))
    assert scenes(video, min_ms=500) == (
        Segment(0, 0, 1500, "scene"),
        Segment(1, 1500, 3500, "scene"),
        Segment(2, 3500, video.duration_ms, "scene"),
    )


def test_scenes_of_variable_rate_are_cut_at_presentation_times(films):
    times = [0, 100, 1000, 1100, 4000, 4040, 9000]
    video = probe(films(times_ms=times, pictures=coloured(4, 3)))
    assert spans(scenes(video, min_ms=100)) == [(0, 4000), (4000, video.duration_ms)]


def test_short_scenes_join_their_shorter_neighbour(films):
    video = probe(films(count=150, pictures=coloured(60, 6, 30, 54)))
    assert spans(scenes(video, min_ms=500)) == [(0, 2000), (2000, 3200), (3200, 5000)]


def test_long_scenes_are_split_evenly(films):
    video = probe(films(count=150, pictures=coloured(120, 30)))
    assert spans(scenes(video, min_ms=500, max_ms=1500)) == [
        (0, 1333),
        (1333, 2666),
        (2666, 4000),
        (4000, 5000),
    ]


def test_a_video_without_cuts_is_one_scene(films):
    video = probe(films(pictures=coloured(60)))
    assert spans(scenes(video)) == [(0, 2000)]


def test_lengths_that_contradict_each_other_are_the_callers_error(films):
    with pytest.raises(UserError, match="twice"):
        scenes(probe(films(count=3)), min_ms=1000, max_ms=1500)


def test_a_fixed_camera_on_a_street_has_no_cuts(footage):
    video = probe(footage("vtest.avi"))
    assert all(b - a > 19_000 for a, b in spans(scenes(video, max_ms=20_000)))


def test_cuts_of_real_footage_are_those_that_pyscenedetect_finds_by_itself(footage):
    from scenedetect import ContentDetector, detect

    path = footage("bikes.mp4")
    theirs = [round(start.seconds * 1000) for start, _ in detect(str(path), ContentDetector(min_scene_len=1))]
    assert [start for start, _ in spans(scenes(probe(path), min_ms=0))] == theirs
    assert len(theirs) > 2


def test_real_animated_footage_is_covered(footage):
    video = probe(footage("bigbuckbunny.mp4"))
    found = spans(scenes(video, min_ms=500))
    assert (found[0][0], found[-1][1]) == (0, video.duration_ms)
    assert all(a[1] == b[0] for a, b in pairwise(found))


# --- events -------------------------------------------------------------------------------------------------------------


def noisy(*parts, seed=0):
    """A signal of stretches (length, mean), with some noise, as distances of sampled pictures have it."""
    rng = np.random.default_rng(seed)
    return np.concatenate([np.abs(rng.normal(mean, 0.01, length)) for length, mean in parts])


def test_change_points_are_those_of_ruptures_pelt_with_an_rbf_cost():
    import ruptures

    signal = noisy((40, 0.02), (30, 0.2), (50, 0.02), (25, 0.4))
    theirs = ruptures.Pelt(model="rbf", min_size=5, jump=1).fit(signal).predict(pen=5.0)
    assert change_points(signal, 5.0, 5) == [int(point) for point in theirs[:-1]] == [40, 70, 120]


def test_an_event_begins_at_the_first_picture_after_the_change():
    at_ms = [1001 * n for n in range(91)]
    found = events(91_000, at_ms, noisy((40, 0.02), (50, 0.3)), max_ms=10**6)
    assert found == (Segment(0, 0, 41 * 1001, "event"), Segment(1, 41 * 1001, 91_000, "event"))


def test_a_higher_penalty_finds_no_more_changes():
    signal = noisy(*[(20, 0.02 + 0.06 * (n % 3)) for n in range(12)])
    counts = [len(change_points(signal, penalty, 5)) for penalty in (1.0, 5.0, 20.0, 1e6)]
    assert counts == sorted(counts, reverse=True)
    assert (counts[1], counts[-1]) == (11, 0)


def test_pictures_that_stay_the_same_are_one_event():
    assert spans(events(60_000, [1000 * n for n in range(60)], np.zeros(59))) == [(0, 60_000)]
    assert spans(events(4_000, [0, 1000, 2000, 3000], np.array([0.0, 0.9, 0.0]))) == [(0, 4_000)]
    assert spans(events(500, [0], np.zeros(0))) == [(0, 500)]
    assert events(0, [], np.zeros(0)) == ()


def test_short_events_join_the_one_after_and_a_short_last_one_the_one_before():
    at_ms = [1000 * n for n in range(101)]
    signal = noisy((30, 0.02), (8, 0.3), (55, 0.02), (7, 0.3))
    assert spans(events(101_000, at_ms, signal, min_ms=0, max_ms=10**6)) == [
        (0, 31_000),
        (31_000, 39_000),
        (39_000, 94_000),
        (94_000, 101_000),
    ]
    assert spans(events(101_000, at_ms, signal, min_ms=10_000, max_ms=10**6)) == [(0, 31_000), (31_000, 101_000)]


def test_long_events_are_split_evenly():
    assert spans(events(100_000, [0], np.zeros(0), max_ms=30_000)) == [
        (0, 25_000),
        (25_000, 50_000),
        (50_000, 75_000),
        (75_000, 100_000),
    ]


def test_long_recordings_are_looked_at_in_windows_that_neither_make_nor_miss_changes(monkeypatch):
    signal = noisy(*[(37, 0.02 if n % 2 else 0.2) for n in range(40)], (500, 0.02))
    whole = change_points(signal, 5.0, 5)
    monkeypatch.setattr(segments, "PELT_WINDOW", 200)
    assert change_points(signal, 5.0, 5) == whole == [37 * n for n in range(1, 40)]


def test_a_day_of_samples_is_cut_in_little_memory():
    import tracemalloc

    signal = noisy(*[(90, 0.02 if n % 2 else 0.15) for n in range(960)])
    tracemalloc.start()
    found = change_points(signal, 5.0, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(signal) == 86_400
    assert {90 * n for n in range(1, 960)} == set(found)
    assert peak < 64 << 20


def test_dissimilarities_of_batches_are_those_of_the_whole():
    rows = np.random.default_rng(1).normal(size=(23, 8)).astype(np.float32)
    whole = dissimilarities([rows])
    assert whole == pytest.approx(dissimilarities([rows[:1], rows[1:1], rows[1:9], rows[9:]]))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert whole == pytest.approx([1 - float(a @ b) for a, b in pairwise(unit)], abs=1e-6)
    assert dissimilarities([]).shape == (0,)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"min_ms": 5_000, "max_ms": 9_000}, "twice"),
        ({"penalty": 0.0}, "penalty"),
        ({"min_samples": 0}, "sample"),
        ({"unlike": np.zeros(5)}, "distance"),
    ],
)
def test_events_that_cannot_be_are_the_callers_error(how, reason):
    with pytest.raises(UserError, match=reason):
        events(60_000, [0, 1000], **{"unlike": np.zeros(1), **how})


# --- what is said -------------------------------------------------------------------------------------------------------


def test_stretches_end_where_something_said_ends_or_begins():
    said = [(0, 12_000), (13_000, 28_000), (29_500, 41_000), (47_000, 66_000), (66_000, 80_000)]
    assert aligned(90_000, said, 30_000) == (
        Segment(0, 0, 29_500, "subtitle"),
        Segment(1, 29_500, 66_000, "subtitle"),
        Segment(2, 66_000, 90_000, "subtitle"),
    )


def test_where_nothing_is_said_stretches_have_the_target_length():
    assert spans(aligned(100_000, [], 30_000)) == [(0, 30_000), (30_000, 60_000), (60_000, 100_000)]
    assert spans(aligned(100_000, [(0, 3_000)], 30_000)) == [(0, 30_000), (30_000, 60_000), (60_000, 100_000)]
    assert aligned(0, [], 30_000) == ()


def test_nobody_is_cut_short_by_another_ones_end():
    said = [(0, 20_000), (18_000, 40_000), (30_000, 33_000)]
    assert spans(aligned(60_000, said, 30_000)) == [(0, 40_000), (40_000, 60_000)]


def test_talk_without_end_is_cut_at_the_target():
    assert spans(aligned(70_000, [(0, 70_000)], 20_000)) == [(0, 20_000), (20_000, 40_000), (40_000, 70_000)]


@given(
    st.integers(1, 10**6),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)), max_size=30),
    st.integers(20_000, 10**5),
)
def test_stretches_cover_the_video_in_order(duration_ms, said, target_ms):
    found = aligned(duration_ms, [(start, start + length) for start, length in said], target_ms)
    assert (found[0].offset_ms, found[-1].end_offset_ms) == (0, duration_ms)
    assert all(a.end_offset_ms == b.offset_ms for a, b in pairwise(found))
    lengths = [segment.end_offset_ms - segment.offset_ms for segment in found]
    assert all(target_ms // 2 <= length <= target_ms * 3 // 2 for length in lengths[:-1])
    assert lengths[-1] <= target_ms * 3 // 2


def test_a_target_of_nothing_is_the_callers_error():
    with pytest.raises(UserError, match="2 ms"):
        aligned(1000, [], 1)


def test_a_scene_gives_at_most_ten_pictures_and_any_other_segment_one_a_second():
    assert distance_ms(Segment(0, 0, 60_000, "scene"), 1000, 10) == 6000
    assert distance_ms(Segment(0, 500, 60_000, "scene"), 1000, 10) == 5950
    assert distance_ms(Segment(0, 0, 4_000, "scene"), 1000, 10) == 1000
    assert distance_ms(Segment(0, 0, 60_000, "event"), 1000, 10) == 1000
