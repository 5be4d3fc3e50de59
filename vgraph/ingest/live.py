"""Recordings that are still growing: each piece is read as soon as it is there, and its chunks join the document they belong to.

Taking down runs in a thread of its own and never waits for the models: pieces wait on disk, and what does not find room any more is
told and shows as a gap. A run that was killed leaves pieces behind; the next one reads them first.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vgraph.errors import MediaError, Stopped, UserError
from vgraph.ingest.calls import Calls, concerning
from vgraph.ingest.clock import told_start
from vgraph.ingest.following import followed
from vgraph.ingest.graph import Clip, Place, camera_record, document_delta, document_record
from vgraph.ingest.hearing import heard
from vgraph.ingest.job import Job, Notes, seal_of
from vgraph.ingest.keys import camera_key, chunk_key, content_key
from vgraph.ingest.ledger import configurations
from vgraph.ingest.opening import Site, check_calendar, facts
from vgraph.ingest.options import Tools
from vgraph.ingest.pipeline import NOT_STORED, costs, embed_renamed, outcome_of, see
from vgraph.ingest.place import place_of
from vgraph.ingest.remembered import remembering
from vgraph.ingest.retention import expire
from vgraph.media.live import Limits, Piece, Recording, Source, pieces
from vgraph.media.probe import probe
from vgraph.media.segments import windows
from vgraph.types import CameraInfo, GraphDelta, IngestReport, Segment, Sidecars, StartSource, StartTime, Video

GAP_MS = 1_000
"""Less than this between two pieces is the jitter of clocks, and no gap."""
EXPIRES_MS = 60_000
"""How often what is older than it is kept is removed."""
LEAST_MS = 100
"""Less of a piece that is new is nothing new."""
NOTHING_BESIDE = Sidecars()
UNDATED = "the file tells no time: it is taken to have begun when it was first read; --start says when it did"


@dataclass(frozen=True, slots=True)
class Feed:
    """A growing recording to be watched: from where, as which camera. `begin_ms` is when a file began that tells no time (UTC)."""

    source: Source
    camera: str
    tz: str | None = None
    begin_ms: int | None = None

    @property
    def document(self) -> str:
        return content_key("stream", self.source.identity, camera_key(self.camera))


def named_sources(sources: Sequence[str], camera: str | None) -> list[tuple[str, str]]:
    """(camera, source) of what is written `CAMERA=SOURCE`, or as a source alone. Raises UserError where a camera's name is missing."""
    if camera is not None:
        if len(sources) != 1:
            raise UserError("--camera names the camera of one source; write CAMERA=SOURCE for several")
        return [(camera, sources[0])]
    found = [
        (name.strip(), text)
        for name, equals, text in (source.partition("=") for source in sources)
        if equals and _is_name(name)
    ]
    if len(found) < len(sources):
        raise UserError("a stream tells no camera: name it with --camera, or write CAMERA=SOURCE")
    return found


def _is_name(text: str) -> bool:
    return bool(text.strip()) and "/" not in text and "?" not in text


@dataclass(slots=True)
class _Growth:
    """How far a live document has come: media time and number of its next chunk, the last segment, what was not recorded."""

    place: Place
    end_ms: int
    segments: int
    last: Segment | None
    gaps: list[list[int]]


@dataclass(frozen=True, slots=True)
class Watch:
    """What is to be done with pieces: `waiting` may wait to be read, `keep` leaves their files for citations to lead to."""

    limits: Limits
    waiting: int = 30
    keep: bool = True
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class _Watching:
    """One watch: its feed, what it is to do, the models with their memory, and what was told since the last report."""

    feed: Feed
    site: Site
    how: Watch
    calls: Calls
    tools: Tools
    stages: Mapping[str, str]
    told: list[str] = field(default_factory=list)

    def job(self, video: Video, place: Place, notes: Notes, base_ms: int = 0) -> Job:
        """A piece knows no ledger: what was written of one that was cut short is seen by the document's last chunk."""
        site = self.site
        return Job(
            video, NOTHING_BESIDE, place, site.options, self.tools, site.store, site.assets, site.report, notes, self.stages, {},
            seal_of(video.path), self.calls, site.shared, base_ms=base_ms, live=True, subject=self.feed.camera,
        )  # fmt: skip

    def drained(self) -> list[str]:
        found = self.told[:]
        del self.told[: len(found)]
        return found


def watch(feed: Feed, site: Site, how: Watch) -> Iterator[IngestReport]:
    """Read a growing recording until it ends or `how.stop` is set; a report each piece, its chunks being searchable by then.

    The same source and camera again go on with the same document, under the options of now. Raises UserError for an address that may not
    be reached; a lost connection, a damaged piece and a piece that found no room are told as warnings of the next report.
    """
    calls = Calls(site.store.ledgers, feed.document, site.shared)
    tools = remembering(site.tools, calls)
    watching = _Watching(feed, site, how, calls, tools, configurations(site.options, tools, NOTHING_BESIDE))
    if site.store.document(feed.document) is not None:
        site.store.ledgers.configured(feed.document, watching.stages["chunks"])
    expired_ms = 0
    try:
        with closing(_arriving(watching)) as arriving:
            for piece in arriving:
                report = _read(watching, piece)
                if report is not None:
                    yield report
                if _now_ms() - expired_ms > EXPIRES_MS:
                    expired_ms = _now_ms()
                    expire(site.store, site.assets, expired_ms)
    finally:
        _ended(watching)


