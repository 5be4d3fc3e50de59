"""The command line. Results go to stdout (`--json` for machines), progress, warnings and errors to stderr.

With `--json` stdout holds JSON only, one document, or one a line where a command reports as it goes (`ingest`, `demo`); an error is one
line of JSON on stderr, {error, kind, exit_code}. Wrong options are told by typer, as text.

Exit codes: 0 done, 1 an error nobody foresaw, 2 wrong input or setting, 3 a video that cannot be read, 4 not there, 5 a model failed,
6 the database refused, 7 the cap of tokens or money was reached, 8 `check` or `eval qa` found faults or runs differ, 130 interrupted, 141
nobody reads the output any more. `ingest` goes on after a file that cannot be read, and ends with 3.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from pathlib import Path
from typing import Annotated, TextIO

import typer

from vgraph.cli import (
    analytics,
    ask,
    cameras,
    clock,
    database,
    derive,
    entities,
    evals,
    graph,
    ingest,
    machine,
    runs,
    train,
)  # fmt: skip
from vgraph.cli.console import Guarded

app = typer.Typer(
    name="vgraph",
    cls=Guarded,
    help="Long, multi-camera video as a knowledge graph in ArangoDB, and answers that cite camera, time and clip.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS = (
    ingest.demo, ingest.ingest, ingest.watch,
    ask.search, ask.ask, ask.relations, ask.subgraph,
    derive.derive, derive.communities,
    graph.documents, clock.coverage, graph.ledger, graph.tag, graph.delete, graph.retention, graph.check, graph.aql,
    machine.doctor, machine.serve,
)  # fmt: skip
"""In the order of the help."""
for command in COMMANDS:
    app.command()(command)
app.add_typer(analytics.analytics, name="analytics")
app.add_typer(cameras.cameras, name="cameras")
app.add_typer(clock.clock, name="clock")
app.add_typer(entities.entities, name="entities")
app.add_typer(runs.runs, name="runs")
app.add_typer(evals.evals, name="eval")
app.add_typer(train.train, name="train")
app.add_typer(database.database, name="db")


def show_version(wanted: bool) -> None:
    if wanted:
        from vgraph import __version__

        sys.stdout.write(f"vgraph {__version__}\n")
        raise typer.Exit


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
