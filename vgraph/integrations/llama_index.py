"""vgraph as a llama-index retriever and query engine: every node is a chunk with its camera, times and clip as metadata.

Needs the extra `llama-index`.
"""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import Response
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from vgraph.app import VGraph
from vgraph.types import EvidenceChunk, Filters


class VGraphRetriever(BaseRetriever):
    """Hybrid retrieval over one open graph, with the filters given here holding for every query."""

    def __init__(self, graph: VGraph, filters: Filters | None = None, *, k: int | None = None) -> None:
        super().__init__()
        self._graph, self._filters, self._k = graph, filters, k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        evidence = self._graph.search(query_bundle.query_str, self._filters, k=self._k)
        return [NodeWithScore(node=_node(chunk), score=chunk.score) for chunk in evidence.chunks]


class VGraphQueryEngine(CustomQueryEngine):
    """Answers of one open graph by its agents, with the chunks they cite as source nodes; `metadata` has status, claims and run."""

    graph: Any
    filters: Any = None
    agent: Any = None

    def custom_query(self, query_str: str) -> Response:
        answer = self.graph.ask(query_str, self.filters, agent=self.agent)
        cited = {citation.chunk for claim in answer.claims for citation in claim.citations}
        nodes = [NodeWithScore(node=_node(c), score=c.score) for c in answer.evidence.chunks if c.id in cited]
        claims = [{"text": claim.text, "support": claim.support} for claim in answer.claims]
        return Response(answer.text, nodes, {"status": str(answer.status), "claims": claims, "run": answer.run})


def _node(chunk: EvidenceChunk) -> TextNode:
    text = "\n".join(line.text for line in chunk.lines)
    return TextNode(id_=chunk.id, text=text, metadata=_metadata(chunk))


def _metadata(chunk: EvidenceChunk) -> dict[str, Any]:
    names = (
        "document",
        "camera",
        "camera_label",
        "start_ms",
        "end_ms",
        "offset_ms",
        "end_offset_ms",
        "tz",
        "uri",
        "via",
    )
    return {name: getattr(chunk, name) for name in names}
