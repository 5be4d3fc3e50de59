"""Objects in the form of COCO: `<stem>.coco.json`, read in a stream however large it is.

Either a data set, `{"images": […], "annotations": […], "categories": […]}`, or a list of results, `[{"image_id": …, "category_id": …,
"bbox": […], "score": …}]`. Boxes are [left, top, width, height] in pixels of the displayed picture. An image's moment is its `time`
(seconds) or its frame number from 0: `frame_index` (or `frame_id`, `frame`), else the last number in its `file_name`, else, as for
results, its id. Annotations may carry `track_id` (or `instance_id`, also within `attributes`) and `score`. Categories of results without
names are COCO's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, AliasPath, BaseModel, Field, ValidationError

from vgraph.media.detection_table import ORIGIN, FrameTimes, checked
from vgraph.media.json_stream import items, keys
from vgraph.media.lines import Pixels, Seconds, Share, Text, explained
from vgraph.media.text import Warnings
from vgraph.types import Box, Detection, VideoTrack

NAMES = (  # noqa: SIM905 - a list of so many lines is no easier to read
    "person bicycle car motorcycle airplane bus train truck boat traffic_light fire_hydrant - stop_sign "
    "parking_meter bench bird cat dog horse sheep cow elephant bear zebra giraffe - backpack umbrella - - handbag "
    "tie suitcase frisbee skis snowboard sports_ball kite baseball_bat baseball_glove skateboard surfboard "
    "tennis_racket bottle - wine_glass cup fork knife spoon bowl banana apple sandwich orange broccoli carrot "
    "hot_dog pizza donut cake chair couch potted_plant bed - dining_table - - toilet - tv laptop mouse remote "
    "keyboard cell_phone microwave oven toaster sink refrigerator - book clock vase scissors teddy_bear "
    "hair_drier toothbrush"
).split()
"""COCO's categories by number, from 1; `-`: a number that is not used (Lin et al. 2014, as of the 2017 annotations)."""

Frame = Annotated[int, Field(ge=0, le=10**9)]
Id = int | str


class _Image(BaseModel):
    id: Id
    time: Seconds | None = None
    frame: Frame | None = Field(None, validation_alias=AliasChoices("frame_index", "frame_id", "frame"))
    file_name: str = ""


class _Category(BaseModel):
    id: int
    name: Text


class _Annotation(BaseModel):
    image: Id = Field(validation_alias="image_id")
    category: int = Field(validation_alias="category_id")
    box: tuple[Pixels, Pixels, Pixels, Pixels] = Field(validation_alias="bbox")
    score: Share = 1.0
    track: Id | None = Field(
        None,
        validation_alias=AliasChoices(
            "track_id", "instance_id", AliasPath("attributes", "track_id"), AliasPath("attributes", "instance_id")
        ),
    )


def read_coco(path: Path, picture: VideoTrack, warnings: Warnings) -> Iterator[Detection]:
    """Detections as they stand there; broken items are told to `warnings` by their number. Raises SidecarError.

    Annotations of images that are not listed, and of crowds (`iscrowd`), are left out.
    """
    times = FrameTimes(picture, warnings)
    named = keys(path)
    whole = "annotations" in named
    labels = _labels(path, warnings) if "categories" in named else _own_labels()
    moments = _moments(path, times, warnings) if "images" in named else None
    for number, value in items(path, "annotations[]" if whole else "[]", warnings):
        if isinstance(value, Mapping) and value.get("iscrowd"):
            continue
        try:
            found = _Annotation.model_validate(value)
            offset_ms = times.at(_frame(found.image)) if moments is None else moments[found.image]
            label = labels[found.category]
        except ValidationError as error:
            warnings.skipped(number, explained(error))
        except KeyError as error:
            warnings.skipped(number, f"image or category {error} is not listed")
        except ValueError as error:
            warnings.skipped(number, str(error))
        else:
            if box := checked(Box(*found.box), picture, warnings, number):
                yield Detection(offset_ms, label, box, found.score, ORIGIN, _track(found))


def _track(found: _Annotation) -> str | None:
    """Data sets number their objects from 0 or 1; -1 is none."""
    return None if found.track is None or str(found.track).startswith("-") else str(found.track)


def _own_labels() -> dict[int, str]:
    return {number: name.replace("_", " ") for number, name in enumerate(NAMES, 1) if name != "-"}


def _labels(path: Path, warnings: Warnings) -> dict[int, str]:
    return {category.id: category.name for category in _valid(path, "categories[]", _Category, warnings)}


def _moments(path: Path, times: FrameTimes, warnings: Warnings) -> dict[Id, int]:
    """Media time of each image that has one."""
    found: dict[Id, int] = {}
    for image in _valid(path, "images[]", _Image, warnings):
        try:
            found[image.id] = round(image.time * 1000) if image.time is not None else times.at(_frame_of(image))
        except ValueError as error:
            warnings.note(str(error))
    return found


def _frame_of(image: _Image) -> int:
    if image.frame is not None:
        return image.frame
    numbers = re.findall(r"\d+", Path(image.file_name).stem)
    return int(numbers[-1][-9:]) if numbers else _frame(image.id)


def _frame(image: Id) -> int:
    """An image's id as the number of its frame. Raises ValueError."""
    number = int(image) if str(image).isdecimal() else -1
    if not 0 <= number <= 10**9:
        raise ValueError(f"image {image!r} has neither a time nor a frame number")
    return number


def _valid(path: Path, place: str, model: type[Any], warnings: Warnings) -> Iterator[Any]:
    for number, value in items(path, place, warnings):
        try:
            yield model.model_validate(value)
        except ValidationError as error:
            warnings.note(f"{place.removesuffix('[]')}: item {number}: {explained(error)}; left out")
