"""Paths between two vertices: shortest, all shortest, k shortest, all within a length.

Two searches grow towards each other, the one with fewer ends first; the order of results follows from the order of the
ends (by vertex id) and from the newest meeting being told first, as recorded from a server.

Source: ArangoDB documentation, "Shortest Path", "k Shortest Paths", "All Shortest Paths" and "k Paths in AQL"; loopless
paths: Yen, "Finding the k shortest loopless paths in a network", Management Science 17 (1971), with Lawler's
restriction of branching.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .expand import Document, Expander
from .options import PathSpec
from .walk import ALL, Documents, Start, Step, Wants, start_id
from .weights import WeightQueue, Weights

PATH = Wants(path_vertices=ALL, path_edges=ALL)
ROWS = Wants(vertex=ALL, edge=ALL)
_WHERE = "Shortest Path"
_FIRST_BLOCK, _LARGEST_BLOCK = 16, 1024


def shortest_path(
    expander: Expander, start: Any, goal: Any, spec: PathSpec, rt: Any, *, wants: Wants = ROWS
) -> Iterator[tuple[Document | None, Document | None]]:
    """(v, e) along one shortest path, e null for the start; nothing when there is none. 1948 on a negative weight."""
    ends = _ends(start, goal, rt)
    route = _Search(expander, spec, rt).shortest(*ends) if ends else None
    if route is None:
        return
    for _, vertex, edge, _ in Documents(expander, wants, rt).rows(route.steps()):
        yield vertex, edge


def k_shortest_paths(
    expander: Expander, start: Any, goal: Any, spec: PathSpec, rt: Any, *, wants: Wants = PATH
) -> Iterator[Document]:
    """Loopless paths in order of length or weight, computed on demand: {vertices, edges, weight}."""
    ends = _ends(start, goal, rt)
    if ends is None:
        return
    documents = Documents(expander, wants, rt)
    for route in _Search(expander, spec, rt).loopless(*ends):
        yield _path(documents, route) | {"weight": route.weight}


def all_shortest_paths(
    expander: Expander, start: Any, goal: Any, spec: PathSpec, rt: Any, *, wants: Wants = PATH
) -> Iterator[Document]:
    """Every path with the fewest edges: {vertices, edges}."""
    yield from _told(_BothSides(expander, rt, 0, None, nearest=True), expander, start, goal, rt, wants)


def k_paths(
    expander: Expander, start: Any, goal: Any, spec: PathSpec, rt: Any, *, wants: Wants = PATH
) -> Iterator[Document]:
    """Every path of spec.min..spec.max edges that visits no vertex twice: {vertices, edges}."""
    yield from _told(_BothSides(expander, rt, spec.min, spec.max), expander, start, goal, rt, wants)


def _told(sides: _BothSides, expander: Expander, start: Any, goal: Any, rt: Any, wants: Wants) -> Iterator[Document]:
    ends = _ends(start, goal, rt)
    if ends is None:
        return
    documents = Documents(expander, wants, rt)
    for route in sides.routes(*ends):
        yield _path(documents, route)


def _ends(start: Any, goal: Any, rt: Any) -> tuple[str, str] | None:
    source = start_id(start, rt, _WHERE)
    target = start_id(goal, rt, _WHERE) if source is not None else None
    return None if source is None or target is None else (source, target)


def _path(documents: Documents, route: Route) -> Document:
    [(_, _, _, path)] = documents.rows(route.steps()[-1:])
    return path if path is not None else {}


@dataclass(slots=True)
class Route:
    """A path by vertex ids and edge tokens; `weights` are the edges' own."""

    vertices: list[str]
    edges: list[int]
    weights: list[float]
    branch: int = 0
    """Yen: the index of the vertex at which the path left the one it was made from."""
    weight: float = field(init=False)

    def __post_init__(self) -> None:
        self.weight = sum(self.weights)

    def steps(self) -> list[Step]:
        """The route as a chain of steps, first to last."""
        start = Start(None, self.vertices[0])
        steps = [Step(start, self.vertices[0], None, None, 0, 0)]
        for edge, vertex in zip(self.edges, self.vertices[1:], strict=True):
            steps.append(Step(start, vertex, edge, steps[-1], len(steps), len(steps)))
        return steps


def _meet(left: Step, right: Step) -> tuple[list[str], list[int]]:
    """The path made of a step from the source and a step from the target that end at the same vertex."""
    towards = list(left.back())
    towards.reverse()
    vertices = [step.vertex for step in towards]
    edges = [step.edge for step in towards if step.edge is not None]
    for step in right.back():
        if step.edge is not None and step.before is not None:
            edges.append(step.edge)
            vertices.append(step.before.vertex)
    return vertices, edges


