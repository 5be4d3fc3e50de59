"""Index keys: lists of AQL values as bytes whose bytewise order is AQL's order.

null < bool < number < string < array < object; arrays compare element by element, padded with null; objects over the
sorted union of their attribute names, a missing one counting as null (ArangoDB documentation, "Type and value order").
So trailing nulls of an array and null attributes of an object leave no trace, and a smaller attribute name makes the
greater object.

Every encoded value is prefix-free and starts with a tag below 0xF0: `key + HIGH` is above everything that starts with `key`.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Any, Final

import numpy as np

HIGH: Final = b"\xff"
_END: Final = b"\x00"
_NULL: Final = b"\x10"
_FALSE: Final = b"\x20"
_TRUE: Final = b"\x21"
_NUMBER: Final = b"\x30"
_STRING: Final = b"\x40"
_ARRAY: Final = b"\x50"
_OBJECT: Final = b"\x60"
_ATTRIBUTE: Final = b"\x70"

_DOUBLE = Struct(">d")
_WORD = Struct(">Q")
_REST = Struct(">H")
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1
_EXACT: Final = float(1 << 53)
_INVERT: Final = bytes(255 - byte for byte in range(256))


def encode(values: Sequence[Any]) -> bytes:
    """The key of a list of values, one after the other."""
    return b"".join([encode_value(value) for value in values])


def joined(columns: Sequence[Sequence[bytes]]) -> Sequence[bytes]:
    """The keys of many lists of values from those of their fields."""
    return columns[0] if len(columns) == 1 else list(map(b"".join, zip(*columns, strict=True)))


def encode_column(values: Sequence[Any]) -> list[bytes]:
    """The keys of many values; those that occur again and again, as names do, are encoded once."""
    kinds = set(map(type, values))
    if kinds == {str}:
        known = {value: _STRING + _text(value) for value in set(values)}
        return [known[value] for value in values]
    if kinds == {int} and max(values) < _EXACT and min(values) > -_EXACT:
        return _whole_numbers(values)
    return [encode_value(value) for value in values]


def _whole_numbers(values: Sequence[int]) -> list[bytes]:
    """The keys of integers that doubles hold exactly."""
    bits = np.array(values, np.float64).view(np.uint64)
    ordered = np.where(bits >> 63, ~bits, bits | _SIGN).astype(">u8").tobytes()
    return [_NUMBER + ordered[at : at + 8] for at in range(0, len(ordered), 8)]


def encode_value(value: Any) -> bytes:
    """The key of one value."""
    kind = type(value)
    if kind is str:
        return _STRING + _text(value)
    if kind is int or kind is float:
        return _NUMBER + _number(value)
    if value is None:
        return _NULL
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is list:
        return _array(value)
    return _object(value)


def _text(value: str) -> bytes:
    raw = value.encode("utf-8", "surrogatepass")
    if b"\x00" in raw:
        raw = raw.replace(b"\x00", b"\x00\xff")
    return raw + b"\x00\x00"


def _number(value: float) -> bytes:
    """Eight bytes of the double; whole numbers beyond 2**53 add what the double lost."""
    double = float(value)
    bits: int = _WORD.unpack(_DOUBLE.pack(double + 0.0))[0]
    ordered = bits ^ _ALL if bits & _SIGN else bits | _SIGN
    raw = _WORD.pack(ordered)
    if -_EXACT < double < _EXACT:
        return raw
    rest = int(value) - int(double)
    return raw + _REST.pack(0x8000 + max(-0x8000, min(0x7FFF, rest)))


def _array(values: list[Any]) -> bytes:
    end = len(values)
    while end and values[end - 1] is None:
        end -= 1
    return _ARRAY + encode(values[:end]) + _END


def _object(value: dict[str, Any]) -> bytes:
    parts = [_OBJECT]
    for name in sorted(name for name, item in value.items() if item is not None):
        parts += (_ATTRIBUTE, _text(name).translate(_INVERT), encode_value(value[name]))
    return b"".join(parts) + _END


def decode(key: bytes) -> list[Any]:
    """The values of a key. Objects come back with sorted attributes and without those that were null."""
    values = []
    position = 0
    while position < len(key):
        value, position = _decode_value(key, position)
        values.append(value)
    return values


def _decode_value(key: bytes, position: int) -> tuple[Any, int]:
    tag = key[position : position + 1]
    position += 1
    if tag == _STRING:
        return _decode_text(key, position, b"\x00\x00", b"\x00\xff", invert=False)
    if tag == _NUMBER:
        return _decode_number(key, position)
    if tag == _ARRAY:
        items = []
        while key[position] != 0:
            item, position = _decode_value(key, position)
            items.append(item)
        return items, position + 1
    if tag == _OBJECT:
        return _decode_object(key, position)
    return {_NULL: None, _FALSE: False, _TRUE: True}[tag], position


def _decode_text(key: bytes, position: int, end: bytes, escape: bytes, *, invert: bool) -> tuple[str, int]:
    stop = position
    while True:
        stop = key.index(end[:1], stop)
        if key[stop + 1] == end[1]:
            break
        stop += 2
    raw = key[position:stop]
    if escape in raw:
        raw = raw.replace(escape, end[:1])
    if invert:
        raw = raw.translate(_INVERT)
    return raw.decode("utf-8", "surrogatepass"), stop + 2


def _decode_number(key: bytes, position: int) -> tuple[int | float, int]:
    ordered: int = _WORD.unpack_from(key, position)[0]
    bits = ordered & ~_SIGN if ordered & _SIGN else ordered ^ _ALL
    double: float = _DOUBLE.unpack(_WORD.pack(bits))[0]
    position += 8
    if -_EXACT < double < _EXACT:
        return (int(double) if double.is_integer() else double), position
    rest = _REST.unpack_from(key, position)[0] - 0x8000
    return (int(double) + rest if abs(double) < 2**64 else double), position + 2


def _decode_object(key: bytes, position: int) -> tuple[dict[str, Any], int]:
    value: dict[str, Any] = {}
    while key[position : position + 1] == _ATTRIBUTE:
        name, position = _decode_text(key, position + 1, b"\xff\xff", b"\xff\x00", invert=True)
        value[name], position = _decode_value(key, position)
    return value, position + 1
