"""When things were recorded: `vgraph clock …` and `vgraph coverage`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vgraph.cli.console import After, Before, Cameras, Json, opened, print_json
from vgraph.cli.durations import duration
from vgraph.errors import UserError

if TYPE_CHECKING:
    from vgraph.app import Moved, Timekeeping

clock = typer.Typer(
    help="Cameras' clocks: what they show, and what the time truly was.", no_args_is_help=True, rich_markup_mode=None
)
RESUMABLE = "interrupted; the new clock is kept, and the same command moves what is left"
Camera = Annotated[str, typer.Argument(help="The camera, by label or key.")]
Tz = Annotated[str | None, typer.Option("--tz", help="The camera's time zone, for example Europe/Berlin.")]


MOST_DRIFT = 100_000.0
"""Parts per million: a tenth."""


@clock.command("show")
def show(camera: Camera, json: Json = False) -> None:
    """A camera's zone and clock, and how the starts of its recordings are known."""
    from vgraph import terminal

    with opened() as graph:
        facts = graph.clocks().show(graph.camera_key(camera))
    if json:
        print_json(facts)
    else:
        terminal.clock_facts(facts)


@clock.command("set")
def set_clock(
    ctx: typer.Context,
    camera: Camera,
    offset: Annotated[str | None, typer.Option(help="To be added to what the clock shows, such as -1.5s.")] = None,
    drift: Annotated[float, typer.Option(help="Parts per million that the clock loses; 20 are 1.7 s a day.")] = 0.0,
    uncertainty: Annotated[str | None, typer.Option(help="By how much that may be wrong, such as 200ms.")] = None,
    at: Annotated[str | None, typer.Option(help="Own time at which --offset holds, ISO 8601 (with --drift).")] = None,
    since: Annotated[
        str | None, typer.Option("--from", help="Only from this own time on, ISO 8601: the clock was set anew then.")
    ] = None,
    tz: Tz = None,
    json: Json = False,
) -> None:
    """Set a camera's clock, or its zone. The times of all its records follow."""
    from vgraph.app import Span, moment

    if offset is None and tz is None:
        raise UserError("nothing to set: give --offset, --tz or both")
    with moving(ctx, camera) as (clocks, key, zone):
        zone = tz or zone
        from_ms = None if since is None else moment(since, zone)
        at_ms = moment(at, zone) if at is not None else from_ms or 0
        if drift and not at_ms:
            raise UserError("--drift needs --at: the own time at which the offset holds")
        span = None
        if offset is not None:
            doubt = None if uncertainty is None else duration(uncertainty, "--uncertainty")
            if not abs(drift) <= MOST_DRIFT:
                raise UserError(
                    f"--drift {drift:g}: no clock is that wrong; give parts per million, {MOST_DRIFT:g} at most"
                )
            span = Span(duration(offset, "--offset", signed=True), drift, doubt, at_ms, from_ms)
        told(clocks.set(key, span, tz), json)


@clock.command("anchor")
def anchor(
    camera: Camera,
    true: Annotated[
        str, typer.Argument(metavar="TRUE", help="The true time, ISO 8601; without a zone in the camera's.")
    ],
    own: Annotated[str | None, typer.Option(help="What the camera's clock showed then, ISO 8601.")] = None,
    document: Annotated[
        str | None, typer.Option("--document", "-d", help="Or: the recording (key) in which that moment is seen, …")
    ] = None,
    offset: Annotated[str | None, typer.Option(help="… so long after its first frame, such as 93.2s.")] = None,
    uncertainty: Annotated[str, typer.Option(help="By how much the true time may be off.")] = "500ms",
    json: Json = False,
) -> None:
    """Note a moment of which both the camera's own and the true time are known, for `vgraph clock fit`."""
    from vgraph import terminal
    from vgraph.app import Anchor, moment

    if (own is None) == (document is None or offset is None):
        raise UserError("an anchor needs the camera's own time: either --own, or --document with --offset")
    with opened() as graph:
        key = graph.camera_key(camera)
        clocks, zone = graph.clocks(), graph.zones()[key]
        true_ms, doubt = moment(true, zone), duration(uncertainty, "--uncertainty")
        if own is not None:
            count = clocks.anchor(key, Anchor(moment(own, zone), true_ms, doubt))
        else:
            count = clocks.anchor_in(key, document or "", duration(offset or "0", "--offset"), true_ms, doubt)
    if json:
        print_json({"camera": key, "anchors": count})
    else:
        terminal.note(f"{count} anchors of camera {key}; `vgraph clock fit {key}` fits its clock to them")


@clock.command("fit")
def fit(
    ctx: typer.Context,
    camera: Camera,
    burnt_in: Annotated[
        bool, typer.Option("--burnt-in/--no-burnt-in", help="Also by the clock in the pictures, where text was read.")
    ] = True,
    look: Annotated[
        bool, typer.Option("--look", help="Look at the pictures of the files again, to within a frame or so.")
    ] = False,
    dates: Annotated[
        str | None, typer.Option(help="How 02/03/2026 is meant: dmy or mdy (default: what fits the file).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be fitted.")] = False,
    json: Json = False,
) -> None:
    """Fit a camera's clock to its anchors and to the clock in its pictures. The times of all its records follow."""
    from vgraph import terminal

    with moving(ctx, camera) as (clocks, key, zone):
        found = clocks.fit(key, burnt_in=burnt_in, look=look, order=checked_order(dates), dry_run=dry_run)
    if json:
        print_json(found)
    else:
        terminal.fit(found, zone)


def checked_order(dates: str | None) -> Literal["dmy", "mdy"] | None:
    if dates == "dmy":
        return "dmy"
    if dates == "mdy":
        return "mdy"
    if dates is None:
        return None
    raise UserError(f"--dates {dates!r}: use dmy (2 March is 02/03) or mdy (2 March is 03/02)")


@clock.command("reset")
def reset(
    ctx: typer.Context,
    camera: Camera,
    zone: Annotated[bool, typer.Option("--zone", help="Only the zone, which is then UTC.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="The clock and the zone.")] = False,
    json: Json = False,
) -> None:
    """Forget a camera's clock: offset, drift, spans, anchors and starts read off pictures. The times of all its records follow."""
    with moving(ctx, camera) as (clocks, key, _):
        told(clocks.reset(key, clock=everything or not zone, zone=everything or zone), json)


def coverage(
    camera: Cameras = None,
    after: After = None,
    before: Before = None,
    join: Annotated[str, typer.Option(help="Gaps of so long or less do not count.")] = "1s",
    json: Json = False,
) -> None:
    """What was recorded when, and what was not: stretches, gaps and how far their times may be off, camera by camera."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.clocks().coverage(
            graph.filters(cameras=camera or None, start=after, end=before), join_ms=duration(join, "--join")
        )
    if json:
        print_json(rows)
    else:
        terminal.coverage(rows)


def told(moved: Moved, json: bool) -> None:
    from vgraph import terminal

    if json:
        print_json(moved)
    else:
        terminal.note(f"{moved.records} records of {moved.documents} documents moved")


@contextmanager
def moving(ctx: typer.Context, camera: str) -> Iterator[tuple[Timekeeping, str, str]]:
    """The clocks of the graph with progress, the camera's key and its zone."""
    from vgraph import terminal

    ctx.meta["interrupted"] = RESUMABLE
    with opened() as graph, terminal.progress() as advance:
        key = graph.camera_key(camera)
        yield graph.clocks(report=advance), key, graph.zones()[key]
