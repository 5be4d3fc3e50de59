"""What a captioner is shown of a segment, and what it says."""

from __future__ import annotations

from collections.abc import Sequence

from vgraph.ingest.calls import concerning
from vgraph.ingest.job import Job
from vgraph.ingest.keys import chunk_key
from vgraph.ingest.looking import Look
from vgraph.models.captions import spread
from vgraph.types import Caption, Segment, Track, Utterance


def captioned(
    job: Job, segment: Segment, look: Look, spoken: Sequence[Utterance], tracks: Sequence[Track]
) -> tuple[tuple[Caption, ...], tuple[str, ...]]:
    """The captions of a segment, and a warning where the model failed. Captions that were given see no picture."""
    captioner = job.tools.captioner
    if captioner is None or not (look.frames or job.sidecars.captions):
        return (), ()
    pictures = [] if job.sidecars.captions else shown(job, look, tracks)
    said = "\n".join(utterance.text for utterance in spoken) if job.options.caption_hears else ""
    nothing: tuple[Caption, ...] = ()
    with job.notes.stage("caption"), concerning(chunk_key(job.place.document, segment.offset_ms)):
        return job.attempt("caption", lambda: captioner.caption(segment, pictures, said), nothing)


def shown(job: Job, look: Look, tracks: Sequence[Track]) -> list[tuple[int, bytes]]:
    """The frames a captioner sees: (media time, JPEG), evenly spread."""
    chosen = spread(look.frames, job.options.caption_frames)
    return [(frame.offset_ms, job.assets.bytes(frame.asset)) for frame in chosen]
