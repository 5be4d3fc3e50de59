"""The stage of the synthetic world: a depot's floor plan, its cameras' views, and the names that can appear on it.

Lengths are metres; x grows to the right and y downwards, as in the pictures. Every camera looks at a rectangle of 16 x 9 m.
Views that share ground overlap: the gate, the yard and the dock stand in a row out of doors; the rooms lie apart, behind a
corridor that no camera sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

Point = tuple[float, float]

VIEW_WIDTH, VIEW_HEIGHT = 16.0, 9.0
CORRIDOR_Y = 11.5
LANE_Y = 8.6
STREET: tuple[Point, ...] = ((-3.0, -6.0), (-3.0, LANE_Y))
"""Where vehicles come from: off every view, down to the lane."""


@dataclass(frozen=True, slots=True)
class Rect:
    x: float
    y: float
    width: float
    height: float

    def contains(self, point: Point) -> bool:
        return self.x <= point[0] <= self.x + self.width and self.y <= point[1] <= self.y + self.height

    def overlaps(self, other: Rect) -> bool:
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )


@dataclass(frozen=True, slots=True)
class Zone:
    """A named place. People stand on `spots`, vehicles in `bays`; `door` leads to the corridor, None where there is none."""

    id: str
    name: str
    area: Rect
    spots: tuple[Point, ...]
    bays: tuple[Point, ...] = ()
    door: Point | None = None
    outdoors: bool = False

    @property
    def where(self) -> str:
        return f"{'at' if self.outdoors else 'in'} the {self.name}"


@dataclass(frozen=True, slots=True)
class View:
    """Where a camera may hang: it sees `area` and is called after `zone`."""

    id: str
    zone: str
    area: Rect


@dataclass(frozen=True, slots=True)
class Person:
    """`jacket` is the colour by which someone who cannot read the badge would name them; `voice` an espeak-ng variant."""

    id: str
    name: str
    role: str
    jacket: str
    voice: str

    @property
    def look(self) -> str:
        return f"person in {article(self.jacket)} {self.jacket} jacket"


@dataclass(frozen=True, slots=True)
class Vehicle:
    id: str
    kind: str
    colour: str
    plate: str

    @property
    def name(self) -> str:
        return f"{self.kind} {self.plate}"

    @property
    def look(self) -> str:
        return f"{self.colour} {self.kind}"

    @property
    def length(self) -> float:
        return 2.8 if self.kind == "forklift" else 4.4


@dataclass(frozen=True, slots=True)
class Thing:
    """An object that people carry; `name` is written on it."""

    id: str
    name: str
    kind: str
    colour: str

    @property
    def look(self) -> str:
        return f"{self.colour} {self.kind}"


def article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _grid(xs: tuple[float, ...], ys: tuple[float, ...]) -> tuple[Point, ...]:
    return tuple((x, y) for y, x in product(ys, xs))


def _outdoors(
    zone: str, name: str, x: float, width: float, xs: tuple[float, ...], bays: tuple[float, ...], door: float | None
) -> Zone:
    return Zone(
        zone,
        name,
        Rect(x, 0, width, VIEW_HEIGHT),
        _grid(xs, (3.7, 5.8)),
        tuple((bay, 7.4) for bay in bays),
        None if door is None else (door, VIEW_HEIGHT),
        outdoors=True,
    )


def _room(zone: str, name: str, x: float) -> Zone:
    spots = _grid((x + 2.0, x + 5.0, x + 8.0, x + 11.0, x + 14.0), (17.4, 19.9, 22.3))
    return Zone(zone, name, Rect(x, 14, VIEW_WIDTH, VIEW_HEIGHT), spots, (), (x + 8.0, 14.0))


ZONES: dict[str, Zone] = {
    zone.id: zone
    for zone in (
        _outdoors("gate", "gate", 0, 11.5, (1.8, 4.8, 7.8, 10.2), (6.0,), None),
        _outdoors("yard", "yard", 11.5, 12.7, (13.4, 17.0, 20.2, 23.6), (14.2, 18.6, 24.0), 19.8),
        _outdoors("dock", "loading dock", 24.2, 13.8, (25.4, 28.4, 31.4, 34.4), (29.6, 35.2), 33.0),
        _outdoors("parking", "car park", -22, 16, (-20.2, -17.2, -14.2, -11.2, -8.2), (-18.0, -11.0), None),
        _room("office", "office", 0),
        _room("store", "storage hall", 20),
        _room("canteen", "canteen", 40),
        _room("workshop", "workshop", 60),
    )
}

VIEWS: tuple[View, ...] = tuple(
    View(view, zone, Rect(x, y, VIEW_WIDTH, VIEW_HEIGHT))
    for view, zone, x, y in (
        ("dock", "dock", 22.0, 0.0),
        ("yard", "yard", 11.0, 0.0),
        ("store", "store", 20.0, 14.0),
        ("office", "office", 0.0, 14.0),
        ("gate", "gate", 0.0, 0.0),
        ("parking", "parking", -22.0, 0.0),
        ("canteen", "canteen", 40.0, 14.0),
        ("workshop", "workshop", 60.0, 14.0),
    )
)
"""In the order in which cameras are hung: with four there are two that overlap and two that stand apart."""

NAMES: tuple[str, ...] = (
    "Maria Lopez",
    "Jonas Weber",
    "Aisha Khan",
    "Tom Fischer",
    "Elena Petrova",
    "Samuel Okoye",
    "Mei Chen",
    "Lars Nielsen",
    "Fatma Demir",
    "Paul Schmidt",
    "Ines Costa",
    "David Levy",
    "Nora Haddad",
    "Victor Novak",
    "Grace Mensah",
    "Hiro Tanaka",
)
JACKETS: tuple[str, ...] = ("red", "blue", "green", "yellow", "orange", "purple", "white", "black")
VOICES: tuple[str, ...] = (
    "en-us+f2",
    "en-gb+m3",
    "en-gb+f4",
    "en-us+m1",
    "en-us+f5",
    "en-gb+m7",
    "en-gb+f3",
    "en-us+m5",
)
ROLES: tuple[str, ...] = (
    "manager",
    "clerk",
    "store keeper",
    "store keeper",
    "dock worker",
    "dock worker",
    "driver",
    "driver",
)
CITIES: tuple[str, ...] = ("Hamburg", "Munich", "Leipzig", "Cologne", "Dresden", "Bremen", "Stuttgart", "Rostock")


def routed(start: Point, start_zone: str, end: Point, end_zone: str) -> tuple[Point, ...]:
    """The corners of a walk: straight within a room and out of doors, else by the doors and the corridor."""
    a, b = ZONES[start_zone], ZONES[end_zone]
    if a.id == b.id or (a.outdoors and b.outdoors):
        return (start, end)
    return (start, *_way_out(a), *reversed(_way_out(b)), end)


def _way_out(zone: Zone) -> tuple[Point, Point]:
    door = zone.door or ZONES["yard"].door
    assert door is not None
    return door, (door[0], CORRIDOR_Y)
