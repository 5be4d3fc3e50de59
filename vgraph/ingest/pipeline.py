"""Video -> Segment -> Caption | Utterance | Detection -> Chunk -> Extraction -> GraphDelta -> store.apply, and a ledger to resume by.

A document passes three stages: what is said, what is followed, then its chunks in batches. Each stage and batch is one transaction that
also writes its ledger entry, so that a run killed anywhere is continued by the next one and ends in the same graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from vgraph.errors import MediaError, MissingDependency, ModelError
from vgraph.ingest import extract
from vgraph.ingest.chunks import Chunk, Signals, compose, overlapping
from vgraph.ingest.graph import (
    Place,
    Vectors,
    batch_entities,
    camera_record,
    chunks_delta,
    document_delta,
    document_record,
    entity_text,
    track_of,
    track_record,
    utterance_of,
    utterance_record,
)
from vgraph.ingest.keys import camera_key, content_key, document_key
from vgraph.media.assets import Assets
from vgraph.media.audio import audio
from vgraph.media.frames import frames
from vgraph.media.probe import probe
from vgraph.media.segments import scenes, windows
from vgraph.media.sidecars import read_meta, read_sidecars
from vgraph.media.start import name_without_time, start_time
from vgraph.models import Captioner, ChatModel, Detector, Embedder, ImageEmbedder, Reader, Transcriber
from vgraph.models.given import GivenCaptions, GivenDetections, GivenUtterances
from vgraph.models.tracking import track
from vgraph.store import Store
from vgraph.types import (
    CameraInfo,
    Caption,
    Detection,
    Frame,
    GraphDelta,
    IngestReport,
    Mention,
    Progress,
    Record,
    Segment,
    Sidecars,
    StartSource,
    StartTime,
    StoredFrame,
    TextRead,
    Track,
    Utterance,
    Video,
)

Report = Callable[[Progress], None]
Outcome = Literal["ingested", "resumed", "unchanged"]
Seal = tuple[int, ...]
"""What tells a file from another one, or from itself before it was written to."""
T = TypeVar("T")
EARLIEST_MS, LATEST_MS = -62_135_510_400_000, 253_402_128_000_000
"""0001-01-02 and 9999-12-30: a day from the calendar's ends, so that every zone can show them."""
NO_UTTERANCES: tuple[Utterance, ...] = ()
NO_TRACKS: tuple[Track, ...] = ()
NO_READS: tuple[TextRead, ...] = ()
NOTHING = "nothing described"
"""Embedded for a chunk without text, so that every chunk has a vector (a server's index refuses a missing one on removal)."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a video is cut and read; every one of them changes the graph, so a document ingested with others is made anew."""

    segmenter: str = "window"
    window_ms: int = 30_000
    overlap_ms: int = 0
    scene_threshold: float = 27.0
    scene_min_ms: int = 1_000
    scene_max_ms: int = 60_000
    frame_every_ms: int = 1_000
    frame_width: int = 512
    jpeg_quality: int = 80
    caption_frames: int = 8
    read_every_ms: int = 10_000
    detect_every_ms: int = 200
    entity_types: tuple[str, ...] = ()
    relation_types: tuple[str, ...] = ()
    batch_segments: int = 16


@dataclass(frozen=True, slots=True)
class Tools:
    """The models of one ingest; None means that nothing does this. Sidecars come before models: what is given is not guessed."""

    embedder: Embedder
    captioner: Captioner | None = None
    transcriber: Transcriber | None = None
    detector: Detector | None = None
    reader: Reader | None = None
    image_embedder: ImageEmbedder | None = None
    chat: ChatModel | None = None

    def names(self) -> dict[str, str]:
        """Need -> name of the model that serves it."""
        models = {item.name: getattr(self, item.name) for item in fields(self)}
        return {need: model.name for need, model in models.items() if model is not None}


@dataclass(slots=True)
class _Notes:
    """What a run notes for its report: seconds spent a stage, what went wrong on the way, how often a model failed."""

    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    failures: int = 0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun


