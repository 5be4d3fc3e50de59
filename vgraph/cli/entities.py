"""Who is who: `vgraph entities …`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vgraph.cli.console import RESUMABLE, Json, opened, print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from vgraph.app import Decided, Identification

entities = typer.Typer(
    help="Entities: which of them are one, what was proposed and decided.", no_args_is_help=True, rich_markup_mode=None
)
Entity = Annotated[str, typer.Argument(help="An entity: its key, or its name where only one bears it.")]
Named = Annotated[
    list[str], typer.Argument(metavar="PROPOSAL|ENTITY...", help="A proposal by its key, or two entities.")
]
Limit = Annotated[int, typer.Option(min=1, help="At most so many.")]


class Status(StrEnum):
    proposed = "proposed"
    confirmed = "confirmed"
    rejected = "rejected"


@entities.command("list")
def listed(
    type_: Annotated[str | None, typer.Option("--type", help="Only this type, such as person.")] = None,
    name: Annotated[str | None, typer.Option(help="Only those with this in one of their names.")] = None,
    limit: Limit = 50,
    json: Json = False,
) -> None:
    """List entities, those that are one as one, most often mentioned first."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.identities().listed(type=type_, name=name, limit=limit)
        zone = _zone(graph.zones())
    if json:
        print_json(rows)
    elif not rows:
        terminal.note("no entities")
    else:
        terminal.table(
            ("entity", "type", "name", "also", "are one", "mentions", "cameras", "from", "to"),
            [
                (r["_key"], r["type"], r["name"], ", ".join(a for a in r["aliases"] if a != r["name"]), len(r["members"]),
                 r["mentions"], ", ".join(r["cameras"]), terminal.wall(r["first_ms"], zone), terminal.wall(r["last_ms"], zone))
                for r in rows
            ],
        )  # fmt: skip


def _zone(zones: dict[str, str]) -> str:
    return next(iter(zones.values())) if len(set(zones.values())) == 1 else "UTC"


@entities.command("show")
def show(entity: Entity, json: Json = False) -> None:
    """An entity: which are one with it, and what spoke for and against that."""
    from vgraph import terminal

    with opened() as graph:
        found = graph.identities().show(entity)
    if json:
        print_json(found)
        return
    terminal.table(
        ("entity", "type", "name", "description", "cameras"),
        [(m["_key"], m["type"], m["name"], m["description"], ", ".join(m["cameras"])) for m in found["members"]],
    )
    for edge in found["identities"]:
        _tell_edge(edge)
    if found["doubt"]:
        _tell_doubt(found["_key"], found["doubt"])


@entities.command("proposals")
def proposals(
    status: Annotated[
        Status, typer.Option(help="What was confirmed or rejected, instead of what waits.")
    ] = Status.proposed,
    limit: Limit = 50,
    json: Json = False,
) -> None:
    """List entities that may be one, and those that may be two, with what speaks for and against it."""
    from vgraph import terminal

    with opened() as graph:
        found = graph.identities().proposals(status=status, limit=limit)
    if json:
        print_json(found)
        return
    for edge in found["merges"]:
        _tell_edge(edge)
    for entity in found["splits"]:
        _tell_doubt(entity["_key"], entity["doubt"], entity["name"])
    if not found["merges"] and not found["splits"]:
        terminal.note(f"nothing is {status}")


def _tell_edge(edge: dict[str, Any]) -> None:
    from vgraph import terminal

    first, second = (f"{edge[end]['name']} ({edge[end]['_key']})" for end in ("first", "second"))
    terminal.lines(f"{edge['status']} {edge['_key']}  {edge['score']:.2f} by {edge['method']}: {first} is {second}")
    for item in edge["evidence"]:
        seen = f" [{', '.join(item['chunks'])}]" if item["chunks"] else ""
        terminal.lines(f"    {item['speaks']} ({item['weight']:+.1f}) {item['kind']}: {item['text']}{seen}")
    if edge["reason"]:
        terminal.lines(f"    not joined: {edge['reason']}")


