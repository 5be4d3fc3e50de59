"""From a query's text to a program that can run: parsing, planning, and keeping both for the next time.

A plan rests on facts about the bind values it was made with (which collection @@c is, that @camera is null …): its
guards. A text has as many plans as combinations of such facts have come up.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from vgraph.embedded.errors import ArangoError, Warnings

from . import nodes as ast
from . import parser, rules
from .build import Context, Guard, build
from .executor import Program, Run, compile_plan
from .expressions import CompileEnv, compile
from .plan import Plan, TraversalEdges

if TYPE_CHECKING:
    from vgraph.embedded.engine import Transaction

TEXTS: Final = 512
"""Query texts kept."""
VARIANTS: Final = 32
"""Plans kept for one text."""


MAX_NODES: Final = 4000
MAX_REGISTERS: Final = 1000
MAX_COLLECTIONS: Final = 2048


@dataclass(frozen=True, slots=True)
class Variant:
    """A plan and program for bind values for which all guards hold."""

    plan: Plan
    program: Program
    guards: tuple[Guard, ...]
    warnings: tuple[tuple[int, str], ...] = ()
    sources: frozenset[str] | None = None
    """The collections and views the query uses; None when the plan does not name them all (anonymous graphs)."""

    def fits(self, rt: Run) -> bool:
        """Whether the plan is for the bind values of a run. What is evaluated for that does not warn."""
        if not self.guards:
            return True
        warnings, rt.warnings = rt.warnings, Warnings()
        try:
            return all(guard.holds(rt) for guard in self.guards)
        finally:
            rt.warnings = warnings


@dataclass(slots=True)
class Prepared:
    """A parsed query with the plans made for it so far."""

    parsed: ast.Parsed
    variants: OrderedDict[tuple[Any, ...], list[Variant]] = field(default_factory=OrderedDict)

    @property
    def modifies(self) -> bool:
        return bool(self.parsed.writes)

    def check_binds(self, binds: Mapping[str, Any]) -> None:
        """Every declared bind has a value (1551), every value a bind (1552)."""
        for name in self.parsed.binds:
            if name not in binds:
                raise ArangoError(1551, f"no value specified for declared bind parameter '{name}' (while parsing)")
        if len(binds) > len(self.parsed.binds):
            for name in binds:
                if name not in self.parsed.binds:
                    raise ArangoError(1552, f"bind parameter '{name}' was not declared in the query (while parsing)")

    def variant(self, txn: Transaction, rt: Run, disabled: frozenset[str] = frozenset()) -> Variant:
        """The plan for the catalog and the bind values as they are now."""
        if txn.catalog_is_private:
            return plan_query(self.parsed, txn, rt, disabled)
        key = (txn.engine.server_id, str(txn.engine.path), txn.database, txn.schema_version, disabled)
        known = self.variants.get(key)
        if known is None:
            known = self.variants[key] = []
            while len(self.variants) > 4:
                self.variants.popitem(last=False)
        for variant in known:
            if variant.fits(rt):
                return variant
        variant = plan_query(self.parsed, txn, rt, disabled)
        known.insert(0, variant)
        del known[VARIANTS:]
        return variant


_texts: OrderedDict[str, Prepared] = OrderedDict()
_lock = threading.Lock()


def prepare(text: str) -> Prepared:
    """The parsed query, from the cache when the text was seen before (1501, 1502 …)."""
    with _lock:
        found = _texts.get(text)
        if found is not None:
            _texts.move_to_end(text)
            return found
    prepared = Prepared(parser.parse(text))
    with _lock:
        _texts[text] = prepared
        while len(_texts) > TEXTS:
            _texts.popitem(last=False)
    return prepared


def evaluator(expr: ast.Expr) -> Callable[[Any], Any]:
    """A function of the run alone, for an expression without variables."""
    slots: dict[int, int] = {}
    closure = compile(expr, CompileEnv(lambda variable: slots.setdefault(variable.id, len(slots))))
    width = len(slots)
    return lambda rt: closure([None] * width, rt)


def plan_query(parsed: ast.Parsed, txn: Transaction, rt: Run, disabled: frozenset[str] = frozenset()) -> Variant:
    """Plan and compile; what planning evaluates may warn, which every run of the plan then repeats."""
    planning = Run(rt.binds, warnings=Warnings(), txn=txn, deadline=rt.deadline, memory_limit=rt.memory_limit)
    context = Context(txn, planning, evaluator, parsed.variables)
    try:
        plan = rules.optimize(build(parsed, context), context, disabled)
        program = compile_plan(plan)
    except RecursionError:
        raise ArangoError(1524) from None
    check_size(context, program)
    return Variant(plan, program, tuple(context.guards), tuple(planning.warnings.items), sources(plan))


def sources(plan: Plan) -> frozenset[str] | None:
    anonymous = any(isinstance(node, TraversalEdges) and node.graph is None for node in ast.walk(plan))
    return None if anonymous else plan.read | plan.written


def check_size(context: Context, program: Program) -> None:
    """The server's limits on one query."""
    if context.nodes > MAX_NODES:
        raise ArangoError(1524, f"number of execution nodes exceeds limit: {MAX_NODES}")
    if program.frame.registers > MAX_REGISTERS:
        raise ArangoError(32, f"too many registers ({MAX_REGISTERS}) needed for AQL query")
    if len(context.read | context.written) > MAX_COLLECTIONS:
        raise ArangoError(1522, f"too many collections/shards: {MAX_COLLECTIONS}")
