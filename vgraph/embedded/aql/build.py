"""From the syntax tree to the first plan: one node for each statement, subqueries lifted out where they are not lazy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from vgraph.embedded import graphs
from vgraph.embedded.errors import ArangoError

from . import nodes as ast
from . import plan as p
from .nodes import Expr, Variable
from .option_checks import MODES, check_collect, check_loop, check_modification
from .runtime import Runtime

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction


@dataclass(frozen=True, slots=True)
class Guard:
    """A fact about the bind values on which a plan rests: `read` must give `value` again, or the plan is not for them."""

    read: Callable[[Runtime], Any]
    value: Any

    def holds(self, rt: Runtime) -> bool:
        found = self.read(rt)
        return type(found) is type(self.value) and found == self.value


class Context:
    """What planning knows: the catalog through a transaction, the bind values, and the facts it has relied on."""

    def __init__(self, txn: Transaction, rt: Runtime, evaluate: Callable[[Expr], Callable[[Runtime], Any]], fresh: int):
        self.txn = txn
        self.rt = rt
        self.guards: list[Guard] = []
        self._relied_on: set[tuple[str, Any]] = set()
        self.read: set[str] = set()
        self.written: set[str] = set()
        self.rules: dict[str, None] = {}
        self._evaluate = evaluate
        self._fresh = fresh
        self.nodes = 0

    def fresh(self, name: str = "") -> Variable:
        """A variable of our own; its name is its number, as on the server."""
        self._fresh += 1
        return Variable(name or str(self._fresh - 1), self._fresh - 1)

    def node_id(self) -> int:
        return self.node_ids(1)

    def node_ids(self, count: int) -> int:
        """The last of so many new numbers: a node's own, after those of its calculations."""
        self.nodes += count
        return self.nodes

    def relied_on(self, about: tuple[str, Any], read: Callable[[Runtime], Any]) -> Any:
        """The value now; the plan will only be used again while it is the same. What is `about` the same is asked for once."""
        value = read(self.rt)
        if about not in self._relied_on:
            self._relied_on.add(about)
            self.guards.append(Guard(read, value))
        return value

    def constant(self, expr: Expr) -> Any:
        """The value of an expression over literals and binds."""
        if isinstance(expr, ast.Literal):
            return expr.value
        read = self._evaluate(expr)
        return self.relied_on(("value", expr), read) if has_binds(expr) else read(self.rt)

    def truth(self, expr: Expr) -> bool:
        """Whether a constant expression is true; the guard holds for every value of the same truth."""
        from .values import truthy

        read = self._evaluate(expr)
        if not has_binds(expr):
            return truthy(read(self.rt))
        return bool(self.relied_on(("truth", expr), lambda rt: truthy(read(rt))))

    def source(self, node: Expr) -> str:
        """The name of a data source, given or bound (1553 when the bind is no string); 1208 when it is empty."""
        if isinstance(node, ast.Collection):
            return _named(node.name)
        assert isinstance(node, ast.CollectionBind)
        key = node.name if node.plain else "@" + node.name
        name = self.relied_on(("source", key), lambda rt: rt.binds.get(key))
        if not isinstance(name, str):
            raise ArangoError(1553, f"bind parameter '{key}' has an invalid value or type (while parsing)")
        return _named(name)


def _named(name: str) -> str:
    if not name:
        raise ArangoError(1208)
    return name


def has_binds(expr: ast.Node) -> bool:
    return any(isinstance(node, ast.Bind | ast.CollectionBind) for node in ast.walk(expr))


def is_constant(expr: ast.Node) -> bool:
    """Literals, binds and operators only: the same value for every row of a run."""
    from .functions import FUNCTIONS

    for node in ast.walk(expr):
        if isinstance(node, Variable | ast.Collection | ast.CollectionBind | ast.Subquery):
            return False
        if isinstance(node, ast.Call):
            function = FUNCTIONS.get(node.name)
            if function is None or not function.deterministic or not function.cacheable:
                return False
    return True


def build(parsed: ast.Parsed, context: Context) -> p.Plan:
    """The unoptimised plan of a query."""
    for source in parsed.query.withs:
        name = context.source(source)
        if context.txn.view(name) is None:
            context.txn.collection(name)
        context.read.add(name)
    return with_full_count(_Builder(context).query(parsed.query))


