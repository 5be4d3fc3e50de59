"""Everything that lies beside a video under its name: subtitles, captions, detections, and facts of the camera.

`<stem>.vtt .ass .srt`, `<stem>.captions.jsonl`, detections in the forms of DETECTIONS, `<stem>.meta.json`:

    {"camera": {"label": "Dock", "place": "Harbour", "tz": "Europe/Berlin", "clock_offset_ms": -1500, "position": [3, 4]},
     "start": "2026-03-02T08:00:00Z", "title": "Monday", "tags": ["night"]}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from vgraph.errors import SidecarError
from vgraph.media.captions import read_captions
from vgraph.media.coco import read_coco
from vgraph.media.detection_table import Detections
from vgraph.media.detections import read_mot, read_tracks
from vgraph.media.lines import Text, explained, iso_ms
from vgraph.media.metropolis import read_metropolis
from vgraph.media.subtitles import embedded_subtitles, read_subtitles
from vgraph.media.text import Warnings, read_text
from vgraph.types import CameraInfo, Detection, Sidecars, Utterance, VideoTrack

SUBTITLES = (".vtt", ".ass", ".srt")
"""In order of preference: the first two know who speaks."""

DETECTIONS = (
    ".tracks.jsonl", ".mot.csv", ".mot.txt", ".coco.json", ".deepstream.jsonl", ".deepstream.json", ".vss.jsonl", ".vss.json",
)  # fmt: skip
"""All that are there are read: see detections.py, coco.py and metropolis.py."""

T = TypeVar("T")


class _Camera(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: Text
    place: str = ""
    tz: str | None = None
    clock_offset_ms: int | None = None
    position: tuple[float, float] | None = None

    @field_validator("tz")
    @classmethod
    def _known(cls, tz: str | None) -> str | None:
        try:
            ZoneInfo(tz or "UTC")
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"time zone {tz!r} is not known: use a name such as Europe/Berlin") from error
        return tz


class _Meta(BaseModel):
    model_config = ConfigDict(extra="forbid")

    camera: _Camera | None = None
    start: str | None = None
    title: str | None = None
    tags: tuple[Text, ...] = ()


def read_sidecars(path: Path, picture: VideoTrack, *, start_ms: int | None = None, streams: bool = False) -> Sidecars:
    """All that lies beside the video at `path`, parsed; what is not there is empty.

    `start_ms` (UTC) is the document's start, needed by captions and detections with ISO times; without it that of the
    meta JSON is used. `picture` gives the frame rate and size that frame numbers and boxes refer to. Of several subtitle files one
    is read; where there is none, and with `streams`, the subtitles within the container. Broken lines and cues are left out
    and named in `warnings`. Raises SidecarError for a file that cannot be read at all.
    """
    meta = read_meta(path)
    start_ms = meta.start_ms if start_ms is None else start_ms
    found = _Found(Path(path), [*meta.files], [*meta.warnings])
    names = frozenset(name.casefold() for name in (Path(path).stem, meta.camera.label if meta.camera else "") if name)
    return Sidecars(
        camera=meta.camera,
        start_ms=meta.start_ms,
        title=meta.title,
        tags=meta.tags,
        captions=found.read(".captions.jsonl", lambda file, warnings: read_captions(file, start_ms, warnings)),
        utterances=found.speech() or (found.inside() if streams else ()),
        detections=found.detections(lambda file, warnings: _detected(file, picture, start_ms, names, warnings)),
        files=tuple(found.files),
        warnings=tuple(found.warnings),
    )


class _Found:
    """Reads what is there, and keeps which files were read and their warnings."""

    def __init__(self, video: Path, files: list[Path], warnings: list[str]) -> None:
        self._video, self.files, self.warnings = video, files, warnings

    def read(self, ending: str, reader: Callable[[Path, Warnings], tuple[T, ...]]) -> tuple[T, ...]:
        file = beside(self._video, ending)
        if not file.is_file():
            return ()
        warnings = Warnings(file)
        values = reader(file, warnings)
        self.files.append(file)
        self.warnings.extend(warnings.texts())
        return values

    def detections(self, reader: Callable[[Path, Warnings], Iterator[Detection]]) -> Sequence[Detection]:
        """Those of all files that are there, in order of time. Tracks of two files that go by one name are told apart by the file's."""
        there = [ending for ending in DETECTIONS if beside(self._video, ending).is_file()]
        if not there:
            return ()
        return Detections(seen for ending in there for seen in self._told_apart(ending, there, reader))

    def _told_apart(
        self, ending: str, there: Sequence[str], reader: Callable[[Path, Warnings], Iterator[Detection]]
    ) -> Iterator[Detection]:
        file = beside(self._video, ending)
        warnings = Warnings(file)
        for seen in reader(file, warnings):
            alone = seen.track is None or ending == there[0]
            yield seen if alone else replace(seen, track=f"{ending.strip('.')} {seen.track}")
        self.files.append(file)
        self.warnings.extend(warnings.texts())

    def speech(self) -> tuple[Utterance, ...]:
        there = [ending for ending in SUBTITLES if beside(self._video, ending).is_file()]
        for ending in there[1:]:
            self.warnings.append(f"{beside(self._video, ending).name}: not read, {there[0]} subtitles are there too")
        return self.read(there[0], read_subtitles) if there else ()

    def inside(self) -> tuple[Utterance, ...]:
        """Speech from the container's own subtitles."""
        warnings = Warnings(self._video)
        spoken = embedded_subtitles(self._video, warnings)
        self.warnings.extend(warnings.texts())
        return spoken


def _detected(
    file: Path, picture: VideoTrack, start_ms: int | None, names: frozenset[str], warnings: Warnings
) -> Iterator[Detection]:
    if file.name.endswith(".tracks.jsonl"):
        return read_tracks(file, picture, warnings)
    if file.name.endswith((".mot.csv", ".mot.txt")):
        return read_mot(file, picture, warnings)
    if file.name.endswith(".coco.json"):
        return read_coco(file, picture, warnings)
    return read_metropolis(file, picture, start_ms, names, warnings)


def beside(path: Path, ending: str) -> Path:
    """`clips/dock.mp4` and `.srt` -> `clips/dock.srt`."""
    return path.with_name(path.stem + ending)


def read_meta(path: Path) -> Sidecars:
    """Camera, start, title and tags of the meta JSON beside the video at `path`; a start without a zone is in the camera's.

    Reading this first gives the start that `read_sidecars` may need. Raises SidecarError when it is not as drawn above.
    """
    file = beside(Path(path), ".meta.json")
    if not file.is_file():
        return Sidecars()
    meta = _checked_meta(file)
    camera = CameraInfo(**meta.camera.model_dump()) if meta.camera else None
    return Sidecars(camera, _start(file, meta), meta.title, meta.tags, files=(file,))


def _checked_meta(file: Path) -> _Meta:
    try:
        return _Meta.model_validate(orjson.loads(read_text(file)))
    except orjson.JSONDecodeError as error:
        raise SidecarError(
            f"{file}:{error.lineno}: not JSON ({error.msg})", path=str(file), line=error.lineno
        ) from error
    except ValidationError as error:
        raise SidecarError(f"{file}: {explained(error)}", path=str(file)) from error


def _start(file: Path, meta: _Meta) -> int | None:
    if meta.start is None:
        return None
    try:
        return iso_ms(meta.start, ZoneInfo((meta.camera and meta.camera.tz) or "UTC"))
    except ValueError as error:
        raise SidecarError(f"{file}: start: {error}", path=str(file)) from error
