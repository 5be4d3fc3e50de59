"""OPTIONS of traversals and path searches, checked as the server checks them.

Source: ArangoDB documentation, "Graph traversals in AQL" and "Shortest Path in AQL", sections on options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vgraph.embedded.errors import ArangoError

Order = Literal["dfs", "bfs", "weighted"]
Uniqueness = Literal["none", "path", "global"]


@dataclass(frozen=True, slots=True)
class TraversalSpec:
    """How a traversal walks. `min`..`max` are depths in edges."""

    min: int = 1
    max: int = 1
    order: Order = "dfs"
    unique_vertices: Uniqueness = "none"
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


INVALID_OPTION = 1539
"""The number of the warning about an option that is unknown or of the wrong kind."""

_Setter = Callable[[Any], dict[str, Any]]


def traversal_options(min_depth: int, max_depth: int, options: Mapping[str, Any], warnings: Any) -> TraversalSpec:
    """The spec for `IN min..max … OPTIONS {…}`.

    Errors: 10 for what the server refuses (uniqueVertices global without bfs or weighted, uniqueEdges global, an
    unknown order), 1948 for a negative defaultWeight. Unknown options and values of the wrong kind warn and are
    ignored.
    """
    _check_depths(min_depth, max_depth)
    chosen = _read("TRAVERSAL", options, _TRAVERSAL, warnings)
    if chosen.pop("bfs", None) is not None:
        chosen["order"] = "bfs" if options["bfs"] else "dfs"
    spec = TraversalSpec(min_depth, max_depth, **chosen)
    if spec.unique_vertices == "global" and spec.order == "dfs":
        raise ArangoError(
            10,
            "uniqueVertices: 'global' is only supported, with order: bfs|weighted "
            "due to otherwise unpredictable results.",
        )
    return spec


def path_options(
    min_depth: int, max_depth: int, options: Mapping[str, Any], warnings: Any, kind: str = "SHORTEST_PATH"
) -> PathSpec:
    """The spec for SHORTEST_PATH, K_SHORTEST_PATHS, ALL_SHORTEST_PATHS and K_PATHS; errors as for traversals."""
    _check_depths(min_depth, max_depth)
    return PathSpec(min_depth, max_depth, **_read(kind, options, _PATH, warnings))


def _check_depths(low: int, high: int) -> None:
    if not 0 <= low <= high:
        raise ArangoError(1501, "invalid traversal depth")


def _read(statement: str, options: Mapping[str, Any], known: Mapping[str, _Setter], warnings: Any) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name, value in options.items():
        setter = known.get(name)
        try:
            if setter is None:
                raise _IgnoredError("unknown")
            chosen |= setter(value)
            if name == "order" and "bfs" in options:
                raise _IgnoredError("contradicting")
        except _IgnoredError as reason:
            warnings.add(INVALID_OPTION, f"{reason} {statement} option '{name}'")
    return chosen


class _IgnoredError(Exception):
    """An option that has no effect; the text says why."""


def _uniqueness(attribute: str, allowed: tuple[str, ...]) -> _Setter:
    def setter(value: Any) -> dict[str, Any]:
        level = value.lower() if isinstance(value, str) else None
        if attribute == "unique_edges" and level == "global":
            raise ArangoError(
                10,
                "uniqueEdges: 'global' is not supported, due to otherwise unpredictable results. "
                "Use 'path' or 'none' instead",
            )
        if level not in allowed:
            raise _IgnoredError("invalid")
        return {attribute: level}

    return setter


def _order(value: Any) -> dict[str, Any]:
    order = value.lower() if isinstance(value, str) else None
    if order not in ("dfs", "bfs", "weighted"):
        raise ArangoError(10, "order: unknown order")
    return {"order": order}


def _weight_attribute(value: Any) -> dict[str, Any]:
    if not isinstance(value, str):
        raise _IgnoredError("invalid")
    return {"weight_attribute": value} if value else {}


def _default_weight(value: Any) -> dict[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _IgnoredError("invalid")
    if value < 0:
        raise ArangoError(1948, "negative default weight not allowed")
    return {"default_weight": float(value)}


def _collections(attribute: str) -> _Setter:
    def setter(value: Any) -> dict[str, Any]:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ArangoError(
                10, "collection restrictions option must be either a string or an array of collection names"
            )
        return {attribute: frozenset(names)} if names else {}

    return setter


def _index_hint(value: Any) -> dict[str, Any]:
    """{edge collection: {direction: {depth: index or indexes}}}: checked, and of no effect."""
    if not isinstance(value, dict) or not value or not all(map(_is_directed, value.values())):
        raise _IgnoredError("invalid")
    return {}


def _is_directed(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            name.lower() in ("inbound", "outbound") and isinstance(levels, dict) and levels
            for name, levels in value.items()
        )
    )


def _no_effect(value: Any) -> dict[str, Any]:
    return {}


_WEIGHTS: dict[str, _Setter] = {"weightAttribute": _weight_attribute, "defaultWeight": _default_weight}

_TRAVERSAL: dict[str, _Setter] = {
    "bfs": lambda value: {"bfs": True},
    "order": _order,
    "uniqueVertices": _uniqueness("unique_vertices", ("none", "path", "global")),
    "uniqueEdges": _uniqueness("unique_edges", ("none", "path")),
    "vertexCollections": _collections("vertex_collections"),
    "edgeCollections": _collections("edge_collections"),
    "parallelism": _no_effect,
    "maxProjections": _no_effect,
    "indexHint": _index_hint,
    "useCache": _no_effect,
    "algorithm": _no_effect,
    **_WEIGHTS,
}

_PATH: dict[str, _Setter] = {"algorithm": _no_effect, "useCache": _no_effect, **_WEIGHTS}
