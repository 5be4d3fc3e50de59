"""Traversals: conditions on the path are tested while walking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from ..nodes import Expr, Variable
from .tools import is_deterministic, with_nodes

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "IN", "NOT IN")


def optimize_traversals(plan: p.Plan, context: Context) -> p.Plan:
    """Conditions on `p.edges[n]`, `p.vertices[n]` and on all of them (`p.edges[*].x ALL == y`) cut the walk short."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if isinstance(node, p.TraversalNode) and node.path is not None and not node.conditions:
            found = tuple(pushed(nodes, position, node, node.path, context))
            if found:
                nodes[position] = replace(node, conditions=found)
    return with_nodes(plan, nodes) if any(a is not b for a, b in zip(nodes, plan.nodes, strict=True)) else plan


def pushed(
    nodes: list[p.PlanNode], position: int, node: p.TraversalNode, path: Variable, context: Context
) -> Iterator[p.PathCondition]:
    own = set(node.outputs())
    for later in nodes[position + 1 :]:
        if not isinstance(later, p.FilterNode):
            break
        if is_deterministic(later.condition):
            for of_edges in (True, False):
                found = path_condition(later.condition, path, of_edges, own, context)
                if found is not None:
                    yield found


def path_condition(
    condition: Expr, path: Variable, of_edges: bool, own: set[Variable], context: Context
) -> p.PathCondition | None:
    """The condition as one about a single element of the path, if it is one."""
    elements = ast.Attribute(path, "edges" if of_edges else "vertices")
    if isinstance(condition, ast.Quantified):
        return all_elements(condition, elements, own, of_edges, context)
    if not isinstance(condition, ast.Binary) or condition.op not in COMPARISONS:
        return None
    positions = {
        item.index.value
        for item in ast.walk(condition)
        if isinstance(item, ast.Index) and item.base == elements and isinstance(item.index, ast.Literal)
    }
    if len(positions) != 1:
        return None
    [index] = positions
    if type(index) is not int or index < 0:
        return None
    element = context.fresh()
    changed = ast.transform(
        condition, lambda item: element if item == ast.Index(elements, ast.Literal(index)) else item
    )
    if ast.variables(changed) & own:
        return None
    # a position that a path does not have is null there, but no element is tested for it: the FILTER stays
    return p.PathCondition(element, changed, frozenset([index]), of_edges)


def all_elements(
    condition: ast.Quantified, elements: Expr, own: set[Variable], of_edges: bool, context: Context
) -> p.PathCondition | None:
    """`p.edges[*].x ALL == y` (or NONE): every single element must meet it."""
    left = condition.left
    if condition.quantifier not in ("ALL", "NONE") or not isinstance(left, ast.Expansion):
        return None
    if left.base != elements or left.levels != 1 or left.filter is not None or left.count is not None:
        return None
    if ast.variables(condition.right) & own:
        return None
    element = context.fresh()
    value: Expr = ast.transform(left.value, lambda item: element if item == left.current else item)
    test: Expr = ast.Binary(condition.op, value, condition.right)
    if condition.quantifier == "NONE":
        test = ast.Unary("NOT", test)
    return p.PathCondition(element, test, None, of_edges)
