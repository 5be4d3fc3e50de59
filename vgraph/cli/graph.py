"""What is in the graph: `vgraph documents`, `ledger`, `delete`, `retention`, `check` and `aql`."""

from __future__ import annotations

import json as jsonlib
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vgraph.cli.console import Json, opened, print_json
from vgraph.cli.durations import duration
from vgraph.errors import NotFoundError, UserError

if TYPE_CHECKING:
    from vgraph.app import VGraph

FAULTS = 8


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


def ledger(
    document: Annotated[str | None, typer.Option("--document", "-d", help="Only this document (key).")] = None,
    json: Json = False,
) -> None:
    """What model calls have cost so far: calls, failures, tokens, seconds and money, by document and stage."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.ledger(document)
    if json:
        print_json(rows)
    else:
        terminal.ledger(rows)


def tag(
    document: Annotated[str, typer.Argument(help="The document's key, as `vgraph documents` lists it.")],
    tags: Annotated[list[str] | None, typer.Argument(metavar="TAG...", help="Tags to add.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="A tag to take away; may be repeated.")] = None,
    json: Json = False,
) -> None:
    """Tag a document, to ask only of it and its like (`--tag`); without tags it shows those it has."""
    with opened() as graph:
        now = graph.tag(document, tags or (), remove=remove or ())
    if json:
        print_json(now)
    else:
        sys.stdout.write(" ".join(now) + "\n")


def delete(
    document: Annotated[str | None, typer.Argument(help="The document's key, as `vgraph documents` lists it.")] = None,
    camera: Annotated[
        str | None, typer.Option("--camera", "-c", help="A camera (label or key) with all its documents, instead.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Remove a document, or a camera with all its documents, and all that hangs on them; entities seen elsewhere stay."""
    from vgraph import terminal

    if (document is None) == (camera is None):
        raise UserError("name a document, or a camera with --camera")
    with opened() as graph:
        if not yes:
            confirm(graph, document, camera)
        removed = graph.delete(document) if document is not None else graph.delete_camera(str(camera))
    if json:
        print_json(removed)
    else:
        terminal.table(("removed", "records"), sorted(removed.items()))


def confirm(graph: VGraph, document: str | None, camera: str | None) -> None:
    """Ask before something goes. Raises NotFoundError where it is not there, UserError where the answer is not yes."""
    titles = {found["_key"]: found["title"] for found in graph.documents()}
    if document is not None and document not in titles:
        raise NotFoundError(f"no document {document!r}; `vgraph documents` lists them")
    what = (
        f"{titles[document]!r} ({document})"
        if document is not None
        else f"camera {graph.camera_key(str(camera))}, its documents"
    )
    try:
        sure = typer.confirm(f"Remove {what} and everything that hangs on it?", err=True)
    except typer.Abort:  # nobody there to answer
        sys.stderr.write("\n")
        sure = False
    if not sure:
        raise UserError("nothing was removed; --yes removes without asking")


def retention(
    camera: Annotated[
        str | None, typer.Option("--camera", "-c", help="The camera (label or key) whose time is to be set.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option("--keep", help="How long its recordings are kept: 30d, 12h, 90m; `forever` ends it.")
    ] = None,
    json: Json = False,
) -> None:
    """Remove what is older than its camera's recordings are kept; --camera and --keep set that time first."""
    from vgraph import terminal

    if (camera is None) != (keep is None):
        raise UserError("--camera and --keep go together")
    with opened() as graph:
        if camera is not None and keep is not None:
            graph.keep(camera, kept_ms(keep))
        expired = graph.expire()
    if json:
        print_json(expired)
    else:
        terminal.expired(expired)


def kept_ms(text: str) -> int | None:
    """A length of time as ms, None for `forever`. Raises UserError for another form, and for none at all."""
    if text.strip().lower() == "forever":
        return None
    if text.strip().isdecimal():  # a forgotten unit would remove all but some seconds
        raise UserError(f"--keep {text!r} has no unit: write 30d, 12h, 2w or `forever`")
    length = duration(text, "--keep")
    if length <= 0:
        raise UserError(f"--keep {text!r}: nothing would be kept; write a length of time such as 30d, or `forever`")
    return length


def check(
    repair: Annotated[bool, typer.Option("--repair", help="Remove what nothing owns.")] = False, json: Json = False
) -> None:
    """Look for edges without ends, records without a document, entities nobody mentions, pictures nobody owns; ends with 8 if there are."""
    from vgraph import terminal

    with opened() as graph:
        faults = graph.check(repair=repair)
    if json:
        print_json(faults)
    else:
        terminal.faults(faults)
    if any(not fault.repaired for fault in faults):
        raise typer.Exit(FAULTS)


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
