"""Analyzers that rest on a fastText model. Their definitions are checked; there is no fastText here to load a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vgraph.embedded.errors import unsupported

from .analyzer_base import Analyzer, bad, text_property


class Learned(Analyzer):
    """Labels or words that a model gives for a text."""

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        location = text_property(given, "model_location")
        top = given.get("top_k", 1)
        if isinstance(top, bool) or not isinstance(top, int) or not 0 <= top < 1 << 31:
            raise bad("analyzer property 'top_k' must be a non-negative integer")
        if not Path(location).is_file():
            raise bad(f"failure initializing an analyzer of type '{self.type}': no fastText model at '{location}'")
        raise unsupported(f"analyzer type '{self.type}': loading fastText models")


class Classification(Learned):
    type = "classification"

    def configure(self, given: dict[str, Any]) -> dict[str, Any]:
        threshold = given.get("threshold", 0.99)
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
            raise bad("analyzer property 'threshold' must be a number between 0 and 1")
        return super().configure(given)


class NearestNeighbors(Learned):
    type = "nearest_neighbors"
