"""The subgraph around a question as graph neural networks take it: nodes with features, typed edges as a 2 x E index, the anchors.

Vertices are reached hop by hop from the anchors, each hop by one query for the edges and one for what they lead to; the filters hold on
every vertex and on every edge that has a time. Last, all edges between the vertices kept are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vgraph.errors import UserError
from vgraph.retrieve.trace import stage
from vgraph.store import Store
from vgraph.types import Filters, Subgraph, SubgraphNode

EDGES = (
    "NEXT_CHUNK",
    "SIMILAR_TO",
    "HAS_ENTITY",
    "LINKS_TO",
    "IN_SUMMARY",
    "SUMMARY_OF",
    "PART_OF",
    "RECORDED_BY",
)
"""Collections whose edges may be followed."""
ATTRIBUTES = ("weight", "confidence", "start_s", "end_s")
MOST = 50
"""Edges of one kind that are followed from one vertex."""


@dataclass(frozen=True, slots=True)
class Around:
    """How far a subgraph goes: hops, kinds of edges, least likeness, most nodes."""

    hops: int = 2
    edges: tuple[str, ...] = EDGES[:5]
    eta: float = 0.4
    nodes: int = 500


def subgraph(
    question: str, vector: Sequence[float], anchors: Mapping[str, float], filters: Filters, store: Store, around: Around,
    *, model: str = "",
) -> Subgraph:  # fmt: skip
    """The subgraph around anchors (id -> score), at most `around.nodes` nodes: anchors, then hop by hop the best connected.

    `vector` is the question in the space of the features, `model` what made both. Raises UserError for a kind of edge there is not.
    """
    unknown = [kind for kind in around.edges if kind not in EDGES]
    if unknown:
        raise UserError(f"there are no edges {', '.join(unknown)}; subgraphs take {', '.join(EDGES)}")
    with stage("subgraph") as tell:
        reached, cut = _reached(anchors, filters, store, around)
        edges = _between(reached, filters, store, around)
        made = _numbered(question, vector, anchors, reached, edges, model, cut)
        kinds = Counter((node.hop, node.kind) for node in made.nodes)
        tell(lambda: ({"hop": hop, "kind": kind, "nodes": count} for (hop, kind), count in sorted(kinds.items())))
    return made


def _reached(
    anchors: Mapping[str, float], filters: Filters, store: Store, around: Around
) -> tuple[dict[str, tuple[Mapping[str, Any], int]], bool]:
    """Vertices (id -> record, hop) in the order in which they are kept, and whether some were left out."""
    best = sorted(anchors, key=lambda id: (-anchors[id], id))
    found = {row["_id"]: row for row in store.finding.subgraph_nodes(best, filters)}
    kept: dict[str, tuple[Mapping[str, Any], int]] = {id: (found[id], 0) for id in best[: around.nodes] if id in found}
    cut = len(found) > around.nodes
    border = list(kept)
    for hop in range(1, around.hops + 1):
        edges = store.finding.subgraph_edges(border, around.edges, filters, eta=around.eta, most=MOST) if border else []
        ties = Counter(end for edge in edges for end in (edge["_from"], edge["_to"]) if end not in kept)
        rows = {row["_id"]: row for row in store.finding.subgraph_nodes(list(ties), filters)} if ties else {}
        order = sorted(rows, key=lambda id: (-ties[id], id))
        room = around.nodes - len(kept)
        cut |= len(order) > room
        border = order[:room]
        kept |= {id: (rows[id], hop) for id in border}
    return kept, cut


def _between(
    reached: Mapping[str, tuple[Mapping[str, Any], int]], filters: Filters, store: Store, around: Around
) -> list[dict[str, Any]]:
    """Edges both of whose ends are kept, in order of kind and id."""
    if not around.hops or not reached:
        return []
    rows = store.finding.subgraph_edges(list(reached), around.edges, filters, eta=around.eta, most=MOST)
    inside = [row for row in rows if row["_from"] in reached and row["_to"] in reached]
    return sorted(inside, key=lambda row: (row["kind"], row["relation"], row["_id"]))


def _numbered(
    question: str, vector: Sequence[float], anchors: Mapping[str, float], reached: Mapping[str, tuple[Mapping[str, Any], int]],
    edges: Sequence[Mapping[str, Any]], model: str, cut: bool,
) -> Subgraph:  # fmt: skip
    place = {id: number for number, id in enumerate(reached)}
    types = tuple(dict.fromkeys(edge["relation"] for edge in edges))
    number = {name: n for n, name in enumerate(types)}
    starts = [row["start_ms"] for row, _ in reached.values() if row["start_ms"] is not None and row["kind"] == "chunk"]
    origin = min(starts, default=0)
    return Subgraph(
        question=question,
        vector=tuple(vector),
        nodes=tuple(_node(row, hop, anchors.get(id, 0.0)) for id, (row, hop) in reached.items()),
        relation_types=types,
        edge_index=(tuple(place[e["_from"]] for e in edges), tuple(place[e["_to"]] for e in edges)),
        edge_type=tuple(number[e["relation"]] for e in edges),
        edge_attribute_names=ATTRIBUTES,
        edge_attributes=tuple(_attributes(e, origin) for e in edges),
        edge_ids=tuple(e["_id"] for e in edges),
        edge_texts=tuple(e["text"] for e in edges),
        anchors=tuple(place[id] for id in reached if id in anchors),
        origin_ms=origin,
        dimension=len(vector),
        model=model,
        warnings=(f"more than {len(reached)} nodes are in reach: the best connected were kept",) if cut else (),
    )


def _node(row: Mapping[str, Any], hop: int, score: float) -> SubgraphNode:
    features = row["embedding"]
    return SubgraphNode(
        row["_id"], row["kind"], row["text"], tuple(features) if features else None, hop, score, row["start_ms"], row["end_ms"],
        row["camera"],
    )  # fmt: skip


def _attributes(edge: Mapping[str, Any], origin_ms: int) -> tuple[float, ...]:
    def seconds(ms: int | None) -> float:
        return 0.0 if ms is None else (ms - origin_ms) / 1000

    confidence = edge["confidence"]
    return (
        float(edge["weight"]), 1.0 if confidence is None else float(confidence), seconds(edge["start_ms"]), seconds(edge["end_ms"])
    )  # fmt: skip
