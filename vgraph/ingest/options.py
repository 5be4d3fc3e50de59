"""What an ingest is told: how a video is cut and read, and which models do it. Every option belongs to the stage it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

from vgraph.models import (
    Captioner,
    ChatModel,
    Detector,
    Diarizer,
    Embedder,
    EntityFinder,
    ImageEmbedder,
    Reader,
    Transcriber,
)

T = TypeVar("T")
Stage = Literal["start", "segment", "hear", "follow", "look", "read", "caption", "extract", "embed", "chunks"]
"""What a document passes, each stage done again only when what it depends on has changed (see ledger.py); a `start` only moves times."""


def of(stage: Stage, default: T) -> T:
    """An option of a stage, with its default."""
    made: T = field(default=default, metadata={"stage": stage})
    return made


@dataclass(frozen=True, slots=True)
class Options:
    """How a video is cut and read. Distances are ms; a changed option has the work of its stage done again, and what follows from it."""

    burnt_in: bool = of("start", True)
    subtitle_streams: bool = of("start", True)
    segmenter: str = of("segment", "window")
    window_ms: int = of("segment", 30_000)
    overlap_ms: int = of("segment", 0)
    scene_threshold: float = of("segment", 27.0)
    scene_min_ms: int = of("segment", 1_000)
    scene_max_ms: int = of("segment", 60_000)
    event_every_ms: int = of("segment", 1_000)
    event_penalty: float = of("segment", 5.0)
    event_min_samples: int = of("segment", 5)
    event_min_ms: int = of("segment", 5_000)
    event_max_ms: int = of("segment", 60_000)
    frame_every_ms: int = of("look", 1_000)
    scene_frames: int = of("look", 10)
    frame_width: int = of("look", 512)
    jpeg_quality: int = of("look", 80)
    caption_frames: int = of("caption", 8)
    caption_hears: bool = of("caption", False)
    draw_tracks: bool = of("caption", True)
    keep_drawn: bool = of("caption", False)
    read_every_ms: int = of("read", 10_000)
    detect_every_ms: int = of("follow", 200)
    track_looks: bool = of("follow", True)
    entity_types: tuple[str, ...] = of("extract", ())
    relation_types: tuple[str, ...] = of("extract", ())
    open_relations: bool = of("extract", False)
    relation_synonyms: tuple[tuple[str, str], ...] = of("extract", ())
    fuse: bool = of("extract", True)
    union: bool = of("extract", True)
    temporal: bool = of("extract", True)
    unit_ms: int = of("extract", 3_600_000)
    context_tokens: int = of("extract", 32_768)
    reply_tokens: int = of("extract", 4_096)
    language: str = of("extract", "en")
    batch_segments: int = of("chunks", 16)

    def of_stage(self, stage: Stage) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self) if item.metadata["stage"] == stage}


@dataclass(frozen=True, slots=True)
class Tools:
    """The models of one ingest; None means that nothing does this. Sidecars come before models: what is given is not guessed."""

    embedder: Embedder
    captioner: Captioner | None = None
    transcriber: Transcriber | None = None
    detector: Detector | None = None
    reader: Reader | None = None
    image_embedder: ImageEmbedder | None = None
    chat: ChatModel | None = None
    diarizer: Diarizer | None = None
    finder: EntityFinder | None = None
    """Asked only where there is no chat model."""

    def names(self) -> dict[str, str]:
        """Need -> name of the model that serves it."""
        return {need: model.name for need, model in self.models().items()}

    def models(self) -> Mapping[str, Any]:
        """Need -> the model that serves it."""
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        return {need: model for need, model in found.items() if model is not None}


def described(model: Any) -> str:
    """A model with all that its answers depend on: its name, and its `configuration` where it has one."""
    return f"{model.name} {getattr(model, 'configuration', '')}".strip()
