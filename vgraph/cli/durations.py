"""Lengths of time as people write them, the same in every option: `90`, `5s`, `1.5min`, `250ms`, `2h`, `30d`, `1w`."""

from __future__ import annotations

import re
from typing import Final

from vgraph.errors import UserError

UNITS_MS: Final = {
    "": 1_000, "ms": 1, "s": 1_000, "sec": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
}  # fmt: skip
"""A bare number is seconds; m is a minute."""
LONGEST_MS: Final = 100 * 366 * 86_400_000
FORMS: Final = "write 90 (seconds), 250ms, 5s, 1.5min, 2h, 30d or 1w"


def duration(text: str, option: str = "", *, signed: bool = False) -> int:
    """Whole milliseconds of a length of time, a century at most; below zero only where that is `signed`. Raises UserError."""
    told = f"{option} {text!r}".strip()
    found = re.fullmatch(r"([+-]?)(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)", text.strip().lower())
    if found is None or found[3] not in UNITS_MS or (found[1] and not signed):
        raise UserError(f"{told} is no length of time: {FORMS}")
    length = float(found[2]) * UNITS_MS[found[3]]
    if length > LONGEST_MS:
        raise UserError(f"{told} is too long: a length of time is a century at most")
    return round(-length if found[1] == "-" else length)
