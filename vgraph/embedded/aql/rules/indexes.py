"""Which index answers which part of a FILTER or SORT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vgraph.embedded.errors import ArangoError

from .. import nodes as ast
from .. import plan as p
from ..build import Context
from ..nodes import Expr, Variable
from .tools import (
    all_of,
    attribute_path,
    conjuncts,
    disjuncts,
    in_loop,
    inlined,
    is_deterministic,
    outputs,
    simple_definitions,
    with_nodes,
)

SORTED_TYPES = ("persistent", "hash", "skiplist")
BOX_TYPES = ("mdi", "mdi-prefixed", "zkd")
MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
MAX_BRANCHES = 16
"""Alternatives (OR) looked at; more of them are a scan."""


@dataclass(frozen=True, slots=True)
class Term:
    """A condition an index may answer: `path op value`, where `value` is known before the document is."""

    path: str
    op: str
    value: Expr
    condition: Expr


@dataclass(frozen=True, slots=True)
class Choice:
    """A lookup, the conditions it makes superfluous, and how good it is (more is better)."""

    lookup: p.Lookup
    covered: tuple[Expr, ...]
    rank: tuple[int, ...]


def terms(condition: Expr, variable: Variable, unknown: set[Variable]) -> Iterator[Term]:
    """What a conjunct says about attributes of the variable, values on the other side."""
    if isinstance(condition, ast.Binary) and is_deterministic(condition):
        if condition.op in MIRRORED:
            yield from _term(condition, condition.left, condition.op, condition.right, variable, unknown)
            yield from _term(condition, condition.right, MIRRORED[condition.op], condition.left, variable, unknown)
        elif condition.op == "IN":
            yield from _term(condition, condition.left, "IN", condition.right, variable, unknown)
            yield from _contains(condition, variable, unknown)


def _term(
    condition: Expr, side: Expr, op: str, value: Expr, variable: Variable, unknown: set[Variable]
) -> Iterator[Term]:
    path = attribute_path(side)
    plain = path is not None and path[0] == variable and path[1] and "[*]" not in path[1]
    if path is not None and plain and not ast.variables(value) & unknown:
        yield Term(path[1], op, value, condition)


def _contains(condition: ast.Binary, variable: Variable, unknown: set[Variable]) -> Iterator[Term]:
    """`value IN d.tags` and `value IN d.tags[*].name`: an index over the elements answers it."""
    path = attribute_path(condition.right)
    if path is not None and path[0] == variable and path[1] and not ast.variables(condition.left) & unknown:
        name = path[1] if "[*]" in path[1] else path[1] + "[*]"
        yield Term(name, "==", condition.left, condition)


def choices(collection: Any, found: Sequence[Term], options: p.Options) -> Iterator[Choice]:
    """Every index that can answer some of the terms."""
    if options.get("disableIndex"):
        return
    for index in hinted(collection.indexes, options):
        if index.type == "primary":
            yield from _primary(found)
        elif index.type == "edge":
            yield from _edge(found)
        elif index.type in SORTED_TYPES:
            choice = _sorted(index, found)
            if choice is not None:
                yield choice
        elif index.type in BOX_TYPES:
            choice = _box(index, found)
            if choice is not None:
                yield choice


def hinted(indexes: Sequence[Any], options: p.Options) -> Sequence[Any]:
    """The indexes to look at: those of indexHint first, only those when it is forced."""
    hint = options.get("indexHint")
    names = [hint] if isinstance(hint, str) else hint if isinstance(hint, list) else []
    if not names:
        return indexes
    named = [index for name in names for index in indexes if index.name == name]
    return named if options.get("forceIndexHint") is True or named else indexes


def _primary(found: Sequence[Term]) -> Iterator[Choice]:
    for term in found:
        if term.path in ("_key", "_id") and term.op in ("==", "IN"):
            equal = p.Equal(term.value, term.op == "IN")
            unique = term.op == "=="
            lookup = p.Lookup("primary", 0, term.path, (equal,), (), (), term.condition, unique=unique)
            yield Choice(lookup, (term.condition,), (3 if unique else 2, 9))
    lows = [term for term in found if term.path == "_key" and term.op in (">", ">=")]
    highs = [term for term in found if term.path == "_key" and term.op in ("<", "<=")]
    if lows or highs:
        covered = tuple(term.condition for term in (*lows, *highs))
        yield Choice(
            replace(BY_KEY, lows=bounds(lows), highs=bounds(highs), condition=all_of(covered)), covered, (1, 1)
        )


BY_KEY = p.Lookup("key", 0, "_key", (), (), (), None)
"""The primary index read in the order of the keys."""


def bounds(found: Sequence[Term]) -> tuple[p.Bound, ...]:
    return tuple(p.Bound(term.value, term.op in ("<", ">")) for term in found)


def _edge(found: Sequence[Term]) -> Iterator[Choice]:
    for term in found:
        if term.path in ("_from", "_to") and term.op in ("==", "IN"):
            equal = p.Equal(term.value, term.op == "IN")
            lookup = p.Lookup("edge", 0, term.path, (equal,), (), (), term.condition)
            yield Choice(lookup, (term.condition,), (2, 3))


def _sorted(index: Any, found: Sequence[Term]) -> Choice | None:
    """The longest prefix of equal fields, and a range on the next one."""
    equal: list[p.Equal] = []
    used: list[Term] = []
    expands = False
    for field in index.fields:
        term = next((t for t in found if t.path == field and t.op == "=="), None) or next(
            (t for t in found if t.path == field and t.op == "IN"), None
        )
        if term is None:
            break
        expands = expands or "[*]" in field
        equal.append(p.Equal(term.value, term.op == "IN"))
        used.append(term)
    lows, highs, ranged = _ranges(index, found, len(equal))
    if not equal and not ranged:
        return None
    if index.sparse and not _holds_all(index, len(equal), bool(lows)):
        return None
    if _may_lack(index, len(equal)):
        return None
    covered = [term.condition for term in (*used, *ranged)]
    lookup = p.Lookup(
        "sorted", int(index.id), ",".join(index.fields), tuple(equal), lows, highs,
        all_of(covered), index.sparse, bool(index.unique and len(equal) == len(index.fields) and not any_in(equal)),
        further_ranges(index, found, len(equal) + 1),
    )  # fmt: skip
    rank = (3 if lookup.unique else 1, 2 * len(equal) + bool(ranged) + bool(lows and highs), -len(index.fields))
    return Choice(lookup, () if expands else tuple(covered), rank)


def further_ranges(index: Any, found: Sequence[Term], position: int) -> tuple[p.Ranges, ...]:
    """Bounds of the fields from a position on: they narrow the candidates of a vector search, their filters stay."""
    return tuple(box_range(field, found) for field in index.fields[position:] if "[*]" not in field)


def _box(index: Any, found: Sequence[Term]) -> Choice | None:
    """Ranges on the fields of a multi-dimensional index, values for all its prefix fields. The filters stay."""
    prefix = [next((t for t in found if t.path == field and t.op == "=="), None) for field in index.prefix_fields]
    if any(term is None for term in prefix):
        return None
    ranges = [box_range(field, found) for field in index.fields]
    bounded = sum(bool(side.lows or side.highs) for side in ranges)
    if not bounded or (index.sparse and not all(side.lows for side in ranges)):
        return None
    equal = tuple(p.Equal(term.value) for term in prefix if term is not None)
    conditions = [t.condition for t in found if t.path in (*index.fields, *index.prefix_fields) and t.op != "IN"]
    lookup = p.Lookup(
        "box", int(index.id), ",".join(index.fields), equal, (), (), all_of(conditions), ranges=tuple(ranges)
    )
    return Choice(lookup, (), (1, 2 * len(equal) + bounded, -len(index.fields)))


def box_range(field: str, found: Sequence[Term]) -> p.Ranges:
    """The bounds of one field; an equal value bounds it from both sides."""
    here = [term for term in found if term.path == field]
    lows = tuple(p.Bound(term.value) for term in here if term.op in ("==", ">", ">="))
    highs = tuple(p.Bound(term.value) for term in here if term.op in ("==", "<", "<="))
    return p.Ranges(lows, highs)


def any_in(equal: Iterable[p.Equal]) -> bool:
    return any(item.any for item in equal)


def _ranges(
    index: Any, found: Sequence[Term], position: int
) -> tuple[tuple[p.Bound, ...], tuple[p.Bound, ...], list[Term]]:
    if position >= len(index.fields) or "[*]" in index.fields[position]:
        return (), (), []
    field = index.fields[position]
    lows = [term for term in found if term.path == field and term.op in (">", ">=")]
    highs = [term for term in found if term.path == field and term.op in ("<", "<=")]
    return bounds(lows), bounds(highs), [*lows, *highs]


def _holds_all(index: Any, equal: int, low: bool) -> bool:
    """Whether a sparse index has every document that can match: no indexed field may be null. (Values are seen later.)"""
    return equal + low >= len(index.fields)


def _may_lack(index: Any, equal: int) -> bool:
    """Whether documents without elements, which an index over elements has not, can match: none of its own is asked for."""
    return any("[*]" in field for field in index.fields[equal:])


def best(collection: Any, found: Sequence[Term], options: p.Options) -> Choice | None:
    return max(choices(collection, found, options), key=lambda choice: choice.rank, default=None)


@dataclass(frozen=True, slots=True)
class Found:
    """How the filters behind a loop can be answered: lookups (alternatives), and the filter parts they cover."""

    lookups: tuple[p.Lookup, ...]
    covered: tuple[Expr, ...]


def find(
    collection: Any, variable: Variable, conditions: Sequence[Expr], unknown: set[Variable], options: p.Options
) -> Found | None:
    """The best way into a collection for conditions that must all hold."""
    simple = [term for condition in conditions for term in terms(condition, variable, unknown)]
    choice = best(collection, simple, options)
    if choice is not None and choice.rank[0] > 1:
        return Found((choice.lookup,), choice.covered)
    least = None if choice is None else choice.rank[0] + 1
    alternatives = alternative(collection, variable, conditions, unknown, options, least)
    if choice is not None and alternatives is None:
        return Found((choice.lookup,), choice.covered)
    return alternatives


def alternative(
    collection: Any,
    variable: Variable,
    conditions: Sequence[Expr],
    unknown: set[Variable],
    options: p.Options,
    least: int | None = None,
) -> Found | None:
    """An OR each branch of which an index answers (at least so well), together with the other conditions."""
    for condition in conditions:
        branches = list(disjuncts(condition))
        if len(branches) < 2 or len(branches) > MAX_BRANCHES:
            continue
        others = [other for other in conditions if other is not condition]
        lookups = []
        for branch in branches:
            parts = [*conjuncts(branch), *others]
            choice = best(collection, [t for part in parts for t in terms(part, variable, unknown)], options)
            if choice is None or (least is not None and choice.rank[0] < least):
                break
            lookups.append(replace(choice.lookup, unique=False))
        else:
            return Found(tuple(lookups), ())
    return None


def skipping(
    collection: Any, variable: Variable, conditions: Sequence[Expr], unknown: set[Variable]
) -> p.Lookup | None:
    """A range on the second field of an index whose first field nobody asks for: looked up for each value of the first."""
    found = [term for condition in conditions for term in terms(condition, variable, unknown)]
    for index in collection.indexes:
        if index.type in SORTED_TYPES and not index.sparse and len(index.fields) > 1:
            lows, highs, ranged = _ranges(index, found, 1)
            if ranged and not any("[*]" in field for field in index.fields):
                fields = ",".join(index.fields)
                covered = all_of([term.condition for term in ranged])
                return p.Lookup(
                    "skip", int(index.id), fields, (), lows, highs, covered, ranges=further_ranges(index, found, 2)
                )
    return None


def window(nodes: Sequence[p.PlanNode], position: int) -> int:
    """Where the run of filters and calculations right behind a loop ends."""
    end = position + 1
    while end < len(nodes) and isinstance(nodes[end], p.FilterNode | p.CalculationNode | p.DocumentNode):
        end += 1
    return end


def use_indexes(plan: p.Plan, context: Context) -> p.Plan:
    """Documents that filters ask for are found through indexes instead of a scan."""
    nodes = list(plan.nodes)
    position = 0
    while position < len(nodes):
        node = nodes[position]
        if isinstance(node, p.EnumerateCollectionNode):
            nodes = with_index(nodes, position, node, context)
        position += 1
    return plan if len(nodes) == len(plan.nodes) and all(map(same, nodes, plan.nodes)) else with_nodes(plan, nodes)


def same(a: object, b: object) -> bool:
    return a is b


def with_index(
    nodes: list[p.PlanNode], position: int, node: p.EnumerateCollectionNode, context: Context
) -> list[p.PlanNode]:
    end = window(nodes, position)
    between = nodes[position + 1 : end]
    definitions = simple_definitions(between)
    filters = [item for item in between if isinstance(item, p.FilterNode)]
    conditions = [inlined(item.condition, definitions) for item in filters]
    unknown = outputs(nodes[position:])
    collection = context.txn.collection(node.collection)
    found = find(collection, node.variable, conditions, unknown, node.options)
    if found is None:
        if node.options.get("forceIndexHint") is True and node.options.get("indexHint") and not sort_hint(nodes, end):
            raise ArangoError(1577, "could not use index hint to serve query; index hint")
        return nodes
    covered = {
        id(item)
        for item, condition in zip(filters, conditions, strict=True)
        if any(condition is c for c in found.covered)
    }
    index_node = p.IndexNode(
        node.variable, node.collection, found.lookups, projection=node.projection, id=context.node_id()
    )
    kept = [item for item in between if id(item) not in covered]
    if covered:
        context.rules |= {"use-indexes": None, "remove-filter-covered-by-index": None}
    return [*nodes[:position], index_node, *kept, *nodes[end:]]


def narrow_views(plan: p.Plan, context: Context) -> p.Plan:
    """What a view finds is reduced to the documents whose keys a filter names before it is read. The filter stays."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if not isinstance(node, p.EnumerateViewNode):
            continue
        between = nodes[position + 1 : window(nodes, position)]
        definitions, unknown = simple_definitions(between), outputs(nodes[position:])
        conditions = [inlined(item.condition, definitions) for item in between if isinstance(item, p.FilterNode)]
        found = [
            choice.lookup
            for condition in conditions
            for choice in _primary([t for t in terms(condition, node.variable, unknown) if t.op in ("==", "IN")])
        ]
        if found:
            nodes[position] = replace(node, within=tuple(found))
    return plan if all(map(same, nodes, plan.nodes)) else with_nodes(plan, nodes)


