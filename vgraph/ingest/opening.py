"""Before a document is read: what it is called, when it began, what lies beside it, and what an earlier run left of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vgraph.errors import MediaError, MissingDependency, ModelError
from vgraph.ingest.calls import Calls, Shared
from vgraph.ingest.graph import Place, camera_record, document_delta, document_record
from vgraph.ingest.job import Job, Notes, Outcome, Report, Seal
from vgraph.ingest.keys import camera_key, document_key
from vgraph.ingest.ledger import COMPLETE, configurations
from vgraph.ingest.moving import follow
from vgraph.ingest.naming import confirmed_names
from vgraph.ingest.options import Options, Tools
from vgraph.ingest.place import place_of, seen_start, start_of
from vgraph.ingest.remembered import GIVEN, remembering
from vgraph.media.assets import Assets
from vgraph.media.detection_table import Detections
from vgraph.media.sidecars import read_meta, read_sidecars
from vgraph.media.start import name_without_time
from vgraph.models import Reader
from vgraph.models.given import GivenCaptions, GivenDetections, GivenUtterances
from vgraph.store import Store
from vgraph.types import CameraInfo, GraphDelta, Record, Sidecars, StartSource, StartTime, Video

EARLIEST_MS, LATEST_MS = -62_135_510_400_000, 253_402_128_000_000
"""0001-01-02 and 9999-12-30: a day from the calendar's ends, so that every zone can show them."""
KEPT = {"utterances": "hear", "tracks": "follow", "frames": "look"}
"""Records that stay when a document is made anew, while their stage's configuration is what it was."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where documents go and who makes them: the same for all of a run."""

    store: Store
    tools: Tools
    assets: Assets
    options: Options = field(default_factory=Options)
    shared: Shared = field(default_factory=Shared)
    report: Report = lambda progress: None


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller says of a video: its camera, the UTC time of its first frame, the camera's zone, its tags."""

    camera: str | None = None
    start_ms: int | None = None
    tz: str | None = None
    tags: tuple[str, ...] = ()


UNASKED = Asked()


def open_job(video: Video, seal: Seal, asked: Asked, site: Site, notes: Notes, *, again: bool = False) -> Job:
    """Name the document, clear away what another configuration made of it, and write its vertex; `again` has it made anew."""
    meta = read_meta(video.path)
    info = camera_info(video, meta, asked)
    store, key = site.store, camera_key(info.label)
    document = document_key(video.content_hash, key)
    camera = store.camera(key)
    if camera and camera.get("tz_decided") and asked.tz is None:
        info = replace(info, tz=None)  # what the operator decided is not undone by a file
    record = camera_record(key, info, camera)
    known = store.document(document)
    tags = tuple(sorted({*((known or {}).get("tags") or ()), *asked.tags, *meta.tags}))
    start = start_of(known, asked.start_ms, meta, video, record["tz"])
    if start.source is StartSource.unknown and site.options.burnt_in and site.tools.reader:
        start = _seen_start(video, record["tz"], site.tools.reader, notes) or start
    if start.source is StartSource.unknown:
        notes.warnings.append("no start time is known: times count from the first frame; --start gives it")
    follow(store, record, document, start)
    place = place_of(document, record, start)
    check_calendar(video, place.start_ms)
    known_start = None if start.source is StartSource.unknown else place.start_ms
    sidecars = _within(_beside(video, known_start, site.options), video.duration_ms)
    job = made_job(video, seal, place, sidecars, site, notes, again=again)
    if not job.done(COMPLETE, "chunks"):
        store.apply(document_delta(place, record, {**_vertex(job, start), "tags": list(tags)}))
    elif tags != tuple((known or {}).get("tags") or ()):
        store.tag(document, tags)
    return job


def reopened(job: Job) -> Job:
    """The job with what the ledger says now: another thread may have ingested the same file meanwhile."""
    ledger = job.store.ledgers.stages(job.place.document)
    return replace(job, ledger=ledger, looked=_looked(ledger))


def _beside(video: Video, start_ms: int | None, options: Options) -> Sidecars:
    return read_sidecars(video.path, video.picture, start_ms=start_ms, streams=options.subtitle_streams)


def _seen_start(video: Video, tz: str, reader: Reader, notes: Notes) -> StartTime | None:
    """What the clock in the picture tells; where the reader fails, nothing, and a warning."""
    try:
        return seen_start(video, tz, reader)
    except MissingDependency:
        raise
    except ModelError as error:
        notes.warnings.append(f"the clock in the picture: {error}")
        return None


