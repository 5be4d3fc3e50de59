"""Real footage on the whole way in: a street camera and a film, decoded, cut, watched, followed, and found again.

The files are fetched by `make fixtures` into `.fixtures/` (or stand where VGRAPH_FIXTURES says); absent ones are skipped with a message.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vgraph import Settings, VGraph
from vgraph.media.audio import audio
from vgraph.media.frames import frames
from vgraph.media.probe import probe
from vgraph.media.segments import scenes, windows
from vgraph.models.loading import installed
from vgraph.models.motion import MotionDetector
from vgraph.types import Video

FOLDER = Path(os.environ.get("VGRAPH_FIXTURES") or Path(__file__).parent.parent / ".fixtures").resolve()
STREET_MS = 79_500
NANODET = FOLDER / "nanodet" / "nanodet.onnx"


def fixture(name: str) -> Path:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{path} is absent: `make fixtures` fetches it")
    return path


@pytest.fixture(scope="module")
def street() -> Video:
    return probe(fixture("vtest.avi"))


@pytest.fixture(scope="module")
def film() -> Video:
    return probe(fixture("bigbuckbunny.mp4"))


# --- decoded and cut ----------------------------------------------------------------------------------------------------


def test_the_street_is_probed(street: Video) -> None:
    assert (street.picture.width, street.picture.height, street.picture.fps) == (768, 576, 10.0)
    assert street.audio is None and abs(street.duration_ms - STREET_MS) <= 100


def test_the_film_is_probed_and_heard(film: Video) -> None:
    assert (film.picture.codec, film.picture.width, film.picture.height) == ("h264", 1280, 720)
    assert film.audio is not None and 5_000 <= film.duration_ms <= 5_600
    heard = np.concatenate([piece.samples for piece in audio(film)])
    assert abs(len(heard) / 16 - film.duration_ms) < 200 and np.abs(heard).max() > 0.01


def test_pictures_come_by_their_time_and_from_anywhere(street: Video) -> None:
    whole = list(islice(frames(street, 1_000, width=96), 30))
    assert [frame.offset_ms for frame in whole] == list(range(0, 30_000, 1_000))
    later = list(frames(street, 1_000, start_ms=20_000, end_ms=23_000, width=96))
    assert [frame.offset_ms for frame in later] == [20_000, 21_000, 22_000]
    for one, other in zip(later, whole[20:23], strict=True):
        assert np.array_equal(one.image, other.image)


def test_windows_cover_the_street_and_one_scene_is_one_camera(street: Video, film: Video) -> None:
    cut = windows(street.duration_ms, 30_000)
    assert [segment.offset_ms for segment in cut] == [0, 30_000, 60_000]
    assert cut[-1].end_offset_ms == street.duration_ms
    assert len(scenes(film)) == 1, "five seconds without a cut"


def test_a_clip_with_cuts_is_cut_there() -> None:
    bikes = probe(fixture("bikes.mp4"))
    found = scenes(bikes)
    assert len(found) >= 2
    assert all(one.end_offset_ms == other.offset_ms for one, other in pairwise(found))
    assert (found[0].offset_ms, found[-1].end_offset_ms) == (0, bikes.duration_ms)


def test_motion_is_found_where_people_walk(street: Video) -> None:
    moving = list(MotionDetector().detect(frames(street, 200, end_ms=10_000, width=384)))
    seconds = {detection.offset_ms // 1_000 for detection in moving}
    assert len(seconds) >= 8 and {detection.label for detection in moving} == {"motion"}


# --- into the graph -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clip(street: Video, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The street's first 12 seconds as the file of a camera of its own, so that a test takes seconds."""
    from vgraph.media.encode import Mp4Writer

    path = tmp_path_factory.mktemp("footage") / "street 20260302_080000.mp4"
    with Mp4Writer(path, 768, 576, 10) as writer:
        for frame in frames(street, 100, end_ms=12_000):
            writer.write(frame.image)
    return path


@pytest.fixture(scope="module", params=["motion", "onnx"])
def graph(request: pytest.FixtureRequest, clip: Path) -> Iterator[VGraph]:
    """The clip in a graph, watched by background subtraction, or by NanoDet."""
    if request.param == "onnx":
        fixture("nanodet/nanodet.onnx")
        if not installed("onnxruntime"):
            pytest.skip("onnxruntime is not installed: pip install 'vgraph[vision]'")
    detector = "motion" if request.param == "motion" else f"onnx:{NANODET}"
    folder = clip.parent / request.param
    settings = Settings.load(
        database={"url": f"embedded:{folder / 'graph.sqlite'}"},
        media={"assets": folder / "assets", "window_s": 4},
        models={"detect": detector},
    )
    with VGraph.open(settings) as opened:
        [report] = opened.ingest([clip], camera="street", tz="Europe/London")
        assert (report.outcome, report.chunks) == ("ingested", 3)
        yield opened


def rows(graph: VGraph, query: str) -> list[Any]:
    return graph.aql(query).rows


def test_the_street_becomes_chunks_frames_and_tracks(graph: VGraph) -> None:
    counts = graph.info()["counts"]
    assert (counts["documents"], counts["chunks"], counts["frames"], counts["NEXT_CHUNK"]) == (1, 3, 12, 2)
    assert counts["tracks"] >= 2 and counts["SEEN_IN"] >= counts["tracks"]
    [document] = graph.documents()
    assert (document["start_source"], document["start_ms"]) == ("file_name", 1_772_438_400_000)


def test_tracks_are_followed_inside_the_picture_and_the_time(graph: VGraph) -> None:
    for track in rows(graph, "FOR t IN tracks RETURN t"):
        assert 0 <= track["offset_ms"] <= track["end_offset_ms"] <= 12_000
    lengths = rows(graph, "FOR t IN tracks RETURN t.end_ms - t.start_ms")
    assert max(lengths) >= 3_000, "somebody walks through the picture for seconds"


def test_people_are_found_tracked_into_chunks_and_searched(graph: VGraph) -> None:
    labels = set(rows(graph, "FOR t IN tracks RETURN t.class"))
    if labels == {"motion"}:
        assert graph.search("motion").chunks, "without a detector of classes there is motion only"
        return
    assert "person" in labels
    people = "FOR t IN tracks FILTER t.class == 'person' FOR c IN 1..1 OUTBOUND t SEEN_IN RETURN DISTINCT c._key"
    seen = set(rows(graph, "WITH chunks " + people))
    [document] = graph.documents()
    found = graph.search("person", graph.filters(documents=[document["_key"]]))
    assert seen and {chunk.id for chunk in found.chunks if chunk.via == "hit"} & seen
    assert any("person" in line.text for chunk in found.chunks for line in chunk.lines)
    assert {entity.type for entity in found.entities} >= {"person"}
