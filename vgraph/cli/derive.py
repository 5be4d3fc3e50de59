"""What the graph derives from itself: `vgraph derive` and `vgraph communities`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from vgraph.cli.console import RESUMABLE, Json, opened, print_json


class Kind(StrEnum):
    window = "window"
    theme = "theme"


def derive(ctx: typer.Context, json: Json = False) -> None:
    """Link similar clips, summarise windows, find themes, wherever documents are new or changed. `ingest` does so at its end."""
    from vgraph import terminal

    ctx.meta["interrupted"] = RESUMABLE
    with opened() as graph, terminal.progress() as advance:
        done = graph.derive(report=advance)
    if json:
        print_json(done)
        return
    terminal.warnings(done.warnings)
    terminal.note(
        ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in done.seconds.items()) or "nothing is switched on"
    )


def communities(
    kind: Annotated[
        Kind | None, typer.Option(help="Only summaries of time windows, or only themes of entities.")
    ] = None,
    document: Annotated[str | None, typer.Option("--document", "-d", help="Only this document (key).")] = None,
    level: Annotated[int | None, typer.Option(min=0, max=64, help="Only this level; 0 is the finest.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many.")] = 50,
    json: Json = False,
) -> None:
    """List summaries of windows of time and themes of entities that have to do with each other."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.communities(kind=kind, document=document, level=level, limit=limit)
        zones = {} if json else graph.zones()
    if json:
        print_json(rows)
    else:
        terminal.communities(rows, zones)
