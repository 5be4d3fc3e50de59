"""The command line. Results go to stdout (`--json` for machines), progress, warnings and errors to stderr.

With `--json` stdout holds JSON only, one document, or one a line where a command reports as it goes (`ingest`, `demo`); an error is one
line of JSON on stderr, {error, kind, exit_code}. Wrong options are told by typer, as text.

Exit codes: 0 done, 1 an error nobody foresaw, 2 wrong input or setting, 3 a video that cannot be read, 4 not there, 5 a model failed,
6 the database refused, 130 interrupted, 141 nobody reads the output any more. `ingest` goes on after a file that cannot be read, and ends
with 3.
"""

from __future__ import annotations

import dataclasses
import io
import json as jsonlib
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from vgraph.errors import MediaError, NotFoundError, UserError, VGraphError

if TYPE_CHECKING:
    from vgraph.app import VGraph
    from vgraph.settings import Settings
    from vgraph.types import Filters

INTERRUPTED = 130
NOBODY_READS = 141
RESUMABLE = "interrupted; what was finished is kept, and the same command goes on from there"


class Guarded(TyperGroup):
    """A group whose commands end with an exit code and one line on stderr, whatever they raise on purpose."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except VGraphError as error:
            raise told(ctx, error, error.exit_code) from None
        except BrokenPipeError:
            _drop_stdout()
            raise typer.Exit(NOBODY_READS) from None
        except OSError as error:
            raise told(ctx, error, 1) from None
        except KeyboardInterrupt:
            sys.stderr.write(f"{ctx.meta.get('interrupted', 'interrupted')}\n")
            raise typer.Exit(INTERRUPTED) from None


def told(ctx: typer.Context, error: Exception, exit_code: int) -> typer.Exit:
    """Write the error to stderr, as JSON where the command's results are JSON; the exit to raise."""
    if ctx.meta.get("json"):
        line = jsonlib.dumps({"error": str(error), "kind": type(error).__name__, "exit_code": exit_code})
    else:
        line = f"error: {error}"
    sys.stderr.write(line.encode(errors="backslashreplace").decode() + "\n")  # names may hold bytes that are no text
    return typer.Exit(exit_code)


def _drop_stdout() -> None:
    """What is still buffered goes nowhere, so that the interpreter does not complain of the closed pipe when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    name="vgraph",
    cls=Guarded,
    help="Long, multi-camera video as a knowledge graph in ArangoDB, and answers that cite camera, time and clip.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
database = typer.Typer(help="The database itself.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(database, name="db")


def as_json(ctx: typer.Context, wanted: bool) -> bool:
    """Remember that errors are to be JSON too."""
    ctx.meta["json"] = wanted
    return wanted


def show_version(wanted: bool) -> None:
    if wanted:
        from vgraph import __version__

        sys.stdout.write(f"vgraph {__version__}\n")
        raise typer.Exit


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.", callback=as_json)]
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
    """Entry point."""
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # its retries are told once, by the error they end in
    sys.stdout, sys.stderr = _writable(sys.stdout), _writable(sys.stderr)
    app()


def _writable(stream: TextIO | None) -> TextIO:
    """A stream that takes any text: characters its encoding lacks are escaped, and a stream that was closed swallows all."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the command itself; typer shows the help of the application in place of this."""


@contextmanager
def opened() -> Iterator[VGraph]:
    from vgraph.app import VGraph

    with VGraph.open() as graph:
        yield graph


def settings() -> Settings:
    from vgraph.settings import Settings

    return Settings.load()


def print_json(value: Any, *, indent: bool = True) -> None:
    from vgraph.app import to_json

    sys.stdout.write(to_json(value, indent=indent) + "\n")


def print_json_line(value: Any) -> None:
    """One of several results, out as soon as it is there."""
    print_json(value, indent=False)
    sys.stdout.flush()


def print_step(step: Any) -> None:
    """A step of the demo, with its kind: rendered, ingested, asked, figures."""
    kind = type(step).__name__.lower()
    print_json_line({"step": kind, **{field.name: getattr(step, field.name) for field in dataclasses.fields(step)}})


