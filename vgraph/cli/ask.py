"""Answers out: `vgraph search` and `vgraph ask`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vgraph.cli.console import Count, Json, Narrowed, narrowed, opened, print_json

Explain = Annotated[
    bool, typer.Option("--explain", help="Also how it was found: what was understood, every query, its rows and time.")
]
Profile = Annotated[
    Literal["chunks", "entities", "clips", "summaries", "rank", "relations", "graph", "auto"] | None,
    typer.Option(help="How the question enters the graph (default: VGRAPH_RETRIEVE__PROFILE)."),
]


@narrowed()
def search(
    query: str, chosen: Narrowed, k: Count = None, profile: Profile = None, explain: Explain = False, json: Json = False,
) -> None:  # fmt: skip
    """Find chunks, entities and relations for a question, without answering it."""
    from vgraph import terminal

    with opened() as graph:
        told = graph.explain(query, graph.filters(**chosen), k=k, profile=profile)
        zones = {} if json else graph.zones()
    if json:
        print_json(told if explain else told.evidence)
        return
    terminal.evidence(told.evidence, zones)
    if explain:
        terminal.explained(told)


@narrowed()
def ask(
    question: str, chosen: Narrowed, k: Count = None, profile: Profile = None, json: Json = False,
) -> None:  # fmt: skip
    """Answer a question; every claim cites the camera, the time and the clip it rests on."""
    from vgraph import terminal

    with opened() as graph:
        given = graph.ask(question, graph.filters(**chosen), k=k, profile=profile)
        zones = {} if json else graph.zones()
    if json:
        print_json(given)
    else:
        terminal.answer(given, zones)
