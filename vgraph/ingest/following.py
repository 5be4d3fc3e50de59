"""What is followed through a document: detections joined into tracks, each with what it looks like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from vgraph.ingest.chunks import MOTION
from vgraph.ingest.graph import track_of, track_record
from vgraph.ingest.job import Job
from vgraph.media.assets import encoded
from vgraph.media.drawing import at
from vgraph.models.tracking import track
from vgraph.types import Box, Detection, Frame, Track

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOTHING: tuple[Track, ...] = ()
CROPS: Final = 8
"""Pictures of a track that its look is the mean of, spread over its time."""
MARGIN: Final = 0.05
"""Of a box's sides, added around a crop: embedders were trained on things with some of what is around them."""
LEAST_CROP: Final = 8
"""Pixels; what is smaller looks like nothing."""
BATCH: Final = 16


def followed(job: Job) -> tuple[Track, ...]:
    """All tracks of the document, from the graph where they are there already."""
    if job.done("follow", "follow"):
        return tuple(track_of(record) for record in job.store.tracks(job.place.document))
    with job.notes.stage("follow"):
        found, failed = job.attempt("detection", lambda: track(_thinned(job, _detected(job))), NOTHING)
        tracks, why = job.attempt("appearance", lambda: _with_looks(job, _numbered(job, found)), _numbered(job, found))
        records = tuple(track_record(job.place, one) for one in tracks)
        job.write_stage("follow", "follow", "tracks", records, (*failed, *why))
    return tracks


def _numbered(job: Job, tracks: Sequence[Track]) -> tuple[Track, ...]:
    """Numbers in order of beginning; a piece of a live document goes on from the pieces before."""
    before = sum(r["offset_ms"] < job.base_ms for r in job.store.tracks(job.place.document)) if job.live else 0
    return tuple(replace(one, number=number) for number, one in enumerate(tracks, before + 1))


# --- detections ---------------------------------------------------------------------------------------------------------


def _detected(job: Job) -> Iterator[Detection]:
    if job.tools.detector is not None:
        yield from job.tools.detector.detect(_watched(job))


def _watched(job: Job) -> Iterator[Frame]:
    for frame in job.frames(job.options.detect_every_ms):
        job.tell("follow", frame.offset_ms // 1000, job.end_ms // 1000, "seconds")
        yield frame


def _thinned(job: Job, detections: Iterable[Detection]) -> Iterator[Detection]:
    """Detections of moments at least the options' distance apart: what was given for every picture is not kept for every picture."""
    every_ms, now, due = job.options.detect_every_ms, -1, 0
    for seen in detections:
        if seen.offset_ms != now and seen.offset_ms >= due:
            now, due = seen.offset_ms, seen.offset_ms - seen.offset_ms % every_ms + every_ms
        if seen.offset_ms == now:
            yield seen


# --- looks --------------------------------------------------------------------------------------------------------------


def _with_looks(job: Job, tracks: Sequence[Track]) -> tuple[Track, ...]:
    """Tracks with the mean embedding of their crops, where an image embedder makes them and the options want them."""
    model = job.tools.image_embedder
    if model is None or not job.options.track_looks or not tracks:
        return tuple(tracks)
    looks = _looks(job, model, tracks)
    return tuple(replace(one, embedding=looks.get(one.id)) for one in tracks)


def _looks(job: Job, model: Any, tracks: Sequence[Track]) -> dict[str, tuple[float, ...]]:
    import numpy as np

    sums: dict[str, NDArray[np.float64]] = {}
    for batch in _batches(_crops(job, tracks)):
        with job.shared.gates.alone(model):
            rows = model.embed_images([jpeg for _, jpeg in batch])
        for (track_id, _), row in zip(batch, rows, strict=True):
            sums[track_id] = sums.get(track_id, np.zeros(row.shape)) + row
    return {key: tuple(_unit(total).tolist()) for key, total in sums.items() if np.linalg.norm(total) > 0}


def _unit(total: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    unit: NDArray[np.float64] = total / float(np.linalg.norm(total))
    return unit.round(7)


def _batches(crops: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    for crop in crops:
        batch.append(crop)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _crops(job: Job, tracks: Sequence[Track]) -> Iterator[tuple[str, bytes]]:
    """(track, JPEG) of what lies in its boxes, from one pass over the pictures of the moments wanted."""
    wanted = _moments(tracks, job.options.detect_every_ms)
    if not wanted:
        return
    for frame in job.frames(job.options.detect_every_ms, start_ms=min(wanted), end_ms=max(wanted) + 1):
        job.tell("looks", frame.offset_ms // 1000, job.end_ms // 1000, "seconds")
        for one in wanted.get(frame.offset_ms - frame.offset_ms % job.options.detect_every_ms, ()):
            box = at(one, frame.offset_ms)
            crop = None if box is None else _cropped(frame, box)
            if crop is not None:
                yield one.id, encoded(crop, width=job.options.frame_width, quality=job.options.jpeg_quality)[0]


def _moments(tracks: Sequence[Track], every_ms: int) -> Mapping[int, list[Track]]:
    """Moments (ms, on the grid of looked-at pictures) with the tracks to be cropped then. Bare motion is not worth a look."""
    found: dict[int, list[Track]] = {}
    for one in tracks:
        if one.label == MOTION:
            continue
        count = min(CROPS, len(one.detections))
        for n in range(count):
            seen = one.detections[(2 * n + 1) * len(one.detections) // (2 * count)]
            found.setdefault(seen.offset_ms - seen.offset_ms % every_ms, []).append(one)
    return found


def _cropped(frame: Frame, box: Box) -> Frame | None:
    height, width = frame.image.shape[:2]
    across, down = box.width * MARGIN, box.height * MARGIN
    left, right = max(0, round(box.x - across)), min(width, round(box.x + box.width + across))
    top, bottom = max(0, round(box.y - down)), min(height, round(box.y + box.height + down))
    if right - left < LEAST_CROP or bottom - top < LEAST_CROP:
        return None
    return Frame(frame.offset_ms, frame.image[top:bottom, left:right])
