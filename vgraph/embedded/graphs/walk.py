"""Traversals: depth first, breadth first and by weight, with pruning and conditions inside the walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .expand import Expander
from .options import TraversalSpec

ALL = None
"""A want for whole documents (the same meaning as projection=None of documents.Collection.fetch)."""

Projection = frozenset[str] | None
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wants:
    """What a consumer reads of a result; everything else is neither fetched nor built.

    Each of vertex, edge, path_vertices and path_edges is False (not read), ALL (whole documents) or a frozenset of top-level
    attribute names. A vertex that is read is checked for existence even with an empty set (dangling edges give null).
    """

    vertex: Projection | bool = False
    edge: Projection | bool = False
    path_vertices: Projection | bool = False
    path_edges: Projection | bool = False
    path_weights: bool = False


Prune = Callable[[Any, Document | None, Document | None, Document | None], bool]
AcceptEdge = Callable[[Any, int, Document], bool]
AcceptVertex = Callable[[Any, int, Document | None], bool]


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Conditions evaluated inside the walk; each gets the origin first and says what it reads.

    prune(origin, v, e, p)            true: the result itself may be returned, the walk does not go on from it. The start vertex
                                      is asked too, with e null.
    accept_edge(origin, index, e)     false: no path whose edge number `index` (p.edges[index]) is e is returned or followed.
    accept_vertex(origin, index, v)   likewise for p.vertices[index]; index 0 is the start vertex.
    edge_depths / vertex_depths       the indexes at which the two are asked; None = all of them.
    """

    prune: Prune | None = None
    prune_wants: Wants = Wants()
    accept_edge: AcceptEdge | None = None
    accept_edge_wants: Projection = ALL
    edge_depths: frozenset[int] | None = None
    accept_vertex: AcceptVertex | None = None
    accept_vertex_wants: Projection = ALL
    vertex_depths: frozenset[int] | None = None


def traverse(
    expander: Expander,
    starts: Iterable[tuple[Any, Any]],
    spec: TraversalSpec,
    rt: Any,
    *,
    wants: Wants = Wants(vertex=ALL, edge=ALL, path_vertices=ALL, path_edges=ALL, path_weights=True),
    callbacks: Callbacks = Callbacks(),
) -> Iterator[tuple[Any, Document | None, Document | None, Document | None]]:
    """All paths of spec.min..spec.max edges from each (origin, start), start by start, as (origin, v, e, p).

    A start is an id string or an object with `_id`; anything else warns (10) and gives nothing. What `wants` leaves out comes
    as None (and path keys not wanted are absent). Starts are taken a few ahead, results are computed in growing batches: a
    consumer that stops early has cost little.
    """
    raise NotImplementedError
