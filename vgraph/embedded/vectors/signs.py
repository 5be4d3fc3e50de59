"""Sign bits: one bit per dimension of a vector, and the ranking they give.

A vector is centred (the centre is the mean of the first vectors, or zero where it hardly matters), turned into at
least 256 dimensions when it has fewer, and reduced to the signs of its coordinates. The share of differing signs
estimates the angle to the query (M. Charikar, Similarity estimation techniques from rounding algorithms, 2002); the product
of a vector's signs with the query's values estimates it better (J. Gao, C. Long, RaBitQ, 2024) and costs more.
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
_BLOCK: Final = 65_536  # columns scanned at once, so that they stay in the processor's cache
_BYTE_WORDS: Final = 3  # words whose differing signs fit into one byte
_SAMPLE: Final = 8192  # keys that tell where the least ones end, about
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

    def _turned(self, vectors: Floats) -> Floats:
        return vectors if self.dimension >= _LEAST else vectors @ _rotation(self.dimension)

    def _bits(self, vectors: Floats) -> Array:
        turned = self._turned(vectors)
        packed = np.zeros((len(vectors), self.words * 8), np.uint8)
        signs = np.packbits(turned > 0, axis=1, bitorder="little")
        packed[:, : signs.shape[1]] = signs
        return np.ascontiguousarray(packed.view(np.uint64).T)

    def query(self, vector: Floats) -> Query:
        """A query's bits and how far it is from the centre."""
        if self.metric == "cosine" and (length := float(np.sqrt(vector @ vector))) > 0:
            vector = vector / np.float32(length)
        centred = vector if self.metric == "innerProduct" else vector - self.centre
        radius, turned = float(np.linalg.norm(centred)), self._turned(centred[None])[0]
        values = turned * np.float32(radius / (float(np.linalg.norm(turned)) or 1.0))
        return Query(self._bits(centred[None])[:, 0], radius, self.metric, values)


@dataclass(frozen=True, slots=True)
class Query:
    """`values` are the coordinates whose signs the bits are, as long together as the query is far from the centre."""

    bits: Array
    radius: float
    metric: str
    values: Floats

    def fine(self, bits: Sequence[Array], slots: Ints, radii: Floats) -> Array:
        """Estimates of some columns by the product of their signs with the query's values, least first."""
        packed = np.stack([column[slots] for column in bits], axis=1)
        signs = np.unpackbits(packed.view(np.uint8), axis=1, count=len(self.values), bitorder="little")
        # of a unit vector in many dimensions the product with its own signs is about sqrt(2 n / pi)
        scale = np.float32(1 / np.sqrt(2 * len(self.values) / np.pi))
        along = (signs.astype(np.float32) @ self.values * 2 - self.values.sum()) * scale * radii
        found: Array = -along if self.metric == "innerProduct" else radii * radii - 2 * along
        return found

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
    differing, counts, sums = np.empty(width, np.uint64), np.empty(width, np.uint8), np.empty(width, np.uint8)
    for start in range(0, total, _BLOCK):
        stop = min(start + _BLOCK, total)
        size = stop - start
        for word, column in enumerate(bits):
            np.bitwise_xor(column[start:stop], query[word], out=differing[:size])
            if word % _BYTE_WORDS:
                np.bitwise_count(differing[:size], out=counts[:size])
                np.add(sums[:size], counts[:size], out=sums[:size])
            else:
                np.bitwise_count(differing[:size], out=sums[:size])
            if (word + 1) % _BYTE_WORDS == 0 or word == len(bits) - 1:
                if word < _BYTE_WORDS:
                    found[start:stop] = sums[:size]
                else:
                    found[start:stop] += sums[:size]
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
    near = _among_the_least(keys, count)
    few = keys if near is None else keys[near]
    edge = np.partition(few, count - 1)[count - 1]
    positions = np.flatnonzero(few <= edge)
    return positions if near is None else near[positions]


def _among_the_least(keys: Array, count: int) -> Ints | None:
    """Positions of the least keys, `count` at least and perhaps three times as many; None where all are looked at as fast."""
    step = len(keys) // _SAMPLE
    rank = 2 * count // max(1, step) + 16
    if step < 2 or rank >= _SAMPLE:
        return None
    sample = keys[::step]
    near = np.flatnonzero(keys <= np.partition(sample, rank)[rank])
    return near if len(near) >= count else None


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
        drawn /= np.linalg.norm(drawn, axis=1)[:, None]  # the last ones, which do not make up a whole turn, as well
        _ROTATIONS[dimension] = np.ascontiguousarray(drawn.T.astype(np.float32))
    return _ROTATIONS[dimension]
