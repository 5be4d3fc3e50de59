"""AQL told as text: every file of cases/ holds queries, each followed by its result as JSON.

    RETURN 1 + 1
    //=> [2]

A result `error 1541` names the error, `[…] warning 1562` the warnings that come with it. Lines that begin with
`//#` set up what the queries after them use: `//# collection users`, `//# edges knows`, `//# insert users {…}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vgraph.embedded import ddl
from vgraph.embedded.aql import execute
from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    query: str
    expected: str
    line: int
    setup: tuple[str, ...]


def read(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    setup: list[str] = []
    lines: list[str] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("//#"):
            setup.append(line[3:].strip())
        elif line.startswith("//=>"):
            yield Case("\n".join(lines).strip(), line[4:].strip(), number, tuple(setup))
            lines = []
        elif line.strip() or lines:
            lines.append(line)
    assert not lines, f"{path.name}: the last query has no result"


def parameters() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}:{case.line}") for path in sorted(FOLDER.glob("*.aql")) for case in read(path)
    ]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = Engine.open(tmp_path / "cases.db")
    yield opened
    opened.close()


def prepare(engine: Engine, setup: tuple[str, ...]) -> None:
    for step in setup:
        verb, name, *rest = step.split(maxsplit=2)
        if verb == "insert":
            execute(engine, "_system", f"INSERT @doc INTO `{name}`", {"doc": json.loads(rest[0])}).all()
            continue
        txn = engine.begin()
        ddl.create_collection(txn, name, 3 if verb == "edges" else 2)
        txn.commit()


@pytest.mark.parametrize("case", parameters())
def test_case(case: Case, engine: Engine):
    prepare(engine, case.setup)
    expected, _, codes = case.expected.partition(" warning ")
    if expected.startswith("error "):
        with pytest.raises(ArangoError) as caught:
            execute(engine, "_system", case.query).all()
        assert caught.value.num == int(expected.removeprefix("error "))
        return
    result = execute(engine, "_system", case.query)
    assert result.all() == json.loads(expected)
    assert [warning["code"] for warning in result.warnings] == [int(code) for code in codes.split()]
