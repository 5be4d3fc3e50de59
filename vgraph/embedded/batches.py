"""Batched lookups with `IN (?, ?, …)`: lists cut into chunks of a few fixed lengths, so that SQLite's statement cache works."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

_LARGEST: Final = 2048


@lru_cache(maxsize=32)
def marks(count: int) -> str:
    """`?,?,…` count times."""
    return ",".join("?" * count)


def pad(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Chunks whose length is a power of two; a short one is filled up with its last value, which changes nothing inside IN."""
    for start in range(0, len(values), _LARGEST):
        chunk = values[start : start + _LARGEST]
        length = 1 << (len(chunk) - 1).bit_length()
        yield chunk if length == len(chunk) else [*chunk, *[chunk[-1]] * (length - len(chunk))]
