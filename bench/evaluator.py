"""Expressions: closures beside a walk of the same syntax tree; a document by its key; what a call through python-arango costs.

    python bench/evaluator.py [--documents 20000] [--rounds 9]

The tree walk is written here as one would: a function that looks at the kind of node, with the engine's own operators. Goals:
closures at least four times as fast, a point get within 50 microseconds, a call with 384 floats in and 20 documents out
within 200.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vgraph.embedded import client
from vgraph.embedded.aql import nodes as ast
from vgraph.embedded.aql import operators, parser
from vgraph.embedded.aql.expressions import CompileEnv, Runtime, compile, compile_condition
from vgraph.embedded.aql.functions import FUNCTIONS
from vgraph.embedded.aql.values import truthy

FILTERS = (
    "d.camera == 'cam3' OR d.camera == 'cam5'",
    "d.start_ms >= 20000000 AND d.start_ms < 180000000",
    "d.confidence > 0.2 AND d.kind != 'silence'",
    "LENGTH(d.tags) > 1",
    "d.meta.height * 2 + d.index % 7 > 500",
)
KEYS = ("d.confidence", "CONCAT(d.camera, '/', d.kind)")


# -- a walk of the tree ---------------------------------------------------------------------------------------------


def walk(expr: Any, row: list[Any], rt: Runtime) -> Any:
    """The value of an expression whose only variable stands in register 0."""
    if isinstance(expr, ast.Literal):
        return expr.value
    if isinstance(expr, ast.Variable):
        return row[0]
    if isinstance(expr, ast.Attribute):
        base = walk(expr.base, row, rt)
        return base.get(expr.name) if type(base) is dict else None
    if isinstance(expr, ast.Binary):
        return binary(expr, row, rt)
    if isinstance(expr, ast.Call):
        return FUNCTIONS[expr.name].impl(rt, *[walk(argument, row, rt) for argument in expr.args])
    raise NotImplementedError(type(expr).__name__)


def binary(expr: ast.Binary, row: list[Any], rt: Runtime) -> Any:
    left = walk(expr.left, row, rt)
    if expr.op == "AND":
        return walk(expr.right, row, rt) if truthy(left) else left
    if expr.op == "OR":
        return left if truthy(left) else walk(expr.right, row, rt)
    right = walk(expr.right, row, rt)
    if expr.op in operators.COMPARE:
        return operators.COMPARE[expr.op](left, right)
    if expr.op == "%":
        return operators.modulo(left, right, rt)
    return left + right if expr.op == "+" else left * right


# -- measuring ------------------------------------------------------------------------------------------------------


def documents(count: int) -> list[dict[str, Any]]:
    noise = random.Random(1)
    return [
        {
            "_key": str(number),
            "camera": f"cam{noise.randrange(8)}",
            "start_ms": number * 10_000,
            "confidence": noise.random(),
            "kind": noise.choice(["speech", "scene", "silence"]),
            "tags": ["a"] * noise.randrange(4),
            "index": number,
            "meta": {"height": noise.choice([240, 480, 720])},
        }
        for number in range(count)
    ]


def seconds(call: Callable[[], object], rounds: int) -> float:
    """The best CPU time of some rounds: what else the machine does only adds to it."""
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return min(spent)


def evaluators(count: int, rounds: int) -> None:
    condition: Any = parsed(
        "FOR d IN docs FILTER " + " AND ".join(f"({text})" for text in FILTERS) + " RETURN 1"
    ).condition
    keys: list[Any] = [parsed(f"FOR d IN docs RETURN {text}").value for text in KEYS]
    env = CompileEnv(lambda variable: 0)
    passes, values = compile_condition(condition, env), [compile(key, env) for key in keys]
    rows, rt = [[document] for document in documents(count)], Runtime()

    def walked() -> list[Any]:
        return [[walk(key, row, rt) for key in keys] for row in rows if truthy(walk(condition, row, rt))]

    def closed() -> list[Any]:
        return [[value(row, rt) for value in values] for row in rows if passes(row, rt)]

    assert walked() == closed()
    tree, closures = seconds(walked, rounds), seconds(closed, rounds)
    print(f"five filters and two sort keys over {count:,} documents: tree walk {1000 * tree:.1f} ms, closures ", end="")
    print(f"{1000 * closures:.1f} ms: {tree / closures:.1f} x as fast (goal 4)")


def parsed(text: str) -> Any:
    """The statement behind the FOR."""
    return parser.parse(text).query.statements[1]


def calls(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        opened = client.open(Path(folder) / "a.db")
        db: Any = opened.db("_system")
        db.create_collection("docs").import_bulk(documents(count))
        engine = db.conn._sessions[0].app.engine
        vector = [number / 384 for number in range(384)]
        with engine.reading() as txn:
            found = txn.collection("docs")
            each("a document by its key, in the engine (goal 50)", lambda n: found.get(str(n % count)))
        each("a document by its key, through python-arango", lambda n: db.collection("docs").get(str(n % count)))
        each("RETURN 1 through python-arango", lambda n: list(db.aql.execute("RETURN 1")))
        query = "FOR d IN docs LIMIT LENGTH(@vector) / 384 * 20 RETURN d"
        each(
            "384 floats in, 20 documents out (goal 200)",
            lambda n: list(db.aql.execute(query, bind_vars={"vector": vector})),
        )
        opened.close()


def each(name: str, call: Callable[[int], object], count: int = 2000) -> None:
    """Microseconds of a call, the median of ten parts."""
    parts = []
    for first in range(0, count, count // 10):
        began = time.process_time()
        for number in range(first, first + count // 10):
            call(number)
        parts.append(1e6 * (time.process_time() - began) / (count // 10))
    print(f"{name}: {statistics.median(parts):.0f} microseconds")


def main() -> None:
    parser_ = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser_.add_argument("--documents", type=int, default=20_000)
    parser_.add_argument("--rounds", type=int, default=9)
    given = parser_.parse_args()
    evaluators(given.documents, given.rounds)
    calls(given.documents)


if __name__ == "__main__":
    main()
