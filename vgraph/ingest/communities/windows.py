"""Summaries of consecutive chunks, in levels: so many chunks a window, so many windows a higher window, up to the whole document.

(VSS batch summaries: Chunk -IN_SUMMARY-> Community -SUMMARY_OF-> Document.) A window whose text has not changed is left alone, so that a
document that grows costs its last windows only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, TypeVar

from vgraph.ingest.communities.records import Writers, is_good, spanned, told
from vgraph.ingest.communities.summaries import Material
from vgraph.ingest.keys import content_key, edge_key
from vgraph.store import Store
from vgraph.store.derived import Pending
from vgraph.types import Progress, Record

STAGE = "windows"
NAMES_KEPT = 32
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """chunks: consecutive chunks of a window of level 0; windows: windows of one level that make one of the next."""

    chunks: int = 10
    windows: int = 12

    def config(self, writers: Writers) -> str:
        return content_key(STAGE, self.chunks, self.windows, writers.name, writers.sentences, writers.embedder.name)


@dataclass(frozen=True, slots=True)
class _Window:
    """A window being made: its record without embedding, the names in it, whether its summary had to be written, what leads into it."""

    record: dict[str, Any]
    names: Counter[str]
    written: bool
    edges: tuple[Record, ...]


def summarise_windows(
    store: Store, options: WindowOptions, writers: Writers, report: Callable[[Progress], None]
) -> list[str]:
    """Make the window summaries of every document that lacks them or has grown; what went wrong, one line each.

    A document in which a model failed gets extractive summaries there, and is done again by the next run.
    """
    warnings: list[str] = []
    pending = store.derived.pending(STAGE, options.config(writers))
    for number, document in enumerate(pending):
        report(Progress(document.document, STAGE, number, len(pending), "documents"))
        failed = _summarise(store, document, options, writers)
        warnings += failed
        if not failed:
            store.derived.done(STAGE, [document])
    return warnings


def _summarise(store: Store, pending: Pending, options: WindowOptions, writers: Writers) -> list[str]:
    writers = writers.remembering(store, pending.document)
    known = {row["_key"]: row for row in store.derived.communities_of(pending.document)}
    seen: set[str] = set()
    warnings: list[str] = []
    windows = _first_level(store, pending, options, writers, known)
    for level in count(1):
        made: list[_Window] = []
        for window in windows:
            made.append(window)
            seen.add(window.record["_key"])
            warnings += window.record["warnings"]
            if window.written:
                _write(store, window, writers)
        if len(made) <= 1:
            break
        windows = _next_level(made, level, pending, options, writers, known)
    top = [_summary_of(w.record["_key"], f"documents/{pending.document}", pending) for w in made]
    store.derived.replace_communities(sorted(set(known) - seen), (), {})
    store.derived.replace_top(pending.document, top)
    return [f"{pending.document}: {warning}" for warning in warnings]


def _write(store: Store, window: _Window, writers: Writers) -> None:
    """A window with the edges that lead into it, in one transaction."""
    kind = "IN_SUMMARY" if window.record["level"] == 0 else "SUMMARY_OF"
    store.derived.replace_communities((), writers.embedded([window.record]), {kind: window.edges})


def _first_level(
    store: Store, pending: Pending, options: WindowOptions, writers: Writers, known: Mapping[str, Mapping[str, Any]]
) -> Iterator[_Window]:
    for index, chunks in enumerate(batches(store.derived.window_texts(pending.document), options.chunks)):
        lines = tuple(line for chunk in chunks for line in chunk["lines"])
        names = Counter(name for chunk in chunks for name in chunk["names"])
        members = [f"chunks/{chunk['_key']}" for chunk in chunks]
        yield _window(0, index, chunks, members, lines, names, pending, writers, known)


def _next_level(
    below: Sequence[_Window], level: int, pending: Pending, options: WindowOptions, writers: Writers,
    known: Mapping[str, Mapping[str, Any]],
) -> Iterator[_Window]:  # fmt: skip
    for index, group in enumerate(batches(below, options.windows)):
        lines = tuple(window.record["summary"] for window in group)
        names = sum((window.names for window in group), Counter[str]())
        members = [f"communities/{window.record['_key']}" for window in group]
        yield _window(level, index, [w.record for w in group], members, lines, names, pending, writers, known)


def _window(
    level: int, index: int, parts: Sequence[Mapping[str, Any]], members: Sequence[str], lines: tuple[str, ...],
    names: Counter[str], pending: Pending, writers: Writers, known: Mapping[str, Mapping[str, Any]],
) -> _Window:  # fmt: skip
    names = Counter(dict(names.most_common(NAMES_KEPT)))
    key = content_key("community", "window", pending.document, level, index)
    material = Material(f"a stretch of one recording, {len(parts)} parts in a row", lines, names)
    digest = writers.digest(material, *members, *(f"{name}={often}" for name, often in sorted(names.items())))
    before = known.get(key)
    record: dict[str, Any] = {
        "_key": key,
        "kind": "window",
        "level": level,
        "index": index,
        "document": pending.document,
        "camera": pending.camera,
        "cameras": [pending.camera],
        "offset_ms": min(part["offset_ms"] for part in parts),
        **spanned(parts, "end_offset_ms", "known_ms"),
    }
    if is_good(before, digest):
        assert before is not None
        return _Window(record | dict(before), names, False, ())
    edges = tuple(_into(member, key, pending) for member in members)
    return _Window(record | told(writers.write(material), digest), names, True, edges)


def _into(member: str, key: str, pending: Pending) -> Record:
    if member.startswith("communities/"):
        return _summary_of(member.partition("/")[2], f"communities/{key}", pending)
    return _edge("IN_SUMMARY", member, f"communities/{key}", pending)


def _summary_of(key: str, target: str, pending: Pending) -> Record:
    return _edge("SUMMARY_OF", f"communities/{key}", target, pending)


def _edge(kind: str, start: str, end: str, pending: Pending) -> Record:
    key = edge_key(start, kind, end)
    return {"_key": key, "_from": start, "_to": end, "document": pending.document, "camera": pending.camera}


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Consecutive groups of `size`, the last one shorter; read as they are asked for."""
    left = iter(items)
    while group := list(islice(left, size)):
        yield group