def with_full_count(plan: p.Plan) -> p.Plan:
    """Mark the LIMIT whose input the option fullCount counts: the last of the main query."""
    last = max((i for i, node in enumerate(plan.nodes) if isinstance(node, p.LimitNode)), default=None)
    if last is None:
        return plan
    marked = replace(plan.nodes[last], full_count=True)  # type: ignore[call-arg]
    return replace(plan, nodes=(*plan.nodes[:last], marked, *plan.nodes[last + 1 :]))


class _Builder:
    """Builds one query; subqueries get builders of their own that share the context."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.nodes: list[p.PlanNode] = []
        self.modified = False

    def query(self, query: ast.Query) -> p.Plan:
        before = (frozenset(self.context.read), frozenset(self.context.written))
        self.add(p.SingletonNode())
        for statement in query.statements:
            self.statement(statement)
        return p.Plan(
            tuple(self.nodes), frozenset(self.context.read) - before[0], frozenset(self.context.written) - before[1]
        )

    def add(self, node: p.PlanNode) -> None:
        """Append a node. Numbers are left out for the calculations that are nodes of their own on the server."""
        for expr in calculated(node):
            if not isinstance(expr, Variable):
                self.context.node_id()
        self.nodes.append(replace(node, id=self.context.node_id()))

    def statement(self, statement: ast.Statement) -> None:
        match statement:
            case ast.For():
                self.enumerate(statement)
            case ast.Traverse():
                self.traverse(statement)
            case ast.ShortestPath():
                self.paths(statement)
            case ast.Filter():
                self.add(p.FilterNode(self.lift(statement.condition)))
            case ast.Let():
                self.let(statement)
            case ast.Sort():
                self.sort(statement)
            case ast.Limit():
                self.add(p.LimitNode(statement.offset, statement.count))
            case ast.Collect():
                self.collect(statement)
            case ast.Window():
                self.window(statement)
            case ast.Return():
                self.add(p.ReturnNode(self.lift(statement.value), statement.distinct))
            case _:
                self.modify(statement)

    # -- expressions

    def lift(self, expr: Expr) -> Expr:
        """The expression with its subqueries computed by steps of their own, but for those that may never be needed."""
        self.check_reads(expr)
        return cast(Expr, self._lifted(expr, lazy=False)) if has_subquery(expr) else expr

    def _lifted(self, node: ast.Node, *, lazy: bool) -> ast.Node:
        if isinstance(node, ast.Subquery):
            return self._subquery(node, lazy=lazy)
        if not has_subquery(node):
            return node
        changed = {name: self._lifted_field(node, name, lazy) for name in p.field_names(node)}
        return replace(node, **changed)

    def _lifted_field(self, node: ast.Node, name: str, lazy: bool) -> Any:
        value = getattr(node, name)
        inner = lazy or is_lazy(node, name)
        if isinstance(value, ast.Node):
            return self._lifted(value, lazy=inner)
        if type(value) is tuple:
            return tuple(self._lifted(item, lazy=inner) if isinstance(item, ast.Node) else item for item in value)
        return value

    def _subquery(self, node: ast.Subquery, *, lazy: bool) -> ast.Node:
        plan = _Builder(self.context).query(node.query)
        if lazy:
            return ast.Subquery(cast(ast.Query, plan), at=node.at)
        variable = self.context.fresh()
        self.add(p.SubqueryNode(variable, plan))
        return variable

    def optional(self, expr: Expr | None) -> Expr | None:
        return None if expr is None else self.lift(expr)

    def options(self, expr: Expr | None) -> p.Options:
        """OPTIONS must be known when the query is planned (1575)."""
        if expr is None:
            return p.Options()
        if not is_constant(expr):
            raise ArangoError(1575, "query options must be readable at query compile time (while parsing)")
        value = self.context.constant(expr)
        if not isinstance(value, dict):
            raise ArangoError(1575, "query options must be readable at query compile time (while parsing)")
        return p.Options(tuple(value.items()))

    # -- access after modification

    def reads(self, name: str, what: str = "data-modification") -> None:
        if name in self.context.written:
            raise modified(f"{what} '{name}'")
        self.context.read.add(name)

    def writes(self, name: str) -> None:
        if name in self.context.written:
            raise modified(f"collection '{name}'")
        self.context.written.add(name)

    def check_reads(self, expr: ast.Node) -> None:
        """Collections named inside an expression (LENGTH(coll)), and functions that read documents wherever they are."""
        for node in _outside_subqueries(expr):
            if isinstance(node, ast.Call) and node.name in READING and self.context.written:
                raise modified(f"function '{node.name}()'")
            if isinstance(node, ast.Collection | ast.CollectionBind):
                name = self.context.source(node)
                if self.context.txn.view(name) is None:
                    self.context.txn.collection(name)
                self.reads(name, "collection")

    # -- statements

    def enumerate(self, statement: ast.For) -> None:
        source = statement.source
        if not isinstance(source, ast.Collection | ast.CollectionBind):
            if statement.search is not None:
                raise ArangoError(1501, "SEARCH condition used with non-view source (while parsing)")
            self.options(statement.options)
            self.add(p.EnumerateListNode(statement.variable, self.lift(source)))
            return
        name = self.context.source(source)
        self.reads(name, "collection")
        options = self.options(statement.options)
        view = self.context.txn.view(name)
        if view is not None:
            for collection in view_collections(view):
                self.reads(collection, "view")
            if type(options.get("waitForSync", False)) is not bool:
                raise ArangoError(10, "invalid value for option 'waitForSync': a boolean is expected (while parsing)")
            self.add(p.EnumerateViewNode(statement.variable, name, self.optional(statement.search), options))
            return
        if statement.search is not None:
            raise ArangoError(1501, "SEARCH condition used with non-view source (while parsing)")
        self.context.txn.collection(name)
        check_loop(dict(options.items), self.context.rt.warnings)
        self.add(p.EnumerateCollectionNode(statement.variable, name, options))

    def let(self, statement: ast.Let) -> None:
        value = statement.value
        if isinstance(value, ast.Subquery):
            plan = _Builder(self.context).query(value.query)
            self.add(p.SubqueryNode(statement.variable, plan))
        else:
            self.add(p.CalculationNode(statement.variable, self.lift(value)))

    def sort(self, statement: ast.Sort) -> None:
        keys = [
            p.SortKey(self.lift(key.value), self.ascending(key.ascending))
            for key in statement.keys
            if not isinstance(key.value, ast.Literal)
        ]
        before = self.nodes[-1]
        if keys:
            self.add(p.SortNode(tuple(keys)))
        elif isinstance(before, p.CollectNode):  # SORT null
            self.nodes[-1] = replace(before, ordered=False)

    def ascending(self, direction: bool | Expr) -> bool:
        if isinstance(direction, bool):
            return direction
        value = self.context.constant(direction)
        if isinstance(value, str):
            if value.lower() in ("asc", "desc"):
                return value.lower() == "asc"
            raise ArangoError(1501, "syntax error, invalid sort direction (while parsing)")
        return bool(value)

    def collect(self, statement: ast.Collect) -> None:
        options = self.options(statement.options)
        check_collect(dict(options.items), self.context.rt.warnings)
        groups = tuple(replace(group, value=self.lift(group.value)) for group in statement.groups)
        aggregates = tuple(replace(item, argument=self.lift(item.argument)) for item in statement.aggregates)
        method = options.get("method", "hash")
        if method not in ("hash", "sorted"):
            method = "hash"
        self.add(
            p.CollectNode(
                groups,
                aggregates,
                statement.into,
                self.optional(statement.into_value),
                statement.captured,
                statement.count_into,
                method,
            )
        )

    def window(self, statement: ast.Window) -> None:
        if self.modified:
            raise ArangoError(1595, "window operation not allowed after data-modification (while parsing)")
        bounds, key = self.lift(statement.bounds), self.optional(statement.range)
        if key is not None:
            self.add(p.SortNode((p.SortKey(key),)))
        aggregates = tuple(replace(item, argument=self.lift(item.argument)) for item in statement.aggregates)
        self.add(p.WindowNode(bounds, key, aggregates))

    # -- graphs

    def edges(self, source: ast.GraphSource, direction: str) -> p.TraversalEdges:
        if self.context.written:  # a walk may come to any collection
            raise modified("traversal")
        if isinstance(source, ast.NamedGraph):
            return self.named_graph(source, direction.lower())
        pairs = []
        for item in source:
            name = self.context.source(item.collection)
            self.reads(name, "traversal")
            self.context.txn.collection(name)
            pairs.append((name, (item.direction or direction).lower()))
        return p.TraversalEdges(tuple(pairs))

    def named_graph(self, source: ast.NamedGraph, direction: str) -> p.TraversalEdges:
        name = self.context.constant(source.name)
        if not isinstance(name, str):
            raise ArangoError(1553, "bind parameter has an invalid value or type (while parsing)")
        graph = graphs.resolve_graph(self.context.txn, name)
        if not graph.edge_collections:
            raise ArangoError(1940)
        for collection in (*graph.edge_collections, *graph.vertex_collections):
            self.reads(collection, "traversal")
        return p.TraversalEdges(
            tuple((edge, direction) for edge in graph.edge_collections), graph.vertex_collections, name
        )

    def depths(self, low: Expr | None, high: Expr | None) -> tuple[Expr, Expr]:
        first: Expr = low if low is not None else ast.Literal(1)
        last: Expr = high if high is not None else first
        for depth in (first, last):
            if not is_constant(depth):
                raise ArangoError(1501, "syntax error, invalid traversal depth (while parsing)")
        return first, last

    def traverse(self, statement: ast.Traverse) -> None:
        low, high = self.depths(statement.low, statement.high)
        options = self.options(statement.options)
        graphs.traversal_options(1, 1, dict(options.items), self.context.rt.warnings)
        start = self.start(statement.start)
        edges = self.edges(statement.graph, statement.direction)
        if statement.prune is not None:
            self.check_reads(statement.prune)
        if statement.prune is not None and has_subquery(statement.prune):
            raise ArangoError(1501, "prune condition must not use a subquery (while parsing)")
        node = p.TraversalNode(
            statement.vertex, statement.edge, statement.path, start, low, high, edges, options,
            statement.prune, statement.prune_variable,
        )  # fmt: skip
        self.add(node)

    def paths(self, statement: ast.ShortestPath) -> None:
        options = self.options(statement.options)
        graphs.path_options(1, 1, dict(options.items), self.context.rt.warnings, statement.kind)
        start, target = self.start(statement.start), self.start(statement.target)
        edges = self.edges(statement.graph, statement.direction)
        if statement.kind == "SHORTEST_PATH":
            self.add(p.ShortestPathNode(statement.variable, statement.edge, start, target, edges, options))
            return
        low, high = self.depths(statement.low, statement.high)
        self.add(p.EnumeratePathsNode(statement.kind, statement.variable, start, target, low, high, edges, options))

    def start(self, expr: Expr) -> Expr:
        """A start vertex; a literal that can be none is a syntax error, as on the server."""
        if isinstance(expr, ast.Literal) and (expr.value is None or isinstance(expr.value, bool | int | float)):
            raise ArangoError(
                1501, "invalid start vertex. Must either be an _id string or an object with _id. (while parsing)"
            )
        return self.lift(expr)

    # -- modifications

    def modify(self, statement: ast.Statement) -> None:
        assert isinstance(statement, ast.MODIFICATIONS)
        options = self.modification_options(statement)
        name = self.context.source(statement.collection)
        if self.context.txn.view(name) is not None:
            raise ArangoError(1237, f"collection type invalid: '{name}' is a view (while parsing)")
        if isinstance(statement, ast.Upsert):
            self.upsert(statement, name, options)
        else:
            self.write(statement, name, options)
        self.writes(name)
        self.context.txn.collection(name)
        self.modified = True

    def write(self, statement: Any, name: str, options: p.Options) -> None:
        match statement:
            case ast.Insert(document=document, old=old, new=new):
                self.add(p.InsertNode(name, options, old, new, self.lift(document)))
            case ast.Remove(key=key, old=old):
                self.add(p.RemoveNode(name, options, old, None, self.lift(key)))
            case ast.Update(key=key, document=document, old=old, new=new):
                self.add(p.UpdateNode(name, options, old, new, self.optional(key), self.lift(document)))
            case ast.Replace(key=key, document=document, old=old, new=new):
                self.add(p.ReplaceNode(name, options, old, new, self.optional(key), self.lift(document)))

    def modification_options(self, statement: Any) -> p.Options:
        """What it warns of has no effect."""
        options = self.options(statement.options)
        check_modification(type(statement).__name__.upper(), dict(options.items), self.context.rt.warnings)
        if options.get("overwriteMode") in (None, *MODES):
            return options
        return p.Options(tuple(item for item in options.items if item[0] != "overwriteMode"))

    def upsert(self, statement: ast.Upsert, name: str, options: p.Options) -> None:
        found = statement.current if statement.current is not None else self.context.fresh()
        conditions = self.upsert_conditions(statement, found)
        find = p.Plan(
            (
                p.SingletonNode(id=self.context.node_id()),
                p.EnumerateCollectionNode(found, name, options, id=self.context.node_id()),
                *(p.FilterNode(condition, id=self.context.node_id()) for condition in conditions),
                p.LimitNode(None, ast.Literal(1), id=self.context.node_id()),
                p.ReturnNode(found, id=self.context.node_id()),
            )
        )
        insert, update = self._lifted_lazily(statement.insert), self._lifted_lazily(statement.update)
        self.context.txn.collection(name)
        self.context.read.add(name)
        self.add(
            p.UpsertNode(
                name, options, statement.old, statement.new, find, found, insert, update, statement.kind == "REPLACE"
            )
        )

    def upsert_conditions(self, statement: ast.Upsert, found: Variable) -> Sequence[Expr]:
        if statement.condition is not None:
            return (self.lift(statement.condition),)
        return [
            ast.Binary("==", place, self.lift(value))
            for place, value in example_places(found, self.upsert_example(statement.example))
        ]

    def upsert_example(self, example: Expr | None) -> ast.ObjectLiteral:
        """The object literal, or the one a bind parameter stands for (1501 when it is no object)."""
        if isinstance(example, ast.Bind):
            name = example.name
            bound = _as_literal(self.context.relied_on(("bind", name), lambda rt: rt.binds.get(name)))
            if isinstance(bound, ast.ObjectLiteral):
                return bound
            raise ArangoError(1501, "expecting object literal for literal example (while parsing)")
        assert isinstance(example, ast.ObjectLiteral)
        return example

    def _lifted_lazily(self, expr: Expr) -> Expr:
        """INSERT and UPDATE of UPSERT: only one of them is evaluated."""
        self.check_reads(expr)
        return cast(Expr, self._lifted(expr, lazy=True))


def example_places(base: Expr, example: ast.ObjectLiteral) -> Iterator[tuple[Expr, Expr]]:
    """What an UPSERT example says: (attribute, value); of objects that have attributes, each of those."""
    for entry in example.entries:
        assert isinstance(entry.key, str)
        place = ast.Attribute(base, entry.key)
        if isinstance(entry.value, ast.ObjectLiteral) and entry.value.entries:
            yield from example_places(place, entry.value)
        else:
            yield place, entry.value


def _as_literal(value: Any) -> Expr:
    """A bound value as syntax, objects by their attributes."""
    if isinstance(value, dict):
        return ast.ObjectLiteral(tuple(ast.ObjectEntry(name, _as_literal(item)) for name, item in value.items()))
    return ast.Literal(value)


def calculated(node: p.PlanNode) -> Iterator[Expr]:
    """The expressions of a node that the server computes in CalculationNodes before it."""
    match node:
        case p.FilterNode(condition=expr):
            if not is_constant(expr):
                yield expr
        case p.ReturnNode(value=expr) | p.EnumerateListNode(source=expr):
            yield expr
        case p.InsertNode(document=expr) | p.RemoveNode(key=expr):
            yield expr
        case p.UpdateNode(key=key, document=document):
            yield document
            if key is not None:
                yield key
        case p.SortNode(keys=keys):
            yield from (key.value for key in keys)
        case p.CollectNode(groups=groups, aggregates=aggregates):
            yield from (group.value for group in groups)
            yield from (aggregate.argument for aggregate in aggregates)


def has_subquery(node: ast.Node) -> bool:
    return any(isinstance(found, ast.Subquery) for found in ast.walk(node))


def _outside_subqueries(node: ast.Node) -> Iterator[ast.Node]:
    """Like `walk`, but a subquery is left to the builder of its own."""
    stack = [node]
    while stack:
        top = stack.pop()
        if not isinstance(top, ast.Subquery):
            yield top
            stack.extend(ast.children(top))


READING: Final = frozenset(["DOCUMENT", "FULLTEXT", "NEAR", "WITHIN", "WITHIN_RECTANGLE"])
"""Functions that read documents of any collection."""


def modified(by: str) -> ArangoError:
    return ArangoError(1579, f"access after data-modification by {by} (while optimizing ast)")


def view_collections(view: Any) -> tuple[str, ...]:
    """The collections a view indexes."""
    if view.type == "search-alias":
        return tuple(entry["collection"] for entry in view.properties.get("indexes", ()))
    return tuple(view.properties.get("links", {}))


def is_lazy(node: ast.Node, name: str) -> bool:
    """Whether a field of a node may not be evaluated for a row, or is evaluated once for each of its own elements."""
    match node:
        case ast.Binary(op="AND" | "OR"):
            return name == "right"
        case ast.Ternary():
            return name != "condition"
        case ast.Expansion() | ast.ArrayMatch():
            return name != "base"
    return False
