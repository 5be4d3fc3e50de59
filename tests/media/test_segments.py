from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.errors import UserError
from vgraph.media.probe import probe
from vgraph.media.segments import scenes, windows
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