def filters(graph: VGraph, cameras: list[str] | None, documents: list[str] | None, *times: str | None) -> Filters:
    start, end, not_after = times
    given = {"cameras": cameras or None, "documents": documents or None}
    return graph.filters(**given, start=start, end=end, not_after=not_after)


# --- video in -----------------------------------------------------------------------------------------------------------


@app.command()
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


@app.command()
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


# --- answers out --------------------------------------------------------------------------------------------------------


@app.command()
def search(
    query: str, camera: Cameras = None, document: Documents = None, after: After = None, before: Before = None,
    not_after: NotAfter = None, k: Count = None, json: Json = False,
) -> None:  # fmt: skip
    """Find chunks, entities and relations for a question, without answering it."""
    from vgraph import terminal

    with opened() as graph:
        found = graph.search(query, filters(graph, camera, document, after, before, not_after), k=k)
        zones = {} if json else graph.zones()
    if json:
        print_json(found)
    else:
        terminal.evidence(found, zones)


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


# --- what is in the graph -----------------------------------------------------------------------------------------------


@app.command()
def documents(json: Json = False) -> None:
    """List what was ingested."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.documents()
        zones = graph.zones()
    if json:
        print_json(rows)
    else:
        terminal.documents(rows, zones)


@app.command()
def cameras(json: Json = False) -> None:
    """List the cameras and how much of each is in the graph."""
    from vgraph import terminal

    with opened() as graph:
        rows = graph.cameras()
    if json:
        print_json(rows)
    else:
        terminal.cameras(rows)


@app.command()
def delete(
    document: Annotated[str, typer.Argument(help="The document's key, as `vgraph documents` lists it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Remove a document and all that hangs on it; entities seen elsewhere stay."""
    from vgraph import terminal

    with opened() as graph:
        if not yes:
            confirm(graph, document)
        removed = graph.delete(document)
    if json:
        print_json(removed)
    else:
        terminal.table(("removed", "records"), sorted(removed.items()))


def confirm(graph: VGraph, key: str) -> None:
    """Ask before a document goes. Raises NotFoundError where there is none, UserError where the answer is not yes."""
    titles = {document["_key"]: document["title"] for document in graph.documents()}
    if key not in titles:
        raise NotFoundError(f"no document {key!r}; `vgraph documents` lists them")
    try:
        sure = typer.confirm(f"Remove {titles[key]!r} ({key}) and everything that hangs on it?", err=True)
    except typer.Abort:  # nobody there to answer
        sys.stderr.write("\n")
        sure = False
    if not sure:
        raise UserError("nothing was removed; --yes removes without asking")


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

    text = standard_input() if query == "-" else query
    binds = dict(binding(item) for item in bind or [])
    with opened() as graph:
        result = graph.aql(text, binds, limit=limit)
    if json:
        print_json(result.rows)
    else:
        terminal.rows(result.rows)
    terminal.warnings(result.warnings)
    if len(result.rows) == limit:
        terminal.note(f"the first {limit} rows; --limit gives more")


def standard_input() -> str:
    if sys.stdin is None or sys.stdin.closed:
        raise UserError("`-` reads the query from standard input, which is closed")
    return sys.stdin.read()


def binding(item: str) -> tuple[str, Any]:
    """Name and value of `name=value`, the name as the driver wants it: `@@name` of a query is its bind variable `@name`."""
    name, equals, value = item.partition("=")
    if not equals or not name.strip("@"):
        raise UserError(f"--bind {item!r}: use key=value, for example --bind camera=dock or --bind 'ids=[1,2]'")
    plain = name.lstrip("@")
    if name.startswith("@@"):
        return f"@{plain}", value
    with suppress(ValueError, RecursionError):
        return plain, jsonlib.loads(value)
    return plain, value


# --- the machine --------------------------------------------------------------------------------------------------------


@app.command()
def doctor(json: Json = False) -> None:
    """What is installed and configured, what is missing and the command that adds it."""
    from vgraph import terminal
    from vgraph.app import diagnose

    checks = diagnose(settings())
    if json:
        print_json(checks)
    else:
        terminal.checks(checks)


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on (default: VGRAPH_SERVE__HOST, loopback).")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port (default: VGRAPH_SERVE__PORT).")] = None,
) -> None:
    """Serve the HTTP API; /docs describes it. Anything but loopback needs VGRAPH_SERVE__TOKEN."""
    from vgraph import terminal
    from vgraph.api import run

    run(settings(), host=host, port=port, listening=terminal.listening)


