"""Graph walks: orders recorded from a server, a plain stack and queue as reference, and networkx for paths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgraph.embedded.errors import ArangoError, Warnings
from vgraph.embedded.graphs import (
    ALL,
    Callbacks,
    Expander,
    NamedGraph,
    PathSpec,
    TraversalSpec,
    Wants,
    all_shortest_paths,
    edge_sources,
    k_paths,
    k_shortest_paths,
    path_options,
    resolve_graph,
    shortest_path,
    traversal_options,
    traverse,
)
from vgraph.embedded.graphs.memory import MemoryCollection, MemoryRuntime, MemoryTransaction
from vgraph.embedded.graphs.weights import WeightQueue

Edge = tuple[int, int, float]

TREE = [
    ("A", "B", "left_bar"),
    ("B", "C", "left_blarg"),
    ("C", "D", "left_blorg"),
    ("B", "E", "left_blub"),
    ("E", "F", "left_schubi"),
    ("A", "G", "right_foo"),
    ("G", "H", "right_blob"),
    ("H", "I", "right_blub"),
    ("G", "J", "right_zip"),
    ("J", "K", "right_zup"),
]
TRAINS = """Inverness Aberdeen 3; Aberdeen Inverness 2.5; Aberdeen Leuchars 1.5; Leuchars Aberdeen 1; Leuchars Edinburgh 1.5;
Edinburgh Leuchars 3; Edinburgh Glasgow 1; Glasgow Edinburgh 1; Edinburgh York 3.5; York Edinburgh 4; Glasgow Carlisle 1;
Carlisle Glasgow 1; Carlisle York 2.5; York Carlisle 3.5; Carlisle Birmingham 2; Birmingham Carlisle 1; Birmingham London 1.5;
London Birmingham 2.5; Leuchars StAndrews 0.2; StAndrews Leuchars 0.2; York London 1.8; London York 2; London Brussels 2.5;
Brussels London 3.5; Brussels Cologne 2; Cologne Brussels 1.5; Toronto Winnipeg 36; Winnipeg Toronto 35"""


def graph(vertices: str, edges: list[dict[str, Any]], names: list[str], edge_name: str = "edges") -> MemoryTransaction:
    documents = [{"_key": name, "_id": f"{vertices}/{name}", "label": name} for name in names]
    return MemoryTransaction(
        [MemoryCollection(edge_name, 1, 3, edges), MemoryCollection(vertices, 2, 2, documents)],
        [{"name": "g", "edgeDefinitions": [{"collection": edge_name, "from": [vertices], "to": [vertices]}]}],
    )


def tree() -> MemoryTransaction:
    edges = [{"_from": f"circles/{a}", "_to": f"circles/{b}", "label": label} for a, b, label in TREE]
    return graph("circles", edges, list("ABCDEFGHIJK"))


def trains() -> MemoryTransaction:
    rows = [line.split() for line in TRAINS.replace("\n", " ").split(";")]
    edges = [{"_from": f"places/{a}", "_to": f"places/{b}", "travelTime": float(time)} for a, b, time in rows]
    return graph("places", edges, sorted({row[0] for row in rows} | {row[1] for row in rows}))


def expander(txn: MemoryTransaction, direction: Any = "outbound") -> Expander:
    return Expander(txn, edge_sources(txn, resolve_graph(txn, "g").edge_collections, direction))


def keys(results: Iterator[Any]) -> list[str]:
    return [vertex["_key"] for _, vertex, _, _ in results]


def routes(paths: Iterator[dict[str, Any]]) -> list[str]:
    return [" ".join(vertex["_key"] for vertex in path["vertices"]) for path in paths]


def walk(
    txn: MemoryTransaction, start: str, spec: TraversalSpec, direction: Any = "outbound", **more: Any
) -> list[str]:
    return keys(traverse(expander(txn, direction), [(None, start)], spec, MemoryRuntime(), **more))


# ------------------------------------------------------------------------------------------------ recorded orders


def test_depth_first_comes_out_in_reverse_order_of_insertion() -> None:
    assert "".join(walk(tree(), "circles/A", TraversalSpec(1, 3))) == "GJKHIBEFCD"
    assert "".join(walk(tree(), "circles/A", TraversalSpec(2, 2))) == "JHEC"


def test_any_takes_out_edges_before_in_edges() -> None:
    assert "".join(walk(tree(), "circles/E", TraversalSpec(1, 3), "any")) == "BAGCDF"


def test_breadth_first_comes_out_in_order_of_insertion() -> None:
    assert "".join(walk(tree(), "circles/A", TraversalSpec(0, 3, order="bfs"))) == "ABGCEHJDFIK"


def test_pruned_vertices_are_returned_but_not_passed() -> None:
    callbacks = Callbacks(
        prune=lambda _, v, e, p: v["label"] == "Carlisle" or (e is not None and e["travelTime"] > 3),
        prune_wants=Wants(vertex=ALL, edge=ALL),
    )
    found = traverse(
        expander(trains()),
        [(None, "places/London")],
        TraversalSpec(2, 3, unique_vertices="path"),
        MemoryRuntime(),
        callbacks=callbacks,
    )
    assert [" ".join(v["_key"] for v in path["vertices"]) for _, _, _, path in found] == [
        "London Brussels Cologne",
        "London York Carlisle",
        "London York Edinburgh",
        "London Birmingham Carlisle",
    ]


def test_prune_is_asked_about_the_start_vertex_without_an_edge() -> None:
    asked: list[Any] = []

    def prune(origin: Any, vertex: Any, edge: Any, path: Any) -> bool:
        asked.append((vertex["_key"], edge))
        return True

    spec = TraversalSpec(1, 3)
    assert walk(trains(), "places/London", spec, callbacks=Callbacks(prune=prune)) == []
    assert asked == [("London", None)]


def test_all_shortest_paths_as_recorded() -> None:
    paths = all_shortest_paths(expander(trains()), "places/Carlisle", "places/London", PathSpec(), MemoryRuntime())
    assert routes(paths) == ["Carlisle York London", "Carlisle Birmingham London"]


def test_one_shortest_path_as_recorded() -> None:
    rows = shortest_path(expander(trains()), "places/Carlisle", "places/London", PathSpec(), MemoryRuntime())
    assert [(v["_key"], e and e["travelTime"]) for v, e in rows] == [("Carlisle", None), ("York", 2.5), ("London", 1.8)]


def test_k_shortest_paths_as_recorded() -> None:
    paths = k_shortest_paths(expander(trains()), "places/Aberdeen", "places/London", PathSpec(), MemoryRuntime())
    assert routes(islice(paths, 3)) == [
        "Aberdeen Leuchars Edinburgh York London",
        "Aberdeen Leuchars Edinburgh York Carlisle Birmingham London",
        "Aberdeen Leuchars Edinburgh Glasgow Carlisle Birmingham London",
    ]


def test_k_shortest_paths_by_weight_as_recorded() -> None:
    spec = PathSpec(weight_attribute="travelTime", default_weight=15)
    paths = list(
        islice(k_shortest_paths(expander(trains()), "places/StAndrews", "places/Cologne", spec, MemoryRuntime()), 3)
    )
    assert [round(path["weight"], 6) for path in paths] == [11.5, 11.7, 12.5]
    assert routes(iter(paths))[0] == "StAndrews Leuchars Edinburgh York London Brussels Cologne"


def test_k_paths_as_recorded() -> None:
    paths = k_paths(expander(trains()), "places/Aberdeen", "places/London", PathSpec(1, 10), MemoryRuntime())
    assert routes(paths) == [
        "Aberdeen Leuchars Edinburgh York London",
        "Aberdeen Leuchars Edinburgh Glasgow Carlisle Birmingham London",
        "Aberdeen Leuchars Edinburgh Glasgow Carlisle York London",
        "Aberdeen Leuchars Edinburgh York Carlisle Birmingham London",
    ]


@pytest.mark.parametrize("search", [k_paths, k_shortest_paths, all_shortest_paths, shortest_path])
def test_no_path_no_rows(search: Any) -> None:
    spec = PathSpec(1, 10)
    assert list(search(expander(trains()), "places/Carlisle", "places/Toronto", spec, MemoryRuntime())) == []


# ------------------------------------------------------------------------------------------------ conditions, options


def test_conditions_cut_every_path_through_what_they_reject() -> None:
    callbacks = Callbacks(
        accept_vertex=lambda _, index, v: v["_key"] != "G",
        vertex_depths=frozenset({1}),
        accept_edge=lambda _, index, e: e["label"] != "left_blub",
        edge_depths=frozenset({1}),
    )
    assert "".join(walk(tree(), "circles/A", TraversalSpec(1, 3), callbacks=callbacks)) == "BCD"


def test_a_dangling_edge_gives_null_and_is_passed() -> None:
    edges = [{"_from": "v/a", "_to": "v/gone"}, {"_from": "v/gone", "_to": "v/b"}]
    rt = MemoryRuntime()
    found = traverse(expander(graph("v", edges, ["a", "b"])), [(None, "v/a")], TraversalSpec(1, 2), rt)
    assert [vertex and vertex["_key"] for _, vertex, _, _ in found] == [None, "b"]
    assert rt.warnings.items == [(1202, "vertex 'v/gone' not found")]


def test_an_unknown_start_is_walked_and_no_start_warns() -> None:
    edges = [{"_from": "v/x", "_to": "v/a"}]
    rt = MemoryRuntime()
    starts = [(1, "v/x"), (2, "foobar"), (3, {"_id": "v/x"}), (4, None), (5, {"no": "id"})]
    found = traverse(expander(graph("v", edges, ["a"])), starts, TraversalSpec(), rt, wants=Wants(vertex=ALL))
    assert [(origin, vertex["_key"]) for origin, vertex, _, _ in found] == [(1, "a"), (3, "a")]
    assert [num for num, _ in rt.warnings.items] == [10, 10, 10]


def test_a_vertex_of_an_unknown_collection_is_an_error_where_it_is_read() -> None:
    walk = expander(graph("v", [{"_from": "v/a", "_to": "nowhere/x"}], ["a"]))
    unread = traverse(walk, [(None, "v/a")], TraversalSpec(), MemoryRuntime(), wants=Wants(edge=ALL))
    assert len(list(unread)) == 1
    with pytest.raises(ArangoError) as error:
        list(traverse(walk, [(None, "v/a")], TraversalSpec(), MemoryRuntime()))
    assert error.value.num == 1203


def test_vertex_and_edge_collections_restrict_the_walk() -> None:
    txn = MemoryTransaction(
        [
            MemoryCollection("e", 1, 3, [{"_from": "v/a", "_to": "v/b"}, {"_from": "v/a", "_to": "w/c"}]),
            MemoryCollection("f", 2, 3, [{"_from": "v/b", "_to": "v/d"}]),
            MemoryCollection("v", 3, 2, [{"_key": key} for key in "abd"]),
            MemoryCollection("w", 4, 2, [{"_key": "c"}]),
        ]
    )
    both = Expander(txn, edge_sources(txn, ["e", "f"], "outbound"))

    def reached(**options: Any) -> str:
        spec = TraversalSpec(1, 2, order="bfs", **options)
        return "".join(keys(traverse(both, [(None, "v/a")], spec, MemoryRuntime())))

    assert reached() == "bcd"
    assert reached(vertex_collections=frozenset({"v"})) == "bd"
    assert reached(edge_collections=frozenset({"e"})) == "bc"


def test_paths_carry_weights_and_only_what_is_wanted() -> None:
    wants = Wants(path_vertices=frozenset({"label"}), path_weights=True)
    spec = TraversalSpec(2, 2, order="weighted", weight_attribute="travelTime", unique_vertices="path")
    found = list(traverse(expander(trains()), [(7, "places/London")], spec, MemoryRuntime(), wants=wants))
    assert all(origin == 7 and vertex is None and edge is None for origin, vertex, edge, _ in found)
    first = found[0][3]
    assert first == {
        "vertices": [{"label": "London"}, {"label": "Birmingham"}, {"label": "Carlisle"}],
        "weights": [0, 2.5, 3.5],
    }


def test_options_are_read_and_wrong_ones_warn() -> None:
    warnings = Warnings()
    options = {"order": "BFS", "uniqueVertices": "global", "nonsense": 1, "weightAttribute": 5}
    spec = traversal_options(1, 2, options, warnings)
    assert spec == TraversalSpec(1, 2, order="bfs", unique_vertices="global")
    assert [message for _, message in warnings.items] == [
        "unknown TRAVERSAL option 'nonsense'",
        "invalid TRAVERSAL option 'weightAttribute'",
    ]


@pytest.mark.parametrize(
    ("options", "num"),
    [
        ({"uniqueVertices": "global"}, 10),
        ({"uniqueEdges": "global"}, 10),
        ({"order": "sideways"}, 10),
        ({"edgeCollections": 1}, 10),
        ({"defaultWeight": -1}, 1948),
    ],
)
def test_refused_options(options: dict[str, Any], num: int) -> None:
    with pytest.raises(ArangoError) as error:
        traversal_options(1, 1, options, Warnings())
    assert error.value.num == num


def test_negative_weights_are_refused() -> None:
    edges = [{"_from": "v/a", "_to": "v/b", "w": -1}]
    spec = path_options(1, 1, {"weightAttribute": "w"}, Warnings())
    with pytest.raises(ArangoError) as error:
        list(shortest_path(expander(graph("v", edges, ["a", "b"])), "v/a", "v/b", spec, MemoryRuntime()))
    assert error.value.num == 1948


def test_edge_sources_are_checked() -> None:
    txn = tree()
    for names, num in ((["circles"], 1218), (["nothing"], 1203), ([("edges", "outbound"), ("edges", "inbound")], 1218)):
        with pytest.raises(ArangoError) as error:
            edge_sources(txn, names, "any")
        assert error.value.num == num
    assert len(edge_sources(txn, ["edges", "edges"], "any")) == 1


def test_named_graphs() -> None:
    with pytest.raises(ArangoError) as error:
        resolve_graph(tree(), "unknown")
    assert error.value.num == 1924
    definition = {
        "_key": "g",
        "edgeDefinitions": [
            {"collection": "z", "from": ["b"], "to": ["a"]},
            {"collection": "y", "from": ["b"], "to": ["b"]},
        ],
        "orphanCollections": ["o"],
    }
    named = NamedGraph.from_definition(definition)
    assert (named.name, named.edge_collections, named.vertex_collections) == ("g", ("y", "z"), ("a", "b", "o"))


# ------------------------------------------------------------------------------------------------ cost


def test_one_statement_per_depth_whatever_the_number_of_starts() -> None:
    edges = [{"_from": f"v/{n}", "_to": f"v/{10 * n + d}"} for n in range(1, 60) for d in range(3)]
    txn = graph("v", edges, [])
    starts = [(n, f"v/{n}") for n in range(1, 6)]
    for order in ("dfs", "bfs"):
        lookups = txn.collection("edges").lookups
        lookups.clear()
        spec = TraversalSpec(1, 2, order=order)  # type: ignore[arg-type]
        list(traverse(expander(txn), starts, spec, MemoryRuntime(), wants=Wants()))
        assert len(lookups) == 2


def test_a_consumer_that_stops_early_has_cost_little() -> None:
    edges = [{"_from": f"v/{n}", "_to": f"v/{(n * 7 + d) % 5000}"} for n in range(5000) for d in range(1, 6)]
    txn = graph("v", edges, [])
    found = traverse(expander(txn), [(None, "v/0")], TraversalSpec(1, 9), MemoryRuntime(), wants=Wants())
    assert len(list(islice(found, 10))) == 10
    assert sum(txn.collection("edges").lookups) < 500


# ------------------------------------------------------------------------------------------------ references

EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 4)), max_size=14)
DIRECTIONS = st.sampled_from(["outbound", "inbound", "any"])


def random_graph(edges: list[Edge]) -> MemoryTransaction:
    documents = [{"_from": f"v/{a}", "_to": f"v/{b}", "w": w} for a, b, w in edges]
    return graph("v", documents, [str(n) for n in range(7)])


def neighbours(edges: list[Edge], vertex: int, direction: str) -> list[tuple[int, int]]:
    out = [(n, b) for n, (a, b, _) in enumerate(edges) if a == vertex] if direction != "inbound" else []
    into = [(n, a) for n, (a, b, _) in enumerate(edges) if b == vertex] if direction != "outbound" else []
    return out + into


def plain_walk(edges: list[Edge], start: int, spec: TraversalSpec, direction: str) -> list[tuple[int, ...]]:
    """Paths in the order in which a stack (or queue) that is filled in order of insertion gives them."""
    waiting: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((start,), ())]
    found, seen = [], set()
    while waiting:
        vertices, used = waiting.pop() if spec.order == "dfs" else waiting.pop(0)
        if spec.unique_vertices == "global":
            if vertices[-1] in seen:
                continue
            seen.add(vertices[-1])
        if len(used) >= spec.min:
            found.append(vertices)
        if len(used) == spec.max:
            continue
        for edge, other in neighbours(edges, vertices[-1], direction):
            if spec.unique_vertices == "path" and other in vertices:
                continue
            if spec.unique_vertices == "none" and spec.unique_edges == "path" and used and edge in used:
                continue
            waiting.append(((*vertices, other), (*used, edge)))
    return found


SPECS = st.builds(
    lambda low, more, order, vertices, edges: TraversalSpec(
        low,
        low + more,
        order=order,
        unique_vertices=vertices if order == "bfs" or vertices != "global" else "path",
        unique_edges=edges,
    ),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from(["dfs", "bfs"]),
    st.sampled_from(["none", "path", "global"]),
    st.sampled_from(["none", "path"]),
)


@given(EDGES, SPECS, DIRECTIONS, st.lists(st.integers(0, 6), max_size=3))
def test_walks_equal_the_plain_stack_and_queue(
    edges: list[Edge], spec: TraversalSpec, direction: str, starts: list[int]
) -> None:
    found = traverse(expander(random_graph(edges), direction), [(n, f"v/{n}") for n in starts], spec, MemoryRuntime())
    paths = [(origin, tuple(int(v["_key"]) for v in path["vertices"])) for origin, _, _, path in found]
    assert paths == [(start, path) for start in starts for path in plain_walk(edges, start, spec, direction)]


@given(EDGES, DIRECTIONS)
def test_weighted_walks_visit_by_distance(edges: list[Edge], direction: str) -> None:
    spec = TraversalSpec(0, 9, order="weighted", unique_vertices="global", weight_attribute="w")
    found = list(traverse(expander(random_graph(edges), direction), [(None, "v/0")], spec, MemoryRuntime()))
    weights = [path["weights"][-1] for _, _, _, path in found]
    assert weights == sorted(weights)
    distances = nx.single_source_dijkstra_path_length(nx_graph(edges, direction), 0)
    assert {int(v["_key"]): weight for (_, v, _, _), weight in zip(found, weights, strict=True)} == distances


def nx_graph(edges: list[Edge], direction: str) -> Any:
    """The lightest edge between two vertices, in the direction of travel."""
    digraph = nx.DiGraph()
    digraph.add_nodes_from(range(7))
    for a, b, w in edges:
        for one, two in {"outbound": [(a, b)], "inbound": [(b, a)], "any": [(a, b), (b, a)]}[direction]:
            if not digraph.has_edge(one, two) or digraph[one][two]["weight"] > w:
                digraph.add_edge(one, two, weight=w)
    return digraph


def simple_paths(edges: list[Edge], direction: str, source: int, target: int, most: int) -> list[tuple[int, ...]]:
    """Edge sequences of every path without a repeated vertex."""
    found, waiting = [], [((source,), ())]
    while waiting:
        vertices, used = waiting.pop()
        if vertices[-1] == target:
            found.append(used)
        elif len(used) < most:
            waiting.extend(
                ((*vertices, other), (*used, edge))
                for edge, other in neighbours(edges, vertices[-1], direction)
                if other not in vertices
            )
    return found


def edge_numbers(path: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(edge["_key"]) for edge in path["edges"])


@given(EDGES, DIRECTIONS, st.integers(1, 6), st.booleans())
def test_shortest_paths_agree_with_networkx(edges: list[Edge], direction: str, target: int, weighted: bool) -> None:
    spec = PathSpec(weight_attribute="w" if weighted else None)
    goal = f"v/{target}"
    rows = list(shortest_path(expander(random_graph(edges), direction), "v/0", goal, spec, MemoryRuntime()))
    oracle = nx_graph(edges, direction)
    if not nx.has_path(oracle, 0, target):
        assert rows == []
        return
    assert [v["_key"] for v, _ in (rows[0], rows[-1])] == ["0", str(target)]
    for (before, _), (vertex, edge) in pairwise(rows):
        assert {edge["_from"], edge["_to"]} == {before["_id"], vertex["_id"]}
    length = sum(edge["w"] if weighted else 1 for _, edge in rows[1:])
    assert length == nx.shortest_path_length(oracle, 0, target, weight="weight" if weighted else None)


@given(EDGES, DIRECTIONS, st.integers(1, 6))
def test_all_shortest_paths_are_all_and_shortest(edges: list[Edge], direction: str, target: int) -> None:
    paths = all_shortest_paths(
        expander(random_graph(edges), direction), "v/0", f"v/{target}", PathSpec(), MemoryRuntime()
    )
    every = simple_paths(edges, direction, 0, target, 7)
    least = min(map(len, every), default=0)
    assert sorted(map(edge_numbers, paths)) == sorted(path for path in every if len(path) == least)


@given(EDGES, DIRECTIONS, st.integers(1, 6), st.integers(1, 3), st.integers(0, 3))
def test_k_paths_are_all_simple_paths(edges: list[Edge], direction: str, target: int, least: int, more: int) -> None:
    spec = PathSpec(least, least + more)
    paths = k_paths(expander(random_graph(edges), direction), "v/0", f"v/{target}", spec, MemoryRuntime())
    every = simple_paths(edges, direction, 0, target, least + more)
    assert sorted(map(edge_numbers, paths)) == sorted(path for path in every if len(path) >= least)


@given(EDGES, DIRECTIONS, st.integers(1, 6), st.booleans())
def test_k_shortest_paths_are_all_simple_paths_by_weight(
    edges: list[Edge], direction: str, target: int, weighted: bool
) -> None:
    spec = PathSpec(weight_attribute="w" if weighted else None)
    paths = list(
        k_shortest_paths(expander(random_graph(edges), direction), "v/0", f"v/{target}", spec, MemoryRuntime())
    )
    weights = [path["weight"] for path in paths]
    assert weights == sorted(weights)
    assert weights == [sum(edge["w"] if weighted else 1 for edge in path["edges"]) for path in paths]
    assert sorted(map(edge_numbers, paths)) == sorted(simple_paths(edges, direction, 0, target, 7))


@given(st.lists(st.integers(0, 5)))
def test_the_queue_gives_the_lightest_first(weights: list[int]) -> None:
    class Entry:
        def __init__(self, weight: float) -> None:
            self.weight = weight

    queue: WeightQueue[Entry] = WeightQueue()
    for weight in weights:
        queue.push(Entry(weight))
    assert [queue.pop().weight for _ in weights] == sorted(weights)
