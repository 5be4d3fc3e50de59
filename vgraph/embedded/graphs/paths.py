"""Paths between two vertices: shortest, all shortest, k shortest, all within a length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .expand import Expander
from .options import PathSpec
from .walk import ALL, Document, Wants

PATH = Wants(path_vertices=ALL, path_edges=ALL)


def shortest_path(
    expander: Expander, start: Any, goal: Any, spec: PathSpec, rt: Any, *, wants: Wants = Wants(vertex=ALL, edge=ALL)
) -> Iterator[tuple[Document | None, Document | None]]:
    """(v, e) along one shortest path, e null for the start; nothing when there is none. 1948 on a negative edge weight."""
    raise NotImplementedError


def k_shortest_paths(
    expander: Expander, start: Any, goal: Any, spec: PathSpec, rt: Any, *, wants: Wants = PATH
) -> Iterator[Document]:
    """Loopless paths in order of length or weight, computed on demand: {edges, vertices, weight}."""
    raise NotImplementedError


def all_shortest_paths(
    expander: Expander, start: Any, goal: Any, spec: PathSpec, rt: Any, *, wants: Wants = PATH
) -> Iterator[Document]:
    """Every path with the fewest edges: {edges, vertices}."""
    raise NotImplementedError


def k_paths(
    expander: Expander, start: Any, goal: Any, spec: PathSpec, rt: Any, *, wants: Wants = PATH
) -> Iterator[Document]:
    """Every path of spec.min..spec.max edges that visits no vertex twice: {edges, vertices}."""
    raise NotImplementedError
