"""Plans and syntax trees as the server shows them (`POST /_api/explain`, `POST /_api/query`).

Our nodes hold their expressions; the server computes each in a CalculationNode of its own, so those are put in here.
Costs and row counts are estimates of the same kind as the server's, good for comparing plans of one query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vgraph.embedded.errors import ArangoError

from . import estimates
from . import nodes as ast
from . import plan as p
from .build import calculated
from .executor import Run
from .nodes import Expr, Variable
from .prepare import Prepared, Variant
from .rules import RULES

TYPE_IDS: dict[str, int] = {
    "unary minus": 17, "unary plus": 16, "unary not": 18, "logical and": 19, "logical or": 20, "plus": 21, "minus": 22,
    "times": 23, "division": 24, "modulus": 25, "compare ==": 25, "compare !=": 26, "compare <": 27, "compare <=": 28,
    "compare >": 29, "compare >=": 30, "compare in": 31, "compare not in": 32, "ternary": 33, "subquery": 34,
    "attribute access": 35, "bound attribute access": 36, "indexed access": 37, "expansion": 38, "iterator": 39,
    "value": 40, "array": 41, "object": 42, "object element": 43, "collection": 44, "view": 74, "reference": 45,
    "parameter": 46, "function call": 47, "range": 49, "array filter": 81, "array limit": 54, "n-ary and": 62,
    "n-ary or": 63, "array compare": 65,
}  # fmt: skip
OPERATORS = {
    "AND": "logical and", "OR": "logical or", "+": "plus", "-": "minus", "*": "times", "/": "division", "%": "modulus",
    "==": "compare ==", "!=": "compare !=", "<": "compare <", "<=": "compare <=", ">": "compare >",
    ">=": "compare >=", "IN": "compare in", "NOT IN": "compare not in",
}  # fmt: skip
UNARY = {"NOT": "unary not", "+": "unary plus", "-": "unary minus"}
VALUE_TYPES: dict[type, int] = {type(None): 0, bool: 1, int: 2, float: 3, str: 4}


class Tree:
    """Expressions as JSON. `types`: with the numbers that explain shows and query does not."""

    def __init__(self, binds: Mapping[str, Any] | None = None, *, types: bool) -> None:
        self.types = types
        self.binds = binds

    def node(self, kind: str, *children: Expr | dict[str, Any], **fields: Any) -> dict[str, Any]:
        shown: dict[str, Any] = {"type": kind}
        if self.types and kind in TYPE_IDS:
            shown["typeID"] = TYPE_IDS[kind]
        shown |= fields
        if children:
            shown["subNodes"] = [item if isinstance(item, dict) else self.expression(item) for item in children]
        return shown

    def value(self, value: Any) -> dict[str, Any]:
        if isinstance(value, list) and self.types:
            return self.node("array", raw=value)
        if isinstance(value, list):
            return self.node("array", *(self.value(item) for item in value))
        if isinstance(value, dict):
            return self.node("object", *(self.node("object element", self.value(v), name=k) for k, v in value.items()))
        shown = self.node("value", value=value)
        if self.types:
            shown["vTypeID"] = VALUE_TYPES.get(type(value), 0)
        return shown

    def expression(self, expr: Any) -> dict[str, Any]:
        match expr:
            case ast.Literal(value=value):
                return self.value(value)
            case ast.Bind(name=name):
                return (
                    self.value(self.binds[name])
                    if self.binds and name in self.binds
                    else self.node("parameter", name=name)
                )
            case ast.Variable(name=name, id=number):
                return self.node("reference", name=name, id=number, subqueryReference=False)
            case ast.Collection(name=name):
                return self.node("collection", name=name)
            case ast.CollectionBind(name=name):
                return self.node("datasource parameter", name="@" + name)
            case ast.Attribute(base=base, name=name):
                return self.node("attribute access", base, name=name)
            case ast.BoundAttribute(base=base, bind=bind):
                return self.node("bound attribute access", base, bind)
            case ast.Index(base=base, index=index):
                return self.node("indexed access", base, index)
            case ast.Unary(op=op, operand=operand):
                return self.node(UNARY[op], operand)
            case ast.Binary(op=op, left=left, right=right):
                return self.node(OPERATORS[op], left, right, **self.excludes_null(op))
            case ast.Quantified(quantifier=quantifier, op=op, left=left, right=right):
                quantified = self.node("quantifier", quantifier=quantifier.lower())
                return self.node("array " + OPERATORS[op], left, right, quantified)
            case ast.Ternary(condition=condition, then=then, otherwise=otherwise):
                return self.node("ternary", *(part for part in (condition, then, otherwise) if part is not None))
            case ast.Range(low=low, high=high):
                return self.node("range", low, high)
            case ast.ArrayLiteral(items=items):
                constant = [item.value for item in items if isinstance(item, ast.Literal)]
                if self.types and len(constant) == len(items):
                    return self.node("array", raw=constant)
                return self.node("array", *items)
            case ast.ObjectLiteral(entries=entries):
                return self.node("object", *(self.entry(entry) for entry in entries))
            case ast.Expansion(base=base, levels=levels, value=value):
                return self.node("expansion", base, value, levels=levels)
            case ast.ArrayMatch(base=base):
                return self.node("expansion", base, booleanize=True)
            case ast.Call(name=name, args=args):
                return self.node("function call", self.node("array", *args), name=name)
            case ast.Subquery():
                return self.node("subquery")
        raise ArangoError(4, f"cannot show {type(expr).__name__}")

    def excludes_null(self, op: str) -> dict[str, Any]:
        return {"excludesNull": False} if self.types and OPERATORS[op].startswith("compare") else {}

    def entry(self, entry: ast.ObjectEntry) -> dict[str, Any]:
        if isinstance(entry.key, str):
            return self.node("object element", entry.value, name=entry.key)
        return self.node("calculated object element", entry.key, entry.value)

    # -- statements, for the syntax tree

    def query(self, query: ast.Query, kind: str = "root") -> dict[str, Any]:
        return self.node(kind, *(self.statement(statement) for statement in query.statements))

    def declared(self, variable: Variable) -> dict[str, Any]:
        return self.node("variable", name=variable.name, id=variable.id)

    def statement(self, statement: Any) -> dict[str, Any]:
        nothing = {"type": "no-op"}
        match statement:
            case ast.For(variable=variable, source=source):
                return self.node("for", self.declared(variable), source, nothing)
            case ast.Filter(condition=condition):
                return self.node("filter", condition)
            case ast.Let(variable=variable, value=value):
                return self.node("let", self.declared(variable), value)
            case ast.Sort(keys=keys):
                elements = [
                    self.node("sort element", key.value, self.value(key.ascending is not False)) for key in keys
                ]
                return self.node("sort", self.node("array", *elements))
            case ast.Limit(offset=offset, count=count):
                return self.node("limit", offset if offset is not None else ast.Literal(0), count)
            case ast.Return(value=value):
                return self.node("return", value)
        return self.node(type(statement).__name__.lower())


def parsed(query: ast.Parsed) -> dict[str, Any]:
    """The answer of `POST /_api/query`."""
    sources = dict.fromkeys(
        source.name for source in (*query.reads, *query.writes) if isinstance(source, ast.Collection)
    )
    return {
        "parsed": True,
        "collections": list(sources),
        "bindVars": list(query.binds),
        "ast": [Tree(types=False).query(query.query)],
        "warnings": [],
    }


# ---------------------------------------------------------------------------------------------------------- explain


class Explanation:
    """A plan as JSON nodes, from first to last, with costs added up."""

    def __init__(self, txn: Any, rt: Run, binds: Mapping[str, Any]) -> None:
        self.txn = txn
        self.tree = Tree(binds, types=True)
        self.rt = rt
        self.nodes: list[dict[str, Any]] = []
        self.variables: dict[int, dict[str, Any]] = {}
        self.items = 1.0
        self.cost = 0.0
        self.documents: set[int] = set()
        self.extra = 100_000
        self.hidden = -1
        self.calculating: tuple[p.PlanNode | None, int] = (None, 0)

    def variable(self, variable: Variable) -> dict[str, Any]:
        shown = {
            "id": variable.id,
            "name": variable.name,
            "isFullDocumentFromCollection": variable.id in self.documents,
        }
        self.variables.setdefault(variable.id, shown)
        return shown

    def add(self, kind: str, number: int, items: float, cost: float, **fields: Any) -> None:
        self.items = items
        self.cost += cost
        before = [self.nodes[-1]["id"]] if self.nodes else []
        shown = {
            "type": kind,
            "dependencies": before,
            "id": number,
            "estimatedCost": plain(self.cost),
            "estimatedNrItems": plain(self.items),
        }
        self.nodes.append(shown | fields)

    def calculated(self, expr: Expr, node: p.PlanNode) -> dict[str, Any]:
        """The variable that holds an expression: itself, or the output of a CalculationNode put in here.

        The numbers before a node's own were left for its calculations when it was built.
        """
        if isinstance(expr, Variable):
            return self.variable(expr)
        if node is not self.calculating[0]:
            self.calculating = node, node.id - sum(not isinstance(found, Variable) for found in calculated(node))
        number = self.calculating[1]
        self.calculating = node, number + 1
        variable = self.fresh()
        self.calculation(variable, expr, number)
        return self.variable(variable)

    def calculation(self, variable: Variable, expr: Expr, number: int) -> None:
        self.add(
            "CalculationNode",
            number,
            self.items,
            self.items,
            expression=self.tree.expression(expr),
            outVariable=self.variable(variable),
            canThrow=False,
            expressionType=expression_type(expr),
        )

    def plan(self, plan: p.Plan) -> None:
        for node in plan.nodes:
            show: Callable[[Any], None] = getattr(self, "_" + node.word, self.other)
            show(node)

    def other(self, node: p.PlanNode) -> None:
        shown = {"outVariables": [self.variable(variable) for variable in node.outputs()]} if node.outputs() else {}
        self.add(node.type, node.id, self.items, self.items, **shown)

    def _singleton(self, node: p.SingletonNode) -> None:
        if not self.nodes:
            self.add(node.type, node.id, 1, 1, bindParameterVariables={})

    def _no_results(self, node: p.NoResultsNode) -> None:
        self.cost = 0.0
        self.add(node.type, node.id, 0, 0.5)

    def _enumerate_list(self, node: p.EnumerateListNode) -> None:
        source = self.calculated(node.source, node)
        items = self.items * list_length(node.source, self.tree.binds)
        self.add(node.type, node.id, items, items, inVariable=source, outVariable=self.variable(node.variable))
        self.filtered(node)

    def filtered(self, node: Any) -> None:
        if node.filter is not None:
            self.nodes[-1]["filter"] = self.tree.expression(node.filter)

    def loop(self, node: Any) -> dict[str, Any]:
        self.documents.add(node.variable.id)
        projection = node.projection or ()
        return {
            "outVariable": self.variable(node.variable),
            "projections": [{"path": [name]} for name in sorted(projection)],
            "filterProjections": [],
            "count": False,
            "producesResult": getattr(node, "produces", node.projection != frozenset()),
            "readOwnWrites": False,
            "useCache": True,
            "maxProjections": 5,
            "collection": node.collection,
            "satellite": False,
            "isSatellite": False,
            "isSatelliteOf": None,
        }

    def _enumerate_collection(self, node: p.EnumerateCollectionNode) -> None:
        count = self.txn.collection(node.collection).count()
        hint = node.options.get("indexHint")
        self.add(
            node.type,
            node.id,
            self.items * count,
            self.items * count + 1,
            random=False,
            indexHint={"forced": bool(node.options.get("forceIndexHint")), "lookahead": 1, "type": "none"}
            | ({"type": "simple", "hint": hint if isinstance(hint, list) else [hint]} if hint else {}),
            **self.loop(node),
        )
        self.filtered(node)

    def _count(self, node: p.CountNode) -> None:
        """On the server the loop stays and only counts."""
        self.extra += 1
        rows = self.fresh()
        if node.lookup is None:
            self._enumerate_collection(p.EnumerateCollectionNode(rows, node.collection, produces=False, id=self.extra))
        else:
            self._index(p.IndexNode(rows, node.collection, (node.lookup,), projection=frozenset(), id=self.extra))
        self.nodes[-1] |= {"count": True, "producesResult": False}
        self._collect(p.CollectNode((), count_into=node.variable, id=node.id))
        self.nodes[-1]["aggregates"] = [{"outVariable": self.variable(node.variable), "type": "LENGTH"}]

    def fresh(self) -> Variable:
        self.hidden += 1
        return Variable(str(self.hidden - 1), self.hidden - 1)

    def lookups(self, node: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        collection = self.txn.collection(node.collection)
        shown, branches = [], []
        for lookup in node.lookups:
            shown.append(self.index(collection, lookup))
            parts = [] if lookup.condition is None else [self.tree.expression(c) for c in parts_of(lookup.condition)]
            branches.append(self.tree.node("n-ary and", *parts))
        condition = self.tree.node("n-ary or", *branches) if any(lk.condition for lk in node.lookups) else {}
        return shown, condition

    def index_of(self, collection: Any, lookup: p.Lookup) -> Any:
        if lookup.kind in ("sorted", "box", "skip"):
            return next(item for item in collection.indexes if item.id == lookup.index)
        kind = "primary" if lookup.kind == "key" else lookup.kind
        return next(item for item in collection.indexes if item.type == kind)

    def index(self, collection: Any, lookup: p.Lookup) -> dict[str, Any]:
        shown: dict[str, Any] = self.index_of(collection, lookup).definition()
        if lookup.kind == "edge":
            shown = {**shown, "fields": [lookup.field]}
        return shown

    def found(self, node: Any) -> tuple[float, float]:
        """About how many documents a node's lookups find for one row, and what that costs."""
        collection = self.txn.collection(node.collection)
        count, binds = collection.count(), self.tree.binds
        items = cost = 0.0
        for lookup in node.lookups:
            index = self.index_of(collection, lookup)
            values = math.prod(list_length(e.value, binds, estimates.MEMBERS) for e in lookup.equal if e.any)
            selectivity = index.selectivity(self.txn)
            more, price = estimates.lookup(lookup, len(index.fields) or 1, count, selectivity, values)
            items, cost = items + more, cost + price
        return items, cost

    def _index(self, node: p.IndexNode) -> None:
        indexes, condition = self.lookups(node)
        found, cost = self.found(node)
        self.add(
            node.type,
            node.id,
            self.items * found,
            self.items * cost,
            **self.loop(node),
            strategy="document",
            needsGatherNodeSort=node.sorted,
            indexCoversProjections=False,
            indexCoversOutProjections=False,
            indexCoversFilterProjections=False,
            indexes=indexes,
            condition=condition,
            allCoveredByOneIndex=False,
            sorted=True,
            ascending=node.ascending,
            evalFCalls=True,
            waitForSync=False,
            limit=0,
            isLateMaterialized=False,
            lookahead=1,
        )
        self.filtered(node)

    def _enumerate_view(self, node: p.EnumerateViewNode) -> None:
        self.documents.add(node.variable.id)
        items = self.items * 100
        self.add(
            node.type,
            node.id,
            items,
            items + 1,
            view=node.view,
            outVariable=self.variable(node.variable),
            condition={} if node.search is None else self.tree.expression(node.search),
            scorers=[{"id": s.variable.id, "name": s.variable.name, "function": s.function} for s in node.scorers],
            isLateMaterialized=False,
            **(
                {}
                if node.top is None
                else {"scorersSort": [{"index": node.top.scorer, "asc": not node.top.descending}]}
            ),
        )

    def _enumerate_near_vector(self, node: p.EnumerateNearVectorNode) -> None:
        self.documents.add(node.variable.id)
        collection = self.txn.collection(node.collection)
        index = next(item for item in collection.indexes if item.id == node.index)
        indexes, condition = self.lookups(node)
        self.add(
            node.type,
            node.id,
            self.items * 10,
            self.items * 10 + 1,
            collection=node.collection,
            index=index.definition(),
            documentOutVariable=self.variable(node.variable),
            distanceOutVariable=self.variable(node.distance),
            queryVector=self.tree.expression(node.query),
            candidateIndexes=indexes,
            candidateCondition=condition,
            filterExpression=None if node.filter is None else self.tree.expression(node.filter),
        )

    def walk_fields(self, node: Any) -> dict[str, Any]:
        return {
            "graph": node.edges.graph or [name for name, _ in node.edges.collections],
            "edgeCollections": [name for name, _ in node.edges.collections],
            "directions": [
                {"outbound": 2, "inbound": 1, "any": 0}[direction] for _, direction in node.edges.collections
            ],
            "options": dict(node.options.items),
        }

    def _traversal(self, node: p.TraversalNode) -> None:
        items = self.items * 10
        names = (("vertexOutVariable", node.vertex), ("edgeOutVariable", node.edge), ("pathOutVariable", node.path))
        self.add(
            node.type,
            node.id,
            items,
            items + 1,
            **self.walk_fields(node),
            **{name: self.variable(variable) for name, variable in names if variable is not None},
            conditions=[self.tree.expression(item.condition) for item in node.conditions],
        )
        self.filtered(node)

    def _shortest_path(self, node: p.ShortestPathNode) -> None:
        self.add(node.type, node.id, self.items * 10, self.items * 10, **self.walk_fields(node))

    _enumerate_paths = _shortest_path

    def _calculation(self, node: p.CalculationNode) -> None:
        self.calculation(node.variable, node.value, node.id)

    def _document(self, node: p.DocumentNode) -> None:
        self.calculation(node.variable, node.call, node.id)

    def _subquery(self, node: p.SubqueryNode) -> None:
        outer = self.items
        self.extra += 1
        self.add("SubqueryStartNode", node.id, outer, outer, subqueryOutVariable=self.variable(node.variable))
        self.plan(node.plan)
        if self.nodes[-1]["type"] == "ReturnNode":
            self.nodes.pop()
        self.add("SubqueryEndNode", self.extra, outer, outer, outVariable=self.variable(node.variable))

    def _filter(self, node: p.FilterNode) -> None:
        variable = self.calculated(node.condition, node)
        self.add(node.type, node.id, self.items, self.items, inVariable=variable)

    def _sort(self, node: p.SortNode) -> None:
        elements = [{"inVariable": self.calculated(key.value, node), "ascending": key.ascending} for key in node.keys]
        limit = constant(node.count, self.tree.binds)
        self.add(
            node.type,
            node.id,
            self.items,
            estimates.sort(self.items),
            elements=elements,
            stable=False,
            limit=limit if isinstance(limit, int) else 0,
            strategy="standard" if node.count is None else "constrained-heap",
        )

    def _limit(self, node: p.LimitNode) -> None:
        offset, count = constant(node.offset, self.tree.binds) or 0, constant(node.count, self.tree.binds)
        items = min(self.items, count) if isinstance(count, int | float) else self.items
        self.add(node.type, node.id, items, items, offset=offset, limit=count, fullCount=self.rt.full_count)

    def _collect(self, node: p.CollectNode) -> None:
        groups = [
            {"outVariable": self.variable(g.variable), "inVariable": self.calculated(g.value, node)}
            for g in node.groups
        ]
        aggregates = [
            {
                "outVariable": self.variable(a.variable),
                "inVariable": self.calculated(a.argument, node),
                "type": a.function,
            }
            for a in node.aggregates
        ]
        method = "count" if node.count_into is not None and not node.groups else "hash"
        items = max(1.0, self.items * 0.8) if node.groups else 1.0
        self.add(
            node.type,
            node.id,
            items,
            self.items,
            groups=groups,
            aggregates=aggregates,
            isDistinctCommand=False,
            specialized=True,
            collectOptions={"method": method},
            **({} if node.into is None else {"outVariable": self.variable(node.into)}),
        )

    def _return(self, node: p.ReturnNode) -> None:
        variable = self.calculated(node.value, node)
        if node.distinct:
            self.extra += 1
            self.add("CollectNode", self.extra, self.items, self.items, isDistinctCommand=True, groups=[variable])
        self.add(node.type, node.id, self.items, self.items, inVariable=variable, count=True)

    def written(self, node: Any) -> None:
        names = (("outVariableOld", node.old), ("outVariableNew", node.new))
        self.add(
            node.type,
            node.id,
            self.items,
            self.items,
            collection=node.collection,
            modificationFlags=dict(node.options.items),
            **{name: self.variable(variable) for name, variable in names if variable is not None},
        )

    def _insert(self, node: p.InsertNode) -> None:
        self.calculated(node.document, node)
        self.written(node)

    def _update(self, node: p.UpdateNode) -> None:
        self.calculated(node.document, node)
        self.written(node)

    _replace = _update

    def _remove(self, node: p.RemoveNode) -> None:
        self.calculated(node.key, node)
        self.written(node)

    _upsert = written


