"""Ingest measured against exact truth, with each mechanism switched off in turn: `vgraph eval ingest`."""

from __future__ import annotations

from vgraph.evals.ingest import boundaries, clock, identity, relations
from vgraph.evals.ingest.run import Measured, evaluate
from vgraph.evals.ingest.topic import GIVEN, Topic, Variant

TOPICS: tuple[Topic, ...] = (identity.TOPIC, relations.TOPIC, clock.TOPIC, boundaries.TOPIC)
"""In the order of the tables."""

__all__ = ["GIVEN", "TOPICS", "Measured", "Topic", "Variant", "evaluate"]
