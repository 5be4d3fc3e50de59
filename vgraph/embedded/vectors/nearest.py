"""The nearest vectors to a query: ranked by sign bits, the best again by the query's own values, the best of those scored exactly.

A filter is applied before, or while going through them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from vgraph.embedded.arrays import NO_INTS, Array, Floats, Ints, distinct

from .memory import VectorMemory
from .signs import GONE, Query, sign_distances, sign_distances_of, smallest, squares

Accept: TypeAlias = Callable[[Ints], Array]
Load: TypeAlias = Callable[[Ints], Floats]

_LEAST = 200  # vectors looked at again before the result is believed
_GROWTH = 32  # the same for 2**(4n) vectors, as a multiple of 2**n
_DEPTH = 12  # the same for each one wanted
_SCORED = 3  # one in so many of them is scored exactly, the best by the finer estimate
_LEAST_SCORED = 100
_SCORED_EACH = 5  # the same for each one wanted
_FEW = 0.25  # share of the vectors
_HALVED = 65_536  # vectors of which half of the signs are read at first
_KEPT = 8  # as many of those are kept for each one looked at
_EARLY = 0.4  # a good vector has an estimate among the best of those looked at: this share of them
_FINE = 0.6  # and a finer one among the best of those scored
_LATE = 0.01  # share of the result that may have a worse one before twice as many are looked at
_MARKED = 6  # more than one slot in 2**6 are sorted by marking them
_BLOCK = 128  # vectors scored at once: their copy stays in the processor's cache


@dataclass(slots=True)
class Changes:
    """How the caller's view differs from the memory: slots it must not see, slots it still sees, its own vectors."""

    hidden: Ints
    revived: Ints
    own_rows: Ints
    own_vectors: Floats


@dataclass(slots=True)
class Found:
    """Vectors scored exactly, best first, with what was estimated of them, least first (the caller's own: nothing)."""

    rows: Ints
    scores: Array
    estimates: Array
    fine: Array


@dataclass(slots=True)
class Waiting:
    """Slots that look good, with what was estimated of them; not scored yet."""

    slots: Ints
    estimates: Array
    fine: Array

    def and_more(self, more: Waiting) -> Waiting:
        if not len(self.slots):
            return more
        return Waiting(
            np.concatenate([self.slots, more.slots]),
            np.concatenate([self.estimates, more.estimates]),
            np.concatenate([self.fine, more.fine]),
        )

    def split(self, count: int) -> tuple[Waiting, Waiting]:
        """The best `count` by the finer estimate, in the order of their slots, and the others."""
        if count >= len(self.slots):
            return self, self.take(NO_INTS)
        order = np.argpartition(self.fine, count)
        return self.take(np.sort(order[:count])), self.take(order[count:])

    def take(self, places: Ints) -> Waiting:
        return Waiting(self.slots[places], self.estimates[places], self.fine[places])


@dataclass(frozen=True, slots=True)
class _Field:
    """Slots to look at (None: all) and their estimates (None: none are needed); `query` makes finer ones.

    `total`: how many there are in all; `deepest`: how many may be looked at, all of them if it is as many.
    """

    slots: Ints | None
    keys: Array | None
    query: Query | None
    total: int
    deepest: int


