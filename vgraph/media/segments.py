"""Cuts a video into segments: fixed windows, or the scenes that PySceneDetect finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from vgraph.errors import UserError
from vgraph.media.container import Warn, ignore
from vgraph.media.frames import frames
from vgraph.types import Frame, Segment, Video

TAIL_MS = 1_000
"""A rest shorter than this (or than a tenth of a window) joins the window before it."""

SCENE_WIDTH = 256
"""Pixels: scenes are found in shrunk pictures, as PySceneDetect does by itself (its default shrinks to this width)."""


def windows(duration_ms: int, window_ms: int, overlap_ms: int = 0) -> tuple[Segment, ...]:
    """Segments of `window_ms`, each beginning `overlap_ms` before the last one's end, that cover [0, duration).

    The last one ends with the video. Raises UserError for a window below 1 ms or an overlap not below the window.
    """
    if window_ms < 1 or not 0 <= overlap_ms < window_ms:
        raise UserError(
            f"windows of {window_ms} ms with {overlap_ms} ms overlap: the window must be 1 ms or more, "
            "the overlap 0 or more and below the window"
        )
    if duration_ms <= 0:
        return ()
    tail = min(TAIL_MS, window_ms // 10)
    starts = range(0, max(1, duration_ms - overlap_ms - tail), window_ms - overlap_ms)
    ends = [*(start + window_ms for start in starts[:-1]), duration_ms]
    return tuple(Segment(i, start, end, "window") for i, (start, end) in enumerate(zip(starts, ends, strict=True)))


def scenes(
    video: Video, threshold: float = 27.0, min_ms: int = 1_000, max_ms: int = 60_000, warn: Warn = ignore
) -> tuple[Segment, ...]:
    """Segments by content: a cut where hue, saturation and brightness change by `threshold` or more (0-255, mean).

    PySceneDetect's ContentDetector sees every picture, timed as `frames` times it. Scenes below `min_ms` join their
    shorter neighbour; those above `max_ms` are split evenly. Raises UserError for lengths that contradict each other,
    MediaError as `frames` does.
    """
    if min_ms < 0 or max_ms < 1 or max_ms < 2 * min_ms:
        raise UserError(f"scenes of {min_ms} to {max_ms} ms: the longest must be at least twice the shortest")
    cuts = content_cuts(frames(video, 1, width=SCENE_WIDTH, warn=warn), threshold)
    bounds = _merged([0, *(cut for cut in cuts if 0 < cut < video.duration_ms), video.duration_ms], min_ms)
    pieces = [piece for start, end in pairwise(bounds) for piece in _split(start, end, max_ms)]
    return tuple(Segment(i, start, end, "scene") for i, (start, end) in enumerate(pieces))


def content_cuts(pictures: Iterable[Frame], threshold: float) -> Iterator[int]:
    """Media times (ms) of pictures that begin a new scene."""
    import numpy as np
    from scenedetect import ContentDetector, FrameTimecode

    detector = ContentDetector(threshold=threshold, min_scene_len=0)
    for number, picture in enumerate(pictures):
        blue_first = np.ascontiguousarray(picture.image[:, :, ::-1])
        if detector.process_frame(FrameTimecode(number, 25.0), blue_first):
            yield picture.offset_ms


def _merged(bounds: list[int], min_ms: int) -> list[int]:
    """Bounds of scenes, without the shorter-sided bound of every scene below `min_ms`, shortest scenes first."""
    bounds = list(bounds)
    while len(bounds) > 2:
        length, index = min((end - start, i) for i, (start, end) in enumerate(pairwise(bounds)))
        if length >= min_ms:
            break
        del bounds[_joint(bounds, index)]
    return bounds


def _joint(bounds: list[int], index: int) -> int:
    """Which bound of scene `index` goes: that with the shorter neighbour, never the video's own ends."""
    if index == 0:
        return 1
    if index == len(bounds) - 2:
        return index
    before, after = bounds[index] - bounds[index - 1], bounds[index + 2] - bounds[index + 1]
    return index if before <= after else index + 1


def _split(start: int, end: int, max_ms: int) -> Iterator[tuple[int, int]]:
    parts = max(1, -(-(end - start) // max_ms))
    edges = [start + (end - start) * part // parts for part in range(parts + 1)]
    yield from pairwise(edges)
