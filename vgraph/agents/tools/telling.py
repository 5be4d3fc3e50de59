"""Results as lines a model can read, each with an id it can cite: chunks with camera and time, rows of queries in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vgraph.agents.steps import Item
from vgraph.agents.tools.scope import Found, Scope
from vgraph.retrieve.bounds import narrowed
from vgraph.retrieve.pack import chunk_text, wall
from vgraph.types import EvidenceChunk, Filters

EMPTY = "nothing of this is in what may be looked at"
MOST_CHUNKS = 30
"""At most so many chunks that rows rest on are read."""
FIRST_MS, LAST_MS = -62_000_000_000_000, 253_000_000_000_000
"""Moments that a calendar holds."""
CHUNKS_A_ROW = 5
PLACED = 20
"""So many rows that name no chunk get one by their time and cameras."""
LONGEST = 2_000
"""Characters of one line; a longer one is cut."""


def of_chunks(chunks: Sequence[EvidenceChunk], *notes: str) -> Found:
    """Chunks in the order given, a line each statement."""
    items = tuple(
        Item(
            chunk.id, _cut(chunk_text(chunk).removeprefix(f"[{chunk.id}] ")), (chunk.id,), chunk.start_ms, chunk.end_ms
        )
        for chunk in chunks
    )
    return Found(items, tuple(chunks), notes=_said(notes))


def of_rows(scope: Scope, rows: Iterable[Mapping[str, Any]], filters: Filters, *notes: str, limit: int = 100) -> Found:
    """Rows of a query, the first `limit`, with the chunks they name; a row whose chunks the filters do not let through keeps none."""
    all_rows = [plain(row) for row in rows]
    kept = [_placed(scope, row, filters) if number < PLACED else row for number, row in enumerate(all_rows[:limit])]
    named = list(dict.fromkeys(key for row in kept for key in _chunks_of(row)[:CHUNKS_A_ROW]))[:MOST_CHUNKS]
    chunks = scope.sources.chunks(named, filters)
    known = {chunk.id for chunk in chunks}
    zones = {camera["_key"]: camera["tz"] for camera in scope.sources.cameras}
    labels = {camera["_key"]: camera["label"] for camera in scope.sources.cameras}
    items = tuple(_item(number, row, known, zones, labels) for number, row in enumerate(kept, 1))
    cut = f"{len(all_rows) - len(kept)} more rows are left out" if len(all_rows) > len(kept) else ""
    return Found(items, chunks, tuple(kept), notes=_said((*notes, cut, "" if kept or any(notes) else EMPTY)))


def _placed(scope: Scope, row: dict[str, Any], filters: Filters) -> dict[str, Any]:
    """A row that names no chunk but cameras and a time, with the first chunk there and then: so it can be cited."""
    if _chunks_of(row):
        return row
    cameras = [row["camera"]] if isinstance(row.get("camera"), str) else _listed(row.get("cameras"))
    start, end = _span(row)
    if not cameras or start is None:
        return row
    there = Filters(cameras=tuple(str(camera) for camera in cameras), start_ms=start, end_ms=max(end or 0, start + 1))
    found = scope.sources.during(narrowed(filters, there), limit=1)
    return row | {"chunks": [chunk.id for chunk in found]} if found else row


def _span(row: Mapping[str, Any]) -> tuple[int | None, int | None]:
    return _first(row, "start_ms", "first_ms", "left_ms"), _first(row, "end_ms", "last_ms", "came_ms")


def plain(value: Any) -> Any:
    """A value without embeddings: they say nothing to a reader."""
    match value:
        case Mapping():
            return {str(name): plain(part) for name, part in value.items() if name not in ("embedding", "_rev")}
        case list() | tuple():
            return [plain(part) for part in value]
        case _:
            return value


def _item(
    number: int, row: Mapping[str, Any], known: set[str], zones: Mapping[str, str], labels: Mapping[str, str]
) -> Item:
    chunks = tuple(key for key in _chunks_of(row) if key in known)
    start, end = _span(row)
    zone = zones.get(
        str(row.get("camera")), next(iter(zones.values()), "UTC") if len(set(zones.values())) == 1 else "UTC"
    )
    return Item(f"r{number}", _cut(told(row, zone, labels)), chunks, start, end)


def told(row: Mapping[str, Any], zone: str, labels: Mapping[str, str]) -> str:
    """A row in words: `name Ana, camera Dock, start 2026-03-02 08:15:00 CET, end …, mentions 3`."""
    parts = [_part(name, value, zone, labels) for name, value in row.items() if not _points(name, value)]
    return ", ".join(part for part in parts if part)


def _points(name: str, value: Any) -> bool:
    """Whether a column is of chunks: they stand beside the line."""
    return name in ("chunk", "chunks") or (isinstance(value, str) and value.startswith("chunks/"))


def _part(name: str, value: Any, zone: str, labels: Mapping[str, str]) -> str:
    match value:
        case _ if value is None or value in ([], "", {}):
            return ""
        case Mapping():
            return f"{name} ({told(value, zone, labels)})"
        case bool():
            return f"{name} {'yes' if value else 'no'}"
        case int() | float() if name in MOMENTS and _dated(value):
            return f"{name.removesuffix('_ms')} {wall(int(value), zone)}"
        case int() | float() if name.endswith("_ms"):
            return f"{name.removesuffix('_ms')} {value / 1000:g} s"
        case list():
            return f"{name} {'; '.join(str(_named(name, part, labels)) for part in value[:20])}"
        case _:
            return f"{name} {_named(name, value, labels)}"


MOMENTS = frozenset(["start_ms", "end_ms", "first_ms", "last_ms", "at_ms", "left_ms", "came_ms"])
"""Names of columns that are a moment; every other one in ms is a length of time."""


def _named(name: str, value: Any, labels: Mapping[str, str]) -> Any:
    return labels.get(str(value), value) if name in ("camera", "cameras") else value


def _chunks_of(row: Mapping[str, Any]) -> list[str]:
    """Keys of the chunks a row rests on, wherever in it they stand."""
    keys = [row["chunk"]] if isinstance(row.get("chunk"), str) else []
    keys += [key for key in _listed(row.get("chunks")) if isinstance(key, str)]
    keys += [key for key in [row.get("source")] if isinstance(key, str) and key.startswith("chunks/")]
    for value in row.values():
        if isinstance(value, Mapping):
            keys += _chunks_of(value)
    return [key.removeprefix("chunks/") for key in keys]


def _first(row: Mapping[str, Any], *names: str) -> int | None:
    return next((int(row[name]) for name in names if isinstance(row.get(name), int) and _dated(row[name])), None)


def _dated(ms: float) -> bool:
    """Whether a calendar holds a moment; rows of a query that a model wrote may hold any number."""
    return FIRST_MS <= ms <= LAST_MS


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _said(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(note for note in notes if note)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
