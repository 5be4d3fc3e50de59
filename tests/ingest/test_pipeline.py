"""From a video file to the graph: what is written, that it is written once, and that an interrupted run ends the same."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeVideo
from vgraph.errors import MediaError, ModelError, UserError
from vgraph.ingest import Asked, Options, Site, Tools, ingest
from vgraph.ingest.calls import Shared
from vgraph.media.assets import Assets
from vgraph.models.offline import HashEmbedder, ScriptedChat
from vgraph.store import Store, connect
from vgraph.types import Caption, IngestReport, Progress, Segment

OPTIONS = Options(window_ms=2_000, frame_width=64, batch_segments=2, entity_types=("person", "object"))
CAPTIONS = [
    {
        "start": 0.5, "end": 2.5, "text": "Ana hands crate 25 to Bob.",
        "entities": [{"name": "Ana", "type": "person"}, {"name": "Bob", "type": "person"}, {"name": "crate 25", "type": "object"}],
        "relations": [{"source": "Ana", "relation": "hands over", "target": "crate 25", "start": 1.0, "end": 2.0}],
    },
    {"start": 6.0, "end": 7.0, "text": "Bob leaves.", "entities": [{"name": "Bob", "type": "person"}]},
]  # fmt: skip
META = {
    "camera": {"label": "Dock", "place": "loading dock", "tz": "Europe/Berlin", "clock_offset_ms": 500},
    "start": "2026-03-03T08:00:00Z",
}


def beside(video: Path, captions: list[dict[str, Any]] = CAPTIONS, meta: dict[str, Any] | None = META) -> None:
    video.with_suffix(".captions.jsonl").write_text("\n".join(map(json.dumps, captions)), encoding="utf-8")
    if meta:
        video.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")


def run(path: Path, store: Store, tmp_path: Path, *, options: Options = OPTIONS, **more: Any) -> IngestReport:
    tools = more.pop("tools", None) or Tools(HashEmbedder())
    store.claim_embedding("text", tools.embedder.name, tools.embedder.dimension)
    asked = Asked(*(more.pop(name, None) for name in ("camera", "start_ms", "tz")))
    report, again = more.pop("report", lambda progress: None), more.pop("again", False)
    site = Site(store, tools, Assets(tmp_path / "assets"), options, Shared(**more), report)
    return ingest(path, site, asked, again=again)


def exported(store: Store) -> list[tuple[str, dict[str, Any]]]:
    return list(store.export())


def rows(store: Store, query: str, **binds: Any) -> list[Any]:
    return store.aql(query, binds).rows


def test_a_captioned_video_becomes_a_document_chunks_entities_and_edges(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=8)
    beside(video)
    report = run(video, store, tmp_path)
    assert (report.outcome, report.camera, report.chunks, report.warnings) == (
        "ingested",
        "dock",
        4,
        ("no sound track",),
    )
    counts = {name: count for name, count in store.counts().items() if count}
    assert counts["chunks"] == 4 and counts["NEXT_CHUNK"] == 3 and counts["PART_OF"] == 4 and counts["RECORDED_BY"] == 1
    assert counts["entities"] == 3 and counts["LINKS_TO"] == 1 and counts["frames"] == 8
    document = store.document(report.document)
    assert document is not None
    assert (document["state"], document["start_source"], document["models"]["captioner"]) == (
        "complete",
        "sidecar",
        "given",
    )
    assert document["start_ms"] == 1_772_524_800_500, (
        "the sidecar's start, put right by what is known of the camera's clock"
    )


def test_captions_may_give_wall_clock_times_when_a_start_is_known(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video()
    beside(video, [{"start": "2026-03-03T09:00:01+01:00", "end": "2026-03-03T09:00:03+01:00", "text": "A van."}], None)
    run(video, store, tmp_path, start_ms=1_772_524_800_000)
    assert rows(store, "FOR c IN chunks SORT c.index RETURN c.lines[0][0]") == [1_000, 1_000]


def test_a_start_once_given_stays_until_another_is_given(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    video = make_video()
    run(video, store, tmp_path, start_ms=1_772_524_800_000)
    assert run(video, store, tmp_path).outcome == "unchanged"
    assert store.documents()[0]["start_ms"] == 1_772_524_800_000
    run(video, store, tmp_path, start_ms=1_772_524_900_000)
    assert store.documents()[0]["start_ms"] == 1_772_524_900_000


def test_recordings_with_dated_names_are_from_one_camera(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    reports = [run(make_video(f"gate-2026-03-02_08-{m}-00.mp4", 2, seed=m), store, tmp_path) for m in (15, 45)]
    assert [report.camera for report in reports] == ["gate", "gate"]


def test_without_a_start_time_the_report_warns(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    assert any("--start" in warning for warning in run(make_video(), store, tmp_path).warnings)


def test_a_name_or_description_only_a_deleted_document_gave_is_gone(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    def named(name: str, description: str) -> list[dict[str, Any]]:
        entity = {"name": name, "type": "person", "id": "p1", "description": description}
        return [{"start": 0, "end": 1, "text": f"{name} waits.", "entities": [entity]}]

    told = {"a.mp4": ("Ana", "in red"), "b.mp4": ("Dr. Ruiz", "in blue")}
    by_key = {}
    for seed, (file, (name, description)) in enumerate(told.items()):
        video = make_video(file, 2, seed=seed)
        beside(video, named(name, description), None)
        by_key[run(video, store, tmp_path).document] = (name, description)
    (first, (name, description)), (_, (other, otherwise)) = sorted(by_key.items())
    names = "FOR e IN entities RETURN [e.name, e.aliases, e.description]"
    assert rows(store, names) == [[name, ["Ana", "Dr. Ruiz"], description]]
    deletion = store.removal.document(first)
    assert [entity["name"] for entity in deletion.renamed] == [other]
    assert rows(store, names) == [[other, [other], otherwise]]


def test_relations_carry_interval_camera_chunk_and_supporting_text(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=8)
    beside(video)
    report = run(video, store, tmp_path)
    (link,) = rows(
        store, "FOR e IN LINKS_TO RETURN MERGE(e, {source: DOCUMENT(e._from).name, target: DOCUMENT(e._to).name})"
    )
    assert (link["source"], link["relation"], link["target"]) == ("Ana", "hands over", "crate 25")
    assert (link["end_ms"] - link["start_ms"], link["offset_ms"]) == (1_000, 1_000)
    assert (link["camera"], link["document"]) == ("dock", report.document)
    assert link["supporting_text"] == "Ana hands crate 25 to Bob." and link["chunk"] == f"{report.document}-0000000000"


def test_entities_keep_first_and_last_appearance_across_chunks(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=8)
    beside(video)
    run(video, store, tmp_path)
    (bob,) = rows(store, "FOR e IN entities FILTER e.name == 'Bob' RETURN e")
    assert bob["last_ms"] - bob["first_ms"] == 6_500
    assert len(rows(store, "FOR e IN HAS_ENTITY FILTER e._to == @id RETURN e._from", id=bob["_id"])) == 3


def test_the_same_command_twice_changes_nothing(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    video = make_video(seconds=8)
    beside(video)
    run(video, store, tmp_path)
    before = rows(store, "FOR c IN chunks RETURN c._rev"), exported(store)
    assert run(video, store, tmp_path).outcome == "unchanged"
    assert (rows(store, "FOR c IN chunks RETURN c._rev"), exported(store)) == before


def test_files_of_one_name_from_two_cameras_are_two_documents(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    first, second = make_video("a/clip.mp4", seed=1), make_video("b/clip.mp4", seed=1)
    reports = [run(first, store, tmp_path, camera="A"), run(second, store, tmp_path, camera="B")]
    assert len({report.document for report in reports}) == 2
    assert store.counts()["chunks"] == 4


def test_a_copy_under_another_name_of_the_same_camera_is_the_same_document(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video()
    first = run(video, store, tmp_path, camera="A")
    copy = tmp_path / "copy.mp4"
    shutil.copy(video, copy)
    assert run(copy, store, tmp_path, camera="A").document == first.document


def test_changed_captions_replace_what_the_old_ones_said(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    video = make_video(seconds=8)
    beside(video)
    run(video, store, tmp_path)
    beside(video, [{"start": 0, "end": 1, "text": "Eve waits.", "entities": [{"name": "Eve", "type": "person"}]}])
    assert run(video, store, tmp_path).outcome == "ingested"
    assert rows(store, "FOR e IN entities RETURN e.name") == ["Eve"]
    assert store.counts()["LINKS_TO"] == 0


def test_deleting_leaves_what_other_documents_share_and_no_orphan(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    first, second = make_video("one.mp4", 8, seed=1), make_video("two.mp4", 8, seed=2)
    beside(first)
    beside(second, CAPTIONS[1:], {**META, "camera": {"label": "Gate"}})
    report, other = run(first, store, tmp_path), run(second, store, tmp_path)
    store.removal.document(report.document)
    (bob,) = rows(store, "FOR e IN entities RETURN e")
    assert (bob["name"], bob["cameras"]) == ("Bob", ["gate"])
    assert bob["last_ms"] - bob["first_ms"] == 1_000
    for edges in ("HAS_ENTITY", "LINKS_TO", "NEXT_CHUNK", "PART_OF", "RECORDED_BY"):
        dangling = "FOR e IN @@edges FILTER DOCUMENT(e._from) == null OR DOCUMENT(e._to) == null RETURN e"
        assert rows(store, dangling, **{"@edges": edges}) == []
    assert {d["_key"] for d in store.documents()} == {other.document}


def test_a_video_without_any_text_is_still_chunks_with_vectors(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    report = run(make_video(), store, tmp_path)
    assert report.chunks == 2
    assert all(rows(store, "FOR c IN chunks RETURN LENGTH(c.embedding) > 0"))
    document = store.document(report.document)
    assert document is not None and document["start_source"] == "unknown" and document["start_ms"] == 0


class FailingCaptioner:
    """Describes every segment but one, until it is mended."""

    name = "failing"
    broken = True

    def caption(self, segment: Segment, frames: object, transcript: str, marks: object = ()) -> tuple[Caption, ...]:
        if self.broken and segment.index == 1:
            raise ModelError("timed out", stage="caption", model=self.name)
        return (Caption(segment.offset_ms, segment.end_offset_ms, f"segment {segment.index}", self.name),)


def test_a_model_that_fails_on_one_segment_leaves_a_warning_and_the_rest_and_the_next_run_tries_again(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    captioner, video = FailingCaptioner(), make_video()
    tools = Tools(HashEmbedder(), captioner=captioner)
    report = run(video, store, tmp_path, tools=tools)
    assert report.chunks == 2 and any("timed out" in warning for warning in report.warnings)
    assert rows(store, "FOR c IN chunks SORT c.index RETURN [c.text, LENGTH(c.warnings)]") == [
        ["segment 0", 0],
        ["", 1],
    ]
    assert store.documents()[0]["state"] == "partial"
    captioner.broken = False
    assert run(video, store, tmp_path, tools=tools).outcome == "resumed"
    assert rows(store, "FOR c IN chunks SORT c.index RETURN c.text") == ["segment 0", "segment 1"]
    assert store.documents()[0]["state"] == "complete"


@pytest.mark.parametrize("need", ["transcriber", "detector", "reader", "chat"])
def test_any_model_may_fail_without_losing_a_chunk(
    need: str, store: Store, make_video: MakeVideo, spoken: Path, tmp_path: Path
) -> None:
    class Failing:
        name = "failing"

        def __getattr__(self, method: str) -> Any:
            def fail(*args: object, **options: object) -> Any:
                raise ModelError("gone", stage=method, model="failing")

            return fail

    video = spoken if need == "transcriber" else make_video()
    if need == "chat":
        beside(video)
    report = run(video, store, tmp_path, tools=Tools(HashEmbedder(), **{need: Failing()}))
    assert report.chunks in (2, 3) and any("gone" in warning for warning in report.warnings)
    assert store.documents()[0]["state"] == "partial"


def test_extraction_by_a_model_is_united_with_the_given_entities(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=2)
    beside(video, CAPTIONS[:1])
    value = {"entities": [{"name": "crate", "type": "object", "description": "yellow"}], "relations": []}
    run(video, store, tmp_path, tools=Tools(HashEmbedder(), chat=ScriptedChat(lambda messages: value)))
    assert set(rows(store, "FOR e IN entities RETURN e.name")) == {"Ana", "Bob", "crate 25", "crate"}
    assert rows(store, "FOR c IN chunks RETURN c.extraction") == ["model:scripted"]


def test_overlapping_windows_and_scenes_make_one_chain(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    video = make_video(seconds=8)
    run(video, store, tmp_path, options=Options(window_ms=3_000, overlap_ms=1_000, batch_segments=2))
    chunks = rows(store, "FOR c IN chunks SORT c.index RETURN [c.offset_ms, c.end_offset_ms]")
    assert chunks[:3] == [[0, 3_000], [2_000, 5_000], [4_000, 7_000]]
    assert store.counts()["NEXT_CHUNK"] == len(chunks) - 1
    assert run(video, store, tmp_path, options=Options(segmenter="scene", scene_min_ms=500)).outcome == "ingested"
    scenes = rows(store, "FOR c IN chunks SORT c.index RETURN c.boundary")
    assert set(scenes) == {"scene"} and store.counts()["NEXT_CHUNK"] == len(scenes) - 1


def test_progress_is_told_and_an_interrupt_leaves_what_was_finished(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=8)
    beside(video)

    def interrupt(progress: Progress) -> None:
        if progress.stage == "chunks" and store.counts()["chunks"]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(video, store, tmp_path, report=interrupt)
    assert store.counts()["chunks"] == 2
    assert run(video, store, tmp_path).outcome == "resumed"
    assert store.counts()["chunks"] == 4


def test_what_cannot_be_read_leaves_the_graph_as_it_was(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    run(make_video(), store, tmp_path)
    before = exported(store)
    broken = tmp_path / "broken 💥.mp4"
    broken.write_bytes(b"not a video at all")
    with pytest.raises(MediaError, match="broken"):
        run(broken, store, tmp_path)
    assert exported(store) == before


@pytest.mark.parametrize("name", ["with space.mp4", 'quo\'te "s".mp4', "emoji 🎥.mp4", "ملف فيديو.mp4", "100%: a.mp4"])
def test_any_file_name_is_ingested_and_kept_as_it_is(
    name: str, store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(name, 2)
    report = run(video, store, tmp_path)
    document = store.document(report.document)
    assert document is not None and document["uri"] == str(video)
    assert store.camera(report.camera)["label"] == video.stem  # type: ignore[index]


# --- killed ------------------------------------------------------------------------------------------------------------

CHILD = """
    import sys
    from pathlib import Path
    from vgraph.ingest import Options, Site, Tools, ingest
    from vgraph.media.assets import Assets
    from vgraph.models.offline import HashEmbedder
    from vgraph.store import Store, connect

    folder = Path(sys.argv[1])
    tools = Tools(HashEmbedder())
    with Store.open(connect(f"embedded:{folder / 'graph.sqlite'}", "vgraph")) as store:
        store.claim_embedding("text", tools.embedder.name, tools.embedder.dimension)
        print("begin", flush=True)
        options = Options(window_ms=500, frame_width=64, batch_segments=1)
        ingest(Path(sys.argv[2]), Site(store, tools, Assets(folder / "assets"), options))
    print("done", flush=True)
