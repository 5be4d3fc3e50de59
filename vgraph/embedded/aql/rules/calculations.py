"""LET: out of loops, behind filters and limits, or away altogether."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from .. import nodes as ast
from .. import plan as p
from ..build import Context, is_lazy
from ..nodes import Variable
from .tools import BARRIERS, is_deterministic, passable, uses_after, with_nodes

Computed = p.CalculationNode | p.SubqueryNode | p.DocumentNode


def movable(node: p.PlanNode) -> bool:
    """Whether it does not matter when, and how often, a node is evaluated."""
    return isinstance(node, Computed) and is_deterministic(node)


def move_calculations_up(plan: p.Plan, context: Context) -> p.Plan:
    """What does not depend on a loop is computed before it, once."""
    nodes = list(plan.nodes)
    moved = False
    for position in range(len(nodes)):
        node = nodes[position]
        if not movable(node):
            continue
        target = outside_loops(nodes, position)
        if target != position:
            nodes.insert(target, nodes.pop(position))
            moved = True
    return with_nodes(plan, nodes) if moved else plan


def outside_loops(nodes: list[p.PlanNode], position: int) -> int:
    used = nodes[position].uses()
    target = position
    for number in range(position - 1, -1, -1):
        node = nodes[number]
        if not (passable(node) or isinstance(node, p.LimitNode)) or used & set(node.outputs()):
            break
        if isinstance(node, p.ENUMERATIONS):
            target = number
    return target


def move_calculations_down(plan: p.Plan, context: Context) -> p.Plan:
    """What only comes later is computed after filters, sorts and limits have thinned the rows."""
    nodes = list(plan.nodes)
    moved = False
    for position in range(len(nodes) - 1, -1, -1):
        if not movable(nodes[position]):
            continue
        target = later(nodes, position)
        if target != position:
            nodes.insert(target, nodes.pop(position))
            moved = True
    return with_nodes(plan, nodes) if moved else plan


def later(nodes: list[p.PlanNode], position: int) -> int:
    """The last place before its first use, when a node in between drops rows."""
    made = set(nodes[position].outputs())
    target = position
    for number in range(position + 1, len(nodes)):
        node = nodes[number]
        if made & node.uses() or isinstance(node, p.ENUMERATIONS):
            break
        if isinstance(node, p.FilterNode | p.SortNode | p.LimitNode):
            target = number
        elif isinstance(node, BARRIERS):
            break
    return target


def remove_unnecessary_calculations(plan: p.Plan, context: Context) -> p.Plan:
    """LETs that nobody reads, and LETs that are only another name."""
    nodes = list(plan.nodes)
    for position in range(len(nodes) - 1, -1, -1):
        node = nodes[position]
        if movable(node) and not set(node.outputs()) & uses_after(nodes, position + 1):
            del nodes[position]
    if len(nodes) == len(plan.nodes):
        return plan
    return with_nodes(plan, nodes)


def drop_unread_results(plan: p.Plan, context: Context) -> p.Plan:
    """OLD and NEW that nobody reads need not be fetched; loops whose variable nobody reads need no documents."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if isinstance(node, p.ModificationNode):
            nodes[position] = without_unread(node, uses_after(nodes, position + 1))
    return with_nodes(plan, nodes) if any(a is not b for a, b in zip(nodes, plan.nodes, strict=True)) else plan


def without_unread(node: p.ModificationNode, used: set[Variable]) -> p.ModificationNode:
    old = node.old
    if isinstance(node, p.UpsertNode):
        used = used | ({old} if old is not None and old in ast.variables(node.update) else set())
    kept_old = old if old is not None and old in used else None
    kept_new = node.new if node.new is not None and node.new in used else None
    if kept_old is old and kept_new is node.new:
        return node
    return replace(node, old=kept_old, new=kept_new)


def batch_document_lookups(plan: p.Plan, context: Context) -> p.Plan:
    """DOCUMENT() in a loop becomes a step of its own that looks up a batch of rows at once."""
    nodes: list[p.PlanNode] = []
    looped = False
    for node in plan.nodes:
        if looped and isinstance(node, p.CalculationNode | p.ReturnNode | p.FilterNode):
            node = lifted(node, nodes, context)
        looped = looped or isinstance(node, p.ENUMERATIONS)
        nodes.append(node)
    return plan if len(nodes) == len(plan.nodes) else with_nodes(plan, nodes)


def lifted(node: p.PlanNode, nodes: list[p.PlanNode], context: Context) -> p.PlanNode:
    """The node with its calls of DOCUMENT() replaced by variables of steps put before it; lazy operands are left alone."""

    def change(item: Any) -> Any:
        if not isinstance(item, ast.Node) or isinstance(item, p.Plan | ast.Subquery):
            return item
        if isinstance(item, ast.Call) and item.name == "DOCUMENT":
            variable = context.fresh()
            nodes.append(p.DocumentNode(variable, item, id=context.node_id()))
            return variable
        changed = {}
        for name in p.field_names(item):
            value = getattr(item, name)
            if is_lazy(item, name):
                continue
            new = tuple(change(part) for part in value) if type(value) is tuple else change(value)
            if new != value:
                changed[name] = new
        return replace(item, **changed) if changed else item

    if not any(isinstance(item, ast.Call) and item.name == "DOCUMENT" for item in ast.walk(node)):
        return node
    return cast(p.PlanNode, change(node))
