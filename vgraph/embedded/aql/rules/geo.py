"""Geo indexes: which documents they hold, and how they read a position.

A document without a position at an indexed attribute is not in the index, so a filter or sort that the index answers leaves
it out. An index made without `geoJson` reads `[latitude, longitude]`, whereas the functions read `[longitude, latitude]`.
Both follow ArangoDB documentation, "Geo-spatial indexes"; the distances themselves are computed for each document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from ..functions.geo import INDEXED
from ..nodes import Expr, Variable
from .tools import all_of, attribute_path, inlined, replaced, simple_definitions, with_nodes

DISTANCES = ("GEO_DISTANCE", "DISTANCE")
AREAS = ("GEO_CONTAINS", "GEO_INTERSECTS")
COMPARISONS = ("<", "<=", ">", ">=")


def use_geo_index(plan: p.Plan, context: Context) -> p.Plan:
    """Filters and sorts by distance, and filters by area, see a document as the geo index does."""
    nodes = list(plan.nodes)
    loops = {node.variable: node for node in nodes if isinstance(node, p.EnumerateCollectionNode)}
    indexes = {variable: geo_indexes(node, context) for variable, node in loops.items()}
    if not any(indexes.values()):
        return plan
    definitions = simple_definitions(nodes)
    changed: list[p.PlanNode] = []
    for position, node in enumerate(nodes):
        if isinstance(node, p.FilterNode):
            condition = filtered(inlined(node.condition, definitions), indexes)
            changed.append(node if condition is None else replace(node, condition=condition))
        elif isinstance(node, p.SortNode) and by_one_loop(nodes, position, node):
            changed += sorted_by(node, indexed(inlined(node.keys[0].value, definitions), indexes), context)
        else:
            changed.append(node)
    return plan if changed == nodes else with_nodes(plan, changed)


def sorted_by(node: p.SortNode, found: tuple[Expr, Expr] | None, context: Context) -> tuple[p.PlanNode, ...]:
    if found is None:
        return (node,)
    value, present = found
    return p.FilterNode(present, id=context.node_ids(2)), replace(node, keys=(replace(node.keys[0], value=value),))


def geo_indexes(node: p.EnumerateCollectionNode, context: Context) -> list[Any]:
    if node.collection not in context.txn.database_info.collections:
        return []
    return [index for index in context.txn.collection(node.collection).indexes if index.type == "geo"]


def by_one_loop(nodes: Sequence[p.PlanNode], position: int, node: p.SortNode) -> bool:
    """Whether a sort has one key, ascending, over the rows of one loop."""
    loops = [before for before in nodes[:position] if isinstance(before, p.ENUMERATIONS)]
    return len(node.keys) == 1 and node.keys[0].ascending and len(loops) == 1


def filtered(condition: Expr, indexes: dict[Variable, list[Any]]) -> Expr | None:
    """The condition as an index answers it; None when none does."""
    call = condition
    if isinstance(condition, ast.Binary) and condition.op in COMPARISONS:
        sides = [
            side for side in (condition.left, condition.right) if isinstance(side, ast.Call) and side.name in DISTANCES
        ]
        if len(sides) != 1:
            return None
        call = sides[0]
    elif not isinstance(condition, ast.Call) or condition.name not in AREAS:
        return None
    found = indexed(call, indexes)
    if found is None:
        return None
    value, held = found
    return all_of([held, cast(Expr, replaced(condition, call, value))])


def indexed(call: Expr, indexes: dict[Variable, list[Any]]) -> tuple[Expr, Expr] | None:
    """A call reading its position through an index, and the condition that the index has one."""
    if not isinstance(call, ast.Call) or call.name not in (*DISTANCES, *AREAS):
        return None
    attempts = (by_index(call, variable, index) for variable, known in indexes.items() for index in known)
    return next((found for found in attempts if found is not None), None)


def by_index(call: ast.Call, variable: Variable, index: Any) -> tuple[Expr, Expr] | None:
    if call.name == "DISTANCE":
        pairs = (call.args[:2], call.args[2:])
        if len(index.fields) == 2 and any(paths(pair, variable) == index.fields for pair in pairs):
            return call, present(next(pair for pair in pairs if paths(pair, variable) == index.fields), True)
        return None
    for at in (1, 0) if call.name == "GEO_CONTAINS" else (0, 1):
        argument = call.args[at]
        place = position(argument, variable, index)
        if place is not None and variable not in ast.variables(call.args[1 - at]):
            values, legacy = place
            read = ast.Call(INDEXED, (*values, ast.Literal(legacy)), at=argument.at)
            args = tuple(read if number == at else other for number, other in enumerate(call.args))
            return replace(call, args=args), present(values, legacy)
    return None


def position(argument: Expr, variable: Variable, index: Any) -> tuple[tuple[Expr, ...], bool] | None:
    """The indexed attributes that an argument consists of, and whether they stand latitude first."""
    if len(index.fields) == 1:
        if paths((argument,), variable) == index.fields:
            return (argument,), not index.spec["geoJson"]
    elif isinstance(argument, ast.ArrayLiteral) and paths(argument.items[::-1], variable) == index.fields:
        return argument.items[::-1], True
    return None


def paths(exprs: Sequence[Expr], variable: Variable) -> list[str] | None:
    found = list(_paths(exprs, variable))
    return found if len(found) == len(exprs) else None


def _paths(exprs: Sequence[Expr], variable: Variable) -> Iterator[str]:
    for expr in exprs:
        path = attribute_path(expr)
        if path is not None and path[0] == variable and path[1]:
            yield path[1]


def present(values: Sequence[Expr], legacy: bool) -> Expr:
    at = values[0].at
    return ast.Binary("!=", ast.Call(INDEXED, (*values, ast.Literal(legacy)), at=at), ast.Literal(None), at=at)
