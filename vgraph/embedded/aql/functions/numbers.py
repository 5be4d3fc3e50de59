"""Numeric and bit functions (ArangoDB documentation, "Numeric functions in AQL", "Bit functions in AQL")."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import reduce
from operator import and_, or_, xor
from typing import TYPE_CHECKING, Final

from ...errors import ArangoError
from ..operators import MAX_RANGE, full_range
from ..values import compare, number, to_number
from .registry import Table, Value, warn, wrong_type

if TYPE_CHECKING:
    from ..runtime import Runtime

TABLE: Final = Table()
_MAX_BITS: Final = 2**32 - 1


def _real(compute: Callable[..., float], *values: Value) -> Value:
    """A function of real numbers; null where it has no finite value."""
    try:
        return number(float(compute(*(float(to_number(value)) for value in values))))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


def _declare(name: str, compute: Callable[..., float], count: int = 1) -> None:
    def real(rt: Runtime, *values: Value) -> Value:
        return _real(compute, *values)

    real.__name__ = name.lower()
    TABLE.add(name, args=(count, count))(real)


def _log(base: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: base(value) if value > 0 else math.nan


for _name, _compute in {
    "SQRT": math.sqrt,
    "LOG": _log(math.log),
    "LOG2": _log(math.log2),
    "LOG10": _log(math.log10),
    "EXP": math.exp,
    "EXP2": lambda value: 2.0**value,
    "SIN": math.sin,
    "COS": math.cos,
    "TAN": math.tan,
    "ASIN": math.asin,
    "ACOS": math.acos,
    "ATAN": math.atan,
    "RADIANS": lambda value: value * (math.pi / 180),
    "DEGREES": lambda value: value * (180 / math.pi),
    "FLOOR": lambda value: float(math.floor(value)),
    "CEIL": lambda value: float(math.ceil(value)),
    "ROUND": lambda value: float(math.floor(value + 0.5)),
}.items():
    _declare(_name, _compute)
_declare("ATAN2", math.atan2, 2)
_declare("POW", math.pow, 2)


@TABLE.add("ABS", args=(1, 1))
def absolute(rt: Runtime, value: Value) -> Value:
    return abs(to_number(value))


@TABLE.add("PI", args=(0, 0))
def pi(rt: Runtime) -> float:
    return math.pi


@TABLE.add("RAND", "RANDOM", args=(0, 0), deterministic=False)
def rand(rt: Runtime) -> float:
    return random.random()  # noqa: S311 - AQL promises no more


@TABLE.add("RANGE", args=(2, 3))
def value_range(rt: Runtime, start: Value, stop: Value, step: Value = None) -> Value:
    """Whole numbers without `step`; with one, `start` and every `step` further up to `stop`."""
    if step is None:
        return full_range(start, stop, rt)
    low, high, by = (float(to_number(value)) for value in (start, stop, step))
    if by == 0 or (low < high and by < 0) or (low > high and by > 0):
        return wrong_type(rt, "RANGE")
    if abs((high - low) / by) > MAX_RANGE or low + by == low:
        raise ArangoError(32, "range size exceeds the maximum for materialization")
    found = []
    while low <= high if by > 0 else low >= high:
        found.append(number(low))
        low += by
    return found


# -------------------------------------------------------------------------------------------------- decay


def _decay(rt: Runtime, name: str, args: tuple[Value, ...], shape: Callable[[float, float, float], float]) -> Value:
    """`shape` of (distance beyond the offset, scale, decay), for one value or for each of an array."""
    value, *rest = args
    if any(type(item) not in (int, float) for item in rest):
        return wrong_type(rt, name)
    origin, scale, offset, decay = rest
    if scale <= 0 or offset < 0 or not 0 < decay < 1:
        warn(rt, 1504, name)
        return None
    values = value if type(value) is list else [value]
    if any(type(item) not in (int, float) for item in values):
        return wrong_type(rt, name)
    scores = [_real(shape, max(0.0, abs(float(item) - origin) - offset), scale, decay) for item in values]
    return scores if type(value) is list else scores[0]


@TABLE.add("DECAY_GAUSS", args=(5, 5))
def decay_gauss(rt: Runtime, *args: Value) -> Value:
    return _decay(rt, "DECAY_GAUSS", args, _gauss)


def _gauss(far: float, scale: float, decay: float) -> float:
    variance = -(scale * scale) / (2 * math.log(decay))  # in the server's order, for the same last digit
    return math.exp(-(far * far) / (2 * variance))


@TABLE.add("DECAY_EXP", args=(5, 5))
def decay_exp(rt: Runtime, *args: Value) -> Value:
    return _decay(rt, "DECAY_EXP", args, lambda far, scale, decay: math.exp(math.log(decay) / scale * far))


@TABLE.add("DECAY_LINEAR", args=(5, 5))
def decay_linear(rt: Runtime, *args: Value) -> Value:
    def shape(far: float, scale: float, decay: float) -> float:
        width = scale / (1 - decay)
        return max(0.0, (width - far) / width)

    return _decay(rt, "DECAY_LINEAR", args, shape)


# --------------------------------------------------------------------------------------------------- bits


def _bits(value: Value, most: int = _MAX_BITS) -> int | None:
    """A whole number from 0 to `most`, None for anything else."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= most else None


