"""What is in the graph: `vgraph documents`, `cameras`, `delete` and `aql`."""

from __future__ import annotations

import json as jsonlib
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vgraph.cli.console import Json, opened, print_json
from vgraph.errors import NotFoundError, UserError

if TYPE_CHECKING:
    from vgraph.app import VGraph


def documents(json: Json = False) -> None:
    """List what was ingested."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.documents()
        zones = graph.zones()
    if json:
        print_json(rows)
    else:
        terminal.documents(rows, zones)


def cameras(json: Json = False) -> None:
    """List the cameras and how much of each is in the graph."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.cameras()
    if json:
        print_json(rows)
    else:
        terminal.cameras(rows)


def delete(
    document: Annotated[str, typer.Argument(help="The document's key, as `vgraph documents` lists it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Remove a document and all that hangs on it; entities seen elsewhere stay."""
    from vgraph import terminal

    with opened() as graph:
        if not yes:
            confirm(graph, document)
        removed = graph.delete(document)
    if json:
        print_json(removed)
    else:
        terminal.table(("removed", "records"), sorted(removed.items()))


def confirm(graph: VGraph, key: str) -> None:
    """Ask before a document goes. Raises NotFoundError where there is none, UserError where the answer is not yes."""
    titles = {document["_key"]: document["title"] for document in graph.documents()}
    if key not in titles:
        raise NotFoundError(f"no document {key!r}; `vgraph documents` lists them")
    try:
        sure = typer.confirm(f"Remove {titles[key]!r} ({key}) and everything that hangs on it?", err=True)
    except typer.Abort:  # nobody there to answer
        sys.stderr.write("\n")
        sure = False
    if not sure:
        raise UserError("nothing was removed; --yes removes without asking")


def aql(
    query: Annotated[str, typer.Argument(help="A reading query; `-` reads it from standard input.")],
    bind: Annotated[
        list[str] | None,
        typer.Option("--bind", "-b", help="key=value; the value is JSON, or else a string. @@name for collections."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many rows.")] = 1000,
    json: Json = False,
) -> None:
    """Run AQL on the graph, reading only."""
    from vgraph import terminal

    text = standard_input() if query == "-" else query
    binds = dict(binding(item) for item in bind or [])
    with opened() as graph:
        result = graph.aql(text, binds, limit=limit)
    if json:
        print_json(result.rows)
    else:
        terminal.rows(result.rows)
    terminal.warnings(result.warnings)
    if len(result.rows) == limit:
        terminal.note(f"the first {limit} rows; --limit gives more")


def standard_input() -> str:
    if sys.stdin is None or sys.stdin.closed:
        raise UserError("`-` reads the query from standard input, which is closed")
    return sys.stdin.read()


def binding(item: str) -> tuple[str, Any]:
    """Name and value of `name=value`, the name as the driver wants it: `@@name` of a query is its bind variable `@name`."""
    name, equals, value = item.partition("=")
    if not equals or not name.strip("@"):
        raise UserError(f"--bind {item!r}: use key=value, for example --bind camera=dock or --bind 'ids=[1,2]'")
    plain = name.lstrip("@")
    if name.startswith("@@"):
        return f"@{plain}", value
    with suppress(ValueError, RecursionError):
        return plain, jsonlib.loads(value)
    return plain, value
