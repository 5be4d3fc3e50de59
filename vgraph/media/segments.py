"""Cuts a video into segments: fixed windows, scenes (PySceneDetect), events between change points (PELT), or stretches of what is said."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from vgraph.errors import UserError
from vgraph.media.container import Warn, ignore
from vgraph.media.frames import frames
from vgraph.types import Boundary, Frame, Segment, Video

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TAIL_MS = 1_000
"""A rest shorter than this (or than a tenth of a window) joins the window before it."""

SCENE_WIDTH = 256
"""Pixels: scenes are found in shrunk pictures, as PySceneDetect does by itself (its default shrinks to this width)."""

PELT_WINDOW = 7_200
"""Samples looked at together (two hours at one a second): PELT is quadratic at worst, and then takes about a second for so many."""

MEDIAN_SAMPLE = 1_000
"""Samples of which the median distance is taken: all pairs of a whole window would fill gigabytes."""


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


# --- scenes -------------------------------------------------------------------------------------------------------------


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
    return _segments(bounds, max_ms, "scene")


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


# --- events -------------------------------------------------------------------------------------------------------------


def events(
    duration_ms: int,
    at_ms: Sequence[int],
    unlike: NDArray[np.float64],
    *,
    penalty: float = 5.0,
    min_samples: int = 5,
    min_ms: int = 5_000,
    max_ms: int = 60_000,
) -> tuple[Segment, ...]:
    """Segments by change points of how much the picture changes (VideoStir V2), that cover [0, duration).

    `at_ms` are the media times of the sampled pictures, `unlike` (one fewer) what `dissimilarities` says of each and the next.
    A segment begins at the first picture after the change. Those below `min_ms` join the one after them, those above `max_ms`
    are split evenly. Raises UserError for lengths that contradict each other and for other numbers that make no sense.
    """
    if min_ms < 0 or max_ms < 1 or max_ms < 2 * min_ms:
        raise UserError(f"events of {min_ms} to {max_ms} ms: the longest must be at least twice the shortest")
    if penalty <= 0 or min_samples < 1 or len(unlike) != max(0, len(at_ms) - 1):
        raise UserError(
            f"events of {len(at_ms)} pictures by {len(unlike)} distances, penalty {penalty}, at least {min_samples} samples: "
            "a distance for each picture and the next, a penalty above 0 and 1 sample or more are needed"
        )
    if duration_ms <= 0:
        return ()
    cuts = [at_ms[point + 1] for point in change_points(unlike, penalty, min_samples)]
    bounds = _merged_forward([0, *(cut for cut in cuts if 0 < cut < duration_ms), duration_ms], min_ms)
    return _segments(bounds, max_ms, "event")


def dissimilarities(batches: Iterable[NDArray[np.float32]]) -> NDArray[np.float64]:
    """1 - cos of each embedding and the next, from batches of rows in order of time; only the last row of a batch is kept."""
    import numpy as np

    found: list[NDArray[np.float64]] = []
    last: NDArray[np.float32] | None = None
    for batch in batches:
        rows = batch if last is None else np.concatenate([last, batch])
        lengths = np.linalg.norm(rows, axis=1)
        products = np.einsum("ij,ij->i", rows[:-1], rows[1:], dtype=np.float64)
        found.append(1.0 - products / np.maximum(lengths[:-1] * lengths[1:], 1e-12))
        last = rows[-1:] if len(rows) else last
    return np.concatenate([*found, np.zeros(0)])


def change_points(unlike: NDArray[np.float64], penalty: float, min_samples: int) -> list[int]:
    """Indexes at which `unlike` begins to behave otherwise: PELT (Killick et al. 2012), cost rbf, every index a candidate.

    Long recordings are looked at in windows of PELT_WINDOW samples. Each begins where the one before found its last change, or halfway
    into it, so that no change is made, and none is missed, because a window ends there.
    """
    found: list[int] = []
    start = 0
    while start < len(unlike):
        piece = unlike[start : start + PELT_WINDOW]
        found.extend(start + point for point in _pelt(piece, penalty, min_samples))
        if start + PELT_WINDOW >= len(unlike):
            break
        start = max(start + PELT_WINDOW // 2, found[-1] if found else 0)
    return sorted(set(found))


def _pelt(signal: NDArray[np.float64], penalty: float, min_samples: int) -> list[int]:
    """ruptures' compiled PELT for kernel costs: the same points as its `Pelt(model="rbf", jump=1)`, in memory linear in the signal."""
    import ruptures

    if len(signal) < 2 * min_samples:
        return []
    finder = ruptures.KernelCPD(kernel="rbf", min_size=min_samples, params={"gamma": _gamma(signal)})
    points: list[Any] = finder.fit(signal).predict(pen=penalty)
    return [int(point) for point in points[:-1]]