def sort_hint(nodes: Sequence[p.PlanNode], end: int) -> bool:
    return end < len(nodes) and isinstance(nodes[end], p.SortNode)


# ------------------------------------------------------------------------------------------------------------ SORT


def use_index_for_sort(plan: p.Plan, context: Context) -> p.Plan:
    """A SORT that an index gives for nothing: the loop reads the index in order."""
    nodes = list(plan.nodes)
    for position, node in enumerate(nodes):
        if not isinstance(node, p.EnumerateCollectionNode | p.IndexNode) or in_loop(nodes, position):
            continue
        end = window(nodes, position)
        sort = nodes[end] if end < len(nodes) else None
        if not isinstance(sort, p.SortNode) or sort.count is not None:
            continue
        ordered = in_order(node, sort, simple_definitions(nodes[position + 1 : end]), context)
        if ordered is not None:
            nodes[position] = ordered
            del nodes[end]
            return with_nodes(plan, nodes)
    return plan


def in_order(
    node: p.EnumerateCollectionNode | p.IndexNode, sort: p.SortNode, definitions: dict[int, Expr], context: Context
) -> p.IndexNode | None:
    paths = [attribute_path(inlined(key.value, definitions)) for key in sort.keys]
    if any(path is None or path[0] != node.variable or not path[1] or "[*]" in path[1] for path in paths):
        return None
    wanted = [path[1] for path in paths if path is not None]
    directions = {key.ascending for key in sort.keys}
    if len(directions) != 1:
        return None
    collection = context.txn.collection(node.collection)
    if isinstance(node, p.IndexNode):
        return in_order_of_lookup(node, wanted, directions.pop(), collection)
    if node.options.get("disableIndex"):
        return None
    if wanted == ["_key"] and "indexHint" not in dict(node.options.items):
        return ordered_by(BY_KEY, node, directions.pop(), context)
    for index in hinted(collection.indexes, node.options):
        if index.type not in SORTED_TYPES or index.sparse or _may_lack(index, 0):
            continue
        if index.fields[: len(wanted)] == wanted:
            lookup = p.Lookup("sorted", int(index.id), ",".join(index.fields), (), (), (), None)
            return ordered_by(lookup, node, directions.pop(), context)
    return None


