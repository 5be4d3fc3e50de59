"""What is seen on its way into the graph: how a video is cut, what is kept of its pictures, what is followed and shown to captioners."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.ingest.test_pipeline import run
from vgraph.errors import ModelError
from vgraph.ingest import Options, Tools
from vgraph.ingest.identity.identification import Identification
from vgraph.ingest.identity.options import IdentityOptions
from vgraph.media.assets import Assets
from vgraph.media.encode import Mp4Writer
from vgraph.models.captions import VisionCaptioner
from vgraph.models.loading import installed
from vgraph.models.offline import HashEmbedder, ScriptedChat
from vgraph.store import Store
from vgraph.types import Box, Caption, Detection, Frame, Mark, Segment

needs_transformers = pytest.mark.skipif(
    not (installed("transformers") and installed("torch")), reason="transformers is not installed"
)
OPTIONS = Options(window_ms=2_000, frame_width=128, batch_segments=2, entity_types=("person", "object"))
GREY, RED, BLUE, COAT = (120, 120, 120), (200, 30, 30), (30, 30, 200), (20, 150, 30)


def film(path: Path, seconds: int, painted: Any, *, size: tuple[int, int] = (320, 180), rate: int = 5) -> Path:
    """A video whose picture at a time (s) `painted` makes."""
    with Mp4Writer(path, *size, rate) as writer:
        for number in range(seconds * rate):
            writer.write(painted(number / rate))
    return path


def plain(colour: tuple[int, int, int]) -> np.ndarray:
    return np.full((180, 320, 3), colour, np.uint8)


def walker(second: float) -> np.ndarray:
    """Somebody in green who walks through a grey yard, 12 pixels a second."""
    image = plain(GREY)
    left = int(40 + 12 * second)
    image[60:140, left : left + 30] = COAT
    return image


class Walkers:
    """A detector that sees the one in green."""

    name = "walkers"
    stateless = True

    def detect(self, frames: Any) -> Iterator[Detection]:
        for frame in frames:
            second = frame.offset_ms / 1000
            yield Detection(frame.offset_ms, "person", Box(40 + 12 * second, 60, 30, 80), 0.9, self.name)


def columns(image: np.ndarray) -> np.ndarray:
    return np.concatenate([part.reshape(-1, 3).mean(axis=0) - 90 for part in np.array_split(image, 4, axis=1)])


class MeanColour:
    """An image embedder by the mean colour of four columns; `seen` counts its pictures."""

    name, dimension = "mean-colour", 12

    def __init__(self) -> None:
        self.seen = 0

    def embed_images(self, images: Sequence[bytes]) -> np.ndarray:
        self.seen += len(images)
        rows = np.array([columns(np.asarray(Image.open(io.BytesIO(image)))) for image in images])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        return np.tile(np.eye(1, 12, dtype=np.float32), (len(texts), 1))


class Watcher:
    """A captioner that keeps what it is shown."""

    name = "watcher"

    def __init__(self) -> None:
        self.shown: list[tuple[Segment, list[tuple[int, bytes]], tuple[Mark, ...]]] = []

    def caption(self, segment: Segment, frames: Any, transcript: str, marks: Any = ()) -> tuple[Caption, ...]:
        self.shown.append((segment, list(frames), tuple(marks)))
        return (Caption(segment.offset_ms, segment.end_offset_ms, "Somebody walks.", self.name),)


def tools(**models: Any) -> Tools:
    return Tools(HashEmbedder(), **models)


def rows(store: Store, query: str) -> list[Any]:
    return list(store.aql(query).rows)


def chunks(store: Store) -> list[tuple[int, int, str]]:
    return [
        (c["offset_ms"], c["end_offset_ms"], c["boundary"])
        for c in rows(store, "FOR c IN chunks SORT c.index RETURN c")
    ]


# --- cut ----------------------------------------------------------------------------------------------------------------


def flicker(second: float) -> np.ndarray:
    """A quiet yard, twelve seconds of somebody dashing about, and quiet again."""
    image = plain(GREY)
    if 16 <= second < 28:
        left = int(second * 7919) % 260
        image[40:160, left : left + 60] = RED
    return image


@pytest.mark.parametrize("model", [None, MeanColour()])
def test_events_are_cut_where_the_pictures_begin_to_behave_otherwise(store: Store, tmp_path: Path, model: Any) -> None:
    video = film(tmp_path / "yard.mp4", 44, flicker)
    options = replace(OPTIONS, segmenter="event")
    run(video, store, tmp_path, options=options, tools=tools(image_embedder=model))
    found = chunks(store)
    assert {boundary for _, _, boundary in found} == {"event"}
    assert [start for start, _, _ in found[1:]] == pytest.approx([16_000, 28_000], abs=1_200)
    assert found[-1][1] == pytest.approx(44_000, abs=250)


def test_events_once_found_are_not_looked_for_again(store: Store, tmp_path: Path) -> None:
    class Failing:
        name = "failing"

        def caption(self, *asked: Any) -> tuple[Caption, ...]:
            raise ModelError("no", stage="caption", model=self.name)

    video, model = film(tmp_path / "yard.mp4", 44, flicker), MeanColour()
    options = replace(OPTIONS, segmenter="event")
    run(video, store, tmp_path, options=options, tools=tools(image_embedder=model, captioner=Failing()))
    before, seen = chunks(store), model.seen
    run(video, store, tmp_path, options=options, tools=tools(image_embedder=model, captioner=Watcher()))
    assert (chunks(store), model.seen) == (before, seen)
    again = replace(options, event_penalty=1e9)
    run(video, store, tmp_path, options=again, tools=tools(image_embedder=model, captioner=Watcher()))
    assert len(chunks(store)) == 1 and model.seen > seen


def test_subtitles_cut_where_something_said_ends(store: Store, tmp_path: Path) -> None:
    video = film(tmp_path / "yard.mp4", 12, walker)
    cues = [("00:00.500", "00:03.200"), ("00:03.400", "00:07.000"), ("00:08.000", "00:11.000")]
    text = "WEBVTT\n\n" + "\n\n".join(f"{start} --> {end}\nline {n}" for n, (start, end) in enumerate(cues))
    video.with_suffix(".vtt").write_text(text)
    run(video, store, tmp_path, options=replace(OPTIONS, segmenter="subtitle", window_ms=4_000))
    found = chunks(store)
    assert [start for start, _, _ in found] == [0, 3_400, 7_000]
    assert {boundary for _, _, boundary in found} == {"subtitle"}
    assert all(len(lines) == 1 for lines in rows(store, "FOR c IN chunks RETURN SPLIT(c.transcript, '\\n')"))


def test_a_scene_keeps_at_most_ten_pictures_a_window_one_a_second(store: Store, tmp_path: Path) -> None:
    video = film(tmp_path / "cuts.mp4", 40, lambda second: plain(RED if second < 30 else BLUE))
    counted = "FOR c IN chunks SORT c.index RETURN LENGTH(c.frames)"
    run(video, store, tmp_path, options=replace(OPTIONS, segmenter="scene"))
    assert rows(store, counted) == [10, 10]
    run(video, store, tmp_path, options=replace(OPTIONS, segmenter="scene", scene_frames=3))
    assert rows(store, counted) == [3, 3]
    run(video, store, tmp_path, options=replace(OPTIONS, window_ms=20_000))
    assert rows(store, counted) == [20, 20]


# --- embedded -----------------------------------------------------------------------------------------------------------


@needs_transformers
@pytest.mark.slow
def test_frames_and_tracks_get_image_embeddings_of_a_clip_checkpoint(store: Store, tmp_path: Path) -> None:
    from tests.models.tiny import tiny_clip
    from vgraph.models.transformers import TransformersImages

    model = TransformersImages(str(tiny_clip(tmp_path / "clip")))
    store.claim_embedding("image", model.name, model.dimension)
    video = film(tmp_path / "yard.mp4", 6, walker)
    run(video, store, tmp_path, tools=tools(image_embedder=model, detector=Walkers()))
    for collection, count in (("frames", 6), ("tracks", 1)):
        vectors = np.array(rows(store, f"FOR r IN {collection} RETURN r.embedding"))
        assert vectors.shape == (count, model.dimension)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(count), abs=1e-4)


def test_a_tracks_look_is_the_mean_of_its_crops_and_can_be_switched_off(store: Store, tmp_path: Path) -> None:
    video, model = film(tmp_path / "yard.mp4", 6, walker), MeanColour()
    run(video, store, tmp_path, tools=tools(image_embedder=model, detector=Walkers()))
    [look] = rows(store, "FOR t IN tracks RETURN t.embedding")
    coat = columns(plain(COAT))
    assert float(np.array(look) @ coat / np.linalg.norm(coat)) > 0.97, (
        "the crop is of the one in green, not of the yard"
    )
    run(
        video,
        store,
        tmp_path,
        options=replace(OPTIONS, track_looks=False),
        tools=tools(image_embedder=model, detector=Walkers()),
    )
    assert rows(store, "FOR t IN tracks RETURN t.embedding") == [None]


# --- shown --------------------------------------------------------------------------------------------------------------


def coloured(jpeg: bytes, colour: tuple[int, int, int]) -> int:
    pixels = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB")).astype(int)
    return int((np.abs(pixels - np.array(colour)) < 40).all(axis=2).sum())


FIRST_COLOUR = (230, 25, 75)


def test_tracks_are_drawn_onto_what_captioners_see_and_not_onto_what_is_kept(store: Store, tmp_path: Path) -> None:
    video, watcher = film(tmp_path / "yard.mp4", 4, walker), Watcher()
    run(video, store, tmp_path, tools=tools(detector=Walkers(), captioner=watcher))
    [track] = rows(store, "FOR t IN tracks RETURN t")
    _, frames, marks = min(watcher.shown, key=lambda one: one[0].offset_ms)
    assert [(m.number, m.track, m.label, m.name, m.type) for m in marks] == [
        (1, track["track"], "person", "", "person")
    ]
    assert track["number"] == 1
    assert all(coloured(jpeg, FIRST_COLOUR) > 60 for _, jpeg in frames)
    kept = [asset for _, asset in rows(store, "FOR c IN chunks FILTER c.index == 0 RETURN c.frames")[0]]
    assert all(coloured(Assets(tmp_path / "assets").bytes(asset), FIRST_COLOUR) < 60 for asset in kept)
    assert not list((tmp_path / "assets").rglob("*.drawn.jpg"))


def test_drawing_can_be_switched_off_and_what_is_drawn_can_be_kept(store: Store, tmp_path: Path) -> None:
    video, watcher = film(tmp_path / "yard.mp4", 4, walker), Watcher()
    run(
        video,
        store,
        tmp_path,
        options=replace(OPTIONS, draw_tracks=False),
        tools=tools(detector=Walkers(), captioner=watcher),
    )
    assert all(
        marks == () and coloured(jpeg, FIRST_COLOUR) < 60 for _, frames, marks in watcher.shown for _, jpeg in frames
    )
    run(
        video,
        store,
        tmp_path,
        options=replace(OPTIONS, keep_drawn=True),
        tools=tools(detector=Walkers(), captioner=Watcher()),
    )
    assert len(list((tmp_path / "assets").rglob("*.drawn.jpg"))) == 4
    Assets(tmp_path / "assets").delete(store.documents()[0]["_key"])
    assert not list((tmp_path / "assets").rglob("*.jpg"))


def test_what_a_caption_says_of_a_mark_is_said_of_the_track(store: Store, tmp_path: Path) -> None:
    said = {
        "time": "", "location": "a yard", "characters": ["a man in red"], "events": ["he walks to the right"], "scene": "",
        "summary": "A man in red crosses a yard.",
        "entities": [{"name": "man in red", "type": "object", "description": "red coat", "mark": 1}], "relations": [],
    }  # fmt: skip
    captioner = VisionCaptioner(ScriptedChat(lambda messages: said))
    run(film(tmp_path / "yard.mp4", 4, walker), store, tmp_path, tools=tools(detector=Walkers(), captioner=captioner))
    [entity] = rows(store, "FOR e IN entities RETURN e")
    assert (entity["type"], "man in red" in entity["aliases"]) == ("person", True)
    assert set(rows(store, "FOR m IN HAS_ENTITY RETURN m.modality")) == {"caption", "detection"}
    assert rows(store, "FOR d IN DEPICTS RETURN d._to") == [entity["_id"]]
    [dimensions] = rows(store, "FOR c IN chunks RETURN DISTINCT c.dimensions")
    assert dimensions == {
        "location": "a yard", "characters": "a man in red", "events": "he walks to the right",
        "summary": "A man in red crosses a yard.",
    }  # fmt: skip
    [caption] = rows(store, "FOR c IN chunks RETURN DISTINCT c.caption")
    assert caption.startswith("A man in red crosses a yard. Location: a yard. Characters: a man in red.")


def test_a_caption_that_broke_its_form_is_kept_and_told_on_its_chunk(store: Store, tmp_path: Path) -> None:
    class Degraded(Watcher):
        def caption(self, segment: Segment, frames: Any, transcript: str, marks: Any = ()) -> tuple[Caption, ...]:
            return (replace(super().caption(segment, frames, transcript)[0], warning="broke the schema"),)

    run(film(tmp_path / "yard.mp4", 2, walker), store, tmp_path, tools=tools(captioner=Degraded()))
    assert rows(store, "FOR c IN chunks RETURN c.warnings") == [["caption: broke the schema"]]
    assert store.documents()[0]["state"] == "complete"


def test_an_identity_that_people_confirmed_is_drawn_with_its_name(store: Store, tmp_path: Path) -> None:
    video = film(tmp_path / "yard.mp4", 4, walker)
    run(video, store, tmp_path, tools=tools(detector=Walkers(), captioner=Watcher()))
    other = film(tmp_path / "named.mp4", 2, lambda second: plain(BLUE))
    line = {"start": 0, "end": 1, "text": "Ana waits.", "entities": [{"name": "Ana", "type": "person"}]}
    other.with_suffix(".captions.jsonl").write_text(json.dumps(line))
    run(other, store, tmp_path)
    followed, named = (
        rows(store, f"FOR e IN entities FILTER {which} RETURN e._key")[0]
        for which in ("e.name != 'Ana'", "e.name == 'Ana'")
    )
    watcher = Watcher()
    assert run(video, store, tmp_path, tools=tools(detector=Walkers(), captioner=watcher)).outcome == "unchanged"
    Identification(store, IdentityOptions(), lambda progress: None).merge(named, followed)
    run(video, store, tmp_path, tools=tools(detector=Walkers(), captioner=watcher))
    assert {mark.name for _, _, marks in watcher.shown for mark in marks} == {"Ana"}


# --- given --------------------------------------------------------------------------------------------------------------

GIVEN = {
    ".mot.txt": "\n".join(f"{n + 1},4,{40 + n},60,30,80,0.9,1,1" for n in range(20)),
    ".coco.json": json.dumps(
        {
            "images": [{"id": n, "frame_index": n} for n in range(20)],
            "categories": [{"id": 1, "name": "person"}],
            "annotations": [{"image_id": n, "category_id": 1, "bbox": [40 + n, 60, 30, 80], "track_id": 4} for n in range(20)],
        }
    ),
    ".deepstream.jsonl": "\n".join(
        json.dumps({"id": str(n), "timestamp": n * 200_000_000, "objects": [f"4|{40 + n}|60|{70 + n}|140|Person|#|||||0.9"]})
        for n in range(20)
    ),
    ".vss.json": json.dumps(
        [
            {"frameNo": n, "objects": [{"type": "person", "conf": 0.9, "bbox": {"lX": 40 + n, "tY": 60, "rX": 70 + n, "bY": 140}}]}
            for n in range(20)
        ]
    ),
}  # fmt: skip


@pytest.mark.parametrize("ending", GIVEN)
def test_metadata_of_every_form_becomes_a_track_and_an_entity(store: Store, tmp_path: Path, ending: str) -> None:
    video = film(tmp_path / "yard.mp4", 4, walker)
    video.with_name("yard" + ending).write_text(GIVEN[ending])
    report = run(video, store, tmp_path, tools=tools(detector=Walkers()))
    [track] = rows(store, "FOR t IN tracks RETURN t")
    assert (track["class"], track["origin"], track["offset_ms"], track["end_offset_ms"]) == (
        "person",
        "given",
        0,
        3_800,
    )
    assert len(track["boxes"]) == 20
    [entity] = rows(store, "FOR e IN entities RETURN e")
    assert entity["type"] == "person"
    counts = store.counts()
    assert (counts["SEEN_IN"], counts["DEPICTS"], counts["HAS_ENTITY"]) == (2, 1, 2)
    assert report.warnings == ("no sound track", *(w for w in report.warnings if "start time" in w))


def test_given_detections_are_kept_as_often_as_a_detector_would_look(store: Store, tmp_path: Path) -> None:
    video = film(tmp_path / "yard.mp4", 4, walker)
    lines = [
        {"time": n / 30, "track": t, "class": "person", "box": [40 + n, 60, 30, 80]} for n in range(120) for t in (1, 2)
    ]
    video.with_suffix(".tracks.jsonl").write_text("\n".join(map(json.dumps, lines)))
    run(video, store, tmp_path)
    assert rows(store, "FOR t IN tracks RETURN LENGTH(t.boxes)") == [20, 20]
    run(video, store, tmp_path, options=replace(OPTIONS, detect_every_ms=1))
    assert rows(store, "FOR t IN tracks RETURN LENGTH(t.boxes)") == [120, 120]


def test_crops_too_small_to_show_anything_have_no_look(store: Store, tmp_path: Path) -> None:
    class Specks(Walkers):
        def detect(self, frames: Any) -> Iterator[Detection]:
            for frame in frames:
                yield Detection(frame.offset_ms, "person", Box(50, 50, 4, 4), 0.9, self.name)

    model = MeanColour()
    run(film(tmp_path / "yard.mp4", 2, walker), store, tmp_path, tools=tools(image_embedder=model, detector=Specks()))
    assert rows(store, "FOR t IN tracks RETURN t.embedding") == [None]


def test_a_frame_is_what_a_detector_is_given(store: Store, tmp_path: Path) -> None:
    seen: list[Frame] = []

    class Looking(Walkers):
        def detect(self, frames: Any) -> Iterator[Detection]:
            for frame in frames:
                seen.append(frame)
                yield from super().detect([frame])

    run(film(tmp_path / "yard.mp4", 2, walker), store, tmp_path, tools=tools(detector=Looking()))
    assert [frame.offset_ms for frame in seen] == list(range(0, 2_000, 200))