def watch_all(feeds: Sequence[Feed], site: Site, how: Watch) -> Iterator[IngestReport]:
    """Watch several growing recordings at once, each in a thread of its own; a report each piece, as they come.

    The first error stops all. So does whoever closes the generator, or is interrupted: then the piece that is being read is cut short and
    read again by the next watch, like those that wait.
    """
    arrived: queue.Queue[IngestReport | BaseException | None] = queue.Queue()
    threads = [threading.Thread(target=_watch, args=(feed, site, how, arrived), daemon=True) for feed in feeds]
    for thread in threads:
        thread.start()
    left = len(threads)
    try:
        while left:
            item = arrived.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                left -= 1
            else:
                yield item
    finally:
        how.stop.set()
        if left:
            site.shared.stop.set()
        for thread in threads:
            thread.join()


def _watch(feed: Feed, site: Site, how: Watch, arrived: queue.Queue[Any]) -> None:
    try:
        for report in watch(feed, site, how):
            arrived.put(report)
    except Stopped as stopped:
        if not site.shared.stop.is_set():
            arrived.put(stopped)
    except BaseException as error:  # noqa: BLE001 - raised again where the reports are taken
        arrived.put(error)
    arrived.put(None)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


# --- pieces on their way ---------------------------------------------------------------------------------------------------


