"""From what was sensed of segments to chunks with text, entities and relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vgraph.ingest import extract
from vgraph.ingest.calls import concerning
from vgraph.ingest.chunks import Chunk, ChunkText, Signals
from vgraph.ingest.job import Job
from vgraph.ingest.keys import chunk_key
from vgraph.ingest.options import Options
from vgraph.ingest.queues import side_by_side
from vgraph.models import ChatModel
from vgraph.types import Mention, Segment


def units(segments: Sequence[Segment], options: Options, chat: ChatModel | None) -> list[tuple[Segment, ...]]:
    """Segments that are understood together and written in one transaction, in order: as long as a chat model is to read at once."""
    if chat is not None:
        return extract.units(segments, options.unit_ms)
    size = options.batch_segments
    return [tuple(segments[begin : begin + size]) for begin in range(0, len(segments), size)]


def chunks_of(job: Job, signals: Sequence[Signals], known: Mapping[str, Mention]) -> list[Chunk]:
    """The chunks of a unit. `known` are the entities of given captions by normalised name."""
    plan, chat = plan_of(job.options), job.tools.chat
    with job.notes.stage("extract"):
        texts = list(side_by_side(lambda one: _text(job, one, plan), iter(signals), job.shared.width))
        parts = list(zip(signals, texts, strict=True))
        finder = job.tools.finder
        finding = None if finder is None else extract.Finding(finder, job.place.document)
        extractions = extract.extract_unit(parts, known, chat, plan, job.place.camera, finding)
    chunks = [Chunk(one, text, found) for (one, text), found in zip(parts, extractions, strict=True)]
    for chunk in chunks:
        if chunk.failed:
            job.notes.failed()
    return chunks


def _text(job: Job, signals: Signals, plan: extract.Plan) -> ChunkText:
    with concerning(chunk_key(job.place.document, signals.segment.offset_ms)):
        return extract.window_text(signals, job.tools.chat, plan)


def plan_of(options: Options) -> extract.Plan:
    """How text is to be understood, as the options have it."""
    return extract.Plan(
        vocabulary=extract.Vocabulary(
            options.entity_types or extract.PRESETS["general"].entity_types,
            options.relation_types,
            options.open_relations,
            options.relation_synonyms,
        ),
        fuse=options.fuse,
        union=options.union,
        temporal=options.temporal,
        unit_ms=options.unit_ms,
        context_tokens=options.context_tokens,
        reply_tokens=options.reply_tokens,
        language=options.language,
    )
