"""Plan nodes: what a query does, step by step, each step fed by the one before it.

A `Plan` is a straight line of nodes (ArangoDB's names); a subquery is a plan inside a node or an expression. Nodes are
nodes of the syntax tree too, so that `nodes.walk` and `nodes.transform` reach every expression in a plan.

Unlike the server's plan, a node holds its expressions itself instead of reading registers that CalculationNodes filled:
fewer steps for each row. `explain.py` shows the server's form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from . import nodes as ast
from .nodes import Expr, Node, Variable

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class PlanNode(Node):
    """One step. `id` is shown by explain and in error messages."""

    id: int = field(default=0, compare=False, kw_only=True)

    def outputs(self) -> tuple[Variable, ...]:
        """The variables this step sets."""
        return ()

    def uses(self) -> set[Variable]:
        """The variables this step reads (those bound inside its own expressions among them)."""
        return ast.variables(self) - set(self.outputs())

    @property
    def type(self) -> str:
        """The name of the kind of node, as on the server."""
        return type(self).__name__

    @property
    def word(self) -> str:
        """The same as part of a Python name: EnumerateListNode -> enumerate_list."""
        return _CAPITAL.sub("_", self.type.removesuffix("Node")).lower()


@dataclass(frozen=True, slots=True)
class Plan(Node):
    """A query or subquery. `read` and `written` are the names of data sources, subqueries and graphs included."""

    nodes: tuple[PlanNode, ...]
    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    rules: tuple[str, ...] = ()

    @property
    def modifies(self) -> bool:
        return bool(self.written)


@dataclass(frozen=True, slots=True)
class Options(Node):
    """The constant object of an OPTIONS clause."""

    items: tuple[tuple[str, Any], ...] = ()

    def get(self, name: str, default: Any = None) -> Any:
        return next((value for key, value in self.items if key == name), default)


# ------------------------------------------------------------------------------------------------ enumerations


@dataclass(frozen=True, slots=True)
class SingletonNode(PlanNode):
    """One empty row: where every plan begins."""


@dataclass(frozen=True, slots=True)
class NoResultsNode(PlanNode):
    """No row at all: a FILTER that is always false."""


@dataclass(frozen=True, slots=True)
class EnumerateListNode(PlanNode):
    variable: Variable
    source: Expr
    filter: Expr | None = None

    def outputs(self) -> tuple[Variable, ...]:
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class EnumerateCollectionNode(PlanNode):
    """A scan. `projection`: top-level attributes needed (None = all); `filter` decides before a row is built."""

    variable: Variable
    collection: str
    options: Options = Options()
    projection: frozenset[str] | None = None
    filter: Expr | None = None
    produces: bool = True

    def outputs(self) -> tuple[Variable, ...]:
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class Equal(Node):
    """The next field of an index equals `value`, or one of the elements of `value` when `any` is set."""

    value: Expr
    any: bool = False


@dataclass(frozen=True, slots=True)
class Bound(Node):
    """A limit of a range. `strict` leaves the value itself out."""

    value: Expr
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Ranges(Node):
    """The bounds of one field of a multi-dimensional index."""

    lows: tuple[Bound, ...]
    highs: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Lookup(Node):
    """What one index answers: its first fields equal `equal`, the next one lies within every one of `lows` and `highs`.

    `kind` is "primary", "edge", "sorted" (persistent and its aliases) or "box" (mdi: `equal` are its prefix fields, `ranges`
    the bounds of its other fields, all of them a superset) or "skip" (a range on the second field, for vector search only:
    the filter stays); `field` the attribute of primary and edge
    lookups; `condition` the same in AQL, for explain and for a scan when a sparse index cannot answer a null.
    """

    kind: str
    index: int
    field: str
    equal: tuple[Equal, ...]
    lows: tuple[Bound, ...]
    highs: tuple[Bound, ...]
    condition: Expr | None
    sparse: bool = False
    unique: bool = False
    ranges: tuple[Ranges, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexNode(PlanNode):
    """Documents found through indexes; several lookups are alternatives (OR), each document comes once."""

    variable: Variable
    collection: str
    lookups: tuple[Lookup, ...]
    ascending: bool = True
    sorted: bool = False
    projection: frozenset[str] | None = None
    filter: Expr | None = None

    def outputs(self) -> tuple[Variable, ...]:
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class Scorer(Node):
    """BM25() or TFIDF() of a view's document, computed by the view and put into `variable`."""

    variable: Variable
    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class OffsetInfo(Node):
    """OFFSET_INFO() of a view's document, put into `variable`."""

    variable: Variable
    paths: Expr
    limit: Expr | None


