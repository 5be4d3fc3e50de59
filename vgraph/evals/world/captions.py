"""Captions as a hurried observer would give them, derived from the truth with noise: for demos without a vision model.

Wording varies, some people are named only by their looks, times are off by a little, some events are missed and some
relations dropped. They are given captions: nothing looked at the pictures to make them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from vgraph.evals.world.noise import Names, Noise
from vgraph.evals.world.phrases import clause, named, relations
from vgraph.evals.world.scene import Scene, position
from vgraph.evals.world.script import Action, Camera, Interval, Recording
from vgraph.evals.world.site import ZONES, Person, Thing, Vehicle, article

Json = dict[str, Any]


EMPTY = ("The {place} is empty.", "Nobody is to be seen, the {place} is quiet.", "Nothing moves in the picture.")
STANDING = ("{who} {be} {where}", "{who} can be seen {where}", "{who} {be} standing {where}")
OPENING = ("", "", "Then ", "A moment later ", "Now ")
VERBS = {
    "picks up": ("picks up", "takes", "lifts"),
    "puts down": ("puts down", "sets down"),
    "hands over": ("hands over", "hands", "gives"),
    "loads": ("loads", "puts"),
    "unloads": ("unloads", "takes"),
    "drives": ("drives", "is driving"),
    "talks to": ("talks to", "speaks with", "chats with"),
    "gets into": ("gets into", "climbs into"),
    "gets out of": ("gets out of", "climbs out of"),
    "arrives at": ("arrives at", "pulls in at"),
    "leaves": ("leaves", "drives away from"),
    "comes to": ("comes to", "walks over to", "enters"),
}


def captions(scene: Scene, camera: Camera, recording: Recording, noise: Noise) -> Iterator[Json]:
    """One caption for every 8 to 12 seconds of a recording, in the sidecar form, in order of time."""
    return (caption for caption, _ in told(scene, camera, recording, noise))


def told(scene: Scene, camera: Camera, recording: Recording, noise: Noise) -> Iterator[tuple[Json, tuple[str, ...]]]:
    """Captions, each with the true ids of its entities in their order: for measuring only."""
    rng = random.Random(f"vgraph world {scene.script.seed} captions {recording.stem}")  # noqa: S311
    names = Names(scene.script, noise, f"captions {recording.stem}")
    events = _events(scene, recording)
    start = recording.start_ms
    while start < recording.end_ms:
        end = min(start + rng.randrange(8_000, 12_001, 500), recording.end_ms)
        if recording.end_ms - end < 4_000:
            end = recording.end_ms
        mine = [
            event for event in events.get(start // 60_000, []) + events.get(end // 60_000, []) if _in(event, start, end)
        ]
        observer = _Observer(scene, camera, recording, noise, rng, (start, end), names.written())
        yield observer.caption(list(dict.fromkeys(mine))), tuple(observer.used)
        start = end


def _events(scene: Scene, recording: Recording) -> dict[int, list[tuple[Action, Interval]]]:
    """What the recording shows, by the minute in which its middle lies."""
    found: dict[int, list[tuple[Action, Interval]]] = {}
    for action in scene.script.actions:
        span = scene.witnessed(action, recording.stem)
        if span is not None:
            found.setdefault(sum(span) // 2 // 60_000, []).append((action, span))
    return found


def _in(event: tuple[Action, Interval], start: int, end: int) -> bool:
    return start <= sum(event[1]) // 2 < end


class _Observer:
    """Writes the caption of one stretch; who is not recognised in it stays so throughout."""

    def __init__(
        self, scene: Scene, camera: Camera, recording: Recording, noise: Noise, rng: random.Random, span: Interval,
        people: Mapping[str, str],
    ) -> None:  # fmt: skip
        self.scene, self.camera, self.recording = scene, camera, recording
        self.noise, self.rng, self.span = noise, rng, span
        self.full, self.people = named(scene.script), people
        self.unnamed = {p.id for p in scene.script.people if rng.random() < noise.unnamed}
        self.used: dict[str, None] = {}

    def caption(self, events: list[tuple[Action, Interval]]) -> Json:
        told = [event for event in events if self.rng.random() >= self.noise.missed]
        parts = [self._sentence(action) for action, _ in told]
        parts += self._bystanders({id_ for action, _ in told for id_ in (action.subject, action.object, action.other)})
        text = " ".join(parts) or self.rng.choice(EMPTY).format(place=self.camera.place)
        links = [link for action, span in told for link in self._links(action, span)]
        start, end = self._times()
        return {"start": start, "end": end, "text": text, "entities": self._entities(), "relations": links}

    def _sentence(self, action: Action) -> str:
        verb = self.rng.choice(VERBS[action.verb])
        text = self.rng.choice(OPENING) + clause(action, verb, self._called)
        place = "" if action.object in ZONES else f" {ZONES[action.zone].where}"
        if not place:
            self.used[action.zone] = None
        return _sentence(text + (place if self.rng.random() < 0.7 else ""))

    def _bystanders(self, told: set[str | None]) -> list[str]:
        """A sentence for each place at which somebody stands who has not been told of."""
        places: dict[str, list[str]] = {}
        for person in self.scene.script.people:
            if person.id not in told and self._stays(person.id):
                places.setdefault(self._zone(person.id), []).append(person.id)
        return [self._standing(zone, people) for zone, people in places.items()]

    def _standing(self, zone: str, people: list[str]) -> str:
        who, be = _listed([self._called(id_) for id_ in people]), "is" if len(people) == 1 else "are"
        return _sentence(self.rng.choice(STANDING).format(who=who, be=be, where=ZONES[zone].where))

    def _zone(self, id_: str) -> str:
        point = position(self.scene.script.paths[id_], sum(self.span) // 2)
        return next((zone.id for zone in ZONES.values() if zone.area.contains(point)), self.camera.zone)

    def _stays(self, id_: str) -> bool:
        seen = self.scene.seen(id_, self.recording.stem, *self.span)
        return sum(b - a for a, b in seen) * 2 >= self.span[1] - self.span[0]

    def _called(self, id_: str) -> str:
        self.used[id_] = None
        if id_ in self.unnamed:
            return f"a {self._name(id_)}"
        return self.people.get(id_) or self.full(id_)

    def _name(self, id_: str) -> str:
        item = self.scene.script.named.get(id_)
        if isinstance(item, Person):
            return item.look if id_ in self.unnamed else self.people[id_]
        return self.scene.script.name(id_)

    def _links(self, action: Action, span: Interval) -> list[Json]:
        found = []
        for source, relation, target in relations(action):
            if self.rng.random() < self.noise.dropped:
                continue
            self.used.update(dict.fromkeys((source, target)))
            start, end = sorted((self._media(span[0]), self._media(span[1])))
            found.append(
                {
                    "source": self._name(source),
                    "relation": relation,
                    "target": self._name(target),
                    "start": start,
                    "end": max(end, start + 0.1),
                    "confidence": self.rng.randrange(80, 100) / 100,
                }
            )
        return found

    def _entities(self) -> list[Json]:
        return [
            {"name": self._name(id_), "type": self.scene.script.kind(id_), "description": self._description(id_)}
            for id_ in self.used
        ]

    def _description(self, id_: str) -> str:
        item = self.scene.script.named.get(id_)
        if isinstance(item, Person):
            return f"wears {article(item.jacket)} {item.jacket} jacket" + (
                ", name not seen" if id_ in self.unnamed else ""
            )
        if isinstance(item, Vehicle | Thing):
            return item.look
        return "a place on the site"

    def _times(self) -> tuple[float, float]:
        start, end = self._media(self.span[0]), self._media(self.span[1])
        return start, max(end, start + 1.0)

    def _media(self, ms: int) -> float:
        """Seconds of media time, a little wrong, never outside the recording."""
        wrong = ms + self.rng.randint(-self.noise.jitter_ms, self.noise.jitter_ms)
        return round(min(max(wrong, self.recording.start_ms), self.recording.end_ms) - self.recording.start_ms) / 1000


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
