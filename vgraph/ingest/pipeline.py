"""Video -> Segment -> Caption | Utterance | Detection -> Chunk -> Extraction -> GraphDelta -> store.apply, and a ledger to resume by.

A document passes three stages: what is said, what is followed, then its chunks in batches. Each stage and batch is one transaction that
also writes its ledger entry, so that a run killed anywhere is continued by the next one and ends in the same graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from vgraph.errors import ModelError
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
from vgraph.media.sidecars import read_sidecars
from vgraph.media.start import start_time
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
    Segment,
    Sidecars,
    StoredFrame,
    TextRead,
    Track,
    Utterance,
    Video,
)

Report = Callable[[Progress], None]
Outcome = Literal["ingested", "resumed", "unchanged"]
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
    """What a run notes for its report: seconds spent a stage, and what went wrong on the way."""

    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

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

    def entry(self, stage: str) -> dict[str, Any]:
        return {
            "_key": f"{self.place.document}-{stage}",
            "document": self.place.document,
            "stage": stage,
            "config": self.config,
        }

    def done(self, stage: str) -> bool:
        return f"{self.place.document}-{stage}" in self.ledger

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
        video = probe(path)
        sidecars = read_sidecars(path, video.picture)
    job = _prepare(video, sidecars, camera, start_ms, tz, store, tools, assets, options or Options(), report, notes)
    if job.done("complete"):
        return _outcome(job, "unchanged", store.document(job.place.document) or {})
    outcome: Outcome = "resumed" if job.ledger else "ingested"
    segments = _segments(job)
    utterances = _hear(job)
    tracks = _follow(job)
    _see(job, segments, utterances, tracks)
    return _outcome(job, outcome, _finish(job, segments))


# --- before ------------------------------------------------------------------------------------------------------------


def _prepare(
    video: Video, sidecars: Sidecars, camera: str | None, start_ms: int | None, tz: str | None,
    store: Store, tools: Tools, assets: Assets, options: Options, report: Report, notes: _Notes,
) -> _Job:  # fmt: skip
    """Name the document, clear away what another configuration made of it, and write its vertex."""
    info = _camera_info(video, sidecars, camera, tz)
    key = camera_key(info.label)
    document = document_key(video.content_hash, key)
    known = store.camera(key)
    record = camera_record(key, info, known)
    tools = _with_given(tools, sidecars)
    start = start_time(start_ms, sidecars.start_ms, video, record["tz"])
    corrected = start.ms + (
        record["clock"]["offset_ms"] if start.source in ("sidecar", "container", "file_name") else 0
    )
    place = Place(document, key, corrected)
    config = content_key(
        "config",
        repr(sorted(asdict(options).items())),
        repr(sorted(tools.names().items())),
        corrected,
        _given(sidecars),
    )
    job = _Job(
        video, sidecars, place, options, tools, store, assets, report, notes, config, _ledger(store, document, config)
    )
    if not job.done("complete"):
        vertex = document_record(
            place,
            video,
            start,
            title=sidecars.title or video.path.stem,
            uri=str(video.path.resolve()),
            state="ingesting",
            facts=_facts(job),
        )
        store.apply(document_delta(place, record, vertex))
    return job


def _camera_info(video: Video, sidecars: Sidecars, camera: str | None, tz: str | None) -> CameraInfo:
    given = sidecars.camera or CameraInfo(label=video.path.stem)
    return replace(given, label=camera or given.label, tz=tz or given.tz)


def _with_given(tools: Tools, sidecars: Sidecars) -> Tools:
    """What came beside the video takes the place of the models that would guess it."""
    return replace(
        tools,
        captioner=GivenCaptions(sidecars.captions) if sidecars.captions else tools.captioner,
        transcriber=GivenUtterances(sidecars.utterances) if sidecars.utterances else tools.transcriber,
        detector=GivenDetections(sidecars.detections) if sidecars.detections else tools.detector,
    )


def _given(sidecars: Sidecars) -> str:
    """What the sidecars say, as a hash: edited captions are a new configuration."""
    return content_key(repr(sidecars.captions), repr(sidecars.utterances), repr(sidecars.detections))


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
        utterances = tuple(_transcribed(job))
        records = tuple(utterance_record(job.place, utterance) for utterance in utterances)
        job.store.apply(GraphDelta({"utterances": records, "ledger": (job.entry("hear"),)}))
    return utterances


def _transcribed(job: _Job) -> Iterator[Utterance]:
    if job.tools.transcriber is None:
        return
    for utterance in job.tools.transcriber.transcribe(audio(job.video) if job.video.audio else ()):
        job.tell("hear", utterance.end_offset_ms // 1000, job.video.duration_ms // 1000, "seconds")
        yield utterance


def _follow(job: _Job) -> tuple[Track, ...]:
    """Objects followed over the whole document: detections joined into tracks."""
    if job.done("follow"):
        return tuple(track_of(record) for record in job.store.tracks(job.place.document))
    with job.notes.stage("follow"):
        tracks = track(_detected(job))
        records = tuple(track_record(job.place, one) for one in tracks)
        job.store.apply(GraphDelta({"tracks": records, "ledger": (job.entry("follow"),)}))
    return tracks


def _detected(job: _Job) -> Iterator[Detection]:
    if job.tools.detector is None:
        return
    yield from job.tools.detector.detect(_watched(job))


def _watched(job: _Job) -> Iterator[Frame]:
    for frame in frames(job.video, job.options.detect_every_ms):
        job.tell("follow", frame.offset_ms // 1000, job.video.duration_ms // 1000, "seconds")
        yield frame


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
            before = segments[begin - 1] if begin else None
            job.notes.warnings.extend(f"{w} (at {c.signals.segment.offset_ms} ms)" for c in chunks for w in c.warnings)
            _write(job, chunks, before, stage)
        job.tell("chunks", min(begin + size, len(segments)), len(segments))


def _signals(
    job: _Job, batch: Sequence[Segment], utterances: Sequence[Utterance], tracks: Sequence[Track]
) -> Iterator[Signals]:
    for number, segment in enumerate(batch):
        with job.notes.stage("frames"):
            stored, reads = _look(job, segment)
        spoken = overlapping(utterances, segment)
        captions, warnings = _captions(job, segment, stored, spoken)
        yield Signals(segment, captions, spoken, reads, overlapping(tracks, segment), stored, warnings)
        job.tell("chunks", batch[0].index + number, None)


def _look(job: _Job, segment: Segment) -> tuple[tuple[StoredFrame, ...], tuple[TextRead, ...]]:
    """Decode a segment once: keep its frames as JPEG, read text off some of them."""
    options = job.options
    stored: list[StoredFrame] = []
    reads: list[TextRead] = []
    for frame in frames(job.video, options.frame_every_ms, start_ms=segment.offset_ms, end_ms=segment.end_offset_ms):
        stored.append(
            job.assets.save(job.place.document, frame, width=options.frame_width, quality=options.jpeg_quality)
        )
        if job.tools.reader and (frame.offset_ms - segment.offset_ms) % options.read_every_ms < options.frame_every_ms:
            reads.extend(job.tools.reader.read(frame))
    return tuple(stored), tuple(reads)


def _captions(
    job: _Job, segment: Segment, stored: Sequence[StoredFrame], spoken: Sequence[Utterance]
) -> tuple[tuple[Caption, ...], tuple[str, ...]]:
    """What the captioner tells of a segment; one that fails leaves a warning."""
    if job.tools.captioner is None or not stored:
        return (), ()
    pictures = [
        (frame.offset_ms, job.assets.bytes(frame.asset)) for frame in _spread(stored, job.options.caption_frames)
    ]
    try:
        with job.notes.stage("caption"):
            return job.tools.captioner.caption(segment, pictures, "\n".join(u.text for u in spoken)), ()
    except ModelError as error:
        return (), (f"caption: {error}",)


def _spread(items: Sequence[StoredFrame], most: int) -> list[StoredFrame]:
    """At most so many, evenly spaced."""
    count = min(most, len(items))
    return [items[(2 * i + 1) * len(items) // (2 * count)] for i in range(count)]


def _chunk(job: _Job, signals: Signals, known: Mapping[str, Mention]) -> Chunk:
    text = compose(signals)
    with job.notes.stage("extract"):
        if job.tools.chat is None:
            return Chunk(signals, text, extract.structured(signals, known))
        vocabulary = extract.Vocabulary(job.options.entity_types, job.options.relation_types)
        return Chunk(
            signals, text, extract.by_model(job.tools.chat, text, signals, known, vocabulary, job.place.camera)
        )


def _write(job: _Job, chunks: Sequence[Chunk], before: Segment | None, stage: str) -> None:
    with job.notes.stage("embed"):
        vectors = _vectors(job, chunks)
    with job.notes.stage("store"):
        delta = chunks_delta(job.place, chunks, before, vectors, time.time_ns() // 1_000_000, job.entry(stage))
        job.store.apply(delta)


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
    with job.notes.stage("store"):
        vertex = dict(job.store.document(job.place.document) or {})
        vertex = {name: value for name, value in vertex.items() if name not in ("_id", "_rev")}
        vertex |= {"state": "complete", "segments": len(segments)}
        job.store.apply(GraphDelta({"documents": (vertex,), "ledger": (job.entry("complete"),)}))
        job.store.ensure_vector_indexes()
    return vertex


def _outcome(job: _Job, outcome: Outcome, vertex: Mapping[str, Any]) -> IngestReport:
    warnings = (*vertex.get("warnings", ()), *job.notes.warnings)
    chunks = int(vertex.get("segments", 0))
    title = str(vertex.get("title", ""))
    return IngestReport(job.place.document, job.place.camera, title, outcome, chunks, job.notes.seconds, warnings)
