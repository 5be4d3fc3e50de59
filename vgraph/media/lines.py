"""Lines of JSON, each checked against a model."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import orjson
from pydantic import BaseModel, Field, ValidationError

from vgraph.media.text import Warnings, read_lines

Seconds = Annotated[float, Field(ge=0, le=1e8, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Pixels = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]

Line = TypeVar("Line", bound=BaseModel)


def json_lines(path: Path, model: type[Line], warnings: Warnings) -> Iterator[tuple[int, Line]]:
    """Objects with their line numbers; a line that is not such an object is told to `warnings`."""
    for number, text in read_lines(path, warnings):
        try:
            yield number, model.model_validate(orjson.loads(text))
        except orjson.JSONDecodeError as error:
            warnings.skipped(number, f"not JSON ({error.msg})")
        except ValidationError as error:
            warnings.skipped(number, explained(error))


def explained(error: ValidationError) -> str:
    """The first thing that is wrong, by its place in the object."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def iso_ms(text: str, zone: datetime.tzinfo | None = None) -> int:
    """An ISO 8601 time as UTC ms. Raises ValueError when it cannot be read, or has no zone and none is given."""
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None and zone is None:
        raise ValueError(f"the time {text!r} has no zone")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)
