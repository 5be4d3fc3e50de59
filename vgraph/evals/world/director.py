"""Makes a script from a seed: people run errands, vehicles come and go, things change hands.

Whoever is free first gets the next errand. An errand is planned to its end at once, on the clocks of those who take part,
so nobody is ever in two places. All chance comes from `random.Random` seeded with text, which is the same everywhere.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import hypot
from zoneinfo import ZoneInfo

from vgraph.errors import UserError
from vgraph.evals.world.script import Action, Camera, Holding, Interval, Line, Recording, Script, Waypoint
from vgraph.evals.world.site import (
    CITIES,
    JACKETS,
    LANE_Y,
    NAMES,
    ROLES,
    STREET,
    VIEWS,
    VOICES,
    ZONES,
    Person,
    Point,
    Thing,
    Vehicle,
    routed,
)

WALK_M_S, DRIVE_M_S = 1.5, 4.0
WORD_MS, BREATH_MS, PAUSE_MS = 430, 500, 350
AWAY, MOVING = "street", "moving"
REPLY_WORDS = 9
"""Room kept for a reply whose words depend on what else happens at that time, and so are found last."""


def direct(
    seed: int, *, cameras: int, minutes: float, density: float, things: int, start: datetime.datetime, tz: str
) -> Script:
    """A whole script. Raises UserError for sizes that the site cannot hold."""
    _check(cameras, minutes, density, things)
    start_ms = round(start.replace(tzinfo=ZoneInfo(tz)).timestamp() * 1000)
    return Director(seed, start_ms, start_ms + round(minutes * 60_000), cameras, density, things, tz).run()


def _check(cameras: int, minutes: float, density: float, things: int) -> None:
    if not 4 <= cameras <= len(VIEWS):
        raise UserError(f"cameras={cameras}: the world has 4 to {len(VIEWS)} cameras")
    if not 1 <= minutes <= 7 * 24 * 60:
        raise UserError(f"minutes={minutes}: a world lasts 1 minute to 7 days")
    if not 0 < density <= 4:
        raise UserError(f"density={density}: must be above 0 and at most 4")
    if not 4 <= things <= 40:
        raise UserError(f"things={things}: must be 4 to 40")


@dataclass(slots=True)
class _Body:
    """A person's state when they are next free. `vehicle` is what they sit in."""

    person: Person
    zone: str
    point: Point
    free_ms: int
    carries: str | None = None
    vehicle: str | None = None
    path: list[Waypoint] = field(default_factory=list)
    hidden: list[Interval] = field(default_factory=list)


