"""SIMILAR_TO: which clips look or sound like which others, within a camera and across cameras (VideoStir, spatial edges).

Every described clip keeps an edge to the `top` clips most like it on its own camera, without its neighbours in time, and to the `top`
most like it on all others, as far as their cosine reaches `eta`. They come out of the vector index, a batch of clips a query; nothing
is compared with everything. A clip keeps its own edges when others come later: the later ones find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vgraph.ingest.keys import content_key, edge_key
from vgraph.store import Store
from vgraph.store.derived import Pending
from vgraph.types import Progress, Record

STAGE = "similar"
BATCH = 64
PROBED = 8
"""How many times `top` are looked at, so that clips of one content are told apart by key and not by the order they were written in."""


@dataclass(frozen=True, slots=True)
class SimilarOptions:
    """eta: the least cosine of an edge (VideoStir: 0.4); top: at most so many edges within a camera, and so many across."""

    eta: float = 0.4
    top: int = 4

    @property
    def config(self) -> str:
        return content_key(STAGE, repr(self.eta), self.top)


def link_similar(store: Store, options: SimilarOptions, report: Callable[[Progress], None]) -> int:
    """Make the SIMILAR_TO edges of every document that lacks them under these options; the number of documents done.

    Killed anywhere, the next run begins again with the document it was at, and ends in the same edges.
    """
    pending = store.derived.pending(STAGE, options.config)
    for number, document in enumerate(pending):
        report(Progress(document.document, STAGE, number, len(pending), "documents"))
        _link(store, document, options)
        store.derived.done(STAGE, [document])
    return len(pending)


def _link(store: Store, pending: Pending, options: SimilarOptions) -> None:
    """A clip of which nothing was said is like nothing: it only loses the edges it may have had."""
    chunks = store.derived.chunks(pending.document)
    for begin in range(0, len(chunks), BATCH):
        batch = chunks[begin : begin + BATCH]
        described = [chunk["_key"] for chunk in batch if chunk["described"]]
        found = store.derived.similar(
            described, pending.camera, eta=options.eta, top=options.top, probe=PROBED * options.top
        )
        edges = [edge for row in found for edge in _edges(row, pending.camera)]
        store.derived.relink([chunk["_key"] for chunk in batch], edges)


def _edges(row: Mapping[str, Any], camera: str) -> Iterator[Record]:
    """`document` and `camera` are those of the clip an edge leaves, `other` is the document of the one it reaches."""
    start = f"chunks/{row['chunk']}"
    for near in row["near"]:
        end = f"chunks/{near['chunk']}"
        yield {
            "_key": edge_key(start, "SIMILAR_TO", end),
            "_from": start,
            "_to": end,
            "document": row["document"],
            "other": near["document"],
            "camera": camera,
            "across": near["camera"] != camera,
            "weight": near["weight"],
        }
