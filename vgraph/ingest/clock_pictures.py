"""Reading a burnt-in clock off a few well chosen pictures of a video."""

from __future__ import annotations

from collections.abc import Iterator

from vgraph.ingest.burnt_in import Text
from vgraph.media.frames import frames
from vgraph.models import Reader
from vgraph.types import Frame, Video

LOOKS = 12
PLACES = 3
"""The looks lie in groups at the beginning, in the middle and at the end."""


def looked_at(video: Video, reader: Reader, looks: int = LOOKS) -> Iterator[Text]:
    """Texts in pictures of a video. Moments lie at ever other fractions of a second, so that a clock that shows whole seconds is seen to
    tick: of n looks, own time is known to about 1/n of a second."""
    for moment in moments(video.duration_ms, looks):
        picture: Frame | None = next(frames(video, 1000, start_ms=moment, end_ms=moment + 1000), None)
        for read in reader.read(picture) if picture is not None else ():
            yield Text(read.offset_ms, read.offset_ms, read.text)


def moments(duration_ms: int, looks: int = LOOKS) -> list[int]:
    """Media times to look at, in order: in each of three places one a second, each at another fraction of it."""
    each = max(1, looks // PLACES)
    latest = max(0, duration_ms // 1000 - each)
    begins = [place * latest // (PLACES - 1) for place in range(PLACES)]
    found = {
        (begin + look) * 1000 + (look * PLACES + place) * 1000 // (each * PLACES)
        for place, begin in enumerate(begins)
        for look in range(each)
    }
    return sorted(moment for moment in found if moment < duration_ms)
