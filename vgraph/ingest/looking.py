"""What is kept of a segment's pictures: JPEGs, their embeddings, and the text read off some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vgraph.ingest.job import Job
from vgraph.ingest.keys import chunk_key
from vgraph.media.frames import distance_ms
from vgraph.types import Frame, Segment, StoredFrame, TextRead

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Look:
    """A segment's pictures; `embeddings` has a row a frame, or is None where no model makes them."""

    frames: tuple[StoredFrame, ...]
    embeddings: NDArray[np.float32] | None
    reads: tuple[TextRead, ...]
    damage: tuple[str, ...]
    failed: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.damage, *self.failed)


def look(job: Job, segment: Segment) -> Look:
    """A segment's pictures, from the graph where they are there already, else decoded once."""
    with job.notes.stage("frames"):
        return _seen_before(job, segment) or _decoded(job, segment)


def _seen_before(job: Job, segment: Segment) -> Look | None:
    """What an earlier run kept under the same configuration, if its reader read all that it is to read now."""
    damage = job.looked.get(segment.offset_ms)
    if damage is None:
        return None
    records = job.store.frames([chunk_key(job.place.document, segment.offset_ms)])
    stored = tuple(StoredFrame(r["offset_ms"], r["asset"], r["width"], r["height"]) for r in records)
    reads = _recalled(job, [frame.offset_ms for frame in stored if _is_read(job, segment, frame.offset_ms)])
    if reads is None or not all(job.assets.path(frame.asset).exists() for frame in stored):
        return None
    return Look(stored, _rows([record.get("embedding") for record in records]), reads, tuple(damage))


def _recalled(job: Job, offsets: Sequence[int]) -> tuple[TextRead, ...] | None:
    from vgraph.ingest.remembered import RememberedReader

    reader = job.tools.reader
    if reader is None or not offsets:
        return ()
    known = reader.recall(offsets) if isinstance(reader, RememberedReader) else None
    return None if known is None else tuple(read for reads in known for read in reads)


def _rows(vectors: Sequence[list[float] | None]) -> NDArray[np.float32] | None:
    import numpy as np

    return None if not vectors or None in vectors else np.asarray(vectors, np.float32)


def _decoded(job: Job, segment: Segment) -> Look:
    """Decode a segment once: keep its frames as JPEG, read text off some of them."""
    options = job.options
    stored: list[StoredFrame] = []
    reads: list[TextRead] = []
    damage: list[str] = []
    failed: list[str] = []
    span = {"start_ms": segment.offset_ms, "end_ms": segment.end_offset_ms}
    for frame in job.frames(_distance_ms(job, segment), **span, warn=damage.append):
        kept = job.assets.save(job.place.document, frame, width=options.frame_width, quality=options.jpeg_quality)
        stored.append(kept)
        if _is_read(job, segment, frame.offset_ms):
            found, why = _read(job, frame)
            reads.extend(found)
            failed.extend(why)
    vectors, why = _embedded(job, stored)
    return Look(tuple(stored), vectors, tuple(reads), tuple(damage), (*failed, *why))


def _is_read(job: Job, segment: Segment, offset_ms: int) -> bool:
    return (offset_ms - segment.offset_ms) % job.options.read_every_ms < _distance_ms(job, segment)


def _distance_ms(job: Job, segment: Segment) -> int:
    return distance_ms(segment, job.options.frame_every_ms, job.options.scene_frames)


def _read(job: Job, frame: Frame) -> tuple[tuple[TextRead, ...], tuple[str, ...]]:
    reader = job.tools.reader
    if reader is None:
        return (), ()
    nothing: tuple[TextRead, ...] = ()
    return job.attempt("reading", lambda: reader.read(frame), nothing)


def _embedded(job: Job, stored: Sequence[StoredFrame]) -> tuple[NDArray[np.float32] | None, tuple[str, ...]]:
    images = job.tools.image_embedder
    if images is None or not stored:
        return None, ()
    with job.notes.stage("embed"), job.shared.gates.alone(images):
        return images.embed_images([job.assets.bytes(frame.asset) for frame in stored]), ()
