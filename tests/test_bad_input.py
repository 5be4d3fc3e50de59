"""Bad input through the command line: each is an error that names the file, or a warning that is kept; what was there stays as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from tests.conftest import write_video
from tests.media.conftest import write_video as write_any_video
from tests.test_cli import captioned, clean_environment, run, value

SECOND = np.zeros(48_000, np.float32)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one good document in its graph."""
    folder = tmp_path_factory.mktemp("bad")
    captioned(folder / "good.mp4")
    with pytest.MonkeyPatch.context() as patch:
        clean(patch, folder)
        assert run("ingest", "good.mp4").exit_code == 0
    return folder


@pytest.fixture
def inside(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    clean(monkeypatch, site)
    return site


def clean(patch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in set(os.environ) - set(clean_environment()):
        patch.delenv(name)
    patch.chdir(folder)


def exported(folder: Path) -> list[str]:
    assert run("db", "export", "export.jsonl").exit_code == 0
    return (folder / "export.jsonl").read_text(encoding="utf-8").splitlines()


# --- files that are no video --------------------------------------------------------------------------------------------


def missing(path: Path) -> None:
    pass


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("Dear aunt, " * 500)


def noise(path: Path) -> None:
    path.write_bytes(np.random.default_rng(1).bytes(100_000))


def head_only(path: Path) -> None:
    """The index of an MP4 stands at its end: without it nothing can be read."""
    write_video(path)
    os.truncate(path, path.stat().st_size // 2)


def zero_length(path: Path) -> None:
    """A container with a picture stream and no picture."""
    with av.open(str(path), "w", format="matroska") as container:
        stream: Any = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        container.start_encoding()


def audio_only(path: Path) -> None:
    with av.open(str(path), "w", format="mp4") as container:
        stream: Any = container.add_stream("aac", rate=48_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(SECOND.reshape(1, -1), format="fltp", layout="mono")
        frame.sample_rate = 48_000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def image_only(path: Path) -> None:
    Image.new("RGB", (64, 48), "red").save(path, format="PNG")


def folder_of_that_name(path: Path) -> None:
    path.mkdir()


NOT_A_VIDEO: tuple[tuple[Callable[[Path], None], str], ...] = (
    (missing, "does not exist"),
    (empty, "empty"),
    (text, ""),
    (noise, ""),
    (head_only, ""),
    (zero_length, ""),
    (audio_only, "sound"),
    (image_only, "image"),
)


@pytest.mark.parametrize("make, why", NOT_A_VIDEO, ids=[make.__name__ for make, _ in NOT_A_VIDEO])
def test_what_is_no_video_is_an_error_that_names_it_and_changes_nothing(
    make: Callable[[Path], None], why: str, inside: Path
) -> None:
    path = inside / f"{make.__name__}.mp4"
    make(path)
    before = exported(inside)
    result = run("ingest", path.name, "--json")
    assert (result.exit_code, result.stdout) == (3, "")
    told = json.loads(result.stderr)
    assert told["kind"] == "MediaError" and path.name in told["error"] and why in told["error"].lower()
    assert exported(inside) == before


def test_a_folder_without_a_video_is_told_before_anything_is_read(inside: Path) -> None:
    folder_of_that_name(inside / "folder.mp4")
    before = exported(inside)
    assert run("ingest", "folder.mp4", "good.mp4").exit_code == 2
    assert exported(inside) == before


@pytest.mark.parametrize("ending", [".srt", ".vtt", ".ass", ".meta.json"])
def test_a_file_beside_it_that_cannot_be_read_is_an_error(ending: str, inside: Path) -> None:
    video = write_video(inside / f"beside{ending.replace('.', '-')}.mp4")
    video.with_suffix(ending).write_bytes(np.random.default_rng(2).bytes(10_000))
    before = exported(inside)
    result = run("ingest", video.name, "--json")
    told = json.loads(result.stderr)
    assert (result.exit_code, told["kind"]) == (3, "SidecarError") and f"{video.stem}{ending}" in told["error"]
    assert exported(inside) == before


def test_facts_that_are_none_are_an_error(inside: Path) -> None:
    video = write_video(inside / "facts.mp4")
    video.with_suffix(".meta.json").write_text('{"camera": {"lable": "dock"}}')
    assert run("ingest", video.name).exit_code == 3


# --- videos that are unusual --------------------------------------------------------------------------------------------


def ingested(video: Path, folder: Path) -> dict[str, Any]:
    """The report of a video that is taken in; the good document stays as it was."""
    good = [line for line in exported(folder) if '"good"' in line or '"dock"' in line]
    result = run("ingest", video.name, "--camera", "other", "--json")
    assert result.exit_code == 0, result.stderr
    assert [line for line in exported(folder) if '"good"' in line or '"dock"' in line] == good
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def chunk_times(document: str) -> list[list[int]]:
    query = "FOR c IN chunks FILTER c.document == @key SORT c.index RETURN [c.offset_ms, c.end_offset_ms]"
    found: list[list[int]] = value("aql", query, "--bind", f"key={document}")
    return found


def test_without_a_sound_track_there_is_a_warning(inside: Path) -> None:
    assert "no sound track" in ingested(write_video(inside / "silent.mp4", seed=1), inside)["warnings"]


def test_cut_off_in_the_middle_what_can_be_decoded_is_taken_and_the_end_told(inside: Path) -> None:
    whole = write_any_video(inside / "cut.mkv", count=300, format="matroska", options={"crf": "5"})
    os.truncate(whole, whole.stat().st_size // 2)
    report = ingested(whole, inside)
    assert report["chunks"] >= 1 and len(report["warnings"]) >= 2
    assert 0 < chunk_times(report["document"])[-1][1] < 10_000


def test_variable_frame_rate_is_timed_by_its_time_stamps(inside: Path) -> None:
    times = [0, 100, 200, 1_500, 1_600, 5_000, 5_100, 9_000, 9_900]
    report = ingested(write_any_video(inside / "variable.mp4", times_ms=times), inside)
    assert report["chunks"] == 1
    query = "FOR f IN frames FILTER f.document == @key SORT f.offset_ms RETURN f.offset_ms"
    offsets = value("aql", query, "--bind", f"key={report['document']}")
    assert offsets[0] == 0 and set(offsets) <= set(times)


def test_a_rotated_video_is_kept_upright(inside: Path) -> None:
    report = ingested(write_video(inside / "rotated.mp4", seed=2, rotation=90), inside)
    query = "FOR d IN documents FILTER d._key == @key RETURN d.media"
    [media] = value("aql", query, "--bind", f"key={report['document']}")
    query = "FOR f IN frames FILTER f.document == @key LIMIT 1 RETURN f"
    [frame] = value("aql", query, "--bind", f"key={report['document']}")
    with Image.open(inside / "vgraph-data" / "assets" / frame["asset"]) as picture:
        assert picture.size == (48, 64)
    assert media["picture"]["rotation"] in (90, 270)


NAMES = ["with space.mp4", "quo\"te's.mp4", "emoji 🎥.mp4", "سجل الكاميرا.mp4", "per%cent: a.mp4", "--json.mp4"]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_taken_and_kept(name: str, inside: Path) -> None:
    video = write_video(inside / "names" / name, seconds=1, seed=10 + NAMES.index(name))
    result = run("ingest", "--json", "--", str(video))
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    [document] = [document for document in value("documents") if document["_key"] == report["document"]]
    assert document["title"] == video.stem
    assert video.stem in {camera["label"] for camera in value("cameras")}
    assert run("search", "x", "--camera", video.stem).exit_code == 0
    assert run("delete", "--yes", report["document"]).exit_code == 0


# --- what lies beside them ----------------------------------------------------------------------------------------------

SPOKEN = "1\n00:00:00,500 --> 00:00:02,000\nCafé, señor – Grüße\n\n2\n00:00:03,000 --> 00:00:02,500\nbackwards\n"


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_subtitles_of_any_encoding_are_read_and_a_backward_cue_is_told(encoding: str, inside: Path) -> None:
    video = write_video(inside / f"said-{encoding}.mp4", seed=20 + ENCODINGS.index(encoding))
    video.with_suffix(".srt").write_bytes(SPOKEN.encode(encoding))
    report = ingested(video, inside)
    [warning] = [warning for warning in report["warnings"] if ".srt" in warning]
    assert "not after its start" in warning
    query = "FOR u IN utterances FILTER u.document == @key RETURN u.text"
    assert value("aql", query, "--bind", f"key={report['document']}") == ["Café, señor – Grüße"]


def test_a_broken_line_is_left_out_and_told_with_its_number(inside: Path) -> None:
    video = write_video(inside / "lines.mp4", seed=3)
    lines = ['{"start": 0, "end": 1, "text": "Ana waits."}', "{broken", '{"start": 3, "end": 2, "text": "backwards"}']
    video.with_suffix(".captions.jsonl").write_text("\n".join(lines))
    video.with_suffix(".tracks.jsonl").write_text('{"time": 1, "class": "person", "box": [1, 2, 3]}\n')
    report = ingested(video, inside)
    told = [warning for warning in report["warnings"] if ".jsonl" in warning]
    assert len(told) == 3 and any("2" in w for w in told) and any("3" in w for w in told)
    [document] = [document for document in value("documents") if document["_key"] == report["document"]]
    query = "FOR d IN documents FILTER d._key == @key RETURN d.warnings"
    assert set(told) <= set(value("aql", query, "--bind", f"key={document['_key']}")[0])


def test_warnings_are_shown_to_people_on_stderr(inside: Path) -> None:
    write_video(inside / "shown.mp4", seed=4)
    result = run("ingest", "shown.mp4")
    assert "warning no sound track" in result.stderr and "warning" not in result.stdout


def test_hundreds_of_warnings_are_not_poured_over_people(inside: Path) -> None:
    write_video(inside / "many.mp4", seed=5).with_suffix(".captions.jsonl").write_text("{broken\n" * 300)
    shown = run("ingest", "many.mp4").stderr.splitlines()
    assert len(shown) < 20 and "warnings more, kept on the document" in shown[-1]
