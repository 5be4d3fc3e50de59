from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from vgraph.errors import MediaError, UserError
from vgraph.media.frames import frames
from vgraph.media.probe import probe

CONTAINERS = ["film.mp4", "film.mov", "film.mkv", "film.ts", "film.flv", "film.avi", "film.h264"]


def chosen(path, every_ms, films, **span):
    return [(f.offset_ms, films.number_of(f.image)) for f in frames(probe(path), every_ms, **span)]


def displayed(path):
    """Outside oracle: every picture in order, by plain decoding, at its distance from the first, in ms."""
    with av.open(str(path)) as container:
        times = [float(f.pts * f.time_base) * 1000 for f in container.decode(video=0)]
    return [round(t - times[0]) for t in times]


@pytest.mark.parametrize("name", [n for n in CONTAINERS if n not in {"film.h264", "film.avi"}])
@pytest.mark.parametrize("every_ms", [1, 100, 500, 700, 1900])
def test_each_picture_is_the_first_at_or_after_its_time(films, name, every_ms):
    path = films(name)
    times = displayed(path)
    expected = []
    for due in range(0, times[-1] + 1, every_ms):
        number = next(i for i, time in enumerate(times) if time >= due)
        if not expected or number > expected[-1][1]:
            expected.append((times[number], number))
    assert chosen(path, every_ms, films) == expected


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize(
    ("start_ms", "end_ms"), [(0, 700), (333, 1500), (501, 502), (1000, 2000), (1900, None), (5000, None)]
)
def test_a_span_gives_the_pictures_that_a_reading_from_the_front_gives(films, name, start_ms, end_ms):
    path = films(name, gop=12)
    whole = [(t, n) for t, n in chosen(path, 1, films) if start_ms <= t < (end_ms or 10**9)]
    assert chosen(path, 1, films, start_ms=start_ms, end_ms=end_ms) == whole


@pytest.mark.parametrize("name", CONTAINERS)
def test_the_first_picture_is_at_0_whatever_the_stream_says(films, name):
    assert chosen(films(name), 10_000, films) == [(0, 0)]


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv", "film.ts"])
@pytest.mark.parametrize("start_ms", [7_000, 3_600_000])
def test_a_stream_that_starts_late_is_counted_from_its_first_picture(films, name, start_ms):
    path = films(name, start_ms=start_ms)
    assert chosen(path, 500, films) == [(0, 0), (500, 15), (1000, 30), (1500, 45)]
    assert chosen(path, 500, films, start_ms=1000) == [(1000, 30), (1500, 45)]
    assert probe(path).duration_ms == pytest.approx(2000, abs=1)


def test_negative_timestamps_are_counted_from_the_first_picture(films):
    path = films("film.nut", start_ms=-1000)
    assert chosen(path, 500, films) == [(0, 0), (500, 15), (1000, 30), (1500, 45)]
    assert chosen(path, 500, films, start_ms=1500) == [(1500, 45)]


