"""Captions by any chat model that sees: frames and speech in, a description along fixed dimensions, with its entities and relations, out.

The dimensions are those of OmAgent (Zhang et al. 2024): time, location, characters, events, scene and summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, TypeVar

from vgraph.errors import BadReply
from vgraph.models import ChatModel
from vgraph.models.replies import Malformed, bare, parsed
from vgraph.prompts import prompt, quoted
from vgraph.types import Caption, Mark, Mention, Message, Relation, Segment

T = TypeVar("T")
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": ["number", "null"]}
_LIST: Final = {"type": "array", "items": _TEXT}
_LONGEST_TRANSCRIPT: Final = 20_000
_LONGEST_DEGRADED: Final = 4_000

DIMENSIONS: Final[Mapping[str, str]] = {
    "time": "the time of day or the date, where a clock, a stamp or the light shows it",
    "location": "where this is: the kind of place, indoors or outdoors, and where in the picture things happen",
    "characters": "each person and animal: clothing, colours, what they carry",
    "events": "what happens and what changes from frame to frame, in order of time, one event an entry",
    "scene": "the setting: things, vehicles, signs, weather, light",
    "summary": "two to four plain sentences that say who does what where",
}
"""What a description says, by the name of each dimension."""

LISTED: Final = frozenset({"characters", "events"})
"""Dimensions of several entries."""

SAYS_NOTHING: Final = frozenset({"", "unknown", "none", "n/a", "not visible", "nothing", "-"})


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def schema(dimensions: Sequence[str] = tuple(DIMENSIONS)) -> dict[str, Any]:
    """JSON Schema of a reply."""
    mark = {"type": ["integer", "null"]}
    return _object(
        **{name: _LIST if name in LISTED else _TEXT for name in dimensions},
        entities={"type": "array", "items": _object(name=_TEXT, type=_TEXT, description=_TEXT, mark=mark)},
        relations={
            "type": "array",
            "items": _object(source=_TEXT, relation=_TEXT, target=_TEXT, start=_TIME, end=_TIME),
        },
    )


class VisionCaptioner:
    """Asks a vision model to describe a segment. What it says of things and marks that are not there is dropped.

    A reply that cannot be used even when asked again is degraded to what can be read of it, and the caption's `warning` says so.
    `dimensions` are names out of DIMENSIONS.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        entity_types: Sequence[str] = ("person", "vehicle", "object", "location", "organisation", "event", "animal"),
        max_frames: int = 8,
        max_tokens: int = 1024,
        dimensions: Sequence[str] = tuple(DIMENSIONS),
    ) -> None:
        self.name = chat.name
        self._chat, self._types, self._max_tokens = chat, tuple(entity_types), max_tokens
        self._max_frames, self._dimensions = max_frames, tuple(dimensions) or ("summary",)

    @property
    def chat(self) -> ChatModel:
        """The model that looks: it can be asked other things about pictures too."""
        return self._chat

    @property
    def configuration(self) -> str:
        """All that its answers depend on beside the model and what it is shown."""
        words = blake2b(self._asked("", "", "", "", "", "").encode(), digest_size=8).hexdigest()
        return f"{words} {self._max_frames} {self._max_tokens}"

    def caption(
        self, segment: Segment, frames: Sequence[tuple[int, bytes]], transcript: str, marks: Sequence[Mark] = ()
    ) -> tuple[Caption, ...]:
        shown = spread(frames, self._max_frames)
        if not shown:
            return ()
        times = ", ".join(seconds(offset) for offset, _ in shown)
        heard = quoted(transcript[:_LONGEST_TRANSCRIPT] or "(nothing was heard)")
        span = seconds(segment.offset_ms), seconds(segment.end_offset_ms)
        asked = self._asked(str(len(shown)), times, *span, legend(marks), heard)
        message = Message("user", asked, images=tuple(image for _, image in shown))
        try:
            reply = self._chat.complete([message], schema=schema(self._dimensions), max_tokens=self._max_tokens)
        except BadReply as fault:
            return (self._degraded(segment, fault),)
        found = self._caption(segment, reply.value, marks)
        if not found.text:
            what = f"{self.name} described nothing"
            raise BadReply(what, kind="empty", stage="caption", model=self.name, usage=reply.usage)
        return (found,)

    def _asked(self, count: str, times: str, start: str, end: str, marks: str, transcript: str) -> str:
        return prompt(
            "caption", frame_count=count, frame_times=times, start=start, end=end, marks=marks, transcript=transcript,
            dimensions="\n".join(f"- `{name}`: {DIMENSIONS[name]}" for name in self._dimensions),
            entity_types=", ".join(self._types),
        )  # fmt: skip

    def _caption(self, segment: Segment, value: Mapping[str, Any], marks: Sequence[Mark]) -> Caption:
        told = tuple((name, text) for name in self._dimensions if (text := said(value.get(name))))
        text = composed(told)
        mentions = _mentions(value["entities"], marks)
        relations = tuple(
            _relation(item, segment, text)
            for item in value["relations"]
            if {item["source"].strip(), item["target"].strip()} <= mentions.keys() and item["relation"].strip()
        )
        span = segment.offset_ms, segment.end_offset_ms
        return Caption(*span, text, self.name, tuple(mentions.values()), relations, told)

    def _degraded(self, segment: Segment, fault: BadReply) -> Caption:
        """What can be read of a reply that breaks the schema. Raises the fault again where nothing can, and for refusals."""
        told = _readable(fault.said, self._dimensions) if fault.kind in ("malformed", "truncated") else ()
        if not told:
            raise fault
        warning = f"{self.name} broke the schema ({fault.kind}): what could be read of its reply is kept"
        span = segment.offset_ms, segment.end_offset_ms
        return Caption(*span, composed(told), self.name, dimensions=told, warning=warning)


