"""OPTIONS of traversals and path searches, checked as the server checks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class TraversalSpec:
    """How a traversal walks. `min`..`max` are depths in edges."""

    min: int = 1
    max: int = 1
    order: Literal["dfs", "bfs", "weighted"] = "dfs"
    unique_vertices: Literal["none", "path", "global"] = "none"
    unique_edges: Literal["none", "path"] = "path"
    weight_attribute: str | None = None
    default_weight: float = 1.0
    vertex_collections: frozenset[str] | None = None
    edge_collections: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PathSpec:
    """How paths between two vertices are measured; `min` and `max` matter to K_PATHS only."""

    min: int = 1
    max: int = 1
    weight_attribute: str | None = None
    default_weight: float = 1.0


def traversal_options(min_depth: int, max_depth: int, options: Mapping[str, Any], warnings: Any) -> TraversalSpec:
    """The spec for `IN min..max … OPTIONS {…}`.

    Errors: 10 for combinations the server refuses (uniqueVertices global with dfs, uniqueEdges global), 1948 for a negative
    defaultWeight. Unknown options and values of the wrong kind warn (1575) and are ignored.
    """
    raise NotImplementedError


def path_options(min_depth: int, max_depth: int, options: Mapping[str, Any], warnings: Any) -> PathSpec:
    """The spec for SHORTEST_PATH, K_SHORTEST_PATHS, ALL_SHORTEST_PATHS and K_PATHS; errors as for traversals."""
    raise NotImplementedError