def _gamma(signal: NDArray[np.float64]) -> float:
    """One over the median squared distance of pairs, as ruptures takes it; of pairs that differ, where most do not."""
    import numpy as np

    sample = signal[np.linspace(0, len(signal) - 1, min(len(signal), MEDIAN_SAMPLE)).astype(int)]
    squares = np.square(sample[:, None] - sample[None, :])[np.triu_indices(len(sample), 1)]
    apart = squares[squares > 0]
    median = float(np.median(squares)) or (float(np.median(apart)) if apart.size else 1.0)
    return 1.0 / median


def _merged_forward(bounds: list[int], min_ms: int) -> list[int]:
    """Bounds of events, without the end of each that is below `min_ms`; a short last one joins the one before."""
    kept = bounds[:1]
    for bound in bounds[1:-1]:
        if bound - kept[-1] >= min_ms:
            kept.append(bound)
    if len(kept) > 1 and bounds[-1] - kept[-1] < min_ms:
        kept.pop()
    return [*kept, bounds[-1]]


# --- what is said -------------------------------------------------------------------------------------------------------


def aligned(duration_ms: int, said: Iterable[tuple[int, int]], target_ms: int) -> tuple[Segment, ...]:
    """Segments near `target_ms` that begin and end with something said, that cover [0, duration).

    `said` are the spans of utterances or subtitles in any order. A cut is made at the edge of one nearest to the target length, from half
    of it to one and a half, and never inside another one; where no edge is there, at the target. A rest below half of it joins the
    segment before. Raises UserError for a target below 2 ms.
    """
    if target_ms < 2:
        raise UserError(f"segments of {target_ms} ms: the target must be 2 ms or more")
    edges = _edges(sorted(span for span in said if span[0] < span[1]))
    bounds = [0]
    while duration_ms - bounds[-1] > target_ms * 3 // 2:
        bounds.append(_nearest_edge(edges, bounds[-1], target_ms))
    return _segments([*bounds, duration_ms], None, "subtitle") if duration_ms > 0 else ()


def _edges(spans: Sequence[tuple[int, int]]) -> list[int]:
    """Where spans begin and end, without those inside another one."""
    starts, ends = [start for start, _ in spans], sorted(end for _, end in spans)
    candidates = sorted({*starts, *ends})
    return [ms for ms in candidates if bisect_left(starts, ms) <= bisect_right(ends, ms)]


def _nearest_edge(edges: Sequence[int], start_ms: int, target_ms: int) -> int:
    ideal = start_ms + target_ms
    first, last = bisect_left(edges, start_ms + target_ms // 2), bisect_right(edges, start_ms + target_ms * 3 // 2)
    return min(edges[first:last], key=lambda edge: abs(edge - ideal), default=ideal)


# --- bounds -------------------------------------------------------------------------------------------------------------


def _segments(bounds: Sequence[int], max_ms: int | None, boundary: Boundary) -> tuple[Segment, ...]:
    pieces = [piece for start, end in pairwise(bounds) for piece in _split(start, end, max_ms or end - start)]
    return tuple(Segment(i, start, end, boundary) for i, (start, end) in enumerate(pieces))


def _split(start: int, end: int, max_ms: int) -> Iterator[tuple[int, int]]:
    parts = max(1, -(-(end - start) // max_ms))
    edges = [start + (end - start) * part // parts for part in range(parts + 1)]
    yield from pairwise(edges)
