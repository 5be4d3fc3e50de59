"""Going back to the source video (OmAgent's rewinder): new pictures of a range, described one by one where a model sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vgraph.errors import MediaError, NotFoundError
from vgraph.media.assets import encoded
from vgraph.media.frames import frames
from vgraph.media.paths import checked_path
from vgraph.models import Captioner
from vgraph.types import EvidenceChunk, Frame, Segment, Video, VideoTrack

MOST = 10
"""Pictures of one rewind (OmAgent)."""
LAST_MS = 2_000
"""How far before the end of a video its last picture is looked for."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """A picture taken out of the source video for this run: JPEG bytes, its chunk and moment, and what a model saw in it."""

    chunk: EvidenceChunk
    at_ms: int
    offset_ms: int
    image: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Rewinder:
    """Opens the files that chunks name, inside of `roots` (empty: any). `describe` is the model that looks, None where there is none."""

    describe: Captioner | None = None
    roots: tuple[Path, ...] = ()
    width: int = 768
    keep: Callable[[Rewound], None] = field(default=lambda picture: None)
    """Told of every picture, so that it can be shown to whoever answers."""

    def rewind(self, chunks: Sequence[EvidenceChunk], start_ms: int, end_ms: int, count: int) -> Iterator[Rewound]:
        """At most `count` pictures spread over [start_ms, end_ms) as far as the chunks cover it, in order of time.

        Raises MediaError where a file cannot be read, NotFoundError where no chunk covers any of the span.
        """
        covered = [chunk for chunk in chunks if chunk.start_ms < end_ms and chunk.end_ms > start_ms]
        if not covered:
            raise NotFoundError("nothing was recorded in this span by a camera that may be looked at")
        every = max(1, (end_ms - start_ms) // count)
        moments = [start_ms + number * every + every // 2 for number in range(count)]
        taken: set[tuple[str, int]] = set()
        for at_ms in moments:
            chunk = next((c for c in covered if c.start_ms <= at_ms < c.end_ms), None)
            if chunk is None:
                continue
            picture = self._taken(chunk, at_ms)
            if picture is not None and (chunk.uri, picture.offset_ms) not in taken:
                taken.add((chunk.uri, picture.offset_ms))
                self.keep(picture)
                yield picture

    def _taken(self, chunk: EvidenceChunk, at_ms: int) -> Rewound | None:
        zero = chunk.start_ms - chunk.offset_ms
        frame = _frame_at(self._video(chunk), max(0, at_ms - zero - chunk.base_ms), self.width)
        if frame is None:
            return None
        image, _, _ = encoded(frame, width=self.width)
        offset_ms = frame.offset_ms + chunk.base_ms
        return Rewound(chunk, zero + offset_ms, offset_ms, image, self._described(offset_ms, image))

    def _video(self, chunk: EvidenceChunk) -> Video:
        """The file as far as the chunk tells of it: nothing of it is read but the pictures."""
        path = checked_path(chunk.uri, self.roots)
        if not path.is_file():
            raise MediaError(f"{path}: the recording is not there any more", path=str(path))
        picture = VideoTrack("", 0, 0, 0, 0.0, False, None)
        return Video(path, "", 0, "", chunk.end_offset_ms - chunk.base_ms, picture, None, None)

    def _described(self, offset_ms: int, image: bytes) -> str:
        if self.describe is None:
            return ""
        captions = self.describe.caption(Segment(0, offset_ms, offset_ms + 1, "window"), [(offset_ms, image)], "")
        return " ".join(caption.text for caption in captions)


def _frame_at(video: Video, offset_ms: int, width: int) -> Frame | None:
    """The first picture from a media time on; the last one before it where the video ends there."""
    found = next(frames(video, 1, start_ms=offset_ms, width=width), None)
    if found is not None:
        return found
    before = list(frames(video, 100, start_ms=max(0, offset_ms - LAST_MS), end_ms=offset_ms + 1, width=width))
    return before[-1] if before else None
