"""What steps of a plan are thought to cost, by the server's rules of thumb: its explain output shows the same numbers.

They compare plans of one query and say nothing of time. Costs were checked against plans recorded on a 3.12 server.
"""

from __future__ import annotations

import math
from typing import Final

from . import plan as p

MEMBERS: Final = 10
"""Elements of an array that is not known yet."""
_PER_DOCUMENT: Final = 0.05
_BY_FIELD: Final = ("primary", "key", "edge")


def lookup(found: p.Lookup, fields: int, count: int, selectivity: float, values: int) -> tuple[float, float]:
    """(documents, cost) of one lookup in an index of so many fields over `count` documents.

    `values`: how many combinations the equalities of the lookup stand for; `selectivity`: of the index, 0 to 1.
    """
    if found.condition is None:
        return float(count), float(count)
    if not count:
        return 0.0, 0.0
    equal = len(found.equal) or int(found.kind in _BY_FIELD)
    items = values / selectivity if equal == fields and selectivity > 0 else float(count * values)
    items = max(1.0, float(int(items)))
    cost = max(1.0, math.log2(count) * values) + items * _PER_DOCUMENT
    covered = equal + bool(found.lows or found.highs)
    cost -= max(0, covered - 1) * 0.02
    return items, cost * (0.995 - 0.05 * (fields - 1)) if found.unique else cost


def sort(items: float) -> float:
    """What sorting so many rows costs."""
    return items if items <= 3 else items * math.log2(items)
