"""The `aql` analyzer: a query that reads nothing but its parameter gives the terms of a string."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from vgraph.embedded.aql.tokens import words
from vgraph.embedded.errors import ArangoError, Warnings

from .analyzer_base import Analyzer, Token, bad, choice_property, flag_property, text_property

if TYPE_CHECKING:
    from vgraph.embedded.aql.executor import Run
    from vgraph.embedded.aql.prepare import Variant

_FORBIDDEN: Final = frozenset(
    words(
        "ANALYZER APPLY APPROX_NEAR_COSINE APPROX_NEAR_INNER_PRODUCT APPROX_NEAR_L2 BM25 BOOST CALL COLLECTIONS "
        "COLLECTION_COUNT CURRENT_DATABASE CURRENT_USER DOCUMENT EXISTS FULLTEXT MINHASH_MATCH MIN_MATCH NEAR "
        "NGRAM_MATCH OFFSET_INFO PHRASE SCHEMA_GET SCHEMA_VALIDATE SHARD_ID TFIDF TOKENS V8 WITHIN WITHIN_RECTANGLE"
    )
)
_BATCHES: Final = 1000
_MEMORY: Final = 1 << 20
_MOST_MEMORY: Final = 32 << 20


class Aql(Analyzer):
    type = "aql"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        self._query = text_property(given, "queryString")
        self._collapse = flag_property(given, "collapsePositions", False)
        self._keep_null = flag_property(given, "keepNull", True)
        self.returns = choice_property(given, "returnType", "string", ("string", "number", "bool"))
        batch, self._memory = (
            _limit(given, "batchSize", 1, _BATCHES),
            _limit(given, "memoryLimit", _MEMORY, _MOST_MEMORY),
        )
        self._variant = self._planned(self._run(""))
        return {
            "queryString": self._query,
            "collapsePositions": self._collapse,
            "keepNull": self._keep_null,
            "batchSize": batch,
            "memoryLimit": self._memory,
            "returnType": self.returns,
        }

    def values(self, text: str) -> list[Any]:
        """What the query returns for a text, as the return type wants it; nothing where it fails."""
        from vgraph.embedded.aql import values as aql_values

        run = self._run(text)
        variant = self._variant if self._variant.fits(run) else self._planned(run)
        try:
            rows = [row for batch in variant.program.run(run) for row in batch]
        except ArangoError:  # of this text: the others are still to be indexed
            return []
        rows = rows if self._keep_null else [row for row in rows if row is not None]
        if self.returns == "number":
            return [aql_values.to_number(row) for row in rows]
        if self.returns == "bool":
            return [aql_values.truthy(row) for row in rows]
        return [aql_values.to_string(row) for row in rows]

    def stream(self, text: str) -> Iterator[Token]:
        for number, value in enumerate(self.values(text)):
            yield str(value), 0 if self._collapse and number else 1, 0, len(text)

    def _run(self, text: str) -> Run:
        from vgraph.embedded.aql.executor import Run

        return Run({"param": text}, warnings=Warnings(), txn=_NO_DATA, memory_limit=self._memory)

    def _planned(self, run: Run) -> Variant:
        """The query planned; 10 when it is none, or reads more than its parameter."""
        from vgraph.embedded.aql import nodes as ast
        from vgraph.embedded.aql.prepare import plan_query, prepare

        try:
            parsed = prepare(self._query).parsed
        except ArangoError as error:
            raise bad(f"analyzer property 'queryString': {error.message}") from error
        if parsed.writes or not set(parsed.binds) <= {"param"}:
            raise bad("analyzer property 'queryString': a query that modifies nothing and is bound @param is expected")
        for node in ast.walk(parsed.query):
            if isinstance(node, ast.Collection | ast.CollectionBind | ast.Traverse | ast.ShortestPath):
                raise bad(
                    "analyzer property 'queryString': a query that reads no collection, view or graph is expected"
                )
            if isinstance(node, ast.Call) and (node.name in _FORBIDDEN or "::" in node.name):
                raise bad(f"analyzer property 'queryString': function '{node.name}' is not allowed")
        try:
            return plan_query(parsed, _NO_DATA, run)
        except ArangoError as error:
            raise bad(f"analyzer property 'queryString': {error.message}") from error


def _limit(given: dict[str, Any], name: str, default: int, most: int) -> int:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise bad(f"analyzer property '{name}' must be an integer from 1 to {most}")
    return value


class _NoData:
    """The transaction of a query that reads nothing."""

    def view(self, name: str) -> None:
        return None


_NO_DATA: Final[Any] = _NoData()
