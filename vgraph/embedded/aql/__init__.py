"""AQL: the language, its planner and its executor.

    prepare(text)                                    parse, from the cache when seen before
    execute(engine_or_txn, database, text, binds, options) -> Result
    explain(engine_or_txn, database, text, binds, options) -> dict, the server's shape
    parse(text) -> dict                              what POST /_api/query answers

Everything a query can do wrong raises `ArangoError` with the server's number.
"""

from .prepare import Prepared, prepare
from .query import Result, execute, explain, parse
from .rules import descriptions as rule_descriptions

__all__ = ["Prepared", "Result", "execute", "explain", "parse", "prepare", "rule_descriptions"]
