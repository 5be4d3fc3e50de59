"""SORT and LIMIT."""

from __future__ import annotations

from dataclasses import replace

from .. import plan as p
from ..build import Context
from .tools import is_deterministic, passable, with_nodes


def remove_redundant_sorts(plan: p.Plan, context: Context) -> p.Plan:
    """A SORT that a later SORT or a COLLECT without order undoes, with nothing in between that looks at the order."""
    nodes = [
        node
        for position, node in enumerate(plan.nodes)
        if not (isinstance(node, p.SortNode) and sorted_again(plan.nodes, position))
    ]
    return plan if len(nodes) == len(plan.nodes) else with_nodes(plan, nodes)


def sorted_again(nodes: tuple[p.PlanNode, ...], position: int) -> bool:
    """Sorts are stable, so only one by the same keys first makes another one needless."""
    keys = nodes[position].keys  # type: ignore[attr-defined]
    if not all(is_deterministic(key) for key in keys):
        return False
    for node in nodes[position + 1 :]:
        if isinstance(node, p.SortNode):
            return bool(node.keys[: len(keys)] == keys)
        if not (isinstance(node, p.FilterNode | p.CalculationNode) and passable(node)):
            return False
    return False


def sort_limit(plan: p.Plan, context: Context) -> p.Plan:
    """A SORT with a LIMIT behind it keeps only so many rows."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if isinstance(node, p.SortNode) and node.count is None:
            limit = limit_behind(nodes, position)
            if limit is not None:
                nodes[position] = replace(node, offset=limit.offset, count=limit.count)
    return with_nodes(plan, nodes) if any(a is not b for a, b in zip(nodes, plan.nodes, strict=True)) else plan


def limit_behind(nodes: list[p.PlanNode], position: int) -> p.LimitNode | None:
    """The LIMIT that decides how many of the sorted rows matter."""
    for node in nodes[position + 1 :]:
        if isinstance(node, p.LimitNode):
            return node
        if not isinstance(node, p.CalculationNode | p.SubqueryNode | p.DocumentNode):
            return None
        if any(inner.modifies for inner in p.subplans(node)):
            return None
    return None
