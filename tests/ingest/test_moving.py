"""A clock that is set or fitted anew moves the times of what is in the graph, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeVideo, fresh_store
from tests.ingest.test_pipeline import META, beside, exported, rows, run
from vgraph.errors import NotFoundError, StoreError, UserError
from vgraph.ingest.check import check
from vgraph.ingest.clock import Anchor, Span
from vgraph.ingest.timekeeping import Timekeeping
from vgraph.media.assets import Assets
from vgraph.store import Store
from vgraph.types import Filters, StartSource

START = 1_772_524_800_000
"""08:00 of 3 March 2026 UTC: what the sidecar says the camera's clock showed."""
SPAN = Span(offset_ms=-3_000, drift_ppm=250_000.0, uncertainty_ms=40, at_ms=START)
"""A clock that loses a second in four, so that a drift shows within seconds."""


@pytest.fixture
def dock(store: Store, make_video: MakeVideo, tmp_path: Path) -> Path:
    """A video of camera dock, ingested."""
    video = make_video(seconds=8)
    beside(video)
    run(video, store, tmp_path)
    return video


def clocks(store: Store) -> Timekeeping:
    return Timekeeping(store, lambda: None)


def timed_rows(store: Store) -> list[Any]:
    """Every time in the graph but those of cameras and of writing."""
    return [
        (name, record["_key"], {k: v for k, v in record.items() if k.endswith("_ms") or k == "timed"})
        for name, record in exported(store)
        if name != "cameras"
    ]


def test_times_moved_are_the_times_of_a_fresh_ingest(dock: Path, store: Store, tmp_path: Path) -> None:
    """The oracle: the same video ingested into another graph whose camera had that clock from the beginning."""
    before = timed_rows(store)
    moved = clocks(store).set("dock", SPAN)
    assert moved.documents == 1 and moved.records > 10 and timed_rows(store) != before
    with fresh_store(tmp_path / "other") as other:
        document = run(dock, other, tmp_path).document
        clocks(other).set("dock", SPAN)
        other.removal.document(document)
        run(dock, other, tmp_path)
        assert exported(store) == exported(other)


