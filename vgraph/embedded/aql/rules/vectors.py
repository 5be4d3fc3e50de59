"""Vector search: the one shape the server knows, and an error (1554) for every other use of APPROX_NEAR_x.

    FOR doc IN collection [FILTER ..] [LET ..] SORT APPROX_NEAR_x(doc.attribute, @query[, {nProbe}]) LIMIT ..

(ArangoDB documentation, "Vector search functions in AQL".) Unlike the server's, the filter is applied before the
search, so that LIMIT rows come whenever as many match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from vgraph.embedded.errors import ArangoError

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from ..nodes import Expr, Variable
from .conditions import FALSE, TRUE
from .indexes import find, skipping
from .tools import (
    all_of,
    attribute_path,
    conjuncts,
    in_loop,
    inlined,
    outputs,
    replaced,
    simple_definitions,
    with_nodes,
)

METRICS = {"APPROX_NEAR_COSINE": "cosine", "APPROX_NEAR_L2": "l2", "APPROX_NEAR_INNER_PRODUCT": "innerProduct"}


@dataclass(frozen=True, slots=True)
class Shape:
    """Where the parts of a vector search stand in a plan."""

    loop: int
    sort: int
    limit: int
    filter: int | None
    call: ast.Call


def use_vector_index(plan: p.Plan, context: Context) -> p.Plan:
    """SORT by APPROX_NEAR_x and LIMIT: the nearest documents come out of the vector index."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if isinstance(node, p.SortNode):
            shape = shape_at(nodes, position)
            if shape is not None:
                return with_nodes(plan, applied(nodes, shape, context))
    return plan


def shape_at(nodes: Sequence[p.PlanNode], sort: int) -> Shape | None:
    """The shape, when a SORT by a distance stands in it."""
    definitions = simple_definitions(nodes[:sort])
    key = nodes[sort].keys[0]  # type: ignore[attr-defined]
    call = inlined(key.value, definitions)
    if not isinstance(call, ast.Call) or call.name not in METRICS:
        return None
    if len(nodes[sort].keys) != 1 or key.ascending != (call.name == "APPROX_NEAR_L2"):  # type: ignore[attr-defined]
        return None
    limit = sort + 1
    while limit < len(nodes) and isinstance(nodes[limit], p.CalculationNode):
        limit += 1
    if limit == len(nodes) or not isinstance(nodes[limit], p.LimitNode):
        return None
    position, condition = sort - 1, None
    while position > 0 and not isinstance(nodes[position], p.ENUMERATIONS):
        node = nodes[position]
        if isinstance(node, p.FilterNode) and condition is None:
            condition = position
        elif not isinstance(node, p.CalculationNode | p.SubqueryNode):
            return None
        position -= 1
    if not isinstance(nodes[position], p.EnumerateCollectionNode) or in_loop(nodes, position):
        return None
    return Shape(position, sort, limit, condition, call)


def applied(nodes: list[p.PlanNode], shape: Shape, context: Context) -> list[p.PlanNode]:
    loop = nodes[shape.loop]
    assert isinstance(loop, p.EnumerateCollectionNode)
    attribute, query = arguments(shape.call, loop.variable)
    collection = context.txn.collection(loop.collection)
    index = index_for(collection, attribute, METRICS[shape.call.name])
    limit = nodes[shape.limit]
    assert isinstance(limit, p.LimitNode)
    definitions = simple_definitions(nodes[shape.loop + 1 : shape.sort])
    distance = context.fresh()
    near = p.EnumerateNearVectorNode(
        loop.variable,
        distance,
        loop.collection,
        int(index.id),
        query,
        limit.offset,
        limit.count,
        shape.call.name == "APPROX_NEAR_L2",
        shape.call.args[2] if len(shape.call.args) > 2 else None,
        id=context.node_id(),
    )
    never = False
    if shape.filter is not None:
        condition = inlined(nodes[shape.filter].condition, definitions)  # type: ignore[attr-defined]
        never = condition == FALSE
        near = filtered(near, condition, collection, outputs(nodes[shape.loop :]), loop.options)
    skipped = (shape.loop, shape.sort, shape.filter)
    kept: list[Any] = [replaced(node, shape.call, distance) for i, node in enumerate(nodes) if i not in skipped]
    kept[shape.loop : shape.loop] = [near, p.NoResultsNode(id=context.node_id())] if never else [near]
    return kept


def arguments(call: ast.Call, variable: Variable) -> tuple[str, Expr]:
    """The attribute and the query vector, in whichever order they stand."""
    for field, query in (call.args[:2], call.args[1::-1]):
        path = attribute_path(field)
        if path is not None and path[0] == variable and path[1]:
            if variable in ast.variables(query):
                break
            return path[1], query
    raise not_applied()


def index_for(collection: Any, attribute: str, metric: str) -> Any:
    for index in collection.indexes:
        if index.type == "vector" and list(index.fields) == [attribute] and index.metric == metric:
            return index
    raise not_applied()


def filtered(
    near: p.EnumerateNearVectorNode, condition: Expr, collection: Any, unknown: set[Variable], options: p.Options
) -> p.EnumerateNearVectorNode:
    """What an index answers of the filter gives the candidates, the rest is tested on the nearest ones."""
    parts = [part for part in conjuncts(condition) if part not in (TRUE, FALSE)]
    found = find(collection, near.variable, parts, unknown, options)
    if found is None:
        skip = skipping(collection, near.variable, parts, unknown)
        return replace(near, lookups=(skip,) if skip is not None else (), filter=all_of(parts) if parts else None)
    rest = [part for part in parts if not any(part is covered for covered in found.covered)]
    return replace(near, lookups=found.lookups, filter=all_of(rest) if rest else None)


def refuse_leftovers(plan: p.Plan) -> None:
    """APPROX_NEAR_x anywhere else cannot be answered."""
    for node in ast.walk(plan):
        if isinstance(node, ast.Call) and node.name in METRICS:
            raise not_applied()


def not_applied() -> ArangoError:
    return ArangoError(1554, "AQL vector search function can not be applied: AQL: failed vector search")
