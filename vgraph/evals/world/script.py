"""What happens in the synthetic world: plain values, complete and exact. director.py makes one from a seed.

Times are UTC milliseconds, places metres on the plan of site.py. Everything is half open: [start_ms, end_ms).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from vgraph.evals.world.site import ZONES, Person, Point, Rect, Thing, Vehicle

Waypoint = tuple[int, float, float]
"""(ms, x, y); between two of them one moves in a straight line at constant speed, after the last one stands still."""

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Recording:
    """One file of a camera; `stem` is its name without the suffix."""

    stem: str
    camera: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Camera:
    """Its clock shows UTC minus `clock_offset_ms`; the operator believes the offset to be `known_offset_ms`."""

    id: str
    zone: str
    area: Rect
    clock_offset_ms: int
    known_offset_ms: int
    recordings: tuple[Recording, ...]

    @property
    def place(self) -> str:
        return ZONES[self.zone].name

    @property
    def coverage(self) -> tuple[Interval, ...]:
        return tuple((recording.start_ms, recording.end_ms) for recording in self.recordings)


@dataclass(frozen=True, slots=True)
class Action:
    """subject -verb-> object, towards `other`: Maria -hands over-> parcel 12 to Jonas. All are ids, also of zones."""

    id: str
    verb: str
    subject: str
    object: str
    other: str | None
    zone: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Line:
    """Something said. `mentions` are ids; `order` and `city` are set where the line says which order goes where."""

    id: str
    speaker: str
    listener: str
    text: str
    zone: str
    point: Point
    start_ms: int
    end_ms: int
    mentions: tuple[str, ...]
    order: str | None = None
    city: str | None = None


@dataclass(frozen=True, slots=True)
class Holding:
    """Where a thing is for a while: with a person, in a vehicle, or standing in a zone at `point`."""

    thing: str
    holder: str
    start_ms: int
    end_ms: int
    point: Point | None = None


@dataclass(frozen=True)
class Script:
    seed: int
    start_ms: int
    end_ms: int
    tz: str
    cameras: tuple[Camera, ...]
    people: tuple[Person, ...]
    vehicles: tuple[Vehicle, ...]
    things: tuple[Thing, ...]
    paths: Mapping[str, tuple[Waypoint, ...]]
    hidden: Mapping[str, tuple[Interval, ...]]
    """When a person cannot be seen because they sit in a vehicle."""
    actions: tuple[Action, ...]
    lines: tuple[Line, ...]
    holdings: tuple[Holding, ...]

    @cached_property
    def named(self) -> dict[str, Person | Vehicle | Thing]:
        everything: list[Person | Vehicle | Thing] = [*self.people, *self.vehicles, *self.things]
        return {item.id: item for item in everything}

    def name(self, id_: str) -> str:
        """The name of a person, vehicle, thing or zone."""
        return ZONES[id_].name if id_ in ZONES else self.named[id_].name

    def kind(self, id_: str) -> str:
        """person, vehicle, object or location."""
        if id_ in ZONES:
            return "location"
        item = self.named[id_]
        return "person" if isinstance(item, Person) else "vehicle" if isinstance(item, Vehicle) else "object"

    def recordings(self) -> Iterator[tuple[Camera, Recording]]:
        for camera in self.cameras:
            for recording in camera.recordings:
                yield camera, recording
