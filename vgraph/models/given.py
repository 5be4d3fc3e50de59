"""What came with the video instead of from a model: captions, speech and detections of its sidecars, behind the same Protocols.

Nothing here looks at a picture or hears a sound, and `name` says so: `given`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vgraph.types import AudioPiece, Caption, Detection, Frame, Mark, Segment, Utterance


class GivenCaptions:
    """A Captioner that returns the captions whose time overlaps the segment's; the pictures are not looked at."""

    name = "given"

    def __init__(self, captions: Iterable[Caption]) -> None:
        self._captions = tuple(sorted(captions, key=lambda caption: (caption.offset_ms, caption.end_offset_ms)))

    def caption(
        self, segment: Segment, frames: Sequence[tuple[int, bytes]], transcript: str, marks: Sequence[Mark] = ()
    ) -> tuple[Caption, ...]:
        return tuple(caption for caption in self._captions if _overlap(caption, segment))


def _overlap(caption: Caption, segment: Segment) -> bool:
    """Half open on both sides; a caption of no length belongs where it begins."""
    end = max(caption.end_offset_ms, caption.offset_ms + 1)
    return caption.offset_ms < segment.end_offset_ms and end > segment.offset_ms


class GivenUtterances:
    """A Transcriber that returns the utterances of a subtitle file; the audio is not listened to."""

    name = "given"

    def __init__(self, utterances: Iterable[Utterance]) -> None:
        self._utterances = tuple(sorted(utterances, key=lambda said: (said.offset_ms, said.end_offset_ms)))

    def transcribe(self, audio: Iterable[AudioPiece], language: str | None = None) -> Iterator[Utterance]:
        return iter(self._utterances)


class GivenDetections:
    """A Detector that returns the detections of metadata files, which are in order of time; the frames are not looked at."""

    name = "given"

    def __init__(self, detections: Iterable[Detection]) -> None:
        self._detections = detections

    def detect(self, frames: Iterable[Frame]) -> Iterator[Detection]:
        return iter(self._detections)
