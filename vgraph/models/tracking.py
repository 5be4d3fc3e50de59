"""Detections of single frames joined into tracks by norfair: a Kalman filter a box, each moved on and given the nearest detection.

norfair counts frames; here it is given a tick for each step of the detections' own rhythm, also where nothing was seen, so that a
track waits for a time and not for a number of detections.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Final

from vgraph.types import Detection, Track

OTHER_CLASS: Final = 0.5
"""Likeness counts so much less between classes: who wavers between car and truck may keep a track, a bicycle may not take its rider's."""

GROWTH: Final = 0.5
"""Of a box's sides, on each side."""

NEAR: Final = 0.25
"""What the overlap of grown boxes counts, against that of boxes."""

STEP_MS: Final = 200
"""Between moments, where fewer than two tell it."""

RHYTHM: Final = 50
"""Moments from which the rhythm of detections is told."""

MEASURED: Final = 4.0
MOVED: Final = 1.0
"""Variances of the filter: of a measured box, and of how its motion changes. norfair's own (4 and 0.1) expect steadier motion than
people's; these give the higher IDF1 on the synthetic world (bench/tracking.py)."""


@dataclass(slots=True)
class Tracker:
    """Follows objects moment by moment; tracks come out when they end, so that hours of video need little memory.

    step_ms: between moments as a rule. max_gap_ms: how long a track that was seen some times waits unseen (one seen once waits for two
    steps). least_overlap: of where a box should be and a detection (IoU). sure: the confidence from which a detection may begin a track.
    least_detections: shorter tracks are noise and are dropped.
    """

    step_ms: int = STEP_MS
    max_gap_ms: int = 1_500
    least_overlap: float = 0.05
    sure: float = 0.4
    least_detections: int = 2
    _engine: Any = None
    _paths: dict[int, list[Detection]] = field(default_factory=dict)
    _before: int | None = None
    _begun: Counter[str] = field(default_factory=Counter)

    def add(self, detections: Sequence[Detection]) -> list[Track]:
        """Take the detections of one moment (all of one offset, later than those before); the tracks that have ended."""
        if not detections:
            return []
        if self._engine is None:
            self._engine = self._made()
        now = detections[0].offset_ms
        for _ in range(self._missed(now)):
            self._engine.update()
        self._engine.update([_Seen(detection).norfairs for detection in detections])
        self._before = now
        for one in self._engine.tracked_objects:
            newest = one.last_detection.data.detection
            if newest.offset_ms == now:
                self._paths.setdefault(one.initializing_id, []).append(newest)
        return self._ended({one.initializing_id for one in self._engine.tracked_objects})

    def close(self) -> list[Track]:
        """The tracks still open at the end."""
        return self._ended(set())

    def _made(self) -> Any:
        from norfair import OptimizedKalmanFilterFactory, Tracker

        made = Tracker(
            distance_function="iou",
            distance_threshold=1 - self.least_overlap,
            hit_counter_max=max(2, round(self.max_gap_ms / self.step_ms)),
            initialization_delay=0,
            filter_factory=OptimizedKalmanFilterFactory(R=MEASURED, Q=MOVED),
        )
        made.distance_function = _overlap()  # the constructor takes a name or a slow function of one pair
        return made

    def _missed(self, now: int) -> int:
        """Steps since the moment before in which nothing was seen; more than a track waits make no difference."""
        if self._before is None:
            return 0
        return min(round((now - self._before) / self.step_ms), 2 + round(self.max_gap_ms / self.step_ms)) - 1

    def _ended(self, open_: set[int]) -> list[Track]:
        over = [self._paths.pop(key) for key in sorted(self._paths.keys() - open_)]
        found = (self._track(path) for path in over)
        return [track for track in found if track is not None]

    def _track(self, path: Sequence[Detection]) -> Track | None:
        """From its first sure detection on; named by class, beginning and a number among those alike: the same ones give the same names."""
        first = next((n for n, seen in enumerate(path) if seen.confidence >= self.sure), len(path))
        path = path[first:]
        if len(path) < self.least_detections:
            return None
        label = commonest(path)
        stem = f"{label.replace(' ', '_')}-{path[0].offset_ms}"
        self._begun[stem] += 1
        name = f"{stem}-{self._begun[stem]}"
        return Track(name, label, tuple(replace(seen, track=name) for seen in path))


