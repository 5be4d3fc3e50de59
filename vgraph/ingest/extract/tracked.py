"""What detectors followed, as entities."""

from __future__ import annotations

from collections.abc import Iterator

from vgraph.ingest.chunks import MOTION, Signals, clip_track
from vgraph.ingest.keys import content_key
from vgraph.types import Mention

VEHICLES = frozenset(
    {"bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "van", "forklift", "vehicle"}
)
ANIMALS = frozenset({"bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "animal"})


def entity_type(label: str) -> str:
    """The entity type of a detector's class (COCO names and common ones)."""
    if label == "person":
        return label
    if label in VEHICLES:
        return "vehicle"
    return "animal" if label in ANIMALS else "object"


def identity_of(document: str, track: str) -> str:
    """The stable identity of the entity that a track shows."""
    return content_key("track", document, track)


def followed(signals: Signals, document: str) -> Iterator[tuple[str, Mention, int, int]]:
    """(track id, entity, offsets) for tracks of recognised objects in a segment; each track is its own entity, and bare motion is none."""
    for track in signals.tracks:
        if track.label != MOTION:
            part = clip_track(track, signals.segment)
            mention = Mention(
                f"{track.label} {track.id}",
                entity_type(track.label),
                identity_of(document, track.id),
                confidence=part.confidence,
            )
            yield track.id, mention, part.offset_ms, part.end_offset_ms
