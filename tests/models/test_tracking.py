"""Detections joined into tracks."""

import random

import pytest

from vgraph.models.tracking import Tracker, rhythm, track
from vgraph.types import Box, Detection


def seen(
    offset_ms: int, x: float, y: float = 0.0, label: str = "person", confidence: float = 0.9, track=None
) -> Detection:
    return Detection(offset_ms, label, Box(x, y, 20, 50), confidence, "test", track)


def walk(start: float, speed: float, times: range, **more) -> list[Detection]:
    return [seen(offset, start + speed * n, **more) for n, offset in enumerate(times)]


def test_a_walker_is_one_track():
    [only] = track(walk(0, 4, range(0, 4000, 200)))
    assert (only.label, only.offset_ms, only.end_offset_ms, len(only.detections)) == ("person", 0, 3800, 20)
    assert {detection.track for detection in only.detections} == {only.id}


def test_two_who_pass_each_other_stay_two():
    left, right = walk(0, 8, range(0, 4000, 200)), walk(152, -8, range(0, 4000, 200), y=8)
    found = track([*left, *right])
    assert sorted(detection.box.x for detection in found[0].detections) == [d.box.x for d in left] or sorted(
        detection.box.x for detection in found[0].detections
    ) == sorted(d.box.x for d in right)
    assert [len(each.detections) for each in found] == [20, 20]


def test_a_short_absence_does_not_break_a_track_and_a_long_one_does():
    path = walk(0, 4, range(0, 6000, 200))
    assert len(track([d for d in path if not 2000 < d.offset_ms < 3000])) == 1
    assert len(track([d for d in path if not 1000 < d.offset_ms < 4600])) == 2


def test_a_fast_one_is_followed_by_its_speed():
    assert len(track(walk(0, 18, range(0, 2000, 200)))) == 1


def test_unsure_detections_lengthen_a_track_but_begin_none():
    path = walk(0, 4, range(0, 2000, 200))
    weak = [seen(d.offset_ms, d.box.x, confidence=0.2) for d in path]
    assert track(weak) == ()
    [only] = track([*path[:5], *weak[5:]])
    assert len(only.detections) == 10


def test_noise_of_one_frame_is_dropped():
    assert track([seen(0, 0), seen(5000, 300)]) == ()


def test_given_track_ids_are_kept_whatever_the_boxes_say():
    found = track([seen(0, 0, track="7"), seen(60_000, 900, track="7"), *walk(0, 4, range(0, 1000, 200))])
    assert [(each.id, len(each.detections)) for each in found] == [("7", 2), ("person-0-1", 5)]


def test_a_track_is_what_most_of_its_detections_are():
    path = walk(0, 2, range(0, 2000, 200), label="car")
    path[3] = seen(path[3].offset_ms, path[3].box.x, label="truck")
    [only] = track(path)
    assert only.label == "car"


def test_things_of_another_class_that_overlap_a_little_stay_apart():
    rider, bicycle = walk(0, 4, range(0, 1000, 200)), walk(0, 4, range(0, 1000, 200), y=25, label="bicycle")
    assert sorted(each.label for each in track([*rider, *bicycle])) == ["bicycle", "person"]


def test_the_same_detections_in_any_order_give_the_same_tracks():
    path = [*walk(0, 4, range(0, 2000, 200)), *walk(300, -4, range(0, 2000, 200))]
    shuffled = list(path)
    random.Random(1).shuffle(shuffled)
    assert {each.id for each in track(shuffled)} == {each.id for each in track(path)}
    assert len({each.id for each in track(path)}) == 2


def test_tracks_come_out_when_they_end():
    tracker = Tracker(max_gap_ms=500)
    for detection in walk(0, 4, range(0, 1000, 200)):
        assert tracker.add([detection]) == []
    [ended] = tracker.add([seen(5000, 500)])
    assert ended.end_offset_ms == 800
    assert tracker.close() == []


def test_nothing_is_no_track():
    assert track([]) == ()


def test_one_that_is_fast_for_the_rhythm_is_caught_again():
    assert len(track(walk(0, 20, range(0, 4000, 500)))) == 1, "its boxes never overlap"


def test_the_rhythm_is_the_commonest_distance_between_moments():
    assert rhythm([0, 0, 200, 400, 400, 800, 1000]) == 200
    assert rhythm([5]) == rhythm([]) == 200
    assert rhythm([0, 33, 67, 100, 133, 167]) == 33


@pytest.mark.parametrize("step_ms", [40, 200, 1000])
def test_a_track_waits_for_a_time_whatever_the_rhythm(step_ms):
    path = walk(0, 1, range(0, 20_000, step_ms))
    assert len(track([d for d in path if not 8_000 < d.offset_ms < 9_000])) == 1
    assert len(track([d for d in path if not 8_000 < d.offset_ms < 14_000])) == 2


def test_many_are_followed_without_mixing_them_up():
    everybody = [d for lane in range(12) for d in walk(10 * lane, 5, range(0, 6000, 200), y=60.0 * lane)]
    found = track(everybody)
    assert len(found) == 12
    assert all(len({d.box.y for d in each.detections}) == 1 for each in found)
