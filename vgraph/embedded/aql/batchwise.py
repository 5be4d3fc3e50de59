"""What steps do with a whole batch of rows: values, tests and copies, by closures at first and by generated code for many rows.

A function is written (`sources`) once its step has seen MANY rows: writing and compiling take as long as some hundred rows do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from .expressions import CompileEnv, compile, compile_condition, is_constant_closure
from .nodes import Expr
from .runtime import Row
from .sources import Source, can_be_written

Batch = list[Row]
Values = Callable[[Batch, Any], list[Any]]
"""(rows, rt) -> one value for each."""
Columns = Callable[[Batch, Any], list[list[Any]]]
"""(rows, rt) -> one list of values for each expression."""
Passing = Callable[[Batch, Any], Batch]
"""(rows, rt) -> those for which a condition holds."""
Placed = Callable[[Sequence[tuple[int, Any]], Batch, Any], Batch]
"""((position of a row, item) …, rows, rt) -> copies of the rows with the item in its register, where the condition holds."""
Spread = Callable[[Sequence[Any], Row, Any], Batch]
"""(items, row, rt) -> copies of the row with an item in its register, where the condition holds."""

MANY: Final = 300


class _Late:
    """A function of many rows (its first argument) that is replaced by a faster one when it has seen enough of them."""

    __slots__ = ("_fast", "_seen", "_slow", "_write")

    def __init__(self, slow: Callable[..., Any], write: Callable[[], Callable[..., Any]]) -> None:
        self._slow = slow
        self._write = write
        self._fast: Callable[..., Any] | None = None
        self._seen = 0

    def __call__(self, rows: Any, *rest: Any) -> Any:
        if self._fast is not None:
            return self._fast(rows, *rest)
        self._seen += len(rows)
        if self._seen > MANY:
            self._fast = self._write()
        return self._slow(rows, *rest)


def values(expr: Expr, env: CompileEnv) -> Values:
    closure = compile(expr, env)

    def slow(batch: Batch, rt: Any) -> list[Any]:
        return [closure(row, rt) for row in batch]

    if is_constant_closure(closure) or not can_be_written(expr):
        return slow

    def write() -> Values:
        source = Source(env, compile)
        body = [f"add({source.value(expr)})"]
        return _function(source, "batch, rt", ["found = []", "add = found.append"], "row in batch", body, "found")

    return _Late(slow, write)


def columns(exprs: Sequence[Expr], env: CompileEnv) -> Columns:
    closures = [compile(expr, env) for expr in exprs]

    def slow(batch: Batch, rt: Any) -> list[list[Any]]:
        return [[closure(row, rt) for row in batch] for closure in closures]

    if not exprs or not all(map(can_be_written, exprs)):
        return slow

    def write() -> Columns:
        source = Source(env, compile)
        numbers = range(len(exprs))
        lists = [f"found{number} = []" for number in numbers]
        adds = [f"add{number} = found{number}.append" for number in numbers]
        body = [f"add{number}({source.value(expr)})" for number, expr in enumerate(exprs)]
        result = f"[{', '.join(f'found{number}' for number in numbers)}]"
        return _function(source, "batch, rt", [*lists, *adds], "row in batch", body, result)

    return _Late(slow, write)


def passing(condition: Expr, env: CompileEnv) -> Passing:
    test = compile_condition(condition, env)

    def slow(batch: Batch, rt: Any) -> Batch:
        return [row for row in batch if test(row, rt)]

    if not can_be_written(condition):
        return slow

    def write() -> Passing:
        source = Source(env, compile)
        body = [f"if {source.condition(condition)}:", "    add(row)"]
        return _function(source, "batch, rt", ["found = []", "add = found.append"], "row in batch", body, "found")

    return _Late(slow, write)


def placed(slot: int, condition: Expr | None, env: CompileEnv) -> Placed:
    """The register is the step's own: filled before the row is copied."""
    if condition is None:
        return _placed_all(slot)
    test = compile_condition(condition, env)

    def slow(items: Sequence[tuple[int, Any]], batch: Batch, rt: Any) -> Batch:
        found: Batch = []
        for position, item in items:
            row = batch[position]
            row[slot] = item
            if test(row, rt):
                found.append(row.copy())
        return found

    if not can_be_written(condition):
        return slow

    def write() -> Placed:
        source = Source(env, compile, (slot, "item"))
        body = [f"if {source.condition(condition)}:", "    add(row.copy())"]
        first = ["row = batch[position]", f"row[{slot}] = item"]
        begin = ["found = []", "add = found.append"]
        return _function(source, "items, batch, rt", begin, "position, item in items", body, "found", first)

    return _Late(slow, write)


def _placed_all(slot: int) -> Placed:
    def place(items: Sequence[tuple[int, Any]], batch: Batch, rt: Any) -> Batch:
        found: Batch = []
        for position, item in items:
            row = batch[position].copy()
            row[slot] = item
            found.append(row)
        return found

    return place


def spread(slot: int, condition: Expr | None, env: CompileEnv) -> Spread:
    if condition is None:
        return _spread_all(slot)
    test = compile_condition(condition, env)

    def slow(items: Sequence[Any], row: Row, rt: Any) -> Batch:
        found: Batch = []
        row = row.copy()
        for item in items:
            row[slot] = item
            if test(row, rt):
                found.append(row.copy())
        return found

    if not can_be_written(condition):
        return slow

    def write() -> Spread:
        source = Source(env, compile, (slot, "item"))
        body = [f"if {source.condition(condition)}:", "    add(row.copy())"]
        begin = ["found = []", "add = found.append", "row = row.copy()"]
        return _function(source, "items, row, rt", begin, "item in items", body, "found", [f"row[{slot}] = item"])

    return _Late(slow, write)


def _spread_all(slot: int) -> Spread:
    def place(items: Sequence[Any], row: Row, rt: Any) -> Batch:
        found: Batch = []
        for item in items:
            new = row.copy()
            new[slot] = item
            found.append(new)
        return found

    return place


def _function(
    source: Source,
    parameters: str,
    begin: Iterable[str],
    each: str,
    body: Iterable[str],
    result: str,
    first: Iterable[str] = (),
) -> Callable[..., Any]:
    """`def f(parameters): begin; for each: first, body; return result`, with what the source wants around its expressions."""
    loop = [*first, *source.before_each(), *body]
    lines = [*source.before_all(), *begin, f"for {each}:", *(f"    {line}" for line in loop), *source.after_all()]
    lines.append(f"return {result}")
    exec(f"def written({parameters}):\n" + "\n".join(f"    {line}" for line in lines), source.names)  # noqa: S102
    written: Callable[..., Any] = source.names["written"]
    return written
