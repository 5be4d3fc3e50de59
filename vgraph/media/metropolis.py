"""Objects as DeepStream, VSS and other programs of NVIDIA's Metropolis write them: `<stem>.deepstream.jsonl` or `.json`, `<stem>.vss.json`.

A message a line, a list of messages, or `{"frames": [messages]}`, read in a stream. A message is a frame with its objects

    {"version": "4.0", "id": "17", "@timestamp": "2026-03-02T08:00:01.480Z", "sensorId": "dock",
     "objects": ["3|312.5|88|352.5|184|Person|#|||||0.87"]}

(track, left, top, right, bottom, class, then attributes whose first group ends with the confidence), or the same with objects that are
objects: `id`, `type`, `confidence` (or `conf`) and a `bbox` of left/top/right/bottom or of left/top/width/height in any of the
spellings below; or one object a message in DeepStream's full form: `sensor.id`, `object.bbox`, `object.person` or `object.vehicle`.

`@timestamp` (or `timestamp`) is an ISO 8601 time, which needs a start that is known, or a number: nanoseconds of the media, as GStreamer
counts. Without one, or without a known start, frames are counted: `frameNo`, `frame_num` or `id`, from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from vgraph.media.detection_table import ORIGIN, FrameTimes, checked
from vgraph.media.json_stream import items, keys
from vgraph.media.lines import iso_ms
from vgraph.media.text import Warnings, read_lines
from vgraph.types import Box, Detection, VideoTrack

UNTRACKED = {str(2**64 - 1), "-1", ""}
"""Identities of objects that no tracker followed: the largest number of 64 bits is how DeepStream says so."""

CORNERS = (
    ("topleftx", "toplefty", "bottomrightx", "bottomrighty"),
    ("leftx", "topy", "rightx", "bottomy"),
    ("lx", "ty", "rx", "by"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("left", "top", "right", "bottom"),
)
SIDES = (("left", "top", "width", "height"), ("x", "y", "width", "height"), ("x", "y", "w", "h"))
"""Names of a box's sides, in lower case."""

FRAMES = ("frameno", "frame_num", "framenumber", "id")
UNKNOWN = "object"
FARTHEST_MS = 10**11

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Clock:
    """How the times of messages become media time: by the start (UTC ms) of the recording, or by counting frames."""

    start_ms: int | None
    frames: FrameTimes


def read_metropolis(
    path: Path, picture: VideoTrack, start_ms: int | None, names: frozenset[str], warnings: Warnings
) -> Iterator[Detection]:
    """Detections as they stand there; messages and objects that are broken are told to `warnings` by line (or item). Raises SidecarError.

    Where messages name several sensors, those of the video are taken whose sensor is one of `names` (the camera's label, the
    file's stem; case does not matter); of a file with one sensor only, all.
    """
    clock = Clock(start_ms, FrameTimes(picture, warnings))
    wanted = _sensors(path, names, warnings)
    for number, message in _messages(path, warnings):
        if wanted is not None and _sensor(message) not in wanted:
            continue
        try:
            offset_ms = _offset(message, clock)
        except ValueError as error:
            warnings.skipped(number, str(error))
            continue
        yield from _detections(number, offset_ms, message, picture, warnings)


def _messages(path: Path, warnings: Warnings) -> Iterator[tuple[int, Message]]:
    """Messages with the number of their line or item."""
    for number, value in _values(path, warnings):
        if isinstance(value, Mapping):
            yield number, {str(key).lower(): inner for key, inner in value.items()}
        else:
            warnings.skipped(number, "not an object")


def _values(path: Path, warnings: Warnings) -> Iterator[tuple[int, Any]]:
    if path.suffix == ".jsonl":
        for number, text in read_lines(path, warnings):
            try:
                yield number, orjson.loads(text)
            except orjson.JSONDecodeError as error:
                warnings.skipped(number, f"not JSON ({error.msg})")
        return
    made_of = keys(path)
    yield from items(path, "[]" if made_of == ["["] else "frames[]" if "frames" in made_of else "", warnings)


# --- whose, and when ----------------------------------------------------------------------------------------------------


def _sensors(path: Path, names: frozenset[str], warnings: Warnings) -> frozenset[str] | None:
    """The sensors whose messages are the video's; None for all."""
    ignored = Warnings(path)  # what is broken is told by the reading that counts
    counts: dict[str, int] = {}
    for _, message in _messages(path, ignored):
        sensor = _sensor(message)
        counts[sensor] = counts.get(sensor, 0) + 1
    if len(counts) <= 1:
        return None
    own = frozenset(sensor for sensor in counts if sensor.casefold() in names)
    others = {sensor: count for sensor, count in counts.items() if sensor not in own}
    if others:
        shown = ", ".join(sorted(others)[:5])
        warnings.note(f"{sum(others.values())} messages of other sensors ({shown}) are left out")
    return own


def _sensor(message: Message) -> str:
    nested = message.get("sensor")
    return str(message.get("sensorid") or (nested.get("id") if isinstance(nested, Mapping) else None) or "")


