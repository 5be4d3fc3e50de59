"""Which stage depends on what: one configuration hash a stage, with its upstream's, so that a change has only its own consequences.

segment -> look -> read, caption -> extract -> chunks
hear, follow -> extract (and caption, where captions are told what is said or shown what is followed; and segment, where speech cuts)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vgraph.ingest.keys import content_key
from vgraph.ingest.options import Options, Stage, Tools, described
from vgraph.types import Sidecars

ORDER: Final[tuple[Stage, ...]] = (
    "hear", "segment", "follow", "look", "read", "caption", "extract", "embed", "chunks",
)  # fmt: skip
MODELS: Final[Mapping[Stage, str]] = {
    "hear": "transcriber",
    "follow": "detector",
    "look": "image_embedder",
    "read": "reader",
    "caption": "captioner",
    "extract": "chat",
    "embed": "embedder",
}
"""The model whose answers a stage is made of."""

UNNAMED: Final[Mapping[str, str]] = {}
COMPLETE: Final = "complete"


def configurations(
    options: Options, tools: Tools, sidecars: Sidecars, names: Mapping[str, str] = UNNAMED
) -> dict[str, str]:
    """A hash for each stage: its options, its model, what is given in the model's place, and the stages before it.

    `names` are those that tracks (by id) are drawn with for captioners.

    When it began is not among them: another start, or a clock that was fitted anew, moves times and nothing else.
    """
    given = {
        "hear": sidecars.utterances,
        "follow": sidecars.detections,
        "caption": (sidecars.captions, sorted(names.items())) if names else sidecars.captions,
    }
    made: dict[str, str] = {}
    for stage in ORDER:
        model = _model(stage, tools, options)
        own = (repr(sorted(options.of_stage(stage).items())), model, repr(given.get(stage, ())))
        before = [made[name] for name in upstream(stage, options)]
        made[stage] = content_key(stage, *own, *before)
    return made


def upstream(stage: Stage, options: Options) -> tuple[Stage, ...]:
    """The stages whose results a stage is made from."""
    match stage:
        case "look":
            return ("segment",)
        case "read":
            return ("look",)
        case "segment":
            return ("hear",) if options.segmenter == "subtitle" else ()
        case "caption":
            told: tuple[Stage, ...] = ("hear",) if options.caption_hears else ()
            drawn: tuple[Stage, ...] = ("follow",) if options.draw_tracks else ()
            return ("look", *told, *drawn)
        case "extract":
            return ("caption", "read", "hear", "follow")
        case "chunks":
            return ("extract", "embed")
        case _:
            return ()


def _model(stage: Stage, tools: Tools, options: Options) -> str:
    needs = [MODELS[stage]] if stage in MODELS else []
    if stage == "hear":
        needs.append("diarizer")
    if stage == "extract" and tools.chat is None:
        needs.append("finder")
    if (stage == "follow" and options.track_looks) or (stage == "segment" and options.segmenter == "event"):
        needs.append("image_embedder")
    models: list[Any] = [getattr(tools, need, None) for need in needs]
    return " ".join(described(model) for model in models if model is not None)