def made_job(
    video: Video, seal: Seal, place: Place, sidecars: Sidecars, site: Site, notes: Notes, *, again: bool = False
) -> Job:
    """A job with its models, what of it is finished, and nothing left of another configuration."""
    calls = Calls(site.store.ledgers, place.document, site.shared)
    tools = remembering(with_given(site.tools, sidecars), calls)
    names = names_of(site, tools, place.document)
    stages = configurations(site.options, tools, sidecars, names)
    ledger, anew = cleared(site.store, place.document, stages, again=again)
    outcome: Outcome = "ingested" if anew or not ledger else "resumed"
    return Job(
        video, sidecars, place, site.options, tools, site.store, site.assets, site.report, notes, stages, ledger, seal, calls,
        site.shared, outcome, _looked(ledger), names=names,
    )  # fmt: skip


def names_of(site: Site, tools: Tools, document: str) -> Mapping[str, str]:
    """Whom tracks were confirmed to be, where a captioner is to see it."""
    seen = site.options.draw_tracks and tools.captioner is not None and tools.captioner.name != GIVEN
    return confirmed_names(site.store, document) if seen else {}


def cleared(
    store: Store, document: str, stages: Mapping[str, str], *, again: bool
) -> tuple[Mapping[str, Mapping[str, Any]], bool]:
    """What is finished under these configurations, and whether another one had begun.

    The graph of another one, or of a run in which a model failed, is removed first; what was said, followed and seen stays where its own
    stage is as it was, and so do all remembered calls.
    """
    entries = store.ledgers.stages(document)
    made = [entry for name, entry in entries.items() if name.startswith("chunks-") or name == COMPLETE]
    stale = {collection for collection, stage in KEPT.items() if _is_stale(entries, stage, stages[stage])}
    anew = bool(stale) or any(entry["config"] != stages["chunks"] for entry in made)
    if anew or any(entry["state"] != "done" for entry in made) or (again and made):
        kept = ["segment", *(s for c, s in KEPT.items() if c not in stale)]
        store.removal.graph_part(document, also=sorted(stale), keep=kept)
        entries = store.ledgers.stages(document)
    return entries, anew


def _is_stale(entries: Mapping[str, Mapping[str, Any]], stage: str, config: str) -> bool:
    own = (entry for name, entry in entries.items() if name == stage or name.startswith(f"{stage}-"))
    return any(entry["config"] != config for entry in own)


def _looked(ledger: Mapping[str, Mapping[str, Any]]) -> dict[int, list[str]]:
    """Segments whose pictures are kept, with the damage that was found in them."""
    batches = (entry for name, entry in ledger.items() if name.startswith("look-"))
    return {offset: damage for entry in batches for offset, damage in entry["segments"]}


def check_calendar(video: Video, start_ms: int) -> None:
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
        kept[name] = _before(duration_ms, items)
        if len(kept[name]) < len(items):
            count = len(items) - len(kept[name])
            told.append(f"{count} given {name} begin after the video's end at {duration_ms / 1000:.1f} s; left out")
    return replace(sidecars, **kept, warnings=(*sidecars.warnings, *told))


def _before(end_ms: int, items: Sequence[Any]) -> Sequence[Any]:
    if isinstance(items, Detections):
        return items.before(end_ms)
    return tuple(item for item in items if item.offset_ms < end_ms)


def camera_info(video: Video, meta: Sidecars, asked: Asked) -> CameraInfo:
    given = meta.camera or CameraInfo(label=name_without_time(video.path.stem))
    return replace(given, label=asked.camera or given.label, tz=asked.tz or given.tz)


def with_given(tools: Tools, sidecars: Sidecars) -> Tools:
    """What came beside the video takes the place of the models that would guess it."""
    return replace(
        tools,
        captioner=GivenCaptions(sidecars.captions) if sidecars.captions else tools.captioner,
        transcriber=GivenUtterances(sidecars.utterances) if sidecars.utterances else tools.transcriber,
        detector=GivenDetections(sidecars.detections) if sidecars.detections else tools.detector,
    )


def _vertex(job: Job, start: StartTime) -> Record:
    title = job.sidecars.title or job.video.path.stem
    uri = str(job.video.path.resolve())
    return document_record(job.place, job.video, start, title=title, uri=uri, state="ingesting", facts=facts(job))


def facts(job: Job) -> dict[str, Any]:
    """How the document was read: `models` says `given` where a sidecar spoke instead of a model."""
    return {
        "config": job.config,
        "stages": dict(job.stages),
        "models": job.tools.names(),
        "sidecars": [path.name for path in job.sidecars.files],
        "warnings": [*job.video.warnings, *job.sidecars.warnings],
    }


def found_again(job: Job) -> Mapping[str, Any]:
    """The vertex of a document that is complete; where its file has moved, it says so from now on."""
    vertex = job.store.document(job.place.document) or {}
    uri = str(Path(job.video.path).resolve())
    if vertex and vertex["uri"] != uri and not Path(vertex["uri"]).exists():
        moved = {name: value for name, value in vertex.items() if name not in ("_id", "_rev")} | {"uri": uri}
        job.apply(GraphDelta({"documents": (moved,)}))
    return vertex
