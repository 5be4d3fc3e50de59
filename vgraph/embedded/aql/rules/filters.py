"""FILTER: taken apart, moved towards the loops they are about, put into them."""

from __future__ import annotations

from dataclasses import replace

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from .conditions import FALSE, TRUE
from .tools import all_of, conjuncts, is_deterministic, passable, with_nodes


def split_filters(plan: p.Plan, context: Context) -> p.Plan:
    """One FilterNode for each part of a conjunction, so that each can move as far as it may."""
    nodes: list[p.PlanNode] = []
    for node in plan.nodes:
        if isinstance(node, p.FilterNode):
            first, *rest = conjuncts(node.condition)
            nodes.append(replace(node, condition=first) if rest else node)
            nodes += [p.FilterNode(part, id=context.node_ids(2)) for part in rest]
        else:
            nodes.append(node)
    return plan if len(nodes) == len(plan.nodes) else with_nodes(plan, nodes)


def join_filters(plan: p.Plan, context: Context) -> p.Plan:
    """Neighbouring filters in one step again."""
    nodes: list[p.PlanNode] = []
    for node in plan.nodes:
        before = nodes[-1] if nodes else None
        if isinstance(node, p.FilterNode) and isinstance(before, p.FilterNode):
            nodes[-1] = replace(before, condition=all_of([before.condition, node.condition]))
        else:
            nodes.append(node)
    return plan if len(nodes) == len(plan.nodes) else with_nodes(plan, nodes)


def move_filters_up(plan: p.Plan, context: Context) -> p.Plan:
    """Filters as close as possible to where the last variable they use is set."""
    nodes = list(plan.nodes)
    moved = False
    for position in range(len(nodes)):
        node = nodes[position]
        if not isinstance(node, p.FilterNode) or not is_deterministic(node.condition):
            continue
        target = destination(nodes, position)
        if target != position:
            nodes.insert(target, nodes.pop(position))
            moved = True
    return with_nodes(plan, nodes) if moved else plan


def destination(nodes: list[p.PlanNode], position: int) -> int:
    """Where a filter may stand; filters keep their order unless there is something else to get over."""
    used = ast.variables(nodes[position])
    target = position
    for number in range(position - 1, -1, -1):
        node = nodes[number]
        if not passable(node) or used & set(node.outputs()):
            break
        if not isinstance(node, p.FilterNode):
            target = number
    return target


def remove_unnecessary_filters(plan: p.Plan, context: Context) -> p.Plan:
    """FILTER true is nothing; FILTER false gives no rows."""
    if not any(isinstance(node, p.FilterNode) and node.condition in (TRUE, FALSE) for node in plan.nodes):
        return plan
    nodes: list[p.PlanNode] = []
    for node in plan.nodes:
        if isinstance(node, p.FilterNode) and node.condition == FALSE:
            nodes.append(p.NoResultsNode(id=node.id))
        elif not (isinstance(node, p.FilterNode) and node.condition == TRUE):
            nodes.append(node)
    return with_nodes(plan, nodes)


def move_filters_into_enumerate(plan: p.Plan, context: Context) -> p.Plan:
    """A filter right behind a loop decides before a row is made."""
    nodes: list[p.PlanNode] = []
    for node in plan.nodes:
        before = nodes[-1] if nodes else None
        if (
            isinstance(node, p.FilterNode)
            and isinstance(before, p.EnumerateListNode | p.EnumerateCollectionNode | p.IndexNode | p.TraversalNode)
            and before.filter is None
            and set(before.outputs()) & ast.variables(node)
        ):
            nodes[-1] = replace(before, filter=node.condition)
        else:
            nodes.append(node)
    return plan if len(nodes) == len(plan.nodes) else with_nodes(plan, nodes)
