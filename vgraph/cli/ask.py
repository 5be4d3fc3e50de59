"""Answers out: `vgraph search` and `vgraph ask`, and what lies behind: `vgraph relations`, `vgraph subgraph`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from vgraph.cli.console import Json, Narrowed, Tuned, Words, narrowed, opened, print_json, tuned
from vgraph.errors import UserError

Explain = Annotated[
    bool,
    typer.Option(
        "--explain", help="Also how it was found: what was understood, every step, its candidates and its queries."
    ),
]
Format = Annotated[
    Literal["text", "json", "messages"] | None,
    typer.Option(
        "--format", help="Print the evidence as it is packed within the token budget, in this form, and nothing else."
    ),
]

AgentName = Annotated[
    Literal["direct", "plan", "divide", "auto"] | None,
    typer.Option("--agent", help="How a chat model goes about it (default: VGRAPH_AGENT__AGENT)."),
]
Choices = Annotated[
    list[str] | None, typer.Option("--choice", help="An option of a multiple-choice question; repeat it for each.")
]
Follow = Annotated[
    str | None,
    typer.Option("--follow", metavar="RUN", help="The run this question goes on from: what `she` or `there` means."),
]


@narrowed()
@tuned()
def search(
    query: str, chosen: Narrowed, how: Tuned, format: Format = None, explain: Explain = False, json: Json = False,
) -> None:  # fmt: skip
    """Find chunks, entities and relations for a question, without answering it."""
    from vgraph import terminal

    with opened() as graph:
        told = graph.explain(query, graph.filters(**chosen), **how, pack=format)
        zones = {} if json else graph.zones()
    if json:
        print_json(told if explain else told.evidence)
    elif format is not None:
        terminal.plain(told.evidence.text)
    else:
        terminal.evidence(told.evidence, zones)
        if explain:
            terminal.explained(told)


@narrowed()
@tuned()
def ask(
    question: str, chosen: Narrowed, how: Tuned, agent: AgentName = None, choice: Choices = None, follow: Follow = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Answer a question; every claim cites the camera, the time and the clip it rests on. Steps are told on stderr as they are made."""
    from vgraph import terminal
    from vgraph.app import FinalAnswer

    with opened() as graph:
        filters = graph.filters(**chosen)
        zones = {} if json else graph.zones()
        for step in graph.run(question, filters, agent=agent, choices=choice or (), follow=follow, **how):
            if not isinstance(step, FinalAnswer):
                terminal.step(step)
            elif json:
                print_json(step.answer)
            else:
                terminal.answer(step.answer, zones)


@narrowed("relation_types")
@tuned("cascade", "enough")
def relations(
    chosen: Narrowed, how: Tuned,
    source: Annotated[str | None, typer.Option(help="Who or what does it, by name.")] = None,
    relation: Annotated[Words, typer.Option(help="What is done, such as carries; may be repeated.")] = None,
    target: Annotated[str | None, typer.Option(help="To whom or what, by name.")] = None,
    source_type: Annotated[Words, typer.Option(help="Only sources of this type; may be repeated.")] = None,
    target_type: Annotated[Words, typer.Option(help="Only targets of this type; may be repeated.")] = None,
    when: Annotated[str | None, typer.Option(metavar="START/END", help="The span asked about, which looser levels widen.")] = None,
    either_way: Annotated[bool, typer.Option("--either-way", help="Source and target may be the other way round.")] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Find who has to do with whom and how: asked strictly first and then ever more loosely; every hit tells its level."""
    from vgraph import terminal
    from vgraph.app import RelationQuery

    asked = RelationQuery(source, target, _tuple(relation), _tuple(source_type), _tuple(target_type), either_way)
    with opened() as graph:
        span = graph.filters(**dict(zip(("start", "end"), _span(when), strict=True))) if when else None
        found = graph.relations(
            asked, graph.filters(**chosen), when=(span.start_ms, span.end_ms) if span else (None, None), form=how["cascade"],
            enough=how["enough"],
        )  # fmt: skip
        zones = {} if json else graph.zones()
    if json:
        print_json(found)
    else:
        terminal.relations(found, zones)


@narrowed()
@tuned("k", "hops", "graph_edges", "graph_nodes")
def subgraph(
    query: str, chosen: Narrowed, how: Tuned, json: Json = False,
) -> None:  # fmt: skip
    """The part of the graph around a question as graph neural networks take it: nodes with features, typed edges, anchors."""
    from vgraph import terminal

    with opened() as graph:
        found = graph.subgraph(query, graph.filters(**chosen), **how)
    if json:
        print_json(found, indent=False)
    else:
        terminal.subgraph(found)


def _tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return tuple(values) if values else None


def _span(text: str) -> tuple[str, str]:
    start, slash, end = text.partition("/")
    if not slash or not start or not end:
        raise UserError(f"{text!r} is no span: write START/END, ISO 8601, such as 2026-03-03T08:00/2026-03-03T09:00")
    return start, end
