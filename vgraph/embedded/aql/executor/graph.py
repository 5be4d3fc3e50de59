"""Steps that walk graphs; the walks themselves are in `vgraph.embedded.graphs`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from vgraph.embedded import graphs
from vgraph.embedded.errors import ArangoError, Warnings

from ..plan import TraversalEdges
from .rows import Batch, Closure, Row, Rows, Run, Sizes, chunks, demand
from .steps import Demand

PATH_FUNCTIONS: dict[str, Callable[..., Iterator[Any]]] = {
    "K_SHORTEST_PATHS": graphs.k_shortest_paths,
    "ALL_SHORTEST_PATHS": graphs.all_shortest_paths,
    "K_PATHS": graphs.k_paths,
}


def depth(closure: Closure, rt: Run, seed: Row) -> int:
    value = closure(seed, rt)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 0:
        raise ArangoError(1501, "syntax error, depth of a traversal must be a non-negative integer")
    return int(value)


def expander(edges: TraversalEdges, rt: Run) -> graphs.Expander:
    pairs: Any = list(edges.collections)
    return graphs.Expander(rt.txn, graphs.edge_sources(rt.txn, pairs, "outbound"))


@dataclass(slots=True)
class PathTest:
    """A condition on one element of the path; `depths` None = every position."""

    slot: int
    condition: Closure
    depths: frozenset[int] | None


class Scratch:
    """A copy of the row a walk began with, for conditions to be evaluated in: one for all steps of the walk."""

    __slots__ = ("origin", "row")

    def __init__(self) -> None:
        self.origin: Row | None = None
        self.row: Row = []

    def of(self, origin: Row) -> Row:
        if origin is not self.origin:
            self.origin, self.row = origin, origin.copy()
        return self.row


def test_for(tests: tuple[PathTest, ...], rt: Run) -> Callable[[Row, int, Any], bool]:
    scratch = Scratch()

    def accept(origin: Row, index: int, element: Any) -> bool:
        row = scratch.of(origin)
        for test in tests:
            if test.depths is None or index in test.depths:
                row[test.slot] = element
                if not test.condition(row, rt):
                    return False
        return True

    return accept


def tested_depths(tests: tuple[PathTest, ...]) -> frozenset[int] | None:
    """The positions any of the tests is about, None = all."""
    if any(test.depths is None for test in tests):
        return None
    return frozenset(depth for test in tests for depth in test.depths or ())


@dataclass(slots=True)
class Prune:
    condition: Closure
    wants: graphs.Wants
    slot: int | None


@dataclass(slots=True)
class Traverse:
    slots: tuple[int, int | None, int | None]
    start: Closure
    low: Closure
    high: Closure
    edges: TraversalEdges
    options: dict[str, Any]
    prune: Prune | None
    edge_tests: tuple[PathTest, ...]
    vertex_tests: tuple[PathTest, ...]
    wants: graphs.Wants
    test_wants: tuple[Any, Any]
    filter: Closure | None
    demand: Demand

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        spec = graphs.traversal_options(depth(self.low, rt, seed), depth(self.high, rt, seed), self.options, Warnings())
        starts = ((row, self.start(row, rt)) for batch in source for row in batch)
        walk = graphs.traverse(
            expander(self.edges, rt), starts, spec, rt, wants=self.wants, callbacks=self.callbacks(rt)
        )
        for found in chunks(walk, Sizes(demand(self.demand, rt, seed))):
            rt.check()
            rt.stats.scanned_index += len(found)
            kept = self.rows(found, rt)
            if kept:
                yield kept

    def rows(self, found: list[tuple[Row, Any, Any, Any]], rt: Run) -> Batch:
        kept: Batch = []
        v, e, p = self.slots
        condition = self.filter
        for origin, vertex, edge, path in found:
            row = origin.copy()
            row[v] = vertex
            if e is not None:
                row[e] = edge
            if p is not None:
                row[p] = path
            if self.prune is not None and self.prune.slot is not None:
                row[self.prune.slot] = self.prune.condition(row, rt)
            if condition is None or condition(row, rt):
                kept.append(row)
        rt.stats.filtered += len(found) - len(kept)
        return kept

    def callbacks(self, rt: Run) -> graphs.Callbacks:
        given: dict[str, Any] = {}
        if self.prune is not None:
            given |= {"prune": self.prune_test(self.prune, rt), "prune_wants": self.prune.wants}
        if self.edge_tests:
            given |= {
                "accept_edge": test_for(self.edge_tests, rt),
                "edge_depths": tested_depths(self.edge_tests),
                "accept_edge_wants": self.test_wants[0],
            }
        if self.vertex_tests:
            given |= {
                "accept_vertex": test_for(self.vertex_tests, rt),
                "vertex_depths": tested_depths(self.vertex_tests),
                "accept_vertex_wants": self.test_wants[1],
            }
        return graphs.Callbacks(**given)

    def prune_test(self, prune: Prune, rt: Run) -> Callable[[Row, Any, Any, Any], bool]:
        v, e, p = self.slots
        scratch = Scratch()

        def pruned(origin: Row, vertex: Any, edge: Any, path: Any) -> bool:
            row = scratch.of(origin)
            row[v] = vertex
            if e is not None:
                row[e] = edge
            if p is not None:
                row[p] = path
            return bool(prune.condition(row, rt))

        return pruned


@dataclass(slots=True)
class ShortestPath:
    slots: tuple[int, int | None]
    start: Closure
    target: Closure
    edges: TraversalEdges
    options: dict[str, Any]
    wants: graphs.Wants

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        spec = graphs.path_options(1, 1, self.options, Warnings())
        found = expander(self.edges, rt)
        for batch in source:
            for row in batch:
                rt.check()
                path = graphs.shortest_path(
                    found, self.start(row, rt), self.target(row, rt), spec, rt, wants=self.wants
                )
                kept = [self.row(row, vertex, edge) for vertex, edge in path]
                if kept:
                    yield kept

    def row(self, origin: Row, vertex: Any, edge: Any) -> Row:
        row = origin.copy()
        row[self.slots[0]] = vertex
        if self.slots[1] is not None:
            row[self.slots[1]] = edge
        return row


@dataclass(slots=True)
class EnumeratePaths:
    kind: str
    slot: int
    start: Closure
    target: Closure
    low: Closure
    high: Closure
    edges: TraversalEdges
    options: dict[str, Any]
    wants: graphs.Wants
    demand: Demand

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        spec = graphs.path_options(depth(self.low, rt, seed), depth(self.high, rt, seed), self.options, Warnings())
        found = expander(self.edges, rt)
        sizes = Sizes(demand(self.demand, rt, seed))
        for batch in source:
            for row in batch:
                paths = PATH_FUNCTIONS[self.kind](
                    found, self.start(row, rt), self.target(row, rt), spec, rt, wants=self.wants
                )
                for chunk in chunks(paths, sizes):
                    rt.check()
                    yield [self.row(row, path) for path in chunk]

    def row(self, origin: Row, path: Any) -> Row:
        row = origin.copy()
        row[self.slot] = path
        return row
