"""Which attributes of a document are read: the others need not be fetched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from ..nodes import Variable
from .tools import with_nodes

Projection = frozenset[str] | None
IDENTITY = frozenset(("_key", "_id", "_rev"))


def reduce_extraction(plan: p.Plan, context: Context) -> p.Plan:
    """Give every loop over documents the set of top-level attributes that are read of them."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if isinstance(node, p.EnumerateCollectionNode | p.IndexNode | p.EnumerateViewNode | p.EnumerateNearVectorNode):
            nodes[position] = projected(node, nodes[position + 1 :])
        elif isinstance(node, p.TraversalNode):
            nodes[position] = walked(node, nodes[position + 1 :])
        elif isinstance(node, p.ShortestPathNode):
            rest = nodes[position + 1 :]
            edge = element_read(node.edge, rest) if node.edge is not None else False
            nodes[position] = replace(node, vertex_projection=element_read(node.vertex, rest), edge_projection=edge)
        elif isinstance(node, p.EnumeratePathsNode):
            vertices, edges, _ = path_read(node.path, nodes[position + 1 :])
            nodes[position] = replace(node, path_vertices=vertices, path_edges=edges)
    return with_nodes(plan, nodes) if any(a is not b for a, b in zip(nodes, plan.nodes, strict=True)) else plan


def projected(
    node: p.EnumerateCollectionNode | p.IndexNode | p.EnumerateViewNode | p.EnumerateNearVectorNode,
    rest: Sequence[p.PlanNode],
) -> p.PlanNode:
    found = attributes_read(node.variable, rest)
    if isinstance(node, p.EnumerateNearVectorNode):
        tested = attributes_read(node.variable, [node.filter]) if node.filter is not None else frozenset()
        if found == node.projection and tested == node.filter_projection:
            return node
        return replace(node, projection=found, filter_projection=tested)
    if isinstance(node, p.IndexNode) and any(item.sparse for item in node.lookups):
        conditions = [item.condition for item in node.lookups if item.condition is not None]
        found = joined([found, attributes_read(node.variable, conditions)])
    if isinstance(node, p.EnumerateCollectionNode) and found is not None and not found:
        return replace(node, projection=found, produces=False)
    return node if found == node.projection else replace(node, projection=found)


def walked(node: p.TraversalNode, rest: Sequence[p.PlanNode]) -> p.TraversalNode:
    """What a traversal's results need: each of vertex, edge and path only as far as it is read."""
    path = path_read(node.path, rest) if node.path is not None else (False, False, False)
    if node.prune_variable is not None and node.prune is not None:
        used = any(node.prune_variable in item.uses() for item in rest)
        rest = [*rest, p.FilterNode(node.prune)] if used else rest
        path = path_read(node.path, rest) if node.path is not None else path
    return replace(
        node,
        vertex_projection=element_read(node.vertex, rest),
        edge_projection=element_read(node.edge, rest) if node.edge is not None else False,
        path_vertices=path[0],
        path_edges=path[1],
        path_weights=path[2],
    )


def element_read(variable: Variable, rest: Sequence[p.PlanNode]) -> frozenset[str] | bool | None:
    found = attributes_read(variable, rest)
    return False if found is not None and not found and not mentioned(variable, rest) else found


def mentioned(variable: Variable, nodes: Iterable[ast.Node]) -> bool:
    return any(item == variable for node in nodes for item in ast.walk(node))


def path_read(path: Variable, rest: Sequence[p.PlanNode]) -> tuple[Projection | bool, Projection | bool, bool]:
    """What is read of `p.vertices`, `p.edges` and `p.weights`; everything when the path itself is."""
    parts = attributes_read(path, rest)
    if parts is None or parts - {"vertices", "edges", "weights", "weight"}:
        return None, None, True
    vertices = elements_read(path, "vertices", rest) if "vertices" in parts else False
    edges = elements_read(path, "edges", rest) if "edges" in parts else False
    return vertices, edges, "weights" in parts


def elements_read(path: Variable, name: str, rest: Sequence[p.PlanNode]) -> Projection:
    """The attributes read of the elements of `p.vertices` or `p.edges` in `[*].x` and `[n].x`; None = all."""
    elements = ast.Attribute(path, name)
    found: set[str] = set()
    for node in rest:
        if not _elements(node, elements, found):
            return None
    return frozenset(found)


def _elements(node: ast.Node, elements: ast.Node, found: set[str]) -> bool:
    """Collect attribute names; False when the elements are read as wholes."""
    match node:
        case ast.Attribute(base=ast.Index(base=base, index=index), name=name) if base == elements:
            found.add(name)
            return _elements(index, elements, found)
        case ast.Expansion(base=base, levels=1, current=current) if base == elements:
            parts = [part for part in (node.filter, node.offset, node.count, node.value) if part is not None]
            read = attributes_read(current, parts)
            if read is None:
                return False
            found |= read
            return all(_elements(part, elements, found) for part in parts)
        case ast.Call(name="LENGTH" | "COUNT", args=(argument,)) if argument == elements:
            return True
    if node == elements:
        return False
    return all(_elements(child, elements, found) for child in ast.children(node))


def attributes_read(variable: Variable, nodes: Iterable[ast.Node]) -> Projection:
    """Top-level attributes read of a variable by the nodes; None when it is used as a whole."""
    found: set[str] = set()
    for node in nodes:
        if not _read(node, variable, found):
            return None
    return frozenset(found)


def joined(projections: Iterable[Projection]) -> Projection:
    found: set[str] = set()
    for projection in projections:
        if projection is None:
            return None
        found |= projection
    return frozenset(found)


def is_text(node: ast.Node) -> bool:
    return isinstance(node, ast.Literal) and isinstance(node.value, str)


def _read(node: ast.Node, variable: Variable, found: set[str]) -> bool:
    """Collect attribute names; False when the variable is used as a whole."""
    match node:
        case ast.Variable():
            return node != variable
        case ast.Attribute(base=base, name=name) if base == variable:
            found.add(name)
            return True
        case ast.Index(base=base, index=ast.Literal(value=str() as name)) if base == variable:
            found.add(name)
            return True
        case ast.Binary(op="==" | "!=", left=left, right=ast.Literal(value=None)) if left == variable:
            found.add("_key")  # whether there is a document at all
            return True
        case ast.Call(name="KEEP", args=(document, *names)) if document == variable and all(map(is_text, names)):
            found |= {name.value for name in names if isinstance(name, ast.Literal)}
            return True
        case p.RemoveNode(key=key) if key == variable:
            found |= IDENTITY
            return True
        case p.UpdateNode(key=key) if key is not None and key == variable:
            found |= IDENTITY
            return _read(node.document, variable, found)
        case p.ModificationNode():
            outputs = set(node.outputs())
            return all(_read(child, variable, found) for child in ast.children(node) if child not in outputs)
        case p.CollectNode(captured=captured) if variable in captured:
            return False
    return all(_read(child, variable, found) for child in ast.children(node))
