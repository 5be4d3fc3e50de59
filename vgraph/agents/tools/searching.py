"""Tools that search by what was seen, said or summed up."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from vgraph.agents.steps import ANYWHERE, Item, Picture
from vgraph.agents.tools.scope import Cameras, End, Found, Queries, Scope, Start
from vgraph.agents.tools.telling import of_chunks
from vgraph.retrieve.pack import wall
from vgraph.types import EvidenceChunk, EvidenceSummary, Filters

FRAMES = 50
"""Pictures that reach the answerer (EGAgent, E8)."""
TRANSCRIPTS = 100
"""Transcripts a search by words finds (EGAgent, E9)."""
SHOWN = 30
"""Chunks of a result that are written out; the first by rank, then in order of time."""
JUDGED_AT_ONCE = 20
JUDGED = 200
"""Transcripts that the model reads at most in one search."""


def visual_search(
    scope: Scope, queries: Queries, cameras: Cameras = None, start: Start = None, end: End = None
) -> Found:
    """Find moments by what can be seen. Each query is a single word or a short noun phrase, such as "red van" or "forklift".

    Returns pictures nearest to the queries and the clips they belong to; where pictures cannot be searched, clips by their captions.
    """
    filters = scope.within(cameras, start, end)
    if not scope.sources.sees_pictures:
        note = "no model finds pictures by text here: these clips were found by their captions"
        return of_chunks(_by_captions(scope, queries, filters), note)
    best: dict[str, Picture] = {}
    for query in queries:
        for seen in scope.sources.pictures(query, filters, k=FRAMES):
            known = best.get(seen.asset)
            if known is None or (known.score or 0) < seen.score:
                best[seen.asset] = Picture(
                    seen.chunk, seen.camera, seen.at_ms, seen.offset_ms, seen.asset, score=seen.score
                )
    ranked = sorted(best.values(), key=lambda picture: (-(picture.score or 0), picture.at_ms))[:FRAMES]
    chunks = scope.sources.chunks([picture.chunk for picture in ranked], filters, silent=True)
    known_chunks = {chunk.id for chunk in chunks}
    pictures = tuple(picture for picture in ranked if picture.chunk in known_chunks)
    found = of_chunks(_in_time(chunks[:SHOWN]))
    return Found(found.items, found.chunks, pictures=pictures, notes=found.notes)


def _by_captions(scope: Scope, queries: list[str], filters: Filters) -> list[EvidenceChunk]:
    found: dict[str, EvidenceChunk] = {}
    for query in queries:
        for chunk in scope.sources.search(query, filters, way="chunks").chunks:
            if any(line.modality != "speech" for line in chunk.lines):
                found.setdefault(chunk.id, chunk)
    return _in_time(list(found.values())[:SHOWN])


def transcript_search(
    scope: Scope,
    queries: Queries,
    mode: Annotated[
        Literal["bm25", "judged"],
        Field(
            description="bm25: by words, fast. judged: a model reads what was said in the span; slow, needs start and end."
        ),
    ] = "bm25",
    cameras: Cameras = None,
    start: Start = None,
    end: End = None,
) -> Found:
    """Find moments by what was said. Results are in order of time, each once."""
    filters = scope.within(cameras, start, end)
    if mode == "judged" and scope.judge is not None:
        return _judged(scope, "; ".join(queries), scope.sources.spoken(filters, limit=JUDGED))
    note = "no language model judges relevance here: found by words" if mode == "judged" else ""
    found: dict[str, EvidenceChunk] = {}
    for query in queries:
        for chunk in scope.sources.said(query, filters, k=TRANSCRIPTS):
            found.setdefault(chunk.id, chunk)
    kept = list(found.values())[:TRANSCRIPTS]
    cut = f"{len(kept) - SHOWN} more are left out; narrow the time or the words" if len(kept) > SHOWN else ""
    return of_chunks(_in_time(kept[:SHOWN]), note, cut)


def _judged(scope: Scope, question: str, chunks: tuple[EvidenceChunk, ...]) -> Found:
    assert scope.judge is not None
    kept: set[str] = set()
    for begin in range(0, len(chunks), JUDGED_AT_ONCE):
        page = chunks[begin : begin + JUDGED_AT_ONCE]
        kept |= set(scope.judge(question, [_spoken(chunk) for chunk in page]))
    cut = f"only the first {JUDGED} clips with speech were read: narrow the time" if len(chunks) >= JUDGED else ""
    return of_chunks([chunk for chunk in chunks if chunk.id in kept][:SHOWN], cut)


def _spoken(chunk: EvidenceChunk) -> Item:
    said = " ".join(line.text for line in chunk.lines if line.modality == "speech")
    return Item(chunk.id, f"{wall(chunk.start_ms, chunk.tz)}: {said}", (chunk.id,), chunk.start_ms, chunk.end_ms)


def clip_search(
    scope: Scope,
    question: Annotated[str, Field(min_length=1, max_length=500, description="What to look for, as a sentence.")],
    way: Annotated[
        Literal["chunks", "entities", "clips", "rank"],
        Field(
            description="chunks: by meaning and words; entities: by who occurs; clips: with what lies around; rank: many hops."
        ),
    ] = "chunks",
    cameras: Cameras = None,
    start: Start = None,
    end: End = None,
) -> Found:
    """Find clips by meaning and words, over what was seen, said and read together."""
    evidence = scope.sources.search(question, scope.within(cameras, start, end), way=way)
    return of_chunks(_in_time(evidence.chunks))


def summaries(
    scope: Scope,
    question: Annotated[str, Field(min_length=1, max_length=500)],
    cameras: Cameras = None,
    start: Start = None,
    end: End = None,
) -> Found:
    """Find summaries of hours, days and themes: where to look closer. They were written from clips, and are no evidence by themselves."""
    filters = scope.within(cameras, start, end)
    if replace(scope.filters, **dict.fromkeys(HELD)) != ANYWHERE:
        return Found(notes=("summaries cannot be held to the filters of this question: search for clips",))
    found = [each for each in scope.sources.summaries(question, filters, k=8) if _inside(each, scope.filters)]
    zone = scope.sources.zone(filters)
    items = tuple(
        Item(
            f"s{n}",
            f"{wall(s.start_ms, zone)} to {wall(s.end_ms, zone)}, {s.title}: {s.summary}",
            (),
            s.start_ms,
            s.end_ms,
        )
        for n, s in enumerate(found, 1)
    )
    return Found(items)


HELD = ("cameras", "start_ms", "end_ms", "not_after")
"""The filters of which it can be told whether a summary keeps to them."""


def _inside(summary: EvidenceSummary, filters: Filters) -> bool:
    """Whether all that a summary sums up may be looked at: what it overlaps only in part, it tells more of."""
    ends = [end for end in (filters.end_ms, filters.not_after) if end is not None]
    return (
        (filters.cameras is None or set(summary.cameras) <= set(filters.cameras))
        and (filters.start_ms is None or summary.start_ms >= filters.start_ms)
        and all(summary.end_ms <= end for end in ends)
    )


def read_clip(
    scope: Scope,
    clip: Annotated[str, Field(min_length=1, max_length=254, description="The id of a clip, as results give it.")],
    neighbours: Annotated[int, Field(ge=0, le=5, description="How many clips before and after it to read too.")] = 0,
) -> Found:
    """Read everything that is known of a clip, and of those around it."""
    key = clip.strip("[] ").removeprefix("chunks/")
    chunks = scope.sources.around(key, scope.filters, neighbours=neighbours)
    note = "" if chunks else f"there is no clip {clip!r} that may be looked at"
    return of_chunks(chunks, note)


def _in_time(chunks: tuple[EvidenceChunk, ...] | list[EvidenceChunk]) -> list[EvidenceChunk]:
    return sorted(chunks, key=lambda chunk: (chunk.start_ms, chunk.id))
