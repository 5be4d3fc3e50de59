"""How a document is cut."""

from __future__ import annotations

from vgraph.ingest.job import Job
from vgraph.media.segments import scenes, windows
from vgraph.types import Segment


def segmented(job: Job) -> tuple[Segment, ...]:
    """The segments of the video, in its own media time, by the options' segmenter."""
    options = job.options
    if options.segmenter == "scene":
        job.tell("segment", 0, None)
        return scenes(job.video, options.scene_threshold, options.scene_min_ms, options.scene_max_ms)
    return windows(job.video.duration_ms, options.window_ms, options.overlap_ms)
