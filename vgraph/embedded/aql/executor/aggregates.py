"""The functions of AGGREGATE, as accumulators: a value at a time in, one result out.

They differ from the functions of the same name: SUM of nothing is null here, nulls are skipped, and one value that is
no number makes the result of a numeric aggregate null (ArangoDB documentation, "COLLECT operation in AQL").
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, sqrt
from typing import Any, Final, Protocol

from vgraph.embedded.errors import ArangoError

from ..values import compare, hashable, sort_key


class Accumulator(Protocol):
    def add(self, value: Any) -> None: ...
    def result(self) -> Any: ...


class Count:
    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def add(self, value: Any) -> None:
        self.count += 1

    def result(self) -> Any:
        return self.count


class Minimum:
    """The smallest value that is not null."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def add(self, value: Any) -> None:
        if value is not None and (self.value is None or compare(value, self.value) < 0):
            self.value = value

    def result(self) -> Any:
        return self.value


class Maximum:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def add(self, value: Any) -> None:
        if value is not None and (self.value is None or compare(value, self.value) > 0):
            self.value = value

    def result(self) -> Any:
        return self.value


class _Numeric:
    """Numbers only: nulls are skipped, anything else spoils the result."""

    __slots__ = ("seen", "spoiled")

    def __init__(self) -> None:
        self.spoiled = False
        self.seen = False

    def add(self, value: Any) -> None:
        self.seen = True
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.spoiled = True
        elif not self.spoiled:
            self.number(value)

    def number(self, value: float) -> None:
        raise NotImplementedError

    def result(self) -> Any:
        return None if self.spoiled or not self.seen else plain(self.total())

    def total(self) -> float | None:
        raise NotImplementedError


class Sum(_Numeric):
    __slots__ = ("sum",)

    def __init__(self) -> None:
        super().__init__()
        self.sum: float = 0.0

    def number(self, value: float) -> None:
        self.sum += value

    def total(self) -> float | None:
        return self.sum


class Average(_Numeric):
    __slots__ = ("count", "sum")

    def __init__(self) -> None:
        super().__init__()
        self.sum = 0.0
        self.count = 0

    def number(self, value: float) -> None:
        self.sum += value
        self.count += 1

    def total(self) -> float | None:
        return self.sum / self.count if self.count else None


class _Variance(_Numeric):
    """Welford's method (B. P. Welford, Technometrics 4, 1962)."""

    __slots__ = ("count", "mean", "squares")
    correction = 0
    root = False

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.mean = 0.0
        self.squares = 0.0

    def number(self, value: float) -> None:
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self.squares += delta * (value - self.mean)

    def total(self) -> float | None:
        if self.count <= self.correction:
            return None
        variance = self.squares / (self.count - self.correction)
        return sqrt(variance) if self.root else variance


class VariancePopulation(_Variance):
    __slots__ = ()


class VarianceSample(_Variance):
    __slots__ = ()
    correction = 1


class DeviationPopulation(_Variance):
    __slots__ = ()
    root = True


class DeviationSample(_Variance):
    __slots__ = ()
    correction = 1
    root = True


class Unique:
    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}

    def add(self, value: Any) -> None:
        self.values.setdefault(hashable(value), value)

    def result(self) -> Any:
        return list(self.values.values())


class SortedUnique(Unique):
    __slots__ = ()

    def result(self) -> Any:
        return sorted(self.values.values(), key=sort_key)


class CountDistinct(Unique):
    __slots__ = ()

    def result(self) -> Any:
        return len(self.values)


class Push:
    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, value: Any) -> None:
        self.values.append(value)

    def result(self) -> Any:
        return list(self.values)


class _Bits(_Numeric):
    """Bit operations on unsigned 32-bit integers; anything else makes the result null."""

    __slots__ = ("bits",)

    def __init__(self) -> None:
        super().__init__()
        self.bits: int | None = None

    def number(self, value: float) -> None:
        if value != int(value) or not 0 <= value < 2**32:
            self.spoiled = True
            return
        self.bits = int(value) if self.bits is None else self.combine(self.bits, int(value))

    def combine(self, left: int, right: int) -> int:
        raise NotImplementedError

    def total(self) -> float | None:
        return self.bits


class BitAnd(_Bits):
    __slots__ = ()

    def combine(self, left: int, right: int) -> int:
        return left & right


class BitOr(_Bits):
    __slots__ = ()

    def combine(self, left: int, right: int) -> int:
        return left | right


class BitXor(_Bits):
    __slots__ = ()

    def combine(self, left: int, right: int) -> int:
        return left ^ right


def plain(value: float | None) -> Any:
    """A number as it is printed: integral doubles without a fraction, nothing that JSON cannot say."""
    if isinstance(value, float):
        if not isfinite(value):
            return None
        if value.is_integer() and abs(value) < 2**53:
            return int(value)
    return value


AGGREGATES: Final[dict[str, Callable[[], Accumulator]]] = {
    "COUNT": Count,
    "LENGTH": Count,
    "MIN": Minimum,
    "MAX": Maximum,
    "SUM": Sum,
    "AVG": Average,
    "AVERAGE": Average,
    "VARIANCE": VariancePopulation,
    "VARIANCE_POPULATION": VariancePopulation,
    "VARIANCE_SAMPLE": VarianceSample,
    "STDDEV": DeviationPopulation,
    "STDDEV_POPULATION": DeviationPopulation,
    "STDDEV_SAMPLE": DeviationSample,
    "UNIQUE": Unique,
    "SORTED_UNIQUE": SortedUnique,
    "COUNT_DISTINCT": CountDistinct,
    "COUNT_UNIQUE": CountDistinct,
    "BIT_AND": BitAnd,
    "BIT_OR": BitOr,
    "BIT_XOR": BitXor,
    "PUSH": Push,
}


def accumulator(function: str) -> Callable[[], Accumulator]:
    """The class of an AGGREGATE function; 1574 for any other function."""
    found = AGGREGATES.get(function)
    if found is None:
        raise ArangoError(1574, "aggregate expression must be a function call to an aggregate function (while parsing)")
    return found
