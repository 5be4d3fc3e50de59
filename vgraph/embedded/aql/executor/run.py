"""From a plan to a program: each node becomes a step, each expression a closure, each variable a register."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from vgraph.embedded import graphs
from vgraph.embedded.errors import ArangoError

from .. import batchwise
from .. import nodes as ast
from .. import plan as p
from ..batchwise import Spread, Values
from ..expressions import CompileEnv, compile, compile_condition, compile_source
from ..nodes import Expr, Variable
from ..rules.tools import all_of, conjuncts, disjuncts
from . import graph, lookup, search, sets, steps, write
from .aggregates import accumulator
from .rows import Batch, Closure, Operator, Row, Rows, Run


@dataclass(slots=True)
class Step:
    """An operator with the node it was made from, which errors name."""

    operator: Operator
    node: p.PlanNode

    def run(self, source: Rows, rt: Run, seed: Row) -> Rows:
        try:
            found = self.operator.run(source, rt, seed)
            yield from found if rt.profile is None else rt.profile.measured(self.node.id, found, rt.stats)
        except ArangoError as error:
            error.message += f" [node #{self.node.id}: {self.node.type}]"
            raise


@dataclass(slots=True)
class Program:
    """A compiled plan. The first `together` steps may run for many outer rows at once, each marked in `origin`.

    `seed_of` makes the row it begins with from an outer row: a copy where both have the same registers.
    """

    steps: Sequence[Step]
    value: Values | None
    together: int
    origin: int
    frame: Frame
    last: p.PlanNode
    seed_of: Callable[[Row], Row] = list.copy

    def run(self, rt: Run) -> Iterator[list[Any]]:
        """Lists of results, computed as they are asked for."""
        try:
            found = self.values([None] * self.frame.width, rt)
            yield from found if rt.profile is None else rt.profile.measured(self.last.id, found, rt.stats)
        except ArangoError as error:
            if self.value is not None:
                error.message += f" [node #{self.last.id}: {self.last.type}]"
            raise

    def values(self, seed: Row, rt: Run) -> Iterator[list[Any]]:
        value = self.value
        for batch in self.pipeline(self.steps, iter([[seed]]), rt, seed):
            yield value(batch, rt) if value is not None else []

    @staticmethod
    def pipeline(steps: Sequence[Step], source: Rows, rt: Run, seed: Row) -> Rows:
        for step in steps:
            source = step.run(source, rt, seed)
        return source

    def results(self, batch: Batch, rt: Run) -> list[list[Any]]:
        """The results of a subquery for each outer row."""
        seed_of = self.seed_of
        if not self.together or len(batch) == 1:
            return [list(chain.from_iterable(self.values(seed_of(row), rt))) for row in batch]
        seeds = []
        for number, row in enumerate(batch):
            seed = seed_of(row)
            seed[self.origin] = number
            seeds.append(seed)
        groups: list[Batch] = [[] for _ in batch]
        for found in self.pipeline(self.steps[: self.together], iter([[seed.copy() for seed in seeds]]), rt, seeds[0]):
            for row in found:
                groups[row[self.origin]].append(row)
        return [self.finish(group, seed, rt) for group, seed in zip(groups, seeds, strict=True)]

    def finish(self, group: Batch, seed: Row, rt: Run) -> list[Any]:
        value = self.value
        rest = self.steps[self.together :]
        batches = self.pipeline(rest, iter([group]), rt, seed) if rest else (group,)
        found: list[Any] = []
        for batch in batches:
            if value is not None:
                found += value(batch, rt)
        return found


class Frame:
    """Registers of one plan. A subquery has its own, into which the outer ones it reads are copied: narrow rows are cheap to copy."""

    def __init__(self, outer: Frame | None = None, declared: frozenset[int] = frozenset()) -> None:
        self.slots: dict[int, int] = {}
        self._outer = outer
        self._declared = declared
        self._copied: list[tuple[int, int]] = []
        self._inner: list[Frame] = []
        if outer is not None:
            outer._inner.append(self)

    def slot(self, variable: Variable) -> int:
        found = self.slots.get(variable.id)
        if found is None:
            found = self.slots[variable.id] = len(self.slots)
            if self._outer is not None and variable.id not in self._declared:
                self._copied.append((self._outer.slot(variable), found))
        return found

    def spare(self) -> int:
        """A register for no variable."""
        return self.slots.setdefault(-1 - len(self.slots), len(self.slots))

    def seed_of(self, row: Row) -> Row:
        """The row that a subquery begins with for an outer row."""
        seed: Row = [None] * self.width
        for outer, own in self._copied:
            seed[own] = row[outer]
        return seed

    @property
    def width(self) -> int:
        return len(self.slots)

    @property
    def registers(self) -> int:
        """With those of subqueries."""
        return self.width + sum(inner.registers for inner in self._inner)


def compile_plan(plan: p.Plan) -> Program:
    """The program of a query."""
    return _Compiler(Frame()).program(plan)


TOGETHER = (
    p.EnumerateListNode,
    p.EnumerateCollectionNode,
    p.IndexNode,
    p.TraversalNode,
    p.CalculationNode,
    p.DocumentNode,
    p.SubqueryNode,
    p.FilterNode,
)
"""Nodes that treat each row by itself."""


class _Compiler:
    def __init__(self, frame: Frame, read: set[str] | None = None) -> None:
        self.frame = frame
        self.env = CompileEnv(frame.slot, self.lazy)
        self.limited: tuple[Closure | None, Closure] | None = None
        self.read: set[str] = set() if read is None else read

    # -- plans

    def program(self, plan: p.Plan) -> Program:
        nodes = [node for node in plan.nodes if not isinstance(node, p.SingletonNode)]
        demands = self.demands(nodes)
        compiled: list[Step] = []
        value: Values | None = None
        for number, node in enumerate(nodes):
            self.limited = demands[number]
            if isinstance(node, p.ReturnNode):
                value = self.returned(node, compiled)
                continue
            operator = self.operator(node)
            if isinstance(operator, steps.Limit | steps.NoResults):
                operator.drains = any(writes(before) for before in nodes[:number])
            compiled.append(Step(operator, node))
            self.read |= collections_of(node)
        return Program(compiled, value, together(nodes), self.frame.spare(), self.frame, plan.nodes[-1])

    def returned(self, node: p.ReturnNode, compiled: list[Step]) -> Values:
        if not node.distinct:
            return batchwise.values(node.value, self.env)
        slot = self.frame.spare()
        compiled.append(Step(steps.Distinct(slot, self.closure(node.value)), node))
        return lambda batch, rt: [row[slot] for row in batch]

    def demands(self, nodes: Sequence[p.PlanNode]) -> list[tuple[Closure | None, Closure] | None]:
        """For each node the LIMIT further on that its rows go to without being sorted or collected first."""
        found: list[tuple[Closure | None, Closure] | None] = []
        wanted: tuple[Closure | None, Closure] | None = None
        for node in reversed(nodes):
            if isinstance(node, p.LimitNode):
                wanted = (self.optional(node.offset), self.closure(node.count))
            elif not isinstance(node, (*p.ENUMERATIONS, p.CalculationNode, p.SubqueryNode, p.FilterNode, p.ReturnNode)):
                wanted = None
            found.append(wanted)
        return found[::-1]

    def lazy(self, plan: Any) -> Closure:
        """A subquery inside an expression, run only when it is reached."""
        program = self.subprogram(plan)
        return lambda row, rt: program.results([row], rt)[0]

    def subprogram(self, plan: p.Plan) -> Program:
        """The program of a subquery, with registers of its own."""
        frame = Frame(self.frame, declared_in(plan))
        program = _Compiler(frame, self.read).program(plan)
        program.seed_of = frame.seed_of
        return program

    # -- expressions

    def closure(self, expr: Expr) -> Closure:
        return compile(expr, self.env)

    def optional(self, expr: Expr | None) -> Closure | None:
        return None if expr is None else compile(expr, self.env)

    def condition(self, expr: Expr | None) -> Closure | None:
        return None if expr is None else compile_condition(expr, self.env)

    def slot(self, variable: Variable) -> int:
        return self.frame.slot(variable)

    def slot_or_none(self, variable: Variable | None) -> int | None:
        return None if variable is None else self.frame.slot(variable)

    # -- nodes

    def operator(self, node: p.PlanNode) -> Operator:
        make = cast("Callable[[Any], Operator] | None", getattr(self, "_" + node.word, None))
        if make is None:
            raise ArangoError(4, f"no executor for {node.type}")
        return make(node)

    def _no_results(self, node: p.NoResultsNode) -> Operator:
        return steps.NoResults()

    def _enumerate_list(self, node: p.EnumerateListNode) -> Operator:
        source = compile_source(node.source, self.env)
        return steps.EnumerateList(source, self.spread(node), self.limited)

    def _enumerate_collection(self, node: p.EnumerateCollectionNode) -> Operator:
        return steps.EnumerateCollection(
            node.collection,
            node.projection,
            self.spread(node),
            node.produces,
            self.limited,
        )

    def spread(self, node: p.EnumerateListNode | p.EnumerateCollectionNode) -> Spread:
        return batchwise.spread(self.slot(node.variable), node.filter, self.env)

    def probe(self, item: p.Lookup, variable: Variable) -> lookup.Probe:
        return lookup.Probe(
            item.kind,
            item.index,
            item.field,
            tuple((self.closure(equal.value), equal.any) for equal in item.equal),
            self.bounds(item.lows),
            self.bounds(item.highs),
            self.condition(item.condition),
            self.slot(variable),
            item.sparse,
            tuple((self.bounds(side.lows), self.bounds(side.highs)) for side in item.ranges),
        )

    def bounds(self, bounds: Sequence[p.Bound]) -> tuple[tuple[Closure, bool], ...]:
        return tuple((self.closure(bound.value), bound.strict) for bound in bounds)

    def _index(self, node: p.IndexNode) -> Operator:
        condition = left_to_test(node)
        return lookup.IndexScan(
            node.collection,
            tuple(self.probe(item, node.variable) for item in node.lookups),
            not node.ascending,
            node.projection,
            batchwise.placed(self.slot(node.variable), condition, self.env),
            condition is not None,
            self.limited,
        )

    def _enumerate_view(self, node: p.EnumerateViewNode) -> Operator:
        from vgraph.embedded.search import compile_search

        compiled = (
            None
            if node.search is None
            else compile_search(node.search, node.variable, self.closure, self.slot(node.variable))
        )
        names = node.options.get("collections")
        return search.EnumerateView(
            self.slot(node.variable),
            node.view,
            compiled,
            bool(compiled is not None and compiled.variables) or any(map(ast.variables, row_arguments(node))),
            None if names is None else frozenset(names),
            tuple(
                search.ScorerStep(self.slot(s.variable), s.function, tuple(self.closure(a) for a in s.arguments))
                for s in node.scorers
            ),
            tuple((self.slot(o.variable), self.closure(o.paths), self.optional(o.limit)) for o in node.offsets),
            None
            if node.top is None
            else search.TopStep(
                node.top.scorer,
                node.top.descending,
                self.optional(node.top.offset),
                self.closure(node.top.count),
                node.top.ties,
            ),
            node.projection,
            None if node.inverted is None else (node.view, node.inverted),
            tuple(self.probe(item, node.variable) for item in node.within),
            self.limited,
        )

    def _enumerate_near_vector(self, node: p.EnumerateNearVectorNode) -> Operator:
        return search.NearVector(
            self.slot(node.variable),
            self.slot(node.distance),
            node.collection,
            node.index,
            self.closure(node.query),
            self.optional(node.offset),
            self.closure(node.count),
            self.optional(node.search_options),
            tuple(self.probe(item, node.variable) for item in node.lookups),
            self.condition(node.filter),
            node.filter_projection,
            node.projection,
        )

    def path_tests(self, conditions: Sequence[p.PathCondition], *, of_edges: bool) -> tuple[graph.PathTest, ...]:
        return tuple(
            graph.PathTest(self.slot(item.element), compile_condition(item.condition, self.env), item.depths)
            for item in conditions
            if item.of_edges == of_edges
        )

    def _traversal(self, node: p.TraversalNode) -> Operator:
        prune = None
        if node.prune is not None:
            prune = graph.Prune(
                compile_condition(node.prune, self.env),
                prune_wants(node),
                self.slot_or_none(node.prune_variable),
            )
        return graph.Traverse(
            (self.slot(node.vertex), self.slot_or_none(node.edge), self.slot_or_none(node.path)),
            self.closure(node.start),
            self.closure(node.low),
            self.closure(node.high),
            node.edges,
            dict(node.options.items),
            prune,
            self.path_tests(node.conditions, of_edges=True),
            self.path_tests(node.conditions, of_edges=False),
            graphs.Wants(
                node.vertex_projection,
                node.edge_projection,
                node.path_vertices,
                node.path_edges,
                node.path_weights,
            ),
            (None, None),
            self.condition(node.filter),
            self.limited,
        )

    def _shortest_path(self, node: p.ShortestPathNode) -> Operator:
        return graph.ShortestPath(
            (self.slot(node.vertex), self.slot_or_none(node.edge)),
            self.closure(node.start),
            self.closure(node.target),
            node.edges,
            dict(node.options.items),
            graphs.Wants(vertex=node.vertex_projection, edge=node.edge_projection),
        )

    def _enumerate_paths(self, node: p.EnumeratePathsNode) -> Operator:
        return graph.EnumeratePaths(
            node.kind,
            self.slot(node.path),
            self.closure(node.start),
            self.closure(node.target),
            self.closure(node.low),
            self.closure(node.high),
            node.edges,
            dict(node.options.items),
            graphs.Wants(path_vertices=node.path_vertices, path_edges=node.path_edges, path_weights=True),
            self.limited,
        )

    def _calculation(self, node: p.CalculationNode) -> Operator:
        return steps.Calculate(self.slot(node.variable), batchwise.values(node.value, self.env))

    def _document(self, node: p.DocumentNode) -> Operator:
        collection = node.call.args[0] if len(node.call.args) == 2 else None
        name: Closure | None = None
        if isinstance(collection, ast.Collection):
            found = collection.name
            name = lambda row, rt: found  # noqa: E731
        elif isinstance(collection, ast.CollectionBind):
            key = "@" + collection.name
            name = lambda row, rt: rt.binds[key]  # noqa: E731
        elif collection is not None:
            name = self.closure(collection)
        return steps.Documents(
            self.slot(node.variable), name, self.closure(node.call.args[-1]), self.closure(node.call)
        )

    def _subquery(self, node: p.SubqueryNode) -> Operator:
        return steps.Subquery(self.slot(node.variable), self.subprogram(node.plan))

    def _filter(self, node: p.FilterNode) -> Operator:
        return steps.Filter(batchwise.passing(node.condition, self.env))

    def _sort(self, node: p.SortNode) -> Operator:
        keys = batchwise.columns([key.value for key in node.keys], self.env)
        ascending = tuple(key.ascending for key in node.keys)
        return sets.Sort(keys, ascending, self.optional(node.offset), self.optional(node.count), 4)

    def _limit(self, node: p.LimitNode) -> Operator:
        return steps.Limit(self.optional(node.offset), self.closure(node.count), node.full_count)

    def aggregates(self, items: Sequence[ast.Aggregate]) -> tuple[Any, ...]:
        return tuple((self.slot(item.variable), accumulator(item.function)) for item in items)

    def _collect(self, node: p.CollectNode) -> Operator:
        read = [*(group.value for group in node.groups), *(item.argument for item in node.aggregates)]
        if node.into_value is not None:
            read.append(node.into_value)
        captured = tuple((variable.name, self.slot(variable)) for variable in node.captured)
        return sets.Collect(
            batchwise.columns(read, self.env),
            tuple(self.slot(group.variable) for group in node.groups),
            self.aggregates(node.aggregates),
            self.slot_or_none(node.into),
            captured if node.into_value is None else None,
            self.slot_or_none(node.count_into),
        )

    def _count(self, node: p.CountNode) -> Operator:
        probe = None if node.lookup is None else self.probe(node.lookup, node.variable)
        return lookup.Count(self.slot(node.variable), node.collection, probe)

    def _index_collect(self, node: p.IndexCollectNode) -> Operator:
        return sets.IndexCollect(
            node.collection,
            node.index,
            tuple(self.slot(variable) for variable in node.groups),
            tuple(self.slot(variable) for variable in node.counts),
        )

    def _window(self, node: p.WindowNode) -> Operator:
        arguments = batchwise.columns([item.argument for item in node.aggregates], self.env)
        return sets.Window(
            self.closure(node.bounds), self.optional(node.range), self.aggregates(node.aggregates), arguments, 4
        )

    # -- modifications

    def target(self, node: p.ModificationNode) -> write.Target:
        return write.Target(
            node.collection,
            bool(node.options.get("ignoreErrors", False)),
            bool(node.options.get("ignoreRevs", True)),
            self.slot_or_none(node.old),
            self.slot_or_none(node.new),
            node.collection in self.read,
        )

    def _insert(self, node: p.InsertNode) -> Operator:
        return write.Insert(
            self.target(node), self.closure(node.document), write.insert_options(node.options, whole=returns(node))
        )

    def _update(self, node: p.UpdateNode) -> Operator:
        return write.Update(
            self.target(node),
            self.optional(node.key),
            self.closure(node.document),
            isinstance(node, p.ReplaceNode),
            write.update_options(node.options, whole=returns(node)),
        )

    _replace = _update

    def _remove(self, node: p.RemoveNode) -> Operator:
        return write.Remove(self.target(node), self.closure(node.key))

    def _upsert(self, node: p.UpsertNode) -> Operator:
        return write.Upsert(
            self.target(node),
            self.program(node.find),
            self.slot(node.found),
            self.slot(node.found) if node.old is None else self.slot(node.old),
            self.closure(node.insert),
            self.closure(node.update),
            node.replaces,
            write.update_options(node.options, whole=returns(node)),
        )


def declared_in(plan: p.Plan) -> frozenset[int]:
    """The variables that a plan sets itself: outside of it nobody knows them."""
    found: set[int] = set()
    for item in ast.walk(plan):
        match item:
            case p.PlanNode():
                found.update(variable.id for variable in item.outputs())
            case ast.Expansion(current=variable) | ast.ArrayMatch(current=variable):
                found.add(variable.id)
            case p.PathCondition(element=variable):
                found.add(variable.id)
    return frozenset(found)


def left_to_test(node: p.IndexNode) -> Expr | None:
    """A loop's filter without the alternatives that its lookups are: what an edge index finds fulfils one of them."""
    if node.filter is None or not all(lookup.kind == "edge" for lookup in node.lookups):
        return node.filter
    known = [lookup.condition for lookup in node.lookups]
    parts = [
        part
        for part in conjuncts(node.filter)
        if not {id(condition) for condition in known} <= set(map(id, disjuncts(part)))
    ]
    return all_of(parts) if parts else None


