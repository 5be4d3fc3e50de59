"""The nearest vectors to a query: ranked by sign bits, scored exactly, filtered before or while going through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..search.arrays import NO_INTS, Array, Floats, Ints
from .memory import VectorMemory
from .signs import GONE, Query, sign_distances, sign_distances_of, smallest

Accept: TypeAlias = Callable[[Ints], Array]
Load: TypeAlias = Callable[[Ints], Floats]

_DEPTH = 24  # vectors scored exactly for each one wanted


@dataclass(slots=True)
class Changes:
    """How the caller's view differs from the memory: slots it must not see, slots it still sees, its own vectors."""

    hidden: Ints
    revived: Ints
    own_rows: Ints
    own_vectors: Floats


@dataclass(slots=True)
class Found:
    rows: Ints
    scores: Array  # as the caller sees them
    order: Array  # least first


class Nearest:
    """One search. `load` reads the vectors of slots from the file."""

    def __init__(self, memory: VectorMemory, query: Floats, changes: Changes, load: Load) -> None:
        self.memory = memory
        self.query = query
        self.changes = changes
        self.load = load

    def search(self, k: int, candidates: Ints | None, accept: Accept | None) -> tuple[Ints, Array]:
        """Rows and scores, best first; fewer than k only when there are no more."""
        slots, own = self._allowed(candidates)
        total = self.memory.count + len(self.changes.revived) if slots is None else len(slots)
        k = min(k, total + len(own))
        if k <= 0:
            return NO_INTS, np.empty(0)
        depth = int(max(400, 64 * total**0.25, _DEPTH * k))
        keys: Array | None = None
        if depth * 2 < total and self.memory.coder is not None:
            keys = self._estimates(slots, self.memory.coder.query(self.query))
        if accept is None:
            found = self._exact(slots, keys, depth, own)
            return self._final(found, np.arange(k))
        return self._accepted(k, slots, keys, depth, own, accept, total)

    def _allowed(self, candidates: Ints | None) -> tuple[Ints | None, Ints]:
        """Slots to look at (None = all that live) and which of the caller's own vectors."""
        changes = self.changes
        if candidates is None:
            return None, np.arange(len(changes.own_rows))
        candidates = np.unique(np.asarray(candidates, np.int64))
        slots = self.memory.by_row.get_many(candidates).astype(np.int64)
        slots = slots[slots >= 0]
        if len(changes.hidden):
            slots = slots[~np.isin(slots, changes.hidden)]
        if len(changes.revived):
            kept = changes.revived[np.isin(self.memory.rows.view[changes.revived], candidates)]
            slots = np.concatenate([slots, kept])
        return slots, np.flatnonzero(np.isin(changes.own_rows, candidates))

    def _estimates(self, slots: Ints | None, query: Query) -> Array:
        memory = self.memory
        dead, even = memory.derived()
        if slots is not None:
            return query.keys(sign_distances_of(memory.columns(), slots, query.bits), memory.radii.view[slots], even=even)
        distances = sign_distances(memory.columns(), query.bits)
        gone = self._gone(dead)
        if len(gone):
            distances[gone] = GONE
        return query.keys(distances, memory.radii.view, even=even)

    def _gone(self, dead: Ints) -> Ints:
        if len(self.changes.revived):
            dead = dead[~np.isin(dead, self.changes.revived)]
        return np.concatenate([dead, self.changes.hidden]) if len(self.changes.hidden) else dead

    # ---------------------------------------------------------------------------------------- exact values

    def _exact(self, slots: Ints | None, keys: Array | None, depth: int, own: Ints) -> Found:
        """The `depth` most promising slots (all without keys) and the caller's own vectors, scored and sorted."""
        memory = self.memory
        if keys is not None:
            chosen = smallest(keys, depth)
            chosen = chosen if slots is not None else chosen[self._living(keys[chosen])]
            chosen = chosen if slots is None else slots[chosen]
            vectors = memory.cache.get(chosen, self.load)
        elif slots is not None:
            chosen, vectors = slots, memory.cache.get(slots, self.load)
        else:
            gone = self._gone(memory.derived()[0])
            living = np.ones(memory.size, np.bool_)
            living[gone] = False
            chosen = np.flatnonzero(living)
            vectors = memory.cache.all(memory.size, chosen, self.load)
            if len(chosen) < memory.size:
                vectors = vectors[chosen]
        rows = memory.rows.view[chosen]
        scores = self._scores(vectors)
        if len(own):
            rows = np.concatenate([rows, self.changes.own_rows[own]])
            scores = np.concatenate([scores, self._scores(self.changes.own_vectors[own])])
        order = np.argsort(scores if self.memory.metric == "l2" else -scores, kind="stable")
        return Found(rows[order], scores[order], order)

    @staticmethod
    def _living(keys: Array) -> Array:
        alive: Array = keys < (np.inf if keys.dtype == np.float32 else GONE)
        return alive

    def _scores(self, vectors: Floats) -> Array:
        """Similarity, product or distance in double precision sums of single precision products."""
        query = self.query
        metric = self.memory.metric
        if metric == "l2":
            apart = vectors - query
            distances: Array = np.sqrt(np.einsum("ij,ij->i", apart, apart).astype(np.float64))
            return distances
        products = (vectors @ query).astype(np.float64)
        if metric == "innerProduct":
            return products
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors).astype(np.float64)) * float(np.linalg.norm(query))
        cosines: Array = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
        return np.clip(cosines, -1.0, 1.0)

    @staticmethod
    def _final(found: Found, chosen: Array) -> tuple[Ints, Array]:
        return found.rows[chosen], found.scores[chosen]

    # -------------------------------------------------------------------------------------------- filtering

    def _accepted(
        self, k: int, slots: Ints | None, keys: Array | None, depth: int, own: Ints, accept: Accept, total: int
    ) -> tuple[Ints, Array]:
        """Go through the best first until k are accepted, deeper while they are not.

        When the k-th stands far down, as many more candidates are scored as keep the search exact for it.
        """
        decided: dict[int, bool] = {}
        deepened = keys is None
        while True:
            found = self._exact(slots, keys, depth, own)
            chosen = _first_accepted(found.rows, k, accept, decided)
            everything = keys is None or depth >= total
            if len(chosen) == k:
                needed = _DEPTH * (int(chosen[-1]) + 1)
                if deepened or everything or needed <= depth:
                    return self._final(found, chosen)
                deepened = True
                depth = min(total, needed)
            elif everything:
                return self._final(found, chosen)
            else:
                depth = min(total, 4 * depth)


def _first_accepted(rows: Ints, k: int, accept: Accept, decided: dict[int, bool]) -> Array:
    """Positions of the first k rows that pass; `decided` remembers what was asked before."""
    passed: list[int] = []
    batch = max(64, 2 * k)
    start = 0
    while start < len(rows) and len(passed) < k:
        part = rows[start : start + batch].tolist()
        unknown = [row for row in part if row not in decided]
        if unknown:
            answers = accept(np.array(unknown, np.int64))
            decided.update(zip(unknown, np.asarray(answers, np.bool_).tolist(), strict=True))
        passed += [start + at for at, row in enumerate(part) if decided[row]]
        start += batch
        batch = min(batch * 2, 4096)
    return np.array(passed[:k], np.int64)
