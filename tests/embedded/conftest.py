"""An engine in a temporary file, for the tests of plans and their execution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import aql, ddl
from vgraph.embedded.engine import Engine


class Database:
    """Queries on one engine, with their statistics and plans at hand."""

    def __init__(self, path: Path) -> None:
        self.engine = Engine.open(path)

    def collection(
        self,
        name: str,
        documents: Sequence[Mapping[str, Any]] = (),
        *,
        edges: bool = False,
        indexes: Sequence[Any] = (),
    ) -> None:
        with self.engine.writing() as txn:
            ddl.create_collection(txn, name, 3 if edges else 2)
            collection = txn.collection(name, write=True)
            for document in documents:
                collection.insert(dict(document))
            for index in indexes:
                ddl.create_index(txn, name, index)

    def result(self, text: str, binds: Mapping[str, Any] | None = None, **options: Any) -> aql.Result:
        return aql.execute(self.engine, "_system", text, binds, options)

    def run(self, text: str, binds: Mapping[str, Any] | None = None, **options: Any) -> list[Any]:
        return self.result(text, binds, **options).all()

    def stats(self, text: str, binds: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        result = self.result(text, binds, **options)
        result.all()
        return result.stats

    def plan(self, text: str, binds: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        found: dict[str, Any] = aql.explain(self.engine, "_system", text, binds, options)["plan"]
        return found

    def types(self, text: str, binds: Mapping[str, Any] | None = None) -> list[str]:
        """The node types of a plan, calculations left out."""
        return [n["type"] for n in self.plan(text, binds)["nodes"] if n["type"] != "CalculationNode"]

    def node(self, type_: str, text: str, binds: Mapping[str, Any] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = next(n for n in self.plan(text, binds)["nodes"] if n["type"] == type_)
        return found


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """An empty database for the tests of one module."""
    database = Database(Path(tmp_path_factory.mktemp("aql") / "db.vgraph"))
    yield database
    database.engine.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Database]:
    """An empty database for one test."""
    database = Database(tmp_path / "db.vgraph")
    yield database
    database.engine.close()
