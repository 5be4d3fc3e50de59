"""How the cameras of the graph lie to one another: read for judging, written for people who know their site."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vgraph.ingest.identity.presence import Between, Sites
from vgraph.ingest.keys import edge_key
from vgraph.types import Record


def sites(found: Mapping[str, Any], uncertainty_ms: int) -> Sites:
    """From the row of list_sites.aql. A camera that says nothing of its clock may be wrong by `uncertainty_ms`."""
    between = {
        (min(way["a"], way["b"]), max(way["a"], way["b"])): Between(
            bool(way["overlapping"]), way["min_ms"] or 0, way["max_ms"]
        )
        for way in found["ways"]
    }
    wrong = {row["camera"]: row["uncertainty_ms"] for row in found["cameras"] if row["uncertainty_ms"] is not None}
    return Sites(between, wrong, uncertainty_ms)


def adjacency(a: str, b: str, between: Between) -> Record:
    """The ADJACENT_TO edge of two cameras (keys): one for both ways, from the smaller key."""
    first, second = sorted((a, b))
    return {
        "_key": adjacency_key(a, b),
        "_from": f"cameras/{first}",
        "_to": f"cameras/{second}",
        "min_travel_ms": between.min_ms,
        "max_travel_ms": between.max_ms,
        "overlapping": between.overlapping,
    }


def adjacency_key(a: str, b: str) -> str:
    first, second = sorted((a, b))
    return edge_key(first, "ADJACENT_TO", second)