def _offset(message: Message, clock: Clock) -> int:
    """Media time of a message. Raises ValueError when it has none, or one before the video."""
    stamp = message.get("@timestamp", message.get("timestamp"))
    if isinstance(stamp, str) and clock.start_ms is not None:
        offset_ms = iso_ms(_to_microseconds(stamp)) - clock.start_ms
    elif isinstance(stamp, int | float) and not isinstance(stamp, bool):
        offset_ms = round(stamp / 1_000_000)
    else:
        offset_ms = clock.frames.at(_frame(message, stamp))
    if not 0 <= offset_ms <= FARTHEST_MS:
        raise ValueError(f"the time {stamp!r} lies before the video's start or far after it")
    return offset_ms


def _to_microseconds(stamp: str) -> str:
    """DeepStream writes nanoseconds, which Python's times do not hold."""
    return re.sub(r"(\.\d{6})\d+", r"\1", stamp.strip())


def _frame(message: Message, stamp: object) -> int:
    for name in FRAMES:
        text = str(message.get(name, ""))
        if text.isdecimal() and len(text) <= 9:
            return int(text)
    lacks = "needs the video's start, which is not known" if stamp else "is missing"
    raise ValueError(f"the time {lacks}, and there is no frame number")


# --- objects ------------------------------------------------------------------------------------------------------------


def _detections(
    number: int, offset_ms: int, message: Message, picture: VideoTrack, warnings: Warnings
) -> Iterator[Detection]:
    objects = message.get("objects", [message["object"]] if "object" in message else None)
    if not isinstance(objects, list):
        warnings.skipped(number, "has no objects")
        return
    for value in objects:
        try:
            label, track, box, confidence = _object(value)
        except ValueError as error:
            warnings.skipped(number, str(error))
            continue
        if kept := checked(box, picture, warnings, number):
            yield Detection(offset_ms, label, kept, confidence, ORIGIN, track)


Found = tuple[str, str | None, Box, float]
"""Class, track, box, confidence."""


def _object(value: object) -> Found:
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, Mapping):
        return _from_mapping({str(key).lower(): inner for key, inner in value.items()})
    raise ValueError("an object is neither text nor an object")


def _from_text(text: str) -> Found:
    groups = text.split("|#|")
    cells = groups[0].split("|")
    if len(cells) < 6:
        raise ValueError(f"object {text[:80]!r}: track, left, top, right, bottom and class are needed")
    attributes = groups[1].split("|") if len(groups) > 1 else cells[6:]
    return _label(cells[5]), _track(cells[0]), _box(*cells[1:5]), _confidence(attributes[-1] if attributes else None)


def _from_mapping(value: Mapping[str, Any]) -> Found:
    box = value.get("bbox", value.get("bounding_box"))
    if not isinstance(box, Mapping):
        raise ValueError("an object has no bbox")
    kind = value.get("type") or value.get("class") or value.get("label") or _nested_class(value)
    nested = value.get(kind) if isinstance(kind, str) else None
    told = value.get("confidence", value.get("conf"))
    if told is None and isinstance(nested, Mapping):
        told = nested.get("confidence")
    return _label(kind), _track(value.get("id", value.get("trackid"))), _mapped_box(box), _confidence(told)


def _nested_class(value: Mapping[str, Any]) -> str | None:
    """DeepStream's full form names the class by the key of its attributes."""
    return next((name for name in ("person", "vehicle", "face", "bag", "bicycle", "roadsign") if name in value), None)


def _mapped_box(box: Mapping[str, Any]) -> Box:
    sides = {str(key).lower(): value for key, value in box.items()}
    for names in CORNERS:
        if all(name in sides for name in names):
            return _box(*(sides[name] for name in names))
    for names in SIDES:
        if all(name in sides for name in names):
            left, top, width, height = (_number(sides[name]) for name in names)
            return Box(left, top, width, height)
    raise ValueError(f"a bbox of {', '.join(sorted(sides)[:6])} is not understood")


def _box(left: object, top: object, right: object, bottom: object) -> Box:
    x, y = _number(left), _number(top)
    return Box(x, y, _number(right) - x, _number(bottom) - y)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a number of pixels")
    number = float(value)
    if not abs(number) <= 1e6:
        raise ValueError(f"{value!r} is not a number of pixels")
    return number


def _confidence(value: object) -> float:
    """Where none is told, or -1 (by detectors that do not score), it is 1; a tracker's may pass 1 by a rounding."""
    try:
        told = float(value) if isinstance(value, int | float | str) and value != "" else 1.0
    except ValueError:
        return 1.0
    return min(told, 1.0) if 0 <= told < float("inf") else 1.0


def _label(value: object) -> str:
    return str(value).strip().lower() if value is not None and str(value).strip() else UNKNOWN


def _track(value: object) -> str | None:
    text = "" if value is None else str(value).strip()
    return None if text in UNTRACKED else text
