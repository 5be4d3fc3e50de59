"""Points of view and how they lie to one another: `vgraph cameras` and `vgraph cameras adjacent`."""

from __future__ import annotations

from typing import Annotated

import typer

from vgraph.cli.console import Json, opened, print_json
from vgraph.cli.durations import duration
from vgraph.errors import UserError

cameras = typer.Typer(help="The cameras, and how they lie to one another.", rich_markup_mode=None)


@cameras.callback(invoke_without_command=True)
def listed(ctx: typer.Context, json: Json = False) -> None:
    """List the cameras and how much of each is in the graph."""
    from vgraph import terminal

    if ctx.invoked_subcommand:
        return
    with opened() as graph:
        rows = graph.cameras()
    if json:
        print_json(rows)
    else:
        terminal.cameras(rows)


@cameras.command("adjacent")
def adjacent(
    one: Annotated[
        str | None, typer.Argument(help="A camera, by label or key; without any, all ways are listed.")
    ] = None,
    other: Annotated[str | None, typer.Argument(help="The camera next to it.")] = None,
    least: Annotated[
        str, typer.Option("--min", help="The shortest time from the one to the other, such as 5s.")
    ] = "0s",
    most: Annotated[str | None, typer.Option("--max", help="The longest, such as 60s or 2min (default: any).")] = None,
    overlapping: Annotated[
        bool, typer.Option("--overlapping", help="Their views show some of the same place.")
    ] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Forget how they lie to one another.")] = False,
    json: Json = False,
) -> None:
    """Say how two cameras lie to one another: it tells who can have gone from one to the other, and who was in two places at once."""
    from vgraph import terminal

    with opened() as graph:
        found = graph.identities()
        if one is not None:
            if other is None:
                raise UserError("name both cameras")
            keys = graph.camera_key(one), graph.camera_key(other)
            if forget:
                found.part(*keys)
            else:
                longest = None if most is None else duration(most)
                found.adjoin(*keys, overlapping=overlapping, min_ms=duration(least), max_ms=longest)
        ways = found.adjacent()
    if json:
        print_json(ways)
    elif not ways:
        terminal.note("nothing is known of how cameras lie to one another")
    else:
        terminal.table(
            ("camera", "camera", "overlapping", "shortest", "longest"),
            [
                (w["a"], w["b"], "yes" if w["overlapping"] else "no", _seconds(w["min_ms"]), _seconds(w["max_ms"]))
                for w in ways
            ],
        )


def _seconds(ms: int | None) -> str:
    return "any" if ms is None else f"{ms / 1000:g} s"
