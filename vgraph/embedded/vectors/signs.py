"""Sign bits: one bit per dimension of a vector, and the ranking they give.

A vector is centred (the centre is the mean of the first vectors, or zero where it hardly matters), turned into at
least 256 dimensions when it has fewer, and reduced to the signs of its coordinates. The share of differing signs
estimates the angle to the query (M. Charikar, Similarity estimation techniques from rounding algorithms, 2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vgraph.embedded.arrays import Array, Floats, Ints

_LEAST: Final = 256  # signs; below, too many vectors share their bits
_CENTRE: Final = 0.05  # share of the mean square norm above which the centre is taken off
_EVEN: Final = 0.01  # relative spread of norms below which only the angle counts
_BLOCK: Final = 32_768  # columns scanned at once, so that they stay in the processor's cache
GONE: Final = np.uint16(0xFFFF)


@dataclass(frozen=True, slots=True)
class Coder:
    """How vectors of one index become bits; fixed by the first vectors, stored with the index."""

    metric: str
    dimension: int
    centre: Floats

    @classmethod
    def learn(cls, metric: str, vectors: Floats) -> Coder:
        """A coder for vectors like these."""
        vectors = normalised(vectors) if metric == "cosine" else vectors
        centre = vectors.mean(axis=0, dtype=np.float64)
        mean_square = float(np.mean(np.einsum("ij,ij->i", vectors, vectors), dtype=np.float64))
        if float(centre @ centre) < _CENTRE * mean_square:
            centre = np.zeros_like(centre)
        return cls(metric, vectors.shape[1], centre.astype(np.float32))

    @property
    def words(self) -> int:
        """64-bit words of signs per vector."""
        return -(-max(self.dimension, _LEAST) // 64)

    def encode(self, vectors: Floats) -> tuple[Array, Floats]:
        """(words, n) bits and the distances of the vectors from the centre."""
        vectors = normalised(vectors) if self.metric == "cosine" else vectors
        centred = vectors - self.centre
        radii: Floats = np.sqrt(squares(centred))
        return self._bits(centred), radii

    def _bits(self, vectors: Floats) -> Array:
        turned = vectors if self.dimension >= _LEAST else vectors @ _rotation(self.dimension)
        packed = np.zeros((len(vectors), self.words * 8), np.uint8)
        signs = np.packbits(turned > 0, axis=1, bitorder="little")
        packed[:, : signs.shape[1]] = signs
        return np.ascontiguousarray(packed.view(np.uint64).T)

    def query(self, vector: Floats) -> Query:
        """A query's bits and how far it is from the centre."""
        if self.metric == "cosine" and (length := float(np.sqrt(vector @ vector))) > 0:
            vector = vector / np.float32(length)
        centred = vector if self.metric == "innerProduct" else vector - self.centre
        return Query(self._bits(centred[None])[:, 0], float(np.linalg.norm(centred)), self.metric)


@dataclass(frozen=True, slots=True)
class Query:
    bits: Array
    radius: float
    metric: str

    def keys(self, distances: Array, radii: Floats, *, even: bool) -> Array:
        """Estimates to rank by, least first; plain sign distances where all vectors are as far from the centre."""
        if even:
            return distances
        total = 64 * len(self.bits)
        cosines = np.cos(np.pi * np.arange(total + 1, dtype=np.float32) / total)
        along = cosines[np.minimum(distances, total)]
        along *= radii
        if self.metric == "innerProduct":
            keys: Array = -along
        else:
            along *= np.float32(-2 * self.radius)
            keys = along + radii * radii
        keys[distances == GONE] = np.inf
        return keys


def is_even(radii: Floats) -> bool:
    """Whether the vectors lie on a sphere around the centre."""
    mean = float(radii.mean()) if len(radii) else 0.0
    return mean > 0 and float(radii.std()) <= _EVEN * mean


def sign_distances(bits: Sequence[Array], query: Array) -> Array:
    """Differing signs of every column."""
    total = len(bits[0])
    found = np.empty(total, np.uint16)
    width = min(_BLOCK, total)
    differing, counts = np.empty(width, np.uint64), np.empty(width, np.uint8)
    for start in range(0, total, _BLOCK):
        stop = min(start + _BLOCK, total)
        size = stop - start
        out = found[start:stop]
        for word, column in enumerate(bits):
            np.bitwise_xor(column[start:stop], query[word], out=differing[:size])
            if word:
                np.bitwise_count(differing[:size], out=counts[:size])
                out += counts[:size]
            else:
                np.bitwise_count(differing[:size], out=out)
    return found


def sign_distances_of(bits: Sequence[Array], slots: Ints, query: Array) -> Array:
    """Differing signs of some columns."""
    found = np.zeros(len(slots), np.uint16)
    for word, column in enumerate(bits):
        found += np.bitwise_count(column[slots] ^ query[word])
    return found


def smallest(keys: Array, count: int) -> Ints:
    """Positions of the `count` least keys (a few more where keys tie), in no order."""
    if count >= len(keys):
        return np.arange(len(keys))
    edge = np.partition(keys, count - 1)[count - 1]
    return np.flatnonzero(keys <= edge)


def squares(vectors: Floats) -> Floats:
    """Squares of the lengths of vectors."""
    found: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return found


def normalised(vectors: Floats) -> Floats:
    """Vectors at length one; zero vectors stay zero."""
    norms = np.sqrt(squares(vectors))[:, None]
    unit: Floats = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return unit


_ROTATIONS: dict[int, Floats] = {}


def _rotation(dimension: int) -> Floats:
    """A fixed random turn of few dimensions into many."""
    if dimension not in _ROTATIONS:
        drawn = np.random.default_rng(20_240_229).standard_normal((_LEAST, dimension))
        for start in range(0, _LEAST - dimension + 1, dimension):
            drawn[start : start + dimension] = np.linalg.qr(drawn[start : start + dimension])[0]
        _ROTATIONS[dimension] = np.ascontiguousarray(drawn.T.astype(np.float32))
    return _ROTATIONS[dimension]