@dataclass(frozen=True, slots=True)
class Top(Node):
    """Only the best are wanted: SORT by scorer number `scorer`, then LIMIT.

    `ties`: there are more sort keys, so whatever scores as much as the last one is wanted too; the SORT stays.
    """

    scorer: int
    descending: bool
    offset: Expr | None
    count: Expr
    ties: bool = False


@dataclass(frozen=True, slots=True)
class EnumerateViewNode(PlanNode):
    """FOR over a view; `inverted` names a collection's inverted index instead (indexHint).

    `within`: lookups of documents by key or id, all others of which a filter further on refuses.
    """

    variable: Variable
    view: str
    search: Expr | None
    options: Options = Options()
    scorers: tuple[Scorer, ...] = ()
    offsets: tuple[OffsetInfo, ...] = ()
    top: Top | None = None
    projection: frozenset[str] | None = None
    inverted: int | None = None
    within: tuple[Lookup, ...] = ()

    def outputs(self) -> tuple[Variable, ...]:
        return (self.variable, *(s.variable for s in self.scorers), *(o.variable for o in self.offsets))


@dataclass(frozen=True, slots=True)
class EnumerateNearVectorNode(PlanNode):
    """The nearest documents through a vector index, best first. `lookups` give the candidates, `filter` the rest."""

    variable: Variable
    distance: Variable
    collection: str
    index: int
    query: Expr
    offset: Expr | None
    count: Expr
    ascending: bool
    search_options: Expr | None = None
    lookups: tuple[Lookup, ...] = ()
    filter: Expr | None = None
    filter_projection: frozenset[str] | None = None
    projection: frozenset[str] | None = None

    def outputs(self) -> tuple[Variable, ...]:
        return (self.variable, self.distance)


@dataclass(frozen=True, slots=True)
class TraversalEdges(Node):
    """Edge collections in lookup order, each with the direction in which it is walked ("outbound", "inbound", "any")."""

    collections: tuple[tuple[str, str], ...]
    vertices: tuple[str, ...] = ()
    graph: str | None = None


@dataclass(frozen=True, slots=True)
class PathCondition(Node):
    """A condition on one element of the path, pushed into the walk.

    `depths` are the positions on the path it holds for (None = all); `element` stands for the element in `condition`.
    """

    element: Variable
    condition: Expr
    depths: frozenset[int] | None
    of_edges: bool


@dataclass(frozen=True, slots=True)
class TraversalNode(PlanNode):
    vertex: Variable
    edge: Variable | None
    path: Variable | None
    start: Expr
    low: Expr
    high: Expr
    edges: TraversalEdges
    options: Options = Options()
    prune: Expr | None = None
    prune_variable: Variable | None = None
    conditions: tuple[PathCondition, ...] = ()
    vertex_projection: frozenset[str] | bool | None = None
    edge_projection: frozenset[str] | bool | None = None
    path_vertices: frozenset[str] | bool | None = None
    path_edges: frozenset[str] | bool | None = None
    path_weights: bool = True
    filter: Expr | None = None

    def outputs(self) -> tuple[Variable, ...]:
        found = (self.vertex, self.edge, self.path, self.prune_variable)
        return tuple(variable for variable in found if variable is not None)


@dataclass(frozen=True, slots=True)
class ShortestPathNode(PlanNode):
    vertex: Variable
    edge: Variable | None
    start: Expr
    target: Expr
    edges: TraversalEdges
    options: Options = Options()
    vertex_projection: frozenset[str] | bool | None = None
    edge_projection: frozenset[str] | bool | None = None

    def outputs(self) -> tuple[Variable, ...]:
        return (self.vertex,) if self.edge is None else (self.vertex, self.edge)


@dataclass(frozen=True, slots=True)
class EnumeratePathsNode(PlanNode):
    """K_SHORTEST_PATHS, ALL_SHORTEST_PATHS and K_PATHS; `kind` is the keyword."""

    kind: str
    path: Variable
    start: Expr
    target: Expr
    low: Expr
    high: Expr
    edges: TraversalEdges
    options: Options = Options()
    path_vertices: frozenset[str] | bool | None = None
    path_edges: frozenset[str] | bool | None = None

    def outputs(self) -> tuple[Variable, ...]:
        return (self.path,)


# -------------------------------------------------------------------------------------------- row by row, and sets


@dataclass(frozen=True, slots=True)
class CalculationNode(PlanNode):
    variable: Variable
    value: Expr

    def outputs(self) -> tuple[Variable, ...]:
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class DocumentNode(PlanNode):
    """A call of DOCUMENT(), looked up for many rows together."""

    variable: Variable
    call: ast.Call

    def outputs(self) -> tuple[Variable, ...]:
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class SubqueryNode(PlanNode):
    variable: Variable
    plan: Plan

    def outputs(self) -> tuple[Variable, ...]:
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class FilterNode(PlanNode):
    condition: Expr


