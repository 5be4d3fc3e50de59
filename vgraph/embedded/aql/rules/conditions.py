"""Constant folding. What a bind value decides is decided when planning, and the plan is then only for such values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from ..functions import FUNCTIONS
from ..nodes import Expr
from .tools import STORAGE

TRUE = ast.Literal(True)
FALSE = ast.Literal(False)


def known(expr: ast.Node) -> bool:
    """Whether the value is known when planning: literals, binds, and deterministic functions of them."""
    for node in ast.walk(expr):
        if isinstance(node, ast.Variable | ast.Collection | ast.CollectionBind | ast.Subquery):
            return False
        if isinstance(node, ast.Call):
            function = FUNCTIONS.get(node.name)
            if function is None or not function.deterministic or not function.cacheable or node.name in STORAGE:
                return False
    return True


def simplify_conditions(plan: p.Plan, context: Context) -> p.Plan:
    """Decide AND, OR, NOT and ?: where an operand is known; conditions of FILTER and SEARCH only by their truth."""
    nodes: list[p.PlanNode] = []
    for node in plan.nodes:
        changed = node if isinstance(node, p.SubqueryNode) else cast(p.PlanNode, values(node, context))
        match changed:
            case p.FilterNode(condition=condition):
                changed = changed_to(changed, condition=truth(condition, context))
            case p.EnumerateViewNode(search=search) if search is not None:
                found = truth(search, context)
                changed = changed_to(changed, search=None if found == TRUE else found)
            case p.TraversalNode(prune=prune) if prune is not None:
                changed = changed_to(changed, prune=truth(prune, context))
        nodes.append(changed)
    if all(a is b for a, b in zip(nodes, plan.nodes, strict=True)):
        return plan
    return replace(plan, nodes=tuple(nodes))


def changed_to(node: p.PlanNode, **fields: Any) -> p.PlanNode:
    return node if all(getattr(node, name) is value for name, value in fields.items()) else replace(node, **fields)


def values(expr: Any, context: Context) -> Any:
    """The expression with its decidable AND, OR and ?: decided, its value unchanged."""
    return ast.transform(expr, lambda node: decided(node, context))


def decided(node: ast.Node, context: Context) -> ast.Node:
    match node:
        case ast.Ternary(condition=condition, then=then, otherwise=otherwise) if known(condition):
            if context.truth(condition):
                return condition if then is None else then
            return otherwise
        case ast.Binary(op="AND" | "OR" as op, left=left, right=right) if known(left) and not known(right):
            return right if context.truth(left) == (op == "AND") else left
        case ast.BoundAttribute(base=base, bind=bind):
            return named(node, base, context.constant(bind))
    return node


def named(node: ast.Node, base: Expr, name: Any) -> ast.Node:
    """`base.@name` with the name put in; anything but names is left for the run to refuse (1553)."""
    names = name if isinstance(name, list) else [name]
    if not names or not all(isinstance(item, str) and item for item in names):
        return node
    for item in names:
        base = ast.Attribute(base, item, at=node.at)
    return base


def truth(expr: Expr, context: Context) -> Expr:
    """A condition of which only the truth counts."""
    if known(expr):
        return TRUE if context.truth(expr) else FALSE
    match expr:
        case ast.Binary(op="AND" | "OR" as op, left=left, right=right):
            return joined(expr, op, truth(left, context), truth(right, context))
        case ast.Unary(op="NOT", operand=operand):
            inner = truth(operand, context)
            if inner in (TRUE, FALSE):
                return FALSE if inner == TRUE else TRUE
            return expr if inner is operand else replace(expr, operand=inner)
    return expr


def joined(expr: ast.Binary, op: str, left: Expr, right: Expr) -> Expr:
    neutral, final = (TRUE, FALSE) if op == "AND" else (FALSE, TRUE)
    if left == final or right == final:
        return final
    if left == neutral:
        return right
    if right == neutral:
        return left
    if left is expr.left and right is expr.right:
        return expr
    return replace(expr, left=left, right=right)
