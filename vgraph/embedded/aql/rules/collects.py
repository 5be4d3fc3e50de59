"""COLLECT: its order, and answers from counters and indexes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from .tools import attribute_path, in_loop, inlined, simple_definitions, uses_after, with_nodes


def specialize_collect(plan: p.Plan, context: Context) -> p.Plan:
    """Results of COLLECT come in the order of the keys, unless SORT null says that nobody cares."""
    nodes: list[p.PlanNode] = []
    for node in plan.nodes:
        nodes.append(node)
        if isinstance(node, p.CollectNode) and node.groups and node.ordered:
            nodes[-1] = replace(node, ordered=False)
            keys = tuple(p.SortKey(group.variable) for group in node.groups)
            nodes.append(p.SortNode(keys, id=context.node_id()))
    return plan if len(nodes) == len(plan.nodes) else with_nodes(plan, nodes)


def optimize_count(plan: p.Plan, context: Context) -> p.Plan:
    """FOR followed by COLLECT WITH COUNT INTO is the collection's counter, or the number of entries in an index."""
    nodes = list(plan.nodes)
    for position in range(len(nodes) - 1):
        loop, collect = nodes[position], nodes[position + 1]
        if not countable(loop) or not isinstance(collect, p.CollectNode):
            continue
        counted = counted_variables(collect)
        if collect.groups or collect.into is not None or len(counted) != 1 or in_loop(nodes, position):
            continue
        lookup = loop.lookups[0] if isinstance(loop, p.IndexNode) else None
        nodes[position : position + 2] = [p.CountNode(loop.collection, counted[0], lookup, id=collect.id)]
        return with_nodes(plan, nodes)
    return plan


def countable(node: p.PlanNode) -> TypeGuard[p.EnumerateCollectionNode | p.IndexNode]:
    """Whether the rows of a loop can be counted without looking at them."""
    if isinstance(node, p.EnumerateCollectionNode):
        return True
    if not isinstance(node, p.IndexNode) or len(node.lookups) != 1:
        return False
    lookup = node.lookups[0]
    return lookup.kind == "sorted" and not lookup.sparse and "[*]" not in lookup.field


def counted_variables(collect: p.CollectNode) -> tuple[ast.Variable, ...]:
    """The variables that get the size of a group, if nothing else is computed for it; else ()."""
    if collect.count_into is not None:
        return (collect.count_into,) if not collect.aggregates else ()
    if collect.aggregates and all(item.function in ("COUNT", "LENGTH") for item in collect.aggregates):
        return tuple(item.variable for item in collect.aggregates)
    return ()


def use_index_for_collect(plan: p.Plan, context: Context) -> p.Plan:
    """COLLECT over the first fields of a persistent index, with nothing but counts, reads the index only."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if not isinstance(node, p.EnumerateCollectionNode) or in_loop(nodes, position):
            continue
        found = collect_behind(nodes, position)
        if found is None:
            continue
        index = covering_index(node, nodes[position + 1 : found], nodes[found], context)
        collect = nodes[found]
        assert isinstance(collect, p.CollectNode)
        if index is not None and not set(node.outputs()) & uses_after(nodes, found + 1):
            groups = tuple(group.variable for group in collect.groups)
            counts = counted_variables(collect)
            nodes[position : found + 1] = [
                p.IndexCollectNode(node.collection, index, groups, counts, id=context.node_id())
            ]
            return with_nodes(plan, nodes)
    return plan


def collect_behind(nodes: Sequence[p.PlanNode], position: int) -> int | None:
    for number in range(position + 1, len(nodes)):
        node = nodes[number]
        if isinstance(node, p.CollectNode):
            return number
        if not isinstance(node, p.CalculationNode):
            return None
    return None


def covering_index(
    loop: p.EnumerateCollectionNode, between: Sequence[p.PlanNode], collect: p.PlanNode, context: Context
) -> int | None:
    assert isinstance(collect, p.CollectNode)
    if not collect.groups or collect.into is not None or (collect.aggregates and not counted_variables(collect)):
        return None
    definitions = simple_definitions(between)
    paths = [attribute_path(inlined(group.value, definitions)) for group in collect.groups]
    if any(path is None or path[0] != loop.variable or not path[1] for path in paths):
        return None
    wanted = [path[1] for path in paths if path is not None]
    for index in context.txn.collection(loop.collection).indexes:
        whole = index.type in ("persistent", "hash", "skiplist") and not index.sparse
        if whole and index.fields[: len(wanted)] == wanted and not any("[*]" in field for field in index.fields):
            return int(index.id)
    return None
