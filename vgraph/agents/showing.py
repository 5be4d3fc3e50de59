"""What workers are shown: tools, bounds, memory and results as text, within a number of tokens. What came out of recordings is quoted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vgraph.agents.steps import Item, Memory, Observation
from vgraph.agents.tools import Toolbox
from vgraph.agents.working import Run
from vgraph.models.tokens import tokens_in
from vgraph.prompts import plain, quoted
from vgraph.retrieve.pack import wall

NOTHING_YET = "(nothing yet)"


def tools(toolbox: Toolbox, names: Sequence[str] = ()) -> str:
    """The tools, or those named: how each is called, then what it does."""
    shown = [toolbox.tool(name) for name in names or toolbox.names]
    return "\n".join(f"- {each.usage}\n  {' '.join(each.description.split())}" for each in shown)


def bounds(run: Run) -> str:
    """Within what the question is asked, in words."""
    filters, zone = run.asked.filters, run.zone
    labels = {camera["_key"]: plain(camera["label"]) for camera in run.toolbox.scope.sources.cameras}
    parts = []
    if filters.cameras is not None:
        parts.append(f"cameras {', '.join(labels.get(key, key) for key in filters.cameras) or 'none'}")
    for value, word in ((filters.start_ms, "from"), (filters.end_ms, "until"), (filters.not_after, "nothing after")):
        if value is not None:
            parts.append(f"{word} {wall(value, zone)}")
    other = [
        name
        for name in ("documents", "places", "tags", "entities", "speakers")
        if getattr(filters, name, None) is not None
    ]
    return "; ".join([*parts, *(f"only some {name}" for name in other)]) or "none"


def lines(items: Iterable[Item], tokens: int) -> str:
    """Items, a line each, as many as fit."""
    kept, left = [], tokens
    for item in items:
        text = f"[{item.id}] {item.text}"
        left -= tokens_in(text) + 1
        if left < 0:
            kept.append("(more is left out)")
            break
        kept.append(text)
    return "\n".join(kept)


def observation(found: Observation, items: Sequence[Item], tokens: int) -> str:
    """A result, quoted, with what is said of it."""
    notes = "".join(f"\n(note: {note})" for note in found.notes)
    return quoted(lines(items, tokens) + notes)


def memory(memories: Sequence[Memory], tokens: int, outline: str = "") -> str:
    """What was kept so far, quoted: for each task its summary and the lines it rests on; the latest is never left out."""
    told: list[str] = []
    left = tokens - tokens_in(outline)
    for each in reversed(memories):
        text = f"- {each.task} ({each.tool}): {each.summary}\n" + "".join(f"  [{i.id}] {i.text}\n" for i in each.items)
        left -= tokens_in(text)
        if left < 0 and told:
            told.append("(earlier notes are left out)\n")
            break
        told.append(text)
    return quoted("".join([*reversed(told), outline]) or NOTHING_YET)