@database.command("info")
def info(json: Json = False) -> None:
    """Which database, which models filled it, how much is in it."""
    from vgraph import terminal

    with opened() as graph:
        facts = graph.info()
    if json:
        print_json(facts)
    else:
        terminal.facts(facts)


@database.command("export")
def export(
    path: Annotated[Path, typer.Argument(help="A file of JSON lines: {collection, record}.")], json: Json = False
) -> None:
    """Write the whole graph as JSON lines, equal for equal graphs."""
    from vgraph import terminal

    with opened() as graph:
        written = graph.export(path)
    if json:
        print_json({"path": path, "records": written})
    else:
        terminal.note(f"{written} records written to {path}")


@database.command("reembed")
def reembed(ctx: typer.Context, json: Json = False) -> None:
    """Embed every chunk and entity again with the model the settings name, and remember that model."""
    from vgraph import terminal

    ctx.meta["interrupted"] = "interrupted; run `vgraph db reembed` again, nothing is searched or added before"
    with opened() as graph, terminal.progress() as advance:
        done = graph.reembed(report=advance)
    if json:
        print_json({"records": done})
    else:
        terminal.note(f"{done} records embedded again")


@database.command("serve")
def serve_database(
    data: Annotated[
        Path | None,
        typer.Option(help="The file (or its folder); default: the embedded database of VGRAPH_DATABASE__URL."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; anything but loopback needs a password.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any free one.")] = 8529,
    password: Annotated[
        str | None, typer.Option(help="root's password from now on (default: VGRAPH_DATABASE__PASSWORD).")
    ] = None,
    jwt_secret_file: Annotated[
        Path | None, typer.Option(help="A file with the secret that tokens are signed with (default: one of its own).")
    ] = None,
) -> None:
    """Serve an embedded database as an ArangoDB server, for any of its drivers. On loopback, root needs no password at first."""
    from vgraph import app as vgraph

    def listening(url: str) -> None:
        sys.stderr.write(f"answering ArangoDB's HTTP API at {url} (user root); stop with Ctrl-C\n")

    vgraph.serve_database(
        settings(), data, host=host, port=port, password=password, jwt_secret_file=jwt_secret_file, listening=listening
    )


@database.command("copy")
def copy_database(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SRC", help="embedded:PATH or http(s)://host:8529")],
    target: Annotated[str, typer.Argument(metavar="DST", help="embedded:PATH or http(s)://host:8529")],
    name: Annotated[str | None, typer.Option("--database", help="Only this database (default: all).")] = None,
    src_user: Annotated[str | None, typer.Option(help="User at SRC (default: VGRAPH_DATABASE__USERNAME).")] = None,
    src_password: Annotated[
        str | None, typer.Option(help="Password at SRC (default: VGRAPH_DATABASE__PASSWORD).")
    ] = None,
    dst_user: Annotated[str | None, typer.Option(help="User at DST (default: VGRAPH_DATABASE__USERNAME).")] = None,
    dst_password: Annotated[
        str | None, typer.Option(help="Password at DST (default: VGRAPH_DATABASE__PASSWORD).")
    ] = None,
    json: Json = False,
) -> None:
    """Copy databases between embedded files and servers. The same command again changes nothing; an interrupted one goes on."""
    from vgraph import app as vgraph
    from vgraph import terminal

    ctx.meta["interrupted"] = RESUMABLE
    with terminal.progress() as advance:
        copied = vgraph.copy_database(
            settings(), source, target, database=name, users=(src_user, dst_user),
            passwords=(src_password, dst_password), report=advance,
        )  # fmt: skip
    if json:
        print_json(copied)
        return
    for note in copied.notes:
        terminal.note(note)
    names = ", ".join(copied.databases) or "nothing to copy"
    terminal.note(f"{names}: {copied.written} documents written, {copied.unchanged} were there already")
