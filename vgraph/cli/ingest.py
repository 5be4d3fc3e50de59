"""Video in: `vgraph demo` and `vgraph ingest`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from vgraph.cli.console import RESUMABLE, Json, opened, print_json_line, settings, told
from vgraph.errors import MediaError


def demo(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Option("--folder", help="Where the videos, the graph and the frames go.")] = Path(
        "demo-data"
    ),
    seed: Annotated[
        int | None, typer.Option(help="Seed of the synthetic world (default: one whose questions are varied).")
    ] = None,
    minutes: Annotated[float, typer.Option(min=2, max=60, help="Length of the scripted stretch.")] = 3.0,
    json: Json = False,
) -> None:
    """Render a synthetic site on several cameras, ingest it, ask about it. The world is simulated, its captions are given."""
    from vgraph import terminal
    from vgraph.evals.demo import run_demo

    ctx.meta["interrupted"] = RESUMABLE
    show = print_step if json else terminal.demo_step
    with terminal.progress() as advance:
        for step in run_demo(settings(), folder, seed=seed, minutes=minutes, report=advance):
            show(step)
    if not json:
        terminal.demo_next(folder)


def ingest(
    ctx: typer.Context,
    paths: Annotated[list[str], typer.Argument(help="Video files, or folders of them.")],
    camera: Annotated[
        str | None, typer.Option("--camera", "-c", help="The camera's label (default: sidecar, else the file's name).")
    ] = None,
    start: Annotated[str | None, typer.Option("--start", help="When the first frame was recorded, ISO 8601.")] = None,
    tz: Annotated[str | None, typer.Option("--tz", help="The camera's time zone, for example Europe/Berlin.")] = None,
    json: Json = False,
) -> None:
    """Bring videos into the graph. The same command again changes nothing; an interrupted one goes on."""
    from vgraph import terminal

    ctx.meta["interrupted"] = RESUMABLE
    exits: list[typer.Exit] = []

    def failed(path: Path, error: MediaError) -> None:
        exits.append(told(ctx, error, error.exit_code))

    with opened() as graph:
        if not json:
            terminal.picks(graph.picks)
        show = print_json_line if json else terminal.report
        with terminal.progress() as advance:
            for report in graph.ingest(paths, camera=camera, start=start, tz=tz, report=advance, failed=failed):
                show(report)
    if exits:
        raise exits[0]


def print_step(step: Any) -> None:
    """A step of the demo, with its kind: rendered, ingested, asked, figures."""
    kind = type(step).__name__.lower()
    print_json_line({"step": kind, **{field.name: getattr(step, field.name) for field in dataclasses.fields(step)}})
