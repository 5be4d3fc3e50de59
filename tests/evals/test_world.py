"""The synthetic world: the same everywhere, consistent with itself, and really filmed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pysubs2
import pytest

from vgraph.errors import UserError
from vgraph.evals.metrics import answer_matches
from vgraph.evals.questions import expected_of
from vgraph.evals.world import Picture, World, WorldFiles, speech
from vgraph.evals.world.__main__ import main
from vgraph.evals.world.questions import KINDS
from vgraph.evals.world.render import render
from vgraph.evals.world.scene import position
from vgraph.evals.world.sprites import BAR_PX
from vgraph.media.probe import probe
from vgraph.media.sidecars import read_sidecars

SEEDS = (1, 7, 42)
SMALL = {"minutes": 1.0, "picture": Picture(320, 180, 5)}


@pytest.fixture(scope="module", params=SEEDS)
def world(request: pytest.FixtureRequest) -> World:
    return World.generate(request.param)


@pytest.fixture(scope="module")
def truth(world: World) -> dict[str, Any]:
    return world.truth()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, WorldFiles]:
    """A minute of four cameras, rendered without sound."""
    world = World.generate(5, cameras=4, **SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vgraph.evals.world.can_speak", lambda: False)
        return world, world.write(tmp_path_factory.mktemp("world"))


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# --- the same everywhere ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_seed_gives_the_same_bytes(seed: int) -> None:
    one, two = World.generate(seed), World.generate(seed)
    assert json.dumps(one.truth()) == json.dumps(two.truth())
    for _, recording in one.script.recordings():
        assert json.dumps(one.captions(recording.stem)) == json.dumps(two.captions(recording.stem))


def test_another_seed_gives_another_world() -> None:
    assert World.generate(1).truth() != World.generate(2).truth()


# --- consistent with itself ------------------------------------------------------------------------------------------------


def test_the_site_has_what_was_asked_for(truth: dict[str, Any]) -> None:
    assert len(truth["cameras"]) == 5
    assert len(truth["people"]) == 8
    assert len({p["name"] for p in truth["people"]}) == len({p["jacket"] for p in truth["people"]}) == 8
    assert len({v["plate"] for v in truth["vehicles"]}) == 4
    assert any(c["overlaps"] for c in truth["cameras"])
    assert any(not c["overlaps"] for c in truth["cameras"])
    assert any(c["clock_offset_ms"] != c["known_clock_offset_ms"] for c in truth["cameras"])
    verbs = {action["verb"] for action in truth["actions"]}
    assert {"talks to", "hands over", "picks up", "arrives at", "loads", "drives"} <= verbs


def test_nobody_is_in_two_views_that_do_not_overlap(truth: dict[str, Any]) -> None:
    overlapping = {(c["id"], other) for c in truth["cameras"] for other in c["overlaps"]}
    for a, b in combinations(truth["presence"], 2):
        apart = a["camera"] != b["camera"] and (a["camera"], b["camera"]) not in overlapping
        if a["id"] == b["id"] and apart:
            assert a["end_ms"] <= b["start_ms"] or b["end_ms"] <= a["start_ms"], (a, b)


def test_nobody_moves_faster_than_they_can(world: World) -> None:
    for person in world.script.people:
        hidden = world.script.hidden[person.id]
        path = world.script.paths[person.id]
        for a, b in pairwise(path):
            assert a[0] <= b[0]
            if not any(start <= a[0] < end or start < b[0] <= end for start, end in hidden):
                metres = ((a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2) ** 0.5
                assert metres <= 1.6 * (b[0] - a[0]) / 1000 + 0.01, (person.name, a, b)


def test_those_who_act_together_stand_together(world: World) -> None:
    script = world.script
    people = {person.id for person in script.people}
    for action in script.actions:
        middle = (action.start_ms + action.end_ms) // 2
        there = [id_ for id_ in (action.subject, action.object, action.other) if id_ in people]
        points = [position(script.paths[id_], middle) for id_ in there]
        for a, b in combinations(points, 2):
            assert ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5 < 4, action


def test_a_thing_is_in_one_place_and_changes_hands_when_an_action_says_so(world: World) -> None:
    actions = [a for a in world.script.actions if a.verb in ("picks up", "puts down", "hands over", "loads", "unloads")]
    for thing in world.script.things:
        spells = [h for h in world.script.holdings if h.thing == thing.id]
        assert spells[0].start_ms == world.script.start_ms
        assert spells[-1].end_ms == world.script.end_ms
        for before, after in pairwise(spells):
            assert before.end_ms == after.start_ms
            if after.start_ms + 3_000 < world.script.end_ms:
                assert any(a.object == thing.id and a.start_ms < after.start_ms < a.end_ms for a in actions)


def test_nobody_acts_twice_at_once(world: World) -> None:
    for person in world.script.people:
        mine = [
            (a.start_ms, a.end_ms)
            for a in world.script.actions
            if a.verb not in ("comes to", "talks to", "drives") and person.id in (a.subject, a.other)
        ]
        mine.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(mine)), person.name


def test_relations_hold_while_their_action_lasts(truth: dict[str, Any]) -> None:
    actions = {action["id"]: action for action in truth["actions"]}
    known = {item["id"] for key in ("people", "vehicles", "things", "zones") for item in truth[key]}
    for relation in truth["relations"]:
        action = actions[relation["action"]]
        assert (relation["start_ms"], relation["end_ms"]) == (action["start_ms"], action["end_ms"])
        assert {relation["source"], relation["target"]} <= known


def test_presence_lies_within_the_recording(truth: dict[str, Any]) -> None:
    recordings = {r["stem"]: r for c in truth["cameras"] for r in c["recordings"]}
    for spell in truth["presence"]:
        recording = recordings[spell["recording"]]
        assert recording["start_ms"] <= spell["start_ms"] < spell["end_ms"] <= recording["end_ms"]
        assert (spell["boxes"][0][0], spell["boxes"][-1][0]) == (spell["start_ms"], spell["end_ms"])


def test_replies_about_where_things_are_tell_the_truth(world: World) -> None:
    script = world.script
    told = 0
    for line in script.lines:
        for thing in script.things:
            if line.text.startswith(f"Yes, {thing.name} is "):
                holder = next(
                    h.holder for h in script.holdings if h.thing == thing.id and h.start_ms <= line.start_ms < h.end_ms
                )
                looks = script.name(holder) if script.kind(holder) == "location" else script.named[holder].look
                assert looks in line.text
                told += 1
        assert "…" not in line.text
    assert told or world.script.seed != 7


# --- questions -------------------------------------------------------------------------------------------------------------


def test_a_demo_has_questions_of_all_kinds_over_four_cameras(truth: dict[str, Any]) -> None:
    answered = [q for q in truth["questions"] if q["status"] == "answered"]
    assert len(answered) >= 8
    assert len({q["kind"] for q in answered}) >= 7
    assert {q["kind"] for q in answered} <= set(KINDS)
    assert len({span["camera"] for q in answered for span in q["evidence"]}) >= 4
    assert len({q["text"] for q in truth["questions"]}) == len(truth["questions"])
    assert Counter(q["status"] for q in truth["questions"] if q["status"] != "answered") == {
        "not_found": 2,
        "not_recorded": 2,
    }


def test_evidence_lies_within_coverage(truth: dict[str, Any]) -> None:
    recordings = {r["stem"]: (c["id"], r) for c in truth["cameras"] for r in c["recordings"]}
    for question in truth["questions"]:
        assert bool(question["evidence"]) == (question["status"] == "answered")
        for span in question["evidence"]:
            camera, recording = recordings[span["recording"]]
            assert span["camera"] == camera
            assert recording["start_ms"] <= span["start_ms"] < span["end_ms"] <= recording["end_ms"]
            assert span["offset_ms"] == span["start_ms"] - recording["start_ms"]


def test_what_was_not_recorded_lies_outside_the_coverage_of_its_camera(truth: dict[str, Any]) -> None:
    coverage = {c["id"]: [(r["start_ms"], r["end_ms"]) for r in c["recordings"]] for c in truth["cameras"]}
    for question in truth["questions"]:
        asked = question["asked"]
        if question["status"] == "not_recorded":
            spans = coverage[asked["camera"]]
            assert all(asked["end_ms"] <= start or end <= asked["start_ms"] for start, end in spans)


def test_the_right_answer_matches_and_an_empty_one_does_not(truth: dict[str, Any]) -> None:
    for question in truth["questions"]:
        if question["status"] == "answered":
            expected = expected_of(question, truth)
            assert answer_matches(f"I think: {question['answer']}.", expected), question
            assert not answer_matches("I do not know", expected), question


def test_a_day_of_eight_cameras_gives_hundreds_of_questions_of_every_kind() -> None:
    world = World.generate(3, cameras=8, minutes=6 * 60, density=0.2, things=30, questions=250)
    truth = world.truth()
    kinds = Counter(q["kind"] for q in truth["questions"] if q["status"] == "answered")
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 20
    assert Counter(q["status"] == "answered" for q in truth["questions"]) == {True: 200, False: 50}
    assert len({span["camera"] for q in truth["questions"] for span in q["evidence"]}) == 8
    assert max(len(c["recordings"]) for c in truth["cameras"]) == 2
    assert all(
        " between " in q["text"] or "order" in q["text"] for q in truth["questions"] if q["status"] == "answered"
    )


@pytest.mark.parametrize(
    "sizes", [{"cameras": 3}, {"cameras": 9}, {"minutes": 0.0}, {"density": 0.0}, {"things": 1}, {"things": 99}]
)
def test_sizes_the_site_cannot_hold_are_refused(sizes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(sizes))):
        World.generate(1, **sizes)


# --- given captions and detections -----------------------------------------------------------------------------------------


def test_captions_follow_the_recording_and_name_their_relations(world: World) -> None:
    for _, recording in world.script.recordings():
        length = (recording.end_ms - recording.start_ms) / 1000
        captions = world.captions(recording.stem)
        assert len(captions) >= length / 13
        for caption in captions:
            assert 0 <= caption["start"] < caption["end"] <= length + 1
            names = {entity["name"] for entity in caption["entities"]}
            assert all({link["source"], link["target"]} <= names for link in caption["relations"])
            assert all(0 <= link["start"] < link["end"] <= length + 1 for link in caption["relations"])
            assert len(names) == len(caption["entities"])


def test_noise_hides_names_misses_events_and_drops_relations() -> None:
    world = World.generate(7)
    clean = replace(world, noise=replace(world.noise, missed=0, dropped=0, unnamed=0, jitter_ms=0))
    counts = []
    for each in (world, clean):
        captions = [caption for _, r in each.script.recordings() for caption in each.captions(r.stem)]
        looks = sum("jacket" in caption["text"] for caption in captions)
        counts.append((looks, sum(len(caption["relations"]) for caption in captions)))
    assert counts[0][0] > 0 == counts[1][0]
    assert counts[0][1] < counts[1][1]
    shown = sum(len(action["seen_by"]) for action in clean.truth()["actions"])
    assert counts[1][1] >= shown


def test_detections_stay_near_the_true_boxes(small: tuple[World, WorldFiles]) -> None:
    world, files = small
    stem = files.videos[0].video.stem
    truth = [s for s in world.truth()["presence"] if s["recording"] == stem]
    start = world.script.cameras[0].recordings[0].start_ms
    found = read_lines(files.folder / f"{stem}.tracks.jsonl")
    assert found
    for detection in found:
        at = start + detection["time"] * 1000
        middles = []
        for spell in truth:
            if spell["start_ms"] <= at <= spell["end_ms"]:
                times, lefts, tops = zip(*((b[0], b[1], b[2]) for b in spell["boxes"]), strict=True)
                middles.append((np.interp(at, times, lefts), np.interp(at, times, tops)))
        x, y = detection["box"][:2]
        assert min(abs(max(0, a) - x) + abs(max(0, b) - y) for a, b in middles) <= 6
    assert len({d["track"] for d in found}) >= len({s["id"] for s in truth})


# --- really filmed ---------------------------------------------------------------------------------------------------------


def frames(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_every_recording_is_h264_of_its_length(small: tuple[World, WorldFiles]) -> None:
    world, files = small
    assert [video.camera for video in files.videos] == [camera.id for camera in world.script.cameras]
    for video, (_, recording) in zip(files.videos, world.script.recordings(), strict=True):
        with av.open(str(video.video)) as container:
            stream = container.streams.video[0]
            assert (stream.codec_context.name, stream.width, stream.height) == ("h264", 320, 180)
            assert container.duration / 1000 == pytest.approx(recording.end_ms - recording.start_ms, abs=200)
            assert not container.streams.audio
            created = container.metadata["creation_time"]
        meta = json.loads(video.sidecars[-1].read_text(encoding="utf-8"))
        assert meta["start"][:19] == created[:19]


def test_the_burnt_in_clock_changes_when_the_cameras_second_does(small: tuple[World, WorldFiles]) -> None:
    world, files = small
    camera = world.script.cameras[0]
    recording = camera.recordings[0]
    bars = [frame[:BAR_PX, 120:].astype(int) for frame in frames(files.videos[0].video)]
    for number in range(20, 60):
        shown = [(recording.start_ms + n * 200 - camera.clock_offset_ms) // 1000 for n in (number - 1, number)]
        difference = np.abs(bars[number] - bars[number - 1]).max()
        assert (difference > 60) == (shown[0] != shown[1]), number


def test_the_sidecars_are_read_without_a_warning(small: tuple[World, WorldFiles]) -> None:
    world, files = small
    for video, (camera, recording) in zip(files.videos, world.script.recordings(), strict=True):
        probed = probe(video.video)
        sidecars = read_sidecars(video.video, probed.picture)
        assert sidecars.warnings == ()
        assert probed.warnings == ("no sound track",)
        assert sidecars.camera is not None
        assert (sidecars.camera.label, sidecars.camera.place) == (camera.id, camera.place)
        assert sidecars.start_ms == video.start_ms == recording.start_ms - camera.clock_offset_ms
        assert len(sidecars.captions) == len(world.captions(recording.stem))
        assert {u.speaker for u in sidecars.utterances} <= {p.name for p in world.script.people}
        assert sidecars.detections or not world.scene.presence[recording.stem]
        assert len(sidecars.files) == 4


def test_subtitles_name_who_speaks(small: tuple[World, WorldFiles]) -> None:
    world, files = small
    heard = 0
    for video, (_, recording) in zip(files.videos, world.script.recordings(), strict=True):
        subtitles = pysubs2.load(str(video.video.with_suffix(".vtt")))
        written = video.video.with_suffix(".vtt").read_text(encoding="utf-8")
        lines = speech.lines_of(world.scene, recording)
        assert [event.start for event in subtitles] == [line.start_ms - recording.start_ms for line in lines]
        for event, line in zip(subtitles, lines, strict=True):
            assert event.text == line.text
            assert f"\n<v {world.script.name(line.speaker)}>{line.text}</v>\n" in written
            heard += 1
    assert heard


def test_without_a_synthesiser_there_is_no_sound_and_it_is_said(small: tuple[World, WorldFiles]) -> None:
    assert not small[1].sound
    assert "espeak-ng" in small[1].notes[0]


@pytest.mark.skipif(not speech.can_speak(), reason="espeak-ng is not installed")
def test_speech_is_heard_when_it_is_spoken() -> None:
    world = World.generate(7)
    recording = max((r for _, r in world.script.recordings()), key=lambda r: len(speech.lines_of(world.scene, r)))
    sound = speech.Sound(world.scene, recording)
    samples = np.concatenate([sound.second(n) for n in range((recording.end_ms - recording.start_ms) // 1000)])
    loud = np.abs(samples).reshape(-1, speech.RATE // 10).max(axis=1) > 0.02
    spoken = np.zeros_like(loud)
    for line in speech.lines_of(world.scene, recording):
        first, last = ((ms - recording.start_ms) // 100 for ms in (line.start_ms, line.end_ms))
        spoken[first : last + 1] = True
        assert loud[first : last + 1].any()
    assert not (loud & ~spoken).any()


@pytest.mark.skipif(not speech.can_speak(), reason="espeak-ng is not installed")
def test_the_sound_track_is_as_long_as_the_picture(tmp_path: Path) -> None:
    world = World.generate(5, cameras=4, **SMALL)
    camera, recording = next(world.script.recordings())
    told: list[float] = []
    path = tmp_path / "a.mp4"
    render(world.scene, camera, recording, world.picture, path, speak=True, progress=told.append)
    with av.open(str(path)) as container:
        sound = container.streams.audio[0]
        assert sound.codec_context.name == "aac"
        assert float(sound.duration * sound.time_base) == pytest.approx(60, abs=0.2)
    assert told == sorted(told)
    assert 0.9 < told[-1] <= 1


def test_writing_again_keeps_whole_files_and_makes_missing_ones(tmp_path: Path) -> None:
    world = World.generate(5, cameras=4, **SMALL)
    world.write(tmp_path, video=False)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "dock.vtt").unlink()
    kept = (tmp_path / "yard.vtt").stat().st_mtime_ns
    world.write(tmp_path, video=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert (tmp_path / "yard.vtt").stat().st_mtime_ns == kept


def test_a_folder_of_another_world_is_written_anew_and_one_of_other_files_refused(tmp_path: Path) -> None:
    World.generate(5, cameras=4, **SMALL).write(tmp_path, video=False)
    World.generate(6, cameras=4, **SMALL).write(tmp_path, video=False)
    assert json.loads((tmp_path / "truth.json").read_text())["seed"] == 6
    assert "seed 6" in (tmp_path / "dock.meta.json").read_text()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "dock.mp4").write_bytes(b"precious")
    with pytest.raises(UserError, match="another folder"):
        World.generate(5).write(tmp_path / "mine", video=False)
    assert (tmp_path / "mine" / "dock.mp4").read_bytes() == b"precious"


def test_the_command_writes_a_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--out", str(tmp_path / "w"), "--minutes", "1", "--no-video"]) == 0
    assert (tmp_path / "w" / "truth.json").exists()
    assert "5 videos" in capsys.readouterr().out
    assert main(["--out", str(tmp_path), "--cameras", "2"]) == 2
    assert "cameras=2" in capsys.readouterr().err
