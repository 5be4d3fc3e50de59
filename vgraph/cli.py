"""The command line. Results go to stdout (`--json` for machines), progress and warnings to stderr; errors are one line and an exit code.

Exit codes: 0 done, 1 an error nobody foresaw, 2 wrong input or setting, 3 a video that cannot be read, 4 not there, 5 a model failed,
6 the database refused, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vgraph.errors import UserError, VGraphError

if TYPE_CHECKING:
    from vgraph.app import VGraph
    from vgraph.settings import Settings
    from vgraph.types import Filters

app = typer.Typer(
    name="vgraph",
    help="Long, multi-camera video as a knowledge graph in ArangoDB, and answers that cite camera, time and clip.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
database = typer.Typer(help="The database itself.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(database, name="db")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Cameras = Annotated[
    list[str] | None, typer.Option("--camera", "-c", help="Only this camera (label or key); may be repeated.")
]
Documents = Annotated[
    list[str] | None, typer.Option("--document", "-d", help="Only this document (key); may be repeated.")
]
After = Annotated[str | None, typer.Option("--from", help="Only what was recorded from this time on, ISO 8601.")]
Before = Annotated[str | None, typer.Option("--to", help="Only what was recorded before this time, ISO 8601.")]
NotAfter = Annotated[
    str | None, typer.Option("--not-after", help="Nothing recorded after this time may influence the result, ISO 8601.")
]
Count = Annotated[int | None, typer.Option("--k", min=1, help="How many chunks to find (default: VGRAPH_RETRIEVE__K).")]


def main() -> None:
    """Entry point: errors become one line on stderr and their exit code."""
    try:
        app()
    except VGraphError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was finished is kept, the same command goes on from there\n")
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None


@contextmanager
def opened() -> Iterator[VGraph]:
    from vgraph.app import VGraph

    with VGraph.open() as graph:
        yield graph


def settings() -> Settings:
    from vgraph.settings import Settings

    return Settings.load()


def print_json(value: Any) -> None:
    from vgraph.app import to_json

    sys.stdout.write(to_json(value) + "\n")


def filters(graph: VGraph, cameras: list[str] | None, documents: list[str] | None, *times: str | None) -> Filters:
    start, end, not_after = times
    return graph.filters(cameras=cameras, documents=documents, start=start, end=end, not_after=not_after)


@app.command()
def demo(
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

    with terminal.progress() as advance:
        for step in run_demo(settings(), folder, seed=seed, minutes=minutes, report=advance):
            if json:
                print_json(step)
            else:
                terminal.demo_step(step)


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Video files, or folders of them.")],
    camera: Annotated[
        str | None, typer.Option("--camera", "-c", help="The camera's label (default: sidecar, else the file's name).")
    ] = None,
    start: Annotated[str | None, typer.Option("--start", help="When the first frame was recorded, ISO 8601.")] = None,
    tz: Annotated[str | None, typer.Option("--tz", help="The camera's time zone, for example Europe/Berlin.")] = None,
    json: Json = False,
) -> None:
    """Bring videos into the graph. The same command again changes nothing; an interrupted one goes on."""
    from vgraph import terminal

    with opened() as graph:
        if not json:
            terminal.picks(graph.picks)
        with terminal.progress() as advance:
            for report in graph.ingest(paths, camera=camera, start=start, tz=tz, report=advance):
                if json:
                    print_json(report)
                else:
                    terminal.report(report)


@app.command()
def search(
    query: str, camera: Cameras = None, document: Documents = None, after: After = None, before: Before = None,
    not_after: NotAfter = None, k: Count = None, json: Json = False,
) -> None:  # fmt: skip
    """Find chunks, entities and relations for a question, without answering it."""
    from vgraph import terminal

    with opened() as graph:
        found = graph.search(query, filters(graph, camera, document, after, before, not_after), k=k)
    if json:
        print_json(found)
    else:
        terminal.evidence(found)


@app.command()
def ask(
    question: str, camera: Cameras = None, document: Documents = None, after: After = None, before: Before = None,
    not_after: NotAfter = None, k: Count = None, json: Json = False,
) -> None:  # fmt: skip
    """Answer a question; every claim cites the camera, the time and the clip it rests on."""
    from vgraph import terminal

    with opened() as graph:
        given = graph.ask(question, filters(graph, camera, document, after, before, not_after), k=k)
        zones = {} if json else graph.zones()
    if json:
        print_json(given)
    else:
        terminal.answer(given, zones)


@app.command()
def documents(json: Json = False) -> None:
    """List what was ingested."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.documents()
        zones = graph.zones()
    if json:
        print_json(rows)
        return
    terminal.table(
        "",
        ("document", "title", "camera", "start", "length", "chunks", "state"),
        [
            (
                d["_key"],
                d["title"],
                d["camera_label"],
                started(d, zones),
                terminal.clock(d["duration_ms"]),
                d["chunks"],
                d["state"],
            )
            for d in rows
        ],
    )


