"""Traversals: depth first, breadth first and by weight, with pruning and conditions inside the walk.

Order (recorded from a server): depth first is a stack, so the neighbours of a vertex come out in reverse order of
insertion; breadth first is a queue. Either way a walk is computed in blocks: when one vertex has to be expanded, those
that will follow it at the same depth are expanded with it, which makes the number of statements grow with the depth and
not with the vertices.

Source: ArangoDB documentation, "Graph traversals in AQL".
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from .expand import VERTEX_NOT_FOUND, Document, Expander, Projection
from .options import TraversalSpec
from .weights import WeightQueue, Weights

ALL = None
"""A want for whole documents (the same meaning as projection=None of documents.Collection.fetch)."""

Want = Projection | bool
_FIRST_BLOCK, _LARGEST_BLOCK, _CHILDREN_OF_A_BLOCK = 64, 4096, 50_000
_FIRST_CHUNK, _LARGEST_CHUNK = 64, 1024
_LARGEST_AHEAD = 256
_FIRST_STARTS, _LARGEST_STARTS = 16, 256
_BREADTH_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class Wants:
    """What a consumer reads of a result; everything else is neither fetched nor built.

    Each of vertex, edge, path_vertices and path_edges is False (not read), ALL (whole documents) or a frozenset of top-
    level attribute names. A vertex that is read is checked for existence even with an empty set (dangling edges give
    null).
    """

    vertex: Want = False
    edge: Want = False
    path_vertices: Want = False
    path_edges: Want = False
    path_weights: bool = False

    @property
    def path(self) -> bool:
        """Whether a path object is wanted at all."""
        return self.path_vertices is not False or self.path_edges is not False or self.path_weights


EVERYTHING = Wants(vertex=ALL, edge=ALL, path_vertices=ALL, path_edges=ALL, path_weights=True)

Prune = Callable[[Any, Document | None, Document | None, Document | None], bool]
AcceptEdge = Callable[[Any, int, Document], bool]
AcceptVertex = Callable[[Any, int, Document | None], bool]


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Conditions evaluated inside the walk; each gets the origin first and says what it reads.

    prune(origin, v, e, p)           true: the result may be returned, the walk does not go on from it. The start
                                     vertex is asked too, with e null.
    accept_edge(origin, index, e)    false: no path whose p.edges[index] is e is returned or followed.
    accept_vertex(origin, index, v)  likewise for p.vertices[index]; index 0 is the start vertex.
    edge_depths, vertex_depths       the indexes at which the two are asked; None = all of them.
    """

    prune: Prune | None = None
    prune_wants: Wants = EVERYTHING
    accept_edge: AcceptEdge | None = None
    accept_edge_wants: Projection = ALL
    edge_depths: frozenset[int] | None = None
    accept_vertex: AcceptVertex | None = None
    accept_vertex_wants: Projection = ALL
    vertex_depths: frozenset[int] | None = None


NO_CALLBACKS = Callbacks()
Result = tuple[Any, Document | None, Document | None, Document | None]


def traverse(
    expander: Expander,
    starts: Iterable[tuple[Any, Any]],
    spec: TraversalSpec,
    rt: Any,
    *,
    wants: Wants = EVERYTHING,
    callbacks: Callbacks = NO_CALLBACKS,
) -> Iterator[Result]:
    """All paths of spec.min..spec.max edges from each (origin, start), start by start, as (origin, v, e, p).

    A start is an id string or an object with `_id`; anything else warns (10) and gives nothing. What `wants` leaves out
    comes as None (and path keys not wanted are absent). Starts are taken a few ahead, results are computed in growing
    batches: a consumer that stops early has cost little.
    """
    documents = Documents(expander, wants, rt)
    walk = _Walk(expander.restricted(spec.edge_collections), spec, rt, callbacks)
    for group in _chunks(starts, _FIRST_STARTS, _LARGEST_STARTS):
        roots = [Start(origin, id_) for origin, value in group if (id_ := start_id(value, rt, "traversal")) is not None]
        yield from documents.of(step for step in walk.steps(roots) if step.depth >= spec.min)


