"""The database itself: `vgraph db …`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vgraph.cli.console import RESUMABLE, Json, opened, print_json, settings

database = typer.Typer(help="The database itself.", no_args_is_help=True, rich_markup_mode=None)


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
    users = f", {copied.users} users made or changed" if copied.users else ""
    terminal.note(f"{names}: {copied.written} documents written, {copied.unchanged} were there already{users}")
