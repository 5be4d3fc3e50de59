"""Boxes, track numbers and names drawn onto pictures before they are described (visual prompting, as OmAgent does it)."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from vgraph.types import Box, Detection, Mark, Track

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

COLOURS = (
    (230, 25, 75), (60, 180, 75), (0, 130, 200), (245, 130, 48), (145, 30, 180), (0, 128, 128), (170, 110, 40), (128, 0, 0),
    (240, 50, 230), (128, 128, 0), (0, 0, 160), (70, 70, 70),
)  # fmt: skip
"""Apart from each other and dark enough for white letters; a track's is that of its number."""

TEXT_SHARE, LEAST_TEXT = 1 / 36, 12
"""Height of letters as a share of the picture's width, and in pixels at least: 14 at 512 pixels, which vision models read."""

GAP_MS = 1_000
"""Between two detections of a track so far apart, nobody knows where it was."""

LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Drawn:
    """A mark with its box in a picture, in the pixels of the video as displayed."""

    mark: Mark
    box: Box


def at(track: Track, offset_ms: int) -> Box | None:
    """Where a track's box is at a media time: interpolated between detections at most GAP_MS apart, None where it is not known."""
    times = [detection.offset_ms for detection in track.detections]
    after = bisect_right(times, offset_ms)
    before = track.detections[after - 1] if after else None
    following = track.detections[after] if after < len(times) else None
    if before is not None and before.offset_ms == offset_ms:
        return before.box
    if before is None or following is None or following.offset_ms - before.offset_ms > GAP_MS:
        return _near(before, following, offset_ms)
    share = (offset_ms - before.offset_ms) / (following.offset_ms - before.offset_ms)
    sides = zip(_sides(before.box), _sides(following.box), strict=True)
    return Box(*(a + (b - a) * share for a, b in sides))


def _near(before: Detection | None, following: Detection | None, offset_ms: int) -> Box | None:
    """The box of a detection less than half of GAP_MS away."""
    known = [seen for seen in (before, following) if seen is not None]
    nearest = min(known, key=lambda seen: abs(seen.offset_ms - offset_ms), default=None)
    return nearest.box if nearest is not None and abs(nearest.offset_ms - offset_ms) < GAP_MS // 2 else None


def _sides(box: Box) -> tuple[float, float, float, float]:
    return box.x, box.y, box.width, box.height


def label(mark: Mark) -> str:
    """`#3 person`, or `#3 Maria Lopez` where it is known who that is."""
    return f"#{mark.number} {' '.join((mark.name or mark.label).split())[:LONGEST_NAME]}".strip()


def drawn(jpeg: bytes, marks: Iterable[Drawn], width: int, *, quality: int = 90) -> bytes:
    """The picture with its marks, as a new JPEG; `width` is that of the video, as the boxes are. Without marks it stays as it was.

    Every box has the colour of its number and its label beside it, where it lies on no other label as far as there is room.
    """
    from PIL import Image, ImageDraw

    wanted = sorted(marks, key=lambda one: one.mark.number)
    if not wanted:
        return jpeg
    with Image.open(io.BytesIO(jpeg)) as opened:
        picture = opened.convert("RGB")
    canvas, scale = ImageDraw.Draw(picture), picture.width / width
    for one in wanted:
        canvas.rectangle(_corners(one.box, scale), outline=_colour(one.mark), width=max(2, picture.width // 256))
    taken: list[_Rectangle] = []
    for one in wanted:
        taken.append(_labelled(canvas, picture, one, scale, taken))
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=quality, subsampling=0)  # thin lines and letters keep their colour
    return content.getvalue()


_Rectangle = tuple[float, float, float, float]


def _colour(mark: Mark) -> tuple[int, int, int]:
    return COLOURS[(mark.number - 1) % len(COLOURS)]


def _corners(box: Box, scale: float) -> _Rectangle:
    return box.x * scale, box.y * scale, (box.x + box.width) * scale, (box.y + box.height) * scale


def _labelled(canvas: ImageDraw, picture: Image, one: Drawn, scale: float, taken: Sequence[_Rectangle]) -> _Rectangle:
    """Write a label on its colour, above its box, else in it, below it or where there is room; the place it took."""
    font = _font(max(LEAST_TEXT, round(picture.width * TEXT_SHARE)))
    text = label(one.mark)
    left, top, right, bottom = font.getbbox(text)
    wide, high = right - left + 4, bottom - top + 4
    x, y0, _, y1 = _corners(one.box, scale)
    x = min(max(x, 0), max(picture.width - wide, 0))
    places = [(x, y0 - high), (x, y0), (x, y1), *((x, y0 + step * high) for step in range(1, 6))]
    fitting = [(px, py, px + wide, py + high) for px, py in places if 0 <= py <= picture.height - high]
    place = next((p for p in fitting if not any(_overlap(p, other) for other in taken)), None)
    found = place or (fitting[0] if fitting else (x, 0.0, x + wide, float(high)))
    canvas.rectangle(found, fill=_colour(one.mark))
    canvas.text((found[0] + 2 - left, found[1] + 2 - top), text, fill=(255, 255, 255), font=font)
    return found


def _overlap(a: _Rectangle, b: _Rectangle) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@cache
def _font(size: int) -> Any:
    """Pillow's own letters: Latin only. Names in other scripts are in the prompt's legend beside their number, too."""
    from PIL import ImageFont

    return ImageFont.load_default(size)
