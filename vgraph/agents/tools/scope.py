"""What a tool is given beside its arguments: where it may look, and the models it may ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from vgraph.agents.steps import ANYWHERE, Item, Picture
from vgraph.agents.tools.rewinder import Rewinder
from vgraph.retrieve.bounds import moment, narrowed
from vgraph.retrieve.sources import Sources
from vgraph.types import EvidenceChunk, Filters

Judge = Callable[[str, Sequence[Item]], Sequence[str]]
"""Of some lines, the ids of those that bear on a question, by a language model."""

Cameras = Annotated[list[str] | None, Field(description="Only these cameras, by label or key.")]
Start = Annotated[str | None, Field(description="Only from this time on, ISO 8601, in the cameras' zone.")]
End = Annotated[str | None, Field(description="Only before this time, ISO 8601.")]
Name = Annotated[str, Field(min_length=1, max_length=300, description="The name of a person or thing, or its key.")]
Names = Annotated[list[Name], Field(min_length=1, max_length=10)]
Types = Annotated[list[str] | None, Field(description="Only entities of these types, such as person.")]
Queries = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=300)]],
    Field(min_length=1, max_length=3, description="At most three: single words or short noun phrases."),
]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a tool looks: `filters` are those of the run, and no argument leads out of them."""

    sources: Sources
    filters: Filters = ANYWHERE
    judge: Judge | None = None
    rewinder: Rewinder | None = None

    def within(self, cameras: Sequence[str] | None = None, start: str | None = None, end: str | None = None) -> Filters:
        """The run's filters, narrowed by the arguments of a call. Raises UserError and NotFoundError for what cannot be read."""
        keys = None if cameras is None else tuple(self.sources.camera(name) for name in cameras)
        zone = self.sources.zone(narrowed(self.filters, Filters(cameras=keys)))
        first, last = (None if text is None else moment(text, zone) for text in (start, end))
        return narrowed(self.filters, Filters(keys, start_ms=first, end_ms=last))


@dataclass(frozen=True, slots=True)
class Found:
    """What a tool gives: the parts of an Observation (see steps.py)."""

    items: tuple[Item, ...] = ()
    chunks: tuple[EvidenceChunk, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
