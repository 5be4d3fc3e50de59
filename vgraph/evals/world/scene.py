"""Who is where, and what each recording can see and hear of it: exact geometry over the script's paths."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vgraph.evals.world.script import Action, Interval, Line, Recording, Script, Waypoint
from vgraph.evals.world.site import VIEW_WIDTH, Point, Rect, Vehicle

PERSON_WIDTH, PERSON_HEIGHT, VEHICLE_HEIGHT = 0.9, 1.7, 2.0
"""Metres, as drawn: a figure stands upward from the point where its feet are."""


@dataclass(frozen=True, slots=True)
class Presence:
    """Someone within a view; `points` are the corners of the way they take in it, the first at its start."""

    id: str
    start_ms: int
    end_ms: int
    points: tuple[Waypoint, ...]

    def at(self, ms: int) -> Point:
        return position(self.points, ms)


def position(path: Sequence[Waypoint], ms: int) -> Point:
    """Where on its path something is; before the first and after the last corner it stands still."""
    index = bisect_right(path, ms, key=lambda corner: corner[0])
    if index == 0 or index == len(path):
        return path[max(index - 1, 0)][1:]
    (t0, x0, y0), (t1, x1, y1) = path[index - 1], path[index]
    share = (ms - t0) / (t1 - t0)
    return (x0 + (x1 - x0) * share, y0 + (y1 - y0) * share)


class Scene:
    """A script seen through its recordings. Everything is computed once: presence by recording, in order of time."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.areas = {recording.stem: camera.area for camera, recording in script.recordings()}
        self.presence: dict[str, dict[str, tuple[Presence, ...]]] = {}
        for camera, recording in script.recordings():
            ids = [*(person.id for person in script.people), *(vehicle.id for vehicle in script.vehicles)]
            self.presence[recording.stem] = {id_: tuple(self._present(id_, camera.area, recording)) for id_ in ids}

    def _present(self, id_: str, area: Rect, recording: Recording) -> Iterator[Presence]:
        path = self.script.paths[id_]
        for start, end in _without(_inside(path, area, self.script.end_ms), self.script.hidden.get(id_, ())):
            start, end = max(start, recording.start_ms), min(end, recording.end_ms)
            if end - start >= 100:
                first = bisect_right(path, start, key=lambda corner: corner[0])
                last = bisect_left(path, end, key=lambda corner: corner[0])
                corners = ((start, *position(path, start)), *path[first:last], (end, *position(path, end)))
                yield Presence(id_, start, end, corners)

    def seen(self, id_: str, stem: str, start_ms: int, end_ms: int) -> tuple[Interval, ...]:
        """When within [start_ms, end_ms) a person or vehicle is in a recording's picture."""
        spells = self.presence[stem][id_]
        found = []
        for spell in spells[bisect_right(spells, start_ms, key=lambda s: s.end_ms) :]:
            if spell.start_ms >= end_ms:
                break
            found.append((max(spell.start_ms, start_ms), min(spell.end_ms, end_ms)))
        return tuple(found)

    def witnessed(self, action: Action, stem: str) -> Interval | None:
        """The part of an action that a recording shows: at least half of it, with everybody who takes part."""
        people = [id_ for id_ in (action.subject, action.object, action.other) if id_ in self.presence[stem]]
        if action.verb == "drives":
            people = [action.object]
        elif action.verb in ("gets into", "gets out of"):
            people = [action.subject]
        spans = [self.seen(id_, stem, action.start_ms, action.end_ms) for id_ in people]
        if not all(spans):
            return None
        start, end = max(s[0][0] for s in spans), min(s[-1][1] for s in spans)
        return (start, end) if (end - start) * 2 >= action.end_ms - action.start_ms else None

    def heard(self, line: Line, recording: Recording) -> bool:
        """A camera's microphone hears what is said within its view, if it records the whole line."""
        covered = recording.start_ms <= line.start_ms and line.end_ms <= recording.end_ms
        return covered and self.areas[recording.stem].contains(line.point)

    def witnesses(self, action: Action) -> dict[str, Interval]:
        """Every recording that shows an action, with the part it shows."""
        spans = {stem: self.witnessed(action, stem) for stem in self.presence}
        return {stem: span for stem, span in spans.items() if span is not None}

    def hearers(self, line: Line) -> dict[str, Interval]:
        return {
            recording.stem: (line.start_ms, line.end_ms)
            for _, recording in self.script.recordings()
            if self.heard(line, recording)
        }


@dataclass(frozen=True, slots=True)
class Picture:
    """The size of the cameras' pictures in pixels, and metres to pixels."""

    width: int = 640
    height: int = 360
    fps: int = 10

    @property
    def scale(self) -> float:
        return self.width / VIEW_WIDTH

    def pixel(self, area: Rect, point: Point) -> Point:
        return ((point[0] - area.x) * self.scale, (point[1] - area.y) * self.scale)

    def box(self, area: Rect, point: Point, item: object) -> tuple[int, int, int, int]:
        """x, y, width, height of a figure, cut at the picture's edges."""
        width, height = (item.length, VEHICLE_HEIGHT) if isinstance(item, Vehicle) else (PERSON_WIDTH, PERSON_HEIGHT)
        x, y = self.pixel(area, point)
        left, top = max(0, round(x - width * self.scale / 2)), max(0, round(y - height * self.scale))
        right, bottom = min(self.width, round(x + width * self.scale / 2)), min(self.height, round(y))
        return (left, top, max(0, right - left), max(0, bottom - top))


def _inside(path: Sequence[Waypoint], area: Rect, end_ms: int) -> list[Interval]:
    """When a path is within an area, pieces that touch joined."""
    found: list[Interval] = []
    for a, b in pairwise((*path, (end_ms, *path[-1][1:]))):
        span = _crossing(a, b, area) if a[0] < b[0] else None
        if span is None:
            continue
        if found and span[0] - found[-1][1] <= 1:
            found[-1] = (found[-1][0], span[1])
        else:
            found.append(span)
    return found


def _crossing(a: Waypoint, b: Waypoint, area: Rect) -> Interval | None:
    """The part of a straight way that lies in an area (Liang and Barsky's clipping)."""
    enter, leave = 0.0, 1.0
    for p, q, low, high in ((a[1], b[1], area.x, area.x + area.width), (a[2], b[2], area.y, area.y + area.height)):
        if p == q:
            if not low <= p <= high:
                return None
            continue
        first, second = sorted(((low - p) / (q - p), (high - p) / (q - p)))
        enter, leave = max(enter, first), min(leave, second)
    if enter >= leave:
        return None
    return round(a[0] + (b[0] - a[0]) * enter), round(a[0] + (b[0] - a[0]) * leave)


def _without(spans: Sequence[Interval], holes: Sequence[Interval]) -> list[Interval]:
    left = list(spans)
    for start, end in holes:
        left = [
            piece
            for span in left
            for piece in ((span[0], min(span[1], start)), (max(span[0], end), span[1]))
            if piece[0] < piece[1]
        ]
    return left
