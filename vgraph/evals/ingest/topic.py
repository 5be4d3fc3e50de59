"""One thing that is measured: on which world, with which mechanisms switched off in turn, and by which function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from vgraph.app import VGraph
from vgraph.evals.world import DEMO_SEED, Noise, Picture, World

Overrides = Mapping[str, Mapping[str, Any]]
"""Settings by section and name, laid over the caller's."""

Scores = Any
"""A frozen dataclass of numbers: the columns of a topic's table."""

GIVEN: Overrides = {
    "models": dict.fromkeys(("caption", "transcribe", "detect", "read", "image_embed", "chat"), "none"),
    "derive": {"similar": False, "windows": False, "themes": False},
}
"""No model but the text embedding: what is measured comes from given captions, subtitles and detections."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What is measured under these settings; `name` says which mechanism they switch off."""

    name: str
    settings: Overrides = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Topic:
    """A measurement of ingest against the exact truth of a synthetic world.

    stage: `ingest` has every variant ingest the world anew, `derive` ingests it once and only resolves entities again.
    settings: hold for all variants. prepare: what an operator tells the graph after the ingest. ingest: how the world comes into the graph,
    where that is not by ingesting its videos.
    """

    name: str
    title: str
    measure: Callable[[World, VGraph], Scores]
    variants: tuple[Variant, ...] = (Variant("all"),)
    noise: Noise = field(default_factory=Noise)
    seed: int = DEMO_SEED
    minutes: float = 3.0
    cameras: int = 5
    picture: Picture = field(default_factory=Picture)
    stage: Literal["ingest", "derive"] = "ingest"
    settings: Overrides = field(default_factory=lambda: GIVEN)
    prepare: Callable[[World, VGraph], None] | None = None
    ingest: Callable[[World, Path, VGraph], None] | None = None

    def world(self, minutes: float | None = None) -> World:
        return World.generate(
            self.seed, cameras=self.cameras, minutes=minutes or self.minutes, noise=self.noise, picture=self.picture
        )
