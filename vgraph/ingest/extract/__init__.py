"""Entities and relations of chunks: from their signals alone, and by a chat model over longer units. `extract_unit` tells the story."""

from vgraph.ingest.extract.found import Finding
from vgraph.ingest.extract.fusion import window_text
from vgraph.ingest.extract.plan import Plan
from vgraph.ingest.extract.structured import identity, names_of, structured
from vgraph.ingest.extract.tracked import followed
from vgraph.ingest.extract.unit import extract_unit, units
from vgraph.ingest.extract.vocabulary import PRESETS, Vocabulary, vocabulary

__all__ = [
    "PRESETS",
    "Finding",
    "Plan",
    "Vocabulary",
    "extract_unit",
    "followed",
    "identity",
    "names_of",
    "structured",
    "units",
    "vocabulary",
    "window_text",
]