def start_id(value: Any, rt: Any, where: str) -> str | None:
    """The `_id` a walk starts from, or None after a warning."""
    id_ = value.get("_id") if isinstance(value, dict) else value
    if isinstance(id_, str) and "/" in id_:
        return id_
    rt.warnings.add(10, f"Invalid input for {where}: Only id strings or objects with _id are allowed")
    return None


def _chunks(items: Iterable[Any], first: int, largest: int) -> Iterator[list[Any]]:
    iterator, size = iter(items), first
    while chunk := list(islice(iterator, size)):
        yield chunk
        size = min(size * 4, largest)


class Start:
    """One start of a walk, and what is global to it."""

    __slots__ = ("found", "origin", "seen", "vertex")

    def __init__(self, origin: Any, vertex: str) -> None:
        self.origin = origin
        self.vertex = vertex
        self.seen: set[str] = set()
        self.found: list[Step] = []


class Step:
    """A path, by its last edge and the step before it."""

    __slots__ = ("before", "children", "depth", "edge", "open", "start", "vertex", "weight")

    def __init__(
        self, start: Start, vertex: str, edge: int | None, before: Step | None, depth: int, weight: float
    ) -> None:
        self.start = start
        self.vertex = vertex
        self.edge = edge
        self.before = before
        self.depth = depth
        self.weight = weight
        self.open = True
        """Whether the walk goes on from here."""
        self.children: list[Step] | None = None
        """What follows, between expansion and visit in a depth-first walk only: no cycle outlives its use."""

    def back(self) -> Iterator[Step]:
        """The steps from here to the start."""
        step: Step | None = self
        while step is not None:
            yield step
            step = step.before

    def avoids(self, vertices: set[str]) -> bool:
        """Whether the path touches none of the vertices."""
        return all(step.vertex not in vertices for step in self.back())


class Documents:
    """Turns steps into rows: documents are fetched for many steps at once, and only what is wanted."""

    def __init__(self, expander: Expander, wants: Wants, rt: Any) -> None:
        self._expander = expander
        self._wants = wants
        self._rt = rt
        self._vertex_projection = _union(wants.vertex, wants.path_vertices)
        self._edge_projection = _union(wants.edge, wants.path_edges)
        self._warned: set[str] = set()

    def of(self, steps: Iterable[Step]) -> Iterator[Result]:
        """(origin, v, e, p) for each step, in order."""
        if self._wants == _NOTHING:
            for step in steps:
                yield step.start.origin, None, None, None
            return
        for chunk in _chunks(steps, _FIRST_CHUNK, _LARGEST_CHUNK):
            yield from self.rows(chunk)

    def rows(self, steps: list[Step]) -> Iterator[Result]:
        """As `of`, for all the steps in one batch."""
        wants = self._wants
        vertices = self.vertices(steps)
        edges = self.edges(steps)
        for step in steps:
            yield (
                step.start.origin,
                vertices[step.vertex] if wants.vertex is not False else None,
                edges[step.edge] if wants.edge is not False and step.edge is not None else None,
                self._path(step, vertices, edges) if wants.path else None,
            )

    def vertices(self, steps: list[Step]) -> dict[str, Document | None]:
        """The vertex documents the steps' rows need."""
        if self._vertex_projection is False:
            return {}
        if self._wants.path_vertices is not False:
            ids: Iterable[str] = (back.vertex for step in steps for back in step.back())
        else:
            ids = (step.vertex for step in steps)
        ids = list(ids)
        found = self._expander.vertices(ids, self._vertex_projection)
        for id_ in ids:
            if found[id_] is None and id_ not in self._warned:
                self._warned.add(id_)
                self._rt.warnings.add(VERTEX_NOT_FOUND, f"vertex '{id_}' not found")
        return found

    def edges(self, steps: list[Step]) -> dict[int, Document | None]:
        """The edge documents the steps' rows need."""
        if self._edge_projection is False:
            return {}
        if self._edge_projection == frozenset():  # that they are there is all that is asked
            return defaultdict(dict)
        if self._wants.path_edges is not False:
            tokens = [back.edge for step in steps for back in step.back() if back.edge is not None]
        else:
            tokens = [step.edge for step in steps if step.edge is not None]
        return self._expander.edges(tokens, self._edge_projection)

    def _path(self, step: Step, vertices: dict[str, Document | None], edges: dict[int, Document | None]) -> Document:
        steps = list(step.back())
        steps.reverse()
        path: Document = {}
        if self._wants.path_vertices is not False:
            path["vertices"] = [vertices[step.vertex] for step in steps]
        if self._wants.path_edges is not False:
            path["edges"] = [edges[step.edge] for step in steps if step.edge is not None]
        if self._wants.path_weights:
            path["weights"] = [step.weight for step in steps]
        return path


