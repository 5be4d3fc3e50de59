"""The tool that goes back to the source video."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vgraph.agents.steps import Item, Picture
from vgraph.agents.tools.rewinder import MOST, Rewound
from vgraph.agents.tools.scope import Found, Scope
from vgraph.errors import UserError
from vgraph.retrieve.pack import moment

CHUNKS = 200


def rewind(
    scope: Scope,
    camera: Annotated[str, Field(description="The camera, by label or key.")],
    start: Annotated[str, Field(description="From when, ISO 8601.")],
    end: Annotated[str, Field(description="Until when.")],
    count: Annotated[int, Field(ge=1, le=MOST, description="How many pictures to take.")] = 6,
) -> Found:
    """Go back to the recording and take new pictures of a range, to see what captions do not tell. Slow: choose a short range."""
    if scope.rewinder is None:
        raise UserError("the recordings cannot be opened here")
    filters = scope.within([camera], start, end)
    if not filters.cameras or filters.start_ms is None or filters.end_ms is None:
        raise UserError("this range is outside of what may be looked at")
    last = filters.end_ms if filters.not_after is None else min(filters.end_ms, filters.not_after)
    chunks = scope.sources.during(filters, limit=CHUNKS, silent=True)
    taken = tuple(scope.rewinder.rewind(chunks, filters.start_ms, last, count))
    used = {picture.chunk.id for picture in taken}
    note = "" if scope.rewinder.describe else "no model describes pictures here: they are shown to whoever answers"
    return Found(
        tuple(_item(number, picture) for number, picture in enumerate(taken, 1)),
        tuple(chunk for chunk in chunks if chunk.id in used),
        pictures=tuple(_picture(picture) for picture in taken),
        notes=(note,) if note else (),
    )


def _item(number: int, picture: Rewound) -> Item:
    when = moment(picture.chunk, picture.offset_ms)
    text = f"picture at {when}, camera {picture.chunk.camera_label}: {picture.text or '(not described)'}"
    return Item(f"p{number}", text, (picture.chunk.id,), picture.at_ms, picture.at_ms + 1)


def _picture(picture: Rewound) -> Picture:
    return Picture(picture.chunk.id, picture.chunk.camera, picture.at_ms, picture.offset_ms, None, picture.text)
