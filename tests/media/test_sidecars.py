from __future__ import annotations

import json

import pytest

from vgraph.errors import SidecarError
from vgraph.media.sidecars import read_meta, read_sidecars
from vgraph.types import Box, CameraInfo, Caption, Detection, Mention, Relation, Sidecars, VideoTrack

PICTURE = VideoTrack("h264", 640, 360, 0, 25.0, False, 250)
START = 1_772_438_400_000  # 2026-03-02T08:00:00Z


@pytest.fixture
def video(tmp_path):
    return tmp_path / "dock 1 🎥.cut.mp4"


def put(video, ending, content, encoding="utf-8"):
    path = video.with_name(video.stem + ending)
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def put_lines(video, ending, *lines):
    return put(video, ending, "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))


def test_nothing_beside_a_video_is_nothing(video):
    assert read_sidecars(video, PICTURE) == Sidecars()
    assert read_meta(video) == Sidecars()


def test_everything_beside_a_video_is_found_by_its_stem(video):
    put(video, ".srt", "1\n00:00:01,000 --> 00:00:02,000\nhello\n")
    put_lines(video, ".captions.jsonl", {"start": 0, "end": 5, "text": "a van arrives"})
    put_lines(video, ".tracks.jsonl", {"frame": 5, "class": "van", "box": [1, 2, 3, 4]})
    put(video, ".mot.csv", "1,1,10,20,30,40,0.5,1,1\n")
    put(video, ".meta.json", json.dumps({"title": "Monday"}))
    found = read_sidecars(video, PICTURE)
    assert (len(found.captions), len(found.utterances), len(found.detections), found.title) == (1, 1, 2, "Monday")
    assert {file.name.removeprefix(video.stem) for file in found.files} == {
        ".srt",
        ".captions.jsonl",
        ".tracks.jsonl",
        ".mot.csv",
        ".meta.json",
    }
    assert found.warnings == ()


def test_captions_carry_entities_and_relations(video):
    line = {
        "start": 12.0,
        "end": 20.5,
        "text": "Maria hands over parcel 12",
        "entities": [
            {"name": "Maria Lopez", "type": "person", "id": "p1", "description": "red coat"},
            {"name": "parcel 12"},
        ],
        "relations": [
            {
                "source": "Maria Lopez",
                "relation": "hands over",
                "target": "parcel 12",
                "start": 14.0,
                "end": 16.0,
                "confidence": 0.9,
            },
            {"source": "Maria Lopez", "relation": "wears", "target": "coat"},
        ],
    }
    put_lines(video, ".captions.jsonl", line)
    assert read_sidecars(video, PICTURE).captions == (
        Caption(
            12_000,
            20_500,
            "Maria hands over parcel 12",
            "given",
            (Mention("Maria Lopez", "person", "p1", "red coat"), Mention("parcel 12", "object")),
            (
                Relation("Maria Lopez", "parcel 12", "hands over", 14_000, 16_000, "Maria hands over parcel 12", 0.9),
                Relation("Maria Lopez", "coat", "wears", None, None, "Maria hands over parcel 12", 1.0),
            ),
        ),
    )


def test_captions_with_wall_clock_times_count_from_the_start(video):
    line = {"start": "2026-03-02T09:00:10+01:00", "end": "2026-03-02T08:00:12.500Z", "text": "x"}
    put_lines(video, ".captions.jsonl", line)
    assert [(c.offset_ms, c.end_offset_ms) for c in read_sidecars(video, PICTURE, start_ms=START).captions] == [
        (10_000, 12_500)
    ]
    without = read_sidecars(video, PICTURE)
    assert without.captions == ()
    assert "needs the video's start" in without.warnings[0]
    put(video, ".meta.json", json.dumps({"start": "2026-03-02T08:00:00Z"}))
    assert read_sidecars(video, PICTURE).captions[0].offset_ms == 10_000
    assert read_sidecars(video, PICTURE, start_ms=START + 1000).captions[0].offset_ms == 9_000


GOOD = {"start": 1, "end": 2, "text": "kept"}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ('{"start": 1, "end": 2, "text": "cut o', "not JSON"),
        ("null", "object|dictionary"),
        ("[1, 2]", "object|dictionary"),
        ('{"start": 1, "end": 2}', "text"),
        ('{"start": 1, "end": 2, "text": ""}', "text"),
        ('{"start": 5, "end": 2, "text": "x"}', "not after the start"),
        ('{"start": 5, "end": 5, "text": "x"}', "not after the start"),
        ('{"start": -1, "end": 2, "text": "x"}', "start"),
        ('{"start": NaN, "end": 2, "text": "x"}', "not JSON"),
        ('{"start": 1e300, "end": 1e301, "text": "x"}', "start"),
        ('{"start": "noon", "end": 2, "text": "x"}', "noon"),
        ('{"start": "2026-03-02T08:00:10", "end": "2026-03-02T08:00:12", "text": "x"}', "zone"),
        ('{"start": "2026-03-02T07:00:10Z", "end": "2026-03-02T08:00:12Z", "text": "x"}', "before the video"),
        ('{"start": 1, "end": 2, "text": "x", "entities": [{"type": "person"}]}', r"entities\.0\.name"),
        (
            '{"start": 1, "end": 2, "text": "x", "relations": [{"source": "a", "relation": "b", "target": "c", "confidence": 7}]}',
            "confidence",
        ),
        ("[" * 5000, "not JSON"),
        ('{"start": 1, "end": 2, "text": "\\ud800"}', "not JSON"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_kept(video, broken, reason):
    path = put_lines(video, ".captions.jsonl", GOOD, "", broken, {**GOOD, "start": 0})
    found = read_sidecars(video, PICTURE, start_ms=START)
    assert [caption.offset_ms for caption in found.captions] == [0, 1000]
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(f"{path.name}:3: ")
    import re

    assert re.search(reason, found.warnings[0])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
def test_captions_in_any_encoding(video, encoding):
    put(
        video,
        ".captions.jsonl",
        '{"start": 1, "end": 2, "text": "Café"}\r\n{"start": 2, "end": 3, "text": "b"}\r\n',
        encoding,
    )
    found = read_sidecars(video, PICTURE)
    assert [caption.text for caption in found.captions] == ["Café", "b"]
    assert found.warnings == ()


def test_many_broken_lines_are_counted_not_listed(video):
    put(video, ".captions.jsonl", "broken\n" * 1000)
    warnings = read_sidecars(video, PICTURE).warnings
    assert len(warnings) == 21
    assert warnings[-1].endswith("980 more lines skipped")


def test_a_line_without_end_is_not_held(video, monkeypatch):
    monkeypatch.setattr("vgraph.media.text.LONGEST_LINE", 1000)
    put(video, ".captions.jsonl", json.dumps(GOOD) + "\n" + "x" * 5000 + "\n" + json.dumps(GOOD))
    found = read_sidecars(video, PICTURE)
    assert len(found.captions) == 2
    assert "longer than" in found.warnings[0]


def test_tracks_by_frame_and_by_time(video):
    put_lines(
        video,
        ".tracks.jsonl",
        {"frame": 10, "track": 3, "class": "person", "box": [1, 2, 30, 40.5], "confidence": 0.9},
        {"time": 0.1, "class": "van", "box": [0, 0, 5, 5]},
    )
    assert read_sidecars(video, PICTURE).detections == (
        Detection(100, "van", Box(0, 0, 5, 5), 1.0, "given", None),
        Detection(400, "person", Box(1, 2, 30, 40.5), 0.9, "given", "3"),
    )


@pytest.mark.parametrize(
    "line",
    [
        {"class": "van", "box": [0, 0, 5, 5]},
        {"frame": 1, "time": 1, "class": "van", "box": [0, 0, 5, 5]},
        {"frame": -1, "class": "van", "box": [0, 0, 5, 5]},
        {"frame": 1, "class": "van", "box": [0, 0, 5]},
        {"frame": 1, "class": "van", "box": [0, 0, -5, 5]},
        {"frame": 1, "class": "van", "box": [700, 0, 5, 5]},
        {"frame": 1, "class": "van", "box": [0, 0, 5, 5], "confidence": 1.5},
        {"frame": 1, "box": [0, 0, 5, 5]},
    ],
)
def test_a_broken_track_line_is_named_and_the_others_are_kept(video, line):
    path = put_lines(video, ".tracks.jsonl", line, {"frame": 1, "class": "van", "box": [0, 0, 5, 5]})
    found = read_sidecars(video, PICTURE)
    assert len(found.detections) == 1
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(f"{path.name}:1: ")


def test_mot_rows(video):
    put(
        video,
        ".mot.csv",
        "\n".join(
            [
                "26,7,10,20,30,40,0.5,3,1",  # benchmark class: car
                "1,2,10.5,20,30,40,-1,-1,-1,-1",  # result without confidence or class
                "2,-1,10,20,30,40,0.9",  # detection without identity
                "3,4,10,20,30,40,1,forklift,1",
                "4,4,10,20,30,40,0,1,1",  # not to be counted
                "5,4,10,20,30,40,1,9,1",  # occluder
                "frame,id,left",
                "0,1,10,20,30,40,1",
                "6,1,10,20,x,40,1",
                "1e999,1,10,20,3,40,1",
                "6,1,10,20,nan,40,1",
            ]
        ),
    )
    found = read_sidecars(video, PICTURE)
    assert [(d.offset_ms, d.label, d.track, d.confidence) for d in found.detections] == [
        (0, "object", "2", 1.0),
        (40, "object", None, 0.9),
        (80, "forklift", "4", 1.0),
        (1000, "car", "7", 0.5),
    ]
    assert [warning.split(": ")[0].rsplit(":", 1)[1] for warning in found.warnings] == ["7", "8", "9", "10", "11"]


def test_frame_numbers_of_a_varying_rate_are_approximate_and_said_to_be(video):
    put(video, ".mot.csv", "1,1,10,20,30,40,0.5\n")
    found = read_sidecars(video, VideoTrack("h264", 640, 360, 0, 25.0, True, 250))
    assert "approximate" in found.warnings[0]


def test_meta(video):
    camera = {
        "label": "Dock",
        "place": "Harbour",
        "tz": "Europe/Berlin",
        "clock_offset_ms": -1500,
        "position": [3, 4.5],
    }
    put(video, ".meta.json", json.dumps({"camera": camera, "start": "2026-03-02T09:00:00", "title": "Monday"}))
    meta = read_meta(video)
    assert meta.camera == CameraInfo("Dock", "Harbour", "Europe/Berlin", -1500, (3.0, 4.5))
    assert (meta.start_ms, meta.title) == (START, "Monday")
    assert read_sidecars(video, PICTURE).start_ms == START


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "not JSON"),
        ('{"camera": {"label": "x"}', "not JSON"),
        ("[]", "object|dictionary"),
        ('{"camera": {}}', "label"),
        ('{"camera": {"label": "x", "tz": "Mars"}}', "time zone"),
        ('{"camera": {"label": "x", "offset": 3}}', "offset"),
        ('{"titel": "typo"}', "titel"),
        ('{"start": "noon"}', "start"),
        (b"\x00\x01" * 500, "text|JSON"),
    ],
)
def test_a_meta_that_cannot_be_read_is_a_sidecar_error(video, content, reason):
    path = put(video, ".meta.json", content)
    with pytest.raises(SidecarError, match=reason) as caught:
        read_sidecars(video, PICTURE)
    assert caught.value.path == str(path)


def test_of_several_subtitle_files_the_one_that_knows_speakers_is_read(video):
    put(video, ".srt", "1\n00:00:01,000 --> 00:00:02,000\nfrom srt\n")
    put(video, ".vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Tom>from vtt\n")
    found = read_sidecars(video, PICTURE)
    assert [utterance.text for utterance in found.utterances] == ["from vtt"]
    assert any("not read" in warning for warning in found.warnings)


def test_an_unreadable_encoding_is_a_sidecar_error(video):
    put(video, ".captions.jsonl", b"\xff\xfe{\x00\x00\xd8")
    with pytest.raises(SidecarError, match="utf-16"):
        read_sidecars(video, PICTURE)
