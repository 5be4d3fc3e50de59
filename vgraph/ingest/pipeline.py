"""Video -> Segment -> Caption | Utterance | Detection -> Chunk -> Extraction -> GraphDelta -> store.apply, and a ledger to resume by.

A document passes three stages: what is said, what is followed, then its chunks in units. Each stage and unit is one transaction that
also writes its ledger entry, and every model call is remembered as soon as it is answered (calls.py), so that a run killed anywhere is
continued by the next one, asks again only what was in flight, and ends in the same graph.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

from vgraph.ingest.captioning import captioned
from vgraph.ingest.chunks import Chunk, Signals, overlapping
from vgraph.ingest.extract import names_of
from vgraph.ingest.following import followed
from vgraph.ingest.graph import Vectors, batch_entities, chunks_delta, embedded, entity_text
from vgraph.ingest.hearing import heard, numbered_speakers
from vgraph.ingest.job import Job, Notes, Outcome, seal_of
from vgraph.ingest.keys import content_key
from vgraph.ingest.ledger import COMPLETE, ORDER
from vgraph.ingest.looking import Look, look
from vgraph.ingest.opening import UNASKED, Asked, Site, found_again, open_job, reopened
from vgraph.ingest.queues import ahead, side_by_side
from vgraph.ingest.segmenting import segmented
from vgraph.ingest.understanding import chunks_of, units
from vgraph.media.probe import probe
from vgraph.models import Embedder
from vgraph.store import Store
from vgraph.types import GraphDelta, IngestReport, Record, Segment, Track, Utterance

NOTHING = "nothing described"
"""Embedded for a chunk without text, so that every chunk has a vector (a server's index refuses a missing one on removal)."""
NOT_STORED = ("_id", "_rev")


ANY_TIME = nullcontext()


def ingest(
    path: Path,
    site: Site,
    asked: Asked = UNASKED,
    *,
    again: bool = False,
    turn: AbstractContextManager[None] = ANY_TIME,
) -> IngestReport:
    """Bring one video into the graph. The same call again changes nothing; after a crash it goes on where the ledger ends.

    `asked.camera` names the camera (else the sidecar, else the file's name); `asked.start_ms` is the UTC time of the first frame (else
    sidecar, container, file name). `again` has the document made anew from what is stored and remembered, asking models again where they
    failed; `turn` is when the document may be opened. Raises MediaError for a file that cannot be read, StoreError when the database
    refuses, Stopped and BudgetReached where a run is to end early; a failing model is recorded on the chunk and does not stop the ingest.
    """
    notes = Notes()
    with notes.stage("probe"):
        seal = seal_of(path)
        video = probe(path)
    with turn:
        begun = open_job(video, seal, asked, site, notes, again=again)
    with site.shared.documents.of(begun.place.document):
        return _ingested(reopened(begun))


def _ingested(job: Job) -> IngestReport:
    if job.done(COMPLETE, "chunks"):
        return outcome_of(job, "unchanged", found_again(job))
    spoken = heard(job)
    with job.notes.stage("segment"):
        segments = segmented(job, spoken)
    see(job, segments, spoken, followed(job))
    return outcome_of(job, job.outcome, _finish(job, segments))


# --- chunks -------------------------------------------------------------------------------------------------------------


def see(
    job: Job,
    segments: Sequence[Segment],
    utterances: Sequence[Utterance],
    tracks: Sequence[Track],
    before: Segment | None = None,
) -> None:
    """Chunks in units, each one transaction; units the ledger knows are passed over. `before` is the segment before the first.

    Decoding runs ahead of the models, and the models' calls side by side, both within bounds.
    """
    known = {**numbered_speakers(utterances, job.place.document), **names_of(job.sidecars.captions)}
    done = 0
    pieces = units(segments, job.options, job.tools.chat)
    waiting = [unit for unit in pieces if not job.done(_name("chunks", unit), "chunks")]
    left = {unit[0].index for unit in waiting}
    sensed = _signals(job, [segment for unit in waiting for segment in unit], utterances, tracks)
    with closing(sensed):
        for unit in pieces:
            if unit[0].index in left:
                signals = [next(sensed) for _ in unit]
                after = segments[unit[0].index - segments[0].index - 1] if unit[0] is not segments[0] else before
                _write(job, chunks_of(job, [one for one, _ in signals], known), [seen for _, seen in signals], after)
            done += len(unit)
            job.tell("chunks", done, len(segments))


def _name(stage: str, unit: Sequence[Segment]) -> str:
    return f"{stage}-{unit[0].index:06d}"


def _signals(
    job: Job, segments: Sequence[Segment], utterances: Sequence[Utterance], tracks: Sequence[Track]
) -> Generator[tuple[Signals, Look], None, None]:
    """What is known of each segment, in order."""

    def described(found: tuple[Segment, Look]) -> tuple[Signals, Look]:
        segment, seen = found
        spoken, moving = overlapping(utterances, segment), overlapping(tracks, segment)
        captions, failed = captioned(job, segment, seen, spoken, moving)
        return Signals(segment, captions, spoken, seen.reads, moving, seen.frames, (*seen.warnings, *failed)), seen

    with closing(ahead(_looks(job, segments), job.shared.ahead)) as looks:
        yield from side_by_side(described, looks, job.shared.width)


def _looks(job: Job, segments: Sequence[Segment]) -> Iterator[tuple[Segment, Look]]:
    for segment in segments:
        job.shared.check()
        yield segment, look(job, segment)


def _write(job: Job, chunks: Sequence[Chunk], looks: Sequence[Look], after: Segment | None) -> None:
    """A unit in which a model failed is written as far as it came, and told: the next run makes the document anew with what it lacks."""
    job.notes.warnings.extend(f"{w} (at {c.signals.segment.offset_ms} ms)" for c in chunks for w in c.warnings)
    unit = [chunk.signals.segment for chunk in chunks]
    with job.notes.stage("embed"):
        vectors = _vectors(job, chunks, looks)
    with job.notes.stage("store"):
        entries = () if job.live else _entries(job, unit, looks)
        job.apply(chunks_delta(job.place, chunks, after, vectors, time.time_ns() // 1_000_000, entries))


def _entries(job: Job, unit: Sequence[Segment], looks: Sequence[Look]) -> tuple[Record, ...]:
    """The ledger's word on a unit: what was seen, and that its chunks are written."""
    seen = [[segment.offset_ms, list(one.damage)] for segment, one in zip(unit, looks, strict=True)]
    return (
        job.entry(_name("look", unit), "look", segments=seen),
        job.entry(_name("chunks", unit), "chunks", state="failed" if job.notes.failures else "done"),
    )


def _vectors(job: Job, chunks: Sequence[Chunk], looks: Sequence[Look]) -> Vectors:
    embedder = job.tools.embedder
    entities = [entity_text(record) for record in batch_entities(job.place, chunks)]
    with job.shared.gates.alone(embedder):
        texts = embedder.embed([chunk.text.text or NOTHING for chunk in chunks])
        named = embedder.embed(entities)
    return Vectors(texts, named, _stacked([one.embeddings for one in looks if one.frames]))


def _stacked(rows: Sequence[Any]) -> Any:
    import numpy as np

    return np.concatenate(rows) if rows and all(part is not None for part in rows) else None


# --- after --------------------------------------------------------------------------------------------------------------


def _finish(job: Job, segments: Sequence[Segment]) -> dict[str, Any]:
    """`complete` when every model did its part; `partial` when one failed and the next run is to try again."""
    failed = job.notes.failures > 0
    with job.notes.stage("store"):
        settle(job)
        vertex = _with_costs(job, {"state": "partial" if failed else "complete", "segments": len(segments)})
        ledger = (job.entry(COMPLETE, "chunks", state="failed" if failed else "done"),)
        job.apply(GraphDelta({"documents": (vertex,), "ledger": ledger}))
        job.store.ensure_vector_indexes()
    return vertex


def settle(job: Job) -> None:
    """Put right what others may have left: calls nobody asks any more, entities nobody mentions, embeddings of names that changed."""
    if not any(name.startswith("chunks-") for name in job.ledger):
        job.calls.forget([stage for stage in ORDER if not job.done(stage, stage)])
    job.store.removal.settled(job.place.document)
    embed_renamed(job.store, job.place.document, job.tools.embedder)


def embed_renamed(store: Store, document: str, embedder: Embedder) -> None:
    """Embed a document's entities again where another document's mention has given them another name or description."""
    found = store.entities_to_embed(document)
    changed = [entity for entity in found if entity["embedded"] != content_key(entity_text(entity))]
    if changed:
        vectors = embedder.embed([entity_text(entity) for entity in changed])
        store.write_entity_embeddings([embedded(e, v) for e, v in zip(changed, vectors, strict=True)])


def _with_costs(job: Job, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The document's vertex with new facts and with what its model calls have cost."""
    found = job.store.document(job.place.document) or {}
    spent = costs(job.store, job.place.document)
    return {name: value for name, value in found.items() if name not in NOT_STORED} | {**facts, "spent": spent}


def costs(store: Store, document: str) -> dict[str, dict[str, Any]]:
    """What a document's model calls have cost, by stage."""
    return {row.pop("stage"): row for row in store.ledgers.spent(document) if row.pop("document")}


def outcome_of(job: Job, outcome: Outcome, vertex: Mapping[str, Any]) -> IngestReport:
    warnings = (*vertex.get("warnings", ()), *job.notes.warnings)
    chunks = int(vertex.get("segments", 0))
    title = str(vertex.get("title", ""))
    spent = job.calls.spent()
    return IngestReport(
        job.place.document, job.place.camera, title, outcome, chunks, job.notes.seconds, warnings, spent
    )
