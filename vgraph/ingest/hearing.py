"""What is said in a document, and by whom."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from vgraph.ingest.graph import utterance_of, utterance_record
from vgraph.ingest.job import Job
from vgraph.ingest.keys import normal_name
from vgraph.models import Diarizer
from vgraph.models.speakers import linked, windows, with_speakers
from vgraph.types import Mention, Turn, Utterance

NOTHING: tuple[Utterance, ...] = ()
NO_TURNS: tuple[Turn, ...] = ()
_NUMBERED = re.compile(r"speaker[ _-]?\d+")


def heard(job: Job) -> tuple[Utterance, ...]:
    """All utterances of the document, from the graph where they are there already."""
    if job.done("hear", "hear"):
        return tuple(utterance_of(record) for record in job.store.utterances(job.place.document))
    with job.notes.stage("hear"):
        said, failed = job.attempt("transcription", lambda: tuple(_transcribed(job)), NOTHING)
        turns, unheard = job.attempt("diarization", lambda: _turns(job, said), NO_TURNS)
        utterances = tuple(with_speakers(said, turns))
        records = tuple(utterance_record(job.place, utterance) for utterance in utterances)
        job.write_stage("hear", "hear", "utterances", records, (*failed, *unheard))
    return utterances


def _transcribed(job: Job) -> Iterator[Utterance]:
    if job.tools.transcriber is None:
        return
    for utterance in job.tools.transcriber.transcribe(job.audio()):
        job.tell("hear", utterance.end_offset_ms // 1000, job.end_ms // 1000, "seconds")
        yield utterance


def _turns(job: Job, said: Iterable[Utterance]) -> tuple[Turn, ...]:
    """Who speaks when, where that is asked of a model. The pieces of a live document are too short to know voices again."""
    diarizer: Diarizer | None = job.tools.diarizer
    if diarizer is None or job.live or all(utterance.speaker for utterance in said):
        return ()
    return tuple(linked(diarizer.diarize(window) for window in windows(job.audio(), diarizer.window_ms)))


def numbered_speakers(utterances: Iterable[Utterance], document: str) -> dict[str, Mention]:
    """Speakers who are only numbered (`speaker 1`, `SPEAKER_02`), by normalised name: in every document another person."""
    names = {normal_name(utterance.speaker): utterance.speaker for utterance in utterances if utterance.speaker}
    return {
        key: Mention(name, "person", id=f"{document}/{key}") for key, name in names.items() if _NUMBERED.fullmatch(key)
    }
