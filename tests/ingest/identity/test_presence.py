"""In two places at once: intervals half open, clocks that may be wrong, views that overlap, ways that take time."""

from __future__ import annotations

from vgraph.ingest.identity.presence import Between, Presence, Sites, conflict, stays

SURE = Sites(uncertainty_ms=0)


def at(camera: str, start: int, end: int, sense: str = "detection", document: str | None = None) -> Presence:
    """Seconds."""
    return Presence(
        camera, document or camera, f"{camera}-{start}", start * 1000, end * 1000, sense != "caption", sense
    )


def ways(**between: Between) -> Sites:
    return Sites({("dock", "gate"): between["dock_gate"]}, uncertainty_ms=0)


def test_two_places_at_once_is_a_conflict() -> None:
    found = conflict([at("dock", 0, 10)], [at("gate", 5, 15)], SURE)
    assert found is not None and found.hard


def test_intervals_are_half_open_leaving_here_and_coming_there_in_one_moment_is_none() -> None:
    assert conflict([at("dock", 0, 10)], [at("gate", 10, 15)], SURE) is None


def test_views_that_overlap_show_one_place() -> None:
    assert conflict([at("dock", 0, 10)], [at("gate", 5, 15)], ways(dock_gate=Between(overlapping=True))) is None


def test_clocks_that_may_be_wrong_by_more_than_the_overlap_contradict_nothing() -> None:
    wrong = Sites(wrong={"dock": 3000, "gate": 2000}, uncertainty_ms=0)
    assert conflict([at("dock", 0, 10)], [at("gate", 5, 15)], wrong) is None
    assert conflict([at("dock", 0, 10)], [at("gate", 4, 15)], wrong) is not None


def test_a_way_takes_its_time() -> None:
    site = ways(dock_gate=Between(min_ms=20_000, max_ms=60_000))
    assert conflict([at("dock", 0, 10)], [at("gate", 29, 40)], site) is not None
    assert conflict([at("dock", 0, 10)], [at("gate", 30, 40)], site) is None


def test_a_caption_names_whom_it_saw_at_some_moment() -> None:
    """Half of two captions is shared: whoever was here early was there late."""
    assert conflict([at("dock", 0, 10, "caption")], [at("gate", 5, 15, "caption")], SURE) is None


def test_captions_of_the_same_time_are_a_soft_conflict() -> None:
    found = conflict([at("dock", 0, 10, "caption")], [at("gate", 0, 10, "caption")], SURE)
    assert found is not None and not found.hard


def test_a_caption_within_a_track_elsewhere_is_a_hard_one() -> None:
    found = conflict([at("dock", 0, 60)], [at("gate", 20, 30, "caption")], SURE)
    assert found is not None and found.hard
    assert conflict([at("dock", 0, 60)], [at("gate", 55, 65, "caption")], SURE) is None


def test_a_row_of_captions_is_a_stay() -> None:
    row = stays(at("dock", start, start + 10, "caption") for start in (0, 10, 20, 30))
    assert [(p.start_ms, p.end_ms) for p in row if p.sure] == [(10_000, 30_000)]
    found = conflict(row, stays([at("gate", 15, 25, "caption")]), SURE)
    assert found is not None and found.hard


def test_a_row_that_breaks_is_two_stays() -> None:
    row = stays(at("dock", start, start + 10, "caption") for start in (0, 10, 40, 50))
    assert not [p for p in row if p.sure]


def test_a_caption_cut_at_a_chunks_end_is_one_caption() -> None:
    parts = [
        Presence("dock", "d", "d-0", 25_000, 30_000, False, "caption"),
        Presence("dock", "d", "d-30", 30_000, 35_000, False, "caption", opens=True),
    ]
    assert [(p.start_ms, p.end_ms) for p in stays(parts)] == [(25_000, 35_000)]


def test_two_tracks_of_one_recording_at_one_time_are_two_things() -> None:
    found = conflict([at("dock", 0, 10)], [at("dock", 5, 15)], SURE)
    assert found is not None and found.hard
    assert conflict([at("dock", 0, 10)], [at("dock", 5, 15, document="other")], SURE) is None
    assert conflict([at("dock", 0, 10)], [at("dock", 10, 15)], SURE) is None


def test_conflicts_are_found_however_long_the_stays_are() -> None:
    ours = [at("dock", 0, 100_000)]
    theirs = [at("gate", start, start + 5) for start in range(200_000, 300_000, 100)]
    assert conflict(ours, theirs, SURE) is None
    assert conflict(ours, [at("gate", 50_000, 50_005), *theirs], SURE) is not None
    assert conflict([at("gate", 50_000, 50_005), *theirs], ours, SURE) is not None
