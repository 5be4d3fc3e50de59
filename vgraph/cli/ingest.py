"""Video in: `vgraph demo`, `vgraph ingest` and `vgraph watch`."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vgraph.cli.console import RESUMABLE, Json, opened, print_json_line, settings, told
from vgraph.cli.durations import duration
from vgraph.errors import MediaError, UserError

if TYPE_CHECKING:
    from vgraph.app import VGraph
    from vgraph.settings import Settings


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


CameraName = Annotated[
    str | None, typer.Option("--camera", "-c", help="The camera's label (default: sidecar, else the file's name).")
]
Zone = Annotated[str | None, typer.Option("--tz", help="The camera's time zone, for example Europe/Berlin.")]


def ingest(
    ctx: typer.Context,
    paths: Annotated[list[str] | None, typer.Argument(help="Video files, or folders of them.")] = None,
    camera: CameraName = None,
    camera_pattern: Annotated[
        str | None,
        typer.Option(
            "--camera-pattern",
            help="A regular expression that finds the camera's name in a file's path: its group `camera`, else its first group.",
        ),
    ] = None,
    start: Annotated[str | None, typer.Option("--start", help="When the first frame was recorded, ISO 8601.")] = None,
    tz: Zone = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag of the documents; may be repeated.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what it would take: video, calls, tokens, money, disk.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Only documents that a model failed on, those named or all.")
    ] = False,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, help="End before a call would pass so many (default: VGRAPH_FLOW__MAX_TOKENS).")
    ] = None,
    max_money: Annotated[
        float | None,
        typer.Option(min=0, help="End before a call would pass so much (default: VGRAPH_FLOW__MAX_MONEY)."),
    ] = None,
    json: Json = False,
) -> None:
    """Bring videos into the graph. The same command again changes nothing; an interrupted one goes on."""
    if not paths and not retry_failed:
        raise UserError("name a video or a folder; only --retry-failed goes without")
    ctx.meta["interrupted"] = RESUMABLE
    exits: list[typer.Exit] = []

    def failed(path: Path, error: MediaError) -> None:
        exits.append(told(ctx, error, error.exit_code))

    what: dict[str, Any] = {
        "camera": camera,
        "camera_pattern": camera_pattern,
        "start": start,
        "tz": tz,
        "failed": failed,
    }
    with opened(capped(max_tokens, max_money)) as graph:
        if dry_run:
            _estimated(graph, paths or [], what, json)
        else:
            _ingested(graph, paths or [], {**what, "tags": tag or (), "retry_failed": retry_failed}, json)
    if exits:
        raise exits[0]


def watch(
    ctx: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE…", help="rtsp://, http(s):// (also HLS), udp:// or a path; CAMERA=SOURCE for several."
        ),
    ],
    camera: Annotated[str | None, typer.Option("--camera", "-c", help="The camera's label, for one source.")] = None,
    start: Annotated[str | None, typer.Option("--start", help="When a growing file began, ISO 8601.")] = None,
    tz: Zone = None,
    length: Annotated[str | None, typer.Option("--for", help="End after so long, such as 10min.")] = None,
    json: Json = False,
) -> None:
    """Read streams, growing files and folders that fill, until they end; what they show can be asked for seconds later."""
    from vgraph import terminal

    ctx.meta["interrupted"] = (
        "interrupted; what was finished is kept, and the same command goes on with the same document"
    )
    stop = threading.Event()
    timer = threading.Timer(duration(length, "--for") / 1000, stop.set) if length is not None else None
    show = print_json_line if json else terminal.report
    with opened() as graph, terminal.progress() as advance:
        if timer is not None:
            timer.daemon = True
            timer.start()
        for report in graph.watch(sources, camera=camera, start=start, tz=tz, stop=stop, report=advance):
            show(report)


def capped(max_tokens: int | None, max_money: float | None) -> Settings:
    """The settings with the caps of this command."""
    found = settings()
    given = {"max_tokens": max_tokens, "max_money": max_money}
    caps = {name: value for name, value in given.items() if value is not None}
    return found.model_copy(update={"flow": found.flow.model_copy(update=caps)})


def _ingested(graph: VGraph, paths: list[str], what: dict[str, Any], json: bool) -> None:
    from vgraph import terminal

    if not json:
        terminal.picks(graph.picks)
    show = print_json_line if json else terminal.report
    with terminal.progress() as advance:
        for report in graph.ingest(
            paths, report=advance, derived=lambda done: terminal.warnings(done.warnings), **what
        ):
            show(report)


def _estimated(graph: VGraph, paths: list[str], what: dict[str, Any], json: bool) -> None:
    """A line a file, then all together."""
    from vgraph import terminal

    show = print_json_line if json else terminal.estimate
    whole = None
    for found in graph.estimate(paths, **what):
        show(found)
        whole = found.and_more(whole)
    if whole is not None:
        show(whole)


def print_step(step: Any) -> None:
    """A step of the demo, with its kind: rendered, ingested, asked, figures."""
    kind = type(step).__name__.lower()
    print_json_line({"step": kind, **{field.name: getattr(step, field.name) for field in dataclasses.fields(step)}})
