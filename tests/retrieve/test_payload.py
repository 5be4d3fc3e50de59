"""Subgraphs against plain Python: what is in reach, what filters let through, how it is numbered; and what other tools make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import fresh_store
from tests.retrieve.test_rerank import VECTORS, _placed
from tests.store.test_finding import passing, random_filters
from tests.store.test_store import DIMENSION
from vgraph.app import to_json
from vgraph.errors import MissingDependency, UserError
from vgraph.ingest.communities import Writers
from vgraph.ingest.derive import DeriveOptions, derive
from vgraph.ingest.similar import SimilarOptions
from vgraph.integrations.networkx import subgraph_graph
from vgraph.models.loading import installed
from vgraph.models.offline import HashEmbedder
from vgraph.retrieve import Profile, retrieve
from vgraph.retrieve.payload import ATTRIBUTES, EDGES, Around, subgraph
from vgraph.store import Store
from vgraph.types import Filters, Subgraph

QUESTION = "who carries crate 7?"
ANCHORS = {"chunks/one-0007": 0.5, "entities/p3": 0.25}
UNTIMED = {"NEXT_CHUNK", "SIMILAR_TO", "IN_SUMMARY", "SUMMARY_OF", "PART_OF", "RECORDED_BY"}
EVERYTHING = Around(2, EDGES, 0.3, 10_000)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with fresh_store(tmp_path_factory.mktemp("payload")) as opened:
        opened.claim_embedding("text", "hash", DIMENSION)
        for document, camera in (("one", "dock"), ("two", "gate")):
            opened.apply(_placed(document, camera))
        options = DeriveOptions(similar=SimilarOptions(0.2, 3), identity=None)
        derive(opened, options, Writers(HashEmbedder(DIMENSION), None, 2))
        yield opened


@pytest.fixture(scope="module")
def records(store: Store) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for name, record in store.export():
        found.setdefault(name, []).append(record)
    return found


def made(store: Store, filters: Filters = Filters(), around: Around = EVERYTHING) -> Subgraph:
    return subgraph(QUESTION, VECTORS(QUESTION), ANCHORS, filters, store, around, model="hash")


def reach(records: dict[str, list[dict[str, Any]]], filters: Filters, around: Around) -> tuple[set[str], set[str]]:
    """Ids of the nodes and edges in reach, by breadth-first search over all records."""
    nodes = {f"chunks/{c['_key']}" for c in records["chunks"] if passing(c, filters)} | {
        f"entities/{e['_key']}" for e in records["entities"]
    }
    for c in records.get("communities", []):
        shown = {**c, "camera": next((x for x in c["cameras"] if filters.cameras is None or x in filters.cameras), "-")}
        if passing(shown, filters):
            nodes.add(f"communities/{c['_key']}")
    for d in records["documents"]:
        shown = {**d, "document": d["_key"], "end_ms": d["start_ms"] + d["duration_ms"], "known_ms": d["start_ms"]}
        if passing(shown, filters):
            nodes.add(f"documents/{d['_key']}")
    nodes |= {
        f"cameras/{c['_key']}" for c in records["cameras"] if filters.cameras is None or c["_key"] in filters.cameras
    }
    if filters != Filters():
        known = {m["_to"] for m in records["HAS_ENTITY"] if passing(m, filters)}
        nodes = {id for id in nodes if not id.startswith("entities/") or id in known}
    edges = [
        {**edge, "_id": f"{kind}/{edge['_key']}"}
        for kind in around.edges
        for edge in records.get(kind, [])
        if (kind in UNTIMED or passing(edge, filters)) and (kind != "SIMILAR_TO" or edge["weight"] > around.eta)
    ]
    reached = set(ANCHORS) & nodes
    for _ in range(around.hops):
        reached |= {e["_to"] for e in edges if e["_from"] in reached} | {
            e["_from"] for e in edges if e["_to"] in reached
        }
        reached &= nodes
    inside = {e["_id"] for e in edges if e["_from"] in reached and e["_to"] in reached} if around.hops else set()
    return reached, inside


@pytest.mark.parametrize("hops", [0, 1, 2, 4])
@pytest.mark.parametrize("kinds", [EDGES, ("NEXT_CHUNK",), ("HAS_ENTITY", "LINKS_TO")])
def test_it_holds_what_is_in_reach_and_every_edge_between(
    store: Store, records: dict[str, list[dict[str, Any]]], hops: int, kinds: tuple[str, ...]
) -> None:
    around = Around(hops, kinds, 0.3, 10_000)
    found = made(store, around=around)
    nodes, edges = reach(records, Filters(), around)
    assert {node.id for node in found.nodes} == nodes
    assert set(found.edge_ids) <= edges
    if all(
        kind not in kinds for kind in ("LINKS_TO", "IN_SUMMARY", "PART_OF")
    ):  # where no vertex has more than MOST of a kind
        assert set(found.edge_ids) == edges


@pytest.mark.parametrize("seed", range(25))
def test_no_filter_lets_anything_else_through(
    store: Store, records: dict[str, list[dict[str, Any]]], seed: int
) -> None:
    chosen = random_filters(seed)
    found = made(store, chosen)
    nodes, edges = reach(records, chosen, EVERYTHING)
    assert {node.id for node in found.nodes} == nodes
    assert set(found.edge_ids) <= edges


def test_numbers_lead_back_and_the_shapes_agree(store: Store) -> None:
    found = made(store)
    (sources, targets), count = found.edge_index, len(found.edge_ids)
    assert (
        len(sources)
        == len(targets)
        == len(found.edge_type)
        == len(found.edge_attributes)
        == len(found.edge_texts)
        == count
        > 50
    )
    assert {*sources, *targets} <= set(range(len(found.nodes)))
    assert found.edge_attribute_names == ATTRIBUTES and all(len(row) == 4 for row in found.edge_attributes)
    assert {found.nodes[n].id for n in found.anchors} == set(ANCHORS)
    assert all(found.nodes[n].hop == 0 and found.nodes[n].score > 0 for n in found.anchors)
    assert (
        "passes" in found.relation_types
        and "HAS_ENTITY" in found.relation_types
        and "LINKS_TO" not in found.relation_types
    )
    assert {len(node.features) for node in found.nodes if node.features} == {DIMENSION} == {found.dimension}
    assert {node.kind for node in found.nodes} == {"chunk", "entity", "community", "document", "camera"}
    assert found.vector == tuple(VECTORS(QUESTION)) and found.model == "hash"
    mention = found.edge_ids.index(next(id for id in found.edge_ids if id.startswith("HAS_ENTITY/")))
    assert found.edge_texts[mention].startswith("person")
    assert found == made(store)


def test_of_an_entity_nothing_is_told_that_was_known_only_later(store: Store) -> None:
    early = {node.id: node for node in made(store, Filters(not_after=9_000)).nodes}
    late = {node.id: node for node in made(store).nodes}
    person = early["entities/p3"]
    assert late["entities/p3"].features is not None and person.features is None
    assert person.end_ms is not None and person.end_ms <= 9_000 < (late["entities/p3"].end_ms or 0)
    assert all((node.end_ms or 0) <= 9_000 for node in early.values())


def test_there_are_at_most_so_many_nodes_anchors_first_and_that_is_told(store: Store) -> None:
    few = made(store, around=Around(2, EDGES, 0.3, 12))
    assert len(few.nodes) == 12 and "more than 12 nodes are in reach" in few.warnings[0]
    assert {few.nodes[n].id for n in few.anchors} == set(ANCHORS)
    assert [node.hop for node in few.nodes] == sorted(node.hop for node in few.nodes)
    assert made(store).warnings == ()


def test_an_edge_there_is_not_is_told(store: Store) -> None:
    with pytest.raises(UserError, match="there are no edges LIKES; subgraphs take NEXT_CHUNK"):
        made(store, around=Around(1, ("LIKES",)))


def test_the_profile_gives_evidence_with_the_subgraph_of_its_hits(store: Store) -> None:
    found = retrieve(QUESTION, store, VECTORS, Filters(("dock",)), Profile(way="graph", k=4, hops=1))
    assert found.way == "graph" and len(found.hits) == 4 and found.graph is not None
    anchors = {found.graph.nodes[n].id for n in found.graph.anchors}
    assert {f"chunks/{hit.chunk}" for hit in found.hits} <= anchors
    assert any(id.startswith("entities/") for id in anchors)
    assert all(node.camera in (None, "dock") for node in found.graph.nodes)


def test_as_json_it_is_lists_of_numbers(store: Store) -> None:
    found = json.loads(to_json(made(store)))
    assert len(found["edge_index"]) == 2 and isinstance(found["edge_index"][0][0], int)
    assert found["nodes"][0]["features"][0] == pytest.approx(made(store).nodes[0].features[0])  # type: ignore[index]


# --- other tools --------------------------------------------------------------------------------------------------------


def test_networkx_has_the_same_nodes_and_edges(store: Store) -> None:
    found = made(store)
    graph = subgraph_graph(found)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (len(found.nodes), len(found.edge_ids))
    assert graph.nodes["chunks/one-0007"]["anchor"] and graph.nodes["entities/p3"]["kind"] == "entity"
    source, target, key, facts = next(iter(graph.edges(keys=True, data=True)))
    number = found.edge_ids.index(key)
    assert (found.nodes[found.edge_index[0][number]].id, found.nodes[found.edge_index[1][number]].id) == (
        source,
        target,
    )
    assert facts["relation"] == found.relation_types[found.edge_type[number]] and set(ATTRIBUTES) <= set(facts)
    assert graph.graph["question"] == QUESTION


needs_geometric = pytest.mark.skipif(
    not installed("torch_geometric"), reason="torch_geometric is not installed (extra graph)"
)


@pytest.mark.skipif(installed("torch_geometric"), reason="torch_geometric is installed")
def test_without_pytorch_geometric_the_extra_is_named(store: Store) -> None:
    from vgraph.integrations.torch_geometric import data

    with pytest.raises(MissingDependency, match=r"pip install 'vgraph\[graph\]'"):
        data(made(store))


@needs_geometric
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_pytorch_geometric_data_is_valid_and_can_be_convolved(store: Store) -> None:
    from torch_geometric.nn import RGCNConv

    from vgraph.integrations.torch_geometric import data

    found = made(store)
    payload = data(found)
    assert payload.validate() and payload.x.shape == (len(found.nodes), DIMENSION)
    assert payload.edge_index.tolist() == [list(ends) for ends in found.edge_index]
    assert payload.is_anchor.nonzero().flatten().tolist() == list(found.anchors)
    assert payload.has_features.tolist() == [node.features is not None for node in found.nodes]
    convolved = RGCNConv(DIMENSION, 4, len(found.relation_types))(payload.x, payload.edge_index, payload.edge_type)
    assert convolved.shape == (len(found.nodes), 4)


@needs_geometric
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_pytorch_geometric_hetero_data_keeps_every_edge_under_its_kinds(store: Store) -> None:
    from vgraph.integrations.torch_geometric import hetero_data

    found = made(store)
    payload = hetero_data(found)
    assert payload.validate() and set(payload.node_types) == {node.kind for node in found.nodes}
    assert sum(payload[triple].edge_index.shape[1] for triple in payload.edge_types) == len(found.edge_ids)
    assert ("chunk", "HAS_ENTITY", "entity") in payload.edge_types and (
        "entity",
        "passes",
        "entity",
    ) in payload.edge_types
    store_ = payload["chunk", "HAS_ENTITY", "entity"]
    source, target = store_.edge_index[:, 0].tolist()
    number = found.edge_ids.index(store_.edge_id[0])
    ids = found.nodes[found.edge_index[0][number]].id, found.nodes[found.edge_index[1][number]].id
    assert (payload["chunk"].node_id[source], payload["entity"].node_id[target]) == ids


@needs_geometric
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_a_subgraph_of_nothing_is_data_of_nothing(store: Store) -> None:
    from vgraph.integrations.torch_geometric import data, hetero_data

    nothing = made(store, Filters(cameras=()), Around(1, ("NEXT_CHUNK",)))
    assert not [node for node in nothing.nodes if node.kind == "chunk"]
    lone = subgraph(QUESTION, VECTORS(QUESTION), {}, Filters(), store, Around())
    assert lone.nodes == () and data(lone).num_nodes == 0 and hetero_data(lone).node_types == []
