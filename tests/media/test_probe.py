from __future__ import annotations

import contextlib
import hashlib
import os
import wave

import av
import numpy as np
import pytest
from PIL import Image

from vgraph.errors import MediaError
from vgraph.media.frames import frames
from vgraph.media.probe import created_ms, probe


def test_facts_of_a_plain_film(films):
    path = films(count=90, sound=[(0, films.tone(3000))], metadata={"creation_time": "2026-03-02T08:15:00.000000Z"})
    video = probe(path)
    assert (video.duration_ms, video.picture.frames, video.picture.fps) == (3000, 90, 30.0)
    assert (video.picture.codec, video.picture.width, video.picture.height) == ("h264", 320, 180)
    assert (video.picture.rotation, video.picture.variable_rate) == (0, False)
    assert video.audio is not None
    assert (video.audio.codec, video.audio.sample_rate, video.audio.channels) == ("aac", 48_000, 1)
    assert video.created_ms == 1_772_439_300_000
    assert video.size == path.stat().st_size
    assert video.content_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert video.warnings == ()


@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv", "a.ts", "a.flv", "a.avi", "a.h264", "a.nut"])
def test_duration_and_rate_are_counted_the_same_in_every_container(films, name):
    video = probe(films(name))
    assert abs(video.duration_ms - 2000) <= 1
    assert (video.picture.frames, video.picture.variable_rate) == (60, False)
    assert video.picture.fps == pytest.approx(30, abs=0.01)


def test_a_film_without_sound_is_taken_and_said_to_have_none(films):
    video = probe(films())
    assert video.audio is None
    assert video.warnings == ("no sound track",)


def test_variable_frame_rate_is_noticed(films):
    video = probe(films(times_ms=[0, 40, 80, 500, 540, 2000]))
    assert video.picture.variable_rate
    assert video.picture.frames == 6
    assert video.picture.fps == pytest.approx(2.5)


def test_rounded_timestamps_are_no_variable_rate(films):
    assert not probe(films("a.mkv", rate=24)).picture.variable_rate
    assert not probe(films(times_ms=[round(i * 1000 / 29.97) for i in range(90)])).picture.variable_rate


def test_rotated_video_has_the_size_it_is_displayed_with(films):
    video = probe(films(count=5, rotation=90))
    assert (video.picture.width, video.picture.height, video.picture.rotation) == (180, 320, 90)


@pytest.mark.parametrize(
    "name",
    [
        "with several spaces.mp4",
        'it\'s "quoted" `here`.mp4',
        "🎥 камера 摄像头.mp4",
        "كاميرا-שלום.mp4",
        "2026-03-02T08:15:00.mp4",
        "http:x.mp4",
        "concat:a|b.mp4",
        "-i.mp4",
        "frame%03d.mp4",
        "new\nline.mp4",
        "#hash?query&x=[1]*.mp4",
    ],
)
def test_names_are_names_and_never_addresses_or_patterns(films, name):
    film = films("plain.mp4", count=10, sound=[(0, films.tone(300))])
    film = film.rename(film.with_name(name))
    video = probe(film)
    assert video.path == film
    assert [f.offset_ms for f in frames(video, 1000)] == [0]


def test_a_name_that_is_no_unicode_is_opened_or_refused_as_a_media_error(films):
    film = films("plain.mp4", count=3)
    odd = os.fsencode(film.parent) + b"/\xff\xfe.mp4"
    os.rename(film, odd)
    with contextlib.suppress(MediaError):
        assert probe(type(film)(os.fsdecode(odd))).picture.frames == 3


def refused(path, match):
    with pytest.raises(MediaError, match=match) as caught:
        probe(path)
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)


def test_missing(tmp_path):
    refused(tmp_path / "nowhere.mp4", "does not exist")


def test_a_folder(tmp_path):
    refused(tmp_path, "a folder or a device")


def test_empty(tmp_path):
    (tmp_path / "a.mp4").touch()
    refused(tmp_path / "a.mp4", "is empty")


@pytest.mark.parametrize("name", ["a.mp4", "a.avi", "a.mkv", "a.txt", "a.ts"])
@pytest.mark.parametrize(
    "content", [b"not a video at all\n" * 50, bytes(5000), b"\x00", b"%PDF-1.7\n" + bytes(range(256)) * 20]
)
def test_not_a_video(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MediaError):
        probe(tmp_path / name)


def test_a_playlist_is_not_followed(films):
    film = films("secret.ts")
    playlist = film.with_name("list.m3u8")
    playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n{film}\n#EXT-X-ENDLIST\n")
    refused(playlist, "not a video")
    script = film.with_name("list.mp4")
    script.write_text(f"ffconcat version 1.0\nfile {film.name}\n")
    refused(script, "not a video")


def test_an_index_that_was_never_written_is_named(films):
    path = films(count=100)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    refused(path, "moov")


def test_a_cut_off_film_with_its_index_in_front_is_taken_and_said_to_end_early(films):
    path = films("a.mp4", count=300)
    whole = path.with_name("fast.mp4")
    with av.open(str(path)) as source, av.open(str(whole), "w", options={"movflags": "faststart"}) as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    video = probe(whole)
    assert 2000 < video.duration_ms < 8000
    assert any("header declares" in warning for warning in video.warnings)
    assert [f.offset_ms for f in frames(video, 1000)][:3] == [0, 1000, 2000]


@pytest.mark.parametrize("name", ["a.mkv", "a.avi"])
def test_a_cut_off_film_ends_where_its_pictures_end(films, name):
    path = films(name, count=300)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    video = probe(path)
    assert 2000 < video.duration_ms < 8000
    assert any("header declares" in warning for warning in video.warnings)


