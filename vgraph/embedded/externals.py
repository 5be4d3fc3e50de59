"""Vectors outside the JSON: lists of numbers of one top-level attribute, kept as float32 or float64 in a table of their own.

The JSON body holds null in their place and keeps the attribute's position; they are joined back only when asked for.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from vgraph.embedded.arrays import Floats, Ints
from vgraph.embedded.batches import marks, pad

if TYPE_CHECKING:
    from vgraph.embedded.catalog import CollectionInfo
    from vgraph.embedded.engine import Transaction

FLOAT32: Final = 0
FLOAT64: Final = 1
WHOLE: Final = 2  # float64 holding integers
_LARGEST_WHOLE: Final = 2.0**53
_LONG: Final = 64  # floats; as text a list of so many is larger than most of what stands beside it
_NUMBERS: Final = frozenset((int, float))

Packed: TypeAlias = tuple[int, bytes]
Matrix: TypeAlias = npt.NDArray[np.float64]


def pack(value: Any) -> Packed | None:
    """(kind, bytes) of a list of numbers, or None when the value has to stay in the JSON."""
    if type(value) is not list or not value:
        return None
    kinds = set(map(type, value))
    if not kinds <= _NUMBERS:
        return None
    doubles = np.array(value, dtype="<f8")
    if float in kinds:
        with np.errstate(over="ignore"):
            singles = doubles.astype("<f4")
        if (singles == doubles).all():
            return FLOAT32, singles.tobytes()
        return FLOAT64, doubles.tobytes()
    if float(np.abs(doubles).max()) > _LARGEST_WHOLE:
        return None
    return WHOLE, doubles.tobytes()


def doubles(lists: Sequence[Any]) -> Matrix | None:
    """Lists of as many floats each as one matrix; None when they are anything else.

    Marshal writes a list as "[", its length, and "g" with eight bytes for every float: one pass in C that tells floats
    from integers and booleans as well, several times faster than numpy over lists.
    """
    width = len(lists[0]) if lists and type(lists[0]) is list else 0
    if not width or not all(type(item) is list and len(item) == width for item in lists):
        return None
    raw = np.frombuffer(marshal.dumps(list(lists), 2), np.uint8)
    if len(raw) != 5 + len(lists) * (5 + 9 * width):
        return None
    cells = raw[5:].reshape(len(lists), -1)[:, 5:].reshape(len(lists), width, 9)
    if not (cells[:, :, 0] == ord("g")).all():
        return None
    matrix: Matrix = np.ascontiguousarray(cells[:, :, 1:]).view("<f8")[:, :, 0]
    return matrix


def pack_matrix(matrix: Matrix) -> list[Packed | None]:
    """`pack` of every row."""
    with np.errstate(over="ignore"):
        singles = matrix.astype("<f4")
    exact = (singles == matrix).all(axis=1).tolist()
    return [
        (FLOAT32, single.tobytes()) if whole else (FLOAT64, double.tobytes())
        for whole, single, double in zip(exact, singles, matrix, strict=True)
    ]


def unpack(kind: int, raw: bytes) -> list[Any]:
    """The list as it was given."""
    values = np.frombuffer(raw, dtype="<f4" if kind == FLOAT32 else "<f8")
    result: list[Any] = values.astype(np.int64).tolist() if kind == WHOLE else values.tolist()
    return result


def is_long(values: list[Any]) -> bool:
    """Whether a list looks like an embedding."""
    return len(values) >= _LONG and float in (type(values[0]), type(values[-1]))


def declare(txn: Transaction, info: CollectionInfo, attribute: str) -> str | None:
    """From now on keep the lists of a top-level attribute in a table of their own: its name, None where they cannot be or are already."""
    if "." in attribute or any(item.attribute == attribute for item in info.externals):
        return None
    table = f"x{info.id}_{len(info.externals)}"
    txn.sql(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, vec BLOB NOT NULL)")
    kept = [*((item.attribute, item.table) for item in info.externals), (attribute, table)]
    txn.sql("UPDATE collections SET externals = ? WHERE id = ?", (orjson.dumps(kept), info.id))
    txn.catalog_changed()
    return table


def store(txn: Transaction, table: str, rowid: int, packed: Packed) -> None:
    txn.sql(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", (rowid, *packed))


def forget(txn: Transaction, table: str, rowid: int) -> None:
    txn.sql(f"DELETE FROM {table} WHERE id = ?", (rowid,))


def load(txn: Transaction, table: str, rowids: Sequence[int]) -> dict[int, list[Any]]:
    """The lists of many rows; rows without one are left out."""
    found: dict[int, list[Any]] = {}
    for chunk in pad(rowids):
        rows = txn.sql(f"SELECT id, kind, vec FROM {table} WHERE id IN ({marks(len(chunk))})", chunk)
        found.update((rowid, unpack(kind, raw)) for rowid, kind, raw in rows)
    return found


def without(txn: Transaction, documents: str, table: str) -> Iterator[tuple[int, bytes]]:
    """(row, JSON) of the documents that have no list in a table, some at a time: what is read may be changed meanwhile."""
    last = 0
    statement = (
        f"SELECT d.id, d.body FROM {documents} AS d LEFT JOIN {table} AS x ON x.id = d.id "
        "WHERE d.id > ? AND x.id IS NULL ORDER BY d.id LIMIT 1000"
    )
    while rows := txn.sql(statement, (last,)).fetchall():
        yield from rows
        last = rows[-1][0]


def singles(txn: Transaction, table: str, width: int, size: int) -> Iterator[tuple[Ints, Floats]]:
    """Rows and single precision values of the lists of `width` numbers, up to `size` at a time, in order of the rows."""
    last = 0
    lengths = (4 * width, 8 * width)  # of single and of double precision
    statement = (
        f"SELECT id, kind, vec FROM {table} "
        "WHERE id > ? AND length(vec) = CASE kind WHEN 0 THEN ? ELSE ? END ORDER BY id LIMIT ?"
    )
    while found := txn.sql(statement, (last, *lengths, size)).fetchall():
        last = found[-1][0]
        yield _matrix(found)


def singles_of(txn: Transaction, table: str, rows: Ints) -> Iterator[tuple[Ints, Floats]]:
    """The same of some rows, those that have a list, in order of the rows as they are read."""
    for chunk in pad(rows.tolist()):
        found = txn.sql(f"SELECT id, kind, vec FROM {table} WHERE id IN ({marks(len(chunk))})", chunk).fetchall()
        if found:
            yield _matrix(found)


def _matrix(found: Sequence[tuple[int, int, bytes]]) -> tuple[Ints, Floats]:
    rows, kinds, raws = zip(*found, strict=True)
    if not any(kinds):
        matrix: Floats = np.frombuffer(b"".join(raws), "<f4").reshape(len(rows), -1)
    else:
        with np.errstate(over="ignore"):
            matrix = np.stack(
                [
                    np.frombuffer(raw, "<f4") if kind == FLOAT32 else np.frombuffer(raw, "<f8").astype(np.float32)
                    for kind, raw in zip(kinds, raws, strict=True)
                ]
            )
    return np.array(rows, np.int64), matrix


def of_another_width(txn: Transaction, table: str, width: int) -> int | None:
    """A row whose list does not have `width` numbers, if there is one."""
    lengths = (4 * width, 8 * width)
    statement = f"SELECT id FROM {table} WHERE length(vec) <> CASE kind WHEN 0 THEN ? ELSE ? END LIMIT 1"
    found = txn.sql(statement, lengths).fetchone()
    return found[0] if found else None