@dataclass(frozen=True, slots=True)
class SortKey(Node):
    value: Expr
    ascending: bool = True


@dataclass(frozen=True, slots=True)
class SortNode(PlanNode):
    """`offset` and `count` repeat those of a LIMIT that follows: only so many rows are kept."""

    keys: tuple[SortKey, ...]
    offset: Expr | None = None
    count: Expr | None = None


@dataclass(frozen=True, slots=True)
class LimitNode(PlanNode):
    """`full_count`: the option fullCount counts what comes in here."""

    offset: Expr | None
    count: Expr
    full_count: bool = False


@dataclass(frozen=True, slots=True)
class CollectNode(PlanNode):
    """`method` is "hash" or "sorted", as asked for; `ordered` that the results come in the order of the keys."""

    groups: tuple[ast.Assignment, ...]
    aggregates: tuple[ast.Aggregate, ...] = ()
    into: Variable | None = None
    into_value: Expr | None = None
    captured: tuple[Variable, ...] = ()
    count_into: Variable | None = None
    method: str = "hash"
    ordered: bool = True

    def outputs(self) -> tuple[Variable, ...]:
        keys = tuple(group.variable for group in self.groups)
        aggregates = tuple(aggregate.variable for aggregate in self.aggregates)
        rest = tuple(v for v in (self.into, self.count_into) if v is not None)
        return (*keys, *aggregates, *rest)


@dataclass(frozen=True, slots=True)
class IndexCollectNode(PlanNode):
    """COLLECT over the leading fields of an index, answered from the index alone."""

    collection: str
    index: int
    groups: tuple[Variable, ...]
    counts: tuple[Variable, ...] = ()

    def outputs(self) -> tuple[Variable, ...]:
        return (*self.groups, *self.counts)


@dataclass(frozen=True, slots=True)
class CountNode(PlanNode):
    """COLLECT WITH COUNT INTO over a whole collection, or over what a lookup in an index would find."""

    collection: str
    variable: Variable
    lookup: Lookup | None = None

    def outputs(self) -> tuple[Variable, ...]:
        return (self.variable,)


@dataclass(frozen=True, slots=True)
class WindowNode(PlanNode):
    bounds: Expr
    range: Expr | None
    aggregates: tuple[ast.Aggregate, ...]

    def outputs(self) -> tuple[Variable, ...]:
        return tuple(aggregate.variable for aggregate in self.aggregates)


@dataclass(frozen=True, slots=True)
class ReturnNode(PlanNode):
    value: Expr
    distinct: bool = False


# ------------------------------------------------------------------------------------------------ modifications


@dataclass(frozen=True, slots=True)
class ModificationNode(PlanNode):
    """`old` and `new` are None when nothing reads them."""

    collection: str
    options: Options
    old: Variable | None
    new: Variable | None

    def outputs(self) -> tuple[Variable, ...]:
        return tuple(variable for variable in (self.old, self.new) if variable is not None)


@dataclass(frozen=True, slots=True)
class InsertNode(ModificationNode):
    document: Expr


@dataclass(frozen=True, slots=True)
class UpdateNode(ModificationNode):
    """`key` is None where the document's own _key counts."""

    key: Expr | None
    document: Expr


@dataclass(frozen=True, slots=True)
class ReplaceNode(UpdateNode):
    pass


@dataclass(frozen=True, slots=True)
class RemoveNode(ModificationNode):
    key: Expr


@dataclass(frozen=True, slots=True)
class UpsertNode(ModificationNode):
    """`find` is a plan that binds `found` to the documents that match, to be run for each row."""

    find: Plan
    found: Variable
    insert: Expr
    update: Expr
    replaces: bool


ENUMERATIONS = (
    EnumerateListNode,
    EnumerateCollectionNode,
    IndexNode,
    EnumerateViewNode,
    EnumerateNearVectorNode,
    TraversalNode,
    ShortestPathNode,
    EnumeratePathsNode,
)


def field_names(node: Node) -> tuple[str, ...]:
    """The fields of a node that hold parts of the tree."""
    return tuple(f.name for f in fields(node) if f.name not in ("at", "id"))


def subplans(node: Node) -> Iterator[Plan]:
    """The plans directly below a node: its own and those of lazy subqueries in its expressions."""
    stack = list(ast.children(node))
    while stack:
        top = stack.pop()
        if isinstance(top, Plan):
            yield top
        else:
            stack.extend(ast.children(top))