class Nearest:
    """One search. `load` reads the vectors of slots from the file."""

    def __init__(self, memory: VectorMemory, query: Floats, changes: Changes, load: Load) -> None:
        self.memory = memory
        self.query = query
        self.changes = changes
        self.load = load
        self._length = float(np.linalg.norm(query))

    def search(self, k: int, candidates: Ints | None, accept: Accept | None) -> tuple[Ints, Array]:
        """Rows and scores, best first; fewer than k only when there are no more."""
        slots, own = self._allowed(candidates)
        changes = self.changes
        living = self.memory.count + len(changes.revived) - len(changes.hidden)
        total = living if slots is None else len(slots)
        k = min(k, total + len(own))
        if k <= 0:
            return NO_INTS, np.empty(0)
        depth = int(max(_LEAST, _GROWTH * total**0.25, _DEPTH * k))
        for field in self._fields(slots, total, depth, accept):
            found = self._within(field, k, own, depth, accept)
            if found is not None:
                return found
        raise AssertionError("the last field has all there is")

    def _fields(self, slots: Ints | None, total: int, depth: int, accept: Accept | None) -> Iterator[_Field]:
        """Where to look: at those that half of their signs speak for, when there are many; then at all of them."""
        if depth * 4 >= total or self.memory.coder is None:
            yield _Field(slots, None, None, total, total)
            return
        query = self.memory.coder.query(self.query)
        if accept is None and total >= _HALVED:
            kept, keys = self._kept_by_half(slots, query, _KEPT * depth)
            yield _Field(kept, keys, query, total, 2 * depth)
        yield _Field(slots, self._estimates(slots, query), None if accept else query, total, total)

    def _within(self, field: _Field, k: int, own: Ints, depth: int, accept: Accept | None) -> tuple[Ints, Array] | None:
        """Rows and scores from a field; None when it would have to be looked through deeper than it is good for."""
        keys, total = field.keys, field.total
        decided: dict[int, bool] = {}
        found, edge, scored = self._own(own), None, 0
        waiting = Waiting(NO_INTS, np.empty(0), np.empty(0))
        while depth <= field.deepest or field.deepest == total:
            everything = keys is None or depth >= total
            promising, edge, early = self._promising(field.slots, keys, min(depth, total), edge)
            waiting = waiting.and_more(self._waiting(promising, field))
            enough = max(_LEAST_SCORED, _SCORED_EACH * k, depth // _SCORED)
            now, waiting = waiting.split(len(waiting.slots) if everything or accept else enough - scored)
            scored += len(now.slots)
            found = self._with(found, now)
            chosen = (
                np.arange(min(k, len(found.rows)))
                if accept is None
                else _first_accepted(found.rows, k, accept, decided)
            )
            # a good vector with a bad estimate means that others were cut off: look deeper
            late = 0 if everything else self._late(found, chosen, early)
            if everything or (len(chosen) == k and late <= _LATE * k):
                return found.rows[chosen], found.scores[chosen]
            depth *= 2 if len(chosen) == k else 4
        return None

    def _kept_by_half(self, slots: Ints | None, query: Query, count: int) -> tuple[Ints, Array]:
        """The `count` slots that the first half of the signs speaks for, and the estimates from all of their signs."""
        memory = self.memory
        even = memory.derived()[1]
        columns, radii = memory.columns(), memory.radii.view
        half = len(columns) // 2
        first = replace(query, bits=query.bits[:half])
        distances = self._distances(slots, columns[:half], first)
        kept = smallest(first.keys(distances, radii if slots is None else radii[slots], even=even), count)
        kept = kept[distances[kept] < GONE]
        chosen = kept if slots is None else slots[kept]
        whole = distances[kept] + sign_distances_of(columns[half:], chosen, query.bits[half:])
        return chosen, query.keys(whole, radii[chosen], even=even)

    @staticmethod
    def _late(found: Found, chosen: Ints, early: Any) -> int:
        """How many of the result have an estimate that only just let them in."""
        fine = np.partition(found.fine, int(len(found.fine) * _FINE))[int(len(found.fine) * _FINE)]
        return int(((found.estimates[chosen] > early) | (found.fine[chosen] > fine)).sum())

    def _allowed(self, candidates: Ints | None) -> tuple[Ints | None, Ints]:
        """Slots to look at (None = all that live) and which of the caller's own vectors."""
        changes = self.changes
        if candidates is None:
            return None, np.arange(len(changes.own_rows))
        candidates = np.asarray(candidates, np.int64)
        slots = self._slots_of(candidates)
        if len(changes.hidden):
            slots = slots[~np.isin(slots, changes.hidden)]
        if len(changes.revived):
            kept = changes.revived[np.isin(self.memory.rows.view[changes.revived], candidates)]
            slots = np.concatenate([slots, kept])
        own = np.flatnonzero(np.isin(changes.own_rows, candidates)) if len(changes.own_rows) else NO_INTS
        return slots, own

    def _slots_of(self, rows: Ints) -> Ints:
        """The slots that some rows have, ascending and each once."""
        slots = self.memory.by_row.get_many(rows)
        if len(slots) <= self.memory.size >> _MARKED:
            return distinct(slots[slots >= 0].astype(np.int64))
        marked = np.zeros(self.memory.size + 1, np.bool_)  # -1, no slot, is the last one
        marked[slots] = True
        return np.flatnonzero(marked[:-1])

    def _estimates(self, slots: Ints | None, query: Query) -> Array:
        memory = self.memory
        distances = self._distances(slots, memory.columns(), query)
        radii = memory.radii.view
        return query.keys(distances, radii if slots is None else radii[slots], even=memory.derived()[1])

    def _distances(self, slots: Ints | None, columns: Sequence[Array], query: Query) -> Array:
        """Differing signs of some slots, or of all: GONE of those that are dead."""
        if slots is not None:
            few = len(slots) < _FEW * self.memory.size  # else reading all in order is faster than picking
            return sign_distances_of(columns, slots, query.bits) if few else sign_distances(columns, query.bits)[slots]
        distances = sign_distances(columns, query.bits)
        gone = self._gone(self.memory.derived()[0])
        if len(gone):
            distances[gone] = GONE
        return distances

    def _gone(self, dead: Ints) -> Ints:
        if len(self.changes.revived):
            dead = dead[~np.isin(dead, self.changes.revived)]
        return np.concatenate([dead, self.changes.hidden]) if len(self.changes.hidden) else dead

    # ---------------------------------------------------------------------------------------- exact values

    def _own(self, own: Ints) -> Found:
        """The caller's own vectors, scored."""
        vectors = self.changes.own_vectors[own]
        scores = self._scores(vectors, squares(vectors))
        best = np.full(len(own), -np.inf)
        return Found(self.changes.own_rows[own], scores, best, best)

    def _promising(self, slots: Ints | None, keys: Array | None, depth: int, edge: Any) -> tuple[Ints, Any, Any]:
        """Positions of the `depth` least keys above `edge`; the new edge; and the key below which _EARLY of them all lie."""
        if keys is None:
            return (self._alive() if slots is None else np.arange(len(slots))), None, None
        positions = smallest(keys, depth)
        estimates = keys[positions]
        last, early = (
            estimates.max(),
            np.partition(estimates, int(len(estimates) * _EARLY))[int(len(estimates) * _EARLY)],
        )
        kept = estimates < (GONE if keys.dtype == np.uint16 else np.inf)
        if edge is not None:
            kept &= estimates > edge
        return positions[kept], last, early

    def _waiting(self, promising: Ints, field: _Field) -> Waiting:
        """Some positions of a field with their finer estimates, if it has any."""
        chosen = promising if field.slots is None else field.slots[promising]
        none = np.zeros(len(chosen))
        if field.keys is None:
            return Waiting(chosen, none, none)
        if field.query is None:
            return Waiting(chosen, field.keys[promising], none)
        radii = self.memory.radii.view[chosen]
        return Waiting(chosen, field.keys[promising], field.query.fine(self.memory.columns(), chosen, radii))

    def _with(self, found: Found, more: Waiting) -> Found:
        """What was found before and more vectors, scored and sorted."""
        memory = self.memory
        chosen = more.slots
        memory.cache.ensure(chosen, self.load)
        parts = [chosen[start : start + _BLOCK] for start in range(0, len(chosen), _BLOCK)]
        scores = [self._scores(memory.cache.rows(part), memory.cache.squares(part)) for part in parts]
        rows = np.concatenate([found.rows, memory.rows.view[chosen]])
        every = np.concatenate([found.scores, *scores])
        order = np.argsort(every if memory.metric == "l2" else -every, kind="stable")
        estimates, fine = (
            np.concatenate(pair)[order] for pair in ((found.estimates, more.estimates), (found.fine, more.fine))
        )
        return Found(rows[order], every[order], estimates, fine)

    def _alive(self) -> Ints:
        living = np.ones(self.memory.size, np.bool_)
        living[self._gone(self.memory.derived()[0])] = False
        return np.flatnonzero(living)

    def _scores(self, vectors: Floats, lengths: Floats) -> Array:
        """Similarity, product or distance in double precision sums of single precision products; `lengths` are squares."""
        query = self.query
        metric = self.memory.metric
        if metric == "l2":
            distances: Array = np.sqrt(squares(vectors - query).astype(np.float64))
            return distances
        products = (vectors @ query).astype(np.float64)
        if metric == "innerProduct":
            return products
        norms = np.sqrt(lengths.astype(np.float64)) * self._length
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