def ordered_by(lookup: p.Lookup, node: p.EnumerateCollectionNode, ascending: bool, context: Context) -> p.IndexNode:
    """The whole collection in the order of an index."""
    return p.IndexNode(
        node.variable, node.collection, (lookup,), ascending, True, node.projection, id=context.node_id()
    )


def in_order_of_lookup(node: p.IndexNode, wanted: list[str], ascending: bool, collection: Any) -> p.IndexNode | None:
    """The index is chosen already: after fields that equal one value its order is that of the next fields."""
    if len(node.lookups) == 1 and node.lookups[0].kind == "key" and wanted == ["_key"]:
        return replace(node, ascending=ascending, sorted=True)
    if len(node.lookups) != 1 or node.lookups[0].kind != "sorted":
        return None
    lookup = node.lookups[0]
    if any_in(lookup.equal) or "[*]" in lookup.field:
        return None
    fields = lookup.field.split(",")
    fixed = set(fields[: len(lookup.equal)])
    rest = [name for name in wanted if name not in fixed]
    if fields[len(lookup.equal) :][: len(rest)] != rest or lookup.sparse:
        return None
    return replace(node, ascending=ascending, sorted=True)


__all__ = ["Found", "Term", "find", "narrow_views", "skipping", "terms", "use_index_for_sort", "use_indexes", "window"]
