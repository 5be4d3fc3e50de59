"""Edit distances of one word to many at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from vgraph.embedded.arrays import Array


def similar_terms(
    terms: Sequence[str], prefix: str, target: str, distance: int, transpositions: bool
) -> list[tuple[str, float]]:
    """(term, 1 - distance / length of the shorter) of the terms that are `prefix` and then at most `distance` edits
    from `target`, the most similar first. With `transpositions` swapping neighbours is one edit (and the swapped pair
    is not edited further, as in the automaton of ArangoSearch)."""
    by_length: defaultdict[int, list[str]] = defaultdict(list)
    skip = len(prefix)
    for term in terms:
        if abs(len(term) - skip - len(target)) <= distance:
            by_length[len(term) - skip].append(term)
    size = max(1, skip + len(target))
    found: list[tuple[str, float]] = []
    for length, group in by_length.items():
        distances = _distances([term[skip:] for term in group], length, target, transpositions)
        for term, edits in zip(group, distances.tolist(), strict=True):
            if edits <= distance:
                found.append((term, max(0.0, 1.0 - edits / max(1, min(len(term), size)))))
    found.sort(key=lambda entry: (-entry[1], entry[0]))
    return found


def _distances(words: list[str], length: int, target: str, transpositions: bool) -> Array:
    """Restricted Damerau-Levenshtein (or Levenshtein) distance of `target` to words of one length."""
    codes = np.array([[ord(char) for char in word] for word in words], np.int32).reshape(len(words), length)
    goal = [ord(char) for char in target]
    rows = np.broadcast_to(np.arange(length + 1), (len(words), length + 1)).astype(np.int16)
    before = rows
    for i, char in enumerate(goal, start=1):
        now = np.empty_like(rows)
        now[:, 0] = i
        differs = codes != char
        for j in range(1, length + 1):
            cell = np.minimum(rows[:, j] + 1, now[:, j - 1] + 1)
            np.minimum(cell, rows[:, j - 1] + differs[:, j - 1], out=cell)
            if transpositions and i > 1 and j > 1:
                swap = ~differs[:, j - 2] & (codes[:, j - 1] == goal[i - 2])
                np.minimum(cell, np.where(swap, before[:, j - 2] + 1, cell), out=cell)
            now[:, j] = cell
        before, rows = rows, now
    return rows[:, length]
