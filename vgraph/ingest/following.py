"""What is followed through a document: detections joined into tracks."""

from __future__ import annotations

from collections.abc import Iterator

from vgraph.ingest.graph import track_of, track_record
from vgraph.ingest.job import Job
from vgraph.models.tracking import track
from vgraph.types import Detection, Frame, Track

NOTHING: tuple[Track, ...] = ()


def followed(job: Job) -> tuple[Track, ...]:
    """All tracks of the document, from the graph where they are there already."""
    name = job.name_of("follow")
    if job.done(name, "follow"):
        return tuple(track_of(record) for record in job.stored(job.store.tracks(job.place.document)))
    with job.notes.stage("follow"):
        tracks, failed = job.attempt("detection", lambda: track(_detected(job)), NOTHING)
        job.write_stage(name, "follow", "tracks", tuple(track_record(job.place, one) for one in tracks), failed)
    return tracks


def _detected(job: Job) -> Iterator[Detection]:
    if job.tools.detector is not None:
        yield from job.tools.detector.detect(_watched(job))


def _watched(job: Job) -> Iterator[Frame]:
    for frame in job.frames(job.options.detect_every_ms):
        job.tell("follow", frame.offset_ms // 1000, job.end_ms // 1000, "seconds")
        yield frame
