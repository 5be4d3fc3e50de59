"""Who was where, when, with whom and for how long: `vgraph analytics …`. Rows of queries that also paste into ArangoDB's own page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vgraph.cli.cameras import duration
from vgraph.cli.console import After, Before, Cameras, Json, NotAfter, filters, opened, print_json
from vgraph.errors import UserError

if TYPE_CHECKING:
    from vgraph.app import Analytics, VGraph
    from vgraph.types import Filters

analytics = typer.Typer(
    help="Who was where, when, with whom and for how long, over all cameras.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Entities = Annotated[list[str], typer.Argument(metavar="ENTITY...", help="Entities by name or key.")]
Entity = Annotated[str, typer.Argument(help="An entity by name or key.")]
Types = Annotated[list[str] | None, typer.Option("--type", help="Only entities of this type; may be repeated.")]
Gap = Annotated[str, typer.Option(help="Appearances this near to each other are one stay, such as 2s.")]
Least = Annotated[str, typer.Option(help="Leave out what is shorter.")]
Every = Annotated[str, typer.Option(help="Length of an interval, such as 10min.")]
Limit = Annotated[int, typer.Option(min=1, help="At most so many rows.")]


@contextmanager
def asking(
    cameras: list[str] | None, after: str | None, before: str | None, not_after: str | None = None
) -> Iterator[tuple[VGraph, Analytics, Filters]]:
    with opened() as graph:
        yield graph, graph.analytics, filters(graph, cameras, None, after, before, not_after)


def show(graph: VGraph, rows: list[dict[str, Any]], json: bool) -> None:
    from vgraph import terminal

    if json:
        print_json(rows)
    else:
        terminal.intervals(rows, graph.zones())


@analytics.command()
def timeline(
    entities: Entities, camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None,
    gap: Gap = "2s", json: Json = False,
) -> None:  # fmt: skip
    """Where and when entities stayed, in order of time."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        show(graph, ask.timeline(entities, chosen, gap_ms=duration(gap)), json)


@analytics.command()
def journeys(
    entities: Entities, camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None,
    gap: Gap = "2s", json: Json = False,
) -> None:  # fmt: skip
    """The way of entities from camera to camera, and whether it is feasible by `vgraph cameras adjacent`."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        show(graph, ask.journeys(entities, chosen, gap_ms=duration(gap)), json)


@analytics.command()
def absences(
    entity: Entity, camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None,
    least: Least = "1s", json: Json = False,
) -> None:  # fmt: skip
    """When no camera saw an entity, and whether the cameras were recording then."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        show(graph, ask.absences(entity, chosen, least_ms=duration(least)), json)