def _combine(rt: Runtime, name: str, values: tuple[Value, ...], operate: Callable[[int, int], int]) -> Value:
    if len(values) == 1:
        if type(values[0]) is not list:
            return wrong_type(rt, name)
        values = tuple(item for item in values[0] if item is not None)
        if not values:
            return None
    numbers = [_bits(value) for value in values]
    if None in numbers:
        return wrong_type(rt, name)
    return reduce(operate, numbers)  # type: ignore[arg-type]


@TABLE.add("BIT_AND", args=(1, 2))
def bit_and(rt: Runtime, *values: Value) -> Value:
    return _combine(rt, "BIT_AND", values, and_)


@TABLE.add("BIT_OR", args=(1, 2))
def bit_or(rt: Runtime, *values: Value) -> Value:
    return _combine(rt, "BIT_OR", values, or_)


@TABLE.add("BIT_XOR", args=(1, 2))
def bit_xor(rt: Runtime, *values: Value) -> Value:
    return _combine(rt, "BIT_XOR", values, xor)


@TABLE.add("BIT_NEGATE", args=(2, 2))
def bit_negate(rt: Runtime, value: Value, width: Value) -> Value:
    bits, size = _bits(value), _bits(width, 32)
    if bits is None or size is None:
        return wrong_type(rt, "BIT_NEGATE")
    return ~bits & (1 << size) - 1


@TABLE.add("BIT_TEST", args=(2, 2))
def bit_test(rt: Runtime, value: Value, position: Value) -> Value:
    bits, at = _bits(value), _bits(position, 31)
    if bits is None or at is None:
        return wrong_type(rt, "BIT_TEST")
    return bits >> at & 1 == 1


@TABLE.add("BIT_POPCOUNT", args=(1, 1))
def bit_popcount(rt: Runtime, value: Value) -> Value:
    bits = _bits(value)
    return wrong_type(rt, "BIT_POPCOUNT") if bits is None else bits.bit_count()


def _shift(rt: Runtime, name: str, args: tuple[Value, ...], operate: Callable[[int, int], int]) -> Value:
    bits, by, size = _bits(args[0]), _bits(args[1], 32), _bits(args[2], 32)
    if bits is None or by is None or size is None:
        return wrong_type(rt, name)
    return operate(bits, by) & (1 << size) - 1


@TABLE.add("BIT_SHIFT_LEFT", args=(3, 3))
def bit_shift_left(rt: Runtime, *args: Value) -> Value:
    return _shift(rt, "BIT_SHIFT_LEFT", args, lambda bits, by: bits << by)


@TABLE.add("BIT_SHIFT_RIGHT", args=(3, 3))
def bit_shift_right(rt: Runtime, *args: Value) -> Value:
    return _shift(rt, "BIT_SHIFT_RIGHT", args, lambda bits, by: bits >> by)


@TABLE.add("BIT_CONSTRUCT", args=(1, 1))
def bit_construct(rt: Runtime, positions: Value) -> Value:
    if type(positions) is not list:
        return wrong_type(rt, "BIT_CONSTRUCT")
    found = 0
    for position in positions:
        at = _bits(position, 31)
        if at is None:
            return wrong_type(rt, "BIT_CONSTRUCT")
        found |= 1 << at
    return found


@TABLE.add("BIT_DECONSTRUCT", args=(1, 1))
def bit_deconstruct(rt: Runtime, value: Value) -> Value:
    bits = _bits(value)
    if bits is None:
        return wrong_type(rt, "BIT_DECONSTRUCT")
    return [at for at in range(32) if bits >> at & 1]


@TABLE.add("BIT_TO_STRING", args=(2, 2))
def bit_to_string(rt: Runtime, value: Value, width: Value) -> Value:
    bits, size = _bits(value), _bits(width, 32)
    if bits is None or size is None:
        return wrong_type(rt, "BIT_TO_STRING")
    return f"{bits & (1 << size) - 1:0{size}b}" if size else ""


@TABLE.add("BIT_FROM_STRING", args=(1, 1))
def bit_from_string(rt: Runtime, text: Value) -> Value:
    if type(text) is not str or len(text) > 32 or not text or text.strip("01"):
        return wrong_type(rt, "BIT_FROM_STRING")
    return int(text, 2)


@TABLE.add("IN_RANGE", args=(5, 5))
def in_range(rt: Runtime, value: Value, low: Value, high: Value, include_low: Value, include_high: Value) -> Value:
    if type(include_low) is not bool or type(include_high) is not bool:
        return wrong_type(rt, "IN_RANGE")
    lower, upper = compare(value, low), compare(value, high)
    return (lower > 0 or (lower == 0 and include_low)) and (upper < 0 or (upper == 0 and include_high))
