"""What several rules need: conjuncts, attribute paths, where variables come from, what may move over what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from .. import nodes as ast
from .. import plan as p
from ..build import has_subquery
from ..functions import FUNCTIONS
from ..nodes import Expr, Variable

STORAGE = frozenset(
    ["DOCUMENT", "COLLECTION_COUNT", "COLLECTIONS", "CHECK_DOCUMENT", "SCHEMA_GET", "CURRENT_DATABASE", "CURRENT_USER"]
)
"""Functions whose value depends on the database: the same for a run, but not known when planning."""

SAME_IN_A_RUN = STORAGE | {
    "APPROX_NEAR_COSINE", "APPROX_NEAR_L2", "APPROX_NEAR_INNER_PRODUCT", "BM25", "TFIDF", "BOOST_SCORE", "OFFSET_INFO",
}  # fmt: skip


def with_nodes(plan: p.Plan, nodes: Sequence[p.PlanNode]) -> p.Plan:
    return replace(plan, nodes=tuple(nodes))


def conjuncts(expr: Expr) -> Iterator[Expr]:
    """The parts of a condition that must all hold."""
    if isinstance(expr, ast.Binary) and expr.op == "AND":
        yield from conjuncts(expr.left)
        yield from conjuncts(expr.right)
    else:
        yield expr


def disjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, ast.Binary) and expr.op == "OR":
        yield from disjuncts(expr.left)
        yield from disjuncts(expr.right)
    else:
        yield expr


def all_of(parts: Sequence[Expr]) -> Expr:
    """One condition of several."""
    joined = parts[0]
    for part in parts[1:]:
        joined = ast.Binary("AND", joined, part, at=joined.at)
    return joined


def attribute_path(expr: Expr) -> tuple[Variable, str] | None:
    """`d.a.b` as (d, "a.b"); `d.tags[*]` and `d.tags[*].name` as an index names them; None for anything else."""
    if isinstance(expr, Variable):
        return expr, ""
    if isinstance(expr, ast.Attribute):
        return _extended(expr.base, expr.name)
    if isinstance(expr, ast.Index) and isinstance(expr.index, ast.Literal) and isinstance(expr.index.value, str):
        return _extended(expr.base, expr.index.value)
    if isinstance(expr, ast.Expansion) and expr.levels == 1 and expr.filter is None and expr.count is None:
        base = attribute_path(expr.base)
        suffix = attribute_path(expr.value)
        if base is not None and base[1] and suffix is not None and suffix[0] == expr.current:
            return base[0], f"{base[1]}[*]{'.' + suffix[1] if suffix[1] else ''}"
    return None


def _extended(base: Expr, name: str) -> tuple[Variable, str] | None:
    found = attribute_path(base)
    if found is None or "." in name or "[" in name:  # an attribute whose name looks like a path
        return None
    return found[0], f"{found[1]}.{name}" if found[1] else name


def is_deterministic(node: ast.Node) -> bool:
    """Whether evaluating it again, or elsewhere, gives the same: no RAND() and no modification."""
    for found in ast.walk(node):
        if isinstance(found, ast.Call):
            function = FUNCTIONS.get(found.name)
            if found.name not in SAME_IN_A_RUN and (function is None or not function.deterministic):
                return False
        if isinstance(found, p.ModificationNode):
            return False
    return True


def outputs(nodes: Iterable[p.PlanNode]) -> set[Variable]:
    return {variable for node in nodes for variable in node.outputs()}


def uses_after(nodes: Sequence[p.PlanNode], position: int) -> set[Variable]:
    """The variables read by the nodes from `position` on."""
    used: set[Variable] = set()
    for node in nodes[position:]:
        used |= node.uses()
    return used


def in_loop(nodes: Sequence[p.PlanNode], position: int) -> bool:
    """Whether a node stands inside a FOR of its own plan."""
    return any(isinstance(node, p.ENUMERATIONS) for node in nodes[:position])


def inlined(expr: Expr, definitions: dict[int, Expr]) -> Expr:
    """The expression with variables replaced by the LETs that define them."""
    if not definitions or not any(variable.id in definitions for variable in ast.variables(expr)):
        return expr

    def change(node: ast.Node) -> ast.Node:
        return definitions.get(node.id, node) if isinstance(node, Variable) else node

    found: Expr = ast.transform(expr, change)
    return found


def simple_definitions(nodes: Sequence[p.PlanNode]) -> dict[int, Expr]:
    """LETs that can stand for their variable: attributes, constants and binds."""
    found: dict[int, Expr] = {}
    for node in nodes:
        if isinstance(node, p.CalculationNode) and not has_subquery(node.value) and is_deterministic(node.value):
            found[node.variable.id] = inlined(node.value, found)
    return found


def replaced(node: ast.Node, old: Expr, new: Expr) -> ast.Node:
    """Every occurrence of an expression replaced."""
    found: ast.Node = ast.transform(node, lambda item: new if item == old else item)
    return found


BARRIERS = (
    p.LimitNode,
    p.CollectNode,
    p.IndexCollectNode,
    p.CountNode,
    p.WindowNode,
    p.ModificationNode,
    p.ReturnNode,
    p.SingletonNode,
    p.NoResultsNode,
)
"""What a filter must not be moved over."""


def passable(node: p.PlanNode) -> bool:
    """Whether rows may be dropped before a node instead of after it: nobody can tell."""
    if isinstance(node, BARRIERS) or any(plan.modifies for plan in p.subplans(node)):
        return False
    return not isinstance(node, p.CalculationNode | p.SubqueryNode) or is_deterministic(node)
