"""What answers point at: whether it is there, and whether it was there when the question was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from vgraph.app import Observation, Step, VGraph
from vgraph.errors import MediaError
from vgraph.media.probe import probe
from vgraph.types import Answer, Citation, Evidence

SLACK_MS = 100
"""How far a citation may reach beyond the last picture: a line ends with its picture, which has a length of its own."""

CHUNK = "FOR c IN chunks FILTER c._key == @key RETURN KEEP(c, 'document', 'camera', 'start_ms', 'end_ms')"


class Clips:
    """The chunks and files of one graph, as they are now."""

    def __init__(self, graph: VGraph) -> None:
        self._graph = graph
        self.chunk = cache(self._chunk)
        self._length_ms = cache(_length_ms)

    def _chunk(self, key: str) -> Mapping[str, Any] | None:
        rows = self._graph.aql(CHUNK, {"key": key}).rows
        return rows[0] if rows else None

    def fault(self, citation: Citation) -> str:
        """Why a citation leads nowhere; empty when it leads to a clip that is there."""
        chunk = self.chunk(citation.chunk)
        if chunk is None:
            return f"chunk {citation.chunk} does not exist"
        if (chunk["document"], chunk["camera"]) != (citation.document, citation.camera):
            return f"chunk {citation.chunk} is of another document or camera"
        if citation.start_ms > citation.end_ms or not _meet(citation, chunk):
            return f"{citation.start_ms} to {citation.end_ms} is not in chunk {citation.chunk}"
        length = self._length_ms(citation.uri)
        if length is None:
            return f"{citation.uri} cannot be opened"
        if not 0 <= citation.offset_ms <= citation.end_offset_ms <= length + SLACK_MS:
            return f"{citation.offset_ms} to {citation.end_offset_ms} ms is not within {citation.uri} ({length} ms)"
        return ""


def _meet(citation: Citation, chunk: Mapping[str, Any]) -> bool:
    """A caption may begin before its chunk, or end after it."""
    return bool(citation.start_ms <= chunk["end_ms"] and chunk["start_ms"] <= citation.end_ms)


def _length_ms(uri: str) -> int | None:
    try:
        return probe(Path(uri)).duration_ms
    except (MediaError, OSError):
        return None


def later(answer: Answer, limit_ms: int, clips: Clips, steps: Sequence[Step] = ()) -> tuple[str, ...]:
    """What an answer cites, or rests on, or was looked at on the way to it, that was recorded only after a moment (UTC ms)."""
    cited = [c for claim in answer.claims for c in claim.citations]
    found = [f"cites chunk {c.chunk}, until {c.end_ms}" for c in cited if c.end_ms > limit_ms]
    ends = {key: (clips.chunk(key) or {}).get("end_ms", 0) for key in sorted({c.chunk for c in cited})}
    found += [f"cites chunk {key}, recorded until {end}" for key, end in ends.items() if end > limit_ms]
    looked = [fault for step in steps for fault in _looked_at(step, limit_ms)]
    return tuple(dict.fromkeys([*found, *_rests_on(answer.evidence, limit_ms), *looked]))


def _looked_at(step: Step, limit_ms: int) -> Iterator[str]:
    """Clips, pictures and times of rows that a tool gave."""
    if isinstance(step, Observation):
        times = [(f"chunk {chunk.id}", chunk.end_ms) for chunk in step.chunks]
        times += [(f"picture of {picture.chunk}", picture.at_ms) for picture in step.pictures]
        times += [(f"row {item.id}", item.end_ms) for item in step.items if item.end_ms is not None]
        yield from (f"{step.tool} gave {what}, until {end}" for what, end in times if end > limit_ms)


def _rests_on(evidence: Evidence, limit_ms: int) -> Iterator[str]:
    """Parts of the evidence that reach beyond the moment."""
    times = [(f"chunk {c.id}", c.end_ms) for c in evidence.chunks]
    times += [(f"entity {e.id}", e.last_ms) for e in evidence.entities]
    times += [(f"relation {r.id}", r.end_ms) for r in evidence.relations]
    times += [(f"summary {s.id}", s.end_ms) for s in evidence.summaries]
    times += [(f"coverage of {camera}", end) for camera, _, end in evidence.recorded]
    times += [
        (f"node {n.id}", n.end_ms) for n in (evidence.graph.nodes if evidence.graph else ()) if n.end_ms is not None
    ]
    yield from (f"{what} reaches until {end}" for what, end in times if end > limit_ms)
