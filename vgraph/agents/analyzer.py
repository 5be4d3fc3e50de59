"""The gate between tools and memory (EGAgent, E13): what bears on the task is distilled, what is known already is left out.

What is kept is kept with the words it rests on, and only lines of the result can be: a summary without any is not remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vgraph.agents import showing
from vgraph.agents.planner import form
from vgraph.agents.steps import Item, Memory, Observation
from vgraph.agents.working import Run, Unanswered, bare
from vgraph.errors import UserError
from vgraph.prompts import quoted
from vgraph.retrieve.pack import moment
from vgraph.retrieve.words import content_words
from vgraph.types import EvidenceChunk

ANALYZED: Final = form(
    relevant={"type": "boolean"},
    summary={"type": "string"},
    evidence={"type": "array", "items": {"type": "string"}},
)
SENTENCES: Final = 4
SUPPORT_LINES: Final = 3
"""Lines of a clip that are kept beside a summary."""
BY_WORDS: Final = 5
"""Lines that are kept where no model can say which bear on the task."""


def analyze(run: Run, task: str, found: Observation) -> Memory | None:
    """What was kept of a result, noted and remembered; None where nothing bears on the task or all of it is known."""
    fresh = _fresh(run, found.items)
    if not fresh:
        return None
    try:
        value = run.ask(
            "analyzer", ANALYZED, check=lambda read: _check(read, fresh), sentences=SENTENCES, task=quoted(task),
            question=quoted(run.question), result=showing.observation(found, fresh, run.kit.options.evidence_tokens),
        )  # fmt: skip
    except Unanswered as fault:
        run.warnings.append(str(fault))
        kept = _by_words(task, fresh)
        summary = " ".join(item.text for item in kept)[:1_000]
    else:
        kept = _named(value, fresh) if value["relevant"] else []
        summary = value["summary"].strip()
    if not kept or not summary:
        return None
    return _remembered(run, task, found.tool, summary, kept)


def _fresh(run: Run, items: Sequence[Item]) -> list[Item]:
    """Items that memory does not hold, by id or by what they say."""
    known = {item.id for memory in run.memory for item in memory.items}
    said = {_words(item.text) for memory in run.memory for item in memory.items}
    fresh: dict[str, Item] = {}
    for item in items:
        if item.id not in known and _words(item.text) not in said:
            fresh.setdefault(_words(item.text), item)
    return list(fresh.values())


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def _check(value: Mapping[str, Any], items: Sequence[Item]) -> None:
    if value["relevant"] and not _named(value, items):
        raise UserError("`relevant` is true, but `evidence` names no id that stands before a line of the result")


def _named(value: Mapping[str, Any], items: Sequence[Item]) -> list[Item]:
    named = {bare(each) for each in value["evidence"]}
    return [item for item in items if item.id in named]


def _by_words(task: str, items: Sequence[Item]) -> list[Item]:
    wanted = content_words(task)
    shared = [(len(wanted & content_words(item.text)), -number) for number, item in enumerate(items)]
    return [items[-place] for count, place in sorted(shared, reverse=True)[:BY_WORDS] if count]


def _remembered(run: Run, task: str, tool: str, summary: str, kept: Sequence[Item]) -> Memory:
    items = tuple(_supporting(run.seen.get(item.id), item, summary) for item in kept)
    starts = [item.start_ms for item in items if item.start_ms is not None]
    ends = [item.end_ms for item in items if item.end_ms is not None]
    memory = Memory(task, tool, summary, items, min(starts, default=None), max(ends, default=None))
    run.memory.append(memory)
    run.note(memory)
    return memory


def _supporting(chunk: EvidenceChunk | None, item: Item, summary: str) -> Item:
    """Of a clip the lines that share most words with the summary, word for word; other lines as they are."""
    if chunk is None or not chunk.lines:
        return item
    wanted = content_words(summary)
    ranked = sorted(chunk.lines, key=lambda line: -len(wanted & content_words(line.text)))[:SUPPORT_LINES]
    told = [f"{moment(chunk, line.offset_ms)} {line.modality}: {line.text}" for line in chunk.lines if line in ranked]
    return replace(item, text=f"camera {chunk.camera_label}, {' / '.join(told)}")
