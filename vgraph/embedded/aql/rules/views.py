"""Views: scorers computed where the documents are found, and only the best of them when a LIMIT says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vgraph.embedded.errors import ArangoError

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from ..nodes import Expr, Variable
from .limits import limit_behind
from .tools import all_of, attribute_path, conjuncts, in_loop, inlined, replaced, simple_definitions, with_nodes

SCORERS = ("BM25", "TFIDF", "BOOST_SCORE")


def handle_views(plan: p.Plan, context: Context) -> p.Plan:
    """Every BM25(d), TFIDF(d) and OFFSET_INFO(d, ..) of a view's variable becomes a variable that the view sets."""
    nodes = list(plan.nodes)
    position = 0
    while position < len(nodes):
        node = nodes[position]
        if isinstance(node, p.EnumerateViewNode):
            nodes = scored(nodes, position, node, context)
        elif isinstance(node, p.EnumerateCollectionNode) and node.options.get("indexHint"):
            nodes = inverted(nodes, position, node, context)
        position += 1
    return plan if all(a is b for a, b in zip(nodes, plan.nodes, strict=False)) else with_nodes(plan, nodes)


def inverted(
    nodes: list[p.PlanNode], position: int, node: p.EnumerateCollectionNode, context: Context
) -> list[p.PlanNode]:
    """FOR over a collection with a hint to an inverted index: of its filters, what the index knows is a search condition."""
    hint = node.options.get("indexHint")
    names = hint if isinstance(hint, list) else [hint]
    collection = context.txn.collection(node.collection)
    index = next((item for item in collection.indexes if item.type == "inverted" and item.name in names), None)
    following = nodes[position + 1 : position + 2]
    if index is None or not following or not isinstance(following[0], p.FilterNode):
        return nodes
    end = position + 1
    searched: list[Expr] = []
    left: list[p.PlanNode] = []
    while end < len(nodes) and isinstance(filtering := nodes[end], p.FilterNode):
        parts = list(conjuncts(filtering.condition))
        known = [part for part in parts if _answers(index.spec, part, node.variable)]
        searched += known
        others = [part for part in parts if part not in known]
        if others:
            left.append(replace(filtering, condition=all_of(others)) if known else filtering)
        end += 1
    if not searched:
        return nodes
    view = p.EnumerateViewNode(
        node.variable, node.collection, all_of(searched), inverted=int(index.id), id=context.node_id()
    )
    return scored([*nodes[:position], view, *left, *nodes[end:]], position, view, context)


def _answers(spec: dict[str, Any], condition: Expr, variable: Variable) -> bool:
    """Whether an inverted index can tell the documents of a condition: a search, of attributes that it has."""
    from vgraph.embedded.search import compile_search

    paths = set(_paths(condition, variable))
    if not paths or not all(_has(spec, path.replace("[*]", "")) for path in paths):
        return False
    try:
        compile_search(condition, variable, lambda expr: lambda row, rt: None)
    except ArangoError:
        return False
    return True


def _has(spec: dict[str, Any], path: str) -> bool:
    if spec["includeAllFields"] and path:
        return True
    for entry in spec["fields"]:
        name = entry["name"].replace("[*]", "")
        if path == name or (path.startswith(name + ".") and (entry.get("includeAllFields") or entry.get("nested"))):
            return True
    return False


def _paths(node: ast.Node, variable: Variable) -> Iterator[str]:
    """The attribute paths of the document that an expression names; "" where it takes the whole of it."""
    found = attribute_path(node)  # type: ignore[arg-type]
    if found is not None and found[0] == variable:
        yield found[1]
        return
    for below in ast.children(node):
        yield from _paths(below, variable)


def scored(nodes: list[p.PlanNode], position: int, node: p.EnumerateViewNode, context: Context) -> list[p.PlanNode]:
    calls = {item for later in nodes[position + 1 :] for item in ast.walk(later) if of_view(item, node.variable)}
    for call in sorted(calls, key=lambda call: call.at):
        assert isinstance(call, ast.Call)
        variable = context.fresh()
        if call.name in SCORERS:
            node = replace(node, scorers=(*node.scorers, p.Scorer(variable, call.name, call.args[1:])))
        else:
            limit = call.args[2] if len(call.args) > 2 else None
            node = replace(node, offsets=(*node.offsets, p.OffsetInfo(variable, call.args[1], limit)))
        nodes = [*nodes[: position + 1], *(replaced(item, call, variable) for item in nodes[position + 1 :])]  # type: ignore[list-item]
    return [*nodes[:position], node, *nodes[position + 1 :]]


def of_view(node: ast.Node, variable: Variable) -> bool:
    return (
        isinstance(node, ast.Call)
        and node.name in (*SCORERS, "OFFSET_INFO")
        and len(node.args) > 0
        and node.args[0] == variable
    )


def constrained_sort(plan: p.Plan, context: Context) -> p.Plan:
    """SORT by a scorer and LIMIT right behind a view: the view gives the best ones only, in order."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if not isinstance(node, p.EnumerateViewNode) or node.top is not None or in_loop(nodes, position):
            continue
        behind = position + 1
        while behind < len(nodes) and isinstance(nodes[behind], p.CalculationNode):
            behind += 1
        sort = nodes[behind] if behind < len(nodes) else None
        limit = limit_behind(nodes, behind) if isinstance(sort, p.SortNode) else None
        if not isinstance(sort, p.SortNode) or limit is None:
            continue
        value = inlined(sort.keys[0].value, simple_definitions(nodes[position + 1 : behind]))
        scorers: list[Expr] = [scorer.variable for scorer in node.scorers]
        ties = len(sort.keys) > 1
        if value in scorers and not (ties and node.offsets):
            top = p.Top(scorers.index(value), not sort.keys[0].ascending, limit.offset, limit.count, ties)
            nodes[position] = replace(node, top=top)
            if not ties:
                del nodes[behind]
            return with_nodes(plan, nodes)
    return plan


def refuse_scorers(plan: p.Plan) -> None:
    """A scorer of anything but a view's document is an error, as on the server."""
    for node in ast.walk(plan):
        if isinstance(node, ast.Call) and node.name in (*SCORERS, "OFFSET_INFO"):
            raise ArangoError(10, f"Non ArangoSearch view variable is used in scorer function '{node.name}'")
