"""Running a query: transaction, limits, results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final

from vgraph.embedded.errors import ArangoError, Warnings

from .executor import Profile, Run
from .prepare import Prepared, Variant, prepare

if TYPE_CHECKING:
    from vgraph.embedded.engine import Engine, Transaction


_ROW: Final = 32
"""Bytes that a row of a batch takes in the server's blocks at the least: two registers."""


class Result:
    """The results of a query, an iterator of batches (lists of values).

    A reading query is computed as it is asked for, inside its transaction, which ends with the last batch or `close`.
    A modifying query has run and is committed before the caller gets this.
    """

    def __init__(self, batches: Iterator[list[Any]], rt: Run, own: Transaction | None, variant: Variant) -> None:
        self._batches = batches
        self._rt = rt
        self._own = own
        self._started = time.perf_counter()
        self._elapsed = 0.0
        self._rows = 0
        self.variant = variant

    def __iter__(self) -> Iterator[list[Any]]:
        return self

    def __next__(self) -> list[Any]:
        started = time.perf_counter()
        try:
            batch = next(self._batches)
            self._rows += len(batch)
            if 0 < self._rt.memory_limit < len(batch) * _ROW:
                raise ArangoError(32, "query would use more memory than allowed")
            return batch
        except StopIteration:
            self.close()
            raise
        except ArangoError as error:
            self.close(abort=True)
            raise executing(error) from None
        except BaseException:
            self.close(abort=True)
            raise
        finally:
            self._elapsed += time.perf_counter() - started

    def all(self) -> list[Any]:
        """Every result in one list."""
        found: list[Any] = []
        for batch in self:
            found += batch
        return found

    def close(self, *, abort: bool = False) -> None:
        """End the query; its own transaction is committed unless it failed."""
        if isinstance(self._batches, GeneratorType):
            if self._batches.gi_running:  # in another thread, which ends the transaction when it sees this
                self.kill()
                return
            self._batches.close()
        own, self._own = self._own, None
        if own is not None:
            if abort or own.read_only:
                own.abort()
            else:
                own.commit()

    def kill(self) -> None:
        """Stop at the next check (1500)."""
        self._rt.killed = True

    @property
    def stats(self) -> dict[str, Any]:
        """`extra.stats` of a cursor answer; with the option `profile` also what each node did."""
        if self._rt.full_count:  # without a LIMIT of the main query as many as there are rows
            self._rt.stats.full_count = max(self._rt.stats.full_count or 0, self._rows)
        stats = self._rt.stats.as_json(self._elapsed)
        if self._rt.profile is not None:
            stats["nodes"] = self._rt.profile.as_json(node.id for node in self.variant.plan.nodes)
        return stats

    @property
    def warnings(self) -> list[dict[str, Any]]:
        return self._rt.warnings.as_json()

    @property
    def modifies(self) -> bool:
        return self.variant.plan.modifies

    @property
    def sources(self) -> frozenset[str] | None:
        """The collections and views the query uses; None when the plan does not name them all (anonymous graphs)."""
        return self.variant.sources

    @property
    def txn(self) -> Transaction:
        """What the query runs in."""
        txn: Transaction = self._rt.txn
        return txn

    @property
    def cacheable(self) -> bool:
        """Whether another run on the same data gives the same."""
        from .explaining import is_cacheable

        return not self.modifies and not self.warnings and is_cacheable(self.variant.plan)


def executing(error: ArangoError) -> ArangoError:
    """The error as the server words it when it happened in the middle of a run."""
    if "(while " not in error.message:
        error.message = f"AQL: {error.message} (while executing)"
        error.args = (f"[{error.num}] {error.message}",)
    return error