def _readable(reply: str, dimensions: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Dimensions of a reply that is JSON of another form, or the first text in it; all of it as the summary where it is no JSON."""
    try:
        value = parsed(reply, {})
    except Malformed:
        value = None
    if isinstance(value, Mapping):
        told = tuple((name, text) for name in dimensions if (text := said(value.get(name))))
        other = next((text for part in value.values() if isinstance(part, str) and (text := said(part))), "")
        return told or ((("summary", other),) if other else ())
    text = " ".join(bare(reply).split())[:_LONGEST_DEGRADED]
    return (("summary", text),) if sum(map(str.isalpha, text)) > len(text) // 2 else ()


def said(value: object) -> str:
    """A dimension as one text: entries joined; empty where nothing is said."""
    entries = value if isinstance(value, list) else [value]
    texts = [" ".join(entry.split()) for entry in entries if isinstance(entry, str)]
    return "; ".join(text for text in texts if text.rstrip(".").lower() not in SAYS_NOTHING)


def composed(told: Sequence[tuple[str, str]]) -> str:
    """The text made of dimensions: the summary first, then the others by name."""
    parts = [text for name, text in told if name == "summary"]
    parts += [f"{name.capitalize()}: {text}" for name, text in told if name != "summary"]
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts)


def legend(marks: Sequence[Mark]) -> str:
    """What the marks on the pictures stand for, as quoted data."""
    return quoted("\n".join(f"#{mark.number}: {_taken_for(mark)}" for mark in marks) or "(none)")


def _taken_for(mark: Mark) -> str:
    return " ".join((f"{mark.name} ({mark.label})" if mark.name else mark.label).split())


def _mentions(items: Sequence[Mapping[str, Any]], marks: Sequence[Mark]) -> dict[str, Mention]:
    """By name. An entity with a mark that is there is the one that the track shows."""
    drawn = {mark.number: mark for mark in marks}
    return {
        item["name"].strip(): _mention(item, drawn.get(item["mark"])) for item in items if item["name"].strip()
    }  # fmt: skip


def _mention(item: Mapping[str, Any], mark: Mark | None) -> Mention:
    name, kind, description = (item[key].strip() for key in ("name", "type", "description"))
    if mark is None or mark.id is None:
        return Mention(name, kind.lower() or "object", description=description)
    return Mention(name, mark.type, mark.id, description)


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


def seconds(offset_ms: int) -> str:
    return f"{offset_ms / 1000:.1f} s"


def spread(frames: Sequence[T], count: int) -> list[T]:
    """At most `count` frames, evenly spread, the first and the last among them."""
    if len(frames) <= count:
        return list(frames)
    if count == 1:
        return [frames[len(frames) // 2]]
    return [frames[round(number * (len(frames) - 1) / (count - 1))] for number in range(count)]
