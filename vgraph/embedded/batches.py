"""Many values in one statement, in chunks of a few fixed lengths, so that the cache of prepared statements works."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, Final

_LARGEST: Final = 2048
_ROWS: Final = (128, 16, 4, 1)  # rows of one INSERT


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


def rows_of_statements(count: int) -> Iterator[int]:
    """How many rows each INSERT takes, to insert `count` in all."""
    for size in _ROWS:
        whole, count = divmod(count, size)
        yield from repeat(size, whole)


@lru_cache(maxsize=1024)
def insert_statement(table: str, columns: int, rows: int) -> str:
    """`INSERT INTO table VALUES (?,…),…`."""
    return f"INSERT INTO {table} VALUES {','.join([f'({marks(columns)})'] * rows)}"