@analytics.command("with")
def present_while(
    entity: Entity, camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None,
    type_: Types = None, gap: Gap = "2s", limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """Who and what else was at a camera while an entity stayed there."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        show(graph, ask.present_while(entity, chosen, types=type_, gap_ms=duration(gap), limit=limit), json)


@analytics.command()
def said(
    entity: Entity, camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None,
    gap: Gap = "2s", limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """What was said at a camera while an entity stayed there."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        show(graph, ask.said_while(entity, chosen, gap_ms=duration(gap), limit=limit), json)


@analytics.command()
def together(
    camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None, type_: Types = None,
    gap: Gap = "2s", least: Least = "1s", limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """Pairs that were at the same camera at the same time, and for how long in all."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        rows = ask.co_presence(chosen, types=type_, gap_ms=duration(gap), least_ms=duration(least), limit=limit)
        show(graph, rows, json)


@analytics.command()
def handover(
    first: Annotated[str, typer.Argument(help="The camera left, by label or key.")],
    then: Annotated[str, typer.Argument(help="The camera come to.")],
    within: Annotated[str, typer.Option(help="The longest time between, such as 5min.")] = "5min",
    after: After = None, before: Before = None, not_after: NotAfter = None, type_: Types = None, gap: Gap = "2s",
    limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """Who was seen by one camera and then by another within a time."""
    with asking(None, after, before, not_after) as (graph, ask, chosen):
        ends = graph.camera_key(first), graph.camera_key(then)
        rows = ask.seen_then(*ends, chosen, within_ms=duration(within), types=type_, gap_ms=duration(gap), limit=limit)
        show(graph, rows, json)


@analytics.command()
def dwell(
    camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None, type_: Types = None,
    gap: Gap = "2s", limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """How long everybody stayed at each camera, and how often."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        show(graph, ask.dwell(chosen, types=type_, gap_ms=duration(gap), limit=limit), json)


@analytics.command()
def seen(
    camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None, type_: Types = None,
    limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """When and where everybody was first and last seen."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        show(graph, ask.first_last_seen(chosen, types=type_, limit=limit), json)


@analytics.command()
def counts(
    every: Every = "10min", camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None,
    type_: Types = None, json: Json = False,
) -> None:  # fmt: skip
    """How many entities each camera saw in each interval."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        rows = ask.counts(chosen, bucket_ms=duration(every), origin_ms=chosen.start_ms or 0, types=type_)
        show(graph, rows, json)


@analytics.command()
def busiest(
    every: Every = "10min", camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None,
    type_: Types = None, limit: Limit = 10, json: Json = False,
) -> None:  # fmt: skip
    """The intervals in which most different entities were about."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        rows = ask.busiest(chosen, bucket_ms=duration(every), origin_ms=chosen.start_ms or 0, types=type_, limit=limit)
        show(graph, rows, json)


@analytics.command()
def interactions(
    camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None,
    relation: Annotated[list[str] | None, typer.Option(help="Only this relation; may be repeated.")] = None,
    type_: Types = None, limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """Who had to do with whom, in what way and for how long."""
    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        show(graph, ask.interactions(chosen, relations=relation, types=type_, limit=limit), json)


@analytics.command()
def difference(
    span: Annotated[list[str], typer.Argument(metavar="START/END START/END", help="Two spans, ISO 8601, each START/END.")],
    camera: Cameras = None, not_after: NotAfter = None, type_: Types = None, gap: Gap = "2s", limit: Limit = 100,
    json: Json = False,
) -> None:  # fmt: skip
    """Who was there in one of two spans only, and how much longer or shorter the others stayed."""
    with opened() as graph:
        spans = [_span(graph, text, camera, not_after) for text in span]
        if len(spans) != 2:
            raise UserError(
                f"{len(spans)} spans: two are compared, such as 2026-03-03/2026-03-04 2026-03-04/2026-03-05"
            )
        before, after = ((chosen.start_ms or 0, chosen.end_ms or 0) for chosen in spans)
        rows = graph.analytics.difference(before, after, spans[0], types=type_, gap_ms=duration(gap), limit=limit)
        show(graph, rows, json)


def _span(graph: VGraph, text: str, camera: list[str] | None, not_after: str | None) -> Filters:
    start, slash, end = text.partition("/")
    if not slash or not start or not end:
        raise UserError(f"{text!r} is no span: write START/END, ISO 8601, such as 2026-03-03T08:00/2026-03-03T09:00")
    return filters(graph, camera, None, start, end, not_after)


@analytics.command()
def relations(
    left: Annotated[str, typer.Argument(help="ENTITY, speaker:NAME, or class:CLASS for a detector's tracks.")],
    right: Annotated[str, typer.Argument(help="The same.")],
    relation: Annotated[
        list[str] | None, typer.Option(help="Only this relation of Allen, such as during; may be repeated.")
    ] = None,
    within: Annotated[str | None, typer.Option(help="At most this between them (before, after), such as 5min.")] = None,
    overlap: Annotated[str, typer.Option(help="At least this in common.")] = "0s",
    slack: Annotated[str, typer.Option(help="Ends this near count as the same.")] = "0s",
    same_camera: Annotated[bool, typer.Option(help="Only within one camera.")] = False,
    camera: Cameras = None, after: After = None, before: Before = None, not_after: NotAfter = None, gap: Gap = "2s",
    limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """How the times of one lie to the times of another: before, meets, overlaps, during, and the rest of Allen's relations."""
    from vgraph.app import ALLEN

    with asking(camera, after, before, not_after) as (graph, ask, chosen):
        rows = ask.relations(
            ask.selection(**_side(left)), ask.selection(**_side(right)), chosen, relations=relation or ALLEN,
            within_ms=None if within is None else duration(within), least_overlap_ms=duration(overlap), slack_ms=duration(slack),
            same_camera=same_camera, gap_ms=duration(gap), limit=limit,
        )  # fmt: skip
        show(graph, rows, json)


def _side(text: str) -> dict[str, Any]:
    kind, colon, name = text.partition(":")
    if colon and kind in ("speaker", "class"):
        return {"speakers" if kind == "speaker" else "classes": (name,)}
    return {"names": (text,)}
