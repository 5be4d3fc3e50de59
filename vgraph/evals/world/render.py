"""Frames of a recording: floor, vehicles, things, people with badges, and the camera's own clock burnt in."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar
from zoneinfo import ZoneInfo

from vgraph.evals.world import sprites
from vgraph.evals.world.scene import PERSON_HEIGHT, PERSON_WIDTH, VEHICLE_HEIGHT, Picture, Presence, Scene
from vgraph.evals.world.script import Camera, Holding, Line, Recording
from vgraph.evals.world.site import Person, Thing, Vehicle
from vgraph.evals.world.speech import RATE, Sound, lines_of
from vgraph.media.encode import Mp4Writer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEP_MS = 300


def render(
    scene: Scene,
    camera: Camera,
    recording: Recording,
    picture: Picture,
    path: Path,
    *,
    speak: bool,
    progress: Callable[[float], None],
) -> None:
    """One recording as MP4, with sound when `speak`; its creation time is what the camera's clock says."""
    painter = Painter(scene, camera, recording, picture)
    sound = Sound(scene, recording) if speak else None
    length = recording.end_ms - recording.start_ms
    created = recording.start_ms - camera.clock_offset_ms
    rate = RATE if sound else None
    with Mp4Writer(path, picture.width, picture.height, picture.fps, rate, created) as writer:
        for number in range(length * picture.fps // 1000):
            at = recording.start_ms + number * 1000 // picture.fps
            writer.write(painter.frame(at))
            if number % picture.fps == 0:
                if sound:
                    writer.write_audio(sound.second(number // picture.fps))
                progress(number * 1000 / picture.fps / length)


class Painter:
    """Draws the frames of one recording; ask for them in order of time."""

    def __init__(self, scene: Scene, camera: Camera, recording: Recording, picture: Picture) -> None:
        self.scene, self.camera, self.recording, self.picture = scene, camera, recording, picture
        self.floor = sprites.floor(camera.area, picture.width, picture.height, picture.scale)
        self.spells = _Moving(s for each in scene.presence[recording.stem].values() for s in each)
        self.lines = _Moving(lines_of(scene, recording))
        self.holdings = _Moving(scene.script.holdings)
        self.zone = ZoneInfo(scene.script.tz)
        self.cache: dict[object, NDArray[np.uint8]] = {}
        self.last: tuple[object, NDArray[np.uint8]] | None = None

    def frame(self, at: int) -> NDArray[np.uint8]:
        """RGB at a UTC time; the same array again while nothing changes."""
        marks = self._marks(at)
        key = (self._clock_text(at), tuple((x, y, id(sprite)) for x, y, sprite in marks))
        if self.last is None or self.last[0] != key:
            image = self.floor.copy()
            for x, y, sprite in marks:
                _blit(image, sprite, x, y)
            self._clock(image, key[0])
            self.last = (key, image)
        return self.last[1]

    def _marks(self, at: int) -> list[tuple[int, int, NDArray[np.uint8]]]:
        """Sprites with their left upper corners, those behind first, all writing on top."""
        speakers = {line.speaker for line in self.lines.at(at)}
        carried = {h.holder: h.thing for h in self.holdings.at(at)}
        figures: list[tuple[float, int, int, NDArray[np.uint8]]] = []
        labels: list[tuple[int, int, NDArray[np.uint8]]] = []
        spells = sorted(self.spells.at(at), key=lambda s: (not s.id.startswith("v"), s.at(at)[1], s.id))
        for spell in spells:
            item = self.scene.script.named[spell.id]
            x, y = self.picture.pixel(self.camera.area, spell.at(at))
            if isinstance(item, Vehicle):
                sprite = self._sprite(item)
                top = round(y) - sprite.shape[0]
                figures.append((y, round(x) - sprite.shape[1] // 2, top, sprite))
                plate = self._written(item.plate, sprites.PLATE_PX)
                self._put(plate, round(x) - sprite.shape[1] // 10, top + sprite.shape[0] * 3 // 8, -1, labels)
            elif isinstance(item, Person):
                sprite = self._sprite(item, _stride(spell, at))
                left, top = round(x) - sprite.shape[1] // 2, round(y) - sprite.shape[0]
                figures.append((y, left, top, sprite))
                self._badge(item.name, round(x), top, labels)
                if item.id in carried:
                    self._carried(carried[item.id], left + sprite.shape[1], round(y), figures, labels)
                if item.id in speakers:
                    labels.append((left - 26, top + 2, self._cached("bubble", sprites.bubble)))
        self._things(at, figures, labels)
        figures.sort(key=lambda figure: figure[0])
        return [figure[1:] for figure in figures] + labels

    def _things(self, at: int, figures: list[tuple[float, int, int, NDArray[np.uint8]]], labels: list[_Mark]) -> None:
        for holding in self.holdings.at(at):
            if holding.point and self.camera.area.contains(holding.point):
                x, y = self.picture.pixel(self.camera.area, holding.point)
                self._carried(holding.thing, round(x), round(y), figures, labels)

    def _carried(
        self,
        thing: str,
        x: int,
        y: int,
        figures: list[tuple[float, int, int, NDArray[np.uint8]]],
        labels: list[_Mark],
    ) -> None:
        """A thing whose middle is at x, above y, and its label beneath."""
        item = self.scene.script.named[thing]
        assert isinstance(item, Thing)
        box = self._cached(thing, lambda: sprites.thing(item.colour, round(0.6 * self.picture.scale)))
        figures.append((y + 0.5, x - box.shape[1] // 2, y - box.shape[0] - 6, box))
        words = self._written(item.name, sprites.LABEL_PX, (255, 245, 200))
        self._put(words, x, y - 4, 1, labels)

    def _badge(self, name: str, x: int, top: int, labels: list[_Mark]) -> None:
        words = self._written(name, sprites.BADGE_PX)
        self._put(words, x, top - words.shape[0] - 1, -1, labels)

    def _put(self, words: NDArray[np.uint8], x: int, top: int, way: int, labels: list[_Mark]) -> None:
        """Writing stays in the picture, and moves up or down past writing that is there already."""
        height, width = words.shape[:2]
        left = min(max(0, x - width // 2), self.picture.width - width)
        floor = self.picture.height - height
        top = min(max(sprites.BAR_PX, top), floor)
        for _ in range(6):
            hit = next((m for m in labels if _overlap((left, top, words), m)), None)
            if hit is None:
                break
            top = hit[1] - height if way < 0 else hit[1] + hit[2].shape[0]
            if not sprites.BAR_PX <= top <= floor:
                way, top = -way, min(max(sprites.BAR_PX, top), floor)
        labels.append((left, top, words))

    def _sprite(self, item: Person | Vehicle, step: int = 0) -> NDArray[np.uint8]:
        scale = self.picture.scale
        if isinstance(item, Vehicle):
            size = round(item.length * scale), round(VEHICLE_HEIGHT * scale)
            return self._cached(item.id, lambda: sprites.vehicle(item, *size))
        size = round(PERSON_WIDTH * scale), round(PERSON_HEIGHT * scale)
        return self._cached((item.id, step), lambda: sprites.person(item.jacket, int(item.id[1:]), *size, step))

    def _cached(self, key: object, make: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
        if key not in self.cache:
            self.cache[key] = make()
        return self.cache[key]

    def _written(self, words: str, size: int, paper: sprites.Colour = sprites.PAPER) -> NDArray[np.uint8]:
        return self._cached((words, size), lambda: sprites.text(words, size, paper=paper))

    def _clock_text(self, at: int) -> str:
        shown = datetime.datetime.fromtimestamp((at - self.camera.clock_offset_ms) // 1000, self.zone)
        return shown.strftime("%Y-%m-%d %H:%M:%S")

    def _clock(self, image: NDArray[np.uint8], shown: str) -> None:
        image[: sprites.BAR_PX] = sprites.INK
        label = self._cached(
            "label", lambda: sprites.text(f"CAM {self.camera.id}", sprites.CLOCK_PX, sprites.PAPER, sprites.INK)
        )
        time = sprites.text(shown, sprites.CLOCK_PX, sprites.PAPER, sprites.INK)
        _blit(image, label, 6, 1)
        _blit(image, time, self.picture.width - 200, 1)


_Mark = tuple[int, int, "NDArray[np.uint8]"]


Spell = TypeVar("Spell", Presence, Line, Holding)


class _Moving(Generic[Spell]):
    """Spells of time, asked for by time in ascending order: [start_ms, end_ms)."""

    def __init__(self, spells: Iterable[Spell]) -> None:
        self.waiting: list[Spell] = sorted(spells, key=lambda spell: -spell.start_ms)
        self.now: list[Spell] = []

    def at(self, ms: int) -> list[Spell]:
        while self.waiting and self.waiting[-1].start_ms <= ms:
            self.now.append(self.waiting.pop())
        self.now = [spell for spell in self.now if spell.end_ms > ms]
        return self.now


def _stride(spell: Presence, at: int) -> int:
    """0 when standing, else which leg is in front."""
    if spell.at(at) == spell.at(at + 40):
        return 0
    return 1 + at // STEP_MS % 2


def _overlap(a: _Mark, b: _Mark) -> bool:
    (high_a, wide_a), (high_b, wide_b) = a[2].shape[:2], b[2].shape[:2]
    beside = a[0] >= b[0] + wide_b or b[0] >= a[0] + wide_a
    above = a[1] >= b[1] + high_b or b[1] >= a[1] + high_a
    return not beside and not above


def _blit(image: NDArray[np.uint8], sprite: NDArray[np.uint8], x: int, y: int) -> None:
    """Lay a sprite onto a frame, cut at the edges; its alpha is all or nothing."""
    height, width = image.shape[:2]
    left, top = max(0, x), max(0, y)
    right, bottom = min(width, x + sprite.shape[1]), min(height, y + sprite.shape[0])
    if left >= right or top >= bottom:
        return
    piece = sprite[top - y : bottom - y, left - x : right - x]
    target = image[top:bottom, left:right]
    target[piece[..., 3] > 0] = piece[piece[..., 3] > 0][:, :3]
