"""Each query of arango/queries runs by the index it is meant for: no collection is read whole where an index can serve."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.conftest import fresh_store
from tests.store.test_store import DIMENSION, corpus, vector
from vgraph.store import Store
from vgraph.store.narrowing import OPEN
from vgraph.store.resources import query, query_names
from vgraph.types import GraphDelta

FILTERED = {**OPEN, "languages": 1, "plain": False, "cameras": ["dock"], "start_ms": 1000, "end_ms": 9000}
KEYS = ["one-0001", "one-0002"]
IDS = [f"chunks/{key}" for key in KEYS]
LEGS = {"vector": vector(), "text": "crate 7", "k": 5, "leg_k": 10, "rrf_k": 60}
WEIGHTED = {"vector": vector(), "text": "crate 7", "k": 5, "leg_k": 10, "vector_weight": 1, "text_weight": 1}
EDGES = ["NEXT_CHUNK", "SIMILAR_TO", "HAS_ENTITY", "LINKS_TO", "IN_SUMMARY", "SUMMARY_OF", "PART_OF", "RECORDED_BY"]

SELECTED = {"source": "entities/p1", "documents": ["one"], "chunks": IDS, "tracks": ["tracks/t"]}
MOVED = {"target": "entities/p9", "all": False}
SPAN = {"entity": "p1", "camera": "dock", "class": "person", "from_ms": 0, "ended_ms": 0, "to_ms": 9000}

SPAN = FILTERED
EVERYBODY = {**SPAN, "types": ["person"], "limit": 5}
GROUPS = [{"key": "p1", "ids": ["entities/p1"]}]
SIDE = {"groups": GROUPS, "speakers": ["ada"], "classes": ["truck"]}

BINDS: dict[str, dict[str, Any]] = {
    "assets_of_chunks": {"document": "one", "keys": KEYS},
    "camera_retention": {},
    "chunks_during": {**FILTERED, "limit": 5},
    "search_frames": {**FILTERED, "vector": vector(), "k": 5},
    "search_frames_exact": {**FILTERED, "vector": vector(), "k": 5},
    "chunks_before": {"document": "one", "end_ms": 5000},
    "dangling_edges": {"@collection": "LINKS_TO"},
    "document_state": {"document": "one"},
    "empty_communities": {},
    "entities_of_chunks": {"chunks": IDS},
    "entities_to_embed": {"document": "one"},
    "forget_answers": {},
    "expired_documents": {"camera": "dock", "before_ms": 5000},
    "last_chunk": {"document": "one"},
    "ledger_averages": {},
    "ledger_call_keys": {"document": "one"},
    "ledger_calls": {"keys": KEYS},
    "ledger_failed": {},
    "ledger_pieces": {"document": "one"},
    "ledger_spent": {"document": "one"},
    "ledger_stages": {"document": "one"},
    "list_assets": {},
    "read_frames": {"chunks": KEYS},
    "remove_calls_of_chunks": {"document": "one", "chunks": KEYS},
    "remove_citations": {"document": "one"},
    "remove_depictions": {"document": "one"},
    "remove_frames_of_chunks": {"chunks": KEYS},
    "remove_keys": {"@collection": "entities", "keys": KEYS},
    "remove_links_of_chunks": {"chunks": KEYS},
    "remove_older": {"@collection": "utterances", "document": "one", "end_ms": 5000},
    "remove_stages": {"document": "one", "keep": ["hear"]},
    "remove_unused_calls": {"document": "one", "stages": ["hear"], "used": KEYS},
    "stray_frames": {},
    "stray_tracks": {},
    "strays": {"@collection": "chunks"},
    "unmentioned_entities": {},
    "unsettled_entities": {"key": "one-settle"},
    "update_beginning": {"document": "one", "offset_ms": 10},
    "update_retention": {"camera": "dock", "keep_ms": None},
    "write_entity_embeddings": {"records": []},
    "absences": {**SPAN, "ids": ["entities/p1"], "least_ms": 1},
    "allen_relations": {
        **SPAN,
        "left": SIDE,
        "right": SIDE,
        "gap_ms": 1,
        "relations": ["before"],
        "slack_ms": 0,
        "within_ms": None,
        "least_overlap_ms": 0,
        "same_camera": True,
        "limit": 5,
    },
    "community_chunks": {**FILTERED, "communities": [{"id": "communities/w", "score": 1}], "vector": vector(), "k": 5},
    "rank_graph": {**FILTERED, "chunks": IDS, "named": ["entities/p1"], "most": 5},
    "search_communities": {**FILTERED, **LEGS, "kind": None},
    "search_communities_exact": {**FILTERED, **LEGS, "kind": None},
    "search_entities": {**FILTERED, **LEGS, "types": None, "most": 5},
    "search_entities_exact": {**FILTERED, **LEGS, "types": None, "most": 5},
    "walk_clips": {
        **FILTERED,
        "vector": vector(),
        "anchors": 3,
        "hops": 2,
        "eta": 0.4,
        "kinds": ["NEXT_CHUNK"],
        "k": 5,
    },
    "walk_clips_exact": {
        **FILTERED,
        "vector": vector(),
        "anchors": 3,
        "hops": 2,
        "eta": 0.4,
        "kinds": ["NEXT_CHUNK"],
        "k": 5,
    },
    "busiest_intervals": {**EVERYBODY, "bucket_ms": 1000, "origin_ms": 0},
    "co_presence": {**EVERYBODY, "gap_ms": 1, "least_ms": 1},
    "counts_per_interval": {**SPAN, "types": None, "bucket_ms": 1000, "origin_ms": 0},
    "difference": {
        "before": {"start_ms": 0, "end_ms": 9},
        "after": {"start_ms": 9, "end_ms": 18},
        **FILTERED,
        "types": None,
        "gap_ms": 1,
        "limit": 5,
    },
    "dwell": {**EVERYBODY, "gap_ms": 1},
    "entity_groups": {"keys": ["p1"]},
    "entities_of_words": {"text": "person1 dock", "limit": 5},
    "told_by_chunks": {**FILTERED, "chunks": IDS},
    "first_last_seen": EVERYBODY,
    "interactions": {**EVERYBODY, "relations": None},
    "journeys": {**SPAN, "groups": GROUPS, "gap_ms": 1},
    "named_entities": {**FILTERED, "name": "person1", "types": None, "fuzzy": True, "not_after": 9000, "limit": 5},
    "present_while": {**EVERYBODY, "ids": ["entities/p1"], "gap_ms": 1, "least_ms": 1},
    "said_while": {**SPAN, "ids": ["entities/p1"], "gap_ms": 1, "limit": 5},
    "seen_then": {
        "first": "dock",
        "then": "gate",
        **OPEN,
        "types": None,
        "gap_ms": 1,
        "within_ms": 9,
        "limit": 5,
    },
    "stays": {**SPAN, "groups": GROUPS, "gap_ms": 1},
    "clock_documents": {"camera": "dock"},
    "clock_reads": {"document": "one"},
    "coverage": FILTERED,
    "coverage_stretches": {"cameras": ["dock"], "start_ms": 0, "end_ms": 5000, "join_ms": 0},
    "communities_of_document": {"document": "one"},
    "derive_pending": {"stage": "similar", "config": "c"},
    "document_chunks": {"document": "one"},
    "documents_similar_to": {"document": "one"},
    "entities_of_document": {"document": "one"},
    "entity_uses": {"entities": ["entities/p1"]},
    "expand_entities": {**FILTERED, "chunks": IDS, "hops": 2, "entity_limit": 5, "relation_limit": 20},
    "export_collection": {"@collection": "chunks", "drop": ["_rev"]},
    "hold_document": {"document": "one", "config": "c", "timed": None},
    "hybrid_chunks": {**FILTERED, **LEGS, "vector_weight": 1, "text_weight": 1},
    "hybrid_chunks_exact": {**FILTERED, **LEGS, "vector_weight": 1, "text_weight": 1},
    "weighted_chunks": {**FILTERED, **WEIGHTED},
    "weighted_chunks_exact": {**FILTERED, **WEIGHTED},
    "chunk_embeddings": {"keys": KEYS},
    "relation_kinds": {**FILTERED, "ids": ["entities/p1"]},
    "subgraph_edges": {**FILTERED, "ids": [*IDS, "entities/p1"], "kinds": EDGES, "eta": 0.4, "most": 5},
    "subgraph_nodes": {**FILTERED, "ids": [*IDS, "entities/p1", "communities/w", "documents/one", "cameras/dock"]},
    "last_recorded": {"cameras": ["dock"]},
    "list_cameras": {},
    "list_communities": {"kind": "theme", "document": "one", "level": 0, "limit": 5},
    "list_documents": {},
    "match_relations": {**FILTERED, "sources": ["entities/p1"], "targets": None, "relations": None, "limit": 5},
    "merge_entities": {"records": []},
    "merge_links": {"records": []},
    "read_chunks": {**FILTERED, "keys": KEYS},
    "read_texts": {"@collection": "chunks", "after": "", "limit": 10},
    "read_times": {"document": "one", "@collection": "chunks"},
    "read_tracks": {"document": "one"},
    "read_utterances": {"document": "one"},
    "remove_communities": {"keys": KEYS},
    "remove_document": {"document": "one"},
    "remove_edges_from": {"ids": IDS, "@collection": "SUMMARY_OF"},
    "remove_edges_to": {"ids": IDS, "@collection": "IN_SUMMARY"},
    "remove_entities": {"keys": []},
    "remove_identities": {"entities": ["entities/p1"]},
    "remove_ledger": {"keys": KEYS},
    "remove_of_document": {"document": "one", "@collection": "HAS_ENTITY"},
    "remove_similar_to": {"document": "one"},
    "similar_from": {"ids": IDS},
    "similar_chunks": {"keys": KEYS, "camera": "dock", "eta": 0.4, "probe": 8},
    "similar_chunks_exact": {"keys": KEYS, "camera": "dock", "eta": 0.4, "probe": 8},
    "settle_times": {"keys": ["p1"]},
    "stitch_chunks": {**FILTERED, "chunks": IDS, "neighbours": 2},
    "theme_entities": {"keys": ["p1"]},
    "regrouped_entities": {},
    "themed_entities": {"keys": ["p1"]},
    "theme_neighbours": {"ids": ["entities/p1"]},
    "theme_links": {"ids": ["entities/p1"]},
    "theme_mentions": {"ids": ["entities/p1"]},
    "theme_region": {"entities": ["p1"]},
    "theme_span": {"keys": KEYS},
    "theme_texts": {"keys": KEYS},
    "themes_of_document": {"document": "one"},
    "entity_records": {"ids": ["entities/p1"], "not_after": None, "as_of": None},
    "passing_chunks": {
        **FILTERED,
        "entities": ["entities/p1"],
        "entity_types": ["person"],
        "relation_types": ["gives"],
    },
    "recorded_days": {"cameras": ["dock"], "start_ms": 0, "end_ms": 5000},
    "tagged_documents": {"tags": ["night"]},
    "search_utterances": {**FILTERED, "text": "crate 7", "k": 5},
    "tag_document": {"key": "one", "add": ["night"], "remove": []},
    "tell_senses": {"document": "one"},
    "tell_mentions": {"document": "one"},
    "tell_links": {"document": "one"},
    "tell_frames": {"document": "one"},
    "unknown_terms": {"tags": ["night"], "entity_types": ["person"], "relation_types": ["gives"], "speakers": ["ada"]},
    "update_camera": {"key": "dock", "values": {}},
    "update_document": {"key": "one", "values": {}},
    "update_entities": {"records": []},
    "update_times": {"records": [], "@collection": "chunks"},
    "window_texts": {"document": "one"},
    "write_identities": {"records": [], "now": 5},
    "write_embeddings": {"records": [], "@collection": "chunks"},
    "write_records": {"records": [], "@collection": "chunks"},
    "copy_entity": {"source": "p1", "target": "p9"},
    "count_selected": SELECTED,
    "entities_of_tracks": {"ids": ["tracks/t"]},
    "find_entities": {"named": "person1"},
    "identity_blocks": {"name_keys": ["person|t:lopez"], "most": 33},
    "identity_captions": {"documents": ["one"]},
    "identity_clusters": {"keys": ["p1"]},
    "identity_edges": {"ids": ["entities/p1"]},
    "identity_facts": {"ids": ["entities/p1"], "most": 10, "recent": 5},
    "identity_family": {"canonicals": ["p1"]},
    "identity_near": {"keys": ["p1"], "type": "person", "least": 0.7, "probe": 8, "lists": 2},
    "identity_near_exact": {"keys": ["p1"], "type": "person", "least": 0.7, "probe": 8},
    "identity_passing": {"spans": [SPAN], "most": 8},
    "identity_profiles": {"keys": ["p1"]},
    "identity_shown": {"document": "d1"},
    "identity_together": {"ids": ["entities/p1"]},
    "identity_touched": {"config": "c"},
    "identity_vectors": {"type": "person", "keyed": True},
    "identity_tracks": {"ids": ["entities/p1"]},
    "list_decisions": {},
    "list_doubts": {"status": "proposed", "limit": 5},
    "list_entities": {"type": "person", "words": "person", "limit": 5},
    "list_proposals": {"status": "proposed", "limit": 5},
    "list_sites": {},
    "list_runs": {"limit": 5},
    "read_run": {"key": "r"},
    "move_links": {"source": "entities/p1", **MOVED},
    "move_mentions": {**SELECTED, **MOVED},
    "move_tracks": {**SELECTED, **MOVED},
    "name_cameras": {},
    "read_identity": {"key": "s"},
    "remove_adjacent": {"keys": ["s"]},
    "remove_identity_edges": {"keys": ["s"]},
    "touch_entities": {"keys": ["p1"]},
    "write_decision": {"record": {"_key": "00000001", "number": 1}},
}

WHOLE: dict[str, set[str]] = {
    "recorded_days": {"cameras"},
    "camera_retention": {"cameras"},
    "dangling_edges": {"LINKS_TO"},
    "empty_communities": {"communities"},
    "list_assets": {"frames", "chunks"},
    "stray_frames": {"frames"},
    "stray_tracks": {"tracks"},
    "strays": {"chunks"},
    "unmentioned_entities": {"entities"},
    "coverage_stretches": {"cameras"},
    "derive_pending": {"documents"},
    "export_collection": {"chunks"},
    "search_communities_exact": {"communities"},
    "search_entities_exact": {"entities"},
    "search_frames_exact": {"frames"},
    "journeys": {"ADJACENT_TO"},
    "identity_near_exact": {"entities"},
    "list_cameras": {"cameras"},
    "name_cameras": {"cameras"},
    "list_decisions": {"decisions"},
    "list_entities": {"entities"},
    "list_sites": {"cameras", "ADJACENT_TO"},
    "list_communities": {"communities"},
    "list_documents": {"documents"},
    "similar_chunks_exact": {"chunks"},
}
"""Collections a query is meant to read whole: it lists them."""

INTENDED: dict[str, set[str]] = {
    "entity_records": {"primary", "canonical"},
    "passing_chunks": {"to_start", "type_start", "relation"},
    "recorded_days": {"camera_start"},
    "tagged_documents": {"tags"},
    "search_utterances": {"utterances"},
    "tag_document": {"primary"},
    "tell_senses": {"document_index", "document_start"},
    "tell_mentions": {"document"},
    "tell_links": {"document"},
    "tell_frames": {"document_at"},
    "unknown_terms": {"tags", "type_name", "relation", "speaker"},
    "assets_of_chunks": {"primary", "chunk", "document_index"},
    "chunks_before": {"document_index"},
    "chunks_during": {"camera_start"},
    "search_frames": {"embedding"},
    "document_state": {"primary"},
    "entities_of_chunks": {"edge"},
    "entities_to_embed": {"document", "primary"},
    "expired_documents": {"camera_start"},
    "last_chunk": {"document_index"},
    "ledger_averages": {"kind_state"},
    "ledger_call_keys": {"document_kind"},
    "ledger_calls": {"primary"},
    "ledger_failed": {"kind_state", "primary"},
    "ledger_pieces": {"document_kind"},
    "ledger_spent": {"document_kind"},
    "ledger_stages": {"document_kind"},
    "read_frames": {"chunk"},
    "remove_calls_of_chunks": {"document_kind"},
    "remove_citations": {"document_index", "edge"},
    "remove_depictions": {"document"},
    "remove_frames_of_chunks": {"chunk"},
    "remove_links_of_chunks": {"chunk"},
    "remove_older": {"document_start"},
    "remove_stages": {"document_kind"},
    "remove_unused_calls": {"document_kind"},
    "unsettled_entities": {"primary"},
    "update_beginning": {"primary"},
    "update_retention": {"primary"},
    "write_entity_embeddings": {"primary"},
    "absences": {"to_start", "camera_start"},
    "allen_relations": {"to_start", "speaker", "class_start"},
    "community_chunks": {"edge"},
    "rank_graph": {"edge", "to_start"},
    "search_communities": {"embedding"},
    "search_entities": {"embedding", "to_start"},
    "search_entities_exact": {"to_start"},
    "walk_clips": {"embedding", "edge"},
    "walk_clips_exact": {"camera_start", "edge"},
    "busiest_intervals": {"camera_start", "edge", "primary"},
    "co_presence": {"camera_start", "edge", "primary"},
    "counts_per_interval": {"camera_start", "edge", "primary"},
    "difference": {"camera_start", "edge", "primary"},
    "dwell": {"camera_start", "edge", "primary"},
    "entity_groups": {"primary", "canonical"},
    "told_by_chunks": {"chunk", "edge", "primary"},
    "first_last_seen": {"camera_start", "edge", "primary"},
    "interactions": {"camera_start", "primary"},
    "journeys": {"to_start"},
    "match_relations": {"edge"},
    "named_entities": {"to_start"},
    "relation_kinds": {"edge"},
    "weighted_chunks": {"embedding"},
    "weighted_chunks_exact": {"camera_start"},
    "chunk_embeddings": {"primary"},
    "subgraph_edges": {"edge"},
    "subgraph_nodes": {"primary", "to_start"},
    "present_while": {"to_start", "camera_start", "edge", "primary"},
    "said_while": {"to_start", "camera_start"},
    "seen_then": {"camera_start", "edge", "primary"},
    "stays": {"to_start"},
    "clock_documents": {"camera_start"},
    "clock_reads": {"document_index"},
    "coverage": {"camera_start"},
    "last_recorded": {"camera_start"},
    "coverage_stretches": {"camera_start"},
    "communities_of_document": {"document"},
    "document_chunks": {"document_index"},
    "documents_similar_to": {"other"},
    "entities_of_document": {"document"},
    "entity_uses": {"edge"},
    "expand_entities": {"edge", "primary"},
    "count_selected": {"edge"},
    "entities_of_tracks": {"edge"},
    "find_entities": {"aliases"},
    "identity_blocks": {"name_keys"},
    "identity_captions": {"document"},
    "identity_clusters": {"primary"},
    "identity_edges": {"edge"},
    "identity_facts": {"primary", "edge"},
    "identity_family": {"canonical"},
    "identity_near": {"primary", "embedding"},
    "identity_passing": {"camera_start", "edge"},
    "identity_profiles": {"primary", "edge"},
    "identity_shown": {"document"},
    "identity_together": {"edge"},
    "identity_touched": {"resolved"},
    "identity_tracks": {"edge"},
    "identity_vectors": {"type_name"},
    "list_doubts": {"doubt"},
    "list_proposals": {"status_score"},
    "list_runs": {"asked"},
    "read_run": {"primary", "edge"},
    "move_links": {"edge"},
    "move_mentions": {"edge"},
    "move_tracks": {"edge"},
    "read_identity": {"primary"},
    "remove_adjacent": {"primary"},
    "remove_identity_edges": {"primary"},
    "touch_entities": {"primary"},
    "hybrid_chunks": {"embedding"},
    "hybrid_chunks_exact": {"camera_start"},
    "read_chunks": {"primary"},
    "read_times": {"document_index"},
    "read_tracks": {"document_start"},
    "read_utterances": {"document_start"},
    "remove_identities": {"edge"},
    "remove_communities": {"primary"},
    "remove_edges_from": {"edge"},
    "remove_edges_to": {"edge"},
    "remove_ledger": {"primary"},
    "remove_of_document": {"document"},
    "remove_similar_to": {"other"},
    "similar_from": {"edge"},
    "similar_chunks": {"embedding", "primary"},
    "similar_chunks_exact": {"camera_start", "primary"},
    "settle_times": {"edge"},
    "stitch_chunks": {"edge"},
    "theme_entities": {"primary"},
    "regrouped_entities": {"regrouped"},
    "themed_entities": {"primary"},
    "theme_neighbours": {"edge", "primary", "canonical"},
    "theme_links": {"edge"},
    "theme_mentions": {"edge"},
    "theme_region": {"members"},
    "theme_span": {"primary"},
    "theme_texts": {"primary"},
    "themes_of_document": {"document", "edge"},
    "window_texts": {"document_index", "edge"},
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with fresh_store(tmp_path_factory.mktemp("plans")) as store:
        store.claim_embedding("text", "test", DIMENSION)
        for document, camera in (("one", "dock"), ("two", "gate")):
            store.apply(corpus(document, camera))
        window = {
            "_key": "w",
            "kind": "window",
            "level": 0,
            "document": "one",
            "cameras": ["dock"],
            "title": "crates",
            "summary": "",
        }
        store.claim_embedding("image", "test", DIMENSION)
        picture = {"document": "one", "camera": "dock", "chunk": "one-0001", "asset": "a"}
        frames = tuple(
            {**picture, "_key": f"f{n}", "at_ms": n, "offset_ms": n, "embedding": vector()} for n in range(64)
        )
        store.apply(GraphDelta({"frames": frames}))
        store.apply(
            GraphDelta({"communities": (window | {"start_ms": 0, "end_ms": 9, "known_ms": 9, "embedding": vector()},)})
        )
        store.ensure_vector_indexes()
        yield store


def binds(name: str, **others: Any) -> dict[str, Any]:
    """Those that a query declares."""
    given = {**BINDS[name], **others}
    return {bind: value for bind, value in given.items() if f"@{bind}" in query(name).binds}


def plan(store: Store, name: str) -> list[dict[str, Any]]:
    database: Any = store._db
    return list(database.aql.explain(query(name).text, bind_vars=binds(name))["nodes"])


def test_every_query_has_a_plan_here() -> None:
    assert set(BINDS) == set(query_names())


@pytest.mark.parametrize("name", sorted(BINDS))
def test_nothing_is_read_whole_that_an_index_can_serve(name: str, filled: Store) -> None:
    """A loop that a constant condition keeps from running (NoResultsNode after it) reads nothing."""
    nodes = [*plan(filled, name), {"type": ""}]
    whole = {
        node["collection"]
        for node, after in pairwise(nodes)
        if node["type"] == "EnumerateCollectionNode" and after["type"] != "NoResultsNode"
    }
    assert whole <= WHOLE.get(name, set())


@pytest.mark.parametrize("name", sorted(INTENDED))
def test_a_query_uses_the_index_meant_for_it(name: str, filled: Store) -> None:
    assert INTENDED[name] <= set(used(plan(filled, name)))


def used(nodes: list[dict[str, Any]]) -> Iterator[str]:
    """Names of indexes anywhere in a plan; edge and primary indexes by their kind. A traversal always goes by the edge index."""
    for node in nodes:
        if node["type"] == "EnumerateNearVectorNode":
            yield "embedding"
        if node["type"] == "TraversalNode":
            yield "edge"
        indexes = node.get("indexes", [])
        for index in indexes if isinstance(indexes, list) else [i for side in indexes.values() for i in side]:
            yield index["name"] if index["type"] == "persistent" else index["type"]


@pytest.mark.parametrize("name", sorted(BINDS))
def test_every_query_runs(name: str, filled: Store) -> None:
    if not name.startswith(("remove", "write", "merge", "update", "copy", "move", "touch", "tag", "tell")):
        database: Any = filled._db
        list(database.aql.execute(query(name).text, bind_vars=binds(name)))


EACH: dict[str, dict[str, Any]] = {
    "cameras": {"cameras": ["dock"]},
    "documents": {"documents": ["one"]},
    "span": {"start_ms": 1000, "end_ms": 9000},
    "not_after": {"not_after": 9000},
    "as_of": {"as_of": 9000},
    "hours": {"hours": {"UTC": {"0": [[0, 9000]]}}, "zones": {"dock": "UTC"}},
    "modalities": {"modalities": ["speech"]},
    "speakers": {"speakers": ["ada"]},
    "types": {"entity_types": ["person"], "relation_types": ["gives"]},
    "within": {"entities": ["entities/p1"], "within": IDS},
}
"""Every filter alone, as bind variables."""
LEGS_BY_INDEX: dict[str, set[str]] = {
    "hybrid_chunks": {"embedding"}, "weighted_chunks": {"embedding"}, "walk_clips": {"embedding", "edge"}, "search_frames": {"embedding"},
    "search_entities": {"embedding", "to_start"}, "search_communities": {"embedding"}, "expand_entities": {"edge"},
    "stitch_chunks": {"edge"}, "read_chunks": {"primary"}, "rank_graph": {"edge", "to_start"}, "match_relations": {"edge"},
    "community_chunks": {"edge"}, "passing_chunks": {"to_start", "type_start", "relation"}, "subgraph_nodes": {"primary"},
}  # fmt: skip
"""The queries of a retrieval: whichever filter is set, each leg and each hop goes by its own index."""


@pytest.mark.parametrize("chosen", EACH)
@pytest.mark.parametrize("name", LEGS_BY_INDEX)
def test_a_leg_keeps_its_index_under_every_filter(name: str, chosen: str, filled: Store) -> None:
    database: Any = filled._db
    given = binds(name, **{**OPEN, "languages": 1, "plain": False, **EACH[chosen]})
    if name == "passing_chunks":
        given |= {"entities": ["entities/p1"], "entity_types": ["person"], "relation_types": ["gives"]}
    nodes = list(database.aql.explain(query(name).text, bind_vars=given)["nodes"])
    gone = {"embedding"} if name == "search_entities" and chosen in ("not_after", "as_of") else set()
    assert LEGS_BY_INDEX[name] - gone <= set(used(nodes))
    list(database.aql.execute(query(name).text, bind_vars=given))
