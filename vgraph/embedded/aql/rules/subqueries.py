"""Subqueries: pulled into the loop that reads them, or cut to what is asked of them."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from .tools import in_loop, uses_after, with_nodes


def inline_subqueries(plan: p.Plan, context: Context) -> p.Plan:
    """FOR x IN (FOR y IN .. RETURN e): the inner loop takes the outer one's place, x becomes a LET."""
    nodes = list(plan.nodes)
    position = 0
    changed = False
    while position < len(nodes):
        node = nodes[position]
        if isinstance(node, p.EnumerateListNode) and isinstance(node.source, ast.Variable):
            source = defining(nodes, position, node.source)
            if source is not None and can_inline(nodes, source, position):
                inner = cast(p.SubqueryNode, nodes[source]).plan
                result = cast(p.ReturnNode, inner.nodes[-1])
                let = p.CalculationNode(node.variable, result.value, id=node.id)
                nodes[position : position + 1] = [*inner.nodes[1:-1], let]
                del nodes[source]
                changed = True
                continue
        position += 1
    return with_nodes(plan, nodes) if changed else plan


def defining(nodes: list[p.PlanNode], position: int, variable: ast.Variable) -> int | None:
    for number in range(position):
        node = nodes[number]
        if isinstance(node, p.SubqueryNode) and node.variable == variable:
            return number
    return None


def can_inline(nodes: list[p.PlanNode], source: int, position: int) -> bool:
    """Only the loop reads the result; nothing in the subquery looks at its rows as a whole unless it runs once."""
    node = cast(p.SubqueryNode, nodes[source])
    inner = node.plan
    if inner.modifies or not isinstance(inner.nodes[-1], p.ReturnNode) or inner.nodes[-1].distinct:
        return False
    users = sum(node.variable in later.uses() for later in nodes[source + 1 :])
    if users != 1 or any(isinstance(item, p.CollectNode | p.WindowNode) for item in inner.nodes):
        return False
    whole = any(isinstance(item, p.SortNode | p.LimitNode | p.NoResultsNode) for item in inner.nodes)
    if whole and in_loop(nodes, position):
        return False
    # what stands between the two must not be looped over once more
    between = nodes[source + 1 : position]
    return not any(isinstance(item, p.ENUMERATIONS) for item in between) or not whole


def optimize_subqueries(plan: p.Plan, context: Context) -> p.Plan:
    """LENGTH(subquery) needs no values; FIRST(subquery) needs one row."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if not isinstance(node, p.SubqueryNode) or node.plan.modifies:
            continue
        if not isinstance(node.plan.nodes[-1], p.ReturnNode) or node.plan.nodes[-1].distinct:
            continue
        asked = sole_question(nodes, position, node.variable)
        if asked == "FIRST":
            nodes[position] = replace(node, plan=limited(node.plan, context))
        elif asked in ("LENGTH", "COUNT"):
            nodes[position] = replace(node, plan=only_counted(node.plan))
    return with_nodes(plan, nodes) if any(a is not b for a, b in zip(nodes, plan.nodes, strict=True)) else plan


def sole_question(nodes: list[p.PlanNode], position: int, variable: ast.Variable) -> str | None:
    """The one function that is called with the subquery's result, if nothing else reads it."""
    asked: set[str] = set()
    mentioned = 0
    for node in nodes[position + 1 :]:
        for item in ast.walk(node):
            if item == variable:
                mentioned += 1
            if isinstance(item, ast.Call) and item.args == (variable,):
                asked.add(item.name)
                mentioned -= 1
    return asked.pop() if len(asked) == 1 and mentioned == 0 and variable in uses_after(nodes, position + 1) else None


def limited(plan: p.Plan, context: Context) -> p.Plan:
    if any(isinstance(node, p.LimitNode) for node in plan.nodes):
        return plan
    limit = p.LimitNode(None, ast.Literal(1), id=context.node_id())
    return with_nodes(plan, [*plan.nodes[:-1], limit, plan.nodes[-1]])


def only_counted(plan: p.Plan) -> p.Plan:
    result = cast(p.ReturnNode, plan.nodes[-1])
    if isinstance(result.value, ast.Literal):
        return plan
    return with_nodes(plan, [*plan.nodes[:-1], replace(result, value=ast.Literal(True))])