"""


def start(folder: Path, video: Path) -> subprocess.Popen[str]:
    """An ingest in a process of its own, about to open the video."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(folder), str(video)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "begin\n"
    return process


def finish(process: subprocess.Popen[str]) -> bool:
    """Whether the ingest came to its end."""
    output, _ = process.communicate()
    return "done" in output


def killed_after(folder: Path, video: Path, seconds: float) -> bool:
    """Whether the ingest was still at work when it was killed."""
    process = start(folder, video)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    return not finish(process)


def graph_of(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    with Store.open(connect(f"embedded:{folder / 'graph.sqlite'}", "vgraph")) as store:
        return exported(store)


@pytest.fixture
def undisturbed(make_video: MakeVideo, tmp_path: Path) -> tuple[Path, list[Any], float]:
    video = make_video(seconds=12)
    beside(video)
    process = start(tmp_path / "calm", video)
    begun = time.perf_counter()
    assert finish(process)
    return video, graph_of(tmp_path / "calm"), time.perf_counter() - begun


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_killed_at_twenty_moments_and_resumed_the_export_equals_an_undisturbed_runs(
    undisturbed: tuple[Path, list[Any], float], tmp_path: Path
) -> None:
    video, calm, length = undisturbed
    killed, moments = 0, random.Random(20)
    for number in range(20):
        folder = tmp_path / f"killed{number}"
        killed += killed_after(folder, video, moments.uniform(0, 0.9) * length)
        assert finish(start(folder, video))
        assert graph_of(folder) == calm
    assert killed >= 10, "most kills must fall into the ingest for the test to mean anything"


# --- what changes while it is being read ------------------------------------------------------------------------------


def when_first_told(stage: str, act: Callable[[], object]) -> Callable[[Progress], None]:
    """A report that acts once, at the first word of a stage."""
    left = [act]

    def report(step: Progress) -> None:
        if step.stage == stage and left:
            left.pop()()

    return report


def test_a_document_deleted_while_it_is_ingested_leaves_nothing_behind(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=8)
    beside(video)

    def delete() -> None:
        store.removal.document(store.documents()[0]["_key"])

    with pytest.raises(UserError, match="was deleted"):
        run(video, store, tmp_path, report=when_first_told("chunks", delete))
    left = {name: count for name, count in store.counts().items() if count}
    assert left.keys() <= {"cameras", "vgraph_meta"}
    assert run(video, store, tmp_path).outcome == "ingested"


def test_a_document_begun_anew_with_other_settings_is_not_mixed_with_the_old_ones(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=8)
    beside(video)

    def anew() -> None:
        run(video, store, tmp_path, options=replace(OPTIONS, window_ms=4_000))

    with pytest.raises(UserError, match="begun anew"):
        run(video, store, tmp_path, report=when_first_told("chunks", anew))
    assert rows(store, "FOR c IN chunks SORT c.index RETURN c.end_ms - c.start_ms") == [4_000, 4_000]


def test_a_file_replaced_while_it_is_read_is_told(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    video, other = make_video(seconds=8), make_video("other.mp4", seconds=8, seed=1)
    with pytest.raises(MediaError, match="changed while it was being read"):
        run(video, store, tmp_path, report=when_first_told("chunks", lambda: other.replace(video)))
    assert [document["state"] for document in store.documents()] == ["ingesting"]


def test_a_file_that_moved_is_found_where_it_is_now(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    video = make_video(seconds=2)
    run(video, store, tmp_path, camera="dock")
    moved = video.rename(tmp_path / "moved.mp4")
    assert run(moved, store, tmp_path, camera="dock").outcome == "unchanged"
    assert [document["uri"] for document in store.documents()] == [str(moved.resolve())]


# --- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "meta",
    [
        {"start": "9999-12-31T23:59:59Z"},
        {"start": "0001-01-01T00:00:00Z"},
        {"start": "2026-03-03T08:00:00Z", "camera": {"label": "dock", "clock_offset_ms": 10**17}},
    ],
)
def test_a_start_beyond_the_calendar_is_an_error_and_keeps_nothing(
    meta: dict[str, Any], store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=2)
    beside(video, meta=meta)
    with pytest.raises(MediaError, match="years 1 to 9999"):
        run(video, store, tmp_path)
    assert not store.cameras() and not store.documents()


def test_what_is_given_for_a_time_after_the_end_is_left_out_and_told(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=4)
    beside(video, [*CAPTIONS, {"start": 100, "end": 101, "text": "Nobody there."}])
    box = {"track": 1, "class": "person", "box": [1, 1, 10, 10]}
    tracks = [{"frame": frame, **box} for frame in (0, 1, 10**9)]
    video.with_suffix(".tracks.jsonl").write_text("\n".join(map(json.dumps, tracks)), encoding="utf-8")
    report = run(video, store, tmp_path)
    assert "2 given captions begin after the video's end at 4.0 s; left out" in report.warnings
    assert "1 given detections begin after the video's end at 4.0 s; left out" in report.warnings
    assert rows(store, "RETURN MAX(FOR t IN tracks RETURN t.end_offset_ms)") == [200]


# --- who is who -------------------------------------------------------------------------------------------------------


def test_two_persons_of_one_name_in_one_chunk_stay_two(store: Store, make_video: MakeVideo, tmp_path: Path) -> None:
    video = make_video(seconds=2)
    told = [
        {
            "start": start, "end": start + 0.5, "text": f"Maria {what} the van.",
            "entities": [{"name": "Maria", "type": "person", "id": who}, {"name": "van", "type": "vehicle"}],
            "relations": [{"source": "Maria", "relation": what, "target": "van"}],
        }
        for start, who, what in ((0.1, "p1", "locks"), (1.0, "p2", "washes"))
    ]  # fmt: skip
    beside(video, told)
    run(video, store, tmp_path)
    seen = "FOR e IN HAS_ENTITY FILTER e.mention == 'Maria' SORT e.offset_ms RETURN [e._to, e.offset_ms]"
    (first, at), (second, later) = rows(store, seen)
    assert first != second and (at, later) == (100, 1_000)
    did = dict(rows(store, "FOR e IN LINKS_TO RETURN [e.relation, e._from]"))
    assert did == {"locks": first, "washes": second}


def test_a_relation_that_ends_in_a_later_chunk_is_known_when_it_has_ended(
    store: Store, make_video: MakeVideo, tmp_path: Path
) -> None:
    video = make_video(seconds=8)
    relation = {"source": "Ana", "relation": "waits for", "target": "Bob", "start": 1.0, "end": 7.0}
    entities = [{"name": "Ana", "type": "person"}, {"name": "Bob", "type": "person"}]
    beside(video, [{"start": 0.5, "end": 1.5, "text": "Ana waits.", "entities": entities, "relations": [relation]}])
    run(video, store, tmp_path)
    assert rows(store, "FOR e IN LINKS_TO RETURN e.known_ms - e.end_ms") == [0]
