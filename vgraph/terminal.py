"""What the command line shows a person: tables, progress and answers, drawn with rich. JSON goes to stdout alone, the rest to stderr."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from vgraph.app import Advance, Pick
from vgraph.evals.demo import Asked, DemoStep, Figures, Ingested, Rendered
from vgraph.types import Answer, Citation, Evidence, IngestReport
from vgraph.types import Progress as Step

out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)


def wall(ms: int, tz: str = "UTC") -> str:
    return datetime.fromtimestamp(ms / 1000, ZoneInfo(tz)).strftime("%Y-%m-%d %H:%M:%S %Z")


def clock(ms: int) -> str:
    """Media time as h:mm:ss.t"""
    seconds, tenths = divmod(ms // 100, 10)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{tenths}"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    drawn = Table(title=title or None, title_justify="left")
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*(escape(str(cell)) for cell in row))
    out.print(drawn)


@contextmanager
def progress() -> Iterator[Advance]:
    """Draws steps of long work on stderr; silent where stderr is not a terminal."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        tasks: dict[tuple[str, str], Any] = {}

        def advance(step: Step) -> None:
            key = (step.subject, step.stage)
            if key not in tasks:
                tasks[key] = bars.add_task(f"{escape(step.subject)} {step.stage}", total=step.total, count="")
            count = f"{step.done}/{step.total} {step.unit}" if step.total else f"{step.done} {step.unit}"
            bars.update(tasks[key], completed=step.done, total=step.total, count=count)

        yield advance


def picks(chosen: Sequence[Pick]) -> None:
    """Which model does what, one line, on stderr."""
    err.print("models: " + escape(", ".join(f"{pick.need} {pick.spec}" for pick in chosen)))


def report(done: IngestReport) -> None:
    seconds = ", ".join(f"{stage} {spent:.1f} s" for stage, spent in done.seconds.items() if spent >= 0.05)
    out.print(
        f"[bold]{escape(done.title)}[/] {done.outcome}: document {done.document}, camera {done.camera}, {done.chunks} chunks ({seconds})"
    )
    for warning in done.warnings:
        err.print(f"[yellow]warning[/] {escape(warning)}")


def answer(given: Answer, zones: Mapping[str, str]) -> None:
    colour = "green" if given.claims else "yellow"
    out.print(f"[{colour}]{given.status}[/] ({escape(given.method)})")
    if not given.claims:
        out.print(escape(given.text))
    for claim in given.claims:
        out.print(f"[bold]{escape(claim.text)}[/]")
        for citation in claim.citations:
            out.print(f"    {escape(cited(citation, zones.get(citation.camera, 'UTC')))}")
    for warning in given.warnings:
        err.print(f"[yellow]warning[/] {escape(warning)}")


def cited(citation: Citation, tz: str) -> str:
    """One line that leads to the clip."""
    span = f"{clock(citation.offset_ms)}-{clock(citation.end_offset_ms)}"
    return f"camera {citation.camera_label}, {wall(citation.start_ms, tz)}, {citation.uri} at {span} [chunk {citation.chunk}]"


def evidence(found: Evidence) -> None:
    ranks = {hit.chunk: hit for hit in found.hits}
    for chunk in found.chunks:
        hit = ranks.get(chunk.id)
        legs = ", ".join(f"{leg} {rank}" for leg, rank in sorted(hit.ranks.items())) if hit else chunk.via
        out.print(
            f"[bold]{escape(chunk.camera_label)}[/] {wall(chunk.start_ms, chunk.tz)} "
            f"+{clock(chunk.offset_ms)} [dim]{chunk.id} ({legs})[/]"
        )
        for line in chunk.lines:
            out.print(f"    {escape(line.modality)}: {escape(line.text)}")
    if found.relations:
        table(
            "relations",
            ("source", "relation", "target", "camera", "from", "chunk"),
            [(r.source_name, r.relation, r.target_name, r.camera, wall(r.start_ms), r.chunk) for r in found.relations],
        )
    if not found.chunks:
        out.print("nothing found" if found.recorded else "not recorded: no camera asked about covers that time")


# --- the demo -----------------------------------------------------------------------------------------------------------


def demo_step(step: DemoStep) -> None:
    match step:
        case Rendered():
            out.print(
                f"[bold]A synthetic site[/], seed {step.seed}: {step.videos} videos of {step.cameras} cameras in {step.folder}"
            )
            out.print(
                "The world is simulated. Its captions and detections are given, made from the script with noise: no model saw them."
            )
            for note in step.notes:
                out.print(f"[dim]{escape(note)}[/]")
        case Ingested():
            report(step.report)
        case Asked():
            out.print(f"\n[bold cyan]{escape(step.question)}[/]")
            answer(step.answer, step.zones)
            out.print(f"    [dim]{escape(verdict(step))}[/]")
        case Figures():
            out.print()
            table("Figures of this run", ("", ""), figures(step))


def verdict(step: Asked) -> str:
    """Against the script's truth, which the graph never saw."""
    if step.expected_status != "answered":
        return f"by the script: {step.expected_status}; {'right' if step.right else 'wrong'}"
    cited = "its clip shows it" if step.cited else "no cited clip shows it"
    return f"by the script: {step.expected}; {'right' if step.right else 'not stated'}; {cited}"


def figures(step: Figures) -> list[tuple[str, object]]:
    stages = [(f"seconds: {stage}", f"{spent:.1f}") for stage, spent in step.seconds.items()]
    counts = [(name, count) for name, count in step.counts.items() if count]
    return [
        *counts,
        *stages,
        ("seconds: all", f"{step.total_seconds:.1f}"),
        ("peak memory, MiB", step.peak_mib),
        ("questions right", f"{step.right} of {step.asked}"),
        ("answered with a clip that shows it", f"{step.cited} of {step.answerable}"),
        ("cameras cited", step.cameras_cited),
    ]
