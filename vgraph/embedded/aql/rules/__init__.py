"""The optimizer: small rules, each a function from a plan to a plan, named as the server names them in explain.

A rule that finds nothing to do returns the plan it was given. Rules marked necessary cannot be switched off: without
them a query would be wrong (vector search, views), not slow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .. import nodes as ast
from ..build import Context
from ..plan import Plan
from . import (
    calculations,
    collects,
    conditions,
    filters,
    geo,
    indexes,
    limits,
    projections,
    subqueries,
    traversals,
    vectors,
    views,
)

RuleFunction = Callable[[Plan, Context], Plan]


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    apply: RuleFunction
    necessary: bool = False
    shown: bool = True


RULES: tuple[Rule, ...] = (
    Rule("simplify-conditions", conditions.simplify_conditions, necessary=True, shown=False),
    Rule("use-vector-index", vectors.use_vector_index, necessary=True),
    Rule("inline-subqueries", subqueries.inline_subqueries),
    Rule("optimize-subqueries", subqueries.optimize_subqueries),
    Rule("move-calculations-up", calculations.move_calculations_up),
    Rule("split-filters", filters.split_filters, shown=False),
    Rule("remove-unnecessary-filters", filters.remove_unnecessary_filters, necessary=True),
    Rule("move-filters-up", filters.move_filters_up),
    Rule("remove-redundant-sorts", limits.remove_redundant_sorts),
    Rule("handle-arangosearch-views", views.handle_views, necessary=True),
    Rule("geo-index-optimizer", geo.use_geo_index, necessary=True),
    Rule("use-indexes", indexes.use_indexes),
    Rule("narrow-views", indexes.narrow_views, shown=False),
    Rule("use-index-for-sort", indexes.use_index_for_sort),
    Rule("use-index-for-collect", collects.use_index_for_collect),
    Rule("specialize-collect", collects.specialize_collect, necessary=True, shown=False),
    Rule("optimize-count", collects.optimize_count, shown=False),
    Rule("batch-document-lookups", calculations.batch_document_lookups, shown=False),
    Rule("optimize-traversals", traversals.optimize_traversals),
    Rule("move-calculations-down", calculations.move_calculations_down),
    Rule("remove-unnecessary-calculations", calculations.remove_unnecessary_calculations),
    Rule("drop-unread-results", calculations.drop_unread_results, necessary=True, shown=False),
    Rule("sort-limit", limits.sort_limit),
    Rule("arangosearch-constrained-sort", views.constrained_sort),
    Rule("reduce-extraction-to-projection", projections.reduce_extraction),
    Rule("join-filters", filters.join_filters, shown=False),
    Rule("move-filters-into-enumerate", filters.move_filters_into_enumerate),
)


def optimize(plan: Plan, context: Context, switches: frozenset[str] = frozenset()) -> Plan:
    """Apply every rule in turn to the plan and to the plans of its subqueries."""
    for rule in RULES:
        if rule.necessary or enabled(rule.name, switches):
            plan = everywhere(plan, rule, context)
    vectors.refuse_leftovers(plan)
    views.refuse_scorers(plan)
    return replace(plan, rules=tuple(context.rules))


def enabled(name: str, switches: frozenset[str]) -> bool:
    if "-" + name in switches:
        return False
    return "-all" not in switches or "+" + name in switches or "+all" in switches


def everywhere(plan: Plan, rule: Rule, context: Context) -> Plan:
    """The rule on the innermost plans first."""

    def inner(node: ast.Node) -> ast.Node:
        if not isinstance(node, Plan):
            return node
        changed = rule.apply(node, context)
        if changed is not node and rule.shown:
            context.rules[rule.name] = None
        return changed

    found = ast.transform(plan, inner)
    assert isinstance(found, Plan)
    return found


def descriptions() -> list[dict[str, Any]]:
    """The answer of `GET /_api/query/rules`."""
    return [
        {
            "name": rule.name,
            "description": " ".join((rule.apply.__doc__ or rule.name).split()),
            "flags": {
                "hidden": not rule.shown,
                "clusterOnly": False,
                "canBeDisabled": not rule.necessary,
                "canCreateAdditionalPlans": False,
                "disabledByDefault": False,
                "enterpriseOnly": False,
            },
        }
        for rule in RULES
    ]
