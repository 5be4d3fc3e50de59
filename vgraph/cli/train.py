"""Training of models: `vgraph train label` and `vgraph train intent`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from vgraph.cli.console import RESUMABLE, Json, Narrowed, Tuned, narrowed, opened, print_json, settings, tuned

train = typer.Typer(
    help="Train the rater of intent: a teacher's ratings distilled into a small model.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Labels = Annotated[Path, typer.Argument(help="Examples as JSON lines; see README, Training a rater.")]


@train.command()
@narrowed()
@tuned("k", "profile")
def label(
    ctx: typer.Context,
    questions: Annotated[Path, typer.Argument(help="Questions, one a line.")],
    chosen: Narrowed, how: Tuned,
    out: Annotated[Path, typer.Option(help="The file that examples are added to.")] = Path("labels.jsonl"),
    by: Annotated[Literal["frames", "captions"], typer.Option(help="What is rated.")] = "frames",
    frames: Annotated[int | None, typer.Option(min=1, help="Frames of a chunk (default: VGRAPH_RETRIEVE__INTENT_FRAMES).")] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Make examples: what questions find in the graph, rated by the teacher (VGRAPH_MODELS__INTENT)."""
    from vgraph import terminal

    ctx.meta["interrupted"] = RESUMABLE
    with opened() as graph, terminal.progress() as report:
        made = graph.label(questions, out, graph.filters(**chosen), by=by, frames=frames, report=report, **how)
    if json:
        print_json(made)
    else:
        terminal.out.print(f"{made.examples} examples in {made.path}, {made.added} of them new, rated by {made.rater}")


@train.command()
def intent(
    labels: Labels,
    out: Annotated[Path, typer.Option(help="The folder of the adapter.")] = Path("intent-adapter"),
    model: Annotated[str, typer.Option(help="The student: a hub id or a path.")] = "HuggingFaceTB/SmolVLM-500M-Instruct",
    rank: Annotated[int, typer.Option(min=1, help="Rank of the adapter.")] = 16,
    alpha: Annotated[int, typer.Option(min=1, help="Its scale.")] = 32,
    dropout: Annotated[float, typer.Option(min=0, max=0.9)] = 0.05,
    rate: Annotated[float, typer.Option(min=1e-9, help="Learning rate of AdamW.")] = 5e-5,
    decay: Annotated[float, typer.Option(min=0, help="Its weight decay.")] = 0.05,
    warm_up: Annotated[float, typer.Option(min=0, max=1, help="Part of the steps in which the rate rises.")] = 0.05,
    batch: Annotated[int, typer.Option(min=1, help="Examples a step.")] = 128,
    epochs: Annotated[int, typer.Option(min=1)] = 1,
    seed: Annotated[int, typer.Option()] = 0,
    save_every: Annotated[int, typer.Option(min=1, help="Steps between two checkpoints.")] = 20,
    json: Json = False,
) -> None:  # fmt: skip
    """Train a student on examples by LoRA; interrupted, the same command goes on from the last checkpoint."""
    from vgraph import terminal
    from vgraph.app import LoraOptions, train_intent

    options = LoraOptions(rank, alpha, dropout, rate, decay, warm_up, batch, epochs, seed, save_every)
    with terminal.progress() as report:
        made = train_intent(settings(), labels, out, model, options, report=report)
    if json:
        print_json(made)
        return
    first, last = made.losses[0], made.losses[-1]
    terminal.out.print(
        f"{made.steps} steps over {made.examples} examples in {made.seconds:.0f} s: loss {first:.3f} to {last:.3f}"
    )
    terminal.out.print(f"export VGRAPH_MODELS__INTENT=transformers:{made.folder}")
