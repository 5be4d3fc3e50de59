"""SMPTE timecode as a time of day: `10:00:00:12`, and drop frame `10:00:00;12`, `10:00:00.12` (SMPTE ST 12-1)."""

from __future__ import annotations

import re
from fractions import Fraction

_TIMECODE = re.compile(r"(\d\d):(\d\d):(\d\d)([:;.,])(\d{2,3})")
_DAY_MS = 86_400_000


def timecode_ms(text: str, fps: float) -> int | None:
    """ms since midnight of a timecode at a frame rate; None for what is none, as `25:61:00:00`, or a frame number the rate lacks.

    Drop frame leaves out the numbers 0 and 1 (at 59.94: 0 to 3) of every minute but each tenth, so that it keeps to the time of day
    within two frames; its frames are counted, and each lasts 1001/30000 s. Without drop frame the digits are taken as they stand: at
    29.97 such a clock loses 3.6 s an hour, which is for the camera's drift to put right.
    """
    match = _TIMECODE.fullmatch(text.strip())
    nominal = round(fps)
    if match is None or nominal < 1:
        return None
    hour, minute, second, frame = (int(match[group]) for group in (1, 2, 3, 5))
    if hour > 23 or minute > 59 or second > 59 or frame >= nominal:
        return None
    seconds = (hour * 60 + minute) * 60 + second
    if match[4] == ":" or nominal % 30:
        return seconds * 1000 + frame * 1000 // nominal
    return _dropped(seconds, frame, nominal)


def _dropped(seconds: int, frame: int, nominal: int) -> int | None:
    minutes, left_out = seconds // 60, nominal // 15
    if seconds % 60 == 0 and minutes % 10 and frame < left_out:
        return None  # one of the numbers that are left out
    count = seconds * nominal + frame - left_out * (minutes - minutes // 10)
    return round(count * Fraction(1_001_000, nominal * 1000)) % _DAY_MS