def started(document: dict[str, Any], zones: dict[str, str]) -> str:
    from vgraph import terminal

    if document["start_source"] == "unknown":
        return "unknown"
    return terminal.wall(document["start_ms"], zones.get(document["camera"], "UTC"))


@app.command()
def cameras(json: Json = False) -> None:
    """List the cameras and how much of each is in the graph."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.cameras()
    if json:
        print_json(rows)
        return
    terminal.table(
        "",
        ("camera", "label", "place", "zone", "documents", "recorded"),
        [(c["_key"], c["label"], c["place"], c["tz"], c["documents"], terminal.clock(c["recorded_ms"])) for c in rows],
    )


@app.command()
def delete(
    document: Annotated[str, typer.Argument(help="The document's key, as `vgraph documents` lists it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Remove a document and all that hangs on it; entities seen elsewhere stay."""
    from vgraph import terminal

    with opened() as graph:
        if not yes and not typer.confirm(f"Remove document {document} and everything that hangs on it?", err=True):
            raise UserError("nothing was removed; --yes removes without asking")
        removed = graph.delete(document)
    if json:
        print_json(removed)
    else:
        terminal.table("removed", ("collection", "records"), sorted(removed.items()))


@app.command()
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

    text = sys.stdin.read() if query == "-" else query
    with opened() as graph:
        result = graph.aql(text, dict(binding(item) for item in bind or []), limit=limit)
    if json:
        print_json(result.rows)
    else:
        show_rows(result.rows)
    for warning in result.warnings:
        terminal.err.print(f"[yellow]warning[/] {warning}")


def binding(item: str) -> tuple[str, Any]:
    from json import JSONDecodeError, loads

    name, equals, value = item.partition("=")
    if not equals or not name:
        raise UserError(f"--bind {item!r}: use key=value, for example --bind camera=dock or --bind 'ids=[1,2]'")
    try:
        return name.removeprefix("@") if name.startswith("@@") else name, loads(value)
    except JSONDecodeError:
        return name.removeprefix("@") if name.startswith("@@") else name, value


def show_rows(rows: list[Any]) -> None:
    """Objects with one set of names as a table, anything else a JSON value a line."""
    from vgraph import terminal
    from vgraph.app import to_json

    if rows and all(isinstance(row, dict) for row in rows) and len({tuple(row) for row in rows}) == 1:
        cells = [[v if isinstance(v, str) else to_json(v, indent=False) for v in row.values()] for row in rows]
        terminal.table("", list(rows[0]), cells)
    else:
        for row in rows:
            sys.stdout.write(to_json(row, indent=False) + "\n")


@app.command()
def doctor(json: Json = False) -> None:
    """What is installed and configured, what is missing and the command that adds it."""
    from vgraph import terminal
    from vgraph.app import diagnose

    checks = diagnose(settings())
    if json:
        print_json(checks)
        return
    terminal.table(
        "",
        ("", "what", "detail", "add it with"),
        [("ok" if c.ok else "missing", f"{c.kind} {c.name}", c.detail, c.command) for c in checks],
    )


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on (default: VGRAPH_SERVE__HOST, loopback).")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port (default: VGRAPH_SERVE__PORT).")] = None,
) -> None:
    """Serve the HTTP API; /docs describes it. Anything but loopback needs VGRAPH_SERVE__TOKEN."""
    from vgraph.api import run

    run(settings(), host=host, port=port)


@database.command("info")
def info(json: Json = False) -> None:
    """Which database, which models filled it, how much is in it."""
    from vgraph import terminal

    with opened() as graph:
        facts = graph.info()
    if json:
        print_json(facts)
        return
    rows = [(name, value) for name, value in facts.items() if name != "counts"]
    terminal.table("", ("", ""), [*rows, *facts["counts"].items()])


@database.command("export")
def export(path: Annotated[Path, typer.Argument(help="A file of JSON lines: {collection, record}.")]) -> None:
    """Write the whole graph as JSON lines, equal for equal graphs."""
    with opened() as graph:
        written = graph.export(path)
    sys.stderr.write(f"{written} records written to {path}\n")


@database.command("reembed")
def reembed() -> None:
    """Embed every chunk and entity again with the model the settings name, and remember that model."""
    from vgraph import terminal

    with opened() as graph, terminal.progress() as advance:
        done = graph.reembed(report=advance)
    sys.stderr.write(f"{done} records embedded again\n")
