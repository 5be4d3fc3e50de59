"""The synthetic world: a scripted depot, filmed by several cameras, of which the whole truth is known.

>>> from vgraph.evals.world import World
>>> world = World.generate(7)
>>> len(world.script.people), len(world.script.cameras)
(8, 5)

From the same seed and sizes everything is the same on every machine, but for the pictures' coding and the sound.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vgraph.errors import UserError
from vgraph.evals.world.captions import captions, told
from vgraph.evals.world.detections import detected, detections
from vgraph.evals.world.director import direct
from vgraph.evals.world.noise import Noise
from vgraph.evals.world.scene import Picture, Scene
from vgraph.evals.world.script import Camera, Recording, Script
from vgraph.evals.world.speech import can_speak, speakers, vtt
from vgraph.evals.world.truth import truth

__all__ = ["DEMO_SEED", "Noise", "Picture", "TrueMention", "World", "WorldFiles", "WorldVideo"]

Progress = Callable[[str, float], None]
"""Told what is being written and the share of the whole that is done, 0 to 1."""

START = datetime.datetime(2026, 3, 3, 9, 0)  # noqa: DTZ001 - wall-clock time, the zone stands beside it
ZONE = "Europe/Berlin"
TRUTH = "truth.json"
DEMO_SEED = 190
"""A world in which three minutes hold questions of all kinds and every camera hears something."""


@dataclass(frozen=True, slots=True)
class WorldVideo:
    """A recording's files. `start_ms` is what the camera's clock said at its first frame, as its meta sidecar tells."""

    camera: str
    video: Path
    sidecars: tuple[Path, ...]
    start_ms: int


@dataclass(frozen=True, slots=True)
class WorldFiles:
    """What was written; `sound` says whether the videos have a sound track, `notes` why not."""

    folder: Path
    videos: tuple[WorldVideo, ...]
    truth: Path
    sound: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrueMention:
    """A name as a recording's captions or subtitles give it, media ms, with the id of whom or what it means."""

    name: str
    type: str
    id: str
    offset_ms: int
    end_offset_ms: int


@dataclass(frozen=True)
class World:
    script: Script
    picture: Picture
    questions: int
    noise: Noise

    @classmethod
    def generate(
        cls,
        seed: int,
        *,
        cameras: int = 5,
        minutes: float = 3.0,
        density: float = 1.0,
        things: int = 8,
        questions: int = 16,
        start: datetime.datetime = START,
        tz: str = ZONE,
        picture: Picture | None = None,
        noise: Noise | None = None,
    ) -> World:
        """A world of 4 to 8 cameras. `density` 1 keeps everybody busy; a whole day is best at 0.1.

        `start` is wall-clock time in `tz`. Raises UserError for sizes that the site cannot hold.
        """
        script = direct(seed, cameras=cameras, minutes=minutes, density=density, things=things, start=start, tz=tz)
        return cls(script, picture or Picture(), questions, noise or Noise())

    @cached_property
    def scene(self) -> Scene:
        return Scene(self.script)

    def truth(self) -> dict[str, Any]:
        """Everything that happened, who saw it, and the questions with their answers, as JSON values (see truth.py)."""
        return truth(self.scene, self.picture, self.questions)

    def captions(self, recording: str) -> tuple[dict[str, Any], ...]:
        """The given captions of a recording (by stem) in the sidecar form."""
        camera, found = self._recording(recording)
        return tuple(captions(self.scene, camera, found, self.noise))

    def mentions(self, recording: str) -> tuple[TrueMention, ...]:
        """Who the names in a recording's captions and subtitles truly are."""
        camera, found = self._recording(recording)
        captioned = [
            TrueMention(
                entity["name"], entity["type"], id_, round(caption["start"] * 1000), round(caption["end"] * 1000)
            )
            for caption, ids in told(self.scene, camera, found, self.noise)
            for entity, id_ in zip(caption["entities"], ids, strict=True)
        ]
        spoken = [
            TrueMention(name, "person", line.speaker, line.start_ms - found.start_ms, line.end_ms - found.start_ms)
            for line, name in speakers(self.scene, found, self.noise)
        ]
        return (*captioned, *spoken)

    def tracks(self, recording: str, detect_every_ms: int = 200) -> dict[str, str]:
        """Which person or vehicle each track of a recording's detections follows."""
        camera, found = self._recording(recording)
        rows = detected(self.scene, camera, found, self.picture, detect_every_ms)
        return {str(detection["track"]): id_ for detection, id_ in rows}

    def write(
        self, folder: Path | str, *, progress: Progress | None = None, detect_every_ms: int = 200, video: bool = True
    ) -> WorldFiles:
        """Render into a folder; files of this world that are there already are kept, so that an interrupted write resumes.

        A folder that holds another world of the same file names is written anew; one that holds other files of those
        names is refused with UserError. `video=False` writes the sidecars alone.
        """
        return _Writer(self, Path(folder), progress or (lambda _text, _share: None), detect_every_ms, video).write()

    def _recording(self, stem: str) -> tuple[Camera, Recording]:
        for camera, recording in self.script.recordings():
            if recording.stem == stem:
                return camera, recording
        raise UserError(f"recording {stem!r}: must be one of {', '.join(r.stem for _, r in self.script.recordings())}")


