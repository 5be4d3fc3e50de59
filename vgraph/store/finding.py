"""The ways into the graph beside the hybrid search over chunks: by entities, by clips that are alike, by summaries, by random walks.

Part of Store as `store.finding`. Where no vector index can serve, or it found too few, the exact form of a query is run: exactly k
results come when k exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vgraph.store import schema
from vgraph.store.narrowing import NONE
from vgraph.store.run import are_few, filter_binds, one, resolved, run, run_by_vector
from vgraph.types import Filters

TEMPORAL, SPATIAL = "NEXT_CHUNK", "SIMILAR_TO"


class Finding:
    """The finding part of a Store. Rows are those the query's header states; `vector` is float[d], normalised."""

    def __init__(self, db: schema.Database) -> None:
        self._db = db

    def by_entities(
        self, vector: Sequence[float], text: str, filters: Filters, *, types: Sequence[str] | None = None, leg_k: int, rrf_k: int,
        most: int, k: int,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Chunks in which the `most` entities most like a question occur: {chunk, score, entities}."""
        binds: dict[str, Any] = {
            "vector": list(vector), "text": text, "types": None if types is None else list(types), "leg_k": leg_k, "rrf_k": rrf_k,
            "most": most, "k": k,
        }  # fmt: skip
        enough = 1 if filters == NONE else k  # entities that are mentioned nowhere where the filters allow take places
        return self._near("search_entities", "search_entities_exact", {**binds, **filter_binds(filters)}, enough)

    def clips(
        self, vector: Sequence[float], filters: Filters, *, anchors: int, hops: int, eta: float,
        kinds: Sequence[str] = (TEMPORAL, SPATIAL), k: int,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Clips within `hops` of the `anchors` clips nearest to a question: {chunk, score, hop, anchor}."""
        binds: dict[str, Any] = {
            "vector": list(vector), "anchors": anchors, "hops": hops, "eta": eta, "kinds": list(kinds), "k": k,
        }  # fmt: skip
        return self._near("walk_clips", "walk_clips_exact", {**binds, **filter_binds(filters)}, anchors)

    def communities(
        self,
        vector: Sequence[float],
        text: str,
        filters: Filters,
        *,
        kind: str | None = None,
        leg_k: int,
        rrf_k: int,
        k: int,
    ) -> list[dict[str, Any]]:
        """Summaries nearest to a question."""
        binds: dict[str, Any] = {
            "vector": list(vector),
            "text": text,
            "kind": kind,
            "leg_k": leg_k,
            "rrf_k": rrf_k,
            "k": k,
        }
        return self._near("search_communities", "search_communities_exact", {**binds, **filter_binds(filters)}, k)

    def chunks_of_communities(
        self, communities: Mapping[str, float], vector: Sequence[float], filters: Filters, *, k: int
    ) -> list[dict[str, Any]]:
        """Chunks that summaries (id -> score) rest on: {chunk, score, of}."""
        starts = [{"id": key, "score": score} for key, score in communities.items()]
        return list(
            run(self._db, "community_chunks", communities=starts, vector=list(vector), k=k, **filter_binds(filters))
        )

    def by_utterances(self, text: str, filters: Filters, *, k: int) -> list[dict[str, Any]]:
        """Chunks in which something was said in the words of a question: {chunk, utterance, score}."""
        return list(run(self._db, "search_utterances", text=text, k=k, **filter_binds(filters)))

    def frames(self, vector: Sequence[float], filters: Filters, *, k: int) -> list[dict[str, Any]]:
        """Pictures nearest to a vector of the image-text space: {asset, chunk, camera, at_ms, offset_ms, score}."""
        return self._near(
            "search_frames", "search_frames_exact", {"vector": list(vector), "k": k, **filter_binds(filters)}, k
        )

    def rank_graph(
        self, chunks: Sequence[str], entities: Sequence[str], filters: Filters, *, most: int
    ) -> dict[str, Any]:
        """The part of the graph around chunks (ids) and entities (ids): {mentions, links}."""
        binds: dict[str, Any] = {"chunks": list(chunks), "named": list(entities), "most": most}
        return one(run(self._db, "rank_graph", **binds, **filter_binds(filters)))

    def subgraph_edges(
        self, ids: Sequence[str], kinds: Sequence[str], filters: Filters, *, eta: float, most: int
    ) -> list[dict[str, Any]]:
        """Edges of some collections at some vertices (ids), at most `most` of a kind at each; likenesses above `eta`."""
        binds: dict[str, Any] = {"ids": list(ids), "kinds": list(kinds), "eta": eta, "most": most}
        return list(run(self._db, "subgraph_edges", **binds, **filter_binds(filters)))

    def subgraph_nodes(self, ids: Sequence[str], filters: Filters) -> list[dict[str, Any]]:
        """Vertices (ids) that pass the filters, with embedding and text; of entities only what was known by `not_after`."""
        return list(run(self._db, "subgraph_nodes", ids=list(ids), **filter_binds(filters)))

    def _near(self, name: str, exact: str, binds: Mapping[str, Any], enough: int) -> list[dict[str, Any]]:
        """By the vector index; every vector compared where none can serve, it finds too few, or what a record rests on decides."""
        exactly = are_few(self._db, binds["filters"]) or (
            name == "search_communities" and resolved(self._db, binds["filters"])["deep"]
        )
        found = None if exactly else run_by_vector(self._db, name, **binds)
        return list(run(self._db, exact, **binds)) if found is None or len(found) < enough else found