def _tell_doubt(key: str, doubt: dict[str, Any], name: str = "") -> None:
    from vgraph import terminal

    terminal.lines(f"{doubt['status']} {key}  {name} may be two: split off documents {', '.join(doubt['documents'])}")
    for item in doubt["evidence"]:
        terminal.lines(f"    {item['text']} [{', '.join(item['chunks'])}]")


@entities.command("merge")
def merge(
    ctx: typer.Context,
    entity: Entity,
    others: Annotated[list[str], typer.Argument(metavar="OTHER...", help="The entities that are the same.")],
    json: Json = False,
) -> None:
    """Entities of one type are one."""
    _decide(ctx, json, lambda found: found.merge(entity, *others))


@entities.command("split")
def split(
    ctx: typer.Context,
    entity: Entity,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="What it has in this document.")
    ] = None,
    track: Annotated[list[str] | None, typer.Option(help="What this track (key) shows of it.")] = None,
    chunk: Annotated[list[str] | None, typer.Option(help="What it has in this chunk (key).")] = None,
    name: Annotated[str | None, typer.Option(help="What the other one is called (default: the same).")] = None,
    json: Json = False,
) -> None:
    """An entity is two: what it has in documents, tracks or chunks is another's. Options may be repeated."""
    chosen = {"documents": document or (), "tracks": track or (), "chunks": chunk or ()}
    _decide(ctx, json, lambda found: found.split(entity, name=name, **chosen))


@entities.command("confirm")
def confirm(ctx: typer.Context, named: Named, json: Json = False) -> None:
    """A proposal is right: two entities are one, or one is two."""
    _decide(ctx, json, lambda found: found.confirm(*named))


@entities.command("reject")
def reject(ctx: typer.Context, named: Named, json: Json = False) -> None:
    """A proposal is wrong, or two entities that were joined are not one."""
    _decide(ctx, json, lambda found: found.reject(*named))


@entities.command("undo")
def undo(
    ctx: typer.Context,
    number: Annotated[
        int | None, typer.Argument(help="The decision's number in the history (default: the last one).")
    ] = None,
    json: Json = False,
) -> None:
    """Take a decision back; undoing an undo brings it back again."""
    _decide(ctx, json, lambda found: found.undo(number))


@entities.command("history")
def history(json: Json = False) -> None:
    """All decisions, in order."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.identities().history()
    if json:
        print_json(rows)
    elif not rows:
        terminal.note("nothing was decided yet")
    else:
        terminal.table(("number", "decision", "about", "stands"), [_told(row) for row in rows])


def _told(row: dict[str, Any]) -> tuple[object, ...]:
    chosen = [key for keys in row["selection"].values() for key in keys]
    about = f"decision {row['of']}" if row["of"] else " ".join(row["entities"])
    more = f": {' '.join(chosen)}" if chosen else ""
    stands = "" if row["kind"] == "undo" else "yes" if row["stands"] else "undone"
    return row["number"], row["kind"], about + more, stands


@entities.command("resolve")
def resolve(ctx: typer.Context, json: Json = False) -> None:
    """Find out which entities are one, as far as they changed; `ingest` and every decision do so."""
    from vgraph import terminal

    ctx.meta["interrupted"] = RESUMABLE
    with opened() as graph, terminal.progress() as advance:
        report = graph.identities(report=advance).resolve()
    if json:
        print_json(report)
    else:
        terminal.note(
            f"{report.entities} entities, {report.compared} pairs compared: {report.confirmed} joined, {report.proposed} proposed, "
            f"{report.rejected} rejected, {report.doubts} may be two"
        )


def _decide(ctx: typer.Context, json: bool, action: Callable[[Identification], Decided]) -> None:
    from vgraph import terminal

    ctx.meta["interrupted"] = (
        "interrupted; a decision that was entered is kept, `vgraph entities resolve` does what is left"
    )
    with opened() as graph, terminal.progress() as advance:
        done = action(graph.identities(report=advance))
    if json:
        print_json(done)
        return
    terminal.note(
        f"decision {done.decision.number}: {done.decision.kind}; `vgraph entities undo {done.decision.number}` takes it back"
    )
