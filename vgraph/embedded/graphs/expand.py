"""Neighbour lookup in batches: for many vertices at once, all edges that lead away from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Direction = Literal["outbound", "inbound", "any"]


@dataclass(frozen=True, slots=True)
class EdgeSource:
    """An edge collection (documents.Collection) and the direction in which its edges are followed."""

    collection: Any
    direction: Direction


def edge_sources(txn: Any, collections: Iterable[str | tuple[str, Direction | None]], default: Direction) -> list[EdgeSource]:
    """Opens edge collections by name; (name, direction) overrides the traversal's own direction.

    Errors: 1203 unknown, 1218 when the collection holds documents, 1652 when a stream transaction did not declare it.
    """
    raise NotImplementedError


class Expander:
    """Neighbours, edge documents and vertex documents, each fetched for many at once and kept for the run of one plan node."""

    def __init__(self, txn: Any, sources: Sequence[EdgeSource]) -> None:
        raise NotImplementedError
