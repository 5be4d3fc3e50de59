"""The little pictures of which frames are made, drawn once with Pillow: RGBA arrays, uint8 (height, width, 4)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from vgraph.evals.world.site import ZONES, Rect, Vehicle, Zone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]

COLOURS: dict[str, Colour] = {
    "red": (200, 40, 40),
    "blue": (40, 80, 200),
    "green": (30, 140, 60),
    "yellow": (235, 200, 40),
    "orange": (235, 125, 30),
    "purple": (130, 60, 170),
    "white": (240, 240, 240),
    "black": (40, 40, 45),
    "brown": (150, 100, 60),
}
SKINS: tuple[Colour, ...] = ((240, 200, 170), (200, 150, 110), (140, 95, 65), (225, 180, 140))
INK, PAPER = (15, 15, 20), (255, 255, 255)
BADGE_PX, LABEL_PX, PLATE_PX, CLOCK_PX, BAR_PX = 17, 16, 21, 19, 26
FLOORS: dict[bool, Colour] = {True: (176, 180, 178), False: (205, 196, 180)}


@lru_cache(maxsize=16)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _canvas(width: int, height: int, fill: Colour | None = None) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    from PIL import Image, ImageDraw

    image = Image.new("RGBA", (width, height), (*fill, 255) if fill else (0, 0, 0, 0))
    return image, ImageDraw.Draw(image)


def _array(image: Image.Image) -> NDArray[np.uint8]:
    import numpy as np

    return np.asarray(image, dtype=np.uint8)


def text(words: str, size: int, ink: Colour = INK, paper: Colour = PAPER, pad: int = 4) -> NDArray[np.uint8]:
    """Words on a plate of their own size."""
    left, top, right, bottom = font(size).getbbox(words)
    image, draw = _canvas(round(right - left) + 2 * pad, round(size * 1.2) + 2, paper)
    draw.text((pad - left, round((image.height - (bottom + top)) / 2)), words, fill=ink, font=font(size))
    return _array(image)


def person(jacket: str, skin: int, width: int, height: int, step: int) -> NDArray[np.uint8]:
    """A figure seen from the front; `step` 0 stands, 1 and 2 walk."""
    image, draw = _canvas(width, height)
    middle, head, hip = width // 2, height // 5, height * 3 // 5
    spread = {0: width // 8, 1: width // 3, 2: width // 12}[step]
    for side in (-1, 1):
        draw.line((middle, hip, middle + side * spread, height - 1), fill=(50, 50, 70), width=max(4, width // 5))
    draw.rounded_rectangle(
        (2, head * 2 - 4, width - 3, hip + 4), radius=width // 4, fill=COLOURS[jacket], outline=INK, width=2
    )
    draw.ellipse((middle - head, 0, middle + head, 2 * head), fill=SKINS[skin % len(SKINS)], outline=INK, width=2)
    return _array(image)


def vehicle(item: Vehicle, width: int, height: int) -> NDArray[np.uint8]:
    """A vehicle from the side; its plate is writing, which goes on top."""
    image, draw = _canvas(width, height)
    wheel = height // 5
    low = height - wheel // 2 - 4
    if item.kind == "forklift":
        draw.rectangle((width // 5, height // 3, width * 4 // 5, low), fill=COLOURS[item.colour], outline=INK, width=2)
        draw.line((width * 9 // 10, 4, width * 9 // 10, low), fill=INK, width=5)
        draw.line((width * 4 // 5, low, width - 1, low), fill=INK, width=4)
        draw.arc((width // 4, 0, width * 3 // 4, height * 2 // 3), 180, 360, fill=INK, width=4)
    else:
        roof = 2 if item.kind == "van" else height // 3
        draw.rounded_rectangle(
            (1, roof, width * 4 // 5, low), radius=6, fill=COLOURS[item.colour], outline=INK, width=2
        )
        draw.rounded_rectangle(
            (width * 3 // 5, height // 3 + 6, width - 2, low), radius=8, fill=COLOURS[item.colour], outline=INK, width=2
        )
        draw.rectangle(
            (width * 4 // 5, height // 3 + 12, width - 12, height // 3 + 28), fill=(150, 190, 220), outline=INK
        )
    for x in (width // 4, width * 3 // 4):
        draw.ellipse((x - wheel, height - 2 * wheel, x + wheel, height - 1), fill=INK, outline=(120, 120, 120), width=3)
    return _array(image)


def thing(colour: str, size: int) -> NDArray[np.uint8]:
    image, draw = _canvas(size, size * 4 // 5)
    draw.rectangle((0, 0, image.width - 1, image.height - 1), fill=COLOURS[colour], outline=INK, width=2)
    draw.line((0, image.height // 2, image.width, image.height // 2), fill=INK, width=1)
    return _array(image)


def bubble() -> NDArray[np.uint8]:
    """Shown beside whoever speaks."""
    image, draw = _canvas(30, 20)
    draw.rounded_rectangle((0, 0, 29, 15), radius=7, fill=PAPER, outline=INK, width=1)
    for x in (8, 15, 22):
        draw.ellipse((x - 2, 6, x + 2, 10), fill=INK)
    return _array(image)


def floor(area: Rect, width: int, height: int, scale: float) -> NDArray[np.uint8]:
    """What a camera sees when nobody is there: RGB, the zones' floors with their names, doors and bays."""
    image, draw = _canvas(width, height, (120, 122, 120))
    for zone in ZONES.values():
        if zone.area.overlaps(area):
            _zone(image, draw, zone, area, scale)
    return _array(image.convert("RGB")).copy()


def _zone(image: Image.Image, draw: ImageDraw.ImageDraw, zone: Zone, area: Rect, scale: float) -> None:
    red, green, blue = FLOORS[zone.outdoors]
    tint = sum(map(ord, zone.id)) % 5 * 5
    ground = (red - tint, green - tint, blue - 2 * tint)
    x, y = (zone.area.x - area.x) * scale, (zone.area.y - area.y) * scale
    right = x + zone.area.width * scale
    draw.rectangle((x, y, right, y + zone.area.height * scale), fill=ground, outline=(90, 90, 90))
    for bay in zone.bays:
        bx, by = (bay[0] - area.x) * scale, (bay[1] - area.y) * scale
        draw.rectangle((bx - 2.3 * scale, by - scale, bx + 2.3 * scale, by + 4), outline=PAPER, width=2)
    if zone.door:
        dx, dy = (zone.door[0] - area.x) * scale, (zone.door[1] - area.y) * scale
        draw.rectangle((dx - scale, dy - 5, dx + scale, dy + 5), fill=(90, 60, 30))
    _place_name(image, zone.name.upper(), ground, max(x, 0), min(right, image.width), round(max(y, 0)))


def _place_name(image: Image.Image, name: str, ground: Colour, left: float, right: float, top: int) -> None:
    """Written in the middle of the zone's part of the picture, where it fits."""
    from PIL import Image

    words = Image.fromarray(text(name, LABEL_PX, (70, 70, 75), ground))
    if right - left >= words.width:
        image.paste(words, (round((left + right - words.width) / 2), top + BAR_PX + 2))
