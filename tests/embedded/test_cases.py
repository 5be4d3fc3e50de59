"""AQL told as text: every file of cases/ holds queries, each followed by its result as JSON.

    RETURN 1 + 1
    //=> [2]

A result `error 1541` names the error, `[…] warning 1562` the warnings that come with it. Lines that begin with
`//#` set up what the queries after them use: `//# collection users`, `//# edges knows`, `//# insert users [{…}, …]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
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
        pytest.param(case, id=f"{path.stem}:{case.line}")
        for path in sorted(FOLDER.glob("*.aql"))
        for case in read(path)
    ]


MODIFYING = re.compile(r"\b(INSERT|UPDATE|REPLACE|REMOVE|UPSERT)\b")


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Case], Engine]]:
    """An engine with a case's setup; cases that only read share one."""
    opened: dict[tuple[str, ...], Engine] = {}
    folder = tmp_path_factory.mktemp("cases")

    def engine(case: Case) -> Engine:
        key = (*case.setup, case.query) if MODIFYING.search(case.query) else case.setup
        if key not in opened:
            opened[key] = Engine.open(folder / f"{len(opened)}.db")
            prepare(opened[key], case.setup)
        return opened[key]

    yield engine
    for one in opened.values():
        one.close()


def prepare(engine: Engine, setup: tuple[str, ...]) -> None:
    for step in setup:
        verb, name, *rest = step.split(maxsplit=2)
        if verb == "insert":
            execute(engine, "_system", f"FOR d IN @docs INSERT d INTO `{name}`", {"docs": json.loads(rest[0])}).all()
            continue
        txn = engine.begin()
        ddl.create_collection(txn, name, 3 if verb == "edges" else 2)
        txn.commit()


@pytest.mark.parametrize("case", parameters())
def test_case(case: Case, engines: Callable[[Case], Engine]):
    engine = engines(case)
    expected, _, codes = case.expected.partition(" warning ")
    if expected.startswith("error "):
        with pytest.raises(ArangoError) as caught:
            execute(engine, "_system", case.query).all()
        assert caught.value.num == int(expected.removeprefix("error "))
        return
    result = execute(engine, "_system", case.query)
    assert result.all() == json.loads(expected)
    assert [warning["code"] for warning in result.warnings] == [int(code) for code in codes.split()]
