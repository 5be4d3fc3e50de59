"""Captions by any chat model that sees: frames and speech in, a description with its entities and relations out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from vgraph.errors import BadReply
from vgraph.models import ChatModel
from vgraph.prompts import prompt, quoted
from vgraph.types import Caption, Mention, Message, Relation, Segment

T = TypeVar("T")
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": ["number", "null"]}
_LONGEST_TRANSCRIPT: Final = 20_000


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA: Final = _object(
    text=_TEXT,
    entities={"type": "array", "items": _object(name=_TEXT, type=_TEXT, description=_TEXT)},
    relations={
        "type": "array",
        "items": _object(source=_TEXT, relation=_TEXT, target=_TEXT, start=_TIME, end=_TIME),
    },
)


class VisionCaptioner:
    """Asks a vision model to describe a segment. What it says of things it did not name itself is dropped."""

    def __init__(
        self,
        chat: ChatModel,
        *,
        entity_types: Sequence[str] = ("person", "vehicle", "object", "location", "organisation", "event", "animal"),
        max_frames: int = 8,
        max_tokens: int = 1024,
    ) -> None:
        self.name = chat.name
        self._chat, self._types, self._max_tokens = chat, tuple(entity_types), max_tokens
        self._max_frames = max_frames

    def caption(self, segment: Segment, frames: Sequence[tuple[int, bytes]], transcript: str) -> tuple[Caption, ...]:
        shown = spread(frames, self._max_frames)
        if not shown:
            return ()
        asked = prompt(
            "caption",
            frame_count=len(shown),
            frame_times=", ".join(f"{offset / 1000:.1f} s" for offset, _ in shown),
            start=f"{segment.offset_ms / 1000:.1f} s",
            end=f"{segment.end_offset_ms / 1000:.1f} s",
            entity_types=", ".join(self._types),
            transcript=quoted(transcript[:_LONGEST_TRANSCRIPT] or "(nothing was heard)"),
        )
        message = Message("user", asked, images=tuple(image for _, image in shown))
        reply = self._chat.complete([message], schema=SCHEMA, max_tokens=self._max_tokens)
        if not reply.value["text"].strip():
            raise BadReply(
                f"{self.name} described nothing", kind="empty", stage="caption", model=self.name, usage=reply.usage
            )
        return (self._caption(segment, reply.value),)

    def _caption(self, segment: Segment, value: Mapping[str, Any]) -> Caption:
        mentions = {
            item["name"].strip(): Mention(
                item["name"].strip(), item["type"].strip().lower() or "object", description=item["description"].strip()
            )
            for item in value["entities"]
            if item["name"].strip()
        }
        relations = tuple(
            _relation(item, segment, value["text"])
            for item in value["relations"]
            if {item["source"].strip(), item["target"].strip()} <= mentions.keys() and item["relation"].strip()
        )
        return Caption(
            segment.offset_ms,
            segment.end_offset_ms,
            value["text"].strip(),
            self.name,
            tuple(mentions.values()),
            relations,
        )


def _relation(item: Mapping[str, Any], segment: Segment, text: str) -> Relation:
    """Times outside the segment are the model's invention: they are left out, which means the whole segment."""
    start, end = (None if item[side] is None else round(item[side] * 1000) for side in ("start", "end"))
    if start is not None and not segment.offset_ms <= start < segment.end_offset_ms:
        start = end = None
    if end is not None and (start is None or not start <= end <= segment.end_offset_ms):
        end = None
    return Relation(
        item["source"].strip(), item["target"].strip(), item["relation"].strip(), start, end, supporting_text=text
    )


def spread(frames: Sequence[T], count: int) -> list[T]:
    """At most `count` frames, evenly spread, the first and the last among them."""
    if len(frames) <= count:
        return list(frames)
    if count == 1:
        return [frames[len(frames) // 2]]
    return [frames[round(number * (len(frames) - 1) / (count - 1))] for number in range(count)]
