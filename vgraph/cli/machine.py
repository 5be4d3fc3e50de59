"""The machine: `vgraph doctor` and `vgraph serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from vgraph.cli.console import Json, print_json, settings


def doctor(json: Json = False) -> None:
    """What is installed and configured, what is missing and the command that adds it."""
    from vgraph import terminal
    from vgraph.app import diagnose

    checks = diagnose(settings())
    if json:
        print_json(checks)
    else:
        terminal.checks(checks)


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
