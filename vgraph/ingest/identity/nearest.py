"""The nearest of many vectors without comparing all with all: a forest of trees, each cutting the vectors in two until few are left.

A tree cuts along the line between two means (as Annoy and FAISS' trees do, Dasgupta and Freund 2008), so that its leaves follow where
vectors lie and hold as many of them however many there are: the work is n log n. Whoever shares a leaf with somebody in any tree is
compared exactly. The same vectors in the same order give the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TREES: Final = 16
LEAF: Final = 128
"""Vectors in a leaf, at most. With so many trees and half as many in a leaf, 98 in 100 of the eight nearest were found among 12,500, and
90 among 50,000."""
SAMPLE: Final = 64
"""Of a node's vectors, to find the two means it is cut between."""
STEPS: Final = 3
SEED: Final = 100
NONE: Final = -2.0
"""No cosine is so low."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """For each vector (by key) those nearest to it, the nearest first; `rows` holds their numbers, -1 where there is none."""

    keys: Sequence[str]
    numbers: Mapping[str, int]
    rows: NDArray[np.int32]

    def of(self, key: str) -> Iterator[str]:
        number = self.numbers.get(key)
        if number is not None:
            yield from (self.keys[other] for other in self.rows[number] if other >= 0)


def neighbours(keys: Sequence[str], vectors: NDArray[np.float32], most: int, least: float) -> Neighbours:
    """The `most` nearest of each vector (rows, normalised) whose cosine is at least `least`, as far as the forest finds them."""
    import numpy as np

    rows = np.full((len(keys), most), -1, np.int32)
    cosines = np.full((len(keys), most), NONE, np.float32)
    for tree in range(TREES if len(keys) > LEAF else 1):
        for leaf in _leaves(vectors, np.random.default_rng(SEED + tree)):
            _compare(leaf, vectors, least, rows, cosines)
    return Neighbours(keys, {key: number for number, key in enumerate(keys)}, rows)


def _leaves(vectors: NDArray[np.float32], chance: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """The numbers of the vectors of each leaf of one tree."""
    import numpy as np

    left = [np.arange(len(vectors))]
    while left:
        node = left.pop()
        if len(node) <= LEAF:
            yield node
            continue
        along = vectors[node] @ _between(vectors, node, chance)
        half = len(node) // 2
        order = np.argpartition(along, half)
        left += [np.sort(node[order[:half]]), np.sort(node[order[half:]])]


def _between(vectors: NDArray[np.float32], node: NDArray[np.int64], chance: np.random.Generator) -> NDArray[np.float32]:
    """The line between two means of some of a node's vectors: 2-means, its halves kept even."""
    import numpy as np

    some = vectors[chance.choice(node, min(len(node), SAMPLE), replace=False)]
    line: NDArray[np.float32] = some[0] - some[1]
    for _ in range(STEPS):
        along = some @ line
        above = along > np.median(along)
        if not above.any() or above.all():
            break
        line = some[above].mean(0) - some[~above].mean(0)
    return line


def _compare(
    leaf: NDArray[np.int64],
    vectors: NDArray[np.float32],
    least: float,
    rows: NDArray[np.int32],
    cosines: NDArray[np.float32],
) -> None:
    """Let each of a leaf keep the nearest of what it had and of the others in the leaf; of equals the first by number."""
    import numpy as np

    found = vectors[leaf]
    alike = found @ found.T
    np.fill_diagonal(alike, NONE)
    alike[alike < least] = NONE
    told = np.flatnonzero(alike.max(1, initial=NONE) > NONE)
    if not len(told):
        return
    alike, most = alike[told], min(rows.shape[1], len(leaf) - 1)
    near = np.argpartition(-alike, most - 1, axis=1)[:, :most]
    others = np.concatenate((rows[leaf[told]], leaf[near].astype(np.int32)), axis=1)
    both = np.concatenate((cosines[leaf[told]], np.take_along_axis(alike, near, 1)), axis=1)
    rows[leaf[told]], cosines[leaf[told]] = _best(others, both, rows.shape[1])


def _best(
    others: NDArray[np.int32], cosines: NDArray[np.float32], most: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The `most` of each row with the highest cosine, each once, by number where they are equal."""
    import numpy as np

    order = np.argsort(others, axis=1, kind="stable")
    others, cosines = np.take_along_axis(others, order, 1), np.take_along_axis(cosines, order, 1)
    cosines[:, 1:][others[:, 1:] == others[:, :-1]] = NONE
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :most]
    others, cosines = np.take_along_axis(others, order, 1), np.take_along_axis(cosines, order, 1)
    others[cosines == NONE] = -1
    return others, cosines
