"""How good vgraph is, on worlds whose truth is known: `vgraph eval …`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vgraph.cli.console import Json, print_json, settings
from vgraph.errors import UserError

if TYPE_CHECKING:
    from vgraph.evals.ingest import Measured, Topic

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
        ("variant", *(f"recall {window}" for window in windows), "precision", "seconds", "MRR", "p50 ms", "p95 ms"),
        [
            (
                row.variant, *(f"{row.scores.recall[window]:.3f}" for window in windows), f"{row.scores.precision:.3f}",
                f"{row.scores.seconds:.0f}", f"{row.scores.mrr:.3f}", f"{row.scores.p50_ms:.1f}", f"{row.scores.p95_ms:.1f}",
            )
            for row in rows
        ],
    )  # fmt: skip


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
