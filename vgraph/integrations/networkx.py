"""The graph, the evidence of one question, or the subgraph around it, as a networkx graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vgraph.app import VGraph
from vgraph.types import Evidence, EvidenceRelation, Subgraph

if TYPE_CHECKING:
    from networkx import MultiDiGraph


def whole_graph(graph: VGraph, *, embeddings: bool = False) -> MultiDiGraph:
    """Every vertex and edge, by ArangoDB `_id`; nodes and edges carry `collection` and their record's attributes.

    Everything is held in memory: meant for one site's days, not for millions of chunks. Embeddings are left out unless asked for.
    """
    from networkx import MultiDiGraph

    made = MultiDiGraph()
    for collection, record in graph.records():
        attributes = {name: value for name, value in record.items() if embeddings or name != "embedding"}
        if "_from" in record:
            made.add_edge(record["_from"], record["_to"], record["_key"], collection=collection, **attributes)
        else:
            made.add_node(f"{collection}/{record['_key']}", collection=collection, **attributes)
    return made


def evidence_graph(evidence: Evidence) -> MultiDiGraph:
    """What retrieval found: chunks and entities as nodes, `HAS_ENTITY` and the relations as edges, keyed by relation."""
    from networkx import MultiDiGraph

    made = MultiDiGraph(question=evidence.question)
    for chunk in evidence.chunks:
        span = {"start_ms": chunk.start_ms, "end_ms": chunk.end_ms, "camera": chunk.camera}
        made.add_node(f"chunks/{chunk.id}", collection="chunks", text=chunk.text, score=chunk.score, **span)
    for entity in evidence.entities:
        made.add_node(entity.id, collection="entities", name=entity.name, type=entity.type)
        for key in entity.chunks:
            made.add_edge(f"chunks/{key}", entity.id, "HAS_ENTITY", collection="HAS_ENTITY")
    for relation in evidence.relations:
        made.add_edge(relation.source, relation.target, relation.id, collection="LINKS_TO", **_attributes(relation))
    return made


def subgraph_graph(found: Subgraph) -> MultiDiGraph:
    """A subgraph (`VGraph.subgraph`): nodes by ArangoDB `_id` with kind, text, features, hop, score and anchor; edges by their `_id` with
    relation, text and attributes; the question and its vector on the graph itself.
    """
    from networkx import MultiDiGraph

    made = MultiDiGraph(question=found.question, vector=list(found.vector), model=found.model)
    anchors = set(found.anchors)
    for number, node in enumerate(found.nodes):
        facts = {
            "kind": node.kind,
            "text": node.text,
            "camera": node.camera,
            "start_ms": node.start_ms,
            "end_ms": node.end_ms,
        }
        features = None if node.features is None else list(node.features)
        made.add_node(node.id, **facts, features=features, hop=node.hop, score=node.score, anchor=number in anchors)
    for edge, (source, target) in enumerate(zip(*found.edge_index, strict=True)):
        attributes = dict(zip(found.edge_attribute_names, found.edge_attributes[edge], strict=True))
        made.add_edge(
            found.nodes[source].id, found.nodes[target].id, found.edge_ids[edge], relation=found.relation_types[found.edge_type[edge]],
            text=found.edge_texts[edge], **attributes,
        )  # fmt: skip
    return made


def _attributes(relation: EvidenceRelation) -> dict[str, object]:
    names = ("relation", "start_ms", "end_ms", "camera", "chunk", "supporting_text", "confidence")
    return {name: getattr(relation, name) for name in names}
