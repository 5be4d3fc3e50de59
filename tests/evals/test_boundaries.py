"""Boundary F1: what is counted, and by which truth."""

from __future__ import annotations

from itertools import pairwise

import pytest

from vgraph.evals.ingest.boundaries import PAUSE_MS, BoundaryScores, boundaries, covered, matched, scored
from vgraph.evals.world import World


@pytest.mark.parametrize(
    ("made", "true", "pairs"),
    [
        ([], [], 0),
        ([10_000], [12_999], 1),
        ([10_000], [13_001], 0),
        ([10_000, 11_000], [10_500], 1),
        ([10_000], [9_000, 11_000], 1),
        ([0, 5_000, 20_000], [2_000, 4_000, 6_000, 21_000], 3),
    ],
)
def test_each_boundary_is_matched_at_most_once(made, true, pairs):
    assert matched(made, true, 3_000) == pairs


def test_the_time_near_true_boundaries_is_counted_once_and_within_the_recording():
    assert covered([1_000, 3_000, 59_000], 3_000, 60_000) == 6_000 + 4_000
    assert covered([], 3_000, 60_000) == 0


def test_scores_of_two_recordings_are_of_all_their_boundaries():
    scores = scored(
        {"a": [10_000, 40_000], "b": []}, {"a": [11_000], "b": [20_000]}, {"a": 60_000, "b": 60_000}, tolerance_ms=3_000
    )
    assert scores == BoundaryScores(2, 2, 0.5, 0.5, 0.5, 0.1, 30.0)


def test_nothing_made_where_nothing_was_to_be_found_is_right():
    scores = scored({"a": []}, {"a": []}, {"a": 60_000})
    assert (scores.precision, scores.recall, scores.f1) == (1.0, 1.0, 1.0)
    assert scored({"a": [5_000]}, {"a": []}, {"a": 60_000}).f1 == 0.0
    assert scored({"a": []}, {"a": [5_000]}, {"a": 60_000}).f1 == 0.0


def test_the_truth_is_who_comes_into_view_and_leaves_it():
    world = World.generate(7, minutes=2)
    seen = 0
    for _, recording in world.script.recordings():
        found = boundaries(world, recording.stem, recording.end_ms - recording.start_ms)
        edges = {
            edge - recording.start_ms
            for spells in world.scene.presence[recording.stem].values()
            for spell in spells
            for edge in (spell.start_ms, spell.end_ms)
        }
        assert set(found) <= edges
        assert all(later - earlier >= PAUSE_MS for earlier, later in pairwise(found))
        seen += len(found)
    assert seen > 5