@pytest.mark.parametrize("every_ms", [400, 1000, 3000])
@pytest.mark.parametrize(
    "options",
    [
        {"x264-params": "open-gop=1:keyint=20:min-keyint=20:bframes=3:b-adapt=0"},
        {"x264-params": "intra-refresh=1:keyint=20"},
        {"x264-params": "keyint=1"},
        {"x264-params": "keyint=400:scenecut=0"},
    ],
    ids=["open groups", "no true key frames", "only key frames", "one key frame"],
)
@pytest.mark.parametrize("name", ["film.mp4", "film.mkv", "film.ts"])
def test_skipping_what_is_not_needed_does_not_change_the_pictures(films, name, options, every_ms):
    path = films(name, count=200, options=options)
    numbers = [n for _, n in chosen(path, every_ms, films)]
    step = every_ms * 30 / 1000
    assert numbers == [int(-(-i * step // 1)) for i in range(len(numbers))]
    assert len(numbers) == -(-6667 // every_ms)
    assert next(n for _, n in chosen(path, every_ms, films, start_ms=2500)) == 75


def test_skipping_decodes_less(films, monkeypatch):
    from vgraph.media import frames as room

    fed = []
    plain = room.decode_pictures
    monkeypatch.setattr(room, "decode_pictures", lambda s, p: fed.append(p) or plain(s, p))
    video = probe(films(count=300, gop=10))
    assert [f.offset_ms for f in frames(video, 2000)] == [0, 2000, 4000, 6000, 8000]
    assert len(fed) < 150


def test_variable_frame_rate_keeps_presentation_times(films):
    times = [0, 40, 1000, 1010, 1020, 2500, 2600, 9000]
    path = films(times_ms=times)
    assert [t for t, _ in chosen(path, 1, films)] == times
    assert chosen(path, 1000, films) == [(0, 0), (1000, 2), (2500, 5), (9000, 7)]


def test_a_still_picture_without_successors_ends_quietly(films):
    assert chosen(films(count=1), 1000, films) == [(0, 0)]


def mark(number):
    """Red top left, green top right, blue bottom left, white bottom right."""
    image = np.zeros((120, 160, 3), np.uint8)
    image[:60, :80, 0] = image[:60, 80:, 1] = image[60:, :80, 2] = 255
    image[60:, 80:] = 255
    return image


def corners(image):
    height, width = image.shape[:2]
    names = {(1, 0, 0): "red", (0, 1, 0): "green", (0, 0, 1): "blue", (1, 1, 1): "white"}
    spots = [
        (height // 4, width // 4),
        (height // 4, 3 * width // 4),
        (3 * height // 4, width // 4),
        (3 * height // 4, 3 * width // 4),
    ]
    return [names[tuple(int(v > 128) for v in image[y, x])] for y, x in spots]


@pytest.mark.parametrize(
    ("rotation", "expected"),
    [
        (0, ["red", "green", "blue", "white"]),
        (90, ["blue", "red", "white", "green"]),
        (180, ["white", "blue", "green", "red"]),
        (270, ["green", "white", "red", "blue"]),
    ],
)
@pytest.mark.parametrize("name", ["film.mp4", "film.mov", "film.mkv"])
def test_rotated_video_is_shown_upright(films, name, rotation, expected):
    path = films(name, count=5, size=(160, 120), rotation=rotation, pictures=mark)
    video = probe(path)
    frame = next(iter(frames(video, 1000)))
    assert corners(frame.image) == expected
    assert frame.image.shape[:2] == (video.picture.height, video.picture.width)
    assert video.picture.rotation == rotation
    narrow = next(iter(frames(video, 1000, width=60)))
    assert narrow.image.shape[1] == 60
    assert corners(narrow.image) == expected


def test_width_shrinks_and_never_enlarges(films):
    video = probe(films(count=3))
    assert next(iter(frames(video, 1000, width=160))).image.shape == (90, 160, 3)
    assert next(iter(frames(video, 1000, width=999))).image.shape == (180, 320, 3)


@pytest.mark.parametrize("wrong", [{"every_ms": 0}, {"start_ms": -1}, {"end_ms": 5, "start_ms": 9}, {"width": 0}])
def test_wrong_spans_are_the_callers_error(films, wrong):
    video = probe(films(count=2))
    with pytest.raises(UserError, match="must be"):
        frames(video, **{"every_ms": 1000, **wrong})


@pytest.mark.parametrize("name", ["film.mkv", "film.ts", "film.avi", "film.flv"])
def test_a_truncated_file_gives_what_can_be_decoded(films, name):
    path = films(name, count=300)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    numbers = [n for _, n in chosen(path, 1000, films)]
    assert 3 <= len(numbers) <= 7
    assert numbers[:3] in ([0, 30, 60], [0, 31, 61])


def test_damage_in_the_middle_is_passed_over_and_told(films):
    path = films("film.mp4", count=300, gop=30)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4000] = np.random.default_rng(3).bytes(4000)
    path.write_bytes(content)
    told: list[str] = []
    offsets = [f.offset_ms for f in frames(probe(path), 100, warn=told.append)]
    assert offsets[0] == 0
    assert offsets[-1] > 9500
    assert offsets == sorted(set(offsets))


def leap(path, number):
    """Add three hours (2^30 ticks) to the presentation time of one packet of an MPEG transport stream."""
    with av.open(str(path)) as container:
        place = [packet.pos for packet in container.demux(video=0) if packet.size][number]
    content = bytearray(path.read_bytes())
    content[content.index(b"\0\0\1\xe0", place) + 9] |= 0x02
    path.write_bytes(content)


@pytest.mark.parametrize("number", [20, 59], ids=["middle", "last"])
def test_a_packet_with_a_time_far_out_of_place_does_not_swallow_the_rest(films, number):
    path = films("a.ts", b_frames=0)
    leap(path, number)
    video = probe(path)
    assert video.duration_ms == pytest.approx(2000, abs=40)
    assert any("out of place" in warning for warning in video.warnings)
    assert not video.picture.variable_rate or number == 20
    for span in ({}, {"end_ms": 1950}, {"start_ms": 100}):
        numbers = [n for _, n in chosen(path, 100, films, **span)]
        assert numbers == sorted(numbers)
        assert numbers[-1] == 57
        assert len(numbers) >= 17


def test_a_file_that_vanished_after_probing_is_a_media_error(films):
    path = films(count=3)
    video = probe(path)
    path.unlink()
    with pytest.raises(MediaError, match="No such file"):
        list(frames(video, 1000))


def test_reading_may_stop_early_and_start_again(films):
    video = probe(films())
    for _ in range(20):
        assert next(iter(frames(video, 100))).offset_ms == 0


def test_real_street_footage_gives_a_picture_a_second(footage):
    video = probe(footage("vtest.avi"))
    assert [f.offset_ms for f in frames(video, 1000, width=128)] == list(range(0, 79_500, 1000))


def test_real_animated_footage_agrees_with_plain_decoding(footage):
    path: Path = footage("bigbuckbunny.mp4")
    video = probe(path)
    assert [f.offset_ms for f in frames(video, 1, width=64)] == displayed(path)
    assert [f.offset_ms for f in frames(video, 1000, start_ms=3000, width=64)] == [3000, 4000, 5000]