class _Side:
    """One of the two searches: the ends of its paths at the present depth, and those still to be expanded."""

    def __init__(self, expander: Expander) -> None:
        self.expander = expander
        self.depth = 0
        self.shell: dict[str, list[Step]] = {}
        self.size = 0
        self.queue: deque[Step] = deque()
        self.seen: dict[str, int] = {}
        """Vertices and the depth at which they were reached first."""
        self._block = _FIRST_BLOCK
        self._ahead = 0

    def begin(self, vertex: str) -> None:
        self.keep(Step(Start(None, vertex), vertex, None, None, 0, 0))

    def keep(self, step: Step) -> None:
        self.shell.setdefault(step.vertex, []).append(step)
        self.size += 1

    def deepen(self) -> None:
        """The ends become the queue, by vertex id."""
        self.queue.extend(step for vertex in sorted(self.shell) for step in self.shell[vertex])
        self.shell, self.size = {}, 0
        self.depth += 1
        self._ahead = 0

    def next(self) -> Step:
        """The next step to expand, its neighbours looked up together with those of the steps after it."""
        if not self._ahead:
            self._ahead = min(self._block, len(self.queue))
            self.expander.prefetch([self.queue[index].vertex for index in range(self._ahead)])
            self._block = min(self._block * 4, _LARGEST_BLOCK)
        self._ahead -= 1
        return self.queue.popleft()

    @property
    def spent(self) -> bool:
        return not self.queue and not self.shell


class _BothSides:
    """Two breadth-first searches that meet: all paths without a repeated vertex, or those with the fewest edges."""

    def __init__(self, expander: Expander, rt: Any, least: int, most: int | None, *, nearest: bool = False) -> None:
        self._expander = expander
        self._rt = rt
        self._least = least
        self._most = most
        self._nearest = nearest

    def routes(self, source: str, target: str) -> Iterator[Route]:
        """Paths from source to target in the order of their discovery."""
        if source == target:
            if self._least == 0:
                yield Route([source], [], [])
            return
        left, right = _Side(self._expander), _Side(self._expander.reverse())
        left.begin(source)
        right.begin(target)
        side, other, most = left, right, self._most
        while not left.spent and not right.spent:
            if not side.queue:
                side, other = (right, left) if right.size < left.size else (left, right)
                side.deepen()
                if most is not None and left.depth + right.depth > most:
                    return
            self._rt.check()
            for mine, theirs in reversed(self._meetings(side, other)):
                if self._nearest and most is None:
                    most = left.depth + right.depth
                vertices, edges = _meet(mine, theirs) if side is left else _meet(theirs, mine)
                yield Route(vertices, edges, [1] * len(edges))

    def _meetings(self, side: _Side, other: _Side) -> list[tuple[Step, Step]]:
        """Expands one step; the pairs of steps, one of either side, that make a path."""
        step = side.next()
        taken = {back.vertex for back in step.back()}
        long_enough = side.depth + other.depth >= self._least
        found: list[tuple[Step, Step]] = []
        for token, vertex in side.expander.neighbours(step.vertex):
            if vertex in taken or (self._nearest and side.seen.setdefault(vertex, side.depth) < side.depth):
                continue
            mine = Step(step.start, vertex, token, step, side.depth, side.depth)
            if long_enough and vertex in other.shell:
                found.extend((mine, theirs) for theirs in other.shell[vertex] if theirs.avoids(taken))
            side.keep(mine)
        return found


class _Reached:
    """A vertex in a weighted search, by the edge over which it was reached at this weight."""

    __slots__ = ("before", "edge", "vertex", "weight")

    def __init__(self, vertex: str, edge: int | None, before: _Reached | None, weight: float) -> None:
        self.vertex = vertex
        self.edge = edge
        self.before = before
        self.weight = weight


class _WeightedSide:
    """One of two Dijkstra searches that meet."""

    def __init__(self, expander: Expander, weights: Weights, vertex: str) -> None:
        self.expander = expander
        self.weights = weights
        self.queue: WeightQueue[_Reached] = WeightQueue()
        self.least: dict[str, float] = {vertex: 0}
        self.settled: dict[str, _Reached] = {}
        self.radius: float = -1
        self.queue.push(_Reached(vertex, None, None, 0))
        self._ahead = 1

    def settle(self) -> _Reached | None:
        """The nearest vertex not settled yet."""
        while self.queue:
            reached = self.queue.pop()
            if reached.vertex not in self.settled:
                self.settled[reached.vertex] = reached
                self.radius = reached.weight
                self._look_ahead(reached)
                return reached
        return None

    def goes_before(self, other: _WeightedSide) -> bool:
        """Whether it is this (the left) side's turn: both begin, then the one with less to do goes on."""
        if self.radius < 0 or other.radius < 0:
            return self.radius < 0
        return len(self.queue) < len(other.queue)

    def _look_ahead(self, reached: _Reached) -> None:
        """Looks up what is needed now together with what the queue will soon ask for."""
        if self.expander.knows(reached.vertex):
            return
        vertices = [reached.vertex, *(entry.vertex for entry in self.queue.entries[: self._ahead])]
        self.expander.prefetch(vertices)
        self._ahead = min(self._ahead * 2, _FIRST_BLOCK * 4)
        self.weights.load([token for vertex in vertices for token, _ in self.expander.neighbours(vertex)])


