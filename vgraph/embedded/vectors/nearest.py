"""The nearest vectors to a query: ranked by sign bits, scored exactly, filtered before or while going through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from vgraph.embedded.arrays import NO_INTS, Array, Bools, Floats, Ints, distinct

from .memory import VectorMemory
from .signs import GONE, Query, sign_distances, sign_distances_of, smallest

Accept: TypeAlias = Callable[[Ints], Array]
Load: TypeAlias = Callable[[Ints], Floats]

_DEPTH = 24  # vectors scored exactly for each one wanted
_FEW = 0.25  # share of the vectors
_LATE = 0.01  # share of the result that may stand in the second half of those scored before twice as many are


@dataclass(slots=True)
class Changes:
    """How the caller's view differs from the memory: slots it must not see, slots it still sees, its own vectors."""

    hidden: Ints
    revived: Ints
    own_rows: Ints
    own_vectors: Floats


@dataclass(slots=True)
class Found:
    """Vectors scored exactly, best first; `late` tells those whose estimate was in the worse half."""

    rows: Ints
    scores: Array
    late: Bools


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
        changes = self.changes
        living = self.memory.count + len(changes.revived) - len(changes.hidden)
        total = living if slots is None else len(slots)
        k = min(k, total + len(own))
        if k <= 0:
            return NO_INTS, np.empty(0)
        depth = int(max(400, 64 * total**0.25, _DEPTH * k))
        keys: Array | None = None
        if depth * 2 < total and self.memory.coder is not None:
            keys = self._estimates(slots, self.memory.coder.query(self.query))
        decided: dict[int, bool] = {}
        while True:
            everything = keys is None or depth >= total
            found = self._exact(slots, keys, min(depth, total), own)
            chosen = (
                np.arange(min(k, len(found.rows)))
                if accept is None
                else _first_accepted(found.rows, k, accept, decided)
            )
            # a good vector with a bad estimate means that others were cut off: look deeper
            late = int(found.late[chosen].sum())
            if everything or (len(chosen) == k and late <= _LATE * k):
                return found.rows[chosen], found.scores[chosen]
            depth *= 2 if len(chosen) == k else 4

    def _allowed(self, candidates: Ints | None) -> tuple[Ints | None, Ints]:
        """Slots to look at (None = all that live) and which of the caller's own vectors."""
        changes = self.changes
        if candidates is None:
            return None, np.arange(len(changes.own_rows))
        candidates = distinct(np.asarray(candidates, np.int64))
        slots = self.memory.by_row.get_many(candidates).astype(np.int64)
        slots = slots[slots >= 0]
        if len(changes.hidden):
            slots = slots[~np.isin(slots, changes.hidden)]
        if len(changes.revived):
            kept = changes.revived[np.isin(self.memory.rows.view[changes.revived], candidates)]
            slots = np.concatenate([slots, kept])
        own = np.flatnonzero(np.isin(changes.own_rows, candidates)) if len(changes.own_rows) else NO_INTS
        return slots, own

    def _estimates(self, slots: Ints | None, query: Query) -> Array:
        memory = self.memory
        dead, even = memory.derived()
        if slots is not None:
            few = len(slots) < _FEW * memory.size  # else reading all in order is faster than picking
            columns = memory.columns()
            distances = (
                sign_distances_of(columns, slots, query.bits) if few else sign_distances(columns, query.bits)[slots]
            )
            return query.keys(distances, memory.radii.view[slots], even=even)
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
        chosen, late = self._promising(slots, keys, depth)
        memory = self.memory
        if chosen is None:
            chosen = self._alive()
            vectors = memory.cache.all(memory.size, chosen, self.load)
            vectors = vectors if len(chosen) == memory.size else vectors[chosen]
        else:
            vectors = memory.cache.get(chosen, self.load)
        rows = memory.rows.view[chosen]
        scores = self._scores(vectors)
        if late is None:
            late = np.zeros(len(rows), np.bool_)
        if len(own):
            rows = np.concatenate([rows, self.changes.own_rows[own]])
            scores = np.concatenate([scores, self._scores(self.changes.own_vectors[own])])
            late = np.concatenate([late, np.zeros(len(own), np.bool_)])
        order = np.argsort(scores if memory.metric == "l2" else -scores, kind="stable")
        return Found(rows[order], scores[order], late[order])

    def _promising(self, slots: Ints | None, keys: Array | None, depth: int) -> tuple[Ints | None, Bools | None]:
        """Slots to score (None = all that live) and which of them are in the worse half by estimate."""
        if keys is None:
            return slots, None
        chosen = smallest(keys, depth)
        estimates = keys[chosen]
        if slots is None:
            alive = estimates < (np.inf if keys.dtype == np.float32 else GONE)
            chosen, estimates = chosen[alive], estimates[alive]
        middle = np.partition(estimates, len(estimates) // 2)[len(estimates) // 2]
        return (chosen if slots is None else slots[chosen]), estimates > middle

    def _alive(self) -> Ints:
        living = np.ones(self.memory.size, np.bool_)
        living[self._gone(self.memory.derived()[0])] = False
        return np.flatnonzero(living)

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
