"""What windows and themes have in common: when a summary is still good, its record, its embedding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from vgraph.ingest.calls import Calls, Shared
from vgraph.ingest.communities.summaries import Material, Summary, summarised
from vgraph.ingest.keys import content_key
from vgraph.ingest.remembered import RememberedChat
from vgraph.models import ChatModel, Embedder
from vgraph.store import Store
from vgraph.types import Record

SUMMARISE: Final = "summarise"
"""The stage of the ledger that summaries are asked under."""


@dataclass(frozen=True, slots=True)
class Writers:
    """What makes summaries: an embedder, and a chat model or None; at most `sentences` sentences each.

    `shared` is what the run's calls share: its cap, its gates and its prices.
    """

    embedder: Embedder
    chat: ChatModel | None
    sentences: int
    shared: Shared = field(default_factory=Shared)

    def remembering(self, store: Store, document: str | None) -> Writers:
        """The same, whose model is not asked again for what it answered of a document, or (None) of the whole graph."""
        if self.chat is None:
            return self
        return replace(self, chat=RememberedChat(self.chat, Calls(store.ledgers, document, self.shared), SUMMARISE))

    @property
    def name(self) -> str:
        return self.chat.name if self.chat else ""

    def digest(self, material: Material, *more: str) -> str:
        """Equal as long as a summary made of this would come out the same."""
        return content_key(
            "summary", self.name, self.sentences, self.embedder.name, material.what, *more, *material.lines
        )

    def write(self, material: Material) -> Summary:
        return summarised(material, self.chat, self.sentences)

    def embedded(self, records: Sequence[Record]) -> list[Record]:
        """The records with the embedding of their title and summary: float[d], normalised."""
        if not records:
            return []
        vectors = self.embedder.embed([community_text(record) for record in records])
        return [{**record, "embedding": vector.tolist()} for record, vector in zip(records, vectors, strict=True)]


def community_text(record: Mapping[str, Any]) -> str:
    """What is embedded of a community."""
    return "\n".join(part for part in (record["title"], record["summary"]) if part)


def is_good(known: Mapping[str, Any] | None, digest: str) -> bool:
    """Made of the same, and by the model that was to make it."""
    return known is not None and known["digest"] == digest and not known["warnings"]


def told(summary: Summary, digest: str) -> dict[str, Any]:
    """The attributes of a community that come from its summary."""
    return {
        "title": summary.title,
        "summary": summary.summary,
        "method": summary.method,
        "digest": digest,
        "warnings": list(summary.warnings),
    }


def spanned(parts: Iterable[Mapping[str, Any]], *names: str) -> dict[str, int]:
    """First start and last end over parts; `names` are attributes of which the latest counts."""
    found = list(parts)
    span = {"start_ms": min(p["start_ms"] for p in found), "end_ms": max(p["end_ms"] for p in found)}
    return span | {name: max(p[name] for p in found) for name in names}