def test_drift_moves_the_end_of_a_recording_further_than_its_beginning(dock: Path, store: Store) -> None:
    clocks(store).set("dock", SPAN)
    chunks = rows(store, "FOR c IN chunks SORT c.index RETURN [c.start_ms, c.end_ms, c.offset_ms]")
    assert [start for start, _, _ in chunks] == [START - 3_000 + offset * 5 // 4 for _, _, offset in chunks]
    assert rows(store, "FOR d IN documents RETURN [d.start_ms, d.end_ms, d.uncertainty_ms]") == [
        [START - 3_000, START - 3_000 + 10_000, 40]
    ]
    (link,) = rows(store, "FOR e IN LINKS_TO RETURN [e.start_ms, e.end_ms]")
    assert link == [START - 3_000 + 1_250, START - 3_000 + 2_500]
    assert rows(store, "FOR e IN entities FILTER e.name == 'Bob' RETURN e.last_ms") == [START - 3_000 + 8_750]


def test_moving_again_finds_nothing_to_do(dock: Path, store: Store) -> None:
    clocks(store).set("dock", SPAN)
    moved = clocks(store).set("dock", SPAN)
    assert (moved.documents, moved.records) == (0, 0)


def test_a_clock_set_and_reset_leaves_the_graph_as_it_was_without_one(dock: Path, store: Store, tmp_path: Path) -> None:
    clocks(store).set("dock", SPAN, "Asia/Tokyo")
    clocks(store).reset("dock", zone=True)
    assert rows(store, "FOR c IN cameras RETURN [c.tz, c.clock.offset_ms, c.clock.drift_ppm, c.clock.source]") == [
        ["UTC", 0, 0, "reset"]
    ]
    assert rows(store, "FOR d IN documents RETURN d.start_ms") == [START]


def test_a_move_that_was_killed_anywhere_is_finished_by_the_next(
    dock: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever transaction it dies in, the same command again ends in the same graph."""
    timekeeping = clocks(store)
    timekeeping.set("dock", SPAN)
    wanted = exported(store)
    write, left = store.clocks._write, 0

    def dying(*arguments: Any, **binds: Any) -> None:
        nonlocal left
        if left == 0:
            raise StoreError("killed")
        left -= 1
        write(*arguments, **binds)

    for survived in range(1, 12):
        timekeeping.reset("dock")
        left = survived
        monkeypatch.setattr(store.clocks, "_write", dying)
        try:
            timekeeping.set("dock", SPAN)
        except StoreError:
            assert timekeeping.show("dock")["documents"][0]["pending"]
            monkeypatch.undo()
            timekeeping.set("dock", SPAN)
        else:
            break
        finally:
            monkeypatch.undo()
        assert exported(store) == wanted
    else:
        pytest.fail("a move of eight seconds is less than eleven transactions")


def test_batches_are_bounded(dock: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    write = store.clocks._write

    def noted(*arguments: Any, **binds: Any) -> None:
        sizes.append(len(binds.get("records", ())))
        write(*arguments, **binds)

    monkeypatch.setattr("vgraph.store.clocks.BATCH", 3)
    monkeypatch.setattr(store.clocks, "_write", noted)
    clocks(store).set("dock", SPAN)
    assert max(sizes) == 3


def test_ingesting_again_after_a_move_changes_nothing(dock: Path, store: Store, tmp_path: Path) -> None:
    clocks(store).set("dock", SPAN)
    before = exported(store)
    assert run(dock, store, tmp_path).outcome == "unchanged"
    assert exported(store) == before


def test_what_the_operator_set_is_not_undone_by_a_sidecar(dock: Path, store: Store, tmp_path: Path) -> None:
    clocks(store).set("dock", SPAN)
    second = tmp_path / "second.mp4"
    shutil.copyfile(dock, second)
    second.write_bytes(second.read_bytes() + b"\0" * 8)
    beside(second, meta={**META, "start": "2026-03-03T09:00:00Z"})
    run(second, store, tmp_path)
    found = rows(store, "FOR c IN cameras RETURN [c.clock.offset_ms, c.clock.source]")
    assert found == [[-3_000, "set"]]


def test_a_clock_told_by_a_later_sidecar_moves_what_came_before(dock: Path, store: Store, tmp_path: Path) -> None:
    second = tmp_path / "second.mp4"
    second.write_bytes(dock.read_bytes() + b"\0" * 8)
    beside(second, meta={**META, "start": "2026-03-03T09:00:00Z", "camera": {**META["camera"], "clock_offset_ms": 0}})
    run(second, store, tmp_path)
    assert rows(store, "FOR d IN documents SORT d.start_ms RETURN d.start_ms") == [START, START + 3_600_000]


def test_another_start_moves_a_document_without_making_it_anew(dock: Path, store: Store, tmp_path: Path) -> None:
    before = rows(store, "FOR l IN ledger SORT l._key RETURN l")
    assert run(dock, store, tmp_path, start_ms=START + 60_000).outcome == "unchanged"
    assert rows(store, "FOR l IN ledger SORT l._key RETURN l") == before
    assert rows(store, "FOR c IN chunks SORT c.index RETURN c.start_ms - c.offset_ms") == [START + 60_000] * 4
    assert rows(store, "FOR d IN documents RETURN d.start_source") == ["flag"]


def test_a_zone_set_later_moves_what_was_dated_in_it_and_nothing_else(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    run(make_video("gate-2026-03-03_08-00-00.mp4"), store, tmp_path, camera="gate")
    run(make_video("x.mp4", seed=2), store, tmp_path, camera="gate", start_ms=START)
    clocks(store).set("gate", tz="Europe/Berlin")
    found = rows(store, "FOR d IN documents SORT d.start_ms RETURN [d.start_ms, d.own_tz]")
    assert found == [[START - 3_600_000, "Europe/Berlin"], [START, None]]


def test_anchors_fit_a_clock_and_move_its_records(dock: Path, store: Store) -> None:
    timekeeping = clocks(store)
    (document,) = rows(store, "FOR d IN documents RETURN d._key")
    assert timekeeping.anchor_in("dock", document, 4_000, START + 5_500, 100) == 1
    assert timekeeping.anchor("dock", Anchor(START + 86_400_000, START + 86_400_000 + 6_500, 100)) == 2
    report = timekeeping.fit("dock")
    (span,) = report.spans
    assert (round(span.drift_ppm, 1), report.anchors, report.outliers) == (57.9, 2, ())
    assert rows(store, "FOR d IN documents RETURN d.start_ms") == [pytest.approx(START + 1_500, abs=2)]
    assert report.moved.documents == 1


def test_a_dry_run_shows_and_moves_nothing(dock: Path, store: Store) -> None:
    timekeeping = clocks(store)
    timekeeping.anchor("dock", Anchor(START, START + 2_000, 100))
    before = exported(store)
    assert timekeeping.fit("dock", dry_run=True).spans[0].offset_ms == 2_000
    assert exported(store) == before


def test_fitting_to_nothing_says_how_to_give_something(dock: Path, store: Store) -> None:
    with pytest.raises(UserError, match="clock anchor dock"):
        clocks(store).fit("dock")


@pytest.mark.parametrize("act", ["show", "reset", "fit"])
def test_a_camera_that_is_not_there_is_said(store: Store, act: str) -> None:
    with pytest.raises(NotFoundError, match="vgraph cameras"):
        getattr(clocks(store), act)("nowhere")


def test_an_anchor_in_a_recording_whose_own_time_nobody_knows_is_refused(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    document = run(make_video(), store, tmp_path, camera="gate", start_ms=START).document
    with pytest.raises(UserError, match="own clock"):
        clocks(store).anchor_in("gate", document, 0, START, 0)
    with pytest.raises(NotFoundError, match="clock show gate"):
        clocks(store).anchor_in("gate", "none", 0, START, 0)


def test_coverage_tells_what_was_recorded_and_what_was_not(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    for name, seed, start in (("a", 1, START), ("b", 2, START + 3_000), ("c", 3, START + 20_000)):
        run(make_video(f"{name}.mp4", seed=seed), store, tmp_path, camera="gate", start_ms=start)
    run(make_video("u.mp4", seed=4), store, tmp_path, camera="gate")
    (row,) = clocks(store).coverage(Filters(start_ms=START - 1_000, end_ms=START + 30_000), join_ms=0)
    assert row["stretches"] == [
        {"start_ms": START, "end_ms": START + 7_000, "documents": 2, "uncertainty_ms": 0},
        {"start_ms": START + 20_000, "end_ms": START + 24_000, "documents": 1, "uncertainty_ms": 0},
    ]
    assert [(g["start_ms"] - START, g["end_ms"] - START) for g in row["gaps"]] == [
        (-1_000, 0), (7_000, 20_000), (24_000, 30_000),
    ]  # fmt: skip
    assert (row["recorded_ms"], row["undated"]) == (11_000, {"documents": 1, "recorded_ms": 4_000})


def test_a_start_read_off_the_picture_is_taken_and_given_back(dock: Path, store: Store, tmp_path: Path) -> None:
    """Readings are chunk lines, as OCR leaves them; the recording counted from 1970 before."""
    video = tmp_path / "gate.mp4"
    video.write_bytes(dock.read_bytes() + b"\0" * 8)
    document = run(video, store, tmp_path, camera="gate").document
    for index, offset in enumerate((500, 2_600, 4_700, 6_800)):
        line = [offset, offset, "ocr", "test", f"Text in view: 2026-03-03 08:00:{(offset + 300) // 1000:02}"]
        store._db.aql.execute(
            "FOR c IN chunks FILTER c.document == @d AND c.index == @i UPDATE c WITH { lines: [@line] } IN chunks",
            bind_vars={"d": document, "i": index, "line": line},
        )
    report = clocks(store).fit("gate")
    (start,) = report.starts
    assert (start.before_source, start.used, start.misread) == ("unknown", 4, 0)
    assert abs(start.own_ms - START - 300) <= start.uncertainty_ms <= 500
    found = store.document(document)
    assert found is not None and (found["start_source"], found["own_tz"]) == (StartSource.burnt_in, "UTC")
    assert run(video, store, tmp_path, camera="gate").outcome == "unchanged"
    assert store.document(document) == found
    clocks(store).reset("gate")
    restored = store.document(document)
    assert restored is not None and (restored["start_source"], restored["start_ms"]) == (StartSource.unknown, 0)


def test_what_was_reset_by_hand_is_not_brought_back_by_the_sidecar(dock: Path, store: Store, tmp_path: Path) -> None:
    """The sidecar beside the video still tells a clock offset and a zone: a decision outlives it."""
    clocks(store).reset("dock", zone=True)
    decided = store.camera("dock")
    assert decided is not None and (decided["clock"]["source"], decided["clock"]["offset_ms"]) == ("reset", 0)
    run(dock, store, tmp_path)
    again = store.camera("dock")
    assert again is not None and (again["clock"], again["tz"]) == (decided["clock"], "UTC")


def test_check_finds_a_clock_that_is_half_moved_and_ends_the_move(dock: Path, store: Store, tmp_path: Path) -> None:
    clocks(store).set("dock", SPAN)
    right = timed_rows(store)
    assert [f for f in check(store, Assets(tmp_path / "assets")) if "clock" in f.kind] == []
    store.clocks.write_document(store.documents()[0]["_key"], {"timed": "another"})
    store._db.aql.execute("FOR c IN chunks UPDATE c WITH { start_ms: c.start_ms + 5 } IN chunks")
    (fault,) = [f for f in check(store, Assets(tmp_path / "assets")) if "clock" in f.kind]
    assert (fault.kind, fault.count, fault.repaired) == ("clock is half moved", 1, False)
    check(store, Assets(tmp_path / "assets"), repair=True)
    assert timed_rows(store) == right
