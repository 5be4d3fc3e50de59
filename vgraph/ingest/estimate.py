"""What an ingest will cost before it is begun: seconds of video, segments, model calls, tokens, money and disk, by file and stage.

Only headers and packets are read, no picture is decoded and no model is asked; nothing is written. Where calls of a stage's model are in
the ledger, their average is what a call is expected to cost, else the figures below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from vgraph.ingest.calls import FREE, Price, is_remote
from vgraph.ingest.keys import camera_key, document_key
from vgraph.ingest.ledger import COMPLETE, MODELS, configurations
from vgraph.ingest.opening import Asked, Site, camera_info, names_of, with_given
from vgraph.ingest.options import Options, Tools
from vgraph.ingest.remembered import FRAMES_A_CALL, GIVEN, PICTURE_TOKENS
from vgraph.ingest.understanding import units
from vgraph.media.probe import probe
from vgraph.media.segments import windows
from vgraph.media.sidecars import read_meta, read_sidecars
from vgraph.types import Segment, Usage, Video

BLOCK_MS: Final = 30_000
"""Of sound, in one call to a transcriber."""
CUT_MS: Final = 10_000
"""Expected of a segment that is cut by content, which only decoding would tell."""
ANSWERS: Final = {"caption": (350, 250), "extract": (900, 500), "embed": (160, 0)}
"""Tokens in and out of a call, pictures aside, where the ledger knows none of its model."""
PIXEL_BYTES: Final = 0.13
"""Of a JPEG of quality 80, by pixel."""
CHUNK_BYTES: Final = 24_000
"""Of a chunk in the database with its entities, edges, vectors and indexes."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a stage is expected to ask and cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0

    def __add__(self, other: Expected) -> Expected:
        return Expected(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.money + other.money,
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """One file, or (`path` empty) all together. `state`: new, begun, or complete, which costs nothing.

    Of all together `seconds` and `segments` are those that are still to be ingested, and `complete` is how many of the `files` are done.
    """

    path: str
    camera: str
    state: str
    seconds: float
    segments: int
    stages: Mapping[str, Expected] = field(default_factory=dict)
    disk_bytes: int = 0
    files: int = 1
    complete: int = 0

    @property
    def total(self) -> Expected:
        return sum(self.stages.values(), Expected())

    def and_more(self, others: Estimate | None) -> Estimate:
        """All together: this file and others, of which there may be none yet."""
        other = others or Estimate("", "", "", 0.0, 0)
        names = sorted({*self.stages, *other.stages})
        stages = {name: self.stages.get(name, NOTHING) + other.stages.get(name, NOTHING) for name in names}
        own = self if self.state != COMPLETE else replace(self, seconds=0.0, segments=0)
        seconds, segments = own.seconds + other.seconds, own.segments + other.segments
        files, complete = self.files + other.files * bool(others), (self.state == COMPLETE) + other.complete
        disk = self.disk_bytes + other.disk_bytes
        return Estimate("", "", "", seconds, segments, stages, disk, files, complete)


NOTHING = Expected()


def estimate(path: Path, site: Site, asked: Asked) -> Estimate:
    """What ingesting a video will cost. Raises MediaError for a file that cannot be read."""
    video = probe(path)
    meta = read_meta(path)
    sidecars = read_sidecars(
        path, video.picture, start_ms=asked.start_ms if asked.start_ms is not None else meta.start_ms
    )
    camera = camera_key(camera_info(video, meta, asked).label)
    document = document_key(video.content_hash, camera)
    tools = with_given(site.tools, sidecars)
    ledger = site.store.ledgers.stages(document)
    done = ledger.get(COMPLETE, {})
    config = configurations(site.options, tools, sidecars, names_of(site, tools, document))["chunks"]
    complete = done.get("state") == "done" and done.get("config") == config
    segments = _segments(video, site.options)
    if complete:
        return Estimate(str(path), camera, "complete", video.duration_ms / 1000, len(segments))
    stages = _stages(video, segments, tools, site, _answered(site, document))
    state = "begun" if ledger else "new"
    return Estimate(
        str(path), camera, state, video.duration_ms / 1000, len(segments), stages, _disk(video, segments, site.options)
    )


def _segments(video: Video, options: Options) -> tuple[Segment, ...]:
    if options.segmenter == "window":
        return windows(video.duration_ms, options.window_ms, options.overlap_ms)
    return windows(video.duration_ms, CUT_MS)


def _answered(site: Site, document: str) -> dict[str, int]:
    """Calls that need not be made again, by stage."""
    rows = site.store.ledgers.spent(document)
    return {row["stage"]: row["calls"] - row["failed"] for row in rows}


def _stages(
    video: Video, segments: tuple[Segment, ...], tools: Tools, site: Site, answered: Mapping[str, int]
) -> dict[str, Expected]:
    averages = site.store.ledgers.averages()
    found: dict[str, Expected] = {}
    for stage, calls in _calls(video, segments, tools, site.options).items():
        model = getattr(tools, MODELS[stage])  # type: ignore[index]
        if model is None or model.name == GIVEN:
            continue
        left = max(0, calls - answered.get(stage, 0))
        price = site.shared.prices.get(stage, FREE) if is_remote(model) else FREE
        usage = _usage(stage, model, averages.get((stage, model.name)), site.options)
        minutes = video.duration_ms / 60_000 * left / max(1, calls) if stage == "hear" else 0.0
        found[stage] = _expected(left, usage if is_remote(model) else Usage(), price, minutes)
    return found


def _calls(video: Video, segments: tuple[Segment, ...], tools: Tools, options: Options) -> dict[str, int]:
    length = video.duration_ms
    together = units(segments, options, tools.chat)
    per_unit = 1 + bool(options.union) + bool(options.temporal)
    watched = -(-length // options.detect_every_ms)
    return {
        "hear": -(-length // BLOCK_MS) if video.audio else 0,
        "follow": -(-watched // FRAMES_A_CALL) if getattr(tools.detector, "stateless", False) else 1,
        "read": sum(
            -(-(s.end_offset_ms - s.offset_ms) // max(options.read_every_ms, options.frame_every_ms)) for s in segments
        ),
        "caption": len(segments),
        "extract": len(segments) * bool(options.fuse) + len(together) * per_unit,
        "embed": 2 * len(together),
    }


def _usage(stage: str, model: Any, average: Mapping[str, float] | None, options: Options) -> Usage:
    """Tokens of one call."""
    if average is not None:
        return Usage(round(average["input_tokens"]), round(average["output_tokens"]))
    given, answered = ANSWERS.get(stage, (0, 0))
    pictures = options.caption_frames * PICTURE_TOKENS if stage == "caption" else 0
    return Usage(given + pictures, answered)


def _expected(calls: int, usage: Usage, price: Price, minutes: float) -> Expected:
    whole = Usage(calls * usage.input_tokens, calls * usage.output_tokens)
    return Expected(calls, whole.input_tokens, whole.output_tokens, price.of(whole, minutes))


def _disk(video: Video, segments: tuple[Segment, ...], options: Options) -> int:
    """Bytes of pictures and of the database, about."""
    width = min(options.frame_width, video.picture.width)
    height = width * video.picture.height / max(1, video.picture.width)
    pictures = video.duration_ms / options.frame_every_ms
    return round(pictures * width * height * PIXEL_BYTES * options.jpeg_quality / 80) + len(segments) * CHUNK_BYTES
