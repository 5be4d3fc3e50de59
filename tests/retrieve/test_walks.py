"""PageRank against networkx."""

from __future__ import annotations

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.retrieve.walks import page_rank

NAMES = st.sampled_from("abcdefgh")
EDGES = st.lists(st.tuples(NAMES, NAMES, st.floats(0.1, 9.0)).filter(lambda edge: edge[0] != edge[1]), max_size=20)
SEEDS = st.dictionaries(NAMES, st.floats(0.1, 5.0), min_size=1)


@given(EDGES, SEEDS)
def test_ranks_are_those_of_networkx(edges: list[tuple[str, str, float]], seeds: dict[str, float]) -> None:
    graph = networkx.Graph()
    graph.add_nodes_from(seeds)
    for a, b, weight in edges:
        before = graph.edges[a, b]["weight"] if graph.has_edge(a, b) else 0.0
        graph.add_edge(a, b, weight=before + weight)
    expected = networkx.pagerank(graph, 0.85, personalization=seeds, dangling=seeds, tol=1e-12, max_iter=1000)
    found = page_rank(edges, seeds)
    assert found == pytest.approx(expected, abs=1e-3)
    assert sum(found.values()) == pytest.approx(1.0)


def test_nobody_walks_without_a_seed() -> None:
    assert page_rank([("a", "b", 1.0)], {}) == {}
