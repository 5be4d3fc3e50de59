"""What the command line shows a person: lines, tables and progress, drawn with rich. Results go to stdout, the rest to stderr.

Keys, paths and commands stay whole on one line, so that they can be copied. Where stdout is no terminal nothing is folded.
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NoReturn
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console
from rich.markup import escape as markup
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from vgraph.app import (
    Advance,
    Change,
    Check,
    Estimate,
    Expired,
    Explanation,
    Fault,
    FitReport,
    Pick,
    Relations,
    Stage,
    step_record,
    to_json,
)  # fmt: skip
from vgraph.app import Step as AgentStep
from vgraph.evals.demo import Asked, DemoStep, Figures, Ingested, Rendered
from vgraph.evals.summary import Summary
from vgraph.types import Answer, Citation, Evidence, EvidenceChunk, EvidenceRelation, Hit, IngestReport, Subgraph
from vgraph.types import Progress as Step

UNFOLDED = 10_000
"""Columns of a file or pipe."""

MOST_WARNINGS = 10
"""Shown of one ingest."""


CONTROLS: Final = {c: "\N{REPLACEMENT CHARACTER}" for c in (*range(32), *range(127, 160)) if chr(c) not in "\n\t"}


def escape(text: str) -> str:
    """Text from videos, files and models as it stands: neither rich's markup nor a terminal's control characters act."""
    return markup(text.translate(CONTROLS))


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Let the command line end in its own way; rich would exit with 1."""
        raise BrokenPipeError


def _console(*, stderr: bool = False) -> Console:
    made = _Console(stderr=stderr, soft_wrap=True, highlight=False)
    if not made.is_terminal:
        made.width = UNFOLDED
    return made


out = _console()
err = _console(stderr=True)


def wall(ms: int, tz: str = "UTC") -> str:
    """Wall-clock time in a zone; beyond what a calendar holds, the number."""
    try:
        at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)
        return at.astimezone(ZoneInfo(tz)).strftime("%Y-%m-%d %H:%M:%S %Z")
    except (OverflowError, ValueError):
        return f"{ms} ms"


def clock(ms: int) -> str:
    """Media time as h:mm:ss.t"""
    seconds, tenths = divmod(ms // 100, 10)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{tenths}"


# --- common shapes ------------------------------------------------------------------------------------------------------


def lines(*texts: str) -> None:
    """Plain lines on stdout."""
    for text in texts:
        out.print(escape(text), soft_wrap=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns under their names; the first is never folded."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=any(columns))
    for number, column in enumerate(columns):
        drawn.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        drawn.add_row(*(escape(str(cell)) for cell in row))
    out.print(drawn)


def rows(found: Sequence[Any]) -> None:
    """Rows of a query: objects with one set of names as a table, anything else a JSON value a line."""
    names = {tuple(row) if isinstance(row, dict) else () for row in found}
    if len(names) == 1 and any(names):
        table(list(found[0]), [[_cell(value) for value in row.values()] for row in found])
    else:
        for row in found:
            out.print(escape(to_json(row, indent=False)))


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value, indent=False)


def warnings(texts: Iterable[str]) -> None:
    for text in texts:
        err.print(f"[yellow]warning[/] {escape(text)}")


def note(text: str) -> None:
    """A word on stderr about what was done."""
    err.print(escape(text))


# --- long work ----------------------------------------------------------------------------------------------------------


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
        f"[bold]{escape(done.title)}[/] {done.outcome}: {done.chunks} chunks of camera {escape(done.camera)} [dim]({seconds})[/]"
    )
    out.print(f"    document {done.document}")
    if done.spent:
        told = ", ".join(f"{stage} {_spent(asdict(cost))}" for stage, cost in done.spent.items())
        out.print(f"    asked: {told}")
    warnings(done.warnings[:MOST_WARNINGS])
    if len(done.warnings) > MOST_WARNINGS:
        note(f"and {len(done.warnings) - MOST_WARNINGS} warnings more, kept on the document")


def _spent(spent: Mapping[str, Any]) -> str:
    """What a stage's calls cost, in words."""
    tokens = spent["input_tokens"] + spent["output_tokens"]
    parts = [
        f"{spent['calls']} calls",
        f"{tokens} tokens" if tokens else "",
        f"{spent['money']:.4f}" if spent["money"] else "",
    ]
    return " ".join(part for part in parts if part)


