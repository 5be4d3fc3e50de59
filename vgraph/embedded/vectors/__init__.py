"""Vector indexes: nearest documents by cosine similarity, inner product or Euclidean distance.

Instead of an inverted file the index keeps one bit per dimension in memory, ranks all (or all allowed) documents by
them and computes the exact value for the best; a filter is applied before, so that never fewer rows come back than
exist. nLists, defaultNProbe, trainingIterations and nProbe are accepted and have no effect.
"""

from .index import VectorIndex

__all__ = ["VectorIndex"]