def row_arguments(node: p.EnumerateViewNode) -> list[Expr]:
    """What a search takes from the row beside its condition."""
    arguments = [argument for scorer in node.scorers for argument in scorer.arguments]
    return [*arguments, *(equal.value for lookup in node.within for equal in lookup.equal)]


def writes(node: p.PlanNode) -> bool:
    return isinstance(node, p.ModificationNode) or any(plan.modifies for plan in p.subplans(node))


def returns(node: p.ModificationNode) -> bool:
    """Whether OLD or NEW is read."""
    return node.old is not None or node.new is not None


def together(nodes: Sequence[p.PlanNode]) -> int:
    """How many nodes at the front can run for many outer rows at once: none where a LIMIT would then be late."""
    count = 0
    for node in nodes:
        if not isinstance(node, TOGETHER) or any(plan.modifies for plan in p.subplans(node)):
            break
        count += 1
    rest = nodes[count:]
    if rest and isinstance(rest[0], p.LimitNode) and not all(finds_few(node) for node in nodes[:count]):
        return 0
    return count


def finds_few(node: p.PlanNode) -> bool:
    """At most one row for each row."""
    if isinstance(node, p.IndexNode):
        return len(node.lookups) == 1 and node.lookups[0].unique
    return not isinstance(node, p.ENUMERATIONS)


def collections_of(node: p.PlanNode) -> set[str]:
    """The collections a node reads, subqueries included."""
    found: set[str] = set()
    for item in ast.walk(node):
        match item:
            case p.EnumerateCollectionNode(collection=name) | p.IndexNode(collection=name):
                found.add(name)
            case p.EnumerateNearVectorNode(collection=name) | p.IndexCollectNode(collection=name):
                found.add(name)
            case p.TraversalEdges(collections=edges, vertices=vertices):
                found |= {name for name, _ in edges} | set(vertices)
            case ast.Collection(name=name):
                found.add(name)
    return found


def prune_wants(node: p.TraversalNode) -> graphs.Wants:
    """What a PRUNE condition reads."""
    assert node.prune is not None
    used = ast.variables(node.prune)
    path = node.path is not None and node.path in used
    return graphs.Wants(
        vertex=None if node.vertex in used else False,
        edge=None if node.edge is not None and node.edge in used else False,
        path_vertices=None if path else False,
        path_edges=None if path else False,
        path_weights=path,
    )
