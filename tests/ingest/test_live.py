"""Growing recordings from real sources: a file that is appended to, a folder that fills, HTTP, HLS and UDP."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import pytest

from tests.media.streaming import Files, Rtsp, grow, playlist, ts_bytes, write_ts
from vgraph.errors import UserError
from vgraph.ingest import Options, Site, Tools
from vgraph.ingest.live import Feed, Watch, named_sources, watch, watch_all
from vgraph.media.assets import Assets
from vgraph.media.live import Limits, source_of
from vgraph.models.offline import HashEmbedder
from vgraph.store import Store
from vgraph.types import Caption, Filters, IngestReport, Segment

HOME = Limits(allowed_hosts=("127.0.0.1",), idle_s=1.0, backoff_s=0.1, longest_backoff_s=0.2, piece_ms=2_000)
OPTIONS = Options(window_ms=2_000, frame_width=64)
BEGAN = 1_772_524_800_000


def site_of(store: Store, folder: Path) -> Site:
    tools = Tools(HashEmbedder())
    store.claim_embedding("text", tools.embedder.name, tools.embedder.dimension)
    return Site(store, tools, Assets(folder / "assets"), OPTIONS)


def feed_of(place: str, **more: Any) -> Feed:
    return Feed(source_of(place, HOME), "gate", **more)


def rows(store: Store, query: str, **binds: Any) -> list[Any]:
    return store.aql(query, binds).rows


def spans(store: Store) -> list[list[int]]:
    return rows(store, "FOR c IN chunks SORT c.index RETURN [c.index, c.offset_ms, c.end_offset_ms]")


@pytest.fixture
def files() -> Iterator[Files]:
    made = Files()
    yield made
    made.close()


def hls(files: Files, numbers: range, **more: Any) -> None:
    for n in numbers:
        files.files[f"/s{n}.ts"] = ("video/mp2t", ts_bytes(1, begin=n))
    text = playlist([f"s{n}.ts" for n in numbers], first=numbers.start, **more)
    files.files["/live.m3u8"] = ("application/vnd.apple.mpegurl", text)


def test_a_file_that_grows_is_one_document_whose_chunks_can_be_found_while_it_grows(
    store: Store, tmp_path: Path
) -> None:
    path, content, first = tmp_path / "growing.ts", ts_bytes(7), threading.Event()
    path.touch()

    def write() -> None:
        grow(path, content[: len(content) // 2], parts=7, pause=0.05).join()
        first.wait()
        grow(path, content[len(content) // 2 :], parts=7, pause=0.05).join()

    threading.Thread(target=write, daemon=True).start()
    patient = replace(HOME, idle_s=5.0)
    found: list[int] = []
    for _ in watch(feed_of(str(path), begin_ms=BEGAN), site_of(store, tmp_path), Watch(patient)):
        vector = [1.0] + [0.0] * 63
        found.append(len(store.hybrid_chunks(vector, "nothing", Filters(), k=10, leg_k=10, rrf_k=60)))
        first.set()  # what was found first was found while the rest had not been written
    assert found == [1, 2, 3, 4]
    assert spans(store) == [[0, 0, 2_000], [1, 2_000, 4_000], [2, 4_000, 6_000], [3, 6_000, 7_000]]
    (document,) = store.documents()
    assert (document["kind"], document["state"], document["start_ms"]) == ("stream", "complete", BEGAN)
    assert document["duration_ms"] == 7_000 and document["end_ms"] == BEGAN + 7_000 and document["gaps"] == []
    assert store.counts()["NEXT_CHUNK"] == 3
    clips = rows(store, "FOR c IN chunks SORT c.index RETURN c.clip")
    assert all(Path(clip["uri"]).exists() and clip["base_ms"] == 2_000 * n for n, clip in enumerate(clips))


def test_the_same_file_again_adds_only_what_is_new(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "growing.ts"
    path.write_bytes(ts_bytes(4))
    site = site_of(store, tmp_path)
    list(watch(feed_of(str(path), begin_ms=BEGAN), site, Watch(HOME)))
    assert list(watch(feed_of(str(path), begin_ms=BEGAN), site, Watch(HOME))) == []
    path.write_bytes(ts_bytes(6))
    list(watch(feed_of(str(path), begin_ms=BEGAN), site, Watch(HOME)))
    assert spans(store) == [[0, 0, 2_000], [1, 2_000, 4_000], [2, 4_000, 6_000]]
    assert len(store.documents()) == 1


def test_a_file_that_tells_no_time_is_said_to_be_dated_by_its_reading(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "growing.ts"
    path.write_bytes(ts_bytes(4))
    first, *_ = watch(feed_of(str(path)), site_of(store, tmp_path), Watch(HOME))
    assert len([text for text in first.warnings if "--start" in text]) == 1
    assert any("--start" in text for text in store.documents()[0]["warnings"])


def test_a_playlist_that_ends_is_read_to_its_end_at_its_own_times(store: Store, files: Files, tmp_path: Path) -> None:
    hls(files, range(6), ended=True, at="2026-03-03T08:00:00Z")
    reports = list(watch(feed_of(f"{files.url}/live.m3u8"), site_of(store, tmp_path), Watch(HOME)))
    assert len(reports) == 3 and spans(store)[-1] == [2, 4_000, 6_000]
    (document,) = store.documents()
    assert document["start_ms"] == BEGAN and document["uri"] == f"{files.url}/live.m3u8"


def test_segments_that_are_lost_are_a_gap_that_coverage_shows(store: Store, files: Files, tmp_path: Path) -> None:
    hls(files, range(2), at="2026-03-03T08:00:00Z")

    def go_on() -> None:
        time.sleep(1.0)
        hls(files, range(6, 8), ended=True, at="2026-03-03T08:00:06Z")

    thread = threading.Thread(target=go_on)
    thread.start()
    list(watch(feed_of(f"{files.url}/live.m3u8"), site_of(store, tmp_path), Watch(HOME)))
    thread.join()
    (document,) = store.documents()
    assert document["gaps"] == [[2_000, 6_000]] and document["duration_ms"] == 8_000
    stretches = [(row["start_ms"] - BEGAN, row["end_ms"] - BEGAN) for row in store.coverage(Filters())]
    assert stretches == [(0, 2_000), (6_000, 8_000)]
    inside = Filters(start_ms=BEGAN + 3_000, end_ms=BEGAN + 5_000)
    assert store.coverage(inside) == []
    assert rows(store, "FOR e IN NEXT_CHUNK RETURN e.gap_ms") == [4_000]


def test_a_connection_that_is_lost_is_made_anew_and_told(store: Store, files: Files, tmp_path: Path) -> None:
    stop, asked = threading.Event(), []

    def stream(request: Any) -> None:
        asked.append(time.monotonic())
        if len(asked) == 1:
            request.send_error(503)
            return
        request.send_response(200)
        request.send_header("content-type", "video/mp2t")
        request.end_headers()
        request.wfile.write(ts_bytes(2.5))

    files.files["/cam.ts"] = stream
    told: list[str] = []
    for report in watch(feed_of(f"{files.url}/cam.ts"), site_of(store, tmp_path), Watch(HOME, stop=stop)):
        told += report.warnings
        if len(asked) >= 3:
            stop.set()
    assert any("answered 503" in text for text in told) and len(asked) >= 3
    assert len(store.documents()) == 1


def test_pictures_over_udp_arrive(store: Store, tmp_path: Path) -> None:
    stop = threading.Event()

    def send() -> None:
        time.sleep(0.3)
        with av.open("udp://127.0.0.1:45671?pkt_size=1316", "w", format="mpegts") as container:
            write_ts(container, 5, pace=0.5)

    sender = threading.Thread(target=send)
    sender.start()
    reports: list[IngestReport] = []
    for report in watch(feed_of("udp://127.0.0.1:45671"), site_of(store, tmp_path), Watch(HOME, stop=stop)):
        reports.append(report)
        stop.set()
    sender.join()
    assert reports and store.documents()[0]["uri"] == "udp://127.0.0.1:45671"


def test_rtsp_is_read_and_the_connection_made_anew_when_it_ends(store: Store, tmp_path: Path) -> None:
    camera, stop = Rtsp(3.5), threading.Event()
    reports: list[IngestReport] = []
    for report in watch(feed_of(camera.url), site_of(store, tmp_path), Watch(HOME, stop=stop)):
        reports.append(report)
        if sum(path.endswith("/cam") for path in camera.paths) > 5:
            stop.set()
    camera.close()
    (document,) = store.documents()
    assert document["uri"] == camera.url and document["segments"] == len(spans(store)) >= 2
    assert sum("track1" in path for path in camera.paths) >= 2


def test_a_piece_that_finds_no_room_is_left_out_and_told(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "growing.ts"
    path.write_bytes(ts_bytes(10))

    class Slow:
        name = "slow"

        def caption(self, segment: Segment, frames: object, transcript: str, marks: object = ()) -> tuple[Caption, ...]:
            time.sleep(1.0)
            return ()

    plain = site_of(store, tmp_path)
    site = replace(plain, tools=replace(plain.tools, captioner=Slow()))
    told: list[str] = []
    for report in watch(feed_of(str(path), begin_ms=BEGAN), site, Watch(HOME, waiting=1)):
        told += report.warnings
    assert any("found no room" in text for text in told)
    assert store.documents()[0]["gaps"] or store.documents()[0]["duration_ms"] < 10_000
    assert 1 <= len(spans(store)) < 5


def test_a_folder_that_fills_is_one_document_and_its_files_stay(store: Store, tmp_path: Path) -> None:
    folder, stop = tmp_path / "inbox", threading.Event()
    folder.mkdir()

    def put(minute: int) -> None:
        (folder / f"gate_2026-03-03_08-{minute:02d}-00.ts").write_bytes(ts_bytes(2, begin=minute))

    put(0)
    site = site_of(store, tmp_path)
    for report in watch(feed_of(str(folder)), site, Watch(HOME, stop=stop)):
        if report.chunks and len(spans(store)) == 1:
            put(1)
        else:
            stop.set()
    assert spans(store) == [[0, 0, 2_000], [1, 60_000, 62_000]]
    assert store.documents()[0]["gaps"] == [[2_000, 60_000]]
    assert len(list(folder.iterdir())) == 2
    assert rows(store, "FOR c IN chunks SORT c.index RETURN c.clip.uri")[1].endswith("08-01-00.ts")


def test_a_piece_that_was_left_behind_is_read_first(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "growing.ts"
    path.write_bytes(ts_bytes(4))
    site, feed = site_of(store, tmp_path), feed_of(str(path), begin_ms=BEGAN)
    incoming = site.assets.incoming(feed.document)
    incoming.mkdir(parents=True)
    with av.open(str(incoming / f"{BEGAN}.mkv"), "w", format="matroska") as container:
        write_ts(container, 2)
    (incoming / ".1.part").write_bytes(b"cut off")
    list(watch(feed, site, Watch(HOME)))
    assert spans(store) == [[0, 0, 2_000], [1, 2_000, 4_000]]
    assert not list(incoming.iterdir())


def test_a_damaged_piece_is_told_and_passed_over(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "growing.ts"
    path.write_bytes(ts_bytes(2))
    site, feed = site_of(store, tmp_path), feed_of(str(path), begin_ms=BEGAN)
    incoming = site.assets.incoming(feed.document)
    incoming.mkdir(parents=True)
    (incoming / f"{BEGAN - 10_000}.mkv").write_bytes(b"no video at all")
    (report,) = list(watch(feed, site, Watch(HOME)))
    assert any("not a video" in text for text in report.warnings)


def test_several_are_watched_at_once(store: Store, tmp_path: Path) -> None:
    feeds = []
    for name in ("dock", "gate"):
        path = tmp_path / f"{name}.ts"
        path.write_bytes(ts_bytes(4))
        feeds.append(Feed(source_of(str(path), HOME), name, begin_ms=BEGAN))
    done = list(watch_all(feeds, site_of(store, tmp_path), Watch(HOME)))
    assert sorted(report.camera for report in done) == ["dock", "dock", "gate", "gate"]
    assert {d["camera"]: d["duration_ms"] for d in store.documents()} == {"dock": 4_000, "gate": 4_000}


def test_what_is_older_than_it_is_kept_goes_and_the_rest_stays(store: Store, tmp_path: Path) -> None:
    from vgraph.ingest.check import check
    from vgraph.ingest.retention import expire

    path = tmp_path / "growing.ts"
    path.write_bytes(ts_bytes(8))
    site = site_of(store, tmp_path)
    list(watch(feed_of(str(path), begin_ms=BEGAN), site, Watch(HOME)))
    store.removal.keep("gate", 5_000)
    (expired,) = expire(store, site.assets, BEGAN + 9_000)
    assert not expired.whole and expired.removed["chunks"] == 2
    assert spans(store) == [[2, 4_000, 6_000], [3, 6_000, 8_000]]
    assert [row["start_ms"] - BEGAN for row in store.coverage(Filters())] == [4_000]
    assert check(store, site.assets) == ()
    assert expire(store, site.assets, BEGAN + 9_000) == []
    (expired,) = expire(store, site.assets, BEGAN + 14_000)
    assert expired.whole and not store.documents() and check(store, site.assets) == ()
    assert not list(site.assets.names())


def test_sources_are_named() -> None:
    assert named_sources(["dock=rtsp://a/1", "gate=/data/x=y.ts"], None) == [
        ("dock", "rtsp://a/1"),
        ("gate", "/data/x=y.ts"),
    ]
    assert named_sources(["http://a/b?x=1"], "dock") == [("dock", "http://a/b?x=1")]
    for wrong in (["rtsp://a/1"], ["http://a/b?x=1"]):
        with pytest.raises(UserError, match="CAMERA=SOURCE"):
            named_sources(wrong, None)
    with pytest.raises(UserError, match="one source"):
        named_sources(["a", "b"], "dock")


def test_a_citation_leads_into_the_piece_that_shows_it(store: Store, tmp_path: Path) -> None:
    from vgraph.agents.cite import cite
    from vgraph.retrieve import Profile, retrieve

    path = tmp_path / "growing.ts"
    path.write_bytes(ts_bytes(6))

    class Tells:
        name = "tells"

        def caption(self, segment: Segment, frames: object, transcript: str, marks: object = ()) -> tuple[Caption, ...]:
            return (Caption(segment.offset_ms, segment.end_offset_ms, f"A van waits, part {segment.index}.", "tells"),)

    plain = site_of(store, tmp_path)
    site = replace(plain, tools=replace(plain.tools, captioner=Tells()))
    list(watch(feed_of(str(path), begin_ms=BEGAN), site, Watch(HOME)))
    vector = plain.tools.embedder.embed(["van waits"])[0].tolist()
    evidence = retrieve("Where does the van wait?", store, lambda text: vector, Filters(), Profile())
    last = max(evidence.chunks, key=lambda chunk: chunk.offset_ms)
    citation = cite(last, None)
    assert (last.offset_ms, citation.offset_ms, citation.end_offset_ms) == (4_000, 0, 2_000)
    assert (
        citation.start_ms == BEGAN + 4_000
        and Path(citation.uri).name == "0000004000.mkv"
        and Path(citation.uri).exists()
    )
