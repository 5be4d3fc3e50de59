"""Who was where, when, with whom and for how long: `vgraph analytics …`. Rows of queries that also paste into ArangoDB's own page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vgraph.cli.console import Json, Narrowed, narrowed, opened, print_json
from vgraph.cli.durations import duration
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
def asking(chosen: Narrowed) -> Iterator[tuple[VGraph, Analytics, Filters]]:
    with opened() as graph:
        yield graph, graph.analytics, graph.filters(**chosen)


def show(graph: VGraph, rows: list[dict[str, Any]], json: bool) -> None:
    from vgraph import terminal

    if json:
        print_json(rows)
    else:
        terminal.intervals(rows, graph.zones())


@analytics.command()
@narrowed("entities", "entity_types")
def timeline(
    entities: Entities, chosen: Narrowed,
    gap: Gap = "2s", json: Json = False,
) -> None:  # fmt: skip
    """Where and when entities stayed, in order of time."""
    with asking(chosen) as (graph, ask, filters):
        show(graph, ask.timeline(entities, filters, gap_ms=duration(gap)), json)


@analytics.command()
@narrowed("entities", "entity_types")
def journeys(
    entities: Entities, chosen: Narrowed,
    gap: Gap = "2s", json: Json = False,
) -> None:  # fmt: skip
    """The way of entities from camera to camera, and whether it is feasible by `vgraph cameras adjacent`."""
    with asking(chosen) as (graph, ask, filters):
        show(graph, ask.journeys(entities, filters, gap_ms=duration(gap)), json)


@analytics.command()
@narrowed("entities", "entity_types")
def absences(
    entity: Entity, chosen: Narrowed,
    least: Least = "1s", json: Json = False,
) -> None:  # fmt: skip
    """When no camera saw an entity, and whether the cameras were recording then."""
    with asking(chosen) as (graph, ask, filters):
        show(graph, ask.absences(entity, filters, least_ms=duration(least)), json)


@analytics.command("with")
@narrowed("entities", "entity_types")
def present_while(
    entity: Entity, chosen: Narrowed,
    type_: Types = None, gap: Gap = "2s", limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """Who and what else was at a camera while an entity stayed there."""
    with asking(chosen) as (graph, ask, filters):
        show(graph, ask.present_while(entity, filters, types=type_, gap_ms=duration(gap), limit=limit), json)


@analytics.command()
@narrowed("entities", "entity_types")
def said(
    entity: Entity, chosen: Narrowed,
    gap: Gap = "2s", limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """What was said at a camera while an entity stayed there."""
    with asking(chosen) as (graph, ask, filters):
        show(graph, ask.said_while(entity, filters, gap_ms=duration(gap), limit=limit), json)


@analytics.command()
@narrowed("entity_types")
def together(
    chosen: Narrowed, type_: Types = None,
    gap: Gap = "2s", least: Least = "1s", limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """Pairs that were at the same camera at the same time, and for how long in all."""
    with asking(chosen) as (graph, ask, filters):
        rows = ask.co_presence(filters, types=type_, gap_ms=duration(gap), least_ms=duration(least), limit=limit)
        show(graph, rows, json)


@analytics.command()
@narrowed("cameras", "places", "entity_types")
def handover(
    first: Annotated[str, typer.Argument(help="The camera left, by label or key.")],
    then: Annotated[str, typer.Argument(help="The camera come to.")],
    chosen: Narrowed,
    within: Annotated[str, typer.Option(help="The longest time between, such as 5min.")] = "5min",
    type_: Types = None, gap: Gap = "2s",
    limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """Who was seen by one camera and then by another within a time."""
    with asking(chosen) as (graph, ask, filters):
        ends = graph.camera_key(first), graph.camera_key(then)
        rows = ask.seen_then(*ends, filters, within_ms=duration(within), types=type_, gap_ms=duration(gap), limit=limit)
        show(graph, rows, json)


@analytics.command()
@narrowed("entity_types")
def dwell(
    chosen: Narrowed, type_: Types = None,
    gap: Gap = "2s", limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """How long everybody stayed at each camera, and how often."""
    with asking(chosen) as (graph, ask, filters):
        show(graph, ask.dwell(filters, types=type_, gap_ms=duration(gap), limit=limit), json)


@analytics.command()
@narrowed("entity_types")
def seen(
    chosen: Narrowed, type_: Types = None,
    limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """When and where everybody was first and last seen."""
    with asking(chosen) as (graph, ask, filters):
        show(graph, ask.first_last_seen(filters, types=type_, limit=limit), json)


@analytics.command()
@narrowed("entity_types")
def counts(
    chosen: Narrowed, every: Every = "10min",
    type_: Types = None, json: Json = False,
) -> None:  # fmt: skip
    """How many entities each camera saw in each interval."""
    with asking(chosen) as (graph, ask, filters):
        rows = ask.counts(filters, bucket_ms=duration(every), origin_ms=filters.start_ms or 0, types=type_)
        show(graph, rows, json)


@analytics.command()
@narrowed("entity_types")
def busiest(
    chosen: Narrowed, every: Every = "10min",
    type_: Types = None, limit: Limit = 10, json: Json = False,
) -> None:  # fmt: skip
    """The intervals in which most different entities were about."""
    with asking(chosen) as (graph, ask, filters):
        rows = ask.busiest(
            filters, bucket_ms=duration(every), origin_ms=filters.start_ms or 0, types=type_, limit=limit
        )
        show(graph, rows, json)


@analytics.command()
@narrowed("entity_types", "relation_types")
def interactions(
    chosen: Narrowed,
    relation: Annotated[list[str] | None, typer.Option(help="Only this relation; may be repeated.")] = None,
    type_: Types = None, limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """Who had to do with whom, in what way and for how long."""
    with asking(chosen) as (graph, ask, filters):
        show(graph, ask.interactions(filters, relations=relation, types=type_, limit=limit), json)


@analytics.command()
@narrowed("start", "end", "entity_types")
def difference(
    span: Annotated[list[str], typer.Argument(metavar="START/END START/END", help="Two spans, ISO 8601, each START/END.")],
    chosen: Narrowed, type_: Types = None, gap: Gap = "2s", limit: Limit = 100,
    json: Json = False,
) -> None:  # fmt: skip
    """Who was there in one of two spans only, and how much longer or shorter the others stayed."""
    with opened() as graph:
        spans = [_span(graph, text, chosen) for text in span]
        if len(spans) != 2:
            raise UserError(
                f"{len(spans)} spans: two are compared, such as 2026-03-03/2026-03-04 2026-03-04/2026-03-05"
            )
        before, after = ((each.start_ms or 0, each.end_ms or 0) for each in spans)
        rows = graph.analytics.difference(before, after, spans[0], types=type_, gap_ms=duration(gap), limit=limit)
        show(graph, rows, json)


def _span(graph: VGraph, text: str, chosen: Narrowed) -> Filters:
    start, slash, end = text.partition("/")
    if not slash or not start or not end:
        raise UserError(f"{text!r} is no span: write START/END, ISO 8601, such as 2026-03-03T08:00/2026-03-03T09:00")
    return graph.filters(**chosen, start=start, end=end)


@analytics.command()
@narrowed("entities", "entity_types", "relation_types")
def relations(
    left: Annotated[str, typer.Argument(help="ENTITY, speaker:NAME, or class:CLASS for a detector's tracks.")],
    right: Annotated[str, typer.Argument(help="The same.")],
    chosen: Narrowed,
    relation: Annotated[
        list[str] | None, typer.Option(help="Only this relation of Allen, such as during; may be repeated.")
    ] = None,
    within: Annotated[str | None, typer.Option(help="At most this between them (before, after), such as 5min.")] = None,
    overlap: Annotated[str, typer.Option(help="At least this in common.")] = "0s",
    slack: Annotated[str, typer.Option(help="Ends this near count as the same.")] = "0s",
    same_camera: Annotated[bool, typer.Option(help="Only within one camera.")] = False,
    gap: Gap = "2s", limit: Limit = 100, json: Json = False,
) -> None:  # fmt: skip
    """How the times of one lie to the times of another: before, meets, overlaps, during, and the rest of Allen's relations."""
    from vgraph.app import ALLEN

    with asking(chosen) as (graph, ask, filters):
        rows = ask.relations(
            ask.selection(**_side(left)), ask.selection(**_side(right)), filters, relations=relation or ALLEN,
            within_ms=None if within is None else duration(within), least_overlap_ms=duration(overlap), slack_ms=duration(slack),
            same_camera=same_camera, gap_ms=duration(gap), limit=limit,
        )  # fmt: skip
        show(graph, rows, json)


def _side(text: str) -> dict[str, Any]:
    kind, colon, name = text.partition(":")
    if colon and kind in ("speaker", "class"):
        return {"speakers" if kind == "speaker" else "classes": (name,)}
    return {"names": (text,)}
