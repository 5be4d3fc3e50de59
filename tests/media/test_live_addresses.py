"""Which addresses may be reached, and what playlists may lead to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.media.streaming import Files, playlist, ts_bytes
from vgraph.errors import MediaError, UserError
from vgraph.media.live import Limits, Recording, pieces, source_of
from vgraph.media.live.addresses import checked_address
from vgraph.media.live.hls import best_variant, parsed
from vgraph.media.live.http import get

HOME = Limits(allowed_hosts=("127.0.0.1",), idle_s=1.0, backoff_s=0.05, longest_backoff_s=0.1, piece_ms=1_000)


@pytest.fixture
def files() -> Iterator[Files]:
    made = Files()
    yield made
    made.close()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "10.0.0.7", "192.168.1.20", "172.16.5.5", "169.254.169.254", "0.0.0.0", "[::1]", "[fe80::1]", "[fd00::1]",
        "[::ffff:10.0.0.7]", "224.0.0.1", "100.64.0.1", "2130706433", "0x7f.1",
    ],
)  # fmt: skip
def test_private_places_are_refused_unless_allowed(host: str) -> None:
    with pytest.raises(UserError, match="VGRAPH_LIVE__ALLOWED_HOSTS"):
        checked_address(f"rtsp://user:secret@{host}:554/cam")


@pytest.mark.parametrize("entry", ["192.168.1.20", "192.168.0.0/16", "*"])
def test_allowed_hosts_are_names_numbers_and_networks(entry: str) -> None:
    address = checked_address("rtsp://user:secret@192.168.1.20:8554/cam?token=1", [entry])
    assert address.plain == "rtsp://192.168.1.20:8554/cam"
    assert address.pinned == "rtsp://user:secret@192.168.1.20:8554/cam?token=1"
    with pytest.raises(UserError):
        checked_address("rtsp://10.0.0.1/cam", [] if entry == "*" else [entry])


def test_public_numbers_pass() -> None:
    assert checked_address("https://93.184.216.34/live.m3u8").ip == "93.184.216.34"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "no protocol"),
        ("concat:/etc/passwd|http://a", "no protocol"),
        ("ftp://93.184.216.34/a.ts", "no protocol"),
        ("http:///a.ts", "names no host"),
        ("udp://93.184.216.34", "needs a port"),
        ("http://93.184.216.34:99999/", "not an address"),
        ("http://93.184.216.34/a b", "no spaces"),
    ],
)
def test_other_addresses_are_refused(url: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        checked_address(url, ["*"])


def test_a_name_that_leads_nowhere_is_a_media_error() -> None:
    with pytest.raises(MediaError, match="leads nowhere"):
        checked_address("http://no-such-host.invalid/a.ts")


def test_a_redirect_is_checked_like_the_address_it_came_from(files: Files) -> None:
    def sent_on(request: object) -> None:
        request.send_response(302)  # type: ignore[attr-defined]
        request.send_header("location", "http://10.0.0.1/secret")  # type: ignore[attr-defined]
        request.end_headers()  # type: ignore[attr-defined]

    files.files["/a.ts"] = sent_on
    with pytest.raises(MediaError, match=r"10\.0\.0\.1"):
        get(f"{files.url}/a.ts", ["127.0.0.1"], 2.0)


def test_a_reply_that_is_no_200_is_told_without_the_password(files: Files) -> None:
    url = files.url.replace("//", "//user:secret@")
    with pytest.raises(MediaError, match="answered 404") as caught:
        get(f"{url}/none.ts?token=hidden", ["127.0.0.1"], 2.0)
    assert "secret" not in str(caught.value) and "hidden" not in str(caught.value)


# --- playlists --------------------------------------------------------------------------------------------------------


def taken(place: str, folder: Path) -> tuple[int, list[str]]:
    """Pieces that came of a source within a moment, and what was told."""
    told: list[str] = []
    stop = threading.Event()
    timer = threading.Timer(1.5, stop.set)
    timer.start()
    found = list(pieces(source_of(place, HOME), folder, HOME, Recording(stop, told.append)))
    timer.cancel()
    return len(found), told


@pytest.mark.parametrize(
    "segment",
    [
        "file:///etc/passwd",
        "/etc/passwd",
        "concat:a.ts|b.ts",
        "http://10.0.0.1/s.ts",
        "http://localhost/s.ts",
        "data:text/plain,x",
        "gopher://x/",
    ],
)
def test_a_playlist_reaches_no_file_and_no_other_host(segment: str, files: Files, tmp_path: Path) -> None:
    files.files["/live.m3u8"] = ("application/vnd.apple.mpegurl", playlist([segment], ended=True))
    count, told = taken(f"{files.url}/live.m3u8", tmp_path)
    assert count == 0 and told
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_playlist_in_disguise_is_not_followed_by_the_demuxer(files: Files, tmp_path: Path) -> None:
    """A body that only FFmpeg would take for a script of other files."""
    for text in ("ffconcat version 1.0\nfile /etc/passwd\n", "<MPD></MPD>", "v=0\nm=video 0 RTP/AVP 96\n"):
        files.files["/a.ts"] = ("video/mp2t", text.encode())
        count, told = taken(f"{files.url}/a.ts", tmp_path)
        assert count == 0 and told


def test_a_growing_file_that_is_a_playlist_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "growing.ts"
    path.write_bytes(playlist(["/etc/passwd"], ended=True))
    count, told = taken(str(path), tmp_path / "out")
    assert count == 0 and told


def test_the_variant_of_the_highest_bandwidth_is_read() -> None:
    text = (
        "#EXTM3U\n#EXT-X-STREAM-INF:AVERAGE-BANDWIDTH=9999999,BANDWIDTH=100\nlow.m3u8\n"
        "#EXT-X-STREAM-INF:BANDWIDTH=500\nhigh.m3u8\n"
    )
    assert best_variant(text, "http://a/live/master.m3u8") == "http://a/live/high.m3u8"
    assert best_variant("#EXTM3U\n#EXTINF:1,\ns.ts\n", "http://a/x") is None


def test_a_playlist_tells_numbers_times_breaks_and_its_beginning() -> None:
    text = (
        '#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI="init.mp4"\n'
        "#EXT-X-PROGRAM-DATE-TIME:2026-03-03T09:00:00+01:00\n#EXTINF:4.0,\na.m4s\n#EXT-X-DISCONTINUITY\n#EXTINF:nonsense,\nb.m4s\n"
    )
    found = parsed(text, "http://a/live/p.m3u8")
    first, second = found.segments
    assert (first.number, first.at_ms, first.breaks, first.start_with) == (
        7,
        1_772_524_800_000,
        False,
        "http://a/live/init.mp4",
    )
    assert (second.number, second.url, second.breaks, second.seconds) == (8, "http://a/live/b.m4s", True, 0.0)
    assert not found.ended and found.target_s == 4.0


@pytest.mark.parametrize(
    ("line", "why"), [("#EXT-X-KEY:METHOD=AES-128,URI=\"k\"", "encrypted"), ("#EXT-X-BYTERANGE:10@0", "byte ranges")]
)  # fmt: skip
def test_what_is_not_read_is_told(line: str, why: str) -> None:
    with pytest.raises(MediaError, match=why):
        parsed(f"#EXTM3U\n{line}\n#EXTINF:1,\ns.ts\n", "http://a/p.m3u8")
    with pytest.raises(MediaError, match="is no playlist"):
        parsed("<html>", "http://a/p.m3u8")


def test_fragmented_mp4_segments_are_read_with_their_beginning(files: Files, tmp_path: Path) -> None:
    import io

    import av

    from tests.media.streaming import write_ts

    buffer = io.BytesIO()
    with av.open(
        buffer, "w", format="mp4", options={"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    ) as container:
        write_ts(container, 3)
    content = buffer.getvalue()
    cut = content.index(b"moof") - 4
    files.files["/init.mp4"] = ("video/mp4", content[:cut])
    files.files["/a.m4s"] = ("video/mp4", content[cut:])
    text = playlist(["a.m4s"], ended=True).replace(b"#EXTINF", b'#EXT-X-MAP:URI="init.mp4"\n#EXTINF', 1)
    files.files["/live.m3u8"] = ("application/vnd.apple.mpegurl", text)
    count, told = taken(f"{files.url}/live.m3u8", tmp_path)
    assert count == 3 and not told


def test_a_stream_without_pictures_is_told(files: Files, tmp_path: Path) -> None:
    files.files["/a.ts"] = ("video/mp2t", b"\x00" * 4096)
    count, told = taken(f"{files.url}/a.ts", tmp_path)
    assert count == 0 and told


def test_pieces_begin_at_key_frames_and_join(files: Files, tmp_path: Path) -> None:
    from vgraph.media.frames import frames
    from vgraph.media.probe import probe

    path = tmp_path / "whole.ts"
    path.write_bytes(ts_bytes(5, begin=100.0))
    stop = threading.Event()
    found = list(pieces(source_of(str(path), HOME), tmp_path / "out", HOME, Recording(stop), begin_ms=1_000))
    assert [piece.start_ms for piece in found] == [1_000, 2_000, 3_000, 4_000, 5_000]
    for number, piece in enumerate(found):
        video = probe(piece.path)
        assert (video.duration_ms, video.picture.frames) == (1_000, 10)
        (first, *_) = frames(video, 1_000)
        assert abs(int(first.image[0, 0, 0]) - (100 + number) * 37 % 255) < 6
