"""How good vgraph is, on worlds whose truth is known: `vgraph eval …`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vgraph.cli.console import RESUMABLE, Json, Profile, print_json, settings
from vgraph.cli.graph import FAULTS
from vgraph.errors import UserError

if TYPE_CHECKING:
    from vgraph.evals.ingest import Measured, Topic
    from vgraph.evals.qa import Outcome

evals = typer.Typer(
    help="How good vgraph is, on synthetic worlds whose truth is known.", no_args_is_help=True, rich_markup_mode=None
)


@evals.callback()
def root() -> None:
    """A group of commands, even while there is one."""


@evals.command("ingest")
def ingest(
    topic: Annotated[list[str] | None, typer.Argument(help="What to measure (default: everything).")] = None,
    folder: Annotated[Path, typer.Option(help="Where worlds and graphs go; worlds are kept for the next time.")] = Path(
        "eval-data"
    ),
    minutes: Annotated[
        float | None, typer.Option(min=2, max=1440, help="Length of the worlds (default: each topic's own).")
    ] = None,
    json: Json = False,
) -> None:
    """Measure what ingest makes of a world against its truth, with each mechanism switched off in turn."""
    from vgraph import terminal
    from vgraph.evals.ingest import TOPICS, evaluate

    chosen = _chosen(TOPICS, topic or [])
    with terminal.progress() as advance:
        rows = list(evaluate(chosen, settings(), folder, minutes=minutes, report=advance))
    if json:
        print_json([{"topic": row.topic, "variant": row.variant, "scores": row.scores} for row in rows])
        return
    for one in chosen:
        _table(one.title, [row for row in rows if row.topic == one.name])


@evals.command("retrieval")
def retrieval(
    folder: Annotated[
        Path, typer.Option(help="Where the world and the graph go; both are kept for the next time.")
    ] = Path("eval-data"),
    hours: Annotated[float, typer.Option(min=0.1, max=24, help="Length of the world.")] = 24.0,
    cameras: Annotated[int, typer.Option(min=4, max=8, help="Its cameras.")] = 8,
    questions: Annotated[int, typer.Option(min=8, help="Questions asked of it; a fifth cannot be answered.")] = 250,
    seed: Annotated[int, typer.Option(help="Another seed, another day.")] = 7,
    parts: Annotated[bool, typer.Option(help="Also with each part switched off.")] = True,
    json: Json = False,
) -> None:
    """Measure recall, precision and rank of every profile on a simulated day, and with each part switched off."""
    from vgraph import terminal
    from vgraph.evals.day import Size
    from vgraph.evals.retrieval import PARTS, PROFILES, evaluate

    variants = (*PROFILES, *PARTS) if parts else PROFILES
    size = Size(hours, cameras, questions, seed)
    with terminal.progress() as advance:
        rows = list(evaluate(settings(), folder, variants, size, report=advance))
    if json:
        print_json(rows)
        return
    windows = list(rows[0].scores.recall)
    terminal.table(
        ("variant", *(f"recall {window}" for window in windows), "precision", "seconds", "MRR", "CPU ms p50", "p95"),
        [
            (
                row.variant, *(f"{row.scores.recall[window]:.3f}" for window in windows), f"{row.scores.precision:.3f}",
                f"{row.scores.seconds:.0f}", f"{row.scores.mrr:.3f}", f"{row.scores.p50_ms:.1f}", f"{row.scores.p95_ms:.1f}",
            )
            for row in rows
        ],
    )  # fmt: skip


@evals.command("qa")
def qa(
    ctx: typer.Context,
    dataset: Annotated[
        Literal["world", "egolife", "egoschema", "longvideobench", "mlvu", "videomme", "lvbench"],
        typer.Argument(help="A simulated day, or a published set of questions of which --data holds a local copy."),
    ] = "world",
    data: Annotated[Path | None, typer.Option(help="The folder with the local copy.")] = None,
    folder: Annotated[
        Path, typer.Option(help="Where graphs and answers go; they are kept, and an interrupted run goes on.")
    ] = Path("eval-data"),
    hours: Annotated[float, typer.Option(min=0.05, max=24, help="Length of the simulated day.")] = 24.0,
    cameras: Annotated[int, typer.Option(min=4, max=8, help="Its cameras.")] = 8,
    questions: Annotated[int, typer.Option(min=8, help="Questions of it; a fifth cannot be answered.")] = 250,
    seed: Annotated[int, typer.Option(help="Another seed, another day.")] = 7,
    gated: Annotated[
        bool, typer.Option(help="Ask every second one a minute after what it asks about; nothing later may be used.")
    ] = True,
    profile: Profile = None,
    agent: Annotated[
        Literal["direct", "plan", "divide", "auto"] | None,
        typer.Option(help="How a chat model goes about it (default: VGRAPH_AGENT__AGENT)."),
    ] = None,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Ask a stand-in that knows the truth, and answers only what it is shown.")
    ] = False,
    without: Annotated[
        list[str] | None, typer.Option(help="A part to do without; may be repeated (see README, Evaluation).")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask only so many, evenly taken.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Ask again what was answered in an earlier run.")] = False,
    json: Json = False,
) -> None:
    """Measure answers: right, wrong, abstained; what they cite, whether it is there, what they should not have seen, what they cost."""
    from vgraph import terminal
    from vgraph.evals.answering import answered, dataset_asking, world_asking
    from vgraph.evals.day import Size
    from vgraph.evals.qa import Way

    if (data is None) != (dataset == "world"):
        raise UserError("--data: give the folder with the local copy of the set of questions, and none for `world`")
    ctx.meta["interrupted"] = RESUMABLE
    if oracle and data is not None:
        raise UserError("--oracle knows the truth of a simulated day alone: leave --data out")
    way = Way({"profile": profile} if profile else {}, tuple(without or ()), agent)
    way.chosen  # noqa: B018 - a part that is not known is told before anything is made
    with terminal.progress() as advance:
        if data is None:
            size = Size(hours, cameras, questions, seed)
            asking = world_asking(settings(), folder, size, gated=gated, report=advance)
        else:
            asking = dataset_asking(settings(), folder, dataset, data, report=advance)
        outcomes: list[Outcome] = []
        summary = answered(asking, way, oracle=oracle, limit=limit, again=again, report=advance, told=outcomes.append)
    terminal.warnings(asking.notes)
    if json:
        print_json({"summary": summary, "outcomes": outcomes})
    else:
        terminal.answers(summary)
    if summary.faults:
        raise typer.Exit(FAULTS)


def _chosen(topics: Sequence[Topic], names: Sequence[str]) -> list[Topic]:
    known = {topic.name: topic for topic in topics}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(f"nothing is called {', '.join(unknown)}; there are: {', '.join(known)}")
    return [topic for topic in topics if not names or topic.name in names]


def _table(title: str, rows: Sequence[Measured]) -> None:
    from vgraph import terminal

    columns = [field.name for field in dataclasses.fields(rows[0].scores)]
    terminal.lines(title)
    terminal.table(
        ("variant", *(column.replace("_", " ") for column in columns)),
        [(row.variant, *(_cell(getattr(row.scores, column)) for column in columns)) for row in rows],
    )


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
