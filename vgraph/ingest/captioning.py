"""What a captioner is shown of a segment, and what it says."""

from __future__ import annotations

from collections.abc import Sequence

from vgraph.ingest.calls import concerning
from vgraph.ingest.chunks import MOTION
from vgraph.ingest.extract.tracked import entity_type, identity_of
from vgraph.ingest.job import Job
from vgraph.ingest.keys import chunk_key
from vgraph.ingest.looking import Look
from vgraph.media.drawing import Drawn, at, drawn
from vgraph.models.captions import spread
from vgraph.types import Caption, Mark, Segment, StoredFrame, Track, Utterance

Picture = tuple[int, bytes]


def captioned(
    job: Job, segment: Segment, look: Look, spoken: Sequence[Utterance], tracks: Sequence[Track]
) -> tuple[tuple[Caption, ...], tuple[str, ...]]:
    """The captions of a segment, and warnings where the model failed or broke its form. Captions that were given see no picture."""
    captioner = job.tools.captioner
    if captioner is None or not (look.frames or job.sidecars.captions):
        return (), ()
    pictures, marks = ([], ()) if job.sidecars.captions else shown(job, look, tracks)
    said = "\n".join(utterance.text for utterance in spoken) if job.options.caption_hears else ""
    nothing: tuple[Caption, ...] = ()
    with job.notes.stage("caption"), concerning(chunk_key(job.place.document, segment.offset_ms)):
        captions, failed = job.attempt("caption", lambda: captioner.caption(segment, pictures, said, marks), nothing)
    return captions, (*failed, *(f"caption: {caption.warning}" for caption in captions if caption.warning))


def shown(job: Job, look: Look, tracks: Sequence[Track]) -> tuple[list[Picture], tuple[Mark, ...]]:
    """The frames a captioner sees, evenly spread, (media time, JPEG), with the tracks that are drawn onto them (visual prompting)."""
    chosen = spread(look.frames, job.options.caption_frames)
    marks = {one.id: mark_of(job, one) for one in tracks if one.label != MOTION} if job.options.draw_tracks else {}
    pictures: list[Picture] = []
    seen: set[str] = set()
    for frame in chosen:
        boxes = [(one.id, box) for one in tracks if one.id in marks and (box := at(one, frame.offset_ms))]
        pictures.append((frame.offset_ms, _picture(job, frame, [Drawn(marks[key], box) for key, box in boxes])))
        seen.update(key for key, _ in boxes)
    return pictures, tuple(sorted((marks[key] for key in seen), key=lambda mark: mark.number))


def mark_of(job: Job, track: Track) -> Mark:
    """How a track is drawn: under its number, with the name of whom people confirmed it to be."""
    identity = identity_of(job.place.document, track.id)
    return Mark(track.number, track.id, track.label, job.names.get(track.id, ""), identity, entity_type(track.label))


def _picture(job: Job, frame: StoredFrame, marks: Sequence[Drawn]) -> bytes:
    """The kept picture with its marks; kept beside it as `….drawn.jpg` where the options want that."""
    content = drawn(job.assets.bytes(frame.asset), marks, job.video.picture.width)
    if marks and job.options.keep_drawn:
        job.assets.save_drawn(frame.asset, content)
    return content
