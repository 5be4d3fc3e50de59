"""CityHash64 (G. Pike, J. Alakuijala, CityHash, 2011): the hash behind the terms of minhash analyzers."""

from __future__ import annotations

from typing import Final

_MASK: Final = (1 << 64) - 1
_K0: Final = 0xC3A5C85C97CB3127
_K1: Final = 0xB492B66FBE98F273
_K2: Final = 0x9AE16A3B2F90404F
_PAIR: Final = 0x9DDFEA08EB382D69


def city_hash64(data: bytes) -> int:
    """The 64-bit hash of some bytes."""
    size = len(data)
    if size <= 16:
        return _up_to_16(data)
    if size <= 32:
        return _up_to_32(data)
    return _up_to_64(data) if size <= 64 else _longer(data)


def _word(data: bytes, at: int) -> int:
    """Eight bytes, little-endian; a negative place counts from the end."""
    start = at if at >= 0 else len(data) + at
    return int.from_bytes(data[start : start + 8], "little")


def _turned(value: int, by: int) -> int:
    value &= _MASK
    return (value >> by | value << (64 - by)) & _MASK


def _mixed(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _swapped(value: int) -> int:
    return int.from_bytes((value & _MASK).to_bytes(8, "little"), "big")


def _pair(first: int, second: int, factor: int = _PAIR) -> int:
    a = _mixed((first ^ second) * factor)
    return _mixed((second ^ a) * factor) * factor & _MASK


def _up_to_16(data: bytes) -> int:
    size = len(data)
    factor = _K2 + size * 2
    if size >= 8:
        a, b = _word(data, 0) + _K2 & _MASK, _word(data, -8)
        return _pair(_turned(b, 37) * factor + a & _MASK, (_turned(a, 25) + b) * factor & _MASK, factor)
    if size >= 4:
        first, last = int.from_bytes(data[:4], "little"), int.from_bytes(data[-4:], "little")
        return _pair(size + (first << 3), last, factor)
    if not size:
        return _K2
    ends = data[0] + (data[size >> 1] << 8)
    return _mixed(ends * _K2 ^ (size + (data[-1] << 2)) * _K0) * _K2 & _MASK


def _up_to_32(data: bytes) -> int:
    factor = _K2 + len(data) * 2
    a, b = _word(data, 0) * _K1 & _MASK, _word(data, 8)
    c, d = _word(data, -8) * factor & _MASK, _word(data, -16) * _K2
    first = _turned(a + b, 43) + _turned(c, 30) + d & _MASK
    return _pair(first, a + _turned(b + _K2, 18) + c & _MASK, factor)


def _up_to_64(data: bytes) -> int:
    factor = _K2 + len(data) * 2
    a, b = _word(data, 0) * _K2 & _MASK, _word(data, 8)
    c, d = _word(data, -24), _word(data, -32)
    e, f = _word(data, 16) * _K2 & _MASK, _word(data, 24) * 9
    g, h = _word(data, -8), _word(data, -16) * factor
    u = _turned(a + g, 43) + (_turned(b, 30) + c) * 9
    v = (a + g & _MASK ^ d) + f + 1
    w = _swapped((u + v) * factor) + h
    x = _turned(e + f, 42) + c
    y = (_swapped((v + w) * factor) + g) * factor
    z = e + f + c
    a = _swapped((x + z) * factor + y) + b
    return _mixed((z + a) * factor + d + h) * factor + x & _MASK


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Thirty-two bytes from a place, mixed into a pair."""
    w, x, y, z = (_word(data, at + 8 * step) for step in range(4))
    a = a + w
    b = _turned(b + a + z, 21)
    c = a
    a = a + x + y
    return a + z & _MASK, b + _turned(a, 44) + c & _MASK


def _longer(data: bytes) -> int:
    size = len(data)
    x = _word(data, -40)
    y = _word(data, -16) + _word(data, -56)
    z = _pair(_word(data, -48) + size & _MASK, _word(data, -24))
    v = _weak(data, size - 64, size, z)
    w = _weak(data, size - 32, y + _K1, x)
    x = x * _K1 + _word(data, 0)
    for at in range(0, (size - 1) & ~63, 64):
        x = _turned(x + y + v[0] + _word(data, at + 8), 37) * _K1 & _MASK
        y = _turned(y + v[1] + _word(data, at + 48), 42) * _K1 & _MASK
        x ^= w[1]
        y = y + v[0] + _word(data, at + 40) & _MASK
        z = _turned(z + w[0], 33) * _K1 & _MASK
        v = _weak(data, at, v[1] * _K1, x + w[0])
        w = _weak(data, at + 32, z + w[1], y + _word(data, at + 16))
        x, z = z, x
    first = _pair(v[0], w[0]) + _mixed(y) * _K1 + z & _MASK
    return _pair(first, _pair(v[1], w[1]) + x & _MASK)
