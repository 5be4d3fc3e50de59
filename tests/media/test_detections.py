"""Objects found by other tools, in the forms those write: COCO, DeepStream and VSS; the table that holds them."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from vgraph.media.detection_table import Detections
from vgraph.media.sidecars import read_sidecars
from vgraph.types import Box, Detection, VideoTrack

PICTURE = VideoTrack("h264", 640, 360, 0, 25.0, False, 250)
START = 1_772_438_400_000  # 2026-03-02T08:00:00Z


@pytest.fixture
def video(tmp_path):
    return tmp_path / "dock 1.mp4"


def put(video, ending, content):
    path = video.with_name(video.stem + ending)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def given(video, **more):
    found = read_sidecars(video, PICTURE, **more)
    return tuple(found.detections), found.warnings


def seen(offset_ms, label, box, confidence=1.0, track=None):
    return Detection(offset_ms, label, Box(*box), confidence, "given", track)


# --- COCO ---------------------------------------------------------------------------------------------------------------

DATA_SET = {
    "info": {"description": "…"},
    "annotations": [
        {"id": 1, "image_id": 8, "category_id": 2, "bbox": [10, 20, 30, 40], "score": 0.5, "track_id": 7},
        {"id": 2, "image_id": 7, "category_id": 1, "bbox": [1.5, 2, 3, 4], "attributes": {"track_id": 3}},
        {"id": 3, "image_id": 7, "category_id": 1, "bbox": [0, 0, 600, 300], "iscrowd": 1},
    ],
    "images": [
        {"id": 7, "file_name": "cam1/frame_000050.jpg", "width": 640, "height": 360},
        {"id": 8, "file_name": "x.jpg", "frame_index": 100},
    ],
    "categories": [{"id": 1, "name": "person"}, {"id": 2, "name": "forklift"}],
}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_coco_data_set(video, indent):
    put(video, ".coco.json", json.dumps(DATA_SET, indent=indent))
    assert given(video) == (
        (
            seen(2_000, "person", (1.5, 2, 3, 4), track="3"),
            seen(4_000, "forklift", (10, 20, 30, 40), 0.5, "7"),
        ),
        (),
    )


def test_coco_results_are_numbered_by_frame_and_named_by_coco(video):
    results = [
        {"image_id": 50, "category_id": 90, "bbox": [1, 1, 9, 9], "score": 0.7},
        {"image_id": 25, "category_id": 8, "bbox": [2, 2, 9, 9], "score": 0.6},
        {"image_id": 0, "category_id": 13, "bbox": [3, 3, 9, 9], "score": 0.6},
    ]
    put(video, ".coco.json", json.dumps(results))
    found, warnings = given(video)
    assert [(d.offset_ms, d.label, d.confidence) for d in found] == [
        (0, "stop sign", 0.6),
        (1_000, "truck", 0.6),
        (2_000, "toothbrush", 0.7),
    ]
    assert warnings == ()


def test_what_is_broken_in_a_coco_file_is_told_and_the_rest_is_kept(video):
    broken = {
        **DATA_SET,
        "annotations": [
            {"image_id": 7, "category_id": 1, "bbox": [1, 2, 3]},
            {"image_id": 99, "category_id": 1, "bbox": [1, 2, 3, 4]},
            {"image_id": 7, "category_id": 5, "bbox": [1, 2, 3, 4]},
            {"image_id": 7, "category_id": 1, "bbox": [900, 2, 3, 4]},
            {"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 7},
            "text",
            {"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4]},
        ],
        "images": [*DATA_SET["images"], {"file_name": "no id"}, {"id": "abc", "file_name": "no number"}],
    }
    path = put(video, ".coco.json", json.dumps(broken))
    found, warnings = given(video)
    assert found == (seen(2_000, "person", (1, 2, 3, 4)),)
    assert [w.removeprefix(path.name + ":").split(":")[0] for w in warnings if "skipped" in w] == list("123456")
    assert any("images: item 3" in w for w in warnings)
    assert any("'abc' has neither a time nor a frame number" in w for w in warnings)


def test_a_coco_file_that_breaks_off_is_read_as_far_as_it_goes(video):
    whole = json.dumps([{"image_id": n, "category_id": 1, "bbox": [1, 1, 9, 9]} for n in range(10)])
    put(video, ".coco.json", whole[: len(whole) // 2])
    found, [warning] = given(video)
    assert 3 <= len(found) <= 5
    assert "not JSON after item" in warning and "left out" in warning


@pytest.mark.parametrize("content", ["", "nothing", "[]", "{}", "null", "3"])
def test_files_without_detections_bring_none(video, content):
    put(video, ".coco.json", content)
    put(video, ".vss.json", content)
    assert given(video)[0] == ()


def test_files_with_a_byte_order_mark_or_in_utf16_are_read(video):
    put(video, ".coco.json", json.dumps(DATA_SET).encode("utf-8-sig"))
    assert len(given(video)[0]) == 2
    put(video, ".coco.json", json.dumps(DATA_SET).encode("utf-16"))
    assert len(given(video)[0]) == 2


# --- DeepStream and VSS -------------------------------------------------------------------------------------------------


def message(at="2026-03-02T08:00:01.480123456Z", objects=("3|312.5|88|352.5|184|Person|#|||||0.87",), **more):
    return {"version": "4.0", "id": "37", "@timestamp": at, "sensorId": "dock", "objects": list(objects), **more}


def lines(*messages):
    return "\n".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in messages)


def test_deepstreams_short_form(video):
    objects = [
        "3|312.5|88|352.5|184|Person|#|male|45|black|none|formal|0.87",
        "18446744073709551615|10|20|30|40|TwoWheeler|#|||||||-0.1",
        "9|10|20|30|60|Vehicle|#|sedan|Bugatti|M|blue|CA 444|California|0.8|#|embedding|1,2,3",
        "12|10|20|30|60|Bag",
    ]
    put(video, ".deepstream.jsonl", lines(message(objects=objects)))
    assert given(video, start_ms=START) == (
        (
            seen(1_480, "person", (312.5, 88, 40, 96), 0.87, "3"),
            seen(1_480, "twowheeler", (10, 20, 20, 20)),
            seen(1_480, "vehicle", (10, 20, 20, 40), 0.8, "9"),
            seen(1_480, "bag", (10, 20, 20, 40), 1.0, "12"),
        ),
        (),
    )


BOX = {"leftX": 10, "topY": 20.0, "rightX": 40, "bottomY": 60}


@pytest.mark.parametrize(
    "thing",
    [
        {"id": "5", "type": "Person", "confidence": 0.5, "bbox": BOX},
        {"id": 5, "type": "person", "conf": 0.5, "bbox": {"lX": 10, "tY": 20, "rX": 40, "bY": 60}, "misc": []},
        {
            "id": 5,
            "person": {"confidence": 0.5},
            "bbox": {"topleftx": 10, "toplefty": 20, "bottomrightx": 40, "bottomrighty": 60},
        },
        {"trackId": 5, "label": "person", "confidence": "0.5", "bbox": {"x": 10, "y": 20, "width": 30, "height": 40}},
        {"id": 5, "class": "person", "confidence": 0.5, "bbox": {"left": 10, "top": 20, "width": 30, "height": 40}},
    ],
)
def test_objects_in_the_nested_forms(video, thing):
    put(video, ".deepstream.jsonl", lines(message(objects=[thing])))
    assert given(video, start_ms=START)[0] == (seen(1_480, "person", (10, 20, 30, 40), 0.5, "5"),)


def test_deepstreams_full_form_has_one_object_a_message(video):
    whole = {
        "messageid": "b1", "mdsversion": "1.0", "@timestamp": "2026-03-02T08:00:02.000Z", "sensor": {"id": "dock"},
        "object": {"id": "7", "vehicle": {"type": "sedan", "confidence": 0.9},
                   "bbox": {"topleftx": 1, "toplefty": 2, "bottomrightx": 4, "bottomrighty": 6}},
    }  # fmt: skip
    put(video, ".deepstream.json", json.dumps(whole, indent=1))
    assert given(video, start_ms=START)[0] == (seen(2_000, "vehicle", (1, 2, 3, 4), 0.9, "7"),)


FRAMES = [
    {"frameNo": 0, "timestamp": 0, "sensorId": "dock", "objects": []},
    {"frameNo": 25, "timestamp": 1_000_000_000, "sensorId": "dock",
     "objects": [{"id": 1, "type": "cup", "conf": 0.9, "bbox": {"lX": 1, "tY": 2, "rX": 4, "bY": 6}}]},
]  # fmt: skip


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        (".vss.json", json.dumps(FRAMES, indent=2)),
        (".vss.json", json.dumps({"version": "1", "frames": FRAMES})),
        (".vss.json", lines(*FRAMES)),
        (".vss.jsonl", lines(*FRAMES)),
    ],
)
def test_messages_in_a_list_in_an_object_or_a_line_each(video, ending, content):
    put(video, ending, content)
    assert given(video) == ((seen(1_000, "cup", (1, 2, 3, 4), 0.9, "1"),), ())


def test_of_several_sensors_the_videos_own_is_taken(video):
    put(
        video,
        ".deepstream.jsonl",
        lines(message(sensorId="gate"), message(sensorId="DOCK 1"), message(sensorId="yard")),
    )
    found, [warning] = given(video, start_ms=START)
    assert len(found) == 1
    assert "2 messages of other sensors (gate, yard) are left out" in warning
    put(video, ".meta.json", json.dumps({"camera": {"label": "gate"}, "start": "2026-03-02T08:00:00Z"}))
    assert len(given(video)[0]) == 2, "by the camera's label and by the file's name"


def test_without_a_start_frames_are_counted(video):
    put(video, ".deepstream.jsonl", lines(message()))
    assert given(video)[0][0].offset_ms == 37 * 40
    put(video, ".deepstream.jsonl", lines(message(id="abc")))
    found, [warning] = given(video)
    assert found == () and "needs the video's start" in warning


def test_what_is_broken_in_a_message_is_told_and_the_rest_is_kept(video):
    objects = [
        "3|1|2|3", "3|a|2|30|40|Person", "3|1e99|2|30|40|Person", "3|30|2|3|40|Person", 7, None,
        {"id": 1}, {"bbox": {"a": 1}}, {"bbox": {**BOX, "leftX": None}}, "3|1|2|31|42|Person",
    ]  # fmt: skip
    path = put(
        video,
        ".deepstream.jsonl",
        lines(message(objects=objects), "{", "[]", message(at="noon"), message(at="2026-03-02T07:00:00Z"),
              message(objects="x"), message(at=True, id=-4), message()),
    )  # fmt: skip
    found, warnings = given(video, start_ms=START)
    assert [d.box for d in found] == [Box(1, 2, 30, 40), Box(312.5, 88, 40, 96)]
    told = [warning.removeprefix(path.name + ":").split(":")[0] for warning in warnings]
    assert told == [*["1"] * 9, "2", "3", "4", "5", "6", "7"]


def test_hostile_nesting_does_not_end_the_reading(video):
    put(video, ".deepstream.jsonl", lines("[" * 100_000, '{"a":' * 100_000, message()))
    assert len(given(video, start_ms=START)[0]) == 1
    put(video, ".deepstream.jsonl", "")
    put(video, ".vss.json", "[" * 100_000)
    assert given(video)[0] == ()


# --- several files, and many ---------------------------------------------------------------------------------------------


def test_tracks_of_two_files_that_go_by_one_name_stay_two(video):
    put(video, ".tracks.jsonl", lines({"frame": 5, "track": 3, "class": "van", "box": [1, 2, 3, 4]}))
    put(video, ".deepstream.jsonl", lines(message()))
    assert [d.track for d in given(video, start_ms=START)[0]] == ["3", "deepstream.jsonl 3"]


def test_the_table_is_a_sequence_in_order_of_time():
    own = [seen(n % 7, f"c{n % 3}", (n, 1, 2, 3), n / 100, str(n % 5) if n % 2 else None) for n in range(50)]
    table = Detections(own)
    ordered = sorted(own, key=lambda d: d.offset_ms)
    assert list(table) == ordered and table == ordered and table != ordered[:-1]
    assert (table[0], table[-1], list(table[3:5])) == (ordered[0], ordered[-1], ordered[3:5])
    assert list(table.before(3)) == [d for d in ordered if d.offset_ms < 3]
    assert table.before(7) is table
    assert repr(table) == repr(Detections(own)) != repr(Detections(own[1:]))
    assert list(Detections()) == [] and not Detections() and repr(Detections()) == repr(Detections())


@pytest.mark.slow
@pytest.mark.parametrize("form", ["coco", "deepstream"])
def test_a_huge_file_is_streamed(video, form):
    """80,000 detections of some 8 MB of text: their table alone is kept, 64 bytes each, and never the text or its objects."""
    count = 80_000
    if form == "coco":
        path = put(video, ".coco.json", "")
        one = '{"image_id":%d,"category_id":1,"bbox":[1.25,2.5,30,40],"score":0.5,"attributes":{"occluded":false}}'
        with path.open("w") as file:
            file.write("[" + ",\n".join(one % n for n in range(count)) + "]")
    else:
        path = put(video, ".deepstream.jsonl", "")
        with path.open("w") as file:
            for n in range(count // 4):
                file.write(
                    json.dumps(message(at=n * 40_000_000, objects=["3|1.25|2.5|31|42|Person|#|||||0.5"] * 4)) + "\n"
                )
    tracemalloc.start()
    found = read_sidecars(video, PICTURE).detections
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == count
    assert peak < 20 << 20