_NOTHING = Wants()


def _union(left: Want, right: Want) -> Any:
    """The projection that serves both wants; False when neither reads anything."""
    if left is False or right is False:
        return right if left is False else left
    if not isinstance(left, frozenset) or not isinstance(right, frozenset):
        return ALL
    return left | right


class _Walk:
    """Expands steps in blocks and decides about each new step: rejected, final or open."""

    def __init__(self, expander: Expander, spec: TraversalSpec, rt: Any, callbacks: Callbacks) -> None:
        self._expander = expander
        self._spec = spec
        self._rt = rt
        self._callbacks = callbacks
        self._weights = Weights(expander, spec) if spec.order == "weighted" else None
        self._pruned = Documents(expander, callbacks.prune_wants, rt) if callbacks.prune else None
        self._unique_vertices = spec.unique_vertices == "path"
        self._unique_edges = spec.unique_edges == "path" and spec.unique_vertices == "none"
        self._global = spec.unique_vertices == "global"
        self._blocks: defaultdict[int, int] = defaultdict(lambda: _FIRST_BLOCK)
        """How many steps of a depth are expanded together; grows as they are used up."""

    def steps(self, starts: list[Start]) -> Iterator[Step]:
        """Every step from depth 0 on, start by start, in the order in which the server finds them."""
        roots = self._judge([Step(start, start.vertex, None, None, 0, 0) for start in starts])
        if self._spec.order == "dfs":
            yield from self._depth_first(roots)
        elif self._spec.order == "weighted":
            for root in roots:
                yield from self._by_weight(root)
        elif self._spec.max <= _BREADTH_TOGETHER and len(roots) > 1:
            yield from self._breadth_together(roots)
        else:
            for root in roots:
                yield from self._breadth_first([root])

    # -------------------------------------------------------------------------------------------- orders

    def _depth_first(self, roots: list[Step]) -> Iterator[Step]:
        waiting: defaultdict[int, deque[Step]] = defaultdict(deque)
        waiting[0].extend(root for root in roots if root.open)
        stack = [iter(roots)]
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                continue
            yield step
            if not step.open:
                continue
            if step.children is None:
                self._expand_waiting(waiting, step.depth)
            if step.children:
                stack.append(iter(step.children))
            step.children = []

    def _expand_waiting(self, waiting: defaultdict[int, deque[Step]], depth: int) -> None:
        """Expands the next steps at this depth; they wait in the order in which the stack will reach them."""
        queue = waiting[depth]
        block = [queue.popleft() for _ in range(min(len(queue), self._blocks[depth]))]
        children = self._expand(block, backwards=True)
        for step in block:
            step.children = []
        for child in children:
            assert child.before is not None and child.before.children is not None
            child.before.children.append(child)
        waiting[depth + 1].extend(child for child in children if child.open)

    def _breadth_first(self, roots: list[Step]) -> Iterator[Step]:
        level = roots
        while level:
            yield from level
            following: list[Step] = []
            waiting = deque(step for step in level if step.open)
            while waiting:
                block = [waiting.popleft() for _ in range(min(len(waiting), self._blocks[level[0].depth]))]
                following.extend(self._expand(block))
            level = following

    def _breadth_together(self, roots: list[Step]) -> Iterator[Step]:
        """Short walks from many starts: level by level for all of them, then told start by start."""
        for step in self._breadth_first(roots):
            step.start.found.append(step)
        for root in roots:
            yield from root.start.found
            root.start.found = []

    def _by_weight(self, root: Step) -> Iterator[Step]:
        queue: WeightQueue[Step] = WeightQueue()
        queue.push(root)
        weights = self._weights
        assert weights is not None
        ahead = 1
        while queue:
            step = queue.pop()
            if self._global and not self._first_visit(step):
                continue
            yield step
            if not step.open:
                continue
            knows = self._expander.knows
            if not knows(step.vertex):
                following = [entry.vertex for entry in queue.entries[:ahead] if entry.open]
                soon = [step.vertex, *(vertex for vertex in dict.fromkeys(following) if not knows(vertex))]
                self._expander.prefetch(soon)
                weights.load([token for vertex in soon for token, _ in self._expander.neighbours(vertex)])
                ahead = min(ahead * 2, _LARGEST_AHEAD)
            for child in self._expand([step]):
                queue.push(child)

    # -------------------------------------------------------------------------------------------- one block

    def _expand(self, block: list[Step], *, backwards: bool = False) -> list[Step]:
        """The children of all steps of the block, in order."""
        self._rt.check()
        self._expander.prefetch(step.vertex for step in block)
        children: list[Step] = []
        for step in block:
            children.extend(self._children(step, backwards))
        depth, wide = block[0].depth, _CHILDREN_OF_A_BLOCK * len(block) // (len(children) + 1)
        self._blocks[depth] = max(1, min(self._blocks[depth] * 4, _LARGEST_BLOCK, wide))
        if self._weights is not None:
            self._weigh(children)
        return self._judge(children)

    def _children(self, step: Step, backwards: bool) -> list[Step]:
        neighbours = self._expander.neighbours(step.vertex)
        if not neighbours:
            return []
        if self._global and self._weights is None:
            seen = step.start.seen
            neighbours = [found for found in neighbours if found[1] not in seen]
        elif self._unique_vertices:
            taken = {back.vertex for back in step.back()}
            neighbours = [found for found in neighbours if found[1] not in taken]
        elif self._unique_edges and step.depth:
            used = {back.edge for back in step.back()}
            neighbours = [found for found in neighbours if found[0] not in used]
        start, depth, weight = step.start, step.depth + 1, step.weight + 1
        steps = [Step(start, other, token, step, depth, weight) for token, other in neighbours]
        if backwards:
            steps.reverse()
        return steps

    def _weigh(self, children: list[Step]) -> None:
        weights = self._weights
        assert weights is not None
        weights.load([child.edge for child in children if child.edge is not None])
        for child in children:
            assert child.before is not None and child.edge is not None
            child.weight = child.before.weight + weights[child.edge]

    # -------------------------------------------------------------------------------------------- verdicts

    def _judge(self, steps: list[Step]) -> list[Step]:
        """The steps that are not rejected; those the walk must not go on from are closed."""
        if not steps:
            return steps
        depth = steps[0].depth
        steps = self._accepted(steps, depth)
        if self._global and self._weights is None:
            steps = [step for step in steps if self._first_visit(step)]
        if self._pruned is not None:
            self._prune(steps)
        if depth >= self._spec.max:
            for step in steps:
                step.open = False
        return steps

    def _first_visit(self, step: Step) -> bool:
        seen = step.start.seen
        if step.vertex in seen:
            return False
        seen.add(step.vertex)
        return True

    def _accepted(self, steps: list[Step], depth: int) -> list[Step]:
        callbacks, allowed = self._callbacks, self._spec.vertex_collections
        if allowed is not None and depth:
            steps = [step for step in steps if step.vertex.partition("/")[0] in allowed]
        if callbacks.accept_edge and depth and _asked(callbacks.edge_depths, depth - 1):
            accept_edge = callbacks.accept_edge
            edges = self._expander.edges(
                [step.edge for step in steps if step.edge is not None], callbacks.accept_edge_wants
            )
            steps = [step for step in steps if accept_edge(step.start.origin, depth - 1, edges[step.edge])]  # type: ignore[index, arg-type]
        if callbacks.accept_vertex and _asked(callbacks.vertex_depths, depth):
            accept_vertex = callbacks.accept_vertex
            vertices = self._expander.vertices([step.vertex for step in steps], callbacks.accept_vertex_wants)
            steps = [step for step in steps if accept_vertex(step.start.origin, depth, vertices[step.vertex])]
        return steps

    def _prune(self, steps: list[Step]) -> None:
        prune, pruned = self._callbacks.prune, self._pruned
        assert prune is not None and pruned is not None
        for step, (origin, vertex, edge, path) in zip(steps, pruned.rows(steps), strict=True):
            if prune(origin, vertex, edge, path):
                step.open = False


def _asked(depths: frozenset[int] | None, depth: int) -> bool:
    return depths is None or depth in depths
