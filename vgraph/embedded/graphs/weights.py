"""Edge weights, and a priority queue that breaks ties as the server's does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from vgraph.embedded.errors import ArangoError

from .expand import Expander
from .options import PathSpec, TraversalSpec


class Weights:
    """The weight of an edge: its attribute if that is a number, else the default; without an attribute every edge
    weighs 1.
    """

    def __init__(self, expander: Expander, spec: TraversalSpec | PathSpec) -> None:
        self._expander = expander
        self._attribute = spec.weight_attribute
        self._default = spec.default_weight
        self._known: dict[int, float] = {}

    def load(self, tokens: Iterable[int]) -> None:
        """Reads the weights of many edges at once; 1948 when one is negative."""
        if self._attribute is None:
            return
        missing = [token for token in tokens if token not in self._known]
        if not missing:
            return
        documents = self._expander.edges(missing, frozenset((self._attribute,)))
        for token in missing:
            self._known[token] = self._weight(documents[token])

    def _weight(self, edge: dict[str, object] | None) -> float:
        value = edge.get(self._attribute) if edge and self._attribute else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self._default
        if value < 0:
            raise ArangoError(1948)
        return value

    def __getitem__(self, token: int) -> float:
        if self._attribute is None:
            return 1
        if token not in self._known:
            self.load((token,))
        return self._known[token]


class Weighted(Protocol):
    """Anything with a weight, the least of which leaves the queue first."""

    weight: float


W = TypeVar("W", bound=Weighted)


class WeightQueue(Generic[W]):
    """A binary heap in which an equal newcomer rises above its elders.

    The order among equal weights shows in results, and a heap's depends on its sift rule: here an entry is moved aside
    by one that is not heavier, and removal sinks the hole to a leaf before the last entry rises from there (Floyd's
    variant).
    """

    def __init__(self) -> None:
        self.entries: list[W] = []

    def __len__(self) -> int:
        return len(self.entries)

    def push(self, entry: W) -> None:
        self.entries.append(entry)
        self._rise(len(self.entries) - 1, entry)

    def pop(self) -> W:
        entries = self.entries
        first, last = entries[0], entries.pop()
        if entries:
            self._rise(self._sink(), last)
        return first

    def _rise(self, hole: int, entry: W) -> None:
        entries, weight = self.entries, entry.weight
        while hole:
            above = (hole - 1) >> 1
            if entries[above].weight < weight:
                break
            entries[hole] = entries[above]
            hole = above
        entries[hole] = entry

    def _sink(self) -> int:
        """Moves the hole at the top down along the lighter children; returns where it ends."""
        entries, hole = self.entries, 0
        size = len(entries)
        while (right := 2 * hole + 2) < size:
            child = right - 1 if entries[right].weight >= entries[right - 1].weight else right
            entries[hole] = entries[child]
            hole = child
        if right == size:
            entries[hole] = entries[right - 1]
            hole = right - 1
        return hole