def execute(
    target: Engine | Transaction,
    database: str,
    text: str,
    binds: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    started: Callable[[Result], None] | None = None,
) -> Result:
    """Run a query in a transaction given, or in one of its own when given an engine.

    Options: fullCount, failOnWarning, maxWarningCount, memoryLimit (bytes), maxRuntime (seconds), optimizer.rules, and
    `allowWrites` (ours): false refuses modification with 1004. `started` is told of the query before its first step, so
    that another thread can kill it.
    """
    prepared = prepare(text)
    binds = binds or {}
    options = options or {}
    prepared.check_binds(binds)
    own = begin(target, database, prepared, options)
    txn: Any = target if own is None else own
    try:
        if prepared.modifies:
            txn.start_writing()
        rt = runtime(txn, binds, options)
        variant = prepared.variant(txn, rt, disabled_rules(options))
        for number, message in variant.warnings:
            rt.warnings.add(number, message)
        result = Result(variant.program.run(rt), rt, own, variant)
        if started is not None:
            started(result)
        return materialised(result, txn) if prepared.modifies else result
    except BaseException:
        if own is not None:
            own.abort()
        raise


def begin(
    target: Engine | Transaction, database: str, prepared: Prepared, options: Mapping[str, Any]
) -> Transaction | None:
    """A transaction of the query's own, unless it was given one."""
    writes = prepared.modifies
    if writes and options.get("allowWrites") is False:
        raise ArangoError(1004, "read only: the query modifies data")
    if hasattr(target, "begin"):
        return target.begin(database, read_only=not writes)
    if writes and target.read_only:
        raise ArangoError(1004, "read only: the query modifies data")
    return None


def materialised(result: Result, txn: Any) -> Result:
    """Run a modifying query to its end; what it wrote before it failed is taken back."""
    txn.start_writing()  # may begin the transaction anew, which forgets savepoints
    savepoint = txn.savepoint()
    own, result._own = result._own, None
    try:
        batches = list(result)
    except BaseException:
        txn.rollback_to(savepoint)
        if own is not None:
            own.abort()
        raise
    txn.release(savepoint)
    if own is not None:
        own.commit()
    result._batches = iter(batches)
    return result


def runtime(txn: Any, binds: Mapping[str, Any], options: Mapping[str, Any]) -> Run:
    """Limits and switches of one run. A runtime limit of 0 is none."""
    seconds = number(options, "maxRuntime", 0)
    warnings = Warnings(fail=bool(options.get("failOnWarning")), limit=int(number(options, "maxWarningCount", 10)))
    return Run(
        binds,
        warnings=warnings,
        txn=txn,
        deadline=time.monotonic() + seconds if seconds else None,
        memory_limit=int(number(options, "memoryLimit", 0)),
        full_count=bool(options.get("fullCount")),
        profile=Profile() if options.get("profile") in (2, 3) else None,
    )


def number(options: Mapping[str, Any], name: str, default: float) -> float:
    """An option that is a number; what is none counts as not given."""
    value = options.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else default


def disabled_rules(options: Mapping[str, Any]) -> frozenset[str]:
    """`optimizer.rules` as given: "-name" switches a rule off, "-all" all of them, "+name" on again."""
    optimizer = options.get("optimizer")
    rules = optimizer.get("rules") if isinstance(optimizer, dict) else None
    return frozenset(rules) if isinstance(rules, list) and all(isinstance(rule, str) for rule in rules) else frozenset()


def explain(
    target: Engine | Transaction,
    database: str,
    text: str,
    binds: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The plan of a query, as `POST /_api/explain` answers (without error and code)."""
    from . import explaining

    prepared = prepare(text)
    prepared.check_binds(binds or {})
    own = target.begin(database, read_only=True) if hasattr(target, "begin") else None
    txn: Any = target if own is None else own
    try:
        rt = runtime(txn, binds or {}, options or {})
        variant = prepared.variant(txn, rt, disabled_rules(options or {}))
        return explaining.answer(variant, prepared, txn, rt, options or {})
    finally:
        if own is not None:
            own.abort()


def parse(text: str) -> dict[str, Any]:
    """What `POST /_api/query` answers: the syntax tree, the collections and the bind parameters (without error and code)."""
    from . import explaining

    return explaining.parsed(prepare(text).parsed)
