"""How a document is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from vgraph.ingest.job import Job
from vgraph.media.assets import encoded
from vgraph.media.frames import frames
from vgraph.media.segments import aligned, dissimilarities, events, scenes, windows
from vgraph.models.descriptor import PictureDescriptor
from vgraph.types import GraphDelta, Segment, Utterance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH: Final = 16
NAME: Final = "segment"


def segmented(job: Job, spoken: Sequence[Utterance] = ()) -> tuple[Segment, ...]:
    """The segments of the video, in its own media time, by the options' segmenter. Those that pictures decide are kept in the ledger."""
    options, duration_ms = job.options, job.video.duration_ms
    match options.segmenter:
        case "scene" | "event":
            return _kept(job) or _found(job)
        case "subtitle":
            said = ((u.offset_ms - job.base_ms, u.end_offset_ms - job.base_ms) for u in spoken)
            return aligned(duration_ms, said, options.window_ms)
        case _:
            return windows(duration_ms, options.window_ms, options.overlap_ms)


def _kept(job: Job) -> tuple[Segment, ...]:
    if not job.done(NAME, NAME):
        return ()
    rows = job.ledger[NAME]["segments"]
    return tuple(Segment(n, start, end, boundary) for n, (start, end, boundary) in enumerate(rows))


def _found(job: Job) -> tuple[Segment, ...]:
    job.tell("segment", 0, None)
    found = _scenes(job) if job.options.segmenter == "scene" else _events(job)
    rows = [[one.offset_ms, one.end_offset_ms, one.boundary] for one in found]
    job.apply(GraphDelta({"ledger": (job.entry(NAME, NAME, segments=rows),)}))
    return found


def _scenes(job: Job) -> tuple[Segment, ...]:
    options = job.options
    return scenes(job.video, options.scene_threshold, options.scene_min_ms, options.scene_max_ms, job.warn)


def _events(job: Job) -> tuple[Segment, ...]:
    """By the image embedder where there is one, else by colours and edges."""
    options = job.options
    at_ms: list[int] = []
    unlike = dissimilarities(_embedded(job, at_ms))
    return events(
        job.video.duration_ms,
        at_ms,
        unlike,
        penalty=options.event_penalty,
        min_samples=options.event_min_samples,
        min_ms=options.event_min_ms,
        max_ms=options.event_max_ms,
    )


def _embedded(job: Job, at_ms: list[int]) -> Iterator[NDArray[np.float32]]:
    """Embeddings of sampled pictures in batches; their media times are appended as they come."""
    options, model = job.options, job.tools.image_embedder or PictureDescriptor()
    pictures = frames(job.video, options.event_every_ms, warn=job.warn)
    while batch := list(islice(pictures, BATCH)):
        at_ms.extend(frame.offset_ms for frame in batch)
        job.tell("segment", at_ms[-1] // 1000, job.video.duration_ms // 1000, "seconds")
        jpegs = [encoded(frame, width=options.frame_width, quality=options.jpeg_quality)[0] for frame in batch]
        with job.shared.gates.alone(model):
            yield model.embed_images(jpegs)
