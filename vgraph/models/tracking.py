"""Detections of single frames joined into tracks.

In the manner of ByteTrack (Zhang et al. 2022, section 3): each track's box is moved on at its own speed, sure detections are assigned
first, what is left of the tracks may then take unsure ones. What is fast for the frame rate is caught by boxes grown on every side, as in
C-BIoU (Yang et al. 2023, section 3), but only from one moment to the next: over a gap, near is no proof of the same. Assignment is optimal
(Hungarian method) over the overlap of boxes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from vgraph.models.boxes import grown, iou
from vgraph.types import Box, Detection, Track

_OTHER_CLASS: Final = (
    0.5  # a detector that wavers between car and truck may keep a track; a bicycle may not take its rider's
)
_STEADINESS: Final = 0.6
_GROWTH: Final = 0.5


@dataclass(slots=True)
class _Path:
    """A track being followed: `speed` is of the centre, in pixels a millisecond."""

    detections: list[Detection]
    speed: tuple[float, float] = (0.0, 0.0)

    @property
    def last(self) -> Detection:
        return self.detections[-1]

    @property
    def label(self) -> str:
        return commonest(self.detections)

    def at(self, offset_ms: int) -> Box:
        """Where the box should be by now."""
        passed = offset_ms - self.last.offset_ms
        box = self.last.box
        return Box(box.x + self.speed[0] * passed, box.y + self.speed[1] * passed, box.width, box.height)

    def add(self, detection: Detection) -> None:
        passed = max(detection.offset_ms - self.last.offset_ms, 1)
        (x0, y0), (x1, y1) = _centre(self.last.box), _centre(detection.box)
        fresh = ((x1 - x0) / passed, (y1 - y0) / passed)
        keep = _STEADINESS if len(self.detections) > 1 else 0.0
        self.speed = (
            keep * self.speed[0] + (1 - keep) * fresh[0],
            keep * self.speed[1] + (1 - keep) * fresh[1],
        )
        self.detections.append(detection)


@dataclass(slots=True)
class Tracker:
    """Follows objects frame by frame; tracks come out when they end, so that hours of video need little memory.

    max_gap_ms: how long a track waits unseen. least_overlap: of a moved box and a detection. sure: the confidence from which
    a detection may begin a track. least_detections: shorter tracks are noise and are dropped.
    """

    max_gap_ms: int = 1_500
    least_overlap: float = 0.2
    sure: float = 0.4
    least_detections: int = 2
    _open: list[_Path] = field(default_factory=list)
    _before: int | None = None
    _begun: Counter[str] = field(default_factory=Counter)

    def add(self, detections: Sequence[Detection]) -> list[Track]:
        """Take the detections of one moment (all of one offset, later than those before); the tracks that have ended."""
        if not detections:
            return []
        now = detections[0].offset_ms
        ended = self._ended(now)
        sure = [detection for detection in detections if detection.confidence >= self.sure]
        unsure = [detection for detection in detections if detection.confidence < self.sure]
        free, fresh = self._assign(self._open, sure, now, grow=0.0)
        recent = [path for path in free if path.last.offset_ms == self._before]
        _, fresh = self._assign(recent, fresh, now, grow=_GROWTH)
        self._assign([path for path in free if path.last.offset_ms < now], unsure, now, grow=0.0)
        self._before = now
        self._open.extend(_Path([detection]) for detection in fresh)
        return self._tracks(ended)

    def close(self) -> list[Track]:
        """The tracks still open at the end."""
        ended, self._open = self._open, []
        return self._tracks(ended)

    def _ended(self, now: int) -> list[_Path]:
        ended = [path for path in self._open if now - path.last.offset_ms > self.max_gap_ms]
        self._open = [path for path in self._open if now - path.last.offset_ms <= self.max_gap_ms]
        return ended

    def _assign(
        self, paths: Sequence[_Path], detections: Sequence[Detection], now: int, *, grow: float
    ) -> tuple[list[_Path], list[Detection]]:
        """Lengthens paths by their best detections; the paths and the detections that are left."""
        likeness = [[_likeness(path, detection, now, grow) for detection in detections] for path in paths]
        pairs = [
            (row, column)
            for row, column in assignment([[-value for value in row] for row in likeness])
            if likeness[row][column] >= self.least_overlap
        ]
        for row, column in pairs:
            paths[row].add(detections[column])
        rows, columns = {row for row, _ in pairs}, {column for _, column in pairs}
        return (
            [path for row, path in enumerate(paths) if row not in rows],
            [detection for column, detection in enumerate(detections) if column not in columns],
        )

    def _tracks(self, paths: Iterable[_Path]) -> list[Track]:
        return [self._track(path) for path in paths if len(path.detections) >= self.least_detections]

    def _track(self, path: _Path) -> Track:
        """Named by class, beginning and a number among those alike: the same detections give the same names."""
        label = path.label
        stem = f"{label.replace(' ', '_')}-{path.detections[0].offset_ms}"
        self._begun[stem] += 1
        name = f"{stem}-{self._begun[stem]}"
        return Track(name, label, tuple(replace(detection, track=name) for detection in path.detections))


def track(detections: Iterable[Detection], **options: float) -> tuple[Track, ...]:
    """All tracks in detections of any order, by time of beginning. Detections that bring a track id keep it; the others are joined.

    Options are those of Tracker.
    """
    given: defaultdict[str, list[Detection]] = defaultdict(list)
    loose: list[Detection] = []
    for detection in sorted(detections, key=lambda detection: detection.offset_ms):
        (loose if detection.track is None else given[detection.track]).append(detection)
    tracker = Tracker(**options)  # type: ignore[arg-type]
    found = [Track(name, commonest(own), tuple(own)) for name, own in given.items()]
    for _, moment in groupby(loose, key=lambda detection: detection.offset_ms):
        found += tracker.add(list(moment))
    found += tracker.close()
    return tuple(sorted(found, key=lambda track: (track.offset_ms, track.id)))


def commonest(detections: Sequence[Detection]) -> str:
    """The class most detections agree on; the earliest of those on a tie."""
    return Counter(detection.label for detection in detections).most_common(1)[0][0]


def _likeness(path: _Path, detection: Detection, now: int, grow: float) -> float:
    box = grown(detection.box, grow)
    overlap = max(iou(grown(path.at(now), grow), box), iou(grown(path.last.box, grow), box))
    return overlap if path.label == detection.label else overlap * _OTHER_CLASS


def _centre(box: Box) -> tuple[float, float]:
    return box.x + box.width / 2, box.y + box.height / 2


def assignment(costs: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Pairs (row, column), each at most once and as many as fit, of least total cost.

    The Hungarian method with potentials (Kuhn 1955, Munkres 1957; shortest augmenting paths, O(rows² · columns)).
    """
    if not costs or not costs[0]:
        return []
    if len(costs) > len(costs[0]):
        return sorted((row, column) for column, row in assignment(list(zip(*costs, strict=True))))
    rows, columns = len(costs), len(costs[0])
    row_price, column_price = [0.0] * (rows + 1), [0.0] * (columns + 1)
    taker = [0] * (columns + 1)  # the row that holds each column; rows and columns count from 1, 0 is nobody
    for row in range(1, rows + 1):
        taker[0] = row
        came_from = _augmenting_path(costs, taker, row_price, column_price)
        column = came_from.pop(0)
        while column:
            previous = came_from[column - 1]
            taker[column], column = taker[previous], previous
    return sorted((taker[column] - 1, column - 1) for column in range(1, columns + 1) if taker[column])


def _augmenting_path(
    costs: Sequence[Sequence[float]], taker: Sequence[int], row_price: list[float], column_price: list[float]
) -> list[int]:
    """The free column at the end of the cheapest path from the row in taker[0], then for each column the one before it."""
    columns = len(column_price) - 1
    cheapest = [float("inf")] * (columns + 1)
    before = [0] * (columns + 1)
    visited = [False] * (columns + 1)
    column = 0
    while taker[column]:
        visited[column] = True
        row, step, following = taker[column], float("inf"), 0
        for other in range(1, columns + 1):
            if visited[other]:
                continue
            cost = costs[row - 1][other - 1] - row_price[row] - column_price[other]
            if cost < cheapest[other]:
                cheapest[other], before[other] = cost, column
            if cheapest[other] < step:
                step, following = cheapest[other], other
        for other in range(columns + 1):
            if visited[other]:
                row_price[taker[other]] += step
                column_price[other] -= step
            else:
                cheapest[other] -= step
        column = following
    return [column, *before[1:]]
