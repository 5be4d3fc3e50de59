"""The order of candidates, made better: by a model that reads question and text together, and by leaving out what tells the same again.

Both take the candidates a way found, more than are asked for, and change nothing but their order; the caller keeps the first k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vgraph.models import Reranker
from vgraph.retrieve.trace import stage
from vgraph.types import Hit

RERANK, MMR = "rerank", "mmr"


def reranked(hits: Sequence[Hit], question: str, texts: Mapping[str, str], reranker: Reranker, most: int) -> list[Hit]:
    """The first `most` hits in the order of a reranker, the others behind them as they were. Raises ModelError.

    A hit's score becomes the logistic of the reranker's (equal scores keep their order); those not read come below all that were.
    """
    with stage(RERANK) as tell:
        read = [hit for hit in hits[:most] if texts.get(hit.chunk)]
        unread = [hit for hit in hits if hit not in read]
        scores = reranker.score(question, [texts[hit.chunk] for hit in read]) if read else []
        order = sorted(range(len(read)), key=lambda number: (-scores[number], number))
        best = [_scored(read[number], place, scores[number]) for place, number in enumerate(order, 1)]
        floor = min((hit.score for hit in best), default=1.0)
        made = best + [replace(hit, score=floor / (1 + place)) for place, hit in enumerate(unread, 1)]
        before = {hit.chunk: place for place, hit in enumerate(hits, 1)}
        tell(
            lambda: (
                {"place": n, "chunk": h.chunk, "before": before[h.chunk], "score": h.scores.get(RERANK)}
                for n, h in enumerate(made, 1)
            )
        )
    return made


def _scored(hit: Hit, place: int, score: float) -> Hit:
    return replace(
        hit, score=_logistic(score), ranks={**hit.ranks, RERANK: place}, scores={**hit.scores, RERANK: score}
    )


def _logistic(score: float) -> float:
    return 1 / (1 + math.exp(-score)) if score >= 0 else math.exp(score) / (1 + math.exp(score))


def diversified(hits: Sequence[Hit], vectors: Mapping[str, Sequence[float]], k: int, weight: float) -> list[Hit]:
    """k hits by maximal marginal relevance (Carbonell and Goldstein 1998): next comes the one with the most of

        weight * relevance - (1 - weight) * greatest cosine with what was chosen before

    `weight` 1 is relevance alone, 0 novelty alone. Relevance is the hit's score scaled to 0..1 among all; `vectors` are normalised. A hit
    without a vector is like nothing else. Ties go to the better hit.
    """
    import numpy as np

    with stage(MMR) as tell:
        if not hits:
            return []
        length = next((len(vector) for vector in vectors.values()), 1)
        space = np.array([vectors.get(hit.chunk) or [0.0] * length for hit in hits], np.float64)
        scores = np.array([hit.score for hit in hits])
        wide = float(scores.max() - scores.min())
        relevance = (scores - scores.min()) / wide if wide else np.ones(len(hits))
        likeness, chosen, values = np.zeros(len(hits)), list[int](), list[tuple[float, float]]()
        for _ in range(min(k, len(hits))):
            value = weight * relevance - (1 - weight) * likeness
            value[chosen] = -np.inf
            best = int(value.argmax())
            values.append((float(value[best]), float(likeness[best])))
            chosen.append(best)
            near = space @ space[best]
            likeness = np.maximum(likeness, near) if len(chosen) > 1 else near
        made = [replace(hits[n], ranks={**hits[n].ranks, MMR: place}) for place, n in enumerate(chosen, 1)]
        tell(
            lambda: (
                {
                    "place": p,
                    "chunk": hits[n].chunk,
                    "before": n + 1,
                    "value": values[p - 1][0],
                    "likeness": values[p - 1][1],
                }
                for p, n in enumerate(chosen, 1)
            )
        )
    return made
