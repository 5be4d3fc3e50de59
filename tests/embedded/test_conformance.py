"""The engine against results recorded on an ArangoDB 3.12 server.

The recordings are not part of the package: a folder with `aql-recorded.jsonl` and `datasets.json` is looked for in
$VGRAPH_CONFORMANCE, then beside the checkout; without one the test is skipped. `_rev` is never compared, and order
only where the server promises one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl, named_graphs
from vgraph.embedded.aql import execute
from vgraph.embedded.engine import Engine

FOLDER = Path(os.environ.get("VGRAPH_CONFORMANCE") or Path(__file__).parents[3] / "shared" / "conformance")
RECORDED = FOLDER / "aql-recorded.jsonl"
# Functions whose result is an array "in any order", by the documentation.
UNORDERED = ("MINUS(", "OUTERSECTION(", "UNION_DISTINCT(", "INTERSECTION(", "UNIQUE(", "DOCUMENT(", "ATTRIBUTES(")
# The time zone database's version differs from machine to machine.
MACHINE = {"_rev", "tzdb"}

# Recordings that contradict their own dataset.
CONTRADICTORY = {"joinTuples": "recorded on relations with friendOf and thisUser the other way round"}

pytestmark = pytest.mark.skipif(not RECORDED.exists(), reason=f"no recordings in {FOLDER}: set VGRAPH_CONFORMANCE")


def cases() -> Iterator[Any]:
    if RECORDED.exists():
        for line in RECORDED.read_text("utf-8").splitlines():
            case = json.loads(line)
            yield pytest.param(case, id=case["name"])


@pytest.fixture(scope="module")
def datasets() -> dict[str, Any]:
    return json.loads((FOLDER / "datasets.json").read_text("utf-8"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = Engine.open(tmp_path / "conformance.db")
    yield opened
    opened.close()


def load(engine: Engine, dataset: dict[str, Any]) -> None:
    """Create a dataset's collections and graph."""
    names = [collection["name"] for collection in dataset["collections"]]
    txn = engine.begin()
    for collection in dataset["collections"]:
        ddl.create_collection(txn, collection["name"], collection["type"])
    if dataset["graph"]:
        named_graphs.create_graph(txn, dataset["graph"])
    txn.commit()
    txn = engine.begin(write=names)
    for collection in dataset["collections"]:
        target = txn.collection(collection["name"], write=True)
        for document in collection["docs"]:
            target.insert({name: value for name, value in document.items() if name not in ("_id", "_rev")})
    txn.commit()


def comparable(value: Any, ordered: bool) -> Any:
    """A value without what differs between machines, arrays sorted where their order is free."""
    if isinstance(value, dict):
        return {name: comparable(item, ordered) for name, item in value.items() if name not in MACHINE}
    if isinstance(value, list):
        items = [comparable(item, ordered) for item in value]
        return items if ordered else sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    return value


@pytest.mark.parametrize("case", list(cases()))
def test_a_recorded_query_gives_the_recorded_result(case: dict[str, Any], engine: Engine, datasets: dict[str, Any]):
    if case["name"] in CONTRADICTORY:
        pytest.skip(CONTRADICTORY[case["name"]])
    if case["dataset"]:
        load(engine, datasets[case["dataset"]])
    # The queries were written inside JavaScript template strings, where a backslash is doubled.
    query = case["query"].replace("\\\\", "\\")
    found = execute(engine, "_system", query, case["bindVars"]).all()
    unordered = any(name in query for name in UNORDERED) or (
        "FOR" in query and "SORT" not in query and "IN 1.." not in query
    )
    if comparable(found, True) != comparable(case["result"], True):
        assert unordered and comparable(found, False) == comparable(case["result"], False)
