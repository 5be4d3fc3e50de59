"""Questions that were asked: `vgraph runs list | show | replay | diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from vgraph.cli.console import Json, opened, print_json
from vgraph.cli.graph import FAULTS

runs = typer.Typer(
    help="Questions that were asked: what was done for them, what it cost, and the same again.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Key = Annotated[
    str, typer.Argument(metavar="RUN", help="The key of a run, as `vgraph ask` and `vgraph runs list` give it.")
]


@runs.command("list")
def list_(
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the latest first.")] = 20, json: Json = False
) -> None:
    """List the latest runs."""
    from vgraph import terminal

    with opened() as graph:
        found = graph.runs(limit)
    if json:
        print_json(found)
    else:
        terminal.runs(found)


@runs.command()
def show(run: Key, json: Json = False) -> None:
    """Show a run: its steps, its claims with what they cite, and what each worker cost."""
    from vgraph import terminal

    with opened() as graph:
        found = graph.read_run(run)
        zones = {} if json else graph.zones()
    if json:
        print_json(found)
    else:
        terminal.run(found, zones)


@runs.command()
def replay(run: Key, json: Json = False) -> None:
    """Do a run again: its models say what they said, its tools look anew. Ends with 8 where something differs; nothing is kept."""
    from vgraph import terminal

    with opened() as graph:
        again = graph.replay(run)
    if json:
        print_json({"run": run, "changes": again.changes})
    else:
        terminal.changes(again.changes)
    if again.changes:
        raise typer.Exit(FAULTS)


@runs.command()
def diff(
    first: Key,
    second: Annotated[str, typer.Argument(metavar="RUN", help="The run it is compared with.")],
    json: Json = False,
) -> None:
    """Compare the steps of two runs. Ends with 8 where they differ."""
    from vgraph import terminal

    with opened() as graph:
        found = graph.compare_runs(first, second)
    if json:
        print_json(found)
    else:
        terminal.changes(found)
    if found:
        raise typer.Exit(FAULTS)