def plain(value: float) -> float | int:
    return int(value) if value == int(value) else value


def constant(expr: Expr | None, binds: Mapping[str, Any] | None) -> Any:
    if isinstance(expr, ast.Literal):
        return expr.value
    return (binds or {}).get(expr.name) if isinstance(expr, ast.Bind) else None


def list_length(expr: Expr, binds: Mapping[str, Any] | None, unknown: int = 100) -> int:
    if isinstance(expr, ast.Range):
        low, high = constant(expr.low, binds), constant(expr.high, binds)
        if isinstance(low, int) and isinstance(high, int):
            return abs(high - low) + 1
    if isinstance(expr, ast.ArrayLiteral):
        return len(expr.items)
    value = constant(expr, binds)
    return len(value) if isinstance(value, list) else unknown


def parts_of(condition: Expr) -> Iterator[Expr]:
    from .rules.tools import conjuncts

    return conjuncts(condition)


def expression_type(expr: Expr) -> str:
    match expr:
        case ast.Literal():
            return "json"
        case ast.ArrayLiteral(items=items) if all(isinstance(item, ast.Literal) for item in items):
            return "json"
        case ast.Attribute():
            return "attribute"
        case ast.Variable():
            return "reference"
    return "simple"


def answer(variant: Variant, prepared: Prepared, txn: Any, rt: Run, options: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of `POST /_api/explain`."""
    shown = plan_json(variant, txn, rt)
    warnings = warned(variant, rt)
    body: dict[str, Any] = {"plans": [shown]} if options.get("allPlans") else {"plan": shown}
    if not options.get("allPlans"):
        body["cacheable"] = not variant.plan.modifies and not warnings and is_cacheable(variant.plan)
    return body | {
        "warnings": warnings,
        "stats": {
            "rulesExecuted": len(RULES),
            "rulesSkipped": 0,
            "plansCreated": 1,
            "rules": {},
            "peakMemoryUsage": 0,
            "executionTime": 0.0,
        },
    }


def plan_json(variant: Variant, txn: Any, rt: Run) -> dict[str, Any]:
    """A plan with its nodes, rules, collections and variables."""
    explanation = Explanation(txn, rt, rt.binds)
    plan = variant.plan
    explanation.hidden = max((variable.id for variable in ast.variables(plan)), default=-1) + 1
    explanation.plan(plan)
    collections = dict.fromkeys(sorted(plan.read), "read") | dict.fromkeys(sorted(plan.written), "write")
    return {
        "nodes": explanation.nodes,
        "rules": list(plan.rules),
        "asyncPrefetchNodes": 0,
        "estimatedCost": plain(explanation.cost),
        "estimatedNrItems": plain(explanation.items),
        "collections": [{"name": name, "type": kind} for name, kind in collections.items()],
        "variables": list(explanation.variables.values()),
        "isModificationQuery": plan.modifies,
    }


def warned(variant: Variant, rt: Run) -> list[dict[str, Any]]:
    """The warnings that constants of the query give: they are known without running it. With failOnWarning an error."""
    from .build import is_constant
    from .option_checks import INVALID_OPTION
    from .prepare import evaluator

    fails, rt.warnings.fail = rt.warnings.fail, False
    for number, message in variant.warnings:
        if number == INVALID_OPTION:  # the others are those of the constants
            rt.warnings.add(number, message)
    for node in ast.walk(variant.plan):
        if isinstance(node, ast.Binary | ast.Call) and is_constant(node):
            try:
                evaluator(node)(rt)
            except ArangoError:
                continue
    if fails and rt.warnings.items:
        raise ArangoError(*rt.warnings.items[0])
    return rt.warnings.as_json()


def is_cacheable(plan: p.Plan) -> bool:
    from .functions import FUNCTIONS

    for node in ast.walk(plan):
        if isinstance(node, ast.Call):
            function = FUNCTIONS.get(node.name)
            if function is not None and not function.cacheable:
                return False
    return True
