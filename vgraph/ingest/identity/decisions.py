"""What people decided about identities: a log in the graph, each entry undone by a later one and never removed.

A decision names entities by key, and keys come from content: so it holds again when a document that was deleted is ingested anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vgraph.ingest.keys import content_key

Kind = Literal["merge", "split", "confirm", "reject", "undo"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which mentions of an entity a split takes away: those of documents, tracks and chunks (keys)."""

    documents: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.documents or self.tracks or self.chunks)


@dataclass(frozen=True, slots=True)
class Decision:
    """One entry of the log. `of` is the number of the decision that an undo takes back; `name` what a split calls the new entity."""

    number: int
    kind: Kind
    entities: tuple[str, ...]
    selection: Selection = Selection()
    name: str | None = None
    of: int | None = None

    @property
    def key(self) -> str:
        return f"{self.number:08d}"

    @property
    def product(self) -> str:
        """Key of the entity that a split makes."""
        chosen = self.selection
        return content_key("split", self.entities[0], *chosen.documents, "|", *chosen.tracks, "|", *chosen.chunks)

    def record(self, recorded_ms: int) -> dict[str, Any]:
        chosen = self.selection
        return {
            "_key": self.key, "number": self.number, "kind": self.kind, "entities": list(self.entities),
            "documents": list(chosen.documents), "tracks": list(chosen.tracks), "chunks": list(chosen.chunks),
            "name": self.name, "of": self.of, "recorded_ms": recorded_ms,
        }  # fmt: skip


def decision(record: Mapping[str, Any]) -> Decision:
    chosen = Selection(tuple(record["documents"]), tuple(record["tracks"]), tuple(record["chunks"]))
    return Decision(record["number"], record["kind"], tuple(record["entities"]), chosen, record["name"], record["of"])


def standing(log: Sequence[Decision]) -> tuple[Decision, ...]:
    """The decisions that are not undone, in order. An undo that was itself undone undoes nothing."""
    undone: set[int] = set()
    for entry in reversed(log):
        if entry.kind == "undo" and entry.number not in undone and entry.of is not None:
            undone.add(entry.of)
    return tuple(entry for entry in log if entry.kind != "undo" and entry.number not in undone)


Pair = tuple[str, str]


def pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What was decided of two entities last, and by which decision."""

    same: bool
    number: int
    kind: Kind


def rulings(log: Sequence[Decision]) -> dict[Pair, Ruling]:
    """The last word on each pair. Whoever was split off is another; the products of two splits of one entity are others to each other."""
    found: dict[Pair, Ruling] = {}
    for entry in log:
        for one, other in _pairs(entry, log):
            found[pair(one, other)] = Ruling(entry.kind in ("merge", "confirm"), entry.number, entry.kind)
    return found


def _pairs(entry: Decision, log: Sequence[Decision]) -> Iterable[Pair]:
    first, *others = entry.entities
    if entry.kind != "split":
        return [(first, other) for other in others]
    earlier = [s.product for s in log if s.kind == "split" and s.number < entry.number and s.entities == entry.entities]
    return [(entry.product, other) for other in (first, *earlier) if other != entry.product]


def dependents(number: int, log: Sequence[Decision]) -> tuple[Decision, ...]:
    """Standing decisions about the entity that a split made: they have to be undone before it."""
    made = next((entry.product for entry in log if entry.number == number and entry.kind == "split"), None)
    later = [entry for entry in log if entry.number > number]
    again = any(s.kind == "split" and s.product == made and s.number != number for s in log)
    return () if made is None or again else tuple(entry for entry in later if made in entry.entities)
