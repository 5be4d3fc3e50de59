"""Answers in words, from templates: what is claimed, when and where it was seen, and the clip that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vgraph.agents.cite import cite
from vgraph.retrieve.events import Event, Filler, Source
from vgraph.retrieve.pack import wall
from vgraph.types import Citation, Claim, Line

MOST_CITATIONS = 4


def claim(text: str, sources: Iterable[Source]) -> Claim:
    return Claim(" ".join(text.split()), citations(sources))


def citations(sources: Iterable[Source], most: int = MOST_CITATIONS) -> tuple[Citation, ...]:
    """One a camera and moment: where a relation says when, that moment, with the words of the line that tells it."""
    best: dict[tuple[str, int], Source] = {}
    for source in sources:
        key = (source.chunk.camera, source.start_ms // 5_000)
        near = next((k for k in best if k[0] == key[0] and abs(k[1] - key[1]) <= 2), key)
        if near not in best or (source.exact, _caption(source)) > (best[near].exact, _caption(best[near])):
            best[near] = source
    return tuple(_cited(source) for source in list(best.values())[:most])


def _caption(source: Source) -> bool:
    return source.line.origin not in ("relation", "graph")


def _cited(source: Source) -> Citation:
    zero = source.chunk.start_ms - source.chunk.offset_ms
    line = source.line
    return cite(source.chunk, Line(source.start_ms - zero, source.end_ms - zero, line.modality, line.text, line.origin))


def name(filler: Filler) -> str:
    """Who it is; of one who is told by looks, also whom these looks fit."""
    if not filler.guess:
        return filler.text
    return f"{_with_article(filler.text)} (by these looks {filler.guess})"


def bare(filler: Filler) -> str:
    return filler.guess or filler.text


def _with_article(text: str) -> str:
    return text if text.split()[0].casefold() in ("a", "an", "the") else f"a {text}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def moment(event: Event) -> str:
    """When an event began, or within which caption it lies; media time is told where nobody knows when the recording was made."""
    source = event.sources[0]
    if not source.chunk.clock_known:
        return f"+{_offset(event.start_ms - source.chunk.start_ms + source.chunk.offset_ms)} of the recording"
    at = wall(event.start_ms, source.chunk.tz)
    return at if event.exact else f"between {at} and {wall(event.end_ms, source.chunk.tz, date=False)}"


def span(start_ms: int, end_ms: int, tz: str) -> str:
    return f"{wall(start_ms, tz)} to {wall(end_ms, tz, date=False)}"


def _offset(ms: int) -> str:
    hours, rest = divmod(max(0, ms) // 1000, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


def length(ms: int) -> str:
    """`1 h 5 min`, `3 min 20 s`, `8 seconds`."""
    seconds = round(ms / 1000)
    if seconds < 100:
        return f"{seconds} second{'' if seconds == 1 else 's'}"
    hours, rest = divmod(seconds, 3600)
    parts = [(hours, "h"), (rest // 60, "min"), (rest % 60, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def seen_by(event: Event) -> str:
    labels = dict.fromkeys(source.chunk.camera_label for source in event.sources)
    return f"camera{'' if len(labels) == 1 else 's'} {listed(list(labels))}"


def quote(event: Event) -> str:
    """The sentence that tells most of an event, in the words of the graph."""
    names = [filler.text.casefold() for filler in event.fillers()]
    told = [text.strip() for text in event.telling]
    best = max(
        told, key=lambda text: (sum(n in text.casefold() for n in names), text.endswith((".", "!", "?")), -len(text))
    )
    return best if best.endswith((".", "!", "?")) else f"{best}."


def tell(event: Event) -> str:
    """An event in one line: when, which camera, and what is told of it."""
    return f"{moment(event)}, {seen_by(event)}: {quote(event)}"


def placed(event: Event) -> str:
    """An event in one line without the cameras, whose names are often those of places."""
    return f"{moment(event)}: {quote(event)}"