@dataclass(frozen=True)
class _Seen:
    """A detection on its way through norfair."""

    detection: Detection

    @cached_property
    def norfairs(self) -> Any:
        import numpy as np
        from norfair import Detection as Points

        box = self.detection.box
        corners = np.array([[box.x, box.y], [box.x + box.width, box.y + box.height]])
        return Points(points=corners, data=self)


def _overlap() -> Any:
    """1 - likeness of every detection and every track, as norfair asks for distances.

    Likeness is IoU. What is fast for the rhythm is caught by boxes grown on every side, as in C-BIoU (Yang et al. 2023, section 3), which
    count less than any overlap of the boxes themselves.
    """
    import numpy as np
    from norfair.distances import Distance

    def iou(tracks: Any, found: Any) -> Any:
        sides = np.minimum(tracks[..., 2:], found[..., 2:]) - np.maximum(tracks[..., :2], found[..., :2])
        shared = np.clip(sides, 0, None).prod(axis=2)
        areas = [(boxes[..., 2:] - boxes[..., :2]).prod(axis=2) for boxes in (tracks, found)]
        return shared / np.maximum(areas[0] + areas[1] - shared, 1e-9)

    def grown(boxes: Any) -> Any:
        margin = GROWTH * (boxes[..., 2:] - boxes[..., :2])
        return boxes + np.concatenate([-margin, margin], axis=-1)

    class Overlap(Distance):
        def get_distances(self, objects: Sequence[Any], candidates: Sequence[Any] | None) -> Any:
            if not objects or not candidates:
                return np.zeros((len(candidates or ()), len(objects)))
            tracks = np.array([one.estimate.ravel() for one in objects])[None]
            found = np.array([one.points.ravel() for one in candidates])[:, None]
            near = iou(grown(tracks), grown(found))
            likeness = np.maximum(iou(tracks, found), NEAR * near)
            theirs = np.array([one.last_detection.data.detection.label for one in objects])[None]
            own = np.array([one.data.detection.label for one in candidates])[:, None]
            return 1 - likeness * np.where(theirs == own, 1.0, OTHER_CLASS)

    return Overlap()


def track(detections: Iterable[Detection], **options: float) -> tuple[Track, ...]:
    """All tracks in detections of any order, by time of beginning. Detections that bring a track id keep it; the others are joined.

    Options are those of Tracker; the step is told from the detections where it is not given.
    """
    given: defaultdict[str, list[Detection]] = defaultdict(list)
    loose: list[Detection] = []
    for detection in sorted(detections, key=lambda detection: detection.offset_ms):
        (loose if detection.track is None else given[detection.track]).append(detection)
    found = [Track(name, commonest(own), tuple(own)) for name, own in given.items()]
    found += _joined(loose, options)
    return tuple(sorted(found, key=lambda track: (track.offset_ms, track.id)))


def _joined(loose: Sequence[Detection], options: dict[str, float]) -> Iterator[Track]:
    step_ms = options.pop("step_ms", None) or rhythm([detection.offset_ms for detection in loose])
    tracker = Tracker(step_ms=int(step_ms), **options)  # type: ignore[arg-type]
    for _, moment in groupby(loose, key=lambda detection: detection.offset_ms):
        yield from tracker.add(list(moment))
    yield from tracker.close()


def rhythm(offsets_ms: Sequence[int]) -> int:
    """The distance (ms) that most neighbouring moments lie apart, told from the first ones: what is between two looks."""
    moments = [ms for ms, _ in groupby(offsets_ms)][:RHYTHM]
    distances = Counter(later - earlier for earlier, later in pairwise(moments))
    return min(distances, key=lambda ms: (-distances[ms], ms), default=STEP_MS)


def commonest(detections: Sequence[Detection]) -> str:
    """The class most detections agree on; the earliest of those on a tie."""
    return Counter(detection.label for detection in detections).most_common(1)[0][0]