def ledger(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        note("no model was asked yet")
        return
    columns = ("document", "stage", "calls", "failed", "input_tokens", "output_tokens", "seconds", "money")
    table(columns, [_paid(row) for row in rows])


def _paid(row: Mapping[str, Any]) -> tuple[object, ...]:
    counts = (row[name] for name in ("stage", "calls", "failed", "input_tokens", "output_tokens"))
    return (row["document"] or "(the graph)", *counts, f"{row['seconds']:.1f}", f"{row['money']:.4f}")


def estimate(found: Estimate) -> None:
    """A file, or all together, with a line a stage."""
    name = found.path or "all together"
    done = f", {found.complete} of {found.files} files complete" if not found.path and found.complete else ""
    state = f" {found.state}" if found.state else done
    out.print(
        f"[bold]{escape(name)}[/]{state}: {clock(round(found.seconds * 1000))} of video, about {found.segments} segments, "
        f"{found.disk_bytes / 1e6:.1f} MB"
    )
    for stage, expected in found.stages.items():
        out.print(f"    {stage}: {_spent(asdict(expected))}")


def expired(found: Sequence[Expired]) -> None:
    if not found:
        note("nothing is older than it is kept")
    for one in found:
        what = "" if one.whole else " in part"
        out.print(f"{one.document} of camera {escape(one.camera)} removed{what}: {sum(one.removed.values())} records")


def faults(found: Sequence[Fault]) -> None:
    if not found:
        note("no fault found")
        return
    rows = [(f.kind, f.collection, f.count, "removed" if f.repaired else "there", ", ".join(f.examples)) for f in found]
    table(("fault", "of", "records", "now", "for example"), rows)


# --- answers and evidence -----------------------------------------------------------------------------------------------


def answer(given: Answer, zones: Mapping[str, str]) -> None:
    colour = "green" if given.claims else "yellow"
    out.print(f"[{colour}]{given.status}[/] [dim]({escape(_about(given))})[/]")
    if given.choice is not None:
        out.print(f"choice: [bold]{escape(given.choice)}[/]")
    if not given.claims:
        out.print(escape(given.text))
    for claim in given.claims:
        out.print(f"[bold]{escape(claim.text)}[/]")
        for citation in claim.citations:
            out.print(f"    {escape(cited(citation, zones.get(citation.camera, 'UTC')))}")
    if given.run is not None:
        err.print(f"[dim]run {given.run}[/]")
    warnings(given.warnings)


def _about(given: Answer) -> str:
    """How an answer came about: its method, how sure it is, whether it is whole."""
    sure = None if given.confidence is None else f"confidence {given.confidence:.2f}"
    partial = "partial: the budget was spent" if given.partial else None
    return ", ".join(part for part in (given.method, sure, partial) if part)


def step(made: AgentStep) -> None:
    """A step of a run, in a line, for whoever waits for the answer."""
    text = _step(step_record(made))
    if text:
        err.print(f"[dim]{escape(text)}[/]")


def _step(told: Mapping[str, Any]) -> str:
    """A step's record in words; what is told by the step after it, or only to programs, is left out."""
    match told["kind"]:
        case "resolved":
            return f"asked: {told['question']}"
        case "plan":
            return "plan: " + "; ".join(f"{n}. {part['task']}" for n, part in enumerate(told["subtasks"], 1))
        case "tool_call":
            return f"{told['tool']} {json.dumps(told['arguments'], ensure_ascii=False)}"
        case "observation":
            found = told["error"] or f"{len(told['items'])} lines"
            return f"    {'; '.join([found, *told['notes']])}"
        case "memory":
            return f"    kept: {told['summary']}"
        case "grade":
            return "enough" if told["enough"] else f"not enough: {told['missing']}"
        case "decision":
            return f"task {told['node']}: {told['task']} -> {told['kind']}"
        case "division":
            return f"task {told['node']} is divided: {'; '.join(told['subtasks']) or told['reason']}"
        case "rescue":
            return f"task {told['node']}, try {told['attempt']} in another way: {told['tool']}"
        case "move":
            return f"task {told['node']}: {told['status']} {told['result']}"
        case "retry":
            return f"the {told['worker']}'s reply could not be used: {told['fault']}"
        case "verdict":
            return f"{told['support']}: {told['claim']}"
        case "exhausted":
            return f"the budget of {told['what']} is spent: answering from what was seen"
        case _:
            return ""


def runs(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        note("nothing was asked yet")
        return
    rows = [
        (r["_key"], r["agent"], r["status"], r["question"], r["claims"], r["steps"], r["tokens"], f"{r['money']:g}")
        for r in found
    ]
    table(("run", "agent", "answer", "question", "claims", "steps", "tokens", "money"), rows)


def run(found: Mapping[str, Any], zones: Mapping[str, str]) -> None:
    """A run whole: its steps, the answer, what each worker cost."""
    kept = found["run"]
    there = {(cited["claim"], cited["chunk"]) for cited in found["cited"] if cited["there"]}
    out.print(f"[bold]{escape(kept['question'])}[/] [dim]({kept['agent']}, {wall(kept['asked_ms'])})[/]")
    for made in kept["steps"]:
        if text := _step(made):
            out.print(escape(text))
    out.print(f"[bold]{kept['status']}[/] {escape('' if kept['claims'] else kept['text'])}")
    for number, claim in enumerate(kept["claims"]):
        out.print(f"[bold]{escape(claim['text'])}[/] [dim]{claim['support'] or ''}[/]")
        for citation in claim["citations"]:
            gone = "" if (number, citation["chunk"]) in there else " (removed since)"
            out.print(f"    {escape(cited(Citation(**citation), zones.get(citation['camera'], 'UTC')))}{gone}")
    _costs(kept["cost"])
    warnings(kept["warnings"])


def _costs(workers: Mapping[str, Mapping[str, Any]]) -> None:
    if workers:
        columns = ("calls", "failed", "input_tokens", "output_tokens", "money")
        rows = [(worker, *(f"{cost[name]:g}" for name in columns)) for worker, cost in workers.items()]
        table(("worker", "calls", "failed", "tokens in", "tokens out", "money"), rows)


def changes(found: Sequence[Change]) -> None:
    """What differs between two runs, step by step."""
    if not found:
        note("the same steps")
    for change in found:
        out.print(f"[bold]{change.kind}[/], from steps {change.at[0]} and {change.at[1]}")
        for sign, steps in (("-", change.first), ("+", change.second)):
            for made in steps:
                out.print(f"{sign} {escape(_step(made) or made['kind'])}")


def cited(citation: Citation, tz: str) -> str:
    """One line that leads to the clip."""
    span = f"{clock(citation.offset_ms)}-{clock(citation.end_offset_ms)}"
    when = wall(citation.start_ms, tz) if citation.clock_known else "time unknown"
    return f"camera {citation.camera_label}, {when}, {citation.uri} at {span} [chunk {citation.chunk}]"


def evidence(found: Evidence, zones: Mapping[str, str]) -> None:
    hits = {hit.chunk: hit for hit in found.hits}
    for chunk in found.chunks:
        _chunk(chunk, hits.get(chunk.id))
    if found.relations:
        out.print("[bold]relations[/]")
    for relation in found.relations:
        out.print(f"    {escape(_relation(relation, zones.get(relation.camera, 'UTC')))}")
    if found.ratings:
        _ratings(found)
    if found.graph is not None:
        subgraph(found.graph)
    for warning in found.warnings:
        note(warning)
    if not found.chunks:
        out.print("nothing found" if found.recorded else "not recorded: no camera asked about covers that time")


def explained(told: Explanation) -> None:
    """How evidence was found: what was understood, each step with its candidates, and the queries to run again elsewhere."""
    found, runs = told.evidence, told.queries
    if (asked := found.understood) is not None:
        parts = {
            "kind": asked.kind, "about": asked.subject, "time": asked.time, "cameras": ", ".join(asked.cameras),
            "entities": ", ".join(asked.entities), "around": f"{asked.around.how} {asked.around.what}" if asked.around else "",
            "profile": found.way,
        }  # fmt: skip
        table(("understood", ""), [(name, value) for name, value in parts.items() if value])
    for stage in told.stages:
        _stage(stage)
    via = Counter(chunk.via for chunk in found.chunks)
    table(("reached by", "chunks"), sorted(via.items()))
    table(("tokens", "of"), [(found.tokens, found.token_budget)])
    table(("query", "rows", "ms"), [(run.name, run.rows, f"{run.ms:.1f}") for run in runs])
    for run in runs:
        out.print(f"[bold]{run.name}[/]")
        out.print(escape(run.text.rstrip()))
        out.print(escape(f"binds: {_short(run.binds)}"))


def _stage(stage: Stage) -> None:
    """A step as a table: a column for whatever its rows have, ranks and scores of legs in columns of their own."""
    rows = [_columns(row) for row in stage.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    out.print(f"[bold]{escape(stage.name)}[/] {stage.ms:.1f} ms, {len(rows)} rows")
    if rows:
        table(names, [tuple(_shown(row.get(name)) for name in names) for row in rows])


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            found |= {f"{key} {name.removesuffix('s')}": part for key, part in value.items()}
        else:
            found[name] = value
    return found


def _shown(value: Any) -> str:
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.5g}"
        case list() | tuple():
            return " ".join(_shown(part) for part in value)
        case _:
            return str(value)


def _short(binds: Mapping[str, Any]) -> str:
    """Bind variables as JSON, long vectors by their length; `--json` has them whole."""
    shown = {name: f"float[{len(v)}]" if isinstance(v, list) and len(v) > 16 else v for name, v in binds.items()}
    return json.dumps(shown, ensure_ascii=False)


def _chunk(chunk: EvidenceChunk, hit: Hit | None) -> None:
    """A chunk with its lines; `hit` has its place in each leg of the search, None when something else led to it."""
    how = ", ".join(f"{leg} {rank}" for leg, rank in sorted(hit.ranks.items())) if hit else chunk.via
    if hit and hit.level:
        how += f", level {hit.level}"
    when = wall(chunk.start_ms, chunk.tz) if chunk.clock_known else "time unknown"
    out.print(
        f"[bold]{escape(chunk.camera_label)}[/] {when} +{clock(chunk.offset_ms)} [dim]{chunk.id} ({escape(how)})[/]"
    )
    for line in chunk.lines:
        out.print(f"    {escape(line.modality)}: {escape(line.text)}")


def _relation(relation: EvidenceRelation, tz: str) -> str:
    level = f" ({relation.level})" if relation.level else ""
    return (
        f"{relation.source_name} -{relation.relation}-> {relation.target_name}: "
        f"camera {relation.camera}, {wall(relation.start_ms, tz)} [chunk {relation.chunk}]{level}"
    )


def relations(found: Relations, zones: Mapping[str, str]) -> None:
    """Hits of a search for relations under the level that found them; what was found in their place where there are none."""
    for level, hits in groupby(found.hits, key=lambda hit: hit.level):
        out.print(f"[bold]{escape(level)}[/]")
        for hit in hits:
            told = f"{hit.source_name} -{hit.relation}-> {hit.target_name}: " if hit.id else ""
            when = f"camera {hit.camera}, {wall(hit.start_ms, zones.get(hit.camera, 'UTC'))} " if hit.id else ""
            said = f"  {hit.supporting_text}" if hit.supporting_text else ""
            out.print(f"    {escape(told)}{escape(when)}[dim]{escape(f'[chunk {hit.chunk}]')}[/]{escape(said)}")
    note(f"levels asked: {', '.join(found.asked)}")
    if found.evidence is not None:
        note("none of them found anything; by meaning and words:")
        evidence(found.evidence, zones)


def _ratings(found: Evidence) -> None:
    """What a rater made of frames or captions, in order of time."""
    rows = []
    for rating in found.ratings:
        at = "text" if rating.offset_ms is None else clock(rating.offset_ms)
        score = "not rated" if rating.score is None else f"{rating.score:.2f}"
        rows.append((rating.chunk, at, score, "yes" if rating.kept else "no"))
    table(("rated", "at", "score", "kept"), rows)


def subgraph(found: Subgraph) -> None:
    """What a subgraph is made of; `--json` has it whole."""
    kinds, types = Counter((node.kind, node.hop) for node in found.nodes), Counter(found.edge_type)
    table(("nodes", "hop", "number"), [(kind, hop, number) for (kind, hop), number in sorted(kinds.items())])
    table(("edges", "number"), [(found.relation_types[kind], number) for kind, number in sorted(types.items())])
    features = sum(node.features is not None for node in found.nodes)
    out.print(
        f"{len(found.anchors)} anchors; {features} of {len(found.nodes)} nodes have features of {found.dimension} numbers"
    )
    for warning in found.warnings:
        note(warning)


def plain(text: str) -> None:
    """Text as it is, neither folded nor marked up."""
    out.print(escape(text), soft_wrap=True)


# --- what is in the graph -----------------------------------------------------------------------------------------------


def documents(found: Sequence[Mapping[str, Any]], zones: Mapping[str, str]) -> None:
    if not found:
        note("nothing ingested yet; `vgraph ingest VIDEO` brings a video in")
        return
    width = max(len(document["camera_label"]) for document in found)
    for document in found:
        facts = f"{document['camera_label']:{width}}  {_started(document, zones):23}  {clock(document['duration_ms'])}"
        state = "" if document["state"] == "complete" else "  [yellow]unfinished[/]"
        out.print(f"[bold]{document['_key']}[/]  {escape(facts)}  {document['chunks']} chunks{state}")
        tags = "".join(f"  #{tag}" for tag in document.get("tags") or ())
        out.print(f"    {escape(document['title'] + tags)}")


def clock_facts(facts: Mapping[str, Any]) -> None:
    """A camera's zone and clock, then its recordings."""
    kept, tz = facts["clock"], facts["tz"]
    out.print(
        f"[bold]{escape(facts['label'])}[/]  zone {escape(tz)}  clock: {_clock_source(kept['source'])}, {len(kept['anchors'])} anchors"
    )
    for span in ({**kept, "from_ms": None}, *kept["spans"]):
        since = "" if span["from_ms"] is None else f" from {wall(span['from_ms'], tz)} on"
        drift = f", drift {span['drift_ppm']:g} ppm" if span["drift_ppm"] else ""
        out.print(f"    true = own {span['offset_ms'] / 1000:+.3f} s{drift}, {_doubt(span['uncertainty_ms'])}{since}")
    for document in facts["documents"]:
        start = "unknown" if document["start_source"] == "unknown" else wall(document["start_ms"], tz)
        later = "  [yellow]yet to be moved[/]" if document["pending"] else ""
        how = f"by {document['start_source']}, {_doubt(document['uncertainty_ms'])}"
        out.print(f"[bold]{document['_key']}[/]  {start:23}  {how}{later}  {escape(document['title'])}")


def _clock_source(source: str) -> str:
    return {"none": "nothing known", "sidecar": "told by a sidecar", "set": "set by hand", "fit": "fitted"}[source]


def _doubt(uncertainty_ms: int | None) -> str:
    return "uncertain by nobody knows how much" if uncertainty_ms is None else f"±{uncertainty_ms / 1000:.3f} s"


def fit(report: FitReport, tz: str) -> None:
    """What a fit found, and what it moved."""
    for start in report.starts:
        was = "unknown" if start.before_source == "unknown" else f"{wall(start.before_ms, tz)} by {start.before_source}"
        told = f"{start.used} readings, {start.misread} misread, {_doubt(start.uncertainty_ms)}"
        out.print(f"{escape(start.title)}: its clock began at {wall(start.own_ms, tz)} ({told}; was {was})")
    for span in report.spans if report.anchors else ():
        since = "" if span.from_ms is None else f" from {wall(span.from_ms, tz)} on"
        out.print(
            f"true = own {span.offset_ms / 1000:+.3f} s, drift {span.drift_ppm:g} ppm, {_doubt(span.uncertainty_ms)}{since}"
        )
    if report.anchors:
        out.print(
            f"{report.anchors} anchors, {len(report.outliers)} of them left out, the others off by {report.residual_ms} ms"
        )
    note(f"{report.moved.records} records of {report.moved.documents} documents moved")


def coverage(rows: Sequence[Mapping[str, Any]]) -> None:
    """Recorded stretches and gaps of each camera, in order of time."""
    for row in rows:
        out.print(f"[bold]{escape(row['label'])}[/]  recorded {clock(row['recorded_ms'])}")
        spans = [(s["start_ms"], s["end_ms"], f"recorded, {_doubt(s['uncertainty_ms'])}") for s in row["stretches"]]
        spans += [(g["start_ms"], g["end_ms"], "[yellow]gap[/]") for g in row["gaps"]]
        for start, end, what in sorted(spans):
            out.print(f"    {wall(start, row['tz'])} to {wall(end, row['tz'])}  {clock(end - start)}  {what}")
        if row["undated"]["documents"]:
            undated = row["undated"]
            out.print(f"    and {clock(undated['recorded_ms'])} in {undated['documents']} documents, nobody knows when")


def _started(document: Mapping[str, Any], zones: Mapping[str, str]) -> str:
    if document["start_source"] == "unknown":
        return "unknown"
    return wall(document["start_ms"], zones.get(document["camera"], "UTC"))


MOMENTS = frozenset({"start_ms", "end_ms", "first_ms", "last_ms", "left_ms", "came_ms", "at_ms"})
"""Attributes of rows that are times of day; every other one in `_ms` is a length of time."""


def intervals(found: Sequence[Mapping[str, Any]], zones: Mapping[str, str]) -> None:
    """Rows of an interval query as a table, times as the only camera's clock shows them, else in UTC."""
    if not found:
        note("nothing")
        return
    kept = set(zones.values())
    zone = kept.pop() if len(kept) == 1 else "UTC"
    shown = [name for name in found[0] if name not in ("entity", "chunks", "chunk")]
    table(
        [name.removesuffix("_ms") for name in shown],
        [[_interval(name, row[name], zone) for name in shown] for row in found],
    )


def _interval(name: str, value: Any, zone: str) -> str:
    match value:
        case None:
            return "-"
        case int() if name in MOMENTS:
            return wall(value, zone)
        case int() if name.endswith("_ms"):
            return f"{value / 1000:g} s"
        case list():
            return ", ".join(str(item) for item in value)
        case dict():
            named = value.get("name") or value.get("of") or value.get("camera", "")
            times = [_interval(key, value[key], zone) for key in ("at_ms", "start_ms", "end_ms") if key in value]
            return " ".join([str(named), *times])
        case _:
            return str(value)


def communities(found: Sequence[Mapping[str, Any]], zones: Mapping[str, str]) -> None:
    if not found:
        note("no summaries yet; `vgraph derive` makes them")
        return
    for one in found:
        zone = next((zones[camera] for camera in one["cameras"] if camera in zones), "UTC")
        where = f"{one['kind']} {one['level']}  {wall(one['start_ms'], zone)} to {wall(one['end_ms'], zone)}"
        out.print(f"[bold]{escape(one['title'])}[/]  {escape(where)}  {escape(', '.join(one['cameras']))}")
        out.print(f"    {escape(one['summary'])}")


def cameras(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        note("no camera yet; `vgraph ingest VIDEO --camera NAME` brings one in")
        return
    table(
        ("camera", "label", "place", "zone", "documents", "recorded"),
        [(c["_key"], c["label"], c["place"], c["tz"], c["documents"], clock(c["recorded_ms"])) for c in found],
    )


def facts(found: Mapping[str, Any]) -> None:
    """Where the graph is, then how much of what is in it."""
    about = [(name, value if value is not None else "none yet") for name, value in found.items() if name != "counts"]
    table(("", ""), [*about, *((name, count) for name, count in found["counts"].items() if count)])


# --- the machine --------------------------------------------------------------------------------------------------------

HEADINGS = {
    "need": "What serves each need",
    "core": "Core packages",
    "extra": "Extras",
    "endpoint": "Endpoint",
    "tool": "Tools",
}
INDENT = 24


def checks(found: Sequence[Check]) -> None:
    """Grouped lines: ok or missing, name, detail; below it the command that adds what is missing, whole, to be copied."""
    for kind, group in groupby(found, key=lambda check: check.kind):
        out.print(f"[bold]{HEADINGS.get(kind, kind)}[/]")
        for check in group:
            _check(check)


def _check(check: Check) -> None:
    state = "[green]ok[/]     " if check.ok else "[yellow]missing[/]"
    name = check.name.ljust(INDENT - 12)
    room = max(out.width - INDENT, 20)
    first, *more = textwrap.wrap(check.detail, room, break_long_words=False, break_on_hyphens=False) or [""]
    out.print(f"  {state}  {escape(name)} {escape(first)}")
    for line in more:
        out.print(" " * INDENT + escape(line))
    if check.command:
        out.print(" " * INDENT + f"[cyan]{escape(check.command)}[/]")


def listening(url: str, *, guarded: bool) -> None:
    """Said once, when requests are accepted."""
    note(
        f"vgraph listens on {url} ({'with' if guarded else 'without'} a token); {url}/docs describes it; Ctrl-C stops it"
    )


# --- evaluation ---------------------------------------------------------------------------------------------------------


def answers(found: Summary) -> None:
    """How questions were answered: by kind, then what the answers cite and cost."""
    out.print(f"[bold]{escape(found.name)}[/]  {escape(', '.join(found.methods))}")
    tallies = [*found.kinds, found.answerable, *([found.unanswerable] if found.unanswerable else [])]
    table(
        ("kind", "asked", "right", "wrong", "abstained", "failed", "unjudged", "accuracy", "95 %"),
        [
            (
                t.kind,
                t.asked,
                t.right,
                t.wrong,
                t.abstained,
                t.failed,
                t.unjudged,
                _share(t.accuracy),
                _range(t.interval),
            )
            for t in tallies
        ],
    )
    table(("", ""), _measures(found))
    for fault in found.faults[:MOST_WARNINGS]:
        err.print(f"[red]fault[/] {escape(fault)}")
    if len(found.faults) > MOST_WARNINGS:
        err.print(f"and {len(found.faults) - MOST_WARNINGS} faults more")


def _measures(found: Summary) -> list[tuple[str, object]]:
    return [
        ("abstained with the true reason", _share(found.exact)),
        ("citations", found.citations),
        ("citations that lead to a clip", _share(found.resolving)),
        ("citations that show a true moment", _share(found.precision)),
        ("citations of a camera that saw none", _share(found.wrong_camera)),
        ("overlap with true moments (IoU)", _share(found.iou)),
        ("all moments located (2 s or IoU > 0.9)", _share(found.located)),
        ("asked at a moment, and saw what came later", f"{found.future_violations} of {found.gated}"),
        ("tokens in, out", f"{found.input_tokens}, {found.output_tokens}"),
        ("money", f"{found.money:g}"),
        ("seconds a question, mean and 95 %", f"{found.seconds:.3f}, {found.p95_seconds:.3f}"),
        ("steps a question", f"{found.steps:.1f}"),
    ]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _range(value: tuple[float, float] | None) -> str:
    return "-" if value is None else f"{value[0]:.3f} to {value[1]:.3f}"


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
            for remark in step.notes:
                out.print(f"[dim]{escape(remark)}[/]")
        case Ingested():
            report(step.report)
        case Asked():
            out.print(f"\n[bold cyan]{escape(step.question)}[/]")
            answer(step.answer, step.zones)
            out.print(f"    [dim]{escape(verdict(step))}[/]")
        case Figures():
            out.print()
            out.print("[bold]Figures of this run[/]")
            table(("", ""), figures(step))


def verdict(step: Asked) -> str:
    """Against the script's truth, which the graph never saw."""
    if step.expected_status != "answered":
        return f"by the script: {step.expected_status}; {'right' if step.right else 'wrong'}"
    cited = "its clip shows it" if step.cited else "no cited clip shows it"
    return f"by the script: {step.expected}; {'right' if step.right else 'not stated'}; {cited}"


def figures(step: Figures) -> list[tuple[str, object]]:
    stages = [(f"seconds: {stage}", f"{spent:.1f}") for stage, spent in step.seconds.items() if spent >= 0.05]
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


def demo_next(folder: Path) -> None:
    """What to do with it now."""
    out.print("[bold]Look around in it[/]")
    out.print(
        f"    export VGRAPH_DATABASE__URL=embedded:{folder / 'graph.sqlite'} VGRAPH_MEDIA__ASSETS={folder / 'assets'}"
    )
    out.print("    vgraph cameras")
    out.print("    vgraph ask 'Who was at the gate?'")