@dataclass(frozen=True, slots=True)
class _Job:
    """One document on its way: everything its stages share, none of it changing."""

    video: Video
    sidecars: Sidecars
    place: Place
    options: Options
    tools: Tools
    store: Store
    assets: Assets
    report: Report
    notes: _Notes
    config: str
    ledger: Mapping[str, Mapping[str, Any]]
    seal: Seal

    def entry(self, stage: str) -> dict[str, Any]:
        return {
            "_key": f"{self.place.document}-{stage}",
            "document": self.place.document,
            "stage": stage,
            "config": self.config,
        }

    def done(self, stage: str) -> bool:
        return f"{self.place.document}-{stage}" in self.ledger

    def apply(self, delta: GraphDelta) -> None:
        """Write a stage, unless the file was replaced, or the document deleted or begun anew by somebody else, meanwhile."""
        if _seal(self.video.path) != self.seal:
            what = f"{self.video.path}: changed while it was being read; what was read of it is not complete"
            raise MediaError(what, path=str(self.video.path))
        self.store.apply(delta, holding=(self.place.document, self.config))

    def tell(self, stage: str, done: int, total: int | None, unit: str = "segments") -> None:
        self.report(Progress(self.video.path.name, stage, done, total, unit))


def ingest(
    path: Path,
    *,
    store: Store,
    tools: Tools,
    assets: Assets,
    options: Options | None = None,
    camera: str | None = None,
    start_ms: int | None = None,
    tz: str | None = None,
    report: Report = lambda progress: None,
) -> IngestReport:
    """Bring one video into the graph. The same call again changes nothing; after a crash it goes on where the ledger ends.

    `camera` names the camera (else the sidecar, else the file's name); `start_ms` is the UTC time of the first frame (else sidecar,
    container, file name). Raises MediaError for a file that cannot be read, StoreError when the database refuses; a failing model
    is recorded on the chunk and does not stop the ingest.
    """
    notes = _Notes()
    with notes.stage("probe"):
        seal = _seal(path)
        video = probe(path)
        job = _prepare(video, seal, camera, start_ms, tz, store, tools, assets, options or Options(), report, notes)
    if job.done("complete"):
        return _outcome(job, "unchanged", _found_again(job))
    outcome: Outcome = "resumed" if job.ledger else "ingested"
    segments = _segments(job)
    utterances = _hear(job)
    tracks = _follow(job)
    _see(job, segments, utterances, tracks)
    return _outcome(job, outcome, _finish(job, segments))


# --- before ------------------------------------------------------------------------------------------------------------