def test_cut_off_after_the_header(films):
    path = films("a.mkv")
    path.write_bytes(path.read_bytes()[:600])
    with pytest.raises(MediaError, match=r"zero length|not a video|decoded"):
        probe(path)


def test_every_cut_of_a_film_is_a_film_or_a_media_error(films):
    for name in ("a.mp4", "a.mkv", "a.ts", "a.avi"):
        content = films(name, count=20).read_bytes()
        cut = films.folder / f"cut-{name}"
        for size in range(1, len(content), max(1, len(content) // 40)):
            cut.write_bytes(content[:size])
            try:
                video = probe(cut)
            except MediaError:
                continue
            assert list(frames(video, 100))


def test_zero_length(tmp_path):
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        container.start_encoding()
    refused(path, "zero length|no pictures|decoded")


def test_pictures_that_cannot_be_decoded(films):
    path = films("a.mkv", count=30)
    with av.open(str(path)) as container:
        spans = [(p.pos, p.size) for p in container.demux(video=0) if p.size]
    content = bytearray(path.read_bytes())
    for start, size in spans:
        content[start + 12 : start + size] = b"\xff" * (size - 12)
    path.write_bytes(content)
    try:
        probe(path)
    except MediaError as error:
        assert "decoded" in str(error)
        assert error.codec == "h264"


def test_only_sound(tmp_path, films):
    path = tmp_path / "a.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(16_000))
    refused(path, "only sound")
    for name, codec in [("a.m4a", "aac"), ("a.flac", "flac"), ("a.mka", "aac")]:
        with av.open(str(tmp_path / name), "w") as container:
            stream = container.add_stream(codec, rate=48_000, layout="mono")
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
            if codec == "flac":
                frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.int16), "s16", "mono")
            frame.sample_rate, frame.pts = 48_000, 0
            container.mux(stream.encode(frame))
            container.mux(stream.encode())
        refused(tmp_path / name, "only sound")


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.gif", "a.webp", "a.bmp", "a.tiff", "jpeg-named.mp4"])
def test_an_image_is_called_an_image(tmp_path, name):
    kind = "JPEG" if name.endswith((".mp4", ".jpg")) else None
    Image.fromarray(np.full((48, 64, 3), 90, np.uint8)).save(tmp_path / name, kind)
    refused(tmp_path / name, "is an image")


def test_an_image_named_like_a_numbered_series_is_not_taken_for_the_series(tmp_path):
    for name in ("frame%03d.jpg", "frame001.jpg"):
        Image.fromarray(np.full((48, 64, 3), 90, np.uint8)).save(tmp_path / name, "JPEG")
    refused(tmp_path / "frame%03d.jpg", "not a video|is an image")


def test_a_moving_gif_is_a_video(tmp_path, films):
    pictures = [Image.fromarray(films.bars(i, 80, 40)) for i in range(5)]
    pictures[0].save(tmp_path / "a.gif", save_all=True, append_images=pictures[1:], duration=200)
    video = probe(tmp_path / "a.gif")
    assert (video.duration_ms, video.picture.frames) == (1000, 5)


def test_a_cover_image_does_not_make_a_song_a_video(tmp_path, films):
    Image.fromarray(np.full((48, 64, 3), 90, np.uint8)).save(tmp_path / "cover.jpg")
    with (
        av.open(str(tmp_path / "song.m4a"), "w", format="mp4") as target,
        av.open(str(tmp_path / "cover.jpg")) as cover,
    ):
        sound = target.add_stream("aac", rate=48_000, layout="mono")
        picture = target.add_stream_from_template(cover.streams.video[0])
        picture.disposition = av.stream.Disposition.attached_pic
        frame = av.AudioFrame.from_ndarray(films.tone(1000)[None, :1024], "fltp", "mono")
        frame.sample_rate, frame.pts = 48_000, 0
        for packet in cover.demux(video=0):
            if packet.size:
                packet.stream = picture
                target.mux(packet)
        target.mux(sound.encode(frame))
        target.mux(sound.encode())
    refused(tmp_path / "song.m4a", "only sound|image")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_not_permitted(films):
    path = films(count=3)
    path.chmod(0)
    refused(path, "cannot be read")


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-03-02T08:15:00.000000Z", 1_772_439_300_000),
        ("2026-03-02T09:15:00+0100", 1_772_439_300_000),
        ("2026-03-02 08:15:00", 1_772_439_300_000),
        ("1904-01-01T00:00:00.000000Z", None),
        ("1970-01-01T00:00:00.000000Z", None),
        ("2019", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_creation_times_of_clocks_never_set_are_absent(text, ms):
    assert created_ms(text) == ms


def test_android_stamps_the_end_of_a_recording(films):
    tags = {"creation_time": "2026-03-02T08:15:02Z", "com.android.version": "14"}
    path = films("a.mkv", metadata=tags)
    with av.open(str(path)) as container:
        assert any(name.lower() == "com.android.version" for name in container.metadata)
    assert probe(path).created_ms == 1_772_439_300_000


def test_sound_that_goes_on_is_part_of_the_duration(films):
    video = probe(films(sound=[(0, films.tone(5000))]))
    assert 4900 < video.duration_ms < 5100
    assert any("sound goes on" in warning for warning in video.warnings)


def test_real_street_footage(footage):
    video = probe(footage("vtest.avi"))
    assert (video.duration_ms, video.picture.frames, video.picture.fps) == (79_500, 795, 10.0)
    assert (video.picture.width, video.picture.height, video.audio) == (768, 576, None)


def test_real_animated_footage(footage):
    video = probe(footage("bigbuckbunny.mp4"))
    assert (video.duration_ms, video.picture.codec, video.picture.width) == (5280, "h264", 1280)
    assert video.audio is not None
    assert video.audio.channels == 6
