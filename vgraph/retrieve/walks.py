"""Personalised PageRank over a small graph (Page et al. 1999; Haveliwala 2002, "Topic-sensitive PageRank")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

DAMPING = 0.85
STEPS = 50
ENOUGH = 1e-9


def page_rank(
    edges: Iterable[tuple[str, str, float]], seeds: Mapping[str, float], damping: float = DAMPING
) -> dict[str, float]:
    """How often a walker is at each vertex who follows edges, either way and by weight, and starts again at a seed with 1 - damping.

    `seeds` maps vertices to how often they are begun at. The ranks add up to 1; without seeds nobody walks, and there are none.
    """
    rows = [(a, b, weight) for a, b, weight in edges if weight > 0]
    names = sorted(
        {name for a, b, _ in rows for name in (a, b)} | {name for name, weight in seeds.items() if weight > 0}
    )
    if not names or not any(weight > 0 for weight in seeds.values()):
        return {}
    place = {name: number for number, name in enumerate(names)}
    ends = np.array([[place[a], place[b]] for a, b, _ in rows], dtype=np.intp).reshape(-1, 2)
    weights = np.array([weight for *_, weight in rows])
    source, target = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
    both = np.concatenate([weights, weights])
    out = np.bincount(source, both, len(names))
    share = both / out[source] if len(both) else both
    start = np.array([max(seeds.get(name, 0.0), 0.0) for name in names])
    start /= start.sum()
    rank = start.copy()
    for _ in range(STEPS):
        stuck = rank[out == 0].sum()
        moved = np.bincount(target, rank[source] * share, len(names)) if len(both) else np.zeros(len(names))
        fresh = damping * (moved + stuck * start) + (1 - damping) * start
        done = float(np.abs(fresh - rank).sum()) < ENOUGH
        rank = fresh
        if done:
            break
    return dict(zip(names, rank.tolist(), strict=True))