def _seal(path: Path) -> Seal:
    """Nothing where there is no file: `probe` says what is wrong."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _prepare(
    video: Video, seal: Seal, camera: str | None, start_ms: int | None, tz: str | None,
    store: Store, tools: Tools, assets: Assets, options: Options, report: Report, notes: _Notes,
) -> _Job:  # fmt: skip
    """Name the document, clear away what another configuration made of it, and write its vertex."""
    meta = read_meta(video.path)
    info = _camera_info(video, meta, camera, tz)
    key = camera_key(info.label)
    document = document_key(video.content_hash, key)
    record = camera_record(key, info, store.camera(key))
    start = _start(store, document, start_ms, meta, video, record["tz"])
    if start.source is StartSource.unknown:
        notes.warnings.append("no start time is known: times count from the first frame; --start gives it")
    place = Place(document, key, _utc(start, record["clock"]["offset_ms"]))
    _check_calendar(video, place.start_ms)
    known_start = None if start.source is StartSource.unknown else place.start_ms
    sidecars = _within(read_sidecars(video.path, video.picture, start_ms=known_start), video.duration_ms)
    tools = _with_given(tools, sidecars)
    config = _config(options, tools, place, sidecars)
    ledger = _ledger(store, document, config)
    job = _Job(video, sidecars, place, options, tools, store, assets, report, notes, config, ledger, seal)
    if not job.done("complete"):
        store.apply(document_delta(place, record, _vertex(job, start)))
    return job


def _start(store: Store, document: str, flag_ms: int | None, meta: Sidecars, video: Video, tz: str) -> StartTime:
    """A start once given by hand stays, until another is given."""
    if flag_ms is None and (known := store.document(document)) and known["start_source"] == StartSource.flag:
        flag_ms = known["start_ms"]
    return start_time(flag_ms, meta.start_ms, video, tz)


def _utc(start: StartTime, clock_offset_ms: int) -> int:
    """A time by the camera's own clock is put right by what is known of it; the caller's is taken as it is."""
    own = start.source in (StartSource.sidecar, StartSource.container, StartSource.file_name)
    return start.ms + (clock_offset_ms if own else 0)


def _check_calendar(video: Video, start_ms: int) -> None:
    """No zone can show a time beyond the calendar, and one such recording would spoil every search."""
    if not EARLIEST_MS <= start_ms <= LATEST_MS - video.duration_ms:
        what = f"{video.path}: would begin outside of the years 1 to 9999: see --start, the .meta.json and the camera's clock_offset_ms"
        raise MediaError(what, path=str(video.path))


def _within(sidecars: Sidecars, duration_ms: int) -> Sidecars:
    """What lies beside the video, without what begins after its end, which a warning tells."""
    kept: dict[str, Any] = {}
    told: list[str] = []
    for name in ("captions", "utterances", "detections"):
        items = getattr(sidecars, name)
        kept[name] = tuple(item for item in items if item.offset_ms < duration_ms)
        if len(kept[name]) < len(items):
            count = len(items) - len(kept[name])
            told.append(f"{count} given {name} begin after the video's end at {duration_ms / 1000:.1f} s; left out")
    return replace(sidecars, **kept, warnings=(*sidecars.warnings, *told))


def _found_again(job: _Job) -> Mapping[str, Any]:
    """The vertex of a document that is complete; where its file has moved, it says so from now on."""
    vertex = job.store.document(job.place.document) or {}
    uri = str(job.video.path.resolve())
    if vertex and vertex["uri"] != uri and not Path(vertex["uri"]).exists():
        moved = {name: value for name, value in vertex.items() if name not in ("_id", "_rev")} | {"uri": uri}
        job.apply(GraphDelta({"documents": (moved,)}))
    return vertex


def _config(options: Options, tools: Tools, place: Place, sidecars: Sidecars) -> str:
    """Everything the graph of a document depends on, as a hash: edited captions are a new configuration, too."""
    given = (repr(sidecars.captions), repr(sidecars.utterances), repr(sidecars.detections))
    names = repr(sorted(tools.names().items()))
    return content_key("config", repr(sorted(asdict(options).items())), names, place.start_ms, *given)


def _vertex(job: _Job, start: StartTime) -> Record:
    title = job.sidecars.title or job.video.path.stem
    uri = str(job.video.path.resolve())
    return document_record(job.place, job.video, start, title=title, uri=uri, state="ingesting", facts=_facts(job))


def _camera_info(video: Video, meta: Sidecars, camera: str | None, tz: str | None) -> CameraInfo:
    given = meta.camera or CameraInfo(label=name_without_time(video.path.stem))
    return replace(given, label=camera or given.label, tz=tz or given.tz)


def _with_given(tools: Tools, sidecars: Sidecars) -> Tools:
    """What came beside the video takes the place of the models that would guess it."""
    return replace(
        tools,
        captioner=GivenCaptions(sidecars.captions) if sidecars.captions else tools.captioner,
        transcriber=GivenUtterances(sidecars.utterances) if sidecars.utterances else tools.transcriber,
        detector=GivenDetections(sidecars.detections) if sidecars.detections else tools.detector,
    )


def _ledger(store: Store, document: str, config: str) -> Mapping[str, Mapping[str, Any]]:
    """What is finished under this configuration; work of another one is removed first."""
    entries = store.ledger(document)
    if any(entry["config"] != config for entry in entries.values()):
        store.delete_document(document)
        return {}
    return entries


def _facts(job: _Job) -> dict[str, Any]:
    """How the document was read: `models` says `given` where a sidecar spoke instead of a model."""
    return {
        "config": job.config,
        "models": job.tools.names(),
        "sidecars": [path.name for path in job.sidecars.files],
        "warnings": [*job.video.warnings, *job.sidecars.warnings],
    }


def _segments(job: _Job) -> tuple[Segment, ...]:
    options = job.options
    with job.notes.stage("segment"):
        if options.segmenter == "scene":
            job.tell("segment", 0, None)
            return scenes(job.video, options.scene_threshold, options.scene_min_ms, options.scene_max_ms)
        return windows(job.video.duration_ms, options.window_ms, options.overlap_ms)


# --- whole-document stages ----------------------------------------------------------------------------------------------


def _hear(job: _Job) -> tuple[Utterance, ...]:
    """What is said in the whole document."""
    if job.done("hear"):
        return tuple(utterance_of(record) for record in job.store.utterances(job.place.document))
    with job.notes.stage("hear"):
        utterances, failed = _attempt(job, "transcription", lambda: tuple(_transcribed(job)), NO_UTTERANCES)
        records = tuple(utterance_record(job.place, utterance) for utterance in utterances)
        _write_stage(job, "hear", "utterances", records, failed)
    return utterances


def _transcribed(job: _Job) -> Iterator[Utterance]:
    if job.tools.transcriber is None:
        return
    sound = audio(job.video, warn=job.notes.warnings.append) if job.video.audio else ()
    for utterance in job.tools.transcriber.transcribe(sound):
        job.tell("hear", utterance.end_offset_ms // 1000, job.video.duration_ms // 1000, "seconds")
        yield utterance


def _follow(job: _Job) -> tuple[Track, ...]:
    """Objects followed over the whole document: detections joined into tracks."""
    if job.done("follow"):
        return tuple(track_of(record) for record in job.store.tracks(job.place.document))
    with job.notes.stage("follow"):
        tracks, failed = _attempt(job, "detection", lambda: track(_detected(job)), NO_TRACKS)
        _write_stage(job, "follow", "tracks", tuple(track_record(job.place, one) for one in tracks), failed)
    return tracks


def _detected(job: _Job) -> Iterator[Detection]:
    if job.tools.detector is None:
        return
    yield from job.tools.detector.detect(_watched(job))


def _watched(job: _Job) -> Iterator[Frame]:
    for frame in frames(job.video, job.options.detect_every_ms):
        job.tell("follow", frame.offset_ms // 1000, job.video.duration_ms // 1000, "seconds")
        yield frame


def _attempt(job: _Job, what: str, action: Callable[[], T], otherwise: T) -> tuple[T, tuple[str, ...]]:
    """What a model gives, or `otherwise` and a warning when it fails; a package that is not installed stops the ingest."""
    try:
        return action(), ()
    except MissingDependency:
        raise
    except ModelError as error:
        job.notes.failures += 1
        return otherwise, (f"{what}: {error}",)


def _write_stage(job: _Job, stage: str, collection: str, records: tuple[Record, ...], failed: Sequence[str]) -> None:
    """A stage that failed is told and not entered in the ledger: the next run does it again."""
    job.notes.warnings.extend(failed)
    ledger = () if failed else (job.entry(stage),)
    job.apply(GraphDelta({collection: records, "ledger": ledger}))


# --- chunks -------------------------------------------------------------------------------------------------------------


def _see(job: _Job, segments: Sequence[Segment], utterances: Sequence[Utterance], tracks: Sequence[Track]) -> None:
    """Chunks in batches, each one transaction; batches the ledger knows are passed over."""
    known = extract.names_of(job.sidecars.captions)
    size = job.options.batch_segments
    for begin in range(0, len(segments), size):
        stage = f"chunks-{begin:06d}"
        if not job.done(stage):
            batch = segments[begin : begin + size]
            chunks = [_chunk(job, signals, known) for signals in _signals(job, batch, utterances, tracks)]
            _write(job, chunks, segments[begin - 1] if begin else None, stage)
        job.tell("chunks", min(begin + size, len(segments)), len(segments))


def _signals(
    job: _Job, batch: Sequence[Segment], utterances: Sequence[Utterance], tracks: Sequence[Track]
) -> Iterator[Signals]:
    for segment in batch:
        spoken = overlapping(utterances, segment)
        with job.notes.stage("frames"):
            stored, reads, damage = _look(job, segment)
        with job.notes.stage("caption"):
            captions, failed = _captions(job, segment, stored, spoken)
        yield Signals(segment, captions, spoken, reads, overlapping(tracks, segment), stored, (*damage, *failed))


def _look(job: _Job, segment: Segment) -> tuple[tuple[StoredFrame, ...], tuple[TextRead, ...], tuple[str, ...]]:
    """Decode a segment once: keep its frames as JPEG, read text off some of them; warnings last."""
    options = job.options
    stored: list[StoredFrame] = []
    reads: list[TextRead] = []
    warnings: list[str] = []
    span = {"start_ms": segment.offset_ms, "end_ms": segment.end_offset_ms}
    for frame in frames(job.video, options.frame_every_ms, **span, warn=warnings.append):
        kept = job.assets.save(job.place.document, frame, width=options.frame_width, quality=options.jpeg_quality)
        stored.append(kept)
        if (frame.offset_ms - segment.offset_ms) % options.read_every_ms < options.frame_every_ms:
            found, failed = _attempt(job, "reading", partial(_read, job, frame), NO_READS)
            reads.extend(found)
            warnings.extend(failed)
    return tuple(stored), tuple(reads), tuple(warnings)


def _read(job: _Job, frame: Frame) -> tuple[TextRead, ...]:
    return job.tools.reader.read(frame) if job.tools.reader else ()


def _captions(
    job: _Job, segment: Segment, stored: Sequence[StoredFrame], spoken: Sequence[Utterance]
) -> tuple[tuple[Caption, ...], tuple[str, ...]]:
    captioner = job.tools.captioner
    if captioner is None or not (stored or job.sidecars.captions):
        return (), ()
    shown = [] if job.sidecars.captions else _spread(stored, job.options.caption_frames)  # given captions see nothing
    pictures = [(frame.offset_ms, job.assets.bytes(frame.asset)) for frame in shown]
    said = "\n".join(utterance.text for utterance in spoken)
    return _attempt(job, "caption", lambda: captioner.caption(segment, pictures, said), ())


def _spread(items: Sequence[StoredFrame], most: int) -> list[StoredFrame]:
    """At most so many, evenly spaced."""
    count = min(most, len(items))
    return [items[(2 * i + 1) * len(items) // (2 * count)] for i in range(count)]


def _chunk(job: _Job, signals: Signals, known: Mapping[str, Mention]) -> Chunk:
    text = compose(signals)
    base = extract.structured(signals, known)
    chat = job.tools.chat
    if chat is None or not text.text.strip():
        return Chunk(signals, text, base)
    vocabulary = extract.Vocabulary(job.options.entity_types, job.options.relation_types)
    with job.notes.stage("extract"):
        found, failed = _attempt(
            job,
            "extraction",
            lambda: extract.by_model(chat, text, signals, known, vocabulary, job.place.camera),
            base,
        )
    return Chunk(signals, text, replace(found, warnings=(*found.warnings, *failed)))


def _write(job: _Job, chunks: Sequence[Chunk], before: Segment | None, stage: str) -> None:
    """A batch in which a model failed is written as far as it came, and left for the next run to do again."""
    job.notes.warnings.extend(f"{w} (at {c.signals.segment.offset_ms} ms)" for c in chunks for w in c.warnings)
    with job.notes.stage("embed"):
        vectors = _vectors(job, chunks)
    with job.notes.stage("store"):
        ledger = () if job.notes.failures else (job.entry(stage),)
        job.apply(chunks_delta(job.place, chunks, before, vectors, time.time_ns() // 1_000_000, ledger))


def _vectors(job: _Job, chunks: Sequence[Chunk]) -> Vectors:
    embedder, images = job.tools.embedder, job.tools.image_embedder
    entities = [entity_text(record) for record in batch_entities(job.place, chunks)]
    pictures = [job.assets.bytes(frame.asset) for chunk in chunks for frame in chunk.signals.frames] if images else []
    return Vectors(
        embedder.embed([chunk.text.text or NOTHING for chunk in chunks]),
        embedder.embed(entities),
        images.embed_images(pictures) if images else None,
    )


# --- after --------------------------------------------------------------------------------------------------------------


def _finish(job: _Job, segments: Sequence[Segment]) -> dict[str, Any]:
    """`complete` when every model did its part; `partial` when one failed and the next run is to try again."""
    failed = job.notes.failures > 0
    with job.notes.stage("store"):
        found = job.store.document(job.place.document) or {}
        vertex = {name: value for name, value in found.items() if name not in ("_id", "_rev")}
        vertex |= {"state": "partial" if failed else "complete", "segments": len(segments)}
        ledger = () if failed else (job.entry("complete"),)
        job.apply(GraphDelta({"documents": (vertex,), "ledger": ledger}))
        job.store.ensure_vector_indexes()
    return vertex


def _outcome(job: _Job, outcome: Outcome, vertex: Mapping[str, Any]) -> IngestReport:
    warnings = (*vertex.get("warnings", ()), *job.notes.warnings)
    chunks = int(vertex.get("segments", 0))
    title = str(vertex.get("title", ""))
    return IngestReport(job.place.document, job.place.camera, title, outcome, chunks, job.notes.seconds, warnings)
