"""MinHash signatures (Broder 1997; ArangoDB documentation, "Miscellaneous functions in AQL")."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ..values import to_integer, to_number
from .encoding import value_hash
from .registry import Table, Value, ticking, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()
_LEAST_ERROR: Final = 1e-7


def signature(values: Iterable[Value], size: int) -> list[str]:
    """The `size` smallest distinct hashes, each as eight bytes in base64 without padding.

    In order of the values while they are no more than `size`, else smallest first.
    """
    smallest = list(dict.fromkeys(map(value_hash, values)))
    if len(smallest) > size:
        smallest = sorted(smallest)[:size]
    return [base64.b64encode(found.to_bytes(8, "little")).decode().rstrip("=") for found in smallest]


@TABLE.add("MINHASH", args=(2, 2))
def minhash(rt: Runtime, values: Value, size: Value) -> Value:
    if type(values) is not list or to_integer(size) < 1:
        return wrong_type(rt, "MINHASH")
    return signature(ticking(rt, values), to_integer(size))


@TABLE.add("MINHASH_ERROR", args=(1, 1))
def minhash_error(rt: Runtime, size: Value) -> Value:
    """The probabilistic error of a signature of that many hashes."""
    count = to_number(size)
    return 1 / math.sqrt(count) if count >= 1 else wrong_type(rt, "MINHASH_ERROR")


@TABLE.add("MINHASH_COUNT", args=(1, 1))
def minhash_count(rt: Runtime, error: Value) -> Value:
    """How many hashes keep the error at most that high."""
    wanted = float(to_number(error))
    if not _LEAST_ERROR < wanted <= 1:
        return wrong_type(rt, "MINHASH_COUNT")
    return math.ceil(1 / wanted**2)