SIDECARS = (".vtt", ".captions.jsonl", ".tracks.jsonl", ".meta.json")


class _Writer:
    def __init__(self, world: World, folder: Path, progress: Progress, detect_every_ms: int, video: bool) -> None:
        self.world, self.folder, self.progress = world, folder, progress
        self.detect_every_ms, self.video = detect_every_ms, video
        self.total = sum(r.end_ms - r.start_ms for _, r in world.script.recordings())
        self.done = 0

    def write(self) -> WorldFiles:
        self._claim()
        speak = can_speak()
        videos = tuple(
            self._recording(camera, recording, speak) for camera, recording in self.world.script.recordings()
        )
        self.progress("done", 1.0)
        notes = (
            () if speak else ("espeak-ng is not installed: the videos have no sound, the subtitles stand beside them",)
        )
        return WorldFiles(self.folder, videos, self.folder / TRUTH, speak and self.video, notes)

    def _claim(self) -> None:
        """Make the folder this world's: the truth is written first, and files of another world are taken away."""
        text = _json(self.world.truth(), indent=1)
        path = self.folder / TRUTH
        self.folder.mkdir(parents=True, exist_ok=True)
        mine = [self._path(r.stem, end) for _, r in self.world.script.recordings() for end in (".mp4", *SIDECARS)]
        there = [file for file in mine if file.exists()]
        if path.exists() and path.read_text(encoding="utf-8") == text:
            return
        if there and not path.exists():
            raise UserError(f"{there[0]} is there and not of a synthetic world: choose another folder")
        for file in there:
            file.unlink()
        _put(path, [text])

    def _path(self, stem: str, suffix: str) -> Path:
        return self.folder / f"{stem}{suffix}"

    def _recording(self, camera: Camera, recording: Recording, speak: bool) -> WorldVideo:
        from vgraph.evals.world.render import render

        world, scene, stem = self.world, self.world.scene, recording.stem
        self._once(stem, ".vtt", lambda: vtt(scene, recording, world.noise))
        self._once(stem, ".captions.jsonl", lambda: map(_json, captions(scene, camera, recording, world.noise)))
        found = detections(scene, camera, recording, world.picture, self.detect_every_ms)
        self._once(stem, ".tracks.jsonl", lambda: map(_json, found))
        self._once(stem, ".meta.json", lambda: [_json(_meta(world.script, camera, recording), indent=1)])
        path, length = self._path(stem, ".mp4"), recording.end_ms - recording.start_ms

        def told(share: float) -> None:
            self.progress(path.name, (self.done + share * length) / self.total)

        told(0.0)
        if self.video and not path.exists():
            render(scene, camera, recording, world.picture, path, speak=speak, progress=told)
        self.done += length
        sidecars = tuple(self._path(stem, suffix) for suffix in SIDECARS)
        return WorldVideo(camera.id, path, sidecars, recording.start_ms - camera.clock_offset_ms)

    def _once(self, stem: str, suffix: str, lines: Callable[[], Iterable[str]]) -> None:
        path = self._path(stem, suffix)
        if not path.exists():
            _put(path, lines())


def _meta(script: Script, camera: Camera, recording: Recording) -> dict[str, Any]:
    """What the operator knows: the start by the camera's own clock, and how wrong they believe that clock to be."""
    start = datetime.datetime.fromtimestamp((recording.start_ms - camera.clock_offset_ms) / 1000, datetime.UTC)
    area = camera.area
    return {
        "camera": {
            "label": camera.id,
            "place": camera.place,
            "tz": script.tz,
            "clock_offset_ms": camera.known_offset_ms,
            "position": [area.x + area.width / 2, area.y + area.height / 2],
        },
        "start": start.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "title": f"{camera.place.capitalize()} (synthetic world, seed {script.seed}; captions and detections are given)",
    }


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _put(path: Path, lines: Iterable[str]) -> None:
    """Write a text file whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as file:
        for index, line in enumerate(lines):
            file.write(("\n" if index else "") + line)
    part.replace(path)