class _Search:
    """Shortest paths by number of edges, or by weight when an attribute is given; some vertices and edges may be
    barred.
    """

    def __init__(self, expander: Expander, spec: PathSpec, rt: Any) -> None:
        self._expander = expander
        self._back = expander.reverse()
        self._rt = rt
        self._weighted = spec.weight_attribute is not None
        self._weights = Weights(expander, spec)

    def shortest(
        self,
        source: str,
        target: str,
        barred_vertices: frozenset[str] = frozenset(),
        barred_edges: frozenset[int] = frozenset(),
    ) -> Route | None:
        """One shortest path, or None."""
        if source == target:
            return Route([source], [], [])
        search = self._lightest if self._weighted else self._fewest
        return search(source, target, barred_vertices, barred_edges)

    def loopless(self, source: str, target: str) -> Iterator[Route]:
        """Yen's algorithm: each next path leaves an earlier one somewhere; candidates wait in order of weight."""
        latest = self.shortest(source, target)
        told: list[Route] = []
        candidates: list[tuple[Any, ...]] = []
        known: set[tuple[int, ...]] = set()
        while latest is not None:
            yield latest
            told.append(latest)
            for route in self._branches(latest, told, target):
                edges = tuple(route.edges)
                if edges not in known:
                    known.add(edges)
                    heapq.heappush(candidates, (*self._rank(route), len(known), route))
            latest = heapq.heappop(candidates)[-1] if candidates else None

    def _rank(self, route: Route) -> tuple[float, int, list[tuple[int, int]]]:
        """Lighter first, then more edges, then the younger edge where two paths part."""
        return route.weight, -len(route.edges), [self._expander.recency(edge) for edge in route.edges]

    def _branches(self, latest: Route, told: list[Route], target: str) -> Iterator[Route]:
        for at in range(latest.branch, len(latest.edges)):
            self._rt.check()
            prefix = latest.edges[:at]
            barred = frozenset(
                route.edges[at] for route in told if len(route.edges) > at and route.edges[:at] == prefix
            )
            spur = self.shortest(latest.vertices[at], target, frozenset(latest.vertices[:at]), barred)
            if spur is not None:
                yield Route(
                    latest.vertices[:at] + spur.vertices, prefix + spur.edges, latest.weights[:at] + spur.weights, at
                )

    def _fewest(
        self, source: str, target: str, barred_vertices: frozenset[str], barred_edges: frozenset[int]
    ) -> Route | None:
        """Two breadth-first searches; of the paths found in one step the last is told."""
        left, right = _Side(self._expander), _Side(self._back)
        left.begin(source)
        right.begin(target)
        side, other = left, right
        while not left.spent and not right.spent:
            self._rt.check()
            if not side.queue:
                side, other = (right, left) if right.size < left.size else (left, right)
                side.deepen()
            step = side.next()
            found: tuple[Step, Step] | None = None
            for token, vertex in side.expander.neighbours(step.vertex):
                if vertex in side.seen or vertex in barred_vertices or token in barred_edges:
                    continue
                side.seen[vertex] = side.depth
                mine = Step(step.start, vertex, token, step, side.depth, side.depth)
                if vertex in other.shell:
                    found = mine, other.shell[vertex][-1]
                side.keep(mine)
            if found is not None:
                vertices, edges = _meet(*found) if side is left else _meet(found[1], found[0])
                return Route(vertices, edges, [1] * len(edges))
        return None

    def _lightest(
        self, source: str, target: str, barred_vertices: frozenset[str], barred_edges: frozenset[int]
    ) -> Route | None:
        """Two Dijkstra searches, each turn that with the shorter queue, until no shorter meeting is possible."""
        left = _WeightedSide(self._expander, self._weights, source)
        right = _WeightedSide(self._back, self._weights, target)
        best: float | None = None
        meeting: tuple[_Reached, _Reached] | None = None
        while left.queue and right.queue:
            if best is not None and left.radius + right.radius >= best:
                break
            side, other = (left, right) if left.goes_before(right) else (right, left)
            self._rt.check()
            reached = side.settle()
            if reached is None:
                break
            for token, vertex in side.expander.neighbours(reached.vertex):
                if vertex in barred_vertices or token in barred_edges:
                    continue
                weight = reached.weight + self._weights[token]
                if vertex in side.least and side.least[vertex] <= weight:
                    continue
                side.least[vertex] = weight
                mine = _Reached(vertex, token, reached, weight)
                if vertex in other.settled:
                    theirs = other.settled[vertex]
                    if best is None or weight + theirs.weight < best:
                        best = weight + theirs.weight
                        meeting = (mine, theirs) if side is left else (theirs, mine)
                else:
                    side.queue.push(mine)
        return None if meeting is None else self._joined(*meeting)

    def _joined(self, left: _Reached, right: _Reached) -> Route:
        vertices, edges = [left.vertex], []
        reached: _Reached | None = left
        while reached is not None and reached.edge is not None and reached.before is not None:
            edges.append(reached.edge)
            reached = reached.before
            vertices.append(reached.vertex)
        vertices.reverse()
        edges.reverse()
        reached = right
        while reached is not None and reached.edge is not None and reached.before is not None:
            edges.append(reached.edge)
            reached = reached.before
            vertices.append(reached.vertex)
        return Route(vertices, edges, [self._weights[edge] for edge in edges])
