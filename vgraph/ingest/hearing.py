"""What is said in a document."""

from __future__ import annotations

from collections.abc import Iterator

from vgraph.ingest.graph import utterance_of, utterance_record
from vgraph.ingest.job import Job
from vgraph.types import Utterance

NOTHING: tuple[Utterance, ...] = ()


def heard(job: Job) -> tuple[Utterance, ...]:
    """All utterances of the document, from the graph where they are there already."""
    name = job.name_of("hear")
    if job.done(name, "hear"):
        return tuple(utterance_of(record) for record in job.stored(job.store.utterances(job.place.document)))
    with job.notes.stage("hear"):
        utterances, failed = job.attempt("transcription", lambda: tuple(_transcribed(job)), NOTHING)
        records = tuple(utterance_record(job.place, utterance) for utterance in utterances)
        job.write_stage(name, "hear", "utterances", records, failed)
    return utterances


def _transcribed(job: Job) -> Iterator[Utterance]:
    if job.tools.transcriber is None:
        return
    for utterance in job.tools.transcriber.transcribe(job.audio()):
        job.tell("hear", utterance.end_offset_ms // 1000, job.end_ms // 1000, "seconds")
        yield utterance