def _arriving(watching: _Watching) -> Generator[Piece, None, None]:
    """Pieces that an earlier run left, then those that a thread takes down now."""
    feed, how = watching.feed, watching.how
    incoming = watching.site.assets.incoming(feed.document)
    yield from _left_behind(incoming)
    arrived: queue.Queue[Piece | BaseException | None] = queue.Queue()
    room = threading.Semaphore(how.waiting)
    done = frozenset(watching.site.store.ledgers.pieces(feed.document))
    recording = Recording(how.stop, watching.told.append)
    source = pieces(
        feed.source, incoming, how.limits, recording, begin_ms=feed.begin_ms, done=done, tz=feed.tz or "UTC"
    )
    thread = threading.Thread(target=_take_down, args=(source, arrived, room, watching.told), daemon=True)
    thread.start()
    try:
        while (item := arrived.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
            room.release()
    finally:
        how.stop.set()
        thread.join()


def _left_behind(incoming: Path) -> Iterator[Piece]:
    for part in incoming.glob(".*.part"):
        part.unlink()
    for path in sorted(incoming.glob("*.mkv"), key=lambda found: int(found.stem)):
        yield Piece(path, int(path.stem))


def _take_down(source: Iterator[Piece], arrived: queue.Queue[Any], room: threading.Semaphore, told: list[str]) -> None:
    """Put pieces into the queue; one that finds no room is left out, so that taking down goes on at the speed of the source.

    A folder's files lie there anyway and wait.
    """
    end: BaseException | None = None
    try:
        for piece in source:
            if room.acquire(blocking=piece.kept):
                arrived.put(piece)
            else:
                told.append(f"{piece.path.name}: found no room among the pieces that wait to be read; left out")
                piece.path.unlink(missing_ok=True)
    except BaseException as error:  # noqa: BLE001 - raised again where the pieces are taken
        end = error
    arrived.put(end)
    arrived.put(None)


# --- a piece ---------------------------------------------------------------------------------------------------------------


def _read(watching: _Watching, piece: Piece) -> IngestReport | None:
    """Bring a piece into the graph; None where it is damaged or was there already."""
    try:
        video = probe(piece.path)
    except MediaError as error:
        watching.told.append(str(error))
        _removed(piece)
        return None
    grown = _growth(watching) or _begun(watching, piece, video)
    base, fresh = _placed(piece, video, grown)
    if video.duration_ms - fresh < LEAST_MS:
        _put_away(watching, piece, base)
        return None
    if base - grown.end_ms > GAP_MS:
        grown.gaps.append([grown.end_ms, base])
    place = replace(grown.place, clip=_clip(watching, piece, base))
    job = watching.job(video, place, Notes(warnings=watching.drained()), base)
    segments = _segments(job, base + fresh, grown.segments)
    with concerning(chunk_key(place.document, segments[0].offset_ms)):
        see(job, segments, heard(job), followed(job), grown.last)
    report = _grown(job, piece, segments, grown)
    _put_away(watching, piece, base)
    return report


def _growth(watching: _Watching) -> _Growth | None:
    """How far the document has come by its chunks: what was written of a piece counts, also when its run was killed."""
    store, document = watching.site.store, watching.feed.document
    vertex = store.document(document)
    if vertex is None:
        return None
    last = store.ledgers.last_chunk(document)
    segment = (
        None if last is None else Segment(last["index"], last["offset_ms"], last["end_offset_ms"], last["boundary"])
    )
    end = max(vertex["duration_ms"], 0 if segment is None else segment.end_offset_ms)
    count = 0 if segment is None else segment.index + 1
    gaps = [list(gap) for gap in vertex["gaps"]]
    place = place_of(document, store.camera(vertex["camera"]) or {}, told_start(vertex))
    return _Growth(place, end, max(count, vertex["segments"]), segment, gaps)


def _begun(watching: _Watching, piece: Piece, video: Video) -> _Growth:
    """The document's vertex, made with its first piece."""
    start_ms = _start(piece, video)
    check_calendar(video, start_ms)
    feed, store = watching.feed, watching.site.store
    key = camera_key(feed.camera)
    camera = camera_record(key, CameraInfo(feed.camera, tz=feed.tz), store.camera(key))
    start = StartTime(start_ms, StartSource.arrival)
    place = place_of(feed.document, camera, start)
    job = watching.job(video, place, Notes())
    known = {**facts(job), "gaps": [], "segments": 0}
    vertex = document_record(
        place, video, start, title=feed.camera, uri=feed.source.identity, state="live", facts=known
    )
    undated = [UNDATED] if feed.source.kind == "file" and feed.begin_ms is None else []
    grows = {"kind": "stream", "duration_ms": 0, "end_ms": start_ms, "content_hash": "", "warnings": undated}
    store.apply(document_delta(place, camera, {**vertex, **grows}))
    return _Growth(place, 0, 0, None, [])


def _start(piece: Piece, video: Video) -> int:
    """When a piece began; a file that tells nothing was finished when it was last written to."""
    if piece.start_ms >= 0:
        return piece.start_ms
    if video.created_ms is not None:
        return video.created_ms
    return round(piece.path.stat().st_mtime * 1000) - video.duration_ms


def _placed(piece: Piece, video: Video, grown: _Growth) -> tuple[int, int]:
    """The document's media time at the piece's first picture, and how much of the piece's beginning is there already."""
    base = max(0, _start(piece, video) - grown.place.start_ms)
    if abs(base - grown.end_ms) <= GAP_MS:
        return grown.end_ms, 0
    return base, max(0, grown.end_ms - base)


def _clip(watching: _Watching, piece: Piece, base: int) -> Clip | None:
    """Where the piece will stay."""
    if piece.kept:
        return Clip(str(piece.path.resolve()), base)
    if not watching.how.keep:
        return None
    name, path = watching.site.assets.recording(watching.feed.document, base)
    return Clip(str(path), base, name)


def _put_away(watching: _Watching, piece: Piece, base: int) -> None:
    """Once a piece is in the graph its file goes to where its chunks say that it lies, or away."""
    if piece.kept:
        return
    if not watching.how.keep:
        _removed(piece)
        return
    _, path = watching.site.assets.recording(watching.feed.document, base)
    path.parent.mkdir(parents=True, exist_ok=True)
    piece.path.replace(path)


def _removed(piece: Piece) -> None:
    if not piece.kept:
        piece.path.unlink(missing_ok=True)


def _segments(job: Job, begin_ms: int, number: int) -> list[Segment]:
    """Windows of what is new in a piece, in the document's media time."""
    options = job.options
    cut = windows(job.end_ms - begin_ms, options.window_ms, options.overlap_ms)
    return [Segment(number + s.index, begin_ms + s.offset_ms, begin_ms + s.end_offset_ms, s.boundary) for s in cut]


def _grown(job: Job, piece: Piece, segments: list[Segment], grown: _Growth) -> IngestReport:
    """The document's vertex as long as it is now."""
    found = job.store.document(job.place.document) or {}
    vertex = {name: value for name, value in found.items() if name not in NOT_STORED} | {
        "state": "live",
        "segments": segments[-1].index + 1,
        "duration_ms": job.end_ms,
        "end_ms": job.place.at(job.end_ms),
        "gaps": grown.gaps,
    }
    taken = (job.entry(f"piece-{job.base_ms:010d}", "chunks", uri=str(piece.path)),) if piece.kept else ()
    job.apply(GraphDelta({"documents": (vertex,), "ledger": taken}))
    job.store.ensure_vector_indexes()
    return replace(outcome_of(job, "ingested", vertex), chunks=len(segments))


def _ended(watching: _Watching) -> None:
    """Once a watch is over: entities that were renamed on the way are embedded again, the document tells its cost and that it is whole."""
    store, document = watching.site.store, watching.feed.document
    if store.document(document) is not None:
        embed_renamed(store, document, watching.tools.embedder)
        store.ledgers.finished(document, {"spent": costs(store, document)})