@dataclass(slots=True)
class _Car:
    """A vehicle's state when it is next free; `zone` is AWAY off the site. `stays` is where it stood from when on."""

    vehicle: Vehicle
    zone: str
    point: Point
    free_ms: int
    driver: str | None = None
    path: list[Waypoint] = field(default_factory=list)
    stays: list[tuple[int, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Item:
    """A thing's state: `holder` is a person, a vehicle or a zone (then it stands at `point`) since `since_ms`.

    `came_from` is the vehicle that it was taken out of last.
    """

    thing: Thing
    holder: str
    point: Point | None
    since_ms: int
    came_from: str | None = None


Errand = Callable[[_Body], bool]


class Director:
    def __init__(
        self, seed: int, start_ms: int, end_ms: int, cameras: int, density: float, things: int, tz: str
    ) -> None:
        self.seed, self.start_ms, self.end_ms, self.density, self.tz = seed, start_ms, end_ms, density, tz
        self.rng = random.Random(f"vgraph world {seed} errands")  # noqa: S311 - a story, not a secret
        self.zones = [view.zone for view in VIEWS[:cameras]]
        self.dark = [zone for zone in ZONES if zone not in self.zones]
        self.cameras = hung(seed, start_ms, end_ms, cameras)
        self.actions: list[Action] = []
        self.lines: list[Line] = []
        self.holdings: list[Holding] = []
        self.orders = 4100
        self._cast(things)

    # --- who and what there is -----------------------------------------------------------------------------------------

    def _cast(self, things: int) -> None:
        names = self.rng.sample(NAMES, 8)
        jackets = self.rng.sample(JACKETS, 8)
        people = [Person(f"p{i + 1}", names[i], ROLES[i], jackets[i], VOICES[i]) for i in range(8)]
        self.bodies = {person.id: _Body(person, AWAY, STREET[0], self.start_ms) for person in people}
        homes = [zone for zone in self.zones if zone != "dock"]
        for index, person in enumerate(people[:6]):
            body = self.bodies[person.id]
            body.zone = homes[index % len(homes)] if index < 4 else "dock"
            body.point = self._spot(body.zone)
            body.free_ms += 1000 + 1500 * index
        self._park()
        self._place(things)
        for body in self.bodies.values():
            body.path.append((self.start_ms, *body.point))

    def _park(self) -> None:
        """Two vans on the road with their drivers, a forklift in the yard, the manager's car at the gate."""
        plates = self.rng.sample(range(1000, 9999), 3)
        letters = self.rng.sample(["B-KT", "HH-RM", "M-LD", "L-PF", "K-SN", "DD-WE"], 3)
        away, forklift, gate = STREET[0], ZONES["yard"].bays[-1], ZONES["gate"].bays[0]
        cars = [
            _Car(Vehicle("v1", "van", "white", f"{letters[0]} {plates[0]}"), AWAY, away, self.start_ms, "p7"),
            _Car(Vehicle("v2", "van", "blue", f"{letters[1]} {plates[1]}"), AWAY, away, self.start_ms, "p8"),
            _Car(Vehicle("v3", "forklift", "yellow", "FL 2"), "yard", forklift, self.start_ms),
            _Car(Vehicle("v4", "car", "red", f"{letters[2]} {plates[2]}"), "gate", gate, self.start_ms),
        ]
        self.cars = {car.vehicle.id: car for car in cars}
        for car in cars:
            car.path.append((self.start_ms, *car.point))
            car.stays.append((self.start_ms, car.zone))
        for driver, vehicle, late in (("p7", "v1", 5_000), ("p8", "v2", (self.end_ms - self.start_ms) * 3 // 10)):
            self.bodies[driver].vehicle = vehicle
            self.bodies[driver].hidden.append((self.start_ms, self.end_ms))
            self.bodies[driver].free_ms += late if driver == "p7" else min(late, 900_000)

    def _place(self, count: int) -> None:
        kinds = (("parcel", "brown"), ("crate", "blue"), ("toolbox", "red"), ("folder", "green"), ("case", "yellow"))
        numbers = self.rng.sample(range(11, 99), count)
        self.items: dict[str, _Item] = {}
        homes = ["store", "v1", "office", "dock", "store", "v2", "yard"]
        for index in range(count):
            kind, colour = kinds[index % len(kinds)]
            thing = Thing(f"t{index + 1}", f"{kind} {numbers[index]}", kind, colour)
            home = homes[index % len(homes)]
            point = None if home in self.cars else self._ground(home, self.rng.choice(ZONES[home].spots))
            self.items[thing.id] = _Item(thing, home, point, self.start_ms)

    # --- the day ---------------------------------------------------------------------------------------------------------

    def run(self) -> Script:
        while True:
            body = min(self.bodies.values(), key=lambda b: (b.free_ms, b.person.id))
            if body.free_ms >= self.end_ms:
                return self._script()
            self._errand(body)

    def _errand(self, body: _Body) -> None:
        """The first errand that can be done, drawn by weight; then a rest."""
        for errand in self._drawn(self._choices(body)):
            if errand(body):
                break
        else:
            body.free_ms += 4_000
        body.free_ms += self._rest(body.free_ms)

    def _choices(self, body: _Body) -> list[tuple[int, Errand]]:
        if body.vehicle is not None:
            return [(1, self._drive_in)]
        if body.carries is not None:
            return [(6, self._hand_over), (4, self._load), (3, self._put_down)]
        role = body.person.role
        errands: list[tuple[int, Errand]] = [(5, self._fetch), (4, self._talk), (4, self._stroll), (3, self._unload)]
        if role == "driver":
            errands.append((3, self._drive_out))
        if role in ("dock worker", "store keeper"):
            errands.append((3, self._forklift))
        return errands

    def _drawn(self, choices: list[tuple[int, Errand]]) -> Iterable[Errand]:
        left = list(choices)
        while left:
            mark = self.rng.randrange(sum(weight for weight, _ in left))
            for index, (weight, errand) in enumerate(left):
                mark -= weight
                if mark < 0:
                    yield errand
                    del left[index]
                    break

    def _rest(self, at_ms: int) -> int:
        hour = datetime.datetime.fromtimestamp(at_ms / 1000, ZoneInfo(self.tz)).hour
        quiet = 1 if 6 <= hour < 20 else 5
        return round(self.rng.randint(2_000, 9_000) * quiet / self.density)

    # --- errands: each plans to its end, or returns False and has changed nothing -----------------------------------------

    def _fetch(self, body: _Body) -> bool:
        """Goes to a thing that stands somewhere and picks it up."""
        free = [item for item in self.items.values() if item.point and item.holder in ZONES]
        if not free:
            return False
        item = self.rng.choice(sorted(free, key=lambda i: i.thing.id))
        x, y = item.point or body.point
        at = max(self._walk(body, item.holder, (x - 0.8, y - 0.2)), item.since_ms) + 300
        self._act("picks up", body, item.thing.id, None, at, at + 2_000)
        self._hold(item, body.person.id, at + 1_000)
        body.carries, body.free_ms = item.thing.id, at + 2_000
        return True

    def _put_down(self, body: _Body) -> bool:
        item = self.items[body.carries or ""]
        zone = self._zone(body.zone)
        at = self._walk(body, zone, self._spot(zone)) + 300
        self._act("puts down", body, item.thing.id, None, at, at + 2_000)
        self._hold(item, zone, at + 1_000, self._ground(zone, body.point))
        body.carries, body.free_ms = None, at + 2_000
        return True

    def _hand_over(self, body: _Body) -> bool:
        other = self._partner(body)
        if other is None or other.carries is not None:
            return False
        item = self.items[body.carries or ""]
        name = item.thing.name
        at = self._join(body, other)
        said = self._say(body, other, f"{_first(other)}, please take {name}.", at, (item.thing.id,))
        self._act("hands over", body, item.thing.id, other.person.id, said, said + 3_000)
        self._hold(item, other.person.id, said + 1_500)
        body.carries, other.carries = None, item.thing.id
        end = self._say(other, body, f"Thank you, {_first(body)}. I have {name} now.", said + 1_800, (item.thing.id,))
        body.free_ms = other.free_ms = max(end, said + 3_000)
        return True

    def _load(self, body: _Body) -> bool:
        car = self._parked_van()
        item = self.items[body.carries or ""]
        if car is None or item.came_from == car.vehicle.id:
            return False
        at = max(self._walk(body, car.zone, self._side(car)), car.free_ms) + 300
        self._act("loads", body, item.thing.id, car.vehicle.id, at, at + 3_000)
        self._hold(item, car.vehicle.id, at + 1_500)
        body.carries, body.free_ms, car.free_ms = None, at + 3_000, at + 3_000
        return True

    def _unload(self, body: _Body) -> bool:
        inside = [i for i in self.items.values() if i.holder in self.cars and self.cars[i.holder].zone != AWAY]
        inside = [i for i in inside if i.since_ms == self.start_ms or i.since_ms < body.free_ms - 60_000]
        if not inside:
            return False
        item = self.rng.choice(inside)
        car = self.cars[item.holder]
        at = max(self._walk(body, car.zone, self._side(car)), car.free_ms, item.since_ms) + 300
        self._act("unloads", body, item.thing.id, car.vehicle.id, at, at + 3_000)
        self._hold(item, body.person.id, at + 1_500)
        item.came_from = car.vehicle.id
        body.carries, body.free_ms, car.free_ms = item.thing.id, at + 3_000, at + 3_000
        return True

    def _stroll(self, body: _Body) -> bool:
        zone = self._zone(body.zone)
        body.free_ms = self._walk(body, zone, self._spot(zone))
        return True

    def _talk(self, body: _Body) -> bool:
        other = self._partner(body)
        if other is None:
            return False
        at = self._join(body, other)
        end = at
        for topic in self.rng.sample(
            (self._talk_of_order, self._talk_of_thing, self._talk_of_van), self.rng.randint(1, 2)
        ):
            end = topic(body, other, end + PAUSE_MS)
        self._act("talks to", body, other.person.id, None, at, end)
        body.free_ms = other.free_ms = end
        return True

    def _talk_of_order(self, body: _Body, other: _Body, at: int) -> int:
        self.orders += self.rng.randint(1, 9)
        order, city = str(self.orders), self.rng.choice(CITIES)
        text = f"{_first(other)}, order {order} goes to {city}."
        at = self._say(body, other, text, at, (), order, city) + PAUSE_MS
        return self._say(other, body, f"All right, {_first(body)}. {city} it is, I will write that down.", at, ())

    def _talk_of_thing(self, body: _Body, other: _Body, at: int) -> int:
        item = self.rng.choice(list(self.items.values()))
        text = f"{_first(other)}, do you know where {item.thing.name} is?"
        return self._ask(body, other, text, at, item.thing.id)

    def _talk_of_van(self, body: _Body, other: _Body, at: int) -> int:
        car = self.cars[self.rng.choice(("v1", "v2"))]
        return self._ask(body, other, f"Is the {car.vehicle.look} still here, {_first(other)}?", at, car.vehicle.id)

    def _ask(self, body: _Body, other: _Body, text: str, at: int, about: str) -> int:
        at = self._say(body, other, text, at, (about,)) + PAUSE_MS
        return self._say(other, body, " ".join(["…"] * REPLY_WORDS), at, (about,))

    def _replied(self, line: Line) -> Line:
        """The line with its words, true at the time it is said."""
        if not line.text.startswith("…"):
            return line
        about = line.mentions[0]
        text, more = self._where_is_car(line) if about in self.cars else self._where_is_thing(line)
        return replace(line, text=text, mentions=tuple(dict.fromkeys((*line.mentions, *more))))

    def _where_is_car(self, line: Line) -> tuple[str, tuple[str, ...]]:
        car = self.cars[line.mentions[0]]
        zone = max((stay for stay in car.stays if stay[0] <= line.start_ms), key=lambda stay: stay[0])[1]
        if zone == MOVING:
            return f"The {car.vehicle.look} is just moving.", ()
        if zone == AWAY:
            return f"No, the {car.vehicle.look} is out.", ()
        return f"Yes, the {car.vehicle.look} is {ZONES[zone].where}.", (zone,)

    def _where_is_thing(self, line: Line) -> tuple[str, tuple[str, ...]]:
        item = self.items[line.mentions[0]]
        name = item.thing.name
        past = [h.holder for h in self.holdings if h.thing == item.thing.id and h.start_ms <= line.start_ms < h.end_ms]
        holder = past[0] if past else item.holder
        if holder in ZONES:
            return f"Yes, {name} is {ZONES[holder].where}.", (holder,)
        if holder in self.cars:
            return f"Yes, {name} is in the {self.cars[holder].vehicle.look}.", (holder,)
        if holder == line.speaker:
            return f"Yes, I have {name} right here.", ()
        if holder == line.listener:
            return f"You have {name} in your hand.", ()
        return f"Yes, {_first(self.bodies[holder])} has {name}.", (holder,)

    def _drive_in(self, body: _Body) -> bool:
        car = self.cars[body.vehicle or ""]
        bays = [(zone, bay) for zone in _home(car.vehicle) for bay in ZONES[zone].bays if not self._taken(bay)]
        if not bays:
            return False
        zone, bay = self.rng.choice(bays)
        start = max(body.free_ms, car.free_ms)
        end = self._roll(car, zone, bay, (*STREET, (bay[0], LANE_Y), bay), start)
        self._act("drives", body, car.vehicle.id, None, end - 5_000, end, zone)
        self._arrive(car, zone, end)
        self._get_out(body, car, end + 500)
        return True

    def _drive_out(self, body: _Body) -> bool:
        car = next((c for c in self.cars.values() if c.driver == body.person.id and c.zone != AWAY), None)
        if car is None or body.free_ms - car.path[-1][0] < 25_000:
            return False
        zone, bay = car.zone, car.point
        start = self._get_in(body, car)
        end = self._roll(car, AWAY, STREET[0], (bay, (bay[0], LANE_Y), *reversed(STREET)), start)
        self._act("drives", body, car.vehicle.id, None, start, start + 5_000, zone)
        self._append("leaves", car.vehicle.id, zone, None, zone, start, start + 4_000)
        body.vehicle, body.zone, body.point = car.vehicle.id, AWAY, STREET[0]
        body.free_ms = end + round(self.rng.randint(20_000, 60_000) / self.density)
        body.hidden[-1] = (body.hidden[-1][0], self.end_ms)
        return True

    def _forklift(self, body: _Body) -> bool:
        car = self.cars["v3"]
        bays = [bay for bay in ZONES["yard"].bays if not self._taken(bay)]
        if car.free_ms > body.free_ms + 5_000 or not bays:
            return False
        bay = self.rng.choice(bays)
        start = self._get_in(body, car)
        corners = (car.point, (car.point[0], LANE_Y), (bay[0], LANE_Y), bay)
        end = self._roll(car, "yard", bay, corners, start, DRIVE_M_S / 2)
        self._act("drives", body, car.vehicle.id, None, start, end, "yard")
        self._get_out(body, car, end + 500)
        return True

    # --- what errands are made of ------------------------------------------------------------------------------------------

    def _walk(self, body: _Body, zone: str, point: Point) -> int:
        """Sets out when free; returns the time of arrival."""
        corners = routed(body.point, body.zone, point, zone)
        at, came_from = float(body.free_ms), body.zone
        for a, b in pairwise(corners):
            if a == b:
                continue
            if round(at) > body.path[-1][0]:
                body.path.append((round(at), *a))
            at += _distance(a, b) / WALK_M_S * 1000
            body.path.append((round(at), *b))
        body.zone, body.point, body.free_ms = zone, point, round(at)
        if zone != came_from:
            self._act("comes to", body, zone, None, max(round(at) - 2_000, self.start_ms), round(at))
        return round(at)

    def _join(self, body: _Body, other: _Body) -> int:
        """Walks up to somebody; returns when both are ready."""
        if body.zone != other.zone or _distance(body.point, other.point) > 2.0:
            self._walk(body, other.zone, self._beside(other))
        return max(body.free_ms, other.free_ms) + 300

    def _partner(self, body: _Body) -> _Body | None:
        ready = [
            other
            for other in self.bodies.values()
            if other is not body and other.vehicle is None and other.zone in self.zones
            if other.free_ms <= body.free_ms + 8_000
        ]
        if not ready:
            return None
        zone = self.rng.choice(sorted({other.zone for other in ready}))
        return self.rng.choice([other for other in ready if other.zone == zone])

    def _say(
        self,
        body: _Body,
        to: _Body,
        text: str,
        at: int,
        mentions: tuple[str, ...],
        order: str | None = None,
        city: str | None = None,
    ) -> int:
        end = at + WORD_MS * len(text.split()) + BREATH_MS
        if end <= self.end_ms:
            mentioned = tuple(dict.fromkeys((*mentions, to.person.id)))
            line = Line("", body.person.id, to.person.id, text, body.zone, body.point, at, end, mentioned, order, city)
            self.lines.append(line)
        return end

    def _act(
        self, verb: str, body: _Body, object_: str, other: str | None, start: int, end: int, zone: str | None = None
    ) -> None:
        self._append(verb, body.person.id, object_, other, zone or body.zone, start, end)

    def _append(
        self, verb: str, subject: str, object_: str, other: str | None, zone: str, start: int, end: int
    ) -> None:
        if end <= self.end_ms:
            self.actions.append(Action("", verb, subject, object_, other, zone, max(start, self.start_ms), end))

    def _hold(self, item: _Item, holder: str, at: int, point: Point | None = None) -> None:
        self.holdings.append(Holding(item.thing.id, item.holder, item.since_ms, at, item.point))
        item.holder, item.point, item.since_ms = holder, point, at

    def _roll(
        self, car: _Car, zone: str, bay: Point, corners: tuple[Point, ...], start: int, speed: float = DRIVE_M_S
    ) -> int:
        at = float(start)
        car.path.append((start, *corners[0]))
        for a, b in pairwise(corners):
            at += _distance(a, b) / speed * 1000
            car.path.append((round(at), *b))
        car.zone, car.point, car.free_ms = zone, bay, round(at)
        car.stays += [(start, MOVING), (round(at), zone)]
        return round(at)

    def _arrive(self, car: _Car, zone: str, end: int) -> None:
        self._append("arrives at", car.vehicle.id, zone, None, zone, end - 4_000, end)

    def _get_in(self, body: _Body, car: _Car) -> int:
        at = max(self._walk(body, car.zone, self._side(car)), car.free_ms) + 300
        self._act("gets into", body, car.vehicle.id, None, at, at + 1_500)
        body.hidden.append((at + 1_500, self.end_ms))
        return at + 2_000

    def _get_out(self, body: _Body, car: _Car, at: int) -> None:
        body.hidden[-1] = (body.hidden[-1][0], at)
        body.zone, body.point, body.vehicle = car.zone, self._side(car), None
        body.path.append((at, *body.point))
        self._act("gets out of", body, car.vehicle.id, None, at, at + 1_500)
        body.free_ms = car.free_ms = at + 1_500

    # --- places --------------------------------------------------------------------------------------------------------------

    def _zone(self, here: str) -> str:
        """Another zone, nearly always one that a camera sees."""
        pool = self.dark if self.dark and self.rng.random() < 0.06 else self.zones
        two = [self.rng.choice([zone for zone in pool if zone != here]) for _ in range(2)]
        return min(two, key=lambda zone: sum(body.zone == zone for body in self.bodies.values()))

    def _spot(self, zone: str) -> Point:
        spots = ZONES[zone].spots
        free = [spot for spot in spots if all(_distance(spot, b.point) > 1.2 for b in self.bodies.values())]
        return self.rng.choice(free or list(spots))

    def _beside(self, other: _Body) -> Point:
        """Left or right of somebody, where there is more room."""
        area, (x, y) = ZONES[other.zone].area, other.point
        sides = [(x - 1.6, y), (x + 1.6, y)]
        inside = [side for side in sides if area.x + 0.7 <= side[0] <= area.x + area.width - 0.7] or sides
        people = [b.point for b in self.bodies.values() if b is not other]
        return max(inside, key=lambda side: min(_distance(side, point) for point in people))

    def _side(self, car: _Car) -> Point:
        return (car.point[0] + self.rng.choice((-1.5, 0.0, 1.5)), car.point[1] - 1.2)

    def _ground(self, zone: str, near: Point) -> Point:
        """Where a thing can be put so that its label stays clear of the others'."""
        lying = [item.point for item in self.items.values() if item.point and item.holder == zone]
        places = [(near[0] + dx, near[1] + dy) for dy in (0.2, -0.9) for dx in (0.8, -0.8)]
        return max(places, key=lambda place: min((*(_distance(place, point) for point in lying), 1.8)))

    def _parked_van(self) -> _Car | None:
        parked = [car for car in self.cars.values() if car.zone != AWAY and car.vehicle.kind == "van"]
        return self.rng.choice(parked) if parked else None

    def _taken(self, bay: Point) -> bool:
        return any(car.zone != AWAY and _distance(car.point, bay) < 1.0 for car in self.cars.values())

    def _script(self) -> Script:
        holdings = [*self.holdings]
        holdings += [Holding(i.thing.id, i.holder, i.since_ms, self.end_ms, i.point) for i in self.items.values()]
        return Script(
            self.seed,
            self.start_ms,
            self.end_ms,
            self.tz,
            self.cameras,
            tuple(body.person for body in self.bodies.values()),
            tuple(car.vehicle for car in self.cars.values()),
            tuple(item.thing for item in self.items.values()),
            {k: tuple(b.path) for k, b in self.bodies.items()} | {k: tuple(c.path) for k, c in self.cars.items()},
            {k: tuple(i for i in b.hidden if i[0] < i[1]) for k, b in self.bodies.items()},
            _numbered_actions(self.actions),
            _numbered_lines([self._replied(line) for line in self.lines]),
            tuple(sorted(_clipped(holdings, self.end_ms), key=lambda h: (h.thing, h.start_ms))),
        )


def hung(seed: int, start_ms: int, end_ms: int, count: int) -> tuple[Camera, ...]:
    """The cameras with their clocks and what they recorded: one begins late, one ends early, long days have a gap."""
    rng = random.Random(f"vgraph world {seed} cameras")  # noqa: S311
    cameras = []
    for index, view in enumerate(VIEWS[:count]):
        offset = rng.randrange(-24, 25) * 100
        unknown = rng.choice((-800, 600, 900)) if index == 1 else 0
        recordings = _recorded(view.id, start_ms, end_ms)
        cameras.append(Camera(view.id, view.zone, view.area, offset, offset - unknown, recordings))
    return tuple(cameras)


def _recorded(camera: str, start_ms: int, end_ms: int) -> tuple[Recording, ...]:
    length = end_ms - start_ms
    start = start_ms + (length * 15 // 100 if camera == "store" else 0)
    end = end_ms - (length * 15 // 100 if camera == "office" else 0)
    if camera == "yard" and length >= 600_000:
        gap = start_ms + length * 55 // 100
        return Recording(camera, camera, start, gap), Recording(f"{camera}-2", camera, gap + length // 20, end)
    return (Recording(camera, camera, start, end),)


def _home(vehicle: Vehicle) -> tuple[str, ...]:
    return ("dock",) if vehicle.kind == "van" else ("gate",)


def _first(body: _Body) -> str:
    return body.person.name.split()[0]


def _distance(a: Point, b: Point) -> float:
    return hypot(a[0] - b[0], a[1] - b[1])


def _numbered_actions(actions: list[Action]) -> tuple[Action, ...]:
    ordered = sorted(actions, key=lambda a: (a.start_ms, a.end_ms, a.subject, a.verb))
    return tuple(replace(action, id=f"a{n:05d}") for n, action in enumerate(ordered, 1))


def _numbered_lines(lines: list[Line]) -> tuple[Line, ...]:
    ordered = sorted(lines, key=lambda line: (line.start_ms, line.speaker))
    return tuple(replace(line, id=f"u{n:05d}") for n, line in enumerate(ordered, 1))


def _clipped(holdings: list[Holding], end_ms: int) -> list[Holding]:
    return [
        Holding(h.thing, h.holder, h.start_ms, min(h.end_ms, end_ms), h.point) for h in holdings if h.start_ms < end_ms
    ]
